"""The chain as read from a file: every link follows the one before it, and together they are the entries.

Reading never looks anything up in an index: all rows come in order, their hashes are computed, and the head must be the
last of them. So a row that was edited, or lost, or hidden by a damaged index is noticed before anything rests on it.

A checkpoint: how a ledger stood when this user last read or wrote all of it, so that a large one opens quickly.

It says: the file whose bytes have this SHA-256 was checked, link by link, and this is its head and its total. When a
ledger is opened, its bytes are hashed under SQLite's lock. If they are the same, nothing was edited since, and there is
nothing to check again; if one byte differs, the file is checked from its first link on, as without a checkpoint.

It is kept in a folder of the user's own (``$XDG_CACHE_HOME/hedgerow``, else ``~/.cache/hedgerow``), not beside the
ledger: whoever may write the ledger cannot write there. It is believed only where it belongs to this user and nobody
else may write it. It holds the ids of requests and the total, no result, and may be removed at any time.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.accounting.loss_grid import LossGrid
from hedgerow.approval.keys import Approver
from hedgerow.canonical import canonical, digest
from hedgerow.errors import HedgerowError, LedgerError, VerificationError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger.bootstrap_statement import GUARANTEE, BootstrapStatement
from hedgerow.ledger.guarantee import (
    BootstrapTotal,
    Noise,
    Price,
    Total,
    guarantee_of_ledger,
    noise_from_record,
    noise_record,
    with_one_more,
)
from hedgerow.ledger.ledger_entry import Head, LedgerEntry, checked_family, is_settings
from hedgerow.ledger.total import RunningTotal
from hedgerow.version import __version__

LEAST_LINKS = 400
"""A shorter ledger is checked as quickly as it is hashed."""

_FORMAT = f"hedgerow-checkpoint-1 {__version__}"  # another version may add up in another way
_NUMBERS = ("micro", "_count", "_pure", "_pure_micro", "_squares", "_wide_squares")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is known of a file with these bytes.

    Attributes
    ----------
    bytes_hash : str
        SHA-256 of the whole file.
    head : Head
        Its last link.
    last : str
        The hash of its last reservation.
    stated : int
        The total that this reservation states, in millionths.
    of_test_set : bool
        Whether it counts the looks at a test set.
    places : dict
        Of each request id, the counters of its reservation and of its record, 0 where there is none.
    total : dict
        What was composed of its mechanisms, as `composed` reads it back.
    """

    bytes_hash: str
    head: Head
    last: str
    stated: int
    of_test_set: bool
    places: Mapping[str, tuple[int, int]]
    total: Mapping[str, Any]


def load(ledger: Path, bytes_hash: Callable[[], str]) -> Checkpoint | None:
    """Return what is known of a ledger whose bytes have this hash, None where that is nothing."""
    try:
        sealed, body = _read(_place(ledger)).split("\n", 1)
        if sealed != digest(body):
            return None
        record = json.loads(body)
        if record["format"] != _FORMAT or record["bytes"] != bytes_hash():
            return None
        places = dict(zip(record["requests"], zip(record["reserved"], record["recorded"], strict=True), strict=True))
        head, test_set = Head.parse(record["head"]), record["test set"]
        return Checkpoint(record["bytes"], head, record["last"], record["stated"], test_set, places, record["total"])
    except (OSError, ValueError, KeyError, TypeError, HedgerowError):
        return None


def save(ledger: Path, known: Checkpoint) -> None:
    """Keep what is known of a ledger; where it cannot be kept, the next opening takes longer."""
    body = canonical(
        {
            "format": _FORMAT,
            "bytes": known.bytes_hash,
            "head": str(known.head),
            "last": known.last,
            "stated": known.stated,
            "test set": known.of_test_set,
            "requests": list(known.places),
            "reserved": [reserved for reserved, _ in known.places.values()],
            "recorded": [recorded for _, recorded in known.places.values()],
            "total": known.total,
        }
    )
    with suppress(OSError):
        place = _place(ledger)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(dir=place.parent)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{digest(body)}\n{body}")
            Path(written).replace(place)
        except BaseException:
            Path(written).unlink(missing_ok=True)
            raise


def _place(ledger: Path) -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(base) if base.startswith("/") else Path("~/.cache").expanduser()
    except RuntimeError:
        raise OSError("this user has no home") from None
    return folder / "hedgerow" / "ledgers" / digest(os.fsencode(ledger))


