"""A verb that is only asked for, from public facts alone, and a signed verb that runs exactly as it was signed.

A request keeps the verb and its words as they are typed. To price it, the verb runs on a source that nobody opened, and
stops where it would spend. To release it, the verb runs again with the same words and facts, and the ledger compares
what would run with what was signed. So every verb that spends can be asked for, and none is listed here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from hedgerow.approval.approval import Approval
from hedgerow.approval.written_request import WrittenRequest, unfit_request
from hedgerow.canonical import canonical
from hedgerow.cli.call import Call, calls_made_by, plain_warnings
from hedgerow.cli.grammar import parse_unit
from hedgerow.cli.terminal import USAGE, misspelt
from hedgerow.cli.verbs.planning import public_number
from hedgerow.clock import now
from hedgerow.engines.unopened import UnopenedSource
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Missing
from hedgerow.facts.declared import Facts, protection_of
from hedgerow.ledger.approved import SLACK
from hedgerow.ledger.ledger_entry import fingerprint_of
from hedgerow.ledger.store import Ledger
from hedgerow.release.spend import InLedger, OnlyAsked, OpenedSource, Requestable
from hedgerow.survey import Survey

if TYPE_CHECKING:
    from hedgerow.release.publication.folder import ReleaseFolder

_OF_FACTS = "the facts of the request"
_DECIDED_LATER = ("source", "table", "ledger", "request_id", "out", "force", "quiet")
_NOT_ASKED = ("data", "ledger")  # of the facts: where data and ledger lie is for whoever has them
_OF_SPENDING = {"unit", "request_id"}  # options of what spends on an opened survey


@cache
def requestable() -> tuple[str, ...]:
    """Return the verbs that can be asked for: those that spend on an opened source, as their options say.

    >>> requestable()[:2]
    ('release', 'table')
    """
    from hedgerow.cli.main import VERBS

    found = []
    for name, module in VERBS.items():
        verb = getattr(import_module(module), name, None)
        commands = [each.callback for each in getattr(verb, "registered_commands", [])] or [verb]
        if all(getattr(each, "from_call", False) and _options(each).keys() >= _OF_SPENDING for each in commands):
            found.append(name)
    return tuple(found)


def _options(verb: Any) -> Mapping[str, Any]:
    options: Mapping[str, Any] = verb.__signature__.parameters
    return options


def make_request(
    verb: str,
    words: Sequence[str],
    *,
    facts: Mapping[str, Any] | None,
    n: int | None,
    asked_by: str,
    purpose: str,
    until: str,
    at: str | None = None,
    amends: str | None = None,
) -> WrittenRequest:
    """Return the request of a command, priced and forecast from public facts.

    Writing a request reads no data and spends no budget.

    Raises
    ------
    ParameterError
        HG321: who asks, the purpose or the last day is missing, or the command names data, or asks for nothing. HG334:
        the request declares that no value is missing.
    HedgerowError
        As the verb.
    """
    words = [part for word in words for part in _apart(word)]
    facts = None if facts is None else {name: part for name, part in facts.items() if name not in _NOT_ASKED}
    product = _asked_product(verb, words, facts, n)
    refuse_declared_complete(product.request)
    rows = [_plain(_row(expected)) for expected in product.expected(n=n)]
    return WrittenRequest(
        verb=verb,
        words=tuple(words),
        facts=facts,
        n=n,
        asked_by=asked_by,
        purpose=purpose,
        at=now().isoformat(timespec="seconds") if at is None else at,
        until=until,
        in_words=product.in_words,
        asked=json.loads(fingerprint_of(product.request)),
        price=json.loads(product.price.to_json()),
        expected=tuple(rows),
        signatures=1 if facts is None else facts.get("signatures", 1),
        amends=amends,
    )


def asked_again(request: WrittenRequest, **changes: Any) -> WrittenRequest:
    """Return a request made again from its words and facts, with other options where they are given."""
    kept = ("verb", "words", "facts", "n", "asked_by", "purpose", "until", "at", "amends")
    return make_request(**{name: getattr(request, name) for name in kept} | changes)


def checked_request(request: WrittenRequest) -> WrittenRequest:
    """Return a request that says what its words ask, and refuse another one (HG333): an approver must not be misled."""
    again = asked_again(request)
    same = canonical(again.asked) == canonical(request.asked) and again.in_words == request.in_words
    priced = abs(again.epsilon - request.epsilon) <= SLACK and again.delta == request.delta
    # The relation, the unit and the expected errors are printed to the approver as well.
    stated = [(each.price.get("relation"), each.price.get("unit")) for each in (again, request)]
    same = same and stated[0] == stated[1] and _alike(again.expected, request.expected)
    if same and priced and again.signatures == request.signatures:
        return request
    raise ParameterError(
        "HG333",
        rule="The sentences, the price and the data of a request follow from its command and its facts.",
        finding="Parts of this request contradict its command, or another version of hedgerow made the request.",
        remedy="Ask for a new request from the person who made this request. Nothing was read or spent.",
    )


def refuse_declared_complete(asked: Mapping[str, Any]) -> None:
    """Refuse a request that declares that no value is missing (HG334).

    Such a release fails if the declaration is false, and its failure is no noisy number. So an analyst who asks for the
    records of one person would learn whether a value of this person is missing.
    """
    if Missing.DECLARED_COMPLETE in asked.get("missing", ()):
        raise ParameterError(
            "HG334",
            rule="A request must not declare that no value is missing: if its release failed, the failure would "
            "reveal that a value is missing.",
            finding=f"Its policy of missing values is {str(Missing.DECLARED_COMPLETE)!r}: see --missing and the facts.",
            remedy='Ask with the policy "drop" or "midpoint". Nothing was read or spent.',
        )


def _alike(first: object, second: object) -> bool:
    """Return whether two JSON values are the same, numbers up to what versions of libraries change."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_alike(first[key], second[key]) for key in first)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(_alike, first, second))
    if isinstance(first, float) and isinstance(second, (int, float)):
        return math.isclose(first, second, rel_tol=1e-3)
    return first == second


