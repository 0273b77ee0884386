"""What every statistic is: features of a record, a function of their totals, limits, and the words that name it.

To add one, write ``statistics/<name>.py`` with a subclass of `Statistic` (most often of `SmoothStatistic`), a function
of the same name that users call, and an `ENTRY` that says how facts files and the command line ask for it
(`hedgerow.statistics.entry`). The registry finds it by its file; the function is exported in ``hedgerow/__init__.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hedgerow.facts.columns import DEFAULT_STEPS, Grid
from hedgerow.facts.expression import DerivedColumn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.engines.query import Indicator, JointGrid, ValueOnGrid
    from hedgerow.inference.distribution.noisy_distribution import Distribution, Read
    from hedgerow.inference.joint.functions import FunctionOfTotals, ScaledMean

    Floats = NDArray[np.float64]
    Columns = Mapping[str, Floats]

NamedGrid = tuple[str, Grid]
Family = Literal["counts", "moments", "function", "distribution", "survival"]
Totals = Mapping[str, float]
Powers = tuple[tuple[int, ...], ...]
Places = Mapping[tuple[int, ...], int]
COUNT = "count"


class Statistic:
    """One number of every cell, and the public facts that bound one record's contribution to it.

    Attributes
    ----------
    kind : str
        What facts allow or forbid it as: the name of its file.
    family : "counts", "moments", "function", "distribution" or "survival"
        How its error is found: records in disjoint classes are counted; the second moment of one column is released
        beside its total; the error of any other function of totals comes from replicates; a distribution, or survival,
        is read from one table of counts.
    of_table : bool
        Whether it is read from the distribution of its column, where no replicates are asked for.
    is_total : bool
        Whether it grows with the number of records, as a sum and a count do.
    is_count : bool
        Whether it reads nothing of a record but its cell.
    takes_midpoint : bool
        Whether a missing value can count as the midpoint of bounds.
    """

    __slots__ = ()
    kind: ClassVar[str]
    family: ClassVar[Family]
    is_total: ClassVar[bool] = False
    is_count: ClassVar[bool] = False
    of_units: ClassVar[bool] = False
    takes_midpoint: ClassVar[bool] = False
    of_table: ClassVar[bool] = False

    @property
    def has_code(self) -> bool:
        """Whether functions of columns define its features."""
        return False

    @property
    def is_of_ones_own(self) -> bool:
        """Whether its function is the user's own, of which a record holds no code."""
        return False

    @property
    def name(self) -> str:
        """The name of the estimate."""
        return self.kind

    @property
    def weighable(self) -> bool:
        """Whether records can be weighted: a distribution, or a function of means of columns and of their products."""
        return self.of_table or bool(self.powers)

    @property
    def column(self) -> str | None:
        """The columns, for a label; None without columns."""
        return ", ".join(name for name, _ in self.grids) or None

    @property
    def grids(self) -> tuple[NamedGrid, ...]:
        """The columns that are read as numbers, clamped and put on their grids."""
        return ()

    @property
    def grid(self) -> Grid:
        """The grid of the one column, of a statistic that has one."""
        return self.grids[0][1]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of which a missing value matters."""
        return tuple(name for name, _ in self.grids)

    @property
    def counted(self) -> ValueOnGrid | Indicator | JointGrid | None:
        """What an engine reads of each record, apart from its cell."""
        from hedgerow.engines.query import JointGrid, ValueOnGrid

        parts = tuple(ValueOnGrid(column, grid) for column, grid in self.grids)
        return None if not parts else parts[0] if len(parts) == 1 else JointGrid(parts)

    @property
    def powers(self) -> Powers:
        """The features of which it is a function by joint moments; none: it is not read from them.

        Each feature is the product of the columns of `grids`, scaled to [−1, 1], to these powers.
        """
        return ()

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return it as a function of the totals (N, Σ of each feature), given the place of each feature's total."""
        raise NotImplementedError

    def axis(self, column: int, places: Places) -> ScaledMean:
        """Return how the mean of a column of `grids` is read from totals."""
        from hedgerow.inference.joint.functions import ScaledMean

        grid = self.grids[column][1]
        alone = tuple(int(place == column) for place in range(len(self.grids)))
        # () is the place of the number of records that have its columns, where it is not that of all records.
        return ScaledMean(places[alone], grid.centre, grid.half_range, places.get((), 0))

    def read(self, distribution: Distribution, level: float) -> Read:
        """Return it with its interval, read from the distribution of its column."""
        raise NotImplementedError

    @property
    def shared_table(self) -> tuple[Any, ...] | None:
        """What its one table of counts is of, if others of a call are read from the same table; None: of its own."""
        return None

    @property
    def lines(self) -> tuple[float, ...]:
        """The values between which the distribution should be cut, if that can be."""
        return ()

    def possible(self, records: float) -> float | None:
        """Return the length of the range of possible values for so many records; None if it is not known."""
        raise NotImplementedError

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return what an interval covers; `by_cell`: each cell has bounds of its own."""
        raise NotImplementedError

    def public_record(self) -> list[Any]:
        """Return the statistic as plain JSON data; two statistics are the same if this is the same."""
        return [self.name, *([self.column] if self.column else [])]

    def record(self) -> dict[str, Any]:
        """Return all of it as plain JSON data, from which `from_record` makes it again; but no function's code."""
        own = {part.name: getattr(self, part.name) for part in fields(self)}  # type: ignore[arg-type]  # all are dataclasses
        plainly = {name: value.record() if isinstance(value, Grid) else value for name, value in own.items()}
        return {"statistic": self.kind, **{name: plainly[name] for name in plainly if name != "kind"}}

    @classmethod
    def from_record(cls, given: Mapping[str, Any]) -> Statistic:
        """Return the statistic of `record`."""
        own = {name: value for name, value in given.items() if name != "statistic"}
        return cls(**own | ({"grid": Grid.from_record(own["grid"])} if "grid" in own else {}))

    def with_midpoint(self) -> Statistic:
        """Return the statistic on a grid that holds the midpoint of its bounds."""
        return self

    def renamed(self, name: Callable[[str], str]) -> Statistic:
        """Return the statistic of columns by other names."""
        return self

    def without_code(self) -> Statistic:
        """Return what was asked for without functions of the user's own, which another process may not have."""
        return self


