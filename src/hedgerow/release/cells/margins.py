"""Totals over rows, columns, every set of axes and declared hierarchies that add up, with the errors they then have.

Where nothing but the cells was released, a total is the plain sum of its cells and the cells stay as they are. Where
totals were released too, or are known exactly, cells and totals disagree by the noise on them; weighted least squares
(`projection`) finds the table that fits all of them best. It is linear and unbiased, no other such estimate has a
smaller variance (Gauss and Markov), and being post-processing it costs no budget. It moves noise only: the sampling
error is that of the true totals, which add up already. A total's error is not that of independent cells added up; both
are exact here.

Weighted least squares over released tables and their margins, exact, without a matrix of the cells.

A table x has axes of K_1, …, K_d categories. Released were y_A = M_A x + noise of variance v_A: A names one level of
every axis (its own categories, the groups of a hierarchy, or the total), and M_A = ⊗_j M_{A_j} adds up to them. Wanted
is the x that minimises Σ_A |y_A − M_A x|²/v_A, subject to M_A x = y_A where v_A = 0, and its covariance.

Without hierarchies. J_j = 11'/K_j averages along axis j. The projections P_B = ⊗_j (I − J_j where j ∈ B, J_j else), one
for each set B of axes, are orthogonal and add up to I: x = Σ_B P_B x, the effects of an analysis of variance. With N_A
cells to each sum of y_A: 1'(I − J_j) = 0, so M_A P_B = 0 unless B ⊆ A; 11' = K_j J_j, so M_A'M_A = N_A Σ_{B ⊆ A} P_B.
The normal equations (Σ_A M_A'M_A/v_A) x = Σ_A M_A'y_A/v_A therefore fall apart into one number for each effect,

    P_B x = w_B Σ_{A ⊇ B} P_B M_A'y_A/v_A,      w_B = 1 / Σ_{A ⊇ B} (N_A/v_A),      covariance Σ_B w_B P_B,

whose diagonal is the same in every cell: Σ_B w_B ∏_{j ∈ B} (1 − 1/K_j) ∏_{j ∉ B} 1/K_j.

With hierarchies. The categories of axis j fall into g_j atoms of n_1, …, n_g categories, those that every hierarchy
groups alike. Replace J_j by the mean over the atom: I − J_j are the contrasts within atoms, which every level but the
categories themselves adds up to 0, and on which M'M of the categories is I. So the equations again fall apart by the
set B of axes with contrasts; what is left on the other axes are the atom means m, with R_{A_j} from m to the numbers of
a level: R'R = diag(n) for the categories, and N_B = Σ_A (1/v_A) ⊗_{j ∉ B} R_{A_j}'R_{A_j} over the A that hold the
categories of all j ∈ B. N_B has ∏_{j ∉ B} g_j rows (one, without hierarchies). The covariance is
Σ_B N_B⁻¹ ⊗ (I − J_j for j ∈ B), restricted to what known totals leave undetermined.

All effects stand in one array of ∏ (g_j + K_j) numbers: the atoms' places first, then the contrasts of the categories.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.mechanisms.laws import averaged_law
from hedgerow.release.cells.shape import DimensionLevels, Hierarchy, TableShape
from hedgerow.release.cells.table_cells import FOLLOWS, TableCells

Floats = NDArray[np.float64]
_MOST_ATOMS = 2048
_AGREE = 1e-6
_RANK = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class LevelRelease:
    """Numbers that were released at one level of each axis, and their noise variance.

    Attributes
    ----------
    levels : tuple of str or None
        For each axis the name of the level; None for the total over the axis.
    values : float array
        One axis for each level that is not None.
    variance : float
        Noise variance of one number; 0 if the numbers are exact.
    """

    levels: tuple[str | None, ...]
    values: Floats
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """The consistent table, and what is needed for the exact variance of each of its sums."""

    values: Floats
    axes: tuple[DimensionLevels, ...]
    _covariances: dict[tuple[bool, ...], Floats]

    def variance(self, levels: Sequence[str | None]) -> Floats:
        """Return the noise variance of each cell of a margin, named by `levels` as in `LevelRelease`.

        It has the axes of the margin; where the variance is the same along an axis, that axis has length 1.

        >>> from hedgerow.release.cells.shape import TableDimension
        >>> axes = (DimensionLevels.of(TableDimension("sex", (0, 1))),)
        >>> table = project(axes, [LevelRelease(("sex",), np.array([1.0, 2.0]), 1.0),
        ...                        LevelRelease((None,), np.array(4.0), 0.0)])
        >>> table.values.tolist(), table.variance(("sex",)).tolist(), table.variance((None,)).tolist()
        ([1.5, 2.5], [0.5], 0.0)
        """
        leaf = [axis.is_leaf(level) for axis, level in zip(self.axes, levels, strict=True)]
        whole: Floats = np.zeros(())
        for effect, covariance in self._covariances.items():
            if all(is_leaf or not held for is_leaf, held in zip(leaf, effect, strict=True)):
                whole = whole + self._part(levels, leaf, effect, covariance)
        for place, (axis, is_leaf) in enumerate(zip(self.axes, leaf, strict=True)):
            if is_leaf and len(axis.sizes) > 1:
                whole = np.take(whole, axis.atoms, axis=place)
        # Rounding can leave −1e-17 where a known total leaves nothing.
        whole = np.maximum(whole, 0.0)
        return whole.reshape([length for length, level in zip(whole.shape, levels, strict=True) if level is not None])

    def _part(
        self, levels: Sequence[str | None], leaf: Sequence[bool], effect: tuple[bool, ...], covariance: Floats
    ) -> Floats:
        """Return one effect's part of the variance: by atom along leaf axes, by group along the others."""
        maps, lengths, factor = [], [], np.ones(())
        for axis, level, is_leaf, held in zip(self.axes, levels, leaf, effect, strict=True):
            factor = factor[..., None] * ((1.0 - 1.0 / axis.sizes) if held else np.ones(1))
            rows = np.eye(len(axis.sizes)) if is_leaf else axis.sums[level]
            lengths.append(1 if held else len(rows))
            if not held:
                maps.append(rows)
        added = _kron(maps)
        return np.asarray(((added @ covariance) * added).sum(axis=1).reshape(lengths) * factor)