def _read(place: Path) -> str:
    """Return the text of a file that only this user may have written."""
    if not hasattr(os, "geteuid"):
        raise OSError("this system has no owners of files")
    with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii") as file:
        for status in (os.fstat(file.fileno()), place.parent.stat()):
            if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
                raise OSError("others may write here")
        return file.read()


def record_of(total: RunningTotal) -> dict[str, Any] | None:
    """Return a total as JSON data; None where it still lists its mechanisms, as that of a few does."""
    if total.micro is None or total._few:
        return None
    # Numbers as texts, since infinity is no JSON.
    numbers: dict[str, Any] = {name: repr(getattr(total, name)) for name in _NUMBERS}
    fold = total._fold
    if fold is not None:
        mass = base64.b64encode(fold.mass.astype("<f8").tobytes()).decode()
        numbers["fold"] = [fold.start, repr(fold.step), mass, repr(fold.infinity)]
    return {**numbers, "short": total._few is not None}


def composed(record: Mapping[str, Any], nothing: RunningTotal) -> RunningTotal:
    """Return the total that `record_of` wrote down, in the ledger whose total of no entries is `nothing`."""
    numbers: dict[str, Any] = {name: type(getattr(nothing, name))(record[name]) for name in _NUMBERS}
    fold = None
    if "fold" in record:
        start, step, mass, infinity = record["fold"]
        law = np.frombuffer(base64.b64decode(mass), dtype="<f8").astype(np.float64)
        fold = LossGrid(start, float(step), law, float(infinity))
    return replace(nothing, **numbers, _few=() if record["short"] else None, _fold=fold)


# In millionths: the same curve, computed by another version of a library, may round to the next one.
_SLACK = 2


@dataclass(frozen=True, slots=True)
class Header:
    """What a ledger was created with; never changed.

    Attributes
    ----------
    dataset : str
        The custodian's name of the data, whatever file holds them.
    budget : Budget
        ε at δ for everything together.
    relation, unit : str
        Who is protected; other entries are refused.
    family : {"any", "gaussian"}
        Which noise is taken; see `hedgerow.ledger.total`.
    at, salt : str
        When it was made, by the machine's clock, and random digits, so that no two ledgers have one head.
    guarantee : {"dp", "bootstrap-dp"}
        Which guarantee is added up; see `hedgerow.ledger.guarantee`.
    approvers : tuple of Approver
        Who may approve. A ledger with approvers takes signed requests alone.
    signatures : int
        How many of them must sign a request.
    """

    dataset: str
    budget: Budget
    relation: Relation
    unit: str
    family: str
    at: str
    salt: str
    guarantee: str = "dp"
    approvers: tuple[Approver, ...] = ()
    signatures: int = 1

    def body(self) -> str:
        """Return the canonical text that the chain begins with."""
        other: dict[str, Any] = {} if self.guarantee == "dp" else {"guarantee": self.guarantee}
        if self.approvers:
            people = [[approver.name, approver.key] for approver in self.approvers]
            other |= {"approvers": people, "signatures": self.signatures}
        return canonical(
            {
                # Of the first format that can say it, so that older ledgers and older versions read it alike.
                "format": f"hedgerow-ledger-{3 if self.approvers else 2 if other else 1}",
                "dataset": self.dataset,
                "epsilon": self.budget.epsilon,
                "delta": self.budget.delta,
                "relation": str(self.relation),
                "unit": self.unit,
                "family": self.family,
                "at": self.at,
                "salt": self.salt,
                **other,
            }
        )

    @classmethod
    def from_body(cls, body: str) -> Header:
        """Read the text back."""
        record = json.loads(body)
        budget, relation = Budget(record["epsilon"], record["delta"]), Relation(record["relation"])
        family = checked_family(record["family"])
        header = cls(
            record["dataset"],
            budget,
            relation,
            record["unit"],
            family,
            record["at"],
            record["salt"],
            # One that a later version may know is not taken for differential privacy.
            guarantee_of_ledger(record.get("guarantee", "dp"), budget, relation, family),
            tuple(Approver.of(name, key) for name, key in record.get("approvers", ())),
            record.get("signatures", 1),
        )
        if header.body() != body:
            raise ValueError("not canonical")
        return header

    @property
    def identity(self) -> str:
        """What tells this ledger from any other: the hash of its header, which holds random digits."""
        return digest(self.body())

    @property
    def allowed_micro(self) -> int:
        """The budget's ε in millionths, rounded down to an integer; computed from the decimal text of ε."""
        return int(Fraction(str(self.budget.epsilon)) * 10**6)

    def nothing_spent(self) -> Total:
        """Return the total of no entries."""
        budget = self.budget
        if self.guarantee == GUARANTEE:
            return BootstrapTotal()
        return RunningTotal(self.relation, budget.epsilon, budget.delta, gaussian_only=self.family == "gaussian")


