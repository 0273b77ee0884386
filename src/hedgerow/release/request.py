"""Requests of a call or of a facts file, checked before anything is priced."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from hedgerow.accounting.profile import GaussianProfile
from hedgerow.errors import FactsError, ParameterError, UncertifiedError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget, Mu, Rho
from hedgerow.facts.columns import Category, Missing, Scalar, Selection, parse_missing
from hedgerow.facts.declared import Facts
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.relation import Weights, parse_unit_weight, unfit_unit_weight, unfit_weights
from hedgerow.facts.validation import as_float, as_int, format_argument, kind_of, one_of
from hedgerow.inference.bootstrap.replicate_intervals import INTERVALS
from hedgerow.keywords import StatisticCall, noting_calls, takes
from hedgerow.mechanisms.laws import LAWS, N_DRAWS, parse_draws
from hedgerow.release.options import (
    AVERAGED_LAPLACE,
    BUDGETS,
    ESTIMATORS,
    REPLICATED,
    PlanOptions,
    Resolver,
)
from hedgerow.statistics.entry import parse_value
from hedgerow.statistics.registry import entries
from hedgerow.statistics.statistic import AskedFor, NeedsBounds, Statistic, StatisticRequest

MOST_RESAMPLES = 10_000
LISTED_CELLS = 100_000
"""The most cells that a record lists: more estimates would not fit into memory, after the price was paid."""
_IN_MU, _MU_RANGE = ("rho", "mu"), (1e-3, 8.0)


@dataclass(frozen=True, slots=True)
class Request:
    """One release: what is wanted and what it may cost in total.

    Attributes
    ----------
    statistics, by
        What is released, of which cells; bounds and categories complete. Where records are selected, the selection is
        the last of `by`: a level of its own that no cell shows.
    budget, estimator, noise, n_resamples, interval
        As in the call.
    policies : tuple of Missing
        What a missing value counts as, one per statistic.
    shares : tuple of float
        Parts of the noise precision, one per statistic; their sum is 1.
    notes : tuple of str
        Which facts it rests on without a source, and which it overrides.
    membership : bool
        Whether the caller declares the cell of every record public.
    draws : int or None
        How many Laplace numbers make the noise on each number, where averaged Laplace noise is asked for.
    about_zero : bool
        Whether a sum is not read from joint moments but added up about zero.
    weights : Weights or None
        How much each record counts; None: all alike.
    unit_weight : str or None
        What counts alike in distributions of units of several rows: "rows", or each "unit".
    """

    statistics: tuple[Statistic, ...]
    by: tuple[Category, ...]
    budget: Budget
    estimator: str
    noise: str
    policies: tuple[Missing, ...]
    shares: tuple[float, ...]
    n_resamples: int | None = None
    interval: str | None = None
    notes: tuple[str, ...] = ()
    membership: bool = False
    draws: int | None = None
    about_zero: bool = False
    weights: Weights | None = None
    unit_weight: str | None = None

    @property
    def where(self) -> str | None:
        """Which records count, as it was written; None for all."""
        return next((group.text for group in self.by if isinstance(group, Selection)), None)

    @property
    def derived(self) -> dict[str, str]:
        """The expressions of the columns that are computed, by their names."""
        named = [column for statistic in self.statistics for column, _ in statistic.grids] + [
            column for statistic in self.statistics for column in statistic.columns
        ]
        named += [column for category in self.by for column in category.columns]
        named += [] if self.weights is None else [self.weights.column]
        return {str(column): column.text for column in named if isinstance(column, DerivedColumn)}

    @property
    def labels(self) -> dict[str, dict[Scalar, str]]:
        """The labels of the categories that have some, by column and value."""
        return {str(group.column): group.labels for group in self.groups if group.names}

    @property
    def groups(self) -> tuple[Category, ...]:
        """The categories that cells show."""
        return tuple(group for group in self.by if group.shown)

    @property
    def missing(self) -> str:
        """The one missing policy, or the policy of each column where they differ."""
        # A count has no column, and no value of it can be missing.
        pairs = [
            (statistic.column, policy)
            for statistic, policy in zip(self.statistics, self.policies, strict=True)
            if statistic.column
        ]
        policies = {policy for _, policy in pairs} or set(self.policies)
        if len(policies) == 1:
            return policies.pop()
        return ", ".join(dict.fromkeys(f"{policy} for {column}" for column, policy in pairs))

    @property
    def method(self) -> str:
        """Estimator and noise in one word, as records name them."""
        if self.estimator in ("moments", *REPLICATED):
            return self.estimator
        return {"laplace": "geometric", "gaussian": "gaussian"}.get(self.noise, "auto")

    def public_record(self) -> dict[str, Any]:
        """Return the options as plain JSON data, by which a repeated request is recognised."""
        # A request that the old names could express is written as it always was.
        usual = {"moments": "gaussian"}.get(self.estimator, "auto")
        named = self.estimator in ("moments", *REPLICATED) and self.noise != usual
        return {
            "by": [category.public_record() for category in self.groups],
            **({} if self.where is None else {"where": self.where}),
            **({} if self.weights is None else {"weights": self.weights.public_record()}),
            **({"unit_weight": self.unit_weight} if self.unit_weight == "unit" else {}),
            **({"derived": self.derived} if self.derived else {}),
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            **({} if self.budget.mu is None else {"mu": self.budget.mu}),
            "method": self.method,
            "missing": [str(policy) for policy in self.policies],
            "shares": list(self.shares),
            "n_resamples": self.n_resamples,
            "interval": self.interval,
            **({"membership": "public"} if self.membership else {}),
            **({"noise": self.noise} if named or self.draws is not None else {}),
            **({"n_draws": self.draws} if self.draws is not None else {}),
        }


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for a request beside its own keywords.

    Attributes
    ----------
    facts : Facts or None
        They complete what a call does not give.
    units : bool
        Whether units have several rows.
    most_cells : int
        How many cells there may be.
    membership : bool
        Whether the caller declares the cell of every record public.
    about_zero : bool
        Whether a sum is not read from joint moments but added up about zero.
    related : bool
        Whether a neighbouring relation is stated. Without a relation a request is refused: together with all else that
        the request lacks, or by `Protection.relation`.
    """

    facts: Facts | None = None
    units: bool = False
    most_cells: int = LISTED_CELLS
    membership: bool = False
    about_zero: bool = False
    related: bool = True


