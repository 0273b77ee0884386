"""`Multicalibrator`: priced before data are read, refused where it must be, and a good citizen of scikit-learn."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hedgerow.errors import BudgetExceeded, DataError, LedgerError, ParameterError, SpentError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.multicalibration import Multicalibrator, cuts, masks, multicalibration_error, read_model, write_model
from hedgerow.multicalibration import calibration_fit as fitting
from hedgerow.multicalibration.calibrated_model import CONSENT
from hedgerow.multicalibration.family import records_of
from hedgerow.release import spend
from hedgerow.testing.published import NoPrivacy

GROUPS = {"race": ["A", "B"], "sex": [0, 1]}


def calibrator(*given: Any, **named: Any) -> Multicalibrator:
    return Multicalibrator(*given, **{"relation": "add-remove", "epsilon": 1.0, **named})


def people(n: int = 3000, seed: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"score": rng.random(n), "race": rng.choice(["A", "B", "C"], n), "sex": rng.integers(0, 2, n).astype(float)}
    )
    truth = np.clip(X["score"] + 0.3 * (X["race"] == "B") - 0.2 * (X["sex"] == 1), 0, 1)
    return X, (rng.random(n) < truth).astype(int).to_numpy()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    place = tmp_path / "people.ledger"
    Ledger.create(place, dataset="people", budget=Budget(2.0, 1e-6), relation="add-remove", unit="row").close()
    return place


def test_precomputed_scores_become_right_in_every_group() -> None:
    X, y = people(20_000)
    clf = calibrator(groups=GROUPS, epsilon=1.0).fit(X, y)
    X, y = people(20_000, 2)
    before = multicalibration_error(y, X["score"], GROUPS, X=X)
    after = multicalibration_error(y, clf.predict_proba(X)[:, 1], GROUPS, X=X)
    assert before > 0.007 and after < 0.0055
    assert 0.999 < clf.certificate_.epsilon <= 1.0 and clf.certificate_.delta == 0.0
    clf.certificate_.verify()
    assert "base model" in clf.certificate_.assumptions[0] and "one fit" in clf.certificate_.assumptions[1]


@pytest.mark.parametrize("wrap", [lambda X: X, pl.from_pandas, lambda X: X[["score", "sex"]].to_numpy()])
def test_frames_of_any_library_and_arrays_are_taken(wrap: Any) -> None:
    X, y = people()
    given = wrap(X)
    array = isinstance(given, np.ndarray)
    clf = calibrator(groups={1: [0, 1]} if array else GROUPS, score_column=0 if array else "score", epsilon=1.0)
    probabilities = clf.fit(given, y).predict_proba(given)
    assert probabilities.shape == (3000, 2) and np.allclose(probabilities.sum(axis=1), 1.0)
    assert clf.n_features_in_ == (2 if array else 3) and hasattr(clf, "feature_names_in_") != array


def test_the_base_model_is_used_as_it_is_where_it_is_fitted_and_fitted_where_it_is_not() -> None:
    X, y = people()
    features = X[["score", "sex"]]
    base = LogisticRegression().fit(features, 1 - y)
    assert calibrator(base).fit(features, y).estimator_ is base
    other, labels = people(seed=2)
    again = calibrator(base).fit(features, y, base_rows=(other[["score", "sex"]], labels)).estimator_
    assert again is not base and again.coef_[0, 0] > 0 > base.coef_[0, 0]
    frozen = FrozenEstimator(base)
    assert clone(calibrator(frozen)).fit(features, y).estimator_.estimator is base
    unprotected = calibrator(base, prefit=False, base_fit=CONSENT).fit(features, y).estimator_
    assert unprotected is not base and unprotected.coef_[0, 0] > 0


def test_a_base_model_without_probabilities_or_with_one_class_is_refused() -> None:
    X, y = people(100)
    features = X[["score", "sex"]]
    for base in (LinearSVC(), DummyClassifier().fit(features, np.zeros(100))):
        with pytest.raises(ParameterError) as refused:
            calibrator(base).fit(features, y)
        assert refused.value.code == "HG166"


def test_a_base_model_with_a_certificate_is_said_to_have_one() -> None:
    X, y = people()
    base = LogisticRegression().fit(X[["score"]], y)
    base.certificate_ = "something"
    told = calibrator(base).fit(X[["score"]], y).certificate_.assumptions
    assert "certificate of its own" in told[0]


def test_three_classes_cost_what_is_asked_for_together() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X + rng.gumbel(size=X.shape), axis=1)]
    clf = calibrator(LogisticRegression().fit(X, y), groups={0: [0.5]}, epsilon=0.9).fit(X, y)
    assert 0.898 < clf.certificate_.epsilon <= 0.9 and len(clf.certificate_.mechanism.parts) == 3 * 2
    assert clf.certificate_.mechanism.parts[0].scale == pytest.approx(3 / 0.9 / 0.95, rel=2e-3)
    probabilities = clf.predict_proba(X)
    assert probabilities.shape == (2000, 3) and np.allclose(probabilities.sum(axis=1), 1.0)
    assert set(clf.predict(X)) <= {"a", "b", "c"} and (clf.predict(X) == y).mean() > 0.5
    assert len(clf.report_.to_dict()["models"]) == 3


def test_weights_are_for_fits_without_privacy() -> None:
    X, y = people()
    with pytest.raises(UncertifiedError) as refused:
        calibrator(groups=GROUPS).fit(X, y, sample_weight=np.ones(3000))
    assert refused.value.code == "HG424"
    twice = np.where(np.arange(3000) < 1000, 2.0, 1.0)
    repeated = pd.concat([X, X[:1000]], ignore_index=True)
    weighted = calibrator(groups=GROUPS, mechanism=NoPrivacy()).fit(X, y, sample_weight=twice)
    copied = calibrator(groups=GROUPS, mechanism=NoPrivacy()).fit(repeated, np.concatenate([y, y[:1000]]))
    assert weighted.certificate_ is None
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-5)


def test_the_price_is_reserved_before_labels_scores_or_groups_are_read(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails while reading leaves an entry in the ledger, and tells nothing of why."""
    X, y = people()
    reserved: list[int] = []

    def failing(*_: object, **__: object) -> Any:
        with Ledger.open(ledger) as kept:
            reserved.append(len(kept.entries()))
        raise ValueError("a cell that nobody may see: 12345")

    monkeypatch.setattr("hedgerow.multicalibration.estimator.Records.of", failing)
    with pytest.raises(SpentError) as spent:
        calibrator(groups=GROUPS, ledger=ledger).fit(X, y)
    assert reserved == [1] and "12345" not in str(spent.value) and spent.value.__context__ is None


