"""The formats that a release or a table is written in: one module each, found by the suffix of the file.

To add a format, add a module here with

* ``SUFFIXES``: the endings of its files, such as ``(".csv",)``;
* ``KINDS``: what it can write, some of ``("release", "table", "margins")``;
* ``write(publication, path)``;
* ``why_not(publication)``, where it can not write every publication: the reason in a few words, else None;
* ``APART``: those of its endings of which a folder of results should have no file;
* ``LARGE``: those of which a folder of more than 100,000 cells has a file.

A folder of results then has a file of it, and the method ``write`` of a result takes a path with its suffix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Literal, Protocol

from hedgerow.errors import ParameterError
from hedgerow.keywords import nearest_name

Kind = Literal["release", "table", "margins"]
_FIRST = (".csv", ".json")


class Published(Protocol):
    """What a format reads of a release or a table: the same numbers in every form."""

    @property
    def kind(self) -> Kind:
        """The kind of publication."""
        ...

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        ...

    def lines(self) -> Iterator[Sequence[Any]]:
        """Yield the names of the columns, then one line per number."""
        ...

    def json_parts(self) -> Iterator[str]:
        """Yield the JSON text of the table in parts."""
        ...

    def printed(self) -> Any:
        """Return the `hedgerow.release.publication.printed_table.PrintedTable` for a paper."""
        ...


@cache
def formats(kind: Kind) -> dict[str, ModuleType]:
    """Return the formats of a release or a table by suffix: data first, then pages and pictures.

    >>> list(formats("release"))
    ['.csv', '.json', '.csv.gz', '.json.gz', '.md', '.parquet', '.pdf', '.png', '.qmd', '.svg', '.tex']
    """
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    by_suffix = {suffix: module for module in modules if kind in module.KINDS for suffix in module.SUFFIXES}
    return dict(sorted(by_suffix.items(), key=lambda item: (item[0] not in _FIRST, item[0])))


def formats_of_folder(kind: Kind, *, large: bool = False) -> dict[str, ModuleType]:
    """Return the formats of the files that a folder of results has, or one of more than 100,000 cells.

    >>> list(formats_of_folder("release", large=True))
    ['.json', '.parquet']
    """
    if large:
        return {suffix: module for suffix, module in formats(kind).items() if suffix in getattr(module, "LARGE", ())}
    return {suffix: module for suffix, module in formats(kind).items() if suffix not in getattr(module, "APART", ())}


def suffixes(kind: Kind) -> list[str]:
    """Return the formats of a folder of results in capitals, as a help lists them.

    >>> suffixes("table")
    ['CSV', 'JSON', 'HTML', 'TEX', 'XLSX']
    """
    return [suffix.removeprefix(".").upper() for suffix in formats_of_folder(kind)]


def write(publication: Published, path: str | Path) -> None:
    """Write a publication in the format that the path ends with.

    Raises
    ------
    ParameterError
        HG118: there is no such format, or the file cannot be written.
    """
    known = formats(publication.kind)
    suffix = _suffix(Path(path).name.lower(), known)
    if suffix not in known:
        nearest = nearest_name(suffix, known)
        raise ParameterError(
            "HG118",
            rule=f"The name of a file that holds a {publication.kind} ends with one of {', '.join(known)}.",
            finding=f"Found {str(path)!r}.",
            remedy="Choose one of these endings." if nearest is None else f"Try {Path(path).stem + nearest!r}.",
        )
    known[suffix].write(publication, path)


def _suffix(name: str, known: Iterable[str]) -> str:
    """Return the longest known ending of a name, or else its last one."""
    return max((suffix for suffix in known if name.endswith(suffix)), key=len, default=Path(name).suffix)


def why_not(publication: Published, suffix: str) -> str | None:
    """Return why a format can not hold a publication, in a few words; None where it can."""
    reason = getattr(formats(publication.kind)[suffix], "why_not", None)
    return None if reason is None else reason(publication)
