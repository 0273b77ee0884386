"""One suite for every engine: dates are read, compared and taken apart as Python's calendar does; log, exp and sqrt.

The integers that come out are compared with those of plain Python, so they are equal on all engines.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.contracts.database_tables import IN_DATABASES, opened_in

import hedgerow as hg
from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.engines.source import Source, open_source
from hedgerow.facts.column_function import ColumnFunction
from hedgerow.facts.columns import Category, Grid, Selection
from hedgerow.facts.expression import DerivedColumn

TEXTS = ["1970-01-01", "2024-02-29", "2025-02-28", "2025-03-01", "2026-01-01", "1899-12-31", "2000-02-29"]
TEXTS += ["2026-12-31", "1900-03-01"]
DAYS = [None, *map(date.fromisoformat, TEXTS), *(date(2026, 1, 1) + timedelta(days=37 * step) for step in range(30))]
MOMENTS = [
    None if day is None else datetime(day.year, day.month, day.day, (7 * at) % 24, at % 60, 1)
    for at, day in enumerate(DAYS)
]
ODD = [None, math.nan, math.inf, 0.0, -3.0, 1e-300, 1e300, 1.0, math.e, 50.0]
PAY = [*ODD, *(1.0 + 0.37 * at for at in range(len(DAYS) - len(ODD)))]
SCHEMA = pa.schema({"day": pa.date32(), "moment": pa.timestamp("us"), "pay": pa.float64()})
TABLE = pa.table({"day": DAYS, "moment": MOMENTS, "pay": PAY}, SCHEMA)


def written(write: Callable[[pa.Table, Path], None], path: Path) -> Path:
    write(TABLE, path)
    return path


def with_letter_t(folder: Path) -> Path:
    """Write moments as polars and readr do, with a T between day and hour."""
    pa.csv.write_csv(TABLE, folder / "rows.csv")
    text = (folder / "rows.csv").read_text(encoding="utf-8")
    lines = [line.replace(" ", "T").replace(".000000", "") for line in text.splitlines()]
    (folder / "rows.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder / "rows.csv"


MAKERS: dict[str, Callable[[Path], Any]] = {
    "csv": lambda folder: written(pa.csv.write_csv, folder / "rows.csv"),
    "csv with a T": with_letter_t,
    "parquet": lambda folder: written(pq.write_table, folder / "rows.parquet"),
    "duckdb relation": lambda _: duckdb.from_arrow(TABLE),
    "pyarrow": lambda _: TABLE,
    "pandas": lambda _: TABLE.to_pandas(date_as_object=False),
    "pandas arrow": lambda _: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda _: pl.from_arrow(TABLE),
    "polars lazy": lambda _: pl.from_arrow(TABLE).lazy(),
}


@pytest.fixture(params=[*MAKERS, *IN_DATABASES, pytest.param("pyspark", marks=pytest.mark.spark)])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    if request.param in MAKERS:
        return open_source(MAKERS[request.param](tmp_path))
    if request.param != "pyspark":
        return opened_in(request.param, TABLE, tmp_path, request)
    session = request.getfixturevalue("spark")
    rows = [tuple(row.values()) for row in TABLE.to_pylist()]
    return open_source(session.createDataFrame(rows, "day date, moment timestamp_ntz, pay double"))


def age(born: date, then: date) -> int:
    return then.year - born.year - ((then.month, then.day) < (born.month, born.day))


FUNCTIONS: dict[str, tuple[str, Callable[[datetime], int]]] = {
    "year": ("year({})", lambda moment: moment.year),
    "quarter": ("quarter({})", lambda moment: (moment.month + 2) // 3),
    "month": ("month({})", lambda moment: moment.month),
    "weekday": ("weekday({})", lambda moment: moment.isoweekday()),
    "days": ("days({})", lambda moment: (moment.date() - date(1970, 1, 1)).days),
    "age": ("age({}, '2026-03-01')", lambda moment: age(moment.date(), date(2026, 3, 1))),
    "weeks": ("(days({}) - 3) / 7 * 0 + month({})", lambda moment: moment.month),
}


def counted(source: Source, query: Query) -> Counter[int]:
    answer = source.histogram(query)
    found = Counter({int(index): int(count) for index, count in zip(answer.index, answer.count, strict=True)})
    return found + Counter({-1: int(answer.missing.sum())})


@pytest.mark.parametrize("column", ["day", "moment"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_parts_of_dates_are_those_of_the_calendar(function: str, column: str, source: Source) -> None:
    text, truth = FUNCTIONS[function]
    derived = DerivedColumn.named("part", text.format(*[column] * text.count("{}")))
    grid = Grid.from_bounds("part", (-30_000, 30_000), 1)
    expected = Counter(-1 if moment is None else truth(moment) + 30_000 for moment in MOMENTS)
    assert counted(source, Query(ValueOnGrid(derived, grid))) == expected


def test_hours_are_those_of_the_clock(source: Source) -> None:
    derived = DerivedColumn.named("part", "hour(moment)")
    expected = Counter(-1 if moment is None else moment.hour for moment in MOMENTS)
    assert counted(source, Query(ValueOnGrid(derived, Grid.from_bounds("part", (0, 23), 1)))) == expected


CONDITIONS: dict[str, Callable[[datetime], bool]] = {
    "day >= '2026-01-01'": lambda moment: moment.date() >= date(2026, 1, 1),
    "day < '2024-02-29' or day == '2026-12-31'": lambda m: (
        m.date() < date(2024, 2, 29) or m.date() == date(2026, 12, 31)
    ),
    "day in ['2025-03-01', '1970-01-01']": lambda m: m.date() in (date(2025, 3, 1), date(1970, 1, 1)),
    "not day > '2026-01-01'": lambda moment: moment.date() <= date(2026, 1, 1),
    "moment >= '2026-01-01 11:05'": lambda moment: moment >= datetime(2026, 1, 1, 11, 5),
    "moment < '2026-06-01'": lambda moment: moment < datetime(2026, 6, 1),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_dates_are_compared_by_time(condition: str, source: Source) -> None:
    answer = source.histogram(Query(None, by=(Selection.of(condition),)))
    selected = sum(moment is not None and CONDITIONS[condition](moment) for moment in MOMENTS)
    assert int(answer.count.sum() + answer.missing.sum()) == selected


def test_a_part_of_a_date_groups_records(source: Source) -> None:
    months = Category.declared(DerivedColumn.named("month", "month(day)"), list(range(1, 13)))
    answer = source.histogram(Query(None, by=(months,)))
    expected = Counter(day.month for day in DAYS if day is not None)
    assert (answer.cell_sums() + answer.missing).tolist() == [expected[month] for month in range(1, 13)]


CURVES: dict[str, Callable[[float], float | None]] = {
    "log": lambda x: math.log(x) if x > 0 else None,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else None,
    "exp": lambda x: math.exp(min(x, 700.0)),
}
GRIDS = {"log": (0, 4, 0.01), "sqrt": (0, 7, 0.05), "exp": (0, 20, None)}


@cache
def placed(function: str, grid: Grid) -> Counter[int]:
    """Return how often each grid index stands in `PAY`, by exact comparison with the middles between grid values."""
    cuts = ColumnFunction(function, "pay", grid=grid).cuts()[1]
    missing = [value is None or not math.isfinite(value) or CURVES[function](value) is None for value in PAY]
    pairs = zip(PAY, missing, strict=True)
    return Counter(-1 if gone else sum(value >= cut for cut in cuts) for value, gone in pairs)


@pytest.mark.parametrize("function", CURVES)
def test_curves_are_the_same_integers_on_every_engine(function: str, source: Source) -> None:
    low, high, step = GRIDS[function]
    grid = Grid.from_bounds("curve", (low, high), step)
    derived = DerivedColumn.named("curve", f"{function}(pay)")
    assert counted(source, Query(ValueOnGrid(derived, grid))) == placed(function, grid)


@pytest.mark.parametrize("function", CURVES)
def test_the_grid_values_are_those_of_the_function(function: str) -> None:
    low, high, step = GRIDS[function]
    grid = Grid.from_bounds("curve", (low, high), step)
    values, cuts = ColumnFunction(function, "pay", grid=grid).cuts()
    assert len(values) == len(cuts) + 1 and cuts == sorted(cuts)
    for value in (0.5, 1.0, 2.0, 7.3, 20.0, 49.0):
        truth = CURVES[function](value)
        assert truth is not None
        nearest = values[sum(value >= cut for cut in cuts)]
        assert abs(nearest - min(max(truth, low), high)) <= float(grid.step) / 2 + 1e-12


REASONS = {
    "log(pay) + 1": "stand alone",
    "tan(pay)": "functions are log",
    "age(day)": "age is asked at a date",
    "age(day, 'June')": "a date is written",
    "log(3)": "is of a column",
}


@pytest.mark.parametrize(("text", "said"), list(REASONS.items()))
def test_what_does_not_parse_says_why(text: str, said: str) -> None:
    with pytest.raises(hg.ParameterError, match=f"HG132(.|\n)*{said}"):
        hg.column(text)


def test_questions_that_do_not_fit_are_refused_before_data_are_read() -> None:
    survey = hg.open(TABLE, relation="replace-one")
    with pytest.raises(hg.DataError, match="HG204"):
        survey.mean(hg.column("year(pay)"), bounds=(1, 2), epsilon=1.0)
    with pytest.raises(hg.DataError, match="HG204"):
        survey.mean("day", bounds=(1, 2), epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="HG111"):
        survey.count(where="day > 5", epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="HG111"):
        survey.count(where="day > 'June'", epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="HG132"):
        survey.count(by={hg.column("log(pay)"): hg.bands(0, 1, 2)}, epsilon=1.0)


def test_a_column_in_a_time_zone_is_no_date() -> None:
    zoned = pa.table({"day": pa.array(MOMENTS, pa.timestamp("us", "Europe/Paris"))})
    with pytest.raises(hg.ParameterError, match="HG111"):
        hg.open(zoned, relation="replace-one").count(where="day > '2026-01-01'", epsilon=1.0)


class TestBoundsThatFollow:
    DATA = pa.table({"pay": [1.0, 10.0, 20.0, 50.0] * 500, "day": [date(2026, 1 + at % 12, 1) for at in range(2_000)]})
    FACTS = hg.Facts().with_column("pay", bounds=(1, 50)).with_column("log_pay", expression="log(pay)")

    def test_those_of_a_logarithm_follow_from_those_of_its_column(self) -> None:
        survey = hg.open(self.DATA, self.FACTS, relation="replace-one")
        for asked in ("log_pay", hg.column("log(pay)")):
            estimate = survey.mean(asked, epsilon=4.0)[0]
            truth = sum(math.log(pay) for pay in (1.0, 10.0, 20.0, 50.0)) / 4.0
            assert estimate.estimate == pytest.approx(truth, abs=0.05)

    def test_a_regression_takes_a_logarithm_of_the_facts(self) -> None:
        survey = hg.open(self.DATA, self.FACTS, relation="replace-one")
        fit = survey.ols("log_pay", ["pay"], epsilon=8.0)
        assert 0.0 < fit.params["pay"] < 0.2

    def test_those_of_a_month_are_its_own(self) -> None:
        survey = hg.open(self.DATA, relation="replace-one")
        assert survey.mean(hg.column("month(day)"), epsilon=4.0)[0].estimate == pytest.approx(6.5, abs=0.6)

    def test_those_of_a_logarithm_are_asked_for_where_they_do_not_follow(self) -> None:
        with pytest.raises(hg.ParameterError, match="HG104"):
            hg.open(self.DATA, relation="replace-one").mean(hg.column("log(pay)"), epsilon=1.0)


FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)
EPOCH = datetime(1970, 1, 1)
FAR_MAKERS: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "pandas arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas": lambda table: pd.DataFrame({"d": table["d"].to_numpy()}),
    "duckdb relation": lambda table: duckdb.from_arrow(table).project("*"),
}


def far_table(unit: str) -> tuple[pa.Table, list[datetime | None]]:
    """Return a column of moments, or of days, in and outside the years 1 to 9999, and which are inside."""
    second = {"D": 1 / 86_400, "s": 1, "ms": 10**3, "us": 10**6}[unit]
    inside = [FIRST, datetime(1900, 3, 1), EPOCH, LAST if unit != "D" else datetime(9999, 12, 31)]
    numbers = [round((moment - EPOCH).total_seconds() * second) for moment in inside]
    most = 2 ** (31 if unit == "D" else 63)
    outside = [numbers[0] - 1, numbers[-1] + second if unit != "D" else numbers[-1] + 1, most - 1, -most, -most + 1]
    outside += [sign * most // 2**bits for bits in (1, 3) for sign in (1, -1)]
    kind, integers = (pa.date32(), pa.int32()) if unit == "D" else (pa.timestamp(unit), pa.int64())
    return pa.table({"d": pa.array([*numbers, *outside, None], integers).view(kind)}), [*inside, *[None] * 10]


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us"])
@pytest.mark.parametrize("name", FAR_MAKERS)
def test_a_date_outside_the_years_1_to_9999_is_missing(name: str, unit: str) -> None:
    if name.startswith("polars") and unit == "s":
        pytest.skip("polars has no moments in seconds")
    table, moments = far_table(unit)
    source = open_source(FAR_MAKERS[name](table))
    for function in ("year", "days", "weekday"):
        text, truth = FUNCTIONS[function]
        derived, low = DerivedColumn.named("part", text.format("d")), -800_000
        query = Query(ValueOnGrid(derived, Grid.from_bounds("part", (low, 3_000_000), 1)))
        assert counted(source, query) == Counter(-1 if moment is None else truth(moment) - low for moment in moments)
    for condition, chosen in {"d < '1970-01-01'": 2, "d >= '1970-01-01'": 2, "not d == '1970-01-01'": 3}.items():
        answer = source.histogram(Query(None, by=(Selection.of(condition),)))
        assert answer.total() - answer.outside == chosen, condition


@pytest.mark.databases
def test_dates_and_moments_that_postgres_alone_has_are_missing(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    opened_in("postgres", TABLE, tmp_path, request)
    import psycopg

    server = request.getfixturevalue("postgres")
    days = ["infinity", "-infinity", "5874897-12-31", "294277-01-01", "10000-01-01", "4713-01-01 BC", "0001-12-31 BC"]
    with psycopg.connect(server.url) as connection, connection.cursor() as cursor:
        for day in days:
            moment = "294276-12-31" if day[:6] in ("587489", "294277") else day
            cursor.execute("INSERT INTO people (day, moment) VALUES (%s::date, %s::timestamp)", (day, moment))
    source = open_source(server.url, table="people")
    for column in ("day", "moment"):
        derived = DerivedColumn.named("part", f"year({column})")
        answer = counted(source, Query(ValueOnGrid(derived, Grid.from_bounds("part", (-30_000, 30_000), 1))))
        assert answer[-1] == len(days) + MOMENTS.count(None)
        answer = source.histogram(Query(None, by=(Selection.of(f"{column} < '9999-12-31'"),)))
        assert answer.total() - answer.outside == len(MOMENTS) - MOMENTS.count(None)


def test_the_year_0_of_a_csv_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("d\n0000-12-31\n0001-01-01\n9999-12-31 23:59:59\n10000-01-01\n", "utf-8")
    derived = DerivedColumn.named("part", "year(d)")
    answer = counted(
        open_source(tmp_path / "rows.csv"), Query(ValueOnGrid(derived, Grid.from_bounds("part", (0, 9999), 1)))
    )
    assert answer == Counter({1: 1, 9999: 1, -1: 2})


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_dates_that_spark_alone_has_are_missing(ansi: str, spark: Any) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    far = ["date_add(date'9999-12-31', 1)", "date_sub(date'0001-01-01', 1)"]
    far += ["date_add(date'1970-01-01', 2147483647)", "date_sub(date'1970-01-01', 2147483647)"]
    source = open_source(spark.sql(f"SELECT explode(array(date'0001-01-01', date'9999-12-31', {', '.join(far)})) AS d"))
    derived = DerivedColumn.named("part", "year(d)")
    answer = counted(source, Query(ValueOnGrid(derived, Grid.from_bounds("part", (0, 9999), 1))))
    assert answer == Counter({1: 1, 9999: 1, -1: len(far)})
    answer = source.histogram(Query(None, by=(Selection.of("d < '1970-01-01'"),)))
    assert answer.total() - answer.outside == 1
