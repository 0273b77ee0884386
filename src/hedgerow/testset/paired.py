r"""The difference of two models' scores on the same records, from one look.

A record adds d = −1, 0 or 1: whether the first model is right, minus whether the second is. Replacing one record moves
Σ d by at most 2. That is what it moves Σ u by, u = ±1 for a loss of 0 or 1, so the noise of one look serves and the
price is that of one look. Records for which both predictions are equal add 0 whatever their label is, and how many
differ, m, is known from what was sent. Hence E d² ≤ P(the predictions differ), and the sampling error is √(m/n)/√n.

The difference is distinguishable from 0 if it exceeds z·√(m/n² + p²), z = Φ⁻¹(1 − α/(2·n_looks)), p the noise: all
comparisons of the declared looks hold at once, of models that were made before any answer was known. The interval from
the second look on holds for fitted models, by the empirical Bernstein bound at the level of `adaptive.bounds`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from statistics import NormalDist

import numpy as np

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import normal_quantile
from hedgerow.inference.region import LevelTest, ScoreRegion
from hedgerow.resampling.histogram import Histogram
from hedgerow.testset.adaptive.bounds import SHARES, tail_exponent
from hedgerow.testset.adaptive.interval import METHOD, for_fitted_model
from hedgerow.testset.distinct import distinguishable
from hedgerow.testset.entries import Entries
from hedgerow.testset.mechanisms.mechanism import Drawn, LookMechanism
from hedgerow.testset.metric import Metric
from hedgerow.testset.predictions import is_model
from hedgerow.testset.score import LEVEL, Best, Score, drawn_record
from hedgerow.testset.settings import Settings

_POWER = 0.8
_COVERS = "the difference of two expected scores, first minus second"


def plain_score(settings: Settings, drawn: Drawn, earlier: int, best: Best | None) -> Score:
    """Return the score that the numbers of a plain look give, after so many earlier looks. It reads no record."""
    answer, fixed = settings.mechanism.read(drawn), None
    estimate = answer.estimate
    if settings.mechanism.information(earlier) > 0.0:
        fixed = estimate.confidence_interval()
        estimate = for_fitted_model(answer, settings.mechanism, earlier)
    known = {} if best is None else {"best": best.to_dict()}
    score = Score(
        estimate=estimate,
        metric=settings.metric.name,
        greater_is_better=settings.metric.greater_is_better,
        look=earlier + 1,
        n_looks=settings.conditions.n_looks,
        best=None if best is None else best.value,
        best_look=None if best is None else best.look,
        distinguishable=None,
        paid=answer.paid,
        request_id="",
        certificate=None,
        fixed_model=fixed,
        determined_by={"test_set": settings.on_record(paid=drawn.paid), "released": drawn_record(drawn), **known},
    )
    return score if best is None else replace(score, distinguishable=distinguishable(score, best))


def require_paired(settings: Settings) -> int:
    """Return the number of records of a test set that compares pairs (HG431 for others)."""
    n = settings.conditions.n
    if n is not None and settings.conditions.binary and settings.mechanism.mu is not None:
        return n
    raise UncertifiedError(
        "HG431",
        rule="Two models are compared by losses of 0 and 1, n public, with Gaussian noise.",
        finding="This test set has another metric, mechanism or relation.",
        remedy="One is made in Python, with metric='accuracy' and mechanism='gaussian'. No look was taken.",
    )


def refuse_models(*given: object) -> None:
    """Refuse models where predictions are needed: what they predict depends on features (HG170)."""
    if any(is_model(one) for one in given):
        raise ParameterError(
            "HG170",
            rule="Comparisons and looks by parts take predictions: how many records these differ for is told.",
            finding="A model was given.",
            remedy="Give predictions, where the features are yours to see. No look was taken.",
        )


def count_differing(first: Entries, second: Entries) -> int:
    """Return for how many records two predictions are not known to be equal.

    >>> from hedgerow.testset.entries import entries_of
    >>> count_differing(entries_of([1, 0, None]), entries_of([1, 1, None]))
    2
    """
    return len(first) - int(first.equal(second).sum())


def differences_of(metric: Metric, labels: Entries, first: Entries, second: Entries) -> Histogram:
    """Return how many records only the first (index 1) and only the second (index 0) scores on; others add nothing."""
    difference = metric.places(labels, first) - metric.places(labels, second)
    counts = np.array([np.count_nonzero(difference == sign) for sign in (-1, 1)], dtype=np.int64)
    index = np.flatnonzero(counts)
    return Histogram.from_triplets(np.zeros_like(index), index, counts[index], cells=1)


def difference_score(settings: Settings, drawn: Drawn, differing: int, earlier: int) -> Score:
    """Return the difference that the numbers drawn of `differences_of` give, after so many earlier looks."""
    mechanism, n = settings.mechanism, require_paired(settings)
    answer = mechanism.read(drawn)
    # The answer is read as a score, (1 + Σ d/n)/2.
    value = min(max(2.0 * answer.estimate.estimate - 1.0, -differing / n), differing / n)
    noise = 2.0 * (mechanism.expected_error() or 0.0)
    sampling = math.sqrt(differing / n / n)
    plain = LevelTest(partial(_difference_ends, value, math.hypot(sampling, noise)), mechanism.name, -1.0, 1.0)
    bound = LevelTest(partial(_fitted_ends, value, mechanism, differing, earlier), METHOD, -1.0, 1.0)
    fixed = Estimate(
        statistic="score",
        column=None,
        cell={},
        estimate=value,
        sampling_error=sampling,
        bootstrap_error=0.0,
        privacy_error=noise,
        method=mechanism.name,
        n_resamples=None,
        reliable=True,
        note=None,
        covers=_COVERS,
        region=ScoreRegion(plain),
    )
    fitted = earlier > 0
    estimate = replace(fixed, region=ScoreRegion(bound)) if fitted else fixed
    return Score(
        estimate=estimate,
        metric=f"difference of {settings.metric.name}",
        greater_is_better=settings.metric.greater_is_better,
        look=earlier + 1,
        n_looks=settings.conditions.n_looks,
        best=None,
        best_look=None,
        distinguishable=abs(value) > _critical(settings.conditions.n_looks) * math.hypot(sampling, noise),
        paid=answer.paid,
        request_id="",
        certificate=None,
        fixed_model=fixed.confidence_interval() if fitted else None,
        determined_by={
            "test_set": settings.on_record(),
            "released": {"kind": "comparison", "numbers": list(drawn.numbers), "differing": differing},
        },
    )


def minimum_detectable_paired_difference(settings: Settings, agree: float) -> float:
    """Return the difference found distinguishable with probability .8, of models that agree on a share of the records.

    >>> from hedgerow.testset import TestSet
    >>> ts = TestSet(None, [0, 1] * 5000, relation="replace-one", epsilon=1.0, n_looks=50)
    >>> round(minimum_detectable_paired_difference(ts.settings, 0.9) / ts.minimum_detectable_difference, 2)
    0.52
    """
    n = require_paired(settings)
    error = math.hypot(math.sqrt((1.0 - agree) / n), 2.0 * (settings.mechanism.expected_error() or 0.0))
    return (_critical(settings.conditions.n_looks) + NormalDist().inv_cdf(_POWER)) * error


def _critical(n_looks: int) -> float:
    return -NormalDist().inv_cdf((1.0 - LEVEL) / (2.0 * n_looks))


def _difference_ends(value: float, error: float, level: float) -> tuple[float, float]:
    """Return the ends of a normal interval: sampling and noise."""
    return _around(value, normal_quantile(level) * error)


def _fitted_ends(
    value: float, mechanism: LookMechanism, differing: int, earlier: int, level: float
) -> tuple[float, float]:
    """Return the empirical Bernstein bound (Maurer & Pontil 2009, theorem 4) at the level for fitted models, and noise.

    For n numbers in [0, 1] with sample variance V, each side errs by √(2V·ln(2/δ)/n) + 7·ln(2/δ)/(3(n − 1)) but for
    probability δ. Here numbers lie in [−1, 1], the sample variance is at most m/(n − 1), and two sides have half each.
    """
    n = float(mechanism.conditions.n or 1)
    information, beta = mechanism.information(earlier), 1.0 - level
    variance = differing / (n - 1.0)

    def half(share: float) -> float:
        log = tail_exponent(information, share * beta) + math.log(4.0)
        sampling = math.sqrt(2.0 * variance * log / n) + 14.0 * log / (3.0 * (n - 1.0))
        return sampling + 2.0 * mechanism.spread((1.0 - share) * beta)

    return _around(value, min(half(share) for share in SHARES))


def _around(value: float, half: float) -> tuple[float, float]:
    return max(-1.0, value - half), min(1.0, value + half)