@dataclass(frozen=True, slots=True)
class Link:
    """One row: `body` is hashed, the other columns repeat what it says."""

    counter: int
    kind: str
    request: str
    body: str
    hash: str


@dataclass(frozen=True, slots=True)
class ReservedLink:
    """What a ``reserve`` link says, with its mechanism read back."""

    link: Link
    record: Mapping[str, Any]
    mechanism: Noise


class Chain:
    """The links read so far, and what they say; grows by `append`, and by nothing else.

    Parameters
    ----------
    header : Header
    known : Checkpoint, optional
        What stands before the first link to be read, checked before; then nothing of it is read but by `look_up`.

    Attributes
    ----------
    start, head : Head
        Where the links read begin, and where they end.
    reserved : dict
        What each request id reserved: of all links read, in order, and of those looked up.
    seals : dict
        The link that recorded each result, and the hash of it.
    order : list of ReservedLink
        The reservations among the links read.
    links : list of Link
        All links read, in order.
    hashes : list of str
        The hash at `start`, which is that of the header where nothing stands before, and that of each link read.
    total_micro : int
        The cached total after the last reservation.
    of_test_set : bool
        Whether the ledger counts the looks at a test set: it then begins with the settings of that.
    """

    def __init__(self, header: Header, known: Checkpoint | None = None) -> None:
        self.header = header
        self.start = known.head if known else Head(0, digest(header.body()))
        self.earlier, self._last = (known.places, known.last) if known else ({}, "")
        self.total_micro, self.of_test_set = (known.stated, known.of_test_set) if known else (0, False)
        self.hashes = [self.start.hash]
        self.links: list[Link] = []
        self.order: list[ReservedLink] = []
        self.reserved: dict[str, ReservedLink] = {}
        self.seals: dict[str, tuple[Link, str]] = {}

    @property
    def head(self) -> Head:
        """The end of the chain."""
        return Head(self.start.counter + len(self.links), self.hashes[-1])

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """Of each request, the counters of its reservation and of its record, 0 where there is none."""
        places = dict(self.earlier)
        for name, reserved in self.reserved.items():
            places[name] = (reserved.link.counter, self.seals[name][0].counter if name in self.seals else 0)
        return places

    def append(self, link: Link) -> None:
        """Check one more link and take it in (HG305)."""
        try:
            record = json.loads(link.body)
            fits = (
                link.hash == digest(link.body)
                and link.body == canonical(record)
                and (link.counter, link.kind, link.request) == (record["counter"], record["kind"], record["request"])
                and record["counter"] == self.head.counter + 1
                and record["previous"] == self.hashes[-1]
            )
            if not fits:
                raise broken(f"Link {self.head.counter + 1} is not the one that was written.")
            self._take(link, record)
        except (ValueError, KeyError, TypeError, RecursionError, HedgerowError) as cause:
            if isinstance(cause, LedgerError):
                raise
            raise broken(f"Link {self.head.counter + 1} cannot be read.") from None
        self.links.append(link)
        self.hashes.append(link.hash)

    def _take(self, link: Link, record: Mapping[str, Any]) -> None:
        known = link.request in self.reserved
        if link.kind == "record" and known and link.request not in self.seals:
            self.seals[link.request] = (link, str(record["result"]))
        elif link.kind == "reserve" and not known and isinstance(record["total"], int):
            mechanism = noise_from_record(record["mechanism"], guarantee=self.header.guarantee)
            if (record["relation"], record["unit"]) != (str(self.header.relation), self.header.unit):
                raise broken(f"Link {link.counter} is of another relation or unit.")
            self.of_test_set = self.of_test_set or (link.counter == 1 and is_settings(record["fingerprint"]))
            self.reserved[link.request] = ReservedLink(link, record, mechanism)
            self.order.append(self.reserved[link.request])
            self.total_micro = record["total"]
        else:
            raise broken(f"Link {link.counter} does not fit those before it.")

    def last_reserved(self, count: int) -> str:
        """Return the hash of the last of all reservations before the start and the first `count` after it."""
        return self.order[count - 1].link.hash if count else self._last

    def look_up(self, connection: sqlite3.Connection, request: str) -> None:
        """Take in what a request before the start reserved and recorded: rows that were checked, by their numbers."""
        for counter in self.earlier.get(request, ()) if request not in self.reserved else ():
            rows = connection.execute(_LINKS + "WHERE counter = ?", (counter,)).fetchall()
            for link in (Link(*row) for row in rows):
                record = json.loads(link.body)
                if link.kind == "record":
                    self.seals[request] = (link, str(record["result"]))
                else:
                    mechanism = noise_from_record(record["mechanism"], guarantee=self.header.guarantee)
                    self.reserved[request] = ReservedLink(link, record, mechanism)

    def next_link(self, kind: str, request: str, facts: Mapping[str, Any]) -> Link:
        """Return the link that would come next; nothing changes."""
        head = self.head
        body = canonical(
            {**facts, "counter": head.counter + 1, "kind": kind, "request": request, "previous": head.hash}
        )
        return Link(head.counter + 1, kind, request, body, digest(body))

    def entries(self, requests: Collection[str], results: Mapping[str, str]) -> Iterator[LedgerEntry]:
        """Yield the entries of some requests, with the results handed in."""
        for request in requests:
            reserved, seal = self.reserved[request], self.seals.get(request)
            record = reserved.record
            yield LedgerEntry(
                request_id=request,
                fingerprint=record["fingerprint"],
                mechanism=reserved.mechanism,
                relation=Relation(record["relation"]),
                unit=record["unit"],
                epsilon=record["epsilon"],
                delta=record["delta"],
                state="recorded" if seal else "reserved",
                result=results.get(request),
                total_micro=record["total"],
                at=record["at"],
                approval=record.get("approval"),
                previous=record["previous"],
                hash=reserved.link.hash,
                sealed=seal[0].hash if seal else None,
            )


