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
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.mechanisms.mechanism import Composition, GeometricCounts
from hedgerow.multicalibration.groups.family import Family, members_of
from hedgerow.multicalibration.mechanisms.mechanism import (
    CalibrationMechanism,
    Fitted,
    Setting,
    check_parameter,
    least_noise_for,
)
from hedgerow.multicalibration.mechanisms.sweeps import NoisyCounts, Rule, calibrated
from hedgerow.multicalibration.metrics import error_of
from hedgerow.multicalibration.model.model import WRITTEN, Loss, Model, Residuals, Shifts
from hedgerow.multicalibration.model.records import HIGH, LOW, STEPS, Records, ScoreBins, score_bucket
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BINARY = ("label=0", "label=1")
PLACED = ("placed",)
# Atoms × bins. Above this, a cell of data of usual size holds less than its noise, so bins are made coarser.
FINE_CELLS = 20_000
MOST_CELLS = 200_000
MOST_BINS, FEWEST_BINS = 40, 10


@dataclass(frozen=True, slots=True)
class Table(CalibrationMechanism[Composition]):
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
    >>> [part.cells for part in Table().describe(public, Budget(1.0, 0.0)).parts]
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
                remedy='Take fewer or coarser columns, or mechanism="rounds", which needs no atoms.',
            )
        bins, share = self.score_bins(setting.family).count, self.place_share

        def build(precision: float) -> Composition:
            counts = GeometricCounts(1.0 / ((1.0 - share) * precision), 2 * cells)
            return Composition((counts, GeometricCounts(1.0 / (share * precision), bins)))

        return least_noise_for(build, setting, budget)

    def run(self, setting: Setting, described: Composition, records: Records, noise: NoiseSource) -> Fitted:
        """Release two noisy tables, and read them: only the first line reads records."""
        released = self.release(setting, described, records, noise)
        return replace(self.read(setting, described, [one.values for one in released]), released=released)

    def read(self, setting: Setting, described: Composition, numbers: Sequence[Floats]) -> Fitted:
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
    def agrees(cls, model: Model, before: Residuals | None, part: GeometricCounts) -> bool:
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
    """Return the count table and the table of places that `Table.describe` describes."""
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
) -> Fitted:
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
    return Fitted(shifts, residuals(original), residuals(score), released)


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
