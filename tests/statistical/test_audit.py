"""The audit as a test: no certificate is crossed, and every mutant is rejected by its layer.

Each audit of a true certificate, and each test of a law, fails with the probability that one test of a campaign has.
There are fewer here, so that this file raises a false alarm with probability below 1e-4. Mutants have fixed seeds.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.campaign import FALSE_ALARM, alpha_of_each, run_campaign
from hedgerow.audit.faults import Fault, mutants
from hedgerow.audit.law import equal_laws, has_law, has_poisson_law, off_lattice
from hedgerow.audit.verdict import audit_mechanism
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import Specimen
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import LAPLACE
from hedgerow.mechanisms.mechanism import specimens
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.resampled_sums import bootstrap
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.testing.simulated import SimulatedNoise, sample

RUNS, SEED = 100_000, 20261120
ALPHA = alpha_of_each()
LAW_DRAWS = 100_000
NAMES = (
    "half noise", "noise 2 % low", "BH at k = 1", "resample at 1/Z", "scalar price for a grouped mean",
    "level unpriced",
    "off-centre grid", "clamp dropped", "NaN let through", "one replicate's noise reused",
    "weights reused across replicates", "wrong relation",
    "float noise off the lattice", "sparse vector, exact threshold", "textbook NumPy Laplace",
)  # fmt: skip


def label(one: Specimen) -> str:
    return f"{one.name}, {one.relation}"


@pytest.mark.parametrize("one", specimens(), ids=label)
def test_no_attack_crosses_a_certificate(one: Specimen) -> None:
    """10⁵ outputs of the stand-in on each neighbour."""
    verdict = audit_mechanism(
        one.mechanism, one.relation, delta=one.delta, runs=RUNS, confidence=1 - ALPHA, noise=SimulatedNoise(SEED)
    )
    assert verdict.passes, verdict
    # Where no ε holds at this δ, the attack finds an output that is next to impossible without the record.
    least = 0.4 * verdict.epsilon_upper if math.isfinite(verdict.epsilon_upper) else 5.0
    assert verdict.epsilon_lower > least, "an attack this weak would see nothing"


JOINT = [one for one in specimens() if isinstance(one.mechanism, JointMoments)]


@pytest.mark.long
@pytest.mark.parametrize("one", JOINT, ids=label)
def test_ten_million_outputs_come_near_the_price_of_joint_moments(one: Specimen) -> None:
    """The price is that of the pair attacked, so what is missing is the attack's: it sees one event of 10⁷ outputs."""
    verdict = audit_mechanism(
        one.mechanism, one.relation, delta=one.delta, runs=10_000_000, confidence=1 - ALPHA, noise=SimulatedNoise(SEED)
    )
    assert verdict.passes and verdict.epsilon_lower > 0.93 * verdict.epsilon_upper, verdict


def own_records(*, count: float = 0.4, product: float = 0.4, restricted: float = 0.4) -> JointMoments:
    """Two means over their own records, pure at ε = 1, with the sums that their covariance needs."""
    layout = JointLayout((JointFeature(100, True), JointFeature(1000, True)), "public", 1)
    counts = {(0,): 0.2, (1,): 0.2, (0, 1): count}
    both = {((0,), (1,)): restricted, ((1,), (0,)): restricted}
    weights = JointWeights(2, counts, {(0,): 0.2, (1,): 0.2, (0, 1): product}, restricted=both)
    return joint_moments(LAPLACE, layout, weights, 1.0, Relation.REPLACE_ONE)


def heavy_product() -> JointMoments:
    """Two sums, pure at ε = 1, with a product a fifth heavier than is free."""
    layout = JointLayout((JointFeature(100), JointFeature(1000)), "public", 1)
    weights = JointWeights(2, {}, {(0,): 1.0, (1,): 1.0, (0, 1): 1.2})
    return joint_moments(LAPLACE, layout, weights, 1.0, Relation.REPLACE_ONE)


