"""Laws that every curve of a resampled release must keep."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.accounting.poisson_mixtures import MixturePair, PairKind, release_curve

EPSILONS = np.array([0.0, 0.2, 1.0, 3.0, 8.0])
# One loss grid differs from the next by this much of δ at most where δ is not tiny; the truth is strictly monotone.
GRID = 2e-3

pairs = st.builds(
    MixturePair,
    kind=st.sampled_from(list(PairKind)),
    noise_sd=st.floats(0.8, 50.0),
    bound=st.floats(0.2, 1.5),
    rate=st.floats(0.2, 3.0),
)
few = settings(max_examples=8, deadline=None, derandomize=True)


def changed(pair: MixturePair, *, noise: float = 1.0, bound: float = 1.0, rate: float = 1.0) -> MixturePair:
    return MixturePair(pair.kind, pair.noise_sd * noise, pair.bound * bound, pair.rate * rate)


@few
@given(pairs, st.integers(1, 40))
def test_more_noise_never_costs_more(pair: MixturePair, k: int) -> None:
    noisier = release_curve([changed(pair, noise=1.3)], n_resamples=k).delta_upper(EPSILONS)
    assert np.all(noisier <= release_curve([pair], n_resamples=k).delta_upper(EPSILONS) * (1 + GRID) + 1e-17)


@few
@given(pairs, st.integers(1, 40))
def test_a_larger_bound_never_costs_less(pair: MixturePair, k: int) -> None:
    larger = release_curve([changed(pair, bound=1.2)], n_resamples=k).delta_upper(EPSILONS)
    assert np.all(larger * (1 + GRID) + 1e-17 >= release_curve([pair], n_resamples=k).delta_upper(EPSILONS))


@few
@given(pairs, st.integers(1, 40))
def test_more_replicates_never_cost_less(pair: MixturePair, k: int) -> None:
    more = release_curve([pair], n_resamples=k + 1).delta_upper(EPSILONS)
    assert np.all(more * (1 + GRID) + 1e-17 >= release_curve([pair], n_resamples=k).delta_upper(EPSILONS))


@few
@given(pairs, st.integers(1, 40))
def test_a_curve_is_a_curve(pair: MixturePair, k: int) -> None:
    curve = release_curve([pair], n_resamples=k)
    assert np.all(np.diff(curve.delta) <= 0.0)
    assert curve.delta[0] <= 1.0
    deltas = np.array([1e-1, 1e-3, 1e-6, 1e-10])
    reached = curve.epsilon_upper(deltas)
    assert np.all(np.isinf(reached) | (curve.delta_upper(np.minimum(reached, 1e6)) <= deltas))
    assert np.all(curve.delta_upper(-EPSILONS) >= -np.expm1(-EPSILONS))


@few
@given(st.floats(1.0, 30.0), st.floats(0.2, 1.0), st.integers(1, 40))
def test_one_side_costs_less_than_both(noise_sd: float, bound: float, k: int) -> None:
    one = release_curve([MixturePair(PairKind.ONE_SIDED, noise_sd, bound)], n_resamples=k).delta_upper(EPSILONS)
    for kind in (PairKind.ACROSS, PairKind.SAME_CELL):
        both = release_curve([MixturePair(kind, noise_sd, bound)], n_resamples=k).delta_upper(EPSILONS)
        assert np.all(one <= both * (1 + GRID) + 1e-17)


@settings(few, max_examples=4)
@given(st.floats(1.5, 20.0), st.floats(0.1, 2.0), st.integers(1, 20))
def test_a_count_beside_the_value_never_costs_less(noise_sd: float, weight: float, k: int) -> None:
    alone = release_curve([MixturePair(PairKind.SAME_CELL, noise_sd, 1.0)], n_resamples=k).delta_upper(EPSILONS)
    beside = release_curve([MixturePair(PairKind.SAME_CELL, noise_sd, 1.0, 1.0, weight)], n_resamples=k).delta_upper(
        EPSILONS
    )
    assert np.all(alone <= beside * (1 + GRID) + 1e-17)
