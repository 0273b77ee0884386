"""``table``: one noisy count table, atom × score bin × label; all calibration after it is post-processing.

Guarantee   ε-differential privacy of the model and of everything read from it. One record has one atom, one score bin
and one label, so it is in ONE cell of the table: under add-remove one count changes by 1, under replace-one two counts
do. Each count gets discrete Laplace noise, P(z) ∝ exp(−|z|/scale), with scale = 1/ε₁ under add-remove and 2/ε₁ under
replace-one (multicalibration.md). A second table with noise of the same law costs ε₂, and ε₁ + ε₂ = ε.

However many rounds of calibration, buckets, groups and metrics are read from the tables, there is no further cost. It
is the best mechanism wherever there are few atoms; the size of the table is atoms × bins × 2.

**The second table** gives the mean score of each bin, so that a bin is read at its mean and not at its middle. Scores
of trees, neighbours and rounded files take few values. If a bin were read at its middle, a model that gives .5 to
everybody and is right would be "corrected" by half the width of a bin. The table holds, over the records of bin b,

    U_b = ⌊Σ λ + ½⌋,        λ = (score − left end of its bin) / (width of its bin), in [0, 1]

One more record adds λ to one sum, hence 0 or 1 to one U_b: U changes as counts of disjoint cells do, and has the same
price. The sums are exact integers, because λ is a fraction of the public grid of scores.

**Calibration** reads these tables alone: `sweeps` says which cells are shifted, by how much, and which groups keep the
scores that they had.

Calibrates scores by a released count table without harm to scores that were right: all of it is post-processing.

What is corrected must be in the table beyond chance, and what was corrected must pay. The noise of the table is known,
so no part of the records has to be held back for this, and it costs nothing.

**Cells.** Groups that join the same attributes are disjoint: a block. Its scores are divided into 1, 2, 4, 8 ranges of
score bins, into the k buckets of the current score, and into score bins. With noisy counts n₁, n₀ of noise sd s,
N = n₀ + n₁, current score c and R = Σ (n₁ − N c), over the pairs (atom, bin) of a cell,

    var R = s² Σ ((1 − c)² + c²) + N⁺ mean of c (1 − c)               privacy noise, and binomial noise of labels

**Who is seen.** A bin whose total over m counts is at most 3 s√m + 1.5 s/√2 holds nobody as far as can be seen: noise
alone fills one of 40 empty bins in 5 % of fits. So does a class by its total over the bins that are left. Such pairs
are left out of all sums, which would only collect their noise, and they keep their scores: a cell's counts say nothing
of people who are not in them.

**What is shifted.** z = (|R| − 1.5 s/√2)/√var R, because discrete Laplace noise has longer tails than a normal law.
Benjamini and Hochberg's rule at level .003, for the cells of each block and division, keeps false shifts rare: one
significant cell alone needs much evidence, many together need less, so poor scores are corrected thoroughly and right
ones stay. A cell is shifted on the logit scale until its residual sum has fallen by R (1 − var R / R²), but not
beyond what its counts support: with m = ½ + √(2/π) s √pairs (`cells.doubtful`), the number of ones that a noisy count
of 0 stands for, the mean score of a cell is moved to no value outside [m/N, 1 − m/N].

**What is kept.** In the end every group of at most one attribute must gain: with d₁ = log(c/c₀) and d₀ = log((1 − c) /
(1 − c₀)) the gain in log likelihood is G = Σ (n₁ d₁ + n₀ d₀), linear in the counts, so its noise is known. Where G is
below 2 sd, the group gets its original scores c₀ back: the base model is always a candidate, for each group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.multicalibration.calibrated_model import (
    HIGH,
    LOW,
    STEPS,
    WRITTEN,
    CalibratedModel,
    Loss,
    Records,
    Residuals,
    ScoreBins,
    Shifts,
    score_bucket,
)
from hedgerow.multicalibration.calibration_mechanism import (
    CalibrationMechanism,
    FittedCalibration,
    Setting,
    check_parameter,
    least_noise_for,
)
from hedgerow.multicalibration.family import Family, members_of
from hedgerow.multicalibration.metrics import error_of
from hedgerow.multicalibration.rounds import doubtful
from hedgerow.noise.lattice import AdditiveTable, NoiseSource

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SWEEPS = 4
RANGES = (1, 2, 4, 8)
HELD = 3.0  # sd of its noise that a count exceeds where somebody is there
TAIL = 1.5 / np.sqrt(2.0)  # in sd: what the tails of discrete Laplace noise add to those of a normal law
_LOGIT = (float(np.log(LOW / HIGH)), float(np.log(HIGH / LOW)))
_STEPS = 12


@dataclass(frozen=True, slots=True)
class NoisyCounts:
    """Released counts of labels 1 and 0, (atoms, bins), and the sd of their noise."""

    ones: Floats
    zeros: Floats
    sd: float

    @property
    def all(self) -> Floats:
        """Records of either label."""
        return self.ones + self.zeros


@dataclass(frozen=True, slots=True)
class Rule:
    """How much evidence a shift needs.

    Attributes
    ----------
    z : float
        The least number of sd that a residual sum exceeds.
    level : float
        Benjamini and Hochberg's level in each block and division.
    gain : float
        The least gain of a group, in sd of its noise.
    least : float
        The least mean residual of a cell that is shifted: half the target α, 0 without one.
    """

    z: float
    level: float
    gain: float
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class _Block:
    """The rows of atoms that are in a group of one block, and which group: disjoint groups."""

    atoms: Integers
    group: Integers
    groups: int
    attributes: int


def calibrated(
    counts: NoisyCounts, original: Floats, family: Family, n_buckets: int, rule: Rule, enough: Callable[[Floats], bool]
) -> Floats:
    """Return the calibrated score of each (atom, bin); `enough` says from scores whether a target is reached."""
    blocks = list(_blocks(family))
    seen = inhabited(counts, family)
    logit = np.log(original / (1.0 - original))
    score = original.copy()
    for _ in range(SWEEPS):
        if enough(score):
            break
        moved = False
        for block in blocks:
            rows = block.atoms
            for cell, cells in _divisions(score[rows], n_buckets):
                flat = (block.group[:, None] * cells + cell).ravel()
                step = _steps(_rows(counts, rows), seen[rows], logit[rows], flat, block.groups * cells, rule)
                if np.abs(step).max(initial=0.0) > 1e-3:
                    moved = True
                    logit[rows] = np.clip(logit[rows] + step[flat].reshape(cell.shape) * seen[rows], *_LOGIT)
                    score[rows] = 1.0 / (1.0 + np.exp(-logit[rows]))
        if not moved:
            break
    return _without_losers(counts, original, score, blocks, rule.gain)


def inhabited(counts: NoisyCounts, family: Family) -> NDArray[np.bool_]:
    """Return which (atom, bin) may hold somebody: its bin and each of its classes have totals beyond their noise.

    Totals over many cells decide, to which the noise of one cell adds little, so this selects hardly any noise.
    """
    n = counts.all
    bins = n.sum(axis=0) > _most_noise(counts, n.shape[0])
    by_atom, classes = n[:, bins].sum(axis=1), family.atom_classes()
    atoms = np.ones(len(n), dtype=bool)
    for attribute, levels in enumerate(family.levels):
        total = np.bincount(classes[:, attribute], by_atom, minlength=levels)
        pairs = np.bincount(classes[:, attribute], minlength=levels) * bins.sum()
        atoms &= (total > _most_noise(counts, pairs))[classes[:, attribute]]
    return np.asarray(atoms[:, None] & bins)


def _most_noise(counts: NoisyCounts, pairs: Floats | Integers | int) -> Floats:
    """Return what the total of so many pairs, of two counts each, exceeds where somebody is there."""
    return np.asarray(counts.sd * (HELD * np.sqrt(2.0 * pairs) + TAIL))


def _blocks(family: Family) -> Iterator[_Block]:
    classes = family.atom_classes()
    for block in family.blocks:
        group = block.group_of(classes) - block.start
        atoms = np.flatnonzero(group >= 0)
        yield _Block(atoms, group[atoms], block.size, len(block.attributes))


def _divisions(score: Floats, n_buckets: int) -> Iterator[tuple[Integers, int]]:
    """Yield the cell of each (atom, bin) within its group, and their number: ranges of bins, buckets, bins."""
    bins = score.shape[1]
    each = np.broadcast_to(np.arange(bins), score.shape)
    for ranges in RANGES:
        if ranges < bins:
            yield each * ranges // bins, ranges
    yield score_bucket(score, n_buckets), n_buckets
    yield each, bins


def _rows(counts: NoisyCounts, rows: Integers) -> NoisyCounts:
    return NoisyCounts(counts.ones[rows], counts.zeros[rows], counts.sd)


def _steps(
    counts: NoisyCounts, seen: NDArray[np.bool_], logit: Floats, cell: Integers, cells: int, rule: Rule
) -> Floats:
    """Return by how much the logit of each cell is shifted; 0 where its residual is within its noise."""

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(cell, (values * seen).ravel(), minlength=cells), dtype=np.float64)

    c = 1.0 / (1.0 + np.exp(-logit))
    n, held = counts.all, np.maximum(counts.all, 0.0)
    size, weight = summed(n), summed(held)
    residual = summed(counts.ones - n * c)
    binomial = np.maximum(size, 0.0) * summed(held * c * (1.0 - c)) / np.maximum(weight, 1e-9)
    variance = counts.sd**2 * summed((1.0 - c) ** 2 + c**2) + binomial
    # Where N itself is within its noise, R/N could be anything: such a cell holds few records, and stays.
    pairs = summed(np.ones_like(c))
    there = size > np.maximum(_most_noise(counts, pairs), 1.0)
    z = np.maximum(np.abs(residual) - TAIL * counts.sd, 0.0) / np.sqrt(np.maximum(variance, 1e-9))
    moves = there & (z > rule.z) & (np.abs(residual) >= rule.least * size) & _discoveries(z, there, rule.level)
    if not moves.any():
        return np.zeros(cells)
    share = (np.maximum(size, 1e-9) / np.maximum(weight, 1e-9))[cell].reshape(c.shape)
    wanted = np.where(moves, residual * np.maximum(0.0, 1.0 - variance / np.maximum(residual**2, 1e-9)), 0.0)
    people, doubt = (held * share * seen).ravel(), doubtful(counts.sd * np.sqrt(pairs))
    return np.where(moves, _solved(logit.ravel(), people, cell, wanted, doubt), 0.0)


def _discoveries(z: Floats, there: NDArray[np.bool_], level: float) -> NDArray[np.bool_]:
    """Return which cells pass Benjamini and Hochberg's rule; cells that hold too few count as tests too."""
    from hedgerow.special import ndtr

    p = np.where(there, 2.0 * ndtr(-z), 1.0)
    rising = np.sort(p)
    below = np.flatnonzero(rising <= level * np.arange(1, len(p) + 1) / len(p))
    return np.asarray(p <= rising[below[-1]] if len(below) else np.zeros(len(p), dtype=bool))


