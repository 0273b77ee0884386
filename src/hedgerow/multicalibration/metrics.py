"""Multicalibration error of scores in every group, and the error to expect by chance alone.

======================  ========================================================================================
max error               M = max over cells of |R| / n
group-weighted error    W = Σ |R| / Σ |g|, over groups g and buckets: each group's calibration error by its size
alpha                   the least α such that in every group the buckets with |R|/N > α hold at most α of its records
======================  ========================================================================================

A cell is group × bucket of the prediction, R = Σ (y − p) over its N records. The third is Definition 3 of Fishman,
Mugunthan and Tanzer, with whole buckets as what may be left out of a group. None is 0 for a perfect model: labels
scatter about p. The **noise floor** is their mean when y is drawn from p itself; a value near it cannot be
distinguished from perfect multicalibration.

`multicalibration_error` and the other functions read labels as they are and have no privacy; the report of a private
model has the same numbers, read from a released table at no further cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DataError, ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.multicalibration.calibrated_model import Residuals, score_bucket
from hedgerow.multicalibration.declared_groups import family_of
from hedgerow.multicalibration.family import as_flags, records_of

Kind = Literal["max", "group-weighted", "alpha"]
Floats = NDArray[np.float64]


def multicalibration_error(
    y: object, p: object, groups: object = None, *, n_buckets: int = 10, kind: Kind = "max", X: object = None
) -> float:
    """Return a calibration error of the scores p for the labels y: the largest error M, the weighted error W, or α.

    The result is exact and not private: use the function only for data that you are allowed to see.

    Parameters
    ----------
    y : array of 0 and 1, (records,)
    p : array of float, (records,)
        Scores in [0, 1].
    groups : boolean array (records, groups), {name: mask}, or groups as `Multicalibrator` takes them together with `X`
        The groups. The group of all records is always included.
    n_buckets : int
        The number k of score buckets: intervals of equal width.
    kind : {"max", "group-weighted", "alpha"}
        The error to compute: M, W or α, which the module `hedgerow.multicalibration.metrics` defines.
    X : array or frame, optional
        The records, which are needed if groups are declared by columns or predicates.

    Returns
    -------
    float
        The calibration error, between 0 and 1.

    Raises
    ------
    ParameterError, DataError, UncertifiedError
        HG165: `kind` is unknown. HG166: the arrays have different lengths, or a score lies outside [0, 1]. HG440: the
        predicate of a group has no answer for a record.

    Examples
    --------
    >>> y, p = np.array([0, 1, 1, 1]), np.array([0.25, 0.25, 0.75, 0.75])
    >>> multicalibration_error(y, p, {"first": [True, True, False, False]})
    0.125
    >>> round(multicalibration_error(y, p, kind="group-weighted"), 3), multicalibration_error(y, p, kind="alpha")
    (0.25, 0.25)
    """
    return error_of(residuals_of(y, p, groups, n_buckets=n_buckets, X=X), kind)


def error_of(residuals: Residuals, kind: Kind) -> float:
    """Return M, W or α of residual sums, exact or noisy, clipped to their maximum of 1."""
    if kind == "max":
        return min(1.0, float(np.abs(residuals.residual).max(initial=0.0)) / max(residuals.n, 1.0))
    if kind == "group-weighted":
        return min(1.0, float(np.abs(residuals.residual).sum()) / max(float(residuals.count.sum()), 1.0))
    if kind == "alpha":
        return float(alpha_of(residuals, np.abs(residuals.residual)).max(initial=0.0))
    raise ParameterError(
        "HG165",
        rule='The `kind` of a calibration error is "max", "group-weighted" or "alpha".',
        finding=f"Found {format_argument(kind)}.",
    )


def alpha_of(residuals: Residuals, errors: Floats) -> Floats:
    """Return the α of Definition 3 of each group, for residual sums of these sizes, (groups, buckets).

    Of noisy counts those within two sd of their noise are not judged: their mean residual could be anything.

    >>> sums = np.array([[[9.0, 20.0]], [[10.0, 90.0]], [[5.0, 45.0]]])  # one tenth is off by .9, the rest by .22
    >>> found = Residuals.exact(("all",), sums, 100.0, log_loss=0.5, brier=0.2)
    >>> alpha_of(found, np.abs(found.residual)).round(3).tolist()
    [0.222]
    """
    judged = residuals.count > 2.0 * residuals.count_sd
    n = np.where(judged, residuals.count, 0.0)
    mean = np.where(judged, np.minimum(errors / np.where(judged, residuals.count, 1.0), 1.0), 0.0)
    order = np.argsort(-mean, axis=1)
    worst, held = np.take_along_axis(mean, order, axis=1), np.take_along_axis(n, order, axis=1)
    # Leaving out the i worst buckets costs their share, and what is left is off by the next.
    total = np.maximum(held.sum(axis=1, keepdims=True), 1e-9)
    left_out = (np.cumsum(held, axis=1) - held) / total
    return np.asarray(np.minimum(np.maximum(left_out, worst).min(axis=1), 1.0), dtype=np.float64)


def residuals_of(y: object, p: object, groups: object = None, *, n_buckets: int = 10, X: object = None) -> Residuals:
    """Return the exact sums of residuals (label − score) by group and score bucket.

    Parameters
    ----------
    y, p, groups, n_buckets, X
        The arguments of `multicalibration_error`.

    Returns
    -------
    Residuals
        The sums of label − score, the numbers of records and the sums of scores, each by group and score bucket.

    Raises
    ------
    ParameterError, DataError or UncertifiedError
        The errors of `multicalibration_error`.

    Examples
    --------
    >>> y, p = np.array([0, 1, 1, 1]), np.array([0.25, 0.25, 0.75, 0.75])
    >>> residuals_of(y, p, n_buckets=2).groups
    ('all',)
    """
    labels, scores = _labels_and_scores(y, p)
    names, member = _membership(groups, X, len(labels))
    bucket = score_bucket(scores, n_buckets)
    values = labels - scores, np.ones_like(scores), scores
    sums = np.array(
        [[np.bincount(bucket[inside], v[inside], minlength=n_buckets) for inside in member.T] for v in values]
    )
    return Residuals.exact(names, sums, float(len(labels)), log_loss=log_loss(y, p), brier=brier_score(y, p))


def noise_floor(
    p: object,
    groups: object = None,
    *,
    n_buckets: int = 10,
    kind: Kind = "max",
    X: object = None,
    n_draws: int = 50,
    rng: np.random.Generator | int | None = None,
) -> float:
    """Return the mean calibration error (M or W) of a perfect model, whose labels are drawn with probabilities p.

    Parameters
    ----------
    p, groups, n_buckets, X
        The arguments of `multicalibration_error`.
    kind : {"max", "group-weighted"}
        The calibration error to compute: the largest error M, or the weighted error W.
    n_draws : int
        The number of times that labels are drawn again.
    rng : Generator or int, optional
        The random generator for the labels. Use a seed for studies only.

    Returns
    -------
    float

    Raises
    ------
    ParameterError, DataError or UncertifiedError
        The errors of `multicalibration_error`.

    Examples
    --------
    >>> 0.003 < noise_floor(np.full(10_000, 0.5), rng=1) < 0.005  # E|N(0, 50²)| / 10,000 = .004
    True
    """
    generator = np.random.default_rng(rng)
    scores = np.asarray(p, dtype=np.float64).ravel()
    drawn = (generator.random((n_draws, len(scores))) < scores).astype(np.int64)
    inside = _membership(groups, X, len(scores))[1][:, 1:]
    errors = [multicalibration_error(y, scores, inside, n_buckets=n_buckets, kind=kind) for y in drawn]
    return float(np.mean(errors))


def log_loss(y: object, p: object) -> float:
    """Return the mean logarithmic loss in nats. Scores closer to 0 or 1 than 1e-15 are moved to the distance 1e-15.

    Parameters
    ----------
    y : array of 0 and 1, (records,)
    p : array of float, (records,)
        Scores in [0, 1].

    Returns
    -------
    float

    Raises
    ------
    ParameterError or DataError
        HG166: the arrays have different lengths, or a score lies outside [0, 1].

    Examples
    --------
    >>> round(log_loss([1, 0], [0.5, 0.5]), 4)
    0.6931
    """
    labels, scores = _labels_and_scores(y, p)
    inside = np.clip(scores, 1e-15, 1.0 - 1e-15)
    return float(-np.mean(labels * np.log(inside) + (1.0 - labels) * np.log1p(-inside)))


def brier_score(y: object, p: object) -> float:
    """Return the mean squared difference between labels and scores.

    Parameters
    ----------
    y : array of 0 and 1, (records,)
    p : array of float, (records,)
        Scores in [0, 1].

    Returns
    -------
    float

    Raises
    ------
    ParameterError or DataError
        HG166: the arrays have different lengths, or a score lies outside [0, 1].

    Examples
    --------
    >>> brier_score([1, 0], [0.5, 0.0])
    0.125
    """
    labels, scores = _labels_and_scores(y, p)
    return float(np.mean((labels - scores) ** 2))


def _labels_and_scores(y: object, p: object) -> tuple[Floats, Floats]:
    labels, scores = np.asarray(y, dtype=np.float64), np.asarray(p, dtype=np.float64)
    fits = labels.ndim == 1 and labels.shape == scores.shape and len(labels) > 0
    if not fits or not np.isin(labels, (0.0, 1.0)).all() or not ((scores >= 0.0) & (scores <= 1.0)).all():
        raise DataError(
            "HG166",
            rule="Labels must be 0 or 1 and scores must lie in [0, 1], with one label and one score for each record.",
            finding="The given values do not follow the rule.",
            remedy="If there are more than two classes, compute the error for one class c at a time, from the labels "
            "y == c and the predicted probabilities of c.",
        )
    return labels, scores


def _membership(groups: object, X: object, n: int) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    if X is not None or groups is None:
        columns = records_of(np.zeros((n, 0)) if X is None else X)
        family = family_of(groups)
        return family.names, family.membership(family.classes(columns))
    named = _masks(groups)
    if any(len(mask) != n for mask in named.values()):
        raise DataError(
            "HG166",
            rule="A mask needs one entry for each record.",
            finding="The given mask has another number of entries.",
            remedy="If groups are declared by columns, pass the records in the argument X.",
        )
    return ("all", *named), np.stack([np.ones(n, dtype=bool), *named.values()], axis=1)


def _masks(groups: Any) -> dict[str, NDArray[np.bool_]]:
    if isinstance(groups, Mapping):
        return {str(name): as_flags(mask).ravel() for name, mask in groups.items()}
    if isinstance(groups, np.ndarray) and groups.ndim == 2:
        return {f"group {number}": as_flags(mask) for number, mask in enumerate(groups.T, start=1)}
    if isinstance(groups, Sequence) and not isinstance(groups, (str, bytes)):
        return {f"group {number}": as_flags(mask).ravel() for number, mask in enumerate(groups, start=1)}
    raise ParameterError(
        "HG165",
        rule="Groups are given as masks, or are declared and given together with the records `X`.",
        finding=f"Found an object of type {type(groups).__name__!r} without `X`.",
    )
