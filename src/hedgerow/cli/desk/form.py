"""The analyst's form: what public facts let one choose, and the words of the command that a filled form stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hedgerow.approval.written_request import WrittenRequest
from hedgerow.cli.verbs.asking import make_request
from hedgerow.statistics.registry import entries

ROWS = range(4)
"""So many statistics can be asked for on one page."""

Fields = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be chosen, from the facts and the registry of statistics alone.

    Attributes
    ----------
    facts : mapping
        The plain data of a facts file.
    """

    facts: Mapping[str, Any]

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Each column, and what is declared of it in words."""
        return [(name, _declared(column)) for name, column in self.facts.get("columns", {}).items()]

    @property
    def groups(self) -> list[tuple[str, str]]:
        """The columns by which results can be grouped."""
        columns = self.facts.get("columns", {})
        return [(name, said) for name, said in self.columns if columns[name].get("categories")]

    @property
    def statistics(self) -> list[tuple[str, str, str]]:
        """The option, the form and the meaning of each statistic that files can ask for."""
        options: list[tuple[str, str, str]] = []
        for entry in entries().values():
            if entry.in_files:
                options.append((entry.option, entry.metavar, entry.about))
                options += [(f"{entry.option}-{end}", "", about) for end, (_, about) in entry.variants.items()]
        return options


def _declared(column: Mapping[str, Any]) -> str:
    parts = []
    if "bounds" in column:
        parts.append("from {} to {}".format(*column["bounds"]))
    if "categories" in column:
        parts.append(f"{len(column['categories'])} categories")
    return ", ".join(parts) or "nothing declared"


def words_of(fields: Fields) -> list[str]:
    """Return the words of the command `hedgerow release` that a filled form stands for.

    >>> words_of({"statistic0": ["--mean"], "column0": ["age"], "by": ["sex"], "epsilon": ["0.5"]})
    ['--mean', 'age', '--by', 'sex', '--epsilon', '0.5']
    """
    alone = {entry.option for entry in entries().values() if entry.parse is None}
    alone |= {f"{entry.option}-{end}" for entry in entries().values() for end in entry.variants}
    known = {option for option, *_ in Choices({}).statistics}
    words = []
    for row in ROWS:
        option = text_of(fields, f"statistic{row}")
        if option in known:
            text = text_of(fields, f"column{row}") + text_of(fields, f"more{row}")
            words += [option] if option in alone else [option, text]
    for column in fields.get("by", ()):
        words += ["--by", column]
    for option in ("where", "epsilon"):
        if text := text_of(fields, option):
            words += [f"--{option}", text]
    return words


_ABOUT = {"asked_by": "somebody", "purpose": "a forecast", "until": "2999-12-31"}


def forecast_of(fields: Fields, facts: Mapping[str, Any]) -> WrittenRequest:
    """Return the request of a form in which who asks, why and until when may still be missing."""
    return request_of(fields | {name: [text_of(fields, name) or text] for name, text in _ABOUT.items()}, facts)


def request_of(fields: Fields, facts: Mapping[str, Any]) -> WrittenRequest:
    """Return the request that a filled form stands for, priced and forecast from public facts."""
    number = text_of(fields, "n")
    about = {name: text_of(fields, name) for name in _ABOUT}
    n = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else None
    return make_request("release", words_of(fields), facts=facts, n=n, **about)


def text_of(fields: Fields, name: str) -> str:
    """Return the text of a field that is there once; an empty one where it is missing."""
    values = fields.get(name, ())
    return values[0].strip() if len(values) == 1 else ""
