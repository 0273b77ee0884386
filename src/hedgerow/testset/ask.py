"""One look: refuse what is not left, reserve, read, draw, record. The one order, whatever holds the test set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from hedgerow.errors import BudgetExceeded
from hedgerow.ledger.request import checked_text
from hedgerow.noise.source import NoiseSource
from hedgerow.release.spend import Account, spend
from hedgerow.resampling.histogram import Histogram
from hedgerow.testset.distinct import best_of, distinguishable
from hedgerow.testset.looks import Looks, Past
from hedgerow.testset.mechanisms.mechanism import Answer, Question
from hedgerow.testset.mechanisms.thresholdout import ThresholdoutLook
from hedgerow.testset.score import Score, replayed, score_from_record
from hedgerow.testset.settings import Settings


def ask(
    settings: Settings,
    looks: Looks,
    read: Callable[[], Histogram],
    told: Mapping[str, Any],
    noise: NoiseSource,
    *,
    request_id: str | None,
    training: float | None = None,
) -> Score:
    """Take one look, or answer from the record of the same request under the same id.

    Parameters
    ----------
    settings, looks
        What is asked, and where it is counted.
    read : callable
        Returns the losses as a histogram; called once the look is paid.
    told : mapping
        What tells this request from another, as plain JSON data.
    noise : NoiseSource
        Where noise comes from; what is drawn from a seed has no certificate.
    request_id : str or None
        The caller's id.
    training : float, optional
        The score on the training set, for `thresholdout`.

    Raises
    ------
    BudgetExceeded
        HG430: no looks, or no answers, are left.
    ParameterError
        HG314: the id is no text of a sensible size.
    LedgerError, SpentError
        As `hedgerow.release.spend.spend`.
    """
    # What is no name is refused here: a look would be reserved under its text, and not found again.
    name = uuid4().hex if request_id is None else checked_text("request_id", request_id)
    with looks.turn():
        return _taken(settings, looks, read, told, noise, name, training)


def _taken(
    settings: Settings,
    looks: Looks,
    read: Callable[[], Histogram],
    told: Mapping[str, Any],
    noise: NoiseSource,
    name: str,
    training: float | None,
) -> Score:
    before = looks.past()
    if name not in before.ids:
        _require_left(settings, before)
    price = settings.certificate(paid=not (settings.mechanism.once and before.used))

    def run() -> Score:
        # Read again: what others have reserved meanwhile counts as answered.
        now = looks.past()
        question = Question(read(), training, looks.secret.threshold_noise, now.answered(but=name))
        answer = settings.mechanism.answer(question, noise)
        return _score(settings, now, answer, name, price if noise.secure else None)

    request = {"a look": settings.metric.name, "training": training, **told}
    # The budget of a test set is that of its looks, which count them.
    account = Account(None, looks, name)
    spent = spend(account, price, request, run=run, write=lambda score: score.to_json(), read=score_from_record)
    return replayed(spent.value, spent.head, spent.replayed, unrecorded=spent.unrecorded)


def _score(settings: Settings, past: Past, answer: Answer, name: str, certificate: Any) -> Score:
    place = past.ids.index(name)
    earlier = tuple(past.scores[one] for one in past.ids[:place] if one in past.scores)
    best = best_of(earlier)
    alone = Score(
        estimate=answer.estimate,
        metric=settings.metric.name,
        greater_is_better=settings.metric.greater_is_better,
        look=place + 1,
        n_looks=settings.conditions.n_looks,
        best=None if best is None else best.value,
        best_look=None if best is None else best.look,
        distinguishable=None,
        paid=answer.paid,
        request_id=name,
        certificate=certificate,
    )
    return alone if best is None else alone.compared(distinguishable(alone, best))


def _require_left(settings: Settings, past: Past) -> None:
    looks, mechanism = settings.conditions.n_looks, settings.mechanism
    if past.used >= looks:
        raise _out(f"All {looks:,} looks are used up.")
    if isinstance(mechanism, ThresholdoutLook) and past.answered() >= mechanism.answers:
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
