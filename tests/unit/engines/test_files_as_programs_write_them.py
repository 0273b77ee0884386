"""Files are read as the programs that people use write them: R, pandas, polars, Excel, SPSS and Stata.

Each text below follows the documented format of its writer (R 4 `write.csv`, `write.csv2`; readr 2 `write_csv`;
data.table `fwrite`); the others are written by the programs' own libraries. All hold the same made-up persons.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pandas
import polars
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import csv as arrow_csv

import hedgerow as hg
from hedgerow.engines.query import Indicator, Query, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.facts.columns import Category, Grid

WAGES = [10.5, 14.0, None, 22.25]
SEX = ["Male", "Female", "Female", "Male"]
NAMED, LEFT_OUT = False, True

R_WRITE_CSV = '"","wages","sex","retired"\n' + "".join(
    f'"{row}",{"NA" if wage is None else wage},"{sex}",{retired}\n'
    for row, (wage, sex, retired) in enumerate(zip(WAGES, SEX, ["TRUE", "FALSE", "FALSE", "TRUE"], strict=True), 1)
)
R_WRITE_CSV2 = '"";"wages";"sex"\n' + "".join(
    f'"{row}";{"NA" if wage is None else str(wage).replace(".", ",")};"{sex}"\n'
    for row, (wage, sex) in enumerate(zip(WAGES, SEX, strict=True), 1)
)
READR = "wages,sex\n" + "".join(
    f"{'NA' if wage is None else wage},{sex}\n" for wage, sex in zip(WAGES, SEX, strict=True)
)
DATA_TABLE = "wages,sex\n" + "".join(
    f"{'' if wage is None else wage},{sex}\n" for wage, sex in zip(WAGES, SEX, strict=True)
)
DATA_TABLE_ROWS = '"",wages,sex\n' + "".join(
    f"{row},{'' if wage is None else wage},{sex}\n" for row, (wage, sex) in enumerate(zip(WAGES, SEX, strict=True), 1)
)
EXCEL_CSV = "\ufeffwages,sex\r\n" + "".join(
    f"{'' if wage is None else wage},{sex}\r\n" for wage, sex in zip(WAGES, SEX, strict=True)
)
EXCEL_CSV_COMMA = "\ufeffwages;sex\r\n" + "".join(
    f"{'' if wage is None else str(wage).replace('.', ',')};{sex}\r\n" for wage, sex in zip(WAGES, SEX, strict=True)
)


def of_text(text: str) -> Callable[[Path], object]:
    def write(folder: Path) -> object:
        path = folder / "people.csv"
        path.write_bytes(text.encode())
        return path

    return write


def frame() -> pandas.DataFrame:
    return pandas.DataFrame({"wages": WAGES, "sex": SEX}).astype({"sex": "str"})


def with_index(folder: Path) -> object:
    frame().to_csv(folder / "people.csv")
    return folder / "people.csv"


def excel(folder: Path) -> object:
    frame().to_excel(folder / "people.xlsx")
    return folder / "people.xlsx"


def excel_by_hand(folder: Path) -> object:
    book = openpyxl.Workbook()
    for row in [("wages", "sex"), *zip(WAGES, SEX, strict=True)]:
        book.active.append(row)
    book.save(folder / "people.xlsx")
    return folder / "people.xlsx"


def polars_csv(folder: Path) -> object:
    polars.DataFrame({"wages": WAGES, "sex": SEX}).write_csv(folder / "people.csv")
    return folder / "people.csv"


def polars_read(folder: Path) -> object:
    path = of_text(R_WRITE_CSV.replace("NA", ""))(folder)
    return polars.read_csv(path)  # type: ignore[arg-type]  # a path


def arrow_read(folder: Path) -> object:
    return arrow_csv.read_csv(of_text(R_WRITE_CSV)(folder))


def parquet_of_polars(folder: Path) -> object:
    held = polars_read(folder)
    held.write_parquet(folder / "people.parquet")  # type: ignore[attr-defined]  # a frame of polars
    return folder / "people.parquet"


def parquet_of_pandas(folder: Path) -> object:
    frame().set_index(pandas.Index([7, 8, 9, 10])).to_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def spss(folder: Path) -> object:
    pyreadstat.write_sav(frame(), folder / "people.sav", missing_ranges={"wages": [99.0]})
    return folder / "people.sav"


def stata(folder: Path) -> object:
    frame().to_stata(folder / "people.dta", write_index=False, version=118)
    return folder / "people.dta"


WRITTEN: dict[str, tuple[Callable[[Path], object], bool]] = {
    "R write.csv": (of_text(R_WRITE_CSV), LEFT_OUT),
    "R write.csv2": (of_text(R_WRITE_CSV2), LEFT_OUT),
    "readr write_csv": (of_text(READR), NAMED),
    "data.table fwrite": (of_text(DATA_TABLE), NAMED),
    "data.table fwrite, row.names=TRUE": (of_text(DATA_TABLE_ROWS), LEFT_OUT),
    "pandas to_csv": (with_index, LEFT_OUT),
    "pandas to_excel": (excel, LEFT_OUT),
    "pandas to_parquet": (parquet_of_pandas, NAMED),
    "polars write_csv": (polars_csv, NAMED),
    "polars read_csv of R": (polars_read, LEFT_OUT),
    "polars write_parquet of R": (parquet_of_polars, LEFT_OUT),
    "pyarrow read_csv of R": (arrow_read, LEFT_OUT),
    "Excel workbook": (excel_by_hand, NAMED),
    "Excel CSV UTF-8": (of_text(EXCEL_CSV), NAMED),
    "Excel CSV with decimal commas": (of_text(EXCEL_CSV_COMMA), NAMED),
    "SPSS": (spss, NAMED),
    "Stata": (stata, NAMED),
}


@pytest.mark.parametrize("writer", WRITTEN)
def test_the_same_persons_are_counted_whichever_program_wrote_them(writer: str, tmp_path: Path) -> None:
    write, left_out = WRITTEN[writer]
    source = open_source(write(tmp_path))
    assert {"wages", "sex"} <= set(source.columns) and "" not in source.columns
    assert [("left out" in remark) for remark in source.remarks] == [True] * left_out
    grid = Grid.from_bounds("wages", (0, 50), 0.25)
    counted = source.histogram(Query(ValueOnGrid("wages", grid), by=(Category("sex", ("Female", "Male")),)))
    assert (counted.cell.tolist(), counted.index.tolist(), counted.count.tolist()) == ([0, 1, 1], [56, 42, 89], [1] * 3)
    assert (counted.missing.tolist(), counted.outside) == ([1, 0], 0)


def test_a_user_is_told_once_when_the_source_is_opened(tmp_path: Path) -> None:
    path = of_text(R_WRITE_CSV)(tmp_path)
    with pytest.warns(hg.HedgerowWarning, match="first column has no name"):
        survey = hg.open(path, relation="replace-one")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert survey.n == 4
        assert len(survey.count(by={"sex": SEX[:2]}, epsilon=1.0)) == 2
        hg.open(of_text(READR)(tmp_path), relation="replace-one")


@pytest.mark.parametrize("header", ["", '""', "v,", "v,,w", ",,v", ",v,v"])
def test_no_other_column_may_be_without_a_name(header: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(f"{header}\n1,2,3\n")
    with pytest.raises(hg.DataError, match=r"HG20[56]"):
        open_source(tmp_path / "people.csv")


def test_a_frame_without_any_other_column_is_refused() -> None:
    with pytest.raises(hg.DataError, match="HG205"):
        open_source(pa.table({"": [1]}))


def test_a_comma_is_no_decimal_mark_where_it_parts_cells_or_thousands(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text('"wages","sex"\n"10,5",Male\n')
    (tmp_path / "more.csv").write_text("wages;sex\n1,000,000;Male\n")
    for name in ("people.csv", "more.csv"):
        grid = Grid.from_bounds("wages", (0, 50), 0.25)
        assert open_source(tmp_path / name).histogram(Query(ValueOnGrid("wages", grid))).missing.tolist() == [1]


def test_truth_in_r_is_a_text(tmp_path: Path) -> None:
    counted = open_source(of_text(R_WRITE_CSV)(tmp_path)).histogram(Query(Indicator("retired", "TRUE")))
    assert counted.count.tolist() == [2, 2]
