"""``rounds``: T rounds, each releasing the noisy residual sum and count of every group and bucket.

Guarantee   μ-Gaussian differential privacy of the model and of everything read from it, μ² = Σ over rounds of
M·(1/w_R² + 1/w_N²) under add-remove (see `mechanisms.adaptive.histogram_rounds` for replace-one); hence (ε, δ) for
every δ > 0. w_R and w_N are the widths of the discrete Gaussian noise on a residual sum and on a count, M the number of
groups that one record can be in (private_multicalibration.md).

The scores of later rounds are functions of what earlier rounds released, so each round has the same cost. What is
computed from the released sums is post-processing. Use it for families with so many combinations of classes that a
count table would be mostly noise; where there are few atoms, ``table`` is better at the same price.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget
from hedgerow.facts.given import as_float, as_int
from hedgerow.mechanisms.mechanism import HistogramRounds
from hedgerow.multicalibration.mechanisms.cells import FEATURES, NoisyCells, exact_cells, patch_of, shifts_of
from hedgerow.multicalibration.mechanisms.mechanism import (
    CalibrationMechanism,
    Fitted,
    Setting,
    check_parameter,
    least_noise_for,
)
from hedgerow.multicalibration.metrics import error_of
from hedgerow.multicalibration.model.model import WRITTEN, Model, Patch, Patches, Residuals
from hedgerow.multicalibration.model.records import HIGH, LOW, STEPS, Records
from hedgerow.noise.lattice import lattice_noise
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rounds(CalibrationMechanism[HistogramRounds]):
    """Gaussian histogram rounds.

    Parameters
    ----------
    rounds : int
        T. The noise of each grows with √T.
    residual_share : float
        The part of μ² that pays for residual sums; the rest pays for counts, which need less.
    z : float
        A cell is shifted when its residual sum exceeds z standard deviations of privacy and binomial noise together.

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

    name: ClassVar[str] = "rounds"
    default_delta: ClassVar[float] = DEFAULT_DELTA  # Gaussian noise has no price at δ = 0
    releases: ClassVar[tuple[str, ...]] = ("count", "sum")
    untold: ClassVar[str] = "errors after calibration are not known: the last round is not measured"
    noise: ClassVar[tuple[type, ...]] = (HistogramRounds,)
    planned: ClassVar[tuple[str, ...]] = ("rounds", "residual_share")

    def __post_init__(self) -> None:
        rounds, share = as_int(self.rounds), as_float(self.residual_share)
        fits = rounds is not None and 1 <= rounds <= 1000
        check_parameter(fits, "There are from 1 to 1,000 rounds.", self.rounds, code="HG184", remedy="Try 2.")
        check_parameter(
            share is not None and 0.0 < share < 1.0,
            "The share of the budget that pays for residual sums lies strictly between 0 and 1.",
            self.residual_share,
            code="HG182",
            remedy="Leave it at its default.",
        )
        object.__setattr__(self, "rounds", rounds)
        object.__setattr__(self, "residual_share", share)

    def describe(self, setting: Setting, budget: Budget) -> HistogramRounds:
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

    def run(self, setting: Setting, described: HistogramRounds, records: Records, noise: NoiseSource) -> Fitted:
        """Release T tables, each of the scores after the round before, and turn each into shifts."""
        score, k = records.score, setting.n_buckets
        released, steps = list[AdditiveTable](), list[tuple[Residuals, Patch | None]]()
        for _ in range(described.rounds):
            released.append(_release(setting, described, exact_cells(records, score, k), noise))
            steps.append(self._step(setting, described, released[-1].values))
            patch = steps[-1][1]
            if patch is None:
                break
            score = patch.move(records.family, records.patterns, records.pattern, score, k)
        return replace(_fitted(setting, steps), released=tuple(released))

    def read(self, setting: Setting, described: HistogramRounds, numbers: Sequence[NDArray[np.float64]]) -> Fitted:
        """Return the rounds of shifts that the tables of the rounds give, up to the first one that needs none."""
        shape = described.groups * described.buckets, 2
        fits = 1 <= len(numbers) <= described.rounds and all(values.shape == shape for values in numbers)
        steps = [self._step(setting, described, values) for values in numbers] if fits else []
        if not steps or any(patch is None for _, patch in steps[:-1]):
            raise TypeError("rounds are read as they were described")
        return _fitted(setting, steps)

    def _step(
        self, setting: Setting, described: HistogramRounds, values: NDArray[np.float64]
    ) -> tuple[Residuals, Patch | None]:
        """Return what the table of one round shows, and its shifts; None where it meets the target: the end."""
        cells = _noisy_cells(_as_table((), described, values), setting.n_buckets)
        shown = _as_residuals(setting, cells)
        if setting.alpha is not None and error_of(shown, "alpha") <= setting.alpha:
            return shown, None
        return shown, patch_of(shifts_of(setting.family, cells, z=self.z, least=setting.least_shift))

    @classmethod
    def agrees(cls, model: Model, before: Residuals | None, part: HistogramRounds) -> bool:
        """Return whether the groups, the buckets and the noise of the residuals are those of the certificate."""
        if (part.groups, part.buckets) != (len(model.family.groups), model.n_buckets):
            return False
        return before is None or (
            _is_written(before.residual_sd, part.residual.in_units / STEPS)
            and _is_written(before.count_sd, part.count.in_units)
        )


def _is_written(sds: NDArray[np.float64], noise_sd: float) -> bool:
    return bool(np.all(np.abs(sds - noise_sd) <= WRITTEN + 1e-9 * noise_sd))


def _fitted(setting: Setting, steps: Sequence[tuple[Residuals, Patch | None]]) -> Fitted:
    """Return the model of rounds: the first table shows the errors before, the last those after if it met a target."""
    patches = tuple(patch for _, patch in steps if patch is not None)
    shown, last = steps[-1]
    return Fitted(Patches(setting.n_buckets, patches, LOW, HIGH), steps[0][0], shown if last is None else None)


def _release(setting: Setting, described: HistogramRounds, exact: Integers, noise: NoiseSource) -> AdditiveTable:
    """Return residual sums and counts plus the noise that was described: from here on everything is public."""
    k = described.buckets
    residual, count = described.noisy(exact[:, :k], exact[:, k:], noise)
    cells = [{"group": name, "bucket": bucket} for name in setting.family.names for bucket in range(k)]
    return _as_table(cells, described, np.stack([residual.ravel() / STEPS, count.ravel()], axis=1))


def _as_table(
    cells: Sequence[Mapping[str, Any]], described: HistogramRounds, values: NDArray[np.float64]
) -> AdditiveTable:
    spread = np.array([described.residual.in_units / STEPS, described.count.in_units])
    return AdditiveTable(cells, FEATURES, values, spread, "gaussian")


def _noisy_cells(table: AdditiveTable, n_buckets: int) -> NoisyCells:
    residual, count = (table.column(name).reshape(-1, n_buckets) for name in FEATURES)
    spread = [np.full_like(residual, table.sd(name) ** 2) for name in FEATURES]
    return NoisyCells(residual, count, spread[0], spread[1])


def _as_residuals(setting: Setting, cells: NoisyCells) -> Residuals:
    """Return the first round's table as residuals of the original scores; Σ p uses the middle of each bucket."""
    k = setting.n_buckets
    middle = (np.arange(k) + 0.5) / k
    n = float(setting.n) if setting.n is not None else max(1.0, float(cells.count[0].sum()))
    spread = np.sqrt(cells.residual_variance), np.sqrt(cells.count_variance)
    return Residuals(setting.family.names, cells.residual, cells.count, cells.count * middle, *spread, n, private=True)
