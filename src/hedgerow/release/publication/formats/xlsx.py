"""A table as a spreadsheet: as published, as one line per cell, and as a chart with error bars. The door to openpyxl.

It is imported when a spreadsheet is written. Numbers are numbers, with the decimals that they are printed with as their
format; texts are texts, and one that would start a formula gets an apostrophe in front.
"""

from __future__ import annotations

import io
import math
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import neutralise_formula, percent, printable
from hedgerow.release.cells.printed_numbers import reliability_letters, sampling_is_hidden
from hedgerow.release.publication.publication import Layout, Publication, arrange, check_can_be_shown, too_large
from hedgerow.release.publication.write_file import write_bytes

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.chart import BarChart
    from openpyxl.worksheet.worksheet import Worksheet

SUFFIXES = (".xlsx",)
KINDS = ("table",)
_LONGEST = 1000
_MOST_BARS = 300
# Centimetres.
_CHART_WIDTH, _CHART_ROW, _CHART_FRAME = 22.0, 0.62, 3.2


def xlsx_bytes(publication: Publication) -> bytes:
    """Return the table as a workbook.

    Sheet ``Table`` is the table as published (spans, letters, footnotes), ``Cells`` has one line per cell or total with
    its errors and interval, ``Chart`` draws the cells without totals, each with its interval as an error bar; the last
    is there unless the errors are withheld or there are more than 300 cells.

    Raises
    ------
    ParameterError
        HG163 openpyxl is not installed; HG160 a column across that the table lacks; HG164 more than 100,000 numbers.

    Examples
    --------
    >>> from hedgerow.release.cells.table_cells import TableCells
    >>> from hedgerow.release.cells.margins import consistent_table
    >>> from hedgerow.release.cells.shape import TableDimension, TableShape
    >>> cells = TableCells.counts(TableShape((TableDimension("sex", ("f", "m")),)), [1.0, 2.0], privacy_variance=2.0)
    >>> xlsx_bytes(Publication("People", consistent_table(cells), ""))[:2]
    b'PK'
    """
    layout = arrange(publication)
    check_can_be_shown(layout)
    book = _workbook()
    _fill_table(book.active, publication, layout)
    _fill_cells(book.create_sheet("Cells"), publication)
    if not publication.table.interior.withheld and publication.table.interior.shape.size <= _MOST_BARS:
        _fill_chart(book.create_sheet("Chart"), publication)
    book.properties.title, book.properties.creator = printable(publication.title)[:_LONGEST], "hedgerow"
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def write(publication: Publication, path: str | Path) -> None:
    """Write `xlsx_bytes` to a path, with standard errors (HG118 where it cannot be written)."""
    write_bytes(path, xlsx_bytes(replace(publication, errors=True)))


def why_not(publication: Publication) -> str | None:
    """Return why there is no workbook: it would show too many numbers, or openpyxl is missing."""
    return too_large(publication) or (None if find_spec("openpyxl") else "openpyxl is not installed")


def _workbook() -> Workbook:
    try:
        from openpyxl import Workbook
    except ImportError:
        Workbook = None  # said below, where no words of the import's own can follow
    if Workbook is None:
        raise ParameterError(
            "HG163",
            rule="Spreadsheets are written by the package openpyxl.",
            finding="The package openpyxl is not installed.",
            remedy='Install openpyxl with: pip install "hedgerow[xlsx]". CSV and HTML files need no further package.',
        )
    return Workbook()


def _fill_table(sheet: Worksheet, publication: Publication, layout: Layout) -> None:
    """Write title, headings, numbers and footnotes, with merged cells for what spans."""
    sheet.title = "Table"
    # A number takes a column, its standard error and its letter one each beside it.
    wide = 1 + publication.has_errors + publication.has_letters
    left = max(len(layout.down), 1)
    _put(sheet, 1, 1, publication.title, bold=True)
    if publication.unit:
        _put(sheet, 2, 1, publication.unit)
    first = _fill_head(sheet, publication, layout, row=4, left=left, wide=wide)
    _fill_beside(sheet, layout, first)
    _fill_numbers(sheet, publication, layout, first, left, wide)
    sheet.freeze_panes = sheet.cell(first, left + 1)
    sheet.print_title_rows = f"4:{first - 1}"
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    for place, column in enumerate(layout.down, start=1):
        longest = max(len(entry.label) for entry in layout.entries[column])
        _widen(sheet, place, min(40, max(10, longest + 3)))
    for number in range(layout.columns):
        _widen(sheet, left + 1 + number * wide, 12)
        if publication.has_letters:
            _widen(sheet, left + (number + 1) * wide, 3)
    _fill_footnotes(sheet, publication, first + layout.rows + 1, columns=left + wide * layout.columns)


