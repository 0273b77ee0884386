"""A base model is not covered by the price: what it was fitted on is asked for, and what it tells is shut."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from hedgerow.errors import HedgerowError, HedgerowWarning, ParameterError, SpentError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.multicalibration import Multicalibrator
from hedgerow.multicalibration.base_model import scores_of
from hedgerow.multicalibration.calibrated_model import CONSENT
from hedgerow.multicalibration.family import records_of
from hedgerow.multicalibration.model_file import model_from_text, model_text
from hedgerow.multicalibration.report import report_of
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.published import NoPrivacy

PRICE: dict[str, Any] = {"relation": "add-remove", "epsilon": 1.0}


def coins(n: int = 2000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Records with an id of their own, and labels that nothing tells."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"id": np.arange(n), "sex": rng.integers(0, 2, n)}), rng.integers(0, 2, n)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    place = tmp_path / "people.ledger"
    Ledger.create(place, dataset="people", budget=Budget(9.0, 1e-6), relation="add-remove", unit="row").close()
    return place


def entries(ledger: Path) -> int:
    with Ledger.open(ledger) as kept:
        return len(kept.entries())


def test_a_tree_that_would_return_every_label_is_refused_before_anything_is_spent(ledger: Path) -> None:
    X, y = coins()
    for mechanism in ("table", "rounds", "numeric_sparse"):
        asked = Multicalibrator(DecisionTreeClassifier(), mechanism=mechanism, ledger=ledger, **PRICE)
        with pytest.raises(UncertifiedError) as refused:
            asked.fit(X, y)
        assert refused.value.code == "HG428" and CONSENT in str(refused.value) and "base_rows" in str(refused.value)
        assert not hasattr(asked, "estimator_")
    assert entries(ledger) == 0
    # A clone forgets the fit of its base model, so cross-validation would have fitted it on each fold.
    fitted = DecisionTreeClassifier().fit(*coins(seed=1))
    with pytest.raises(UncertifiedError, match="FrozenEstimator"):
        cross_val_score(Multicalibrator(fitted, ledger=ledger, **PRICE), X, y, cv=2, error_score="raise")
    clone(Multicalibrator(FrozenEstimator(fitted), ledger=ledger, **PRICE)).fit(X, y)


def test_rows_passed_apart_are_fitted_on_and_the_private_ones_are_not() -> None:
    X, y = coins()
    clf = Multicalibrator(DecisionTreeClassifier(), **PRICE).fit(X, y, base_rows=coins(seed=1))
    assert 0.4 < (clf.estimator_.predict(X) == y).mean() < 0.6
    told = clf.certificate_.assumptions[0]
    assert "passed apart" in told and clf.report_.to_dict()["base"] == told


def test_consent_is_repeated_wherever_the_price_is_told() -> None:
    X, y = coins()
    clf = Multicalibrator(DecisionTreeClassifier(), base_fit=CONSENT, groups={"sex": [0, 1]}, **PRICE).fit(X, y)
    # This is why: at "ε ≤ 1" each label comes back.
    assert (clf.predict(X) == y).mean() > 0.99
    told = clf.certificate_.assumptions[0]
    assert told.startswith("NOT PROTECTED") and CONSENT in told and "no ε holds" in told
    verified = verify_record(json.loads(model_text(clf.model_)))
    assert verified.holds and verified.not_protected == (told,) and verified.to_dict()["not_protected"] == [told]
    again = report_of(model_from_text(model_text(clf.model_)))
    for report in (clf.report_, again):
        assert told in str(report) and told in json.dumps(report.to_dict(), ensure_ascii=False)
        assert "NOT PROTECTED" in repr(report) and "NOT PROTECTED" in report._repr_html_()
    covered = Multicalibrator(clf.estimator_, **PRICE).fit(X, y)
    assert "NOT PROTECTED" not in str(covered.report_) + repr(covered.report_) + str(covered.certificate_.assumptions)


@pytest.mark.parametrize(
    ("named", "passed", "code"),
    [
        ({"base_fit": "yes"}, {}, "HG189"),
        ({"base_fit": True}, {}, "HG189"),
        ({"prefit": True}, {"base_rows": coins(seed=1)}, "HG189"),
        ({"estimator": None}, {"base_rows": coins(seed=1)}, "HG189"),
        ({}, {"base_rows": "everybody"}, "HG189"),
        ({"epsilon": None}, {"base_rows": coins(seed=1)}, "HG189"),
        ({"relation": None}, {"base_rows": coins(seed=1)}, "HG189"),
        ({"relation": "people"}, {"base_rows": coins(seed=1)}, "HG103"),
    ],
)
def test_what_is_not_said_in_full_is_refused(named: dict[str, Any], passed: dict[str, Any], code: str) -> None:
    X, y = coins()
    with pytest.raises(ParameterError) as refused:
        Multicalibrator(**{"estimator": DecisionTreeClassifier(), **PRICE, **named}).fit(X, y, **passed)
    assert refused.value.code == code


def test_neither_relation_nor_epsilon_has_a_default() -> None:
    X, y = coins()
    with pytest.raises(ParameterError) as refused:
        Multicalibrator(score_column="sex").fit(X, y)
    assert refused.value.code == "HG189"
    assert "`relation` and `epsilon` were not given" in refused.value.finding
    assert 'relation="add-remove", epsilon=1.0' in refused.value.remedy
    assert Multicalibrator(score_column="sex", mechanism=NoPrivacy()).fit(X, y).certificate_ is None


def test_the_private_rows_themselves_are_not_rows_apart() -> None:
    X, y = coins()
    for rows in ((X, y), (X, y.copy()), (X.copy(), y)):
        with pytest.raises(UncertifiedError) as refused:
            Multicalibrator(DecisionTreeClassifier(), **PRICE).fit(X, y, base_rows=rows)
        assert refused.value.code == "HG429"


def test_columns_that_the_base_model_was_not_fitted_on_cost_nothing(ledger: Path) -> None:
    """Afterwards a model that fails on every record would be passed over in silence."""
    X, y = coins()
    chosen = make_pipeline(ColumnTransformer([("id", "passthrough", ["id"])]), LogisticRegression())
    fitted = (
        LogisticRegression().fit(X[["id"]], y),
        chosen.fit(X[["id"]], y),
        LogisticRegression().fit(X[["id"]].to_numpy(), y),
    )
    for base, given in ((fitted[0], X), (fitted[1], X[["sex"]]), (fitted[2], X.to_numpy())):
        with pytest.raises(ParameterError) as refused:
            Multicalibrator(base, ledger=ledger, **PRICE).fit(given, y)
        assert refused.value.code == "HG166" and "on which it was fitted" in str(refused.value)
    assert entries(ledger) == 0
    # Columns of groups may stand beside the features where the base model chooses its own.
    Multicalibrator(fitted[1], groups={"sex": [0, 1]}, ledger=ledger, **PRICE).fit(X, y)


class Failing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Scores id / 1000 of each record and fails, by each means in turn, where an id is odd."""

    classes_ = np.array([0, 1])

    def __init__(self, failure: object = None) -> None:
        self.failure = failure

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: object, y: object) -> Any:
        raise AssertionError

    def predict_proba(self, X: pd.DataFrame) -> Any:
        if (X["id"] % 2 == 1).any():
            print("odd")
            print("odd", file=sys.stderr)
            warnings.warn("odd", stacklevel=1)
            if isinstance(self.failure, type):
                raise self.failure("odd")
            return self.failure
        score = X["id"].to_numpy() / 1000
        return np.stack([1 - score, score], axis=1)