def _solved(logit: Floats, weight: Floats, cell: Integers, wanted: Floats, doubt: Floats) -> Floats:
    """Return t of each cell such that Σ weight · (σ(logit + t) − σ(logit)) is as wanted, by safeguarded Newton.

    Σ weight · σ(logit + t) is moved to no value nearer than `doubt` to 0 or to Σ weight.
    """
    cells = len(wanted)
    start = np.bincount(cell, weight / (1.0 + np.exp(-logit)), minlength=cells)
    room = np.bincount(cell, weight, minlength=cells)
    least = np.minimum(doubt, room / 2.0)
    aim = np.clip(start + wanted, np.minimum(start, least), np.maximum(start, room - least))
    t, low, high = np.zeros(cells), np.full(cells, 2.0 * _LOGIT[0]), np.full(cells, 2.0 * _LOGIT[1])
    for _ in range(_STEPS):
        p = 1.0 / (1.0 + np.exp(-(logit + t[cell])))
        over = np.bincount(cell, weight * p, minlength=cells) - aim
        slope = np.bincount(cell, weight * p * (1.0 - p), minlength=cells)
        low, high = np.where(over < 0.0, t, low), np.where(over > 0.0, t, high)
        newton = t - over / np.maximum(slope, 1e-12)
        # The ends are allowed: where t has converged, it is one of them, and is not to be left for the middle.
        t = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2.0)
    return t


