"""What one record holds never changes how another one counts, nor how many random records there are."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

from hedgerow.engines.source import open_source
from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.sparse_vector import SparseVector, sparse_vector
from hedgerow.multicalibration import Multicalibrator
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_fit import ScoredColumns, records_from
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.declared_groups import CategoryGroups, Disjoint, Predicate
from hedgerow.multicalibration.family import Family, records_of
from hedgerow.multicalibration.input_perturbation import InputPerturbation
from hedgerow.multicalibration.rounds import NumericSparse, Rounds, exact_cells
from hedgerow.testing.simulated import SimulatedNoise


@pytest.mark.parametrize("odd", ["x", None, [7], 10**400])
@pytest.mark.parametrize("form", ["rows", "columns"])
def test_an_odd_cell_leaves_the_groups_of_other_records_alone(odd: object, form: str) -> None:
    scores, classes = [0.5] * 5, [0, 1, 1, 0, odd]
    records = {0: scores, 1: classes} if form == "columns" else [[s, c] for s, c in zip(scores, classes, strict=True)]
    found = records_of(records)
    assert CategoryGroups(1, (0, 1)).codes(found).tolist() == [0, 1, 1, 0, 2]
    assert Disjoint((1,)).codes(found).tolist()[:4] == [1, 0, 0, 1]


def test_a_predicate_is_shown_listed_records_as_numbers() -> None:
    found = records_of([[0.25, 1], [0.5, 2]])
    assert Predicate("two", lambda X: np.log(X[:, 1]) > 0.0).codes(found).tolist() == [1, 0]
    assert Predicate("high", lambda x: x[0] > 0.3 and x[1]).codes(found).tolist() == [1, 1]
    assert Predicate("high", lambda x: x[0] > 0.3 and x[1] == 2).codes(found).tolist() == [1, 0]


class _Seen:
    """A mechanism that keeps what it was shown."""

    name, default_delta = "table", 0.0

    def __init__(self) -> None:
        self.records: Records | None = None

    def describe(self, setting: Setting, budget: Budget) -> object:
        return CountTable().describe(setting, budget)

    def run(self, setting: Setting, described: object, records: Records, noise: object) -> object:
        self.records = records
        return CountTable().run(setting, described, records, SimulatedNoise(1))


@pytest.mark.parametrize("odd", ["x", True])
def test_an_odd_label_leaves_the_labels_of_other_records_alone(odd: object) -> None:
    labels: list[object] = [0, 1, 1, 0, 1]
    for last in (0, odd):
        seen = _Seen()
        Multicalibrator(mechanism=seen, score_column=0, relation="add-remove", epsilon=1.0).fit(
            [[0.25]] * 6, [*labels, last]
        )
        assert seen.records is not None
        ones = int(seen.records.count[seen.records.label == 1].sum())
        assert ones == 3 + (last is True)


@pytest.mark.parametrize("odd", ["high", None, 10**400])
def test_a_score_that_is_no_number_fails_no_fit(odd: object) -> None:
    seen = _Seen()
    X = {"score": np.array([0.25, 0.5, odd], dtype=object)}
    rows = np.stack([X["score"]], axis=1)
    Multicalibrator(mechanism=seen, score_column=0, relation="add-remove", epsilon=1.0).fit(rows, [0, 1, 1])
    assert seen.records is not None
    assert seen.records.score.tolist() == [250_000, 500_000]
    assert seen.records.count.sum() == 3


@pytest.mark.parametrize("views", [1.0, 0.5])
def test_a_record_that_is_left_out_is_randomised_like_any_other(views: float) -> None:
    """The number of randomised records is n, whoever has no label: sums of bits lie where those of n records do."""
    family = Family((CategoryGroups("sex", (0, 1)),), depth=1)

    def ones(labels: list[int | None], seed: int) -> list[float]:
        table = pyarrow.table({"p": [0.25] * 6, "sex": [0, 1] * 3, "y": pyarrow.array(labels, pyarrow.int64())})
        source = open_source(table)
        assert source.count_rows() == 6
        setting = Setting(family, Relation.REPLACE_ONE, 6, n_buckets=2)
        mechanism = InputPerturbation(everybody=views)
        described = mechanism.describe(setting, Budget(1.0, 0.0))
        records = records_from(source, family, ScoredColumns("y", "p"))
        (first, *_) = mechanism.run(setting, described, records, SimulatedNoise(seed)).released
        q = described.chance
        return list(np.ravel(first.values) * (0.5 - q) + 6 * q)

    for seed in range(20):
        for labels in ([1, 0, 1, 0, 1, 1], [1, 0, 1, 0, 1, None], [None] * 6):
            counted = ones(labels, seed)
            if views == 1.0:
                # All n show this view, so (ones − n·q)/(½ − q) is told: `ones` is a whole number up to n.
                assert np.allclose(counted, np.rint(counted), atol=1e-9)
                assert min(counted) > -0.5 and max(counted) < 6.5
    assert len({tuple(np.round(ones([None] * 6, seed), 6)) for seed in range(20)}) > 1


def test_more_records_than_are_public_are_refused() -> None:
    family = Family((), depth=1)
    records = Records.of(family, np.zeros((3, 0), dtype=np.int64), np.full(3, 0.5), np.array([0, 1, 1]))
    setting = Setting(family, Relation.REPLACE_ONE, 2)
    mechanism = InputPerturbation()
    described = mechanism.describe(setting, Budget(1.0, 0.0))
    with pytest.raises(ValueError, match="more records"):
        mechanism.run(setting, described, records, SimulatedNoise(1))


def test_noise_that_would_leave_64_bits_is_refused() -> None:
    with pytest.raises(ParameterError) as refused:
        sparse_vector(1e-6, Relation.ADD_REMOVE, reach=10**6, positives=100_000)
    assert refused.value.code == "HG107"
    assert SparseVector(Relation.ADD_REMOVE, 1, False, 1, 2.0**53, 1.0).threshold_scale == 2.0**53


@pytest.mark.parametrize("threshold", [float("inf"), float("nan"), -1.0])
def test_a_threshold_is_a_finite_number(threshold: float) -> None:
    with pytest.raises(ParameterError) as refused:
        NumericSparse(threshold=threshold)
    assert refused.value.code == "HG184"


def test_one_record_moves_the_cells_of_rounds_by_what_is_priced() -> None:
    """All pairs of records on a coarse set of scores, two attributes: the exact movement never exceeds μ."""
    family = Family((CategoryGroups("a", (0, 1)), CategoryGroups("b", (0, 1))), depth=2)
    public = Setting(family, Relation.REPLACE_ONE, 1, n_buckets=3)
    described = Rounds(rounds=1).describe(public, Budget(1.0, 1e-6))
    scores = [0.0, 0.2, 1 / 3, 0.5, 0.999999, 1.0]
    classes = [(0, 0), (0, 1), (1, 0), (2, 2)]
    moved = []
    for score in scores:
        for label in (0, 1):
            for one in classes:
                records = Records.of(family, np.array([one]), np.array([score]), np.array([label]))
                cells = exact_cells(records, records.score, 3).reshape(-1, 2, 3)
                widths = np.array([described.residual.in_units, described.count.in_units])
                moved.append((cells / widths[None, :, None]).ravel())
    table = np.array(moved)
    largest = float(np.sqrt(((table[:, None] - table[None, :]) ** 2).sum(axis=2)).max())
    stated = described.mu(Relation.REPLACE_ONE)
    assert 0.95 * stated < largest <= stated
    assert float(np.sqrt((table**2).sum(axis=1)).max()) <= described.mu(Relation.ADD_REMOVE)