@pytest.mark.parametrize(
    "failure", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError, None, np.zeros(3), "text"]
)
def test_a_record_on_which_the_base_model_fails_takes_no_score_from_another(
    failure: object, capfd: pytest.CaptureFixture[str]
) -> None:
    X = pd.DataFrame({"id": np.array([2, 4, 7, 8, 10, 12, 9])})
    found = scores_of(Failing(failure), records_of(X), 2)[:, 1]
    np.testing.assert_array_equal(found, [0.002, 0.004, np.nan, 0.008, 0.010, 0.012, np.nan])
    Multicalibrator(Failing(failure), **PRICE).fit(X, np.zeros(7))
    assert capfd.readouterr() == ("", "")


def test_fits_of_an_estimator_and_its_clones_are_added_up_aloud() -> None:
    X, y = coins(300)
    asked = Multicalibrator(score_column="sex", **{**PRICE, "epsilon": 0.5})
    assert asked.total_spent_.fits == 0
    asked.fit(X, y)
    with pytest.warns(HedgerowWarning, match="Fit 2 of .* ε ≤ 1 at δ ≤ 0"):
        asked.fit(X, y)
    with pytest.warns(HedgerowWarning, match="Fit 3 of .* ε ≤ 1.5"):
        clone(asked).fit(X, y)
    assert (asked.total_spent_.fits, asked.total_spent_.epsilon, asked.total_spent_.delta) == (3, 1.5, 0.0)
    # Another estimator starts anew, and without privacy nothing is spent.
    other = Multicalibrator(score_column="sex", **PRICE).fit(X, y)
    assert other.total_spent_.fits == 1
    free = Multicalibrator(score_column="sex", mechanism=NoPrivacy()).fit(X, y).fit(X, y)
    assert free.total_spent_.fits == 0
    with pytest.warns(HedgerowWarning, match="ε ≤ inf"):
        other.set_params(relation="replace-one").fit(X, y)


def test_cross_validation_and_grid_searches_are_heard() -> None:
    X, y = coins(300)
    asked = Multicalibrator(score_column="sex", **PRICE)
    with pytest.warns(HedgerowWarning) as told:
        cross_val_score(asked, X, y, cv=3, error_score="raise")
    assert len(told) == 2 and asked.total_spent_.epsilon == 3.0
    asked = Multicalibrator(score_column="sex", **PRICE)
    with pytest.warns(HedgerowWarning) as told:
        best = GridSearchCV(asked, {"n_buckets": [5, 10]}, cv=2, error_score="raise").fit(X, y).best_estimator_
    assert len(told) == 4 and asked.total_spent_.fits == best.total_spent_.fits == 5


def test_a_fit_that_fails_after_it_was_paid_for_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = coins(50)
    asked = Multicalibrator(score_column="sex", **PRICE)
    with monkeypatch.context() as patched:
        patched.setattr("hedgerow.multicalibration.estimator.Records.of", lambda *_: 1 / 0)
        with pytest.raises(SpentError):
            asked.fit(X, y)
    assert asked.total_spent_.fits == 1


def test_in_a_ledger_nobody_is_warned_and_an_answer_from_the_record_is_no_fit(ledger: Path) -> None:
    X, y = coins(50)
    asked = Multicalibrator(score_column="sex", ledger=ledger, n_fits=2, request_id="one", **PRICE)
    asked.fit(X, y).fit(X, y)
    assert asked.total_spent_.fits == entries(ledger) == 1
    asked.set_params(request_id="two").fit(X, y)
    assert asked.total_spent_.fits == entries(ledger) == 2


def test_a_refused_fit_counts_as_none() -> None:
    X, y = coins(50)
    asked = Multicalibrator(score_column="nothing", **PRICE)
    for _ in range(2):
        with pytest.raises(HedgerowError):
            asked.fit(X, y)
    assert asked.total_spent_.fits == 0
