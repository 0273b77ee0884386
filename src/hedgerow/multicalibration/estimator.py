"""`Multicalibrator`: multicalibration as a scikit-learn meta-estimator (`base_model` belongs to it).

Order of `fit`: parameters are checked, and the shapes and types of X and y; a base model is fitted where it may be; the
price is computed from public facts and reserved; only then are scores, labels and groups read, with nothing printed or
raised: whatever a record holds, a private fit ends in the same way. Without privacy values are checked too, as
scikit-learn does.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from hedgerow.engines.cells import as_numbers, places_of
from hedgerow.errors import HedgerowWarning, ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.keywords import takes
from hedgerow.multicalibration.base_model import (
    check_labels_can_be,
    check_reads,
    fitted_base,
    labels_of,
    origin_of,
    scores_of,
)
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_fit import CalibrationFit, fit_model
from hedgerow.multicalibration.calibration_mechanism import CalibrationMechanism, Setting, mechanism_named
from hedgerow.multicalibration.declared_groups import family_of
from hedgerow.multicalibration.family import Column, records_of
from hedgerow.multicalibration.report import Report, report_of
from hedgerow.release.spend import Account


@dataclass(frozen=True, slots=True)
class FitsSoFar:
    """An upper bound on what several fits cost together: the sum of what each was allowed to cost.

    Fits of an estimator, its clones and its copies share an id and are counted by it. The count depends on calls and on
    no value of the data, so it reveals nothing about them.

    Attributes
    ----------
    fits : int
        How many private fits began to read records.
    epsilon, delta : float
        Sums: (ε₁ + ε₂ + …, δ₁ + δ₂ + …)-differential privacy holds for all of them together, on the same records. ε is
        infinite where fits protect by different relations, which have no common price.
    relation : Relation or None
        Whom the fits protect.
    """

    fits: int = 0
    epsilon: float = 0.0
    delta: float = 0.0
    relation: Relation | None = None

    def plus(self, relation: Relation, budget: Budget) -> FitsSoFar:
        """Return the sum after one more fit.

        >>> FitsSoFar().plus(Relation.ADD_REMOVE, Budget(1.0, 0.0)).plus(Relation.ADD_REMOVE, Budget(0.5, 0.0))
        FitsSoFar(fits=2, epsilon=1.5, delta=0.0, relation=<Relation.ADD_REMOVE: 'add-remove'>)
        """
        alike = self.relation in (None, relation)
        epsilon = self.epsilon + budget.epsilon if alike else math.inf
        return FitsSoFar(self.fits + 1, epsilon, min(1.0, self.delta + budget.delta), relation)


_COUNTED: dict[str, FitsSoFar] = {}
_LOCK = threading.Lock()


def fits_of(lineage: str, known: FitsSoFar) -> FitsSoFar:
    """Return what is counted under an id, or what an estimator from another process knows, if that is more."""
    return max(_COUNTED.get(lineage, known), known, key=lambda so_far: so_far.fits)


def count_fit(lineage: str, known: FitsSoFar, relation: Relation, budget: Budget) -> FitsSoFar:
    """Count one more fit under an id and return the sum."""
    with _LOCK:
        _COUNTED[lineage] = fits_of(lineage, known).plus(relation, budget)
        return _COUNTED[lineage]


Floats = NDArray[np.float64]


class Multicalibrator(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Corrects the scores of a classifier in every group of people, with a privacy guarantee.

    Guarantee for a private mechanism: the attributes ``model_`` and ``report_`` and every prediction are (ε,
    δ)-differentially private with respect to the labels, scores and groups that the calibration reads. The attribute
    ``certificate_`` states the privacy price, which is computed before the labels, scores and groups are read. The
    guarantee does not cover the base model (the classifier that is corrected) unless the base model has a
    ``certificate_`` of its own. A base model that is not fitted is refused (HG428), unless `fit` gets separate rows for
    the base model. The classes are public: they come from the base model or from the argument `classes`.

    Parameters
    ----------
    estimator : classifier, optional
        The base model: a classifier with a method ``predict_proba``. If the estimator is None, the column
        `score_column` of X contains scores that were computed before.
    groups : mapping, sequence or None
        The groups of people, such as ``{"race": [...], "age": cuts(30, 50)}``, ``masks("a", "b")`` or predicates; see
        `hedgerow.multicalibration.declared_groups`. A group column is given by its name in a data frame, and by its
        position in an array. If `groups` is None, all records are one group.
    n_buckets : int
        The number k of buckets (intervals) into which scores are divided. The scores of every group are corrected and
        reported in each bucket (interval of scores).
    alpha : float, optional
        The target α. In every group, the buckets with a mean residual above α hold at most the share α of the group's
        records (Definition 3 of Fishman, Mugunthan and Tanzer). Only cells (a group within a bucket of scores) whose
        mean residual is at least α/2 in size are corrected. A private mechanism stops when its released numbers reach
        the target α; ``report_.target`` says whether the target was reached. If alpha is None, a private mechanism
        reduces the calibration error as far as its noise allows, and a calibration without privacy uses α = 0.1. The
        function `hoped_alpha` computes an α that can be expected despite the noise.
    mechanism : str or object
        The mechanism: ``"table"`` (default), ``"rounds"``, ``"numeric_sparse"``, ``"input_perturbation"``, or an object
        with other parameters, such as ``Table(bins=20)``. Without privacy: `hedgerow.testing.published.NoPrivacy`.
    relation : {"add-remove", "replace-one"}
        The neighbouring relation. Under replace-one the number of records is public. The neighbouring relation has no
        default: without a relation a private fit is refused (HG189).
    epsilon, delta : float
        The privacy price of one fit, for all classes together. ε has no default: a fit without ε is refused (HG189).
        The default of δ is 0 if the mechanism satisfies pure differential privacy (δ = 0), else 1e-6.
    ledger : path, optional
        The ledger file in which the price is reserved. Without a ledger, each fit has a separate certificate, and the
        prices of several fits add up. From the second fit of an estimator or its clones on, a `HedgerowWarning` says
        that the prices add up; the attribute `total_spent_` is the sum.
    n_fits : int
        If a ledger is used: the number of fits that the ledger allows, including fits of clones in cross-validation. A
        fit beyond this number is refused (HG423).
    request_id : str, optional
        If a ledger is used: the name of this request. If the same request was recorded under the same name, the
        recorded model is returned, at no further cost.
    depth : int, optional
        The largest number of classifications that a group combines, such as race and age; the default is 2 if `groups`
        is a mapping, and 1 if `groups` is a sequence.
    score_column : str, int or list of them
        If ``estimator`` is None: the column with the probability of the second class, or one column for each class.
    classes : sequence, optional
        If ``estimator`` is None: the labels of the classes, (0, 1) by default. The labels of the classes are never read
        from y.
    prefit : {"auto", True, False}
        Whether the base model is used as it is, without fitting. With "auto", a base model that is already fitted is
        not fitted again. A clone of a fitted estimator is not fitted. If the multicalibrator will be cloned, wrap the
        fitted base model in `sklearn.frozen.FrozenEstimator`.
    base_fit : {None, "on_private_rows_without_protection"}
        Permission to fit the base model on the private rows themselves. If the base model is fitted on the private
        rows, no ε holds for the base model: it may reveal every label. If the base model is fitted on the private rows,
        the certificate and the report say that no ε holds for the base model. A calibration without privacy may fit the
        base model on the same rows without the permission `base_fit`.

    Attributes
    ----------
    classes_ : array
    estimator_ : fitted classifier or None
    model_ : Model
        The calibrated model, which `hedgerow.multicalibration.write_model` can write to a file.
    certificate_ : Certificate or None
        The certificate, which states the privacy price and the mechanism. None without privacy.
    report_ : Report
        The calibration errors before and after the fit. The calibration errors are computed from released numbers if
        the calibration is private, and from the records otherwise.
    ledger_head_ : str or None
        The head of the ledger (the hash of its newest entry) after the fit.
    unrecorded_ : bool
        True if the ledger holds only the price, because the model could not be written to the ledger (HG606).
    total_spent_ : FitsSoFar
        The total price of all private fits of this estimator and its clones in this process: the sums of ε and of δ.
    replayed_ : bool
        True if the ledger had recorded the same request and returned its model, at no further price.
    n_features_in_ : int
        The number of features, as in all scikit-learn estimators.
    feature_names_in_ : array of str
        The names of the features, as in all scikit-learn estimators.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.stack([rng.random(4000), rng.integers(0, 2, 4000)], axis=1)
    >>> y = (rng.random(4000) < X[:, 0] ** (1 + X[:, 1])).astype(int)
    >>> clf = Multicalibrator(groups={1: [0, 1]}, score_column=0, relation="add-remove", epsilon=1.0).fit(X, y)
    >>> clf.certificate_.epsilon <= 1.0, clf.predict_proba(X).shape
    (True, (4000, 2))
    """

    @takes()
    def __init__(
        self,
        estimator: Any = None,
        groups: Any = None,
        *,
        n_buckets: int = 10,
        alpha: float | None = None,
        mechanism: Any = "table",
        relation: str | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        ledger: str | Path | None = None,
        n_fits: int = 1,
        request_id: str | None = None,
        depth: int | None = None,
        score_column: Any = "score",
        classes: Sequence[Any] | None = None,
        prefit: Any = "auto",
        base_fit: str | None = None,
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
        self.base_fit = base_fit

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, base_rows: Any = None) -> Multicalibrator:
        """Fit the calibration. If `base_rows` are given, also fit a clone of the base model on these rows.

        Parameters
        ----------
        X : array or frame, (records, features)
        y : array, (records,)
            Labels. A record whose label is not among the declared classes belongs to no class.
        sample_weight : array, optional
            Weights of the records; they are allowed only without privacy. A record of weight 5 would change a count by
            5, and no privacy price is known for weighted records.
        base_rows : (X, y), optional
            Rows, apart from the private rows, on which the base model is fitted. The price of the calibration does not
            cover the rows in `base_rows`.

        Returns
        -------
        Multicalibrator
            This estimator, fitted.

        Raises
        ------
        ParameterError, UncertifiedError, BudgetExceeded, LedgerError
            Nothing was spent. HG189: a parameter is missing. HG428, HG429: the base model would be fitted on the
            private rows. HG440: the predicate of a group cannot be evaluated for a record.
        SpentError
            After a `SpentError` the price counts as spent.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> people = pd.DataFrame({"score": np.linspace(0.1, 0.9, 500), "sex": [0, 1] * 250})
        >>> clf = Multicalibrator(groups={"sex": [0, 1]}, relation="add-remove", epsilon=1.0)
        >>> clf = clf.fit(people, (people["score"] > 0.5).astype(int))
        >>> clf.certificate_.epsilon <= 1.0
        True
        """
        mechanism = mechanism_named(self.mechanism)
        private = mechanism.name != "none"
        relation, budget = self._price(mechanism)
        family = family_of(self.groups, depth=self.depth)
        _weights_are_certified(mechanism, sample_weight)
        origin = origin_of(
            self.estimator, (X, y), prefit=self.prefit, base_fit=self.base_fit, base_rows=base_rows, private=private
        )
        validate_data(self, X, skip_check_array=True)
        labels = labels_of(X, y, private=private)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        rows, weighing = ((X, y), sample_weight) if base_rows is None else (base_rows, None)
        self.estimator_ = fitted_base(self.estimator, origin, rows, weighing)
        self.classes_ = self._classes()
        models = 1 if len(self.classes_) == 2 else len(self.classes_)
        n = len(labels) if relation is Relation.REPLACE_ONE else None
        setting = Setting(family, relation, n, self.n_buckets, self.alpha, models)
        columns = records_of(X)
        family.classes(columns.empty())
        self._check_scores(X, models)
        check_labels_can_be(y, self.classes_)

        def read(_: None) -> list[Records]:
            if private:
                self._fits = count_fit(self._lineage(), self.total_spent_, relation, budget)
            groups, scores = family.classes(columns), self._scores(X, private=private)
            code = places_of(labels, [_own(label) for label in self.classes_])
            wanted = range(1, 2) if models == 1 else range(models)
            return [
                Records.of(family, groups, scores[:, model], (code == label).astype(np.int64), weights)
                for model, label in enumerate(wanted)
            ]

        if private and self.ledger is None:
            self._warn_of_refits(relation, budget)
        classes = [_as_json(label) for label in self.classes_]
        score = self.score_column if self.estimator is None and isinstance(self.score_column, (str, int)) else None
        fitted = fit_model(
            CalibrationFit(mechanism, setting, budget, classes, score, origin),
            nullcontext(),
            read,
            Account(None, self.ledger, self.request_id),
            n_fits=self.n_fits,
        )
        self._target = setting.alpha
        self.model_, self.ledger_head_ = fitted.model, fitted.ledger_head
        self.unrecorded_, self.replayed_ = fitted.unrecorded, fitted.replayed
        self.certificate_ = fitted.model.certificate
        return self

    @property
    def total_spent_(self) -> FitsSoFar:
        """The sum of the prices (ε, δ) of all private fits of this estimator and its clones, an upper bound.

        Only fits of this process are counted, also if a ledger counts the same fits. The fits of other processes, as
        ``n_jobs`` starts them, are counted only if their estimators come back to this process.
        """
        return fits_of(getattr(self, "_lineage_id", ""), getattr(self, "_fits", FitsSoFar()))

    @property
    def report_(self) -> Report:
        """The calibration errors before and after the fit."""
        check_is_fitted(self)
        return report_of(self.model_, self._target)

    def predict_proba(self, X: Any) -> Floats:
        """Return the calibrated probabilities, one column for each class in the order of ``classes_``.

        Raises
        ------
        DataError, UncertifiedError
            HG166: a column is missing. HG440: the predicate of a group cannot be evaluated for a record of these types.
        """
        check_is_fitted(self)
        # First the base model's own checks, which know more of X.
        scores = self._scores(X, private=False)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.model_.calibrated(records_of(X), scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest calibrated probability for each record."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def __sklearn_clone__(self) -> Any:
        # A clone is usually fitted on the same people, so both are counted under one id.
        clone = super().__sklearn_clone__()
        clone._lineage_id = self._lineage()
        return clone

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            below = get_tags(self.estimator)
            tags.input_tags = below.input_tags
            tags.classifier_tags.multi_class = below.classifier_tags is None or below.classifier_tags.multi_class
        # Privacy noise takes no seed.
        tags.non_deterministic = getattr(self.mechanism, "name", None) != "none"
        return tags

    def _price(self, mechanism: CalibrationMechanism[Any]) -> tuple[Relation, Budget]:
        """Return whom the fit protects and at which price; a fit without privacy does not use them."""
        missing = [f"`{name}`" for name in ("relation", "epsilon") if getattr(self, name) is None]
        if missing and mechanism.name != "none":
            raise ParameterError(
                "HG189",
                rule="A private fit needs the neighbouring relation and epsilon (or rho). The relation and epsilon "
                "have no default.",
                finding=f"{' and '.join(missing)} {'was' if len(missing) == 1 else 'were'} not given.",
                remedy='State the relation and the price, for example Multicalibrator(…, relation="add-remove", '
                'epsilon=1.0), or relation="replace-one".',
            )
        relation = Relation.ADD_REMOVE if self.relation is None else parse_relation(self.relation)
        delta = mechanism.default_delta if self.delta is None else self.delta
        return relation, Budget(1.0 if self.epsilon is None else self.epsilon, delta)

    def _lineage(self) -> str:
        """Return the id under which fits of this estimator and its clones are counted."""
        if not hasattr(self, "_lineage_id"):
            self._lineage_id = uuid4().hex
        return self._lineage_id

    def _warn_of_refits(self, relation: Relation, budget: Budget) -> None:
        fits = self.total_spent_.plus(relation, budget)
        if fits.fits > 1:
            warnings.warn(
                f"Fit {fits.fits} of this estimator and its clones, without a ledger. On the same people prices add "
                f"up: together ε ≤ {fits.epsilon:g} at δ ≤ {fits.delta:g}, which no single certificate says. "
                "Cross-validation and grid searches fit clones; with ledger=… n_fits=… counts and limits them.",
                HedgerowWarning,
                stacklevel=3,
            )

    def _classes(self) -> NDArray[Any]:
        given = (0, 1) if self.classes is None else self.classes
        classes = np.asarray(given if self.estimator_ is None else self.estimator_.classes_)
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) < len(classes):
            raise ParameterError(
                "HG166",
                rule="A calibration needs at least two classes, each named once.",
                finding=f"Found {classes.size} class{'' if classes.size == 1 else 'es'}.",
                remedy="The classes come from the base model or, for precomputed scores, from `classes`.",
            )
        return classes

    def _scores(self, X: Any, *, private: bool) -> Floats:
        """Return the score of the second of two classes, or of each class, (records, models).

        In a private fit a record on which the base model fails has no score (NaN), and the fit goes on.
        """
        if self.estimator_ is not None:
            if private:
                scores = scores_of(self.estimator_, records_of(X), len(self.classes_))
            else:
                scores = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
            return scores[:, 1:] if len(self.classes_) == 2 else scores
        columns, named = records_of(X), self._score_columns()
        # Of two classes with a column each, the column of the second is the score.
        named = named[1:] if len(self.classes_) == len(named) == 2 else named
        return np.stack([as_numbers(columns.column(name)) for name in named], axis=1)

    def _score_columns(self) -> Sequence[Column]:
        return self.score_column if isinstance(self.score_column, (list, tuple)) else [self.score_column]

    def _check_scores(self, X: Any, models: int) -> None:
        """Refuse columns of scores that are missing or too few, without reading a record, so that nothing is spent."""
        if self.estimator_ is not None:
            check_reads(self.estimator_, X)
            return
        columns, named = records_of(X).empty(), self._score_columns()
        for name in named:
            columns.column(name)
        if len(named) != models and not len(named) == len(self.classes_) == 2:
            raise ParameterError(
                "HG166",
                rule="For two classes, give one column of scores: the scores of the second class. For more than two "
                "classes, give one column of scores for each class.",
                finding=f"{len(self.classes_)} classes were given {len(named)}.",
                remedy='Name one column of scores for each class, for example classes=["a", "b", "c"], '
                'score_column=["p_a", "p_b", "p_c"].',
            )


def _own(label: Any) -> Any:
    """Return a NumPy scalar as Python's own."""
    return label.item() if hasattr(label, "item") else label


def _as_json(label: Any) -> Any:
    value = _own(label)
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _weights_are_certified(mechanism: CalibrationMechanism[Any], sample_weight: Any) -> None:
    if sample_weight is not None and mechanism.name != "none":
        raise UncertifiedError(
            "HG424",
            rule="Sample weights are possible only for a calibration without privacy.",
            finding=f"They were given to {mechanism.name!r}, whose price holds where a record counts once.",
            remedy="Leave the weights out. If the weights of groups are public, apply them to the released table.",
        )
