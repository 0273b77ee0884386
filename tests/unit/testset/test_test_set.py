"""`TestSet`: looks are counted, refused and replayed; the ledger outlives the process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hedgerow.errors import BudgetExceeded, HedgerowError, LedgerError, ParameterError, SpentError, UncertifiedError
from hedgerow.ledger.store import Ledger
from hedgerow.testing.simulated import SimulatedTestSet
from hedgerow.testset import MECHANISMS, TestSet, brier, from_function, log_loss
from hedgerow.testset.mechanisms.look_mechanism import fits
from hedgerow.testset.scores import score_from_record

RNG = np.random.default_rng(20261120)
N = 1500
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=N) > 0).astype(int)
MODEL = LogisticRegression().fit(X, Y)


def opened(ledger: Path | None = None, **options: object) -> TestSet:
    given = {"metric": "accuracy", "relation": "replace-one", "epsilon": 2.0, "n_looks": 4, "mechanism": "gaussian"}
    return TestSet(X, Y, ledger=ledger, **{**given, **options})


def test_a_score_has_a_value_its_errors_and_what_is_left(tmp_path: Path) -> None:
    ts = opened(tmp_path / "ts.ledger")
    assert ts.__test__ is False and ts.minimum_detectable_difference is not None
    assert f"differences from {ts.minimum_detectable_difference:.3g} on are detected" in repr(ts)
    score = ts.score(MODEL)
    exact = float((MODEL.predict(X) == Y).mean())
    assert abs(score.value - exact) < 6 * score.privacy_error
    assert score.standard_error == pytest.approx(np.hypot(score.sampling_error, score.privacy_error))
    assert score.sampling_error == pytest.approx(np.sqrt(score.value * (1 - score.value) / N), rel=1e-6)
    interval = score.confidence_interval(0.9)
    assert interval.low < score.value < interval.high and score.half_width > interval.high - score.value
    assert (score.look, score.remaining, ts.remaining, score.best, score.distinguishable) == (1, 3, 3, None, None)
    assert score.certificate is not None and score.certificate.epsilon < 2.0
    score.certificate.verify()
    assert score_from_record(score.to_json()) == ts.history[0]


def test_exactly_so_many_looks_are_granted_whoever_asks(tmp_path: Path) -> None:
    path = tmp_path / "ts.ledger"
    for look in range(4):
        ts = opened(path)  # a restart before every look
        assert ts.score(Y).look == look + 1
        ts.close()
    ts = opened(path)
    with pytest.raises(BudgetExceeded, match="HG430") as refused:
        ts.score(Y)
    assert refused.value.exit_code == 3 and ts.remaining == 0 and len(ts.history) == 4
    with Ledger.open(path) as ledger:
        assert 1.99 < ledger.spent() <= 2.0
        # The ledger's own total refuses a fifth look, too: count and price agree.
        assert ledger.would_spend(ts.settings.certificate()) > 2.0


def test_the_looks_outlive_order_names_and_libraries(tmp_path: Path) -> None:
    import pandas as pd

    path, order = tmp_path / "ts.ledger", RNG.permutation(N)
    opened(path).score(MODEL.predict(X), request_id="release 7")
    shuffled = pd.DataFrame(X[order], columns=["u", "v", "w"])
    again = TestSet(shuffled, Y[order].astype(float), relation="replace-one", epsilon=2.0, n_looks=4, ledger=path)
    assert again.remaining == 3
    assert again.score(MODEL.predict(X).astype(bool), request_id="release 7").replayed and again.remaining == 3
    with pytest.raises(LedgerError, match="HG311"):  # another order is another request: labels are not looked at
        again.score(MODEL.predict(X)[order], request_id="release 7")
    assert again.score(MODEL.predict(X)[order]).look == 2


def test_a_replay_never_tells_which_records_are_equal() -> None:
    """Where labels alone are kept, equal labels that exchange their predictions must not pass for the same request."""
    labels = np.array([0, 0, 1, 1] * 100)
    ts = TestSet(None, labels, relation="replace-one", epsilon=2.0, n_looks=9, mechanism="gaussian")
    guess = RNG.integers(0, 2, 400)
    guess[:2] = 0, 1
    ts.score(guess, request_id="a")
    exchanged = guess.copy()
    exchanged[:2] = 1, 0
    with pytest.raises(LedgerError, match="HG311"):
        ts.score(exchanged, request_id="a")


def test_a_request_id_stands_for_one_prediction(tmp_path: Path) -> None:
    ts = opened(tmp_path / "ts.ledger")
    first = ts.score(Y, request_id="a")
    again = ts.score(Y, request_id="a")
    assert again.replayed and again == ts.history[0] and again.value == first.value and ts.remaining == 3
    with pytest.raises(LedgerError, match="HG311"):
        ts.score(1 - Y, request_id="a")
    assert ts.remaining == 3
    for look in "bcd":
        ts.score(Y, request_id=look)
    assert ts.score(Y, request_id="a").replayed, "answered from the record even when no looks are left"


def test_without_a_ledger_this_object_counts() -> None:
    ts = opened(n_looks=2)
    assert ts.score(Y, request_id="a").value == ts.score(Y, request_id="a").value
    ts.score(Y)
    with pytest.raises(BudgetExceeded, match="HG430"):
        ts.score(Y)
    with pytest.raises(LedgerError, match="HG311"):
        ts.score(1 - Y, request_id="a")


def test_many_threads_are_granted_no_look_too_many(tmp_path: Path) -> None:
    path, done, refused = tmp_path / "ts.ledger", [], []
    opened(path, n_looks=5).close()

    def ask() -> None:
        ts = opened(path, n_looks=5)
        for _ in range(3):
            try:
                done.append(ts.score(Y).look)
            except HedgerowError as error:
                refused.append(error.code)

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [1, 2, 3, 4, 5] and set(refused) <= {"HG310", "HG430"}


def test_the_best_so_far_is_told_apart_where_it_can_be(tmp_path: Path) -> None:
    ts = opened(tmp_path / "ts.ledger")
    good, bad, good_again = ts.score(Y), ts.score(RNG.integers(0, 2, N)), ts.score(Y)
    assert good.distinguishable is None
    assert bad.distinguishable is True and bad.best == good.value and bad.best_look == 1
    assert good_again.distinguishable is False
    losses = opened(metric="zero-one")
    losses.score(RNG.integers(0, 2, N)), losses.score(Y)
    assert losses.score(Y).best_look == 2, "of losses the least is best"


@pytest.mark.parametrize(
    ("change", "named"),
    [({"epsilon": 1.0}, "epsilon"), ({"n_looks": 9}, "n_looks"), ({"metric": "zero-one"}, "metric"),
     ({"relation": "add-remove"}, "relation"), ({"mechanism": "laplace"}, "mechanism")],
)  # fmt: skip
def test_a_ledger_keeps_its_first_settings(tmp_path: Path, change: dict[str, object], named: str) -> None:
    opened(tmp_path / "ts.ledger")
    with pytest.raises(LedgerError, match=f"HG433.*{named}"):
        opened(tmp_path / "ts.ledger", **change)


def test_a_ledger_is_of_one_test_set(tmp_path: Path) -> None:
    opened(tmp_path / "ts.ledger")
    with pytest.raises(LedgerError, match=r"HG433.*: n"):
        TestSet(None, Y[1:], relation="replace-one", epsilon=2.0, n_looks=4, ledger=tmp_path / "ts.ledger")
    from hedgerow.facts.budget import Budget

    Ledger.create(tmp_path / "s", dataset="s", budget=Budget(1.0), relation="replace-one", unit="row").close()
    with pytest.raises(LedgerError, match="HG433"):
        opened(tmp_path / "s")


def test_the_ledger_holds_nothing_that_tells_of_a_record(tmp_path: Path) -> None:
    """What lies in the ledger is the same whatever the labels are."""
    texts = []
    for labels in (Y, 1 - Y):
        path = tmp_path / f"{labels[0]}.ledger"
        TestSet(X, labels, relation="replace-one", epsilon=2.0, n_looks=4, mechanism="gaussian", ledger=path)
        with Ledger.open(path) as ledger:
            texts.append(json.loads(ledger.entries()[0].fingerprint))
        assert Path(f"{path}.secret").exists()
    assert texts[0] == texts[1]


def test_a_lost_secret_is_said_and_nothing_is_spent(tmp_path: Path) -> None:
    opened(tmp_path / "ts.ledger").close()
    (tmp_path / "ts.ledger.secret").unlink()
    with pytest.raises(LedgerError, match="HG433"):
        opened(tmp_path / "ts.ledger")


def test_a_metric_that_fails_on_made_up_records_is_refused_before_a_look() -> None:
    def broken(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        raise RuntimeError(f"label {labels[0]}")

    with pytest.raises(ParameterError, match="HG178") as refused:
        opened(metric=from_function("own", broken, bounds=(0, 1)))
    assert "label 0" not in str(refused.value) and refused.value.__context__ is None
    knows_two = {("cat", "dog"): 1.0, ("cat", "cat"): 0.0, ("dog", "dog"): 0.0, ("dog", "cat"): 2.0}
    costs = from_function("cost", lambda y, p: [knows_two[pair] for pair in zip(y, p, strict=True)], bounds=(0, 2))
    with pytest.raises(ParameterError, match="HG178"):
        opened(metric=costs)
    pets = TestSet(None, ["cat", "dog"] * 50, metric=costs, labels=["cat", "dog"], relation="replace-one", epsilon=9.0,
                   n_looks=1)  # fmt: skip
    assert pets.score(["dog"] * 100).value == pytest.approx(0.5, abs=0.3)


def test_what_fails_after_the_reservation_is_a_look_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    ts = opened()

    def failing(*_: object) -> None:
        raise RuntimeError("label 0")

    monkeypatch.setattr("hedgerow.testset.testset.losses_of", failing)
    with pytest.raises(SpentError, match="HG601") as refused:
        ts.score(Y)
    assert "label" not in str(refused.value) and refused.value.__context__ is None
    assert ts.remaining == 3


@pytest.mark.parametrize("given", [Y[:-1], np.zeros((N, 2)), 0.5, [[1], [2, 3]]])
def test_predictions_of_another_shape_take_no_look(given: object) -> None:
    ts = opened()
    with pytest.raises(ParameterError, match="HG170"):
        ts.score(given)
    assert ts.remaining == 4


def test_a_model_that_cannot_predict_takes_no_look() -> None:
    class Broken:
        def predict(self, x: object) -> object:
            raise ValueError(str(x))

    ts = opened()
    for model in (Broken(), type("Chances", (), {"predict_proba": lambda self, x: 0})()):
        with pytest.raises(ParameterError, match="HG174"):
            ts.score(model)
    assert ts.remaining == 4
    with pytest.raises(ParameterError, match="HG174"):
        opened(metric="brier").score(Broken())


def test_chances_are_those_of_the_positive_label() -> None:
    exact = float(np.mean((MODEL.predict_proba(X)[:, 1] - Y) ** 2))
    for given in (MODEL, MODEL.predict_proba(X)[:, 1]):
        score = opened(metric=brier()).score(given)
        assert abs(score.value - exact) < 6 * score.privacy_error
    swapped = opened(metric=brier(positive=0)).score(MODEL)
    assert abs(swapped.value - exact) < 6 * swapped.privacy_error


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("metric", ["accuracy", log_loss(clip=0.05)])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_both_relations_and_any_metric(relation: str, metric: object, mechanism: str) -> None:
    ts = SimulatedTestSet(X, Y, relation=relation, metric=metric, epsilon=3.0, n_looks=3, mechanism=mechanism, rng=1)
    score = ts.score(MODEL)
    assert score.simulated and score.certificate is None and "SIMULATED" in str(score)
    places = ts.settings.metric.places(Y, MODEL.predict(X) if metric == "accuracy" else MODEL.predict_proba(X)[:, 1])
    grid = ts.settings.metric.grid
    assert abs(score.value - places.mean() * float(grid.step)) < 6 * score.privacy_error
    assert (ts.minimum_detectable_difference is None) == (relation == "add-remove")


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_scores_survives_a_restart_and_fits_the_ledger(name: str, tmp_path: Path) -> None:
    path, delta = tmp_path / "ts.ledger", 0.9 if name == "resample" else 1e-4

    def ask() -> TestSet:
        return TestSet(
            None,
            Y,
            relation="replace-one",
            epsilon=2.0,
            delta=delta,
            n_looks=3,
            mechanism=name,
            n_answers=3,
            ledger=path,
        )

    with pytest.warns(UserWarning, match="1/n") if name == "resample" else _nothing():
        ts = ask()
        assert ts.settings.mechanism.name == name
        if not ts.settings.mechanism.once:
            assert fits(ts.settings.mechanism.described, ts.settings.conditions)
        first = ts.score(Y, training_score=0.5)
        ts.close()
        again = ask()
    assert again.settings.mechanism.described == ts.settings.mechanism.described
    assert again.history[0].value == first.value
    again.score(Y, training_score=0.5), again.score(Y, training_score=0.5)
    with pytest.raises(BudgetExceeded, match="HG430"):
        again.score(Y, training_score=0.5)
    with Ledger.open(path) as ledger:
        assert ledger.spent() <= 2.0
        ledger.verify()


def _nothing() -> object:
    from contextlib import nullcontext

    return nullcontext()


def test_thresholdout_spends_once_and_stops_after_its_answers(tmp_path: Path) -> None:
    path = tmp_path / "ts.ledger"
    options = {"relation": "replace-one", "epsilon": 2.0, "n_looks": 50, "mechanism": "thresholdout",
               "threshold": 0.2, "n_answers": 2}  # fmt: skip
    ts = TestSet(None, Y, ledger=path, **options)
    for _ in range(5):
        agrees = ts.score(Y, training_score=1.0)
        assert not agrees.paid and agrees.value == 1.0 and agrees.standard_error is None and agrees.half_width > 0.1
    with Ledger.open(path) as ledger:
        spent = ledger.spent()
    assert 1.99 < spent <= 2.0
    ts.close()
    again = TestSet(None, Y, ledger=path, **options)  # the threshold's noise is still the same
    for _ in range(2):
        corrected = again.score(Y, training_score=0.3)
        assert corrected.paid and abs(corrected.value - 1.0) < 0.1
    with pytest.raises(BudgetExceeded, match="HG430"):
        again.score(Y, training_score=1.0)
    with Ledger.open(path) as ledger:
        assert ledger.spent() == spent
    with pytest.raises(ParameterError, match="HG176"):
        again.score(Y)


@pytest.mark.parametrize(
    ("options", "error", "code"),
    [
        ({"mechanism": "magic"}, ParameterError, "HG172"),
        ({"thinning": 0}, ParameterError, "HG172"),
        ({"mechanism": "thresholdout", "threshold": 2.0}, ParameterError, "HG172"),
        ({"n_looks": 0}, ParameterError, "HG173"),
        ({"n_looks": 2.5}, ParameterError, "HG173"),
        ({"relation": None}, ParameterError, "HG103"),
        ({"mechanism": "resample"}, UncertifiedError, "HG431"),
        ({"mechanism": "smoothed_resample", "metric": "brier"}, UncertifiedError, "HG431"),
        ({"mechanism": "resample_gaussian", "delta": 0.0}, UncertifiedError, "HG431"),
        ({"mechanism": "smoothed_resample", "relation": "add-remove"}, UncertifiedError, "HG431"),
        ({"mechanism": "resample_gaussian", "thinning": 50.0}, UncertifiedError, "HG403|HG401"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    options: dict[str, object], error: type[Exception], code: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=code):
        opened(tmp_path / "ts.ledger", **options)
    assert list(tmp_path.iterdir()) == []


def test_auto_takes_the_least_expected_error_and_says_by_how_much() -> None:
    many, one = opened(mechanism="auto", n_looks=50), opened(mechanism="auto", n_looks=1)
    assert many.settings.mechanism.name == "gaussian" and one.settings.mechanism.name == "laplace"
    by_name = {row.name: row for row in many.comparison}
    assert set(by_name) == set(MECHANISMS) and by_name["gaussian"].times_best == 1.0
    assert 1.0 < by_name["smoothed_resample"].times_best < 1.2 < by_name["laplace"].times_best
    assert by_name["resample_gaussian"].times_best > 2.0, "where resampling loses to plain noise, the table says so"
    assert "no ε" in by_name["resample"].note and "training score" in by_name["thresholdout"].note
    pure = opened(mechanism="auto", delta=0.0)
    assert pure.settings.mechanism.name == "laplace"


def test_a_tuning_loop_gets_a_number_and_every_call_is_a_look() -> None:
    ts = opened()
    assert abs(ts(Y) - 1.0) < 0.2 and ts.as_objective()(Y) > 0.8 and ts.as_objective(maximise=False)(Y) < -0.8
    assert ts.remaining == 1


def test_a_delta_above_one_over_n_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="1/n"):
        opened(delta=0.01)


def test_the_noise_differs_from_process_to_process() -> None:
    code = (
        "import numpy as np; from hedgerow.testset import TestSet; y = np.arange(1000) % 2; "
        "ts = TestSet(None, y, relation='replace-one', epsilon=1.0, n_looks=3, mechanism='gaussian'); "
        "print(ts.score(0 * y).value)"
    )
    values = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
              for _ in range(2)}  # fmt: skip
    assert len(values) == 2