FORGOTTEN = {
    "a product is not priced": (own_records(product=2.0), lambda one: len(set(one.of)) < 2 or one.kind == "count"),
    "the count of both is not priced": (own_records(count=2.0), lambda one: one.of != (0, 1) or one.kind == "sum"),
    "sums restricted to the other's records are not priced": (own_records(restricted=2.0), lambda one: not one.present),
    "a weight a fifth above the free limit is taken as free": (heavy_product(), lambda one: len(one.of) == 1),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_an_attack_crosses_a_price_of_joint_moments_that_forgets_something(what: str) -> None:
    """The true price is not crossed; that of fewer coordinates, with the same noise, is."""
    joint, priced = FORGOTTEN[what]
    verdict = audit_mechanism(
        joint, Relation.REPLACE_ONE, delta=0.0, runs=500_000, confidence=1 - ALPHA, noise=SimulatedNoise(SEED)
    )
    fewer = replace(joint, coordinates=tuple(one for one in joint.coordinates if priced(one)))
    assert verdict.passes and verdict.epsilon_upper == pytest.approx(1.0, abs=1e-4)
    assert verdict.epsilon_lower > 1.01 * profile_of(fewer, Relation.REPLACE_ONE).epsilon_upper(0.0)


def test_an_attack_crosses_a_price_that_forgets_the_row_of_the_intercept() -> None:
    """Of a regression under add-remove the number of records is the heaviest sum, and has no free share."""
    layout = JointLayout((JointFeature(1000), JointFeature(1000)), "private", 1)
    weights = JointWeights(2, {(): 1.0}, {(0,): 0.3, (1,): 0.3, (0, 1): 0.3})
    joint = joint_moments(LAPLACE, layout, weights, 1.0, Relation.ADD_REMOVE)
    verdict = audit_mechanism(
        joint, Relation.ADD_REMOVE, delta=0.0, runs=RUNS, confidence=1 - ALPHA, noise=SimulatedNoise(SEED)
    )
    rest = replace(joint, coordinates=tuple(one for one in joint.coordinates if one.kind == "sum"))
    assert verdict.passes
    assert verdict.epsilon_lower > 1.2 * profile_of(rest, Relation.ADD_REMOVE).epsilon_upper(0.0)


@pytest.mark.entropy
@pytest.mark.parametrize(
    ("mechanism", "relation"),
    [(GeometricCounts(1.0, cells=2), Relation.REPLACE_ONE), (bootstrap(1, "value"), Relation.REPLACE_ONE)],
    ids=["counts", "bootstrap"],
)
def test_what_is_released_passes_a_smaller_audit(mechanism: GeometricCounts, relation: Relation) -> None:
    """10,000 outputs of the released noise on each neighbour: its samplers take no seed."""
    verdict = audit_mechanism(mechanism, relation, delta=1e-3, runs=10_000, confidence=1 - ALPHA, noise=SecureNoise())
    assert verdict.passes and verdict.source == "released"
    assert max(attack.epsilon_lower for attack in verdict.attacks) > 0.3 * verdict.epsilon_upper


def test_the_mutants_are_those_that_were_promised() -> None:
    assert tuple(mutant.name for mutant in mutants()) == NAMES


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_every_mutant_is_rejected_by_its_layer(mutant: Fault) -> None:
    found = mutant.run(SEED)
    assert found.rejected, found.evidence


LAWS = [("gaussian", 2.0**20), ("gaussian", 0.7), ("geometric", 2.0**20), ("geometric", 1.0)]


@pytest.mark.entropy
@pytest.mark.parametrize(("law", "width"), LAWS)
def test_the_stand_in_has_the_law_of_the_released_noise(law: str, width: float) -> None:
    """10⁵ draws of each; KS and spread, or value by value; noise 3 % low (narrow: 10 % low) must be seen."""
    drawn = {}
    for name, source in (("released", SecureNoise()), ("stand-in", SimulatedNoise(SEED))):
        draw = source.discrete_gaussian if law == "gaussian" else source.two_sided_geometric
        drawn[name] = draw(width, LAW_DRAWS)
        assert has_law(drawn[name], law, width, alpha=ALPHA).accepted, name  # type: ignore[arg-type]  # one of two
    assert equal_laws(drawn["released"], drawn["stand-in"], law, width, alpha=ALPHA).accepted
    low = 0.97 if width > 1000 else 0.9
    weak = SimulatedNoise(SEED)
    sabotaged = (weak.discrete_gaussian if law == "gaussian" else weak.two_sided_geometric)(low * width, LAW_DRAWS)
    assert not has_law(sabotaged, law, width, alpha=ALPHA).accepted
    halved = (sabotaged * 0.5).astype(np.int64)
    assert not equal_laws(halved, drawn["stand-in"], law, width, alpha=1e-12).accepted


@pytest.mark.entropy
@pytest.mark.parametrize("source", [SecureNoise(), SimulatedNoise(SEED)], ids=["released", "stand-in"])
def test_bootstrap_weights_are_poisson(source: NoiseSource) -> None:
    drawn = source.generator().poisson(1.0, LAW_DRAWS)
    assert has_poisson_law(drawn, 1.0, alpha=ALPHA).accepted
    rng = np.random.default_rng(SEED)
    assert not has_poisson_law(rng.binomial(20, 1 / 20, LAW_DRAWS), 1.0, alpha=1e-12).accepted, "of a resample of 20"


def test_the_referees_door_draws_from_the_law_that_is_priced() -> None:
    """The sum of two replicates of one record of value a, noise of width w, is a·Poisson(2) + N(0, 2w²): KS, 20,000."""
    mechanism = bootstrap(2, "value")
    pair = mechanism.worst_pairs(Relation.REPLACE_ONE)[0]
    drawn = sample(mechanism, pair.histograms()[0], 20_000, rng=2).sum(axis=(1, 2, 3))
    (moved,), (width,) = mechanism.contribution(pair.first)
    rng = np.random.default_rng(SEED)
    by_hand = moved * rng.poisson(2.0, 20_000) + rng.normal(0.0, math.sqrt(2.0) * width, 20_000)
    assert stats.ks_2samp(drawn, by_hand).pvalue > 1e-6
    assert stats.ks_2samp(drawn, 0.8 * by_hand).pvalue < 1e-12


DRAWN = [one for one in specimens() if one.mechanism.type not in ("gaussian", "laplace", "averaged-laplace")]


@pytest.mark.parametrize("one", DRAWN, ids=label)
def test_everything_released_lies_on_its_lattice(one: Specimen) -> None:
    data = one.mechanism.worst_pairs(one.relation)[0].histograms()[0]
    outputs = one.mechanism.outputs(data, 500, SimulatedNoise(SEED))
    assert off_lattice(outputs, one.mechanism) == 0
    assert off_lattice(outputs + np.pi * 1e-3, one.mechanism) == outputs.size


@pytest.mark.long
def test_the_whole_campaign_at_ten_million_outputs() -> None:
    found = run_campaign(runs=10_000_000, replays=500, seconds=3600.0)
    assert found.left_out == () and found.false_alarm <= FALSE_ALARM * (1 + 1e-9)
    assert found.replay is not None and found.replay.pairs == 500
    assert found.passes, found.to_dict()
