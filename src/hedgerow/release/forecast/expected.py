"""Expected errors of a design, by the inference itself: it reads expected totals instead of released ones.

No error formula is repeated here. The design reads tables of expected totals plus noise at equally likely quantiles,
and its results are averaged over the noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Indicator, ValueOnGrid
from hedgerow.facts.columns import Grid
from hedgerow.inference.bootstrap.intervals import BootstrapBasis
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.noise_law import quantiles_of
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.mechanisms.mechanism import (
    Counts,
    Moments,
    ResampledRows,
    Single,
    TreeCounts,
)
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.bootstrap import BootstrapDesign
from hedgerow.release.designs.counts import CountsDesign
from hedgerow.release.designs.distribution import DistributionStatistic, TableReading, is_clear
from hedgerow.release.designs.joint import JointStatistic
from hedgerow.release.designs.moments import MomentsDesign
from hedgerow.release.designs.resampled import ReadCell, ResampledMean, ResampledSmooth
from hedgerow.release.forecast.guess import Correlations, law_on_grid, typical_records

Floats = NDArray[np.float64]
_LAWS = 40_000
_NODES = {"count": 3}
_CHI_SQUARE_NODES = 5
_NOISES = 256


@dataclass(frozen=True, slots=True)
class Reading:
    """Errors and interval of one cell, averaged over the noise; the errors are None where the noise hides the cell."""

    sampling_error: float | None
    bootstrap_error: float | None
    privacy_error: float | None
    width: float
    reliable: bool


def expected_moments(
    design: MomentsDesign, mechanism: Single, *, records: float, mean: float, sd: float, level: float
) -> Reading:
    """Return the expected errors of a mean or a sum of `records` values with this mean and sd."""
    if not isinstance(mechanism, Moments):
        raise TypeError(f"{mechanism.type} releases no moments")
    layout = design.layout
    low, high = design.statistic.grid.as_bounds()
    # The integers y that are added up run from `start` to `start + stride·steps` as a value runs from L to U.
    slope = layout.stride * layout.steps / (high - low)
    first = layout.start + slope * (mean - low)
    square = (slope * sd) ** 2 + first**2 - layout.offset
    noises = mechanism.noise.coordinates()
    spread, law = mechanism.spread, mechanism.noise_law.name
    totals = {"count": records, "total": records * first, "square": records * square}
    tables = _noisy_tables({name: totals[name] for name in noises}, spread, law)
    return _averaged([(weight, design.estimates(table)[0]) for weight, table in tables], level)


def expected_counts(design: CountsDesign, mechanism: Single, *, records: float, share: float, level: float) -> Reading:
    """Return the expected errors of a count of `records`, or of a proportion of this share of them."""
    if not isinstance(mechanism, Counts):
        raise TypeError(f"{mechanism.type} does not count")
    totals = {"count": records, "equal": records * share, "different": records * (1.0 - share)}
    law = mechanism.noise_law.name
    spread = np.full(len(design.features), mechanism.noise_sd)
    tables = _noisy_tables({name: totals[name] for name in design.features}, spread, law)
    return _averaged([(weight, design.estimates(table)[0]) for weight, table in tables], level)


def mean_law(resampled: ResampledMean, mean: float, sd: float) -> tuple[Floats, Floats]:
    """Return E f and E ff' of one record's features, for a value of this mean and sd."""
    grid = resampled.grid
    first = (mean - grid.centre) / grid.half_step
    square = (sd / grid.half_step) ** 2 + first**2
    if resampled.presence == "public":
        return np.array([first]), np.array([[square]])
    return np.array([first, 1.0]), np.array([[square, first], [first, 1.0]])


def smooth_law(resampled: ResampledSmooth, moments: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    """Return E f and E ff' of one record's features: each column beta with its (mean, sd), all independent."""
    grids = [grid for _, grid in resampled.statistic.grids]
    most = max(5, int(_LAWS ** (1.0 / len(grids))))
    if isinstance(resampled.value, ValueOnGrid):
        most = max(most, 1025)
    laws = [law_on_grid(grid, *pair, most=most) for grid, pair in zip(grids, moments, strict=True)]
    index, probability = laws[0]
    for grid, (more, factor) in zip(grids[1:], laws[1:], strict=True):
        index = (index[:, None] * (grid.steps + 1) + more[None, :]).reshape(-1)
        probability = (probability[:, None] * factor[None, :]).reshape(-1)
    features = resampled.features(index).astype(np.float64)
    return probability @ features, features.T @ (probability[:, None] * features)


def expected_replicates(
    design: BootstrapDesign, mechanism: Single, law: tuple[Floats, Floats], *, records: float, level: float
) -> Reading:
    """Return the expected errors of k replicates, given E f and E ff' of one record's features.

    With weights of mean m and variance s² the total of a replicate has mean mN E f and covariance s²N E ff', and noise.
    """
    if not isinstance(mechanism, ResampledRows):
        raise TypeError(f"{mechanism.type} does not resample")
    noise_sd = mechanism.spread
    first, second = law
    weight, variance = mechanism.weight_moments()
    mean = weight * records * first
    covariance = variance * records * second + np.diag(noise_sd**2)
    read = _read(design, mean, covariance, noise_sd)
    return _over_spread(design, read, level)


def expected_distribution(
    design: DistributionStatistic, mechanism: Single, moments: tuple[float, float], *, records: float, level: float
) -> Reading:
    """Return the errors of a reading of a distribution where the counts are those expected: beta with (mean, sd)."""
    if not isinstance(mechanism, TreeCounts):
        raise TypeError(f"{mechanism.type} releases no tree of counts")
    leaves = design.release.leaves
    index, chance = law_on_grid(leaves.grid, *moments, most=leaves.grid.steps + 1)
    expected = np.bincount(index // leaves.group, weights=chance, minlength=leaves.count) * records
    # Rounded so that all counts left of an edge are as expected to half a record.
    left = np.rint(np.cumsum(expected)).astype(np.int64)
    levels = mechanism.level_counts(np.tile(np.diff(left, prepend=0), (mechanism.cells, 1)))
    known = round(records) if design.release.public else None
    reading = TableReading(leaves, mechanism, levels, known, design.release.facts.census)
    clear = is_clear(reading.cells[0])
    found = design.statistic.read(reading.cells[0], level)
    width = found.high - found.low
    return Reading(found.sampling_error, 0.0, found.privacy_error, width, True) if clear else _hidden(width)


def _hidden(width: float) -> Reading:
    """Return what is read of a cell that noise hides."""
    return Reading(None, None, None, width, False)


def expected_joint(
    design: JointStatistic,
    mechanism: Single,
    moments: Mapping[str, tuple[float, float]],
    *,
    records: float,
    level: float,
    told: Correlations | None = None,
) -> Reading:
    """Return the expected errors of a function of joint moments.

    Each column is beta with its (mean, sd); columns have the correlations `told`, or are independent. Units of several
    rows have 1 to L of them with even chances, all in one cell, any two of them with the correlation ½.
    """
    if not isinstance(mechanism, JointMoments):
        raise TypeError(f"{mechanism.type} releases no joint moments")
    joint = design.release.design
    laws = [(one.column, grid_of(one), moments[one.column]) for one in joint.read]
    rng = np.random.default_rng(20)
    if joint.facts.limit is None:
        scaled = joint.scaled(typical_records(laws, told or {}))
    else:
        scaled = _typical_units(laws, told or {}, joint.facts.limit.max_rows, rng)
    each = mechanism.record_means(scaled)
    spread, law = mechanism.noise_sds(), mechanism.noise_law.name
    shape = _NOISES, len(spread)
    drawn = rng.standard_normal(shape) if law == "gaussian" else rng.laplace(0.0, math.sqrt(0.5), shape)
    values = records * each + spread * drawn
    read = design.estimates(AdditiveTable(({},) * _NOISES, mechanism.names, values, spread, law))
    low, high = read.interval(level)
    width = float(np.mean(high - low))
    clear = ~np.isnan(read.sampling_error)
    if clear.mean() < 0.5:
        return Reading(None, None, None, width, False)
    sampling, privacy = read.sampling_error[clear], read.privacy_error[clear]
    # The mean standard error is forecast, divided in proportion to the mean squares of its parts.
    rate = float(np.hypot(sampling, privacy).mean()) / math.sqrt(float((sampling**2 + privacy**2).mean()))
    parts = (rate * math.sqrt(float(np.mean(part**2))) for part in (sampling, privacy))
    return Reading(next(parts), 0.0, next(parts), width, bool(read.reliable.mean() > 0.5))


def _typical_units(
    laws: Sequence[tuple[str, Grid, tuple[float, float]]], told: Correlations, most: int, rng: np.random.Generator
) -> Floats:
    """Return the totals of columns scaled to [−1, 1] over the rows of units, and the number of these rows."""
    steps = np.array([grid.steps for _, grid, _ in laws])
    found = []
    # Without a column all rows are alike.
    rows = 2.0 * typical_records(laws, told) / steps - 1.0 if laws else np.zeros((1, 0))
    for size in range(1, most + 1):
        total = np.zeros_like(rows)
        for _ in range(size):
            # A row is the one that stands for its unit, or any other: two are the same one with a chance of ½.
            own = rng.random(len(rows)) < math.sqrt(0.5)
            total += np.where(own[:, None], rows, rows[rng.permutation(len(rows))])
        found.append(np.hstack([total, np.full((len(rows), 1), float(size))]))
    return np.vstack(found)


def grid_of(value: ValueOnGrid | Indicator) -> Grid:
    """Return the grid of a column, or of 0 and 1."""
    return value.grid if isinstance(value, ValueOnGrid) else Grid.from_bounds(value.column, (0, 1), 1)


def _read(design: BootstrapDesign, mean: Floats, covariance: Floats, noise_sd: Floats) -> ReadCell:
    """Read replicates whose mean and covariance are exactly these, in as many sheets of k as the covariance needs."""
    k = design.n_resamples
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    wide = min(len(mean), k - 1)
    contrasts = _contrasts(wide, k) * math.sqrt(k - 1)
    spread, first = 0.0, None
    for start in range(0, len(mean), wide):
        block = factor[:, start : start + wide]
        read = design.read(mean[:, None] + block @ contrasts[: block.shape[1]], noise_sd)
        first = first or read
        spread += read.replicates.spread
    assert first is not None  # a mechanism has at least one coordinate
    return replace(first, replicates=replace(first.replicates, spread=spread))


def _contrasts(rows: int, k: int) -> Floats:
    """Return orthonormal rows of k numbers that each add up to 0 (Helmert's)."""
    made = np.zeros((rows, k))
    for row in range(rows):
        made[row, : row + 1] = 1.0
        made[row, row + 1] = -(row + 1.0)
        made[row] /= math.sqrt((row + 1.0) * (row + 2.0))
    return made


def _over_spread(design: BootstrapDesign, read: ReadCell, level: float) -> Reading:
    """Average over the law of the spread of k replicates, χ²_{k−1}/(k−1) times its mean."""
    from hedgerow.special import gammaincinv

    if not read.defined:
        return Reading(None, None, None, read.high - read.low, False)
    half_freedom = (design.n_resamples - 1) / 2.0
    levels = (np.arange(_CHI_SQUARE_NODES) + 0.5) / _CHI_SQUARE_NODES
    parts, widths = [], []
    for ratio in gammaincinv(half_freedom, levels) / half_freedom:
        replicates = replace(read.replicates, spread=read.replicates.spread * float(ratio))
        basis = BootstrapBasis(replicates, read.low, read.high, True, design.interval, design.facts.census)
        low, high = basis.interval(level, basis.methods[0])
        widths.append(high - low)
        parts.append(basis.parts())
    # The root of the squares is to be the mean standard error, which the means of the parts are not: where the noise
    # hides the sampling error it is 0 in some releases and large in others.
    error = math.fsum(part.standard_error for part in parts) / len(parts)
    privacy = parts[0].privacy_error
    sampling, bootstrap = (
        math.fsum(getattr(part, name) ** 2 for part in parts) for name in ("sampling_error", "bootstrap_error")
    )
    rest = math.sqrt(max(0.0, error**2 - privacy**2) / ((sampling + bootstrap) or 1.0))
    return Reading(
        rest * math.sqrt(sampling),
        rest * math.sqrt(bootstrap),
        privacy,
        math.fsum(widths) / len(widths),
        read.reliable,
    )


def _noisy_tables(totals: dict[str, float], spread: Floats, law: str) -> Iterator[tuple[float, AdditiveTable]]:
    """Yield tables of one cell with their probabilities: expected totals, and noise at equally likely places."""
    usual = 7 if law == "gaussian" else 5
    places = [_places(law, _NODES.get(name, usual)) for name in totals]
    weight = 1.0 / math.prod(len(nodes) for nodes in places)
    expected = np.array(list(totals.values()))
    for noise in itertools.product(*places):
        values = (expected + np.array(noise) * spread)[None, :]
        yield weight, AdditiveTable(({},), tuple(totals), values, spread, law)


def _places(law: str, count: int) -> list[float]:
    """Return equally likely values of a law of mean 0, scaled to variance 1."""
    from hedgerow.special import ndtri

    levels = (np.arange(count) + 0.5) / count
    if law == "gaussian":
        nodes = ndtri(levels)
    else:
        nodes = np.array([math.copysign(_quantile(law, abs(2.0 * level - 1.0)), level - 0.5) for level in levels])
    return [float(node) for node in nodes / math.sqrt(float(np.mean(nodes**2)))]


def _quantile(law: str, level: float) -> float:
    """Return the half-width that holds a noise of sd 1 with this probability."""
    return float(quantiles_of(law, level, np.zeros(1), np.ones(1))[0]) if level > 0.0 else 0.0


def _averaged(readings: Sequence[tuple[float, Estimate]], level: float) -> Reading:
    width = math.fsum(weight * _width(estimate, level) for weight, estimate in readings)
    clear = [(weight, one) for weight, one in readings if one.standard_error is not None]
    share = math.fsum(weight for weight, _ in clear)
    if share < 0.5:
        return Reading(None, None, None, width, False)

    def part(name: str) -> float:
        return math.fsum(weight * float(getattr(one, name)) for weight, one in clear) / share

    reliable = math.fsum(weight for weight, one in readings if one.reliable) > 0.5
    return Reading(part("sampling_error"), part("bootstrap_error"), part("privacy_error"), width, reliable)


def _width(estimate: Estimate, level: float) -> float:
    low, high = estimate.basis.interval(level, estimate.basis.methods[0])
    return high - low
