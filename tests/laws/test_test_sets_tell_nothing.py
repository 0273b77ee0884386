"""No label, feature or key of a test set changes how a call ends: same ending, messages, warnings and exit code.

Every entry × what holds the labels × values that break other readers, on two neighbours: one record says something
ordinary, or something odd. What may differ is the score alone, which is paid for.
"""

from __future__ import annotations

import datetime
import decimal
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from hedgerow.cli.main import app
from hedgerow.testset import TestSet, from_function

N, ODD = 40, 17
PLAIN = [i % 2 for i in range(N)]
PREDICTED = np.array([i % 3 % 2 for i in range(N)])
EVIL: dict[str, Any] = {
    "none": None, "NA": pd.NA, "NaT": pd.NaT, "nan": float("nan"), "inf": float("inf"), "text": "x", "empty": "",
    "surrogate": "\udcff", "NUL": "a\0b", "bytes": b"\xff", "huge": 2**70, "endless": 10**4000, "big": 2**53 + 1,
    "fraction": 0.5, "decimal": decimal.Decimal(1), "signalling": decimal.Decimal("sNaN"), "tuple": (1, 2),
    "array": np.array([1, 2]), "no array": np.array([]), "list": [1], "dict": {}, "date": datetime.date(2020, 1, 1),
    "far": datetime.datetime(9999, 12, 31), "complex": 1j, "true": True, "other": 7, "object": object(),
}  # fmt: skip


class Hostile:
    """A value whose every method fails."""

    def _fails(self, *_: object) -> Any:
        raise SystemExit("label 17")

    __eq__ = __bool__ = __float__ = __str__ = __repr__ = __len__ = __array__ = __index__ = _fails
    __hash__ = object.__hash__


class HostileNumber(float):
    """A number whose reading fails, and says so."""

    def __float__(self) -> float:
        print("label 17")
        raise SystemExit("label 17")


class LastWords:
    """An object that says something when it is thrown away."""

    def __del__(self) -> None:
        print("feature 17")


class Disguised:
    """An object whose very type cannot be asked for."""

    @property
    def __class__(self) -> Any:
        raise SystemExit("label 17")


class HostileRow(list[Any]):
    """A row whose length cannot be told."""

    def __len__(self) -> int:
        raise SystemExit("label 17")


EVIL["hostile"] = Hostile()
# Arrow and polars themselves fail on these, so that only containers of NumPy and pandas ever hold them.
ODD_OBJECTS: dict[str, Any] = {"number": HostileNumber(1), "disguised": Disguised(), "row": HostileRow([1])}


def _objects(values: list[Any]) -> np.ndarray:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "numpy": np.array,
    "numpy object": _objects,
    "numpy masked": lambda v: np.ma.masked_invalid(np.array(v, dtype=float)),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas inferred": pd.Series,
    "pandas float": lambda v: pd.Series(v, dtype="float64"),
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas Float64": lambda v: pd.Series(v, dtype="Float64"),
    "pandas boolean": lambda v: pd.Series([bool(x) if type(x) is int else x for x in v], dtype="boolean"),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "pandas string": lambda v: pd.Series([str(x) if type(x) is int else x for x in v], dtype="string"),
    "pandas int64[pyarrow]": lambda v: pd.Series(v, dtype="int64[pyarrow]"),
    "pandas frame": lambda v: pd.DataFrame({"y": pd.Series(v, dtype=object)}),
    "polars": pl.Series,
    "polars object": lambda v: pl.Series(v, dtype=pl.Object),
    "polars frame": lambda v: pl.DataFrame({"y": v}),
    "arrow": pa.array,
    "arrow chunked": lambda v: pa.chunked_array([v]),
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "arrow decimal": lambda v: pa.array(v, pa.decimal128(38, 2)),
}


def _texts(broken: int) -> pa.Array:
    """Return labels as Arrow's texts, of which one is no UTF-8: no reader looks at that."""
    cells = [str(one).encode() for one in PLAIN]
    cells[ODD] = b"\xff" if broken else b"1"
    return pa.array(cells).view(pa.string())


def _days(broken: int) -> list[int]:
    return [2**31 - 1 if broken and place == ODD else one for place, one in enumerate(PLAIN)]