def run_signed(approval: Approval, given: Call) -> None:
    """Run what was signed, once, on the data and the ledger of `given`; a second run answers from the ledger's record.

    Raises
    ------
    ApprovalError
        HG322, HG324 to HG329: no approval covers the run. Nothing was read or spent.
    ParameterError
        HG334: the request declares that no value is missing.
    """
    request, declared = approval.request, given.declared
    refuse_declared_complete(request.asked)
    ledger = given.ledger if given.ledger is not None or declared is None else declared.ledger_path
    if ledger is None:
        raise ParameterError(
            "HG116",
            rule="A signed request runs only with the ledger for which it was signed.",
            finding="No ledger was named.",
            remedy="Add --ledger FILE.",
        )
    with Ledger.open(ledger) as opened:
        needed = max(opened.signatures, 1 if declared is None else declared.signatures or 1)
        approval.require(opened.approvers, needed, opened.identity)
    table = given.table if given.table is not None or declared is None or not declared.data else declared.data.table
    fixed = {"table": table, "ledger": ledger, "out": given.out, "force": given.force}
    fixed |= {"quiet": given.quiet, "as_json": given.as_json, "request_id": request.id, "facts": _OF_FACTS}

    def make(verb: str, chosen: dict[str, Any], **own: Any) -> Call:
        return _SignedCall(verb, chosen, **own | fixed, approval=approval, place=given.data)

    _run(request.verb, request.words, make)


def _run(verb: str, words: Sequence[str], make: Callable[..., Call]) -> None:
    from hedgerow.cli.main import app_of

    if verb not in requestable():
        raise unfit_request(f"{verb!r} is none of {', '.join(requestable())}.")
    group: Any = typer.main.get_command(app_of([verb]))
    try:
        with calls_made_by(make):
            group.commands[verb].main(args=list(words), prog_name=f"hedgerow {verb}", standalone_mode=False)
    except USAGE as usage:
        raise misspelt(usage) from None


