"""A bootstrap-dp release as planned from public facts: which numbers, their parts of ε, and the statement of its price.

ε is divided among the numbers by their shares; that it then adds up is O'Keefe & Charest's Result 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hedgerow.engines.query import ColumnQuery, Query, ValueOnGrid
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.columns import Grid, Missing, parse_missing
from hedgerow.facts.declared import Facts
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.given import as_float, as_fraction, format_argument
from hedgerow.ledger.bootstrap_statement import GUARANTEE, NUMBERS, UNPROTECTED, BootstrapNoise, BootstrapStatement
from hedgerow.noise.lattice import require_drawable
from hedgerow.release.bootstrap_dp.asked import OfRows
from hedgerow.release.bootstrap_dp.number import SEARCHED, Number, searching
from hedgerow.release.bootstrap_dp.reach import check_reach
from hedgerow.release.opened import OpenedSource
from hedgerow.release.request import parse_budget, parse_noise
from hedgerow.release.resolve import Resolver
from hedgerow.statistics.statistic import AskedFor, NeedsBounds, Statistic
from hedgerow.version import __version__

# What a call under bootstrap-dp may hold.
AskedOfRows = AskedFor | OfRows
_KINDS = ("sum", "mean", "proportion", "variance", "quantile", "minimum", "maximum")
_FIXED = "D is the table that was read, n rows of it, and n is public"
_SECRET = "the custodian keeps the scale of the noise confidential, and everything computed from it or from the data"
_WHOLE = Grid(Fraction(0), Fraction(1), 1)
_TAKEN = {"by", "epsilon", "delta", "noise", "missing", "share", "where", "estimator"}


@dataclass(frozen=True, slots=True)
class NumbersPlan:
    """What runs if a bootstrap-dp release is made. Made from public facts; reads and spends nothing."""

    numbers: tuple[Number, ...]
    epsilon: float
    n: int
    notes: tuple[str, ...]

    def statement(self) -> BootstrapStatement:
        """Return what is promised, written before the data are read."""
        names = ", ".join(f"{one.name} of {one.column}" for one in self.numbers)
        grids = ", ".join(str(one.pitch) for one in self.numbers)
        noise = BootstrapNoise(self.epsilon, names, NUMBERS, len(self.numbers), grids)
        assumed = dict.fromkeys([_FIXED, *(_values(one) for one in self.numbers), _SECRET])
        own = [
            f"the sensitivity of {one.name} on D is what its declared function returns"
            for one in self.numbers
            if one.own is not None and one.own.sensitivity is not None
        ]
        complete = [
            f"column {one.column} holds no missing value, as declared"
            for one in self.numbers
            if one.missing is Missing.DECLARED_COMPLETE
        ]
        texts = (*assumed, *dict.fromkeys([*own, *complete]), *self.notes)
        return BootstrapStatement(noise, "row", texts, UNPROTECTED, {"hedgerow": __version__})

    def public_record(self) -> dict[str, Any]:
        """Return the request as plain JSON data: what tells it from another, all of it public."""
        numbers = [one.record() for one in self.numbers]
        return {"guarantee": GUARANTEE, "numbers": numbers, "epsilon": self.epsilon, "n": self.n}


def _values(number: Number) -> str:
    if number.indicator is not None:
        return f"a share of {number.column} is of all n rows: one without a value has not the value asked for"
    if number.grid is None:
        return (
            f"values of {number.column} are rounded to multiples of {number.step}, and moved to within "
            f"{number.reach:,} of them from 0, both public, and one of 2^53 or more counts as "
            "missing; no bounds are declared and none bounds the noise"
        )
    low, high = number.grid.as_bounds()
    return f"values of {number.column} are clamped to the declared [{low:.15g}, {high:.15g}] on the declared grid"


def numbers_plan(statistics: object, opened: OpenedSource, **options: Any) -> NumbersPlan:
    """Return the plan of a bootstrap-dp release.

    Raises
    ------
    UncertifiedError
        HG412 a function of one's own whose neighbours may be too many to try, and no declared sensitivity; HG413 what
        bootstrap-dp does not have.
    ParameterError
        HG106 no step, HG107 noise that no 64 bits hold, HG112 no statistics, HG113 for the shares; as `parse_request`.
    """
    given = {name: value for name, value in options.items() if value is not None and value not in ("auto", False)}
    if given.get("by") == {}:
        del given["by"]
    check_reach(opened, parse_noise(options.get("noise")), options.get("delta"), options.get("where"))
    if surplus := sorted(set(given) - _TAKEN | set(given) & {"by", "estimator"}):
        raise _without(
            f"`{surplus[0]}` was given.",
            "Leave it out: there are no groups, weights, replicates or budgets in ρ. Groups are a table's.",
        )
    if given.get("epsilon") is None:
        parse_budget({"epsilon": None}, None)
    epsilon = parse_budget({"epsilon": options["epsilon"], "delta": 0.0}, None).epsilon
    facts = Facts() if opened.facts is None else opened.facts
    resolver, listed = Resolver(facts), _listed(statistics)
    numbers = tuple(
        _number(one, part, opened, resolver, options.get("missing"))
        for one, part in zip(listed, _parts(epsilon, options.get("share"), len(listed)), strict=True)
    )
    for one in numbers:
        require_drawable(one.widest() / one.epsilon)
    return NumbersPlan(numbers, epsilon, opened.n or 0, tuple(resolver.notes))


def _listed(statistics: object) -> list[Any]:
    kinds = (Statistic, NeedsBounds, OfRows)
    listed = list(statistics) if isinstance(statistics, Sequence) else [statistics]
    flat = [each for one in listed for each in (one if isinstance(one, (list, tuple)) else [one])]
    if flat and all(isinstance(one, kinds) for one in flat):
        return flat
    raise ParameterError(
        "HG112",
        rule="A release under bootstrap-dp is asked for one or more statistics.",
        finding="Found none." if not flat else "One of those given is none.",
        remedy='For example [hg.mean("income", step=1), hg.maximum("income", step=1)].',
        shell="For example --mean income --maximum income --step 1.",
    )


def _parts(epsilon: float, share: object, count: int) -> list[float]:
    """Return each number's part of ε; added up exactly they are not above it."""
    given = [1.0] * count if share is None else share
    shares = [as_float(one) for one in given] if isinstance(given, Sequence) and not isinstance(given, str) else []
    positive = [one for one in shares if one is not None and 0.0 < one < math.inf]
    if not len(positive) == len(shares) == count:
        raise ParameterError(
            "HG113",
            rule="`share` gives each statistic a positive part of ε under bootstrap-dp.",
            finding=f"Found {format_argument(share)} for {count} statistics.",
            remedy=f"For example share={[1] * count}.",
        )
    if count == 1:
        return [epsilon]
    return [epsilon * one / math.fsum(positive) * (1.0 - 1e-12) for one in positive]


