"""`TestSet`: a test set that is looked at through a mechanism, a declared number of times."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.noise.secure import SecureNoise
from hedgerow.noise.source import NoiseSource
from hedgerow.privacy.budget import DEFAULT_DELTA, Budget
from hedgerow.privacy.relation import Relation, parse_relation
from hedgerow.resampling.histogram import Histogram
from hedgerow.testset.ask import ask
from hedgerow.testset.choose import Compared, choose, compare
from hedgerow.testset.conditions import Conditions
from hedgerow.testset.distinct import said_of_differences
from hedgerow.testset.fingerprint import OrderedRows, digest_of_predictions, fingerprint, row_marks
from hedgerow.testset.kinds import checked_kind, checked_positive, kind_of
from hedgerow.testset.looks import LedgerLooks, Looks, LooksInMemory
from hedgerow.testset.mechanism import Options, checked_options
from hedgerow.testset.metric import Metric, parse_metric
from hedgerow.testset.opened import opened_looks, threshold_noise
from hedgerow.testset.records import as_predictions, checked_length, chosen_chances, columns_of, labels_of, predicted_by
from hedgerow.testset.score import Score
from hedgerow.testset.secret import Secret
from hedgerow.testset.settings import Settings
from hedgerow.testset.thresholdout import checked_training

__all__ = ["TestSet"]


class TestSet:
    """A test set whose scores, all together, are (ε, δ)-private for each of its records.

    Guarantee   everything that `score` returns, over all `n_looks` looks, is (ε, δ)-differentially private for the
    relation, one row the unit; each look is reserved in the ledger before labels are read. In consequence no sequence
    of looks, however clever, learns much about any one record: the test set stays fit for judging.

    Parameters
    ----------
    X_test : table or None
        Features: what a model's ``predict`` takes. None where only predictions will be scored.
    y_test : array
        Labels, one a row.
    metric : str or Metric
        ``"accuracy"``, ``"zero-one"``, ``"brier"``, ``"log-loss"``, or one of `hedgerow.testset.metric`.
    relation : {"replace-one", "add-remove"}
        Who is protected. Under replace-one the number of records is public.
    epsilon, delta : float
        The TOTAL of all looks. δ = 0 asks for pure mechanisms.
    n_looks : int
        How often the test set may be looked at, ever.
    ledger : path, optional
        Where looks are counted: made if nothing is there, else opened and compared by settings and fingerprint. Without
        one this object counts, and forgets.
    mechanism : str
        ``"auto"`` takes the one of least expected error, see `comparison`; else one of `choose.MECHANISMS`.
    thinning, threshold, n_answers
        Of single mechanisms, see `hedgerow.testset.mechanism.Options`.

    Attributes
    ----------
    settings : Settings
        Conditions, metric and mechanism.

    Raises
    ------
    ParameterError
        HG101 to HG103 for the budget and the relation, HG170 to HG173 for the rest.
    LedgerError
        HG301 to HG308, HG433: the ledger is none, or that of another test set.
    UncertifiedError
        HG401, HG403, HG431: the mechanism does not serve.

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

    # Test runners collect classes of this name.
    __test__ = False

    def __init__(
        self,
        X_test: object,
        y_test: object,
        *,
        metric: str | Metric = "accuracy",
        relation: str | None = None,
        epsilon: float,
        delta: float = DEFAULT_DELTA,
        n_looks: int,
        ledger: str | Path | None = None,
        mechanism: str = "auto",
        thinning: float = 10.0,
        threshold: float = 0.02,
        n_answers: int = 20,
    ) -> None:
        self._x, self._y = X_test, labels_of(y_test)
        whom, n = parse_relation(relation), len(self._y)
        self._metric, self._kind = parse_metric(metric), kind_of(y_test, self._y)
        checked_positive(self._metric, self._kind)
        checked_length(X_test, n)
        known = n if whom is Relation.REPLACE_ONE else None
        looks = _plain(n_looks)
        conditions = Conditions(whom, Budget(epsilon, delta), looks, known, self._metric.grid)
        options = checked_options(thinning, threshold, n_answers)
        self._noise: NoiseSource = SecureNoise()
        if known is not None and delta > 1.0 / known:
            warnings.warn(f"delta exceeds 1/n: the mechanism may give away whole records ({delta:g}).", stacklevel=2)
        self.settings, self._looks = self._open(conditions, mechanism, options, ledger)

    def _open(
        self, conditions: Conditions, mechanism: str, options: Options, ledger: str | Path | None
    ) -> tuple[Settings, Looks]:
        if ledger is None:
            chosen = choose(mechanism, conditions, options)
            noise = threshold_noise(chosen, SecureNoise())
            return Settings(conditions, self._metric, chosen, options), LooksInMemory(Secret.fresh(noise))
        columns = [*columns_of(self._x, len(self._y)), self._y]
        return opened_looks(
            Path(ledger), conditions, self._metric, mechanism, options, lambda key: fingerprint(columns, key)
        )

    def score(
        self,
        model_or_predictions: object,
        *,
        training_score: float | None = None,
        request_id: str | None = None,
    ) -> Score:
        """Take one look: score a model, or its predictions in the order of the test set.

        Parameters
        ----------
        model_or_predictions : estimator or array
            Something with ``predict`` (for metrics of chances, ``predict_proba``), or an array of n predictions:
            labels, or the chances of the metric's positive label.
        training_score : float, optional
            The same metric on the training set; needed by `thresholdout`, ignored by the rest.
        request_id : str, optional
            The same predictions under the same id are answered from the record, and take no look.

        Raises
        ------
        BudgetExceeded
            HG430: no looks are left. Nothing was read.
        ParameterError
            HG170 predictions of another shape or kind, HG174 a model that cannot predict, HG176 no training score,
            HG314 an id that is no text. No look was taken.
        LedgerError, SpentError
            HG311, HG312 for the id; HG601, HG606: the look counts as taken.
        """
        training = checked_training(training_score) if self.settings.mechanism.once else None
        predictions = self._predictions(model_or_predictions)
        told = {"predictions": None if request_id is None else self._digest(predictions)}
        return ask(
            self.settings,
            self._looks,
            lambda: _histogram(self._metric, self._y, predictions),
            told,
            self._noise,
            request_id=request_id,
            training=training,
        )

    def __call__(self, model_or_predictions: object) -> float:
        """Take one look and return the value alone, for a tuning loop; see `as_objective`."""
        return self.score(model_or_predictions).value

    def as_objective(self, *, maximise: bool = True) -> Callable[[object], float]:
        """Return a function from a model or predictions to a number that a tuning loop may maximise (or minimise).

        Every call takes a look. It is not a scorer of cross-validation, which would hand it training folds.
        """
        sign = 1.0 if self._metric.greater_is_better is maximise else -1.0
        return lambda model_or_predictions: sign * self(model_or_predictions)

    @property
    def remaining(self) -> int:
        """How many looks are left."""
        return self.settings.looks_left(self._looks.past().used)

    @property
    def history(self) -> tuple[Score, ...]:
        """The scores of all looks that were recorded, in order."""
        return self._looks.past().in_order

    @property
    def minimum_detectable_difference(self) -> float | None:
        """Which difference of two expected scores is found distinguishable with probability .8; None without n."""
        return self.settings.minimum_detectable_difference

    @cached_property
    def comparison(self) -> tuple[Compared, ...]:
        """All mechanisms at this budget, the best first; see `hedgerow.testset.choose.compare`."""
        return compare(self.settings.conditions, self.settings.options)

    def close(self) -> None:
        """Close the ledger; using the test set again opens it again."""
        if isinstance(self._looks, LedgerLooks):
            self._looks.close()

    def __repr__(self) -> str:
        facts, least = self.settings.conditions, self.minimum_detectable_difference
        size = "" if facts.n is None else f" of {facts.n:,} records"
        detect = "" if least is None else f", {said_of_differences(least, facts)}"
        return (
            f"<TestSet{size}, {self._metric.name} by {self.settings.mechanism.name}, ε ≤ {facts.budget.epsilon:g} at "
            f"δ = {facts.budget.delta:.3g}, {facts.relation}, {self.remaining} of {facts.n_looks} looks left{detect}>"
        )

    def _predictions(self, given: Any) -> NDArray[Any]:
        labels = self._metric.needs == "labels"
        wanted = "predict" if labels else "predict_proba"
        if callable(getattr(given, wanted, None)):
            failed = False
            try:
                predicted, classes = predicted_by(given, self._x, wanted)
            except Exception:
                # What a model raises may quote a row.
                failed = True
            if failed:
                raise _cannot_predict(
                    "Its prediction failed.", "Call it on the test set's features yourself to see why."
                )
            given = predicted if labels else chosen_chances(predicted, classes, self._metric)
        elif callable(getattr(given, "predict", None)) or callable(getattr(given, "predict_proba", None)):
            raise _cannot_predict(f"It has no `{wanted}`.", "Give predictions as an array.")
        return checked_kind(self._metric, self._kind, as_predictions(given, len(self._y)))

    def _digest(self, predictions: NDArray[Any]) -> str:
        return digest_of_predictions(self._rows, predictions, self._looks.secret.key)

    @cached_property
    def _rows(self) -> OrderedRows:
        key = self._looks.secret.key
        return OrderedRows.of(row_marks([*columns_of(self._x, len(self._y)), self._y], key), key)


def _histogram(metric: Metric, labels: NDArray[Any], predictions: NDArray[Any]) -> Histogram:
    counts = np.bincount(metric.places(labels, predictions), minlength=metric.grid.steps + 1).astype(np.int64)
    index = np.flatnonzero(counts)
    return Histogram.from_triplets(np.zeros_like(index), index, counts[index], cells=1)


def _plain(number: Any) -> Any:
    """Return one of NumPy's whole numbers as Python's, which JSON keeps; anything else as it is."""
    return int(number) if isinstance(number, np.integer) else number


def _cannot_predict(finding: str, remedy: str) -> ParameterError:
    return ParameterError(
        "HG174",
        rule="A model predicts labels by `predict`, chances by `predict_proba`.",
        finding=finding,
        remedy=remedy,
    )
