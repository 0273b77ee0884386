"""Labels and predictions as the caller gives them: checked, made entries, or asked of a model.

A refusal takes no look, so it must tell nothing about a record. It depends only on the predictions that were sent and
on the DECLARED labels, never on the labels of records or on the type of their array, which one label may change.
What a metric cannot read counts as the worst that a record can add. A prediction that is no declared label, a chance
given as a label, and a percentage given as a chance would therefore use up a look for a useless score: they are
refused. A missing prediction is not refused: it counts as wrong. Where no labels are declared, any whole number or text
may be a label.

A model is first called on made-up rows, where the type of the features says enough to make them. So a model that does
not fit is refused before a look is taken. On the test set itself nothing is refused: a record for which the model fails
has no prediction, and counts as the worst.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.testset.entries import Entries, entries_of
from hedgerow.testset.metric import Metric
from hedgerow.user_code import one_by_one, quietly, silence

_ROUNDING = 1e-6  # chances of 32 bits may exceed 1 by their last digit


def labels_of(y: object) -> Entries:
    """Return the labels as entries, none of which depends on another (HG170 if they are not one column).

    >>> labels_of([1, "x"]).is_text.tolist()
    [False, True]
    """
    labels = _column(y)
    if labels is None:
        raise _wrong_shape("Labels are one column.", "Found something else.")
    return labels


def checked_length(x: object, n: int) -> None:
    """Refuse features whose number of rows is known and differs from n (HG170)."""
    shape = getattr(x, "shape", None)
    rows = shape[0] if isinstance(shape, tuple) and shape else len(x) if isinstance(x, list) else n
    if rows != n:
        raise _wrong_shape("Features are a table of as many rows as there are labels.", "Found another number of rows.")


def as_predictions(predictions: object, n: int, *, public: bool) -> Entries:
    """Return predictions as entries, as they were sent.

    If the number of records is not `public`, another number of predictions is not refused: a refusal would reveal it.

    Raises
    ------
    ParameterError
        HG170: another shape.

    Examples
    --------
    >>> len(as_predictions([1, 0], 3, public=False))
    2
    """
    kind = getattr(getattr(predictions, "dtype", None), "kind", "O")
    if kind in ("m", "M", "c"):
        # Dates and the like become texts, which no metric of chances takes and no list of labels holds.
        predictions = np.asarray(predictions).astype(str)
    column = None if kind == "V" else _column(predictions)  # a structured array has several columns
    rows = predictions if isinstance(predictions, (list, tuple)) else ()
    wide = any(isinstance(row, (list, tuple)) and len(row) != 1 for row in rows)
    if column is None or wide or (public and len(column) != n):
        raise _wrong_shape(
            "Predictions are one number or label for each record of the test set, in its order.",
            "Found another shape or type.",
            "For chances, give those of the positive label alone: model.predict_proba(X)[:, 1]. No look was taken.",
        )
    return column


def align_to_records(sent: Entries, n: int) -> Entries:
    """Return one prediction for each record: missing if there are too few; those beyond the last record are ignored.

    Call it only after a look is paid: if n is private, a check or a digest of the result would reveal n.

    >>> align_to_records(as_predictions([1, 0], 3, public=False), 3).missing.tolist()
    [False, False, True]
    """
    places = np.arange(n)
    return sent if len(sent) == n else sent.taken(np.where(places < len(sent), places, -1))


def _column(values: Any) -> Entries | None:
    try:
        return entries_of(values)
    except Exception:  # whatever a foreign table raises may quote a cell
        return None


def checked_labels(metric: Metric, labels: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return the declared labels as plain data, none where none are declared.

    Raises
    ------
    ParameterError
        HG177: they are not a list of two or more different numbers or texts. HG171: the positive label is not listed.
    """
    if labels is None:
        return ()
    given = (
        []
        if isinstance(labels, (str, bytes))
        else [label.item() if hasattr(label, "item") else label for label in labels]
    )
    given = [None if isinstance(label, (list, tuple)) else label for label in given]
    distinct = set(entries_of(given).kinds_and_values())
    if len(given) < 2 or "" in distinct or len(distinct) < len(given):
        raise ParameterError(
            "HG177",
            rule="Declared labels are a list of at least two different numbers or texts.",
            finding="The given labels do not follow the rule.",
            remedy="List all possible labels, for example labels=[0, 1].",
        )
    if metric.needs == "chances" and not entries_of([metric.positive]).among(given)[0]:
        raise ParameterError(
            "HG171",
            rule="A metric of probabilities names the label whose probability is predicted, written exactly as in the "
            "labels.",
            finding="The positive label is not one of the declared labels.",
            remedy='For example metric=brier(positive="yes").',
        )
    return tuple(given)


