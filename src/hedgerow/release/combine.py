"""Several releases of the same statistics put together: pooled estimates, one certificate for all of them.

The noise of the releases is independent, the records are the same: weights are inverse to each release's own variance
(bootstrap and privacy), and the sampling error is common to all of them, so pooling does not reduce it. Brawner &
Honaker (2018), eq. 6; their eq. 7 prints 2Δ for the variance of a Laplace variable, which is 2Δ², and is corrected here
by taking each release's own variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score_test import Quadratic, QuadraticTest
from hedgerow.keywords import takes
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.mechanism import Composition, parts_of
from hedgerow.release.record import moved
from hedgerow.release.released_estimate import ReleasedEstimate
from hedgerow.release.result import Release


def pooled(estimates: Sequence[Estimate]) -> Estimate:
    """Return the pooled estimate Σ w_i m_i, w_i ∝ 1/σ_i², with variance sampling² + Σ w_i² σ_i².

    Estimates that are not reliable are left out; where none is, or one is exact, it is returned as it is.
    """
    usable = [e for e in estimates if e.privacy_error is not None and e.bootstrap_error is not None]
    exact = [e for e in usable if e.standard_error == 0.0]
    if exact or len(usable) < 2:
        return (exact or usable or list(estimates))[0]
    noise = [_noise(e) for e in usable]
    weights = [1.0 / variance for variance in noise]
    shares = [weight / sum(weights) for weight in weights]
    value = sum(share * e.estimate for share, e in zip(shares, usable, strict=True))
    sampling = sum(share * (e.sampling_error or 0.0) for share, e in zip(shares, usable, strict=True))
    privacy, bootstrap = (
        math.sqrt(sum((share * (part or 0.0)) ** 2 for share, part in zip(shares, parts, strict=True)))
        for parts in ([e.privacy_error for e in usable], [e.bootstrap_error for e in usable])
    )
    first = usable[0]
    low, high = first._region.possible
    test = QuadraticTest(
        np.array([value]),
        sampling=Quadratic(sampling**2),
        noise=Quadratic(privacy**2 + bootstrap**2),
        low=low,
        high=high,
        noise_law="gaussian",
        method="combined",
    )
    return Estimate(
        statistic=first.statistic,
        column=first.column,
        cell=first.cell,
        labels=first.labels,
        estimate=min(max(value, low), high),
        sampling_error=sampling,
        bootstrap_error=bootstrap,
        privacy_error=privacy,
        method="combined",
        n_resamples=None,
        reliable=True,
        note=f"{len(usable)} releases pooled by inverse variance.",
        covers=first.covers,
        _region=ScoreRegion(test),
    )


def _noise(estimate: Estimate) -> float:
    return (estimate.privacy_error or 0.0) ** 2 + (estimate.bootstrap_error or 0.0) ** 2


@takes()
def combine(releases: Sequence[Release | ReleasedEstimate]) -> Release:
    """Combine repeated releases of the same statistics of the same records.

    Each combined number is the mean of the released numbers, weighted by inverse variances.

    Combining releases is post-processing: it uses released numbers only. The certificate covers all releases together;
    their prices add up.

    Parameters
    ----------
    releases : sequence of Release or ReleasedEstimate
        Two or more releases of the same numbers: their source, relation, unit, target, missing policy, statistics,
        bounds and cells are equal and in the same order.

    Raises
    ------
    ParameterError
        HG122: the releases do not estimate the same numbers, so they cannot be combined.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> twice = [survey.mean("age", bounds=(0, 100), step=1, epsilon=0.5) for _ in range(2)]
    >>> both = combine(twice)
    >>> both[0].method, both[0].privacy_error < twice[0][0].privacy_error, 0.5 < both.certificate.epsilon < 1.0
    ('combined', True, True)
    """
    given = list(releases) if isinstance(releases, Sequence) else []
    listed = [item.release if isinstance(item, ReleasedEstimate) else item for item in given]
    if len(listed) < 2 or not all(isinstance(release, Release) for release in listed):
        raise _not_the_same("Two or more releases are pooled.", "Found fewer.")
    first = listed[0]
    for place, release in enumerate(listed[1:], start=1):
        if _subject(release) != _subject(first):
            raise _not_the_same("Pooled releases estimate the same thing.", "Two of these do not.")
        if any(_noise_of(release) == _noise_of(earlier) for earlier in listed[:place]):
            # Fresh noise never repeats in every number; one release given twice would halve its error for nothing.
            raise _not_the_same("Pooled releases have noise of their own.", "One of these was given twice.")
    estimates = tuple(pooled(same) for same in zip(*listed, strict=True))
    certified = [release.certificate for release in listed if release.certificate is not None]
    certificate = composed_certificate(certified) if len(certified) == len(listed) else None
    reasons = {"combined": "releases of the same statistics, pooled by inverse variance"}
    return replace(_alone(first), estimates=estimates, certificate=certificate, reasons=reasons, _pooled=tuple(listed))


def joined(releases: Sequence[Release]) -> Release:
    """Return releases as one, their estimates one after the other, at the price of all of them together.

    Facts and notes are those of the first. What was read from the distribution of a column is not put together.
    """
    first = releases[0]
    certificate = composed_certificate([release.certificate for release in releases if release.certificate is not None])
    estimates = tuple(estimate for release in releases for estimate in release)
    reasons = {method: reason for release in releases for method, reason in release.reasons.items()}
    before = accumulate((len(release) for release in releases), initial=0)
    joint = tuple(
        moved(part, start) for release, start in zip(releases, before, strict=False) for part in release._joint
    )
    alone = replace(_alone(first), _joint=joint, _joined=tuple(releases))
    return replace(alone, estimates=estimates, certificate=certificate, reasons=reasons)


def _alone(release: Release) -> Release:
    """Return a release without what it holds beside its estimates, which is not that of several."""
    return replace(release, _joint=(), _distributions=(), answers={}, _request={}, _noisy=())


def composed_certificate(certificates: Sequence[Certificate]) -> Certificate:
    """Return one certificate for all of these together, at the largest of their δ."""
    first = certificates[0]
    parts = [part for certificate in certificates for part in parts_of(certificate.mechanism)]
    return certify(
        Composition(tuple(parts)),
        first.relation,
        unit=first.unit,
        delta=max(certificate.delta for certificate in certificates),
        assumptions=tuple(dict.fromkeys(text for c in certificates for text in c.assumptions)),
    )


def _subject(release: Release) -> tuple[object, ...]:
    """Return what a release is about: everything but its numbers, its method and its price."""

    def about(estimate: Estimate) -> tuple[object, ...]:
        return estimate.statistic, estimate.column, tuple(estimate.cell.items()), estimate.covers

    names = ("_identity", "_asked", "source", "relation", "unit", "target", "n", "missing", "simulated")
    return (*(getattr(release, name) for name in names), tuple(about(estimate) for estimate in release))


def _noise_of(release: Release) -> tuple[float, ...]:
    return tuple(estimate.estimate for estimate in release if estimate.method != "public")


def _not_the_same(rule: str, finding: str) -> ParameterError:
    return ParameterError(
        "HG122",
        rule=rule,
        finding=finding,
        remedy="Give releases of one source with the same statistics, bounds, groups and policy, in the same order.",
    )
