"""The files that a published table is written as.

====================  ==========================================================================
``table.csv``         one row a cell, then the totals
``table.json``        what was asked, the cells with intervals, the totals, the certificate
``table.html``        the table as it is read: spans, caption, footnotes; up to 100,000 numbers
``table.xlsx``        the same as a workbook, where openpyxl is installed
``certificate.json``  the price alone; under bootstrap-dp a statement, which cannot be re-priced
====================  ==========================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from hedgerow.errors import ParameterError
from hedgerow.release.result.folder import ReleaseFolder
from hedgerow.tables.protected import ProtectedTable
from hedgerow.tables.publication.layout import MOST_SHOWN, can_be_shown

TABLE_FILES = ("table.csv", "table.json", "table.html", "table.xlsx", "certificate.json")


def write_table(
    table: ProtectedTable, folder: ReleaseFolder, *, level: float, title: str | None = None
) -> tuple[str, ...]:
    """Write a table, its numbers first, and return the names of the files: no page of a table too large for one."""
    writers: dict[str, Callable[[Path], object]] = {
        "table.json": lambda path: table.to_json(path, level=level),
        "table.csv": lambda path: table.to_csv(path, level=level),
        "certificate.json": lambda path: _write_price(table, path),
        "table.html": lambda path: table.to_html(path, level=level, title=title),
        "table.xlsx": lambda path: table.to_xlsx(path, level=level, title=title),
    }
    if find_spec("openpyxl") is None:
        del writers["table.xlsx"]
    if not can_be_shown(table.publication()):
        # Too large to be read; JSON and CSV hold it whole.
        writers = {name: write for name, write in writers.items() if name not in ("table.html", "table.xlsx")}
    written = []
    for name, write in writers.items():
        try:
            write(folder.staging / name)
        except ParameterError as refused:
            if refused.code != "HG164":
                raise
            continue
        folder.move([name])
        written.append(name)
    return tuple(written)


def left_out(table: ProtectedTable, written: Sequence[str]) -> str | None:
    """Return which files were not written and why, in a sentence; None where all of them were."""
    missing = [name for name in TABLE_FILES if name not in written]
    if not missing:
        return None
    why = "openpyxl is not installed"
    if not can_be_shown(table.publication()):
        why = f"a page or a workbook shows at most {MOST_SHOWN:,} numbers, totals included"
    return f"Left out: {', '.join(missing)}: {why}."


def _write_price(table: ProtectedTable, path: Path) -> None:
    record = None if table.certificate is None else table.certificate.to_dict()
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
