"""The bound by the likelihood of answers: each step by brute force, the whole against attacks, with sabotages."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import SimulatedNoise, SimulatedTestSet
from hedgerow.testset import TestSet
from hedgerow.testset.adaptive_bounds import chernoff, earlier_answers, information_exponent, likelihood_exponent
from hedgerow.testset.looks import LooksInMemory
from hedgerow.testset.looks_forecast import ATTACKS, attack, narrowest, plan_looks
from hedgerow.testset.mechanisms.choose import choose
from hedgerow.testset.mechanisms.look_mechanism import Conditions, Options
from hedgerow.testset.metric import accuracy
from hedgerow.testset.parts.measure_forecast import plan_measure
from hedgerow.testset.scored import plain_score
from hedgerow.testset.scores import drawn_of

Floats = NDArray[np.float64]
N, LOOKS = 2000, 60


def gain(bound: float) -> float:
    return (math.expm1(bound) - bound) / bound**2


def facts(n: int, looks: int, epsilon: float = 1.0) -> Conditions:
    return Conditions(Relation.REPLACE_ONE, Budget(epsilon), looks, n, accuracy().grid)


def test_a_bounded_variable_has_the_moment_that_the_proof_uses() -> None:
    """ln E e^(θ − Eθ) ≤ g(B)·E θ² for |θ| ≤ B, by a search over laws of two points; at .8 of g(B) it fails."""
    worst = 0.0
    for bound in (0.2, 1.0, 2.5):
        ends, chance = np.linspace(-bound, bound, 61), np.linspace(0.0005, 0.9995, 400)
        low, high, p = np.meshgrid(ends, ends, chance, indexing="ij")
        mean = (1 - p) * low + p * high
        cumulant = np.log((1 - p) * np.exp(low - mean) + p * np.exp(high - mean))
        square = (1 - p) * low**2 + p * high**2
        ratio = float((cumulant / np.maximum(square, 1e-12))[square > 1e-9].max() / gain(bound))
        assert ratio <= 1.0 + 1e-9
        worst = max(worst, ratio)
    assert worst > 0.8


def test_the_likelihood_of_two_adaptive_answers_is_bounded() -> None:
    """∫ √(E P(a | S)²) over two looks, the second chosen by the first; a quarter of the growth fails."""
    n, radius, bound = 4, 0.15, 0.6
    records = np.array([[(place >> bit) & 1 for bit in range(n)] for place in range(2**n)]) * 2 - 1
    grid = np.linspace(-9.0, 9.0, 361)
    step = grid[1] - grid[0]
    first = stats.norm.pdf(grid[None, :] - radius * records.sum(1)[:, None])
    # The second look asks the same again, or its opposite on half of the records.
    sign = np.where(np.abs(grid)[:, None] > 0.7, [1, 1, 1, 1], [1, 1, -1, -1])
    second = stats.norm.pdf(grid[None, None, :] - radius * (records @ sign.T)[:, :, None])
    square = ((first[:, :, None] * second) ** 2).mean(0)
    total = float(np.sqrt(square).sum() * step**2)
    far = np.hypot(*np.meshgrid(grid, grid, indexing="ij"))
    # The proof needs |u| ≤ ρ, where B = 2·r·√(looks·ρ²).
    inside = float(np.sqrt(square)[far <= bound / (2 * radius * math.sqrt(2))].sum() * step**2)
    growth = 4 * gain(bound) * n * radius**2
    assert inside <= total and total <= 1 + growth  # two looks of √(1 + growth) each
    assert total > 1 + growth / 4


def test_the_noise_of_the_earlier_answers_is_bounded() -> None:
    """Noncentral χ² beyond N + S + 2√((N + 2S)x) + 2x has probability e^−x at most; without the root it has more."""
    for freedom, shift, x in ((50, 0.0, 5.0), (50, 200.0, 5.0), (200, 30.0, 8.0)):
        square = freedom + shift + 2 * math.sqrt((freedom + 2 * shift) * x) + 2 * x
        law = stats.ncx2(freedom, shift) if shift else stats.chi2(freedom)
        assert law.sf(square) <= math.exp(-x) < law.sf(freedom + shift + 2 * x)


def test_the_exponent_solves_its_inequality() -> None:
    """Every term is computed again from its formula, one by one; of a smaller exponent it does not hold."""
    n, looks, beta = 8000, 150, 0.01
    radius = 1.0 / (n * 0.0258) / 2.0

    def fails(e: float, alpha: float) -> float:
        shift, x = looks * (2 * radius * n * math.sqrt((e + math.log(2)) / (2 * n))) ** 2, math.log(50 / beta)
        square = looks + shift + 2 * math.sqrt((looks + 2 * shift) * x) + 2 * x
        growth = 1 + 2 * alpha * gain(alpha * radius * math.sqrt(looks * square)) * n * radius**2
        return sum(math.exp(m * math.log(growth) / 2 - (1 - 1 / alpha) * e) for m in range(looks + 1)) + 0.02 * beta

    found = likelihood_exponent(n, looks, looks, radius**2 / 2, beta)
    orders = (1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)
    assert min(fails(found, alpha) for alpha in orders) <= beta < min(fails(found * 0.985, alpha) for alpha in orders)
    assert found < information_exponent(looks * n * radius**2 / 2, beta) / 2
    # More looks, more records, more told of each, more numbers, less β: never a smaller exponent.
    for other in (
        (n, looks + 50, looks + 50, radius**2 / 2, beta),
        (2 * n, looks, looks, radius**2 / 2, beta),
        (n, looks, looks, radius**2, beta),
        (n, looks, 2 * looks, radius**2 / 2, beta),
        (n, looks, looks, radius**2 / 2, beta / 2),
    ):
        assert likelihood_exponent(*other) >= found
    assert likelihood_exponent(n, 2, 2, radius**2 / 2, 0.05) > math.log(20)


@cache
def overfitted(n: int, looks: int, sd: float, runs: int) -> Floats:
    """Return what the majority of earlier guesses overstates on the records, without the noise of its own look."""
    rng, over = np.random.default_rng(looks), []
    for _ in range(runs):
        labels = rng.integers(0, 2, n, dtype=np.int8) * 2 - 1
        guesses = rng.integers(0, 2, (looks - 1, n), dtype=np.int8).astype(np.float32) * 2 - 1
        told = guesses @ labels.astype(np.float32) / (2 * n) + rng.normal(0.0, sd, looks - 1)
        over.append(float(np.sign(guesses.T @ told) @ labels) / (2 * n))
    return np.array(over)


def test_an_overfitted_model_stays_within_the_exponent() -> None:
    """n·kl ≤ ln 2 + e but for β; with the growth dropped, the exponent of a fixed model, it is not (p < 1e-12)."""
    look, beta, runs = choose("gaussian", facts(N, LOOKS, 0.5), Options()), 0.05, 250
    exponent, sd = likelihood_exponent(N, LOOKS - 1, LOOKS - 1, look.of_one_record(), beta), look.expected_error()
    assert sd is not None and exponent < information_exponent(look.information(LOOKS - 1), beta)
    score = 0.5 + overfitted(N, LOOKS, sd, runs)
    divergence = N * (score * np.log(2 * score) + (1 - score) * np.log(2 * (1 - score)))
    for e, held in ((exponent, True), (math.log(1 / beta), False)):
        beyond = int((divergence > e + math.log(2)).sum())
        chance = float(stats.binom.sf(beyond - 1, runs, beta))
        assert chance > 1e-6 if held else chance < 1e-12


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_held_and_the_interval_is_the_narrow_one(name: str) -> None:
    look, runs = narrowest(facts(N, LOOKS), Options()), 40
    found = attack(name, look, runs=runs, noise=SimulatedNoise(3), rng=np.random.default_rng(4))
    assert found.held == runs and look.name == "gaussian"
    by_information = min(choice.last for choice in plan_looks(N, LOOKS).choices if choice.bound != "likelihood")
    assert found.half_width < 1.02 * plan_looks(N, LOOKS).best.last < by_information


def test_an_interval_of_half_the_width_is_left_by_the_majority() -> None:
    """Of scores, fit and noise together, 95 % lie within the interval; within half of it they do not (p < 1e-12)."""
    n, looks, runs = 1000, 200, 4000
    look, half = narrowest(facts(n, looks), Options()), plan_looks(n, looks).best.last
    sd = look.expected_error()
    assert sd is not None
    scores = np.abs(overfitted(n, looks, sd, runs) + np.random.default_rng(6).normal(0.0, sd, runs))
    assert stats.binom.sf(int((scores > half).sum()) - 1, runs, 0.05) > 1e-6
    assert stats.binom.sf(int((scores > half / 2.0).sum()) - 1, runs, 0.05) < 1e-12


@pytest.mark.long
@pytest.mark.parametrize("name", ATTACKS)
def test_a_hundred_runs_with_the_narrowest_interval(name: str) -> None:
    for n, looks in ((8000, 151), (10_000, 1000)):
        look = narrowest(facts(n, looks), Options())
        assert attack(name, look, runs=100, noise=SimulatedNoise(6), rng=np.random.default_rng(7)).held >= 95


def test_a_test_set_takes_the_narrowest_by_plan() -> None:
    """At 8,000 records and 151 looks it is narrower than splitting; at few looks it is splitting; noise costs less."""
    y = np.arange(8000) % 2
    given = {"relation": "replace-one", "epsilon": 1.0, "mechanism": "narrowest"}
    ts, plan = TestSet(None, y, n_looks=151, **given), plan_looks(8000, 151)
    split = next(choice for choice in plan.choices if choice.mechanism == "split")
    assert ts.settings.last_half_width == pytest.approx(plan.best.last, rel=0.02)
    assert plan.best.last < 0.75 * split.last and plan.best.bound == "likelihood"
    for _ in range(3):
        score = ts.score(y)
    assert score.half_width < 0.15 and ts.remaining == 148
    assert ts.settings.conditions.budget.epsilon == 1.0
    assert ts.settings.mechanism.described.repeated(151, Relation.REPLACE_ONE).epsilon_upper(1e-6) < 0.3
    assert TestSet(None, y, n_looks=10, **given).settings.mechanism.name == "split"
    with pytest.raises(UncertifiedError, match=r"HG431.*private"):
        TestSet(None, y, n_looks=10, **{**given, "relation": "add-remove"})
    assert TestSet(None, y, n_looks=10, delta=0.0, **given).settings.mechanism.name == "split"


def test_a_ledger_of_the_narrowest_is_opened_again(tmp_path: Path) -> None:
    y = np.arange(3000) % 2
    given = {"relation": "replace-one", "epsilon": 1.0, "n_looks": 60, "mechanism": "narrowest"}
    first = TestSet(None, y, ledger=tmp_path / "ts.ledger", **given)
    first.score(y)
    first.close()
    again = TestSet(None, y, ledger=tmp_path / "ts.ledger", **given)
    assert again.settings.mechanism == first.settings.mechanism
    score = again.score(1 - y)
    assert score.look == 2 and score.determined_by is not None
    assert score.determined_by["test_set"]["numbers_before"] == 1
    assert verify_record(score.to_dict()) is not None
    again.close()


def test_a_record_without_the_count_keeps_the_interval_of_the_information() -> None:
    """A record of an earlier version says nothing of numbers before: it is read by the information."""
    y = np.arange(3000) % 2
    ts = SimulatedTestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=60, mechanism="narrowest", rng=1)
    for _ in range(30):
        score = ts.score(y)
    assert score.determined_by is not None
    drawn, mechanism = drawn_of(score.determined_by["released"]), ts.settings.mechanism
    assert drawn is not None
    old = plain_score(ts.settings, drawn, earlier_answers(mechanism, 29), None)
    assert old.half_width > 1.2 * score.half_width
    assert "numbers_before" not in json.dumps(old.to_dict())
    assert json.loads(score.to_json())["test_set"]["numbers_before"] == 29


def test_looks_by_parts_count_their_numbers_and_have_the_narrow_interval() -> None:
    rng, y = np.random.default_rng(2), np.arange(10_000) % 2
    epsilon = plan_measure("roc_auc", 10_000, 100).best.epsilon
    given = {"relation": "replace-one", "epsilon": epsilon, "n_looks": 100, "mechanism": "gaussian"}
    ts = SimulatedTestSet(None, y, rng=1, **given)
    scores = y + rng.normal(0.0, 1.0, 10_000)
    for _ in range(4):
        score = ts.score(scores, metric="roc_auc")
    ts.score(y)
    ts.score((scores > 0.5).astype(int), metric=["f1", "recall"], groups=y * 0)
    last = ts.score(scores, metric="roc_auc")
    assert last.determined_by is not None and last.determined_by["test_set"]["numbers_before"] == 4 * 2 + 1 + 2
    assert abs(last.value - 0.76) < last.half_width < 0.25
    assert score.confidence_interval().method == "mutual-information"


def test_a_look_whose_record_is_not_known_leaves_the_information() -> None:
    y = np.arange(3000) % 2
    ts = SimulatedTestSet(None, y, relation="replace-one", epsilon=0.3, n_looks=60, mechanism="gaussian", rng=1)
    ts.score(y, request_id="a")
    looks = ts._looks
    assert isinstance(looks, LooksInMemory)
    looks._texts["lost"], looks._requests["lost"] = None, "x"
    score = ts.score(y)
    assert score.look == 3 and score.determined_by is not None
    assert "numbers_before" not in score.determined_by["test_set"]


def test_plans_say_what_proves_an_interval_and_where_none_is_known() -> None:
    auc, squares = plan_measure("roc_auc", 10_000, 100), plan_measure("r2", 10_000, 100)
    assert auc.best.last < 0.2 and not auc.vacuous and auc.best.bound == "likelihood"
    assert squares.vacuous and all(choice.last >= 1.0 for choice in squares.choices)
    assert not plan_measure("r2", 200_000, 5).vacuous
    assert not plan_measure("f1", 10_000, 20).vacuous and not plan_measure("calibration_error", 10_000, 20).vacuous
    assert plan_measure("roc_auc", 10_000, 1).best.last < 0.02
    with pytest.raises(ParameterError, match="HG171"):
        plan_measure("brier", 10_000, 100)
    assert plan_looks(60, 40, epsilon=0.01).vacuous


def test_chernoff_with_the_exponent_covers_a_fixed_model_easily() -> None:
    look = choose("gaussian", facts(10_000, 200, 0.2), Options())
    exponent = likelihood_exponent(10_000, 199, 199, look.of_one_record(), 0.01)
    low, high = chernoff(0.5, 10_000, exponent)
    assert high - low < 0.12 and high - 0.5 == pytest.approx(0.5 - low)
