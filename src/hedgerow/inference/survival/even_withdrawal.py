"""Life tables of records that leave evenly: the hazards of the events and of censoring are lines within each interval.

With the notation of `hedgerow.inference.survival.life_table`, R_j records begin interval j, and R_{j+1} begin the next
one: the N_j = R_j − R_{j+1} = D_j + C_j between leave. If all hazards are constant in the interval, they are in the
ratios of the counts, and that of cause c adds up to

    r_cj = D_cj L_j,   L_j = (log R_j − log R_{j+1}) / (R_j − R_{j+1})

(Chiang 1968). 1/L_j is the logarithmic mean of R_j and R_{j+1}: the time at risk, in widths of the interval. L_j is
1/R_j where no record leaves. A hazard that rises has more of its events late in the interval, when fewer are at risk.
Let h' be its slope, and h'_N that of all that leave. To first order in the slopes it adds up to

    H_cj = r_cj + N_j L_j (M r_c)_j − r_cj (M r_N)_j,   (M r_c)_j = b² h'_c/12,

with b the width of the interval, and the slopes those that the hazards r/b of the intervals beside it show. The terms
cancel if nothing is censored. M looks at no interval in which the noise hides who is at risk. With H_j = Σ_c H_cj,
log S(t_j) − log S(t_{j−1}) = −H_j, and of the records without an event before the share

    h_cj = H_cj (1 − exp(−H_j)) / H_j

has an event of cause c in the interval, which is the integral of the hazard of the cause times S. The actuaries' rule,
that a censored record is at risk for half of its interval, is the same up to terms of third order in the shares that
leave: in wide intervals with much censoring they exceed the standard error of many records. Between cuts S is an
exponential curve, of which the quantiles of time are read. In a restricted mean the slope of the hazard adds b³ h' S/12
to an interval, S in its middle.

Noise moves the mean of a function of independent counts by half the sum of their variances times second derivatives.
A second difference with a step of one standard deviation stands for each of these terms of r_cj, and is taken off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.means_and_counts import RELIABLE_SDS
from hedgerow.inference.survival.life_table import Floats, LifeTables

_SMALL = 0.02  # Below this the quotients are computed from their series: eight terms are exact to 1e-14.
_TERMS = np.arange(8.0)
_MOST_LEFT = 0.98  # of y where some enter: noise can make more leave than were there
_LEAST_SHARE = 1e-9  # what stands for 0 in a logarithm


class EvenLifeTables(LifeTables):
    """The life table of each cell, if censored records leave evenly: see `LifeTables` for its attributes.

    `withdrawn` is not used. Events are compared with the time at risk 1/L_j, in widths of the interval.

    >>> tables = EvenLifeTables(np.array([[10.0, 8.0, 0.0, 4.0, 78.0]]), (1.0, 2.0), 0.0, "gaussian", False, 0.5)
    >>> tables.survival.round(4).tolist()
    [[0.9004, 0.8188]]
    """

    @cached_property
    def forms(self) -> tuple[Floats, Floats]:
        """The linear forms of the counts that give (R_j, R_{j+1}), which are divided by: two arrays (K, classes)."""
        leaving = self.forms_of_events.sum(axis=0)
        leaving[:, self.causes * self.intervals : -1] += np.eye(self.intervals)
        return self.began, self.began - leaving

    @cached_property
    def forms_of_entered(self) -> Floats:
        """The forms of the records that enter late in each interval, here 0: float array (K, classes)."""
        return np.zeros((self.intervals, self.counts.shape[1]))

    @cached_property
    def entered(self) -> Floats:
        """The records that enter late in each interval: float array (cells, K)."""
        return np.asarray(self.counts @ self.forms_of_entered.T)

    @cached_property
    def forms_of_leaving(self) -> Floats:
        """The forms of the N_j: float array (K, classes)."""
        return self.forms[0] - self.forms[1] + self.forms_of_entered / 2.0

    @cached_property
    def rates(self) -> Floats:
        """L_j: float array (cells, K)."""
        return _rate(*self.divisors, self.entered)

    @cached_property
    def exposed(self) -> Floats:
        """The time at risk 1/L_j, in widths of the interval: float array (cells, K)."""
        return 1.0 / self.rates

    @cached_property
    def slopes_of_exposed(self) -> Floats:
        """The slopes of 1/L_j along the counts: float array (cells, K, classes)."""
        rate, slopes = self._cautious_rates
        return np.asarray(-slopes / np.square(rate)[..., None])

    @property
    def exposed_clear(self) -> NDArray[np.bool_]:
        """Whether all R_j and R_{j+1} up to each cut stand clear of their noise: bool array (cells, K)."""
        return self.reliable

    def spread_of_events(self, exposed: Floats, events: Floats) -> Floats:
        """Return D: events come at a rate per time at risk."""
        return events

    @cached_property
    def _cautious_rates(self) -> tuple[Floats, Floats]:
        """L_j as the slopes take it, and its slopes along the counts: (cells, K) and (cells, K, classes)."""
        start, end = self.cautious_divisors
        entered = np.clip(self.entered, 0.0, 2.0 * start)
        first, gone = 1.0 - entered / (6.0 * start), 1.0 + (entered / 2.0 - end) / start
        left = _left(start, end, entered)
        quotient, slope = _quotient_of_logs(left), _slope_of_quotient(left)
        along_start = ((entered * gone / (6.0 * start) + first * (1.0 - gone)) * slope - quotient) / start**2
        along_end = -first * slope / start**2
        along_entered = (first / 2.0 - gone / 6.0) * slope / start**2
        parts = zip((along_start, along_end, along_entered), (*self.forms, self.forms_of_entered), strict=True)
        return quotient / start, np.asarray(sum(along[..., None] * forms for along, forms in parts))

    @cached_property
    def _curving(self) -> Floats:
        """M, of which M r is b²/12 times the slope of the hazards r/b: float array (cells, K, K)."""
        edges, read = np.array([self.start, *self.cuts]), self.reliable.sum(axis=1)
        made = np.empty((len(read), self.intervals, self.intervals))
        for number in np.unique(read).tolist():
            made[read == number] = curving(edges, number)
        return made

    @cached_property
    def _hazards_added_up(self) -> tuple[Floats, Floats]:
        """H_cj, and its slopes: (causes, cells, K) and (causes, cells, K, classes)."""
        events, leaving = self.events_by_cause, self.counts @ self.forms_of_leaving.T
        rate, (cautious, of_rate) = self.rates, self._cautious_rates

        def along(counts: Floats, forms: Floats) -> Floats:
            return np.asarray(cautious[..., None] * forms + counts[..., None] * of_rate)

        def curved(falls: Floats) -> Floats:
            return np.asarray(np.einsum("djk,...dk->...dj", self._curving, falls))

        def slopes_curved(slopes: Floats) -> Floats:
            return np.asarray(self._curving @ slopes)

        own, every = events * rate, leaving * rate
        of_own = np.array([along(each, form) for each, form in zip(events, self.forms_of_events, strict=True)])
        of_every = along(leaving, self.forms_of_leaving)
        # The number at risk falls by those who leave, less those who enter.
        fall = every - self.entered * rate
        of_fall = of_every - along(self.entered, self.forms_of_entered)
        added = own + fall * curved(own) - own * curved(every)
        slopes = of_own + of_fall * curved(own)[..., None] + fall[..., None] * slopes_curved(of_own)
        slopes -= of_own * curved(every)[..., None] + own[..., None] * slopes_curved(of_every)
        return added, slopes

    def _steps(self) -> Floats:
        return np.asarray(self._moved(_step, 0) - self._hazards_added_up[0].sum(axis=0))

    def _slopes_of_steps(self) -> Floats:
        return np.asarray(-self._hazards_added_up[1].sum(axis=0))

    @cached_property
    def hazards(self) -> tuple[Floats, Floats]:
        """h_cj without what noise moves it by, and its slopes: (causes, cells, K) and (causes, cells, K, classes)."""
        own, slopes = self._hazards_added_up
        fall, of_fall = own.sum(axis=0), slopes.sum(axis=0)
        part, bend = part_of_fall(fall), _slope_of_part(fall)
        moved = np.array([self._moved(_share, cause) for cause in range(self.causes)])
        return own * part - moved, part[..., None] * slopes + (own * bend)[..., None] * of_fall

    def weights_of_mean(self, until: float) -> tuple[Floats, Floats | float]:
        """Return weights w and starts s with ∫₀^until S(t) dt = s + Σ w_k S(t_k), the hazard a line within intervals.

        Of each cell: arrays (cells, K) and (cells,). The integral doubles if S does, so its slopes along S are weights.
        """
        edges = np.array([self.start, *self.cuts])
        last = int(np.searchsorted(edges, until))
        widths = np.diff(edges[: last + 1])
        logs = np.hstack([np.zeros((len(self.survival), 1)), np.log(self.survival)])[:, : last + 1]
        before, after = logs[:, :-1], logs[:, 1:]
        reached = np.minimum(until - edges[:last], widths)
        parts = reached / widths
        # At a constant hazard an interval of width b in which S falls from a to a·exp(−H) adds b·a·(1 − exp(−H))/H.
        fall = parts * (before - after)
        box = reached * np.exp(before)
        areas, bends = box * part_of_fall(fall), box * _slope_of_part(fall)
        by_before, by_after = areas + parts * bends, -parts * bends
        # With the slope h' of the hazard S is exp(h'·u(b − u)/2) times as large at the time u of the interval.
        slopes = _slopes_of_hazard(edges[: last + 1], last) @ (np.eye(last, last + 1) - np.eye(last, last + 1, 1))
        middle = np.exp(before + (after - before) * parts / 2.0) * (widths / 4.0 - reached / 6.0) * reached**2
        added, along = middle * (logs @ slopes.T), middle @ slopes
        along[:, :-1] += by_before + added * (1.0 - parts / 2.0)
        along[:, 1:] += by_after + added * parts / 2.0
        weights = np.zeros((len(logs), self.intervals + 1))
        weights[:, : last + 1] = along / np.exp(logs)
        return weights[:, 1:], weights[:, 0]

    def _part_until(self, before: float, after: float, share: float) -> float:
        after = max(after, _LEAST_SHARE)
        return math.log(before / share) / math.log(before / after) if before > after else 1.0

    def _moved(self, function: Callable[..., Floats], cause: int) -> Floats:
        """Return by how much noise moves a function of D_cj, the other events, R_j and R_{j+1}: (cells, K)."""
        sds = [np.sqrt(self.noise(form)) for form in self.forms]
        start, end = (np.maximum(v, RELIABLE_SDS * sd) for v, sd in zip(self.divisors, sds, strict=True))
        own = self.events_by_cause[cause]
        here = own, self.events - own, start, end, self.entered
        middle, moved = function(*here), np.zeros_like(own)
        for step in self._independent_steps(cause):
            up, down = (function(*(v + sign * by for v, by in zip(here, step, strict=True))) for sign in (1.0, -1.0))
            moved += (up + down) / 2.0 - middle
        return np.asarray(moved)

    def _independent_steps(self, cause: int) -> list[tuple[Floats | float, ...]]:
        """Return independent parts of the noise on D_cj, the other events, R_j, R_{j+1} and the records that enter.

        Each line is one independent count, or sum of counts, and what it is a part of.
        """
        one, rest = self.noise_sd, np.sqrt(self.noise(self.forms[1]))
        others = one * math.sqrt(self.causes - 1.0)
        return [
            (one, 0.0, one, 0.0, 0.0),
            (0.0, others, others, 0.0, 0.0),
            (0.0, 0.0, one, 0.0, 0.0),
            (0.0, 0.0, rest, rest, 0.0),
        ]


class ConstantHazards(EvenLifeTables):
    """The life tables of records that were written when hazards were constant within intervals: M is 0.

    >>> counts = np.array([[10.0, 8.0, 20.0, 4.0, 58.0]])
    >>> about = (1.0, 2.0), 0.0, "gaussian", False, 0.5
    >>> [tables(counts, *about).survival[0, 0].round(4).item() for tables in (EvenLifeTables, ConstantHazards)]
    [0.8863, 0.8879]
    """

    @cached_property
    def _curving(self) -> Floats:
        return np.zeros((len(self.counts), self.intervals, self.intervals))


def curving(edges: Floats, read: int) -> Floats:
    """Return M of the first intervals, so many as can be read: float array (K, K)."""
    return np.asarray((np.diff(edges) ** 2 / 12.0)[:, None] * _slopes_of_hazard(edges, read))


def _slopes_of_hazard(edges: Floats, read: int) -> Floats:
    """Return the slope of the hazard in each interval as a form of −log S within each: from the intervals beside it.

    Only the first intervals are looked at, so many as can be read; of the later ones the slopes are 0.

    >>> falls_of_a_rising_line = np.diff([t**2 for t in (0.0, 1.0, 3.0, 4.0)])
    >>> [(_slopes_of_hazard(np.array([0.0, 1.0, 3.0, 4.0]), n) @ falls_of_a_rising_line).tolist() for n in (3, 2, 1)]
    [[2.0, 2.0, 2.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    """
    middles, places = (edges[1:] + edges[:-1]) / 2.0, np.arange(len(edges) - 1)
    right = np.minimum(places + 1, max(read - 1, 0))
    left = np.minimum(np.maximum(places - 1, 0), right)
    apart = np.where(right > left, middles[right] - middles[left], 1.0)
    hazards = np.diag(1.0 / np.diff(edges))
    return np.asarray((hazards[right] - hazards[left]) / apart[:, None])


def _left(start: Floats, end: Floats, entered: Floats) -> Floats:
    """Return y with L = q(y)/start: the part that leaves, where nobody enters."""
    some = np.clip(entered, 0.0, 2.0 * start)
    left = (1.0 - some / (6.0 * start)) * (1.0 + (some / 2.0 - end) / start)
    return np.where(some > 0.0, np.minimum(left, _MOST_LEFT), left)


def _rate(start: Floats, end: Floats, entered: Floats) -> Floats:
    """Return L."""
    return _quotient_of_logs(_left(start, end, entered)) / start


def _step(own: Floats, others: Floats, start: Floats, end: Floats, entered: Floats) -> Floats:
    """Return (D_c + the others) L, the fall of log S."""
    return (own + others) * _rate(start, end, entered)


def _share(own: Floats, others: Floats, start: Floats, end: Floats, entered: Floats) -> Floats:
    """Return h_c."""
    rate = _rate(start, end, entered)
    return own * rate * part_of_fall((own + others) * rate)


def _quotient_of_logs(x: Floats) -> Floats:
    """Return −log(1 − x)/x = Σ x^k/(k + 1)."""
    large = _large(x)
    return np.where(np.abs(x) < _SMALL, _series(x, 1.0 / (_TERMS + 1.0)), -np.log1p(-large) / large)


def _slope_of_quotient(x: Floats) -> Floats:
    """Return the derivative of `_quotient_of_logs`."""
    large = _large(x)
    exact = (1.0 / (1.0 - large) - _quotient_of_logs(large)) / large
    return np.where(np.abs(x) < _SMALL, _series(x, (_TERMS + 1.0) / (_TERMS + 2.0)), exact)


def part_of_fall(fall: Floats) -> Floats:
    """Return (1 − exp(−H))/H."""
    large = _large(fall)
    return np.where(np.abs(fall) < _SMALL, 1.0 - fall / 2.0 + fall**2 / 6.0 - fall**3 / 24.0, -np.expm1(-large) / large)


def _slope_of_part(fall: Floats) -> Floats:
    """Return the derivative of `part_of_fall`."""
    large = _large(fall)
    exact = (np.exp(-large) - part_of_fall(large)) / large
    return np.where(np.abs(fall) < _SMALL, -0.5 + fall / 3.0 - fall**2 / 8.0, exact)


def _large(x: Floats) -> Floats:
    """Return x where it is large; what stands for a small one is not used."""
    return np.where(np.abs(x) < _SMALL, 0.5, x)


def _series(x: Floats, coefficients: NDArray[Any]) -> Floats:
    """Return Σ coefficients_k x^k, where x is small."""
    within = np.where(np.abs(x) < _SMALL, x, 0.0)
    return np.asarray(np.power(within[..., None], _TERMS) @ coefficients)
