import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.accounting.calibrate import TOLERANCE, least_noise
from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.loss_grid import Curve
from hedgerow.accounting.lower_bounds import GAP
from hedgerow.accounting.profile import GaussianProfile, attack_success_upper
from hedgerow.errors import UncertifiedError, VerificationError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import Certificate, Point, certify, holds, round_up
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GaussianNoise, GeometricCounts, LaplaceNoise
from hedgerow.mechanisms.randomised_records import RandomisedRecords, Resample
from hedgerow.mechanisms.sparse_vector import SparseVector
from hedgerow.reports.verify.verification import verify_record

FAR = Relation.REPLACE_ONE
BOTH = Composition((GeometricCounts(2.0, 3), GaussianCounts(5.0, 2)))


def record() -> dict:
    return certify(BOTH, Relation.REPLACE_ONE, unit="row", delta=1e-6).to_dict()


def test_a_record_survives_json_and_verifies() -> None:
    certificate = certify(BOTH, Relation.REPLACE_ONE, unit="row", delta=1e-6)
    again = Certificate.from_json(certificate.to_json())
    again.verify()
    assert again == certificate
    assert certificate.epsilon >= certificate.reprice().epsilon_upper(1e-6)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda r: r.update(epsilon=r["epsilon"] - 0.01),
        lambda r: r["mechanism"]["parts"][0].update(scale=1.0),
        lambda r: r["mechanism"]["parts"][1].update(sd=3.0),
        lambda r: r.update(delta=1e-9),
        lambda r: r["profile"][1].update(delta=r["profile"][1]["delta"] / 2),
        lambda r: r.update(bound="estimate"),
        lambda r: r.update(mu=r["mu"] - 2e-6),
        lambda r: r.update(epsilon_lower=r["epsilon"]),
    ],
)
def test_a_cheaper_claim_than_the_mechanism_allows_is_refused(tamper) -> None:
    altered = record()
    tamper(altered)
    with pytest.raises(VerificationError, match="HG501"):
        Certificate.from_dict(altered).verify()


@pytest.mark.parametrize(("higher", "same"), [(5e-10, True), (2e-9, False)])
def test_another_version_of_a_library_may_differ_in_the_ninth_digit(higher: float, same: bool) -> None:
    """The curve never comes down to this δ: the comparison of ε does not help."""
    assert holds(Curve(1.0, np.full(2, 1e-3 * (1.0 + higher))), Point(0.5, 1e-3)) is same


@pytest.mark.parametrize(
    ("mechanism", "delta", "mu", "lower"),
    [
        (GaussianNoise(1.0, 1.0), 1e-6, True, True),
        (GeometricCounts(2.0, 3), 0.02, True, True),
        (BOTH, 1e-6, True, False),
        (Composition(()), 0.0, True, True),
        (Resample(100, 1), 0.02, False, True),
        (RandomisedRecords(2**30, (3,), (2**32,)), 1e-6, True, True),
        (RandomisedRecords(2**30, (3,), (2**32,)), 0.02, True, False),
        (SparseVector(FAR, 1, False, 1, 4.0, 8.0), 0.0, True, False),
    ],
)
def test_a_bound_is_stated_or_its_absence_explained_and_verify_computes_it_anew(mechanism, delta, mu, lower) -> None:
    certificate = certify(mechanism, FAR, unit="row", delta=delta)
    assert (certificate.mu is None, certificate.epsilon_lower is None) == (not mu, not lower)
    assert (bool(certificate.mu_why), bool(certificate.epsilon_lower_why)) == (not mu, not lower)
    if certificate.epsilon_lower is not None:
        assert certificate.epsilon - GAP - 2e-6 <= certificate.epsilon_lower <= certificate.epsilon
    assert Certificate.from_json(certificate.to_json()) == certificate
    certificate.verify()


