"""Whether predictions can be what a metric compares with labels: told from themselves and from what is declared.

What a metric cannot read counts as the worst that a record can add, so chances given for labels, or percentages for
chances, would use up a look and return a score of nothing. A refusal takes no look, so it must not tell of a record: it
depends on the predictions that were sent and on the labels that were DECLARED, never on the labels of records or on the
type of the array that holds them, which one missing label may change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.testset.records.entries import Entries, entries_of
from hedgerow.testset.records.metric import Metric

_ROUNDING = 1e-6  # chances of 32 bits may exceed 1 by their last digit


def checked_labels(metric: Metric, labels: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return the declared labels as plain data, none where none are declared.

    Raises
    ------
    ParameterError
        HG177: they are no list of two or more different numbers or texts. HG171: the positive label is none of them.
    """
    if labels is None:
        return ()
    given = [] if isinstance(labels, (str, bytes)) else [one.item() if hasattr(one, "item") else one for one in labels]
    given = [None if isinstance(one, (list, tuple)) else one for one in given]
    told = set(entries_of(given).told())
    if len(given) < 2 or "" in told or len(told) < len(given):
        raise ParameterError(
            "HG177",
            rule="Declared labels are a list of two or more different numbers or texts.",
            finding="These are not.",
            remedy="For example labels=[0, 1].",
        )
    if metric.needs == "chances" and not entries_of([metric.positive]).among(given)[0]:
        raise ParameterError(
            "HG171",
            rule="A metric of chances names the label whose chance is predicted, as it stands among the labels.",
            finding="It is none of the declared labels.",
            remedy='For example metric=brier(positive="yes").',
        )
    return tuple(given)


def checked_kind(metric: Metric, labels: Sequence[Any], predictions: Entries) -> Entries:
    """Return predictions that the metric can read.

    Raises
    ------
    ParameterError
        HG170: chances that are no numbers from 0 to 1; labels of another kind than those declared; fractions where
        labels are whole numbers, as they are unless others are declared.

    Examples
    --------
    >>> from hedgerow.testset.records.metric import brier
    >>> checked_kind(brier(), (), entries_of([0, None, 1])).numbers.tolist()
    [0.0, nan, 1.0]
    """
    numbers = predictions.numbers
    if metric.needs == "chances":
        if predictions.is_text.any() or ((numbers < -_ROUNDING) | (numbers > 1.0 + _ROUNDING)).any():
            raise _refused(
                "Chances are numbers from 0 to 1.",
                "Found other values.",
                "For example model.predict_proba(X)[:, 1], not labels of text, percentages or margins.",
            )
    elif metric.function is None:
        declared = entries_of(list(labels))
        known, sent = predictions.only(~predictions.missing), ~predictions.missing
        texts = declared.is_text.all() if len(declared) else False
        if (
            len(declared)
            and sent.any()
            and ((texts and not known.is_text.any()) or (not declared.is_text.any() and known.is_text[sent].all()))
        ):
            raise _refused(
                "Predicted labels are of the kind of the declared labels.",
                "One of them is text and the other numbers.",
                "Predict the labels themselves: a text never equals a number.",
            )
        if not _fractions(declared) and _fractions(predictions):
            raise _refused(
                f"`{metric.name}` compares predicted labels with labels.",
                "Labels are whole numbers or texts unless others are declared, and some predictions are fractions.",
                "Give model.predict(X); of chances take the metric 'brier' or 'log-loss'; declare labels that are "
                "fractions: labels=[0.5, 1.5].",
            )
    return predictions


def _fractions(entries: Entries) -> bool:
    finite = entries.numbers[np.isfinite(entries.numbers)]
    return bool((finite != np.rint(finite)).any())


def _refused(rule: str, finding: str, remedy: str) -> ParameterError:
    return ParameterError("HG170", rule=rule, finding=finding, remedy=f"{remedy} No look was taken.")
