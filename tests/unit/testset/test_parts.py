"""A look by parts: its sensitivity by brute force, its values against scikit-learn, its noise, price and intervals."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

from hedgerow.errors import LedgerError, ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint.joint_numbers import STEPS
from hedgerow.testing.simulated import SimulatedNoise, SimulatedTestSet
from hedgerow.testset import TestSet
from hedgerow.testset.entries import entries_of
from hedgerow.testset.looks import Settings
from hedgerow.testset.parts.look import Parts, PartsAsked, group_of, named
from hedgerow.testset.parts.measures import MEASURES, SUBPARTS, parse_measures
from hedgerow.testset.parts.squares import Squares

N = 600
CLASSES = ["precision", "recall", "specificity", "f1", "balanced_accuracy"]


def _mu(settings: Settings) -> float:
    mu = settings.mechanism.mu
    assert mu is not None
    return mu


def opened(y: Any = None, **options: Any) -> TestSet:
    given = {"relation": "replace-one", "epsilon": 1.0, "n_looks": 5, "mechanism": "gaussian", **options}
    return TestSet(None, np.arange(N) % 2 if y is None else y, **given)


def asked(parts: Parts | Squares) -> PartsAsked:
    return PartsAsked(parse_measures("accuracy"), 1, parts)


def moved(parts: Parts) -> float:
    """The farthest that another label in one record moves what is released, in units of a plain look's ±1."""
    n, farthest = len(parts.cell), 0.0
    for outcome in product((False, True), repeat=n):
        for place in range(n):
            other = np.array(outcome)
            other[place] = not other[place]
            difference = parts.exact(np.array(outcome)) - parts.exact(other)
            farthest = max(farthest, float(np.sqrt((difference.astype(float) ** 2).sum())) / STEPS)
    return farthest


@pytest.mark.parametrize("kind", [one for one in SUBPARTS if one != "squares"])
@pytest.mark.parametrize("grouped", [False, True])
def test_one_label_moves_a_look_by_parts_as_far_as_a_plain_look(kind: Any, grouped: bool) -> None:
    sent = entries_of([0.2, 0.2, 0.9, 0.4] if kind in ("ranks", "chances") else [1, 0, 1, 1])
    parts = Parts.of(kind, sent, entries_of(["a", "b", "a", "b"]) if grouped else None, 1)
    assert moved(parts) <= 2.0
    assert moved(parts) > (1.4 if kind == "ranks" else 1.999)


def test_parts_that_overlap_cost_more_than_one_look() -> None:
    """The sabotage: a record that counts in two parts at once, priced as one."""
    parts = Parts.of("ranks", entries_of([0.2, 0.5, 0.9]), None, 1)
    twice = replace(parts, weights=np.full((3, 2), STEPS))
    assert moved(parts) <= 2.0 < 2.8 < moved(twice)


def test_the_noise_is_what_the_price_says_and_not_five_percent_less() -> None:
    ts, settings = opened(), opened().settings
    parts = Parts.of("right", entries_of([1] * N), entries_of(list(np.arange(N) % 100)), 1)
    described, zero = asked(parts).mechanism(settings), parts.exact(np.zeros(N, dtype=bool))
    assert described.mu(Relation.REPLACE_ONE) <= _mu(settings) < 1.0001 * described.mu(Relation.REPLACE_ONE)
    noise = SimulatedNoise(7)
    drawn = np.concatenate([described.noisy(zero, noise, cells=()).values - zero.astype(float) for _ in range(300)])
    needed = 2.0 * STEPS / _mu(settings)
    assert abs(drawn.std() / needed - 1.0) < 0.02 < abs(0.95 * drawn.std() / needed - 1.0)
    plain, by_parts = ts.score([1] * N), ts.score([1] * N, groups=np.arange(N) % 100)
    assert by_parts.certificate is not None and plain.certificate is not None
    assert by_parts.certificate.epsilon <= plain.certificate.epsilon
    by_parts.certificate.verify()


