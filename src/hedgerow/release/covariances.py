"""The covariance of all estimates of a release, where it is known; and numbers of the `uncertainties` package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.inference.estimate import PUBLIC, Estimate
from hedgerow.inference.joint.arithmetic import JointValue, covariance_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """The covariance matrix of estimates, in its two parts.

    Attributes
    ----------
    labels : tuple of str
        What stands in each row and column, as terms of expressions: ``mean(age | sex=0)``.
    sampling, noise : float array
        The part that comes from sampling, and that of the noise, replicates included: NaN where it is not known, as
        between statistics that were not read from the same joint moments. A diagonal holds squared errors.
    """

    labels: tuple[str, ...]
    sampling: Floats
    noise: Floats

    @property
    def total(self) -> Floats:
        """The covariance of the estimates: sampling and noise."""
        return np.asarray(self.sampling + self.noise)

    @property
    def known(self) -> bool:
        """Whether every covariance is known."""
        return bool(np.isfinite(self.total).all())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; null where a covariance is not known."""
        parts = {"sampling": self.sampling, "noise": self.noise, "total": self.total}
        return {
            "labels": list(self.labels),
            **{name: [[_number(one) for one in row] for row in part.tolist()] for name, part in parts.items()},
            "known": self.known,
        }

    def __repr__(self) -> str:
        unknown = int(np.isnan(np.triu(self.total, 1)).sum())
        rest = f", {unknown:,} of its pairs not known" if unknown else ""
        return f"<Covariances of {len(self.labels):,} estimates{rest}>"


def covariances(estimates: Sequence[Estimate]) -> Covariances:
    """Return the covariance matrix of estimates, sampling and noise apart; NaN where it is not known.

    Estimates that were read from the same joint moments have known covariances, those of one public number are 0, and
    between others only the diagonal is known: squared errors, where an estimate has them. So it is between the cells of
    units of several rows, each of which may have rows in several cells.

    Examples
    --------
    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"x": [1.0, 5.0] * 500, "y": [2.0, 8.0] * 500}), relation="replace-one")
    >>> bounds = {"x": (0, 10), "y": (0, 10)}
    >>> release = survey.release([hg.ratio("x", "y", bounds=bounds), hg.covariance("x", "y", bounds=bounds)], epsilon=1)
    >>> found = release.covariance()
    >>> found.labels, found.total.shape, found.known
    (('ratio(x, y)', 'covariance(x, y)'), (2, 2), True)
    """
    size = len(estimates)
    sampling, noise = np.full((2, size, size), math.nan)
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, one in enumerate(estimates):
        if one.method == PUBLIC:
            for part in (sampling, noise):
                part[place, :] = part[:, place] = 0.0
        elif isinstance(one.joint, JointValue) and len(one.joint.releases) == 1:
            groups.setdefault(one.joint.drawn_with, []).append(place)
    for places in groups.values():
        values = [one.joint for one in (estimates[place] for place in places) if isinstance(one.joint, JointValue)]
        for whole, part in zip((sampling, noise), covariance_of(values), strict=True):
            whole[np.ix_(places, places)] = part
    for place, one in enumerate(estimates):
        # An estimate that is not reliable has no errors, and its covariances mean nothing.
        if one.sampling_error is None or one.privacy_error is None or one.bootstrap_error is None:
            for part in (sampling, noise):
                part[place, :] = part[:, place] = math.nan
            continue
        sampling[place, place] = one.sampling_error**2
        noise[place, place] = one.privacy_error**2 + one.bootstrap_error**2
    return Covariances(tuple(one.term() for one in estimates), sampling, noise)


def correlated_numbers(estimates: Sequence[Estimate]) -> list[Any]:
    """Return estimates as numbers of the `uncertainties` package, with their standard errors and correlations.

    That package propagates errors by tangents; its results have a standard error and no interval.

    Raises
    ------
    ImportError
        Where the package is not installed: ``pip install hedgerow[uncertainties]``.
    ParameterError
        HG130: a covariance is not known.
    """
    from uncertainties import correlated_values

    found = covariances(estimates)
    if not found.known:
        row, column = np.argwhere(np.isnan(found.total))[0]
        pair = " and ".join(dict.fromkeys((found.labels[row], found.labels[column])))
        raise ParameterError(
            "HG130",
            rule="Numbers with correlations need every covariance.",
            finding=f"That of {pair} is not known.",
            remedy="Name some of the estimates whose covariances are known, or release all of them in one call with "
            'estimator="moments".',
        )
    return list(correlated_values([one.estimate for one in estimates], found.total))


def _number(one: float) -> float | None:
    return one if math.isfinite(one) else None
