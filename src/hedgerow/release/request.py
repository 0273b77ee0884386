"""What is asked for, checked before anything is priced: statistics, groups, budget, method, missing values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget
from hedgerow.facts.columns import Category, Missing, parse_missing
from hedgerow.facts.declared import Facts
from hedgerow.facts.given import kind_of, real, whole
from hedgerow.inference.bootstrap.intervals import INTERVALS
from hedgerow.mechanisms.averaged_laplace import MOST_DRAWS
from hedgerow.release.resolve import Resolver
from hedgerow.resampling.awaiting import Awaiting
from hedgerow.resampling.smooth_statistic import Smooth
from hedgerow.resampling.statistic import STATISTICS, Asked, Statistic

AVERAGED_LAPLACE: Literal["averaged-laplace"] = "averaged-laplace"
N_DRAWS = 10
"""From ten draws on a sample of a hundred can hardly be told from a normal one (Brawner & Honaker, Figure 3)."""


def parse_noise(
    noise: object, n_draws: object, *, method: str, statistics: Sequence[Statistic], units: bool
) -> int | None:
    """Return the number of Laplace draws to a number; None where no noise is asked for by name.

    Raises
    ------
    ParameterError
        HG185 an unknown noise, HG186 an option that belongs to another, HG187 an invalid number of draws, HG188 a
        statistic or a unit that it does not serve.

    Examples
    --------
    >>> parse_noise("averaged-laplace", None, method="auto", statistics=(), units=False)
    10
    """
    if noise is None:
        if n_draws is not None:
            raise _unfit("`n_draws` belongs to averaged Laplace noise.", "It was given without it.")
        return None
    if noise != AVERAGED_LAPLACE:
        raise ParameterError(
            "HG185",
            rule=f'`noise` is "{AVERAGED_LAPLACE}", or left out.',
            finding=f"Found {noise!r}.",
            remedy='Leave it out: the method then chooses, and method="geometric" or "gaussian" names the other laws.',
        )
    if method != "auto":
        raise _unfit("`noise` names the law of the noise, and so does a method.", f'Found method="{method}" beside it.')
    if units or any(isinstance(statistic, Smooth) for statistic in statistics):
        raise ParameterError(
            "HG188",
            rule="Averaged Laplace noise serves counts, proportions, sums and means of rows.",
            finding="The unit has several rows." if units else "A statistic of this release is bootstrapped.",
            remedy="Leave `noise` out.",
        )
    return N_DRAWS if n_draws is None else parse_draws(n_draws)


def parse_draws(n_draws: object) -> int:
    """Return a number of draws (HG187).

    >>> parse_draws(20)
    20
    """
    number = whole(n_draws)
    if number is None or not 1 <= number <= MOST_DRAWS:
        raise ParameterError(
            "HG187",
            rule=f"`n_draws` is a whole number from 1 to {MOST_DRAWS}.",
            finding=f"Found {n_draws!r}.",
            remedy=f"{N_DRAWS} is the default; 1 is plain Laplace noise.",
        )
    return number


def _unfit(rule: str, finding: str) -> ParameterError:
    return ParameterError(
        "HG186",
        rule=rule,
        finding=finding,
        remedy=f'Give noise="{AVERAGED_LAPLACE}" alone, with n_draws if you like.',
    )


MOST_RESAMPLES = 10_000
# A cell is a line of the result: beyond this nothing would be left of memory after the price was paid.
MOST_CELLS = 100_000
METHODS = ("auto", "moments", "bootstrap", "gaussian", "geometric")


@dataclass(frozen=True, slots=True)
class Request:
    """One release: what is wanted and what it may cost in total.

    Attributes
    ----------
    statistics, by
        What is released, of which cells; bounds and categories complete.
    budget, method, n_resamples, interval
        As in the call.
    policies : tuple of Missing
        What a missing value counts as, one a statistic.
    shares : tuple of float
        Parts of the noise precision, one a statistic; their sum is 1.
    notes : tuple of str
        Which facts it rests on without a source, and which it overrides.
    membership : bool
        Whether the caller declares the cell of every record public.
    draws : int or None
        How many Laplace numbers make the noise on each number, where averaged Laplace noise is asked for.
    """

    statistics: tuple[Statistic, ...]
    by: tuple[Category, ...]
    budget: Budget
    method: str
    policies: tuple[Missing, ...]
    shares: tuple[float, ...]
    n_resamples: int | None = None
    interval: str | None = None
    notes: tuple[str, ...] = ()
    membership: bool = False
    draws: int | None = None

    @property
    def missing(self) -> str:
        """The one missing policy, or the policy of each column where they differ."""
        # A count has no column, and no value of it can be missing.
        pairs = [(one.column, policy) for one, policy in zip(self.statistics, self.policies, strict=True) if one.column]
        found = {policy for _, policy in pairs} or set(self.policies)
        if len(found) == 1:
            return found.pop()
        return ", ".join(dict.fromkeys(f"{policy} for {column}" for column, policy in pairs))


def parse_request(
    statistics: object,
    *,
    by: object = None,
    other: bool | None = None,
    epsilon: object = None,
    delta: object = None,
    method: object = "auto",
    missing: object = None,
    share: object = None,
    n_resamples: object = None,
    interval: object = None,
    noise: object = None,
    n_draws: object = None,
    facts: Facts | None = None,
    units: bool = False,
    most_cells: int = MOST_CELLS,
    membership: bool = False,
) -> Request:
    """Check the arguments of a release, what they leave unsaid taken from the facts.

    Raises
    ------
    ParameterError
        HG101, HG102 for the budget, HG104 for bounds, HG107 for too many cells, HG108 for the method, HG111 for groups,
        HG112 for the statistics, HG113 for shares, HG114 for the missing policy, HG120 for the number of resamples,
        HG185 to HG188 for the noise.
    FactsError
        HG704 a statistic that the facts leave out, HG705 columns of one statistic with different missing policies.
    """
    listed = _statistics(statistics)
    if epsilon is None:
        raise ParameterError(
            "HG101",
            rule="`epsilon` is the total price of the call.",
            finding="`epsilon` is missing and has no default.",
            remedy="Try epsilon=1.0.",
        )
    budget = Budget(epsilon, usual_delta(facts) if delta is None else delta)  # type: ignore[arg-type]  # Budget checks both
    if not isinstance(method, str) or method not in METHODS:
        raise ParameterError(
            "HG108",
            rule="`method` must be one of " + ", ".join(f'"{name}"' for name in METHODS) + ".",
            finding=f"Found {method!r}.",
            remedy='Leave it at "auto", which chooses from public facts and says why.',
        )
    given = None if missing is None else parse_missing(missing)
    resolver = Resolver() if facts is None else Resolver(facts)
    resolved = tuple(resolver.statistic(one) for one in listed)
    resampled = units or method == "bootstrap" or any(isinstance(statistic, Smooth) for statistic in resolved)
    return Request(
        resolved,
        _groups(by, other, resolver, most_cells),
        budget,
        method,
        tuple(resolver.policy(statistic, given) for statistic in resolved),
        _shares(share, len(resolved)),
        parse_n_resamples(n_resamples, resampled),
        _interval(interval, resampled),
        tuple(resolver.notes),
        membership,
        parse_noise(noise, n_draws, method=method, statistics=resolved, units=units),
    )


def usual_delta(facts: Facts | None) -> float:
    """Return the δ of a call that names none: that of the facts' budget, else 1e-6."""
    return facts.budget.delta if facts is not None and facts.budget is not None else DEFAULT_DELTA


