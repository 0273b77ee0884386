"""The releases that are broken on purpose: each function breaks one, and returns what the audit found.

From outside, an attacker sees outputs alone: each is attacked against the price that was claimed. From inside there are
the law of draws, the lattice, replay on neighbours, brute force and enumeration.

Lyu, Su & Li (2017), figure 2, list sparse vectors that were printed as ε-private and are not. Each is described here as
the sparse vector that it really draws, so that the exact law of `hedgerow.mechanisms.sparse_vector` applies.
It is rejected if its loss exceeds the price that was claimed.

=========================  =====================================================================================
`no threshold noise`       the threshold is exact: every "no" leaks (Fishman et al.'s first run, as printed)
`no question noise`        the statistics are exact, the threshold alone is noisy (their algorithm 5)
`positives not paid`       question noise for one positive, several answered (algorithm 4)
`no stop`                  question noise for one positive, and no limit on positives (algorithm 6)
`budget not split`         threshold, questions and answers each take all of ε
=========================  =====================================================================================

The mutants: releases broken on purpose, each with the layer of the audit that must reject it.

A layer that accepts its mutant does not see what it should see.

=========================  ====================================================================================
layer                      what it sees
=========================  ====================================================================================
attack                     outputs on worst neighbours: a certified lower bound on ε above the claimed price
enumeration                δ(ε) summed over all outputs
law                        draws alone: KS distance, spread
lattice                    released numbers alone: are they multiples of the public step
replay                     the release from inside, on neighbours, with one seed: branches, draws, endings
sensitivity                exact tables of neighbours against the declared sensitivity
=========================  ====================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.profile import GaussianProfile
from hedgerow.audit.attack import Sampler, Score, likelihood_ratio, summed, threshold_attack
from hedgerow.audit.law import has_law, off_lattice
from hedgerow.audit.replay import replay_pair
from hedgerow.audit.verdict import exact_epsilon_lower, sampler_of
from hedgerow.engines.query import Query, SumsQuery, ValueOnGrid
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation, Target
from hedgerow.mechanisms.histograms import TreeCounts
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.noisy_moments import MomentsNoise, mean_with_private_count
from hedgerow.mechanisms.randomised_records import Resample
from hedgerow.mechanisms.resampled_sums import bootstrap
from hedgerow.mechanisms.sparse_vector import Questions, SparseVector, log_chances, sparse_vector
from hedgerow.noise.lattice import LatticeNoise
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.plan import Plan, make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.counted_values import GridSums, Histogram
from hedgerow.resampling.replicates import multinomial_weights
from hedgerow.statistics.mean import mean
from hedgerow.testing.published import brawner_honaker_noise_sd
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
ALPHA = 1e-6
_CHUNK = 500_000
_WIDTH = float(2**20)
_NONE = 1e-3  # a scale at which a two-sided geometric draw is 0 but for a chance below e^-1000
_FALLING = 30


@dataclass(frozen=True, slots=True)
class Rejection:
    """Whether the layer saw that something is broken, and on what evidence; with ε found and claimed if it is that."""

    rejected: bool
    evidence: str
    epsilon_lower: float | None = None
    epsilon_upper: float | None = None


def half_noise(seed: int) -> Rejection:
    """Return whether the audit rejects a mean whose noise is half as wide as its certificate states."""
    claimed = mean_with_private_count(Relation.ADD_REMOVE)
    parts = {name: LatticeNoise(true.width // 2, true.bits) for name, true in claimed.noise.coordinates().items()}
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
    return _crossed(upper, (_chunked(with_record), _chunked(without)), np.asarray, delta=1e-3, runs=300_000)


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
    samplers = [sampler_of(grouped, data, SimulatedNoise(seed + side)) for side, data in enumerate(across.histograms())]
    upper = profile_of(scalar, Relation.REPLACE_ONE).epsilon_upper(1e-3)
    score = likelihood_ratio(grouped, across)
    return _crossed(upper, (samplers[0], samplers[1]), score, delta=1e-3, runs=200_000)


def level_unpriced(seed: int) -> Rejection:
    """Release the counts of a tree of two levels at the price of the lower one."""
    tree = TreeCounts("laplace", 4, (2, 2), (2.0, 2.0), cells=1)
    claimed = TreeCounts("laplace", 4, (4,), (2.0,), cells=1)
    pair = tree.worst_pairs(Relation.REPLACE_ONE)[0]
    samplers = [sampler_of(tree, data, SimulatedNoise(seed + side)) for side, data in enumerate(pair.histograms())]
    upper = profile_of(claimed, Relation.REPLACE_ONE).epsilon_upper(1e-3)
    score = likelihood_ratio(tree, pair)
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
        likely = [logsumexp(-gammaln(r + 1.0) - distances, axis=1) for distances in far]
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
    attack = threshold_attack(*samplers, score, delta=delta, runs=runs, alpha=ALPHA)
    lower = attack.epsilon_lower
    said = f"ε ≥ {lower:.3g} at δ = {delta:.3g} with {runs:,} runs, claimed {upper:.3g}"
    return Rejection(lower > upper, said, lower, upper)


def _chunked(draw: Any) -> Sampler:
    def sampler(runs: int) -> Iterable[Floats]:
        return (draw(min(_CHUNK, runs - start)) for start in range(0, runs, _CHUNK))

    return sampler


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


def noise_two_per_cent_low(seed: int) -> Rejection:
    """Draw Gaussian noise .98 times as wide as asked for."""
    draws = 100_000
    drawn = SimulatedNoise(seed).discrete_gaussian(0.98 * _WIDTH, draws)
    test = has_law(drawn, "gaussian", _WIDTH, alpha=ALPHA)
    spread = test.statistics[-1]
    said = f"spread {spread.value:.4f}, allowed {spread.low:.4f} to {spread.high:.4f}, {draws:,} draws"
    return Rejection(not test.accepted, said)


def wrong_relation(seed: int) -> Rejection:
    """Price counts by group for add-remove and claim it for replace-one, under which a record moves two counts."""
    mechanism = GeometricCounts(1.0, cells=2)
    claimed = profile_of(mechanism, Relation.ADD_REMOVE).epsilon_upper(1e-6)
    cost = exact_epsilon_lower(mechanism, Relation.REPLACE_ONE, 1e-6) or 0.0
    said = f"ε = {cost:.4g} at δ = 1e-06 by enumeration, claimed {claimed:.4g}"
    return Rejection(cost > claimed, said, cost, claimed)


def float_noise(seed: int) -> Rejection:
    """Draw the noise of a mean as doubles, and add it as it is."""
    mechanism = mean_with_private_count(Relation.ADD_REMOVE)
    data = mechanism.worst_pairs(Relation.ADD_REMOVE)[0].histograms()[0]
    outputs = mechanism.outputs(data, 1000, SimulatedNoise(seed))
    floated = outputs + np.random.default_rng(seed).normal(0.0, 1.0, outputs.shape)
    outside, of_true = off_lattice(floated, mechanism), off_lattice(outputs, mechanism)
    said = f"{outside:,} of {outputs.size:,} numbers off the lattice; {of_true} of the true ones"
    return Rejection(outside > 0 and of_true == 0, said)


def clamp_dropped(seed: int) -> Rejection:
    """Put values out of bounds on the grid without clamping them to it."""
    _, moved = replay_pair(_plan(), *_sources((1.0, 1e6), (1.0, 2.0), clamp=False), seed=seed)
    _, true = replay_pair(_plan(), *_sources((1.0, 1e6), (1.0, 2.0)), seed=seed)
    said = f"a record moves the table {moved:.3g} times as far as declared; clamped, {true:.3g} times"
    return Rejection(moved > 1.0 >= true - 1e-9, said)


def nan_let_through(seed: int) -> Rejection:
    """Let NaN, not recognised as missing, reach the conversion to whole numbers."""
    nan = ((1.0, math.nan), (1.0, 2.0))
    differences, _ = replay_pair(_plan(), *_sources(*nan, screen=False), seed=seed)
    true, _ = replay_pair(_plan(), *_sources(*nan), seed=seed)
    first = (differences or ["none"])[0].split(":")[0]
    said = f"{len(differences)} differences between neighbours, the first in the {first}; screened, {len(true)}"
    return Rejection(bool(differences) and not true, said)


@dataclass(frozen=True, slots=True)
class BrokenSource:
    """Numbers put on the grid by hand, with the screening of NaN and the clamping each optional."""

    values: tuple[float, ...]
    clamp: bool = True
    screen: bool = True

    @property
    def name(self) -> str:
        """A name."""
        return "broken"

    @property
    def columns(self) -> Mapping[str, str]:
        """One column."""
        return {"value": "number"}

    def check(self, query: Query | SumsQuery) -> None:
        """Answer means of the one column alone."""
        values = query.values
        if len(values) != 1 or not isinstance(values[0], ValueOnGrid) or query.by or query.unit is not None:
            raise ParameterError(
                "HG520",
                rule="The made-up data source of an audit answers only the one kind of question that the audited "
                "release asks.",
                finding="Found another value.",
            )

    def histogram(self, query: Query) -> Histogram:
        """Count by grid index, with what is broken left out."""
        self.check(query)
        grid = query.value.grid  # type: ignore[union-attr]  # as just checked
        low, high = grid.as_bounds()
        step = (high - low) / grid.steps
        index = []
        for value in self.values:
            if self.screen and not math.isfinite(value):
                index.append(-1)
                continue
            bounded = min(max(value, low), high) if self.clamp else value
            index.append(math.floor((bounded - low) / step + 0.5))
        ones = np.ones(len(index), dtype=np.int64)
        return Histogram.from_triplets(np.zeros(len(index), dtype=np.int64), np.array(index), ones, cells=1)

    def sums(self, query: SumsQuery) -> GridSums:
        """Add up powers of the grid indices that `histogram` counts."""
        self.check(query)
        counted = self.histogram(Query(query.read[0]))
        index, count = counted.index.astype(object), counted.count.astype(object)
        monomials = [(), *(monomial for monomial in query.monomials if monomial)]
        sums = [int((index ** sum(power for _, power in monomial) * count).sum()) for monomial in monomials]
        return GridSums.from_columns(([each] for each in (0, counted.total(), *sums)), monomials, cells=1)

    def count_rows(self) -> int:
        """Return the number of values."""
        return len(self.values)


def _sources(
    first: tuple[float, ...], second: tuple[float, ...], *, clamp: bool = True, screen: bool = True
) -> tuple[BrokenSource, BrokenSource]:
    return BrokenSource(first, clamp, screen), BrokenSource(second, clamp, screen)


def _plan() -> Plan:
    request = parse_request(mean("value", bounds=(0, 10), step=1), epsilon=1.0, missing="drop")
    return make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 2))


def broken_sparse_vectors(claimed: SparseVector) -> dict[str, SparseVector]:
    """Return what each mutant really draws where `claimed` is what it says.

    >>> from hedgerow.facts.relation import Relation
    >>> from hedgerow.mechanisms.sparse_vector import sparse_vector
    >>> list(broken_sparse_vectors(sparse_vector(1.0, Relation.ADD_REMOVE, reach=1, positives=3)))[0]
    'no threshold noise'
    """
    first = claimed.reach / claimed.threshold_scale
    rest = claimed.comparing_loss() - first
    unpaid = (1 if claimed.monotone else 2) * claimed.reach / rest
    whole = claimed.reach / claimed.pure()
    shifts = (1 if claimed.monotone else 2) * claimed.positives
    return {
        "no threshold noise": replace(claimed, threshold_scale=_NONE),
        "no question noise": replace(claimed, question_scale=_NONE),
        "positives not paid": replace(claimed, question_scale=unpaid),
        "no stop": replace(claimed, question_scale=unpaid, positives=claimed.positives + 4),
        "budget not split": replace(claimed, threshold_scale=whole, question_scale=shifts * whole),
    }


def loss_of_broken(name: str, claimed: SparseVector) -> Rejection:
    """Return the exact log-ratio of one run of answers, no to all that fall and yes to all that rise, and the claim.

    One event is enough: a run of answers that is e^ε times likelier on one neighbour proves that ε is needed.
    """
    drawn = broken_sparse_vectors(claimed)[name]
    questions = Questions.worst(drawn, falling=_FALLING)
    text = (0,) * _FALLING + (1,) * drawn.positives
    loss = log_chances(drawn, questions, 1, text) - log_chances(drawn, questions, 0, text)
    upper = claimed.comparing_loss()
    said = f"ε ≥ {loss:.3g} by enumeration, claimed {upper:.3g}"
    return Rejection(loss > upper, said, loss, upper)


def exact_threshold(seed: int) -> Rejection:
    """Ask two positives' worth of questions against a threshold without noise, as Fishman et al. print it."""
    return loss_of_broken("no threshold noise", sparse_vector(1.0, Relation.ADD_REMOVE, reach=1, positives=2))


