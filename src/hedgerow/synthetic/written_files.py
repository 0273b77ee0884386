"""The folder of synthetic files: CSV, Parquet, and a README that says what they carry and how to pool."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from hedgerow.engines.files import write_parquet
from hedgerow.errors import ParameterError
from hedgerow.facts.printed import number
from hedgerow.release.publication.folder import prepared_folder
from hedgerow.release.publication.write_file import refused_where_unwritable
from hedgerow.synthetic.fit_report import CheckedCell, FittedTable, ReleasedMargins, check_cells, fit_tables

if TYPE_CHECKING:
    from hedgerow.synthetic.synthesis import SyntheticRows

README, RECORD, CERTIFICATE = "README.md", "margins.json", "certificate.json"
_OF_FILES = re.compile(r"(file|centre)_[0-9]+[.](csv|parquet)")
_QUOTED = frozenset(',"\r\n')


def write_files(
    margins: ReleasedMargins,
    rows: SyntheticRows,
    columns_of: Callable[[int], dict[str, list[Any]]],
    types: Mapping[str, str],
    path: str | Path,
    *,
    force: bool = False,
) -> tuple[str, ...]:
    """Write the folder and return the names of its files; see `SyntheticFiles.write`."""
    stems = [f"{kind}_{place + 1:02d}" for kind in ("file", "centre") for place in range(len(rows.files))]
    names = [README, *(stem + suffix for stem in stems for suffix in (".csv", ".parquet")), RECORD]
    certificate = margins.certificate
    names += [] if certificate is None else [CERTIFICATE]
    with prepared_folder(path, force=force, names=names) as folder:
        _check_others(folder.path, names)

        def write() -> None:
            for place, stem in enumerate(stems):
                _write_rows(columns_of(place), folder.staging / f"{stem}.csv")
            write_parquet([folder.staging / f"{stem}.csv" for stem in stems], types)

        refused_where_unwritable(folder.path, write)
        folder.move([stem + suffix for stem in stems for suffix in (".csv", ".parquet")])
        folder.put({RECORD: margins.to_json(), README: readme(margins, rows)})
        if certificate is not None:
            folder.put({CERTIFICATE: certificate.to_json()})
    return tuple(names)


def _check_others(folder: Path, names: Sequence[str]) -> None:
    """Refuse a folder in which files of another call would stay: all files of a folder are pooled."""
    others = sorted(path.name for path in folder.iterdir() if _OF_FILES.fullmatch(path.name) and path.name not in names)
    if others:
        raise ParameterError(
            "HG119",
            rule="All synthetic files of a folder are pooled, so they come from one call.",
            finding=f"{others[0]} is in the folder {str(folder)!r} and would stay beside the new files.",
            remedy="Name a new folder.",
        )


def _write_rows(columns: dict[str, list[Any]], path: Path) -> None:
    head = ",".join(map(_cell, columns))
    lines = zip(*([*map(_cell, column)] for column in columns.values()), strict=True)
    path.write_text("\n".join([head, *map(",".join, lines), ""]), encoding="utf-8", newline="")


def _cell(value: Any) -> str:
    """Return a cell of a CSV file: nothing for None, and an empty text in quotation marks."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = value.isoformat() if isinstance(value, date) else str(value)
    return '"' + text.replace('"', '""') + '"' if not text or _QUOTED & set(text) else text


def readme(margins: ReleasedMargins, rows: SyntheticRows) -> str:
    """Return the text of README.md."""
    certificate, count, tables = margins.certificate, len(rows.files), fit_tables(margins, rows)
    weak = [_name(table) for table in tables if table.weak and len(table.columns) == 2]
    cells = check_cells(margins, rows, 20, 0.95)
    names = [f"`{axis.column}`" for axis in margins.axes]
    bands = [f"`{axis.column}`" for axis in margins.axes if axis.edges]
    drawn = (
        f"\nNumbers of {', '.join(bands)} are drawn uniformly within their band: whole numbers if all cut points are "
        "whole. The files know nothing of how the values lie within a band.\n"
        if bands
        else ""
    )
    paid = (
        "The release was simulated and is not private."
        if certificate is None
        else f"The files follow from the release in `{RECORD}` alone. Its guarantee holds for them: {margins.price()}. "
        f"`hedgerow verify {CERTIFICATE}` recomputes the price."
    )
    template = Template(Path(__file__).with_name("readme.md").read_text(encoding="utf-8"))
    return template.substitute(
        n_files=count,
        last=f"{count:02d}",
        n_rows=f"{len(rows.files[0]):,}",
        columns=", ".join(names),
        order=margins.residuals.workload.order,
        paid=paid,
        drawn=drawn,
        record=RECORD,
        fit=_fit_lines(tables),
        weak=", ".join(weak) or "none",
        checked=_checked_lines(cells),
        held=f"{sum(cell.naive_held for cell in cells) / len(cells):.2f}" if cells else "not known",
        gap=f"{100 * rows.law.fit.gap:.1f}",
        least=f"{0.25 + 1.645 * (3.0 / count) ** 0.5:.2f}",
        notes="\n".join(f"* {note}" for note in margins.notes),
    )


def _checked_lines(cells: Sequence[CheckedCell]) -> str:
    lines = ["| cell | release | files, pooled | one file alone | held |", "|---|---|---|---|---|"]
    for cell in cells:
        figures = " | ".join(
            f"{number(value, 0)} ({number(low, 0)} to {number(high, 0)})"
            for value, low, high in (cell.released, cell.pooled, cell.one_file)
        )
        lines.append(f"| {cell.name.replace('|', chr(92) + '|')} | {figures} | {cell.naive_held:.2f} |")
    return "\n".join(lines)


def _fit_lines(tables: Sequence[FittedTable]) -> str:
    lines = ["| table | cells | fit gap | noise | flagged | small, % |", "|---|---|---|---|---|---|"]
    for table in tables:
        figures = f"{number(table.gap, 1)} | {number(table.noise, 1)} | {table.flagged:,} | {100.0 * table.small:.1f}"
        lines.append(f"| {_name(table)} | {table.cells:,} | {figures}{'³' * table.weak} |")
    return "\n".join(lines)


def _name(table: FittedTable) -> str:
    return " × ".join(table.columns).replace("|", "\\|")