BROKEN: dict[str, Callable[[int], Any]] = {
    "arrow texts": _texts,
    "arrow dictionary": lambda b: _texts(b).dictionary_encode(),
    "arrow table": lambda b: pa.table({"y": _texts(b)}),
    "pandas string": lambda b: pd.Series(pd.arrays.ArrowStringArray(_texts(b))),
    "pandas string[pyarrow]": lambda b: pd.Series(pd.array(_texts(b), dtype=pd.ArrowDtype(pa.string()))),
    "pandas date32[pyarrow]": lambda b: pd.Series(
        pd.array(pa.array(_days(b), pa.date32()), pd.ArrowDtype(pa.date32()))
    ),
    "polars texts": lambda b: pl.from_arrow(_texts(b)),
    "polars dates": lambda b: pl.Series(_days(b), dtype=pl.Int32).cast(pl.Date),
    "polars durations": lambda b: pl.Series(_days(b), dtype=pl.Int64).cast(pl.Duration("ms")) * 2**30,
    "numpy texts": lambda b: np.array([65 + 0x10FFFF * (b and i == ODD) for i in range(N)], np.uint32).view("U1"),
}
METRICS = {
    "accuracy": "accuracy",
    "zero-one": "zero-one",
    "brier": "brier",
    "log-loss": "log-loss",
    "own": from_function("own", lambda y, p: abs(y - p) / y, bounds=(0, 1)),
    "own of texts": from_function("own", lambda y, p: [len(a) for a in y], bounds=(0, 9)),
}


def ending(call: Callable[[], object], capfd: pytest.CaptureFixture[str]) -> tuple[Any, ...]:
    """Return how a call ends, but for the numbers of a score."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            end: Any = call()
        except BaseException as error:
            end = type(error).__name__, str(error)
    return end, [(one.category.__name__, str(one.message)) for one in heard], capfd.readouterr()


def scored(y: object, metric: str, ledger: Path | None, labels: list[Any] | None, x: object = None) -> str:
    of_texts = metric == "own of texts"
    ts = TestSet(x, y, metric=METRICS[metric], relation="replace-one", epsilon=1.0, n_looks=3, mechanism="laplace",
                 ledger=ledger, labels=labels)  # fmt: skip
    predicted = PREDICTED.astype(str) if of_texts else PREDICTED if metric in ("accuracy", "own") else PREDICTED * 0.5
    if metric == "zero-one":
        predicted = PREDICTED
    first = ts.score(predicted, request_id="a")
    assert ts.score(predicted, request_id="a").value == first.value
    for wrong in (["x"] * N, PREDICTED * 0.5, PREDICTED[1:], PREDICTED.astype(object)):
        try:
            ts.score(wrong, request_id="a")
        except Exception as error:
            first = f"{first}"[:0] + f"{error}"
    return f"{type(first).__name__} {first if isinstance(first, str) else ''} {ts.remaining} {len(ts.history)}"


def read() -> Iterator[Any]:
    """Yield holders and metrics: what reads labels is the same for zero-one as for accuracy, and others take turns."""
    for row, holder in enumerate(HOLDERS):
        for column, metric in enumerate(METRICS):
            seldom = metric == "zero-one" or (metric not in ("accuracy", "brier") and (row + column) % 2)
            yield pytest.param(metric, holder, marks=pytest.mark.long if seldom else ())


@pytest.mark.parametrize(("metric", "holder"), [*read()])
def test_no_label_changes_how_a_score_ends(
    metric: str, holder: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    endings: dict[Any, list[str]] = {}
    held = {}
    for name, value in {"plain": 1, **EVIL}.items():
        values: list[Any] = list(PLAIN)
        values[ODD] = value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                held[name] = HOLDERS[holder](values)
            except BaseException:  # what a container refuses never gets to us
                continue
    capfd.readouterr()  # what a container says of values that it refuses
    for name, y in held.items():
        # Making a ledger is what takes long, and labels never get there.
        kept = tmp_path / name if metric == "brier" and holder in ("list", "pandas object") else None
        told = ending(lambda y=y, kept=kept: scored(y, metric, kept, [0, 1] if metric == "log-loss" else None), capfd)
        endings.setdefault(repr(told), []).append(name)
    assert len(endings) == 1 and "plain" in next(iter(endings.values())), endings
    assert len(held) > 1


@pytest.mark.parametrize("holder", ["list", "numpy object", "pandas object"])
def test_no_object_among_labels_changes_how_a_score_ends(holder: str, capfd: pytest.CaptureFixture[str]) -> None:
    endings: dict[str, list[str]] = {}
    for name, value in {"plain": 1, **ODD_OBJECTS}.items():
        values: list[Any] = list(PLAIN)
        values[ODD] = value
        y = HOLDERS[holder](values)
        endings.setdefault(repr(ending(partial(scored, y, "brier", None, None), capfd)), []).append(name)
    assert len(endings) == 1, endings


@pytest.mark.parametrize("holder", BROKEN)
def test_no_broken_cell_changes_how_a_score_ends(holder: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A text that is no UTF-8 and a date beyond the year 9999 fail to become Python's own."""
    endings = {repr(ending(partial(scored, y, "accuracy", None, None), capfd)) for y in map(BROKEN[holder], (0, 1))}
    assert len(endings) == 1, endings


