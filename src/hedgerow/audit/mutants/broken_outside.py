"""Mutants that an attacker who sees outputs alone rejects: each is attacked against the price that was claimed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.profile import GaussianProfile
from hedgerow.audit.attacks.attack import Sampler, threshold_attack
from hedgerow.audit.mutants.mutant import Rejection
from hedgerow.audit.verdict import sampler_of
from hedgerow.audit.worst_pairs.score import Score, likelihood_ratio, summed
from hedgerow.audit.worst_pairs.specimens import bootstrap, mean_with_private_count
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import LatticeNoise, MomentsNoise, Resample
from hedgerow.resampling.replicates import multinomial_weights
from hedgerow.testing.published import brawner_honaker_noise_sd
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
ALPHA = 1e-6
_CHUNK = 500_000


def half_noise(seed: int) -> Rejection:
    """Draw the noise of a mean half as wide as its certificate says."""
    claimed = mean_with_private_count(Relation.ADD_REMOVE)
    parts = {name: LatticeNoise(one.width // 2, one.bits) for name, one in claimed.noise.coordinates().items()}
    drawn = replace(claimed, noise=MomentsNoise(parts.get("count"), parts["total"], parts.get("square")))
    pair = claimed.worst_pairs(Relation.ADD_REMOVE)[0]
    noise = SimulatedNoise(seed)
    samplers = [sampler_of(drawn, data, noise) for data in pair.histograms()]
    upper = profile_of(claimed, Relation.ADD_REMOVE).epsilon_upper(1e-3)
    score = likelihood_ratio(claimed, pair)
    return _crossed(upper, (samplers[0], samplers[1]), score, delta=1e-3, runs=200_000)


def one_resample(seed: int) -> Rejection:
    """Draw Brawner and Honaker's bootstrap with one replicate, claimed to cost what the plain query does.

    See private_bootstrap.md §3.

    19 records at the lower end and one more at either end; weights are multinomial, so the sum shows the target's.
    """
    rng = np.random.default_rng(seed)
    sd = brawner_honaker_noise_sd(0.5, n_resamples=1)

    def with_record(size: int) -> Floats:
        weights = multinomial_weights(np.array([19, 1]), n_resamples=size, generator=rng)
        return weights[:, 1] + rng.normal(0.0, sd, size)

    def without(size: int) -> Floats:
        return rng.normal(0.0, sd, size)

    upper = GaussianProfile(1.0).epsilon_upper(1e-3)
    return _crossed(upper, (_chunked(with_record), _chunked(without)), _itself, delta=1e-3, runs=300_000)


def resample_at_one_over_z(seed: int) -> Rejection:
    """Score a tenth of a test set drawn with replacement, claimed to be private at ε = 1/10 (docs/methods/testset.md).

    100 records, of which one may succeed; it is drawn with a chance of .0956, and then it shows.
    """
    drawn, far = Resample(n=100, draws=10), Relation.REPLACE_ONE
    pair, noise = drawn.worst_pairs(far)[0], SimulatedNoise(seed)
    first, second = (sampler_of(drawn, data, noise) for data in pair.histograms())
    return _crossed(0.1, (first, second), likelihood_ratio(drawn, pair), delta=1e-3, runs=100_000)


def scalar_price(seed: int) -> Rejection:
    """Release a resampled (sum, count) of two cells at the price of one sum of one cell."""
    grouped = bootstrap(5, "value-and-count", cells=2, count_weight=2.0)
    scalar = bootstrap(5, "value")
    across = grouped.worst_pairs(Relation.REPLACE_ONE)[-1]
    samplers = [sampler_of(grouped, data, SimulatedNoise(seed + one)) for one, data in enumerate(across.histograms())]
    upper = profile_of(scalar, Relation.REPLACE_ONE).epsilon_upper(1e-3)
    score = likelihood_ratio(grouped, across)
    return _crossed(upper, (samplers[0], samplers[1]), score, delta=1e-3, runs=200_000)


def off_centre(seed: int) -> Rejection:
    """Resample values of [20, 21] without taking the midpoint off, so that the weight shows: the offset attack."""
    rng = np.random.default_rng(seed)
    claimed = bootstrap(1, "value")
    sd, low, high = 1.0, 20.0, 21.0  # in units of the range: ρ = ½ at one replicate

    def at(value: float) -> Sampler:
        return _chunked(lambda size: rng.poisson(1.0, size) * value + rng.normal(0.0, sd, size))

    def score(x: Floats) -> Floats:
        from scipy.special import gammaln, logsumexp

        r = np.arange(25.0)
        far = [(x[:, None] - r * value) ** 2 / (2.0 * sd**2) for value in (high, low)]
        likely = [logsumexp(-gammaln(r + 1.0) - one, axis=1) for one in far]
        return np.asarray(likely[0] - likely[1])

    upper = profile_of(claimed, Relation.REPLACE_ONE).epsilon_upper(1e-3)
    return _crossed(upper, (at(high), at(low)), score, delta=1e-3, runs=200_000)


def noise_reused(seed: int) -> Rejection:
    """Share one draw of noise among replicates: their differences show the weights without any."""
    mechanism = bootstrap(4, "value", presence="private")
    pair = mechanism.worst_pairs(Relation.ADD_REMOVE)[0]
    noise = _SharedNoise(SimulatedNoise(seed), mechanism.n_resamples)
    samplers = [sampler_of(mechanism, data, noise) for data in pair.histograms()]
    upper = profile_of(mechanism, Relation.ADD_REMOVE).epsilon_upper(1e-3)
    return _crossed(upper, (samplers[0], samplers[1]), _spread, delta=1e-3, runs=50_000)


def weights_reused(seed: int) -> Rejection:
    """Share one draw of weights among replicates: their mean has the weight once and the noise averaged out."""
    mechanism = bootstrap(16, "value", rho=1.0, presence="private")
    pair = mechanism.worst_pairs(Relation.ADD_REMOVE)[0]
    noise = _SharedWeights(SimulatedNoise(seed), mechanism.n_resamples)
    samplers = [sampler_of(mechanism, data, noise) for data in pair.histograms()]
    upper = profile_of(mechanism, Relation.ADD_REMOVE).epsilon_upper(1e-2)
    return _crossed(upper, (samplers[0], samplers[1]), summed, delta=1e-2, runs=200_000)


def textbook_laplace(seed: int) -> Rejection:
    """Add numpy's Laplace noise to a count of 0 or 1.

    Below ¼ only a count of 0 reaches the doubles that lie between multiples of 2^−53.
    """
    rng = np.random.default_rng(seed)

    def count(value: float) -> Sampler:
        return _chunked(lambda size: value + rng.laplace(0.0, 1.0, size))

    def score(y: Floats) -> Floats:
        scaled = y * 2.0**53
        return np.asarray((y > 0.0) & (y < 0.25) & (scaled != np.rint(scaled)), dtype=np.float64)

    return _crossed(1.0, (count(0.0), count(1.0)), score, delta=0.0, runs=50_000)


def _crossed(upper: float, samplers: tuple[Sampler, Sampler], score: Score, *, delta: float, runs: int) -> Rejection:
    found = threshold_attack(*samplers, score, delta=delta, runs=runs, alpha=ALPHA)
    lower = found.epsilon_lower
    said = f"ε ≥ {lower:.3g} at δ = {delta:.3g} with {runs:,} runs, claimed {upper:.3g}"
    return Rejection(lower > upper, said, lower, upper)


def _chunked(draw: Any) -> Sampler:
    def sampler(runs: int) -> Iterable[Floats]:
        return (draw(min(_CHUNK, runs - start)) for start in range(0, runs, _CHUNK))

    return sampler


def _itself(x: Floats) -> Floats:
    return x


def _spread(outputs: Floats) -> Floats:
    return np.asarray(np.ptp(outputs, axis=-1).reshape(len(outputs), -1).sum(axis=1))


class _SharedNoise:
    """Noise of which every k numbers in a row are the same."""

    secure = False

    def __init__(self, noise: SimulatedNoise, k: int) -> None:
        self._noise, self._k = noise, k

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        return np.repeat(self._noise.discrete_gaussian(width, math.ceil(size / self._k)), self._k)[:size]

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        return self._noise.two_sided_geometric(scale, size)

    def generator(self) -> np.random.Generator:
        return self._noise.generator()


class _SharedWeights(_SharedNoise):
    """Weights of which every k replicates in a row are the same; the noise is as it should be."""

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        return self._noise.discrete_gaussian(width, size)

    def generator(self) -> np.random.Generator:
        return cast("np.random.Generator", self)

    def poisson(self, lam: Any, size: tuple[int, int]) -> NDArray[np.int64]:
        replicates, rows = size
        drawn = self._noise.generator().poisson(lam, (math.ceil(replicates / self._k), rows))
        return np.repeat(drawn, self._k, axis=0)[:replicates].astype(np.int64)
