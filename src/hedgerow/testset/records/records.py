"""A test set's labels and predictions as they are given, made entries; refused by their shape alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.testset.records.entries import Entries, entries_of


def labels_of(y: object) -> Entries:
    """Return the labels as entries, of which none depends on another (HG170 where they are no column).

    >>> labels_of([1, "x"]).is_text.tolist()
    [False, True]
    """
    labels = _column(y)
    if labels is None:
        raise _refused("Labels are one column.", "Found something else.")
    return labels


def checked_length(x: object, n: int) -> None:
    """Refuse features of which the number of rows can be told, and is another than n (HG170)."""
    shape = getattr(x, "shape", None)
    rows = shape[0] if isinstance(shape, tuple) and shape else len(x) if isinstance(x, list) else n
    if rows != n:
        raise _refused("Features are a table of as many rows as there are labels.", "Found another number of rows.")


def as_predictions(predictions: object, n: int, *, public: bool) -> Entries:
    """Return predictions as entries, as they were sent.

    Where the number of records is not `public`, another number of predictions is not refused, which would tell it.

    Raises
    ------
    ParameterError
        HG170: another shape.

    Examples
    --------
    >>> len(as_predictions([1, 0], 3, public=False))
    2
    """
    if isinstance(predictions, np.ndarray) and predictions.dtype.kind not in "biufOUST":
        # Dates and the like: told from numbers, so that a metric of chances refuses them.
        predictions = predictions.astype(str)
    found = _column(predictions)
    rows = predictions if isinstance(predictions, (list, tuple)) else ()
    wide = any(isinstance(one, (list, tuple)) and len(one) != 1 for one in rows)
    if found is None or wide or (public and len(found) != n):
        raise _refused(
            "Predictions are one number or label for each record of the test set, in its order.",
            "Found another shape or type.",
            "For chances, give those of the positive label alone: model.predict_proba(X)[:, 1]. No look was taken.",
        )
    return found


def one_a_record(sent: Entries, n: int) -> Entries:
    """Return predictions as one a record: a record without one has none, and those beyond the last are ignored.

    Only what is paid for may see this: where n is private, a check or a digest of it would tell n.

    >>> one_a_record(as_predictions([1, 0], 3, public=False), 3).missing.tolist()
    [False, False, True]
    """
    places = np.arange(n)
    return sent if len(sent) == n else sent.taken(np.where(places < len(sent), places, -1))


def _column(values: Any) -> Entries | None:
    try:
        return entries_of(values)
    except Exception:  # whatever a foreign table raises may quote a cell
        return None


def _refused(rule: str, finding: str, remedy: str = "Give arrays of one length.") -> ParameterError:
    return ParameterError("HG170", rule=rule, finding=finding, remedy=remedy)