def project(axes: Sequence[DimensionLevels], released: Sequence[LevelRelease]) -> Projected:
    """Return the table that fits all releases best, each weighted by one over its variance.

    Parameters
    ----------
    axes : sequence of DimensionLevels
    released : sequence of LevelRelease
        One of them is of the categories of every axis: the table itself.

    Raises
    ------
    ParameterError
        HG162 where none is the table itself, known totals contradict each other, or atoms are too many.
    """
    if math.prod(len(axis.sizes) for axis in axes) > _MOST_ATOMS:
        raise _unfit(
            f"Hierarchies may cut a table into {_MOST_ATOMS:,} groups at their finest.", "These make more.", "Drop one."
        )
    if not any(all(_leaves(axes, release)) for release in released):
        raise _unfit(
            "Consistent margins start from the table itself.",
            "Only margins were given.",
            "Give the table of all cells.",
        )
    shape = tuple(len(axis.sizes) + axis.axis.levels for axis in axes)
    noisy, known = np.zeros(shape), np.zeros(shape)
    for release in released:
        into = noisy if release.variance else known
        into[_held(axes, release)] += _moved(axes, release) * _weight(axes, release)
    covariances = {}
    for effect in product((False, True), repeat=len(axes)):
        covariances[effect] = _solve(axes, released, effect, noisy, known)
    table = _added_up(axes, noisy)
    _check_known(axes, released, table)
    return Projected(table, tuple(axes), covariances)