def _fill_head(sheet: Worksheet, publication: Publication, layout: Layout, *, row: int, left: int, wide: int) -> int:
    """Write the headings from a row on; return the first row of numbers."""
    last = row + len(layout.across)
    for place, column in enumerate(layout.down, start=1):
        _put(sheet, row, place, column, bold=True)
        _merge(sheet, row, place, last, place)
    if not layout.across:
        _put(sheet, row, left + 1, publication.heading, bold=True, centred=True)
        _merge(sheet, row, left + 1, row, left + wide)
        return last + 1
    _put(sheet, row, left + 1, " / ".join(layout.across), bold=True)
    _merge(sheet, row, left + 1, row, left + layout.columns * wide)
    for depth in range(len(layout.across)):
        start = left + 1
        for span in layout.spans(layout.across, depth):
            stop = start + span.length * wide
            _put(sheet, row + 1 + depth, start, span.entry.label, bold=True, centred=True)
            _merge(sheet, row + 1 + depth, start, row + 1 + depth, stop - 1)
            start = stop
    return last + 1


def _fill_beside(sheet: Worksheet, layout: Layout, first: int) -> None:
    """Write the row headings, each merged over the rows that it heads."""
    from openpyxl.styles import Alignment

    if not layout.down:
        _put(sheet, first, 1, "")
    for depth in range(len(layout.down)):
        row = first
        for span in layout.spans(layout.down, depth):
            cell = _put(sheet, row, depth + 1, span.entry.label, bold=span.entry.kind in ("group", "total"))
            cell.alignment = Alignment(
                horizontal="left", vertical="top", indent=1 if span.entry.kind == "member" else 0
            )
            _merge(sheet, row, depth + 1, row + span.length - 1, depth + 1)
            row += span.length


def _fill_numbers(sheet: Worksheet, publication: Publication, layout: Layout, first: int, left: int, wide: int) -> None:
    from openpyxl.styles import Alignment, Font

    bold, quiet, small = Font(bold=True), Font(italic=True, color="FF6B6B6B"), Font(size=8, color="FF6B6B6B")
    values = layout.spread(lambda cells: cells.published)
    errors = layout.spread(lambda cells: cells.standard_error) if publication.has_errors else None
    hidden = layout.spread(sampling_is_hidden)
    letters: Any = None
    if publication.has_letters:
        letters = layout.spread(lambda cells: reliability_letters(cells, publication.bands))
    whole, fine = _number_format(publication.decimals), _number_format(publication.error_decimals)
    totals = [layout.is_total(head) for head in layout.heads(layout.across)]
    for row, head in enumerate(layout.heads(layout.down)):
        for column in range(layout.columns):
            at = left + 1 + column * wide
            unsure = letters is not None and letters[row, column] == publication.bands.last[0]
            if not (unsure and publication.hide_unreliable):
                cell = sheet.cell(first + row, at, float(values[row, column]))
                cell.number_format = whole
                if unsure or totals[column] or layout.is_total(head):
                    cell.font = quiet if unsure else bold
                if errors is not None:
                    cell = sheet.cell(first + row, at + 1, float(errors[row, column]))
                    star = '"*"' if hidden[row, column] else ""
                    cell.number_format, cell.font = f'"±"{fine}{star}', small
            if letters is not None:
                cell = sheet.cell(first + row, at + wide - 1, str(letters[row, column]))
                cell.font, cell.alignment = small, Alignment(horizontal="left")


def _fill_footnotes(sheet: Worksheet, publication: Publication, row: int, *, columns: int) -> None:
    """Write each footnote over the table's width: a line as long as the text would shrink the printed page to it."""
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter

    columns = max(columns, 4)
    letters = sum(sheet.column_dimensions[get_column_letter(place)].width for place in range(1, columns + 1))
    for place, note in enumerate(publication.footnotes()):
        cell = _put(sheet, row + place, 1, note)
        cell.font, cell.alignment = Font(size=9), Alignment(wrap_text=True, vertical="top")
        _merge(sheet, row + place, 1, row + place, columns)
        # The height of merged cells does not follow their text.
        sheet.row_dimensions[row + place].height = 12.5 * math.ceil(len(note) / letters)


def _fill_cells(sheet: Worksheet, publication: Publication) -> None:
    for line in publication.lines():
        sheet.append(
            [printable(neutralise_formula(cell))[:_LONGEST] if isinstance(cell, str) else cell for cell in line]
        )
    for place, head in enumerate(next(publication.lines()), start=1):
        _widen(sheet, place, min(40, max(12, len(head) + 2)))
    sheet.freeze_panes = "A2"
    sheet.page_setup.orientation, sheet.page_setup.fitToHeight = "landscape", 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True


