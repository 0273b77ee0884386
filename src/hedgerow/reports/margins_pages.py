"""The folder of a workload of margins: an index with a search, a page and a workbook for each table.

The pages run no script. The index is searched by ticking columns: a style sheet hides the tables that lack one. Each
column lists its categories, so the search of the browser finds the column of a category.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hedgerow.facts.printed import page_templates
from hedgerow.margins.margin_tables import Margins
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.publication.folder import ReleaseFolder, file_name
from hedgerow.release.publication.formats import formats_of_folder
from hedgerow.release.publication.shared import REPLAYED

INDEX = "index.html"
MARGINS_FILES = (*(file_name("margins", suffix) for suffix in formats_of_folder("margins")), "certificate.json", INDEX)
_SUFFIXES = (".html", ".xlsx")


@dataclass(frozen=True, slots=True)
class IndexLine:
    """A table in the index: the places of its columns, its name, its cells and noise, and its files."""

    places: tuple[int, ...]
    name: str
    cells: str
    noise: str
    files: tuple[tuple[str, str], ...]


def add_pages(margins: Margins, folder: ReleaseFolder, *, level: float = 0.95) -> tuple[str, ...]:
    """Write the margins into a folder, their numbers first; return the names of the files of the whole.

    Parameters
    ----------
    margins : Margins
    folder : ReleaseFolder
    level : float
        The confidence level of the intervals.

    Returns
    -------
    tuple of str
        Those of each table stand in the index.
    """
    written = folder.write(margins, level=level)
    lines = tuple(_with_files(margins, folder, level))
    return (*written, *folder.put({INDEX: index_page(margins, lines)}))


def _with_files(margins: Margins, folder: ReleaseFolder, level: float) -> Iterator[IndexLine]:
    workload = margins.residuals.workload
    for number, places in enumerate(workload.tables):
        columns = margins.columns(places)
        # Without its record, which is that of the whole: margins.json.
        publication = replace(margins.table(*columns)._publication(level=level, errors=True), recorded=None)
        stem = f"{number:03d}_{_slug(columns)}"
        files = [
            (suffix.removeprefix(".").upper(), name)
            for suffix in _SUFFIXES
            for name in folder.write_as(stem + suffix, publication, suffix)
        ]
        noise = f"± {math.sqrt(margins.residuals.noise_variance(places)):.3g}"
        named = " × ".join(columns) or "All records"
        yield IndexLine(places, named, f"{workload.length(places):,}", noise, tuple(files))


def _slug(columns: tuple[str, ...]) -> str:
    plain = unicodedata.normalize("NFKD", "_".join(columns)).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:80] or "all"


def _categories(margins: Margins) -> dict[str, tuple[str, ...]]:
    """Return the categories of each column, and the groups of these, as tables print them."""
    listed = {axis.column: axis.heads for axis in TableShape.of(margins.axes).axes}
    for hierarchy in margins.hierarchies:
        listed[hierarchy.column] += hierarchy.axis.heads
    return listed


def index_page(margins: Margins, lines: tuple[IndexLine, ...]) -> str:
    """Return the index: each table with its cells, its noise and its files, and boxes to choose columns by."""
    columns = _categories(margins)
    again = (REPLAYED,) if margins.replayed else ()
    template = page_templates("hedgerow.reports").get_template("margins.html")
    title = f"All tables of up to {margins.residuals.workload.order} of {len(columns)} columns"
    files = [
        (suffix.removeprefix(".").upper(), file_name("margins", suffix)) for suffix in formats_of_folder("margins")
    ]
    whole = [*files, ("certificate", "certificate.json")]
    notes = [*margins.notes, f"Guarantee: {margins.price()}.", *again]
    return str(template.render(title=title, columns=columns, lines=lines, notes=notes, whole=whole)) + "\n"