def test_what_can_be_known_beforehand_costs_nothing(ledger: Path) -> None:
    X, y = people(50)
    for wrong in (
        {"groups": {"gender": [0, 1]}},
        {"mechanism": NoPrivacy()},
        {"mechanism": "none"},
        {"epsilon": 5.0},
        {"n_fits": 0},
    ):
        with pytest.raises((DataError, ParameterError, BudgetExceeded)):
            calibrator(ledger=ledger, **wrong).fit(X, y)
    with Ledger.open(ledger) as kept:
        assert kept.entries() == ()


def test_refits_in_cross_validation_are_refused_unless_they_are_declared(ledger: Path) -> None:
    X, y = people(300)
    with pytest.raises(UncertifiedError) as refused:
        cross_val_score(calibrator(ledger=ledger, epsilon=0.1), X, y, cv=3, error_score="raise")
    assert refused.value.code == "HG423"
    with Ledger.open(ledger) as kept:
        assert len(kept.entries()) == 1
    declared = calibrator(ledger=ledger, epsilon=0.1, n_fits=4)
    assert len(cross_val_score(declared, X, y, cv=3, error_score="raise")) == 3
    with Ledger.open(ledger) as kept:
        assert len(kept.entries()) == 4 and 0.39 < kept.spent() <= 0.4
        assert len({entry.fingerprint for entry in kept.entries()}) == 4