def _number(asked: Any, epsilon: float, opened: OpenedSource, resolver: Resolver, missing: object) -> Number:
    n = opened.n or 0
    column = asked.column if isinstance(asked, OfRows) else _column(asked)
    resolved, grid = _resolved(asked, column, resolver)
    kind = asked.kind
    own = asked.own if isinstance(asked, OfRows) else None
    if own is None and kind not in _KINDS:
        raise _without(f"A {kind} was asked for.", "Ask for " + ", ".join(_KINDS) + ", or a function of your own.")
    given = None if missing is None else parse_missing(missing)
    policy = given or resolver.facts.column(column).missing or Missing.DROP
    _check_missing(kind, grid, policy)
    if grid is not None and policy is Missing.MIDPOINT:
        grid = grid.with_midpoint()
    step = _step(asked, column, grid)
    probability = getattr(resolved, "probability", None) if kind == "quantile" else None
    indicator = resolved if kind == "proportion" else None
    found = Number(kind, column, n, step, grid, policy, epsilon, probability, own, indicator)
    if kind == "variance" and n < 2:
        raise _without("A variance of one row was asked for.", "It needs two.")
    # Pairs rise with n, and for large n their number is too large to be computed.
    if own is not None and own.sensitivity is None and searching(min(n, 20)) > SEARCHED:
        raise UncertifiedError(
            "HG412",
            rule="Noise is calibrated to a sensitivity that is proven, declared, or found by trying every pair of "
            "neighbours.",
            finding=f"{n:,} rows may have more than {SEARCHED:,} pairs.",
            remedy="Declare `sensitivity`, a function of D's values. Nothing was read or spent.",
        )
    return found