def _solve(
    axes: Sequence[DimensionLevels],
    released: Sequence[LevelRelease],
    effect: tuple[bool, ...],
    noisy: Floats,
    known: Floats,
) -> Floats:
    """Solve one effect's equations in place of their right-hand side; return the covariance of its atom means."""
    block = tuple(
        slice(len(axis.sizes), None) if held else slice(0, len(axis.sizes))
        for axis, held in zip(axes, effect, strict=True)
    )
    front = [place for place, held in enumerate(effect) if not held]
    precision, exact = (_normal(axes, released, effect, zero) for zero in (False, True))
    right = [np.moveaxis(side[block], front, range(len(front))) for side in (noisy, known)]
    flat_noisy, flat_known = (side.reshape(len(precision), -1) for side in right)
    solution, covariance = _constrained(precision, flat_noisy, exact, flat_known)
    noisy[block] = np.moveaxis(solution.reshape(right[0].shape), range(len(front)), front)
    return covariance


def _constrained(precision: Floats, right: Floats, exact: Floats, exact_right: Floats) -> tuple[Floats, Floats]:
    """Minimise m'Nm/2 − m'b where Em = e can be met exactly; return m, and the covariance that is left."""
    if not exact.any():
        inverse: Floats = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        return inverse @ right, inverse
    values, vectors = np.linalg.eigh(exact)
    fixed = values > _RANK * values[-1]
    start = vectors[:, fixed] @ ((vectors[:, fixed].T @ exact_right) / values[fixed, None])
    open_space = vectors[:, ~fixed]
    covariance = open_space @ np.linalg.inv(open_space.T @ precision @ open_space) @ open_space.T
    solution = start + covariance @ (right - precision @ start)
    return np.asarray(solution, dtype=np.float64), np.asarray(covariance, dtype=np.float64)


def _normal(
    axes: Sequence[DimensionLevels], released: Sequence[LevelRelease], effect: tuple[bool, ...], zero: bool
) -> Floats:
    """Return the normal matrix of one effect over the noisy releases, or over the known ones."""
    rows = math.prod(len(axis.sizes) for axis, held in zip(axes, effect, strict=True) if not held)
    whole = np.zeros((rows, rows))
    for release in released:
        if (release.variance == 0.0) is zero and all(
            leaf or not held for leaf, held in zip(_leaves(axes, release), effect, strict=True)
        ):
            grams = [
                axis.gram(level) for axis, level, held in zip(axes, release.levels, effect, strict=True) if not held
            ]
            whole += _kron(grams) * _weight(axes, release)
    return whole


def _moved(axes: Sequence[DimensionLevels], release: LevelRelease) -> Floats:
    """Return R'y of a release: atom sums along every axis and, along axes of categories, the contrasts after them."""
    lengths = [1 if level is None else _length(axis, level) for axis, level in zip(axes, release.levels, strict=True)]
    moved = np.asarray(release.values, dtype=np.float64).reshape(lengths)
    for place, (axis, level) in enumerate(zip(axes, release.levels, strict=True)):
        if axis.is_leaf(level):
            sums = axis.atom_sums(moved, place)
            sizes = axis.sizes.reshape([-1 if other == place else 1 for other in range(len(axes))])
            moved = np.concatenate([sums, moved - np.take(sums / sizes, axis.atoms, axis=place)], axis=place)
        else:
            moved = np.moveaxis(np.tensordot(axis.sums[level], moved, axes=(0, place)), 0, place)
    return np.asarray(moved)


def _added_up(axes: Sequence[DimensionLevels], effects: Floats) -> Floats:
    for place, axis in enumerate(axes):
        means, contrasts = np.split(effects, [len(axis.sizes)], axis=place)
        spread = means if len(axis.sizes) == 1 else np.take(means, axis.atoms, axis=place)
        effects = spread + contrasts
    return effects


