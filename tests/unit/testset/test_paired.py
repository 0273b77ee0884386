"""Paired comparison: its sensitivity by brute force, its error by simulation, and what it refuses and tells."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.testing.simulated import SimulatedTestSet
from hedgerow.testset import TestSet
from hedgerow.testset.entries import entries_of
from hedgerow.testset.metric import accuracy, parse_metric
from hedgerow.testset.scored import differences_of, minimum_detectable_paired_difference

N = 2000


def net(labels: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]) -> int:
    found = differences_of(accuracy(), *(entries_of(list(one)) for one in (labels, first, second)))
    return int((found.count * np.where(found.index == 1, 1, -1)).sum())


def test_one_label_moves_the_sum_by_two_at_most_and_attains_it() -> None:
    """Four records, all labels of three values, all predictions for the last: a bound of 1 is refuted."""
    worst = 0
    for labels in product((0, 1, 2), repeat=3):
        for mine in product((0, 1, 2), repeat=2):
            first, second = (0, 1, 1, mine[0]), (1, 1, 0, mine[1])
            sums = [net((*labels, last), first, second) for last in (0, 1, 2)]
            worst = max(worst, max(sums) - min(sums))
    assert worst == 2


def test_the_noise_is_that_of_one_look_in_units_of_two() -> None:
    ts = TestSet(None, np.arange(N) % 2, relation="replace-one", epsilon=1.0, n_looks=20)
    y = np.arange(N) % 2
    score, difference = ts.score(y), ts.compare(y, 1 - y)
    assert difference.privacy_error == pytest.approx(2 * (score.privacy_error or 0))
    assert score.certificate is not None and score.certificate == difference.certificate


def test_differences_are_covered_and_as_noisy_as_they_say() -> None:
    """300 test sets: first right with .85, second .80, equal on most; half the claimed error is rejected."""
    rng, runs, found = np.random.default_rng(5), 300, []
    for run in range(runs):
        y = rng.integers(0, 2, N)
        same = rng.random(N) < 0.9
        first = np.where(rng.random(N) < 0.85, y, 1 - y)
        second = np.where(same, first, np.where(rng.random(N) < 0.35, y, 1 - y))
        ts = SimulatedTestSet(None, y, relation="replace-one", epsilon=2.0, n_looks=10, mechanism="gaussian", rng=run)
        one = ts.compare(first, second)
        truth = 0.1 * (0.85 - 0.35)
        interval = one.confidence_interval()
        error = one.standard_error or 0.0
        found.append((interval.low <= truth <= interval.high, abs(one.value - truth) <= 0.98 * error))
        assert ts.compare(first, second).confidence_interval().low < interval.low
    held, half = np.mean(found, axis=0)
    assert held >= 0.93 and half < 0.8


def test_the_detectable_difference_is_below_sixty_percent() -> None:
    """For models that agree on 90 % of the records, at up to 80 looks; where they agree on nothing it is not."""
    for looks in (20, 50, 80):
        ts = TestSet(None, [0, 1] * 5000, relation="replace-one", epsilon=1.0, n_looks=looks, mechanism="gaussian")
        least = ts.minimum_detectable_difference
        assert least is not None
        assert minimum_detectable_paired_difference(ts.settings, 0.9) <= 0.6 * least
        assert minimum_detectable_paired_difference(ts.settings, 0.0) > 0.7 * least


def test_equal_models_differ_by_nothing_and_are_replayed(tmp_path: Path) -> None:
    y = np.arange(N) % 2
    path = tmp_path / "ts.ledger"
    ts = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=4, mechanism="gaussian", ledger=path)
    first = ts.compare(y, y, request_id="pair")
    assert first.value == 0.0 and first.distinguishable is False
    again = ts.compare(y, y, request_id="pair")
    assert again.replayed and again.value == first.value and ts.remaining == 3
    with pytest.raises(Exception, match="HG311"):
        ts.compare(y, 1 - y, request_id="pair")
    assert ts.score(y).best is None, "a difference is no score to beat"


@pytest.mark.parametrize("odd", [None, "x", float("nan"), 7, (1, 2)])
def test_no_label_changes_how_a_comparison_ends(odd: object) -> None:
    labels: list[object] = [0, 1] * 20
    ts = [
        TestSet(None, held, relation="replace-one", epsilon=1.0, n_looks=4, mechanism="gaussian")
        for held in (labels, [*labels[:-1], odd])
    ]
    pair = [0] * 40, [1] * 40
    ends = [(one.compare(*pair).sampling_error, one.compare(*pair).privacy_error) for one in ts]
    assert ends[0] == ends[1]


def test_what_has_no_proven_price_is_refused() -> None:
    y = np.arange(N) % 2
    other = TestSet(None, y, metric="brier", relation="replace-one", epsilon=1.0, n_looks=4)
    with pytest.raises(UncertifiedError, match="HG431"):
        other.compare(y, y)
    with pytest.raises(UncertifiedError, match="HG431"):
        TestSet(None, y, relation="add-remove", epsilon=1.0, n_looks=4).compare(y, y)
    ts = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=4, mechanism="gaussian")
    with pytest.raises(ParameterError, match="HG170"):
        ts.compare(type("Model", (), {"predict": lambda self, x: y})(), y)
    assert ts.remaining == 4
    for name in ("auc", "F1", "r2"):
        with pytest.raises(ParameterError, match="no such mean"):
            parse_metric(name)