def test_the_same_request_under_the_same_id_returns_the_recorded_model(ledger: Path) -> None:
    X, y = people()
    asked = calibrator(groups=GROUPS, ledger=ledger, request_id="model-1")
    first = asked.fit(X, y).predict_proba(X)
    again = clone(asked).fit(X, y)
    assert (again.predict_proba(X) == first).all() and again.ledger_head_ == asked.ledger_head_
    with Ledger.open(ledger) as kept:
        assert len(kept.entries()) == 1


def test_a_recorded_model_with_predicates_still_scores(ledger: Path) -> None:
    X, y = people(500)
    asked = calibrator(groups={"high": lambda rows: rows["score"] > 0.5}, ledger=ledger, request_id="m")
    first = asked.fit(X, y).predict_proba(X)
    assert "one record at a time" in asked.certificate_.assumptions[1]
    assert (clone(asked).fit(X, y).predict_proba(X) == first).all()


def test_a_private_fit_depends_on_the_records_through_the_released_table_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two data sets, noise that takes both to one table: model, certificate and report agree to the last bit."""
    wanted = np.random.default_rng(1).integers(0, 9, 9 * 40 * 2 + 40)

    class Aimed:
        def __init__(self, X: pd.DataFrame, y: np.ndarray) -> None:
            from hedgerow.multicalibration import family_of
            from hedgerow.multicalibration.calibrated_model import Records
            from hedgerow.multicalibration.count_table import CountTable, exact_places
            from hedgerow.multicalibration.family import records_of

            family = family_of(GROUPS)
            records = Records.of(family, family.classes(records_of(X)), X["score"].to_numpy(), y)
            exact = CountTable().counts(records).ravel(), exact_places(records, CountTable().score_bins(family))
            self.noise = wanted - np.concatenate(exact)

        def two_sided_geometric(self, scale: float, size: int) -> np.ndarray:
            drawn, self.noise = self.noise[:size], self.noise[size:]
            return drawn

    made = []
    for n, seed in ((200, 1), (333, 2)):
        X, y = people(n, seed)
        with monkeypatch.context() as patched:
            patched.setattr(spend, "SecureNoise", lambda X=X, y=y: Aimed(X, y))
            clf = calibrator(groups=GROUPS).fit(X, y)
        made.append((fitting.model_text(clf.model_), clf.report_.to_dict()))
    assert made[0] == made[1]
    assert repr(clf.report_).startswith("<Report of 'table': max_error") and "read from what" in str(clf.report_)


def test_it_lives_in_a_pipeline_is_cloned_and_pickled() -> None:
    X, y = people()
    features = X[["score", "sex"]]
    base = LogisticRegression().fit(StandardScaler().set_output(transform="pandas").fit_transform(features), y)
    line = make_pipeline(StandardScaler(), calibrator(base, groups=masks("sex")))
    line.set_output(transform="pandas")
    line.fit(features, y)
    again = pickle.loads(pickle.dumps(line))
    assert (again.predict_proba(features) == line.predict_proba(features)).all()
    assert clone(line[-1]).get_params()["groups"] == masks("sex")


def test_under_replace_one_the_number_of_records_is_public_and_the_noise_doubles() -> None:
    X, y = people()
    added = calibrator(groups=GROUPS).fit(X, y)
    replaced = calibrator(groups=GROUPS, relation="replace-one").fit(X, y)
    for near, far in zip(added.certificate_.mechanism.parts, replaced.certificate_.mechanism.parts, strict=True):
        assert far.scale == pytest.approx(2 * near.scale, rel=3e-3)
    assert replaced.model_.after[0].n == 3000.0 != added.model_.after[0].n


def test_two_fits_at_one_moment_never_share_an_answer(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both would take the same number: the second is refused, though all that it asks for is the same."""
    X, y = people(200)
    monkeypatch.setattr(fitting, "next_fit", lambda *_: "multicalibrate:1")
    calibrator(ledger=ledger, epsilon=0.1).fit(X, y)
    with pytest.raises(LedgerError) as refused:
        calibrator(ledger=ledger, epsilon=0.1).fit(X, y)
    assert refused.value.code == "HG311"


