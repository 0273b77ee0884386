r"""The price of a smoothed resample: a pair of three outcomes that says more than a draw does, folded over the draws.

Tell the attacker more than is released: whether a draw hit one of the n − 1 records that neighbours share (and which),
or one of the rest, the 2a made-up outcomes and the record that differs. Then neighbours differ in this alone:

==========================  ====================  ==================
outcome of one draw         record succeeds (P)   record fails (Q)
==========================  ====================  ==================
a success among the rest    (a + 1)/(n + 2a)      a/(n + 2a)
a failure among the rest    a/(n + 2a)            (a + 1)/(n + 2a)
a shared record             (n − 1)/(n + 2a)      (n − 1)/(n + 2a)
==========================  ====================  ==================

What is released is had from this by forgetting, so it costs no more, whatever the shared records say and however many
draws and looks follow one another. The loss takes three values on a grid of step ln((a + 1)/a) and is folded on that
grid, without rounding. At δ = 0 it is draws·ln((a + 1)/a), which is attained; for δ > 0 the bound is that of an
attacker who sees a little more than is released.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve, LossGrid
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.resample import SmoothedResample

_ROUNDING = 1e-15


@lru_cache(maxsize=64)
def smoothed_curve(mechanism: SmoothedResample, relation: Relation, *, looks: int = 1) -> Curve:
    """Return an upper bound on the privacy curve of `looks` independent smoothed resamples.

    Parameters
    ----------
    mechanism, relation
        One look, and who is protected.
    looks : int
        How many looks of the same size follow one another.

    Raises
    ------
    UncertifiedError
        HG401: under add-remove, where the number of draws would show the number of records.

    Examples
    --------
    >>> curve = smoothed_curve(SmoothedResample(n=1000, fake=500, draws=100), Relation.REPLACE_ONE)
    >>> round(curve.epsilon_upper(1e-6), 3)
    0.049
    """
    if relation is not Relation.REPLACE_ONE:
        raise UncertifiedError(
            "HG401",
            rule="A resample is priced under replace-one, where the number of records is public.",
            finding="Found add-remove.",
            remedy="Use the Gaussian or the Laplace mechanism.",
        )
    n, fake, draws = mechanism.n, mechanism.fake, mechanism.draws * looks
    mass = np.array([fake, n - 1, fake + 1]) / (n + 2 * fake)
    grid = LossGrid(-1, mechanism.loss, mass, 0.0)
    return Curve(mechanism.loss, composed_curve([(grid, draws)], relative=_ROUNDING * max(draws, math.e)))
