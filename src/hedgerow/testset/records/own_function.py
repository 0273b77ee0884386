"""A metric of the user's own: called so that a record's loss depends on that record alone, and says nothing else.

A function over arrays sees the type of the array, which one odd label among numbers would change for all records. So
records are handed over sorted by what they hold (numbers as doubles, texts as texts), numbers as whole ones where the
function takes no others; what is missing never gets there and counts as the worst. Which it takes is tried on made-up
records, before any label is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.testset.records.entries import Entries, entries_of
from hedgerow.testset.records.one_by_one import one_by_one
from hedgerow.user_code import quietly

Floats = NDArray[np.float64]
Function = Callable[[Any, Any], Any]
_WHOLE = 2.0**53


def own_losses(function: Function, labels: Entries, predictions: Entries) -> Floats:
    """Return what a function makes of each record, NaN where it makes no number of it.

    >>> own_losses(lambda y, p: 1 / abs(y - p), entries_of([3, "x", 2]), entries_of([1, 1, None])).tolist()
    [0.5, nan, nan]
    """
    whole = _takes(function, [0.0, 1.0], whole=False) is False and _takes(function, [0.0, 1.0], whole=True)
    losses = np.full(len(labels), np.nan)
    for label_is_text in (False, True):
        for prediction_is_text in (False, True):
            of_kind = _holds(labels, label_is_text, whole) & _holds(predictions, prediction_is_text, whole)
            rows = np.flatnonzero(of_kind)
            y, p = _shown(labels, rows, label_is_text, whole), _shown(predictions, rows, prediction_is_text, whole)
            found = one_by_one(lambda a, b, y=y, p=p: _called(function, y[a:b], p[a:b]), len(rows), np.nan)  # type: ignore[misc]
            losses[rows] = found.astype(np.float64)
    return losses


def rehearse(function: Function, needs: str, labels: Sequence[Any]) -> None:
    """Refuse a function that makes no number of any made-up record (HG178); no label is read."""
    declared = list(labels) or None
    tried: list[tuple[list[Any], bool]] = [([0.0, 1.0], False), ([0.0, 1.0], True), (["a", "b"], False)]
    tried = [(declared, False), (declared, True), *tried] if declared else tried
    chances = [0.25, 0.75] if needs == "chances" else None
    if not any(_takes(function, values, whole=whole, predictions=chances) for values, whole in tried):
        raise ParameterError(
            "HG178",
            rule="A metric of one's own returns one number a record.",
            finding="This function failed on made-up records, or returned another number of results.",
            remedy="Call it on two records yourself: f(numpy.array([0, 1]), numpy.array([1, 1])). Where it knows some "
            "labels only, declare them: labels=[…]. No look was taken.",
        )


def _takes(function: Function, values: list[Any], *, whole: bool, predictions: list[Any] | None = None) -> bool:
    made = entries_of(values)
    is_text, rows = bool(made.is_text.all()), np.arange(len(values))
    if made.is_text.any() and not is_text:
        return True
    y = _shown(made, rows, is_text, whole)
    p = y.copy() if predictions is None else np.resize(np.array(predictions), len(y))
    return quietly(lambda: _called(function, y, p).shape == y.shape) is True


def _called(function: Function, labels: NDArray[Any], predictions: NDArray[Any]) -> Floats:
    return np.asarray(function(labels.copy(), predictions.copy()), dtype=np.float64)


def _holds(entries: Entries, is_text: bool, whole: bool) -> NDArray[np.bool_]:
    if is_text:
        return entries.is_text
    with np.errstate(all="ignore"):
        fits = (entries.numbers == np.rint(entries.numbers)) & (np.abs(entries.numbers) <= _WHOLE)
    return fits if whole else ~np.isnan(entries.numbers)


def _shown(entries: Entries, rows: NDArray[np.int64], is_text: bool, whole: bool) -> NDArray[Any]:
    if is_text:
        return entries.texts[rows]
    return entries.numbers[rows].astype(np.int64) if whole else entries.numbers[rows]
