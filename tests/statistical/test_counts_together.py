"""Differences of counts and of shares cover, and their standard errors are right; what is forgotten is found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hedgerow.inference.joint.arithmetic import (
    COUNT,
    DIFFERENT,
    EQUAL,
    EstimateTerm,
    Expression,
    JointOperation,
    function_of,
    joint_totals_of,
)
from hedgerow.inference.joint.estimates import JointEstimates, estimate
from hedgerow.inference.joint.totals import JointTotals, SideBySide
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GeometricCounts
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.testing.simulated import SimulatedNoise

RUNS = 6000


@dataclass(frozen=True)
class Setting:
    """Two cells, a part `split` of the records in the first, with shares p and q; read as shares or as counts."""

    kind: str
    n: int
    epsilon: float
    p: float
    q: float
    split: float = 0.5
    relation: str = "replace-one"
    law: str = "geometric"
    census: bool = False

    @property
    def chances(self) -> list[float]:
        return [
            self.split * self.p,
            self.split * (1 - self.p),
            (1 - self.split) * self.q,
            (1 - self.split) * (1 - self.q),
        ]

    @property
    def public(self) -> int | None:
        return self.n if self.relation == "replace-one" else None

    @property
    def truth(self) -> float:
        counts = np.rint(self.n * np.array(self.chances)) if self.census else self.n * np.array(self.chances)
        first, second = (counts[i] / counts[i : i + 2].sum() if self.kind == "share" else counts[i] for i in (0, 2))
        return float(first - second)

    def drawn(self, wrong: float = 1.0) -> tuple[JointTotals, ...]:
        """The noisy counts of both cells in every run, one row each; noise is `wrong` times as wide as it is said."""
        rng = np.random.default_rng([7, self.n, int(10 * self.epsilon), int(1000 * self.p)])
        if self.census:
            counts = np.tile(np.rint(self.n * np.array(self.chances)).astype(np.int64), (RUNS, 1))
        else:
            records = self.n if self.public else rng.poisson(self.n, RUNS)
            counts = rng.multinomial(records, self.chances, size=RUNS)
        touched = 2 if self.public else 1
        if self.law == "gaussian":
            sd = touched / self.epsilon
            noise, mechanism = SimulatedNoise(rng).discrete_gaussian(wrong * sd, counts.size), GaussianCounts(sd, 4)
        else:
            scale = touched / self.epsilon
            noise = SimulatedNoise(rng).two_sided_geometric(wrong * scale, counts.size)
            mechanism = GeometricCounts(scale, 4)
        noisy = (counts + noise.reshape(counts.shape)).astype(np.float64)
        features, width = ((EQUAL, DIFFERENT), 2) if self.kind == "share" else ((COUNT,), 1)
        return tuple(
            joint_totals_of(
                AdditiveTable(
                    ({},) * RUNS,
                    features,
                    noisy[:, at : at + width],
                    mechanism.table_spread(features),
                    mechanism.noise_law.name,
                ),
                n=self.public,
                census=self.census,
            )
            for at in (0, 2)
        )

    def read(self, blocks: tuple[JointTotals, ...], symbol: str = "-") -> JointEstimates:
        beside, function = SideBySide(blocks), function_of((COUNT,) if self.kind == "count" else (EQUAL,), self.public)
        places = [(0, 0), (0, 1)]
        node = JointOperation(symbol, *(EstimateTerm(function, place) for place in places))
        return estimate(Expression(node, dict(zip(places, beside.places, strict=True))), beside)


COVERED = [
    Setting("share", 200, 3.0, 0.01, 0.01),
    Setting("share", 500, 3.0, 0.99, 0.99),
    Setting("share", 1000, 3.0, 0.01, 0.05),
    Setting("share", 1000, 1.0, 0.01, 0.01, relation="add-remove"),
    Setting("share", 500, 0.5, 0.99, 0.9, 0.3),
    Setting("share", 500, 1.0, 0.5, 0.3, law="gaussian"),
    Setting("share", 200, 3.0, 0.02, 0.5, 0.2, "add-remove"),
    Setting("share", 1000, 6.0, 0.5, 0.3, census=True),
    Setting("count", 200, 3.0, 0.01, 0.05),
    Setting("count", 1000, 0.5, 0.02, 0.5, 0.2),
    Setting("count", 500, 1.0, 0.99, 0.9, 0.3, "add-remove"),
    Setting("count", 1000, 6.0, 0.5, 0.3, census=True),
    Setting("count", 1000, 8.0, 0.5, 0.3, law="gaussian", census=True),
]


def covered(setting: Setting, read: JointEstimates) -> float:
    low, high = read.accepted(0.95)
    assert (low <= high).all()
    return float(stats.binom.cdf(np.sum((low <= setting.truth) & (setting.truth <= high)), RUNS, 0.94))


@pytest.mark.parametrize("setting", COVERED, ids=str)
def test_intervals_of_differences_cover(setting: Setting) -> None:
    assert covered(setting, setting.read(setting.drawn())) > 1e-6


def test_without_half_a_step_intervals_of_whole_numbers_do_not_cover() -> None:
    setting = Setting("count", 1000, 6.0, 0.5, 0.3, census=True)
    smooth = tuple(replace(block, noise_step=0.0) for block in setting.drawn())
    assert covered(setting, setting.read(smooth)) < 1e-6 < covered(setting, setting.read(setting.drawn()))


def ratio(errors: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    return float(errors.mean() / values.std())


NOISY = [
    Setting("share", 1000, 0.2, 0.3, 0.6, census=True),
    Setting("count", 1000, 0.2, 0.3, 0.6, relation="add-remove", census=True),
]


@pytest.mark.parametrize("setting", NOISY, ids=str)
def test_the_error_of_a_difference_is_that_of_the_noise(setting: Setting) -> None:
    told, wrong = (setting.read(setting.drawn(factor)) for factor in (1.0, 1.05))
    assert abs(ratio(told.standard_error, told.value) - 1.0) < 0.025
    assert abs(ratio(wrong.standard_error, wrong.value) - 1.0) > 0.025


@pytest.mark.parametrize("symbol", ["+", "-"])
def test_counts_of_two_cells_of_a_public_number_vary_together(symbol: str) -> None:
    setting = Setting("count", 1000, 3.0, 0.9, 0.2, 0.8)
    read = setting.read(setting.drawn(), symbol)
    assert abs(ratio(read.standard_error, read.value) - 1.0) < 0.03
    # Without the covariance of the two counts.
    apart = setting.read(tuple(replace(block, n=None) for block in setting.drawn()), symbol)
    assert ratio(apart.standard_error, apart.value) > 1.3