def parse_n_resamples(n_resamples: object, resampled: bool = True) -> int | None:
    """Return the number of replicates, None to choose it from public facts (HG120)."""
    if n_resamples is None:
        return None
    number = whole(n_resamples)
    if number is None or not 2 <= number <= MOST_RESAMPLES:
        raise ParameterError(
            "HG120",
            rule=f"`n_resamples` must be a whole number from 2 to {MOST_RESAMPLES:,}: one replicate has no spread.",
            finding=f"Found {n_resamples!r}.",
            remedy="Leave it out: it is then chosen from public facts.",
        )
    if not resampled:
        raise _bootstrap_only("n_resamples")
    return number


def _interval(interval: object, resampled: bool) -> str | None:
    if interval is None:
        return None
    if not resampled:
        raise _bootstrap_only("interval")
    if not isinstance(interval, str) or interval not in INTERVALS:
        raise ParameterError(
            "HG108",
            rule="`interval` must be one of " + ", ".join(f'"{name}"' for name in INTERVALS) + ".",
            finding=f"Found {interval!r}.",
            remedy='"calibrated", the default, holds its level; the others are for comparison.',
        )
    return interval


def _bootstrap_only(name: str) -> ParameterError:
    return ParameterError(
        "HG108",
        rule=f"`{name}` belongs to the bootstrap.",
        finding="No statistic of this release is bootstrapped.",
        remedy='Add method="bootstrap", or leave it out.',
    )


def _statistics(statistics: object) -> tuple[Asked, ...]:
    kinds = (*STATISTICS, Awaiting)
    single = isinstance(statistics, kinds)
    listed = (statistics,) if single else tuple(statistics) if isinstance(statistics, Sequence) else ()
    if not listed or not all(isinstance(one, kinds) for one in listed):
        raise ParameterError(
            "HG112",
            rule="A release is asked for one or more statistics.",
            finding=_found(statistics, listed),
            remedy='For example [hg.mean("age", bounds=(0, 100)), hg.count()].',
            shell="For example --mean age:0:100 --count.",
        )
    return listed


def _found(statistics: object, listed: Sequence[object]) -> str:
    if listed:
        odd = next(one for one in listed if not isinstance(one, (*STATISTICS, Awaiting)))
        return f"One of those given is {kind_of(odd)}."
    return "Found none." if statistics is None or isinstance(statistics, Sequence) else f"Found {kind_of(statistics)}."


def _groups(by: object, other: bool | None, resolver: Resolver, most: int) -> tuple[Category, ...]:
    if by is None:
        return ()
    groups = resolver.groups(by, other)
    if (cells := math.prod(group.levels for group in groups or ())) > most:
        raise ParameterError(
            "HG107",
            rule=f"A release has at most {most:,} cells.",
            finding=f"The declared categories make {cells:,}.",
            remedy="Take fewer or coarser groups: each cell has noise of its own.",
        )
    if groups:
        return groups
    raise ParameterError(
        "HG111",
        rule="`by` names each column with its declared categories, or columns whose categories a facts file declares.",
        finding="Found no categories." if by else "Found an empty group.",
        remedy='For example by={"sex": [0, 1]}.',
    )


def _shares(share: object, count: int) -> tuple[float, ...]:
    if share is None:
        return (1.0 / count,) * count
    numbers = [real(part) for part in share] if isinstance(share, Iterable) and not isinstance(share, str) else []
    parts = [part for part in numbers if part is not None and part > 0.0]
    total = sum(parts)
    if not len(numbers) == len(parts) == count or not math.isfinite(total):
        raise ParameterError(
            "HG113",
            rule="`share` gives each statistic a positive part of the noise precision (μ²).",
            finding=f"Found {share!r} for {count} statistics.",
            remedy=f"For example share={[1] * count}.",
        )
    return tuple(part / total for part in parts)
