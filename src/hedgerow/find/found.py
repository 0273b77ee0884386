"""What a search found: `Bounds` of numbers, `Categories`, a `RowLimit` of units. Their answers are public facts.

The public grid on which bounds are looked for: friendly numbers on both sides of a centre, ten a decade.

The distances from the centre are 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 and 8 times 10^k, from 1e-9 to 1e15. A cell holds its
far end and not its near one, so that values that pile up at a friendly number, as at the top code of an income, do not
push the bounds beyond it. What lies farther out than the last ends is in the first or the last cell.

The narrowest range of cells that holds a share of the records, judged from noisy counts of cells: post-processing.

Hundreds of empty cells with noise must not stretch the range, and the thin end of a distribution must not be cut off
with them. So each end is looked for in two steps, from the outside inwards, with counts in units of the noise's scale.

1. **The first step finds the outermost records.** A walk goes up by `_DRIFT` at every cell and down by its noisy count.
Noise alone makes it
   fall by `_ALARM` below its highest point with probability under 1 % on the whole grid; 340 records in one cell do
   at a scale of 20. Where it has, the cells as far as it goes on falling, to `_DEEP` at most, are the beginning.
2. **The second step estimates the tail.** From that beginning outwards the counts are taken to fall as A·exp(−s·j −
c·j²), j the
   number of cells: a power law where c = 0, a lighter tail where c > 0. Every (A, s, c) of a list is weighted by the
   likelihood of the noisy counts, and the weighted mean is the number of records that are expected beyond each cell.

Of all ranges outside which `_CAUTION` × (1 − share) of the records are expected at most, the narrowest is taken. The
expectation has errors of its own, so a part of the allowance is kept back.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query
from hedgerow.errors import ParameterError, VerificationError
from hedgerow.facts.columns import LARGEST, Category, Scalar, Selection
from hedgerow.facts.printed import number
from hedgerow.facts.relation import UnitLimit, unit_of_text
from hedgerow.facts.validation import as_float, as_fraction, format_argument
from hedgerow.facts.written import column_lines, toml_value
from hedgerow.mechanisms.certificate import Certificate, record_of
from hedgerow.release.designs.design import only_where, rows_kept
from hedgerow.release.publication.shared import REPLAYED
from hedgerow.release.publication.write_file import optionally_written
from hedgerow.release.record import READING
from hedgerow.release.spend import Receivable


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Found(Receivable):
    """The answer of one search, which is a separate release.

    Attributes
    ----------
    certificate : Certificate
        The certificate: the mechanism, the relation, the unit and the price.
    about : dict
        The public facts of the search: source, relation, unit, target, n (under replace-one) and date.
    found : dict
        The answer and the noisy counts behind the answer, as plain JSON data. The price covers all of these data.
    request : dict or None
        The request as plain JSON data; None for a record that an earlier version of hedgerow wrote.
    ledger_head, unrecorded, replayed
        The attributes of the same names of every release.
    notes : tuple of str
        Sentences about the privacy price, for readers of the score.
    """

    kind: ClassVar[str]
    how: ClassVar[str]
    """How the answer was found, in a sentence."""
    command: ClassVar[str] = ""
    """What follows ``hedgerow find``, where that is another word than the kind."""
    certificate: Certificate
    about: dict[str, Any]
    found: dict[str, Any]
    request: dict[str, Any] | None = None
    ledger_head: str | None = field(default=None, compare=False)
    unrecorded: bool = field(default=False, compare=False)
    replayed: bool = field(default=False, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def column(self) -> str:
        """The column that was searched."""
        return str(self.found["column"])

    @property
    def source(self) -> str:
        """The source of the facts that were found, as the facts file states it."""
        chosen = "" if self.where is None else f" where {self.where}"
        dated = f", {self.about['date']}" if self.about.get("date") else ""
        return f"hedgerow find {self.command or self.kind}{chosen}, {self.price()}{dated}"

    @property
    def where(self) -> str | None:
        """The condition that selects records, as it was written. None if the result uses all records."""
        return self.about.get("where")

    def facts(self) -> dict[str, Any]:
        """Return the answer as facts of the column, and the expression of a computed column. Empty without answer."""
        answer = self.answer()
        text = self.about.get("derived", {}).get(self.column)
        return answer if not answer or text is None else {"expression": text, **answer}

    def answer(self) -> dict[str, Any]:
        """Return only the answer, as facts of the column. Empty if nothing was found."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the answer in a sentence."""
        raise NotImplementedError

    @property
    def summary_fields(self) -> tuple[str, ...]:
        """The fields of the record that hold the numbers of the summary."""
        return ()

    @property
    def counted(self) -> tuple[tuple[Scalar, int], ...]:
        """The values that were found, each with its noisy count."""
        return ()

    def remarks(self) -> tuple[str, ...]:
        """Return notes for readers about the answer, as sentences."""
        return (*self.meaning(), *(() if self.where is None else (only_where(self.where),)), *self.notes)

    def meaning(self) -> tuple[str, ...]:
        """Return sentences on what the answer says and what the answer does not say."""
        raise NotImplementedError

    def price(self) -> str:
        """Return the privacy price in one line (ε, δ, relation and unit)."""
        return self.certificate.price()

    def to_toml(self) -> str:
        """Return the lines of a facts file about the column. The text is empty if nothing was found."""
        facts = self.facts()
        return column_lines(self.column, facts | {"source": self.source}) if facts else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data: the request, the answer, the noisy counts behind the answer, and the certificate."""
        noted = {"notes": list(self.notes)} if self.notes else {}
        asked = {} if self.request is None else {"reading": READING, "request": self.request}
        record = {"release": {**self.about, **noted}, **asked, "found": self.found}
        return {**record, "certificate": self.certificate.to_dict()}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the JSON text.

        If `path` is given, also write the text to this file (error HG118: the file cannot be written).
        """
        return optionally_written(json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n", path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.column!r}: {self.summary()} {self.price()}>"

    def __str__(self) -> str:
        return "\n".join([self.summary(), self.price(), *self.remarks(), *((REPLAYED,) if self.replayed else ())])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Bounds(Found):
    """Bounds between which most values of a column lie. Pass ``.bounds`` wherever bounds are declared."""

    kind: ClassVar[str] = "bounds"
    how: ClassVar[str] = (
        "How many values lie in each cell of a public grid was counted, noise was added to every count, and "
        "the bounds were read off the noisy counts."
    )

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds (low, high). None if the noise hides the location of the values."""
        given = self.found["bounds"]
        return None if given is None else (given[0], given[1])

    @property
    def share(self) -> float:
        """The share of the values that the bounds should contain."""
        return float(self.found["share"])

    @property
    def summary_fields(self) -> tuple[str, ...]:
        """The fields of the record that hold the ends of the bounds."""
        return () if self.bounds is None else ("found.bounds.0", "found.bounds.1")

    def answer(self) -> dict[str, Any]:
        """Return the bounds as facts of the column. Empty if no bounds were found."""
        return {} if self.bounds is None else {"bounds": list(self.bounds)}

    def summary(self) -> str:
        """Return the bounds in a sentence."""
        if self.bounds is None:
            return "No bounds: the noise hides where the values lie."
        low, high = self.bounds
        return f"Bounds {number(low)} to {number(high)}."

    def meaning(self) -> tuple[str, ...]:
        """Return sentences on the meaning of the bounds, and on ways to find narrower bounds."""
        if self.bounds is None:
            return ("The price is spent. A larger epsilon, or more records, would show where they lie.",)
        low, high = self.bounds
        unit = unit_of_text(self.about["unit"])
        aimed = f"They were chosen to hold at least {self.share:.4g} of the values; values beyond them are clamped."
        if isinstance(unit, UnitLimit):
            aimed += f" {rows_kept(unit)} Rows of one {unit.column} in one cell of the grid count once."
        if low * high > 0.0 and max(abs(low), abs(high)) < 4.0 * min(abs(low), abs(high)) and not self.found["around"]:
            return (
                aimed,
                f"They are wide for how far they lie from 0: a search around {(low + high) / 2:g} finds narrower ones.",
            )
        return (aimed,)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Categories(Found):
    """Values of a column that many records have. Pass ``.values`` wherever categories are declared."""

    kind: ClassVar[str] = "categories"
    how: ClassVar[str] = (
        "How often each value occurs was counted, noise was added to every count, and the values whose "
        "noisy counts reach a public threshold were kept."
    )

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The values that were found, sorted."""
        return tuple(self.found["values"])

    @property
    def counts(self) -> tuple[int, ...]:
        """The noisy count of each value. Counts near the threshold are too high on average, due to the selection."""
        return tuple(self.found["noisy_counts"])

    @property
    def counted(self) -> tuple[tuple[Scalar, int], ...]:
        """The values, each with its noisy count."""
        return tuple(zip(self.values, self.counts, strict=True))

    def answer(self) -> dict[str, Any]:
        """Return the categories as facts. A cell for all other values is added if no category has its name."""
        rest = {} if "other" in self.values else {"other": True}
        return {"categories": list(self.values), **rest} if self.values else {}

    def summary(self) -> str:
        """Return how many values were found."""
        return f"{len(self.values):,} categor{'y' if len(self.values) == 1 else 'ies'}."

    def meaning(self) -> tuple[str, ...]:
        """Return sentences on the values that are left out."""
        threshold = self.found["threshold"]
        return (f"Values are shown whose noisy count is {threshold:,} or more; rarer ones are left out.",)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RowLimit(Found):
    """A limit of rows that most units do not exceed. Pass ``.max_rows`` wherever a unit is declared."""

    kind: ClassVar[str] = "rows"
    command: ClassVar[str] = "bounds --of rows"
    how: ClassVar[str] = (
        "How many units have one row, two rows and so on was counted, noise was added to every count, and the limit "
        "was read off the noisy counts."
    )

    @property
    def max_rows(self) -> int | None:
        """The limit of rows. None if the noise hides how many rows the units have."""
        limit: int | None = self.found["max_rows"]
        return limit

    @property
    def summary_fields(self) -> tuple[str, ...]:
        """The field of the record that holds the limit."""
        return () if self.max_rows is None else ("found.max_rows",)

    @property
    def counted(self) -> tuple[tuple[Scalar, int], ...]:
        """Each number of rows with its noisy count of units. The last number also stands for all larger numbers."""
        return tuple(enumerate(self.found["noisy_counts"], start=1))

    def answer(self) -> dict[str, Any]:
        """Return an empty answer, because a limit of rows is not a fact of a column."""
        return {}

    def to_toml(self) -> str:
        """Return the line of a facts file that declares the unit. The text is empty if nothing was found."""
        unit = f"{{ column = {toml_value(self.column)}, max_rows = {self.max_rows} }}"
        return "" if self.max_rows is None else f"unit = {unit}  # {self.source}\n"

    def summary(self) -> str:
        """Return the limit in a sentence."""
        if self.max_rows is None:
            return "No limit: the noise hides how many rows units have."
        return f"At most {self.max_rows} row{'s' * (self.max_rows != 1)} of each {self.column}."

    def meaning(self) -> tuple[str, ...]:
        """Return sentences on the rows that the limit keeps and the rows that the limit drops."""
        if self.max_rows is None:
            return ("The price is spent. A larger epsilon, or more units, would show it.",)
        counts, share = self.found["noisy_counts"], self.found["share"]
        beyond = max(0.0, sum(counts[self.max_rows :]) / max(1, sum(counts)))
        aimed = f"It was chosen to keep all rows of at least {share:.4g} of the units."
        if self.max_rows < len(counts):
            return (aimed, f"Of about {beyond:.2g} of the units, which have more rows, some are left out at random.")
        return (aimed, f"{self.max_rows} is the largest limit; how many units have more rows is not known.")


def found_from_record(text: str) -> Found:
    """Return what a search found, from the JSON that it wrote (HG502 where it is no such record)."""
    record = record_of(text)
    try:
        kind = {kind_of_found.kind: kind_of_found for kind_of_found in (Bounds, Categories, RowLimit)}[
            record["found"]["kind"]
        ]
        certificate = Certificate.from_dict(record["certificate"])
        asked = dict(record["request"]) if "reading" in record else None
        about, answer = dict(record["release"]), dict(record["found"])
        notes = tuple(about.pop("notes", ()))
        return kind(certificate=certificate, about=about, found=answer, request=asked, notes=notes)
    except (KeyError, TypeError, ValueError):
        raise VerificationError(
            "HG502",
            rule="The result of a search is read from the JSON that the search wrote.",
            finding="The given text is another kind of record.",
            remedy="Use an unchanged found.json, or the result in the ledger.",
        ) from None


_STEPS = ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")
_DECADES = range(-9, 15)


@dataclass(frozen=True)
class LogGrid:
    """Cells around a public centre.

    >>> grid = LogGrid.of(0)
    >>> grid.cells, grid.ends[-3:], grid.bounds(0, grid.cells - 1)
    (483, (600000000000000, 800000000000000, 1000000000000000), (-1000000000000000, 1000000000000000))
    """

    around: Fraction

    @classmethod
    def of(cls, around: object) -> LogGrid:
        """Return the grid around a number of at most 1e14 in size (HG145)."""
        centre = as_fraction(around)
        if centre is None or abs(centre) > LARGEST / 10:
            raise ParameterError(
                "HG145",
                rule="`around` is a number near which values may lie, at most 1e14 in size.",
                finding=f"Found {format_argument(around)}.",
                remedy="The default of `around` is 0. For years of birth, around=1900 finds narrower bounds.",
                shell="The default is 0. For years of birth, --around 1900 finds narrower bounds.",
            )
        return cls(centre)

    @cached_property
    def ends(self) -> tuple[int | float, ...]:
        """The ends of cells, in order: numbers between −1e15 and 1e15."""
        sizes = [Fraction(Decimal(f"{step}e{decade}")) for decade in _DECADES for step in _STEPS]
        every = {self.around + sign * size for size in sizes for sign in (-1, 1)}
        inside = {float(end) for end in every if abs(end) < LARGEST} | {float(-LARGEST), float(LARGEST)}
        return tuple(int(end) if end.is_integer() else end for end in sorted(inside))

    @property
    def cells(self) -> int:
        """How many cells there are: one more than ends."""
        return len(self.ends) + 1

    def query(self, column: str, chosen: tuple[Selection, ...] = (), limit: UnitLimit | None = None) -> Query:
        """Return the question for how many records, or units, count in each cell; missing values are in none."""
        cuts = [math.nextafter(end, math.inf) if end > self.around else float(end) for end in self.ends]
        largest = sys.float_info.max
        cells = Category(column, tuple(range(self.cells)), edges=(-largest, *cuts, largest))
        return Query(None, (cells, *chosen), limit)

    def bounds(self, first: int, last: int) -> tuple[int | float, int | float]:
        """Return the ends of a range of cells; an end that is near the centre, seen from the other, is the centre.

        Near is a tenth of the other's distance where both are on one side, which widens the range a little, and a
        millionth where it cuts off a little.
        """
        at = min(max(first - 1, 0), len(self.ends) - 2)
        low, high, centre = self.ends[at], self.ends[max(min(last, len(self.ends) - 1), at + 1)], self.around
        about = int(centre) if centre.denominator == 1 else float(centre)
        below, above = Fraction(low) - centre, Fraction(high) - centre
        if _is_near(below, above):
            return about, high
        return (low, about) if _is_near(-above, -below) else (low, high)


def _is_near(near: Fraction, far: Fraction) -> bool:
    """Return whether a distance is near 0 seen from a positive one: a tenth of it, or a millionth on the other side."""
    return far > 0 and (0 <= 10 * near <= far or 0 < -1_000_000 * near <= far)


Floats = NDArray[np.float64]
_DRIFT, _ALARM, _DEEP = 1.0, 16.0, 46.0
_CAUTION = 0.4
_RARE = 1e-9
MOST_SHARE = 0.999
_SLOPES = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5, 5.0])
_BENDS = np.array([0.0, 0.003, 0.007, 0.015, 0.03, 0.07, 0.15, 0.4])
_HEIGHTS = 16