@takes(PlanOptions, estimator="auto", noise="auto")
def parse_request(statistics: object, *, context: Context | None = None, **options: Unpack[PlanOptions]) -> Request:
    """Check the arguments of a release, and complete them from the facts.

    Raises
    ------
    ParameterError
        HG101, HG102 for the budget, HG104 for bounds, HG107 for too many cells, HG108 for the estimator, HG111 for
        groups, HG112 for the statistics, HG113 for shares, HG114 for the missing policy, HG120 for the number of
        resamples, HG131 for `where`, HG134 and HG135 for
        weights, HG140 for the weight of units, HG141 for ρ and μ, HG185 to HG188 for the noise.
    FactsError
        HG704 a statistic that the facts leave out, HG705 columns of one statistic with different missing policies.
    """
    about = Context() if context is None else context
    listed, groups_of = _statistics(statistics)
    resolver = Resolver.of(about.facts, options, related=about.related)
    resolver.require_all(listed, options.get("by"))
    budget = parse_budget(options, about.facts)
    estimator = parse_estimator(options.get("estimator"))
    missing = options.get("missing")
    given = None if missing is None else parse_missing(missing)
    resolved = tuple(resolver.statistic(statistic) for statistic in listed)
    resampled = about.units or estimator in REPLICATED or any(statistic.family == "function" for statistic in resolved)
    noise = gaussian_in_mu(parse_noise(options.get("noise")), options)
    groups = _groups(options.get("by"), options.get("other"), resolver, about.most_cells)
    return Request(
        resolved,
        (*groups, *_selected(options.get("where"), about, resolver)),
        budget,
        estimator,
        noise,
        tuple(resolver.policy(statistic, given) for statistic in resolved),
        _shares(options.get("share"), groups_of),
        parse_n_resamples(options.get("n_resamples"), resampled),
        _interval(options.get("interval"), resampled),
        tuple(resolver.notes),
        about.membership,
        _draws(options.get("n_draws"), noise, resampled, units=about.units),
        about.about_zero,
        _weights(options.get("weights"), resolved, groups, estimator, resolver),
        _unit_weight(options.get("unit_weight"), resolved, units=about.units),
    )


