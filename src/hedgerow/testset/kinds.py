"""Whether predictions can be what a metric compares with labels: told from their kinds, before a look is taken.

What a metric cannot read counts as the worst that a record can add, so chances given for labels, or percentages for
chances, would use up a look and return a score of nothing. Of the labels only the kind of their array is asked, never
a value: a refusal takes no look, and must not tell of a record. Of a list, whose kind one entry decides, nothing is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.testset.metric import Metric

__all__ = ["checked_kind", "checked_positive", "kind_of"]

_NUMBERS, _TEXTS = "biuf", "US"
_ROUNDING = 1e-6  # chances of 32 bits may exceed 1 by their last digit


def kind_of(given: object, labels: NDArray[Any]) -> str:
    """Return NumPy's letter for the kind of an array of labels; "O", which is compared with nothing, for a list.

    >>> kind_of(np.array([0, 1]), np.array([0, 1])), kind_of([0, 1], np.array([0, 1]))
    ('i', 'O')
    """
    return labels.dtype.kind if hasattr(given, "dtype") else "O"


def checked_positive(metric: Metric, kind: str) -> None:
    """Refuse a positive label of another kind than the labels (HG171): its chance would be that of nothing."""
    if metric.needs == "chances" and _unlike(kind, "U" if isinstance(metric.positive, str) else "i"):
        raise ParameterError(
            "HG171",
            rule="A metric of chances names the label whose chance is predicted, as it stands among the labels.",
            finding="One of them is a text and the other a number.",
            remedy='For example metric=brier(positive="yes").',
        )


def checked_kind(metric: Metric, kind: str, predictions: NDArray[Any]) -> NDArray[Any]:
    """Return predictions in the kind that the metric reads.

    Raises
    ------
    ParameterError
        HG170: chances that are no numbers from 0 to 1; labels of another kind than those of the test set.

    Examples
    --------
    >>> from hedgerow.testset.metric import brier
    >>> checked_kind(brier(), "i", np.array([0, 1], dtype=object)).tolist()
    [0.0, 1.0]
    """
    if metric.needs == "chances":
        return _chances(predictions)
    if metric.function is None:
        if _unlike(kind, predictions.dtype.kind):
            raise _refused(
                "Predicted labels are of the kind of the test set's labels.",
                "One of them is text and the other numbers.",
                "Predict the labels themselves: a text never equals a number.",
            )
        if kind in "biu" and predictions.dtype.kind == "f" and _fractions(predictions):
            raise _refused(
                f"`{metric.name}` compares predicted labels with labels.",
                "Labels are whole numbers, and some predictions are fractions.",
                "Give model.predict(X); or, of chances, take the metric 'brier' or 'log-loss'.",
            )
    return predictions


def _chances(predictions: NDArray[Any]) -> NDArray[np.float64]:
    chances = None
    if predictions.dtype.kind in _NUMBERS + "O":
        try:
            chances = predictions.astype(np.float64)
        except (ValueError, TypeError):
            chances = None
    if chances is None or bool(((chances < -_ROUNDING) | (chances > 1.0 + _ROUNDING)).any()):
        raise _refused(
            "Chances are numbers from 0 to 1.",
            "Found other values.",
            "For example model.predict_proba(X)[:, 1], not labels of text, percentages or margins.",
        )
    return chances


def _fractions(predictions: NDArray[Any]) -> bool:
    finite = predictions[np.isfinite(predictions)]
    return bool((finite != np.rint(finite)).any())


def _unlike(one: str, other: str) -> bool:
    return (one in _NUMBERS and other in _TEXTS) or (one in _TEXTS and other in _NUMBERS)


def _refused(rule: str, finding: str, remedy: str) -> ParameterError:
    return ParameterError("HG170", rule=rule, finding=finding, remedy=f"{remedy} No look was taken.")
