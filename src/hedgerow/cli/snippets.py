"""A planned release as it is written in Python and in the shell: the same statistics, options and price."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hedgerow.facts.columns import Bands
from hedgerow.facts.expression import DerivedColumn
from hedgerow.keywords import Call

_LINE = 88


def python_snippet(opened: Mapping[str, Any], calls: Sequence[Call], options: Mapping[str, Any]) -> str:
    """Return a program that makes the release and prints it.

    Parameters
    ----------
    opened : mapping
        The arguments of `hedgerow.open`; the source by position, and None is left out.
    calls : sequence of Call
        What asks for the statistics.
    options : mapping
        The other arguments of `release`.

    Examples
    --------
    >>> print(python_snippet({"source": "a.csv"}, [Call("mean", ("age",), {"bounds": (0, 9)})], {"epsilon": 1.0}))
    import hedgerow as hg
    <BLANKLINE>
    survey = hg.open('a.csv')
    release = survey.release([hg.mean('age', bounds=(0, 9))], epsilon=1.0)
    print(release)
    """
    source = [] if opened["source"] is None else [opened["source"]]
    rest = {name: value for name, value in opened.items() if name != "source" and value is not None}
    statistics = [_called(f"hg.{call.name}", call.args, _told(call.given)) for call in calls]
    listed = f"[{', '.join(statistics)}]"
    made = _called("survey.release", [_Written(listed)], options)
    if len(f"release = {made}") > _LINE:
        lines = [f"    [{_broken(statistics, 8)}],", *(f"    {name}={_value(one)}," for name, one in options.items())]
        made = "\n".join(["survey.release(", *lines, ")"])
    return "\n".join(
        [
            "import hedgerow as hg",
            "",
            f"survey = {_called('hg.open', source, rest)}",
            f"release = {made}",
            "print(release)",
        ]
    )


def shell_snippet(opened: Mapping[str, Any], words: Sequence[str], request: str, epsilon: float | None) -> str:
    """Return the command that makes the release; `request` names the one of the facts that the words change."""
    named = {"relation": "--relation", "target": "--target", "table": "--table", "facts": "--facts"}
    given = [part for name, option in named.items() if opened.get(name) is not None for part in (option, opened[name])]
    further = [] if epsilon is None else ["--epsilon", repr(epsilon)]
    chosen = ["--request", request] if request else []
    source = [] if opened["source"] is None else [opened["source"]]
    return shlex.join(["hedgerow", "release", *map(str, [*source, *given]), *chosen, *words, *further])


class _Written(str):
    """Python already."""

    __slots__ = ()


def _told(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords without those that say nothing."""
    return {name: value for name, value in given.items() if value is not None}


def _called(name: str, args: Iterable[Any], given: Mapping[str, Any]) -> str:
    parts = [*map(_value, args), *(f"{key}={_value(value)}" for key, value in given.items())]
    return f"{name}({', '.join(parts)})"


def _value(value: Any) -> str:
    """Return a value as Python writes it.

    >>> _value({"age": Bands((0.0, 25.0)), "x": (1, None)})
    "{'age': hg.bands(0.0, 25.0), 'x': (1, None)}"
    """
    if isinstance(value, _Written):
        return str(value)
    if isinstance(value, DerivedColumn):
        return _called("hg.column", [value.text], _told({"bounds": value.bounds, "step": value.step}))
    if isinstance(value, Bands):
        return _called("hg.bands", value.cuts, _told({"labels": value.labels}))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(key)}: {_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))}{',' * (len(value) == 1)})"
    return repr(str(value)) if isinstance(value, str) else repr(value)


def _broken(statistics: Sequence[str], indent: int) -> str:
    """Return statistics in one line, or one a line where that is too long."""
    if len(", ".join(statistics)) + indent <= _LINE:
        return ", ".join(statistics)
    pad = "\n" + " " * indent
    return pad + pad.join(f"{one}," for one in statistics) + "\n" + " " * (indent - 4)
