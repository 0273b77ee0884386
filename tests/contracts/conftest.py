"""One session of Spark and one server of PostgreSQL for all tests of engines."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contracts.postgres_server import Postgres, running
from tests.engines import need


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of the kind that HEDGEROW_SPARK names: threads of one JVM, a cluster of executors, or Spark Connect."""
    need("pyspark")
    need("java")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    kind = os.environ.get("HEDGEROW_SPARK", "local")
    builder = SparkSession.builder
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    settings["spark.ui.showConsoleProgress"] = "false"
    masters = {"local": "local[2]", "cluster": "local-cluster[2,1,1024]"}
    builder = builder.remote("local[2]") if kind == "connect" else builder.master(masters[kind])
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        # pyspark says that it does not know pandas 3 yet; only the tests hand it frames of pandas.
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()


@pytest.fixture(autouse=True)
def settings_of_spark(request: pytest.FixtureRequest) -> Iterator[None]:
    """Restore what a test sets: all tests share one session, and the order of tests must not decide their results."""
    if "spark" not in request.fixturenames:
        yield
        return
    conf = request.getfixturevalue("spark").conf
    before = {name: conf.get(name) for name in ("spark.sql.ansi.enabled", "spark.sql.adaptive.enabled")}
    yield
    for name, value in before.items():
        conf.set(name, value)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    pytest.importorskip("ibis", reason="ibis is not installed: databases are not tested here")
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: PostgreSQL is not tested here")
    assert psycopg
    with running(need("postgresql")) as server:
        yield server
