"""What is written from the registry of statistics: ``python -m tests.generate`` (``make generate``) writes it anew.

These are the exports in ``hedgerow/__init__.py``, which a type checker reads without running anything, and the page of
the reference. A test compares both with what is there, so a statistic costs its own file.
"""

from __future__ import annotations

import re
from pathlib import Path

from hedgerow.statistics.registry import classes, entries
from hedgerow.statistics.statistic import Statistic

ROOT = Path(__file__).parents[1]
EXPORTS = ROOT / "src" / "hedgerow" / "__init__.py"
REFERENCE = ROOT / "docs" / "reference" / "statistics.md"
_IMPORT = re.compile(r"^    from hedgerow\.statistics\.\S+ import ([\w, ]+)\n", re.MULTILINE)
_LISTED = re.compile(r"^__all__ = \[\n(.*?)^\]\n", re.MULTILINE | re.DOTALL)
_ELSEWHERE = re.compile(r"(    # Statistics that share a file, or stand in a folder\.\n).*?(?=\})", re.DOTALL)
_SECTION = "(## {}\n\n```{{eval-rst}}\n).*?(```\n)"


def homes() -> dict[str, str]:
    """Return the module of each statistic by its name, in alphabetical order."""
    return {name: entry.ask.__module__ for name, entry in sorted(entries().items())}


def exports(text: str) -> str:
    """Return the text of ``hedgerow/__init__.py`` with all statistics, and no others."""
    before, modules = {name for names in _IMPORT.findall(text) for name in names.split(", ")}, homes()
    together: dict[str, list[str]] = {}
    for name, module in sorted(modules.items(), key=lambda one: one[1]):
        together.setdefault(module, []).append(name)
    lines = [f"    from {module} import {', '.join(names)}\n" for module, names in together.items()]
    first = _IMPORT.search(text)
    assert first is not None  # there are some
    text = text[: first.start()] + "".join(lines) + _IMPORT.sub("", text[first.start() :])
    others = [name for name in re.findall(r'"(\w+)"', _LISTED.findall(text)[0]) if name not in before]
    listed = sorted([*others, *modules], key=lambda name: (not name[0].isupper(), name))
    text = _LISTED.sub("__all__ = [\n" + "".join(f'    "{name}",\n' for name in listed) + "]\n", text)
    shared: dict[str, list[str]] = {}
    for name, module in modules.items():
        if module != f"hedgerow.statistics.{name}":
            shared.setdefault(module, []).append(name)
    apart = "".join(f'    "{" ".join(names)}": "{module}",\n' for module, names in shared.items())
    return _ELSEWHERE.sub(lambda found: found[1] + apart, text)


def section_of(kind: str) -> str:
    """Return the heading under which the reference describes a statistic."""
    made = classes()[kind]
    if made.family in ("counts", "moments"):
        return "Counts, shares, sums and means"
    if made.of_table:
        return "The distribution of a column"
    return "By bootstrap" if made.powers is Statistic.powers else "Functions of means"


def reference(text: str) -> str:
    """Return the page of the reference with all statistics, each under its heading."""
    kinds: dict[str, list[str]] = {}
    for kind in entries():
        kinds.setdefault(section_of(kind), []).append(f".. autofunction:: hedgerow.{kind}\n")
    for heading, listed in kinds.items():
        body = "\n".join(listed)
        text = re.sub(_SECTION.format(heading), lambda found, b=body: found[1] + b + found[2], text, flags=re.DOTALL)
    return text


WRITTEN = {EXPORTS: exports, REFERENCE: reference}

if __name__ == "__main__":
    for path, write in WRITTEN.items():
        path.write_text(write(path.read_text(encoding="utf-8")), encoding="utf-8")
