"""The log-rank test between cells from noisy counts: whether events come as often, at every time, in all of them.

In interval j let r_gj be the records at risk in cell g, D_gj its events, and r_j, D_j their sums over cells. If the
cells are alike, U_g = Σ_j (D_gj − D_j r_gj/r_j) has mean 0 and the covariances

    V_gh = Σ_j v_j · r_gj/r_j · (1[g = h] − r_hj/r_j),   v_j = D_j (r_j − D_j)/(r_j − 1)        (Mantel 1966)

from sampling. If records leave evenly, r_gj is the time at risk 1/L_gj, in widths of the interval, and v_j = D_j:
events come at one rate per time at risk. The noise on the counts adds its own covariance: U is a function of them with
known slopes. Noise in a quotient also moves its mean, by a second-order term that is known and taken off.
Q = U'(V + W)⁻¹U over all cells but one is χ² with (cells − 1) degrees of freedom. Without W the noise looks like a
difference between cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.inference.survival.life_table import LifeTables


@dataclass(frozen=True, slots=True)
class LogRank:
    """The result of a log-rank test, which compares survival curves.

    Attributes
    ----------
    statistic : float
        The test statistic Q, which includes the noise; without noise Q is the usual log-rank statistic.
    df : int
        The degrees of freedom.
    pvalue : float
        The p-value: the probability that a test statistic is at least as large as `statistic`, if events are equally
        frequent in all cells.
    until : float
        The last time at which every cell has enough records at risk; the test compares the curves up to this time.
    observed : tuple of float
        The noisy number of events of each cell up to the time `until`.
    expected : tuple of float
        The number of events of each cell that is expected if all curves are equal.
    """

    statistic: float
    df: int
    pvalue: float
    until: float
    observed: tuple[float, ...]
    expected: tuple[float, ...]

    def __str__(self) -> str:
        return (
            f"Log-rank test up to {self.until:.15g}: Q = {self.statistic:.3g} on {self.df} degrees of freedom, "
            f"p = {self.pvalue:.3g} (sampling and privacy noise counted)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "statistic": self.statistic,
            "df": self.df,
            "pvalue": self.pvalue,
            "until": self.until,
            "observed": list(self.observed),
            "expected": list(self.expected),
        }


def log_rank(tables: LifeTables) -> LogRank | None:
    """Return the test that survival is the same in all cells; None where no interval can be read in all of them.

    >>> counts = np.array([[30.0, 40.0, 0.0, 0.0, 30.0], [10.0, 15.0, 0.0, 0.0, 75.0]])
    >>> print(log_rank(LifeTables(counts, (1.0, 2.0), 3.0, "gaussian", False, 0.5)))
    Log-rank test up to 2: Q = 29.5 on 1 degrees of freedom, p = 5.69e-08 (sampling and privacy noise counted).
    """
    from hedgerow.special import chdtrc

    used = int(tables.exposed_clear.all(axis=0).sum())
    cells = len(tables.counts)
    if not used or cells < 2:
        return None
    exposed, events = tables.exposed[:, :used], tables.events[:, :used]
    total, all_events = exposed.sum(axis=0), events.sum(axis=0)
    share, rate = exposed / total, all_events / total
    expected = (all_events * share).sum(axis=1)
    # Slopes of U_g along the counts of cell h: (g, h, j, classes).
    of_events, of_exposed = tables.forms_of_events.sum(axis=0)[:used], tables.slopes_of_exposed[:, :used]
    own = np.eye(cells)[:, :, None] - share[:, None]
    slopes = own[..., None] * of_events - (own * rate)[..., None] * of_exposed
    # The noise that D, r and Σ r have in common moves the mean of D r/Σ r.
    common = tables.noise_sd**2 * (of_exposed * of_events).sum(axis=2) - rate * tables.noise(of_exposed)
    shift = (common - share * common.sum(axis=0)) / total
    moved = events.sum(axis=1) - expected + shift.sum(axis=1)
    spread = tables.spread_of_events(total, all_events) * share
    sampling = np.diag(spread.sum(axis=1)) - spread @ share.T
    by_counts = slopes.sum(axis=2).reshape(cells, -1)
    covariance = (0.0 if tables.census else sampling) + tables.noise_sd**2 * by_counts @ by_counts.T
    inner = slice(0, cells - 1)
    statistic = float(moved[inner] @ np.linalg.solve(covariance[inner, inner], moved[inner]))
    pvalue = float(chdtrc(cells - 1, max(statistic, 0.0)))
    observed = tuple(events.sum(axis=1).tolist())
    return LogRank(statistic, cells - 1, pvalue, tables.cuts[used - 1], observed, tuple(expected.tolist()))
