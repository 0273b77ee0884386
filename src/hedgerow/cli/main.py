"""The command line, one verb after `hedgerow`.

    init | plan | release | ask | table | margins | synthesize | pool | ols | logit | find | price | audit |
    verify | multicalibrate | apply | ledger | request | keys | approve | deny | desk | testset | demo |
    schema | explain

Verbs parse, call and print.

Exit codes: 0 done · 2 input or usage · 3 over budget · 4 refused · 5 verification or audit failed · 6 failed after the
budget was reserved · 130 and 143 ended by Ctrl-C or SIGTERM, before or after that, as the message says. Results go to
standard output, everything else to standard error; under --json both are JSON, the latter an object a line: an
"error", a "warning" or a "note".
Each verb imports what it needs when it runs, so that help is quick, and a command builds the verb that it names alone.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hedgerow.cli.terminal import exit_code_of, keep_quiet, width_of, write_stdout
from hedgerow.facts.lines import fitting
from hedgerow.facts.validation import check_texts
from hedgerow.interrupts import end_on_signals, speak_json

_NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]*)?([eE][+-]?[0-9]+)?")


def _taken(parameter: Any, otherwise: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return what a command makes of what was given for a parameter; all that is not plain goes the way of typer."""
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    several = parameter.multiple or parameter.nargs == -1

    def taken(ctx: Any, given: Any) -> Any:
        texts = several and kind == list[str] and isinstance(given, (list, tuple))
        if texts and all(isinstance(text, str) for text in given):
            return list(given)
        if several and given is None and kind is not None:
            return ()
        if several or kind is None:
            return otherwise(ctx, given)
        if given is None:
            return given if parameter.callback is None else parameter.callback(ctx, parameter, given)
        if (kind is str and isinstance(given, str)) or (kind is float and isinstance(given, float)):
            return given
        plain = kind is float and isinstance(given, str) and _NUMBER.fullmatch(given)
        return float(given) if plain else otherwise(ctx, given)

    return taken


def _help_of(parameter: Any, otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what a help says of a parameter, with the names that are registered."""

    def help_of(ctx: Any) -> Any:
        from hedgerow.cli.shared_options import filled

        parameter.help = filled(parameter.help or "")
        return otherwise(ctx)

    return help_of


def _take_plainly(parameters: list[Any]) -> list[Any]:
    """Let a command take texts and plain numbers as they are: typer asks pydantic, whose import takes .06 s."""
    for parameter in parameters:
        if not parameter.required and "process_value" not in vars(parameter):
            parameter.process_value = _taken(parameter, parameter.process_value)
        if "get_help_record" not in vars(parameter):
            parameter.get_help_record = _help_of(parameter, parameter.get_help_record)
    return parameters


class _Verb(TyperCommand):
    """A verb: what it is given in plain words goes no detour."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _take_plainly(super().get_params(ctx))


class _Verbs(TyperGroup):
    """The verbs, with every exception turned into sentences and an exit code."""

    def main(self, *args: Any, **options: Any) -> Any:
        options["standalone_mode"] = False
        options["prog_name"] = options.get("prog_name") or "hedgerow"
        asked = args[0] if args else options.get("args")
        given = sys.argv[1:] if asked is None else list(asked)
        # Also where the rest cannot be understood: whoever asks for JSON parses the refusal too.
        speak_json("--json" in given)
        keep_quiet(False)
        run = super().main

        def checked() -> object:
            check_texts(given, "An argument")
            with fitting(width_of(sys.stdout)):
                return run(*args, **options)

        raise SystemExit(exit_code_of(checked))

    def get_params(self, ctx: Any) -> list[Any]:
        return _take_plainly(super().get_params(ctx))


# In the order of the help. A group of verbs is a file of its own app.
VERBS = {
    "init": "hedgerow.cli.verbs.init",
    "plan": "hedgerow.cli.verbs.planning",
    "release": "hedgerow.cli.verbs.releasing",
    "ask": "hedgerow.cli.verbs.from_records",
    "table": "hedgerow.cli.verbs.releasing",
    "margins": "hedgerow.cli.verbs.tabulating",
    "synthesize": "hedgerow.cli.verbs.synthesizing",
    "pool": "hedgerow.cli.verbs.synthesizing",
    "ols": "hedgerow.cli.verbs.fitting",
    "logit": "hedgerow.cli.verbs.fitting",
    "find": "hedgerow.cli.verbs.finding",
    "price": "hedgerow.cli.verbs.pricing",
    "audit": "hedgerow.cli.verbs.pricing",
    "verify": "hedgerow.cli.verbs.from_records",
    "publish": "hedgerow.cli.verbs.from_records",
    "multicalibrate": "hedgerow.cli.verbs.calibrating",
    "apply": "hedgerow.cli.verbs.calibrating",
    "ledger": "hedgerow.cli.verbs.ledger",
    "request": "hedgerow.cli.verbs.requesting",
    "keys": "hedgerow.cli.verbs.approving",
    "approve": "hedgerow.cli.verbs.approving",
    "deny": "hedgerow.cli.verbs.approving",
    "desk": "hedgerow.cli.desk.opening",
    "testset": "hedgerow.cli.verbs.scoring",
    "demo": "hedgerow.cli.verbs.learning",
    "schema": "hedgerow.cli.verbs.learning",
    "explain": "hedgerow.cli.verbs.learning",
}


def app_of(names: Iterable[str]) -> typer.Typer:
    """Return the command line with these verbs alone.

    >>> [group.name for group in app_of(["plan", "ledger"]).registered_groups]
    ['ledger']
    """
    made = typer.Typer(
        name="hedgerow",
        cls=_Verbs,
        # Plain help: it reads the same in a pipe, in a log and to a screen reader.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(invoke_without_command=True)(_overview)
    for name in names:
        verb = getattr(import_module(VERBS[name]), name)
        if isinstance(verb, typer.Typer):
            for command in verb.registered_commands:
                command.cls = _Verb
            made.add_typer(verb, name=name)
        else:
            made.command(cls=_Verb)(verb)
    return made


@cache
def __getattr__(name: str) -> typer.Typer:
    """Return ``app``, the command line with all verbs."""
    if name != "app":
        raise AttributeError(name)
    return app_of(VERBS)


def _version(asked: bool) -> None:
    if asked:
        from hedgerow.version import __version__

        write_stdout(f"hedgerow {__version__}")
        raise typer.Exit


def _overview(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Private statistics with honest error bars. New here? Try `hedgerow demo`."""
    if context.invoked_subcommand is None:
        write_stdout(context.get_help(), as_is=True)


def main() -> None:
    """Run the command line on the arguments of this process; a signal ends it as `hedgerow.interrupts` says."""
    end_on_signals()
    named = sys.argv[1:2] if "_HEDGEROW_COMPLETE" not in os.environ else []
    app_of(named if named and named[0] in VERBS else VERBS)(prog_name="hedgerow")