def _check_known(axes: Sequence[DimensionLevels], released: Sequence[LevelRelease], table: Floats) -> None:
    for release in released:
        if release.variance == 0.0:
            sums = table
            for place, (axis, level) in enumerate(zip(axes, release.levels, strict=True)):
                sums = axis.added(sums, place, level)
            given = np.asarray(release.values, dtype=np.float64).reshape(sums.shape)
            if np.abs(sums - given).max() > _AGREE * (1.0 + np.abs(given).max()):
                raise _unfit(
                    "Totals that are known exactly agree with each other.",
                    "Two of them add up to different numbers.",
                    "Check whether they are of the same records.",
                )


def _weight(axes: Sequence[DimensionLevels], release: LevelRelease) -> float:
    """Return 1/v, or for known totals a scale that keeps the numbers of different levels comparable."""
    if release.variance:
        return 1.0 / release.variance
    return 1.0 / math.prod(
        axis.axis.levels if level is None else 1 for axis, level in zip(axes, release.levels, strict=True)
    )


def _held(axes: Sequence[DimensionLevels], release: LevelRelease) -> tuple[slice, ...]:
    return tuple(
        slice(None) if leaf else slice(0, len(axis.sizes))
        for axis, leaf in zip(axes, _leaves(axes, release), strict=True)
    )


def _leaves(axes: Sequence[DimensionLevels], release: LevelRelease) -> Iterator[bool]:
    return (axis.is_leaf(level) for axis, level in zip(axes, release.levels, strict=True))


def _length(axis: DimensionLevels, level: str) -> int:
    return axis.axis.levels if axis.is_leaf(level) else len(axis.sums[level])


def _kron(factors: Sequence[Floats]) -> Floats:
    whole: Floats = np.ones((1, 1))
    for factor in factors:
        whole = np.asarray(np.kron(whole, factor), dtype=np.float64)
    return whole


def _unfit(rule: str, finding: str, remedy: str) -> ParameterError:
    return ParameterError("HG162", rule=rule, finding=finding, remedy=remedy)


Levels = tuple[str | None, ...]
_MOST_MARGINS = 5000
# Sums of more Laplace numbers are read as sums of this many: a little wider than they are.
_MOST_DRAWS = 100
ADJUSTED = (
    "Cells and totals were made to add up by weighted least squares; standard errors and intervals are those of the "
    "adjusted numbers."
)


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedMargin:
    """Totals that were released beside the cells, or that are known exactly.

    Attributes
    ----------
    columns : tuple of str
        Which columns, or groups of a hierarchy, are kept, in any order of the table's axes; ``()`` is the grand total.
    values : float array
        One number per cell of the margin, row-major in the order of the TABLE's axes.
    privacy_variance : float
        Of the noise on each; 0 for numbers that are public, such as n under replace-one where every record is in a
        cell.
    noise_law : str
    """

    columns: tuple[str, ...]
    values: Floats
    privacy_variance: float
    noise_law: str = "gaussian"


@dataclass(frozen=True, slots=True, eq=False)
class ConsistentTable:
    """A table and all its totals, which add up.

    Attributes
    ----------
    interior : TableCells
        The cells.
    margins : dict
        {columns kept: TableCells}, in the table's order of axes; ``()`` is the grand total. A hierarchy's name stands
        in the place of its column.
    hierarchies : tuple of Hierarchy
    notes : tuple of str
        What a reader must know about how the numbers were made.
    """

    interior: TableCells
    margins: Mapping[tuple[str, ...], TableCells] = field(default_factory=dict)
    hierarchies: tuple[Hierarchy, ...] = ()
    notes: tuple[str, ...] = ()

    def margin(self, columns: Iterable[str] = ()) -> TableCells:
        """Return the totals that keep these columns, given in any order; all columns: the cells (HG160 where none)."""
        wanted = frozenset(columns)
        tables = {frozenset(self.interior.shape.columns): self.interior}
        tables |= {frozenset(columns): cells for columns, cells in self.margins.items()}
        if wanted not in tables:
            raise ParameterError(
                "HG160",
                rule="To name a marginal total, name the columns over which the total is not summed, or a level of "
                "the hierarchy of such a column.",
                finding=f"There is none by {', '.join(sorted(wanted)) or 'nothing: the grand total'}.",
                remedy="The columns are: " + ", ".join(self.interior.shape.columns) + "."
                if self.margins
                else "This table has no totals yet: ask for it with margins=True, or add them by with_margins().",
            )
        return tables[wanted]