def _column(asked: Statistic | NeedsBounds) -> str:
    columns = asked.columns
    if len(columns) != 1:
        raise _without(f"A {asked.kind} of {len(columns)} columns was asked for.", "n is public; take one column.")
    if isinstance(columns[0], DerivedColumn):
        raise _without("A computed column was asked for.", "Compute it in the file.")
    return columns[0]


def _resolved(asked: Any, column: str, resolver: Resolver) -> tuple[Statistic | None, Grid | None]:
    """Return a statistic and its grid, None where no bounds are declared anywhere."""
    resolver.facts.allow([asked.kind])
    fact = resolver.facts.column(column)
    if isinstance(asked, OfRows):
        return None, None if fact.bounds is None else Grid.from_bounds(column, fact.bounds, asked.step or fact.step)
    if isinstance(asked, NeedsBounds) and fact.bounds is None:
        return asked.build([(column, _WHOLE)]), None
    found = resolver.statistic(asked)
    return found, None if asked.kind == "proportion" else found.grids[0][1]


def _step(asked: Any, column: str, grid: Grid | None) -> Fraction:
    if grid is not None or asked.kind == "proportion":
        return Fraction(1) if grid is None else grid.step
    stride = None if asked.step is None else as_fraction(asked.step)
    if stride is None or stride <= 0 or as_float(stride) is None:
        raise ParameterError(
            "HG106",
            rule="Without bounds, `step` says on what public grid values lie: noise on no grid would show in its "
            "last digits.",
            finding=f"Found {format_argument(asked.step)} for column {format_argument(column)}.",
            remedy="For example step=1, or step=0.01 for cents; any fineness costs nothing.",
            shell="For example --step 1.",
        )
    return stride


def _check_missing(kind: str, grid: Grid | None, policy: Missing) -> None:
    if policy is Missing.DROP and kind not in ("sum", "proportion"):
        raise _without(
            f"A {kind} of the rows with a value was asked for, whose number is not public.",
            'Declare missing="error-if-declared-complete" where every row has one, or with bounds missing="midpoint".',
        )
    if policy is Missing.MIDPOINT and grid is None:
        raise _without("A midpoint was asked for without bounds.", "Declare bounds, or leave `missing` out.")


def _without(finding: str, remedy: str) -> UncertifiedError:
    return UncertifiedError(
        "HG413",
        rule="bootstrap-dp releases totals, means, shares, variances, quantiles, extremes and functions of one's own, "
        "of all n rows.",
        finding=finding,
        remedy=f"{remedy} Nothing was read or spent.",
    )


def with_step(statistics: Sequence[Any], step: float | None) -> list[Any]:
    """Return what is asked for, with a step where it has neither bounds nor a step of its own."""

    def stepped(one: Any) -> Any:
        if isinstance(one, (list, tuple)):
            return [stepped(each) for each in one]
        waits = isinstance(one, (NeedsBounds, OfRows)) and one.step is None
        return replace(one, step=step) if waits else one

    return [stepped(one) for one in statistics]


def questions_about(number: Number) -> list[Query | ColumnQuery]:
    """Return what a source must be able to answer: the column is there, and numeric, and its values are counted."""
    if number.indicator is not None:
        return [Query(number.indicator.counted)]
    numeric = Query(ValueOnGrid(number.column, _WHOLE if number.grid is None else number.grid))
    return [numeric, ColumnQuery(number.column), Query(None)]
