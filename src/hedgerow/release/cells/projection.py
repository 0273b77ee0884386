"""Weighted least squares over released tables and their margins, exact, without a matrix of the cells.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.release.cells.shape import AxisMap

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
    axes: tuple[AxisMap, ...]
    _covariances: dict[tuple[bool, ...], Floats]

    def variance(self, levels: Sequence[str | None]) -> Floats:
        """Return the noise variance of each cell of a margin, named by `levels` as in `LevelRelease`.

        It has the axes of the margin; where the variance is the same along an axis, that axis has length 1.

        >>> from hedgerow.release.cells.shape import Axis
        >>> axes = (AxisMap.of(Axis("sex", (0, 1))),)
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


def project(axes: Sequence[AxisMap], released: Sequence[LevelRelease]) -> Projected:
    """Return the table that fits all releases best, each weighted by one over its variance.

    Parameters
    ----------
    axes : sequence of AxisMap
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
    axes: Sequence[AxisMap],
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


def _normal(axes: Sequence[AxisMap], released: Sequence[LevelRelease], effect: tuple[bool, ...], zero: bool) -> Floats:
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


def _moved(axes: Sequence[AxisMap], release: LevelRelease) -> Floats:
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


def _added_up(axes: Sequence[AxisMap], effects: Floats) -> Floats:
    for place, axis in enumerate(axes):
        means, contrasts = np.split(effects, [len(axis.sizes)], axis=place)
        spread = means if len(axis.sizes) == 1 else np.take(means, axis.atoms, axis=place)
        effects = spread + contrasts
    return effects


def _check_known(axes: Sequence[AxisMap], released: Sequence[LevelRelease], table: Floats) -> None:
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


def _weight(axes: Sequence[AxisMap], release: LevelRelease) -> float:
    """Return 1/v, or for known totals a scale that keeps the numbers of different levels comparable."""
    if release.variance:
        return 1.0 / release.variance
    return 1.0 / math.prod(
        axis.axis.levels if level is None else 1 for axis, level in zip(axes, release.levels, strict=True)
    )


def _held(axes: Sequence[AxisMap], release: LevelRelease) -> tuple[slice, ...]:
    return tuple(
        slice(None) if leaf else slice(0, len(axis.sizes))
        for axis, leaf in zip(axes, _leaves(axes, release), strict=True)
    )


def _leaves(axes: Sequence[AxisMap], release: LevelRelease) -> Iterator[bool]:
    return (axis.is_leaf(level) for axis, level in zip(axes, release.levels, strict=True))


def _length(axis: AxisMap, level: str) -> int:
    return axis.axis.levels if axis.is_leaf(level) else len(axis.sums[level])


def _kron(factors: Sequence[Floats]) -> Floats:
    whole: Floats = np.ones((1, 1))
    for factor in factors:
        whole = np.asarray(np.kron(whole, factor), dtype=np.float64)
    return whole


def _unfit(rule: str, finding: str, remedy: str) -> ParameterError:
    return ParameterError("HG162", rule=rule, finding=finding, remedy=remedy)
