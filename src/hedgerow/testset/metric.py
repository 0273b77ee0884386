"""Metrics as bounded losses of one record each, on a public grid of integers: a score is then an integer sum over n.

==============  ===================================================================  ==================  ======
metric          what one record adds                                                 predictions         better
==============  ===================================================================  ==================  ======
``accuracy``    1 where the prediction equals the label, else 0                      labels              high
``zero-one``    1 where it does not, else 0                                          labels              low
``brier``       (p − y)², y = 1 where the label is `positive`, else 0                chances of it       low
``log-loss``    −ln of the chance given to what came true, clipped                   chances of it       low
a function      what it returns, clamped to its declared bounds                      labels or chances   either
==============  ===================================================================  ==================  ======

A missing prediction or label, and a loss that is not a number, count as the worst that one record can add; so does a
record for which a function fails.

A function of the user's own must not let one record change the result of another. A function over arrays sees the type
of the array, and one text among numbers changes that type for all records. So the function is called separately on
numbers and on texts. Numbers are whole numbers only if the function accepts no others. Missing entries are never passed
to it. What it accepts is tried on made-up records, before any label is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.keywords import takes
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testset.entries import Entries, entries_of
from hedgerow.user_code import one_by_one, quietly

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Needs = Literal["labels", "chances"]
Function = Callable[[Any, Any], Any]
_UNIT = (0, 1)
_LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of predictions: the mean of bounded losses, one loss for each record.

    Each loss is rounded to a public grid.

    Attributes
    ----------
    name : str
    grid : Grid
        The grid of losses: the bounds of the loss of one record, and the number of steps between them.
    greater_is_better : bool
    needs : {"labels", "chances"}
        The kind of predictions: labels, or probabilities of the label `positive`.
    positive : label
        The label whose probability is predicted.
    clip : float
        For the log loss, the limit of probabilities: all probabilities are moved into [clip, 1 − clip].
    function : callable, optional
        A function ``function(labels, predictions)`` that returns one number for each record.
    """

    name: str
    grid: Grid
    greater_is_better: bool
    needs: Needs
    positive: Any = 1
    clip: float = 0.0
    function: Callable[[Any, Any], Any] | None = None

    def __repr__(self) -> str:
        low, high = self.grid.as_bounds()
        return f"Metric({self.name!r}, bounds=({low:g}, {high:.4g}), steps={self.grid.steps})"

    @property
    def worst(self) -> int:
        """The grid index of the worst loss that one record can have."""
        return 0 if self.greater_is_better else self.grid.steps

    def places(self, labels: Any, predictions: Any) -> Integers:
        """Return the grid index t of the loss of each record, where 0 ≤ t ≤ steps whatever the data are.

        Parameters
        ----------
        labels, predictions : array
            The labels of n records, and the predictions for the same records.

        Returns
        -------
        int array, (n,)
            The index of each record's loss on the grid. The index is `worst` (that of the largest loss) if the label or
            the prediction is missing, or if the loss is not a number.

        Raises
        ------
        ValueError
            The function of the metric does not return one number for each record.

        Examples
        --------
        >>> accuracy().places(np.array(["a", "b"]), np.array(["a", "a"])).tolist()
        [1, 0]
        """
        truth: Entries = entries_of(labels)
        given: Entries = entries_of(predictions)
        if self.function is not None:
            return self._on_grid(losses_by_function(self.function, truth, given), len(truth))
        if self.needs == "labels":
            equal = truth.equal(given)
            return np.asarray(equal if self.greater_is_better else ~equal, dtype=np.int64)
        places: Integers = self.places_of_chances(truth.among([self.positive]), given.numbers)
        places[truth.missing] = self.worst
        return places

    def places_of_chances(self, came_true: NDArray[np.bool_], chances: Floats) -> Integers:
        """Return the grid index of the loss of each predicted probability.

        Parameters
        ----------
        came_true : bool array, (n,)
            For each record, whether its label is `positive`.
        chances : float array, (n,)
            The predicted probability of the label `positive`.

        Returns
        -------
        int array, (n,)
            The index of each loss on the grid; the index is `worst` if the probability is not a number.

        Raises
        ------
        ValueError
            The two arrays have different lengths.

        Examples
        --------
        >>> brier().places_of_chances(np.array([True, False]), np.array([1.0, 0.5])).tolist()
        [0, 256]
        """
        return self._on_grid(self.of_chances(came_true, chances), len(chances))

    def of_chances(self, came_true: NDArray[np.bool_], chances: Floats) -> Floats:
        """Return the loss of each predicted probability: the squared error, or the negative logarithm.

        Parameters
        ----------
        came_true : bool array, (n,)
            For each record, whether its label is `positive`.
        chances : float array, (n,)
            The predicted probability of the label `positive`. Each predicted probability is first moved into [clip, 1 −
            clip].

        Returns
        -------
        float array, (n,)
            The loss of each record, before it is rounded to the grid.

        Raises
        ------
        ValueError
            The two arrays have different lengths.

        Examples
        --------
        >>> brier().of_chances(np.array([True]), np.array([0.7])).round(2).tolist()
        [0.09]
        """
        inside = np.clip(chances, self.clip, 1.0 - self.clip)
        if self.name == "brier":
            return np.asarray(np.square(inside - came_true))
        return np.asarray(-np.log(np.where(came_true, inside, 1.0 - inside)))

    def record(self) -> dict[str, Any]:
        """Return the data that identify this metric, as plain JSON data."""
        low, high = self.grid.lower, self.grid.upper
        record = {"name": self.name, "lower": str(low), "upper": str(high), "steps": self.grid.steps}
        record |= {"greater_is_better": self.greater_is_better, "needs": self.needs, "clip": self.clip}
        return record | {"positive": _plain(self.positive), "function": self.function is not None}

    def _on_grid(self, losses: Floats, n: int) -> Integers:
        if losses.shape != (n,):
            raise ValueError("one number per record")  # fixed text: what a user's function returned is not quoted
        low, high = self.grid.as_bounds()
        placed = np.floor((np.clip(losses, low, high) - low) / (high - low) * self.grid.steps + 0.5)
        placed = np.where(np.isfinite(losses), placed, self.worst)
        return np.clip(placed, 0, self.grid.steps).astype(np.int64)


