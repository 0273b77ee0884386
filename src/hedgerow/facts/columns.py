"""What is declared about the values of a column, and never read from the data.

Bounds and step make a `Grid`, declared values or bands a `Category`, a condition on records a `Selection`.

Notation (private_bootstrap.md §1): a value x is clamped to [L, U], t = floor((x − L)/step + ½) ∈ {0..m} with m = (U −
L)/step, q = 2t − m in units of h = step/2 about c = (L + U)/2: exact, symmetric, |q| ≤ m.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, ClassVar, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.expression import Comparison, Condition, DerivedColumn, comparisons, parse_condition
from hedgerow.facts.printed import plural
from hedgerow.facts.validation import all_plain, as_float, as_fraction, check_texts, format_argument, plain
from hedgerow.keywords import takes

DEFAULT_STEPS = 1024
MAX_STEPS = 2**24
LARGEST = 10**15
LEAST_SPAN = Fraction(1, 10**9)
_EXAMPLE = "Give the bounds from the codebook, e.g. bounds=(0, 100)."

Scalar = str | int | float | bool


class Missing(StrEnum):
    """What a missing, NaN, infinite or unparsable cell counts as: one policy, the same on every engine."""

    DROP = "drop"
    MIDPOINT = "midpoint"
    DECLARED_COMPLETE = "error-if-declared-complete"


def parse_missing(missing: object) -> Missing:
    """Return the policy, or say which there are (HG114)."""
    if isinstance(missing, str) and missing in set(Missing):
        return Missing(missing)
    raise ParameterError(
        "HG114",
        rule='`missing` must be "drop", "midpoint" or "error-if-declared-complete".',
        finding=f"Found {format_argument(missing)}.",
        remedy='The policy "drop" uses the values that are present, and costs nothing extra.',
    )


@dataclass(frozen=True, slots=True)
class Grid:
    """A public grid of m + 1 values between two bounds; built by `Grid.from_bounds`.

    Attributes
    ----------
    lower, upper : Fraction
        L and U, exact.
    steps : int
        m = (U − L)/step.
    declared : bool
        Whether the step was given, so that values are known to lie on the grid; otherwise they are rounded to it.

    Examples
    --------
    >>> grid = Grid.from_bounds("age", (0, 100), 1)
    >>> grid.steps, grid.centre, grid.half_step
    (100, 50.0, 0.5)
    """

    lower: Fraction
    upper: Fraction
    steps: int
    declared: bool = True

    @classmethod
    def from_bounds(cls, column: str, bounds: object, step: object = None) -> Grid:
        """Check bounds and step in decimal arithmetic.

        Raises
        ------
        ParameterError
            HG104 no bounds; HG105 not two finite numbers in order; HG106 a step that does not divide U − L; HG107 more
            than 2²⁴ steps.
        """
        lower, upper = _ordered(column, bounds)
        span = upper - lower
        if step is None:
            return cls(lower, upper, DEFAULT_STEPS, declared=False)
        stride = as_fraction(step)
        if stride is None or stride <= 0 or as_float(stride) is None:
            raise ParameterError(
                "HG106",
                rule="`step` must be a positive, finite number that divides the range between the bounds exactly.",
                finding=f"Found {format_argument(step)} for column {format_argument(column)}.",
                remedy=f"Without a step the range is cut into {DEFAULT_STEPS:,} parts.",
            )
        ratio = span / stride
        if ratio.denominator != 1:
            fitting = _fitting_steps(span, stride)
            listed = " and ".join([", ".join(fitting[:-1]), fitting[-1]] if fitting[1:] else fitting)
            remedy = f"Short steps that divide it: {listed}"
            raise ParameterError(
                "HG106",
                rule="`step` must divide the range between the bounds exactly.",
                finding=f"{_plain(span)} / {_plain(stride)} is no whole number for column {column!r}.",
                remedy=f"{remedy}.",
                shell=f"{remedy}. For example {column}:{_plain(lower)}:{_plain(upper)}:{fitting[0]}.",
            )
        if ratio > MAX_STEPS:
            raise ParameterError(
                "HG107",
                rule=f"A grid has at most {MAX_STEPS:,} steps.",
                finding=f"Column {column!r} would have {int(ratio):,}.",
                remedy="Use a coarser step: a step far below the noise does not improve the estimate.",
            )
        return cls(lower, upper, int(ratio))

    @property
    def step(self) -> Fraction:
        """One step, exact."""
        return (self.upper - self.lower) / self.steps

    @property
    def rounding(self) -> float:
        """The farthest that a value is moved to the grid: half a step where none was declared, else 0."""
        return 0.0 if self.declared else float(self.step / 2)

    def with_midpoint(self) -> Grid:
        """Return a grid that holds the midpoint: this one, or one of half its step.

        >>> Grid.from_bounds("x", (0, 5), 1).with_midpoint().steps
        10
        """
        return self if self.steps % 2 == 0 else Grid(self.lower, self.upper, 2 * self.steps, self.declared)

    @property
    def centre(self) -> float:
        """c, the public midpoint."""
        return float((self.lower + self.upper) / 2)

    @property
    def half_step(self) -> float:
        """h, the unit of q."""
        return float(self.step / 2)

    @property
    def half_range(self) -> float:
        """R/2 = m·h."""
        return float((self.upper - self.lower) / 2)

    def about_zero(self) -> tuple[int, int, Fraction]:
        """Return (start, stride, unit): the grid's values are (start + stride·t)·unit, integers about 0.

        >>> Grid.from_bounds("age", (18, 93), 1).about_zero()
        (18, 1, Fraction(1, 1))
        """
        step = self.step
        unit = step if self.lower == 0 else _gcd(abs(self.lower), step)
        return int(self.lower / unit), int(step / unit), unit

    def as_bounds(self) -> tuple[float, float]:
        """Return (L, U) as floats."""
        return float(self.lower), float(self.upper)

    def record(self) -> list[Any]:
        """Return the grid as plain JSON data: L and U exactly, and the number of steps where a step was declared."""
        return [str(self.lower), str(self.upper), *([self.steps] if self.declared else [])]

    @classmethod
    def from_record(cls, fields: Sequence[Any], usual: int = DEFAULT_STEPS) -> Grid:
        """Return the grid of `record`; it has `usual` steps where none was declared.

        >>> grid = Grid.from_bounds("x", (0, 0.3), 0.1)
        >>> Grid.from_record(grid.record()) == grid
        True
        """
        lower, upper, *steps = fields
        return cls(Fraction(lower), Fraction(upper), int(steps[0]) if steps else usual, bool(steps))


@takes()
def column(expression: str, *, bounds: tuple[float, float] | None = None, step: float | None = None) -> DerivedColumn:
    """Return a column that is computed from other columns of the same record.

    A computed value is missing if a column of the expression is missing, if the expression divides by zero, or if the
    result is too large for a double. Only the computed column needs bounds: its values are clamped.

    Parameters
    ----------
    expression : str
        An expression of columns and numbers with ``+ - * /``, brackets, and functions such as ``log(x)``, ``year(d)``.
        A column name that is not a plain word stands between backticks.
    bounds, step : optional
        The bounds and the step of the computed column, which apply to every statistic that gives no bounds of its own.

    Returns
    -------
    DerivedColumn
        The computed column. Pass the `DerivedColumn` object to a statistic in place of a column name.

    Raises
    ------
    ParameterError
        HG132: the expression is not valid. HG105 to HG107: the bounds or the step are invalid.

    Examples
    --------
    >>> column("income / household", bounds=(0, 100_000), step=50)
    'income / household'
    """
    made = DerivedColumn.named(str(expression).strip(), expression, bounds=bounds, step=step)
    if bounds is not None or step is not None:
        Grid.from_bounds(made, bounds, step)
    return made


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands of a numeric column between cut points, the last one closed: see `bands`."""

    cuts: tuple[float, ...]
    labels: tuple[str, ...] | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """What the cells are called.

        >>> bands(0, 0.5, 1).values
        ('[0, 0.5)', '[0.5, 1]')
        """
        ends = [f"{cut:.15g}" for cut in self.cuts]
        closed = [")"] * (len(ends) - 2) + ["]"]
        return tuple(f"[{low}, {high}{end}" for low, high, end in zip(ends, ends[1:], closed, strict=False))


