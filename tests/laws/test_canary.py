"""A value of the data comes out nowhere: not in results, refusals, tracebacks, warnings, logs, files or the ledger.

Hypothesis draws a small source of hostile names and cells, plants a canary in random cells, and asks anything of it
through one of the two doors, some of the time with the engine failing in the middle with the canary in its words. The
text of everything that comes out is searched for the canary as it stands, and as repr, hex, escapes or bytes write it.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import logging
import shutil
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines import frames
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import UnitLimit
from hedgerow.ledger.store import Ledger

# A number, so that it can stand in a numeric column, and a text that every form of escaping would change.
NUMBER = "8675309.40625"
TEXT = 'zq"Wÿ\\x<&\n\u2028wombat'
# Longer than chance would write: digests and noise hold many digits.
PIECES = (NUMBER, "8675309.4", "8.6753094", "wombat")
NAMES = [
    "age",
    'x"; DROP TABLE l; --',
    "=cmd|' /C calc'!A0",
    "\x1b[31mred",
    "<b>",
    "a:b=c,d",
    "größe",
    "*",
    "c1",
    " q ",
]
CELLS = ["", "0", "1", "41", "-3", "NaN", "inf", "1e308", "true", "x", "a,b", '"', "\n", "\0", "\udcff", "2020-01-01"]
FORMATS = ("csv", "raw", "parquet", "pandas", "polars", "pyarrow")


def forms(secret: str) -> list[str]:
    """Return a text as it may be written where somebody meant to hide, quote or escape it."""
    raw = secret.encode()
    return [
        secret,
        repr(secret)[1:-1],
        json.dumps(secret)[1:-1],
        ascii(secret)[1:-1],
        raw.hex(),
        raw.hex(" "),
        repr(raw)[2:-1],
        base64.b64encode(raw).decode().rstrip("=")[:-1],
        "".join(f"%{byte:02x}" for byte in raw),
        str(list(raw))[1:-1],
        secret[::-1],
    ]


FORBIDDEN = sorted({form.lower() for piece in (*PIECES, TEXT) for form in forms(piece)} | {float(NUMBER).hex()})


def found_in(texts: list[str]) -> list[str]:
    said = "\n".join(texts).lower()
    return [form for form in FORBIDDEN if form in said]


@st.composite
def sources(draw: st.DrawFn) -> tuple[str, dict[str, list[Any]]]:
    """Draw a format and columns of cells, the canary in at least one."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    rows = draw(st.integers(1, 6))
    kind = draw(st.sampled_from(FORMATS))
    columns: dict[str, list[Any]] = {}
    for name in names:
        if kind not in ("csv", "raw") and draw(st.booleans()):
            numbers = st.sampled_from([0.0, 41.0, -1e308, float("inf"), float("nan"), float(NUMBER), None])
            columns[name] = [float(NUMBER), *draw(st.lists(numbers, min_size=rows, max_size=rows))]
        else:
            cells = st.sampled_from(
                [*[cell for cell in CELLS if kind in ("csv", "raw") or cell != "\udcff"], TEXT, NUMBER]
            )
            columns[name] = [
                draw(st.sampled_from([TEXT, NUMBER])),
                *draw(st.lists(cells, min_size=rows, max_size=rows)),
            ]
    return kind, columns


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what is asked, right or wrong: public words only, as the canary is in none of them."""
    column = st.sampled_from(NAMES)
    number = st.sampled_from([0, 1, 100, -5, 1e9, float("nan"), 2**70])
    kinds = st.sampled_from(["mean", "sum", "proportion", "count"])
    asked = [(kind, draw(column), draw(number), draw(number)) for kind in draw(st.lists(kinds, min_size=1, max_size=2))]
    return {
        "asked": asked if draw(st.booleans()) else [(kind, one, 0, 100) for kind, one, _, _ in asked],
        "by": draw(st.none() | st.dictionaries(column, st.just(["0", "x"]), min_size=1, max_size=1)),
        "epsilon": draw(st.sampled_from([0.5, 1.0, 1.0, 0, float("inf")])),
        "delta": draw(st.sampled_from([0, 0, 0, 1e-6, 1])),
        "missing": draw(st.sampled_from([None, "drop", "midpoint", "error-if-declared-complete"])),
        "other": draw(st.booleans()),
        "relation": draw(st.sampled_from(["add-remove", "add-remove", "replace-one", "swap"])),
        "unit": draw(st.none() | st.none() | st.tuples(column, st.integers(1, 2))),
        "ledger": draw(st.booleans()),
        "out": draw(st.integers(0, 19)) == 0,
        "fails": draw(st.integers(0, 5)) == 0,
        "damaged": draw(st.integers(0, 5)) == 0,
    }


def written(folder: Path, kind: str, columns: dict[str, list[Any]], damaged: bool) -> Any:
    """Return a source of these columns, the bytes of a file cut or torn where it is damaged."""
    import pandas
    import polars
    import pyarrow
    import pyarrow.parquet

    if kind in ("pandas", "polars", "pyarrow"):
        return {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}[kind](columns)
    path = folder / ("people.parquet" if kind == "parquet" else "people.csv")
    if kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="none")
    else:
        text = io.StringIO(newline="")
        if kind == "csv":
            writer = csv.writer(text, quoting=csv.QUOTE_ALL)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        else:
            lines = [columns, *zip(*columns.values(), strict=True)]
            text.write("\n".join(",".join(map(str, line)) for line in lines))
        path.write_bytes(text.getvalue().encode("utf-8", "surrogateescape"))
    if damaged:
        whole = path.read_bytes()
        cut = len(whole) * 2 // 3
        path.write_bytes(whole[:cut] + (b'\xff\0"' + whole[cut + 3 :] if kind == "parquet" else b'"'))
    return path


def statistic(kind: str, column: str, low: Any, high: Any) -> Any:
    if kind == "count":
        return hg.count()
    if kind == "proportion":
        return hg.proportion(column, value="x")
    return getattr(hg, kind)(column, bounds=(low, high), step=(high - low) / 4)


def through_the_package(source: Any, asked: dict[str, Any], ledger: Path, folder: Path) -> list[str]:
    options = {name: asked[name] for name in ("by", "epsilon", "delta", "missing", "other")}
    said = []
    try:
        survey = hg.open(
            source, relation=asked["relation"], unit=asked["unit"], ledger=ledger if asked["ledger"] else None
        )
        said.append(repr(survey))
        release = survey.release([statistic(*one) for one in asked["asked"]], **options)
        said += [repr(release), str(release), repr(list(release)), release._repr_html_(), release.to_json()]
        release.to_csv(folder / "estimates.csv")
        said.append((folder / "estimates.csv").read_text(encoding="utf-8"))
    except hg.HedgerowError as refused:
        # With the values of every local variable of hedgerow's own frames down to the refusal this would be another
        # matter: those are the data. What a log, a notebook or a terminal prints of an exception is its text.
        said += [str(refused), repr(refused), repr(refused.__dict__), "".join(traceback.format_exception(refused))]
        logging.getLogger("hedgerow").exception("refused")
    return said


def through_the_command_line(source: Path, asked: dict[str, Any], ledger: Path, folder: Path) -> list[str]:
    arguments = ["release", str(source), "--relation", asked["relation"]]
    for kind, column, low, high in asked["asked"]:
        text = {"count": [], "proportion": [f"{column}=x"]}.get(kind, [f"{column}:{low}:{high}"])
        arguments += [f"--{kind}", *text]
    arguments += ["--epsilon", str(asked["epsilon"]), "--delta", str(asked["delta"])]
    for column, values in (asked["by"] or {}).items():
        arguments += ["--by", f"{column}={','.join(values)}"]
    arguments += ["--missing", asked["missing"]] if asked["missing"] else []
    arguments += ["--other"] if asked["other"] else []
    arguments += ["--unit", "{}:{}".format(*asked["unit"])] if asked["unit"] else []
    arguments += ["--ledger", str(ledger)] if asked["ledger"] else []
    arguments += ["--out", str(folder / "out")] if asked["out"] else ["--json"]
    result = CliRunner().invoke(app, arguments)
    said = [result.stdout, result.stderr]
    if result.exception is not None:
        said += traceback.format_exception(result.exception)
    written_there = (folder / "out").glob("*") if asked["out"] else ()
    return said + [path.read_bytes().decode("utf-8", "replace") for path in written_there]


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.setFormatter(logging.Formatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


def ask(drawn: tuple[str, dict[str, list[Any]]], asked: dict[str, Any], command_line: bool) -> list[str]:
    """Ask once, and return every text that came out."""
    kind, columns = drawn
    folder = Path(tempfile.mkdtemp(prefix="canary-"))
    log, root = _Log(), logging.getLogger()
    root.addHandler(log)
    level = root.level
    root.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings(record=True) as told, mock.patch.multiple(frames, **_reading(asked)):
            warnings.simplefilter("always")
            source = written(folder, kind, columns, asked["damaged"])
            ledger = folder / "people.ledger"
            relation = "replace-one" if asked["relation"] == "replace-one" else "add-remove"
            unit = "row" if asked["unit"] is None else str(UnitLimit(*asked["unit"]))
            # A ledger's texts are printable; without one the release is refused, which is an answer too.
            if asked["ledger"] and unit.isprintable():
                Ledger.create(ledger, dataset="d", budget=Budget(50.0, 1e-5), relation=relation, unit=unit).close()
            door = through_the_command_line if command_line and isinstance(source, Path) else through_the_package
            said = door(source, asked, ledger, folder)
        said += [str(one.message) for one in told] + log.said
        if ledger.exists():
            said.append(ledger.read_bytes().decode("latin-1"))
        return said
    finally:
        root.removeHandler(log)
        root.setLevel(level)
        shutil.rmtree(folder)


def _reading(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the two ways of reading, or two that fail as compiled readers do, with the data in their words."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError(f"Could not convert string {TEXT!r} to DOUBLE; {NUMBER}")

    return {name: fail if asked["fails"] else getattr(frames, name) for name in ("count", "add_up")}


def check(drawn: tuple[str, dict[str, list[Any]]], asked: dict[str, Any], command_line: bool) -> None:
    said = ask(drawn, asked, command_line)
    assert said and not found_in(said), found_in(said)


_SETTINGS: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}


@settings(max_examples=150, **_SETTINGS)
@given(sources(), questions(), st.booleans())
def test_the_canary_is_never_seen(drawn: Any, asked: dict[str, Any], command_line: bool) -> None:
    check(drawn, asked, command_line)


@pytest.mark.long
@settings(max_examples=10_000, **_SETTINGS)
@given(sources(), questions(), st.booleans())
def test_the_canary_is_never_seen_in_ten_thousand_calls(drawn: Any, asked: dict[str, Any], command_line: bool) -> None:
    check(drawn, asked, command_line)


def test_a_refusal_that_quotes_its_cause_would_be_seen() -> None:
    """The sabotage: the engine's own words let through, or chained to the refusal as Python does by itself."""
    asked = {
        "asked": [("sum", "age", 0, 100)],
        "by": None,
        "epsilon": 1.0,
        "delta": 0,
        "missing": None,
        "other": False,
        "relation": "add-remove",
        "unit": None,
        "ledger": False,
        "out": False,
        "fails": True,
        "damaged": False,
    }
    drawn = ("pandas", {"age": [1.0, float(NUMBER)]})

    def chained(read: Any, *_: Any) -> Any:
        try:
            return read()
        except ValueError as words:
            raise hg.SpentError("HG601", rule="A rule.", finding=str(words)) from words

    assert not found_in(ask(drawn, asked, False))
    with mock.patch("hedgerow.engines.exact_answers.withheld", chained):
        assert {"wombat", NUMBER} <= set(found_in(ask(drawn, asked, False)))


@pytest.mark.parametrize("form", range(len(forms(NUMBER))))
def test_every_form_is_searched_for(form: int) -> None:
    assert found_in(["before " + forms(NUMBER)[form] + " after"])
