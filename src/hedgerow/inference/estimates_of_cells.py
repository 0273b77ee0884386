"""Numbers of many cells with their errors, held as arrays: an `Estimate` is made when it is asked for, and not before.

This is the one array type of releases, tables and their totals. A table of a million cells is a few arrays, not a
million objects; a single estimate, a column of a frame and a written file read the same arrays by the same formulas.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.columns import CellLabels
from hedgerow.inference.estimate import Estimate, share_value
from hedgerow.inference.interval import normal_quantile, parse_level
from hedgerow.inference.region import Region

Floats = NDArray[np.float64]
_PART = 10_000
_NEARLY_ALL = 0.95
WIDE = "The 95 % interval is about as wide as everything that is possible: the number says next to nothing."
HIDDEN = "The noise hides the sampling error: 0 stands for too small to see, and the interval allows for it."


@dataclass(frozen=True, slots=True)
class Subject:
    """What the numbers of all cells are, in words.

    Attributes
    ----------
    statistic, column, method, covers : str
        As in `Estimate`.
    unsure : str
        The note on a number that is not reliable.
    remark : str or None
        A note on every number.
    sampled : bool
        Whether numbers have a sampling error, so that one of 0 is too small to be seen, and has a note.
    """

    statistic: str
    column: str | None
    method: str
    covers: str
    unsure: str = ""
    remark: str | None = None
    sampled: bool = False


def _wide(errors: tuple[Floats, Floats], region: Region, possible: float) -> NDArray[np.bool_]:
    """Return where a 95 % interval is nearly all that is possible, as it stands or by the standard error."""
    width = 2.0 * normal_quantile(0.95) * np.hypot(*errors)
    # Intervals are only computed where some may be so wide.
    if not (width >= possible / 2.0).any():
        return np.zeros(len(width), dtype=bool)
    low, high = region.interval(0.95)
    return np.asarray((width >= possible) | (high - low >= _NEARLY_ALL * possible))


class Columns(NamedTuple):
    """Numbers of all cells, in order: NaN where an error is not given, infinite where an interval has no end."""

    estimate: Floats
    standard_error: Floats
    sampling_error: Floats
    bootstrap_error: Floats
    privacy_error: Floats
    low: Floats
    high: Floats
    reliable: NDArray[np.bool_]


class LazyEstimates(Sequence[Estimate]):
    """Estimates that are made one by one, when they are asked for by their place."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, index: int | slice) -> Estimate | Sequence[Estimate]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        return self._at(range(len(self))[index])

    @abstractmethod
    def _at(self, at: int, /) -> Estimate:
        """Return the estimate at a place from 0 on."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cells(LazyEstimates):
    """One statistic of every cell, with its errors. Post-processing of what was released.

    Attributes
    ----------
    subject : Subject
    labels : sequence of mapping
        {column: category} of each cell.
    estimate : float array
        The released number, in the unit of the column.
    sampling_error, bootstrap_error, privacy_error : float array
        In the column's unit; NaN where the noise leaves no error to give, or where errors are withheld.
    reliable : bool array
        False where a number is within 2 standard deviations of its noise, or its interval is nearly all
        that is possible.
    region : Region
        What intervals at any level are computed from.
    wide : bool array, or None
        Whether that interval is the reason.
    """

    subject: Subject
    labels: Sequence[Mapping[str, Any]]
    estimate: Floats
    sampling_error: Floats
    bootstrap_error: Floats
    privacy_error: Floats
    reliable: NDArray[np.bool_]
    region: Region
    wide: NDArray[np.bool_] | None = field(default=None, kw_only=True)

    @classmethod
    def plain(
        cls,
        subject: Subject,
        labels: Sequence[Mapping[str, Any]],
        estimate: Floats,
        errors: tuple[Floats, Floats],
        region: Region,
        *,
        reliable: NDArray[np.bool_] | None = None,
        possible: float = math.inf,
    ) -> Cells:
        """Return numbers without a bootstrap, with (sampling, privacy) errors: NaN where they are not given.

        `possible` is the largest possible number less the smallest.
        """
        clear = np.ones(len(estimate), dtype=bool) if reliable is None else reliable
        bootstrap = np.where(np.isnan(errors[0]), math.nan, 0.0)
        wide = _wide(errors, region, possible)
        return cls(subject, labels, estimate, errors[0], bootstrap, errors[1], clear & ~wide, region, wide=clear & wide)

    def __len__(self) -> int:
        return len(self.estimate)

    def _at(self, at: int) -> Estimate:
        errors = (float(part[at]) for part in (self.sampling_error, self.bootstrap_error, self.privacy_error))
        sampling, bootstrap, privacy = (None if math.isnan(error) else error for error in errors)
        return Estimate(
            statistic=self.subject.statistic,
            column=self.subject.column,
            cell=self.labels[at],
            estimate=float(self.estimate[at]),
            sampling_error=sampling,
            bootstrap_error=bootstrap,
            privacy_error=privacy,
            method=self.subject.method,
            n_resamples=self.n_resamples,
            reliable=bool(self.reliable[at]),
            note=self.note(at),
            covers=self.subject.covers,
            _region=self.region.row(at),
            replicates=self.replicates(at),
        )

    @property
    def n_resamples(self) -> int | None:
        """The number of bootstrap replicates."""
        return None

    def replicates(self, index: int) -> tuple[float, ...] | None:
        """Return the noisy replicates behind one number, for a bootstrap."""
        return None

    def in_columns(self, level: float) -> dict[str, Any]:
        """Return the fields of `entries` as columns, without a mapping for each number.

        ``cell`` and ``labels`` are {column of the data: values}; the ends of the interval are columns too.
        """
        read, size = self.columns(level), len(self)
        cells = _by_column(self.labels)
        named = {column: labels for column, labels in self.names.items() if column in cells}
        return {
            "statistic": [self.subject.statistic] * size,
            "column": [self.subject.column] * size,
            "value": [share_value(self.subject.statistic, self.subject.column, self.subject.covers)] * size,
            "cell": cells,
            "labels": {column: list(map(labels.get, cells[column])) for column, labels in named.items()},
            **{name: finite(part) for name, part in zip(Columns._fields, read[:-1], strict=False)},
            "reliable": read.reliable.tolist(),
            "level": [level] * size,
            "method": [self.subject.method] * size,
            "n_resamples": [self.n_resamples] * size,
            "note": self.notes(),
        }

    def notes(self) -> list[str | None]:
        """Return `note` of each number; numbers of one kind have the same, which is made once."""
        _, first, kinds = np.unique(self._kinds_of_notes(), return_index=True, return_inverse=True)
        texts = [self.note(int(index)) for index in first]
        return list(map(texts.__getitem__, kinds.tolist()))

    def _kinds_of_notes(self) -> NDArray[np.int64]:
        """Return a number for each cell: where two are the same, so are the notes."""
        wide = np.zeros(len(self), bool) if self.wide is None else self.wide
        return np.asarray(self.reliable + 2 * wide + 4 * (self.sampling_error == 0.0))

    def note(self, index: int) -> str | None:
        """Return what a reader must know about one number."""
        wide = self.wide is not None and self.wide[index]
        return self._noted(index, [] if self.reliable[index] else [WIDE if wide else self.subject.unsure])

    def _noted(self, index: int, own: list[str]) -> str | None:
        hidden = [HIDDEN] if self.subject.sampled and self.sampling_error[index] == 0.0 else []
        return " ".join([*hidden, *own, *([self.subject.remark] if self.subject.remark else [])]) or None

    @property
    def names(self) -> Mapping[str, Mapping[Any, str]]:
        """The labels of categories that have some: {column: {category: label}}."""
        return {}

    @property
    def interval_method(self) -> str:
        """The name of the intervals: that of the release, or of a bootstrap's own method."""
        return self.region.methods[0]

    def entries(self, level: float = 0.95) -> Iterator[dict[str, Any]]:
        """Yield what `Estimate.to_dict` returns of each, without making it."""
        columns_of_all, cells, notes, named = self.columns(level), iter(self.labels), self.notes(), self.names
        interval = {"level": level, "method": self.interval_method, "covers": self.subject.covers}
        for start in range(0, len(self), _PART):
            columns = [finite(part[start : start + _PART]) for part in columns_of_all[:-1]]
            for place, (value, error, sampling, bootstrap, privacy, low, high) in enumerate(
                zip(*columns, strict=True), start
            ):
                drawn, cell = self.replicates(place), dict(next(cells))
                names = {
                    column: named[column][value] for column, value in cell.items() if value in named.get(column, ())
                }
                yield {
                    "statistic": self.subject.statistic,
                    "column": self.subject.column,
                    "cell": cell,
                    **({"labels": names} if names else {}),
                    "estimate": value,
                    "standard_error": error,
                    "sampling_error": sampling,
                    "bootstrap_error": bootstrap,
                    "privacy_error": privacy,
                    "confidence_interval": {"low": low, "high": high, **interval},
                    "method": self.subject.method,
                    "n_resamples": self.n_resamples,
                    "reliable": bool(columns_of_all.reliable[place]),
                    "note": notes[place],
                    **({} if drawn is None else {"replicates": list(drawn)}),
                }

    @property
    def standard_error(self) -> Floats:
        """The root of the sum of the three squares; NaN where they are not given."""
        return self._root_of_squares()

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (low, high) of each cell at a level (HG110), cut to what is possible. The test costs no budget."""
        self.check_given()
        return self.region.interval(parse_level(level))

    def check_given(self) -> None:
        """Refuse errors that are withheld (HG161): those of a release never are."""

    def columns(self, level: float = 0.95) -> Columns:
        """Return estimates, errors and interval ends of all cells at a level (HG110)."""
        parts = self.sampling_error, self.bootstrap_error, self.privacy_error
        low, high = self.region.interval(parse_level(level))
        return Columns(self.estimate, self._root_of_squares(), *parts, low, high, self.reliable)

    def _root_of_squares(self) -> Floats:
        # Number by number as in `Estimate`: NumPy's own roots differ from it in the last digit.
        hypot = np.frompyfunc(math.hypot, 3, 1)
        with np.errstate(invalid="ignore"):  # NaN where errors are not given
            return np.asarray(hypot(self.sampling_error, self.bootstrap_error, self.privacy_error), dtype=np.float64)


def columns_of_entries(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what `Estimate.to_dict` returns of several estimates as columns; see `Cells.in_columns`."""
    listed = list(rows)
    numbers = [name for name in Columns._fields if name not in ("low", "high")]
    columns: dict[str, Any] = {
        name: [row[name] for row in listed]
        for name in ("statistic", "column", *numbers, "method", "n_resamples", "note")
    }
    intervals = [row["confidence_interval"] for row in listed]
    columns |= {name: [interval[name] for interval in intervals] for name in ("low", "high", "level")}
    about = zip(columns["statistic"], columns["column"], intervals, strict=True)
    columns["value"] = [share_value(statistic, column, interval["covers"]) for statistic, column, interval in about]
    for name in ("cell", "labels"):
        cells = [row.get(name, {}) for row in listed]
        groups = dict.fromkeys(group for cell in cells for group in cell)
        columns[name] = {group: [cell.get(group) for cell in cells] for group in groups}
    return columns


