"""A published table: the same numbers in every format, headings that span, texts that do nothing but stand there."""

from __future__ import annotations

import csv
import io
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from hedgerow.errors import ParameterError
from hedgerow.release.cells.margins import ConsistentTable, consistent_table
from hedgerow.release.cells.printed_numbers import reliability_letters, whole_numbers
from hedgerow.release.cells.shape import Hierarchy, TableDimension, TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.publication.formats.csv import csv_text
from hedgerow.release.publication.formats.csv import write as write_csv
from hedgerow.release.publication.formats.html import html_page, html_table
from hedgerow.release.publication.formats.html import write as write_html
from hedgerow.release.publication.formats.xlsx import write as write_xlsx
from hedgerow.release.publication.formats.xlsx import xlsx_bytes
from hedgerow.release.publication.publication import Publication, arrange
from hedgerow.release.publication.text import text_of

SHAPE = TableShape(
    (
        TableDimension("sex", ("f", "m")),
        TableDimension("district", ("a", "b", "c")),
        TableDimension("age", ("young", "old")),
    )
)
REGION = Hierarchy.of("district", "region", {"north": ["c", "a"], "south": ["b"]})
VALUES = np.array([120.0, 3400.0, -2.0, 55.0, 8.0, 21.0, 900.0, 31.0, 42.0, 5.0, 77.0, 1300.0])
GUARANTEE = "Guarantee: differential privacy, ε ≤ 1 at δ = 1e-06, replace-one, unit row."
EVIL = '=HYPERLINK("http://evil","x")'
SCRIPT = "<script>alert(1)</script>"


def publication(*, hierarchies: tuple[Hierarchy, ...] = (), **options: object) -> Publication:
    cells = TableCells.counts(SHAPE, VALUES, privacy_variance=4.0)
    table = consistent_table(cells, hierarchies=hierarchies)
    return Publication("People", table, GUARANTEE, **{"unit": "persons", **options})


def hostile() -> Publication:
    """A table whose every text is an attack."""
    shape = TableShape(
        (TableDimension("=1+1", (EVIL, SCRIPT)), TableDimension("@cmd|'/c calc'!A1", ("-2+3", "a\u202eb\x07")))
    )
    cells = TableCells.counts(shape, [1.0, 2.0, 3.0, 4.0], privacy_variance=4.0)
    return Publication("+" + SCRIPT, consistent_table(cells), "-" + SCRIPT, unit="\t=2", notes=(EVIL,))


