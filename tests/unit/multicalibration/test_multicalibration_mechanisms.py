"""`none` against the algorithm written out, and `table`: what is counted, priced, drawn and read."""

import dataclasses
from inspect import signature

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.accounting.compose import profile_of
from hedgerow.cli.shared_options import filled
from hedgerow.cli.verbs.calibrating import multicalibrate
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import Composition, parts_of
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.multicalibration import family_of, multicalibration_error
from hedgerow.multicalibration.calibrated_model import HIGH, LOW, Patches, Records, ScoreBins, Shifts
from hedgerow.multicalibration.calibration_mechanism import MECHANISMS, Setting, mechanism_class, mechanism_named
from hedgerow.multicalibration.count_table import CountTable, exact_places
from hedgerow.multicalibration.family import records_of
from hedgerow.testing.published import NoPrivacy
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
FAMILY = family_of({0: [0, 1, 2], 1: [0, 1]})
SETTING = Setting(FAMILY, Relation.ADD_REMOVE, None)


def population(n: int, seed: int) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Scores that are too high for one group and too low for another."""
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(0, 3, n), rng.integers(0, 2, n)], axis=1)
    p = np.round(rng.beta(1.0, 2.0, n), 6)
    truth = np.clip(p + 0.25 * (X[:, 0] == 1) - 0.2 * p * (X[:, 1] == 1), 0.0, 1.0)
    return X, p, (rng.random(n) < truth).astype(np.int64)


def records(X: NDArray[np.int64], p: Floats, y: NDArray[np.int64]) -> Records:
    return Records.of(FAMILY, FAMILY.classes(records_of(X)), p, y)


def algorithm_1(X: NDArray[np.int64], p: Floats, y: NDArray[np.int64], k: int, alpha: float) -> Floats:
    """Algorithms 1 and 2 of Fishman et al. record by record, in plain floating point, with projection."""
    member, p = FAMILY.membership(FAMILY.classes(records_of(X))), p.copy()
    for _ in range(100):
        updated = False
        for g in range(member.shape[1]):
            for b in range(k):
                inside = member[:, g] & (np.minimum(np.floor(p * k + 1e-9), k - 1) == b)
                if inside.sum() < max(1.0, alpha * member[:, g].sum() / k):
                    continue
                r = y[inside].mean() - p[inside].mean()
                if abs(r) >= alpha / 2:
                    p[inside] = np.clip(p[inside] + round(r, 6), 0.0, 1.0)
                    updated = True
        if not updated:
            return p
    raise AssertionError("it did not end")


@pytest.mark.parametrize(("n", "k", "alpha"), [(400, 10, 0.1), (3000, 10, 0.1), (3000, 6, 0.05)])
def test_none_is_the_published_algorithm(n: int, k: int, alpha: float) -> None:
    X, p, y = population(n, 1)
    setting = dataclasses.replace(SETTING, n_buckets=k, alpha=alpha)
    fitted = NoPrivacy(0.0, 1.0).run(setting, None, records(X, p, y), SimulatedNoise(1))
    applied = fitted.calibration.apply(FAMILY, FAMILY.classes(records_of(X)), p)
    np.testing.assert_allclose(applied, algorithm_1(X, p, y, k, alpha), atol=1e-4)
    assert isinstance(fitted.calibration, Patches) and len(fitted.calibration.rounds) > 3


def test_after_none_every_large_cell_is_calibrated() -> None:
    X, p, y = population(5000, 2)
    after = NoPrivacy(0.0, 1.0).run(SETTING, None, records(X, p, y), SimulatedNoise(1)).after
    assert after is not None
    large = after.count >= 0.1 * after.count.sum(axis=1, keepdims=True) / 10
    assert (np.abs(after.residual) < 0.0501 * after.count)[large & (after.count > 0)].all()


def test_the_table_counts_each_record_once() -> None:
    X, p, y = population(2000, 3)
    counts = CountTable().counts(records(X, p, y))
    assert counts.sum() == 2000 and counts.shape == (FAMILY.atoms * 40, 2)
    bins = ScoreBins(40)
    for row in range(0, 2000, 97):
        atom = FAMILY.atom_codes(FAMILY.classes(records_of(X[row : row + 1])))[0]
        cell = atom * 40 + bins.of(p[row : row + 1])[0]
        fewer = CountTable().counts(records(np.delete(X, row, 0), np.delete(p, row), np.delete(y, row)))
        moved = np.argwhere(counts != fewer)
        assert moved.tolist() == [[cell, y[row]]] and (counts - fewer).sum() == 1


@pytest.mark.parametrize(("relation", "touched"), [(Relation.ADD_REMOVE, 1), (Relation.REPLACE_ONE, 2)])
@pytest.mark.parametrize("models", [1, 3])
def test_the_price_is_met_and_hardly_missed(relation: Relation, touched: int, models: int) -> None:
    setting = dataclasses.replace(SETTING, relation=relation, n=100, models=models)
    described = CountTable().describe(setting, Budget(0.7, 0.0))
    assert isinstance(described, Composition)
    counts, places = described.parts
    assert isinstance(counts, GeometricCounts) and isinstance(places, GeometricCounts)
    assert (counts.cells, places.cells) == (FAMILY.atoms * 80, 40)
    price = profile_of(Composition(described.parts * models), relation).epsilon_upper(0.0)
    assert 0.699 < price <= 0.7
    assert counts.scale == pytest.approx(touched * models / 0.7 / 0.95, rel=2e-3)
    assert places.scale == pytest.approx(touched * models / 0.7 / 0.05, rel=2e-3)


def test_bins_become_coarser_with_atoms_and_a_table_too_large_is_refused() -> None:
    def bins(values: int) -> int:
        return CountTable().score_bins(family_of({"a": range(values)})).count

    assert (bins(9), bins(999), bins(9999)) == (40, 20, 10)
    with pytest.raises(UncertifiedError) as refused:
        CountTable().describe(
            Setting(family_of({"a": range(30_000)}, depth=1), Relation.ADD_REMOVE, None), Budget(1.0, 0.0)
        )
    assert refused.value.code == "HG421"
    two = family_of({"a": range(200), "b": range(200)}, depth=1)
    with pytest.raises(UncertifiedError) as refused:
        CountTable().describe(Setting(two, Relation.ADD_REMOVE, None), Budget(1.0, 0.0))
    assert refused.value.code == "HG422"


def test_a_table_mends_what_is_wrong_and_leaves_what_is_right() -> None:
    X, p, y = population(40_000, 4)
    described = CountTable().describe(SETTING, Budget(1.0, 0.0))
    fitted = CountTable().run(SETTING, described, records(X, p, y), SimulatedNoise(5))
    X, p, y = population(40_000, 5)
    made = fitted.calibration.apply(FAMILY, FAMILY.classes(records_of(X)), p)
    before, after = (multicalibration_error(y, q, {0: [0, 1, 2], 1: [0, 1]}, X=X) for q in (p, made))
    assert before > 0.012 and after < 0.005
    right = (np.random.default_rng(6).random(40_000) < p).astype(np.int64)
    kept = CountTable().run(SETTING, described, records(X, p, right), SimulatedNoise(7)).calibration
    assert isinstance(kept, Shifts) and (kept.shift != 0).mean() < 0.12


def test_a_table_of_noise_alone_moves_nearly_nothing() -> None:
    """No record at all: with 360 cells × several groups, 2.5 sd is passed by chance now and then."""
    described = CountTable().describe(SETTING, Budget(1.0, 0.0))
    nobody = records(np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64))
    for seed in range(5):
        fitted = CountTable().run(SETTING, described, nobody, SimulatedNoise(seed))
        assert isinstance(fitted.calibration, Shifts) and (np.abs(fitted.calibration.shift) > 0.2).mean() < 0.02


@pytest.mark.parametrize("values", [[0.5], [0.1, 0.3, 0.5, 0.7, 0.9], np.arange(11) / 10], ids=["one", "odd", "tenths"])
def test_scores_of_few_values_that_are_right_stay_so(values: list[float]) -> None:
    """A tree's or a neighbour's scores lie anywhere in their bins: read at the middles they would be "corrected"."""
    rng = np.random.default_rng(2)
    X, p = rng.integers(0, 2, (100_000, 2)), rng.choice(values, 100_000)
    y = (rng.random(100_000) < p).astype(np.int64)
    fitted = CountTable().run(
        SETTING, CountTable().describe(SETTING, Budget(1.0, 0.0)), records(X, p, y), SimulatedNoise(3)
    )
    made = fitted.calibration.apply(FAMILY, FAMILY.classes(records_of(X)), p)
    assert np.abs(made - np.clip(p, LOW, HIGH)).mean() < 0.002
    assert fitted.before is not None
    assert np.abs(fitted.before.residual).max() / 100_000 < 0.005


def test_one_record_moves_where_scores_lie_by_at_most_one_in_its_own_bin() -> None:
    rng = np.random.default_rng(4)
    bins = ScoreBins(7)
    X, p, y = (
        rng.integers(0, 2, (300, 2)),
        rng.choice([0.0, 0.2, 0.5, 1.0, *bins.edges.round(6)], 300),
        np.ones(300, dtype=int),
    )
    whole = exact_places(records(X, p, y), bins)
    assert 0 < whole.sum() < 300
    for row in range(300):
        fewer = exact_places(records(np.delete(X, row, 0), np.delete(p, row), np.delete(y, row)), bins)
        moved = np.flatnonzero(whole != fewer)
        assert moved.tolist() in ([], [int(bins.of(p[[row]])[0])]) and 0 <= (whole - fewer).sum() <= 1


def test_outputs_stay_in_their_range_whatever_the_scores() -> None:
    shifts = Shifts(np.array([0.5]), np.array([[-1.0, 1.0]]), LOW, HIGH)
    nobody = family_of(None)
    scores = np.array([0.0, 1.0, -3.0, 7.0, np.nan])
    made = shifts.apply(nobody, np.zeros((5, 0), dtype=np.int64), scores)
    assert made.tolist() == [LOW, HIGH, LOW, HIGH, HIGH]
    made = Patches(10, ()).apply(nobody, np.zeros((5, 0), dtype=np.int64), scores)
    assert made.tolist() == [0.0, 1.0, 0.0, 1.0, 0.5]


@pytest.mark.parametrize("name", ["table", "rounds", "numeric_sparse", "input_perturbation"])
def test_every_mechanism_goes_by_its_name(name: str) -> None:
    assert mechanism_named(name).name == name


def test_a_calibration_without_privacy_is_not_asked_for_by_name() -> None:
    with pytest.raises(ParameterError) as refused:
        mechanism_named("none")
    assert refused.value.code == "HG167" and "hedgerow.testing.published" in str(refused.value.remedy)
    assert mechanism_named(NoPrivacy()).name == "none"


@pytest.mark.parametrize("wrong", ["tabel", CountTable, 3])
def test_what_is_no_mechanism_is_refused(wrong: object) -> None:
    with pytest.raises(ParameterError) as refused:
        mechanism_named(wrong)
    assert refused.value.code == "HG167"


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_says_what_others_need(name: str) -> None:
    found = mechanism_class(name)
    assert found is not None and found.name == name
    setting = Setting(family_of({"sex": [0, 1]}), Relation.REPLACE_ONE, 1000)
    described = found().describe(setting, Budget(1.0, found.default_delta))
    parts = parts_of(described)
    assert tuple(map(type, parts)) == found.noise and parts
    (option,) = signature(multicalibrate).parameters["mechanism"].annotation.__metadata__
    assert name in filled(option.help), "the help text lists it"
