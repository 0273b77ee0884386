"""Predictions joined to the records of a test set, by position or by key, without a word about what is private.

Under replace-one which records there are is public: their number or, where a key is named, their keys. A submission
that does not fit them is refused. Under add-remove that is private, so nothing is refused for it: a record without a
prediction counts as wrong, and a prediction without a record is ignored. By position an additional record would move
the predictions of all others there, so add-remove needs a key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.testset.records.entries import Entries


def require_key(relation: Relation, key: str | None) -> None:
    """Refuse files without a key under add-remove (HG436)."""
    if relation is Relation.ADD_REMOVE and key is None:
        raise ParameterError(
            "HG436",
            rule="Under add-remove predictions are joined to labels by a key: by position, a record that comes or goes "
            "would move the predictions of all others.",
            finding="No key is named.",
            remedy='Name the column that tells records apart, in both files: key="id". Or use relation="replace-one".',
        )


def check_distinct(keys: Sequence[str], *, whose: str) -> None:
    """Refuse keys of which one is missing or there twice (HG437)."""
    if len(set(keys)) < len(keys) or "" in keys:
        raise ParameterError(
            "HG437",
            rule="A key stands for one record.",
            finding=f"In the file of {whose} one is missing, or is there twice.",
            remedy="Give every row a key of its own. No look was taken.",
        )


def check_covered(wanted: Sequence[str], given: Sequence[str]) -> None:
    """Refuse predictions that leave out a public key (HG437)."""
    left_out = set(wanted) - set(given)
    if left_out:
        raise ParameterError(
            "HG437",
            rule="A file of predictions has one row for each record of the test set.",
            finding=f"It leaves out the keys of {len(left_out):,} of {len(wanted):,} records.",
            remedy="Predict for the whole test set. Keys are compared as texts: 7 and 007 are two. No look was taken.",
        )


def joined(records: Sequence[str], predictions: Entries, keys: Sequence[str]) -> Entries:
    """Return each record's prediction by its key, missing where it has none.

    >>> from hedgerow.testset.records.entries import entries_of
    >>> joined(["b", "a", "c"], entries_of([1, 2]), ["a", "b"]).numbers.tolist()
    [2.0, 1.0, nan]
    """
    place = {key: at for at, key in enumerate(keys) if key}
    return predictions.taken(np.array([place.get(key, -1) for key in records], dtype=np.int64))
