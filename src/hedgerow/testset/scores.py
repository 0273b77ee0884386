"""One look's result: a value with its errors, and whether it differs from the best so far. Post-processing.

Whether two scores of one test set differ by more than their errors explain, over all pairs of all looks at once.

The difference of two noisy scores has noise of variance p₁² + p₂² (drawn independently) and a sampling error of sd at
most s₁ + s₂, whatever the two models have in common. The errors of a model on single records are not released, so no
better bound on their correlation is known. Two scores are distinguishable if they differ by more than

    z·√((s₁ + s₂)² + p₁² + p₂²),   z = Φ⁻¹(1 − α/(n_looks·(n_looks − 1))),   α = 0.05.

Laplace noise has heavier tails. There the bound is the same quantile of the sum of a normal variable of sd s₁ + s₂ and
the difference of two Laplace variables.

With this bound, all statements about any two of the n_looks scores hold together with probability 1 − α (Bonferroni),
also when the best score is selected. It does not account for a model that was fitted to the answers: its expected score
on new records may be lower than on this test set. Privacy keeps that gap small.

A score as the summary of a check: markdown for a page of continuous integration. Post-processing, at no price.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from hedgerow.errors import VerificationError
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import Interval, quantiles_of
from hedgerow.inference.region import RecordedRegion
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.laws import averaged_law
from hedgerow.noise.lattice import NoiseSource
from hedgerow.release.record import READING
from hedgerow.release.spend import Receivable
from hedgerow.testset.mechanisms.look_mechanism import Conditions, DrawnLook

LEVEL = 0.95
_DETERMINES = ("test_set", "released", "best")


class _Estimated:
    """A score or a part of it, as its estimate tells."""

    __slots__ = ()
    estimate: Estimate

    @property
    def value(self) -> float:
        """The score, in the metric's unit."""
        return self.estimate.estimate

    @property
    def standard_error(self) -> float | None:
        """The root of the sum of the squares of its parts; None if only an interval is known."""
        return self.estimate.standard_error

    def confidence_interval(self, level: float = LEVEL) -> Interval:
        """Return a confidence interval for the expected score on new records from the same distribution.

        From the second look on, the interval is also valid for a model that was fitted to all earlier scores. The
        interval is computed from a proven bound for fitted models. From the second look on, the interval is wider than
        `fixed_model`, which is valid only for a model that was made before any score was known. If one look answered
        several scores, each interval holds at its level by itself, not all intervals together.

        Raises
        ------
        ParameterError
            HG110: the confidence level is invalid. HG108: the score was read from its record, which has an interval at
            level 0.95 only.
        """
        return self.estimate.confidence_interval(level)


@dataclass(frozen=True, slots=True)
class Part(_Estimated):
    """One metric of one group, or of all records, of a look by parts.

    Attributes
    ----------
    metric : str
    group : str or None
        None: all records.
    records : int or None
        How many records it is about; None where that is private.
    estimate : Estimate
    fixed_model : Interval or None
        As of a `Score`.
    """

    metric: str
    group: str | None
    records: int | None
    estimate: Estimate
    fixed_model: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        about = {"metric": self.metric, "group": self.group, "records": self.records}
        return {**about, **_fields(self.estimate, self.fixed_model)}

    def __str__(self) -> str:
        interval = self.confidence_interval().outward()
        group = "" if self.group is None else f" of {self.group}"
        unsure = "" if self.estimate.reliable else ", not reliable"
        return f"{self.metric}{group} {self.value:.4g}, 95 % interval {interval.low:.4g} to {interval.high:.4g}{unsure}"