def checked_kind(metric: Metric, labels: Sequence[Any], predictions: Entries) -> Entries:
    """Return predictions that the metric can read.

    Raises
    ------
    ParameterError
        HG170: chances that are not numbers from 0 to 1; a predicted label that is not declared; fractions as labels
        where no labels are declared.

    Examples
    --------
    >>> from hedgerow.testset.metric import brier
    >>> checked_kind(brier(), (), entries_of([0, None, 1])).numbers.tolist()
    [0.0, nan, 1.0]
    """
    numbers = predictions.numbers
    if metric.needs == "chances":
        if predictions.is_text.any() or ((numbers < -_ROUNDING) | (numbers > 1.0 + _ROUNDING)).any():
            raise _wrong_kind(
                "Chances are numbers from 0 to 1.",
                "Found other values.",
                "For example model.predict_proba(X)[:, 1], not labels of text, percentages or margins.",
            )
    elif metric.function is None and len(labels):
        refuse_undeclared(~predictions.missing & ~predictions.among(labels))
    elif metric.function is None:
        check_whole(metric.name, entries_of([]), predictions)
    return predictions


def refuse_undeclared(undeclared: NDArray[np.bool_]) -> None:
    """Refuse predictions of which some are no declared label (HG170).

    Parameters
    ----------
    undeclared : bool array
        Which predictions are neither missing nor a declared label. It must not depend on the labels of records.
    """
    if undeclared.any():
        raise _wrong_kind(
            "A predicted label is one of the declared labels.",
            "Some predictions are none of them.",
            "Give model.predict(X), with labels as they were declared: a text never equals a number in Python. "
            "Of chances take the metric 'brier' or 'log-loss'.",
        )


def check_whole(metric: str, labels: Entries, predictions: Entries) -> None:
    """Refuse fractions as predicted labels, unless fractions were declared as labels (HG170).

    >>> check_whole("accuracy", entries_of(["0", "1"]), entries_of(["0", "1"]))
    """
    # In a CSV file every cell is text: "0.37" is no label there either.
    if not _fractions(labels.read_as_numbers()) and _fractions(predictions.read_as_numbers()):
        raise _wrong_kind(
            f"`{metric}` compares predicted labels with labels.",
            "Labels are whole numbers or texts unless others are declared, and some predictions are fractions.",
            "Give model.predict(X); of chances take the metric 'brier' or 'log-loss'; declare labels that are "
            "fractions: labels=[0.5, 1.5].",
        )


def _fractions(entries: Entries) -> bool:
    finite = entries.numbers[np.isfinite(entries.numbers)]
    return bool((finite != np.rint(finite)).any())


def _wrong_kind(rule: str, finding: str, remedy: str) -> ParameterError:
    return ParameterError("HG170", rule=rule, finding=finding, remedy=f"{remedy} No look was taken.")


def is_model(given: object) -> bool:
    """Return whether something can be asked for predictions.

    >>> is_model(np.array([1])), is_model(type("Model", (), {"predict": lambda self, x: x})())
    (False, True)
    """
    return any(_method(given, name) is not None for name in ("predict", "predict_proba"))


def class_of_model(model: object) -> str:
    """Return the class of a model, which a replay compares; its predictions depend on records."""
    return f"{type(model).__module__}.{type(model).__qualname__}"


def predicted(
    model: Any, x: object, n: int, metric: Metric, check: Callable[[Entries], Entries], *, public: bool
) -> Entries:
    """Return a model's predictions; missing for records for which it fails.

    Parameters
    ----------
    model, x, n
        What predicts, and the features of n records; None if there are none.
    metric : Metric
        Whether labels or chances are asked for.
    check : callable
        Refuses predictions that the metric cannot read; called on those for made-up rows.
    public : bool
        Whether n is public. If it is not, a model without features may return another number of predictions: a refusal
        would reveal n, so they are returned as they are.

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
        results = method(rows)
        # From a list with one text, NumPy would make texts of all numbers.
        results = results if isinstance(results, np.ndarray) else np.asarray(results, dtype=object)
        return _chosen(results, classes, metric) if metric.needs == "chances" else results

    made_up, rows = (None, n if public else None) if x is None else (_made_up(x), 2)
    if x is None or made_up is not None:
        # Without features a model sees no record, so its failures may be reported.
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
    """Return results as one column of n entries, of any length if n is None; raises ValueError otherwise."""
    n = results.shape[0] if n is None else n
    if results.shape not in ((n,), (n, 1)):
        raise ValueError("one result a record")
    return results.reshape(n)


def _method(given: object, name: str) -> Callable[[object], Any] | None:
    method = quietly(lambda: getattr(given, name))
    return method if callable(method) else None


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
    """Return two rows of zeros of the type of x; None if the type alone does not determine them."""
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
        rule="A model needs the method `predict` for labels, or `predict_proba` for probabilities, with one result for "
        "each row.",
        finding=finding,
        remedy=remedy,
    )


def _wrong_shape(rule: str, finding: str, remedy: str = "Give arrays of one length.") -> ParameterError:
    return ParameterError("HG170", rule=rule, finding=finding, remedy=remedy)
