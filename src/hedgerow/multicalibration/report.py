"""`report_`: how far from calibrated a model was before and after, read from what was released.

For a private mechanism every number here is read from the released tables, at no further cost; nothing is computed from
the records. Errors read from noisy tables are larger than the true ones because of the privacy noise. The noise floor
beside them says by how much: it is their mean if every cell were calibrated.

Which α one may hope for before a fit, from public facts alone: Theorems 1 and 2 of Fishman, Mugunthan and Tanzer.

================  ====================================================================================================
``"published"``   α² = 9 (ln q + ln(4/(αβ)))/(m ε), q questions: accuracy of NumericSparse with 1/α updates (Theorem 1)
``"table"``       α = (bL + √(b²L² + 4 b² L p))/m, L = ln(2q/β): Bernstein's bound for p pairs of discrete Laplace noise
================  ====================================================================================================

With probability 1 − β = .95 over the privacy noise, all q = groups × buckets residual sums of cells with m records or
more are known to α m. The labels' own scatter, about 1/√m, comes on top under both. The first is the theorem with the
constants of its proof, for comparison: the mechanism that it is about is not private as printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Scalar
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.facts.validation import format_argument
from hedgerow.multicalibration.calibrated_model import BaseOrigin, CalibratedModel, Loss, Residuals, score_bucket
from hedgerow.multicalibration.calibration_mechanism import Setting, check_parameter, mechanism_class
from hedgerow.multicalibration.count_table import CountTable, counts_of
from hedgerow.multicalibration.declared_groups import family_of
from hedgerow.multicalibration.family import Family
from hedgerow.multicalibration.metrics import alpha_of, error_of
from hedgerow.release.publication.shared import build_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.plots.curves import ReliabilityCurve


_ELSEWHERE = "compute them on records that may be looked at, by multicalibration_error"
_NUMBERS = (
    "max_error",
    "max_error_floor",
    "group_weighted_error",
    "group_weighted_error_floor",
    "log_loss",
    "log_loss_noise_sd",
    "brier",
    "brier_noise_sd",
)

Floats = NDArray[np.float64]
_MEAN_SIZE = math.sqrt(2.0 / math.pi)
"""E|Z| of a standard normal Z."""


@dataclass(frozen=True, slots=True)
class CellReading:
    """One group × bucket: mean label minus mean score, with an interval.

    Attributes
    ----------
    group : str
    low_score, high_score : float
        The bucket [low, high) of the score.
    count : float
        Records in it: noisy where the model is private.
    score, observed : float
        Mean score and mean label, each in [0, 1].
    residual, low, high : float
        observed − score and its interval, which covers the scatter of labels and the privacy noise.
    reliable : bool
        False where the count is within two standard deviations of its noise: the interval then holds all values that
        are possible.
    """

    group: str
    low_score: float
    high_score: float
    count: float
    score: float
    observed: float
    residual: float
    low: float
    high: float
    reliable: bool


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """Before and after, for each calibration of a model.

    Attributes
    ----------
    before, after : tuple of Residuals or None
        One a calibration; None where they cannot be read from the release.
    labels : tuple
        The class whose probability each calibration shifts.
    mechanism : str
    private : bool
        Whether these were read from released tables; else they were computed from the records themselves.
    base : str
        What the certificate says about the base model; empty without a certificate.
    alpha : float or None
        The target of the fit, where there was one.
    """

    before: tuple[Residuals | None, ...]
    after: tuple[Residuals | None, ...]
    labels: tuple[Scalar, ...]
    mechanism: str
    private: bool
    base: str = ""
    alpha: float | None = None

    @property
    def target(self) -> str:
        """One line: whether the target α is reached as far as the release shows; empty without a target."""
        if self.alpha is None:
            return ""
        known = [residuals for residuals in self.after if residuals is not None]
        if len(known) < len(self.after):
            return f"target α = {short(self.alpha)}: whether it is reached cannot be read from the release"
        shown = max(error_of(residuals, "alpha") for residuals in known)
        if shown <= self.alpha:
            return f"target α = {short(self.alpha)} reached: {short(shown)} shown"
        chance = max(
            float(alpha_of(residuals, _MEAN_SIZE * np.sqrt(_variance(residuals))).max(initial=0.0))
            for residuals in known
        )
        return (
            f"target α = {short(self.alpha)} not reached: {short(shown)} shown, of which chance and noise alone would "
            f"show {short(chance)}"
        )

    def __repr__(self) -> str:
        (_, rows), *_ = self._rows()
        name, before, after = rows[0]
        warning = "; THE RECORDS ARE NOT PROTECTED" if self._warning else ""
        return f"<Report of {self.mechanism!r}: {name} {short(before)} → {short(after)}, {self._source()}{warning}>"

    def __str__(self) -> str:
        lines = [f"{self.mechanism}: before → after"]
        for heading, rows in self._rows():
            lines += [heading] if heading else []
            lines += [f"{name:>28} {short(before):>8} → {short(after):>8}" for name, before, after in rows]
        return "\n".join([*lines, self.note, *([self.target] if self.target else []), *self._warning])

    @property
    def _warning(self) -> list[str]:
        """What every form of the report says where the base model was fitted on the private rows, by consent."""
        return [self.base] if self.base == BaseOrigin.UNPROTECTED.value else []

    @property
    def note(self) -> str:
        """One line: where these numbers come from and whom they describe, or why some are not known."""
        if not self.private:
            return self._source()
        if None not in self.before and None not in self.after:
            return "read from what was released, about the records of the fit: on others expect larger errors after"
        mechanism = mechanism_class(self.mechanism)
        why = mechanism.untold if mechanism is not None else ""
        return f"{why or 'not all errors can be read from the release'}; {_ELSEWHERE}"

    def _repr_html_(self) -> str:
        from hedgerow.plots.notebook import Card

        rows = []
        for heading, numbers in self._rows():
            rows += [(heading, "", "")] if heading else []
            rows += [(name, short(before), short(after)) for name, before, after in numbers]
        notes = (*([self.target] if self.target else []), *self._warning)
        alt = "Reliability curves of groups, before and after calibration."
        title = f"Calibration: {self.mechanism}"
        return Card(title, self.note, ("", "before", "after"), rows, 1, notes, self.plot, alt).html()

    def _source(self) -> str:
        return "read from what was released" if self.private else "computed from the records: not private"

    def to_frame(self, backend: str | None = None, *, when: str = "after", level: float = 0.95) -> Any:
        """Return `cells` as a data frame of `backend`, or of the first library that is installed (HG208)."""
        cells = self.cells(when=when, level=level)
        names = list(CellReading.__dataclass_fields__)
        return build_frame({name: [getattr(cell, name) for cell in cells] for name in names}, backend)

    def _rows(self) -> list[tuple[str, list[tuple[str, float | None, float | None]]]]:
        """Return a heading, empty where there is one calibration, and the numbers of each."""
        rows = []
        for model in self.to_dict()["models"]:
            before, after = model["before"] or {}, model["after"] or {}
            heading = f"class {model['label']}" if len(self.labels) > 1 else ""
            rows.append((heading, [(name, before.get(name), after.get(name)) for name in _NUMBERS]))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return errors, floors and losses of each calibration as plain JSON data; None where unknown."""
        models = [
            {"label": label, "before": _summary(before), "after": _summary(after)}
            for label, before, after in zip(self.labels, self.before, self.after, strict=True)
        ]
        head = {"mechanism": self.mechanism, "private": self.private, "note": self.note, "base": self.base}
        target = {} if self.alpha is None else {"alpha": self.alpha, "target": self.target}
        return {**head, **target, "models": models}

    def cells(self, *, when: str = "after", label: Scalar | None = None, level: float = 0.95) -> list[CellReading]:
        """Return every group × bucket with an interval for its residual.

        Parameters
        ----------
        when : {"before", "after"}
        label : optional
            The class, above two classes.
        level : float
            Of the intervals, each on its own: of 100 cells, 5 are expected outside at .95.

        Raises
        ------
        ParameterError
            HG165: these residuals are not known, or there is no such class.
        """
        return _cells(self._known(when, label), level)

    def reliability(
        self, group: str = "all", *, when: str = "after", label: Scalar | None = None, level: float = 0.95
    ) -> list[CellReading]:
        """Return the reliability curve of one group: the readings of its buckets, in rising order."""
        cells = [cell for cell in self.cells(when=when, label=label, level=level) if cell.group == group]
        if not cells:
            raise ParameterError(
                "HG165",
                rule="A group must be named exactly as in the report.",
                finding=f"Found {format_argument(group)}.",
            )
        return cells

    def plot(
        self,
        ax: Axes | None = None,
        *,
        groups: Sequence[str] | None = None,
        label: Scalar | None = None,
        level: float = 0.95,
    ) -> Axes:
        """Draw reliability curves with bands, before and after: one panel per group, or one group into `ax`.

        Without `groups` the first six are drawn; with `ax` the first.
        """
        from hedgerow.plots.curves import draw_reliability
        from hedgerow.plots.figure import shown_in_notebook

        times = [when for when in ("before", "after") if self._residuals(when, label) is not None]
        chosen = list(self._known(times[0] if times else "after", label).groups[:6] if groups is None else groups)
        curves = [
            _curve(group, when, self.reliability(group, when=when, label=label, level=level))
            for group in (chosen[:1] if ax is not None else chosen)
            for when in times
        ]
        with shown_in_notebook():
            return draw_reliability(curves, ax=ax, note="" if len(times) == 2 else self.note)

    def _residuals(self, when: str, label: Scalar | None) -> Residuals | None:
        if label is not None and label not in self.labels:
            raise ParameterError(
                "HG165",
                rule="The label must be one of the labels for which the model was fitted.",
                finding="No model was fitted for this label.",
            )
        model = 0 if label is None else self.labels.index(label)
        return {"before": self.before, "after": self.after}[when][model] if when in ("before", "after") else None

    def _known(self, when: str, label: Scalar | None) -> Residuals:
        residuals = self._residuals(when, label)
        if residuals is None:
            raise ParameterError(
                "HG165",
                rule='A report describes scores "before" or "after" the calibration, if the release contains both '
                "reports.",
                finding=f"For mechanism {self.mechanism!r} the report has no {when!r}.",
                remedy=f"{self.note[0].upper()}{self.note[1:]}." if when in ("before", "after") else "",
            )
        return residuals


