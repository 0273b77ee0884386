"""A ledger: one SQLite file a data set, in which every price is reserved, durably, before data are read.

Guarantee: whatever processes, threads, crashes, power cuts and forks do, the entries of the file never cost more
together than its budget, a price that was reserved stays spent, and a result that was recorded is returned unchanged.

Not guarded against: whoever may write the file may also put an old copy back. `Ledger.verify` detects that only when it
is given a head that was printed later; so print the head on every report and keep the reports.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hedgerow.approval.approval import Approval
from hedgerow.approval.keys import Approver
from hedgerow.canonical import digest
from hedgerow.clock import now
from hedgerow.errors import LedgerError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.ledger.approved import check_approvals, checked_people, require_now, require_signatures, with_approval
from hedgerow.ledger.chain import (
    LEAST_LINKS,
    CachedTotal,
    Chain,
    Checkpoint,
    Header,
    broken,
    check_head,
    check_seen,
    check_totals,
    read_header,
    read_links,
    record_of,
    reserve_body,
    save,
    stored_entries,
    stored_result,
    write_link,
)
from hedgerow.ledger.file import LedgerFile, new_file, taking_turns
from hedgerow.ledger.guarantee import Noise, Price, Total, guarantee_of_ledger, priced, with_one_more
from hedgerow.ledger.ledger_entry import (
    Head,
    LedgerEntry,
    Mark,
    Replay,
    checked_budget,
    checked_family,
    checked_request,
    checked_result,
    checked_text,
    checked_unit,
    for_test_set,
    is_look,
    never_recorded,
    not_kept,
    nothing_reserved,
    other_request,
    other_result,
    over_budget,
    unverified,
)
from hedgerow.ledger.total import RunningTotal

_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Reserved:
    """A price that is spent from here on; hand the released text to `record`."""

    ledger: Ledger
    request_id: str
    head: Head

    def record(self, result: str) -> Head:
        """Keep the released text beside the entry; see `Ledger.record`."""
        return self.ledger.record(self.request_id, result)


class Ledger:
    """A ledger: the file that records how much privacy budget was spent on one data set.

    `Ledger.create` makes a ledger, and `Ledger.open` opens one.

    The total price of all entries never exceeds the budget. The module `hedgerow.ledger.total` computes the total price
    from the mechanisms of the entries. The total price is ε at the δ of the ledger, rounded up to 1e-6.

    Examples
    --------
    >>> import tempfile
    >>> from hedgerow.mechanisms.certificate import certify
    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> price = certify(GeometricCounts(2.5, 1), Relation.ADD_REMOVE, unit="row", delta=0.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "survey.ledger")
    ...     ledger = Ledger.create(path, dataset="survey", budget=Budget(1.0, 0.0), relation="add-remove", unit="row")
    ...     reserved = ledger.reserve(price, request_id="a", fingerprint="count")
    ...     head = reserved.record('{"count": 41}')
    ...     again = Ledger.open(path).reserve(price, request_id="a", fingerprint="count")
    ...     print(again.result, ledger.remaining(), ledger.verify().counter)
    ...     ledger.close()
    {"count": 41} 0.599999 2
    """

    def __init__(self, file: LedgerFile) -> None:
        self._file = file
        self._chain: Chain | None = None
        self._totals = CachedTotal()
        self._seen = (0, 0)
        self._kept: Head | None = None  # where the checkpoint stands that this object left or found
        try:
            with self._file.transaction(write=False) as connection:
                self._header = self._read(connection).header
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        dataset: str,
        budget: Budget,
        relation: str,
        unit: object,
        family: Literal["any", "gaussian"] = "any",
        guarantee: Literal["dp", "bootstrap-dp"] = "dp",
        approvers: Sequence[Approver] = (),
        signatures: int = 1,
        timeout: float = _TIMEOUT,
    ) -> Ledger:
        """Make a new ledger in which nothing is spent, and return the ledger.

        Parameters
        ----------
        path : str or Path
            The path of the new ledger file. No file may exist at this path.
        dataset : str
            The name that the custodian (the person who keeps the data) gives to the data set. The budget belongs to
            this name of a data set, not to the name or the content of a file.
        budget : Budget
            The privacy budget, ε at δ, for everything that is ever released. If δ = 0, every mechanism must have δ = 0.
        relation : str
        unit : "row", or a column and a limit of rows as `hedgerow.open` takes them
            The neighbouring relation and the privacy unit: how two neighbouring data sets differ. Requests under
            another relation or unit are refused. The unit may be a text, such as ``"person_id, at most 4 rows"``.
        family : {"any", "gaussian"}
            ``"gaussian"``: the ledger accepts only requests with Gaussian noise. The total price of Gaussian noise
            holds even if earlier answers decide how large later noise is (see `hedgerow.ledger.total`).
        guarantee : {"dp", "bootstrap-dp"}
            The privacy guarantee of the ledger. Requests under another guarantee are refused (HG316).
        approvers : sequence of Approver
            The people who may approve requests. If approvers are named, the ledger takes only signed requests (HG324).
        signatures : int
            The number of approvers who must sign each request.
        timeout : float
            How many seconds to wait for another process that writes to the ledger.

        Returns
        -------
        Ledger
            The new, open ledger, in which nothing is spent.

        Raises
        ------
        LedgerError
            HG302: a file exists already, or the folder is missing or cannot be written.
        ParameterError
            HG103, HG115, HG314: the relation, unit, budget, name, family or guarantee is invalid. HG331: an approver is
            named twice in the list of approvers. HG332: there are fewer approvers than signatures.
        UncertifiedError
            HG402: the limit of rows of one unit is too large.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> path, budget = Path(mkdtemp(), "survey.ledger"), Budget(1.0, 1e-6)
        >>> Ledger.create(path, dataset="survey", budget=budget, relation="add-remove", unit="row").remaining()
        1.0
        """
        header = Header(
            checked_text("dataset", dataset),
            checked_budget(budget),
            parse_relation(relation),
            checked_unit(unit),
            checked_family(family),
            _now(),
            secrets.token_hex(16),
            guarantee_of_ledger(guarantee, budget, relation, family),
            *checked_people(approvers, signatures),
        )
        new_file(Path(path), header.body(), timeout=timeout)
        return cls.open(path, timeout=timeout)

    @classmethod
    def open(cls, path: str | Path, *, timeout: float = _TIMEOUT) -> Ledger:
        """Open an existing ledger file and check its hash chain. A missing file is not created.

        Parameters
        ----------
        path : str or Path
            The path of the ledger file.
        timeout : float
            How many seconds to wait for another process that writes to the ledger.

        Returns
        -------
        Ledger
            The open ledger.

        Raises
        ------
        LedgerError
            HG301: the file is missing. HG303: the file is not a ledger or is damaged. HG304: a newer version wrote the
            ledger. HG305: the ledger was edited. HG307: the ledger cannot be read. HG308: the ledger is locked.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> path, budget = Path(mkdtemp(), "survey.ledger"), Budget(1.0, 1e-6)
        >>> Ledger.create(path, dataset="survey", budget=budget, relation="add-remove", unit="row").close()
        >>> Ledger.open(path)
        Ledger('survey', epsilon=1, delta=1e-06, 'add-remove')
        """
        return cls(LedgerFile(Path(path), timeout=timeout))

    @property
    def path(self) -> Path:
        """The path of the file, with symbolic links resolved."""
        return self._file.path

    @property
    def dataset(self) -> str:
        """The name that the custodian (the person who keeps the data) gives to the data set."""
        return self._header.dataset

    @property
    def budget(self) -> Budget:
        """The budget, as ε at δ, for all entries together."""
        return self._header.budget

    @property
    def relation(self) -> Relation:
        """The neighbouring relation under which all prices of this ledger hold."""
        return self._header.relation

    @property
    def unit(self) -> str:
        """The privacy unit that all prices of this ledger protect."""
        return self._header.unit

    @property
    def family(self) -> str:
        """The noise that the ledger accepts, either ``"any"`` or ``"gaussian"``."""
        return self._header.family

    @property
    def guarantee(self) -> str:
        """The guarantee whose prices are added, either ``"dp"`` or ``"bootstrap-dp"``."""
        return self._header.guarantee

    @property
    def approvers(self) -> tuple[Approver, ...]:
        """The people who may approve requests. Without approvers the ledger takes unsigned requests."""
        return self._header.approvers

    @property
    def signatures(self) -> int:
        """The number of approvers who must sign each request."""
        return self._header.signatures

    @property
    def identity(self) -> str:
        """The identity of this ledger, which a signature covers. A full copy of the file has the same identity."""
        return self._header.identity

    @property
    def head(self) -> Head:
        """The head of the hash chain, which reports print."""
        with self._file.transaction(write=False) as connection:
            return self._read(connection).head

    def spent(self) -> float:
        """Return an upper bound, rounded up to 1e-6, on the ε of all entries together at the ledger's δ."""
        with self._file.transaction(write=False) as connection:
            return (self._read(connection).total_micro or 0) / 1e6

    def remaining(self) -> float:
        """Return the ε that remains of the budget, rounded down.

        Several mechanisms can cost less than the sum of their prices, so slightly more than this ε may fit.
        """
        with self._file.transaction(write=False) as connection:
            return max(0, self._header.allowed_micro - (self._read(connection).total_micro or 0)) / 1e6

    def would_spend(self, certificate: Price) -> float:
        """Return the ε that `spent` would return after one more request.

        Return ``math.inf`` if no finite ε holds after the request. Nothing is written to the ledger.

        Raises
        ------
        LedgerError
            HG309, HG316: the ledger has another relation or unit, or another guarantee, than the request.
        UncertifiedError
            HG315, HG401, HG403: no price is known for the request.
        """
        with self._file.transaction(write=False) as connection:
            micro = with_one_more(self._totals.of(self._read(connection)), self._priced(certificate)).micro
            return float("inf") if micro is None else micro / 1e6

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Return all entries in order. Each recorded result is checked against its stored hash (HG305)."""
        with self._file.transaction(write=False) as connection:
            chain = self._read(connection, whole=True)
            return tuple(stored_entries(connection, chain, chain.reserved))

    def news(self, since: Mark | None = None) -> tuple[tuple[LedgerEntry, ...], Mark]:
        """Return entries reserved or recorded since the last call, and the position where the next call continues.

        The method serves programs that read new entries repeatedly. If another process wrote to the ledger, or the file
        was opened again, all entries are returned and checked, as by the method `entries` (HG305).
        """
        with self._file.transaction(write=False) as connection:
            chain = self._read(connection, whole=True)
            known = since.counter if since is not None and since.seen == self._seen else 0
            names = {link.request: None for link in chain.links[known:]}
            # A record may come after later reservations.
            asked = names if known else chain.reserved
            return tuple(stored_entries(connection, chain, asked)), Mark(self._seen, chain.head.counter)

    def reserve(
        self, certificate: Price, *, request_id: str, fingerprint: str, approval: Approval | None = None
    ) -> Reserved | Replay:
        """Reserve the price of a request on disk before data are read, or return the recorded answer of the request.

        Parameters
        ----------
        certificate : Certificate or BootstrapStatement
            The price. The ledger adds the mechanism of the certificate to the mechanisms of all its entries.
        request_id : str
            The permanent name of the request in the ledger.
        fingerprint : str
            The canonical text of the request, which the function `fingerprint_of` computes. The ledger keeps this text,
            so the text must contain public facts only.
        approval : Approval, optional
            If the ledger has approvers, the signed request.

        Returns
        -------
        Reserved or Replay
            A `Replay` object, if a result was recorded before under the same request id. A replay costs nothing.

        Raises
        ------
        BudgetExceeded
            HG310: with this request, the total price would exceed the budget. Nothing was spent.
        LedgerError
            HG309, HG316: the ledger has another relation, unit or guarantee than the request. HG311: the id was used
            for another request. HG312: no result was recorded for the reserved request; the price stays spent. HG318:
            the request to a test set does not ask for a score. HG322, HG324 to HG329: no approval covers the request.
            HG301, HG303 to HG308: the ledger cannot be opened.
        ParameterError
            HG314: the id or the fingerprint is not a text, or is too long.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from hedgerow.mechanisms.certificate import certify
        >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
        >>> price = certify(GeometricCounts(2.5, 1), Relation.ADD_REMOVE, unit="row", delta=0.0)
        >>> path, budget = Path(mkdtemp(), "survey.ledger"), Budget(1.0, 0.0)
        >>> ledger = Ledger.create(path, dataset="survey", budget=budget, relation="add-remove", unit="row")
        >>> ledger.reserve(price, request_id="a", fingerprint="count").request_id, ledger.spent()
        ('a', 0.400001)
        """
        checked_text("request_id", request_id)
        checked_request(fingerprint)
        mechanism = self._priced(certificate)
        self._compose_beforehand()
        with self._file.transaction(write=True) as connection:
            chain = self._read(connection)
            if chain.of_test_set and not is_look(fingerprint):
                raise for_test_set()
            require_signatures(chain, approval, request_id, fingerprint)
            earlier = self._earlier(connection, chain, request_id, fingerprint)
            if earlier is not None:
                return earlier
            require_now(connection, chain, approval, certificate)
            total = self._affordable(chain, mechanism)
            facts = reserve_body(certificate, fingerprint=fingerprint, total_micro=total.micro or 0, at=_now())
            facts = with_approval(facts, approval)
            link = chain.next_link("reserve", request_id, facts)
            self._totals.expect(link.hash, total)
            write_link(connection, link, None)
        return Reserved(self, request_id, Head(link.counter, link.hash))

    def record(self, request_id: str, result: str) -> Head:
        """Record the released result of a reserved request, and return the new head (the hash of the newest entry).

        If the same result is recorded twice, the ledger does not change.

        Parameters
        ----------
        request_id : str
            The permanent name of the request, as it was given to `reserve`.
        result : str
            The released text. The method `reserve` returns this text when the same request is made again.

        Returns
        -------
        Head
            The head of the ledger (the hash of its newest entry) after the result was recorded.

        Raises
        ------
        SpentError
            HG606: the result could not be recorded. The price stays spent.
        LedgerError
            HG313: no request is reserved under this id, or another result is recorded for the request.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from hedgerow.mechanisms.certificate import certify
        >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
        >>> price = certify(GeometricCounts(2.5, 1), Relation.ADD_REMOVE, unit="row", delta=0.0)
        >>> path, budget = Path(mkdtemp(), "survey.ledger"), Budget(1.0, 0.0)
        >>> ledger = Ledger.create(path, dataset="survey", budget=budget, relation="add-remove", unit="row")
        >>> reserved = ledger.reserve(price, request_id="a", fingerprint="count")
        >>> ledger.record("a", '{"count": 41}').counter
        2
        >>> ledger.reserve(price, request_id="a", fingerprint="count").result, ledger.spent()
        ('{"count": 41}', 0.400001)
        """
        checked = checked_result(result)
        try:
            with self._file.transaction(write=True) as connection:
                chain = self._read(connection)
                chain.look_up(connection, request_id)
                if request_id not in chain.reserved:
                    raise nothing_reserved()
                if request_id in chain.seals:
                    if chain.seals[request_id][1] != digest(checked):
                        raise other_result()
                    return chain.head
                link = chain.next_link("record", request_id, {"at": _now(), "result": digest(checked)})
                write_link(connection, link, checked)
        except LedgerError as refused:
            if refused.code == "HG313":
                raise
            raise not_kept(refused) from None
        return Head(link.counter, link.hash)

    def verify(self, head: Head | str | None = None) -> Head:
        """Check the whole ledger again from its file alone, and return the head (the hash of the newest entry).

        The check covers every page, every hash, every recorded result and every total. Total prices are computed again
        from the mechanisms of the entries. If an earlier `head` is given, the hash chain must contain it.

        Raises
        ------
        VerificationError
            HG305: a hash, a result or a total was changed. HG306: the chain does not contain the given `head`, so
            entries were removed or an old copy was put back.
        LedgerError
            HG301, HG303, HG304, HG307, HG308: the file cannot be read.
        """
        wanted = Head.parse(head) if isinstance(head, str) else head
        self._file.close(distrust=True)
        with self._file.transaction(write=False) as connection:
            if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                raise unverified(broken("Its pages or indexes contradict each other."))
            try:
                chain = Chain(read_header(connection))
                read_links(connection, chain)
                if self._chain is not None:
                    check_seen(chain, self._chain.head)
                for name in chain.seals:
                    stored_result(connection, chain, name)
                check_totals(chain)
                check_approvals(chain)
            except LedgerError as refused:
                raise unverified(refused) from None
            check_head(chain, wanted)
            return chain.head

    def close(self) -> None:
        """Close the file.

        The next use of a closed ledger opens its file again. When a ledger with many entries is closed, a checkpoint is
        written on disk, so that the next process opens the ledger quickly.
        """
        with suppress(LedgerError, OSError):
            self._leave_checkpoint()
        self._file.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        budget = self.budget
        return f"Ledger({self.dataset!r}, epsilon={budget.epsilon:g}, delta={budget.delta:g}, {str(self.relation)!r})"

    def _read(self, connection: sqlite3.Connection, *, whole: bool = False) -> Chain:
        """Return the chain of the file. What is known is compared again whenever anyone else has written.

        What this object has once seen must still be there: an old copy put back under its feet is noticed. With `whole`
        it has every link, not only those after a checkpoint.
        """
        seen = self._state(connection)
        known, self._file.known = self._file.known, None
        chain, new = self._chain, seen != self._seen
        if chain is not None and known is not None and known.head == chain.head:
            new = False
        if chain is None or new or (whole and chain.start.counter):
            header = read_header(connection)
            if chain is not None and chain.header != header:
                raise broken("Its header is not the one that was opened.")
            if chain is None and known is not None and not whole:
                chain = self._chain = Chain(header, known)
                self._totals.resume(known, header.nothing_spent())
                self._kept = known.head
            elif chain is None or chain.start.counter:
                before, chain = chain, Chain(header)
                read_links(connection, chain)
                if before is not None:
                    check_seen(chain, before.head)
                self._chain = chain
        read_links(connection, chain, compare=new)
        self._seen = seen
        return chain

    def _state(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """Return what is another one once the file was opened anew, or anybody else has written."""
        return self._file.opened, int(connection.execute("PRAGMA data_version").fetchone()[0])

    def _leave_checkpoint(self) -> None:
        """Keep what is known of the file, if it was read to its end and nobody else has written since."""
        chain = self._chain
        if chain is None or chain.head.counter < LEAST_LINKS or self._totals.cold:
            return
        with self._file.transaction(write=False) as connection:
            if self._state(connection) != self._seen:
                return
            read_links(connection, chain, compare=False)
            if chain.head == self._kept:
                return
            total = self._totals.of(chain)
            record = record_of(total) if isinstance(total, RunningTotal) else None
            if record is not None:
                self._kept = chain.head
                stands = chain.head, chain.last_reserved(len(chain.order)), chain.total_micro, chain.of_test_set
                save(self._file.path, Checkpoint(self._file.bytes_hash(), *stands, chain.places, record))

    def _earlier(
        self, connection: sqlite3.Connection, chain: Chain, request_id: str, fingerprint: str
    ) -> Replay | None:
        """Return the stored answer to this request, None where its id is new."""
        chain.look_up(connection, request_id)
        if request_id not in chain.reserved:
            return None
        if chain.reserved[request_id].record["fingerprint"] != fingerprint:
            raise other_request()
        if request_id not in chain.seals:
            raise never_recorded()
        return Replay(request_id, stored_result(connection, chain, request_id), chain.head)

    def _priced(self, price: Price) -> Noise:
        return priced(price, guarantee=self.guarantee, relation=self.relation, unit=self.unit)

    def _compose_beforehand(self) -> None:
        """Compose a long past without holding the file, which others may be waiting for."""
        if self._totals.cold:
            with self._file.transaction(write=False) as connection:
                chain = self._read(connection)
            with taking_turns():
                self._totals.of(chain)

    def _affordable(self, chain: Chain, mechanism: Noise) -> Total:
        total = with_one_more(self._totals.of(chain), mechanism)
        if total.micro is None or total.micro > self._header.allowed_micro:
            raise over_budget(chain.total_micro, total.micro, self._header.allowed_micro, self.budget.delta)
        return total


def _now() -> str:
    return now().isoformat(timespec="seconds")