def _fill_chart(sheet: Worksheet, publication: Publication) -> None:
    """Write one line per cell, how far its interval reaches to both sides, and the chart that reads these lines."""
    cells = publication.table.interior
    level = percent(publication.level, space=" ")
    heads = ("cell", publication.heading, "standard error", f"low, {level}", f"high, {level}", "below", "above")
    sheet.append([_text(head) for head in heads])
    (low, high), shown = cells.interval(publication.level), cells.published
    # The shape's own order, in which the first column changes slowest.
    names = [", ".join(heads) for heads in product(*(axis.heads for axis in cells.shape.axes))]
    for name, *numbers in zip(names, shown, cells.standard_error, low, high, strict=True):
        number, _, lowest, highest = (float(value) for value in numbers)
        known = [float(value) if math.isfinite(value) else None for value in numbers]
        reach = [max(end, 0.0) if math.isfinite(end) else 0.0 for end in (number - lowest, highest - number)]
        sheet.append([_text(name), *known, *reach])
    for row in sheet.iter_rows(min_row=2, min_col=2):
        for place, cell in enumerate(row):
            cell.number_format = _number_format(publication.error_decimals if place else publication.decimals)
    for place, width in enumerate((min(40, max(map(len, names), default=0) + 3), *[14] * 6), start=1):
        _widen(sheet, place, max(10, width))
    sheet.freeze_panes = "B2"
    sheet.page_setup.orientation, sheet.page_setup.fitToHeight = "landscape", 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    sheet.add_chart(_error_bars(sheet, publication, len(names)), "I2")


def _error_bars(sheet: Worksheet, publication: Publication, lines: int) -> BarChart:
    from openpyxl.chart import BarChart, Reference
    from openpyxl.chart.data_source import NumDataSource, NumRef
    from openpyxl.chart.error_bar import ErrorBars
    from openpyxl.chart.shapes import GraphicalProperties

    def column(place: int, first: int = 2) -> Reference:
        return Reference(sheet, min_col=place, min_row=first, max_row=lines + 1)

    chart = BarChart()
    chart.type, chart.style, chart.gapWidth, chart.legend = "bar", 2, 60, None
    chart.title = _text(f"{publication.title}: {percent(publication.level, space=' ')} intervals")
    chart.add_data(column(2, 1), titles_from_data=True)
    chart.set_categories(column(1))
    series = chart.series[0]
    series.graphicalProperties = GraphicalProperties(solidFill="9ECAE1")
    series.invertIfNegative = False
    series.errBars = ErrorBars(
        errBarType="both",
        errValType="cust",
        minus=NumDataSource(NumRef(f=str(column(6)))),
        plus=NumDataSource(NumRef(f=str(column(7)))),
        spPr=GraphicalProperties(),
    )
    series.errBars.spPr.line.solidFill, series.errBars.spPr.line.width = "1A1A1A", 15875
    # The first line on top, as on paper; the scale stays below. Labels keep clear of bars that go below zero.
    chart.x_axis.scaling.orientation, chart.x_axis.tickLblPos = "maxMin", "low"
    chart.y_axis.crosses, chart.y_axis.title = "max", _text(publication.heading)
    # Without this openpyxl's axes are hidden in current spreadsheets.
    chart.x_axis.delete = chart.y_axis.delete = False
    chart.width, chart.height = _CHART_WIDTH, _CHART_FRAME + _CHART_ROW * lines
    return chart


def _put(sheet: Worksheet, row: int, column: int, text: str, *, bold: bool = False, centred: bool = False) -> Any:
    from openpyxl.styles import Alignment, Font

    cell = sheet.cell(row, column, _text(text))
    cell.font = Font(bold=bold)
    cell.alignment = Alignment(horizontal="center" if centred else "left", vertical="bottom")
    return cell


def _text(text: str) -> Any:
    return neutralise_formula(printable(text)[:_LONGEST])


def _merge(sheet: Worksheet, top: int, left: int, bottom: int, right: int) -> None:
    if (top, left) != (bottom, right):
        sheet.merge_cells(start_row=top, start_column=left, end_row=bottom, end_column=right)


def _widen(sheet: Worksheet, column: int, width: int) -> None:
    from openpyxl.utils import get_column_letter

    sheet.column_dimensions[get_column_letter(column)].width = width


def _number_format(decimals: int) -> str:
    return "#,##0" + ("." + "0" * decimals if decimals else "")