def bands(*cuts: float, labels: Sequence[str] | None = None) -> Bands:
    """Return bands of a numeric column: intervals [a, b) between cut points; only the last band includes both ends.

    Parameters
    ----------
    *cuts : float
        Two or more cut points, in rising order. Records outside all bands are left out, unless the release adds a cell
        for undeclared values with ``other=True``.
    labels : list of str, optional
        One label for each band. Every output shows the labels of the bands.

    Returns
    -------
    Bands

    Raises
    ------
    ParameterError
        HG133: there are fewer than two cut points, or they do not rise. HG111: the labels of the bands are invalid.

    Examples
    --------
    >>> bands(0, 25, 45, 65, 120)
    Bands(cuts=(0.0, 25.0, 45.0, 65.0, 120.0), labels=None)
    """
    exactly = [as_fraction(cut) for cut in cuts]
    numbers = [float(cut) if cut is not None and abs(cut) <= LARGEST else math.nan for cut in exactly]
    wrong = next((i for i, (low, high) in enumerate(pairwise([-math.inf, *numbers])) if not low < high), None)
    if len(numbers) < 2 or wrong is not None:
        fault = "is not above the one before" if wrong is None or math.isfinite(numbers[wrong]) else "is no such number"
        placed = "" if wrong is None else f"; cut point {wrong + 1} {fault}"
        raise ParameterError(
            "HG133",
            rule="Bands need at least two cut points: rising numbers of at most 1e15 in size.",
            finding=f"Found {format_argument(list(cuts))[1:-1] or 'none'}{placed}.",
            remedy="List two or more rising cut points, for example hg.bands(0, 25, 45, 65, 120).",
            shell="For example, write --by age=0..25..45..65..120.",
        )
    made = Bands(tuple(numbers))
    if len(set(made.values)) < len(made.values):
        raise ParameterError("HG133", rule="Cut points must differ in their first 15 digits.", finding="Two do not.")
    return made if labels is None else replace(made, labels=_labels("bands", made.values, labels))


