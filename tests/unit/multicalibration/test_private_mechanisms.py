"""`rounds`, `numeric_sparse` and `input_perturbation`: sums, sensitivities, what they learn, and what they refuse."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hedgerow.accounting.compose import profile_of
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.histograms import HistogramRounds
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.mechanisms.sparse_vector import SparseVector
from hedgerow.multicalibration.calibrated_model import STEPS, Records, bucket_of
from hedgerow.multicalibration.calibration_mechanism import CalibrationMechanism, Setting
from hedgerow.multicalibration.declared_groups import CategoryGroups, Cuts
from hedgerow.multicalibration.family import Family, group_classes, spread_to_patterns, sum_by_group
from hedgerow.multicalibration.input_perturbation import InputPerturbation
from hedgerow.multicalibration.rounds import NoisyCells, NumericSparse, Rounds, exact_cells, shifts_of
from hedgerow.testing.simulated import SimulatedNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
FAMILY = Family(
    (CategoryGroups("race", ("A", "B", "C")), CategoryGroups("sex", ("F", "M")), Cuts("age", (30.0,))), depth=2
)
PRIVATE: list[CalibrationMechanism] = [Rounds(), NumericSparse(), InputPerturbation()]
BUDGET = Budget(1.0, 1e-6)


def some_records(n: int = 40_000, *, seed: int = 1, off: float = 0.15) -> Records:
    """Return n records whose scores are `off` too high everywhere, and as much again in group race=A."""
    rng = np.random.default_rng(seed)
    classes = np.stack([rng.integers(0, levels, n) for levels in FAMILY.levels], axis=1)
    p = rng.beta(2.0, 3.0, n)
    truth = np.clip(p - off - off * (classes[:, 0] == 0), 0.0, 1.0)
    return Records.of(FAMILY, classes, p, (rng.random(n) < truth).astype(np.int64))


def setting(relation: Relation, records: Records | None = None, **options: int) -> Setting:
    n = None if relation is NEAR or records is None else int(records.total())
    return Setting(FAMILY, relation, n, **options)


def worst_error(records: Records, scores: np.ndarray, k: int = 10) -> float:
    """Return max |Σ (y − p)|/n over groups and buckets of these scores."""
    cells = exact_cells(records, np.rint(scores * STEPS).astype(np.int64), k)
    return float(np.abs(cells[:, :k]).max() / STEPS / records.total())


# Blocks ---------------------------------------------------------------------------------------------------------------


def test_blocks_sum_and_spread_as_the_matrix_of_membership_does() -> None:
    rng = np.random.default_rng(3)
    patterns = FAMILY.atom_classes()
    member = FAMILY.membership(patterns).astype(np.int64)
    table, shift = rng.integers(-9, 9, (len(patterns), 4)), rng.normal(size=(len(FAMILY.groups), 4))
    assert np.array_equal(sum_by_group(FAMILY, patterns, table), member.T @ table)
    assert np.allclose(spread_to_patterns(FAMILY, patterns, shift), member @ shift)


def test_blocks_cover_every_group_once_and_a_group_lies_in_those_that_contain_it() -> None:
    starts = [(block.start, block.size) for block in FAMILY.blocks]
    assert [start for start, _ in starts] == list(np.cumsum([0, *[size for _, size in starts]])[:-1])
    assert sum(size for _, size in starts) == len(FAMILY.groups)
    inside = FAMILY.membership(group_classes(FAMILY))
    for row, group in enumerate(FAMILY.groups):
        assert [set(other) <= set(group) for other in FAMILY.groups] == inside[row].tolist()


# Sensitivities, through the sums that a fit makes ---------------------------------------------------------------------


def test_one_record_moves_a_residual_and_its_answer_as_far_as_was_declared() -> None:
    """All pairs of single records on a coarse subset of scores, both relations; a reach one step short is exceeded."""
    family = Family((CategoryGroups("race", ("A",)),), depth=1)
    k = 4
    scores = np.unique(np.concatenate([[0, STEPS], *[[b * STEPS // k - 1, b * STEPS // k] for b in range(1, k)]]))
    vectors = []
    for race, score, label in product((0, 1), scores, (0, 1)):
        zero = np.zeros(1, dtype=np.int64)
        one = Records(family, np.array([[race]]), zero, zero + score, zero + label, zero + 1)
        vectors.append(exact_cells(one, one.score, k))
    cells = np.array(vectors).reshape(len(vectors), len(family.groups), 2, k)
    nothing = np.zeros_like(cells[:1])
    for relation, others in ((NEAR, nothing), (FAR, cells)):
        described = NumericSparse().describe(Setting(family, relation, None, n_buckets=k), BUDGET)
        assert isinstance(described, SparseVector)
        moved = np.abs(cells[:, None] - others[None])
        residual, count = moved[:, :, :, 0].ravel(), moved[:, :, :, 1].ravel()
        statistic = np.abs(np.abs(cells[:, None, :, 0]) - np.abs(others[None, :, :, 0]))
        assert statistic.max() <= described.reach and residual.max() == described.reach
        allowed = np.array(described.answer_moves)
        within = (residual[:, None] <= allowed[:, 0]) & (count[:, None] <= allowed[:, 1])
        assert within.any(axis=1).all()
        short = allowed - [[1, 0]]
        assert not ((residual[:, None] <= short[:, 0]) & (count[:, None] <= short[:, 1])).any(axis=1).all()


@pytest.mark.parametrize("relation", [NEAR, FAR])
@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("mechanism", PRIVATE, ids=lambda mechanism: mechanism.name)
def test_all_models_together_meet_the_budget(mechanism: CalibrationMechanism, models: int, relation: Relation) -> None:
    if mechanism.name == "input_perturbation" and relation is NEAR:
        with pytest.raises(UncertifiedError, match="HG425"):
            mechanism.describe(setting(relation), BUDGET)
        return
    public = Setting(FAMILY, relation, 1000, models=models)
    described = mechanism.describe(public, BUDGET)
    assert described is not None
    from hedgerow.mechanisms.mechanism import Composition

    whole = Composition(parts_of(described) * models)
    assert 0.99 < profile_of(whole, relation).epsilon_upper(BUDGET.delta) <= 1.0


def test_rounds_have_no_price_at_delta_zero() -> None:
    with pytest.raises(UncertifiedError, match="HG427"):
        Rounds().describe(setting(NEAR), Budget(1.0, 0.0))


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Rounds(rounds=0), "HG184"),
        (lambda: Rounds(residual_share=1.0), "HG182"),
        (lambda: NumericSparse(positives=0), "HG184"),
        (lambda: NumericSparse(threshold=-1.0), "HG184"),
        (lambda: InputPerturbation(everybody=0.0), "HG182"),
    ],
)
def test_impossible_parameters_are_refused(make: object, code: str) -> None:
    with pytest.raises(ParameterError, match=code):
        make()


# What is learnt -------------------------------------------------------------------------------------------------------


def test_rounds_and_numeric_sparse_calibrate_groups() -> None:
    records = some_records()
    before = worst_error(records, records.scores)
    for mechanism, part in ((Rounds(), 0.25), (NumericSparse(), 0.5)):
        for relation in (NEAR, FAR):
            public = setting(relation, records)
            described = mechanism.describe(public, Budget(2.0, 1e-6))
            fitted = mechanism.run(public, described, records, SimulatedNoise(11))
            after = fitted.calibration.apply(FAMILY, records.patterns[records.pattern], records.scores)
            assert worst_error(records, after) < part * before, (mechanism.name, relation)


def test_each_round_is_read_once_and_gives_what_reading_all_of_them_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """As each record of a model is read again: at the end, from the tables alone."""
    steps, step = list[int](), Rounds._step
    monkeypatch.setattr(Rounds, "_step", lambda self, *given: steps.append(1) or step(self, *given))
    records, mechanism = some_records(), Rounds(rounds=5)
    public = setting(NEAR, records)
    described = mechanism.describe(public, Budget(2.0, 1e-6))
    fitted = mechanism.run(public, described, records, SimulatedNoise(11))
    assert len(steps) == len(fitted.released) == 5
    again = mechanism.read(public, described, [one.values for one in fitted.released])
    drawn = records.patterns[records.pattern], records.scores
    assert np.array_equal(again.calibration.apply(FAMILY, *drawn), fitted.calibration.apply(FAMILY, *drawn))


def test_input_perturbation_calibrates_everybody_and_no_more_at_this_size() -> None:
    records = some_records(60_000)
    public = setting(FAR, records)
    described = InputPerturbation().describe(public, Budget(2.0, 0.0))
    assert described.views == (20,)
    fitted = InputPerturbation().run(public, described, records, SimulatedNoise(11))
    moved = fitted.calibration.apply(FAMILY, records.patterns[records.pattern], records.scores)
    assert worst_error(records, moved) < 0.5 * worst_error(records, records.scores)
    assert {cell["group"] for table in fitted.released for cell in table.cells} == {"all"}


def test_input_perturbation_shows_columns_where_there_are_enough_records() -> None:
    public = Setting(FAMILY, FAR, 10**9)
    described = InputPerturbation().describe(public, Budget(1.0, 0.0))
    assert described.views == (20, 60, 40, 40)
    records = some_records(5_000)
    asked = InputPerturbation(everybody=0.4)
    few = asked.describe(setting(FAR, records), Budget(1.0, 0.0))
    released = asked.run(setting(FAR, records), few, records, SimulatedNoise(1)).released
    assert [len(table.cells) for table in released] == [10, 30, 20, 20]


@pytest.mark.parametrize("mechanism", PRIVATE, ids=lambda mechanism: mechanism.name)
def test_scores_that_are_right_are_left_alone(mechanism: CalibrationMechanism) -> None:
    """ε = 1: what moves is noise at z standard deviations, and shrunk; the mean move stays below .04."""
    records = some_records(off=0.0)
    public = setting(FAR, records)
    fitted = mechanism.run(public, mechanism.describe(public, BUDGET), records, SimulatedNoise(5))
    after = fitted.calibration.apply(FAMILY, records.patterns[records.pattern], records.scores)
    kept = np.abs(after - np.clip(records.scores, 0.001, 0.999))
    assert np.average(kept, weights=records.count) < 0.04


def test_the_model_takes_the_steps_that_the_fit_took() -> None:
    """The scores of the last round, replayed by the model, give the cells of a further round."""
    records = some_records(5_000)
    public = setting(NEAR)
    first, second = Rounds(rounds=1), Rounds(rounds=2)
    described = second.describe(public, Budget(5.0, 1e-6))
    assert isinstance(described, HistogramRounds)
    one = first.run(public, replace(described, rounds=1), records, SimulatedNoise(4))
    two = second.run(public, described, records, SimulatedNoise(4))
    assert np.array_equal(one.released[0].values, two.released[0].values)
    wide = replace(one.calibration, low=0.0, high=1.0)
    moved = wide.apply(FAMILY, records.patterns[records.pattern], records.scores)
    exact = exact_cells(records, np.rint(moved * STEPS).astype(np.int64), 10)
    noise = two.released[1].column("residual").reshape(-1, 10) - exact[:, :10] / STEPS
    spread = two.released[1].sd("residual")
    assert np.abs(noise).max() < 6 * spread
    stale = two.released[1].column("residual").reshape(-1, 10) - exact_cells(records, records.score, 10)[:, :10] / STEPS
    assert np.abs(stale).max() > 10 * spread, "residuals of the original scores must not fit"


def test_a_model_follows_from_what_was_released_alone() -> None:
    """Other records, same releases: whatever the records, equal tables make equal shifts."""
    cells = NoisyCells(*(np.random.default_rng(7).normal(50, 40, (len(FAMILY.groups), 10)) ** 2 for _ in range(4)))
    assert np.array_equal(shifts_of(FAMILY, cells, z=2.0), shifts_of(FAMILY, cells, z=2.0))
    records = some_records(3_000)
    public = setting(NEAR)
    fitted = NumericSparse().run(public, NumericSparse().describe(public, BUDGET), records, SimulatedNoise(2))
    table = fitted.released[0]
    assert len(table.cells) <= 10 and len(fitted.calibration.to_dict()["rounds"]) <= len(table.cells)


def test_noise_of_a_tenth_would_be_seen() -> None:
    """The spread of the released residuals of cells that hold nobody: 3,000 draws at 5 s.e.; a tenth is rejected."""
    nobody = some_records(1_000)
    empty = replace(nobody, count=np.zeros_like(nobody.count))
    public = setting(NEAR)
    described = Rounds(rounds=10).describe(public, BUDGET)
    released = Rounds(rounds=10).run(public, described, empty, SimulatedNoise(3)).released
    drawn = np.concatenate([table.column("residual") for table in released])
    ratio = drawn.std() / released[0].sd("residual")
    assert abs(ratio - 1.0) < 5 / math.sqrt(2 * len(drawn)) and abs(0.1 * ratio - 1.0) > 0.5


def test_a_threshold_far_up_finds_nothing_and_moves_nothing() -> None:
    records = some_records(2_000)
    public = setting(NEAR)
    mechanism = NumericSparse(threshold=1e4)
    fitted = mechanism.run(public, mechanism.describe(public, BUDGET), records, SimulatedNoise(1))
    assert len(fitted.released[0].cells) == 0 and fitted.calibration.to_dict()["rounds"] == []


def test_cells_are_those_of_records_one_by_one() -> None:
    records = some_records(500)
    k = 7
    found = exact_cells(records, records.score, k)
    member, bucket = records.membership[records.pattern], bucket_of(records.score, k)
    for group in range(len(FAMILY.groups)):
        for b in range(k):
            rows = member[:, group] & (bucket == b)
            assert found[group, b] == (records.count * records.residual)[rows].sum()
            assert found[group, k + b] == records.count[rows].sum()