def test_fits_under_ids_of_their_own_count_too(ledger: Path) -> None:
    X, y = people(200)
    calibrator(ledger=ledger, epsilon=0.1, request_id="a").fit(X, y)
    with pytest.raises(UncertifiedError) as refused:
        calibrator(ledger=ledger, epsilon=0.1, request_id="b").fit(X, y)
    assert refused.value.code == "HG423"


@pytest.mark.parametrize("mechanism", ["table", "rounds", "numeric_sparse", "input_perturbation"])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_private_mechanism_meets_its_price_and_survives_its_file(
    mechanism: str, classes: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.integers(0, classes, 2000)
    base = LogisticRegression().fit(X, y)
    asked = calibrator(base, groups={0: cuts(0)}, mechanism=mechanism, relation="replace-one")
    clf = asked.fit(X, y)
    clf.certificate_.verify()
    assert 0.99 < clf.certificate_.epsilon <= 1.0 and clf.certificate_.delta == (1e-6 if mechanism == "rounds" else 0.0)
    write_model(clf.model_, tmp_path / "m.json")
    again = read_model(tmp_path / "m.json")
    made = again.calibrated(
        records_of(X), clf.estimator_.predict_proba(X)[:, 1:] if classes == 2 else base.predict_proba(X)
    )
    assert (made == clf.predict_proba(X)).all() and len(again.certificate.to_dict()["mechanism"]) > 1


def test_a_misspelt_column_of_scores_and_labels_of_another_kind_cost_nothing(ledger: Path) -> None:
    X, y = people(200)
    paid = {"groups": GROUPS, "ledger": ledger, "epsilon": 0.1}
    for asked, labels in (
        (calibrator(**paid, score_column="scroe"), y),
        (calibrator(**paid, classes=[0, 1, 2]), y),
        (calibrator(**paid), np.where(y == 1, "yes", "no")),
    ):
        with pytest.raises((DataError, ParameterError)) as refused:
            asked.fit(X, labels)
        assert refused.value.code == "HG166"
    with Ledger.open(ledger) as kept:
        assert kept.entries() == ()
    named = calibrator(groups=GROUPS, classes=["no", "yes"]).fit(X, np.where(y == 1, "yes", "no"))
    assert set(named.predict(X)) <= {"no", "yes"}


def test_of_two_columns_of_scores_the_second_class_has_the_second() -> None:
    X, y = people(500)
    both = X.assign(other=1.0 - X["score"])
    one = calibrator(groups=GROUPS, mechanism=NoPrivacy()).fit(X, y).predict_proba(X)
    two = calibrator(groups=GROUPS, mechanism=NoPrivacy(), score_column=["other", "score"]).fit(both, y)
    np.testing.assert_array_equal(two.predict_proba(both), one)


def test_a_model_without_privacy_is_written_and_read_but_holds_no_errors(tmp_path: Path) -> None:
    """Models that say ``"none"`` were written by earlier versions too."""
    X, y = people(500)
    model = calibrator(groups=GROUPS, mechanism=NoPrivacy()).fit(X, y).model_
    write_model(model, tmp_path / "m.json")
    record, again = json.loads((tmp_path / "m.json").read_text()), read_model(tmp_path / "m.json")
    assert record["mechanism"] == again.mechanism == "none" and again.certificate is None
    assert record["before"] == record["after"] == [None]
