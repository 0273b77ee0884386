"""Labels of a fit: their number, shape and type are looked at before the price is reserved, and no value of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from hedgerow.errors import ParameterError
from hedgerow.multicalibration.groups.cells import cells_of


def labels_of(X: Any, y: Any, *, private: bool) -> NDArray[Any]:
    """Return the labels as cells, one a record of X.

    Where the fit is private no value decides whether this fails: a label that is missing, or no class, is found later,
    silently. Without privacy scikit-learn's checks of values come too.

    Raises
    ------
    ParameterError, ValueError
        HG166: there are none; they are no column, or not as many as records.
    """
    if y is None:
        raise ParameterError("HG166", rule="A fit requires y to be passed, but the target y is None.")
    if not private:
        labels = np.asarray(column_or_1d(y))
        check_array(labels, ensure_2d=False, dtype=None, input_name="y")
        check_classification_targets(labels)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == 1 and not isinstance(y, np.ndarray):
        # A frame of one column: as a whole, an array of it would have another type where a cell is missing.
        cells = cells_of(y.iloc[:, 0] if hasattr(y, "iloc") else y[:, 0])
    else:
        cells = cells_of(y)
    # scikit-learn's rules for a column, told of the shape alone.
    column_or_1d(np.empty(shape or cells.shape, dtype=bool), warn=True)
    check_consistent_length(X, cells)
    return cells.ravel()


def check_labels_can_be(y: Any, classes: NDArray[Any]) -> None:
    """Refuse texts where classes are numbers, by the type of y alone: every record would be left out (HG166)."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    texts = kind in "US" or "str" in str(getattr(y, "dtype", "")).lower()
    if texts and classes.dtype.kind in "biuf":
        raise ParameterError(
            "HG166",
            rule="Labels are told from the classes, which are declared and never read off y.",
            finding="y holds texts, and the classes are numbers.",
            remedy='For precomputed scores name both, the second being the one scored: classes=["no", "yes"].',
        )
