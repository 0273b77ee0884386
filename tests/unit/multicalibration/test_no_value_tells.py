"""No score, label, group or feature changes how a fit or an application of a model ends, whatever its column's type.

Each case runs on two neighbours: all records alike but one. Ending, messages, warnings and both standard streams agree.
"""

from __future__ import annotations

import copy
import io
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

pytest.importorskip("sklearn")

from sklearn.linear_model import LogisticRegression

from hedgerow.cli.main import app
from hedgerow.multicalibration import Multicalibrator, cuts, masks, read_model, write_model
from hedgerow.multicalibration.declared_groups import CategoryGroups
from hedgerow.multicalibration.family import records_of
from hedgerow.multicalibration.model_file import apply_to_file

N = 40
HUGE = 10**400
NUMBERS = [float("nan"), float("inf"), -float("inf"), 1e308, -5.0, 5e-324, 2.0]
OBJECTS = [
    *NUMBERS,
    None,
    pd.NA,
    pd.NaT,
    "x",
    "",
    "\ud800",
    (1,),
    [1],
    ([1],),
    {},
    HUGE,
    -HUGE,
    Decimal("0.5"),
    Decimal("sNaN"),
    Decimal("1e999999"),
    1j,
    np.complex128(1j),
    np.datetime64("NaT", "s"),
    np.array([1.0]),
    np.array([1, 2]),
    b"\xff",
    2**63,
]
WHOLE = [None, 2, -1, 2**53 + 1, 2**63 - 1]

MISSING = [None, float("nan")]

# Column type → (how a column is made, what one of its cells may hold).
TYPES: dict[str, tuple[Callable[[list[Any]], Any], list[Any]]] = {
    "float64": (lambda cells: pd.Series(cells, dtype="float64"), NUMBERS),
    "object": (lambda cells: pd.Series(cells, dtype=object), OBJECTS),
    "Float64": (lambda cells: pd.Series(cells, dtype="Float64"), [None, *NUMBERS[1:]]),
    "Float32": (lambda cells: pd.Series(cells, dtype="Float32"), [None, 2.0]),
    "Int64": (lambda cells: pd.Series(cells, dtype="Int64"), WHOLE),
    "boolean": (lambda cells: pd.Series([None if c is None else bool(c) for c in cells], dtype="boolean"), [None]),
    "string": (
        lambda cells: pd.Series([None if c is None else str(c) for c in cells], dtype="string"),
        [None, "", "x"],
    ),
    "category": (lambda cells: pd.Series(pd.Categorical(cells, categories=[0, 1, 0.5, 9])), [None, 9]),
    "double[pyarrow]": (lambda cells: pd.Series(cells, dtype="double[pyarrow]"), MISSING),
    "int64[pyarrow]": (lambda cells: pd.Series(cells, dtype="int64[pyarrow]"), WHOLE),
    "bool[pyarrow]": (
        lambda cells: pd.Series([None if c is None else bool(c) for c in cells], dtype="bool[pyarrow]"),
        [None],
    ),
    "decimal[pyarrow]": (
        lambda cells: pd.Series(
            [None if c is None else Decimal(str(c)) for c in cells], dtype=pd.ArrowDtype(pa.decimal128(30, 3))
        ),
        [None, 10**20],
    ),
    "datetime": (lambda cells: pd.Series([None if c is None else pd.Timestamp(c) for c in cells]), [None, 2**40]),
}
WHOLE_TYPES = ("Int64", "int64[pyarrow]", "boolean", "bool[pyarrow]")
MECHANISMS = ["table", "rounds", "numeric_sparse", "input_perturbation"]
ROLES = ["score and groups", "feature", "label"]


def ending(run: Callable[[], object]) -> tuple[Any, ...]:
    """Return all that can be seen from outside: how it ended, its warnings, both streams to the last byte."""
    with tempfile.TemporaryFile("w+b") as seen, warnings.catch_warnings(record=True) as warned:
        kept = os.dup(1), os.dup(2)
        warnings.simplefilter("always")
        try:
            os.dup2(seen.fileno(), 1)
            os.dup2(seen.fileno(), 2)
            with io.TextIOWrapper(seen, write_through=True) as text, redirect_stdout(text), redirect_stderr(text):
                try:
                    run()
                    how = "done"
                except BaseException as raised:
                    how = f"{type(raised).__name__}: {raised}"
                seen.seek(0)
                told = seen.read()
        finally:
            for place, descriptor in enumerate(kept, start=1):
                os.dup2(descriptor, place)
                os.close(descriptor)
        return how, [(one.category, str(one.message)) for one in warned], told


def odd_predicate(person: Any) -> bool:
    cell = person["a"]
    if not isinstance(cell, (int, float)) or cell != cell or cell > 1:
        print("a is odd")
        warnings.warn("a is odd", stacklevel=1)
        sys.exit("a is odd")
    return bool(cell > 0)