@dataclass(frozen=True, slots=True, repr=False)
class OnGrid(Statistic):
    """A mean or a sum of one clamped column."""

    column: str = field()
    grid: Grid = field()
    family: ClassVar[Family] = "moments"
    takes_midpoint: ClassVar[bool] = True

    def __repr__(self) -> str:
        low, high = self.grid.as_bounds()
        step = float(self.grid.step)
        return f"{type(self).__name__}(column={self.column!r}, bounds=({low:g}, {high:g}), step={step:g})"

    @property
    def grids(self) -> tuple[NamedGrid, ...]:
        """The one column."""
        return ((self.column, self.grid),)

    @property
    def powers(self) -> Powers:
        """The name of the column."""
        return ((1,),)

    def possible(self, records: float) -> float | None:
        """Return the length of the bounds."""
        low, high = self.grid.as_bounds()
        return high - low

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return the name, the column and its bounds."""
        low, high = self.grid.as_bounds()
        ends = "the bounds of its cell" if by_cell else f"[{low:.15g}, {high:.15g}]"
        return f"{self.name} of {self.column} clamped to {ends}"

    def with_midpoint(self) -> Statistic:
        """Return the statistic on a grid that holds the midpoint: its own, or one of half its step."""
        return replace(self, grid=self.grid.with_midpoint())

    def renamed(self, name: Callable[[str], str]) -> Statistic:
        """Return the statistic of the column by another name."""
        return replace(self, column=name(self.column))

    def public_record(self) -> list[Any]:
        """Return name, column and grid."""
        return [self.name, self.column, str(self.grid.lower), str(self.grid.upper), self.grid.steps]


@dataclass(frozen=True, slots=True)
class OfDistribution(Statistic):
    """A share of the records, or another number between 0 and 1, read from the distribution of one column."""

    column: str = field()
    grid: Grid = field()
    family: ClassVar[Family] = "distribution"
    of_table: ClassVar[bool] = True

    @property
    def grids(self) -> tuple[NamedGrid, ...]:
        """The one column."""
        return ((self.column, self.grid),)

    def possible(self, records: float) -> float | None:
        """Return 1."""
        return 1.0

    def renamed(self, name: Callable[[str], str]) -> Statistic:
        """Return the statistic of the column by another name."""
        return replace(self, column=name(self.column))

    def public_record(self) -> list[Any]:
        """Return name, column and grid."""
        return [self.name, self.column, str(self.grid.lower), str(self.grid.upper), self.grid.steps]

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return what is read of the column, and its bounds."""
        low, high = self.grid.as_bounds()
        return f"{self.asked} of {self.column} clamped to [{low:.15g}, {high:.15g}]"

    @property
    def asked(self) -> str:
        """What is read, in words."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Feature:
    """One bounded function of a record; `function` None takes the column of that name as it is."""

    name: str
    lower: float
    upper: float
    function: Callable[[Columns], Floats] | None = None

    @property
    def centre(self) -> float:
        """Midpoint of the declared bounds."""
        return (self.lower + self.upper) / 2

    @property
    def half_range(self) -> float:
        """Half the declared range."""
        return (self.upper - self.lower) / 2


@dataclass(frozen=True, slots=True)
class SmoothStatistic(Statistic):
    """A smooth function of the totals of bounded features.

    What is released is a table of sums of bounded features, so whatever the function is, the price depends on the
    declared bounds alone. The function should be smooth, and should not change when every total is doubled (a function
    of averages), since a private resample does not fix its size.

    Attributes
    ----------
    name : str
        What the estimate is called.
    grids : tuple of (column, Grid)
        The columns that are read, clamped and put on their grids.
    features : tuple of Feature
        What is added up; empty where each grid value of the one column is a total of its own (a histogram).
    function : callable
        {feature: total, "count": number} → number; for a histogram {"0": …, "1": …} by grid index.
    low, high : float
        What is possible for the statistic.
    """

    name: str = field()
    grids: tuple[NamedGrid, ...] = field()
    features: tuple[Feature, ...] = field()
    function: Callable[[Totals], float] = field(compare=False)
    low: float = -math.inf
    high: float = math.inf
    family: ClassVar[Family] = "function"
    is_histogram: ClassVar[bool] = False
    usual_steps: ClassVar[int] = DEFAULT_STEPS

    @property
    def has_code(self) -> bool:
        """Whether functions of columns define its features."""
        return any(feature.function is not None for feature in self.features)

    @property
    def column(self) -> str:
        """The names of the columns, separated by commas, as reports show them."""
        return ", ".join(name for name, _ in self.grids)

    def renamed(self, name: Callable[[str], str]) -> Statistic:
        """Return the statistic of columns by other names."""
        return replace(self, grids=tuple((name(column), grid) for column, grid in self.grids))

    def possible(self, records: float) -> float | None:
        """Return the length of the range of possible values; None if it is infinite."""
        return self.high - self.low if math.isfinite(self.high - self.low) else None

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return the name and the columns."""
        rounded = "" if all(grid.declared for _, grid in self.grids) else " and rounded to its grid"
        return f"{self.name} of {self.column}, clamped to bounds{rounded}"

    def record(self) -> dict[str, Any]:
        """Return name, columns with their grids, and of a function of one's own what is possible."""
        columns = [[column, *grid.record()] for column, grid in self.grids]
        named: dict[str, Any] = {"statistic": self.kind, "name": self.name, "columns": columns}
        if not self.is_of_ones_own:
            return named
        features = [
            [feature.name, feature.lower, feature.upper, feature.function is not None] for feature in self.features
        ]
        return named | {"limits": [_finite(self.low), _finite(self.high)], "features": features}

    @classmethod
    def from_record(cls, given: Mapping[str, Any]) -> Statistic:
        """Return the statistic of `record`."""
        grids = [(column, Grid.from_record(grid, cls.usual_steps)) for column, *grid in given["columns"]]
        return cls.of_grids(grids, given)

    @classmethod
    def of_grids(cls, grids: Sequence[NamedGrid], given: Mapping[str, Any]) -> Statistic:
        """Return the statistic of columns on their grids, with what else its record says.

        By convention `of` makes a statistic of one column from (column, grid), and one of several from their list.
        """
        build: Callable[..., Statistic] = cls.of  # type: ignore[attr-defined]  # its parameters differ by statistic
        return build(*grids[0]) if len(grids) == 1 else build(grids)

    def public_record(self) -> list[Any]:
        """Return name, grids, features and limits; a user's function by what it is compiled to."""
        grids = [[column, str(grid.lower), str(grid.upper), grid.steps] for column, grid in self.grids]
        features = [
            [feature.name, feature.lower, feature.upper, code_of(feature.function)] for feature in self.features
        ]
        return [self.name, grids, features, [repr(self.low), repr(self.high)], code_of(self.function)]


