"""Parts and comparisons under add-remove: what one record moves and tells, coverage, attacks, files, refusals."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.testing.simulated import SimulatedNoise, SimulatedTestSet
from hedgerow.testset import TestSet
from hedgerow.testset.entries import entries_of
from hedgerow.testset.file_columns import FileColumns
from hedgerow.testset.metric import accuracy
from hedgerow.testset.parts.counted_parts import CountedParts
from hedgerow.testset.scored import differences_of, paired_look, with_equal
from hedgerow.testset.scores import Score

GIVEN: dict[str, Any] = {"relation": "add-remove", "mechanism": "gaussian"}


def vectors(parts: CountedParts) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return what each kind of record adds to (N, Σ) of all parts, and the widths of the noise."""
    described = parts.mechanism(1.0)
    added = np.zeros((parts.cells, 2, parts.cells, 2))
    for cell, outcome in product(range(parts.cells), (0, 1)):
        added[cell, outcome, cell] = (1.0, 2.0 * outcome - 1.0)
    assert described.noise.count is not None
    widths = np.array([described.noise.count.in_units, described.noise.total.in_units / described.layout.reach])
    return (added / widths).reshape(2 * parts.cells, -1), widths


@pytest.mark.parametrize("kind", ["right", "classes"])
@pytest.mark.parametrize("groups", [("",), ("a", "b", "c")])
def test_a_record_that_comes_moves_the_parts_by_less_than_the_price(kind: Any, groups: tuple[str, ...]) -> None:
    """μ/√2 at most, which tells of a record what a plain look of μ may; with the noise of that look it would not."""
    added, _ = vectors(CountedParts(kind, groups))
    moved = np.linalg.norm(added, axis=1)
    assert (moved <= math.sqrt(0.5) * (1 + 1e-9)).all() and moved.max() > 0.999 * math.sqrt(0.5)
    # All lie in a ball of this radius: the information is half of its square, μ²/4, that of a plain look.
    ts = TestSet(None, [0, 1] * 50, epsilon=1.0, n_looks=10, **GIVEN)
    plain, mu = ts.settings.mechanism.of_one_record(), ts.settings.mechanism.mu
    assert mu is not None and plain == pytest.approx(mu**2 / 4.0, rel=1e-4)
    assert moved.max() ** 2 / 2.0 * mu**2 <= plain * (1 + 1e-4)
    assert (math.sqrt(2.0) * moved.max()) ** 2 / 2.0 * mu**2 > 1.9 * plain
    certificate = CountedParts(kind, groups).mechanism(mu).repeated(10, Relation.ADD_REMOVE)
    assert certificate.epsilon_upper(1e-6) <= 1.0


def test_a_comparison_tells_of_a_record_what_a_plain_look_tells() -> None:
    """By brute force over d = −1, 0, 1; at the price of a plain look it would tell half as much again."""
    ts = TestSet(None, [0, 1] * 50, epsilon=1.0, n_looks=10, **GIVEN)
    look, plain = paired_look(ts.settings), ts.settings.mechanism
    (total, _), _ = look.losses.widths(look.described)
    square = look.described.noise.square.in_units / look.described.layout.reach**2
    points = np.array([(d / total, d * d / square) for d in (-1.0, 0.0, 1.0)])
    # The centre of the smallest circle about an isosceles triangle, or of its longest side.
    centres = np.linspace(0.0, 1.0 / square, 2001)
    radius = min(max(np.hypot(points[:, 0], points[:, 1] - at)) for at in centres)
    assert radius**2 / 2.0 <= plain.of_one_record() * (1 + 1e-4)
    assert look.of_one_record() == pytest.approx(plain.of_one_record(), rel=1e-3)
    assert look.mu is not None and plain.mu is not None and 0.7 < look.mu / plain.mu < 0.85


def test_sums_without_noise_are_the_shares_themselves() -> None:
    """At a huge price of one look, metrics of groups and of all records; records left out count in no group."""
    rng, n = np.random.default_rng(3), 3000
    y, p, g = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    parts = CountedParts("classes", ("0", "1", "2"), ("n0.0", "n1.0", "n2.0"), 1)
    sent, groups = entries_of(p), entries_of([*g[: n - 100].tolist(), *[None] * 100])
    described = parts.mechanism(1e6)
    placed = parts.placed(sent, groups)
    known = parts.of_groups(described, placed.draw(described, y == 1, SimulatedNoise(1)))
    for number, counted in enumerate(known):
        rows = np.arange(n) if number == 3 else np.flatnonzero(g[: n - 100] == number)
        truth = [np.sum((p[rows] == a) & (y[rows] == b)) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))]
        assert np.allclose(counted.counts, truth, atol=0.01) and counted.total[0] == pytest.approx(len(rows), abs=0.05)


def scores_of(runs: int) -> list[tuple[Score, Score, Score]]:
    """Return two looks by parts and a comparison of each of many test sets."""
    found = []
    for run in range(runs):
        rng, n = np.random.default_rng(run), 4000
        y, g = rng.integers(0, 2, n), rng.integers(0, 2, n)
        p = np.where(rng.random(n) < 0.8, y, 1 - y)
        q = np.where(rng.random(n) < 0.9, p, 1 - p)
        ts = SimulatedTestSet(None, y, epsilon=2.0, n_looks=10, rng=run, **GIVEN)
        found.append(
            (ts.score(p, metric=["recall", "f1", "balanced_accuracy"]), ts.score(p, groups=g), ts.compare(p, q))
        )
    return found