def consistent_table(
    cells: TableCells, *, released: Sequence[ReleasedMargin] = (), hierarchies: Sequence[Hierarchy] = ()
) -> ConsistentTable:
    """Return the table with totals over every set of axes and every hierarchy, all adding up.

    Post-processing: the guarantee is that of what was released. Cost O(cells) for each released margin; see
    `projection` for the estimate and the proof that its variances are exact.

    Parameters
    ----------
    cells : TableCells
        The noisy cells, uncut.
    released : sequence of ReleasedMargin
        Totals with noise of their own, and totals that are known.
    hierarchies : sequence of Hierarchy

    Returns
    -------
    ConsistentTable
        With nothing but cells and hierarchies given the cells are unchanged and totals are their plain sums.

    Raises
    ------
    ParameterError
        HG160 a column that the table does not have, or a name used twice; HG161 an array of the wrong length; HG162 a
        hierarchy that is no partition, known totals that contradict each other, cells of unequal noise beside released
        totals, or more than 5,000 totals.

    Examples
    --------
    >>> from hedgerow.release.cells.shape import TableDimension
    >>> shape = TableShape((TableDimension("sex", (0, 1)), TableDimension("region", ("north", "south"))))
    >>> cells = TableCells.counts(shape, [10.0, 20.0, 30.0, 44.0], privacy_variance=2.0, n=100)
    >>> consistent_table(cells).margin(["sex"]).values.tolist()
    [30.0, 74.0]
    >>> known = ReleasedMargin((), np.array([100.0]), 0.0)
    >>> table = consistent_table(cells, released=[known])
    >>> table.interior.values.tolist(), table.interior.privacy_variance
    ([9.0, 19.0, 29.0, 43.0], 1.5)
    >>> table.margin(["sex"]).privacy_variance, table.margin().standard_error.tolist()
    (2.0, [0.0])
    """
    check_hierarchies(cells.shape, hierarchies)
    axes = [DimensionLevels.of(axis, hierarchies) for axis in cells.shape.axes]
    wanted = _margins(axes)
    if not released:
        return ConsistentTable(
            cells, {_named(levels): _summed(cells, axes, levels) for levels in wanted}, tuple(hierarchies)
        )
    variance = cells.noise_variance
    if not isinstance(variance, float):
        raise _refused(
            "Totals released beside the cells are made to add up where all cells have noise of one size.",
            "These cells differ in theirs.",
            "Take plain sums: leave the released totals out.",
        )
    leaf = tuple(cells.shape.columns)
    given = [_placed(axes, margin) for margin in released]
    adjusted = project(axes, [LevelRelease(leaf, cells.grid, variance), *given])
    laws = {cells.noise_law, *(margin.noise_law for margin in released if margin.privacy_variance)}
    # A mixture of laws is read by the widest: Laplace's critical values are never below the others'.
    law = "gaussian" if laws == {"gaussian"} else "laplace"
    interior = cells.with_values(
        adjusted.values.reshape(-1), _spread(adjusted.variance(leaf), cells.shape), noise_law=law
    )
    known = {margin.levels: margin.values for margin in given if margin.variance == 0.0}
    margins = {}
    for levels in wanted:
        shape = _shape(axes, levels)
        summed = _summed(interior, axes, levels, _spread(adjusted.variance(levels), shape))
        # What is known is printed as it is known, not as the last digits of a sum.
        margins[_named(levels)] = summed.with_values(known[levels], 0.0) if levels in known else summed
    return ConsistentTable(interior, margins, tuple(hierarchies), (ADJUSTED,))


