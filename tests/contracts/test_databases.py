"""PostgreSQL, a real server that these tests start: what only it can do wrong, and what it must not tell."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.contracts.database_tables import into_postgres
from tests.contracts.postgres_server import Postgres
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.audit.replay import SilentNoise
from hedgerow.cli.main import app
from hedgerow.engines import streamed
from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.errors import SpentError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Grid
from hedgerow.ledger.store import Ledger
from hedgerow.release.execute import draw_tables, read_histograms

ibis = pytest.importorskip("ibis", reason="ibis is not installed: databases are not tested here")
psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: PostgreSQL is not tested here")
pytestmark = pytest.mark.databases


def test_the_server_lets_nobody_in_without_its_password(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres.url.replace(postgres.password, "wrong"))
    assert Path(postgres.log).exists()


def release_of(url: str, **more: Any) -> Any:
    survey = hg.open(url, table="people", relation="replace-one", **more)
    return survey.mean("x", bounds=(0, 100), step=1, epsilon=1.0)


def test_a_password_is_in_no_record_ledger_repr_error_or_output(postgres: Postgres, tmp_path: Path) -> None:
    into_postgres(pa.table({"x": [1.0, None, 99.0] * 50}), postgres)
    ledger = tmp_path / "a.ledger"
    budget = Budget(9.0, 1e-4)
    Ledger.create(ledger, dataset="people", budget=budget, relation="replace-one", unit="row").close()
    release = release_of(postgres.url, ledger=ledger)
    survey = hg.open(postgres.url, table="people", relation="replace-one")
    told = [repr(release), release.to_json(), repr(survey), repr(survey.source), survey.identity]
    told += [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()]
    for url, table in ((postgres.url, "nowhere"), (postgres.url + "x", "people"), (postgres.url + "?port=1", "people")):
        with pytest.raises(hg.DataError) as refused:
            hg.open(url, table=table, relation="replace-one")
        told += ["".join(traceback.format_exception(refused.value))]
        told += [str(refused.value.__context__), str(refused.value.__cause__)]
    with pytest.raises(hg.ParameterError) as refused_too:
        pickle.dumps(survey.source)
    told.append(str(refused_too.value))
    asked = ["--relation", "replace-one", "--mean", "x:0:100:1", "--epsilon", "1"]
    for url in (postgres.url, postgres.url + "x"):
        ran = CliRunner().invoke(app, ["release", url, "--table", "people", *asked])
        told += [ran.output, ran.stderr, repr(ran.exception)]
        assert (ran.exit_code == 0) is (url == postgres.url), ran.output
    for form in ("--as-python", "--as-shell"):
        ran = CliRunner().invoke(app, ["plan", postgres.url, "--table", "people", *asked, form])
        assert ran.exit_code == 0 and f"@127.0.0.1:{postgres.port}" not in ran.output and "PGPASSWORD" in ran.output
        told += [ran.output, ran.stderr]
    assert f"127.0.0.1:{postgres.port}/postgres" in told[1]
    assert not [one for one in told if postgres.password in one]


def test_a_value_from_a_table_is_in_no_message(postgres: Postgres) -> None:
    """Values that make PostgreSQL raise where one is careless: none does, and the server may only be read."""
    with psycopg.connect(postgres.url) as connection:
        connection.execute("DROP TABLE IF EXISTS people CASCADE")
        connection.execute("CREATE TABLE people (x double precision, d numeric, t char(4), e text)")
        for x in ("1e308", "-1e308", "5e-324", "NaN", "Infinity", "0.5"):
            connection.execute("INSERT INTO people VALUES (%s, '1e400', 'a', 'a ')", (x,))
        connection.execute("INSERT INTO people VALUES (NULL, '-1e-400', 'a', 'A'), (2, 'NaN', 'b', 'a')")
    source = open_source(postgres.url, table="people")
    grid = {name: ValueOnGrid(name, Grid.from_bounds(name, (0, 10), 1)) for name in "xd"}
    x = source.histogram(Query(grid["x"]))
    assert dict(zip(x.index.tolist(), x.count.tolist(), strict=True)) == {0: 2, 1: 1, 2: 1, 10: 1}
    assert x.missing.tolist() == [3]
    d = source.histogram(Query(grid["d"]))
    assert (d.index.tolist(), d.count.tolist(), d.missing.tolist()) == ([0], [1], [7])
    by = (Category.declared("t", ["a", "b"]), Category.declared("e", ["a", "a "]))
    cells = source.histogram(Query(None, by))
    assert (cells.cell.tolist(), cells.count.tolist(), cells.outside) == ([1, 2], [6, 1], 1)


def test_a_constant_has_64_bits() -> None:
    """A whole number that is written out has 32 bits in PostgreSQL: 3 · 10⁹ cells would overflow it."""
    people = ibis.table({"x": "float64", "c": "int64"}, name="people")
    sent = ibis_tables.statement(people.select(code=people.c * 3 + 1), "postgres")
    assert "CAST(3 AS BIGINT)" in sent and "CAST(1 AS BIGINT)" in sent


def test_records_of_a_bootstrap_come_through_a_cursor_on_the_server(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record once, so many at a time; the exact table is that of records in memory. A piece lost is another."""
    numbers = {name: [place * step % 100 / 1.0 for place in range(700)] for name, step in (("x", 7), ("y", 11))}
    table = pa.table(numbers | {"z": [None, *range(699)], "group": [place % 3 for place in range(700)]})
    into_postgres(table, postgres)
    monkeypatch.setattr(streamed, "READ", 64)
    rate = hg.bootstrap(
        lambda t: t["x"] / (t["y"] + t["z"]), columns={name: (0, 700, 0.01) for name in "xyz"}, name="rate"
    )

    def exact(survey: Any) -> Any:
        plan = survey.plan(rate, by={"group": [0, 1]}, where="x > 3", missing="drop", n_resamples=3, epsilon=1.0)
        assert plan.items[0].design.streams
        return draw_tables(plan, read_histograms(plan, survey.source), SilentNoise())[0].values.tolist()

    there = hg.open(postgres.url, table="people", relation="replace-one")
    assert exact(there) == exact(hg.open(table, relation="replace-one"))
    assert len(there.release(rate, missing="drop", n_resamples=3, epsilon=1.0)) == 1
    pieces, sizes = ibis_tables.pieces_of, []

    def shorter(frame: Any, rows: int) -> Any:
        found = list(pieces(frame, rows))
        sizes.extend(map(len, found))
        return found[:-1]

    monkeypatch.setattr(ibis_tables, "pieces_of", shorter)
    with pytest.raises(SpentError, match="HG603"):
        exact(there)
    assert sizes == [64] * 10 + [60]
