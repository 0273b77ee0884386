"""Docstrings of the interface: whoever takes two or more arguments says all that a reader must know to call it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
SECTIONS = ("Parameters", "Returns", "Raises", "Examples")


def documented() -> Iterator[str]:
    """Yield the names of all classes and functions that the pages of the reference show."""
    for page in sorted(REFERENCE.glob("*.md")):
        yield from re.findall(r"auto(?:class|function):: (\S+)", page.read_text(encoding="utf-8"))


def named(path: str) -> Any:
    """Return what a dotted name stands for."""
    return resolve_name(path)


def methods_of(path: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the function that a name stands for, or the public methods of its class and bases, without properties."""
    shown = named(path)
    if not inspect.isclass(shown):
        yield path, shown
        return
    for base in shown.__mro__:
        if base.__module__.startswith("hedgerow"):
            for name, member in vars(base).items():
                plain = inspect.unwrap(getattr(member, "__func__", member))
                if not name.startswith("_") and inspect.isfunction(plain):
                    # A method that a class defines anew is owed by the class itself, and by its base.
                    yield f"{path if base is shown else f'{base.__module__}.{base.__qualname__}'}.{name}", plain


def arguments(function: Callable[..., Any]) -> list[str]:
    """Return the names of what a caller gives, options by keyword as one."""
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def interface() -> dict[str, Callable[..., Any]]:
    """Return all functions and methods of the reference with two arguments or more, each once."""
    found: dict[Callable[..., Any], str] = {}
    for path in documented():
        for name, function in methods_of(path):
            if len(arguments(function)) >= 2:
                found.setdefault(function, name)
    return {name: function for function, name in found.items()}


def missing_sections(function: Callable[..., Any]) -> list[str]:
    """Return which sections of numpydoc a docstring lacks; of a function that returns None, no Returns is owed."""
    text = inspect.cleandoc(function.__doc__ or "")
    headings = re.findall(r"^(\w+)\n-+$", text, re.MULTILINE)
    nothing = inspect.signature(function).return_annotation in (None, "None")
    owed = [section for section in SECTIONS if not (section == "Returns" and nothing)]
    summary = text.split("\n")[0]
    return [*(["summary"] if not summary.endswith(".") else []), *(one for one in owed if one not in headings)]


INTERFACE = interface()


@pytest.mark.parametrize("name", sorted(INTERFACE))
def test_a_docstring_says_all_that_a_caller_must_know(name: str) -> None:
    assert missing_sections(INTERFACE[name]) == []


def test_most_of_the_interface_is_seen() -> None:
    seen = {name.rpartition(".")[2] for name in INTERFACE}
    assert {"open", "release", "plan", "ols", "contingency_table", "mean", "share_below", "forecast"} <= seen


def test_a_section_that_is_left_out_is_found() -> None:
    def halve(value: float, times: int) -> float:
        """Return a value, halved.

        Parameters
        ----------
        value : float
        times : int
        """
        return value / 2**times

    assert missing_sections(halve) == ["Returns", "Raises", "Examples"]


def classes() -> list[type]:
    """Return the classes of the reference with their bases, each once."""
    found = {base: None for path in documented() if inspect.isclass(named(path)) for base in named(path).__mro__}
    return [base for base in found if base.__module__.startswith("hedgerow")]


def misread(shown: type) -> list[str]:
    """Return the lines of a class that the site would take apart: joint names of attributes, a property with a colon.

    The site reads ``a, b : int`` as one attribute b of type a, and the words before a colon as the type of a property.
    """
    text = inspect.cleandoc(vars(shown).get("__doc__") or "")
    section = re.search(r"^Attributes\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    headers = re.findall(r"^\S.*", section[1], re.MULTILINE) if section else []
    properties = {name: member.__doc__ or "" for name, member in vars(shown).items() if isinstance(member, property)}
    summaries = [re.sub(r"`[^`]*`", "", text.split("\n")[0]) for name, text in properties.items() if name[0] != "_"]
    wrong = [header for header in headers if not re.fullmatch(r"\w+( : .+)?", header)]
    return [*wrong, *(summary for summary in summaries if ": " in summary)]


@pytest.mark.parametrize("shown", classes(), ids=lambda shown: shown.__qualname__)
def test_the_site_reads_attributes_and_properties_as_they_are_meant(shown: type) -> None:
    assert misread(shown) == []


def test_joint_names_and_colons_are_found() -> None:
    class Wrong:
        """A class.

        Attributes
        ----------
        a, b : int
            Two numbers.
        """

        @property
        def budget(self) -> float:
            """The budget: a number."""
            return 1.0

    assert misread(Wrong) == ["a, b : int", "The budget: a number."]
