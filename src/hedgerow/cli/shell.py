"""The words of a refusal in the language of the shell: what is a keyword in Python is an option here.

Refusals are written once, with the names of parameters; `in_shell` renders them. Where names alone do not carry over,
an error brings its remedy for the shell along.
"""

from __future__ import annotations

import ast
import re
import shlex
from typing import Any

from hedgerow.errors import HedgerowError

# Options that are not called as their parameters are.
_OTHERWISE = {"n_looks": "--looks", "n_answers": "--answers", "training_score": "--training", "groups": "--group"}
_ALIKE = (
    "by cell_bounds classes column delta depth epsilon estimator facts force guarantee interval key label labels "
    "ledger level margins mechanism method metric missing n n_buckets n_draws n_fits n_resamples noise noise_sd other "
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
    return in_shell(refused.rule), in_shell(refused.finding), in_shell(remedy)


def in_shell(text: str) -> str:
    """Return a text with the names of parameters as options, and values as they are typed.

    >>> in_shell('`epsilon` has no default. Try epsilon=1.0.')
    '`--epsilon` has no default. Try --epsilon 1.0.'
    >>> in_shell('For example by={"sex": [0, 1]}, or unit={"column": "person_id", "max_rows": 4}.')
    'For example --by sex=0,1, or --unit person_id:4.'
    >>> in_shell('Use noise="laplace" (or "auto"), or bounds=(0, 100).')
    'Use --noise laplace (or auto), or COL:0:100.'
    """

    def assigned(found: re.Match[str]) -> str:
        # What stands behind an option is written for the shell already.
        if re.search(r"--[\w-]+ $", text[: found.start()]):
            return found[0]
        try:
            return _option(found[1], found[2])
        except (AttributeError, KeyError, TypeError, ValueError):
            # What somebody gave may look like anything, and a refusal must be printed whatever it quotes.
            return found[0]

    text = _ASSIGNED.sub(assigned, text.replace("in the call", "on the command line"))
    text = _NAMED.sub(lambda found: f"`{OPTIONS.get(found[1], _WORDS.get(found[1], found[1]))}`", text)
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
        return " ".join(f"{option} {shlex.quote(str(key))}={_typed(one)}" for key, one in value.items())
    if value is True:
        return option
    if name == "by":
        return " ".join(f"{option} {_typed(one)}" for one in value)
    return f"{option} {_typed(value)}"


def _typed(value: Any) -> str:
    listed = value if isinstance(value, (list, tuple)) else [value]
    return ",".join(shlex.quote(str(one)) for one in listed)


def _literal(written: str) -> Any:
    if re.fullmatch(r"[\d.][\de.+-]*", written):
        # A number stands as it was written: 1e-6, not 1e-06.
        return written
    try:
        return ast.literal_eval(written)
    except (SyntaxError, ValueError):
        return "VALUE" if "…" in written else written