def report_of(model: CalibratedModel, alpha: float | None = None) -> Report:
    """Return the report of a model, and of its target where there was one."""
    labels = model.classes[1:] if len(model.classes) == 2 else model.classes
    # The first assumption on the certificate of a fit is about its base model.
    base = model.certificate.assumptions[0] if model.certificate is not None and model.certificate.assumptions else ""
    return Report(model.before, model.after, labels, model.mechanism, model.certificate is not None, base, alpha)


def floor_of(residuals: Residuals) -> tuple[float, float]:
    """Return the means of M and W if every cell were calibrated: upper bounds where cells are nearly normal.

    R of a calibrated cell has variance Σ p(1 − p) ≤ N p̄(1 − p̄), plus that of the privacy noise. E|R| = √(2/π) sd; the
    mean of the maximum, ∫ 1 − Π P(|R_c| ≤ t) dt, takes cells as independent, which makes it no smaller (Šidák). With N
    and p̄ read from a noisy table these are estimates of such bounds.
    """
    sd = np.sqrt(_variance(residuals)).ravel()
    sd = sd[sd > 0.0]
    if not len(sd):
        return 0.0, 0.0
    mean = _MEAN_SIZE * float(sd.sum()) / max(float(residuals.count.sum()), 1.0)
    from hedgerow.special import ndtr

    t = np.linspace(0.0, 8.0 * float(sd.max()), 1025)
    below = np.exp(np.log(np.maximum(2.0 * ndtr(t[:, None] / sd) - 1.0, 1e-300)).sum(axis=1))
    return min(1.0, float(np.trapezoid(1.0 - below, t)) / max(residuals.n, 1.0)), min(1.0, mean)


