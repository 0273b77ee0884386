"""Simulated means, shares and differences of few records: coverage and width of the released 95 % intervals.

Differences are of two groups of one law, or of a group of the law and one whose records are all .5.

Beside them stand two intervals at the same noise that know more than a reader does, the exact variance of the file.
Student's: m ± q, with q the quantile of a t·s/√n error plus the noise. The score interval: the released formula with
the exact second moment for a mean, {p: (A − np)² ≤ z²(np(1 − p) + τ²)} for a share. The narrower of the two, of those
that cover, is the yardstick of a setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tests.statistical.simulations.skewed_means import SEED, STEPS, laws

import hedgerow as hg
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.interval import quantiles_of
from hedgerow.inference.joint.arithmetic import EstimateTerm, JointOperation
from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.totals import SideBySide
from hedgerow.inference.means_and_counts import NoisyMoments, mean_errors, mean_score_test
from hedgerow.inference.score_test import Quadratic, QuadraticTest
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.plan import make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise, grid_sums

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
LEVEL = 0.95
PLACES = ((0, 0), (0, 1))
VALUES = np.arange(STEPS + 1) / STEPS
MILD = 1.1
"""The largest |skewness| that is called mild."""


def few_laws() -> dict[str, Floats]:
    """Return probabilities of 0, 1/100, …, 1: those of skewed means, mild ones, and the largest skewness that is."""
    from scipy.stats import beta, norm

    edges = np.concatenate([[-np.inf], (np.arange(STEPS) + 0.5) / STEPS, [np.inf]])

    def two(low: int, high: int, share: float) -> Floats:
        made = np.zeros(STEPS + 1)
        made[low], made[high] = 1 - share, share
        return made

    listed = laws() | {
        "uniform": np.ones(STEPS + 1),
        "20 % ones": two(0, 100, 0.2),
        "beta(2, 5)": np.diff(beta(2, 5).cdf(edges)),
        "beta(1, 4)": np.diff(beta(1, 4).cdf(edges)),
        "normal(.5, .05)": np.diff(norm(0.5, 0.05).cdf(edges)),
        "2 % ones, rest .5": two(50, 100, 0.02),
        "5 % ones, rest .5": two(50, 100, 0.05),
        "2 % ones, rest .2": two(20, 100, 0.02),
    }
    return {name: law / law.sum() for name, law in listed.items()}


def skewness(law: Floats) -> float:
    """Return the skewness of a law."""
    centred = VALUES - law @ VALUES
    return float(law @ centred**3 / (law @ centred**2) ** 1.5)


@dataclass(frozen=True)
class FewRecords:
    """What is released of n records of a law, again and again; pure ε, replace-one, no value missing."""

    law: str
    n: int
    epsilon: float
    statistic: str = "mean"  # or "share", "difference" of two groups, "from .5"
    read: Callable[[QuadraticTest], QuadraticTest] = lambda test: test  # how a sabotage reads a mean

    def simulate(self, runs: int) -> dict[str, tuple[float, float]]:
        """Return {interval: (coverage, mean width)} of the released one, "t" and "score"."""
        law = few_laws()[self.law]
        rng = np.random.default_rng([SEED, self.n, int(10 * self.epsilon)])
        ends, truth = {
            "mean": self._mean,
            "share": self._share,
            "difference": self._difference,
            "from .5": self._difference,
        }[self.statistic](law, runs, rng)
        return {
            name: (float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high - low)))
            for name, (low, high) in ends.items()
        }

    def _mean(self, law: Floats, runs: int, rng: np.random.Generator) -> tuple[dict[str, Ends], float]:
        drawn, n = rng.multinomial(self.n, law, size=runs), float(self.n)
        item, table, name = self._released([hg.mean("x", bounds=(0, 1), step=0.01)], drawn, rng)
        test = item.design.estimates(table).region.test.read.exact
        tau = np.sqrt(test.noise.at(np.zeros(runs))) / n
        u, none = 2.0 * VALUES - 1.0, np.full(runs, n)
        exact = mean_errors(NoisyMoments(none, drawn @ u, drawn @ u**2, 0.0, 0.0, 0.0, 0.0))
        noisy = NoisyMoments(none, 2.0 * test.a, drawn @ u**2, 0.0, 2.0 * n * tau, 0.0, 0.0)
        score = mean_score_test(noisy, exact, (0.5, 0.5), noise_law=name, method="score")
        student = _student(test.shift + test.a / n, [(_variance(drawn), n)], tau, name)
        return {
            "released": self.read(test).accepted(LEVEL),
            "t": student,
            "score": score.accepted(LEVEL),
        }, float(law @ VALUES)

    def _share(self, law: Floats, runs: int, rng: np.random.Generator) -> tuple[dict[str, Ends], float]:
        """The share of the records whose value is above the law's mean."""
        ones, n = law[law @ VALUES < VALUES].sum(), float(self.n)
        drawn = rng.binomial(self.n, ones, size=runs)
        counts = np.stack([self.n - drawn, drawn], axis=1)
        item, table, name = self._released([hg.proportion("x", value=1)], counts, rng)
        test = item.design.estimates(table).region.test
        tau = np.sqrt(test.noise.at(np.zeros(runs)))
        wilson = QuadraticTest(
            test.a, Quadratic(0.0, n, -n), Quadratic(tau**2), 0.0, 1.0, name, "score", b=np.full(runs, n)
        )
        p = drawn / n
        return {
            "released": test.accepted(LEVEL),
            "t": _student(test.a / n, [(p * (1.0 - p) * n / (n - 1.0), n)], tau / n, name),
            "score": wilson.accepted(LEVEL),
        }, float(ones)

    def _difference(self, law: Floats, runs: int, rng: np.random.Generator) -> tuple[dict[str, Ends], float]:
        """The difference of two groups' means, each of half of the records as a rule."""
        group = rng.binomial(self.n, 0.5, size=runs)
        drawn = np.empty((2 * runs, STEPS + 1), dtype=np.int64)
        other = law if self.statistic == "difference" else (VALUES == 0.5).astype(float)
        drawn[0::2], drawn[1::2] = rng.multinomial(group, law), rng.multinomial(self.n - group, other)
        item, table, name = self._released([hg.mean("x", bounds=(0, 1), step=0.01)], drawn, rng, by={"g": [0, 1]})
        cells = item.design.estimates(table).region.test.read.cells.blocks[0]
        both = SideBySide((cells.rows(slice(0, None, 2)), cells.rows(slice(1, None, 2))))
        terms = [EstimateTerm(item.design.function, place) for place in PLACES]
        function = JointOperation("-", *terms).over(dict(zip(PLACES, both.places, strict=True)))
        read = estimate(function, both)
        groups = [(_variance(drawn[side::2]), drawn[side::2].sum(axis=1)) for side in (0, 1)]
        return {
            "released": read.accepted(LEVEL),
            "t": _student(read.value, groups, read.privacy_error, name, (-1.0, 1.0)),
        }, float((law - other) @ VALUES)

    def _released(self, asked: list[object], drawn: NDArray[np.int64], rng: np.random.Generator, **options: object):  # type: ignore[no-untyped-def]  # a design, a table and the name of a law
        request = parse_request(asked, epsilon=self.epsilon, delta=0.0, missing="error-if-declared-complete", **options)
        item = make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, self.n)).items[0]
        cell, index = np.nonzero(drawn)
        histogram = Histogram.from_triplets(cell, index, drawn[cell, index], cells=len(drawn))
        data = histogram if self.statistic == "share" else grid_sums(item.design.query, histogram)
        return item, item.design.table(data, item.mechanism, SimulatedNoise(rng)), item.mechanism.noise_law.name


