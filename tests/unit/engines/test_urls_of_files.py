"""Parquet files on the web and in object stores: read by an extension of DuckDB, or refused at no cost."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hg
from hedgerow.engines import files
from hedgerow.errors import DataError

DATA = pa.table({"status": [200, 500] * 500})


def installed(extension: str) -> bool:
    ((known,),) = duckdb.sql(
        f"SELECT installed FROM duckdb_extensions() WHERE extension_name = '{extension}'"
    ).fetchall()
    return bool(known)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A web server of its own process: DuckDB does not let another thread of this one answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.skipif(not installed("httpfs"), reason="DuckDB's extension httpfs is not installed")
def test_a_file_on_the_web_is_read_as_one_beside_us(server: str, tmp_path: Path) -> None:
    pq.write_table(DATA, tmp_path / "events.parquet")
    survey = hg.open(f"{server}/events.parquet", relation="replace-one")
    release = survey.count(by={"status": [200, 500]}, epsilon=20.0)
    assert survey.n == 1_000 and all(abs(estimate.estimate - 500.0) < 5.0 for estimate in release)
    with pytest.raises(DataError, match="HG207"):
        hg.open(f"{server}/nosuch.parquet", relation="replace-one")


@pytest.mark.skipif(installed("httpfs") or installed("azure"), reason="the extensions of DuckDB are installed")
@pytest.mark.parametrize(
    ("url", "extension"),
    [
        ("https://example.org/a.parquet", "httpfs"),
        ("s3://bucket/a.parquet", "httpfs"),
        ("gs://bucket/a.parquet", "httpfs"),
        ("az://container/a.parquet", "azure"),
    ],
)
def test_without_the_extension_the_message_says_how_to_install_one(url: str, extension: str) -> None:
    with pytest.raises(DataError, match="HG215") as refused:
        hg.open(url, relation="replace-one")
    assert f"INSTALL {extension}" in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.csv",
        "https://example.org/*.parquet",
        "https://example.org/a.parquet?token=1",
        "https://ann:password@example.org/a.parquet",
        "ftp://example.org/a.parquet",
    ],
)
def test_urls_of_other_files_and_urls_with_keys_are_refused(url: str) -> None:
    with pytest.raises(DataError, match="HG202") as refused:
        hg.open(url, relation="replace-one")
    assert "password@" not in str(refused.value) and "token=1" not in str(refused.value)


class Recorded:
    """A connection that remembers its statements and has no data."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def execute(self, statement: str, given: Any = None) -> Any:
        self.statements.append(statement)
        if "parquet_schema" in statement:
            raise LookupError
        return self

    def close(self) -> None: ...


def test_a_connection_sees_this_url_alone_before_it_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded()
    monkeypatch.setattr(files, "_connected", lambda folder: recorded)
    with pytest.raises(DataError, match="HG207"):
        hg.open("s3://bucket/it's.parquet", relation="replace-one")
    load, secrets, allowed, *locked, asked = recorded.statements
    assert load == "LOAD httpfs" and "duckdb_secrets" in secrets
    assert allowed == "SET allowed_paths = ['s3://bucket/it''s.parquet']"
    assert any("enable_external_access" in statement for statement in locked) and "parquet_schema" in asked
