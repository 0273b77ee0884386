"""Life tables of many cells from noisy counts: survival with its errors, at-risk numbers, the median, restricted means.

Time is cut at t_1 < … < t_K, t_0 = 0. Interval j holds the times from t_{j−1} up to, but not including, t_j. A record
adds 1 to one class of its cell: the events D_j or the censored records C_j of its interval, or those observed beyond
t_K. With the classes c of a cell and R_j the records whose time is t_{j−1} or later,

    r_j = R_j − w·C_j,   a_j = r_j − D_j,   log S(t_k) = Σ_{j≤k} (log a_j − log r_j).

A censored record is at risk for half of its interval, w = ½ (the life table of actuaries), or for all of it, w = 0
(Kaplan and Meier 1958; of intervals that hold one time each it is their estimate). The rule for records that leave
evenly is in `hedgerow.inference.survival.even_withdrawal`.

All r_j and a_j are linear in c, so log S has the slopes g = Σ_j (∂a_j/a_j − ∂r_j/r_j). Records fall into classes one
by one and g·c = 0, so the sampling variance is Σ g² c; for w = 0 this is the formula of Greenwood (1926). Noise of
variance σ² on each count adds σ² Σ g². It bends the logarithm too: E log(x + noise) ≈ log x − Var/(2x²) is corrected.

Interval. With S(1 − S)/n_e equal to the sampling variance of S, n_e is the number of records that would tell S as well
if none were censored (Rothman 1978; Cutler and Ederer 1958). The values θ with (Ŝ − θ)² ≤ z²(θ(1 − θ)/n_e + S²σ²Σg²)
are accepted: the score interval of a proportion with noise. An interval on the scale log(−log S) is nearly the same
where the noise is small, but up to four times as wide where S is near 1 and the noise is not.

Competing causes. If events have causes c, with D_cj of them, S is the share without any event, and the share to which
cause c has come is F_c(t_k) = Σ_{j≤k} S(t_{j−1}) D_cj/r_j (Aalen and Johansen 1978): its errors follow from its slopes
in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.joint.arithmetic import FunctionsOfCells
from hedgerow.inference.joint.functions import FunctionOfTotals, Numbers
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.inference.means_and_counts import RELIABLE_SDS
from hedgerow.inference.score_test import Quadratic, QuadraticTest
from hedgerow.mechanisms.laws import averaged_law

Floats = NDArray[np.float64]
_MOST_DRAWS = 64  # the law of a sum of more Laplace numbers is normal within 3e-3 of its quantile
_LEAST_NOISE = 1e-9  # of a released logarithm, where there is no noise: features are scaled by it
# Below so many standard deviations of its noise a divisor of the slopes is lowered, by this part of its distance.
_CERTAIN_SDS, _LOWERED = 5.0, 0.5


@dataclass(frozen=True, slots=True)
class ReadWithErrors:
    """Numbers of all cells with both parts of their errors.

    Attributes
    ----------
    value, sampling_error, privacy_error : float array, (cells,)
    reliable : bool array, (cells,)
        Whether every number of records at risk that is divided by is at least two standard deviations of its noise.
    """

    value: Floats
    sampling_error: Floats
    privacy_error: Floats
    reliable: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class QuantileOfTime:
    """The first time at which survival falls to a share, with its interval; ∞ where it does not before the last cut.

    `reliable`: survival falls to the share, and below it by a standard error, while enough records are at risk.
    """

    value: float
    standard_error: float
    sampling_error: float
    low: float
    high: float
    reliable: bool


@dataclass(frozen=True, slots=True)
class ErrorsOfTotals(FunctionOfTotals):
    """value + slopes · S, or its exponential: a number of one cell by the released errors of its life table.

    The totals S are 0 as released: they stand for the errors, in independent directions of the noise.

    Attributes
    ----------
    value : float
        The number, or its logarithm.
    slopes : tuple of float
    most : float
        The most that is possible; 0 is the least.
    in_logs : bool
        Whether the exponential is taken.
    clear : bool
        Whether the number can be read: see `LifeTables.reliable`.
    """

    kind: ClassVar[str] = "errors"
    value: float
    slopes: tuple[float, ...]
    most: float = 1.0
    in_logs: bool = True
    clear: bool = True

    homogeneous = False

    def _limits(self) -> tuple[float, float]:
        return 0.0, self.most

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        line = self.value + totals[:, 1:] @ np.array(self.slopes)
        return np.asarray(np.exp(line) if self.in_logs else line)

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return a negative number where it cannot be read: nothing else is divided by."""
        return [] if self.clear else [np.full(len(totals), -1.0 + 0.0j)]


