"""What every verb that spends has to keep: warnings in plain words, failures that stay spent, results that arrive."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from hedgerow.cli.terminal import OutputClosed, tell
from hedgerow.errors import HedgerowError, HedgerowWarning, ParameterError, SpentError
from hedgerow.facts.facts_nearby import advise
from hedgerow.interrupts import speaks_json

if TYPE_CHECKING:
    from hedgerow.release.bootstrap_dp.custodian import CustodianFigures


def no_source(verb: str) -> ParameterError:
    """Return the refusal of a command that names no data (HG116)."""
    refused = ParameterError(
        "HG116",
        rule=f"A {verb} names its source, or facts that name one.",
        finding="Missing argument 'SOURCE'.",
        remedy=f"See: hedgerow {verb} --help.",
    )
    advise(refused, None)
    return refused


def as_replayed(replayed: bool) -> dict[str, bool]:
    """Return the field that ``--json`` adds to what a record answered; without a replay there is none.

    >>> as_replayed(True), as_replayed(False)
    ({'replayed': True}, {})
    """
    return {"replayed": True} if replayed else {}


def told_again(replayed: bool) -> None:
    """Say on standard error that a record answered, where one did; under ``--json`` `as_replayed` says it."""
    if replayed:
        from hedgerow.release.publication.result import REPLAYED

        tell(REPLAYED)


def check_for_bootstrap(weak: bool, *, step: bool, for_the_custodian: bool) -> None:
    """Refuse an option that bootstrap-dp alone has, under another guarantee (HG116)."""
    named = "--step" if step else "--for-the-custodian"
    if not weak and (step or for_the_custodian):
        raise ParameterError(
            "HG116",
            rule=f"{named} belongs to bootstrap-dp.",
            finding="It was given under another guarantee.",
            remedy="Leave it out; a step under dp stands beside the bounds, as in --mean age:0:100:1.",
        )


class ForItsCustodian(Protocol):
    """A bootstrap-dp result, beside which the custodian's figures are kept in memory."""

    def for_the_custodian(self) -> CustodianFigures:
        """Return them (HG159 where there are none)."""
        ...


def tell_the_custodian(result: ForItsCustodian, names: Sequence[str], level: float | None) -> None:
    """Print the custodian's figures on standard error, where they are asked for; a replayed result has none."""
    if level is None:
        return
    try:
        tell(result.for_the_custodian().in_words(names, level=level))
    except ParameterError as none:
        # The result was paid for and printed: that its record holds no such figures is no failure.
        tell(str(none))


@contextmanager
def warnings_told() -> Iterator[None]:
    """Tell hedgerow's own warnings in plain words, and no other: a library's may quote data."""

    def told(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        # That a result is not on record is said at the end, with the exit code.
        if not str(message).startswith("HG606"):
            tell(str(message), "warning") if speaks_json() else tell(f"Warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", HedgerowWarning)
        warnings.showwarning = told
        yield


def spending(run: Callable[[], None]) -> None:
    """Run what may spend; a failure without a code of its own may have come after the price was reserved."""
    failure: SpentError
    try:
        with warnings_told():
            run()
        return
    except HedgerowError:
        raise
    except KeyboardInterrupt:
        # `hedgerow.interrupts` knows whether a price was reserved.
        raise
    except BaseException:
        # Compiled libraries raise outside Exception too, and their words may quote data.
        failure = SpentError(
            "HG901",
            rule="Every failure has a code and a page.",
            finding="This one has none: it is a bug in hedgerow. The data may have been read.",
            remedy="Count the price of this call as spent, and please report the command, without data.",
        )
    # Raised outside the handlers: inside them __context__ would carry the cause, which may quote data.
    raise failure


def deliver(
    write: Callable[[], Sequence[str]] | None, show: Callable[[Sequence[str]], None], *, unrecorded: bool = False
) -> None:
    """Write the files, then print: a failure of one does not keep back the other.

    Parameters
    ----------
    write : callable or None
        Writes the files and returns their names; None where none are wanted.
    show : callable
        Prints the result, given those names.
    unrecorded : bool
        Whether the ledger could not keep the result, which was returned all the same.

    Raises
    ------
    SpentError
        HG604: what was released could not be printed, or its files could not all be written. HG606: it was printed, and
        its files were written, but the ledger does not hold it.
    """
    written: Sequence[str] | None = ()
    if write is not None:
        try:
            written = write()
        except Exception:
            # The release is spent, so whatever stopped the files must not stop the printing.
            written = None
    try:
        show(written or ())
    except (OutputClosed, ParameterError):
        # With the files written nothing is lost, and closing a pipe early is nobody's mistake.
        if not written:
            raise _undelivered("It could not be printed to the end, and is written nowhere else.") from None
    if written is None:
        # A full disk takes both.
        also = ", nor could the ledger keep it" if unrecorded else ""
        raise _undelivered(f"It was printed, but its files could not all be written{also}.")
    if unrecorded:
        from hedgerow.release.receipt import not_on_record

        raise not_on_record()


def _undelivered(finding: str) -> SpentError:
    return SpentError(
        "HG604",
        rule="A release is spent once the data are read, wherever its result goes.",
        finding=finding,
        remedy="Count the price of this call as spent; keep what was printed, and make room before the next.",
    )
