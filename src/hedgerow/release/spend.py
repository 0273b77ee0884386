"""The one path on which a budget is spent: check the facts' budget, reach the source, reserve, run, record.

Guarantee: whatever is released (statistics, a table, a score, a model), a price above the whole budget of the facts is
refused; a source that cannot answer is refused before the price is reserved; the price is durable before data are read;
whatever fails later stays spent; the same request under the same id is answered from its record at no further price;
and a result that was paid for is returned even where its record cannot be kept. No product does one of these steps
itself.

Here are also the receipt, which says what the ledger knows of a result, and the opened source, which a table or a
search reads.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar
from uuid import uuid4

from hedgerow.accounting.compose import profile_of
from hedgerow.approval.approval import Approval
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import BudgetExceeded, HedgerowWarning, LedgerError, SpentError
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import Facts, Protection
from hedgerow.facts.validation import check_texts
from hedgerow.interrupts import held_back, price_is_spent
from hedgerow.ledger.bootstrap_statement import BootstrapStatement
from hedgerow.ledger.guarantee import Price
from hedgerow.ledger.ledger_entry import Head, Replay, fingerprint_of
from hedgerow.ledger.open_ledgers import open_again
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate, round_up
from hedgerow.mechanisms.mechanism import Composition, parts_of
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.plan import Plan

# Public facts alone: who reads a log may not be allowed to read the data.
_LOG = logging.getLogger("hedgerow")
_LOG.addHandler(logging.NullHandler())
_UNCOUNTED = "No ledger counts this price against the budget of the facts: other calls may spend it again."


def not_on_record() -> SpentError:
    """Return what is said of a result that was released and could not be kept in the ledger (HG606).

    >>> not_on_record().code
    'HG606'
    """
    return SpentError(
        "HG606",
        rule="The ledger stores each released result beside its price.",
        finding="The ledger contains the price, but the result could not be written to the ledger. So the copy that "
        "was "
        "returned or printed is the only copy of the result.",
        remedy="Keep the result that was returned or printed, repair the disk or the permissions, and run `hedgerow "
        "ledger verify`.",
    )


def receipts() -> tuple[str, ...]:
    """Return the sentences that a result may carry beside its own: that it is not on record, or on no account."""
    return str(not_on_record()), _UNCOUNTED


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the ledger knows of a result.

    Attributes
    ----------
    head : str or None
        The head of the ledger after the result; None without a ledger.
    replayed : bool
        Whether the ledger's record answered.
    unrecorded : bool
        Whether the ledger holds the price alone: the result could not be written there.
    uncounted : bool
        Whether the facts set a budget, and no ledger counts this call against it.
    """

    head: str | None = None
    replayed: bool = False
    unrecorded: bool = False
    uncounted: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What the result must carry with it: where it is not on record, or on no account, that."""
        return ((str(not_on_record()),) if self.unrecorded else ()) + ((_UNCOUNTED,) if self.uncounted else ())


class Receivable:
    """A result that takes a receipt: a frozen dataclass with the fields ``ledger_head``, ``replayed`` and others."""

    __slots__ = ()

    def _noted(self, notes: Sequence[str]) -> Self:
        """Return the result with more notes."""
        result: Any = self
        noted: Self = replace(result, notes=(*result.notes, *notes))
        return noted

    def _received(self, receipt: Receipt) -> Self:
        """Return the result with the receipt of the ledger."""
        noted: Any = self._noted(receipt.notes)
        known: Self = replace(noted, ledger_head=receipt.head, replayed=receipt.replayed, unrecorded=receipt.unrecorded)
        return known


S = TypeVar("S")
T = TypeVar("T")
N = TypeVar("N")


class _Received(Protocol):
    def _received(self, receipt: Receipt, /) -> Self: ...


R = TypeVar("R", bound=_Received)


class Reservation(Protocol):
    """A price that is spent from here on, whatever happens."""

    def record(self, result: str) -> Head | None:
        """Keep the released text beside the entry; return the head of the ledger."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """The request was released before under the same id: its text, at no further price."""

    result: str
    head: str


class Spending(Protocol):
    """The ledger file in which prices are reserved."""

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> Reservation | Answered:
        """Make the price durable, or refuse it with `BudgetExceeded`; nothing was read yet."""
        ...


class NoLedger:
    """No budget is kept: every call carries its own certificate, and their prices add up."""

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> NoLedger:
        """Do nothing."""
        return self

    def record(self, result: str) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class InOpenLedger:
    """Prices are reserved in a ledger that the caller keeps open."""

    ledger: Ledger
    approval: Approval | None = None

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> Reservation | Answered:
        """Reserve under an id, a fresh one where it is None; see `hedgerow.ledger.store.Ledger.reserve`."""
        name = uuid4().hex if request_id is None else request_id
        asked, approval = fingerprint_of(request), self.approval
        reserved = self.ledger.reserve(certificate, request_id=name, fingerprint=asked, approval=approval)
        return Answered(reserved.result, str(reserved.head)) if isinstance(reserved, Replay) else reserved


@dataclass(frozen=True, slots=True)
class InLedger:
    """Prices are reserved in the ledger at a path, which must be there: a mistyped path creates nothing.

    A ledger with approvers takes what the `approval` covers, and nothing else.
    """

    path: Path
    approval: Approval | None = None

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> Reservation | Answered:
        """Reserve under an id; the same request under the same id is answered from what was recorded.

        Raises
        ------
        BudgetExceeded
            HG310: nothing was spent.
        LedgerError
            HG301 to HG312, HG316, HG318: the ledger is missing, damaged, locked, for another guarantee or for a test
            set, or the id was used for another request. HG322, HG324 to HG329: no approval covers the request.
        SpentError
            HG607: the disk failed after the reservation had reached it.
        """
        name, refused = uuid4().hex if request_id is None else request_id, None
        with open_again(self.path) as ledger:
            try:
                reserved = InOpenLedger(ledger, self.approval).reserve(certificate, request, name)
            except LedgerError as failure:
                refused = failure
        if refused is not None:
            # A transaction whose end failed may be on the disk all the same, and is then as good as any other.
            raise _spent_after_all() if refused.code == "HG307" and _holds(self.path, name) else refused
        return reserved if isinstance(reserved, Answered) else _Entry(self.path, name)


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    request_id: str

    def record(self, result: str) -> Head:
        # Opened anew: counting may have taken hours, and a connection must not be held for them.
        with open_again(self.path) as ledger:
            return ledger.record(self.request_id, result)


@dataclass(frozen=True, slots=True)
class Account:
    """Where one call is paid.

    Attributes
    ----------
    total : Budget or None
        The whole budget of the facts: a call that alone costs more is refused. None without such facts.
    ledger : path, Spending or None
        The ledger file in which the price is reserved.
    request_id : str or None
        The caller's id; a fresh one where it is None.
    asking : bool
        Whether nothing may run: a product is only asked for (`OnlyAsked`).
    """

    total: Budget | None
    ledger: str | Path | Spending | None
    request_id: str | None = None
    asking: bool = False

    @classmethod
    def of(cls, facts: Facts | None, ledger: Path | None, request_id: str | None) -> Account:
        """Return the account of a call on data that the facts describe."""
        return cls(None if facts is None else facts.budget, ledger, request_id)

    def spending(self, price: Price) -> Spending:
        """Return where a price is reserved: nowhere without a ledger, and in no file where nothing is to be paid."""
        if self.ledger is not None and not isinstance(self.ledger, (str, Path)):
            return self.ledger
        free = isinstance(price, Certificate) and parts_of(price.mechanism) == ()
        return NoLedger() if self.ledger is None or free else InLedger(Path(self.ledger))


class Requestable(Protocol):
    """What a person may ask for and another person may approve: a product that says what to expect of it."""

    @property
    def price(self) -> Price:
        """What it costs at most."""
        ...

    @property
    def request(self) -> Mapping[str, Any]:
        """What is asked for as plain JSON data."""
        ...

    @property
    def in_words(self) -> tuple[str, ...]:
        """What is asked for, in words."""
        ...

    def expected(self, *, n: int | None = None) -> Sequence[Any]:
        """Return the errors to expect, as dataclasses; none where none are known. Where n is private it is a guess."""
        ...


class OnlyAsked(Exception):
    """Carries a product out of a call that only asks: nothing is reserved or read."""

    def __init__(self, product: Any) -> None:
        super().__init__("a request was made")
        self.product: Requestable = product


class Product(Protocol[S, N, R]):
    """Something that spends: a release, a table, a regression, a search, a look, a calibration.

    A product is made from public facts alone, and reads nothing before `draw`.
    """

    @property
    def price(self) -> Price:
        """What it costs, known before data are read."""
        ...

    @property
    def request(self) -> Mapping[str, Any]:
        """What is asked for as plain JSON data, all of it public: it tells this request from another under one id."""
        ...

    def reading(self) -> AbstractContextManager[S]:
        """Return what is entered before the price is reserved, until all data are read: what it refuses is free."""
        ...

    def draw(self, source: S, noise: NoiseSource) -> N:
        """Read data and draw noise. The only touch of data: from here on the price is spent."""
        ...

    def read(self, noisy: N) -> R:
        """Return the result that the noisy numbers tell. Post-processing."""
        ...

    def write(self, result: R) -> str:
        """Return the text that the ledger keeps."""
        ...

    def from_record(self, text: str) -> R:
        """Return the result that wrote a text."""
        ...


def spend(product: Product[S, N, R], account: Account) -> R:
    """Check, reach the source, reserve, draw, read, record; or answer from the record of the same request and id.

    Parameters
    ----------
    product : Product
        What is asked for.
    account : Account
        Where it is paid.

    Returns
    -------
    result
        With its receipt: the ledger's head, and whether a record answered, or the result could not be recorded.

    Raises
    ------
    ParameterError, BudgetExceeded, LedgerError
        HG211, HG310, HG316, HG318, HG322, HG324 to HG329, HG706 and HG301 to HG312: nothing was read or spent.
    DataError
        As `Product.reading`: nothing was read or spent.
    SpentError
        HG601 to HG603: the price counts as spent.

    Warns
    -----
    HedgerowWarning
        HG606: the result could not be kept in the ledger. It is returned all the same: it was paid for.
    """
    price, request = product.price, product.request
    _check_total(price, account.total)
    check_texts(request, "A text of this request")
    if account.asking:
        raise OnlyAsked(product)
    _log("planned", price)
    with product.reading() as source:
        with held_back():
            reservation = account.spending(price).reserve(price, request, account.request_id)
            if isinstance(reservation, Answered):
                _log("answered from the record", price)
                return product.from_record(reservation.result)._received(Receipt(reservation.head or None, True))
            price_is_spent()
        _log("reserved" if not isinstance(reservation, NoLedger) else "spent without a ledger", price)
        result = whatever_fails_is_spent(lambda: product.read(product.draw(source, SecureNoise())))
    if isinstance(reservation, NoLedger):
        # A record that nobody keeps need not be written.
        return result._received(Receipt(uncounted=account.total is not None and account.ledger is None))
    try:
        with held_back():
            head = reservation.record(product.write(result))
        _log("recorded", price)
        return result._received(Receipt(None if head is None else str(head)))
    except Exception:
        # Its words are dropped: they may quote what was to be written.
        pass
    # Also where a filter makes warnings errors, the result is returned: `unrecorded` says the same.
    with suppress(HedgerowWarning):
        warnings.warn(str(not_on_record()), HedgerowWarning, stacklevel=3)
    return result._received(Receipt(unrecorded=True))


def _log(step: str, price: Price) -> None:
    """Tell the logger ``hedgerow`` how far a release is; a handler that fails must not lose what was paid for."""
    with suppress(Exception):
        _LOG.info("%s: %r", step, price)


def run_unpriced(account: Account, run: Callable[[], T]) -> T:
    """Run what has no price at any ε, outside every ledger; refused where the facts set a budget (HG706)."""
    if account.total is not None:
        raise _over_total(math.inf, account.total)
    return run()


def _check_total(price: Price, total: Budget | None) -> None:
    """Refuse a price that alone exceeds all that may ever be spent (HG706).

    A statement of bootstrap-dp is no part of a budget of differential privacy: its own ledger bounds it.
    """
    if total is None or isinstance(price, BootstrapStatement):
        return
    if price.delta <= total.delta and price.epsilon <= total.epsilon:
        return
    epsilon = profile_of(price.mechanism, price.relation).epsilon_upper(total.delta)
    epsilon = round_up(epsilon) if math.isfinite(epsilon) else epsilon
    if epsilon > total.epsilon:
        raise _over_total(epsilon, total)


def _over_total(epsilon: float, total: Budget) -> BudgetExceeded:
    said = f"ε = {epsilon:.6g}" if math.isfinite(epsilon) else "more than every ε"
    return BudgetExceeded(
        "HG706",
        requested=epsilon,
        remaining=total.epsilon,
        rule="A release must not cost more than the whole budget of the facts.",
        finding=f"It would cost {said} at δ = {total.delta:.3g}, of ε = {total.epsilon:.6g} in all.",
        remedy="Ask for less: a smaller epsilon, or a δ that is not larger than the δ of the budget.",
    )


def price_together(plans: Sequence[Plan], delta: float, further: Sequence[Certificate] = ()) -> float:
    """Return an upper bound on ε at δ of all the releases together: their privacy-loss distributions are composed.

    Infinite where no ε holds at this δ, as for Gaussian noise at δ = 0. `further` are certificates of other releases.
    """
    mechanisms = [*(certificate.mechanism for certificate in further), *(plan.mechanism for plan in plans)]
    parts = [part for mechanism in mechanisms for part in parts_of(mechanism)]
    if not parts:
        return 0.0
    together = parts[0] if len(parts) == 1 else Composition(tuple(parts))
    relation = plans[0].facts.relation if plans else further[0].relation
    return round_up(profile_of(together, relation).epsilon_upper(delta))


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
            rule="If a release fails after its price was reserved, the price stays spent.",
            finding="The data source could not be read to the end, or a later step of the release failed.",
            remedy="Count the price of this call as spent, repair the source, and try again.",
        )
    # Raised outside the handlers: inside them __context__ would carry the cause, which may quote a cell.
    raise failure


def _holds(path: Path, name: str) -> bool:
    try:
        with Ledger.open(path) as ledger:
            return any(entry.request_id == name for entry in ledger.entries())
    except LedgerError:
        # It could be read a moment ago. Now nobody can say, so it counts as spent.
        return True


def _spent_after_all() -> SpentError:
    return SpentError(
        "HG607",
        rule="A reservation that has reached the disk is spent.",
        finding="The disk failed during the reservation. The entry of this request is in the ledger, or the ledger "
        "can no longer be read. No data were read.",
        remedy="Count the price of this call as spent, and repair the disk before the next release.",
    )


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """An opened source with its public facts.

    Attributes
    ----------
    source : ColumnSource
        The engine that counts the data.
    protection : Protection
        Relation, unit and target in force.
    facts : Facts or None
        The declared facts about the source.
    n : int or None
        The number of units, under replace-one.
    ledger : Path, Spending or None
        The ledger file in which prices are reserved.
    backend : str or None
        The caller's own frame library.
    identity : str
        What identifies the source: a path, a URL without its password, or the identity of a frame.
    asking : bool
        Whether calls are only asked for, as of an `Account`.
    """

    source: ColumnSource
    protection: Protection
    facts: Facts | None
    n: int | None
    ledger: Path | Spending | None
    backend: str | None
    identity: str = ""
    asking: bool = False

    @property
    def about(self) -> dict[str, Any]:
        """What the facts say of the publisher and the purpose; empty without facts."""
        return {} if self.facts is None else dict(self.facts.about)

    def account(self, request_id: str | None) -> Account:
        """Return where a call on this source is paid."""
        return Account(None if self.facts is None else self.facts.budget, self.ledger, request_id, self.asking)
