"""The fingerprint: the same for the same records in any order, under any names and kinds; another for others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hedgerow.errors import LedgerError, ParameterError
from hedgerow.testset.fingerprint import fingerprint
from hedgerow.testset.records import columns_of
from hedgerow.testset.secret import Secret, secret_path

KEY = b"0123456789abcdef"
RNG = np.random.default_rng(20261120)
X = RNG.normal(size=(200, 3)).round(2)
TOWN = RNG.choice(["North", "South", ""], 200)
Y = RNG.integers(0, 2, 200)


def told(x: object, y: np.ndarray = Y, key: bytes = KEY) -> str:
    return fingerprint([*columns_of(x, len(y)), y], key)


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "town": TOWN, **columns})


def test_order_of_rows_and_columns_and_names_do_not_matter() -> None:
    one, order = told(frame()), RNG.permutation(200)
    shuffled = frame().iloc[order]
    assert told(shuffled, Y[order]) == one
    assert told(frame().rename(columns={"a": "x1", "town": "place"})) == one
    assert told(frame()[["town", "b", "a"]]) == one


def test_the_library_and_the_kind_of_number_do_not_matter() -> None:
    whole = pd.DataFrame({"a": [1, 2, 3], "b": [0, 1, 1]})
    y = np.array([True, False, True])
    found = {
        told(whole, y),
        told(whole.astype(float), y.astype(int)),
        told(whole.to_numpy(), y),
        told(pl.from_pandas(whole), y),
        told(pa.Table.from_pandas(whole), y.astype(float)),
        told(whole.astype(object), y.astype(object)),
    }
    assert len(found) == 1


@pytest.mark.parametrize("change", ["a cell", "a label", "a row less", "a row twice", "labels exchanged", "a text"])
def test_other_records_have_another_fingerprint(change: str) -> None:
    x, y = frame(), Y.copy()
    if change == "a cell":
        x.loc[7, "b"] += 0.01
    elif change == "a label":
        y[7] = 1 - y[7]
    elif change == "a row less":
        x, y = x.iloc[:-1], y[:-1]
    elif change == "a row twice":
        x.iloc[3], y[3] = x.iloc[4], y[4]
    elif change == "labels exchanged":
        first, second = int(np.flatnonzero(y == 0)[0]), int(np.flatnonzero(y == 1)[0])
        y[first], y[second] = 1, 0
    else:
        x.loc[0, "town"] = "north"
    assert told(x, y) != told(frame())


def test_missing_values_are_one_whatever_holds_them() -> None:
    y = np.array([0, 1, 1])
    assert told([[np.nan], [1.0], [2.0]], y) == told(np.array([[None], [1], [2]], dtype=object), y)
    assert told([[np.nan], [1.0], [2.0]], y) != told([[0.0], [1.0], [2.0]], y)


def test_without_the_key_it_says_nothing() -> None:
    assert told(X) != told(X, key=b"another key 1234")


@pytest.mark.parametrize("table", [np.zeros((199, 2)), {"a": 1}, np.zeros((0, 2)), object()])
def test_features_that_are_no_table_of_n_rows_are_refused(table: object) -> None:
    with pytest.raises(ParameterError, match="HG170"):
        columns_of(table, 200)


def test_a_secret_is_written_once_for_its_owner_and_read_back(tmp_path: Path) -> None:
    path = secret_path(tmp_path / "ts.ledger")
    drawn = Secret.fresh(-17)
    drawn.write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert Secret.read(path) == drawn and len(drawn.key) == 32 and drawn.key.hex() not in repr(drawn)
    with pytest.raises(LedgerError, match="HG433"):
        drawn.write(path)
    path.write_text('{"format": "hedgerow-testset-1", "key": "zz", "threshold": null}')
    with pytest.raises(LedgerError, match="HG433"):
        Secret.read(path)
    with pytest.raises(LedgerError, match="HG433"):
        Secret.read(tmp_path / "none")