def accuracy() -> Metric:
    """Return the metric "share of records whose predicted label is right".

    >>> accuracy()
    Metric('accuracy', bounds=(0, 1), steps=1)
    """
    return Metric("accuracy", Grid.from_bounds("accuracy", _UNIT, 1), True, "labels")


def zero_one() -> Metric:
    """Return the metric "share of records whose predicted label is wrong"."""
    return Metric("zero-one", Grid.from_bounds("zero-one", _UNIT, 1), False, "labels")


def brier(*, positive: Any = 1) -> Metric:
    """Return the Brier score: the mean of (p − y)² on a grid of 1/1024, with p the probability of `positive`."""
    return Metric("brier", Grid.from_bounds("brier", _UNIT), False, "chances", positive)


def log_loss(*, positive: Any = 1, clip: float = 0.01) -> Metric:
    """Return the log loss: the mean of −ln(probability of the true label), on a grid of 1,024 steps.

    Probabilities are first moved into [clip, 1 − clip], so one record adds at most −ln(clip): 4.6 at 0.01, and 6.9 at
    0.001. The noise is proportional to the largest loss of one record, −ln(clip).

    Parameters
    ----------
    positive : label
        The label whose probability is predicted.
    clip : float
        The smallest probability; a smaller predicted probability is raised to `clip`. A smaller clip gives confident
        wrong predictions larger losses, and needs more noise.

    Returns
    -------
    Metric
        The metric, whose small values are better.

    Raises
    ------
    ParameterError
        HG171: the clip lies outside (0, ½).

    Examples
    --------
    >>> log_loss()
    Metric('log-loss', bounds=(0, 4.605), steps=1024)
    """
    least = as_float(clip)
    if least is None or not 0.0 < least < 0.5:
        raise ParameterError(
            "HG171",
            rule="The clip of a log loss lies strictly between 0 and 1/2.",
            finding=f"Found {format_argument(clip)}.",
            remedy="Try clip=0.01.",
        )
    # A chance moved to clip loses −ln(clip) exactly, one moved to 1 − clip nearly 0: the grid begins at 0.
    top = -math.log(least)
    return Metric("log-loss", Grid.from_bounds("log-loss", (0, top)), False, "chances", positive, least)