def _without_losers(
    counts: NoisyCounts,
    original: Floats,
    score: Floats,
    blocks: list[_Block],
    gain: float,
) -> Floats:
    """Return the scores, and the original ones in groups of at most one attribute that the table shows no gain for.

    Twice, because a group that got its scores back takes its part of the gain from the groups that it overlaps.
    """
    clipped = score.copy()
    for block in [block for block in blocks if block.attributes <= 1] * 2:
        log_ones, log_zeros = np.log(clipped / original), np.log((1.0 - clipped) / (1.0 - original))
        gained = counts.ones * log_ones + counts.zeros * log_zeros
        spread = counts.sd**2 * (log_ones**2 + log_zeros**2)
        spread += np.maximum(counts.all, 0.0) * clipped * (1.0 - clipped) * (log_ones - log_zeros) ** 2
        by_group = [
            np.bincount(block.group, v.sum(axis=1)[block.atoms], minlength=block.groups) for v in (gained, spread)
        ]
        loses = by_group[0] < gain * np.sqrt(by_group[1])
        back = block.atoms[loses[block.group]]
        clipped[back] = original[back]
    return clipped


BINARY = ("label=0", "label=1")
PLACED = ("placed",)
# Atoms × bins. Above this, a cell of data of usual size holds less than its noise, so bins are made coarser.
FINE_CELLS = 20_000
MOST_CELLS = 200_000
MOST_BINS, FEWEST_BINS = 40, 10