@dataclass(frozen=True, slots=True)
class Category:
    """The declared values of one column, or its bands, in the order in which cells are released.

    ``other=True`` adds a cell for the rest; otherwise rows with another value are left out of every cell.

    Attributes
    ----------
    values : tuple
        What the cells are called: of bands, their texts.
    names : tuple of str
        Labels that are shown in place of the values, one each; none where there are none.
    edges : tuple of float
        The cut points of bands; none where values are declared.

    >>> Category.declared("sex", [0, 1]).levels
    2
    >>> Category.declared("sex", {0: "men", 1: "women"}).labels
    {0: 'men', 1: 'women'}
    """

    column: str
    values: tuple[Scalar, ...]
    other: bool = False
    names: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    shown: ClassVar[bool] = True

    @classmethod
    def declared(cls, column: object, values: object, *, other: bool = False) -> Category:
        """Check a declared list of categories, a mapping from categories to labels, or bands (HG111)."""
        name = checked_column(column)
        if isinstance(values, Bands):
            return cls(name, values.values, bool(other), values.labels or (), values.cuts)
        if isinstance(values, Mapping):
            plainly = cls.declared(name, list(values), other=other)
            return replace(plainly, names=_labels(name, plainly.values, list(values.values())))
        several = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
        listed = _in_order(values) if several else None  # type: ignore[arg-type]  # iterable, as just seen
        if not listed or not (all_plain(listed) or all(map(_is_scalar, listed))):
            raise ParameterError(
                "HG111",
                rule="The categories of a group are texts, numbers or booleans, declared and never read from the data.",
                finding=f"Column {name!r} has none." if not listed else f"Column {name!r} has one that is neither.",
                remedy=f'List them, e.g. by={{"{name}": [0, 1]}}, or find them by find_categories.',
            )
        if other and "other" in listed:
            raise ParameterError(
                "HG111",
                rule='With `other=True` one cell is called "other", so no declared category may have this name.',
                finding=f"Column {name!r} declares one.",
                remedy="Leave `other` out, or do not declare this category.",
            )
        if len(set(listed)) < len(listed):
            again = next(place for place, value in enumerate(listed) if value in listed[:place])
            places = f"{listed.index(listed[again]) + 1} and {again + 1}"
            raise ParameterError(
                "HG111",
                rule="Each category of a column is declared once.",
                finding=f"Column {name!r} names one twice: categories {places} are the same.",
                remedy="Remove the repetition. As categories, the values 1, 1.0 and True are equal.",
            )
        return cls(name, listed, bool(other))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say to which level a record belongs."""
        return (self.column,)

    @property
    def labels(self) -> dict[Scalar, str]:
        """The label of each value that has one."""
        return dict(zip(self.values, self.names, strict=False))

    def public_record(self) -> list[Any]:
        """Return it as plain JSON data, by which a repeated request is recognised."""
        declared: list[Any] = [str(self.column), list(self.values), self.other]
        return declared + ([list(self.edges)] if self.edges else [])

    def record(self) -> dict[str, Any]:
        """Return all of it as plain JSON data."""
        parts = {"edges": list(self.edges)} if self.edges else {"values": list(self.values)}
        labels = {"labels": list(self.names)} if self.names else {}
        return {"column": str(self.column), **parts, **labels, "other": self.other}

    @classmethod
    def from_record(cls, fields: Mapping[str, Any]) -> Category:
        """Return the category of `record`.

        >>> sex = Category.declared("sex", {0: "men", 1: "women"}, other=True)
        >>> Category.from_record(sex.record()) == sex
        True
        """
        names, edges = (tuple(fields.get(part, ())) for part in ("labels", "edges"))
        values = Bands(edges).values if edges else tuple(fields["values"])
        return Category(str(fields["column"]), values, bool(fields["other"]), names, edges)

    @property
    def levels(self) -> int:
        """How many cells this column alone makes."""
        return len(self.values) + self.other

    @property
    def rest(self) -> int:
        """The level of a record with another value; −1 where there is no cell for it."""
        return len(self.values) if self.other else -1

    def label(self, level: int) -> Scalar:
        """Return the value of a level; the rest is called ``"other"``."""
        return self.values[level] if level < len(self.values) else "other"


@dataclass(frozen=True, slots=True)
class Selection(Category):
    """The records for which a condition is true, as one level: all others are left out of every cell.

    So the number of records selected is as private as that of any cell, under either relation, and a record that enters
    or leaves the selection is one that enters or leaves a cell for none.

    >>> Selection.of(" age >= 25 ").columns
    ('age',)
    """

    condition: Condition | None = None
    shown: ClassVar[bool] = False

    @classmethod
    def of(cls, text: object) -> Selection:
        """Return the selection that a text writes (HG131 where it does not parse)."""
        condition = parse_condition(text)
        return cls("", (str(text).strip(),), condition=condition)

    def renamed(self, name: Callable[[str], str]) -> Selection:
        """Return it with other names of columns."""

        def named(condition: Condition) -> Condition:
            if isinstance(condition, Comparison):
                return replace(condition, column=name(condition.column))
            return replace(condition, parts=tuple(named(part) for part in condition.parts))

        return self if self.condition is None else replace(self, condition=named(self.condition))

    @property
    def text(self) -> str:
        """The condition as it was written."""
        return str(self.values[0])

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The comparisons that the condition is made of."""
        return () if self.condition is None else tuple(comparisons(self.condition))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return tuple(comparison.column for comparison in self.comparisons)


