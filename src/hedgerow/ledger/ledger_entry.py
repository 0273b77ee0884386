"""What a ledger remembers: frozen entries, the links of their hash chain, and its head.

Two links make an entry. ``reserve`` holds the request and the mechanism (a description, never a mere number), and from
there on its price is spent; ``record`` seals the released bytes by their hash. The body of a link is canonical JSON
that holds the hash of the link before it, and its own hash is SHA-256 of that body, so an edit anywhere changes every
hash after it. The first link follows the hash of the header, which holds the budget.

What may be asked of a ledger, and how each refusal is put. No message holds an id, a request or a result.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hedgerow.canonical import canonical
from hedgerow.errors import BudgetExceeded, LedgerError, ParameterError, SpentError, VerificationError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation, parse_unit, unit_of_text
from hedgerow.ledger.bootstrap_statement import BootstrapNoise
from hedgerow.mechanisms.interface import Mechanism

_LONGEST_NAME = 200
_LONGEST_REQUEST = 10**6
FAMILIES = ("any", "gaussian")


def checked_text(name: str, text: object) -> str:
    """Return a name of 1 to 200 printable characters (HG314)."""
    if isinstance(text, str) and 1 <= len(text) <= _LONGEST_NAME and text.isprintable():
        return text
    raise _malformed(f"`{name}` must be a text of 1 to {_LONGEST_NAME} printable characters.")


def checked_request(fingerprint: object) -> str:
    """Return the text of a request (HG314)."""
    if isinstance(fingerprint, str) and 1 <= len(fingerprint) <= _LONGEST_REQUEST:
        return fingerprint
    raise _malformed("`fingerprint` must be a text of 1 to 1,000,000 characters, as fingerprint_of() makes it.")


def checked_budget(budget: object) -> Budget:
    """Return the budget, whose numbers were checked when it was made (HG314)."""
    if isinstance(budget, Budget):
        return budget
    raise _malformed("`budget` must be a Budget(epsilon, delta).")


def checked_unit(unit: object) -> str:
    """Return the text of a unit, given as `hedgerow.open` takes it or as a certificate states it.

    >>> checked_unit(("patient_id", 5)), checked_unit("patient_id, at most 5 rows"), checked_unit("row")
    ('patient_id, at most 5 rows', 'patient_id, at most 5 rows', 'row')
    """
    return checked_text("unit", str(parse_unit(unit_of_text(unit) if isinstance(unit, str) else unit)))


def checked_family(family: object) -> str:
    """Return `family`, which is "any" or "gaussian" noise; anything else is refused (HG314)."""
    if isinstance(family, str) and family in FAMILIES:
        return family
    raise _malformed('`family` must be "any" or "gaussian".')


def checked_result(result: object) -> bytes:
    """Return a released text as bytes (HG314)."""
    try:
        if isinstance(result, str):
            return result.encode()
    except UnicodeEncodeError:
        pass
    raise _malformed("`result` must be a text that UTF-8 can hold.")


def other_protection(relation: Relation, unit: str, asked: tuple[str, str]) -> LedgerError:
    """Prices under two relations have no sum; `asked` are the relation and the unit of the request."""
    other_relation, other_unit = asked
    return LedgerError(
        "HG309",
        rule="All prices in a ledger are upper bounds under one relation, for one unit.",
        finding=f"This ledger holds {str(relation)!r} for {unit!r}; the request has "
        f"{str(other_relation)!r} for {other_unit!r}.",
        remedy="Send the request under the ledger's relation and unit. Prices under different neighbouring "
        "relations, or for different units, cannot be added.",
    )


def over_budget(before: int, after: int | None, allowed: int, delta: float) -> BudgetExceeded:
    """Return the refusal with what the request would add and what is left, in ε."""
    requested = math.inf if after is None else (after - before) / 1e6
    remaining = max(0, allowed - before) / 1e6
    finding = (
        f"No ε holds for this request at delta={delta:g}."
        if after is None
        else f"It would add {requested:.6g} to what is spent, and {remaining:.6g} of {allowed / 1e6:.6g} is left."
    )
    return BudgetExceeded(
        "HG310",
        requested=requested,
        remaining=remaining,
        rule="All releases together must stay within the ledger's budget.",
        finding=finding,
        remedy="Ask for less: a smaller ε, which means more noise. Nothing was spent.",
    )


def other_request() -> LedgerError:
    """Refuse fresh noise, or another question, under a used id."""
    return LedgerError(
        "HG311",
        rule="A request id names one request and is never used for another.",
        finding="The given request id was used for another request.",
        remedy="Choose a new request id. Nothing was spent.",
    )


def for_test_set() -> LedgerError:
    """Refuse what is no look in the ledger of a test set: its looks would then run out of budget."""
    return LedgerError(
        "HG318",
        rule="The ledger of a test set pays for the looks at this test set only.",
        finding="The request does not ask for a score on this test set.",
        remedy="Use another ledger for this request, which `hedgerow ledger create` makes. Nothing was spent.",
    )


def never_recorded() -> LedgerError:
    """Refuse to answer what has no stored answer: the data may have been read under it."""
    return LedgerError(
        "HG312",
        rule="A reserved request stays spent, even if its result was not recorded.",
        finding="The price of the request is reserved, but no result is recorded: the request is still running in "
        "another process, or the request failed.",
        remedy="If the request is still running, wait for its end. If the request failed, send it again under a new "
        "id, at its full price. "
        "Nothing more was spent.",
    )


def nothing_reserved() -> LedgerError:
    """Refuse a result without a price."""
    return LedgerError(
        "HG313",
        rule="A result is recorded once, under an id that was reserved before.",
        finding="No request was reserved under this id.",
        remedy="Reserve the price first.",
    )


def other_result() -> LedgerError:
    """Refuse a second result: two answers would be two releases for one price."""
    return LedgerError(
        "HG313",
        rule="A result is recorded once, under an id that was reserved before.",
        finding="Another result was recorded before under this id.",
        remedy="Use the recorded result.",
    )


def not_kept(cause: LedgerError) -> SpentError:
    """Return the refusal after the reservation: the price is spent and the text is not in the ledger."""
    return SpentError(
        "HG606",
        rule="The ledger stores each result, so that the result can be shown again at no cost.",
        finding=f"It could not be written ({cause.code}).",
        remedy="The price counts as spent. Store the result elsewhere, and repair the disk of the ledger.",
    )


def unverified(cause: LedgerError) -> VerificationError:
    """Return a broken chain as a failed verification."""
    return VerificationError(cause.code, rule=cause.rule, finding=cause.finding, remedy=cause.remedy)


def _malformed(rule: str) -> ParameterError:
    return ParameterError(
        "HG314", rule=rule, finding="The given value does not follow the rule.", remedy="Nothing was spent."
    )


_HEAD = re.compile(r"(\d{1,12}):([0-9a-f]{64})")


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
            rule="A request is described by plain JSON data: texts, finite numbers, lists and objects.",
            finding="The description of the request contains other data.",
            remedy="Write paths, dates and types in the description of the request as text.",
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
                finding="The given text does not have the form of a head.",
                remedy="Copy the whole head from the report.",
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
    approval : mapping or None
        The request with its signatures, as JSON data; None in a ledger without approvers.
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
    approval: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        return f"Entry({self.request_id!r}, {self.state}, total_epsilon={self.total_micro / 1e6:.6f})"


@dataclass(frozen=True, slots=True)
class Replay:
    """The stored answer to a request that was answered before; nothing was spent."""

    request_id: str
    result: str
    head: Head


@dataclass(frozen=True, slots=True)
class Mark:
    """How far somebody has read: the last link, and the state of the file at which nobody else had written since."""

    seen: tuple[int, int]
    counter: int
