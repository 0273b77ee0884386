"""Facts written as text of a facts file: names and texts in TOML, and lines about one column added to a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Scalar
from hedgerow.toml import read_toml


def toml_text(text: str) -> str:
    r"""Return a text as TOML writes it.

    >>> print(toml_text('a "b"'), toml_text("a\u202eb"))
    "a \"b\"" "a\U0000202eb"
    """
    # JSON's escapes are TOML's. Signs that JSON leaves as they are, and that steer a reader or a terminal, get one too.
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in quoted)


def toml_key(name: str) -> str:
    """Return a name as a key of TOML: quoted where it must be.

    >>> toml_key("age"), toml_key("age, years")
    ('age', '"age, years"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)


def toml_value(value: Scalar | Sequence[Scalar]) -> str:
    """Return a text, number, boolean, or a list of them as TOML writes it.

    >>> toml_value([1, 2.5, "a", True, 1e-9])
    '[1, 2.5, "a", true, 1e-09]'
    """
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, (bool, int, float)):
        return str(value).lower() if isinstance(value, bool) else repr(value)
    return f"[{', '.join(toml_value(item) for item in value)}]"


def column_lines(column: str, facts: Mapping[str, Any]) -> str:
    r"""Return the part of a facts file about one column.

    >>> column_lines("income", {"bounds": [0, 150_000], "source": "codebook"})
    '[columns.income]\nbounds = [0, 150000]\nsource = "codebook"\n'
    """
    return f"[columns.{toml_key(column)}]\n{_lines(facts)}"


def with_column(text: str, column: str, facts: Mapping[str, Any]) -> str:
    r"""Return the text of a facts file with facts added about a column; every line that is there stays.

    A source that is named already stays too, and the one given is left out; so does the same expression.

    Raises
    ------
    ParameterError
        HG119: one of the facts is there already, or the text has the column in a form that lines cannot be added to.

    Examples
    --------
    >>> with_column('[columns.age]\nstep = 1\n', "age", {"bounds": [0, 100]})
    '[columns.age]\nbounds = [0, 100]\nstep = 1\n'
    """
    there = _columns(text).get(column, {})
    unchanged = {name for name in there if name == "source" or (name, there[name]) == ("expression", facts.get(name))}
    added = {name: value for name, value in facts.items() if name not in unchanged}
    if any(name in there for name in added):
        raise _kept(f"Column {column!r} has {' and '.join(name for name in added if name in there)} in it.")
    names = {re.escape(f"columns.{key}") for key in (toml_key(column), toml_text(column))}
    header = re.search(rf"^[ \t]*\[({'|'.join(sorted(names))})\][ \t]*(#.*)?$\n?", text, re.MULTILINE)
    if header is None:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        made = text + gap + column_lines(column, added)
    else:
        before = text[: header.end()]
        made = before + ("" if before.endswith("\n") else "\n") + _lines(added) + text[header.end() :]
    if _columns(made, strict=False).get(column) != there | dict(added):
        raise _kept(f"Column {column!r} is written in it in another form than [columns.{toml_key(column)}].")
    return made


def _lines(facts: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {toml_value(value)}\n" for name, value in facts.items())


def _columns(text: str, *, strict: bool = True) -> dict[str, Any]:
    try:
        columns = read_toml(text).get("columns", {})
    except (ValueError, RecursionError):
        columns = None
    if isinstance(columns, dict) and all(isinstance(column_facts, dict) for column_facts in columns.values()):
        return columns
    if strict:
        raise _kept("It is no facts file.")
    return {}


def _kept(finding: str) -> ParameterError:
    return ParameterError(
        "HG119",
        rule="Facts are added to a facts file, and existing facts are never overwritten.",
        finding=finding,
        remedy="Leave out the option that writes facts, and copy the printed lines into the facts file.",
    )