class Model:
    """Fails in every way for one value of a feature."""

    def __init__(self, how: str) -> None:
        self.how = how

    def predict(self, x: np.ndarray) -> Any:
        odd = np.asarray(x)[:, 0] == 5.0
        if odd.any():
            if self.how == "leave":
                raise SystemExit(3)
            if self.how == "interrupt":
                raise KeyboardInterrupt
            if self.how == "fail":
                raise ValueError(str(x))
            if self.how == "fewer":
                return np.zeros((~odd).sum())
            if self.how == "print":
                print(x)
                warnings.warn(str(x), stacklevel=1)
            if self.how == "texts":
                return ["x" if one else 0 for one in odd]
            if self.how == "objects":
                return _objects([HostileNumber(1) if one else 0 for one in odd])
            if self.how == "last words":
                return _objects([LastWords() if one else 0 for one in odd])
            if self.how == "fractions":
                return np.where(odd, 0.5, 0.0)
        return np.zeros(len(odd))


@pytest.mark.parametrize(
    "how", ["leave", "interrupt", "fail", "fewer", "print", "texts", "fractions", "objects", "last words"]
)
def test_no_feature_changes_how_a_score_ends(how: str, capfd: pytest.CaptureFixture[str]) -> None:
    endings = set()
    for value in (0.0, 5.0):
        x = np.zeros((N, 2))
        x[ODD, 0] = value
        ts = TestSet(x, PLAIN, relation="replace-one", epsilon=100.0, n_looks=1, mechanism="laplace")
        endings.add(repr(ending(lambda ts=ts: ts.score(Model(how)).look, capfd)))
        # The others' predictions are as they were: half of the labels are 0.
        assert abs(ts.history[0].value - 0.5) < 0.2
    assert len(endings) == 1, endings


@pytest.mark.parametrize("kind", ["boolean", "string", "Int64", "category", "object", "str"])
def test_no_feature_changes_how_a_ledger_opens(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = {"boolean": True, "Int64": 1}.get(kind, "x")
    endings = set()
    for place, value in enumerate([plain, None, pd.NA]):
        x = pd.DataFrame({"f": pd.Series([plain] * (N - 1) + [value], dtype=kind)})
        kept = tmp_path / str(place)
        endings.add(repr(ending(partial(scored, PLAIN, "accuracy", kept, None, x), capfd)))
    assert len(endings) == 1, endings


CELLS = ["1", "", "x", " 1.0 ", "NaN", '"a,\nb"', "\udcff", "9" * 400]


def command(*words: object) -> int:
    with pytest.raises(SystemExit) as end:
        app([str(word) for word in words])
    return int(end.value.code or 0)


@pytest.mark.parametrize(
    ("relation", "kind", "metric"),
    [("replace-one", "csv", "accuracy"), ("add-remove", "parquet", "brier")],
)
def test_no_label_changes_how_the_commands_end(
    relation: str, kind: str, metric: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A submission with labels of its own is compared with nothing, whatever it guesses; add-remove hides the keys."""
    (tmp_path / "p.csv").write_text("id,y,prediction\n" + "".join(f"r{i},1,{PREDICTED[i]}\n" for i in range(N)))
    (tmp_path / "guess.csv").write_text("id,y,prediction\n" + "".join(f"r{i},x,{PREDICTED[i]}\n" for i in range(N)))
    (tmp_path / "few.csv").write_text("id,prediction\n" + "".join(f"r{i},1\n" for i in range(5)))
    endings: dict[str, list[str]] = {}
    for place, cell in enumerate(CELLS if kind == "csv" else [c for c in CELLS if c != "\udcff"]):
        labels, ledger = tmp_path / f"y{place}.{kind}", tmp_path / f"l{place}"
        cells = [str(i) for i in PLAIN]
        cells[ODD] = cell
        keys = [f"r{i}" for i in range(N)]
        if relation == "add-remove":
            keys[3] = cell
        if kind == "csv":
            text = "id,y\n" + "".join(f"{key},{one}\n" for key, one in zip(keys, cells, strict=True))
            labels.write_bytes(text.encode("utf-8", "surrogateescape"))
        else:
            texts = [None if one == "" else one for one in cells]
            parquet.write_table(pa.table({"id": keys, "y": texts}), labels)
        chances = ["--metric", "brier", "--positive", "1"] if metric == "brier" else ["--labels", "0,1"]
        make = ["testset", "create", labels, "--ledger", ledger, "--label", "y", "--key", "id", "--relation", relation,
                "--epsilon", "1", "--looks", "9", "--mechanism", "gaussian", *chances]  # fmt: skip
        gate = ["testset", "score", "--ledger", ledger]
        codes = [ending(partial(command, *make), capfd)[0]]
        for words in (["p.csv", "--id", "a"], ["guess.csv", "--id", "a"], ["few.csv"]):
            told = ending(partial(command, *gate, tmp_path / words[0], *words[1:]), capfd)
            codes.append((told[0], told[1], told[2].err))
        codes.append(ending(partial(command, "testset", "show", "--ledger", ledger), capfd)[2].out.count("look "))
        endings.setdefault(repr(codes), []).append(cell)
    assert len(endings) == 1, endings
    assert next(iter(endings)).startswith("[0, (0,")
