"""No value of a record changes how a call ends: the command line, multicalibration and test sets.

As in `test_last_record`, neighbours differ in their last record, and all that is not paid for must be the same: exit
code, standard error, and standard output with its numbers masked; or the ending and the warnings of a call.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.inference.estimates_of_cells import HIDDEN
from hedgerow.inference.means_and_counts import SMALL_COUNT
from hedgerow.multicalibration import Multicalibrator
from hedgerow.release.cells.table_cells import NEGATIVE
from hedgerow.release.designs.design import NOT_RELIABLE
from hedgerow.testset import TestSet

EVIL_TEXTS = [
    *(b"", b'""', b" ", b"nan", b"1e999", b"9" * 400, b"-0.0", b"0x10", b"z", b"nor\xff", b"\xed\xa0\x80", b"a\0b"),
    *(b"x" * 10_000, b'"a""b"', b'"a\nb"', b"\xef\xbb\xbf5", "５".encode(), b"true", b"2", b"-1", b"0.5000000001"),
]
ROWS = 30


def people(folder: Path, column: str | None = None, last: bytes = b"") -> Path:
    """Write 30 records; the last one's cell of `column` is `last`."""
    names = ["y", "p", "g"]
    kinds = [[b"0", b".2", b"a"], [b"1", b".7", b"b"], [b"0", b".7", b"b"]]
    rows = [list(kinds[row % 3]) for row in range(ROWS)]
    if column is not None:
        rows[-1][names.index(column)] = last
    place = folder / "people.csv"
    place.write_bytes(b"y,p,g\n" + b"".join(b",".join(row) + b"\n" for row in rows))
    return place


COMMANDS: dict[str, tuple[str, list[str]]] = {
    "release of a value": ("p", ["release", "SOURCE", "--mean", "p:0:1:.1", "--relation", "replace-one", "--json"]),
    "release by groups": ("g", ["release", "SOURCE", "--count", "--by", "g=a,b", "--relation", "replace-one"]),
    "release by units": ("g", ["release", "SOURCE", "--count", "--unit", "g:2", "--relation", "add-remove", "--json"]),
    "table": ("g", ["table", "SOURCE", "--total", "p:0:1:.1", "--by", "g=a,b", "--relation", "replace-one", "--json"]),
    "multicalibrate by groups": ("g", ["multicalibrate", "SOURCE", "--label", "y", "--score", "p", "--group", "g=a,b"]),
    "multicalibrate scores": ("p", ["multicalibrate", "SOURCE", "--label", "y", "--score", "p", "--group", "g=a,b"]),
    "multicalibrate labels": ("y", ["multicalibrate", "SOURCE", "--label", "y", "--score", "p", "--group", "g=a,b"]),
}
_NUMBERS = re.compile(r"[-−+]?(\d[\d,.]*(e[-+]?\d+)?|inf\w*|nan|null)", re.IGNORECASE)
# These sentences, and whether a number is reliable, compare noisy numbers with the noise: by chance said or not.
_SAID_BY_CHANCE = "|".join(map(re.escape, (HIDDEN, NEGATIVE, NOT_RELIABLE, SMALL_COUNT)))
_CHANCE = re.compile(rf'(?<=")(?:(?:{_SAID_BY_CHANCE}) ?)+|(?: (?:{_SAID_BY_CHANCE}))+|(?<="reliable": )(?:true|false)')


def run(folder: Path, command: list[str], column: str, last: bytes | None) -> tuple[int, str, str]:
    source = people(folder) if last is None else people(folder, column, last)
    given = [str(source) if one == "SOURCE" else one for one in command]
    if command[0] == "multicalibrate":
        given += ["--relation", "replace-one", "--out", str(folder / "model.json")]
        (folder / "model.json").unlink(missing_ok=True)
    result = CliRunner().invoke(app, [*given, "--epsilon", "1"])
    # What is printed of noisy numbers depends on the noise, which is paid for: their masked form, without the padding.
    certain = _CHANCE.sub("", result.stdout).replace('"note": ""', '"note": null')
    shown = " ".join(_NUMBERS.sub("#", certain).split())
    return result.exit_code, shown, result.stderr


def check_command(name: str, folder: Path, cells: list[bytes]) -> None:
    column, command = COMMANDS[name]
    expected = run(folder, command, column, None)
    assert expected[0] == 0, expected
    for last in cells:
        code, shown, told = run(folder, command, column, last)
        assert (code, told) == (expected[0], expected[2]), (last[:40], code, told)
        if command[-1] == "--json":
            assert shown == expected[1], (last[:40], shown, expected[1])


