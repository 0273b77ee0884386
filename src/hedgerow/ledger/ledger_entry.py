"""What a ledger remembers: frozen entries, the links of their hash chain, and its head.

Two links make an entry. ``reserve`` holds the request and the mechanism (a description, never a mere number), and from
there on its price is spent; ``record`` seals the released bytes by their hash. The body of a link is canonical JSON
that holds the hash of the link before it, and its own hash is SHA-256 of that body, so an edit anywhere changes every
hash after it. The first link follows the hash of the header, which holds the budget.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Literal

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.ledger.bootstrap_statement import BootstrapNoise
from hedgerow.mechanisms.mechanism import Mechanism

_HEAD = re.compile(r"(\d{1,12}):([0-9a-f]{64})")


def canonical(record: object) -> str:
    """Return JSON text of which there is one for each value: keys sorted, no blanks, floats as they repeat exactly.

    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(text: str | bytes) -> str:
    """Return SHA-256 of text (as UTF-8) or bytes, in hexadecimal."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def fingerprint_of(request: object) -> str:
    """Return the canonical text of a request, by which a repetition of it is known; plain JSON data only.

    Raises
    ------
    ParameterError
        HG314: the request holds something that is no JSON, or a number that is not finite.

    Examples
    --------
    >>> fingerprint_of({"mean": "age", "bounds": [0, 100]}) == fingerprint_of({"bounds": [0, 100], "mean": "age"})
    True
    """
    try:
        return canonical(request)
    except (TypeError, ValueError):
        raise ParameterError(
            "HG314",
            rule="A request is told by plain JSON data: texts, finite numbers, lists and objects.",
            finding="This one holds something else.",
            remedy="Write paths, dates and types as text.",
        ) from None


def is_look(fingerprint: str) -> bool:
    """Return whether a request is a look at a test set; canonical JSON has its keys in order.

    >>> is_look(fingerprint_of({"a look": "accuracy", "training": None}))
    True
    """
    return fingerprint.startswith('{"a look":')


def is_settings(fingerprint: str) -> bool:
    """Return whether a request is the first entry of a test set's ledger: its settings.

    >>> is_settings(fingerprint_of({"testset": "settings", "n_looks": 200})), is_settings("count")
    (True, False)
    """
    try:
        record = json.loads(fingerprint)
    except ValueError:
        return False
    return isinstance(record, dict) and record.get("testset") == "settings"


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the chain: how many links it has, and the hash of the last one. Printed on every report.

    >>> Head.parse("0:" + 64 * "a").counter
    0
    """

    counter: int
    hash: str

    def __str__(self) -> str:
        return f"{self.counter}:{self.hash}"

    @classmethod
    def parse(cls, text: object) -> Head:
        """Read a printed head back (HG314)."""
        match = _HEAD.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise ParameterError(
                "HG314",
                rule="A ledger's head is a number, a colon and 64 hexadecimal digits.",
                finding="This text is not a head.",
                remedy="Copy it whole from the report.",
            )
        return cls(int(match[1]), match[2])


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One request and what it cost.

    Attributes
    ----------
    request_id, fingerprint : str
        The id, used once, and the canonical text of the request.
    mechanism : Mechanism or BootstrapNoise
        Everything that pricing needs.
    relation, unit : str
        Who is protected: those of the ledger.
    epsilon, delta : float
        The price of this request alone, as its certificate states it.
    state : {"reserved", "recorded"}
        Both are spent; of a recorded one the released bytes are kept.
    result : str or None
        The released text.
    total_micro : int
        Upper bound on ε of all entries up to this one, at the ledger's δ, in millionths, rounded up.
    at : str
        When it was reserved, by the machine's clock, which decides nothing.
    previous, hash : str
        Its place in the chain.
    sealed : str or None
        Hash of the link that recorded the result.
    """

    request_id: str
    fingerprint: str
    mechanism: Mechanism | BootstrapNoise
    relation: Relation
    unit: str
    epsilon: float
    delta: float
    state: Literal["reserved", "recorded"]
    result: str | None
    total_micro: int
    at: str
    previous: str
    hash: str
    sealed: str | None

    def __repr__(self) -> str:
        return f"Entry({self.request_id!r}, {self.state}, total_epsilon={self.total_micro / 1e6:.6f})"


@dataclass(frozen=True, slots=True)
class Replay:
    """The stored answer to a request that was answered before; nothing was spent."""

    request_id: str
    result: str
    head: Head
