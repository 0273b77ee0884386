"""The base model of a `Multicalibrator`, its scores of the private records, and their labels.

A base model is somebody else's code. Before the price is reserved, everything that needs no value of the data is
checked here. Afterwards the model scores with nothing printed or raised: a record on which it fails has no score (NaN,
which counts as ½), and the fit goes on. Of labels, too, only number, shape and type are checked before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from hedgerow.engines.cells import cells_of
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.multicalibration.calibrated_model import CONSENT, BaseOrigin
from hedgerow.multicalibration.family import RecordColumns
from hedgerow.user_code import quietly

Floats = NDArray[np.float64]
# These choose columns by name, or leave the choice to the estimators inside, and ignore columns that they do not know.
_PASS_OVER = (
    ColumnTransformer,
    FunctionTransformer,
    FeatureUnion,
    CalibratedClassifierCV,
    VotingClassifier,
    StackingClassifier,
)


def origin_of(
    estimator: Any, rows: Sequence[Any], *, prefit: Any, base_fit: object, base_rows: Any, private: bool
) -> BaseOrigin:
    """Return where the base model comes from; `rows` are the (X, y) that are private.

    Raises
    ------
    ParameterError
        HG166: it has no probabilities; HG189: the arguments contradict one another.
    UncertifiedError
        HG428: it would be fitted on the private rows; HG429: `base_rows` are the private rows.
    """
    if base_fit is not None and base_fit != CONSENT:
        raise _contradiction("`base_fit` has another value.", f'Leave it out, or write base_fit="{CONSENT}" in full.')
    if estimator is None:
        if base_rows is not None:
            raise _contradiction("`base_rows` were given, and no base model.", "Name the model, or leave them out.")
        return BaseOrigin.GIVEN
    if not hasattr(estimator, "predict_proba"):
        raise ParameterError(
            "HG166",
            rule="A base model needs the method `predict_proba`, because probabilities are calibrated.",
            finding=f"{type(estimator).__name__} has none.",
            remedy="Wrap the model in sklearn.calibration.CalibratedClassifierCV, or give precomputed scores.",
        )
    if base_rows is not None:
        if prefit is True:
            raise _contradiction(
                "`base_rows` were given with prefit=True.", "Leave out either `base_rows` or prefit=True."
            )
        _rows_are_apart(base_rows, rows)
        return BaseOrigin.APART
    if prefit is True or (prefit == "auto" and _is_fitted(estimator)):
        check_is_fitted(estimator)
        return BaseOrigin.GIVEN if getattr(estimator, "certificate_", None) is None else BaseOrigin.CERTIFIED
    if private and base_fit is None:
        raise UncertifiedError(
            "HG428",
            rule="A base model is fitted on rows other than the protected rows, because the price does not cover what "
            "the model learns.",
            finding=f"{type(estimator).__name__} is not fitted, and would be on these. Nothing was read or spent.",
            remedy="Fit it on other rows first (and wrap it in sklearn.frozen.FrozenEstimator where it is cloned), or "
            f'write fit(X, y, base_rows=(X_other, y_other)). Without protection: base_fit="{CONSENT}".',
        )
    return BaseOrigin.UNPROTECTED


def fitted_base(estimator: Any, origin: BaseOrigin, rows: Sequence[Any], weights: Any = None) -> Any:
    """Return the base model, fitted on `rows`, (X, y), where it was not fitted before. Its own errors are raised."""
    if estimator is None or origin in (BaseOrigin.GIVEN, BaseOrigin.CERTIFIED):
        return estimator
    base = clone(estimator)
    weighted = weights is not None and has_fit_parameter(base, "sample_weight")
    return base.fit(*rows, sample_weight=weights) if weighted else base.fit(*rows)


def check_reads(base: Any, X: Any) -> None:
    """Refuse columns that the base model was not fitted on, by their names and number (HG166): no value is read.

    No later step would: a model that fails on every record gives no scores, and the price would be spent.
    """
    first = base
    while (inner := _inside(first)) is not None:
        first = inner
    finding = ""
    if isinstance(first, _PASS_OVER):
        there = getattr(X, "column_names", getattr(X, "columns", None))
        wanted = getattr(first, "feature_names_in_", ()) if there is not None else ()
        missing = sorted(set(map(str, wanted)) - set(map(str, () if there is None else there)))
        finding = f"{missing[0]!r} is not there." if missing else ""
    elif hasattr(first, "n_features_in_"):
        try:
            validate_data(first, X, reset=False, skip_check_array=True)
        except ValueError:
            finding = f"{type(first).__name__} was fitted on others, in name, number or order."
    if finding:
        raise ParameterError(
            "HG166",
            rule="A base model (the classifier that is calibrated) needs the columns on which it was fitted.",
            finding=finding,
            remedy="If X contains columns of groups beside the features, select the features inside the base "
            "model with a ColumnTransformer in a pipeline; or give precomputed scores in a column of X.",
        )


def scores_of(base: Any, records: RecordColumns, classes: int) -> Floats:
    """Return the probability of each class for each record, (records, classes); NaN where the model fails. PRIVATE.

    All records are scored at once. Where that fails, each half is scored, down to single records, so that a record on
    which the model fails does not affect another.
    """
    scores = np.full((len(records), classes), np.nan)
    waiting = [(0, len(records))]
    while waiting:
        start, end = waiting.pop()
        made = quietly(partial(_probabilities, base, records, start, end))
        if made is not None and made.shape == (end - start, classes):
            scores[start:end] = made
        elif end - start > 1:
            middle = (start + end) // 2
            waiting += [(start, middle), (middle, end)]
    return scores


def _probabilities(base: Any, records: RecordColumns, start: int, end: int) -> Floats:
    return np.asarray(base.predict_proba(records.slice(start, end)), dtype=np.float64)


def _inside(model: Any) -> Any:
    """Return the estimator that gets X first, where a model is made of others."""
    steps = getattr(model, "steps", None)
    return steps[0][1] if steps else getattr(model, "best_estimator_", None)


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _rows_are_apart(base_rows: Any, rows: Sequence[Any]) -> None:
    if not isinstance(base_rows, (tuple, list)) or len(base_rows) != 2:
        raise _contradiction("`base_rows` is not a pair.", "Write fit(X, y, base_rows=(X_other, y_other)).")
    if any(other is private for other, private in zip(base_rows, rows, strict=True)):
        raise UncertifiedError(
            "HG429",
            rule="The rows for the base model and the protected rows must differ.",
            finding="The arguments `base_rows` contain the same X or y as the fit. Nothing was read or spent.",
            remedy="Split the records into two parts first; or use public rows for the base model.",
        )


def _contradiction(finding: str, remedy: str) -> ParameterError:
    return ParameterError(
        "HG189",
        rule="A private fit must state the neighbouring relation, the privacy price (ε, δ), and whether the base "
        "model was fitted on other rows.",
        finding=finding,
        remedy=remedy,
    )


def labels_of(X: Any, y: Any, *, private: bool) -> NDArray[Any]:
    """Return the labels as cells, one per record of X.

    In a private fit no value decides whether this fails: a record whose label is missing, or is no class, is treated
    later, and nothing is raised. Without privacy scikit-learn also checks the values.

    Raises
    ------
    ParameterError, ValueError
        HG166: there are none. ValueError: they are no column, or not as many as records.
    """
    if y is None:
        raise ParameterError("HG166", rule="A fit requires y to be passed, but the target y is None.")
    if not private:
        labels = np.asarray(column_or_1d(y))
        check_array(labels, ensure_2d=False, dtype=None, input_name="y")
        check_classification_targets(labels)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == 1 and not isinstance(y, np.ndarray):
        # The column of a frame that has one: an array of the frame would have another type where a cell is missing.
        cells = cells_of(y.iloc[:, 0] if hasattr(y, "iloc") else y[:, 0])
    else:
        cells = cells_of(y)
    # scikit-learn's rules for a column, applied to the shape alone.
    column_or_1d(np.empty(shape or cells.shape, dtype=bool), warn=True)
    check_consistent_length(X, cells)
    return cells.ravel()


def check_labels_can_be(y: Any, classes: NDArray[Any]) -> None:
    """Refuse texts where classes are numbers (HG166), by the type of y alone: no record would have a class."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    texts = kind in "US" or "str" in str(getattr(y, "dtype", "")).lower()
    if texts and classes.dtype.kind in "biuf":
        raise ParameterError(
            "HG166",
            rule="Labels are compared with the classes. The classes are declared and never read from y.",
            finding="y holds texts, but the classes are numbers.",
            remedy="For precomputed scores, name both classes, and name the class of the scores second: "
            'classes=["no", "yes"].',
        )