@dataclass(frozen=True, slots=True)
class CellLabels(Sequence[dict[str, Scalar]]):
    """The cells of a query as {column: value}, in its order; nothing is kept of a million of them.

    >>> labels = CellLabels((Category.declared("sex", [0, 1]), Category.declared("region", ["n", "s", "w"])))
    >>> len(labels), labels[4], labels[-1]
    (6, {'sex': 1, 'region': 's'}, {'sex': 1, 'region': 'w'})
    >>> list(labels) == [labels[place] for place in range(6)]
    True
    """

    by: tuple[Category, ...]

    def __len__(self) -> int:
        return math.prod(category.levels for category in self.by)

    def __iter__(self) -> Iterator[dict[str, Scalar]]:
        # What is not shown has one level.
        shown = [category for category in self.by if category.shown]
        names, listed = [c.column for c in shown], ((*c.values, *("other",) * c.other) for c in shown)
        return (dict(zip(names, values, strict=True)) for values in product(*listed))

    @overload
    def __getitem__(self, index: int) -> dict[str, Scalar]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[dict[str, Scalar]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Scalar] | Sequence[dict[str, Scalar]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        rest, labels = range(len(self))[index], []
        for category in reversed(self.by):
            rest, level = divmod(rest, category.levels)
            if category.shown:
                labels.append((category.column, category.label(level)))
        return dict(reversed(labels))


def _labels(name: str, values: Sequence[Scalar], labels: Sequence[object]) -> tuple[str, ...]:
    listed = list(labels) if not isinstance(labels, str) else []
    texts = [str(text).strip() for text in listed if isinstance(text, str) and text.strip()]
    if len(texts) < len(listed) or len(texts) != len(values) or len(set(texts)) < len(texts):
        banded = name == "bands"
        of = plural(len(values), "band") if banded else f"{plural(len(values), 'value')} of {format_argument(name)}"
        raise ParameterError(
            "HG111",
            rule="A label must be a text that is not empty, and two categories must have different labels.",
            finding=f"Found {plural(len(listed), 'label')} for {of}."
            if len(listed) != len(values)
            else f"Those of {format_argument(name)} are not.",
            remedy='Cut points make one band fewer than there are of them: bands(0, 40, 65, labels=["young", "old"]).'
            if banded
            else 'For example by={"sex": {0: "men", 1: "women"}}.',
            shell="For example, write --by sex=0,1 --labels sex=men,women.",
        )
    check_texts(texts, "A label")
    return tuple(texts)


def with_names(column: str, values: Sequence[Scalar] | Bands, names: Sequence[object]) -> Bands | dict[Scalar, str]:
    """Return bands, or the categories of a column, with a label each (HG111).

    >>> with_names("sex", [0, 1], ["men", "women"])
    {0: 'men', 1: 'women'}
    """
    if isinstance(values, Bands):
        return replace(values, labels=_labels(column, values.values, names))
    Category.declared(column, values)
    return dict(zip(values, _labels(column, values, names), strict=True))


def _in_order(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values in their order; those of a set sorted, since the order of a set changes from run to run."""
    listed = tuple(values)
    listed = listed if all_plain(listed) else tuple(map(plain, listed))
    if not isinstance(values, Set):
        return listed
    return tuple(sorted(listed, key=lambda value: (type(value).__name__, value if _is_scalar(value) else repr(value))))


def checked_column(column: object) -> str:
    """Return a usable column name (HG203 if it is not usable)."""
    if isinstance(column, str) and column:
        return column
    raise ParameterError(
        "HG203",
        rule="A column is named by a non-empty text.",
        finding=f"Found {format_argument(column)}.",
        remedy="Use the name of the column in the header.",
    )


def _is_scalar(value: object) -> bool:
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, (str, int, bool))


def _ordered(column: str, bounds: object) -> tuple[Fraction, Fraction]:
    if bounds is None:
        raise ParameterError(
            "HG104",
            rule="A numeric statistic needs declared bounds, so that no person can change its value without limit.",
            finding=f"Column {column!r} has none.",
            remedy="Give the bounds from the codebook: bounds=(LO, HI).",
            shell=f"Give the bounds from the codebook: {column}:LO:HI.",
        )
    listed = list(bounds) if isinstance(bounds, Iterable) and not isinstance(bounds, (str, bytes, Mapping)) else []
    pair = [as_fraction(end) for end in listed]
    usual = len(pair) == 2 and all(end is not None and abs(end) <= LARGEST for end in pair)
    if not usual or pair[0] is None or pair[1] is None or not pair[0] + LEAST_SPAN <= pair[1]:
        raise ParameterError(
            "HG105",
            rule="`bounds` must be two numbers of at most 1e15 in size, the lower one first, at least 1e-9 apart.",
            finding=f"Found {format_argument(bounds)} for column {format_argument(column)}.",
            remedy=_EXAMPLE,
            shell=_example_in_shell(column),
        )
    return pair[0], pair[1]


def _example_in_shell(column: str) -> str:
    return f"Give the bounds from the codebook, e.g. {column}:0:100."


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    common = math.lcm(a.denominator, b.denominator)
    return Fraction(math.gcd(int(a * common), int(b * common)), common)


def _terminates(number: Fraction) -> bool:
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _fitting_steps(span: Fraction, stride: Fraction) -> list[str]:
    """Return steps that divide the span: whole ones near a whole step first, then the nearest that are decimals."""
    whole: list[int] = []
    if span.denominator == stride.denominator == 1:
        near = range(max(1, int(stride) - 20_000), int(stride) + 20_000)
        divisors = [divisor for divisor in near if int(span) % divisor == 0 and int(span) // divisor <= MAX_STEPS]
        whole = sorted(sorted(divisors, key=lambda divisor: max(divisor / stride, stride / divisor))[:3])
    return list(dict.fromkeys([str(step) for step in whole] + _nearest_steps(span, span / stride)))


def _nearest_steps(span: Fraction, ratio: Fraction) -> list[str]:
    """Return the closest coarser and finer steps that divide the span and can be written as decimals."""
    nearest = []
    for first, direction in ((math.floor(ratio), -1), (math.ceil(ratio), 1)):
        for steps in range(first, max(first + direction * 20_000, 0), direction):
            if steps >= 1 and _terminates(span / steps):
                nearest.append(_plain(span / steps))
                break
    return nearest or [_plain(span)]


def _plain(number: Fraction) -> str:
    return f"{float(number):.12g}"
