"""`report_`: how far from calibrated a model was before and after, as what was released tells.

For a private mechanism every number here is read from the released tables, at no further price; nothing is computed
from the records. Errors read from noisy tables are larger than the true ones by the privacy noise, and the noise floor
beside them says by how much: it is what they would be on average if every cell were calibrated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Scalar
from hedgerow.multicalibration.mechanisms.mechanism import mechanism_class
from hedgerow.multicalibration.metrics import error_of
from hedgerow.multicalibration.model.model import BaseOrigin, Loss, Model, Residuals
from hedgerow.release.result.frame import build_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.plots.reliability import ReliabilityCurve

_ELSEWHERE = "compute them on records that may be looked at, by multicalibration_error"

Floats = NDArray[np.float64]


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
        observed − score and its interval, which counts the scatter of labels and the privacy noise.
    reliable : bool
        False where the count is within two standard deviations of its noise: the interval is then all that is possible.
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
        One a calibration; None where what was released does not tell.
    labels : tuple
        The class whose probability each calibration moves.
    mechanism : str
    private : bool
        Whether these are readings of released tables (else they are computed from the records themselves).
    base : str
        What the certificate says of the base model; empty without a certificate.
    """

    before: tuple[Residuals | None, ...]
    after: tuple[Residuals | None, ...]
    labels: tuple[Scalar, ...]
    mechanism: str
    private: bool
    base: str = ""

    def __repr__(self) -> str:
        (_, rows), *_ = self._rows()
        name, before, after = rows[0]
        told = "; THE RECORDS ARE NOT PROTECTED" if self._warning else ""
        return f"<Report of {self.mechanism!r}: {name} {_short(before)} → {_short(after)}, {self._source()}{told}>"

    def __str__(self) -> str:
        lines = [f"{self.mechanism}: before → after"]
        for heading, rows in self._rows():
            lines += [heading] if heading else []
            lines += [f"{name:>28} {_short(before):>8} → {_short(after):>8}" for name, before, after in rows]
        return "\n".join([*lines, self.note, *self._warning])

    @property
    def _warning(self) -> list[str]:
        """What stands in every form of the report where the base model was fitted on the private rows, by consent."""
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
        cells = ""
        for heading, rows in self._rows():
            cells += f"<tr><th scope=rowgroup colspan=3>{escape(heading)}</th></tr>" if heading else ""
            cells += "".join(
                f"<tr><th scope=row>{escape(name)}</th><td>{_short(before)}</td><td>{_short(after)}</td></tr>"
                for name, before, after in rows
            )
        head = "<thead><tr><th></th><th scope=col>before</th><th scope=col>after</th></tr></thead>"
        warning = "".join(f"<br><strong>{escape(line)}</strong>" for line in self._warning)
        caption = f"<caption>{escape(self.mechanism)}: {escape(self.note)}{warning}</caption>"
        return f"<table>{caption}{head}<tbody>{cells}</tbody></table>"

    def _source(self) -> str:
        return "read from what was released" if self.private else "computed from the records: not private"

    def to_frame(self, backend: str | None = None, *, when: str = "after", level: float = 0.95) -> Any:
        """Return `cells` as a data frame of `backend`, or of the first library that is installed (HG208)."""
        cells = self.cells(when=when, level=level)
        names = list(CellReading.__dataclass_fields__)
        return build_frame({name: [getattr(cell, name) for cell in cells] for name in names}, backend)

    def _rows(self) -> list[tuple[str, list[tuple[str, float | None, float | None]]]]:
        """Return a heading, empty where there is one calibration, and the numbers of each."""
        names = (
            "max_error",
            "max_error_floor",
            "group_weighted_error",
            "group_weighted_error_floor",
            "log_loss",
            "log_loss_noise_sd",
            "brier",
            "brier_noise_sd",
        )
        found = []
        for said in self.to_dict()["models"]:
            before, after = said["before"] or {}, said["after"] or {}
            heading = f"class {said['label']}" if len(self.labels) > 1 else ""
            found.append((heading, [(name, before.get(name), after.get(name)) for name in names]))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return errors, floors and losses of each calibration as plain JSON data; None where unknown."""
        models = [
            {"label": label, "before": _summary(before), "after": _summary(after)}
            for label, before, after in zip(self.labels, self.before, self.after, strict=True)
        ]
        told = {"mechanism": self.mechanism, "private": self.private, "note": self.note, "base": self.base}
        return {**told, "models": models}

    def cells(self, *, when: str = "after", label: Scalar | None = None, level: float = 0.95) -> list[CellReading]:
        """Return every group × bucket with an interval for its residual.

        Parameters
        ----------
        when : {"before", "after"}
        label : optional
            Which class's calibration, above two classes.
        level : float
            Of the intervals, each on its own: of 100 cells, 5 are expected outside at .95.

        Raises
        ------
        ParameterError
            HG165: nothing of that kind is known.
        """
        return _cells(self._one(when, label), level)

    def reliability(
        self, group: str = "all", *, when: str = "after", label: Scalar | None = None, level: float = 0.95
    ) -> list[CellReading]:
        """Return the reliability curve of one group: the readings of its buckets, in rising order."""
        found = [cell for cell in self.cells(when=when, label=label, level=level) if cell.group == group]
        if not found:
            raise ParameterError("HG165", rule="A group is named as in the report.", finding=f"Found {group!r}.")
        return found

    def plot(
        self,
        ax: Axes | None = None,
        *,
        groups: Sequence[str] | None = None,
        label: Scalar | None = None,
        level: float = 0.95,
    ) -> Axes:
        """Draw reliability curves with bands, before and after: a panel a group, or one group into `ax`.

        Without `groups` the first six are drawn; with `ax` the first.
        """
        from hedgerow.plots.figure import shown_in_notebook
        from hedgerow.plots.reliability import draw_reliability

        known = self._one("after" if self.before[self._place(label)] is None else "before", label).groups
        chosen = list(known[:6] if groups is None else groups)
        curves = [
            _curve(group, when, self.reliability(group, when=when, label=label, level=level))
            for group in (chosen[:1] if ax is not None else chosen)
            for when in ("before", "after")
            if (self.before if when == "before" else self.after)[self._place(label)] is not None
        ]
        told = None not in (self.before[self._place(label)], self.after[self._place(label)])
        with shown_in_notebook():
            return draw_reliability(curves, ax=ax, note="" if told else self.note)

    def _place(self, label: Scalar | None) -> int:
        if label is None:
            return 0
        if label not in self.labels:
            raise ParameterError(
                "HG165", rule="A label is one that a model was fitted for.", finding="No model has this label."
            )
        return self.labels.index(label)

    def _one(self, when: str, label: Scalar | None) -> Residuals:
        found = {"before": self.before, "after": self.after}.get(when, (None,) * len(self.labels))[self._place(label)]
        if found is None:
            raise ParameterError(
                "HG165",
                rule='A report is read "before" or "after", where what was released tells.',
                finding=f"Of {when!r} nothing is known under {self.mechanism!r}.",
                remedy=f"{self.note[0].upper()}{self.note[1:]}." if when in ("before", "after") else "",
            )
        return found


def report_of(model: Model) -> Report:
    """Return the report of a model."""
    labels = model.classes[1:] if len(model.classes) == 2 else model.classes
    # The first assumption on the certificate of a fit is the one about its base model.
    base = model.certificate.assumptions[0] if model.certificate is not None and model.certificate.assumptions else ""
    return Report(model.before, model.after, labels, model.mechanism, model.certificate is not None, base)


def floor_of(residuals: Residuals) -> tuple[float, float]:
    """Return what M and W would be on average were every cell calibrated: upper bounds where cells are near normal.

    R of a calibrated cell has variance Σ p(1 − p) ≤ N p̄(1 − p̄), plus that of the privacy noise. E|R| = √(2/π) sd; the
    mean of the maximum, ∫ 1 − Π P(|R_c| ≤ t) dt, takes cells as independent, which makes it no smaller (Šidák). With N
    and p̄ read from a noisy table these are estimates of such bounds.
    """
    sd = np.sqrt(_variance(residuals)).ravel()
    sd = sd[sd > 0.0]
    if not len(sd):
        return 0.0, 0.0
    mean = math.sqrt(2.0 / math.pi) * float(sd.sum()) / max(float(residuals.count.sum()), 1.0)
    from scipy.special import ndtr

    t = np.linspace(0.0, 8.0 * float(sd.max()), 1025)
    below = np.exp(np.log(np.maximum(2.0 * ndtr(t[:, None] / sd) - 1.0, 1e-300)).sum(axis=1))
    return min(1.0, float(np.trapezoid(1.0 - below, t)) / max(residuals.n, 1.0)), min(1.0, mean)


def _variance(residuals: Residuals) -> Floats:
    count, score = np.maximum(residuals.count, 0.0), _scores(residuals)
    return np.asarray(count * score * (1.0 - score) + residuals.residual_sd**2, dtype=np.float64)


def _scores(residuals: Residuals) -> Floats:
    """Return mean scores, kept inside their bucket, where noise cannot take them out."""
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
    return {
        "max_error": error_of(residuals, "max"),
        "max_error_floor": most,
        "group_weighted_error": error_of(residuals, "group-weighted"),
        "group_weighted_error_floor": weighted,
        "log_loss": _value(residuals.log_loss),
        "log_loss_noise_sd": _noise_sd(residuals.log_loss),
        "brier": _value(residuals.brier),
        "brier_noise_sd": _noise_sd(residuals.brier),
        "n": residuals.n,
    }


def _value(loss: Loss | None) -> float | None:
    return None if loss is None else loss.value


def _noise_sd(loss: Loss | None) -> float | None:
    return None if loss is None else loss.noise_sd


def _cells(residuals: Residuals, level: float) -> list[CellReading]:
    from hedgerow.inference.estimate import normal_quantile

    z = normal_quantile(level)
    k = residuals.count.shape[1]
    score = _scores(residuals)
    found = []
    for g, group in enumerate(residuals.groups):
        for b in range(k):
            n, p = float(residuals.count[g, b]), float(score[g, b])
            known = n > max(2.0 * float(residuals.count_sd[g, b]), 0.0)
            mean = float(np.clip(residuals.residual[g, b] / n, -p, 1.0 - p)) if known else 0.0
            noise = float(residuals.residual_sd[g, b]), float(residuals.count_sd[g, b])
            half = z * math.sqrt(_spread(n, p, mean, *noise)) / n if known else math.inf
            ends = max(mean - half, -p), min(mean + half, 1.0 - p)
            found.append(CellReading(group, b / k, (b + 1) / k, n, p, p + mean, mean, *ends, known))
    return found


def _spread(n: float, p: float, mean: float, residual_sd: float, count_sd: float) -> float:
    """Return the variance of n·mean: labels scatter about their own rate, which p is not where scores are wrong.

    The rate is that of the cell with two of each label more (Agresti and Coull), or p where that scatters more; the
    noise of the count moves R/N by as much as the mean is from 0.
    """
    rate = (n * (p + mean) + 2.0) / (n + 4.0)
    labels = n * max(p * (1.0 - p), rate * (1.0 - rate))
    return labels + residual_sd**2 + (mean * count_sd) ** 2


def _curve(group: str, when: str, cells: Sequence[CellReading]) -> ReliabilityCurve:
    from hedgerow.plots.reliability import ReliabilityCurve

    told = [cell for cell in cells if cell.reliable]
    return ReliabilityCurve(
        group,
        when,
        tuple(cell.score for cell in told),
        tuple(cell.observed for cell in told),
        tuple(cell.score + cell.low for cell in told),
        tuple(cell.score + cell.high for cell in told),
    )


def _short(number: float | None) -> str:
    return "unknown" if number is None else f"{number:.3g}"