def _variance(residuals: Residuals) -> Floats:
    count, score = np.maximum(residuals.count, 0.0), _scores(residuals)
    return np.asarray(count * score * (1.0 - score) + residuals.residual_sd**2, dtype=np.float64)


def _scores(residuals: Residuals) -> Floats:
    """Return the mean score of each cell, clipped to its bucket."""
    k = residuals.count.shape[1]
    low = np.arange(k) / k
    middle = low + 0.5 / k
    count = np.where(residuals.count > 0.0, residuals.count, 1.0)
    mean = np.where(residuals.count > 0.0, residuals.predicted / count, middle)
    return np.clip(mean, low, low + 1.0 / k)


def _summary(residuals: Residuals | None) -> dict[str, Any] | None:
    if residuals is None:
        return None
    most, weighted = floor_of(residuals)
    errors = error_of(residuals, "max"), most, error_of(residuals, "group-weighted"), weighted
    losses = residuals.log_loss, residuals.brier
    numbers = *errors, *(number for loss in losses for number in _loss_numbers(loss))
    return {**dict(zip(_NUMBERS, numbers, strict=True)), "n": residuals.n}


def _loss_numbers(loss: Loss | None) -> tuple[float | None, float | None]:
    return (None, None) if loss is None else (loss.value, loss.noise_sd)


