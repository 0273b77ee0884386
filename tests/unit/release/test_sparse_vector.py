"""Sparse vector: its price by enumeration of all runs, its broken relatives, and what a run refuses."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.faults import broken_sparse_vectors, loss_of_broken
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify, mechanism_from_record
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.mechanisms.sparse_vector import (
    AnswerNoise,
    Questions,
    RunState,
    SparseVector,
    SparseVectorRun,
    SparseVectorRuns,
    log_chances,
    sparse_vector,
    sparse_vector_outputs,
    texts,
    worst_loss,
)
from hedgerow.noise.secure import SecureNoise
from hedgerow.testing.simulated import SimulatedNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
ANSWERED = {"answers": AnswerNoise(((1,),), (1.0,))}


@pytest.mark.parametrize("positives", [1, 2, 3])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("threshold", [-3, 0, 4])
def test_no_run_of_answers_loses_more_than_its_price(positives: int, monotone: bool, threshold: int) -> None:
    described = sparse_vector(1.3, NEAR, reach=2, positives=positives, monotone=monotone)
    questions = Questions.worst(described, falling=3, threshold=threshold)
    assert worst_loss(described, questions) <= described.comparing_loss() + 1e-9


def test_the_bound_holds_for_every_movement_of_the_statistics_and_every_threshold() -> None:
    """All 3⁴ ways in which four statistics can move by at most Δ = 1, ties with the threshold among them."""
    described = SparseVector(NEAR, 1, False, 2, 1.5, 2.5)
    rising = replace(described, monotone=True)
    for moved in product((-1, 0, 1), repeat=4):
        for threshold in (-1, 0, 1, 2):
            asked = Questions(np.zeros(4, np.int64), np.array(moved), threshold)
            loss = worst_loss(described, asked)
            assert loss <= described.comparing_loss() + 1e-12
            if min(moved) >= 0 or max(moved) <= 0:
                assert loss <= rising.comparing_loss() + 1e-12


@pytest.mark.parametrize("positives", [1, 3])
def test_the_price_is_reached_to_eight_digits(positives: int) -> None:
    """With 30 falling questions: so no smaller price holds, and none of the noise could be saved."""
    described = sparse_vector(1.0, NEAR, reach=1, positives=positives)
    questions = Questions.worst(described, falling=30)
    text = (0,) * 30 + (1,) * positives
    loss = log_chances(described, questions, 1, text) - log_chances(described, questions, 0, text)
    assert described.pure() - 1e-7 < loss <= described.pure() + 1e-12


def test_chances_of_all_runs_add_up_to_one_and_fit_what_is_drawn() -> None:
    """100,000 runs, seed 5: χ² of the texts against their exact law; other neighbour rejected."""
    described = sparse_vector(2.0, NEAR, reach=1, positives=2)
    questions = Questions.worst(described)
    spelt = list(texts(described, len(questions.low)))
    chances = [np.exp([log_chances(described, questions, side, text) for text in spelt]) for side in (0, 1)]
    assert chances[0].sum() == pytest.approx(1.0, abs=1e-9)
    drawn = sparse_vector_outputs(described, 1, 100_000, SimulatedNoise(5)).reshape(100_000, -1)
    found, times = np.unique(drawn.astype(int), axis=0, return_counts=True)
    counted = dict(zip(map(tuple, found.tolist()), times.tolist(), strict=True))
    hits = np.array([counted.get(text, 0) for text in spelt])
    assert hits.sum() == 100_000
    assert chances[1].min() * 1e5 > 5.0
    p_values = [stats.chisquare(hits, p / p.sum() * 1e5) for p in (chances[1], chances[0])]
    assert p_values[0].pvalue > 1e-6 and p_values[1].pvalue < 1e-12


@pytest.mark.parametrize("name", sorted(broken_sparse_vectors(sparse_vector(1.0, NEAR, reach=1, positives=2))))
@pytest.mark.parametrize("reach", [1, 3])
def test_broken_sparse_vectors_are_rejected(name: str, reach: int) -> None:
    rejection = loss_of_broken(name, sparse_vector(1.0, NEAR, reach=reach, positives=2))
    assert rejection.rejected, rejection.evidence


def test_scales_spend_the_budget_in_the_stated_proportions() -> None:
    described = sparse_vector(0.7, FAR, reach=3, positives=5, answers=AnswerNoise(((3, 1), (4, 0)), (3.0, 1.0)))
    first = 3 / described.threshold_scale
    assert (described.comparing_loss() - first) / first == pytest.approx(10 ** (2 / 3))
    assert described.answering_loss() == pytest.approx(0.35)
    # The costlier movement pays: (3, 1) costs 2 in units of the widths, (4, 0) only 4/3.
    assert 5 * (3 / described.answer_scales[0] + 1 / described.answer_scales[1]) == pytest.approx(0.35)
    assert profile_of(described, FAR).epsilon_upper(0.0) <= 0.7


def test_the_certificate_states_the_budget_and_reads_back() -> None:
    described = sparse_vector(1.0, NEAR, reach=1, positives=10, **ANSWERED)
    certificate = certify(described, NEAR, unit="row", delta=0.0)
    assert certificate.epsilon == 1.0
    assert mechanism_from_record(as_record(described)) == described
    type(certificate).from_json(certificate.to_json()).verify()


def test_sensitivities_stated_for_one_relation_have_no_price_under_the_other() -> None:
    with pytest.raises(UncertifiedError, match="HG401"):
        profile_of(sparse_vector(1.0, NEAR, reach=1, positives=1), FAR)


def test_noise_on_the_threshold_is_drawn_once_and_on_questions_each_time() -> None:
    class Recorded(SimulatedNoise):
        def __init__(self) -> None:
            super().__init__(1)
            self.asked: list[tuple[float, int]] = []

        def two_sided_geometric(self, scale: float, size: int) -> np.ndarray:
            self.asked.append((scale, size))
            return super().two_sided_geometric(scale, size)

    described, noise = SparseVector(NEAR, 1, False, 3, 2.0, 5.0, ((1,),), (7.0,)), Recorded()
    run = SparseVectorRun(described, noise)
    for _ in range(50):
        run.ask(-1000)
    assert run.ask(10**6) and isinstance(run.answer(5)[0], int)
    assert [size for scale, size in noise.asked if scale == 2.0] == [1]
    assert sum(size for scale, size in noise.asked if scale == 5.0) >= 51
    assert [size for scale, size in noise.asked if scale == 7.0] == [1]


def test_a_run_stops_after_its_last_yes() -> None:
    run = SparseVectorRun(sparse_vector(1.0, NEAR, reach=1, positives=2), SecureNoise())
    assert run.ask(10**6) and run.remaining == 1
    assert not run.ask(-(10**6)) and run.ask(10**6) and run.remaining == 0
    with pytest.raises(UncertifiedError, match="HG426"):
        run.ask(0)


def test_each_yes_earns_one_answer() -> None:
    run = SparseVectorRun(sparse_vector(1.0, NEAR, reach=1, positives=3, **ANSWERED), SimulatedNoise(3))
    with pytest.raises(ParameterError, match="HG183"):
        run.answer(1)
    assert run.ask(10**6)
    with pytest.raises(ParameterError, match="HG183"):
        run.answer(1, 2)
    run.answer(1)
    with pytest.raises(ParameterError, match="HG183"):
        run.answer(1)
    assert run.ask(10**6) and not run.ask(-(10**6))
    with pytest.raises(ParameterError, match="HG183"):
        run.answer(1)


def test_many_questions_asked_at_once_are_the_same_as_one_by_one() -> None:
    described = sparse_vector(1.0, NEAR, reach=1, positives=1)
    statistics = np.arange(-20, 60)
    together = SparseVectorRun(described, SimulatedNoise(9)).first_positive(statistics, 30)
    single = SparseVectorRun(described, SimulatedNoise(9))
    assert together == next(place for place, one in enumerate(statistics) if single.ask(int(one), 30))


def test_a_run_goes_on_where_it_stood() -> None:
    described = sparse_vector(1.0, NEAR, reach=1, positives=2)
    run = SparseVectorRun(described, SimulatedNoise(2))
    assert run.ask(10**6)
    later = SparseVectorRun(described, SimulatedNoise(3), resume=run.state)
    assert later.remaining == 1 and later.state.threshold_noise == run.state.threshold_noise
    assert SparseVectorRun(described, SimulatedNoise(3), resume=RunState(0, 2, False)).remaining == 0


def test_runs_abreast_follow_the_law_of_one_run() -> None:
    """P(yes) of one question at the threshold: 4,000 single runs against 200,000 abreast, seed 4."""
    described = sparse_vector(1.0, NEAR, reach=1, positives=1)
    noise = SimulatedNoise(4)
    singles = sum(SparseVectorRun(described, noise).ask(3) for _ in range(4_000))
    abreast = int(SparseVectorRuns(described, noise, 200_000).ask(3).sum())
    table = [[singles, 4_000 - singles], [abreast, 200_000 - abreast]]
    assert stats.chi2_contingency(table).pvalue > 1e-6
    worse = int(SparseVectorRuns(described, noise, 200_000).ask(-3).sum())
    assert stats.chi2_contingency([[abreast, 200_000 - abreast], [worse, 200_000 - worse]]).pvalue < 1e-12


@pytest.mark.parametrize(
    "broken",
    [
        {"reach": 0},
        {"reach": 1.5},
        {"positives": 0},
        {"threshold_scale": 0.0},
        {"answer_moves": ((1, 2),)},
        {"answer_moves": ((-1,),)},
        {"answer_scales": ()},
    ],
)
def test_impossible_descriptions_are_refused(broken: dict[str, object]) -> None:
    fine = {"answer_moves": ((1,),), "answer_scales": (1.0,)}
    numbers = {"reach": 1, "positives": 1, "threshold_scale": 1.0, "question_scale": 1.0}
    with pytest.raises(ParameterError, match="HG406"):
        SparseVector(NEAR, monotone=False, **{**numbers, **fine, **broken})


def test_impossible_budgets_are_refused() -> None:
    with pytest.raises(ParameterError, match="HG101"):
        sparse_vector(0.0, NEAR, reach=1, positives=1)
    with pytest.raises(ParameterError, match="HG182"):
        sparse_vector(1.0, NEAR, reach=1, positives=1, answers=AnswerNoise(((1,),), (1.0,), share=1.0))
