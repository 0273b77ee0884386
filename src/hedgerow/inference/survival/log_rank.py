"""The log-rank test between cells from noisy counts: whether events come as often, at every time, in all of them.

In interval j let r_gj be the records at risk in cell g, D_gj its events, and r_j, D_j their sums over cells. If the
cells are alike, U_g = Σ_j (D_gj − D_j r_gj/r_j) has mean 0 and the covariances

    V_gh = Σ_j D_j (r_j − D_j)/(r_j − 1) · r_gj/r_j · (1[g = h] − r_hj/r_j)        (Mantel 1966)

from sampling. The noise on the counts adds its own: U is a function of them with known slopes. Noise in a quotient also
moves its mean, by a second-order term that is known and taken off. Q = U'(V + W)⁻¹U over all cells but one is χ² with
(cells − 1) degrees of freedom. Without W the noise looks like a difference between cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.inference.survival.life_table import Floats, LifeTables


@dataclass(frozen=True, slots=True)
class LogRank:
    """The result of a log-rank test, which compares survival curves.

    Attributes
    ----------
    statistic : float
        The test statistic Q, which includes the noise; without noise it is the usual log-rank statistic.
    df : int
        The degrees of freedom.
    pvalue : float
        The probability of a statistic at least as large if events are equally frequent in all cells.
    until : float
        The last time at which every cell has enough records at risk; the test compares the curves up to this time.
    observed, expected : tuple of float
        The noisy number of events of each cell up to the time `until`, and the number that is expected if all curves
        are equal.
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

    used = int(tables.observed.all(axis=0).sum())
    cells = len(tables.counts)
    if not used or cells < 2:
        return None
    risk = tables.forms_at_risk[:used]
    at_risk, events = tables.exposed[:, :used], tables.events[:, :used]
    total, all_events = at_risk.sum(axis=0), events.sum(axis=0)
    share = at_risk / total
    expected = (all_events * share).sum(axis=1)
    # E[D r/R] is moved by the noise that the three have in common.
    shift = (1.0 - cells * share) / total * (tables.noise_sd**2 - all_events / total * tables.noise(risk))
    moved = events.sum(axis=1) - expected + shift.sum(axis=1)
    spread = all_events * np.maximum(total - all_events, 0.0) / np.maximum(total - 1.0, 1.0)
    sampling = np.diag((spread * share).sum(axis=1)) - np.einsum("j,gj,hj->gh", spread, share, share)
    covariance = (0.0 if tables.census else sampling) + noise_of_scores(tables, used)
    inner = slice(0, cells - 1)
    statistic = float(moved[inner] @ np.linalg.solve(covariance[inner, inner], moved[inner]))
    pvalue = float(chdtrc(cells - 1, max(statistic, 0.0)))
    observed = tuple(events.sum(axis=1).tolist())
    return LogRank(statistic, cells - 1, pvalue, tables.cuts[used - 1], observed, tuple(expected.tolist()))


def noise_of_scores(tables: LifeTables, used: int) -> Floats:
    """Return the covariance of the noise on U over the first intervals: float array (cells, cells)."""
    risk = tables.forms_at_risk[:used]
    at_risk, events = tables.exposed[:, :used], tables.events[:, :used]
    total, all_events = at_risk.sum(axis=0), events.sum(axis=0)
    same = np.eye(len(events))[:, :, None]
    # Slopes of U_g along D_hj and along r_hj: (g, h, j).
    of_events = same - (at_risk / total)[:, None, :]
    of_risk = (all_events * at_risk / np.square(total))[:, None, :] - same * all_events / total
    slopes = of_risk @ risk
    slopes += of_events @ tables.forms_of_events.sum(axis=0)[:used]
    flat = slopes.reshape(len(events), -1)
    return np.asarray(tables.noise_sd**2 * flat @ flat.T)
