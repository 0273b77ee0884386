"""The bounded bootstrap: what no record is drawn more often than, what it costs, and that an attack stays below it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.accounting.compose import profile_of
from hedgerow.audit.verdict import audit_mechanism
from hedgerow.cli.main import app
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.bounded_resamples import BoundedResampled, bounded, bounded_moments
from hedgerow.mechanisms.mechanism import as_record, from_record
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, Shape, bootstrap
from hedgerow.noise.lattice import lattice_noise
from hedgerow.release.price import price_of
from hedgerow.resampling.replicates import capped_law, capped_weights
from hedgerow.testing.simulated import SimulatedNoise
from hedgerow.testing.simulated import release as simulated

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
AGE = hg.mean("age", bounds=(0, 100), step=1)


def test_the_law_of_the_draws_is_poisson_cut_off() -> None:
    for rate, most in ((1.0, 5), (0.3, 1), (2.5, 3)):
        chances = capped_law(rate, most)
        poisson = stats.poisson.pmf(np.arange(most), rate)
        assert np.allclose(chances[:-1], poisson) and math.isclose(float(chances.sum()), 1.0)
        drawn = np.minimum(np.random.default_rng(1).poisson(rate, 200_000), most)
        assert bounded_moments(rate, most) == pytest.approx((drawn.mean(), drawn.var()), rel=0.02)


def test_weights_of_a_row_add_up_those_of_its_records() -> None:
    rng, count = np.random.default_rng(2), np.array([1, 3, 0])
    drawn = capped_weights(count, chances=capped_law(1.0, 2), n_resamples=100_000, generator=rng)
    assert (drawn.max(axis=0) == 2 * count).all() and drawn.min() == 0
    one = np.bincount(drawn[:, 0], minlength=3) / len(drawn)
    assert np.abs(one - capped_law(1.0, 2)).max() < 0.01
    three = np.convolve(np.convolve(*[capped_law(1.0, 2)] * 2), capped_law(1.0, 2))
    assert np.abs(np.bincount(drawn[:, 1], minlength=7) / len(drawn) - three).max() < 0.01


def test_a_row_of_many_records_is_drawn_in_parts() -> None:
    rng, count = np.random.default_rng(3), np.array([25_000, 0, 10_000, 7])
    drawn = capped_weights(count, chances=capped_law(1.0, 5), n_resamples=400, generator=rng)
    mean, variance = bounded_moments(1.0, 5)
    assert drawn.shape == (400, 4) and (drawn[:, 1] == 0).all()
    for place, size in ((0, 25_000), (2, 10_000), (3, 7)):
        error = math.sqrt(variance * size)
        assert abs(drawn[:, place].mean() - mean * size) < 4.0 * error / 20.0
        assert drawn[:, place].std() == pytest.approx(error, rel=0.15)


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize(
    ("shape", "sums"),
    [("count", [(1, 5.0)]), ("value", [(8, 5.0)])]
    + [("value-and-count", [(8, noise), (1, 5.0)]) for noise in (20.0, 50.0, 200.0)],
)
def test_a_record_that_changes_its_cell_moves_both(shape: Shape, sums: list[tuple[int, float]], cells: int) -> None:
    """The largest movement of any two records, drawn j times in each of k replicates, found by trying them all."""
    k, most = 4, 3
    coordinates = tuple(ResampledCoordinate(reach, lattice_noise(noise)) for reach, noise in sums)
    reaches = [one.distance for one in coordinates]
    ends = [reaches] if shape == "count" else [reaches, [-reaches[0], *reaches[1:]]]
    records = [np.zeros((cells, len(sums))) for _ in range(1 + cells * len(ends))]
    for record, (cell, end) in zip(records[1:], product(range(cells), ends), strict=True):
        record[cell] = end
    moved = max(float(np.linalg.norm(one - other)) for one, other in product(records, records))
    found = BoundedResampled(k, 1.0, most, shape, coordinates, "private", cells).mu(FAR)
    assert found == pytest.approx(math.sqrt(k) * most * moved, rel=1e-4)


def test_it_costs_one_gaussian_at_j_times_the_plain_distance() -> None:
    # k replicates whose noise together is that of one plain release at μ = 1 (ρ = ½), at most j copies.
    for most in (1, 2, 5):
        assert bounded(20, most).mu(FAR) == pytest.approx(most, rel=1e-5)
    plain = price_of("gaussian", relation="replace-one", mu=1.0)
    assert profile_of(bounded(20, 1), FAR).epsilon_upper(1e-6) == pytest.approx(plain.epsilon_upper, rel=1e-4)
    named = price_of("bounded-bootstrap", relation="replace-one", mu=0.2, n_resamples=20)
    assert named.epsilon_upper == pytest.approx(plain.epsilon_upper, rel=1e-4)
    assert from_record(json.loads(json.dumps(as_record(named.mechanism)))) == named.mechanism


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_price_is_above_the_exact_mixture_of_one_replicate(most: int) -> None:
    mechanism = replace(bounded(1, most), presence="private")
    (distance,) = (one.distance for one in mechanism.coordinates)
    x = np.linspace(-12.0, 12.0 + most * distance, 200_001)
    chances = capped_law(1.0, most)
    p = chances @ stats.norm.pdf(x - distance * np.arange(most + 1)[:, None])
    q = stats.norm.pdf(x)
    price = profile_of(mechanism, NEAR)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        for one, other in ((p, q), (q, p)):
            exact = float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum() * (x[1] - x[0]))
            assert exact <= price.delta_upper(epsilon) + 1e-7


def test_a_price_that_forgets_the_copies_is_too_low() -> None:
    mechanism = bounded(1, 3)
    (half,) = (one.distance for one in mechanism.coordinates)
    x, drawn = np.linspace(-16.0, 16.0, 100_001), half * np.arange(4)[:, None]
    chances = capped_law(1.0, 3)
    p, q = (chances @ stats.norm.pdf(x - side * drawn) for side in (1.0, -1.0))
    epsilon = 5.0
    exact = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * (x[1] - x[0]))
    forgetful = profile_of(replace(mechanism, most=1), FAR).delta_upper(epsilon)
    assert forgetful < 0.5 * exact < exact <= profile_of(mechanism, FAR).delta_upper(epsilon)


def test_an_attack_stays_below_the_price() -> None:
    for mechanism, relation in ((bounded(1, 3), FAR), (bounded(3, 2, presence="private"), NEAR)):
        found = audit_mechanism(mechanism, relation, delta=1e-2, runs=50_000, noise=SimulatedNoise(1))
        assert 0.0 < found.epsilon_lower < found.epsilon_upper


def test_shapes_and_relations() -> None:
    value = bounded(4, 2)
    assert replace(value, presence="private").mu(NEAR) == pytest.approx(value.mu(FAR) / 2.0)
    with pytest.raises(UncertifiedError, match="HG401"):
        value.mu(NEAR)
    with pytest.raises(ParameterError, match="HG406"):
        replace(value, most=0)
    grouped = bootstrap(4, "value-and-count", cells=2)
    both = BoundedResampled(4, 1.0, 2, grouped.shape, grouped.coordinates, "private", 2)
    (a, kappa) = (one.distance for one in grouped.coordinates)
    assert both.mu(FAR) == pytest.approx(2.0 * 2.0 * max(2.0 * a, math.sqrt(2.0) * math.hypot(a, kappa)), rel=1e-5)
    assert both.mu(NEAR) == pytest.approx(2.0 * 2.0 * math.hypot(a, kappa), rel=1e-5)


@pytest.fixture(scope="module")
def survey() -> hg.Survey:
    rng = np.random.default_rng(5)
    age = np.clip(np.rint(rng.normal(40.0, 15.0, 3000)), 0, 100)
    return hg.open(pa.table({"age": age, "sex": np.arange(3000) % 2}), relation="replace-one")


def test_a_release_by_name(survey: hg.Survey, tmp_path: Path) -> None:
    release = survey.release(AGE, by={"sex": [0, 1]}, estimator="bounded-bootstrap", n_resamples=20, epsilon=5.0)
    assert {one.method for one in release} == {"bounded-bootstrap"} and release[0].n_resamples == 20
    assert release.certificate is not None and release.certificate.mu is not None
    assert release.certificate.epsilon <= 5.0
    path = tmp_path / "release.json"
    release.to_json(path)
    assert CliRunner().invoke(app, ["verify", str(path)]).exit_code == 0
    wrong = json.loads(release.to_json())
    wrong["certificate"]["mechanism"]["most"] = 6
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(wrong))
    assert CliRunner().invoke(app, ["verify", str(changed)]).exit_code == 5
    low, high = release[0].confidence_interval().low, release[0].confidence_interval().high
    assert low < release[0].estimate < high


def test_it_has_a_rho_which_the_bootstrap_without_a_limit_has_not(survey: hg.Survey) -> None:
    plan = survey.plan(AGE, estimator="bounded-bootstrap", rho=0.5)
    assert plan.epsilon == pytest.approx(4.887, abs=2e-3)
    with pytest.raises(ParameterError, match="HG141"):
        survey.plan(AGE, estimator="bootstrap", rho=0.5)


def test_the_mean_of_many_releases_is_right_and_so_are_its_errors(survey: hg.Survey) -> None:
    asked = {"estimator": "bounded-bootstrap", "n_resamples": 30, "epsilon": 8.0, "missing": "midpoint"}
    found = [simulated(survey, AGE, rng=seed, **asked)[0] for seed in range(150)]
    values = np.array([one.estimate for one in found])
    rng = np.random.default_rng(5)
    truth = float(np.clip(np.rint(rng.normal(40.0, 15.0, 3000)), 0, 100).mean())
    # Over releases of one file the estimate varies by bootstrap and privacy errors alone.
    own = float(np.mean([math.hypot(one.bootstrap_error or 0.0, one.privacy_error or 0.0) for one in found]))
    assert abs(values.mean() - truth) < 4.0 * own / math.sqrt(len(values))
    assert values.std() == pytest.approx(own, rel=0.25)
    # The sampling error of the mean of 3,000 values with an sd of 15.
    squares = [one.replicates for one in found]
    assert all(one is not None and len(one) == 30 for one in squares)
    assert np.mean([(one.sampling_error or 0.0) ** 2 for one in found]) == pytest.approx(15.0**2 / 3000, rel=0.35)