@dataclass(frozen=True, slots=True)
class BestBefore:
    """The best score of the looks before, as a later look keeps it on its own record.

    Attributes
    ----------
    value, sampling_error, privacy_error
        As of a `Score`.
    look : int
        Which look it was.
    drawn : DrawnLook or None
        What it was read from; None where that is on no record, or where it was a look by parts.
    """

    value: float
    sampling_error: float | None
    privacy_error: float | None
    look: int
    drawn: DrawnLook | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data, without the value and the look, which a score names itself."""
        errors = {"sampling_error": self.sampling_error, "privacy_error": self.privacy_error}
        return errors | ({} if self.drawn is None else {"released": drawn_record(self.drawn)})


@dataclass(frozen=True, slots=True, repr=False)
class Score(_Estimated, Receivable):
    """The score that one look (query) at a test set returned.

    Attributes
    ----------
    estimate : Estimate
        The score, with the parts of its error.
    metric : str
    greater_is_better : bool
    look : int
        The number of this look (query), counted from 1.
    n_looks : int
        The number of all allowed looks (queries).
    best : float or None
        The best score among the earlier looks; None at the first look at the test set.
    best_look : int or None
        The number of the look with the best score; None at the first look at the test set.
    distinguishable : bool or None
        Whether this score differs from the best earlier score by more than the errors of both scores explain; see
        `hedgerow.testset.scores`. The attribute `distinguishable` is None at the first look, and if one of the two
        scores has no standard error.
    fixed_model : Interval or None
        From the second look on, a narrower 95 % interval, which is valid only for a model that was made before any
        score was known.
    parts : tuple of Part
        If one look answered several scores: every metric, for all records and then for each group. The first entry of
        `parts` is the score itself.
    paid : bool
        True if the test set was used for the answer, which costs a part of the price. The attribute `paid` is False if
        the mechanism `thresholdout` returned the training score.
    request_id : str
    certificate : Certificate or None
        The certificate of this look alone, with its price. The certificate is None for a simulated look.
    ledger_head : str or None
        The head of the ledger (the hash of its newest entry) after this look.
    replayed : bool
        True if the score was read from the ledger, at no price.
    unrecorded : bool
        True if the ledger counts the look but does not hold the score, because the score could not be written (HG606).
    notes : tuple of str
        Sentences about the privacy price, for readers of the score.
    determined_by : mapping or None
        The data that determine all other fields, as plain JSON data: the settings of the test set, the drawn numbers,
        and the best earlier score. The attribute `determined_by` is None for a record that an earlier version of
        hedgerow wrote.
    """

    estimate: Estimate
    metric: str
    greater_is_better: bool
    look: int
    n_looks: int
    best: float | None
    best_look: int | None
    distinguishable: bool | None
    paid: bool
    request_id: str
    certificate: Certificate | None
    fixed_model: Interval | None = None
    parts: tuple[Part, ...] = ()
    ledger_head: str | None = field(default=None, compare=False)
    replayed: bool = field(default=False, compare=False)
    unrecorded: bool = field(default=False, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    determined_by: Mapping[str, Any] | None = field(default=None, compare=False)

    @property
    def sampling_error(self) -> float | None:
        """The part of the standard error that comes from the sampling of the test set."""
        return self.estimate.sampling_error

    @property
    def privacy_error(self) -> float | None:
        """The part of the standard error that comes from noise, including resampling."""
        return _noise(self.estimate)

    @property
    def half_width(self) -> float:
        """The distance from the value to the farther end of the 95 % interval.

        Near the smallest or largest possible score the interval is not symmetric; value ± half-width covers it.
        """
        interval = self.confidence_interval()
        return max(interval.high - self.value, self.value - interval.low)

    @property
    def remaining(self) -> int:
        """The number of looks that were left after this look."""
        return self.n_looks - self.look

    @property
    def simulated(self) -> bool:
        """Whether the noise was seeded. Such a score is not private and has no certificate."""
        return self.certificate is None

    def __getitem__(self, asked: str | tuple[str, object]) -> Part:
        """Return one metric of a look by parts: ``score["recall"]``, ``score["recall", "north"]`` of a group."""
        metric, group = (asked, None) if isinstance(asked, str) else (asked[0], str(asked[1]))
        parts = [part for part in self.parts if (part.metric, part.group) == (metric, group)]
        if not parts:
            raise KeyError(asked)
        return parts[0]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data: the score, the numbers that determine it, and the certificate."""
        return {
            **({} if self.determined_by is None else {"reading": READING}),
            "score": {
                "metric": self.metric,
                "greater_is_better": self.greater_is_better,
                **_fields(self.estimate, self.fixed_model),
                "mechanism": self.estimate.method,
                **({"parts": [part.to_dict() for part in self.parts]} if self.parts else {}),
                "look": self.look,
                "n_looks": self.n_looks,
                "remaining": self.remaining,
                "best": self.best,
                "best_look": self.best_look,
                "distinguishable": self.distinguishable,
                "paid": self.paid,
                "request_id": self.request_id,
                "simulated": self.simulated,
            },
            **(self.determined_by or {}),
            "certificate": self.certificate.to_dict() if self.certificate else None,
        }

    def to_json(self) -> str:
        """Return the JSON text of the score, which a ledger stores."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def __repr__(self) -> str:
        return f"<Score {self}>"

    def __str__(self) -> str:
        error = self.standard_error
        known = "" if error is None else f" (s.e. {error:.3g}, of which privacy {self.privacy_error:.3g})"
        simulated = ", SIMULATED" if self.simulated else ""
        again = ", replayed" if self.replayed else ""
        value = f"{self.metric} {self.value:.4g} ± {self.half_width:.3g}{known}"
        return "\n".join([f"{value}, look {self.look} of {self.n_looks}{simulated}{again}", *self.notes])

    def _repr_html_(self) -> str:
        from hedgerow.plots.notebook import Card

        return Card(caption=str(self)).html()


def score_from_record(text: str) -> Score:
    """Return the score that wrote this JSON; its interval is the one at 95 % that was recorded.

    Raises
    ------
    VerificationError
        HG502: it is no record of a score.
    """
    try:
        record = json.loads(text)
        fields = record["score"]
        certificate = None if record["certificate"] is None else Certificate.from_dict(record["certificate"])
        return Score(
            _estimate(fields, fields["mechanism"]),
            fields["metric"],
            fields["greater_is_better"],
            fields["look"],
            fields["n_looks"],
            fields["best"],
            fields["best_look"],
            fields["distinguishable"],
            fields["paid"],
            fields["request_id"],
            certificate,
            _interval(fields.get("fixed_model")),
            tuple(_part(part, fields["mechanism"]) for part in fields.get("parts", ())),
            determined_by={name: record[name] for name in _DETERMINES if name in record} or None,
        )
    except (KeyError, TypeError, ValueError):
        raise VerificationError(
            "HG502",
            rule="A score is read from the JSON record of that score.",
            finding="The given text is not the record of a score.",
            remedy="Use the result that the ledger stores.",
        ) from None


def drawn_record(drawn: DrawnLook) -> dict[str, Any]:
    """Return the numbers of a plain look as plain JSON data.

    >>> drawn_record(DrawnLook((812.0,)))
    {'kind': 'score', 'numbers': [812.0]}
    """
    return {"kind": "score" if drawn.paid else "training score", "numbers": list(drawn.numbers)}


def drawn_of(released: Mapping[str, Any] | None) -> DrawnLook | None:
    """Return the numbers of a plain look from its record; None of any other."""
    kind = None if released is None else released["kind"]
    if released is None or kind not in ("score", "training score"):
        return None
    return DrawnLook(tuple(map(float, released["numbers"])), paid=kind == "score")


def _interval(fields: dict[str, Any] | None) -> Interval | None:
    return None if fields is None else Interval(**fields)


def _noise(estimate: Estimate) -> float | None:
    parts = estimate.bootstrap_error, estimate.privacy_error
    return None if parts[0] is None or parts[1] is None else math.hypot(parts[0], parts[1])


def _fields(estimate: Estimate, fixed: Interval | None) -> dict[str, Any]:
    interval = estimate.confidence_interval()
    return {
        "value": estimate.estimate,
        "standard_error": estimate.standard_error,
        "sampling_error": estimate.sampling_error,
        "privacy_error": _noise(estimate),
        "resampling_error": estimate.bootstrap_error,
        "noise_error": estimate.privacy_error,
        "half_width": max(interval.high - estimate.estimate, estimate.estimate - interval.low),
        "confidence_interval": interval.to_dict(),
        **({} if fixed is None else {"fixed_model": fixed.to_dict()}),
        "reliable": estimate.reliable,
        "note": estimate.note,
    }


def _part(fields: dict[str, Any], mechanism: str) -> Part:
    fixed = _interval(fields.get("fixed_model"))
    return Part(fields["metric"], fields["group"], fields["records"], _estimate(fields, mechanism), fixed)


def _estimate(fields: dict[str, Any], mechanism: str) -> Estimate:
    interval = fields["confidence_interval"]
    ends = (float(interval["low"]), float(interval["high"]))
    return Estimate(
        statistic="score",
        column=None,
        cell={},
        estimate=fields["value"],
        sampling_error=fields["sampling_error"],
        bootstrap_error=fields["resampling_error"],
        privacy_error=fields["noise_error"],
        method=mechanism,
        n_resamples=None,
        reliable=fields["reliable"],
        note=fields["note"],
        covers=interval["covers"],
        _region=RecordedRegion(*ends, float(interval["level"]), interval["method"]),
    )


_POWER = 0.8
_LAPLACE = ("laplace", "split", "thresholdout")  # mechanisms with Laplace noise


def critical_value(n_looks: int, level: float = LEVEL) -> float:
    """Return z: normal, two-sided, over all pairs of `n_looks` scores.

    >>> round(critical_value(2), 2), round(critical_value(200), 2)
    (1.96, 4.71)
    """
    pairs = max(1, n_looks * (n_looks - 1) // 2)
    return -NormalDist().inv_cdf((1.0 - level) / (2.0 * pairs))


def critical_difference(
    n_looks: int, mechanism: str, sampling: float, noise: tuple[float, float], level: float = LEVEL
) -> float:
    """Return the difference that two equal scores exceed with probability (1 − level)/pairs at most.

    Parameters
    ----------
    n_looks : int
        How many scores there may be; all pairs of them are compared.
    mechanism : str
        Which mechanism draws the noise.
    sampling : float
        The sd of the sampling error of the difference.
    noise : (float, float)
        The sd of each score's noise.

    Examples
    --------
    >>> round(critical_difference(200, "gaussian", 0.0, (1.0, 1.0)) / 2**0.5, 2)
    4.71
    >>> round(critical_difference(200, "laplace", 0.0, (1.0, 1.0)) / 2**0.5, 2)
    7.52
    """
    if mechanism not in _LAPLACE:
        return critical_value(n_looks, level) * math.hypot(sampling, *noise)
    # The larger of two scales is taken for both: more noise never makes a tail lighter.
    spread = np.array([math.sqrt(2.0) * max(noise)])
    each = 1.0 - (1.0 - level) / max(1, n_looks * (n_looks - 1) // 2)
    return float(quantiles_of(averaged_law(2), each, np.array([sampling]), spread)[0])


def distinguishable(score: Score, other: BestBefore | Score) -> bool | None:
    """Return whether two scores differ by more than both errors explain; None if an error is not known."""
    errors = [score.sampling_error, other.sampling_error, score.privacy_error, other.privacy_error]
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return None
    explained = critical_difference(score.n_looks, score.estimate.method, known[0] + known[1], (known[2], known[3]))
    return abs(score.value - other.value) > explained


def best_of(scores: tuple[Score, ...]) -> BestBefore | None:
    """Return the score with the best noisy value; None if there are no scores."""
    best = max(scores, key=lambda score: score.value if score.greater_is_better else -score.value, default=None)
    if best is None:
        return None
    drawn = None if best.determined_by is None else drawn_of(best.determined_by["released"])
    return BestBefore(best.value, best.sampling_error, best.privacy_error, best.look, drawn)


def minimum_detectable_difference(
    conditions: Conditions, privacy_error: float, mechanism: str = "gaussian"
) -> float | None:
    """Return the difference of two expected scores that is found distinguishable with probability .8 or more.

    Both scores are taken in the middle of their range, where sampling errs most. None under add-remove, where n is
    private.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> round(minimum_detectable_difference(facts, 0.006), 3)
    0.073
    """
    if conditions.n is None:
        return None
    sampling = 2.0 * conditions.half_range / math.sqrt(conditions.n)
    explained = critical_difference(conditions.n_looks, mechanism, sampling, (privacy_error, privacy_error))
    # A Laplace variable stays within .84 of its sd more often than a normal one, so the power is at least the same.
    return explained + NormalDist().inv_cdf(_POWER) * math.hypot(sampling, math.sqrt(2.0) * privacy_error)


def describe_difference(least: float, conditions: Conditions) -> str:
    """Return the sentence about the minimum detectable difference that is shown before the first look.

    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 100, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> describe_difference(0.07, facts), describe_difference(1.4, facts)
    ('differences from 0.07 on are detected', 'NO difference is detected: take fewer looks, more records or a larger ε')
    """
    if least >= 2.0 * conditions.half_range:
        return "NO difference is detected: take fewer looks, more records or a larger ε"
    return f"differences from {least:.3g} on are detected"


CONCLUSIONS = {"met": "success", "missed": "failure", "undecided": "neutral", None: "neutral"}
_WHY = {
    "met": "The whole 95 % interval lies on the wanted side.",
    "missed": "The whole 95 % interval lies on the other side.",
    "undecided": "The threshold lies inside the 95 % interval: this test set cannot tell on which side the model is.",
    None: "No threshold was given.",
}


def summary(score: Score, name: str, *, threshold: str = "none", verdict: str | None = None) -> str:
    """Return a table of name, score, interval and looks left, under its conclusion: success, failure or neutral.

    Parameters
    ----------
    name : str
        Of the model, shown as code.
    threshold : str
        As it is shown, for example "at least 0.8".
    verdict : {"met", "missed", "undecided"} or None
    """
    interval = score.confidence_interval().outward()
    # In a span of code nothing is markdown, HTML or a mention; only its end and that of a cell are.
    shown = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    plain = "`" + (shown.replace("`", "'").replace("|", "\\|") or "-") + "`"
    cells = {
        "Model": plain,
        score.metric.capitalize(): f"{score.value:.4g}",
        "95 % interval": f"{interval.low:.4g} to {interval.high:.4g}",
        "Threshold": threshold,
        "Looks left": f"{score.remaining:,} of {score.n_looks:,}",
    }
    again = " Answered from its record: no look was taken." if score.replayed else ""
    return "\n".join(
        [
            f"### Test set: {CONCLUSIONS[verdict]}",
            "",
            f"{_WHY[verdict]}{again}",
            "",
            "| " + " | ".join(cells) + " |",
            "|" + " --- |" * len(cells),
            "| " + " | ".join(cells.values()) + " |",
            "",
            "",
        ]
    )


@dataclass(frozen=True, slots=True)
class LookProduct:
    """A look as what spends; the noise is the test set's own."""

    price: Certificate
    request: Mapping[str, Any]
    labels: AbstractContextManager[Any]
    scored: Callable[[Any], Score]

    def reading(self) -> AbstractContextManager[Any]:
        """Open the labels for one look."""
        return self.labels

    def draw(self, source: Any, noise: NoiseSource) -> Score:
        """Score the predictions with noise."""
        return self.scored(source)

    def read(self, noisy: Score) -> Score:
        """Return the score, which needs no further reading."""
        return noisy

    def write(self, result: Score) -> str:
        """Return the record of the score."""
        return result.to_json()

    def from_record(self, text: str) -> Score:
        """Return the score of a record."""
        return score_from_record(text)