@dataclass(frozen=True, slots=True, eq=False)
class _End:
    """How many records are expected in the first cells: `before[k]` in cells 0 to k − 1; `begin`: a cell with some."""

    before: Floats
    begin: int


def narrowest_bounds(
    noisy: NDArray[np.int64], scale: float, grid: LogGrid, share: float
) -> tuple[int | float, int | float] | None:
    """Return bounds that are expected to hold a share of the records; None where noise hides where they lie.

    Parameters
    ----------
    noisy : int array
        The count of each cell of `grid` plus two-sided geometric noise.
    scale : float
        That of the noise.
    share : float
        A number between 0 and 1.

    Examples
    --------
    >>> grid = LogGrid.of(0)
    >>> noisy = np.zeros(grid.cells, dtype=np.int64)
    >>> noisy[400:420] = 500
    >>> narrowest_bounds(noisy, 20.0, grid, 0.99), narrowest_bounds(0 * noisy, 20.0, grid, 0.99)
    ((0, 800000000), None)
    """
    counts = noisy.astype(np.float64)
    left, right = _end(counts, scale), _end(counts[::-1], scale)
    if left is None or right is None:
        return None
    cells = len(counts)
    after = right.before[::-1]  # after[k]: in cells k to the last
    # Cells between the two beginnings alone: noise far out must not count as records.
    total = left.before[cells - 1 - right.begin] + after[cells - 1 - right.begin]
    allowed = _CAUTION * (1.0 - share) * total
    if not allowed > 0.0:
        return None
    narrowest: list[tuple[float, tuple[int | float, int | float]]] = []
    for first in range(cells):
        if left.before[first] > allowed:
            break
        last = first + int(np.argmax(after[first + 1 :] <= allowed - left.before[first]))
        low, high = grid.bounds(first, last)
        narrowest.append((high - low, (low, high)))
    return min(narrowest)[1]