class CachedTotal:
    """The total of all that a chain reserved, as far as it was composed in this process.

    A reservation then costs one more composition, not all of them. What is kept is keyed by the hashes of the links
    that it covers, so it is never taken for the total of another list.
    """

    def __init__(self) -> None:
        self._count, self._last = 0, ""
        self._total: Total | None = None
        self._next: tuple[str, Total] | None = None

    def resume(self, known: Checkpoint, nothing: Total) -> None:
        """Begin with the total of a checkpoint."""
        if isinstance(nothing, RunningTotal):
            self._count, self._last, self._total = len(known.places), known.last, composed(known.total, nothing)

    @property
    def cold(self) -> bool:
        """Whether no total was computed yet."""
        return self._total is None

    def of(self, chain: Chain) -> Total:
        """Compose what is not yet covered."""
        if self._total is None or not self._covers(chain):
            self._count, self._last, self._total = 0, "", chain.header.nothing_spent()
        for entry in chain.order[self._count - len(chain.earlier) :]:
            if self._next is not None and self._next[0] == entry.link.hash:
                self._total = self._next[1]
            else:
                self._total = with_one_more(self._total, entry.mechanism)
            self._count, self._last = self._count + 1, entry.link.hash
        return self._total

    def expect(self, hashed: str, total: Total) -> None:
        """Remember the total up to a link that is about to be written."""
        self._next = (hashed, total)

    def _covers(self, chain: Chain) -> bool:
        # Each hash stands for all links before it, so the last one is enough.
        place = self._count - len(chain.earlier)
        return 0 <= place <= len(chain.order) and self._last == chain.last_reserved(place)


def reserve_body(price: Price, *, fingerprint: str, total_micro: int, at: str) -> dict[str, Any]:
    """Return what a reservation writes down besides its place in the chain."""
    return {
        "at": at,
        "delta": getattr(price, "delta", 0.0),
        "epsilon": price.epsilon,
        "fingerprint": fingerprint,
        "mechanism": noise_record(price.mechanism),
        # A statement's relation is a restriction of replace-one, which is that of its ledger.
        "relation": str(Relation.REPLACE_ONE if isinstance(price, BootstrapStatement) else price.relation),
        "total": total_micro,
        "unit": price.unit,
    }