@dataclass(frozen=True, slots=True)
class CountTable(CalibrationMechanism[Composition]):
    """The one-shot count table (multicalibration.md).

    Parameters
    ----------
    bins : int, optional
        Logit-spaced score bins; by default 40, or as many as keep atoms × bins ≤ 20,000, at least 10: a public choice.
    z : float
        A cell is shifted only when its residual sum exceeds z standard deviations of privacy and binomial noise
        together.
    place_share : float
        The part of the precision that pays for the mean scores of bins, for scores that take few values.
    level : float
        Of Benjamini and Hochberg's rule, which a cell has to pass as well (`sweeps`): at most about this share of the
        shifts of a block and division is due to chance.
    gain : float
        A group keeps the scores that it had unless the table shows a gain in its log likelihood of as many sd.

    Examples
    --------
    >>> from hedgerow.facts.relation import Relation
    >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
    >>> [part.cells for part in CountTable().describe(public, Budget(1.0, 0.0)).parts]
    [80, 40]
    """

    bins: int | None = None
    z: float = 2.5
    place_share: float = 0.05
    level: float = 0.003
    gain: float = 2.0

    name: ClassVar[str] = "table"
    noise: ClassVar[tuple[type, ...]] = (GeometricCounts, GeometricCounts)
    planned: ClassVar[tuple[str, ...]] = ("place_share",)
    sized: ClassVar[tuple[str, ...]] = ("scale",)

    def __post_init__(self) -> None:
        bins_fit = self.bins is None or (isinstance(self.bins, int) and 2 <= self.bins <= 1000)
        check_parameter(bins_fit, "A table has from 2 to 1,000 score bins.", self.bins)
        check_parameter(self.z >= 0.0, "`z` of a table is not negative.", self.z)
        share_fits = 0.0 < self.place_share < 1.0
        check_parameter(share_fits, "`place_share` of a table lies between 0 and 1.", self.place_share)
        check_parameter(0.0 < self.level <= 1.0, "`level` of a table lies in (0, 1].", self.level)
        check_parameter(math.isfinite(self.gain), "`gain` of a table is a finite number of sd.", self.gain)

    def score_bins(self, family: Family) -> ScoreBins:
        """Return the bins for a family: a public choice."""
        chosen = min(MOST_BINS, max(FEWEST_BINS, FINE_CELLS // family.atoms)) if self.bins is None else self.bins
        return ScoreBins(chosen)

    def describe(self, setting: Setting, budget: Budget) -> Composition:
        """Return what one model needs: the noisy counts, and the mean scores of bins.

        Raises
        ------
        UncertifiedError
            HG422: the family has too many atoms for a table.
        """
        cells = setting.family.atoms * self.score_bins(setting.family).count
        if cells > MOST_CELLS:
            raise UncertifiedError(
                "HG422",
                rule=f"A count table has at most {MOST_CELLS:,} cells of atom and score bin.",
                finding=f"This family has {setting.family.atoms:,} atoms.",
                remedy='Use fewer or coarser columns; or use mechanism="rounds", which needs no combinations of '
                "groups and scores.",
            )
        bins, share = self.score_bins(setting.family).count, self.place_share

        def build(precision: float) -> Composition:
            counts = GeometricCounts(1.0 / ((1.0 - share) * precision), 2 * cells)
            return Composition((counts, GeometricCounts(1.0 / (share * precision), bins)))

        return least_noise_for(build, setting, budget)

    def run(self, setting: Setting, described: Composition, records: Records, noise: NoiseSource) -> FittedCalibration:
        """Release two noisy tables, and read them: only the first line reads records."""
        released = self.release(setting, described, records, noise)
        return replace(self.read(setting, described, [table.values for table in released]), released=released)

    def read(self, setting: Setting, described: Composition, numbers: Sequence[Floats]) -> FittedCalibration:
        """Return the calibration that both tables support."""
        bins = self.score_bins(setting.family)
        shapes, parts = ((setting.family.atoms * bins.count, 2), (bins.count, 1)), counts_of(described)
        for part, values, shape in zip(parts, numbers, shapes, strict=True):
            if values.shape != shape or part.cells != values.size:
                raise TypeError("a table is read as it was described")
        table, places = (
            AdditiveTable((), names, values, part.table_spread(names), part.noise_law.name)
            for part, values, names in zip(parts, numbers, (BINARY, PLACED), strict=True)
        )
        count = table.values.sum(axis=1).reshape(-1, bins.count).sum(axis=0)
        means = means_of(places, count, table.sd(BINARY[0]) * math.sqrt(2.0 * setting.family.atoms), bins)
        rule = Rule(self.z, self.level, self.gain, setting.least_shift)
        return read_table((table, places), setting, means, bins, rule)

    @classmethod
    def agrees(cls, model: CalibratedModel, before: Residuals | None, part: GeometricCounts) -> bool:
        """Return whether the size of the table and the noise of the residuals are those of the certificate."""
        if part.cells % (2 * model.family.atoms):
            return False
        if before is None:
            return True
        # The count of a group and bucket is a sum over c pairs of counts, one a label: 2c times the variance of one.
        pairs = (before.count_sd / part.noise_sd) ** 2 / 2.0
        near = np.abs(pairs - np.rint(pairs)) <= 1e-9 * pairs + before.count_sd * WRITTEN / part.noise_sd**2
        return bool(np.all(near))

    def counts(self, records: Records) -> NDArray[np.int64]:
        """Return the exact counts by atom and score bin, and by label: (atoms · bins, 2). PRIVATE: without noise."""
        bins = self.score_bins(records.family)
        atom = records.family.atom_codes(records.patterns)[records.pattern]
        cell = (atom * bins.count + bins.of(records.scores)) * 2 + records.label
        counts = np.zeros(records.family.atoms * bins.count * 2, dtype=np.int64)
        np.add.at(counts, cell, records.count)
        return counts.reshape(-1, 2)

    def release(
        self, setting: Setting, described: Composition, records: Records, noise: NoiseSource
    ) -> tuple[AdditiveTable, AdditiveTable]:
        """Return both exact tables plus the noise that `described` states: from here on everything is public."""
        counts, placed = counts_of(described)
        bins = self.score_bins(setting.family)
        each = range(bins.count)
        cells = [{"atom": atom, "score_bin": bin_} for atom in range(setting.family.atoms) for bin_ in each]
        places = exact_places(records, bins).reshape(-1, 1)
        return (
            counts.noisy(self.counts(records), noise, cells=cells, features=BINARY),
            placed.noisy(places, noise, cells=[{"score_bin": bin_} for bin_ in each], features=PLACED),
        )


def counts_of(described: Composition) -> tuple[GeometricCounts, GeometricCounts]:
    """Return the count table and the table of places that `CountTable.describe` describes."""
    counts, placed = described.parts
    return cast("GeometricCounts", counts), cast("GeometricCounts", placed)


@dataclass(frozen=True, slots=True)
class BinMeans:
    """The score at which each bin is read, and the variance of its error; (bins,) each."""

    score: Floats
    variance: Floats


def exact_places(records: Records, bins: ScoreBins) -> Integers:
    """Return U of each bin, (bins,). PRIVATE."""
    low, width = _ends(bins)
    bin_ = bins.of(records.scores)
    total = np.zeros(bins.count, dtype=np.int64)
    np.add.at(total, bin_, records.count * (records.score - low[bin_]))
    return (2 * total + width) // (2 * width)


def means_of(places: AdditiveTable, count: Floats, count_sd: float, bins: ScoreBins) -> BinMeans:
    """Return an estimate of the mean score of each bin from U and the noisy number N of its records; post-processing.

    The estimate m = middle + (U − λ₀N)/N · width, where λ₀ is the λ of the middle, is shrunk towards the middle by the
    factor τ²/(τ² + v): v is the variance of the noise in m, and τ² = width²/12 that of a score uniform in its bin.

    >>> held = AdditiveTable([{}] * 2, PLACED, np.array([[0.0], [0.0]]), np.zeros(1), "laplace")
    >>> means_of(held, np.array([0.0, 1000.0]), 0.0, ScoreBins(2)).score.round(3).tolist()
    [0.031, 0.5]
    """
    low, width = (part / STEPS for part in _ends(bins))
    share = (bins.centres - low) / width
    known = np.maximum(count, 1.0)
    # 1/12: U is rounded to a whole number.
    noise = (width / known) ** 2 * (places.sd(PLACED[0]) ** 2 + (share * count_sd) ** 2 + 1.0 / 12.0)
    prior = width**2 / 12.0
    trust = np.where(count > 0.0, prior / (prior + noise), 0.0)
    mean = bins.centres + trust * (places.column(PLACED[0]) - share * count) / known * width
    return BinMeans(np.clip(mean, np.maximum(low, LOW), np.minimum(low + width, HIGH)), prior * (1.0 - trust))


def _ends(bins: ScoreBins) -> tuple[Integers, Integers]:
    """Return the left end and the width of each bin in grid steps, rounded outwards: each score lies in its bin."""
    ends = np.concatenate([[0.0], bins.edges, [1.0]]) * STEPS
    low = np.floor(ends[:-1]).astype(np.int64)
    return low, np.ceil(ends[1:]).astype(np.int64) - low


def read_table(
    released: tuple[AdditiveTable, ...], setting: Setting, means: BinMeans, bins: ScoreBins, rule: Rule
) -> FittedCalibration:
    """Return the calibration that a released table, the first, supports, and its residuals before and after."""
    table = released[0]
    shape = (setting.family.atoms, bins.count)
    zeros, ones = (table.column(name).reshape(shape) for name in BINARY)
    counts = NoisyCounts(ones, zeros, table.sd(BINARY[0]))
    members = members_of(setting.family, setting.family.atom_classes())
    original = np.broadcast_to(means.score, shape)

    def residuals(score: Floats) -> Residuals:
        return _residuals(counts, score, members, setting, means)

    def enough(score: Floats) -> bool:
        return setting.alpha is not None and error_of(residuals(score), "alpha") <= setting.alpha

    score = calibrated(counts, original, setting.family, setting.n_buckets, rule, enough)
    # Rounded to the grid of scores: people read model files too.
    shifts = Shifts(bins.edges, np.round(score - original, 6) + 0.0, LOW, HIGH)
    return FittedCalibration(shifts, residuals(original), residuals(score), released)


def _residuals(
    counts: NoisyCounts, score: Floats, members: list[Integers], setting: Setting, means: BinMeans
) -> Residuals:
    """Return R, N and Σ p of group × bucket with the sd of their privacy noise."""
    k = setting.n_buckets
    n, s2 = counts.all, counts.sd**2
    values = (
        counts.ones - n * score,
        n,
        n * score,
        s2 * ((1.0 - score) ** 2 + score**2),
        np.full(score.shape, 2.0 * s2),
    )
    bucket = score_bucket(score, k)
    sums = np.stack([[np.bincount(bucket[a].ravel(), v[a].ravel(), minlength=k) for a in members] for v in values])
    placed = np.stack([_from_places(n[a], bucket[a], means, k) for a in members])
    total = float(setting.n) if setting.n is not None else float(n.sum())
    names = setting.family.names
    losses = _loss(counts, -np.log(score), -np.log1p(-score), total), _loss(counts, (1 - score) ** 2, score**2, total)
    return Residuals(
        names, sums[0], sums[1], sums[2], np.sqrt(sums[3] + placed), np.sqrt(sums[4]), total, True, *losses
    )


def _from_places(count: Floats, bucket: Integers, means: BinMeans, k: int) -> Floats:
    """Return the variance of R in each bucket of a group that comes from the errors of the mean scores of bins.

    All records of a bin are read at one score, so an error of it counts once for each record of the bin in the cell.
    """
    bins = count.shape[1]
    held = np.bincount((bucket * bins + np.arange(bins)).ravel(), count.ravel(), minlength=k * bins).reshape(k, bins)
    return np.asarray((np.maximum(held, 0.0) ** 2 * means.variance).sum(axis=1), dtype=np.float64)


def _loss(counts: NoisyCounts, of_one: Floats, of_zero: Floats, n: float) -> Loss:
    """Return (1/n) Σ (n₁ l₁ + n₀ l₀): linear in the noisy counts, so unbiased for the binned scores, at no cost."""
    total = float((counts.ones * of_one + counts.zeros * of_zero).sum())
    spread = counts.sd * float(np.sqrt((of_one**2 + of_zero**2).sum()))
    return Loss(total / max(n, 1.0), spread / max(n, 1.0))