@dataclass(frozen=True, eq=False)
class LifeTables:
    """The life table of each cell, from its noisy counts.

    Attributes
    ----------
    counts : float array, (cells, (causes + 1)K + 1)
        The noisy events of the K intervals, of each cause in turn; the censored records of each interval; and the
        records beyond the last cut.
    cuts : tuple of float
        t_1 … t_K.
    noise_sd : float
        Of each count.
    noise_law : str
        Its law.
    census : bool
        Whether these records are all there is to know, so that nothing is sampled.
    withdrawn : float
        For which part of its interval a censored record is not at risk: w.
    causes : int
        How many causes of events compete.
    start : float
        t_0, where the curve begins.

    >>> tables = LifeTables(np.array([[10.0, 8.0, 0.0, 4.0, 78.0]]), (1.0, 2.0), 0.0, "gaussian", False, 0.5)
    >>> tables.survival.round(4).tolist(), tables.at_risk.tolist()
    ([[0.9, 0.8182]], [[100.0, 90.0]])
    >>> tables.read(1).sampling_error.round(4).tolist()
    [0.0388]
    """

    counts: Floats
    cuts: tuple[float, ...]
    noise_sd: float
    noise_law: str
    census: bool
    withdrawn: float
    causes: int = 1
    start: float = 0.0

    @property
    def intervals(self) -> int:
        """K."""
        return len(self.cuts)

    @cached_property
    def forms_at_risk(self) -> Floats:
        """The linear forms of the counts that give r_j: float array (K, classes)."""
        k = self.intervals
        risk = self.began.copy()
        risk[:, self.causes * k : -1] -= self.withdrawn * np.eye(k)
        return risk

    @cached_property
    def exposed(self) -> Floats:
        """The records that events are compared with, r_j, where it is at least 1, else 1: float array (cells, K)."""
        return np.maximum(self.counts @ self.forms_at_risk.T, 1.0)

    @cached_property
    def slopes_of_exposed(self) -> Floats:
        """The slopes of `exposed` along the counts: float array (cells, K, classes)."""
        return np.broadcast_to(self.forms_at_risk, (len(self.counts), *self.forms_at_risk.shape))

    @property
    def exposed_clear(self) -> NDArray[np.bool_]:
        """Whether all `exposed` up to each cut stand clear of their noise: bool array (cells, K)."""
        return self.observed

    def spread_of_events(self, exposed: Floats, events: Floats) -> Floats:
        """Return the variance of the events of one of many equal records, times these: D(r − D)/(r − 1)."""
        return np.asarray(events * np.maximum(exposed - events, 0.0) / np.maximum(exposed - 1.0, 1.0))

    @cached_property
    def forms(self) -> tuple[Floats, Floats]:
        """The linear forms of the counts that give (r_j, a_j), which are divided by: two arrays (K, classes)."""
        return self.forms_at_risk, self.forms_at_risk - self.forms_of_events.sum(axis=0)

    @cached_property
    def forms_of_events(self) -> Floats:
        """The forms of the D_cj: float array (causes, K, classes)."""
        k = self.intervals
        return np.eye((self.causes + 1) * k + 1)[: self.causes * k].reshape(self.causes, k, -1)

    @cached_property
    def events_by_cause(self) -> Floats:
        """D_cj: float array (causes, cells, K)."""
        return np.asarray(np.einsum("dm,ckm->cdk", self.counts, self.forms_of_events))

    @cached_property
    def events(self) -> Floats:
        """D_j, the events of all causes: float array (cells, K)."""
        return np.asarray(self.counts @ self.forms_of_events.sum(axis=0).T)

    @cached_property
    def at_risk(self) -> Floats:
        """R_j, the records whose time is t_{j−1} or later: float array (cells, K)."""
        return np.asarray(self.counts @ self.began.T)

    @cached_property
    def began(self) -> Floats:
        """The forms of the R_j."""
        k = self.intervals
        return np.hstack([*[np.triu(np.ones((k, k)))] * (self.causes + 1), np.ones((k, 1))])

    def form_at_risk(self, place: int) -> Floats:
        """Return the form of the number at risk at the beginning, or at a cut."""
        return np.asarray(self.began[place] if place < self.intervals else np.eye(self.counts.shape[1])[-1])

    @property
    def records(self) -> Floats:
        """How many records are at risk at the most, in every cell."""
        return self.divisors[0][:, 0]

    def range_of_records(self, place: int) -> tuple[Floats, Floats]:
        """Return how many records were at risk up to a cut, the fewest and the most, in every cell."""
        risk = self.divisors[0]
        return self.cautious_divisors[0][:, place], np.maximum(risk[:, 0], risk[:, place])

    def sampled(self, slopes: Floats) -> tuple[Floats, Floats]:
        """Return slopes (cells, numbers, classes) along classes that sampling fills independently, and their counts."""
        return slopes, self.counts

    def sampling_variance(self, slopes: Floats) -> Floats:
        """Return the sampling variance of a number with these slopes (cells, classes) in every cell."""
        if self.census:
            return np.zeros(len(slopes))
        along, expected = self.sampled(slopes[:, None])
        return np.asarray(np.einsum("cm,cm->c", np.square(along[:, 0]), expected))

    def noise(self, forms: Floats) -> Floats:
        """Return the noise variance of linear forms of the counts, which stand along the last axis."""
        return np.asarray(self.noise_sd**2 * np.square(forms).sum(axis=-1))

    @cached_property
    def divisors(self) -> tuple[Floats, Floats]:
        """r_j and a_j where they are at least 1, else 1: two arrays (cells, K)."""
        risk, left = self.forms
        return np.maximum(self.counts @ risk.T, 1.0), np.maximum(self.counts @ left.T, 1.0)

    @cached_property
    def reliable(self) -> NDArray[np.bool_]:
        """Whether all r_j and a_j up to each cut stand clear of their noise: bool array (cells, K)."""
        return np.asarray(np.logical_and.accumulate(self._clear(self.forms[0]) & self._clear(self.forms[1]), axis=1))

    @cached_property
    def observed(self) -> NDArray[np.bool_]:
        """Whether all r_j up to each cut do."""
        return np.asarray(np.logical_and.accumulate(self._clear(self.forms[0]), axis=1))

    def _clear(self, forms: Floats) -> NDArray[np.bool_]:
        return np.asarray(self.counts @ forms.T >= np.maximum(RELIABLE_SDS * np.sqrt(self.noise(forms)), 1.0))

    @cached_property
    def cautious_divisors(self) -> tuple[Floats, Floats]:
        """r_j and a_j as the errors divide by them, v − ½·max(5 sd − v, 0) and at least 1: two arrays (cells, K).

        The slopes at noisy values v are too small where the noise raised v, and v is read only where it is not low.
        """
        risk, left = (
            np.maximum(v - _LOWERED * np.maximum(_CERTAIN_SDS * np.sqrt(self.noise(form)) - v, 0.0), 1.0)
            for form, v in zip(self.forms, self.divisors, strict=True)
        )
        return risk, left

    @cached_property
    def slopes(self) -> Floats:
        """The slopes of log S(t_k) along the counts, which its errors use: float array (cells, K, classes)."""
        return np.asarray(np.cumsum(self._slopes_of_steps(), axis=1))

    def _slopes_of_steps(self) -> Floats:
        """Return the slopes of log S(t_k) − log S(t_{k−1}) along the counts: float array (cells, K, classes)."""
        (risk, left), (r, a) = self.forms, self.cautious_divisors
        return np.asarray(left / a[:, :, None] - risk / r[:, :, None])

    @cached_property
    def survival(self) -> Floats:
        """S(t_k), which never rises: float array (cells, K)."""
        logs = np.cumsum(self._steps(), axis=1)
        return np.asarray(np.exp(np.minimum.accumulate(np.minimum(logs, 0.0), axis=1)))

    def _steps(self) -> Floats:
        """Return log S(t_k) − log S(t_{k−1}), without what noise moves it by: float array (cells, K)."""
        (risk, left), (r, a) = self.forms, self.divisors
        return self._log(left, a) - self._log(risk, r)

    @cached_property
    def hazards(self) -> tuple[Floats, Floats]:
        """h_cj without what noise moves it by, and its slopes: (causes, cells, K) and (causes, cells, K, classes).

        h_cj is the share to which cause c comes in interval j of the records without an event before.
        """
        risk, r, cautious = self.forms[0], self.divisors[0], self.cautious_divisors[0]
        clear = np.maximum(r, RELIABLE_SDS * np.sqrt(self.noise(risk)))
        moved = self.events_by_cause * self.noise(risk) / clear**3 - np.square(self.noise_sd / clear)
        slopes = self.forms_of_events[:, None] - (self.events_by_cause / cautious)[..., None] * risk
        return self.events_by_cause / r - moved, slopes / cautious[:, :, None]

    def _log(self, forms: Floats, values: Floats) -> Floats:
        """Return the logarithms of linear forms, without what the noise bends them by."""
        noise = self.noise(forms)
        clear = np.maximum(values, RELIABLE_SDS * np.sqrt(noise))
        return np.asarray(np.log(values) + noise / np.square(clear) / 2.0)

    def read(self, place: int) -> ReadWithErrors:
        """Return the survival share at a cut."""
        weights = np.zeros(self.intervals)
        weights[place] = 1.0
        return self.combined(weights)

    def combined(self, weights: Floats, *, start: Floats | float = 0.0) -> ReadWithErrors:
        """Return start + Σ weights_k S(t_k), with weights (K,) or (cells, K)."""
        parts = weights * self.survival
        slopes = np.einsum("ck,ckm->cm", parts, self.slopes)
        last = int(np.flatnonzero(np.atleast_2d(weights).any(axis=0))[-1])
        return ReadWithErrors(
            start + parts.sum(axis=1),
            np.sqrt(np.maximum(self.sampling_variance(slopes), 0.0)),
            np.sqrt(self.noise(slopes)),
            self.reliable[:, last],
        )

    def law_of(self, slopes: Floats) -> str:
        """Return the law of noise of linear forms, (cells, classes): of equal numbers, as few as in any cell."""
        if self.noise_law == "gaussian":
            return self.noise_law
        squares = np.square(slopes)
        spread = np.square(squares).sum(axis=1)
        draws = np.square(squares.sum(axis=1)) / np.where(spread > 0.0, spread, 1.0)
        return averaged_law(int(draws[spread > 0.0].min(initial=_MOST_DRAWS)))

    def test(self, place: int) -> QuadraticTest:
        """Return the score test of the survival share at a cut, in every cell."""
        share, slopes = self.survival[:, place], self.slopes[:, place]
        return self.test_of(place, share, share[:, None] * slopes, self.reliable[:, place])

    def test_of(self, place: int, share: Floats, slopes: Floats, clear: NDArray[np.bool_]) -> QuadraticTest:
        """Return the score test of a share of the records that began, with its slopes, in every cell."""
        if self.census:
            sampling = Quadratic()
        else:
            variance, (fewest, most) = self.sampling_variance(slopes), self.range_of_records(place)
            behind = share * (1.0 - share) / np.where(variance > 0.0, variance, 1.0)
            # As many records as began, at most, and as few as are at risk in the end, where nothing tells.
            records = np.clip(np.where(variance > 0.0, behind, 0.0), fewest, most)
            sampling = Quadratic(linear=1.0 / records, square=-1.0 / records)
        return QuadraticTest(
            a=share,
            sampling=sampling,
            noise=Quadratic(constant=self.noise(slopes)),
            low=0.0,
            high=1.0,
            noise_law=self.law_of(slopes),
            method="life-table",
            reliable=clear,
        )

    def ends(self, place: int, level: float) -> tuple[Floats, Floats]:
        """Return the interval of the survival share at a cut, in every cell.

        Where it cannot be read, the share is at most that of the last cut that can: its interval ends there.
        """
        low, high = (end.copy() for end in self.test(place).accepted(level))
        last = self.reliable[:, : place + 1].sum(axis=1) - 1
        for earlier in np.unique(last[(last >= 0) & (last < place)]).tolist():
            here = last == earlier
            high[here] = self.test(earlier).accepted(level)[1][here]
        return low, high

    def joint(self, places: Sequence[int]) -> tuple[FunctionsOfCells, ...]:
        """Return, for the shares at each of these cuts, what one computes with: together they have one joint law."""
        chosen = list(places)
        totals, roots = self.errors_of(self.slopes[:, chosen])
        logs, clear = np.log(self.survival[:, chosen]), self.reliable[:, chosen]
        return tuple(
            FunctionsOfCells(
                totals,
                tuple(
                    ErrorsOfTotals(float(logs[cell, k]), tuple(roots[cell, k].tolist()), clear=bool(clear[cell, k]))
                    for cell in range(len(logs))
                ),
            )
            for k in range(len(chosen))
        )

    def joint_of(self, weights: Floats, start: Floats | float, most: float) -> FunctionsOfCells:
        """Return what one computes with of start + Σ weights_k S(t_k), which is at most `most`."""
        slopes = np.einsum("ck,ckm->cm", weights * self.survival, self.slopes)[:, None, :]
        totals, roots = self.errors_of(slopes)
        read = self.combined(weights, start=start)
        rows = zip(read.value.tolist(), roots[:, 0].tolist(), read.reliable.tolist(), strict=True)
        return FunctionsOfCells(
            totals, tuple(ErrorsOfTotals(value, tuple(row), most, in_logs=False, clear=ok) for value, row, ok in rows)
        )

    def errors_of(self, slopes: Floats) -> tuple[JointTotals, Floats]:
        """Return the errors Σ g z of numbers with these slopes (cells, numbers, classes), as totals, and the way back.

        In directions in which the noise of the errors is independent and of one size, it is the same in all cells; the
        matrices (cells, numbers, numbers) that lead back to the numbers differ by cell.
        """
        size = slopes.shape[1]
        covariance = np.einsum("ckm,clm->ckl", slopes, slopes) * max(self.noise_sd, _LEAST_NOISE) ** 2
        scale = np.trace(covariance, axis1=1, axis2=2)[:, None, None]
        roots = np.linalg.cholesky(covariance + 1e-12 * np.maximum(scale, 1e-300) * np.eye(size))
        features = np.asarray(np.linalg.solve(roots, slopes), dtype=np.float64)
        # Features lie in [−1, 1].
        within = 1.0 / max(1.0, float(np.abs(features).max()))
        features, roots = within * features, roots / within
        along, expected = self.sampled(features)
        products = np.einsum("ckm,cm,clm->ckl", along, np.maximum(expected, 0.0), along)
        noise = within * np.eye(size) * bool(self.noise_sd)
        mixing = np.vstack([np.zeros((1, size)), noise, np.zeros((size * (size + 1) // 2, size))])
        count, law = self.records, self.law_of(slopes.reshape(-1, slopes.shape[2]))
        return JointTotals(count, np.zeros((len(count), size)), products, mixing, law, census=self.census), roots

    # Further readings
    def weights_of_mean(self, until: float) -> tuple[Floats, Floats | float]:
        """Return weights w and a number s with ∫ S(t) dt = s + Σ w_k S(t_k), up to a time, S a line between cuts.

        The weights are also the slopes of the integral along S(t_k).

        >>> tables = LifeTables(np.ones((1, 5)), (1.0, 2.0), 0.0, "gaussian", False, 0.5)
        >>> tables.weights_of_mean(2.0), tables.weights_of_mean(0.5)
        ((array([1. , 0.5]), 0.5), (array([0.125, 0.   ]), 0.375))
        """
        edges = np.array([self.start, *self.cuts])
        last = int(np.searchsorted(edges, until))
        widths, weights = np.diff(edges[:last]), np.zeros(len(edges))
        weights[: last - 1] += widths / 2.0
        weights[1:last] += widths / 2.0
        # S at the last time is a mix of its neighbours, by the line between them.
        rest = until - edges[last - 1]
        part = rest / (edges[last] - edges[last - 1])
        weights[last - 1] += rest * (1.0 - part / 2.0)
        weights[last] += rest * part / 2.0
        return weights[1:], float(weights[0])

    def quantile(self, share: float, cell: int, level: float) -> QuantileOfTime:
        """Return the first time at which survival falls to a share.

        Its interval holds the times at which the share is in the interval of survival (Brookmeyer and Crowley 1982);
        between cuts all three curves are lines, or exponential curves if records leave evenly. A standard error is half
        the distance between the times at which survival falls to the share ± its own standard error.
        """
        every = [self.ends(place, level) for place in range(self.intervals)]
        low, high = (np.minimum.accumulate([end[side][cell] for end in every]) for side in (0, 1))
        curve = self.survival[cell]
        reached = np.flatnonzero(curve <= share)
        if not len(reached):
            return QuantileOfTime(math.inf, math.inf, math.inf, self._reached(low, share), math.inf, False)
        at = int(reached[0])
        read = self.read(at)
        sampling, noise = float(read.sampling_error[cell]), float(read.privacy_error[cell])
        errors = [
            (self._reached(curve, share - error) - self._reached(curve, share + error)) / 2.0
            for error in (math.hypot(sampling, noise), sampling)
        ]
        ends = self._reached(low, share), self._reached(high, share)
        clear = bool(self.reliable[cell, at]) and math.isfinite(errors[0])
        return QuantileOfTime(self._reached(curve, share), errors[0], min(errors), *ends, clear)

    def _reached(self, curve: Floats, share: float) -> float:
        """Return the first time at which a curve falls to a share; ∞ where it does not."""
        below = np.flatnonzero(curve <= share)
        if not len(below):
            return math.inf
        values, edges = np.append(1.0, curve), np.append(self.start, self.cuts)
        at = int(below[0]) + 1
        part = self._part_until(values[at - 1], values[at], share)
        return float(edges[at - 1] + part * (edges[at] - edges[at - 1]))

    def _part_until(self, before: float, after: float, share: float) -> float:
        """Return the part of an interval after which survival has fallen to a share."""
        return (before - share) / (before - after) if before > after else 1.0