def test_intervals_hold_the_truth_and_half_of_one_does_not() -> None:
    """120 test sets of 4,000 records: shares of .8, a difference of .06; intervals of half the width miss too often."""
    hits, halves = [], []
    for first, second, compared in scores_of(120):
        truths = [(part, 0.8) for part in (*first.parts, *second.parts)] + [(compared, 0.06)]
        for estimate, truth in truths:
            # Only the first look has no wider interval for fitted models.
            interval = getattr(estimate, "fixed_model", None) or estimate.confidence_interval()
            hits.append(interval.low <= truth <= interval.high)
            halves.append(abs(estimate.value - truth) <= (interval.high - interval.low) / 4.0)
    n = len(hits)
    assert stats.binom.cdf(sum(hits), n, 0.93) > 1e-6
    assert stats.binom.cdf(sum(halves), n, 0.93) < 1e-12


def test_fitted_intervals_hold_an_attacked_model_and_are_wider() -> None:
    """A guess is set to its better side in 40 blocks by earlier answers, under add-remove."""
    held, wide = [], []
    for run in range(12):
        rng, n = np.random.default_rng(run), 4000
        y, guess, block = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(0, 40, n)
        ts = SimulatedTestSet(None, y, epsilon=1.0, n_looks=40, rng=run, **GIVEN)
        sums = np.zeros(40)
        for _ in range(30):
            score = ts.score(guess, groups=block)
            sums += [score["accuracy", number].value - 0.5 for number in range(40)]
        model = np.where(sums[block] >= 0.0, guess, 1 - guess)
        looks = [ts.score(model), ts.score(model, metric=["balanced_accuracy", "precision"])]
        for part in (looks[0], *looks[1].parts):
            interval, fixed = part.confidence_interval(), part.fixed_model
            assert fixed is not None
            held.append((interval.low <= 0.5 <= interval.high, fixed.low <= 0.5 <= fixed.high))
            wide.append(interval.high - interval.low)
        compared = ts.compare(model, guess).confidence_interval()
        held.append((compared.low <= 0.0 <= compared.high, True))
    fitted, fixed_held = np.mean(held, axis=0)
    assert fitted == 1.0 and fixed_held < 0.9 and max(wide) < 1.0


def test_what_is_not_offered_is_refused_before_a_look() -> None:
    y = np.arange(400) % 2
    ts = TestSet(None, y, epsilon=1.0, n_looks=4, **GIVEN)
    for metric, sent in (("roc_auc", y * 0.5), ("calibration_error", y * 0.5), ("r2", y)):
        with pytest.raises(UncertifiedError, match=r"HG431.*relation"):
            ts.score(sent, metric=metric, bounds=(0, 1))
    laplace = TestSet(None, y, relation="add-remove", epsilon=1.0, n_looks=4, mechanism="laplace")
    for ask in (lambda: laplace.compare(y, y), lambda: laplace.score(y, groups=y)):
        with pytest.raises(UncertifiedError, match=r"HG431.*mechanism"):
            ask()
    assert ts.remaining == laplace.remaining == 4


def test_the_end_of_a_look_tells_no_number_of_records() -> None:
    """Test sets with one record more, the same sent: no refusal, the same names, no sizes anywhere on the record."""
    sent, groups, seen = [0, 1] * 30, ["a", "b", "c"] * 20, []
    for n in (59, 60, 61):
        ts = TestSet(None, ([0, 1] * 31)[:n], epsilon=1.0, n_looks=4, **GIVEN)
        scores = [ts.score(sent, metric="f1", groups=groups), ts.compare(sent, sent[::-1])]
        assert all(part.records is None for part in scores[0].parts)
        records = [json.loads(score.to_json()) for score in scores]
        assert "sizes" not in records[0]["released"] and records[1]["test_set"]["n"] is None
        seen.append([sorted(record["released"]) for record in records])
        assert [part.group for part in scores[0].parts] == [None, "a", "b", "c"]
        third = json.loads(ts.score(sent).to_json())["test_set"]
        assert third["numbers_before"] == 4 * 2 * 2 + 2, "three groups and the rest, two parts, two numbers; Σ d, Σ d²"
    assert seen[0] == seen[1] == seen[2]


def test_files_are_joined_by_key_and_what_is_left_out_counts_as_wrong(tmp_path: Path) -> None:
    n = 3000
    rows = [f"k{number},{number % 2}" for number in range(n)]
    (tmp_path / "y.csv").write_text("key,y\n" + "\n".join(rows) + "\n")
    # A third is left out, and records are predicted for that do not exist.
    sent = [f"k{number},{number % 2},{'ab'[number % 4 // 2]}" for number in range(1000, n + 500)]
    (tmp_path / "p.csv").write_text("key,prediction,side\n" + "\n".join(sent) + "\n")
    columns = FileColumns.declared(
        "accuracy", label="y", prediction="prediction", labels=(0, 1), positive=None, key="key"
    )
    ts = TestSet.create(tmp_path / "y.csv", columns, ledger=tmp_path / "ts.ledger", epsilon=20.0, n_looks=6, **GIVEN)
    score = ts.score(tmp_path / "p.csv", groups="side")
    assert abs(score["accuracy"].value - 2.0 / 3.0) < 0.05 and score["accuracy", "a"].value > 0.95
    compared = ts.compare(tmp_path / "p.csv", tmp_path / "p.csv")
    assert abs(compared.value) < 0.05 and ts.remaining == 4
    ts.close()


def test_all_records_are_counted_in_a_comparison() -> None:
    columns = [1] * 10, [1] * 9 + [0], [1] * 7 + [0] * 2 + [1]
    differing = with_equal(differences_of(accuracy(), *map(entries_of, columns)), 10)
    assert dict(zip(differing.index.tolist(), differing.count.tolist(), strict=True)) == {0: 1, 1: 7, 2: 2}