def _summed(
    cells: TableCells, axes: Sequence[DimensionLevels], levels: Levels, privacy_variance: Floats | float | None = None
) -> TableCells:
    """Return the totals of one margin, by the rule of its cells; without a variance, that of independent cells."""

    def added(numbers: Floats | float) -> Floats:
        return _added(axes, levels, np.broadcast_to(np.asarray(numbers, dtype=np.float64), cells.shape.size))

    shape, values, law = _shape(axes, levels), added(cells.values), cells.noise_law
    if cells.withheld:
        totals = TableCells.without_errors(shape, values, counted=cells.counted, subject=cells.subject)
    elif (read := cells.over(added, shape)) is not None:
        totals = read
    else:
        if privacy_variance is None:
            privacy_variance = _added_variance(axes, levels, cells.noise_variance)
            law = _law_of_sums(cells, shape)
        totals = replace(
            cells,
            shape=shape,
            values=values,
            sampling_variance=None if cells.follows else added(cells.sampling_error**2),
            privacy_variance=privacy_variance,
            noise_law=law,
            second_moment=None if cells.second_moment is None else added(cells.second_moment),
            second_moment_variance=_added_variance(axes, levels, cells.second_moment_variance),
            low=_end(cells, cells.low, added),
            high=_end(cells, cells.high, added),
            shown=None,
            freedom=_freedom(cells, added),
            skew=(_skewness(cells, cells.skew[0], added), _skewness(cells, cells.skew[1], added)),
            region=FOLLOWS,
        )
    return totals.with_shown(None if cells.shown is None else added(cells.shown))


def _end(cells: TableCells, end: Floats | float, added: Callable[[Floats | float], Floats]) -> Floats | float:
    """Return an end of what sums can be: of n records, wherever they are; of known records, the sum of their ends."""
    if cells.n is None and np.isfinite(end).all():
        return added(end)
    return float(np.max(end) if end is cells.high else np.min(end))


def _freedom(cells: TableCells, added: Callable[[Floats | float], Floats]) -> Floats | float:
    """Return the degrees of freedom of a sum of estimated variances (Satterthwaite 1946; Welch 1947)."""
    if not np.isfinite(cells.freedom).any():
        return math.inf
    variance = cells.upper_variance
    whole, parts = added(variance) ** 2, added(variance**2 / np.maximum(cells.freedom, 1.0))
    return np.where(parts > 0.0, whole / np.where(parts > 0.0, parts, 1.0), math.inf)


def _skewness(cells: TableCells, skew: Floats | float, added: Callable[[Floats | float], Floats]) -> Floats | float:
    """Return μ₃/v of sums: third moments add up as variances do."""
    if not np.any(skew):
        return 0.0
    whole = added(cells.upper_variance)
    return np.where(whole > 0.0, added(skew * cells.upper_variance) / np.where(whole > 0.0, whole, 1.0), 0.0)


def _law_of_sums(cells: TableCells, shape: TableShape) -> str:
    """Return the law of plain sums: of as many Laplace numbers as each adds up, where that is one number for all."""
    draws, rest = divmod(cells.shape.size, shape.size)
    even = rest == 0 and isinstance(cells.noise_variance, float)
    # Groups of a hierarchy are uneven: their sums stay with Laplace's own law, which is wider.
    even = even and set(shape.columns) <= set(cells.shape.columns)
    return averaged_law(min(draws, _MOST_DRAWS)) if even and cells.noise_law == "laplace" else cells.noise_law


def add_up(table: ConsistentTable, interior: TableCells) -> ConsistentTable:
    """Return the table with other numbers shown in its cells; those shown in its totals are their sums."""
    axes = [DimensionLevels.of(axis, table.hierarchies) for axis in interior.shape.axes]
    levels = {_named(columns): columns for columns in _margins(axes)}
    shown = interior.published
    margins = {name: cells.with_shown(_added(axes, levels[name], shown)) for name, cells in table.margins.items()}
    return ConsistentTable(interior, margins, table.hierarchies, table.notes)