Layer = Literal["attack", "enumeration", "law", "lattice", "replay", "sensitivity"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One release broken on purpose.

    Attributes
    ----------
    name, broken : str
        What it is called, and what is broken in a sentence.
    layer : str
        Which layer must reject it.
    run : callable
        ``run(seed)`` tries it on its layer, with as many outputs as that layer needs.
    """

    name: str
    broken: str
    layer: Layer
    run: Callable[[int], Rejection]


@dataclass(frozen=True, slots=True)
class FaultResult:
    """A mutant with what its layer said of the mutant."""

    mutant: Fault
    rejection: Rejection

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: name, broken, layer, rejected, evidence."""
        return {
            "name": self.mutant.name,
            "broken": self.mutant.broken,
            "layer": self.mutant.layer,
            "rejected": self.rejection.rejected,
            "evidence": self.rejection.evidence,
        }


def mutants() -> tuple[Fault, ...]:
    """Return all mutants in the order of the list in ``docs/promise.md``.

    >>> len(mutants())
    15
    """
    return (
        Fault("half noise", "noise is half as wide as priced", "attack", half_noise),
        Fault("noise 2 % low", "noise is .98 times as wide as priced", "law", noise_two_per_cent_low),
        Fault("BH at k = 1", "one textbook resample at the price of the plain query", "attack", one_resample),
        Fault("resample at 1/Z", "the score of n/Z records drawn with replacement, claimed at ε = 1/Z", "attack",
               resample_at_one_over_z),
        Fault("scalar price for a grouped mean", "cells of (sum, count) at the price of one sum", "attack",
               scalar_price),
        Fault("level unpriced", "a tree of counts at the price of its lowest level", "attack",
               level_unpriced),
        Fault("off-centre grid", "values are not centred at the midpoint before resampling", "attack",
               off_centre),
        Fault("clamp dropped", "values out of bounds are added up as they are", "sensitivity", clamp_dropped),
        Fault("NaN let through", "NaN reaches the arithmetic instead of counting as missing", "replay",
               nan_let_through),
        Fault("one replicate's noise reused", "all replicates share one draw of noise", "attack",
               noise_reused),
        Fault("weights reused across replicates", "all replicates share one draw of weights", "attack",
               weights_reused),
        Fault("wrong relation", "noise for add-remove, claimed for replace-one", "enumeration",
               wrong_relation),
        Fault("float noise off the lattice", "noise is a double, not a multiple of the step", "lattice",
               float_noise),
        Fault("sparse vector, exact threshold", "the threshold of a sparse vector has no noise", "enumeration",
               exact_threshold),
        Fault("textbook NumPy Laplace", "a count plus numpy's Laplace draw in doubles", "attack",
               textbook_laplace),
    )  # fmt: skip
