"""A test set whose looks are counted. Each look is refused if none is left, then reserved, read, drawn and recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import BudgetExceeded
from hedgerow.ledger.request import checked_text
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import Single
from hedgerow.noise.secure import SecureNoise
from hedgerow.noise.source import NoiseSource
from hedgerow.release.spend import Account, spend
from hedgerow.resampling.histogram import Histogram
from hedgerow.testset.adaptive.interval import for_fitted_model
from hedgerow.testset.distinct import distinguishable
from hedgerow.testset.from_file import Source
from hedgerow.testset.looks import Past
from hedgerow.testset.mechanisms.choose import Compared, compare
from hedgerow.testset.mechanisms.mechanism import Drawn, Question
from hedgerow.testset.score import Best, Score, drawn_record, score_from_record
from hedgerow.testset.settings import Settings

Rows = NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class _LookProduct:
    """A look as what spends; the noise is the test set's own."""

    price: Certificate
    request: Mapping[str, Any]
    labels: AbstractContextManager[Any]
    scored: Callable[[Any], Score]

    def reading(self) -> AbstractContextManager[Any]:
        return self.labels

    def draw(self, source: Any, noise: NoiseSource) -> Score:
        return self.scored(source)

    def read(self, noisy: Score) -> Score:
        return noisy

    def write(self, result: Score) -> str:
        return result.to_json()

    def from_record(self, text: str) -> Score:
        return score_from_record(text)


class CountedTestSet:
    """What test sets of arrays and of files share: settings, looks that are counted, and the steps of one look.

    Attributes
    ----------
    settings : Settings
        Conditions, metric and mechanism.
    """

    # Test runners collect classes whose names begin so.
    __test__ = False

    def __init__(self, source: Source) -> None:
        self._source, self.settings, self._looks = source, source.settings, source.looks
        self._noise: NoiseSource = SecureNoise()

    @property
    def remaining(self) -> int:
        """How many looks are left."""
        return max(0, self.settings.conditions.n_looks - self._looks.past().used)

    @property
    def history(self) -> tuple[Score, ...]:
        """The scores of all looks that were recorded, in order."""
        return self._looks.past().in_order

    @property
    def minimum_detectable_difference(self) -> float | None:
        """Which difference of two expected scores is found distinguishable with probability .8; None without n."""
        return self.settings.minimum_detectable_difference

    @cached_property
    def comparison(self) -> tuple[Compared, ...]:
        """All mechanisms at this budget, the best first; see `hedgerow.testset.mechanisms.choose.compare`."""
        return compare(self.settings.conditions, self.settings.options)

    def close(self) -> None:
        """Close the ledger; using the test set again opens it again."""
        self._looks.close()

    def _take_look(
        self,
        take: Callable[[Past, str, Any], Score],
        request: Mapping[str, Any],
        request_id: str | None,
        reading: AbstractContextManager[Any],
        described: Single | None = None,
    ) -> Score:
        """Take one look, or answer from the record of the same request under the same id.

        Parameters
        ----------
        take : callable
            Reads the labels, draws, and returns the score; called once the look is paid, with all looks so far, the
            name of this one, and what `reading` yields.
        request : mapping
            What tells this request from others, as plain JSON data.
        request_id : str or None
            The caller's id.
        reading : context manager
            As of `hedgerow.release.spend.Product.reading`: entered before the look is taken.
        described : Single, optional
            What is drawn, if it is not the mechanism of a plain look.

        Raises
        ------
        BudgetExceeded
            HG430: no looks, or no answers, are left.
        ParameterError
            HG314: the id is no text of a sensible size.
        LedgerError, SpentError
            As `hedgerow.release.spend.spend`.
        """
        # Checked here: an invalid id would be stored as another text, and not be found again.
        name = uuid4().hex if request_id is None else checked_text("request_id", request_id)
        settings, looks = self.settings, self._looks
        with looks.turn():
            before = looks.past()
            if name not in before.ids:
                _require_left(settings, before)
            first = not before.used or name == before.ids[0]  # also where that look is resumed
            price = settings.certificate(paid=first or not settings.mechanism.once, described=described)

            def scored(labels: Any) -> Score:
                # Read again: what others have reserved meanwhile counts as answered.
                certificate = price if self._noise.secure else None
                return replace(take(looks.past(), name, labels), request_id=name, certificate=certificate)

            # The budget of a test set is that of its looks, which count them.
            asked = {"a look": settings.metric.name, **request}
            return spend(_LookProduct(price, asked, reading, scored), Account(None, looks, name))

    def _draw(self, read: Callable[[Rows], Histogram], now: Past, name: str, training: float | None = None) -> Drawn:
        mechanism, secret = self.settings.mechanism, self._looks.secret
        rows = mechanism.rows(secret.key, now.ids.index(name))
        question = Question(read(rows), training, secret.threshold_noise, now.answered(but=name))
        return mechanism.draw(question, self._noise)


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


def _require_left(settings: Settings, past: Past) -> None:
    looks, mechanism = settings.conditions.n_looks, settings.mechanism
    if past.used >= looks:
        raise _out(f"All {looks:,} looks are used up.")
    if mechanism.answers is not None and past.answered() >= mechanism.answers:
        raise _out(f"All {mechanism.answers:,} answers that disagree with the training score are used up.")


def _out(finding: str) -> BudgetExceeded:
    return BudgetExceeded(
        "HG430",
        requested=1.0,
        remaining=0.0,
        rule="A test set is looked at as often as was declared, and not once more.",
        finding=finding,
        remedy="Earlier scores are still in `history` (`hedgerow testset show`). For new models take new test records, "
        "with a ledger of their own; compare candidates on a validation set first.",
    )
