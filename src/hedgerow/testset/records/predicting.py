"""A model's predictions for the test set: no feature decides whether it fails, and nothing is told but predictions.

The model is tried on made-up rows first, where these can be made from the type of the features alone, so that a model
that does not fit is refused before a look is taken. On the test set itself nothing is refused: a record for which it
fails has no prediction and counts as the worst.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.testset.records.entries import Entries, entries_of
from hedgerow.testset.records.metric import Metric
from hedgerow.testset.records.one_by_one import one_by_one
from hedgerow.user_code import quietly, silence


def is_model(given: object) -> bool:
    """Return whether something can be asked for predictions.

    >>> is_model(np.array([1])), is_model(type("Model", (), {"predict": lambda self, x: x})())
    (False, True)
    """
    return any(_method(given, name) is not None for name in ("predict", "predict_proba"))


def told_of_model(model: object) -> str:
    """Return what a replay compares of a model: its class. What it predicts depends on records."""
    return f"{type(model).__module__}.{type(model).__qualname__}"


def predicted(
    model: Any, x: object, n: int, metric: Metric, check: Callable[[Entries], Entries], *, public: bool
) -> Entries:
    """Return a model's predictions, missing where it fails.

    Parameters
    ----------
    model, x, n
        What predicts, and the features of n records; None where there are none.
    metric : Metric
        Whether labels or chances are asked for.
    check : callable
        Refuses predictions that the metric cannot read; called on those for made-up rows.
    public : bool
        Whether n is. Where it is not, a model without features is not refused for another number of predictions, which
        would tell n: they are returned as they are.

    Raises
    ------
    ParameterError
        HG174: no such method, classes without the positive label, or it fails on made-up rows. No look was taken.
    """
    wanted = "predict" if metric.needs == "labels" else "predict_proba"
    method = _method(model, wanted)
    if method is None:
        raise _cannot_predict(f"It has no `{wanted}`.", "Give predictions as an array.")
    classes = quietly(lambda: np.asarray(model.classes_).tolist())
    if metric.needs == "chances" and classes is not None and metric.positive not in classes:
        raise _cannot_predict(
            "This model's classes do not hold the positive label.",
            'Name one that they hold, for example metric=brier(positive="yes"). No look was taken.',
        )

    def asked(rows: object) -> NDArray[Any]:
        found = method(rows)
        # Of a list NumPy would make texts of all numbers for the sake of one.
        found = found if isinstance(found, np.ndarray) else np.asarray(found, dtype=object)
        return _chosen(found, classes, metric) if metric.needs == "chances" else found

    made_up, rows = (None, n if public else None) if x is None else (_made_up(x), 2)
    if x is None or made_up is not None:
        # Without features a model sees nothing of the records: whatever it does may be told.
        tried = quietly(lambda: one_result_each(asked(made_up), rows))
        if tried is None:
            raise _cannot_predict(
                "Its prediction failed, or was not one for each row, without features."
                if x is None
                else "Its prediction failed, or was not one for each row, on two made-up rows of zeros.",
                "Call it on rows like those yourself to see why, or give its predictions as an array.",
            )
        made = check(entries_of(tried))
        if x is None:
            return made
    with silence():  # what a model returns may also speak when it is thrown away
        return entries_of(one_by_one(lambda start, end: asked(_rows(x, start, end, n)), n, None))


def one_result_each(results: NDArray[Any], n: int | None) -> NDArray[Any]:
    """Return results as one column of n, or of whatever length where n is None; or fail."""
    n = results.shape[0] if n is None else n
    if results.shape not in ((n,), (n, 1)):
        raise ValueError("one result a record")
    return results.reshape(n)


def _method(given: object, name: str) -> Callable[[object], Any] | None:
    found = quietly(lambda: getattr(given, name))
    return found if callable(found) else None


def _chosen(chances: NDArray[Any], classes: list[Any] | None, metric: Metric) -> NDArray[Any]:
    if chances.ndim != 2:
        return chances
    known = list(range(chances.shape[1])) if classes is None else classes
    if len(known) != chances.shape[1]:
        raise ValueError("one chance a class")
    return chances[:, known.index(metric.positive)]


def _rows(x: Any, start: int, end: int, n: int) -> object:
    if (start, end) == (0, n):
        return x
    if hasattr(x, "iloc"):
        return x.iloc[start:end]
    if hasattr(x, "slice") and hasattr(x, "column_names"):  # an Arrow table
        return x.slice(start, end - start)
    return x[start:end]


def _made_up(x: Any) -> object:
    """Return two rows of zeros like those of x, from its type alone; None where that does not say enough."""
    if isinstance(x, np.ndarray):
        return np.zeros((2, *x.shape[1:]), dtype=x.dtype) if x.dtype.kind in "biuf" else None
    if not hasattr(x, "iloc") or not hasattr(x, "dtypes"):
        return None

    def zeros() -> object:
        kinds = {getattr(kind, "kind", "O") for kind in x.dtypes}
        return type(x)(np.zeros((2, len(x.columns))), columns=x.columns) if kinds <= set("biuf") else None

    return quietly(zeros)


def _cannot_predict(finding: str, remedy: str) -> ParameterError:
    return ParameterError(
        "HG174",
        rule="A model predicts labels by `predict`, chances by `predict_proba`, one for each row.",
        finding=finding,
        remedy=remedy,
    )
