"""`TestSet`: a test set that is looked at through a mechanism, a declared number of times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Unpack

from numpy.typing import NDArray

from hedgerow.errors import HedgerowWarning
from hedgerow.facts.budget import DEFAULT_DELTA, Budget, warn_about_delta
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.keywords import takes
from hedgerow.ledger.request import checked_text
from hedgerow.resampling.histogram import Histogram
from hedgerow.testset.counted import CountedTestSet, Rows
from hedgerow.testset.distinct import describe_difference
from hedgerow.testset.entries import Entries, digest_of
from hedgerow.testset.looks import Looks, LooksInMemory, refuse_copy
from hedgerow.testset.mechanisms.mechanism import Conditions, checked_options
from hedgerow.testset.metric import Metric, check_function, losses_of, parse_metric
from hedgerow.testset.paired import (
    count_differing,
    differences_of,
    refuse_models,
    require_paired,
)
from hedgerow.testset.parts.look import Parts, PartsAsked, checked_for, group_of, positive_label, require_parts
from hedgerow.testset.parts.measures import parse_measures
from hedgerow.testset.parts.squares import Squares
from hedgerow.testset.predictions import (
    align_to_records,
    as_predictions,
    checked_kind,
    checked_labels,
    checked_length,
    class_of_model,
    is_model,
    labels_of,
    predicted,
)
from hedgerow.testset.score import Score
from hedgerow.testset.settings import LookOptions, Terms, opened_looks


class TestSetOptions(LookOptions, total=False):
    """Keywords of `TestSet`, apart from its records, ε and the number of looks."""

    metric: str | Metric
    ledger: str | Path | None
    labels: Sequence[Any] | None
    name: str | None
    thinning: float
    threshold: float
    n_answers: int


_DEFAULTS: TestSetOptions = {
    "metric": "accuracy",
    "relation": None,
    "delta": DEFAULT_DELTA,
    "ledger": None,
    "mechanism": "auto",
    "labels": None,
    "name": None,
    "thinning": 10.0,
    "threshold": 0.02,
    "n_answers": 20,
}


class TestSet(CountedTestSet):
    """A test set whose scores, all together, are (ε, δ)-private for each of its records.

    Guarantee   everything that `score` returns, over all `n_looks` looks, is (ε, δ)-differentially private for the
    relation, with one row as the unit. Each look is reserved in the ledger before labels are read. So no sequence of
    looks learns much about any one record, and the test set stays fit to judge models.

    Parameters
    ----------
    X_test : table or None
        Features: what a model's ``predict`` takes. None where only predictions will be scored.
    y_test : array
        Labels, one for each row: numbers, truth values or texts. Anything else is missing, and counts as wrong.
    metric : str or Metric
        ``"accuracy"``, ``"zero-one"``, ``"brier"``, ``"log-loss"``, or one of `hedgerow.testset.metric`.
    relation : {"replace-one", "add-remove"}
        Who is protected. Under replace-one the number of records is public.
    epsilon, delta : float
        The TOTAL of all looks. δ = 0 asks for pure mechanisms.
    n_looks : int
        How often the test set may be looked at, ever.
    ledger : path, optional
        Where looks are counted. It is made if nothing is there; else it is opened, and its settings, which are public,
        must be the same. Labels and features are NOT compared with those of before, since the answer would tell of
        them: give `name`, and keep one ledger for each test set. Without a ledger this object alone counts; it cannot
        be copied, and the count is lost with it.
    mechanism : str
        ``"auto"`` takes the one of least expected error, see `comparison`; else one of `choose.MECHANISMS`.
    labels : list, optional
        All possible labels. A prediction that is none of them is then refused before a look is taken, and any other
        label of a record counts as missing. They are declared, never read off the data: without them any whole number
        or text is taken for a label, and a wrong one uses up a look.
    name : str, optional
        What the custodian calls this test set, public: a ledger is not opened under another name.
    thinning, threshold, n_answers
        Of single mechanisms, see `hedgerow.testset.mechanisms.mechanism.Options`.

    Attributes
    ----------
    settings : Settings
        Conditions, metric and mechanism.

    Raises
    ------
    ParameterError
        HG101 to HG103 for the budget and the relation, HG170 to HG173, HG177 and HG178 for the rest.
    LedgerError
        HG301 to HG308, HG433: the file is not a ledger, or it was made under other settings or another name.
    UncertifiedError
        HG401, HG403, HG431: the mechanism cannot be used under these conditions.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 5000)
    >>> ts = TestSet(None, y, metric="accuracy", relation="replace-one", epsilon=1.0, n_looks=10)
    >>> ts.remaining, round(ts.minimum_detectable_difference, 3)
    (10, 0.06)
    >>> score = ts.score(np.where(rng.random(5000) < 0.9, y, 1 - y))
    >>> abs(score.value - 0.9) < 0.05, score.look, ts.remaining
    (True, 1, 9)
    """

    @takes(TestSetOptions, **_DEFAULTS)
    def __init__(
        self, X_test: object, y_test: object, *, epsilon: float, n_looks: int, **options: Unpack[TestSetOptions]
    ) -> None:
        given: TestSetOptions = {**_DEFAULTS, **options}
        self._x, labels = X_test, labels_of(y_test)
        relation, n = parse_relation(given["relation"]), len(labels)
        self._metric = parse_metric(given["metric"])
        declared = checked_labels(self._metric, given["labels"])
        if self._metric.function is not None:
            check_function(self._metric.function, self._metric.needs, declared)
        self._y = labels.only(labels.among(declared)) if declared else labels
        checked_length(X_test, n)
        known = n if relation is Relation.REPLACE_ONE else None
        conditions = Conditions(relation, Budget(epsilon, given["delta"]), n_looks, known, self._metric.grid)
        mechanism_options = checked_options(given["thinning"], given["threshold"], given["n_answers"])
        name = None if given["name"] is None else checked_text("name", given["name"])
        warn_about_delta(conditions.budget.delta, known, frames=3)
        terms = Terms(conditions=conditions, metric=self._metric, options=mechanism_options, labels=declared, name=name)
        looks: Looks
        if given["ledger"] is None:
            settings, secret = terms.chosen(given["mechanism"])
            looks = LooksInMemory(secret)
        else:
            given["ledger"] = path = Path(given["ledger"]).absolute()
            settings, looks = opened_looks(path, terms, given["mechanism"])
        super().__init__(settings, looks)
        fixed: TestSetOptions = {"metric": self._metric, "mechanism": settings.mechanism.name}
        self._again = {"epsilon": epsilon, "n_looks": n_looks, **given, **fixed}

    def __getstate__(self) -> dict[str, Any]:
        """Return what opens the ledger again: a copy counts there, too (HG179 without a ledger)."""
        if self._again["ledger"] is None:
            raise refuse_copy("It was to be copied or pickled.")
        return {"X_test": self._x, "y_test": self._y, **self._again}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the ledger again."""
        with warnings.catch_warnings():
            # The user was warned when the original was opened.
            warnings.simplefilter("ignore", HedgerowWarning)
            self.__init__(**state)  # type: ignore[misc]  # the one way in which a test set is opened

    @takes()
    def score(
        self,
        model_or_predictions: object,
        *,
        metric: str | Sequence[str] | None = None,
        groups: object = None,
        positive: Any = None,
        bounds: tuple[float, float] | None = None,
        training_score: float | None = None,
        request_id: str | None = None,
    ) -> Score:
        """Take one look: score a model, or its predictions in the order of the test set.

        With `metric` or `groups` it is a look by parts, at the same price: see `hedgerow.testset.parts`. It takes
        predictions alone, and tells as many metrics of one kind as are named, of all records and of each group.

        Parameters
        ----------
        model_or_predictions : estimator or array
            Something with ``predict`` (for metrics of chances, ``predict_proba``), or an array of n predictions:
            labels, or the chances of the metric's positive label.
        metric : str or list of str, optional
            Of predicted labels ``"precision"``, ``"recall"``, ``"specificity"``, ``"f1"``, ``"balanced_accuracy"``; or
            ``"accuracy"``, ``"zero_one_loss"``, for groups; of chances or other scores ``"roc_auc"``; of chances
            ``"calibration_error"`` in ten bins.
        groups : array, optional
            A label for each record. It may depend on features and predictions, never on labels.
        positive : label, optional
            The label that counts as positive; else that of the test set's metric, or 1.
        bounds : (float, float), optional
            Of labels that are numbers, declared: for ``"r2"`` and ``"mean_squared_error"`` of predicted numbers.
        training_score : float, optional
            The same metric on the training set; needed by `thresholdout`, ignored by the rest.
        request_id : str, optional
            The same predictions, in the same order, under the same id are answered from the record, and take no look.
            For a model, its class is compared, not what it predicts, which depends on records: give each model an id
            of its own.

        Raises
        ------
        BudgetExceeded
            HG430: no looks are left. Nothing was read.
        UncertifiedError
            HG431: a look by parts under add-remove, or by another mechanism than Gaussian noise. No look was taken.
        ParameterError
            HG170 predictions of another shape or kind, HG171 a metric or label that is none, HG174 a model that cannot
            predict, HG176 no training score,
            HG179 in the child of a fork without a ledger, HG314 an invalid id. No look was taken.
        LedgerError, SpentError
            HG311, HG312 for the id; HG601, HG606: the look counts as taken.

        Examples
        --------
        >>> import numpy as np
        >>> y = np.arange(10_000) % 2
        >>> ts = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=20)
        >>> found = ts.score(np.where(y + np.arange(10_000) % 5 > 1, 1, 0), metric=["f1", "recall"])
        >>> abs(found["recall"].value - 0.8) < 0.02, ts.remaining
        (True, 19)
        """
        if metric is not None or groups is not None:
            asked = "accuracy" if metric is None else metric
            about = bounds if positive is None else positive
            return self._score_parts(model_or_predictions, asked, groups, about, request_id)
        training = self._training(training_score)
        request: dict[str, Any] = {"training": training, "predictions": None}
        n, public = len(self._y), self.settings.conditions.n is not None
        if is_model(model_or_predictions):
            request["model"] = class_of_model(model_or_predictions)
            predictions = predicted(model_or_predictions, self._x, n, self._metric, self._checked, public=public)
        else:
            predictions = self._checked(as_predictions(model_or_predictions, n, public=public))
            if request_id is not None:
                request["predictions"] = digest_of(self._looks.secret.key, predictions)

        def losses(_: object, rows: Rows) -> Histogram:
            return losses_of(self._metric, self._y, align_to_records(predictions, n), rows)

        return self._take_look(self._plain(losses, training), request, request_id, nullcontext())

    def _score_parts(
        self, sent: object, metric: str | Sequence[str], groups: object, about: Any, request_id: str | None
    ) -> Score:
        n, measures = require_parts(self.settings), parse_measures(metric)
        refuse_models(sent)
        kind = measures[0].kind
        label = None if kind == "squares" else positive_label(self.settings, about)
        predictions = checked_for(kind, self.settings.labels, as_predictions(sent, n, public=True))
        group = None if groups is None else as_predictions(groups, n, public=True)
        parts: Parts | Squares
        if kind == "squares":
            parts = Squares.of(predictions, group_of(group, n), about)
        else:
            parts = Parts.of(kind, predictions, group, label)
        asked = PartsAsked(measures, label, parts)
        key = self._looks.secret.key
        given = None if request_id is None else digest_of(key, predictions, *([] if group is None else [group]))

        def outcome(_: object) -> NDArray[Any]:
            if kind == "squares":
                return self._y.numbers
            return self._y.equal(predictions) if kind == "right" else self._y.among([label])

        return self._by_parts(asked, outcome, {"predictions": given}, request_id, nullcontext())

    @takes()
    def compare(self, first: object, second: object, *, request_id: str | None = None) -> Score:
        """Take one look at the difference of two models' scores, first minus second, from predictions of both.

        It is priced as one look. Records for which the predictions are equal add exactly 0, so where two models agree
        on most records the difference errs much less than that of two scores. See `hedgerow.testset.paired`.

        Parameters
        ----------
        first, second : array
            Predictions of n records each, in the order of the test set. Models are not taken: for how many records
            their predictions differ would tell of features.
        request_id : str, optional
            As for `score`.

        Raises
        ------
        BudgetExceeded, LedgerError, SpentError
            As for `score`.
        UncertifiedError
            HG431: a metric or a mechanism that has no proven price for it. No look was taken.
        ParameterError
            HG170: not two arrays of n predictions. No look was taken.

        Examples
        --------
        >>> import numpy as np
        >>> y = np.arange(10_000) % 2
        >>> ts = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=20)
        >>> good, less = (np.where(np.arange(10_000) < right, y, 1 - y) for right in (9_500, 9_000))
        >>> found = ts.compare(good, less)
        >>> abs(found.value - 0.05) < 0.03, found.distinguishable, found.sampling_error < 0.003
        (True, True, True)
        """
        n = require_paired(self.settings)
        refuse_models(first, second)
        pair = [self._checked(as_predictions(one, n, public=True)) for one in (first, second)]
        differing = count_differing(*pair)
        key = self._looks.secret.key
        digests = [None if request_id is None else digest_of(key, one) for one in pair]

        request = {"predictions": digests[0], "against": digests[1]}
        return self._compared(
            lambda _: differences_of(self._metric, self._y, *pair), differing, request, request_id, nullcontext()
        )

    def __call__(self, model_or_predictions: object) -> float:
        """Take one look and return the value alone, for a tuning loop; see `as_objective`."""
        return self.score(model_or_predictions).value

    def as_objective(self, *, maximise: bool = True) -> Callable[[object], float]:
        """Return a function from a model or predictions to a number that a tuning loop may maximise (or minimise).

        Every call takes a look. It is not a scorer for cross-validation, which would give it training folds.
        """
        sign = 1.0 if self._metric.greater_is_better is maximise else -1.0
        return lambda model_or_predictions: sign * self(model_or_predictions)

    def __repr__(self) -> str:
        facts, least = self.settings.conditions, self.minimum_detectable_difference
        size = "" if facts.n is None else f" of {facts.n:,} records"
        detect = "" if least is None else f", {describe_difference(least, facts)}"
        last = self.settings.last_half_width
        detect += "" if last is None else f"; a model fitted to all other answers: ± {last:.3g} at the last look"
        return (
            f"<TestSet{size}, {self._metric.name} by {self.settings.mechanism.name}, ε ≤ {facts.budget.epsilon:g} at "
            f"δ = {facts.budget.delta:.3g}, {facts.relation}, {self.remaining} of {facts.n_looks} looks left{detect}>"
        )

    def _checked(self, predictions: Entries) -> Entries:
        return checked_kind(self._metric, self.settings.labels, predictions)