def _cells(residuals: Residuals, level: float) -> list[CellReading]:
    from hedgerow.inference.interval import normal_quantile

    z = normal_quantile(level)
    k = residuals.count.shape[1]
    score = _scores(residuals)
    cells = []
    for g, group in enumerate(residuals.groups):
        for b in range(k):
            n, p = float(residuals.count[g, b]), float(score[g, b])
            known = n > max(2.0 * float(residuals.count_sd[g, b]), 0.0)
            mean = float(np.clip(residuals.residual[g, b] / n, -p, 1.0 - p)) if known else 0.0
            noise = float(residuals.residual_sd[g, b]), float(residuals.count_sd[g, b])
            half = z * math.sqrt(_spread(n, p, mean, *noise)) / n if known else math.inf
            ends = max(mean - half, -p), min(mean + half, 1.0 - p)
            cells.append(CellReading(group, b / k, (b + 1) / k, n, p, p + mean, mean, *ends, known))
    return cells


def _spread(n: float, p: float, mean: float, residual_sd: float, count_sd: float) -> float:
    """Return the variance of n·mean: labels scatter about their own rate, which differs from p where scores are wrong.

    The rate is that of the cell with two more of each label (Agresti and Coull), or p where this gives more variance.
    The noise of the count changes R/N in proportion to the mean.
    """
    rate = (n * (p + mean) + 2.0) / (n + 4.0)
    labels = n * max(p * (1.0 - p), rate * (1.0 - rate))
    return labels + residual_sd**2 + (mean * count_sd) ** 2


def _curve(group: str, when: str, cells: Sequence[CellReading]) -> ReliabilityCurve:
    from hedgerow.plots.curves import ReliabilityCurve

    shown = [cell for cell in cells if cell.reliable]
    return ReliabilityCurve(
        group,
        when,
        tuple(cell.score for cell in shown),
        tuple(cell.observed for cell in shown),
        tuple(cell.score + cell.low for cell in shown),
        tuple(cell.score + cell.high for cell in shown),
    )


def short(number: float | None) -> str:
    """Return a number with three digits, "unknown" for None."""
    return "unknown" if number is None else f"{number:.3g}"


Bound = Literal["table", "published"]
_BETA = 0.05


