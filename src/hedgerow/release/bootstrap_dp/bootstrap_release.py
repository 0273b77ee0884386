"""Numbers under bootstrap differential privacy, whose noise is as wide as D's own range makes it: asked, planned, read.

What goes out are noisy numbers on public grids and a statement in public words (`BootstrapStatement`): no standard
error, no interval, no sensitivity. The custodian has those in memory: `BootstrapRelease.for_the_custodian`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.cells import as_entries, as_numbers
from hedgerow.engines.query import ColumnQuery, Query, ValueOnGrid
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import ParameterError, SpentError, UncertifiedError
from hedgerow.facts.columns import Grid, Missing, parse_missing
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.validation import as_float, as_fraction, format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.region import WithheldRegion
from hedgerow.ledger.bootstrap_statement import NUMBERS, BootstrapNoise, BootstrapStatement
from hedgerow.noise.lattice import require_drawable
from hedgerow.release.bootstrap_dp.bootstrap_numbers import SEARCHED, BootstrapNumber, Integers, OfRows, searching
from hedgerow.release.bootstrap_dp.bootstrap_product import (
    METHOD,
    BootstrapProduct,
    ExactNumbers,
    OfTheCustodian,
    Token,
    check_reach,
)
from hedgerow.release.designs.design import declared_complete
from hedgerow.release.execute import changed
from hedgerow.release.options import Resolver
from hedgerow.release.publication.formats.json import record_parts
from hedgerow.release.publication.printed_table import PrintedTable, printed_lines
from hedgerow.release.publication.shared import REPLAYED, Result
from hedgerow.release.request import parse_budget, parse_noise
from hedgerow.release.spend import OpenedSource
from hedgerow.statistics.statistic import AskedFor, NeedsBounds, Statistic

# What a call under bootstrap-dp may hold.
AskedOfRows = AskedFor | OfRows
_KINDS = ("sum", "mean", "proportion", "variance", "quantile", "minimum", "maximum")
_WHOLE = Grid(Fraction(0), Fraction(1), 1)
_TAKEN = {"by", "epsilon", "delta", "noise", "missing", "share", "where", "estimator"}
_NOTE = "NOT differential privacy; the width of its noise is confidential, so it has no error and no interval"
_REASON = "noise as wide as the data make it, which is asked for by name"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class BootstrapRelease(OfTheCustodian, Result):
    """Numbers under ε-bootstrap differential privacy for D, which is NOT differential privacy.

    A sequence of `Estimate` without errors; ``certificate`` is a `BootstrapStatement`. The fields of
    `hedgerow.release.publication.shared.Result` come with it, by name.
    """

    estimates: tuple[Estimate, ...]
    certificate: BootstrapStatement
    notes: tuple[str, ...] = ()
    token: Token | None = field(default=None, repr=False)
    guarantee: Literal["bootstrap-dp"] = "bootstrap-dp"

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, index: int | slice) -> Estimate | Sequence[Estimate]:
        return self.estimates[index]

    def __len__(self) -> int:
        return len(self.estimates)

    def __repr__(self) -> str:
        return f"<BootstrapRelease of {len(self)} estimate{'s' * (len(self) != 1)}, {self.price()}>"

    def __str__(self) -> str:
        lines = [f"{estimate.statistic} of {estimate.column}: {estimate.estimate:.15g}" for estimate in self]
        return "\n".join([*lines, f"Guarantee: {self.price()}.", *self.notes, *([REPLAYED] if self.replayed else [])])

    def price(self) -> str:
        """Return guarantee, price, relation and unit in a line."""
        stated = self.certificate
        return (
            "bootstrap differential privacy, which is NOT differential privacy, "
            f"ε ≤ {stated.epsilon:.6g}, {stated.relation}, unit {stated.unit}"
        )

    def custodian_names(self) -> list[str]:
        """Return what each number is, in words."""
        return [f"{estimate.statistic} of {estimate.column}" for estimate in self]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data: what was asked, the numbers without errors, the statement."""
        about = self._facts(self.notes, {METHOD: _REASON}) | {"guarantee": self.guarantee}
        return {
            "release": about,
            "estimates": [estimate.to_dict(level) for estimate in self],
            "certificate": self.certificate.to_dict(),
        }

    def to_json(self) -> str:
        """Return the JSON text."""
        return "".join(self._publication().json_parts())

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the numbers as columns of equal length, the guarantee among them."""
        columns: dict[str, list[Any]] = {
            name: [getattr(estimate, name) for estimate in self]
            for name in ("statistic", "column", "estimate", "method", "note")
        }
        return columns | {"guarantee": [f"{self.guarantee} (NOT differential privacy)"] * len(self)}

    def _publication(self, title: str | None = None, *, level: float = 0.95) -> NumbersPublication:
        """Return what the formats read."""
        return NumbersPublication(self, level)


@dataclass(frozen=True, slots=True)
class NumbersPublication:
    """A bootstrap-dp release as the formats read it: no picture, since there is no error to draw."""

    release: BootstrapRelease
    level: float
    withheld: bool = True

    @property
    def kind(self) -> Literal["release"]:
        """The kind of publication: a release."""
        return "release"

    def lines(self) -> Iterator[Sequence[Any]]:
        """Yield the names of the columns, then one line per number."""
        columns = self.release.to_columns(self.level)
        yield list(columns)
        yield from zip(*columns.values(), strict=True)

    def printed(self) -> PrintedTable:
        """Return the numbers for a paper."""
        heads, *lines = self.lines()
        return replace(printed_lines(heads, lines, "Numbers under bootstrap-dp"), notes=tuple(self.release.notes))

    def json_parts(self) -> Iterator[str]:
        """Yield the JSON text."""
        return record_parts(self.release.to_dict(self.level))


def bootstrap_release(
    statistics: object, opened: OpenedSource, *, request_id: str | None = None, **options: Any
) -> BootstrapRelease:
    """Release numbers. Guarantee: ε-bootstrap differential privacy for D; NOT differential privacy.

    For data sets D1, D2 ∈ Dⁿ, whose n rows are rows of D and which differ in one of them, P(release | D1) ≤
    e^ε·P(release | D2). Whom that leaves unprotected is in ``release.certificate.unprotected`` and in every output.

    Raises
    ------
    UncertifiedError, ParameterError
        As `bootstrap_numbers`: nothing was read or spent.
    LedgerError
        HG316: the ledger is for differential privacy.
    SpentError
        After the data were read: the price counts as spent.

    Notes
    -----
    O'Keefe & Charest (2018), Definitions 5, 9 and 10, Results 7 and 11.
    """
    return bootstrap_numbers(statistics, opened, **options).released(request_id)


def exact_and_width(number: BootstrapNumber, source: ColumnSource, read: dict[str, Any]) -> tuple[int, int]:
    """Return q and w of a number: facts of the data, which leave this process with noise alone.

    Raises
    ------
    SpentError
        HG602 a column that was declared complete has a row without a value; HG603 the number of rows changed.
    """
    if number.indicator is not None:
        histogram = source.histogram(Query(number.indicator.counted))
        if histogram.total() != number.n:
            raise changed()
        return int(histogram.cell_sums(histogram.index)[0]), 1
    if number.column not in read:
        values = source.values(ColumnQuery(number.column))
        read[number.column] = as_numbers(as_entries(np.array(values.values, dtype=object))), values.counts
    x, counts = read[number.column]
    known = np.isfinite(x)
    y, counts = number.placed(x[known]), counts[known]
    without = number.n - int(counts.sum())
    if without < 0 or source.count_rows() != number.n:
        raise changed()
    if without and number.missing is Missing.DECLARED_COMPLETE:
        raise SpentError(
            "HG602",
            rule="A column that was declared complete must have no missing value.",
            finding="The column has a missing value.",
            remedy="Count the price of this call as spent, and correct the declaration.",
        )
    if without and number.missing is Missing.MIDPOINT:
        y, counts = np.append(y, number.fill), np.append(counts, without)
    adds_0 = without > 0 and number.missing is Missing.DROP
    return number.exact(y, counts), number.width(y, some_missing=adds_0, counts=counts)


@dataclass(frozen=True, slots=True)
class BootstrapNumbers(BootstrapProduct[BootstrapRelease]):
    """Numbers, from public facts.

    ε is divided among them by their shares; that it then adds up is O'Keefe & Charest's Result 7.
    """

    numbers: tuple[BootstrapNumber, ...]

    def noise(self) -> BootstrapNoise:
        """Return what runs: each number has noise of its own."""
        names = ", ".join(f"{number.name} of {number.column}" for number in self.numbers)
        grids = ", ".join(str(number.pitch) for number in self.numbers)
        return BootstrapNoise(self.epsilon, names, NUMBERS, len(self.numbers), grids)

    def values_read(self) -> tuple[str, ...]:
        """Return how values of each column are rounded and clamped."""
        return tuple(dict.fromkeys(map(_values, self.numbers)))

    def assumptions(self) -> tuple[str, ...]:
        """Return which sensitivities and which columns without missing values are declared."""
        own = [
            f"the sensitivity of {number.name} on D is what its declared function returns"
            for number in self.numbers
            if number.own is not None and number.own.sensitivity is not None
        ]
        complete = [
            declared_complete(number.column) for number in self.numbers if number.missing is Missing.DECLARED_COMPLETE
        ]
        return tuple(dict.fromkeys([*own, *complete]))

    def asked(self) -> dict[str, Any]:
        """Return each number as plain JSON data."""
        return {"numbers": [number.record() for number in self.numbers]}

    def questions(self) -> list[Query | ColumnQuery]:
        """Return what a source must answer: the columns are there, and numeric, and their values are counted."""
        return [query for number in self.numbers for query in _questions_about(number)]

    def exact(self, source: ColumnSource) -> Iterator[ExactNumbers]:
        """Yield each number with its width."""
        read: dict[str, tuple[NDArray[Any], Integers]] = {}
        for number in self.numbers:
            exact, width = exact_and_width(number, source, read)
            sums, widths = np.array([exact], dtype=object), np.array([float(width)])
            yield ExactNumbers(sums, widths, number.epsilon, number.pitch, number.offset, number.everywhere())

    def result(self, values: NDArray[np.float64], **about: Any) -> BootstrapRelease:
        """Return the numbers, without errors."""
        estimates = tuple(
            Estimate(
                number.name, number.column, {}, value, None, None, None, METHOD, None, False, _NOTE,
                f"{number.name} of {number.column}, with noise of undisclosed width", WithheldRegion(),
            )
            for number, value in zip(self.numbers, values.tolist(), strict=True)
        )  # fmt: skip
        policies = ", ".join(dict.fromkeys(str(number.missing) for number in self.numbers))
        return BootstrapRelease(estimates=estimates, missing=policies, notes=about["certificate"].unprotected, **about)

    def write(self, result: BootstrapRelease) -> str:
        """Return the record of the release."""
        return result.to_json()


def _values(number: BootstrapNumber) -> str:
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


def bootstrap_numbers(statistics: object, opened: OpenedSource, **options: Any) -> BootstrapNumbers:
    """Return what a bootstrap-dp release is made of, from public facts.

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
    resolver = Resolver.of(opened.facts, options, related=opened.protection.related)
    resolver.require({})
    check_reach(opened, parse_noise(options.get("noise")), options.get("delta"), options.get("where"))
    if surplus := sorted(set(given) - _TAKEN | set(given) & {"by", "estimator"}):
        raise _without(
            f"`{surplus[0]}` was given.",
            "Leave it out: there are no groups, weights, replicates or budgets in ρ. Groups are a table's.",
        )
    if given.get("epsilon") is None:
        parse_budget({"epsilon": None}, None)
    epsilon = parse_budget({"epsilon": options["epsilon"], "delta": 0.0}, None).epsilon
    listed = _listed(statistics)
    numbers = tuple(
        _number(asked, part, opened, resolver, options.get("missing"))
        for asked, part in zip(listed, _parts(epsilon, options.get("share"), len(listed)), strict=True)
    )
    for number in numbers:
        require_drawable(number.widest() / number.epsilon)
    return BootstrapNumbers(opened, epsilon, tuple(resolver.notes), numbers)


