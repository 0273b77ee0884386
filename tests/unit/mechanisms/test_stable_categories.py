"""Categories that occur: the price by enumeration, the law of what is shown, the audit, and sabotage of each."""

import dataclasses
import math

import numpy as np
import pytest

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.attack import likelihood_ratio, threshold_attack
from hedgerow.audit.verdict import audit_mechanism, sampler_of
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import as_record, from_record
from hedgerow.mechanisms.noisy_counts import HIDDEN, StableCategories
from hedgerow.testing.simulated import SimulatedNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
SMALL = [StableCategories(0.7, 3), StableCategories(1.3, 5), StableCategories(2.0, 12)]


def law(mechanism, count):
    """Return the chances of every output for a value of `count` records, hidden first; written anew, from the rule."""
    top = mechanism.threshold + count + math.ceil(45.0 * mechanism.scale)
    if count == 0:
        return np.array([1.0] + [0.0] * (top - mechanism.threshold))
    alpha = math.exp(-1.0 / mechanism.scale)
    z = np.arange(-math.ceil(45.0 * mechanism.scale) - top, top + 1)
    chances = alpha ** np.abs(z) * (1.0 - alpha) / (1.0 + alpha)
    shown = [chances[z == seen - count].sum() for seen in range(mechanism.threshold, top)]
    return np.array([chances[z + count < mechanism.threshold].sum(), *shown])


def laws(mechanism, first, second):
    """Return the laws of both neighbours on one list of outputs."""
    one, other = law(mechanism, first), law(mechanism, second)
    size = max(len(one), len(other))
    return np.pad(one, (0, size - len(one))), np.pad(other, (0, size - len(other)))


def worst_delta(mechanism, relation, epsilon):
    """Return sup of Σ (p − e^ε q)₊ over neighbours: every pair of counts up to where the threshold is far below."""
    far = mechanism.threshold + math.ceil(25 * mechanism.scale)
    moves = [laws(mechanism, c + 1, c) for c in (0, 1, 2, mechanism.threshold, far)]
    found = []
    for up in moves:
        pairs = [up, up[::-1]]
        if relation is FAR:
            pairs = [(np.outer(up[0], down[1]), np.outer(up[1], down[0])) for down in moves]
        found += [np.maximum(p - math.exp(epsilon) * q, 0.0).sum() for p, q in pairs]
    return max(found)


@pytest.mark.parametrize("relation", [NEAR, FAR])
@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_delta_is_exact_at_the_price_and_an_upper_bound_below_it(mechanism, relation):
    pure, curve = mechanism.touched(relation) / mechanism.scale, profile_of(mechanism, relation)
    for epsilon in (pure + 1e-9, pure + 0.3):
        exact = worst_delta(mechanism, relation, epsilon)
        assert exact == pytest.approx(curve.delta_upper(epsilon), abs=1e-12)
        assert exact == pytest.approx(mechanism.alone, abs=1e-12)
    for epsilon in np.linspace(0.0, pure, 7)[:-1]:
        exact, priced = worst_delta(mechanism, relation, epsilon), curve.delta_upper(epsilon)
        assert exact <= priced + 1e-12 and priced <= exact + mechanism.alone + 1e-3 * exact


@pytest.mark.parametrize("relation", [NEAR, FAR])
def test_the_lower_bound_of_the_price_holds_and_is_near(relation):
    mechanism = StableCategories.of_scale(4.0, 1e-6)
    curve, attained = profile_of(mechanism, relation), mechanism.attained(relation)
    for delta in (1e-6, 1e-3, 0.1):
        lower, upper = attained.epsilon_lower(delta), curve.epsilon_upper(delta)
        assert lower <= upper and upper - lower < 1e-3
    assert (
        attained.epsilon_lower(0.5 * mechanism.alone) > 600.0 and curve.epsilon_upper(0.5 * mechanism.alone) == math.inf
    )


def test_a_threshold_one_too_low_and_noise_too_narrow_exceed_the_price():
    mechanism = StableCategories(1.3, 5)
    claimed = profile_of(mechanism, FAR)
    pure = 2.0 / mechanism.scale
    for drawn in (dataclasses.replace(mechanism, threshold=4), dataclasses.replace(mechanism, scale=0.95 * 1.3)):
        at = max(worst_delta(drawn, FAR, epsilon) - claimed.delta_upper(epsilon) for epsilon in (pure, pure + 0.01))
        assert at > 1e-3


@pytest.mark.parametrize(("scale", "delta"), [(1e-3, 1e-6), (0.3, 1e-6), (4.0, 1e-6), (20.0, 1e-9), (200.0, 0.2)])
def test_the_threshold_is_the_least_whose_price_is_delta(scale, delta):
    found = StableCategories.of_scale(scale, delta)
    assert found.alone <= delta
    assert found.threshold == 2 or dataclasses.replace(found, threshold=found.threshold - 1).alone > delta


@pytest.mark.parametrize("drawn", [SMALL[1], dataclasses.replace(SMALL[1], scale=1.05 * 1.3)], ids=["true", "wide"])
def test_what_is_shown_has_the_law_that_was_priced(drawn):
    mechanism, runs = SMALL[1], 200_000
    seen = drawn.select(np.full(runs, 4), SimulatedNoise(3))
    chances = law(mechanism, 4)[:12]
    hits = np.array([(seen == HIDDEN).sum(), *((seen == mechanism.threshold + k).sum() for k in range(11))])
    z = (hits - runs * chances) / np.sqrt(runs * chances * (1.0 - chances))
    assert (np.abs(z).max() < 5.0) == (drawn == mechanism)


def test_a_value_that_does_not_occur_is_never_shown():
    mechanism = StableCategories(3.0, 2)
    _, without = mechanism.worst_pairs(NEAR)[0].histograms()
    assert not mechanism.outputs(without, 10_000, SimulatedNoise(1)).any()
    assert mechanism.outputs(mechanism.worst_pairs(NEAR)[0].histograms()[0], 10_000, SimulatedNoise(1)).any()


@pytest.mark.parametrize("relation", [NEAR, FAR])
def test_the_audit_comes_near_the_price_and_rejects_a_lower_threshold_and_less_noise(relation):
    mechanism = StableCategories(1.0, 6)
    verdict = audit_mechanism(mechanism, relation, delta=1e-2, runs=60_000, noise=SimulatedNoise(1))
    assert verdict.passes and verdict.epsilon_lower > 0.9 * verdict.epsilon_upper
    own, *_, shared = mechanism.worst_pairs(relation)
    for drawn, pair, delta in (
        (dataclasses.replace(mechanism, threshold=5), own, 6e-3),  # p is 4.9e-3, and 1.3e-2 one threshold lower
        (dataclasses.replace(mechanism, scale=0.5), shared, 1e-2),
    ):
        samplers = [sampler_of(drawn, data, SimulatedNoise(2)) for data in pair.histograms()]
        score = likelihood_ratio(mechanism, pair)
        found = threshold_attack(*samplers, score, delta=delta, runs=60_000, alpha=1e-6)
        assert found.epsilon_lower > profile_of(mechanism, relation).epsilon_upper(delta)


def test_a_record_is_read_back_and_a_threshold_that_shows_all_is_refused():
    assert from_record(as_record(SMALL[0])) == SMALL[0]
    for wrong in (1, 2.5, True, 2**60):
        with pytest.raises(ParameterError, match="HG406"):
            StableCategories(1.0, wrong)