class Telling(LogisticRegression):  # type: ignore[misc]  # scikit-learn is untyped
    """A base model that says what it sees in every way that Python has."""

    def predict_proba(self, X: Any) -> Any:
        cells = list(X["a"])
        if any(not isinstance(cell, (int, float)) or cell != cell or not 0 <= cell <= 1 for cell in cells):
            print("a is odd")
            print("a is odd", file=sys.stderr)
            warnings.warn("a is odd", stacklevel=1)
            raise KeyboardInterrupt
        return super().predict_proba(np.array(cells, dtype=float).reshape(-1, 1))


def fit_of(role: str, mechanism: str, base: Any, *, mask: bool) -> Callable[[pd.DataFrame, Any], object]:
    settings: dict[str, Any] = {"score_column": "p"}
    if role == "feature":
        settings = {"estimator": base}
    if role == "score and groups":
        of_each_kind = [CategoryGroups("a", (0, 1)), cuts(0.5)("a"), odd_predicate, *(masks("a") if mask else ())]
        settings = {"score_column": "a", "groups": of_each_kind}
    clf = Multicalibrator(mechanism=mechanism, relation="replace-one", epsilon=1.0, **settings)
    return lambda X, y: copy.copy(clf).fit(X, y)


@pytest.fixture(scope="module")
def base() -> Any:
    made = Telling().fit(np.array([[0.0], [1.0], [0.5], [0.2]]), [0, 1, 1, 0])
    made.__dict__.pop("n_features_in_")
    return made


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", TYPES)
def test_no_value_changes_how_a_private_fit_ends(kind: str, mechanism: str, base: Any) -> None:
    make, evil = TYPES[kind]
    roles = ROLES
    if mechanism != "table":
        # What reads cells is the same for every mechanism: each of the others meets some values.
        evil, roles = evil[:: max(1, len(evil) // 3)], ["score and groups", "feature"]
    usual = [0, 1] * (N // 2)
    for role in roles:
        # A mask of times is refused for its type, whatever it holds.
        fit = fit_of(role, mechanism, base, mask=kind != "datetime")

        def run(value: Any, role: str = role, fit: Any = fit) -> tuple[Any, ...]:
            cells = make([*usual[:3], value, *usual[4:]])
            X = pd.DataFrame({"p": [0.25, 0.75] * (N // 2), "a": make(usual) if role == "label" else cells})
            return ending(lambda: fit(X, cells if role == "label" else pd.Series(usual)))

        wanted = run(1)
        for value in evil:
            assert run(value) == wanted, (role, value)
        # Texts are refused as labels for their type; nothing is spent and lost.
        assert wanted[0] == "done" or (kind == "string" and wanted[0].startswith("HG166", 16)), (role, wanted)


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table])
@pytest.mark.parametrize("cell", [None, 2**60])
def test_nor_in_frames_of_other_libraries(library: Any, cell: Any) -> None:
    cells = [0, 1] * (N // 2)

    def fitted(value: Any) -> tuple[Any, ...]:
        X = library({"p": [0.25, 0.75] * (N // 2), "a": [*cells[:3], value, *cells[4:]]})
        return ending(lambda: fit_of("score and groups", "table", None, mask=True)(X, cells))

    assert fitted(cell) == fitted(1) and fitted(1)[0] == "done"


class Leaving:
    """A cell that leaves where it is looked up."""

    def __hash__(self) -> int:
        raise SystemExit("label 3")


def _texts(broken: bool) -> pa.Array:
    return pa.array([b"0", b"1", b"0", b"\xff" if broken else b"1"] * 10).view(pa.string())


def _days(broken: bool) -> list[int]:
    return [0, 1, 0, 2**31 - 1 if broken else 1] * 10


BROKEN: dict[str, Any] = {
    "arrow texts": _texts,
    "pandas string": lambda b: pd.Series(pd.arrays.ArrowStringArray(_texts(b))),
    "pandas date32[pyarrow]": lambda b: pd.Series(
        pd.array(pa.array(_days(b), pa.date32()), pd.ArrowDtype(pa.date32()))
    ),
    "polars texts": lambda b: pl.from_arrow(_texts(b)),
    "polars dates": lambda b: pl.Series(_days(b), dtype=pl.Int32).cast(pl.Date),
    "objects": lambda b: [0, 1, 0, Leaving() if b else 1] * 10,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_no_label_that_cannot_become_pythons_own_does(kind: str) -> None:
    """A text that is no UTF-8, a date beyond the year 9999: labels are made cells before the price is reserved."""
    classes = (0, 1) if kind == "objects" else ("0", "1")
    X = pd.DataFrame({"score": [0.25, 0.75] * 20})
    ends = []
    for broken in (False, True):
        asked = Multicalibrator(classes=classes, relation="replace-one", epsilon=1.0)
        ends.append(ending(partial(asked.fit, X, BROKEN[kind](broken))))
    assert ends[0] == ends[1] and ends[0][0] == "done"


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "Float32", "category", "object"])
def test_a_missing_cell_moves_no_other_record(kind: str) -> None:
    """Libraries make doubles or objects of whole numbers with a missing one; then 2⁵³ + 1 would pass for 2⁵³."""
    large = kind in ("Int64", "int64[pyarrow]", "object")
    cells = [2**53, 2**53 + 1, 7, 7] if large else [0.1, 0.5, 0.1, 9.0]
    make = (lambda c: pd.Series(pd.Categorical(c, categories=[0.1, 0.5, 9.0]))) if kind == "category" else None
    found = []
    for last in (cells[-1], None):
        column = make([*cells[:-1], last]) if make else pd.Series([*cells[:-1], last], dtype=kind)
        found.append(CategoryGroups("a", (cells[0], cells[1])).codes(records_of(pd.DataFrame({"a": column}))).tolist())
    assert (found[0][:3] == found[1][:3] and (found[0] == [0, 1, 2, 2]) == large) or kind in ("Float32", "category")


def test_nor_in_polars_and_arrow() -> None:
    for whole in ([2**53, 2**53 + 1, 7], [2**53, 2**53 + 1, None]):
        for frame in (pl.DataFrame({"a": whole}), pa.table({"a": whole})):
            assert CategoryGroups("a", (2**53, 2**53 + 1)).codes(records_of(frame)).tolist() == [0, 1, 2]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X = pd.DataFrame({"p": [0.25, 0.75] * 20, "a": [0, 1] * 20})
    clf = Multicalibrator(groups={"a": [0, 1]}, score_column="p", relation="add-remove", epsilon=1.0)
    place = tmp_path_factory.mktemp("model") / "model.json"
    write_model(clf.fit(X, X["a"]).model_, place)
    return place


CELLS = [
    "",
    "x",
    "NaN",
    "inf",
    "1e999",
    "-1",
    "\x00",
    "9" * 200_000,
    '"a,b"',
    '"two\nlines"',
    "\ud800",
    "１",
    "0x1",
    "\r",
]


@pytest.mark.parametrize("column", ["p", "a", "other"])
@pytest.mark.parametrize("cell", CELLS, ids=[ascii(cell[:12]) for cell in CELLS])
def test_no_cell_of_a_csv_file_changes_how_rows_are_scored(cell: str, column: str, model: Path, tmp_path: Path) -> None:
    def ends(value: str, *, shell: bool) -> tuple[Any, ...]:
        rows = [{"p": "0.25", "a": "1", "other": "o"} for _ in range(5)]
        rows[2][column] = value
        lines = [",".join(row.values()) for row in rows]
        (tmp_path / "rows.csv").write_bytes("\n".join(["p,a,other", *lines, ""]).encode("utf-8", "surrogatepass"))
        files = tmp_path / "rows.csv", tmp_path / "out.csv"
        (tmp_path / "out.csv").unlink(missing_ok=True)
        if not shell:
            return ending(lambda: apply_to_file(read_model(model), *files))
        how = ending(lambda: app(["apply", str(model), str(files[0]), "--out", str(files[1])]))
        return how[0], how[1], how[2].replace(b"6 rows", b"5 rows")

    for shell in (False, True):
        assert ends(cell, shell=shell) == ends("0.5", shell=shell)


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.bool_(), pa.string(), pa.decimal128(9, 2), pa.date32()])
def test_no_cell_of_a_parquet_file_does(kind: Any, model: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    usual = {"double": 0.5, "int64": 1, "bool": True, "string": "x"}.get(str(kind))
    usual = Decimal("0.5") if pa.types.is_decimal(kind) else usual
    usual = 7 if pa.types.is_date(kind) else usual
    for column in ("p", "a"):
        ends = []
        for cell in (usual, None):
            held = {"p": pa.array([0.25] * 3), "a": pa.array([1] * 3), column: pa.array([usual, cell, usual], kind)}
            parquet.write_table(pa.table(held), tmp_path / "rows.parquet")
            ends.append(
                ending(lambda: apply_to_file(read_model(model), tmp_path / "rows.parquet", tmp_path / "out.parquet"))
            )
        assert ends[0] == ends[1]
        assert ends[0][0] == "done" or "HG" in ends[0][0]


def test_the_comparison_hears_what_is_said() -> None:
    """The harness of this file is no deaf one."""
    assert ending(lambda: print("x")) != ending(lambda: None)
    assert ending(lambda: os.write(2, b"x")) != ending(lambda: None)
    assert ending(lambda: warnings.warn("x", stacklevel=1)) != ending(lambda: None)
    assert ending(lambda: sys.exit(3)) != ending(lambda: sys.exit(4))
