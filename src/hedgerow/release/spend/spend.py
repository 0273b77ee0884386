"""Reserve, run, record: the one order in which anything is spent, whatever is released.

A release, a protected table, a score and a calibrated model differ in what they run and in the text that they leave in
a ledger; that the price is durable before data are read, that whatever fails later stays spent, that the same request
under the same id is answered from its record, and that what was paid for is handed over even where its record cannot be
kept, is said here once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hedgerow.errors import HedgerowWarning, SpentError
from hedgerow.facts.given import check_texts
from hedgerow.interrupts import held_back, price_is_spent
from hedgerow.ledger.guarantee import Price
from hedgerow.release.spend.reservation import Answered, Spending

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spent(Generic[T]):
    """What was released, and what the ledger knows of it.

    Attributes
    ----------
    value
        What was released.
    head : str or None
        The head of the ledger after it; None without one.
    replayed : bool
        Whether its record answered.
    unrecorded : bool
        Whether the ledger holds its price alone: the result could not be written there.
    """

    value: T
    head: str | None
    replayed: bool
    unrecorded: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What the result must carry with it: where it is not on record, that."""
        return (str(not_on_record()),) if self.unrecorded else ()


def spend(
    spending: Spending,
    certificate: Price,
    request: Mapping[str, Any],
    *,
    request_id: str | None,
    run: Callable[[], T],
    write: Callable[[T], str],
    read: Callable[[str], T],
) -> Spent[T]:
    """Reserve the price, run, record what came out; or answer from the record of the same request under the same id.

    Parameters
    ----------
    spending : Spending
        `InLedger` or `NoLedger`, see `hedgerow.release.spend.reservation.spending_in`.
    certificate : Certificate or BootstrapStatement
        The price, made from public facts.
    request : mapping
        What is asked for as plain JSON data, all of it public: it tells this request from another under the same id.
    request_id : str or None
        The caller's id; a fresh one where it is None.
    run : callable
        Reads data and draws noise. From here on the price is spent.
    write, read : callable
        From what was released to the text that the ledger keeps, and back.

    Raises
    ------
    ParameterError, BudgetExceeded, LedgerError
        HG211, HG310, HG316 and HG301 to HG312: nothing was read or spent.
    SpentError
        HG601 to HG603: the price counts as spent.

    Warns
    -----
    HedgerowWarning
        HG606: the result could not be kept in the ledger. It is returned all the same: it was paid for.
    """
    check_texts(request, "A text of this request")
    with held_back():
        reservation = spending.reserve(certificate, request, request_id)
        if isinstance(reservation, Answered):
            return Spent(read(reservation.result), reservation.head, True)
        price_is_spent()
    value = whatever_fails_is_spent(run)
    try:
        with held_back():
            return Spent(value, reservation.record(write(value)), False)
    except Exception:
        # Its words are dropped: they may quote what was to be written.
        pass
    # Also where a filter makes warnings errors, the result is returned: `unrecorded` says the same.
    with suppress(HedgerowWarning):
        warnings.warn(str(not_on_record()), HedgerowWarning, stacklevel=3)
    return Spent(value, None, False, unrecorded=True)


def not_on_record() -> SpentError:
    """Return what is said of a result that was released and could not be kept in the ledger (HG606).

    >>> not_on_record().code
    'HG606'
    """
    return SpentError(
        "HG606",
        rule="What was released is kept in the ledger, beside its price.",
        finding="The price is there, but the result could not be written: it is here only, and cannot be shown again.",
        remedy="Keep this result, mend the disk or the permissions, and see `hedgerow ledger verify`.",
    )


def whatever_fails_is_spent(run: Callable[[], T]) -> T:
    """Return what `run` returns; whatever it raises becomes a `SpentError` of fixed text, without its cause.

    Raises
    ------
    SpentError
        HG601 for any failure; one that `run` raises itself keeps its code and text.

    Examples
    --------
    >>> whatever_fails_is_spent(lambda: 6 * 7)
    42
    """
    try:
        return run()
    except SpentError as fixed:
        failure = SpentError(fixed.code, rule=fixed.rule, finding=fixed.finding, remedy=fixed.remedy)
    except Exception:
        failure = SpentError(
            "HG601",
            rule="A release that fails after its price was reserved stays spent.",
            finding="The source could not be read to the end, or a later step failed.",
            remedy="Count the price of this call as spent, mend the source, and try again.",
        )
    # Raised outside the handlers: inside them __context__ would carry the cause, which may quote a cell.
    raise failure