def exact(kind: Any, y: Any, sent: Any, groups: Any = None) -> dict[tuple[str, str | None], float]:
    """Every metric without noise."""
    parts = Parts.of(kind, entries_of(sent), None if groups is None else entries_of(groups), 1)
    outcome = np.asarray(sent) == y if kind == "right" else np.asarray(y) == 1
    told = parts.of_groups(parts.mechanism(1e6), parts.of_labels(parts.exact(outcome).astype(float)))
    found = [one for one in MEASURES.values() if one.kind == kind]
    return {(one.name, name): one.read(what).value for name, what in named(parts.groups, told) for one in found}


def test_without_noise_the_values_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    y, group = rng.integers(0, 2, N), rng.integers(0, 3, N)
    classes = np.where(rng.random(N) < 0.7, y, 1 - y)
    scores = np.round(y + rng.normal(size=N), 1)  # with ties
    wanted = {
        "precision": sk.precision_score,
        "recall": sk.recall_score,
        "specificity": lambda y, p: sk.recall_score(y, p, pos_label=0),
        "f1": sk.f1_score,
        "balanced_accuracy": sk.balanced_accuracy_score,
        "accuracy": sk.accuracy_score,
        "zero_one_loss": sk.zero_one_loss,
        "roc_auc": sk.roc_auc_score,
    }
    for kind, sent in (("classes", classes), ("right", classes), ("ranks", scores)):
        found = exact(kind, y, sent, group)
        for (name, where), value in found.items():
            rows = slice(None) if where is None else group == int(where)
            assert value == pytest.approx(wanted[name](y[rows], sent[rows]), abs=3e-6), name
    assert exact("ranks", y, scores)["roc_auc", None] == pytest.approx(sk.roc_auc_score(y, scores), abs=3e-6)


def test_without_noise_a_calibration_error_is_that_of_ten_bins() -> None:
    y, chances = np.array([0, 0, 1, 1] * 100), np.array([0.1, 0.2, 0.3, 1.0] * 100)
    # Bins of chances .1, .2, .3, 1: gaps .1, .2, .7, 0 of a quarter each; errors of sampling are taken off.
    wide = exact("chances", np.tile(y, 100), np.tile(chances, 100))["calibration_error", None]
    assert wide == pytest.approx(0.25, abs=0.002)


def test_metrics_are_covered_before_and_after_the_second_look() -> None:
    """60 test sets; an interval of half the width would hold the truth less than .9 of the time."""
    rng, found = np.random.default_rng(11), []
    truth = {"precision": 0.8, "recall": 0.8, "specificity": 0.8, "f1": 0.8, "balanced_accuracy": 0.8}
    for run in range(60):
        y = rng.integers(0, 2, 2_000)
        sent, group = np.where(rng.random(2_000) < 0.8, y, 1 - y), rng.integers(0, 2, 2_000)
        ts = SimulatedTestSet(None, y, relation="replace-one", epsilon=2.0, n_looks=10, mechanism="gaussian", rng=run)
        first, second = (ts.score(sent, metric=CLASSES, groups=group) for _ in range(2))
        for one, later in zip(first.parts, second.parts, strict=True):
            now, fitted, fixed = one.confidence_interval(), later.confidence_interval(), later.fixed_model
            assert one.fixed_model is None and fixed is not None
            assert fitted.low <= fixed.low and fitted.high >= fixed.high
            assert fitted.low <= truth[one.metric] <= fitted.high
            held = now.low <= truth[one.metric] <= now.high
            found.append((held, abs(one.value - truth[one.metric]) <= (now.high - now.low) / 4.0))
    held, half = np.mean(found, axis=0)
    assert held >= 0.91 and half < 0.85


def test_a_look_by_parts_is_one_look_and_is_replayed(tmp_path: Path) -> None:
    ts = opened(ledger=tmp_path / "ts.ledger", n_looks=3)
    sent, group = np.arange(N) % 3 // 2, np.arange(N) % 4
    first = ts.score(sent, metric=["f1", "recall"], groups=group, request_id="a")
    again = ts.score(sent, metric=["f1", "recall"], groups=group, request_id="a")
    assert again.replayed and not first.replayed and ts.remaining == 2
    assert [one.to_dict() for one in again.parts] == [one.to_dict() for one in first.parts]
    assert again["recall", 3].value == first["recall", "3"].value and len(first.parts) == 10
    for other in ({"metric": ["f1"], "groups": group}, {"metric": ["f1", "recall"]}):
        with pytest.raises(LedgerError, match="HG311"):
            ts.score(sent, request_id="a", **other)
    for metric in ("roc_auc", "calibration_error"):
        assert 0.0 <= ts.score(np.arange(N) / N, metric=metric).value <= 1.0
    assert ts.remaining == 0