def parse_budget(options: Mapping[str, Any], facts: Facts | None) -> Budget:
    """Return the total price of a call; δ that of the facts where the call gives none (HG101, HG102, HG141)."""
    given = [name for name in BUDGETS if options.get(name) is not None]
    if not given:
        raise ParameterError(
            "HG101",
            rule="`epsilon` is the total price of the call.",
            finding="`epsilon` is missing and has no default.",
            remedy="Try epsilon=1.0.",
        )
    if len(given) > 1:
        raise _in_mu(
            "One budget is given for the call: epsilon, rho or mu.", f"Found {' and '.join(given)}.", "Leave one out."
        )
    delta = usual_delta(facts) if options.get("delta") is None else options["delta"]
    if given == ["epsilon"]:
        return Budget(options["epsilon"], delta)
    mu = (Mu(options["mu"]) if given == ["mu"] else Rho(options["rho"]).to_mu()).mu
    stated = Budget(1.0, delta).delta
    if stated == 0.0:
        raise _in_mu(
            "Gaussian noise has an ε at δ above 0 only.",
            "A budget in ρ or μ was given with delta=0.",
            "Leave delta out.",
        )
    least, most = _MU_RANGE
    if not least <= mu <= most:
        raise ParameterError(
            "HG101",
            rule=f"μ must lie between {least:g} and {most:g}: outside, noise or protection is meaningless.",
            finding=f"Found μ = {mu:.6g}.",
            remedy="Values between 0.05 and 1 are usual for μ and ρ, where ρ is μ²/2.",
        )
    return Budget(max(GaussianProfile(mu).epsilon_upper(stated), 1e-3), stated, mu)


def gaussian_in_mu(noise: str, options: Mapping[str, Any]) -> str:
    """Return the law of the noise: Gaussian where the budget is in ρ or μ (HG141 where another is asked for)."""
    if all(options.get(name) is None for name in _IN_MU):
        return noise
    if noise not in ("auto", "gaussian"):
        raise _in_mu(
            "A budget in ρ or μ is met by Gaussian noise.",
            f'noise="{noise}" was given.',
            "Leave `noise` out, or give epsilon in place of rho or mu.",
        )
    return "gaussian"


def _in_mu(rule: str, finding: str, remedy: str) -> ParameterError:
    return ParameterError("HG141", rule=rule, finding=finding, remedy=remedy)


def usual_delta(facts: Facts | None) -> float:
    """Return the δ of a call that names none: that of the facts' budget, else 1e-6."""
    return facts.budget.delta if facts is not None and facts.budget is not None else DEFAULT_DELTA


CHOSEN_BY_ITSELF = 'Leave this option at "auto", which chooses from public facts.'


def parse_estimator(estimator: object) -> str:
    """Return the estimator by its name, ``"auto"`` where none is named (HG108)."""
    if estimator is None:
        return "auto"
    return one_of(estimator, ESTIMATORS, "`estimator`", code="HG108", remedy=CHOSEN_BY_ITSELF)


def parse_noise(noise: object, *, code: str = "HG185") -> str:
    """Return the law of the noise by its registered name; ``geometric`` is the old name of discrete Laplace noise.

    >>> parse_noise("geometric"), parse_noise(None)
    ('laplace', 'auto')
    """
    if noise is None:
        return "auto"
    name = "laplace" if isinstance(noise, str) and noise == "geometric" else noise
    return one_of(name, ("auto", *LAWS), "`noise`", code=code, remedy=CHOSEN_BY_ITSELF)


def _draws(n_draws: object, noise: str, resampled: bool, *, units: bool) -> int | None:
    """Return how many Laplace draws are averaged, None for another noise (HG186, HG187, HG188)."""
    if noise != AVERAGED_LAPLACE:
        if n_draws is None:
            return None
        raise ParameterError(
            "HG186",
            rule="`n_draws` belongs to averaged Laplace noise.",
            finding="The option was given without averaged Laplace noise.",
            remedy=f'Give noise="{AVERAGED_LAPLACE}" with it, or leave it out.',
        )
    if resampled:
        raise ParameterError(
            "HG188",
            rule="Averaged Laplace noise serves counts, proportions, sums and means of rows.",
            finding="The unit has several rows." if units else "A statistic of this release is bootstrapped.",
            remedy="Leave `noise` out.",
        )
    return N_DRAWS if n_draws is None else parse_draws(n_draws)


def parse_n_resamples(n_resamples: object, resampled: bool = True) -> int | None:
    """Return the number of replicates, None to choose it from public facts (HG120)."""
    if n_resamples is None:
        return None
    number = as_int(n_resamples)
    if number is None or not 2 <= number <= MOST_RESAMPLES:
        raise ParameterError(
            "HG120",
            rule=f"`n_resamples` must be a whole number from 2 to {MOST_RESAMPLES:,}: one replicate has no spread.",
            finding=f"Found {format_argument(n_resamples)}.",
            remedy="Leave the option out. Without the option, hedgerow chooses the number of replicates from public "
            "facts.",
        )
    if not resampled:
        raise _bootstrap_only("n_resamples")
    return number


