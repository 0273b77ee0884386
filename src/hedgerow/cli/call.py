"""What every verb that spends does: open, prepare a folder, release, write, print; and its options, once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, cast, get_args

from hedgerow.cli import shared_options
from hedgerow.cli.grammar import parse_unit
from hedgerow.cli.terminal import OutputClosed, keep_quiet, write_json, write_note, write_stdout, write_warning
from hedgerow.errors import HedgerowError, HedgerowWarning, ParameterError, SpentError
from hedgerow.facts.declared import advise

if TYPE_CHECKING:
    from hedgerow.facts.declared import Facts
    from hedgerow.release.publication.folder import ReleaseFolder
    from hedgerow.survey import Survey


class Received(Protocol):
    """What a release returns, of whatever kind."""

    @property
    def unrecorded(self) -> bool:
        """Whether the ledger holds the price alone."""
        ...

    @property
    def replayed(self) -> bool:
        """Whether the ledger's record answered."""
        ...


ReceivedT = TypeVar("ReceivedT", bound=Received)


@dataclass(frozen=True)
class Call:
    """A call of a verb that spends or plans: the options that several verbs have, `chosen` those of releases."""

    verb: str
    chosen: dict[str, Any]
    source: shared_options.Source = None
    relation: shared_options.Relation = None
    level: shared_options.Level = 0.95
    target: shared_options.Target = None
    table: shared_options.Table = None
    unit: shared_options.Unit = None
    facts: shared_options.FactsPath = None
    request: shared_options.RequestName = None
    ledger: shared_options.LedgerPath = None
    request_id: shared_options.RequestId = None
    out: shared_options.Out = None
    force: shared_options.Force = False
    quiet: shared_options.Quiet = False
    as_json: shared_options.AsJson = False

    @cached_property
    def declared(self) -> Facts | None:
        """What the file of the facts says, where one is named."""
        from hedgerow.facts.declared import Facts

        return None if self.facts is None else Facts.read(self.facts)

    @property
    def data(self) -> str | None:
        """The source, else the one that the facts name."""
        return self.source if self.source is not None or self.declared is None else self.declared.data_path

    @contextmanager
    def opened(self, files: Sequence[str] | None) -> Iterator[tuple[Survey, ReleaseFolder | None]]:
        """Open the source, and prepare the folder of ``--out`` for these files; None: for none.

        Raises
        ------
        ParameterError
            HG116: neither a source nor facts are named.
        """
        from hedgerow.survey import open as open_survey

        if self.source is None and self.facts is None:
            raise no_source(self.verb)
        with ExitStack() as stack:
            stack.enter_context(plain_warnings())
            survey = open_survey(
                self.source,
                self.declared,
                relation=cast("Any", self.relation),  # a text of the shell, which `open` checks
                target=cast("Any", self.target),
                unit=parse_unit(self.unit),
                table=self.table,
                ledger=self.ledger,
            )
            folder: ReleaseFolder | None = None
            if self.out is not None and files is not None:
                from hedgerow.release.publication.folder import prepared_folder

                prepared = prepared_folder(self.out, force=self.force, source=self.data, names=files)
                folder = stack.enter_context(prepared)
            yield survey, folder

    def spend(
        self,
        release: Callable[[], Any],
        text: Callable[[Any], str],
        write: Callable[[Any], Sequence[str]] | None,
        *,
        record: Callable[[Any], dict[str, Any] | None] | None = None,
        numbers: Callable[[Any], str] | None = None,
        heading: str | None = None,
        after: Callable[[Any, bool], None] = lambda result, written: None,
        survey: Survey,
    ) -> None:
        """Release, write the files, and print the result as a text, or under ``--json`` as its record.

        A last line on standard error says what the ledger has spent, where there is one.

        Parameters
        ----------
        release, text : callable
        write : callable or None
            Writes the files of a result and returns their names; None where none are wanted.
        record : callable, optional
            Returns the record, or None where it has printed it; by default it is that of `to_dict`.
        numbers : callable, optional
            Returns what is printed under ``--quiet``; by default the text.
        heading : str, optional
            What stands in front of the names of the files.
        after : callable, optional
            Prints what is said last, told whether files were written.
        survey : Survey
            What the release is from: its ledger is the one that paid.
        """

        def show(result: Any, written: Sequence[str]) -> None:
            if self.as_json:
                made = result.to_dict(self.level) if record is None else record(result)
                if made is not None:
                    write_json(made | replayed_field(result))
            elif self.quiet:
                # What could not be written to files is printed all the same.
                if self.out is None or not written:
                    write_stdout((numbers or text)(result))
            else:
                write_if_replayed(result)
                write_stdout(text(result))
                if written:
                    write_stdout(f"{heading or f'Written to {self.out}'}: {', '.join(written)}")
            after(result, bool(written))

        write_balance(survey.ledger, spend(release, show, write))


_MAKES: ContextVar[Callable[..., Call]] = ContextVar("makes", default=Call)


@contextmanager
def calls_made_by(make: Callable[..., Call]) -> Iterator[None]:
    """Let verbs that run inside get their calls from here: a request is asked for, or was signed."""
    before = _MAKES.set(make)
    try:
        yield
    finally:
        _MAKES.reset(before)