def _variance(drawn: NDArray[np.int64]) -> Floats:
    n = drawn.sum(axis=1)
    mean = drawn @ VALUES / np.maximum(n, 1.0)
    return np.asarray((drawn @ VALUES**2 / np.maximum(n, 1.0) - mean**2) * n / np.maximum(n - 1.0, 1.0))


def _student(
    estimate: Floats,
    groups: list[tuple[Floats, Floats | float]],
    tau: Floats,
    law: str,
    possible: Ends | tuple[float, float] = (0.0, 1.0),
) -> Ends:
    """Return Student's interval with the noise; of two groups Welch's, with Satterthwaite's degrees of freedom."""
    from scipy.stats import norm, t

    parts = [variance / n for variance, n in groups]
    whole = np.maximum(sum(parts), np.finfo(float).tiny)
    freedom = whole**2 / np.maximum(
        sum(part**2 / (n - 1.0) for part, (_, n) in zip(parts, groups, strict=True)), np.finfo(float).tiny
    )
    factor = t.ppf(0.5 + LEVEL / 2, np.maximum(freedom, 1.0)) / norm.ppf(0.5 + LEVEL / 2)
    half = quantiles_of(law, LEVEL, factor * np.sqrt(whole), tau)
    return np.clip(estimate - half, *possible), np.clip(estimate + half, *possible)


def over_yardstick(simulated: Mapping[str, tuple[float, float]], runs: int) -> float | None:
    """Return the released width over that of the narrower yardstick that covers; None where none does."""
    least = 0.94 - 2.0 * math.sqrt(0.94 * 0.06 / runs)
    widths = [width for name, (coverage, width) in simulated.items() if name != "released" and coverage >= least]
    return simulated["released"][1] / min(widths) if widths else None
