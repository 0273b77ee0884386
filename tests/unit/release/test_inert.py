"""No text that leaves hedgerow starts a formula, whatever a spreadsheet skips before it."""

import csv
import io
import unicodedata
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hg
from hedgerow.facts.printed import neutralise_formula

UNSEEN = ["", " ", "\u3000", "\u200b", "\ufeff", "\u00a0", "\u202f", "\u2060", "\u202e", "\x00", "\u2028", "\u00ad"]
SIGNS = ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufe66", "\ufb29", "\u207a"]
LEADING = ["\t", "\r", "\n", " \t", "\u200b\n"]


def seen(text: str) -> str:
    """Return what a reader that skips everything unseen, and knows all widths of a sign, begins with."""
    kept = [sign for sign in text if unicodedata.category(sign)[0] not in "CZ"]
    return unicodedata.normalize("NFKC", "".join(kept)).strip()[:1]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("before", UNSEEN)
def test_every_form_of_a_formula_is_made_neutralise_formula(before: str, sign: str) -> None:
    text = f"{before}{sign}1+1"
    assert neutralise_formula(text) == f"'{text}"


@pytest.mark.parametrize("before", LEADING)
def test_a_text_cannot_move_to_the_next_cell(before: str) -> None:
    assert neutralise_formula(f"{before}x") == f"'{before}x"


@given(st.text(max_size=8))
def test_no_text_starts_a_formula(text: str) -> None:
    assert seen(str(neutralise_formula(text))) not in {"=", "+", "-", "@"}


@given(st.text(alphabet=st.characters(categories=["L", "N"]), max_size=8))
def test_words_and_numbers_stay_what_they_are(text: str) -> None:
    assert neutralise_formula(text) == text or seen(text) in {"=", "+", "-", "@"}


def test_numbers_are_never_quoted() -> None:
    assert [neutralise_formula(value) for value in (-1.5, 2, None, True)] == [-1.5, 2, None, True]


def test_every_writer_has_the_guard(tmp_path: Path) -> None:
    evil = [f"{before}{sign}1" for before in UNSEEN[1:6] for sign in SIGNS[:6]]
    survey = hg.open(pa.table({"g": evil, "v": [1.0] * len(evil)}), relation="add-remove")
    release = survey.release([hg.count()], by={"g": evil}, epsilon=1.0)
    table = survey.contingency_table(by={"g": evil}, epsilon=1.0)
    release.to_csv(tmp_path / "r.csv")
    table.to_csv(tmp_path / "t.csv")
    table.to_xlsx(tmp_path / "t.xlsx")
    texts = [
        cell
        for name in ("r.csv", "t.csv")
        for row in csv.reader(io.StringIO((tmp_path / name).read_text(encoding="utf-8"), newline=""))
        for cell in row
    ]
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    texts += [cell.value for sheet in book for row in sheet.iter_rows() for cell in row if cell.data_type == "s"]
    assert sum(text.startswith("'") for text in texts) >= 3 * len(evil)
    numbers = [text for text in texts if text.lstrip("-").replace(".", "").replace("e", "").isdigit()]
    assert [text for text in texts if seen(text) in {"=", "+", "-", "@"} and text not in numbers] == []
    assert not any(cell.data_type == "f" for sheet in book for row in sheet.iter_rows() for cell in row)