def _listed(statistics: object) -> list[Any]:
    kinds = (Statistic, NeedsBounds, OfRows)
    listed = list(statistics) if isinstance(statistics, Sequence) else [statistics]
    flat = [each for entry in listed for each in (entry if isinstance(entry, (list, tuple)) else [entry])]
    if flat and all(isinstance(entry, kinds) for entry in flat):
        return flat
    raise ParameterError(
        "HG112",
        rule="A release under bootstrap-dp needs one or more statistics.",
        finding="Found none." if not flat else "One of the arguments is not a statistic.",
        remedy='List the statistics to release, for example [hg.mean("income", step=1), '
        'hg.bootstrap_dp.maximum("income", step=1)].',
        shell="For example, write --mean income --maximum income --step 1.",
    )


def _parts(epsilon: float, share: object, count: int) -> list[float]:
    """Return each number's part of ε; added up exactly they are not above it."""
    given = [1.0] * count if share is None else share
    shares = [as_float(entry) for entry in given] if isinstance(given, Sequence) and not isinstance(given, str) else []
    positive = [entry for entry in shares if entry is not None and 0.0 < entry < math.inf]
    if not len(positive) == len(shares) == count:
        raise ParameterError(
            "HG113",
            rule="Under bootstrap-dp, `share` gives each statistic a positive part of ε.",
            finding=f"Found {format_argument(share)} for {count} statistics.",
            remedy=f"For example, write share={[1] * count}.",
        )
    if count == 1:
        return [epsilon]
    return [epsilon * part / math.fsum(positive) * (1.0 - 1e-12) for part in positive]