def hoped_alpha(
    m: float, groups: object, *, epsilon: float, relation: object = "add-remove", n_buckets: int = 10,
    bound: Bound = "table",
) -> float:  # fmt: skip
    """Return the calibration error α that is reached with probability 0.95 despite the noise, in cells of m records.

    A returned value above 1 means that no calibration error α can be reached.

    Parameters
    ----------
    m : float
        The number of records in the smallest calibrated cell (one group within one score bucket). A group that is the
        share γ of n records has about γn/k records in each of its k score buckets.
    groups : mapping, sequence or None
        The value of the `Multicalibrator` parameter of the same name.
    epsilon, relation, n_buckets
        The value of the `Multicalibrator` parameter of the same name.
    bound : {"table", "published"}
        The theoretical bound from which the result is computed: ``"table"`` or ``"published"``; see the module
        `hedgerow.multicalibration.report`.

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        HG165: m is not a positive number, or `bound` is not the name of a known bound.

    Examples
    --------
    >>> groups = {"sex": ["f", "m"], "race": ["a", "b", "c"]}
    >>> [round(hoped_alpha(1000, groups, epsilon=1.0, bound=bound), 3) for bound in ("table", "published")]
    [0.089, 0.305]
    """
    family = family_of(groups)
    check_parameter(m > 0, "A cell has some records.", m)
    if bound == "published":
        return _fixed_point(lambda alpha: math.sqrt(_published(alpha, family, n_buckets) / (m * epsilon)))
    return _reach(family, epsilon, parse_relation(relation), n_buckets, bound) / m


def least_cell(
    alpha: float, groups: object, *, epsilon: float, relation: object = "add-remove", n_buckets: int = 10,
    bound: Bound = "table",
) -> float:  # fmt: skip
    """Return the number of records per cell at which α can be reached (Theorem 2 of Fishman, Mugunthan & Tanzer).

    Parameters
    ----------
    alpha : float
        The calibration error α to reach, between 0 and 1.
    groups, epsilon, relation, n_buckets, bound
        The arguments of `hoped_alpha`.

    Returns
    -------
    float
        The number of records in one cell: one group within one score bucket.

    Raises
    ------
    ParameterError
        HG165: `alpha` is not between 0 and 1, or `bound` is not the name of a known bound.

    Examples
    --------
    >>> groups = {"sex": ["f", "m"], "race": ["a", "b", "c"]}
    >>> [round(least_cell(0.1, groups, epsilon=1.0, bound=bound)) for bound in ("table", "published")]
    [889, 10325]
    """
    family = family_of(groups)
    check_parameter(0.0 < alpha <= 1.0, "`alpha` lies in (0, 1].", alpha)
    if bound == "published":
        return _published(alpha, family, n_buckets) / (alpha**2 * epsilon)
    return _reach(family, epsilon, parse_relation(relation), n_buckets, bound) / alpha


def _questions(family: Family, n_buckets: int) -> int:
    return len(family.groups) * n_buckets


def _published(alpha: float, family: Family, n_buckets: int) -> float:
    return 9.0 * (math.log(_questions(family, n_buckets)) + math.log(4.0 / (min(alpha, 1.0) * _BETA)))


def _fixed_point(step: Callable[[float], float]) -> float:
    alpha = 1.0
    for _ in range(60):
        alpha = step(alpha)
    return alpha


def _reach(family: Family, epsilon: float, relation: Relation, n_buckets: int, bound: str) -> float:
    """Return the bound on the noise of every residual sum that the table gives."""
    check_parameter(bound == "table", '`bound` is "table" or "published".', bound)
    mechanism = CountTable()
    setting = Setting(family, relation, None, n_buckets)
    counts, _ = counts_of(mechanism.describe(setting, Budget(epsilon, 0.0)))
    in_bucket = np.bincount(score_bucket(mechanism.score_bins(family).centres, n_buckets)).max()
    pairs, b = family.atoms * int(in_bucket), counts.scale
    tail = math.log(2.0 * _questions(family, n_buckets) / _BETA)
    return b * tail + math.sqrt((b * tail) ** 2 + 4.0 * b**2 * tail * pairs)