def _interval(interval: object, resampled: bool) -> str | None:
    if interval is None:
        return None
    if not resampled:
        raise _bootstrap_only("interval")
    remedy = (
        'The default interval of a bootstrap, "calibrated", has its stated coverage. The other intervals of a '
        "bootstrap are for comparison."
    )
    return one_of(interval, INTERVALS, "`interval`", code="HG108", remedy=remedy)


def _bootstrap_only(name: str) -> ParameterError:
    return ParameterError(
        "HG108",
        rule=f"`{name}` belongs to the bootstrap.",
        finding="No statistic of this release is bootstrapped.",
        remedy='Add estimator="bootstrap", or leave the option for bootstraps out.',
    )


def _statistics(statistics: object) -> tuple[tuple[StatisticRequest, ...], tuple[int, ...]]:
    """Return all statistics, and how many each entry of a call is: several quantiles of a column are one."""
    kinds = (Statistic, NeedsBounds)
    single = isinstance(statistics, kinds)
    entries_of = [statistics] if single else list(statistics) if isinstance(statistics, Sequence) else []
    each = [tuple(entry) if isinstance(entry, list) and entry else (entry,) for entry in entries_of]
    listed = tuple(statistic for several in each for statistic in several)
    if not listed or not all(isinstance(statistic, kinds) for statistic in listed):
        raise ParameterError(
            "HG112",
            rule="A release needs at least one statistic.",
            finding=_found(statistics, listed),
            remedy='List the statistics to release, for example [hg.mean("age", bounds=(0, 100)), hg.count()].',
            shell="For example, write --mean age:0:100 --count.",
        )
    return listed, tuple(len(several) for several in each)


def _found(statistics: object, listed: Sequence[object]) -> str:
    if listed:
        odd = next(statistic for statistic in listed if not isinstance(statistic, (Statistic, NeedsBounds)))
        return f"One of those given is {kind_of(odd)}."
    return "Found none." if statistics is None or isinstance(statistics, Sequence) else f"Found {kind_of(statistics)}."


def _selected(where: object, about: Context, resolver: Resolver) -> tuple[Selection, ...]:
    """Return the selection of a condition, none where there is none (HG131; HG410 beside public membership)."""
    if where is None:
        return ()
    if about.membership:
        raise UncertifiedError(
            "HG410",
            rule="With public membership, only the value of a record within its cell is private.",
            finding="The condition `where` selects records, and the list of selected records is private.",
            remedy="Leave `where` out, or use another sensitivity.",
        )
    return (resolver.selection(where),)


def _weights(
    given: object, statistics: Sequence[Statistic], groups: Sequence[Category], estimator: str, resolver: Resolver
) -> Weights | None:
    """Return the weights of a call, None where there are none (HG134); of what can be weighted alone (HG135)."""
    if given is None:
        return None
    weights = resolver.weights(given)
    taken = {column for statistic in statistics for column in statistic.columns} | {
        column_of_group for group in groups for column_of_group in group.columns
    }
    if weights.column in taken:
        raise unfit_weights(f"Column {str(weights.column)!r} is also released or grouped by.")
    unserved = [statistic for statistic in statistics if not statistic.weighable]
    if not unserved and estimator in ("auto", "moments"):
        return weights
    finding = f"A {unserved[0].name} was asked for." if unserved else f'estimator="{estimator}" was given.'
    raise ParameterError(
        "HG135",
        rule="Weights can be used with distributions, means, sums, counts, shares, ratios, variances, covariances, "
        "correlations and functions of means.",
        finding=finding,
        remedy="Release it in a call of its own, without weights." if unserved else "Leave `estimator` out.",
    )


def _unit_weight(given: object, statistics: Sequence[Statistic], *, units: bool) -> str | None:
    """Return what counts alike where units have several rows; one vote of a unit is for distributions alone (HG140)."""
    chosen = parse_unit_weight(given, units=units)
    over_rows = [statistic for statistic in statistics if not statistic.of_table]
    if chosen == "unit" and over_rows:
        raise unfit_unit_weight(f"A {over_rows[0].name} was asked for, which is over rows.")
    return chosen


