"""Writing to standard output and standard error, where either may be closed, full, or of a small alphabet.

From an exception to what the user reads and the exit code: rule, finding, remedy, never a traceback.

Refusals are written once, with the names of parameters; `in_shell` renders them, since what is a keyword in Python is
an option here. Where names alone do not carry over, an error brings its remedy for the shell along.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from typing import Any, TextIO

import typer

from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.facts.lines import fitted
from hedgerow.facts.printed import for_terminal
from hedgerow.interrupts import interrupted, nothing_is_spent, speaks_json
from hedgerow.keywords import RENAMED, nearest_name


class OutputClosed(Exception):
    """Whoever read standard output has stopped reading."""


# On a narrower terminal no line of numbers fits.
_LEAST = 40


def width_of(stream: TextIO | None) -> int | None:
    """Return how many characters a line of a terminal has, by COLUMNS where it is set; None where it is no terminal."""
    with contextlib.suppress(OSError, ValueError):
        if stream is not None and stream.isatty():
            given = os.environ.get("COLUMNS", "")
            known = given.isdecimal() and 0 < len(given) < 6
            columns = int(given) if known else os.get_terminal_size(stream.fileno()).columns
            return max(columns, _LEAST) if columns else None
    return None


def write_stdout(text: str, *, as_is: bool = False) -> None:
    """Write a text and a line's end to standard output, at once; on a terminal its lines are broken between words.

    What is to be copied, or read by a program, is written as it is.

    Raises
    ------
    OutputClosed
        Nobody reads it, as after ``| head -1``.
    ParameterError
        HG118: it cannot be written, as on a full disk.
    """
    stream = sys.stdout
    if stream is None:
        # Python was started with a closed descriptor.
        raise OutputClosed
    failure: Exception | None = None
    try:
        _write(stream, text, as_is=as_is)
    except BrokenPipeError:
        failure = OutputClosed()
    except (OSError, ValueError):
        failure = ParameterError(
            "HG118",
            rule="The result must be written to a file or to standard output.",
            finding="Standard output cannot be written.",
            remedy="Is the disk full?",
        )
    if failure is not None:
        _discard(stream)
        raise failure


def write_json(record: dict[str, Any]) -> None:
    """Write a record to standard output as JSON, in ASCII where the terminal knows no more."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    write_stdout(json.dumps(record, indent=2, ensure_ascii=encoding != "utf8", allow_nan=False), as_is=True)


class _Spoken:
    quiet = False


def keep_quiet(quiet: bool) -> None:
    """Keep notes and warnings back from here on, or print them."""
    _Spoken.quiet = quiet


def write_note(text: str, *, asked: bool = False) -> None:
    """Write a note and a line's end to standard error; under ``--json`` it is ``{"note": text}``.

    Under ``--quiet`` nothing is written, unless somebody asked for it.
    """
    if _Spoken.quiet and not asked:
        return
    write_stderr(json.dumps({"note": text}) if speaks_json() else text)


def write_warning(text: str) -> None:
    """Write a warning and a line's end to standard error; under ``--json`` it is ``{"warning": text}``.

    Under ``--quiet`` nothing is written.
    """
    if _Spoken.quiet:
        return
    write_stderr(json.dumps({"warning": text}) if speaks_json() else f"Warning: {text}")


def write_stderr(text: str) -> None:
    """Write a text and a line's end to standard error, in whatever language; where it is closed, nobody is told."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            _write(sys.stderr, text)


def _write(stream: TextIO, text: str, *, as_is: bool = False) -> None:
    encoding, width = stream.encoding or "utf-8", width_of(stream)
    text = text if as_is or width is None or speaks_json() else fitted(text, width)
    stream.write(text.encode(encoding, errors="replace").decode(encoding) + "\n")
    stream.flush()


def _discard(stream: TextIO) -> None:
    """Send what is still buffered nowhere, or Python would complain about it on its way out."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


# Options that are not called as their parameters are.
_OTHERWISE = {"n_looks": "--looks", "n_answers": "--answers", "training_score": "--training", "groups": "--group"}
_ALIKE = (
    "by cell_bounds classes column delta depth epsilon estimator facts force guarantee interval key label labels "
    "ledger level margins mechanism metric missing n n_buckets n_draws n_fits n_resamples noise noise_sd other "
    "positive rate relation request_id rho mu score sensitivity share table target threshold thinning unit "
)
OPTIONS = {name: "--" + name.replace("_", "-") for name in _ALIKE.split()} | _OTHERWISE
_WORDS = {"bounds": "LO:HI", "step": "STEP"}
_NESTED = r"(?:[^()]|\([^()]*\))*"
_VALUE = rf""""[^"]*"|'[^']*'|\{{[^{{}}]*\}}|\([^()]*\)|\[[^\[\]]*\]|\w+\({_NESTED}\)|…|[\w.+-]*\w"""
# Not after a letter, a colon or a comma: COL:share=0.6 and --by share=0,1 are the shell's own.
_ASSIGNED = re.compile(rf"(?<![\w:,=-])(\w+)=({_VALUE})")
_NAMED = re.compile(r"`(\w+)(=?)`")
_WORD = re.compile(r'"([^\s"]+)"')


def sentences_in_shell(refused: HedgerowError) -> tuple[str, str, str]:
    """Return rule, finding and remedy as whoever typed a command understands them."""
    remedy = refused.remedy if refused.shell is None else refused.shell
    # Lines of a facts file, which a remedy may end in, stay as they are.
    text, line, facts = remedy.partition("\n")
    return in_shell(refused.rule), in_shell(refused.finding), f"{in_shell(text)}{line}{facts}"


