"""``rounds``: T rounds, each releasing the noisy residual sum and count of every group and bucket.

Guarantee   μ-Gaussian differential privacy of the model and of everything read from it, μ² = Σ over rounds of
M·(1/w_R² + 1/w_N²) under add-remove (see `hedgerow.mechanisms.histogram_rounds` for replace-one); hence (ε, δ) for
every δ > 0. w_R and w_N are the widths of the discrete Gaussian noise on a residual sum and on a count, M the number of
groups that one record can be in (private_multicalibration.md).

The scores of later rounds are functions of what earlier rounds released, so a round costs the same whenever it runs.
What is made of the released sums is post-processing. For families of so many combinations that a count table would be
mostly noise; where the atoms are few, ``table`` is better at the same price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget
from hedgerow.facts.given import real, whole
from hedgerow.mechanisms.mechanism import Composition, HistogramRounds, Single
from hedgerow.multicalibration.groups.family import spread_to_patterns, sum_by_group
from hedgerow.multicalibration.mechanisms.mechanism import Fitted, Setting, least_noise_for
from hedgerow.multicalibration.mechanisms.noisy_shifts import NoisyCells, patch_of, shifts_of
from hedgerow.multicalibration.model.model import Patch, Patches, Residuals
from hedgerow.multicalibration.model.records import HIGH, LOW, STEPS, Records, bucket_of
from hedgerow.noise.lattice import lattice_noise
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable

Integers = NDArray[np.int64]
FEATURES = ("residual", "count")


@dataclass(frozen=True, slots=True)
class Rounds:
    """Gaussian histogram rounds.

    Parameters
    ----------
    rounds : int
        T. The noise of each grows with √T.
    residual_share : float
        The part of μ² that pays for residual sums; the rest pays for counts, which need less.
    z : float
        A cell moves when its residual sum exceeds z standard deviations of privacy and binomial noise together.

    Examples
    --------
    >>> from hedgerow.multicalibration.groups.family import Family
    >>> from hedgerow.facts.relation import Relation
    >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
    >>> described = Rounds().describe(public, Budget(1.0, 1e-6))
    >>> described.most_groups, described.groups, described.buckets
    (1, 1, 10)
    """

    rounds: int = 2
    residual_share: float = 0.8
    z: float = 2.5

    def __post_init__(self) -> None:
        rounds, share = whole(self.rounds), real(self.residual_share)
        if rounds is None or not 1 <= rounds <= 1000:
            raise ParameterError(
                "HG184", rule="There are from 1 to 1,000 rounds.", finding=f"Found {self.rounds!r}.", remedy="Try 2."
            )
        if share is None or not 0.0 < share < 1.0:
            raise ParameterError(
                "HG182",
                rule="The share of the budget that pays for residual sums lies strictly between 0 and 1.",
                finding=f"Found {self.residual_share!r}.",
                remedy="Leave it at its default.",
            )
        object.__setattr__(self, "rounds", rounds)
        object.__setattr__(self, "residual_share", share)

    @property
    def name(self) -> str:
        """``"rounds"``."""
        return "rounds"

    @property
    def default_delta(self) -> float:
        """1e-6: Gaussian noise has no price at 0."""
        return DEFAULT_DELTA

    def describe(self, setting: Setting, budget: Budget) -> Single | Composition:
        """Return the rounds with the least noise that the budget allows.

        Raises
        ------
        UncertifiedError
            HG427: δ = 0, at which no Gaussian noise has a price.
        """
        if budget.delta <= 0.0:
            raise UncertifiedError(
                "HG427",
                rule="Gaussian rounds have a price at δ > 0 only.",
                finding="δ is 0.",
                remedy='Take δ = 1e-6, or mechanism="table" or "numeric_sparse", which are pure.',
            )
        family = setting.family

        def build(precision: float) -> HistogramRounds:
            return HistogramRounds(
                self.rounds,
                len(family.groups),
                setting.n_buckets,
                family.most_groups,
                STEPS,
                lattice_noise(STEPS / (precision * math.sqrt(self.residual_share))),
                lattice_noise(1.0 / (precision * math.sqrt(1.0 - self.residual_share))),
            )

        return least_noise_for(build, setting, budget)

    def run(
        self, setting: Setting, described: Single | Composition | None, records: Records, noise: NoiseSource
    ) -> Fitted:
        """Release T tables, each of the scores that the last one left, and turn each into shifts."""
        if not isinstance(described, HistogramRounds):
            raise TypeError("rounds run as they were described")
        current, k = records.score, setting.n_buckets
        patches: list[Patch] = []
        released: list[AdditiveTable] = []
        cells: list[NoisyCells] = []
        for _ in range(described.rounds):
            table = _release(setting, described, exact_cells(records, current, k), noise)
            released.append(table)
            cells.append(_noisy_cells(table, described, k))
            steps = np.rint(shifts_of(setting.family, cells[-1], z=self.z) * STEPS)
            patches.append(patch_of(steps))
            moves = spread_to_patterns(records.family, records.patterns, steps).astype(np.int64)
            current = np.clip(current + moves[records.pattern, bucket_of(current, k)], 0, STEPS)
        model = Patches(k, tuple(patches), LOW, HIGH)
        return Fitted(model, _as_residuals(setting, cells[0]), None, tuple(released))


def exact_cells(records: Records, current: Integers, n_buckets: int) -> Integers:
    """Return Σ (y − p) in grid steps and N of every group and bucket at these scores: (groups, 2·buckets). PRIVATE."""
    key = records.pattern * n_buckets + bucket_of(current, n_buckets)
    gap = records.label * STEPS - current
    cells = len(records.patterns) * n_buckets
    # Sums in doubles are exact here: whole numbers below 2^53.
    sums = [np.bincount(key, weights=part, minlength=cells) for part in (records.count * gap, records.count)]
    table = np.concatenate([part.astype(np.int64).reshape(-1, n_buckets) for part in sums], axis=1)
    return sum_by_group(records.family, records.patterns, table)


def _release(setting: Setting, described: HistogramRounds, exact: Integers, noise: NoiseSource) -> AdditiveTable:
    """Return both tables plus the noise that was described: from here on everything is public."""
    k = described.buckets
    residual, count = described.noisy(exact[:, :k], exact[:, k:], noise)
    cells = [{"group": name, "bucket": bucket} for name in setting.family.names for bucket in range(k)]
    spread = np.array([described.residual.in_units / STEPS, described.count.in_units])
    return AdditiveTable(
        cells, FEATURES, np.stack([residual.ravel() / STEPS, count.ravel()], axis=1), spread, "gaussian"
    )


def _noisy_cells(table: AdditiveTable, described: HistogramRounds, n_buckets: int) -> NoisyCells:
    residual, count = (table.column(name).reshape(-1, n_buckets) for name in FEATURES)
    spread = [np.full_like(residual, table.sd(name) ** 2) for name in FEATURES]
    return NoisyCells(residual, count, spread[0], spread[1])


def _as_residuals(setting: Setting, cells: NoisyCells) -> Residuals:
    """Return the first round's table as residuals of the original scores; Σ p is told by the middle of each bucket."""
    k = setting.n_buckets
    middle = (np.arange(k) + 0.5) / k
    n = float(setting.n) if setting.n is not None else max(1.0, float(cells.count[0].sum()))
    spread = np.sqrt(cells.residual_variance), np.sqrt(cells.count_variance)
    return Residuals(setting.family.names, cells.residual, cells.count, cells.count * middle, *spread, n, private=True)
