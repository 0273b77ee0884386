"""What an engine would raise for is not computed: results beyond the doubles, dates beyond the years 1 to 9999."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from hedgerow.engines.dialects.computed import present
from hedgerow.facts.column_function import ColumnFunction

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.dialects.computed import Cell
    from hedgerow.facts.columns import Grid
    from hedgerow.facts.expression import Arithmetic


def within_doubles(number: nw.Expr) -> nw.Expr:
    """Return a decimal that a double can hold, null or 0 elsewhere: PostgreSQL's have no limits, and it would raise."""
    import narwhals.stable.v2 as nw

    held = nw.when((number > -1e300) & (number < 1e300)).then(number)
    return nw.when((number > -1e-300) & (number < 1e-300)).then(nw.lit(0)).otherwise(held)


def within_years(date: nw.Expr, dtype: nw.dtypes.DType, *, in_spark: bool = False) -> nw.Expr:
    """Return a date or a moment as a moment of the years 1 to 9999, null elsewhere: there some engines raise.

    The column is replaced before anything is made of it, since an engine may compute both branches of a choice; and the
    bounds have its type, since it would be converted to theirs otherwise. DuckDB takes nanoseconds for the hour of a
    moment in seconds, which do not reach all years: the result has microseconds.
    """
    import narwhals.stable.v2 as nw

    unit = dtype.time_unit if isinstance(dtype, nw.Datetime) else ""
    if unit == "ns":  # from 1677 to 2262
        return date
    ends = [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, {"s": 0, "ms": 999_000}.get(unit, 999_999))]
    bounds = ends if unit else [end.date() for end in ends]
    # Spark is given a date of Python by way of the local time, which does not reach so far.
    first, last = (nw.lit(str(bound) if in_spark else bound).cast(dtype) for bound in bounds)
    within = nw.when((date >= first) & (date <= last)).then(date)
    return within if unit == "us" else within.cast(nw.Datetime("us"))


def distance(value: nw.Expr, grid: Grid, *, bounds_first: bool) -> nw.Expr:
    """Return x − L of x clamped to [L, U], null where it is missing.

    It is 0 where its quotient by the step may be too small for the doubles. With `bounds_first`, whether a value is
    missing is asked of those beyond the bounds alone, which PostgreSQL computes sooner. DuckDB may answer a comparison
    with the bounds from the smallest and largest value of a Parquet file (`computed.present`): NaN would be within.
    """
    import narwhals.stable.v2 as nw

    lower, upper = (nw.lit(bound) for bound in grid.as_bounds())
    if bounds_first:
        beyond = nw.when(present(value)).then(nw.when(value > upper).then(upper).otherwise(lower))
        apart = nw.when((value >= lower) & (value <= upper)).then(value).otherwise(beyond)
    else:
        apart = nw.when(value > upper).then(upper).otherwise(nw.when(value < lower).then(lower).otherwise(value))
        apart = nw.when(present(value)).then(apart)
    apart = apart - lower if grid.lower else apart
    if grid.step <= 1:  # a quotient is no smaller than what is divided
        return apart
    return nw.when(apart * 1024.0 < float(grid.step)).then(nw.lit(0.0)).otherwise(apart)


class Steps:
    """Derived columns where an engine raises for a result beyond the doubles, one column for each operation.

    Such a result is missing, and a product or quotient below 2⁻¹⁰⁰⁰ is 0. SQL has no names for parts of an expression,
    and what tells whether an operation may be done names its operands many times.
    """

    def __init__(self, taken: frozenset[str], computed: Callable[[Arithmetic, Cell], nw.Expr]) -> None:
        self._computed = computed
        self.made: list[list[nw.Expr]] = []  # those of one depth side by side: SQL nests a subquery for each
        self._taken = taken
        self._names: dict[Arithmetic, str] = {}

    def result(self, expression: Arithmetic, cell: Cell) -> nw.Expr:
        """Return an expression as a column, after the steps that it needs."""
        import narwhals.stable.v2 as nw

        if isinstance(expression, float):
            return self._computed(expression, cell)
        if expression not in self._names:
            depth = _depth(expression)
            if isinstance(expression, (str, ColumnFunction)):
                step = self._computed(expression, cell)
            else:
                left, right = self.result(expression.left, cell), self.result(expression.right, cell)
                step = _operated(expression.operator, left, right)
            name = f"step {len(self._names)}"
            while name in self._taken:
                name += "_"
            self._names[expression] = name
            self.made += [[] for _ in range(depth + 1 - len(self.made))]
            self.made[depth].append(step.alias(name))
        return nw.col(self._names[expression])


def _depth(expression: Arithmetic) -> int:
    """Return how many operations stand above one another in an expression."""
    if isinstance(expression, (str, float, ColumnFunction)):
        return 0
    return 1 + max(_depth(expression.left), _depth(expression.right))


def _operated(operator: str, left: nw.Expr, right: nw.Expr) -> nw.Expr:
    """Return an operation that is done only where its result is a number that the doubles have.

    Whether it is, is found by the same operation on operands scaled by powers of two, which is exact.
    """
    import narwhals.stable.v2 as nw

    a, b, unity, zero = left.abs(), right.abs(), nw.lit(1.0), nw.lit(0.0)
    # The larger of 1 and a number, and the smaller of 1 and a divisor.
    over_a, over_b = (nw.when(size > 1.0).then(size).otherwise(unity) for size in (a, b))
    under_b = nw.when((b < 1.0) & (b > 0.0)).then(b).otherwise(unity)
    if operator in "+-":
        # Below 1 neither changes what the other overflows to, and a quarter of it may be too small.
        quarters = [nw.when(size < 1.0).then(zero).otherwise(side) * 0.25 for size, side in ((a, left), (b, right))]
        added = quarters[0] + quarters[1] if operator == "+" else quarters[0] - quarters[1]
        return nw.when(added.abs() < 2.0**1022).then(left + right if operator == "+" else left - right)
    if operator == "/":
        held = (b > 0.0) & ((over_a * 2.0**-500) / (under_b * 2.0**574) < 2.0**-50)
        tiny, result = (b > 1.0) & (a < over_b * 2.0**-1000), left / right
    else:
        held = (over_a * 2.0**-512) * (over_b * 2.0**-512) < 1.0
        tiny, result = (b < 1.0) & (a < nw.lit(2.0**-1000) / under_b), left * right
    return nw.when(held & tiny).then(zero).otherwise(nw.when(held).then(result))
