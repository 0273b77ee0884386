"""`Multicalibrator`: multicalibration as a scikit-learn meta-estimator. The folder's only door to scikit-learn.

Order of `fit`: parameters are checked, and that X and y have the shape and the kind that scikit-learn demands; the base
model is fitted where it must be; the price is computed from public facts and reserved; and only then are scores, labels
and groups read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.multicalibration.attribute import Column
from hedgerow.multicalibration.cells import as_entries, as_numbers
from hedgerow.multicalibration.choose import mechanism_named
from hedgerow.multicalibration.columns import RecordColumns, records_of
from hedgerow.multicalibration.fit import fit_model
from hedgerow.multicalibration.groups import family_of
from hedgerow.multicalibration.mechanism import CalibrationMechanism, Setting
from hedgerow.multicalibration.records import Records
from hedgerow.multicalibration.report import Report, report_of
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.relation import Relation, parse_relation

__all__ = ["Multicalibrator"]

Floats = NDArray[np.float64]


class Multicalibrator(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A classifier's scores made right in every group, with privacy.

    Guarantee   for a private mechanism, (ε, δ)-differential privacy of ``model_``, ``report_`` and every prediction as
    functions of the labels, scores and groups that the calibration reads: ``certificate_`` states the price, computed
    before they are read. The base model is not covered unless it carries a ``certificate_`` of its own; which classes
    there are comes from the base model (or `classes`) and is public.

    Parameters
    ----------
    estimator : classifier, optional
        With ``predict_proba``. None: scores are precomputed and stand in the column `score_column` of X.
    groups : mapping, sequence or None
        ``{"race": [...], "age": cuts(30, 50)}``, ``masks("a", "b")``, predicates; see
        `hedgerow.multicalibration.groups`. Columns by name in frames, by place in arrays. None: everybody.
    n_buckets : int
        k buckets of the score in which every group is calibrated and reported.
    alpha : float
        Of Algorithms 1 and 2: a cell moves when its mean residual is at least α/2. The table decides by its own noise.
    mechanism : str or object
        ``"table"`` (default), ``"rounds"``, ``"numeric_sparse"``, ``"input_perturbation"``, ``"none"``, or such an
        object with parameters of its own, e.g. ``Table(bins=20)``.
    relation : {"add-remove", "replace-one"}
        Who is protected; under replace-one the number of records is public.
    epsilon, delta : float
        The price of one fit, all classes together. δ defaults to what the mechanism needs: 0 for pure ones.
    ledger : path, optional
        Where the price is reserved. Without one each fit carries its own certificate, and refits add up.
    n_fits : int
        With a ledger: how many fits may be in it, clones of cross-validation included; the next is refused (HG423).
    request_id : str, optional
        With a ledger: the same request under the same id is answered with the recorded model, at no further price.
    depth : int, optional
        How many classes a group joins at most; 2 for a mapping, 1 for a sequence.
    score_column : str, int or list of them
        With ``estimator=None``: the column of the second class's probability, or one column a class.
    classes : sequence, optional
        With ``estimator=None``: the labels, (0, 1) by default. Never read off y.
    prefit : {"auto", True, False}
        Whether `estimator` is used as it is; "auto": if it is fitted. A clone is not fitted: wrap a fitted estimator in
        `sklearn.frozen.FrozenEstimator` where this one will be cloned.

    Attributes
    ----------
    classes_ : array
    estimator_ : fitted classifier or None
    model_ : Model
        What `hedgerow.multicalibration.write_model` writes to a file.
    certificate_ : Certificate or None
        The price; None for ``mechanism="none"``.
    report_ : Report
        Errors before and after: read from what was released, computed from the records only for ``"none"``.
    ledger_head_ : str or None
        The head of the ledger after the fit.
    unrecorded_ : bool
        Whether the ledger holds the price alone, since the model could not be written there (HG606).
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.stack([rng.random(4000), rng.integers(0, 2, 4000)], axis=1)
    >>> y = (rng.random(4000) < X[:, 0] ** (1 + X[:, 1])).astype(int)
    >>> clf = Multicalibrator(groups={1: [0, 1]}, score_column=0, epsilon=1.0).fit(X, y)
    >>> clf.certificate_.epsilon <= 1.0, clf.predict_proba(X).shape
    (True, (4000, 2))
    """

    def __init__(
        self,
        estimator: Any = None,
        groups: Any = None,
        *,
        n_buckets: int = 10,
        alpha: float = 0.1,
        mechanism: Any = "table",
        relation: str = "add-remove",
        epsilon: float = 1.0,
        delta: float | None = None,
        ledger: str | Path | None = None,
        n_fits: int = 1,
        request_id: str | None = None,
        depth: int | None = None,
        score_column: Any = "score",
        classes: Sequence[Any] | None = None,
        prefit: Any = "auto",
    ) -> None:
        self.estimator = estimator
        self.groups = groups
        self.n_buckets = n_buckets
        self.alpha = alpha
        self.mechanism = mechanism
        self.relation = relation
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger
        self.n_fits = n_fits
        self.request_id = request_id
        self.depth = depth
        self.score_column = score_column
        self.classes = classes
        self.prefit = prefit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Multicalibrator:
        """Fit the calibration, and the base model where it is not fitted.

        Parameters
        ----------
        X : array or frame, (records, features)
        y : array, (records,)
            Labels. A label that is not among the classes counts as no class.
        sample_weight : array, optional
            For ``mechanism="none"`` only: a record of weight 5 would move a count by 5, and no bound on weights is
            certified.

        Raises
        ------
        ParameterError, UncertifiedError, BudgetExceeded, LedgerError
            Nothing was spent.
        SpentError
            The price counts as spent.
        """
        mechanism, relation = mechanism_named(self.mechanism), parse_relation(self.relation)
        family = family_of(self.groups, depth=self.depth)
        budget = Budget(self.epsilon, mechanism.default_delta if self.delta is None else self.delta)
        _weights_are_certified(mechanism, sample_weight)
        validate_data(self, X, skip_check_array=True)
        labels = _labels(X, y)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        self.estimator_ = self._base(X, y, sample_weight)
        self.classes_ = self._classes()
        models = 1 if len(self.classes_) == 2 else len(self.classes_)
        n = len(labels) if relation is Relation.REPLACE_ONE else None
        setting = Setting(family, relation, n, self.n_buckets, self.alpha, models)
        family.classes(records_of(X).empty())
        self._check_scores(records_of(X).empty(), models)
        _labels_can_be(y, self.classes_)

        def read() -> list[Records]:
            columns = records_of(X, one_at_a_time=mechanism.name != "none")
            sorts, scores = family.classes(columns), self._scores(X)
            wanted = self.classes_[1:] if models == 1 else self.classes_
            return [
                Records.of(family, sorts, scores[:, place], (labels == label).astype(np.int64), weights)
                for place, label in enumerate(wanted)
            ]

        fitted = fit_model(
            read,
            mechanism=mechanism,
            setting=setting,
            budget=budget,
            classes=[_plain(label) for label in self.classes_],
            score=self.score_column if self.estimator is None and isinstance(self.score_column, (str, int)) else None,
            base_certified=getattr(self.estimator_, "certificate_", None) is not None,
            ledger=self.ledger,
            n_fits=self.n_fits,
            request_id=self.request_id,
        )
        self.model_, self.ledger_head_ = fitted.model, fitted.head
        self.unrecorded_ = fitted.unrecorded
        self.certificate_ = fitted.model.certificate
        return self

    @property
    def report_(self) -> Report:
        """Errors before and after."""
        check_is_fitted(self)
        return report_of(self.model_)

    def predict_proba(self, X: Any) -> Floats:
        """Return calibrated probabilities, (records, classes), in the order of ``classes_``."""
        check_is_fitted(self)
        # The base model's own checks come first: they know more of X.
        scores = self._scores(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.model_.calibrated(records_of(X), scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest calibrated probability of each record."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            below = get_tags(self.estimator)
            tags.input_tags = below.input_tags
            tags.classifier_tags.multi_class = below.classifier_tags is None or below.classifier_tags.multi_class
        # Privacy noise takes no seed.
        tags.non_deterministic = self.mechanism != "none"
        return tags

    def _base(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if self.estimator is None:
            return None
        if not hasattr(self.estimator, "predict_proba"):
            raise ParameterError(
                "HG166",
                rule="A base model has `predict_proba`: what is calibrated are probabilities.",
                finding=f"{type(self.estimator).__name__} has none.",
                remedy="Wrap it in sklearn.calibration.CalibratedClassifierCV, or give precomputed scores.",
            )
        if self.prefit is True or (self.prefit == "auto" and _is_fitted(self.estimator)):
            check_is_fitted(self.estimator)
            return self.estimator
        base = clone(self.estimator)
        weighted = sample_weight is not None and has_fit_parameter(base, "sample_weight")
        return base.fit(X, y, sample_weight=sample_weight) if weighted else base.fit(X, y)

    def _classes(self) -> NDArray[Any]:
        found = np.asarray((0, 1) if self.classes is None else self.classes)
        if self.estimator_ is not None:
            found = np.asarray(self.estimator_.classes_)
        if found.ndim != 1 or len(found) < 2 or len(np.unique(found)) < len(found):
            raise ParameterError(
                "HG166",
                rule="There are two classes or more, each once.",
                finding=f"Found {found.size} class{'' if found.size == 1 else 'es'}.",
                remedy="They come from the base model, or from `classes` for precomputed scores.",
            )
        return found

    def _scores(self, X: Any) -> Floats:
        """Return the score of the second of two classes, or of each class, (records, models)."""
        if self.estimator_ is not None:
            scores = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
            return scores[:, 1:] if len(self.classes_) == 2 else scores
        columns, named = records_of(X), self._score_columns()
        # Of two classes with a column each, the second's is the score.
        named = named[1:] if len(self.classes_) == len(named) == 2 else named
        return np.stack([as_numbers(columns.column(name)) for name in named], axis=1)

    def _score_columns(self) -> Sequence[Column]:
        return self.score_column if isinstance(self.score_column, (list, tuple)) else [self.score_column]

    def _check_scores(self, columns: RecordColumns, models: int) -> None:
        """Refuse columns of scores that are not there or too few, on no records: nothing is spent on a misspelt one."""
        if self.estimator_ is not None:
            return
        named = self._score_columns()
        for name in named:
            columns.column(name)
        if len(named) != models and not len(named) == len(self.classes_) == 2:
            raise ParameterError(
                "HG166",
                rule="Two classes have one column of scores, that of the second; more have one each.",
                finding=f"{len(self.classes_)} classes were given {len(named)}.",
                remedy='For example classes=["a", "b", "c"], score_column=["p_a", "p_b", "p_c"].',
            )


def _labels(X: Any, y: Any) -> NDArray[Any]:
    if y is None:
        raise ParameterError("HG166", rule="A fit requires y to be passed, but the target y is None.")
    labels = np.asarray(column_or_1d(y, warn=True))
    check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    check_classification_targets(labels)
    check_consistent_length(X, labels)
    return as_entries(y).ravel()


def _labels_can_be(y: Any, classes: NDArray[Any]) -> None:
    """Refuse texts where classes are numbers, by the type of y alone: every record would be left out."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    texts = kind in "US" or "str" in str(getattr(y, "dtype", "")).lower()
    if texts and classes.dtype.kind in "biuf":
        raise ParameterError(
            "HG166",
            rule="Labels are told from the classes, which are declared and never read off y.",
            finding="y holds texts, and the classes are numbers.",
            remedy='For precomputed scores name both, the second being the one scored: classes=["no", "yes"].',
        )


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _plain(label: Any) -> Any:
    value = label.item() if hasattr(label, "item") else label
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _weights_are_certified(mechanism: CalibrationMechanism, sample_weight: Any) -> None:
    if sample_weight is not None and mechanism.name != "none":
        raise UncertifiedError(
            "HG424",
            rule='Sample weights are taken by mechanism="none" alone.',
            finding=f"They were given to {mechanism.name!r}, whose price holds where a record counts once.",
            remedy="Leave them out; weights that are public by group are better applied to the released table.",
        )
