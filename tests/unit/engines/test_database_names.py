"""What is said and kept of a database's URL: where it is, never who asks with which password."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hg
from hedgerow.engines.databases import _Postgres
from hedgerow.formats import holds_password, is_ambiguous, public_name
from hedgerow.survey import _identity

SECRET = st.text(st.sampled_from("sécrt@:/?#[]%&= "), max_size=8).map(lambda found: f"Q{found}Q")


@given(SECRET, st.sampled_from(["postgresql://ann:{}@db/shop", "postgresql://db/shop?user=ann&password={}"]))
def test_no_part_of_a_password_is_in_a_name(secret: str, url: str) -> None:
    found = url.format(secret)
    assert "Q" not in public_name(found) and holds_password(found)
    assert public_name(found) == ("postgresql://" if is_ambiguous(found) else "postgresql://db/shop")


def test_a_url_that_can_be_read_in_two_ways_is_refused_unquoted() -> None:
    for url in ("postgresql://db/shop?password=QX@QX", "postgresql://ann:QX?QX@db/shop", "postgresql://a#QX@db/x"):
        with pytest.raises(hg.DataError, match="HG202") as refused:
            hg.open(url, table="people", relation="replace-one")
        assert "QX" not in str(refused.value) and refused.value.__context__ is None


def test_the_parameters_of_a_connection_are_refused_unquoted() -> None:
    with pytest.raises(hg.DataError, match="HG202") as refused:
        hg.open("host=localhost user=ann password=TOPSECRET dbname=x", relation="replace-one")
    assert "TOPSECRET" not in str(refused.value) and refused.value.__context__ is None


@pytest.mark.parametrize(
    ("message", "finding", "remedy"),
    [
        ("fe_sendauth: no password supplied", "none was given", "PGPASSWORD"),
        ('password authentication failed for user "ann" TOPSECRET', "refused the user or the password", "psql"),
        ('"db", port 5433 failed: Connection refused TOPSECRET', "No server answers", "5432"),
        ('database "TOPSECRET" does not exist', "does not exist", "psql -l"),
        ("something TOPSECRET", "No connection was made", "psql"),
    ],
)
def test_a_server_that_lets_nobody_in_is_told_with_what_to_do(
    message: str, finding: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(url: str) -> None:
        raise RuntimeError(f"{message} {url}")

    monkeypatch.setitem(sys.modules, "psycopg", SimpleNamespace(connect=connect))
    with (
        pytest.raises(hg.DataError, match="HG207") as refused,
        _Postgres("postgresql://ann:TOPSECRET@db/x").connected(),
    ):
        pass
    assert finding in refused.value.finding and remedy in refused.value.remedy
    assert "TOPSECRET" not in str(refused.value) and refused.value.__context__ is None


def test_databases_that_parameters_or_users_tell_apart_are_not_one() -> None:
    urls = [
        "postgresql://db/shop",
        "postgresql://ann@db/shop",
        "postgresql://bob@db/shop",
        "postgresql:///?dbname=production",
        "postgresql:///?dbname=staging",
    ]
    found = [_identity(url, "t") for url in urls]
    assert len(set(found)) == len(urls) and found == [_identity(url, "t") for url in urls]
    assert not [one for one in found if "ann" in one or "staging" in one]
