"""Files of Stata and SPSS: dates and texts are those of pyreadstat, and no cell makes a file unreadable."""

from __future__ import annotations

import itertools
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyreadstat
import pytest

from hedgerow.engines.incoming import statistical
from hedgerow.engines.source import open_source

FORMATS = {
    ".dta": ("%td", "%d", "%tdD_m_Y", "%tdCCYY-NN-DD", "%tc", "%tC", "%tcHH:MM:SS", "%tcHH:MM"),
    ".sav": ("DATE11", "ADATE10", "EDATE10", "JDATE5", "SDATE10", "DATETIME20", "DATETIME23.2", "TIME8", "DTIME10"),
}
OTHERS = {".dta": ("%tw", "%tm", "%tq", "%th", "%ty", "%9.0g"), ".sav": ("F8.2", "WKYR8", "MOYR6", "QYR6", "WKDAY3")}
PAIRS = [(suffix, form) for suffix, forms in FORMATS.items() for form in forms]


def written(path: Path, cells: list[Any], form: str | None = None) -> str:
    frame = pandas.DataFrame({"x": cells, "v": np.arange(len(cells), dtype=float)})
    write = getattr(pyreadstat, f"write_{path.suffix[1:]}")
    write(frame, path, variable_format={"x": form} if form else None)
    return str(path)


def column(path: str) -> list[Any]:
    _, *records = statistical.rows(path, Path(path).suffix)
    return [record[0] for record in records]


@pytest.mark.parametrize(("suffix", "form"), PAIRS)
def test_times_are_those_of_pyreadstat(suffix: str, form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    day = statistical.moments_of(suffix, form).units_per_day  # type: ignore[union-attr]  # every format here counts time
    days = [0, 1, 60, -1, -500_000, 2_900_000, *rng.integers(-100_000, 200_000, 60)] + [0] * (suffix == ".sav")
    units = [float(count * day + (rng.integers(day) if day > 1 else 0)) for count in days]
    path = written(tmp_path / f"times{suffix}", [*units, None], form)
    read = getattr(pyreadstat, f"read_{suffix[1:]}")
    expected = read(path, output_format="dict")[0]["x"]
    assert isinstance(expected[0], (date, datetime, time)) and expected[-1] is None
    assert column(path) == [None if cell is None else cell.isoformat() for cell in expected]


@pytest.mark.parametrize(("suffix", "form"), [(suffix, form) for suffix in OTHERS for form in OTHERS[suffix]])
def test_other_formats_stay_numbers(suffix: str, form: str, tmp_path: Path) -> None:
    assert column(written(tmp_path / f"other{suffix}", [3.0, None, 1e18], form)) == [3.0, None, 1e18]


@pytest.mark.parametrize(("suffix", "form"), PAIRS)
def test_a_time_that_python_cannot_hold_is_missing(suffix: str, form: str, tmp_path: Path) -> None:
    moments = statistical.moments_of(suffix, form)
    assert moments is not None
    day = moments.units_per_day
    for odd in (1e300, -1e300, 1e18, -1e15, 3_700_000.0 * day, -800_000.0 * day):
        cells = column(written(tmp_path / f"odd{suffix}", [float(day)] * 3 + [odd], form))
        assert len(set(cells[:3])) == 1 and cells[0] is not None
        # The time of a day has no year.
        assert cells[3] is None or moments.kind == "time"


def test_the_years_1_to_9999_are_read(tmp_path: Path) -> None:
    for suffix, form in ((".dta", "%tc"), (".sav", "DATETIME20")):
        moments = statistical.moments_of(suffix, form)
        assert moments is not None
        day, origin = moments.units_per_day, date.fromisoformat(moments.origin).toordinal()
        first, last = (1 - origin) * day, (date(9999, 12, 31).toordinal() - origin + 1) * day
        cells = column(written(tmp_path / f"ends{suffix}", [*map(float, (first, last - 1, first - 1, last))], form))
        assert cells[0] == "0001-01-01T00:00:00" and str(cells[1]).startswith("9999-12-31T23:59:59")
        assert cells[2:] == [None, None]


def test_fractions_of_a_second_are_rounded_to_microseconds() -> None:
    moments = statistical.moments_of(".sav", "DATETIME20")
    assert moments is not None
    assert statistical.moments_as_texts([0.25, 86_399.9999999], moments) == [
        "1582-10-14T00:00:00.250000",
        "1582-10-14T23:59:59.999999",
    ]


def sav(folder: Path) -> Path:
    return Path(written(folder / "texts.sav", ["é", "aXXb"]))


def dta(folder: Path, version: Any = 118) -> Path:
    pandas.DataFrame({"x": ["é", "aXXb"]}).to_stata(folder / "texts.dta", write_index=False, version=version)
    return folder / "texts.dta"


def old_dta(folder: Path) -> Path:
    return dta(folder, 114)


WRITERS = (sav, dta, old_dta)
BYTES = (b"\xff\xff", b"\x81\x81", b"\xed\xa0", b"X\xc3", b"\0X", b"\x1a\n")


@pytest.mark.parametrize(("write", "odd"), list(itertools.product(WRITERS, BYTES)))
def test_no_bytes_of_a_text_make_a_file_unreadable(write: Any, odd: bytes, tmp_path: Path) -> None:
    path = write(tmp_path)
    assert open_source(path).in_order(["x"]) == [["é", "aXXb"]]  # type: ignore[attr-defined]  # a source of a file
    path.write_bytes(path.read_bytes().replace(b"XX", odd))
    cells = open_source(path).in_order(["x"])[0]  # type: ignore[attr-defined]  # a source of a file
    assert cells[0] == "é" and cells[1] not in (None, "aXXb")


def test_long_texts_of_stata_are_read(tmp_path: Path) -> None:
    texts = ["é✓" * 900, "", "b"]
    pandas.DataFrame({"x": texts}).to_stata(tmp_path / "l.dta", write_index=False, version=118, convert_strl=["x"])
    assert column(str(tmp_path / "l.dta")) == texts


def test_a_character_that_the_width_of_a_column_cuts_off_is_left_out(tmp_path: Path) -> None:
    path = sav(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"aXXb", b"abc\xc3"))
    assert column(str(path)) == ["é", "abc"]