def _finite(limit: float) -> float | None:
    return limit if math.isfinite(limit) else None


def ends_of(limits: Sequence[float | None]) -> tuple[float, float]:
    """Return the limits of a record, where None stands for none.

    >>> ends_of([0.0, None])
    (0.0, inf)
    """
    low, high = limits
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def code_of(function: Callable[..., Any] | None) -> str | None:
    """Return a digest of a function's compiled code and constants; None for no function.

    Functions that differ have different digests. An object without code may have another digest in the next run, and
    a request with it is then not answered from the ledger.
    """
    from hashlib import sha256

    if function is None:
        return None
    code = getattr(function, "__code__", None)
    if code is None:
        return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"
    closure = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    inner = [code_of(part) if callable(part) else repr(part) for part in closure]
    parts = (code.co_code.hex(), repr(code.co_consts), code.co_names, inner, repr(function.__defaults__))
    return sha256(repr(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True, repr=False)
class NeedsBounds:
    """A statistic that was asked for without bounds: they are taken from the facts when it is planned.

    Attributes
    ----------
    kind : str
        The kind of statistic.
    columns : tuple of str
        Whose bounds are needed.
    step : number or None
        A step given with the call, in place of that of the facts.
    build : callable
        [(column, Grid), …], one per column, in order → the statistic.
    steps : int or None
        Into how many parts a range is cut where neither call nor facts give a step; 1,024 where None.
    given : tuple of str
        What else the call was given by position, as Python writes it.
    """

    kind: str
    columns: tuple[str, ...]
    step: float | None
    build: Callable[[Sequence[NamedGrid]], Statistic] = field(compare=False)
    steps: int | None = None
    given: tuple[str, ...] = ()

    def __repr__(self) -> str:
        own = all(isinstance(column, DerivedColumn) and column.bounds is not None for column in self.columns)
        return f"NeedsBounds({self.kind} of {', '.join(self.columns)}, bounds from the {'column' if own else 'facts'})"

    @property
    def in_python(self) -> str:
        """How the call is written with bounds, the ends left open."""
        if self.kind == "sum":
            # A sum may come from `sum` or from a table of totals: the keyword is the same.
            return "bounds=(LO, HI)"
        names = [f'"{column}"' for column in self.columns]
        several = "{" + ", ".join(f"{name}: (LO, HI)" for name in names) + "}"
        step = [] if self.step is None else [f"step={self.step}"]
        # `mean` is a method of a survey too.
        call = self.kind if self.kind == "mean" else f"hg.{self.kind}"
        bounds = f"bounds={several if len(names) > 1 else '(LO, HI)'}"
        return f"{call}({', '.join([*names, *self.given, bounds, *step])})"

    def in_shell(self, column: str) -> str:
        """How a column is written with bounds on the command line, in place of the column alone."""
        named = f"({column.text})" if isinstance(column, DerivedColumn) and column == column.text else column
        alone = ":".join([named, *map(_in_shell, self.given)])
        return f"{alone}:LO:HI in place of {alone}"


def on_one_grid(make: Callable[[str, Grid], Statistic], grids: Sequence[NamedGrid]) -> Statistic:
    """Return the statistic of the only column: what builds it is a function with a name, so that it can be pickled."""
    return make(*grids[0])


def _in_shell(given: str) -> str:
    """Return a part of a call as an option writes it: without its name, a list by commas, a part of the median in %."""
    name, _, number = given.rpartition("=")
    if number.startswith(("[", "(")):
        return ",".join(f"{float(number):.15g}" for number in number[1:-1].split(",") if number.strip())
    return f"{100 * float(number):.15g}%" if name == "of_median" else number


# What a call may hold: a statistic, or one that waits for bounds from the facts.
StatisticRequest = Statistic | NeedsBounds
# One entry of a call: a statistic, or several that are read together.
AskedFor = StatisticRequest | Sequence[StatisticRequest]