@pytest.mark.parametrize("odd", [None, "x", float("nan"), 7, (1, 2)])
def test_no_label_changes_how_a_look_by_parts_ends(odd: object) -> None:
    labels: list[object] = [0, 1] * 20
    for metric in ("f1", "roc_auc", "calibration_error", "accuracy"):
        sent = [0, 1] * 20 if metric in ("f1", "accuracy") else [0.2, 0.7] * 20
        ends = []
        for held in (labels, [*labels[:-1], odd]):
            score = opened(held).score(sent, metric=metric, groups=["a", "b", "c", "d"] * 10)
            ends.append([(one.metric, one.group, one.records, one.estimate.note is None) for one in score.parts])
        assert [one[:3] for one in ends[0]] == [one[:3] for one in ends[1]]


def test_what_has_no_proven_price_or_no_meaning_is_refused_and_takes_no_look() -> None:
    model = type("Model", (), {"predict": lambda self, x: np.zeros(N)})()
    y, ts = np.arange(N) % 2, opened()
    refused: list[tuple[str, Any, dict[str, Any]]] = [
        ("HG170", model, {"metric": "f1"}),
        ("HG170", y, {"metric": "f1", "groups": [None] * N}),
        ("HG170", y, {"metric": "f1", "groups": np.arange(N)}),
        ("HG170", y, {"metric": "f1", "groups": [1, 2]}),
        ("HG170", [float("nan")] * N, {"metric": "roc_auc"}),
        ("HG170", [1.5] * N, {"metric": "calibration_error"}),
        ("HG170", [0.5] * N, {"metric": "f1"}),
        ("HG171", y, {"metric": "r3"}),
        ("HG171", y, {"metric": "r2"}),
        ("HG171", y, {"metric": "r2", "bounds": (1, 0)}),
        ("HG171", y, {"metric": "r2", "bounds": (0, float("inf"))}),
        ("HG171", y, {"metric": ["r2", "f1"], "bounds": (0, 1)}),
        ("HG170", ["a"] * N, {"metric": "r2", "bounds": (0, 1)}),
        ("HG171", y, {"metric": []}),
        ("HG171", y, {"metric": ["f1", "f1"]}),
        ("HG171", y, {"metric": ["f1", "roc_auc"]}),
        ("HG171", y, {"metric": "f1", "positive": (1, 2)}),
    ]
    for code, sent, options in refused:
        with pytest.raises(ParameterError, match=code):
            ts.score(sent, **options)
    with pytest.raises(ParameterError, match="HG171"):
        opened(["a", "b"] * 300, labels=["a", "b"]).score(["a"] * N, metric="f1")
    with pytest.raises(UncertifiedError, match="HG431"):
        opened(y, mechanism="laplace").score(y, metric="f1")
    assert ts.remaining == 5


def test_a_positive_label_of_text_and_several_classes_serve() -> None:
    y = np.array(["a", "b", "c"] * 200)
    found = SimulatedTestSet(
        None, y, relation="replace-one", epsilon=50.0, n_looks=1, mechanism="gaussian", rng=1
    ).score(np.where(y == "c", "b", y), metric=["precision", "recall"], positive="b")
    assert abs(found["precision"].value - 0.5) < 0.05 and found["recall"].value > 0.9


def test_the_names_are_those_of_the_list() -> None:
    assert [one.name for one in parse_measures("balanced-accuracy")] == ["balanced_accuracy"]
    assert {one.kind for one in MEASURES.values()} == set(SUBPARTS)