def read_header(connection: sqlite3.Connection) -> Header:
    """Read the one header row (HG305)."""
    rows = connection.execute("SELECT id, body, hash FROM header").fetchall()
    try:
        ((_, body, hashed),) = rows
        if digest(body) == hashed:
            return Header.from_body(body)
    except (ValueError, KeyError, TypeError, AttributeError, HedgerowError):
        pass
    raise broken("Its header is not the one that was written.")


_LINKS = "SELECT counter, kind, request, body, hash FROM links "


def read_links(connection: sqlite3.Connection, chain: Chain, *, compare: bool = True) -> None:
    """Take in the rows that are new, and hold the stored head to the last of them (HG305).

    With `compare` the rows that are known are read again, too, and must be what they were.
    """
    after = chain.start.counter if compare else chain.head.counter
    rest = connection.execute(_LINKS + "WHERE counter > ? ORDER BY counter", (after,))
    for link in chain.links if compare else ():
        row = rest.fetchone()
        if row is None or Link(*row) != link:
            raise broken(f"Link {link.counter} is not the one that was read before.")
    for row in rest:
        chain.append(Link(*row))
    if connection.execute("SELECT id, counter, hash FROM head").fetchall() != [
        (1, chain.head.counter, chain.head.hash)
    ]:
        raise broken("Its last link is not its head: links were added or taken away.")


def write_link(connection: sqlite3.Connection, link: Link, result: bytes | None) -> None:
    """Append a link, with the bytes of the result that it records."""
    row = (link.counter, link.kind, link.request, link.body, link.hash, result)
    connection.execute("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)", row)


def stored_result(connection: sqlite3.Connection, chain: Chain, request: str) -> str:
    """Return the text recorded under an id, once it fits its seal (HG305)."""
    link, sealed = chain.seals[request]
    row = connection.execute("SELECT result FROM links WHERE counter = ?", (link.counter,)).fetchone()
    if row is None or not isinstance(row[0], bytes) or digest(row[0]) != sealed:
        raise broken(f"The result at link {link.counter} is not the one that was recorded.")
    return row[0].decode()


def stored_entries(connection: sqlite3.Connection, chain: Chain, names: Collection[str]) -> Iterator[LedgerEntry]:
    """Return the entries of some requests, with the results that are recorded of them."""
    return chain.entries(names, {name: stored_result(connection, chain, name) for name in names if name in chain.seals})


def check_totals(chain: Chain) -> None:
    """Compose the mechanisms from the first on; refuse a cached total that is too low, or falls (HG305)."""
    total, before = chain.header.nothing_spent(), 0
    for reserved in chain.reserved.values():
        total = with_one_more(total, reserved.mechanism)
        stated = int(reserved.record["total"])
        if total.micro is None or stated < before or stated + _SLACK < total.micro:
            raise broken(f"The total at link {reserved.link.counter} is less than its mechanisms cost.")
        before = stated


def check_head(chain: Chain, head: Head | None) -> None:
    """Refuse a chain that does not pass through a head that was printed earlier (HG306)."""
    if head is None or (head.counter < len(chain.hashes) and chain.hashes[head.counter] == head.hash):
        return
    short = head.counter >= len(chain.hashes)
    raise VerificationError(
        "HG306",
        rule="The hash chain of a ledger must contain every head (hash of the newest entry) that was ever printed "
        "for the ledger.",
        finding=f"It has {len(chain.hashes) - 1} links, the head stands for {head.counter}."
        if short
        else f"Its link {head.counter} is another one.",
        remedy="The end of the ledger was removed, or an old copy was restored, or the file is another ledger. Find "
        "the copy of the ledger whose hash chain contains the given head.",
    )


def check_seen(chain: Chain, head: Head) -> None:
    """Refuse a chain that does not pass through what this process has seen (HG305)."""
    if head.counter >= len(chain.hashes) or chain.hashes[head.counter] != head.hash:
        raise broken("Its links are not those that this process has seen.")


def broken(finding: str) -> LedgerError:
    """Return the refusal of a chain that does not hold."""
    return LedgerError(
        "HG305",
        rule="Every entry of a ledger must contain the hash of the entry before it.",
        finding=finding,
        remedy="The file was edited or damaged: restore a copy that `hedgerow ledger verify` accepts with the last "
        "printed head.",
    )
