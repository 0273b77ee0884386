"""Life tables of records that enter late: some are at risk only from a time of entry on (left truncation).

With the notation of `hedgerow.inference.survival.even_withdrawal`, a record adds 1 to two classes: to one of its exit,
as all records do, and to one of its entry. E_0 records are at risk from the beginning, and E_j enter within interval j.
So R_j, the records at risk at the beginning of interval j, is Σ_{i<j} E_i less all exits before, and

    R_{j+1} = R_j + E_j − N_j.

As many records enter as leave: the noisy counts are read after the least change that makes them agree, so R_j follows
from the entries and exits before, and from those after, in the weights of their noise.

If records enter at a constant number per time in the interval and all hazards are constant, the x that the hazards add
up to solves N = R (1 − exp(−x)) + E (1 − (1 − exp(−x))/x). With A = R + E/2 and θ = 1 − E/(6A),

    x = N L,   L = q(θ N/A)/A,   q(y) = −log(1 − y)/y

is the same up to terms of fourth order in x, and exactly Chiang's L where nobody enters. If more enter early in the
interval, they are at risk for longer: with M E of the slope that the entries of the intervals beside it show, as of
hazards, A = R + E/2 − M E. A and R_{j+1} − M E are divided by, and have to stand clear of their noise. A hazard that
rises adds what it does without late entry, with R_j − R_{j+1} in the place of the first N_j.

Sampling. Given who is at risk at the beginning of an interval, and who enters in it, the counts of those who leave are
multinomial: chances p_m = c_m L (1 − exp(−x))/x of the R_j, and the rest of the c_m among the E_j. A number with the
slopes g along exits gains a_m = g_m − G_{j+1} by an exit of class m, with G_{j+1} the mean slope of the later exits of
who stays. Intervals are uncorrelated (they are increments of a martingale), so the variance is the sum over intervals
of the variances of a_m: for the log of the estimate of Kaplan and Meier this is the formula of Greenwood, with the
records at risk of late entry.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from hedgerow.inference.survival.even_withdrawal import EvenLifeTables, curving, part_of_fall
from hedgerow.inference.survival.life_table import Floats

_LEAST = 1e-9  # what stands for 0 where one divides by a number of records


class LateLifeTables(EvenLifeTables):
    """The life table of each cell, with late entry: see `LifeTables` for its attributes.

    `counts` has K + 1 further columns: the records at risk from the beginning, and those that enter in each interval.

    >>> counts = np.array([[10.0, 16.0, 10.0, 4.0, 100.0, 80.0, 40.0, 20.0]])
    >>> tables = LateLifeTables(counts, (1.0, 2.0), 0.0, "gaussian", False, 0.5)
    >>> tables.at_risk.round(9).tolist(), tables.survival.round(4).tolist()
    ([[80.0, 100.0]], [[0.8976, 0.7667]])
    """

    @property
    def _exits(self) -> int:
        return (self.causes + 1) * self.intervals + 1

    @cached_property
    def _agreeing(self) -> Floats:
        """The projection on counts of which as many enter as leave: float array (classes, classes)."""
        signs = np.where(np.arange(self.counts.shape[1]) < self._exits, 1.0, -1.0)
        return np.asarray(np.eye(len(signs)) - np.outer(signs, signs) / len(signs))

    @cached_property
    def forms_of_events(self) -> Floats:
        """The forms of the D_cj: float array (causes, K, classes)."""
        own = self._agreeing[: self.causes * self.intervals]
        return np.asarray(own.reshape(self.causes, self.intervals, -1))

    @cached_property
    def began(self) -> Floats:
        """The forms of the R_j, and of R_{K+1}: float array (K + 1, classes)."""
        k = self.intervals
        forms = np.zeros((k + 1, self.counts.shape[1]))
        forms[:, : self._exits - 1] = np.tile(-np.tri(k + 1, k, -1), self.causes + 1)
        forms[:, self._exits :] = np.tri(k + 1)
        return np.asarray(forms @ self._agreeing)

    @cached_property
    def forms_of_entered(self) -> Floats:
        """The forms of the E_j: float array (K, classes)."""
        return np.asarray(self._agreeing[self._exits + 1 :])

    @cached_property
    def forms(self) -> tuple[Floats, Floats]:
        """The forms that give (A_j, A_j + E_j/2 − N_j), which are divided by: two arrays (K, classes)."""
        entered = self.forms_of_entered
        later = curving(np.array([self.start, *self.cuts]), self.intervals) @ entered
        return self.began[:-1] + entered / 2.0 - later, self.began[1:] - later

    @cached_property
    def at_risk(self) -> Floats:
        """R_j, the records at risk at the beginning of each interval: float array (cells, K)."""
        return np.asarray(self.counts @ self.began[:-1].T)

    def form_at_risk(self, place: int) -> Floats:
        """Return the form of the number at risk at the beginning, or at a cut."""
        return np.asarray(self.began[place])

    @property
    def records(self) -> Floats:
        """The most records that are at risk in any interval: float array (cells,)."""
        return np.asarray(self.divisors[0].max(axis=1))

    def range_of_records(self, place: int) -> tuple[Floats, Floats]:
        """Return the fewest and the most records without late entry that tell as much as those at risk up to a cut.

        If R are at risk in all intervals, the variance of log S is at least −log S/R; without late entry of n_e records
        it is (1/S − 1)/n_e.
        """
        risk, cautious = self.divisors[0][:, : place + 1], self.cautious_divisors[0][:, : place + 1]
        share = np.clip(self.survival[:, place], _LEAST, 1.0 - _LEAST)
        return cautious.min(axis=1), risk.max(axis=1) * (1.0 / share - 1.0) / -np.log(share)

    def _independent_steps(self, cause: int) -> list[tuple[Floats | float, ...]]:
        forms = [self.forms_of_events[cause], self.forms_of_events.sum(axis=0) - self.forms_of_events[cause]]
        every = np.stack([*forms, *self.forms, self.forms_of_entered], axis=1)
        covariance = every @ np.swapaxes(every, 1, 2)
        roots = self.noise_sd * np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance[0]) * np.eye(5))
        return [tuple(roots[:, :, direction].T) for direction in range(5)]

    def sampled(self, slopes: Floats) -> tuple[Floats, Floats]:
        """Return independent classes that sampling draws: slopes along these (…, classes) and their expected counts."""
        k, kinds = self.intervals, self.causes + 1
        left = np.maximum(self.counts[:, : self._exits - 1], 0.0).reshape(-1, kinds, k)
        fall = (self.counts @ self.forms_of_leaving.T) * self.rates
        present = np.maximum(self.counts @ self.began[:-1].T, 0.0), np.maximum(self.entered, 0.0)
        first = np.clip(present[0] * self.rates * part_of_fall(fall), 0.0, 1.0)[:, None]
        along = slopes[..., : self._exits - 1].reshape(*slopes.shape[:-1], kinds, k)
        later, classes, expected = slopes[..., self._exits - 1], list[Floats](), list[Floats]()
        for j in reversed(range(k)):
            gained = along[..., j] - later[..., None]
            for number, leavers in zip(present, (left * first, left * (1.0 - first)), strict=True):
                who = leavers[:, :, j]
                every = np.maximum(np.maximum(number[:, j], who.sum(axis=1)), _LEAST)
                mean = np.einsum("cnm,cm->cn", gained, who / every[:, None])
                classes += [gained - mean[..., None], -mean[..., None]]
                expected += [who, (every - who.sum(axis=1))[:, None]]
                if number is present[0]:
                    stayed = later + mean
            later = stayed
        return np.concatenate(classes, axis=2), np.concatenate(expected, axis=1)