@pytest.mark.parametrize("narrow", [GeometricCounts(2.0 * 0.95, 3), GaussianCounts(5.0 * 0.95, 2)])
def test_bounds_of_other_noise_are_refused(narrow) -> None:
    """Sabotage: μ of noise 5 % wider than what is recorded, and the lower bound of noise 5 % narrower."""
    wide = {"geometric": GeometricCounts(2.0, 3), "discrete-gaussian": GaussianCounts(5.0, 2)}[narrow.type]
    records = [certify(one, FAR, unit="row", delta=1e-6).to_dict() for one in (narrow, wide)]
    for honest, other, key in ((records[0], records[1], "mu"), (records[1], records[0], "epsilon_lower")):
        with pytest.raises(VerificationError, match="HG501"):
            Certificate.from_dict({**honest, key: other[key]}).verify()
        assert not verify_record({**honest, key: other[key]}).holds and verify_record(honest).holds


def test_a_record_written_before_there_were_bounds_is_read_as_it_was() -> None:
    old = {key: value for key, value in record().items() if "mu" not in key and "epsilon_lower" not in key}
    again = Certificate.from_dict(old)
    again.verify()
    assert again.to_dict() == old and verify_record(old).holds


def test_the_other_relation_has_another_price() -> None:
    altered = {**certify(BOTH, Relation.ADD_REMOVE, unit="row", delta=1e-6).to_dict(), "relation": "replace-one"}
    with pytest.raises(VerificationError):
        Certificate.from_dict(altered).verify()


@pytest.mark.parametrize(
    "broken",
    [
        "no json",
        "[]",
        "{}",
        json.dumps({**record(), "mechanism": {"type": "magic"}}),
        json.dumps({**record(), "relation": "none"}),
        json.dumps({**record(), "note": "an extra field"}),
        json.dumps({**record(), "mechanism": {"type": "geometric", "scale": 2.0, "cells": 1, "note": "extra"}}),
        json.dumps({**record(), "mechanism": {"type": "geometric", "scale": "2.0", "cells": 1}}),
        json.dumps({**record(), "mechanism": {"type": "geometric", "scale": 2.0, "cells": True}}),
        json.dumps({**record(), "mechanism": {"scale": 2.0, "cells": 1}}),
        json.dumps({key: value for key, value in record().items() if key != "unit"}),
        json.dumps({**record(), "mechanism": {"type": "geometric", "scale": -1.0, "cells": 1}}),
    ],
)
def test_what_is_no_certificate_is_refused(broken: str) -> None:
    with pytest.raises((VerificationError, ValueError)):
        Certificate.from_json(broken).verify()


@given(st.floats(1e-5, 900.0))
@settings(max_examples=200)
def test_prices_are_rounded_up(number: float) -> None:
    assert number <= round_up(number) <= number + 1.1e-6


BUILDERS = {
    "gaussian": lambda m: GaussianNoise(1 / m, 1.0),
    "laplace": lambda m: LaplaceNoise(1 / m, 1.0),
    "counts": lambda m: GaussianCounts(1 / m, 2),
    "mixed": lambda m: Composition((GaussianCounts(1 / m, 2), GeometricCounts(1.4 / m, 2))),
}


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("relation", list(Relation))
@given(epsilon=st.floats(0.02, 20), delta=st.sampled_from([1e-3, 1e-6, 1e-9]))
@settings(max_examples=12, deadline=None)
def test_calibration_lands_on_the_dear_side_within_its_tolerance(
    name: str, relation: Relation, epsilon: float, delta: float
) -> None:
    found = least_noise(BUILDERS[name], relation, Budget(epsilon, delta))
    proven = profile_of(found.mechanism, relation).epsilon_upper(delta)
    assert epsilon - TOLERANCE <= proven <= epsilon


def test_a_gaussian_meets_no_pure_budget() -> None:
    with pytest.raises(UncertifiedError, match="HG401"):
        least_noise(BUILDERS["gaussian"], Relation.REPLACE_ONE, Budget(1.0, 0.0))


def test_what_an_attacker_can_reach() -> None:
    curve = GaussianProfile(1.0)
    assert attack_success_upper(curve) == pytest.approx(0.6915, abs=1e-4)
    assert attack_success_upper(curve, prior=0.1) == pytest.approx(0.9, abs=0.02)