def numbers(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Labels from 0 to 100 and predictions with R² = .8 about."""
    x = rng.uniform(20.0, 80.0, n)
    return np.clip(x + rng.normal(0.0, 8.0, n), 0.0, 100.0), x


def test_squared_errors_without_noise_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    (y, x), group = numbers(N, rng), np.arange(N) % 3
    squares = Squares.of(entries_of(x), group_of(entries_of(group), N), (0, 100))
    described = squares.mechanism(1e5)
    told = squares.of_groups(described, squares.draw(described, y, SimulatedNoise(1)))
    for name, one in named(squares.groups, told):
        rows = slice(None) if name is None else group == int(name)
        wanted = {"r2": sk.r2_score(y[rows], x[rows]), "mean_squared_error": sk.mean_squared_error(y[rows], x[rows])}
        for metric, value in wanted.items():
            assert MEASURES[metric].read(one).value == pytest.approx(value, rel=2e-3)
    missing = np.where(np.arange(N) < 60, np.nan, y)
    read = squares.of_groups(described, squares.draw(described, missing, SimulatedNoise(1)))[-1]
    worse = MEASURES["mean_squared_error"].read(read).value
    assert worse == pytest.approx(0.1 * 100.0**2 + np.square(y - x)[60:].sum() / N, rel=2e-3)


def test_a_look_at_squared_errors_costs_a_look_whatever_the_label() -> None:
    """By brute force over pairs of labels: the movement in sds stays below μ; √3 times less noise is refuted."""
    settings = opened().settings
    squares = Squares.of(entries_of([0.0, 30.0, 50.0, 100.0]), group_of(None, 4), (0, 100))
    described = asked(squares).mechanism(settings)
    mu, widths = _mu(settings), described.noise_sds()
    assert described.mu(Relation.REPLACE_ONE) <= mu
    labels, farthest = [np.nan, *np.linspace(0.0, 100.0, 21)], 0.0
    for place in range(4):
        rows = np.full(4, 50.0)
        released = []
        for label in labels:
            rows[place] = label
            released.append(squares.sums(rows.copy(), described)[0].astype(float) / widths)
        farthest = max(farthest, *(float(np.linalg.norm(a - b)) for a in released for b in released))
    assert farthest <= mu < math.sqrt(3.0) * farthest


def test_a_look_at_squared_errors_tells_of_a_record_what_a_plain_look_may() -> None:
    """Whatever prediction and label, what it adds keeps within μ/2, in sds, of one point: so I ≤ μ²/8."""
    settings = opened().settings
    u, v = (one.ravel() for one in np.meshgrid(np.linspace(-1.0, 1.0, 41), np.linspace(-1.0, 1.0, 41)))
    squares = Squares(("",), np.array([len(u)]), (-1.0, 1.0), np.zeros(len(u), dtype=np.int64), v)
    described = asked(squares).mechanism(settings)
    steps = squares.places(u)
    added = np.stack([described.record(one) for one in steps.tolist()]).astype(float) / described.noise_sds()
    centre, reach = np.zeros(9), np.abs(added).max(axis=0)
    squared = [
        place for place, name in enumerate(described.names) if len(set(name.split()[1:])) < len(name.split()[1:])
    ]
    centre[squared] = reach[squared] / 2.0
    farthest = float(np.linalg.norm(added - centre, axis=1).max())
    assert len(squared) == 3 and farthest <= _mu(settings) / 2.0 < 1.3 * farthest


def test_squared_errors_are_covered_before_and_after_the_second_look() -> None:
    rng, found = np.random.default_rng(6), []
    y, x = numbers(400_000, rng)
    truth = {"r2": sk.r2_score(y, x), "mean_squared_error": sk.mean_squared_error(y, x)}
    for run in range(50):
        y, x = numbers(2_000, rng)
        ts = SimulatedTestSet(None, y, relation="replace-one", epsilon=4.0, n_looks=4, mechanism="gaussian", rng=run)
        group = np.arange(2_000) % 2
        first, second = (ts.score(x, metric=list(truth), bounds=(0, 100), groups=group) for _ in range(2))
        for one, later in zip(first.parts, second.parts, strict=True):
            now, fitted = one.confidence_interval(), later.confidence_interval()
            assert later.fixed_model is not None and fitted.low <= later.fixed_model.low
            assert fitted.low <= truth[one.metric] <= fitted.high and one.estimate.reliable
            held = now.low <= truth[one.metric] <= now.high
            found.append((held, abs(one.value - truth[one.metric]) <= (now.high - now.low) / 4.0))
    held, half = np.mean(found, axis=0)
    assert held >= 0.92 and half < 0.85