def spends(order: str, **described: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb options of a `Call` and of releases in place of its parameter `call`.

    Parameters
    ----------
    order : str
        As of `in_place_of`. A verb with ``request_id`` spends, and can be asked for by `hedgerow request`.
    **described
        What describes an option of a `Call` in this verb's help.
    """
    common = dict(signature(Call, eval_str=True).parameters)
    for name, info in described.items():
        common[name] = common[name].replace(annotation=Annotated[get_args(common[name].annotation)[0], info])

    def give(verb: Callable[..., None]) -> Callable[..., None]:
        def make(given: dict[str, Any]) -> Call:
            from hedgerow.inference.interval import parse_level

            own = {name: given.pop(name) for name in common if name in given}
            if "level" in own:
                own["level"] = parse_level(own["level"])
            keep_quiet(own.get("quiet", False))
            return _MAKES.get()(verb.__name__, shared_options.chosen(given), **own)

        run = shared_options.in_place_of("call", shared_options.OF_RELEASES | common, make, order)(verb)
        vars(run)["from_call"] = True
        return run

    return give


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


def replayed_field(result: Received) -> dict[str, bool]:
    """Return the field that ``--json`` adds to what a record answered; without a replay there is none."""
    return {"replayed": True} if result.replayed else {}


def write_if_replayed(result: Received) -> None:
    """Say on standard error that a record answered, where one did; under ``--json`` `replayed_field` says it."""
    if result.replayed:
        from hedgerow.release.publication.shared import REPLAYED

        write_note(REPLAYED)


def write_balance(path: str | Path | None, result: Received) -> None:
    """Say on standard error what the ledger has spent in all and what is left, or that a replay spent nothing new."""
    from hedgerow.ledger.store import Ledger

    if path is None:
        return
    # The result was paid for and printed: a ledger that cannot be read at this moment is no failure of the command.
    with suppress(HedgerowError), Ledger.open(path) as ledger:
        paid = "nothing new was spent; " if result.replayed else ""
        balance = f"ε ≤ {ledger.spent():.6g} of {ledger.budget.epsilon:.6g} is spent in all"
        write_note(f"Ledger {Path(path).name}: {paid}{balance}, and {ledger.remaining():.6g} is left.")


def check_for_bootstrap(weak: bool, *, step: bool, for_the_custodian: bool) -> None:
    """Refuse an option that bootstrap-dp alone has, under another guarantee (HG116)."""
    named = "--step" if step else "--for-the-custodian"
    if not weak and (step or for_the_custodian):
        raise ParameterError(
            "HG116",
            rule=f"{named} belongs to bootstrap-dp.",
            finding="The option was given for a request under another guarantee.",
            remedy="Leave the option out. Under dp, write the step after the bounds, as in --mean age:0:100:1.",
        )


def tell_the_custodian(result: Any, names: Sequence[str], level: float) -> None:
    """Print the custodian's figures of a bootstrap-dp result on standard error; a replayed result has none."""
    try:
        write_note(result.for_the_custodian().in_words(names, level=level), asked=True)
    except ParameterError as none:
        # The result was paid for and printed: that its record holds no such figures is no failure.
        write_note(str(none), asked=True)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Tell hedgerow's own warnings in plain words, and no other: a library's may quote data."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        # That a result is not on record is said at the end, with the exit code.
        if not str(message).startswith("HG606"):
            write_warning(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", HedgerowWarning)
        warnings.showwarning = show
        yield


def spend(
    release: Callable[[], ReceivedT],
    show: Callable[[ReceivedT, Sequence[str]], None],
    write: Callable[[ReceivedT], Sequence[str]] | None = None,
) -> ReceivedT:
    """Release, write the files, then print: a failure of one does not keep back the other.

    Parameters
    ----------
    release : callable
        A failure of it without a code of its own may have come after the price was reserved.
    show : callable
        Prints the result, given the names of its files.
    write : callable or None
        Writes the files and returns their names; None where none are wanted.

    Raises
    ------
    SpentError
        HG604: what was released could not be printed, or its files could not all be written. HG606: it was printed, and
        its files were written, but the ledger does not hold it.
    """
    failure: SpentError
    try:
        with plain_warnings():
            result = release()
            _deliver(result, show, write)
        return result
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
            finding="An error without a code is a bug in hedgerow. The data may have been read before the failure.",
            remedy="Count the price of this call as spent, and please report the command, without data.",
        )
    # Raised outside the handlers: inside them __context__ would carry the cause, which may quote data.
    raise failure


def _deliver(
    result: ReceivedT,
    show: Callable[[ReceivedT, Sequence[str]], None],
    write: Callable[[ReceivedT], Sequence[str]] | None,
) -> None:
    written: Sequence[str] | None = ()
    if write is not None:
        try:
            written = write(result)
        except Exception:
            # The release is spent, so whatever stopped the files must not stop the printing.
            written = None
    try:
        show(result, written or ())
    except (OutputClosed, ParameterError):
        # With the files written nothing is lost, and closing a pipe early is nobody's mistake.
        if not written:
            raise _undelivered("It could not be printed to the end, and is written nowhere else.") from None
    if written is None:
        # A full disk takes both.
        also = ", nor could the ledger keep it" if result.unrecorded else ""
        raise _undelivered(f"It was printed, but its files could not all be written{also}.")
    if result.unrecorded:
        from hedgerow.release.spend import not_on_record

        raise not_on_record()


def _undelivered(finding: str) -> SpentError:
    return SpentError(
        "HG604",
        rule="The price of a release is spent once the data are read, even if its result cannot be written.",
        finding=finding,
        remedy="Count the price of this call as spent. Keep the printed output, and make room before the next call.",
    )
