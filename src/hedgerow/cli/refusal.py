"""From an exception to what the user reads and the exit code: rule, finding, remedy, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import typer

from hedgerow.cli.shell import sentences_in_shell
from hedgerow.cli.terminal import OutputClosed, tell_as_it_is
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.facts.printed import for_terminal
from hedgerow.interrupts import interrupted, nothing_is_spent, speaks_json

INTERRUPTED = 130
# Typer exports one of its usage errors; their common base has moved between versions, but not its name.
_USAGE: tuple[type[BaseException], ...] = tuple(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException" and issubclass(kind, Exception)
)


def exit_code_of(run: Callable[[], object]) -> int:
    """Run a verb and return its exit code; whatever it raises is told on standard error in whole sentences."""
    nothing_is_spent()
    try:
        code = run()
        if code == INTERRUPTED:
            # Typer has met the interruption first.
            tell_as_it_is(interrupted(INTERRUPTED))
        return code if isinstance(code, int) else 0
    except HedgerowError as refused:
        return _refuse(refused)
    except OutputClosed:
        return 0
    except (KeyboardInterrupt, typer.Abort):
        tell_as_it_is(interrupted(INTERRUPTED))
        return INTERRUPTED
    except SystemExit:
        raise
    except _USAGE as usage:
        return _refuse(_misspelt(usage))
    except BaseException:
        # Compiled libraries raise outside Exception too, and none of it may reach the user: it may quote data.
        pass
    return _refuse(
        HedgerowError(
            "HG901",
            rule="Every failure has a code and a page.",
            finding="This one has none: it is a bug in hedgerow. No data were read and nothing was spent.",
            remedy="Please report the command, without data.",
        )
    )


def wording(refused: HedgerowError) -> str:
    """Return what is printed: code and rule, finding, remedy, and where to read more.

    >>> print(wording(ParameterError("HG110", rule="A rule.", finding="A finding.", remedy="A remedy.")))
    HG110: A rule.
    A finding.
    A remedy.
    More: hedgerow explain HG110
    """
    rule, finding, remedy = sentences_in_shell(refused)
    said = [f"{refused.code}: {rule}", finding, remedy]
    lines = "\n".join(line for line in [*said, f"More: hedgerow explain {refused.code}"] if line)
    return for_terminal(lines)


def as_record(refused: HedgerowError) -> dict[str, Any]:
    """Return a refusal as ``--json`` prints it, in the words of the command line.

    >>> as_record(ParameterError("HG110", rule="A rule.", remedy="Try epsilon=1."))["error"]["remedy"]
    'Try --epsilon 1.'
    """
    rule, finding, remedy = sentences_in_shell(refused)
    said = {"code": refused.code, "rule": rule, "finding": finding, "remedy": remedy}
    return {"error": {**said, "exit": refused.exit_code}}


def _refuse(refused: HedgerowError) -> int:
    tell_as_it_is(json.dumps(as_record(refused)) if speaks_json() else wording(refused))
    return refused.exit_code


def _misspelt(usage: BaseException) -> ParameterError:
    context = getattr(usage, "ctx", None)
    command = getattr(context, "command_path", None) or "hedgerow"
    message: str = usage.format_message()  # type: ignore[attr-defined]  # the base class by name, see _USAGE
    remedy = f"See: {command} --help"
    if (option := getattr(usage, "option_name", None)) and (nearest := getattr(usage, "possibilities", None)):
        message, remedy = f"No such option: {option}", f"Did you mean {nearest[0]}? {remedy}"
    return ParameterError(
        "HG116",
        rule=message.strip().rstrip(".") + ".",
        remedy=remedy,
    )