@pytest.mark.parametrize("name", COMMANDS)
def test_no_last_record_changes_how_a_command_ends(name: str, tmp_path: Path) -> None:
    check_command(name, tmp_path, [b"", b"nor\xff", b"9" * 400])


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_no_last_record_changes_how_a_command_ends_whatever_it_holds(name: str, tmp_path: Path) -> None:
    check_command(name, tmp_path, EVIL_TEXTS)


def ending(ask: Callable[[], Any], capfd: pytest.CaptureFixture[str]) -> tuple[Any, ...]:
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            ask()
            said: tuple[Any, ...] = ("done",)
        except Exception as refused:
            said = (type(refused).__name__, getattr(refused, "code", ""), str(refused))
    return said, sorted((one.category.__name__, str(one.message)) for one in told), capfd.readouterr()


NUMBER = [None, float("nan"), float("inf"), 1e308, -5.0, -0.0, 5e-324]
LOOSE = [None, pd.NA, "x", "\udcff", 10**400, (1, 2)]
COLUMNS: dict[str, list[Any]] = {
    **{
        "float64": NUMBER,
        "Float64": NUMBER,
        "Float32": [None, float("inf"), -5.0],
        "double[pyarrow]": NUMBER,
        "object": LOOSE,
    },
}
LABELS: dict[str, list[Any]] = {
    **{"boolean": [None, True], "Int64": [None, 7, 2**62], "float64": [float("nan"), float("inf"), 5.0]},
    **{"string": [None, "z"], "object": [None, pd.NA, "x", (1,), 10**400], "int64[pyarrow]": [None, 2**53 + 1]},
    **{"category": [None, 5]},
}


def frame(**columns: tuple[list[Any], str]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(cells, dtype=dtype) for name, (cells, dtype) in columns.items()})


def changed(cells: list[Any], last: Any) -> list[Any]:
    return [*cells[:-1], last]


@pytest.mark.parametrize("dtype", COLUMNS)
@pytest.mark.parametrize("column", ["p", "g"])
def test_no_last_record_changes_how_a_calibration_ends(
    column: str, dtype: str, capfd: pytest.CaptureFixture[str]
) -> None:
    cells = {"p": [0.2, 0.7] * 15, "g": [1.0, 2.0] * 15}
    y = np.array([0, 1] * 15)

    def fitted(last: list[Any]) -> Callable[[], Any]:
        dtypes = {"p": "float64", "g": "float64", column: dtype}
        made = {name: (last if name == column else cells[name], dtypes[name]) for name in cells}
        x = frame(**made)

        def ask() -> Any:
            model = Multicalibrator(
                epsilon=1.0, relation="replace-one", score_column="p", groups={"g": [1.0, 2.0]}, mechanism="table"
            )
            return model.fit(x, y)

        return ask

    expected = ending(fitted(cells[column]), capfd)
    assert expected[0] == ("done",), expected
    for evil in COLUMNS[dtype]:
        assert ending(fitted(changed(cells[column], evil)), capfd) == expected, repr(evil)


@pytest.mark.parametrize("dtype", COLUMNS)
def test_no_last_record_changes_how_own_rows_are_scored(dtype: str) -> None:
    """One row without a score, or of no group, leaves those of the others as they are."""
    x = frame(p=([0.2, 0.7] * 15, "float64"), g=([1.0, 2.0] * 15, "float64"))
    model = Multicalibrator(epsilon=1.0, relation="replace-one", score_column="p", groups={"g": [1.0, 2.0]})
    model.fit(x, np.array([0, 1] * 15))
    mine = [1.0, 2.0] * 5
    expected = model.predict_proba(frame(p=([0.2, 0.7] * 5, "float64"), g=(mine, dtype)))
    for evil in COLUMNS[dtype]:
        found = model.predict_proba(frame(p=([0.2, 0.7] * 5, "float64"), g=(changed(mine, evil), dtype)))
        assert np.array_equal(found[:-1], expected[:-1]) and np.isfinite(found).all(), repr(evil)


@pytest.mark.parametrize("dtype", LABELS)
def test_no_last_label_changes_how_a_score_ends(dtype: str, capfd: pytest.CaptureFixture[str]) -> None:
    base: list[Any] = [True, False] if dtype == "boolean" else ["a", "b"] if dtype == "string" else [1, 0]
    predictions = np.array(base * 15, dtype=object if dtype == "string" else None)

    def scored(cells: list[Any]) -> Callable[[], Any]:
        y = pd.Series(cells, dtype=dtype)

        def ask() -> Any:
            made = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=2, mechanism="gaussian", delta=1e-3)
            return made.score(predictions)

        return ask

    expected = ending(scored(base * 15), capfd)
    assert expected[0] == ("done",), expected
    for evil in LABELS[dtype]:
        assert ending(scored(changed(base * 15, evil)), capfd) == expected, repr(evil)