def _groups(by: object, other: bool | None, resolver: Resolver, most: int) -> tuple[Category, ...]:
    if by is None:
        return ()
    groups = resolver.groups(by, other)
    if (cells := math.prod(group.levels for group in groups or ())) > most:
        raise ParameterError(
            "HG107",
            rule=f"A release has at most {most:,} cells.",
            finding=f"The declared categories make {cells:,}.",
            remedy="Use fewer or coarser groups: every cell gets its own noise.",
        )
    if groups:
        return groups
    raise ParameterError(
        "HG111",
        rule="`by` names each column with its declared categories, or names columns whose categories a facts file "
        "declares.",
        finding="Found no categories." if by else "Found an empty group.",
        remedy='Name the group columns with their categories, for example by={"sex": [0, 1]}.',
    )


def _shares(share: object, sizes: Sequence[int]) -> tuple[float, ...]:
    """Return the share of each statistic; what one entry of a call asks for divides the share of the entry."""
    count = len(sizes)
    if share is None:
        share = [1.0] * count
    numbers = [as_float(part) for part in share] if isinstance(share, Iterable) and not isinstance(share, str) else []
    parts = [part for part in numbers if part is not None and part > 0.0]
    total = sum(parts)
    if not len(numbers) == len(parts) == count or not math.isfinite(total):
        raise ParameterError(
            "HG113",
            rule="`share` gives each statistic a positive part of the noise precision (μ²).",
            finding=f"Found {format_argument(share)} for {count} statistics.",
            remedy=f"For example, write share={[1] * count}.",
        )
    return tuple(part / total / size for part, size in zip(parts, sizes, strict=True) for _ in range(size))


@dataclass(frozen=True, slots=True)
class Requested:
    """One release of a facts file: its name, its statistics, the other arguments, and the calls that ask for it."""

    name: str
    statistics: tuple[AskedFor, ...]
    options: Mapping[str, Any]
    calls: tuple[StatisticCall, ...] = field(default=(), compare=False, repr=False)


def requested(facts: Facts) -> tuple[Requested, ...]:
    """Return every release that the facts plan for; one without a name is called by its place.

    Raises
    ------
    FactsError
        HG702: a statistic without its column, value, probability or denominator, or with one that it does not take.

    Examples
    --------
    >>> facts = Facts.from_dict({"release": [{"statistics": [{"statistic": "count"}], "epsilon": 0.5}]})
    >>> requested(facts)[0].statistics, requested(facts)[0].options
    ((Count(),), {'epsilon': 0.5})
    """
    return tuple(_requested(record, place) for place, record in enumerate(facts.releases, start=1))


def _requested(record: Mapping[str, Any], place: int) -> Requested:
    options = {key: value for key, value in record.items() if key not in ("name", "statistics")}
    if "totals" in options:
        options["totals"] = {
            _names(columns): {_names(cell): size for cell, size in sizes.items()}
            for columns, sizes in options["totals"].items()
        }
    with noting_calls() as calls:
        asked = [
            _asked(entry, f"release[{place}].statistics[{at}]") for at, entry in enumerate(record["statistics"], 1)
        ]
    return Requested(str(record.get("name", f"release {place}")), tuple(asked), options, tuple(calls))


def _names(text: str) -> tuple[Any, ...]:
    """Return the columns, or the categories of a cell, of a key of `totals`: values as the shell writes them.

    >>> _names("region, sex"), _names("North,1")
    (('region', 'sex'), ('North', 1))
    """
    return tuple(parse_value(part) for part in next(csv.reader([text], skipinitialspace=True)))


def _asked(given: Mapping[str, Any], where: str) -> AskedFor:
    entry, names = entries()[given["statistic"]], set(given) - {"statistic"}
    if not entry.in_files:
        raise _unfit(where, "a function of one's own can be asked for in Python alone")
    if missing := sorted(set(entry.needs) - names):
        raise _unfit(where, f"a {entry.kind} needs `{missing[0]}`")
    if surplus := sorted(names - set(entry.needs) - set(entry.takes)):
        raise _unfit(where, f"a {entry.kind} takes no `{surplus[0]}`")
    return entry.from_record(given)


def _unfit(where: str, finding: str) -> FactsError:
    return FactsError(
        "HG702",
        rule="Every field of the facts file must have a known name and a valid value.",
        finding=f"{where}: {finding}.",
        remedy="The command `hedgerow schema` prints the allowed values of each field.",
    )