def _end(counts: Floats, scale: float) -> _End | None:
    """Return what is expected from the first cell on; None where no records are seen."""
    walk = np.concatenate([[0.0], np.cumsum(_DRIFT - counts / scale)])
    fallen = np.maximum.accumulate(walk) - walk
    alarms = np.flatnonzero(fallen > _ALARM)
    if not len(alarms):
        return None
    goes_on = (np.diff(walk, append=np.inf) < 0.0) & (fallen <= _DEEP)
    begin = int(alarms[0]) + int(np.argmin(goes_on[alarms[0] :])) - 1
    beyond = _expected_beyond(counts[begin::-1], scale)
    before = np.concatenate([[0.0], beyond[::-1], beyond[0] + np.cumsum(counts[begin + 1 :])])
    return _End(np.maximum.accumulate(before), begin)


def _expected_beyond(counts: Floats, scale: float) -> Floats:
    """Return how many records are expected in the cells from j on, given noisy counts from a beginning outwards."""
    j = np.arange(len(counts), dtype=np.float64)
    shapes = np.exp(-(_SLOPES[:, None, None] * j + _BENDS[:, None] * j**2)).reshape(-1, len(j))
    heights = np.geomspace(scale / 4.0, max(6.0 * scale, 3.0 * counts[0]), _HEIGHTS)
    means = (heights[:, None, None] * shapes).reshape(-1, len(j))
    likelihood = -np.abs(counts - means).sum(axis=1) / scale
    weights = np.exp(likelihood - likelihood.max())
    mean = (weights[:, None] * means).sum(axis=0) / weights.sum()
    return np.asarray(np.cumsum(mean[::-1])[::-1])