class MetricReading(TypedDict, total=False):
    """How a metric of a function is read; see `Metric`."""

    greater_is_better: bool
    needs: Needs
    positive: Any


@takes(MetricReading, greater_is_better=False, needs="labels", positive=1)
def from_function(
    name: str,
    function: Callable[[Any, Any], Any],
    *,
    bounds: tuple[float, float],
    step: float | None = None,
    **reading: Unpack[MetricReading],
) -> Metric:
    """Return a metric: the mean over all records of ``function(labels, predictions)``, clamped to `bounds`.

    The privacy price is valid only if the function's number for each record depends on that record alone. The privacy
    price does not cover a function that compares records, such as a rank or a median. The certificate says so.

    Parameters
    ----------
    name, function
        The name of the metric, and the function. The function takes two arrays of n entries and returns n numbers.
    bounds, step
        The declared bounds of the function's numbers, and optionally a step that divides the range. The default step
        divides the range into 1,024 steps.
    greater_is_better, needs, positive
        The same attributes as those of `Metric`.

    Returns
    -------
    Metric
        The metric, on a grid between the declared bounds.

    Raises
    ------
    ParameterError
        HG171: the name is unknown, or the function is not a metric. HG104 to HG107: the bounds or the step are invalid.

    Examples
    --------
    >>> from_function("absolute error", lambda y, p: abs(y - p), bounds=(0, 10), step=0.01)
    Metric('absolute error', bounds=(0, 10), steps=1000)
    """
    needs = reading.get("needs", "labels")
    if not isinstance(name, str) or not name or not callable(function) or needs not in ("labels", "chances"):
        raise ParameterError(
            "HG171",
            rule="Your metric needs a name, a function of (labels, predictions), and predictions that are labels or "
            "probabilities.",
            finding="The name, the function or the kind of predictions is missing or wrong.",
            remedy='Make the metric with a name, a function and bounds, for example from_function("absolute error", '
            "f, bounds=(0, 10)).",
        )
    grid = Grid.from_bounds(name, bounds, step)
    better = bool(reading.get("greater_is_better", False))
    return Metric(name, grid, better, needs, reading.get("positive", 1), 0.0, function)


_BY_NAME: dict[str, Callable[[], Metric]] = {
    "accuracy": accuracy,
    "zero-one": zero_one,
    "brier": brier,
    "log-loss": log_loss,
}


_NO_MEANS = frozenset(("auc", "rocauc", "f1", "f1score", "r2", "ece", "calibrationerror", "precision", "recall"))


def parse_metric(metric: object, *, positive: Any = None) -> Metric:
    """Return the metric of a name, or the one that is given (HG171); a name may have _ for -.

    >>> parse_metric("accuracy").name, parse_metric("log_loss").name
    ('accuracy', 'log-loss')
    """
    if isinstance(metric, str) and metric.replace("_", "-") in _BY_NAME:
        metric = _BY_NAME[metric.replace("_", "-")]()
    if isinstance(metric, Metric):
        return metric if positive is None else replace(metric, positive=positive)
    if isinstance(metric, str) and metric.lower().replace("_", "").replace("-", "") in _NO_MEANS:
        raise ParameterError(
            "HG171",
            rule="The metric of a test set is a mean of one bounded number for each record.",
            finding=f"{format_argument(metric)} is no such mean.",
            remedy="Make the test set with accuracy, and take a look with precision, recall, f1, balanced_accuracy, "
            "roc_auc, calibration_error or r2: score(predictions, metric=…).",
        )
    raise ParameterError(
        "HG171",
        rule="`metric` is one of " + ", ".join(_BY_NAME) + ", or a Metric.",
        finding=f"Found {format_argument(metric)}." if isinstance(metric, str) else f"Found a {type(metric).__name__}.",
        remedy="from_function(name, f, bounds=…) makes a metric from a function with declared bounds.",
        shell="A metric of one's own can be had in Python alone.",
    )