class Table(HTMLParser):
    """What a browser makes of a table: a grid of cells with spans resolved, the headings of each, the ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.grid: dict[tuple[int, int], dict[str, str]] = {}
        self.tags: list[str] = []
        self.row, self.open = -1, None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = {key: value or "" for key, value in attrs}
        if tag == "tr":
            self.row += 1
        if tag in ("td", "th"):
            cell = {**found, "tag": tag, "text": ""}
            column = next(at for at in range(10**6) if (self.row, at) not in self.grid)
            for down in range(int(found.get("rowspan", 1))):
                for across in range(int(found.get("colspan", 1))):
                    self.grid[self.row + down, column + across] = cell
            self.open = cell

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.open = None

    def handle_data(self, data: str) -> None:
        if self.open is not None:
            self.open["text"] += data

    def texts(self, row: int) -> list[str]:
        return [cell["text"].strip() for (at, _), cell in sorted(self.grid.items()) if at == row]


@pytest.mark.parametrize("across", [None, (), ("age",), ("district", "age"), ("sex", "district", "age")])
@pytest.mark.parametrize("hierarchies", [(), (REGION,)])
def test_every_number_of_the_page_stands_under_its_own_headings(
    across: tuple[str, ...] | None, hierarchies: tuple[Hierarchy, ...]
) -> None:
    shown = publication(across=across, hierarchies=hierarchies, letters=False)
    table = Table(html_table(shown))
    grid = table.grid
    rows, columns = max(row for row, _ in grid) + 1, max(column for _, column in grid) + 1
    # Spans tile the table: no hole, no overlap.
    assert set(grid) == {(row, column) for row in range(rows) for column in range(columns)}
    ids = [cell["id"] for cell in {id(cell): cell for cell in grid.values()}.values() if "id" in cell]
    assert len(ids) == len(set(ids))
    layout, checked = arrange(shown), 0
    for (row, column), cell in grid.items():
        if cell["tag"] == "th":
            continue
        above = [grid[at, column] for at in range(row) if grid[at, column]["tag"] == "th"]
        beside = [grid[row, at] for at in range(column) if grid[row, at]["tag"] == "th"]
        if "headers" in cell:
            assert set(cell["headers"].split()) <= {one["id"] for one in (*above, *beside)}
        labels = [one["text"].strip() for one in (*beside, *above)]
        # Find the one head whose labels are these, and with it the number that belongs here.
        wanted = number_under(shown, layout.down, layout.across, labels)
        assert cell["text"].strip() == wanted
        checked += 1
    assert checked == layout.rows * layout.columns


def number_under(shown: Publication, down: tuple[str, ...], across: tuple[str, ...], labels: list[str]) -> str:
    """Return the number that a table with these headings must hold, looked up in the totals by name."""
    beside, above = labels[: len(down)], labels[len(labels) - len(across) :] if across else []
    cell, kept = {}, []
    for column, label in zip((*down, *across), (*beside, *above), strict=True):
        if label == "Total":
            continue
        name = "region" if label in ("north", "south") else column
        kept.append(name)
        cell[name] = label
    cells = shown.table.margin(kept)
    return shown.formatter()(float(cells.published[cells.shape.place(cell)]))


def test_the_page_is_accessible_and_fetches_nothing() -> None:
    page = html_page(publication(errors=True))
    assert '<caption id="table-caption">People' in page
    assert 'lang="en"' in page
    assert "default-src 'none'" in page
    assert re.search(r'<th id="table-r0-0" scope="rowgroup" rowspan="4"><bdi>f</bdi>', page)
    assert re.search(r'<th id="table-c0-0" scope="col"><bdi>young</bdi>', page)
    assert 'class="scroll" role="region" aria-labelledby="table-caption" tabindex="0"' in page
    assert not re.search(r"(src|href)=", page)
    assert "http:" not in page
    assert "https:" not in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert GUARANTEE in page
    assert "±" in page


def test_hostile_texts_stand_on_a_page_as_texts() -> None:
    page = html_page(hostile())
    assert "script" not in Table(page).tags
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page
    assert "\x07" not in page


def test_a_table_stands_in_another_page_under_its_own_ids() -> None:
    assert 'id="second-caption"' in html_table(publication(), name="second")
    assert 'id="table-' not in html_table(publication(), name="second")


def test_every_number_of_the_page_has_its_error_bar() -> None:
    """The bar lies where the interval does, on the scale of its cells or of its totals, and says it in words."""
    shown = publication(level=0.9)
    layout, page = arrange(shown), html_table(shown)
    found = re.findall(r'title="([^"]*)"><svg.*?class="interval" d="M([\d.]+) [\d.]+h([\d.]+)', page)[:-1]
    assert len(found) == layout.rows * layout.columns == page.count("<td")
    low, high = (layout.spread(lambda cells, end=end: cells.interval(0.9)[end]).ravel() for end in (0, 1))
    letters = layout.spread(lambda cells: reliability_letters(cells)).ravel()
    inside = layout.spread(lambda cells: np.full(cells.shape.size, cells is shown.table.interior)).ravel()
    top = high[inside & (letters != "F")].max()
    for place, (words, start, length) in enumerate(found):
        ends = re.fullmatch(r"90 % interval: ([−\d,.]+) to ([−\d,.]+)", words)
        assert ends
        below, above = (float(end.replace(",", "").replace("−", "-")) for end in ends.groups())
        assert below <= low[place] + 1e-6 and above >= high[place] - 1e-6
        assert below > low[place] - 1.0 - 1e-6 and above < high[place] + 1.0 + 1e-6
        if inside[place] and letters[place] != "F":
            assert float(start) == pytest.approx(100 * low[place] / top, abs=1.0)
            assert float(start) + float(length) == pytest.approx(100 * high[place] / top, abs=1.0)
    assert found[-1][0] != found[0][0]


def test_letters_and_hidden_numbers() -> None:
    page = html_table(publication())
    assert '<span class="letter" title="excellent">A</span>' in page
    assert "−2" in page
    hidden = html_table(publication(hide_unreliable=True))
    assert "−2" not in hidden
    assert "F stands in place of its number" in hidden
    assert "letter" not in html_table(publication(letters=False))


def test_notes_say_why_counts_are_negative_and_only_where_they_are() -> None:
    assert any("negative or fractional" in note for note in publication().footnotes())
    cells = TableCells.counts(TableShape(()), [4.0], privacy_variance=1.0)
    assert not any("negative" in note for note in Publication("", ConsistentTable(cells), "").footnotes())


def test_errors_that_are_withheld_are_in_no_format() -> None:
    cells = TableCells.without_errors(SHAPE, VALUES, counted=True)
    shown = Publication("People", consistent_table(cells), "NOT differential privacy.", errors=True)
    assert "standard_error" not in csv_text(shown)
    assert "<svg" not in html_page(shown)
    for text in (html_page(shown), text_of(shown)):
        assert "±" not in text
        assert "Reliability" not in text
        assert "NOT differential privacy." in text
    sheet = openpyxl.load_workbook(io.BytesIO(xlsx_bytes(shown)))["Cells"]
    assert [cell.value for cell in sheet[1]] == ["sex", "district", "age", "summed_over", "estimate"]


def test_csv_holds_every_cell_and_total_in_full() -> None:
    shown = publication(hierarchies=(REGION,), level=0.9)
    rows = list(csv.DictReader(io.StringIO(csv_text(shown))))
    assert len(rows) == shown.table.interior.shape.size + sum(m.shape.size for m in shown.table.margins.values())
    low, high = shown.table.interior.interval(0.9)
    for place, row in enumerate(rows[:12]):
        assert {column: row[column] for column in SHAPE.columns} == SHAPE.cell(place)
        assert float(row["estimate"]) == VALUES[place]
        assert (float(row["low"]), float(row["high"])) == (low[place], high[place])
        assert row["level"] == "0.9"
        assert row["summed_over"] == ""
    (total,) = (row for row in rows if row["summed_over"] == "sex × district × age")
    assert float(total["estimate"]) == VALUES.sum()
    by_region = [row for row in rows if row["district"] in ("north", "south") and row["summed_over"] == "sex × age"]
    assert [float(row["estimate"]) for row in by_region] == shown.table.margin(["region"]).values.tolist()


def test_csv_is_inert(tmp_path: Path) -> None:
    write_csv(hostile(), tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0][0] == "'=1+1"
    assert rows[1][:2] == ["'" + EVIL, "'-2+3"]
    starts = {cell[:1] for row in rows for cell in row if not re.fullmatch(r"-?[\d.e+-]+", cell)}
    assert not starts & set("=+-@\t\r")


@pytest.mark.parametrize("errors", [False, True])
@pytest.mark.parametrize("across", [None, (), ("district", "age")])
def test_the_spreadsheet_holds_what_the_page_shows(across: tuple[str, ...] | None, errors: bool) -> None:
    shown = publication(across=across, errors=errors)
    book = openpyxl.load_workbook(io.BytesIO(xlsx_bytes(shown)))
    sheet = book["Table"]
    layout = arrange(shown)
    wide = 2 + errors
    left, first = len(layout.down), 5 + len(layout.across)
    expected = layout.spread(lambda cells: cells.published)
    for row in range(layout.rows):
        for column in range(layout.columns):
            assert sheet.cell(first + row, left + 1 + column * wide).value == expected[row, column]
    assert sheet["A1"].value == "People"
    assert GUARANTEE in {cell.value for cell in sheet["A"]}
    assert sheet.freeze_panes == sheet.cell(first, left + 1).coordinate
    merged = {str(ranged) for ranged in sheet.merged_cells.ranges}
    if across is None:
        # "f" heads three districts and their total; the number, its error and its letter share a heading.
        assert f"A{first}:A{first + 3}" in merged
        assert sheet.cell(first, 1).value == "f"
        assert (f"C{first - 1}:E{first - 1}" if errors else f"C{first - 1}:D{first - 1}") in merged
    rows = [[cell.value for cell in row] for row in book["Cells"].iter_rows()]
    written = list(csv.reader(io.StringIO(csv_text(shown))))
    assert [len(row) for row in rows] == [len(row) for row in written]
    assert [row[4] for row in rows[1:13]] == VALUES.tolist()


def test_the_chart_of_the_spreadsheet_reads_each_cell_with_its_interval() -> None:
    shown = publication(level=0.9)
    book = openpyxl.load_workbook(io.BytesIO(xlsx_bytes(shown)))
    (_, *lines), (chart,) = [[cell.value for cell in row] for row in book["Chart"].iter_rows()], book["Chart"]._charts
    cells = shown.table.interior
    (low, high), numbers = cells.interval(0.9), cells.published
    expected = [numbers, cells.standard_error, low, high, np.maximum(numbers - low, 0), np.maximum(high - numbers, 0)]
    assert [line[0] for line in lines[:3]] == ["f, a, young", "f, a, old", "f, b, young"]
    assert np.array([line[1:] for line in lines]) == pytest.approx(np.array(expected).T)
    (series,) = chart.series
    assert series.val.numRef.f == "'Chart'!$B$2:$B$13" and series.cat.numRef.f == "'Chart'!$A$2:$A$13"
    assert series.errBars.errValType == "cust" and series.errBars.errBarType == "both"
    assert series.errBars.minus.numRef.f == "'Chart'!$F$2:$F$13"
    assert series.errBars.plus.numRef.f == "'Chart'!$G$2:$G$13"


def test_a_spreadsheet_without_errors_or_too_large_to_draw_has_no_chart() -> None:
    shape = TableShape((TableDimension("code", tuple(range(301))),))
    many = TableCells.counts(shape, np.arange(301.0), privacy_variance=4.0)
    for cells in (many, TableCells.without_errors(SHAPE, VALUES, counted=True)):
        book = openpyxl.load_workbook(io.BytesIO(xlsx_bytes(Publication("People", ConsistentTable(cells), ""))))
        assert book.sheetnames == ["Table", "Cells"]


def test_a_spreadsheet_runs_nothing(tmp_path: Path) -> None:
    write_xlsx(hostile(), tmp_path / "table.xlsx")
    book = openpyxl.load_workbook(tmp_path / "table.xlsx")
    texts = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert {cell.data_type for cell in texts} == {"s", "n"}
    assert all(cell.value[:1] not in "=+-@\t\r" for cell in texts if cell.data_type == "s" and cell.value)
    assert any(cell.value == "'" + EVIL for cell in texts)


def test_without_openpyxl_a_spreadsheet_is_refused_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ParameterError, match="HG163") as failed:
        write_xlsx(publication(), tmp_path / "table.xlsx")
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    assert not list(tmp_path.iterdir())
    assert write_html(publication(), tmp_path / "table.html")


@pytest.mark.parametrize("write", [write_csv, write_xlsx, write_html])
def test_a_path_that_cannot_be_written_is_said(write: object, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="HG118"):
        write(publication(), tmp_path / "no such folder" / "table")


def test_text_spans_cuts_and_adds_up() -> None:
    text = text_of(publication(hierarchies=(REGION,)))
    lines = text.splitlines()
    assert lines[0] == "People (persons)"
    assert lines[3].split() == ["sex", "district", "young", "old", "Total"]
    body = [line for line in lines if re.search(r"\d [A-F]", line) and "CV" not in line]
    assert len(body) == 18
    assert [line[:1] for line in body].count("f") == 1
    # A category stands indented under its group, a total below a rule.
    assert [line[7:12].rstrip() for line in body[:4]] == ["north", "  a", "  c", "south"]
    assert set(lines[lines.index(body[12]) - 1]) == {"-"}
    assert text.rstrip().endswith(GUARANTEE)
    narrow = text_of(publication(across=("district", "age")), width=60)
    assert max(len(line) for line in narrow.splitlines()) <= 60
    # Each part repeats the row headings.
    assert sum(line.startswith("sex") for line in narrow.splitlines()) > 1
    assert "more rows" in text_of(publication(across=()), most_rows=5)


def test_many_columns_go_down() -> None:
    shape = TableShape((TableDimension("sex", ("f", "m")), TableDimension("age", tuple(range(60)))))
    cells = TableCells.counts(shape, np.arange(120.0), privacy_variance=4.0)
    lines = text_of(Publication("People", ConsistentTable(cells), "")).splitlines()
    assert lines[2].split() == ["sex", "age", "count"]


def test_texts_that_steer_a_terminal_do_not() -> None:
    text = text_of(hostile())
    assert "\x07" not in text
    assert "\u202e" not in text


def test_numbers_are_printed_as_finely_as_their_errors_allow() -> None:
    shape = TableShape((TableDimension("a", (1, 2)),))
    for variance, expected in ((400.0, "1,234"), (0.04, "1,234.2"), (1e-6, "1,234.250")):
        cells = TableCells.totals(shape, [1234.25, -1.0], privacy_variance=variance)
        assert Publication("", ConsistentTable(cells), "").formatter()(1234.25) == expected
    cells = TableCells.counts(shape, [12.0, 3.0], privacy_variance=0.01)
    assert Publication("", ConsistentTable(cells), "").formatter()(-0.2) == "0"


def test_mended_numbers_are_what_is_published_everywhere() -> None:
    table = whole_numbers(consistent_table(TableCells.counts(SHAPE, VALUES + 0.4, privacy_variance=4.0)))
    shown = Publication("People", table, "")
    assert "120.4" not in csv_text(shown).split(",")
    assert float(list(csv.DictReader(io.StringIO(csv_text(shown))))[-1]["estimate"]) == table.margin().published[0]
    assert "multiples" not in html_page(shown)
    assert "rounded to whole numbers" in html_page(shown)


@pytest.mark.parametrize("across", [("nothing",), ("sex", "sex")])
def test_columns_across_that_are_none_are_refused(across: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="HG160"):
        html_page(publication(across=across))


@pytest.mark.parametrize("render", [html_page, xlsx_bytes])
def test_a_table_too_large_to_be_read_is_refused(render: object) -> None:
    shape = TableShape((TableDimension("a", tuple(range(500))), TableDimension("b", tuple(range(500)))))
    cells = TableCells.counts(shape, np.zeros(250_000), privacy_variance=4.0)
    with pytest.raises(ParameterError, match="HG164"):
        render(Publication("", ConsistentTable(cells), ""))
    assert replace(publication(), level=0.9).level == 0.9
