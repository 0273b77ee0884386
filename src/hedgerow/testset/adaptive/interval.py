"""The interval of a score whose model may be fitted to the earlier answers: proven, from public facts. Post-processing.

Sampling has a share of the probability to err, with what the earlier answers tell of the records (`bounds`); the noise
of this look, which nothing earlier tells of, has the rest. The share that gives the least half-width at a score in the
middle is taken, so it does not depend on the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score import SingleTest
from hedgerow.testset.adaptive.bounds import chernoff, share_of_sampling, tail_exponent
from hedgerow.testset.mechanisms.mechanism import Answer, LookMechanism

COVERS_FITTED = "the expected score on new records, also of a model fitted to the earlier answers (proven)"
_NONE = "all scores that there can be: no narrower interval is proven for a model fitted to answers"
_SAMPLING = 0.8  # of the probability to err, where n is private: what is best would depend on n
METHOD = "mutual-information"


@dataclass(frozen=True, slots=True)
class FittedModel(SingleTest):
    """What the interval of a fitted model is computed from.

    Attributes
    ----------
    value : float
        The answer.
    mechanism : LookMechanism
    earlier : int
        How many answers were given before.
    paid : bool
        Whether the test set answered.
    sums : (float, float) or None
        As of an `Answer`.
    """

    value: float
    mechanism: LookMechanism
    earlier: int
    paid: bool = True
    sums: tuple[float, float] | None = None

    method: ClassVar[str] = METHOD

    @property
    def low(self) -> float:
        """The least possible score."""
        return self.mechanism.conditions.grid.as_bounds()[0]

    @property
    def high(self) -> float:
        """The largest possible score."""
        return self.mechanism.conditions.grid.as_bounds()[1]

    @property
    def proven(self) -> bool:
        """Whether a bound narrower than the range is known."""
        known = self.mechanism.conditions.n is not None or self.sums is not None
        return known and math.isfinite(self.mechanism.of_one_record() if self.sums else self._information)

    @property
    def _information(self) -> float:
        return self.mechanism.information(self.earlier)

    def accepted(self, level: float) -> tuple[float, float]:
        """Return the scores that are not excluded at a level, cut to what is possible."""
        n, wide, margin = self.mechanism.records_a_look, self.high - self.low, self.mechanism.conditions.grid.rounding
        if not self.proven:
            return self.low, self.high
        if n is None:
            low, high = self._of_private_n(1.0 - level)
            return max(self.low, self.low + low * wide - margin), min(self.high, self.low + high * wide + margin)
        beta, information = 1.0 - level, self._information
        spread = partial(self.mechanism.spread, paid=self.paid)
        share = share_of_sampling(information, n, spread, beta)
        exponent, noise = tail_exponent(information, share * beta), spread((1.0 - share) * beta)
        place = (self.value - self.low) / wide
        low, _ = chernoff(min(1.0, max(0.0, place - noise)), n, exponent)
        _, high = chernoff(max(0.0, min(1.0, place + noise)), n, exponent)
        return max(self.low, self.low + low * wide - margin), min(self.high, self.low + high * wide + margin)

    def _of_private_n(self, beta: float) -> tuple[float, float]:
        """Return the ends, in [0, 1], for the least and the most records that the noise leaves possible."""
        count, total = self.sums or (0.0, 0.0)
        around, along = self.mechanism.spread_of_sums((1.0 - _SAMPLING) * beta)
        least, most = count - around, count + around
        if not least >= 1.0:
            return 0.0, 1.0
        exponent = tail_exponent(self.earlier * most * self.mechanism.of_one_record(), _SAMPLING * beta)
        ends = [(1.0 + (total + way * along) / n) / 2.0 for way in (-1.0, 1.0) for n in (least, most)]
        low, high = (min(1.0, max(0.0, one)) for one in (min(ends), max(ends)))
        return chernoff(low, least, exponent)[0], chernoff(high, least, exponent)[1]


def for_fitted_model(answer: Answer, mechanism: LookMechanism, earlier: int) -> Estimate:
    """Return the estimate of a look with the interval that holds for a model fitted to `earlier` answers."""
    estimate = answer.estimate
    fitted = FittedModel(estimate.estimate, mechanism, earlier, answer.paid, answer.sums)
    return replace(estimate, region=ScoreRegion(fitted), covers=COVERS_FITTED if fitted.proven else _NONE)