def _added(axes: Sequence[DimensionLevels], levels: Levels, values: Floats) -> Floats:
    sums = values.reshape([axis.axis.levels for axis in axes])
    for place, (axis, level) in enumerate(zip(axes, levels, strict=True)):
        sums = axis.added(sums, place, level)
    return sums.reshape(-1)


def _added_variance(axes: Sequence[DimensionLevels], levels: Levels, variance: Floats | float) -> Floats | float:
    cells = np.prod([axis.axis.levels for axis in axes], dtype=np.int64)
    each = np.broadcast_to(np.asarray(variance, dtype=np.float64), int(cells))
    sums = _added(axes, levels, each)
    return float(sums[0]) if np.ndim(variance) == 0 and sums.min() == sums.max() else sums


def _spread(variance: Floats, shape: TableShape) -> Floats | float:
    return float(variance.reshape(())) if variance.size == 1 else np.broadcast_to(variance, shape.shape).reshape(-1)


def _margins(axes: Sequence[DimensionLevels]) -> list[Levels]:
    """Return the levels of every margin: all choices of one level an axis, but for the table itself."""
    choices = [[axis.axis.column, *(name for name in axis.sums if name is not None), None] for axis in axes]
    if np.prod([len(levels) for levels in choices], dtype=np.float64) > _MOST_MARGINS:
        raise _refused(
            f"A table has at most {_MOST_MARGINS:,} kinds of totals.",
            f"{len(axes)} axes make more.",
            "Take fewer columns or hierarchies.",
        )
    return list(product(*choices))[1:]


def _placed(axes: Sequence[DimensionLevels], margin: ReleasedMargin) -> LevelRelease:
    """Return a released margin with the level of every axis."""
    levels: list[str | None] = []
    for axis in axes:
        held = [column for column in margin.columns if column in axis.levels]
        levels.append(held[0] if len(held) == 1 else None)
    if sorted(margin.columns) != sorted(level for level in levels if level is not None):
        raise ParameterError(
            "HG160",
            rule="To name a marginal total, name the columns over which the total is not summed, or a level of the "
            "hierarchy of such a column.",
            finding=f"Found {', '.join(margin.columns)}.",
            remedy="The columns are: " + ", ".join(axis.axis.column for axis in axes) + ".",
        )
    # Checked as the cells of a table are: their number, finite, a variance of 0 or more.
    shape = _shape(axes, tuple(levels))
    cells = TableCells(shape, np.asarray(margin.values, dtype=np.float64).reshape(-1), 0.0, margin.privacy_variance)
    return LevelRelease(tuple(levels), cells.values, float(np.max(cells.noise_variance)))


def _shape(axes: Sequence[DimensionLevels], levels: Levels) -> TableShape:
    labels = (axis.levels[level] for axis, level in zip(axes, levels, strict=True))
    return TableShape(tuple(axis for axis in labels if axis is not None))


def _named(levels: Levels) -> tuple[str, ...]:
    return tuple(level for level in levels if level is not None)


def check_hierarchies(shape: TableShape, hierarchies: Sequence[Hierarchy]) -> None:
    """Refuse hierarchies of columns that the table does not have, and a name that is used twice (HG160)."""
    shape.axis_places(hierarchy.column for hierarchy in hierarchies)
    names = [*shape.columns, *(hierarchy.name for hierarchy in hierarchies)]
    if len(set(names)) < len(names):
        raise ParameterError(
            "HG160",
            rule="The columns and the hierarchies of a table must have different names.",
            finding="A column and a hierarchy, or two hierarchies, have the same name.",
            remedy="Give the hierarchy another name.",
        )


def _refused(rule: str, finding: str, remedy: str) -> ParameterError:
    return ParameterError("HG162", rule=rule, finding=finding, remedy=remedy)