def contradicted_by_noise(counts: Sequence[int], scale: float) -> bool:
    """Whether negative counts, whatever the true ones are, would be so small or so large with a chance below 1e-9.

    Below 0 the law of a count plus two-sided geometric noise has no memory: −X − 1 is geometric with α = e^(−1/scale),
    and the sum of m of them is negative binomial.

    >>> contradicted_by_noise([-40, 30, -3] * 100, 20.0), contradicted_by_noise([-2, 3, -1] * 100, 20.0)
    (False, True)
    """
    from hedgerow.special import betainc

    below = [-count - 1 for count in counts if count < 0]
    if not below:
        return False
    shown, total = -np.expm1(-1.0 / scale), float(sum(below))
    as_small = betainc(len(below), total + 1.0, shown)
    as_large = betainc(total, len(below), 1.0 - shown) if total else 1.0
    return bool(min(as_small, as_large) < _RARE)


def checked_share(share: object) -> float:
    """Return the share of the values, or units, that an answer is to hold (HG145)."""
    part = as_float(share)
    if part is None or not 0.5 <= part <= MOST_SHARE:
        raise ParameterError(
            "HG145",
            rule=f"Bounds are looked for that hold a share between 0.5 and {MOST_SHARE} of the values.",
            finding=f"Found {format_argument(share)}.",
            remedy="The default share of values inside the bounds is 0.99.",
        )
    return part