def _plain(label: Any) -> Any:
    """Return a label as JSON data."""
    value = label.item() if hasattr(label, "item") else label
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def losses_of(metric: Metric, labels: Entries, predictions: Entries, rows: Integers | None = None) -> Histogram:
    """Return how many records (of some rows, if given) add how much to a metric, as a histogram of one cell."""
    if rows is not None:
        labels, predictions = labels.taken(rows), predictions.taken(rows)
    counts = np.bincount(metric.places(labels, predictions), minlength=metric.grid.steps + 1).astype(np.int64)
    index = np.flatnonzero(counts)
    return Histogram.from_triplets(np.zeros_like(index), index, counts[index], cells=1)


def losses_by_function(function: Function, labels: Entries, predictions: Entries) -> Floats:
    """Return the loss of each record by a function; NaN if the function returns no number for it.

    >>> losses_by_function(lambda y, p: 1 / abs(y - p), entries_of([3, "x", 2]), entries_of([1, 1, None])).tolist()
    [0.5, nan, nan]
    """
    whole = _takes(function, [0.0, 1.0], whole=False) is False and _takes(function, [0.0, 1.0], whole=True)
    losses = np.full(len(labels), np.nan)
    for label_is_text in (False, True):
        for prediction_is_text in (False, True):
            of_kind = _holds(labels, label_is_text, whole) & _holds(predictions, prediction_is_text, whole)
            rows = np.flatnonzero(of_kind)
            y, p = _shown(labels, rows, label_is_text, whole), _shown(predictions, rows, prediction_is_text, whole)
            results = one_by_one(_between(function, y, p), len(rows), np.nan)
            losses[rows] = results.astype(np.float64)
    return losses


def check_function(function: Function, needs: str, labels: Sequence[Any]) -> None:
    """Refuse a function that returns no number for any made-up record (HG178); no label is read."""
    declared = list(labels) or None
    tried: list[tuple[list[Any], bool]] = [([0.0, 1.0], False), ([0.0, 1.0], True), (["a", "b"], False)]
    tried = [(declared, False), (declared, True), *tried] if declared else tried
    chances = [0.25, 0.75] if needs == "chances" else None
    if not any(_takes(function, values, whole=whole, predictions=chances) for values, whole in tried):
        raise ParameterError(
            "HG178",
            rule="The function of your metric must return one number for each record.",
            finding="The function failed on made-up records, or returned another number of results.",
            remedy="Call the function on two records yourself: f(numpy.array([0, 1]), numpy.array([1, 1])). If the "
            "function accepts some labels only, declare these labels: labels=[…]. No look was taken.",
        )


def _takes(function: Function, values: list[Any], *, whole: bool, predictions: list[Any] | None = None) -> bool:
    made = entries_of(values)
    is_text, rows = bool(made.is_text.all()), np.arange(len(values))
    if made.is_text.any() and not is_text:
        return True
    y = _shown(made, rows, is_text, whole)
    p = y.copy() if predictions is None else np.resize(np.array(predictions), len(y))
    return quietly(lambda: _called(function, y, p).shape == y.shape) is True


def _between(function: Function, labels: NDArray[Any], predictions: NDArray[Any]) -> Callable[[int, int], Floats]:
    return lambda start, end: _called(function, labels[start:end], predictions[start:end])


def _called(function: Function, labels: NDArray[Any], predictions: NDArray[Any]) -> Floats:
    return np.asarray(function(labels.copy(), predictions.copy()), dtype=np.float64)


def _holds(entries: Entries, is_text: bool, whole: bool) -> NDArray[np.bool_]:
    if is_text:
        return entries.is_text
    with np.errstate(all="ignore"):
        fits = (entries.numbers == np.rint(entries.numbers)) & (np.abs(entries.numbers) <= _LARGEST_WHOLE)
    return fits if whole else ~np.isnan(entries.numbers)


def _shown(entries: Entries, rows: NDArray[np.int64], is_text: bool, whole: bool) -> NDArray[Any]:
    if is_text:
        return entries.texts[rows]
    return entries.numbers[rows].astype(np.int64) if whole else entries.numbers[rows]
