"""What may be asked of a ledger, and how each refusal is put. No message holds an id, a request or a result."""

from __future__ import annotations

import math

from hedgerow.errors import BudgetExceeded, LedgerError, ParameterError, SpentError, VerificationError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation

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


def other_protection(relation: Relation, unit: str) -> LedgerError:
    """Prices under two relations have no sum."""
    return LedgerError(
        "HG309",
        rule="All prices in a ledger are upper bounds under one relation, for one unit.",
        finding=f"This ledger holds {str(relation)!r} for {unit!r}; the request has another.",
        remedy="Ask under the ledger's relation and unit: prices under different ones cannot be added.",
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
        rule="What all releases cost together must stay within the ledger's budget.",
        finding=finding,
        remedy="Ask for less, with more noise. Nothing was spent.",
    )


def other_request() -> LedgerError:
    """Refuse fresh noise, or another question, under a used id."""
    return LedgerError(
        "HG311",
        rule="A request id stands for one request, once and for all.",
        finding="This id was used for another request.",
        remedy="Choose a new id. Nothing was spent.",
    )


def for_test_set() -> LedgerError:
    """Refuse what is no look in the ledger of a test set: its looks would then run out of budget."""
    return LedgerError(
        "HG318",
        rule="The ledger of a test set pays for its looks alone: their prices are planned to fill its budget.",
        finding="The request is no look at that test set.",
        remedy="Use another ledger, made by `hedgerow ledger create`. Nothing was spent.",
    )


def never_recorded() -> LedgerError:
    """Refuse to answer what has no stored answer: the data may have been read under it."""
    return LedgerError(
        "HG312",
        rule="A request that was reserved stays spent, whether or not its result was recorded.",
        finding="This one was reserved and not recorded: it still runs elsewhere, or it failed.",
        remedy="Wait if it runs; otherwise ask anew under a new id, at its full price. Nothing more was spent.",
    )


def nothing_reserved() -> LedgerError:
    """Refuse a result without a price."""
    return LedgerError(
        "HG313",
        rule="A result is recorded once, under an id that was reserved.",
        finding="Nothing was reserved under this id.",
        remedy="Reserve first.",
    )


def other_result() -> LedgerError:
    """Refuse a second result: two answers would be two releases for one price."""
    return LedgerError(
        "HG313",
        rule="A result is recorded once, under an id that was reserved.",
        finding="Another text was recorded under this id.",
        remedy="Use the recorded one.",
    )


def not_kept(cause: LedgerError) -> SpentError:
    """Return the refusal after the reservation: the price is spent and the text is not in the ledger."""
    return SpentError(
        "HG606",
        rule="A result is kept in the ledger, so that it can be shown again at no cost.",
        finding=f"It could not be written ({cause.code}).",
        remedy="The price counts as spent. Keep the result by other means, and mend the ledger's disk.",
    )


def unverified(cause: LedgerError) -> VerificationError:
    """Return a broken chain as a failed verification."""
    return VerificationError(cause.code, rule=cause.rule, finding=cause.finding, remedy=cause.remedy)


def _malformed(rule: str) -> ParameterError:
    return ParameterError("HG314", rule=rule, finding="This one is not.", remedy="Nothing was spent.")