def _asked_product(verb: str, words: Sequence[str], facts: Mapping[str, Any] | None, n: int | None) -> Requestable:
    products: list[Requestable] = []

    def make(name: str, chosen: dict[str, Any], **own: Any) -> Call:
        if any(own.get(option) for option in (*_DECIDED_LATER, "facts")):
            raise unfit_request("The command names data, a ledger or an output, or has an option of a release alone.")
        own |= {"facts": _OF_FACTS, "as_json": False}
        return _AskedCall(name, chosen, **own, n=n, record=facts, products=products)

    _run(verb, words, make)
    if len(products) != 1:
        raise unfit_request("The command asks for nothing that spends.")
    if getattr(products[0], "in_words", None) is None:
        raise unfit_request("What bootstrap-dp would give cannot be asked for: its error is known to the data alone.")
    return products[0]


def _apart(word: str) -> list[str]:
    """Return ``--option=value`` as two words, so that one form of each option is compared and shown."""
    option, equals, value = word.partition("=")
    return [option, value] if equals and option.startswith("--") and ":" not in option else [word]


def _row(expected: Any) -> dict[str, Any]:
    error = getattr(expected, "standard_error", None)
    return asdict(expected) | ({} if error is None else {"standard_error": error})


def _plain(record: Any) -> Any:
    """Return JSON data, with None for numbers that JSON does not have."""
    if isinstance(record, Mapping):
        return {str(name): _plain(part) for name, part in record.items()}
    if isinstance(record, (list, tuple)):
        return [_plain(part) for part in record]
    return None if isinstance(record, float) and not math.isfinite(record) else record


@dataclass(frozen=True)
class _AskedSurvey(Survey):
    """A survey of which public facts alone are known: what is asked of it stops where it would be spent."""

    number: int | None = None

    @cached_property
    def n(self) -> int | None:
        """The public number of records."""
        return self.number

    def _opened(self) -> OpenedSource:
        return replace(super()._opened(), asking=True)


@dataclass(frozen=True)
class _SignedSurvey(Survey):
    """An opened source from which a signed request is paid."""

    approval: Approval | None = None

    def _opened(self) -> OpenedSource:
        ledger = None if self.ledger is None else InLedger(self.ledger, self.approval)
        return replace(super()._opened(), ledger=ledger)


@dataclass(frozen=True)
class _AskedCall(Call):
    """A call of a verb that is only asked for."""

    n: int | None = None
    record: Mapping[str, Any] | None = None
    products: list[Requestable] = field(default_factory=list)

    @cached_property
    def declared(self) -> Facts | None:
        """The facts of the request."""
        return None if self.record is None else Facts.from_dict(self.record)

    @contextmanager
    def opened(self, files: Sequence[str] | None) -> Iterator[tuple[Survey, ReleaseFolder | None]]:
        """Yield a survey that knows public facts alone."""
        if self.source is not None:
            raise unfit_request("The command names data.")
        declared, unit = self.declared, parse_unit(self.unit)
        whom = protection_of(declared, relation=self.relation, unit=unit, target=self.target)
        source = UnopenedSource({} if declared is None else declared.types())
        known = (whom.stated, whom.unit, whom.target, declared, whom.notes)
        yield _AskedSurvey(source, *known, number=public_number(self.n, whom)), None

    def spend(self, release: Callable[[], Any], *_: Any, **__: Any) -> None:
        """Keep what would be released, and stop there."""
        try:
            with plain_warnings():
                release()
        except OnlyAsked as asked:
            self.products.append(asked.product)


@dataclass(frozen=True)
class _SignedCall(Call):
    """A call of a verb as it was signed, on the data of whoever runs it."""

    approval: Approval | None = None
    place: str | None = None

    @cached_property
    def declared(self) -> Facts | None:
        """The facts of the request, which were signed with it."""
        signed = None if self.approval is None else self.approval.request.facts
        return None if signed is None else Facts.from_dict(signed)

    @contextmanager
    def opened(self, files: Sequence[str] | None) -> Iterator[tuple[Survey, ReleaseFolder | None]]:
        """Open the data, from which the signed request alone is paid."""
        if self.place is None:
            raise ParameterError(
                "HG116",
                rule="A signed request does not name the data source.",
                finding="No source was named.",
                remedy="Name the data source first: `hedgerow release DATA --request approved.json --ledger FILE`.",
            )
        with Call.opened(replace(self, source=self.place), files) as (survey, folder):
            yield _SignedSurvey(**vars(survey), approval=self.approval), folder