def _number(asked: Any, epsilon: float, opened: OpenedSource, resolver: Resolver, missing: object) -> BootstrapNumber:
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
    number = BootstrapNumber(kind, column, n, step, grid, policy, epsilon, probability, own, indicator)
    if kind == "variance" and n < 2:
        raise _without("A variance of one row was asked for.", "It needs two.")
    # Pairs rise with n, and for large n their number is too large to be computed.
    if own is not None and own.sensitivity is None and searching(min(n, 20)) > SEARCHED:
        raise UncertifiedError(
            "HG412",
            rule="The noise needs a sensitivity that is proven, declared, or found by trying every pair of neighbours.",
            finding=f"{n:,} rows may have more than {SEARCHED:,} pairs.",
            remedy="Declare the argument `sensitivity`: a function of the values of D. The request was refused before "
            "anything was read or spent.",
        )
    return number


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
    statistic = resolver.statistic(asked)
    return statistic, None if asked.kind == "proportion" else statistic.grids[0][1]


def _step(asked: Any, column: str, grid: Grid | None) -> Fraction:
    if grid is not None or asked.kind == "proportion":
        return Fraction(1) if grid is None else grid.step
    stride = None if asked.step is None else as_fraction(asked.step)
    if stride is None or stride <= 0 or as_float(stride) is None:
        raise ParameterError(
            "HG106",
            rule="Without bounds, `step` declares the public grid of the values. Noise without a grid would be "
            "visible in the last digits of the result.",
            finding=f"Found {format_argument(asked.step)} for column {format_argument(column)}.",
            remedy="Declare the distance between grid values, for example step=1, or step=0.01 for cents. A finer "
            "step of the grid costs nothing under bootstrap-dp.",
            shell="For example, write --step 1.",
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
        rule="bootstrap-dp can release totals, means, shares, variances, quantiles, extremes and your own functions, "
        "each of all n rows.",
        finding=finding,
        remedy=f"{remedy} The request was refused before anything was read or spent.",
    )


def with_step(statistics: Sequence[Any], step: float | None) -> list[Any]:
    """Return what is asked for, with a step where it has neither bounds nor a step of its own."""

    def stepped(statistic: Any) -> Any:
        if isinstance(statistic, (list, tuple)):
            return [stepped(each) for each in statistic]
        waits = isinstance(statistic, (NeedsBounds, OfRows)) and statistic.step is None
        return replace(statistic, step=step) if waits else statistic

    return [stepped(statistic) for statistic in statistics]


def _questions_about(number: BootstrapNumber) -> list[Query | ColumnQuery]:
    """Return what a source must be able to answer: the column is there, and numeric, and its values are counted."""
    if number.indicator is not None:
        return [Query(number.indicator.counted)]
    numeric = Query(ValueOnGrid(number.column, _WHOLE if number.grid is None else number.grid))
    return [numeric, ColumnQuery(number.column), Query(None)]