def _by_column(labels: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the labels of cells, all with the same columns, as {column: categories}."""
    if isinstance(labels, CellLabels):
        columns, inner = {}, len(labels)
        for category in labels.by:
            inner //= category.levels
            if category.shown:
                own = [*category.values, *("other",) * category.other]
                own = own if inner == 1 else [value for value in own for _ in range(inner)]
                columns[category.column] = own * (len(labels) // len(own))
        return columns
    cells = list(labels)
    return {column: [cell[column] for cell in cells] for column in (cells[0] if cells else ())}


def finite(column: Floats) -> list[float | None]:
    """Return numbers as JSON has them: None for one that is not finite."""
    listed: list[float | None] = column.tolist()
    for place in np.flatnonzero(~np.isfinite(column)).tolist():
        listed[place] = None
    return listed


def alike(estimates: Sequence[Estimate]) -> Iterator[tuple[int, Sequence[Mapping[str, Any]]]]:
    """Yield the place of the first of estimates that differ in their cells alone, and these cells, in order.

    >>> [(place, list(cells)) for place, cells in alike(())]
    []
    """
    first = 0
    for part in estimates.parts if isinstance(estimates, Estimates) else (estimates,):
        if isinstance(part, Cells) and len(part):
            yield first, part.labels
        else:
            yield from ((place, (estimate.cell,)) for place, estimate in enumerate(part, first))
        first += len(part)


_MOST_SHOWN = 4


class Estimates(LazyEstimates):
    """The estimates of several statistics one after the other; each is made when it is asked for, and then kept.

    >>> parts = [[1.0, 2.0], (), [3.0]]
    >>> Estimates(parts)[1:], Estimates(parts)[-1], Estimates(parts) == (1.0, 2.0, 3.0)
    ([2.0, 3.0], 3.0, True)
    >>> Estimates([range(1000)])
    (0, 1, 2, 3, … 996 more)
    """

    __slots__ = ("_ends", "_made", "_parts")

    def __init__(self, parts: Iterable[Sequence[Estimate]]) -> None:
        self._parts = tuple(part for part in parts if len(part))
        self._ends = list(accumulate(map(len, self._parts)))
        self._made: dict[int, Estimate] = {}

    @property
    def parts(self) -> tuple[Sequence[Estimate], ...]:
        """The estimates of each statistic."""
        return self._parts

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def _at(self, at: int) -> Estimate:
        if (made := self._made.get(at)) is None:
            part = bisect_right(self._ends, at)
            made = self._made.setdefault(at, self._parts[part][at - self._ends[part]])
        return made

    def __iter__(self) -> Iterator[Estimate]:
        return map(self.__getitem__, range(len(self)))

    def __repr__(self) -> str:
        more = len(self) - _MOST_SHOWN
        return f"({', '.join([*map(repr, self[:_MOST_SHOWN]), *([f'… {more:,} more'] if more > 0 else [])])})"

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, (tuple, Estimates)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of every mutable sequence; some estimates have no hash

    def __reduce__(self) -> tuple[type[tuple[Any, ...]], tuple[tuple[Estimate, ...]]]:
        return tuple, (tuple(self),)

    def in_columns(self, level: float) -> dict[str, Any]:
        """Return the fields of `entries` as columns; see `Cells.in_columns`."""
        if len(self._parts) == 1 and isinstance(self._parts[0], Cells):
            return self._parts[0].in_columns(level)
        parts = [columns_of_entries(())]
        for part in self._parts:
            one_by_one = (estimate.to_dict(level) for estimate in part)
            parts.append(part.in_columns(level) if isinstance(part, Cells) else columns_of_entries(one_by_one))
        columns: dict[str, Any] = {}
        for name, empty in parts[0].items():
            own = [part[name] for part in parts]
            if isinstance(empty, list):
                columns[name] = list(chain.from_iterable(own))
                continue
            sizes = [len(part["estimate"]) for part in parts]
            columns[name] = {
                group: list(
                    chain.from_iterable(part.get(group, [None] * size) for part, size in zip(own, sizes, strict=True))
                )
                for group in dict.fromkeys(chain.from_iterable(own))
            }
        return columns

    def entries(self, level: float = 0.95) -> Iterator[dict[str, Any]]:
        """Yield what `Estimate.to_dict` returns of each; where they are cells, without making it."""
        for part in self._parts:
            yield from (
                part.entries(level) if isinstance(part, Cells) else (estimate.to_dict(level) for estimate in part)
            )
