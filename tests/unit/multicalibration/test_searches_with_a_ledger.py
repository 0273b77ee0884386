"""`cross_val_score` and `GridSearchCV` with a ledger: every fit is paid for, and they stop when the budget ends."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from hedgerow.errors import BudgetExceeded
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.multicalibration import Multicalibrator

RNG = np.random.default_rng(3)
X = np.column_stack([RNG.normal(size=900), RNG.integers(0, 2, 900)])
Y = (RNG.random(900) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1]))).astype(int)
BASE = FrozenEstimator(LogisticRegression().fit(X[:300], Y[:300]))  # fitted on other rows than those that follow


def opened(folder: Path, epsilon: float) -> Path:
    place = folder / "people.ledger"
    Ledger.create(place, dataset="people", budget=Budget(epsilon, 0.0), relation="add-remove", unit="row").close()
    return place


def fits_in(ledger: Path) -> int:
    with Ledger.open(ledger) as kept:
        return len(kept.entries())


def asked(ledger: Path, n_fits: int) -> Multicalibrator:
    return Multicalibrator(BASE, groups={1: [0, 1]}, relation="add-remove", epsilon=0.3, ledger=ledger, n_fits=n_fits)


def test_a_search_within_the_budget_works_and_pays_for_every_fit(tmp_path: Path) -> None:
    ledger = opened(tmp_path, 2.0)
    search = GridSearchCV(asked(ledger, 5), {"n_buckets": [5, 10]}, cv=2, error_score="raise", scoring="neg_log_loss")
    search.fit(X[300:], Y[300:])
    # Two candidates × two folds, and the best once more on all rows.
    assert fits_in(ledger) == 5 and search.best_params_["n_buckets"] in (5, 10)
    assert search.predict_proba(X[300:]).shape == (600, 2)
    # The sabotage: a search without a ledger pays nothing anywhere; the sum alone says what it cost.
    free = Multicalibrator(BASE, groups={1: [0, 1]}, relation="add-remove", epsilon=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cross_val_score(free, X[300:], Y[300:], cv=2)
    assert free.total_spent_.epsilon == pytest.approx(0.6) and fits_in(ledger) == 5


@pytest.mark.parametrize("kind", ["cross-validation", "search"])
def test_it_stops_when_the_budget_ends(tmp_path: Path, kind: str) -> None:
    """.3 each of .7: two fits, and the third is refused before it reads a record."""
    ledger = opened(tmp_path, 0.7)
    with pytest.raises(BudgetExceeded):
        if kind == "search":
            GridSearchCV(asked(ledger, 50), {"n_buckets": [5, 10]}, cv=2, error_score="raise").fit(X[300:], Y[300:])
        else:
            cross_val_score(asked(ledger, 50), X[300:], Y[300:], cv=5, error_score="raise")
    assert fits_in(ledger) == 2


def test_scores_of_fits_that_were_refused_are_missing_where_scikit_learn_goes_on(tmp_path: Path) -> None:
    ledger = opened(tmp_path, 0.7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = cross_val_score(asked(ledger, 50), X[300:], Y[300:], cv=5)
    assert np.isnan(scores).tolist() == [False, False, True, True, True]
    assert any("BudgetExceeded" in str(one.message) for one in caught) and fits_in(ledger) == 2