def in_shell(text: str) -> str:
    """Return a text with the names of parameters as options, and values as they are typed.

    >>> in_shell('`epsilon` has no default. Try epsilon=1.0.')
    '`--epsilon` has no default. Try --epsilon 1.0.'
    >>> in_shell('For example by={"sex": [0, 1]}, or unit={"column": "person_id", "max_rows": 4}.')
    'For example --by sex=0,1, or --unit person_id:4.'
    >>> in_shell('Use noise="laplace" (or "auto"), or bounds=(0, 100).')
    'Use --noise laplace (or auto), or COL:0:100.'
    """

    def assigned(match: re.Match[str]) -> str:
        # What stands behind an option is written for the shell already.
        if re.search(r"--[\w-]+ $", text[: match.start()]):
            return match[0]
        try:
            return _option(match[1], match[2])
        except (AttributeError, KeyError, TypeError, ValueError):
            # What somebody gave may look like anything, and a refusal must be printed whatever it quotes.
            return match[0]

    text = _ASSIGNED.sub(assigned, text.replace("in the call", "on the command line"))
    text = _NAMED.sub(lambda match: f"`{OPTIONS.get(match[1], _WORDS.get(match[1], match[1]))}`", text)
    return _WORD.sub(r"\1", text)


def _option(name: str, written: str) -> str:
    call = re.fullmatch(r"(\w+)\((.*)\)", written)
    if call and name in OPTIONS:
        return f"{OPTIONS[name]} {call[1]} {in_shell(call[2])}".rstrip()
    if name == "bounds":
        low, high = _literal(written)
        return f"COL:{low}:{high}"
    if name not in OPTIONS:
        return f"{name}={written}"
    value = _literal(written)
    option = OPTIONS[name]
    if name == "unit" and isinstance(value, dict):
        return f"{option} {value['column']}:{value['max_rows']}"
    if isinstance(value, dict):
        return " ".join(f"{option} {shlex.quote(str(key))}={_typed(item)}" for key, item in value.items())
    if value is True:
        return option
    if name == "by":
        return " ".join(f"{option} {_typed(item)}" for item in value)
    return f"{option} {_typed(value)}"


def _typed(value: Any) -> str:
    listed = value if isinstance(value, (list, tuple)) else [value]
    return ",".join(shlex.quote(str(value)) for value in listed)


def _literal(written: str) -> Any:
    if re.fullmatch(r"[\d.][\de.+-]*", written):
        # A number stands as it was written: 1e-6, not 1e-06.
        return written
    try:
        return ast.literal_eval(written)
    except (SyntaxError, ValueError):
        return "VALUE" if "…" in written else written


INTERRUPTED = 130
# Typer exports one of its usage errors; their common base has moved between versions, but not its name.
USAGE: tuple[type[BaseException], ...] = tuple(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException" and issubclass(kind, Exception)
)


def exit_code_of(run: Callable[[], object]) -> int:
    """Run a verb and return its exit code; whatever it raises is told on standard error in whole sentences."""
    nothing_is_spent()
    try:
        code = run()
        if code == INTERRUPTED:
            # Typer has met the interruption first.
            write_stderr(interrupted(INTERRUPTED))
        return code if isinstance(code, int) else 0
    except HedgerowError as refused:
        return _refuse(refused)
    except OutputClosed:
        return 0
    except (KeyboardInterrupt, typer.Abort):
        write_stderr(interrupted(INTERRUPTED))
        return INTERRUPTED
    except SystemExit:
        raise
    except USAGE as usage:
        return _refuse(misspelt(usage))
    except BaseException:
        # Compiled libraries raise outside Exception too, and none of it may reach the user: it may quote data.
        pass
    return _refuse(
        HedgerowError(
            "HG901",
            rule="Every failure has a code and a page.",
            finding="An error without a code is a bug in hedgerow. No data were read and nothing was spent.",
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
    write_stderr(json.dumps(as_record(refused)) if speaks_json() else wording(refused))
    return refused.exit_code


def _nearest_option(option: str, context: Any) -> str | None:
    """Return the option of a command that was meant: by another name of its statistic, else by its spelling."""
    from hedgerow.statistics.registry import entries

    known = {name for parameter in getattr(getattr(context, "command", None), "params", ()) for name in parameter.opts}
    word = option.lstrip("-").replace("-", "_")
    for entry in entries().values():
        if word in entry.also_called and entry.option in known:
            return f"{entry.option} {entry.metavar}"
    if renamed := [f"--{today}" for today in RENAMED.get(word, ()) if f"--{today}" in known]:
        return " or ".join(renamed)
    nearest = nearest_name(option.lstrip("-"), sorted(name.lstrip("-") for name in known if name.startswith("--")))
    return None if nearest is None else f"--{nearest}"


def misspelt(usage: BaseException) -> ParameterError:
    """Return the refusal of a command that cannot be understood, with the option that was meant (HG116)."""
    context = getattr(usage, "ctx", None)
    command = getattr(context, "command_path", None) or "hedgerow"
    message: str = usage.format_message()  # type: ignore[attr-defined]  # the base class by name, see USAGE
    remedy = f"See: {command} --help"
    if option := getattr(usage, "option_name", None):
        message = f"No such option: {option}"
        if nearest := _nearest_option(option, context):
            remedy = f"Did you mean {nearest}? {remedy}"
    return ParameterError(
        "HG116",
        rule=message.strip().rstrip(".") + ".",
        remedy=remedy,
    )
