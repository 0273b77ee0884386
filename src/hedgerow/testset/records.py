"""A test set and predictions as arrays, whatever library holds them; nothing is imported for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.testset.metric import Metric

__all__ = ["as_predictions", "checked_length", "chosen_chances", "columns_of", "labels_of", "predicted_by"]


def labels_of(y: object) -> NDArray[Any]:
    """Return the labels as one array, in which none depends on another (HG170 where they are none).

    NumPy makes texts of all numbers of a list as soon as one of its entries is a text: one record would then make every
    prediction wrong. So a list is kept entry by entry.

    >>> labels_of([1, "x"]).tolist()
    [1, 'x']
    """
    try:
        labels = _entries(y)
    except (ValueError, TypeError):
        labels = np.zeros((0, 0))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise _refused("Labels are one column.", "Found something else.")
    return labels


def columns_of(x: object, n: int) -> list[NDArray[Any]]:
    """Return the features column by column; no columns where there are no features (None).

    Raises
    ------
    ParameterError
        HG170: they are no table of n rows that can be read column by column.
    """
    if x is None:
        return []
    names = getattr(x, "columns", None)
    try:
        if hasattr(x, "column_names") and hasattr(x, "column"):  # an Arrow table
            columns = [np.asarray(x.column(name).to_pylist()) for name in x.column_names]
        elif names is not None and hasattr(x, "__getitem__"):  # a frame
            columns = [np.asarray(x[name]) for name in names]
        else:
            array = np.asarray(x)
            array = array[:, None] if array.ndim == 1 else array
            columns = list(array.reshape(len(array), -1).T)
    except Exception:
        # Whatever a foreign table raises may quote a cell.
        columns = []
    if not columns or any(column.shape != (n,) for column in columns):
        raise _refused(
            "Features are a table of as many rows as there are labels.",
            "Found something that cannot be read as one.",
            "An array, a frame, or None where only predictions will be scored.",
        )
    return columns


def checked_length(x: object, n: int) -> None:
    """Refuse features of which the number of rows can be told, and is another than n (HG170)."""
    shape = getattr(x, "shape", None)
    rows = shape[0] if isinstance(shape, tuple) and shape else len(x) if isinstance(x, list) else n
    if rows != n:
        raise _refused("Features are a table of as many rows as there are labels.", "Found another number of rows.")


def predicted_by(model: Any, x: object, wanted: str) -> tuple[Any, list[Any] | None]:
    """Return what a model's method `wanted` predicts, and the model's classes in their order. Runs the model."""
    predicted, classes = getattr(model, wanted)(x), getattr(model, "classes_", None)
    return predicted, None if classes is None else np.asarray(classes).tolist()


def chosen_chances(predicted: Any, classes: list[Any] | None, metric: Metric) -> Any:
    """Return the chances of the metric's positive label among those of all classes (HG174 where it is none of them).

    >>> from hedgerow.testset.metric import brier
    >>> chosen_chances(np.array([[0.2, 0.8]]), ["no", "yes"], brier(positive="yes")).tolist()
    [0.8]
    """
    chances = np.asarray(predicted)
    if chances.ndim != 2:
        return chances
    known = list(range(chances.shape[1])) if classes is None else classes
    if metric.positive in known and len(known) == chances.shape[1]:
        return chances[:, known.index(metric.positive)]
    raise ParameterError(
        "HG174",
        rule="A metric of chances asks a model for the chance of one label, `positive`.",
        finding="This model's classes do not hold it.",
        remedy='Name one that they hold, for example metric=brier(positive="yes"). No look was taken.',
    )


def as_predictions(predictions: object, n: int) -> NDArray[Any]:
    """Return predictions as one array of n.

    Raises
    ------
    ParameterError
        HG170: another shape.
    """
    try:
        array = _entries(predictions)
    except (ValueError, TypeError):
        array = np.zeros((0, 0))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n,):
        raise _refused(
            "Predictions are one number or label for each record of the test set, in its order.",
            "Found another shape.",
            "For chances, give those of the positive label alone: model.predict_proba(X)[:, 1].",
        )
    return array


def _entries(values: Any) -> NDArray[Any]:
    """Return values as an array, in NumPy's own kind where that changes no entry: all are numbers, or all texts."""
    plain = np.asarray(values)
    if hasattr(values, "__array__") or plain.dtype.kind in "biuf":
        return plain
    entries = np.array(values, dtype=object)
    return plain if all(isinstance(one, str) for one in entries.ravel()) else entries


def _refused(rule: str, finding: str, remedy: str = "Give arrays of one length.") -> ParameterError:
    return ParameterError("HG170", rule=rule, finding=finding, remedy=remedy)
