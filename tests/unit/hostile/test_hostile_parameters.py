"""Hostile parameters: refused with a code, by the package and the command line alike, and nothing is spent.

Held elsewhere, and not repeated: statistics, groups, shares, methods, policies and targets that are none
(``tests/unit/cli/test_release.py``, ``BAD``, and ``tests/unit/release/test_release.py``); the noise of `hedgerow price`
(``tests/unit/cli/test_price.py``); what a facts file may say (``tests/unit/privacy/test_facts_file.py``); ledgers that
are damaged, locked, full, raced for or killed (``tests/unit/ledger``).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hg
from hedgerow.release.price import price_of

CANARY = "424242.125"
MEAN = ["--mean", "age:0:100:1"]


@pytest.fixture
def people(doors: Any) -> Path:
    return doors.write("people.csv", f"age,sex\n41,1\n{CANARY},{CANARY}\n")


class Odd:
    """An object of no type that anyone expects."""

    def __repr__(self) -> str:
        return "<odd>"


# Item: (options of the release, code).
OPTIONS: dict[str, tuple[dict[str, Any], str | None]] = {
    "ε 0": ({"epsilon": 0.0}, "HG101"),
    "ε negative": ({"epsilon": -1}, "HG101"),
    "ε too small": ({"epsilon": 1e-9}, "HG101"),
    "ε too large": ({"epsilon": 1e9}, "HG101"),
    "ε of 400 digits": ({"epsilon": 10**400}, "HG101"),
    "ε NaN": ({"epsilon": math.nan}, "HG101"),
    "ε inf": ({"epsilon": math.inf}, "HG101"),
    "ε text": ({"epsilon": "1"}, "HG101"),
    "ε true": ({"epsilon": True}, "HG101"),
    "ε list": ({"epsilon": [1.0]}, "HG101"),
    "ε array": ({"epsilon": np.array([1.0, 2.0])}, "HG101"),
    "ε complex": ({"epsilon": 1j}, "HG101"),
    "δ 1": ({"delta": 1}, "HG102"),
    "δ negative": ({"delta": -1e-6}, "HG102"),
    "δ below what is priced": ({"delta": 1e-300}, "HG102"),
    "δ NaN": ({"delta": math.nan}, "HG102"),
    "δ inf": ({"delta": math.inf}, "HG102"),
    "δ text": ({"delta": "1e-6"}, "HG102"),
    "δ true": ({"delta": True}, "HG102"),
    "δ array": ({"delta": np.array([1e-6, 1e-6])}, "HG102"),
    "k 0": ({"n_resamples": 0, "estimator": "bootstrap"}, "HG120"),
    "k 1": ({"n_resamples": 1, "estimator": "bootstrap"}, "HG120"),
    "k negative": ({"n_resamples": -5, "estimator": "bootstrap"}, "HG120"),
    "k too large": ({"n_resamples": 10**9, "estimator": "bootstrap"}, "HG120"),
    "k fraction": ({"n_resamples": 2.5, "estimator": "bootstrap"}, "HG120"),
    "k NaN": ({"n_resamples": math.nan, "estimator": "bootstrap"}, "HG120"),
    "k inf": ({"n_resamples": math.inf, "estimator": "bootstrap"}, "HG120"),
    "k text": ({"n_resamples": "20", "estimator": "bootstrap"}, "HG120"),
    "k true": ({"n_resamples": True, "estimator": "bootstrap"}, "HG120"),
    "method of no text": ({"estimator": Odd()}, "HG108"),
    "method list": ({"estimator": ["auto"]}, "HG108"),
    "method array": ({"estimator": np.array(["auto", "auto"])}, "HG108"),
    "interval list": ({"interval": ["calibrated"], "estimator": "bootstrap"}, "HG108"),
    "missing list": ({"missing": ["drop"]}, "HG114"),
    "missing number": ({"missing": 0}, "HG114"),
    "share NaN": ({"share": [math.nan]}, "HG113"),
    "share inf": ({"share": [math.inf]}, "HG113"),
    "share text": ({"share": "1"}, "HG113"),
    "share number": ({"share": 1.0}, "HG113"),
    "share subnormal": ({"share": [5e-324]}, None),  # alone it is the whole
    "by number": ({"by": 3}, "HG111"),
    "by text": ({"by": "sex"}, "HG111"),
    "by NaN": ({"by": {"sex": [math.nan]}}, "HG111"),
    "by list in a list": ({"by": {"sex": [[0], [1]]}}, "HG111"),
    "by number for a column": ({"by": {3: [0, 1]}}, "HG203"),
    "by a million cells of a million": ({"by": {"sex": range(10**6), "age": range(10**6)}}, "HG107"),
    "unit list": ({"unit": ["sex"]}, "HG115"),
    "unit NaN": ({"unit": ("sex", math.nan)}, "HG115"),
    "unit 0": ({"unit": ("sex", 0)}, "HG115"),
    "unit 13": ({"unit": ("sex", 13)}, "HG402"),
    "target list": ({"target": ["file"]}, "HG115"),
    "table number": ({"table": 3}, "HG209"),
    "id number": ({"request_id": 3}, "HG314"),
    "id empty": ({"request_id": ""}, "HG314"),
    "id of a megabyte": ({"request_id": "x" * 2**20}, "HG314"),
    "id of a lone surrogate": ({"request_id": "\ud800"}, "HG314"),
}


@pytest.mark.parametrize("item", OPTIONS)
def test_options_of_a_release(item: str, people: Path, doors: Any) -> None:
    options, code = OPTIONS[item]
    assert doors.api(people, lambda: hg.mean("age", bounds=(0, 100), step=1), **options) == code
    assert doors.entries() == ([] if code else ["recorded"])


# Item: (what is asked for, code).
ASKED: dict[str, tuple[Any, str]] = {
    "bounds NaN": (lambda: hg.mean("age", bounds=(0, math.nan)), "HG105"),
    "bounds inf": (lambda: hg.mean("age", bounds=(-math.inf, math.inf)), "HG105"),
    "bounds 1e308": (lambda: hg.mean("age", bounds=(-1e308, 1e308)), "HG105"),
    "bounds 2^70": (lambda: hg.mean("age", bounds=(0, 2**70)), "HG105"),
    "bounds too close": (lambda: hg.mean("age", bounds=(0, 5e-324)), "HG105"),
    "bounds reversed": (lambda: hg.mean("age", bounds=(100, 0)), "HG105"),
    "bounds three": (lambda: hg.mean("age", bounds=(0, 1, 2)), "HG105"),
    "bounds text": (lambda: hg.mean("age", bounds="01"), "HG105"),
    "bounds texts": (lambda: hg.mean("age", bounds=("0", "1")), "HG105"),
    "bounds true": (lambda: hg.mean("age", bounds=(False, True)), "HG105"),
    "bounds number": (lambda: hg.mean("age", bounds=100), "HG105"),
    "bounds mapping": (lambda: hg.mean("age", bounds={0: 1, 1: 2}), "HG105"),
    "bounds complex": (lambda: hg.mean("age", bounds=(0, 1j)), "HG105"),
    "step 0": (lambda: hg.mean("age", bounds=(0, 100), step=0), "HG106"),
    "step negative": (lambda: hg.mean("age", bounds=(0, 100), step=-1), "HG106"),
    "step NaN": (lambda: hg.mean("age", bounds=(0, 100), step=math.nan), "HG106"),
    "step inf": (lambda: hg.mean("age", bounds=(0, 100), step=math.inf), "HG106"),
    "step text": (lambda: hg.mean("age", bounds=(0, 100), step="1"), "HG106"),
    "step true": (lambda: hg.mean("age", bounds=(0, 100), step=True), "HG106"),
    "step that does not divide": (lambda: hg.mean("age", bounds=(0, 100), step=7), "HG106"),
    "step 1e-300": (lambda: hg.mean("age", bounds=(0, 100), step=1e-300), "HG107"),
    "step larger than the range": (lambda: hg.mean("age", bounds=(0, 100), step=1e308), "HG106"),
    "column number": (lambda: hg.mean(3, bounds=(0, 1)), "HG203"),
    "column none": (lambda: hg.sum(None, bounds=(0, 1)), "HG203"),
    "column empty": (lambda: hg.proportion("", value=1), "HG203"),
    "value NaN": (lambda: hg.proportion("sex", value=math.nan), "HG111"),
    "value inf": (lambda: hg.proportion("sex", value=math.inf), "HG111"),
    "value list": (lambda: hg.proportion("sex", value=[1]), "HG111"),
    "value array": (lambda: hg.proportion("sex", value=np.array([1, 2])), "HG111"),
    "value true in a CSV file": (lambda: hg.proportion("sex", value=True), "HG111"),
    "nothing": (lambda: [], "HG112"),
    "text": (lambda: "mean", "HG112"),
    "number": (lambda: 3, "HG112"),
    "the same thing twice and no thing": (lambda: [hg.count(), None], "HG112"),
}


@pytest.mark.parametrize("item", ASKED)
def test_statistics(item: str, people: Path, doors: Any) -> None:
    ask, code = ASKED[item]
    assert doors.api(people, ask) == code
    assert doors.entries() == []


# Item: (arguments of the command, code, exit code). Words and shapes that only a command line can have.
COMMANDS: dict[str, tuple[list[str], str, int]] = {
    "ε too large": ([*MEAN, "--epsilon", "1e9"], "HG101", 2),
    "ε of 400 digits": ([*MEAN, "--epsilon", "1" + "0" * 400], "HG101", 2),
    "ε decimal comma": ([*MEAN, "--epsilon", "0,5"], "HG116", 2),
    "ε twice": ([*MEAN, "--epsilon", "-1", "--epsilon", "nan"], "HG101", 2),
    "δ inf": ([*MEAN, "--delta", "inf"], "HG102", 2),
    "δ below what is priced": ([*MEAN, "--delta", "1e-300"], "HG102", 2),
    "both ε and ρ": ([*MEAN, "--rho", "0.5"], "HG141", 2),
    "k 0": ([*MEAN, "--estimator", "bootstrap", "--n-resamples", "0"], "HG120", 2),
    "k fraction": ([*MEAN, "--estimator", "bootstrap", "--n-resamples", "2.5"], "HG116", 2),
    "k NaN": ([*MEAN, "--estimator", "bootstrap", "--n-resamples", "nan"], "HG116", 2),
    "k of 5,000 digits": ([*MEAN, "--estimator", "bootstrap", "--n-resamples", "9" * 5000], "HG116", 2),
    "level 0": ([*MEAN, "--level", "0"], "HG110", 2),
    "level 1": ([*MEAN, "--level", "1"], "HG110", 2),
    "level negative": ([*MEAN, "--level=-0.5"], "HG110", 2),
    "level NaN": ([*MEAN, "--level", "nan"], "HG110", 2),
    "level inf": ([*MEAN, "--level", "inf"], "HG110", 2),
    "level text": ([*MEAN, "--level", "high"], "HG116", 2),
    "bounds 1e308": (["--mean", "age:-1e308:1e308"], "HG105", 2),
    "bounds 2^70": (["--mean", f"age:0:{2**70}"], "HG105", 2),
    "bounds 1e999": (["--mean", "age:0:1e999"], "HG105", 2),
    "bounds of 5,000 digits": (["--mean", "age:0:" + "9" * 5000], "HG105", 2),
    "bounds hexadecimal": (["--mean", "age:0x0:0xff"], "HG116", 2),
    "step 0": (["--mean", "age:0:100:0"], "HG106", 2),
    "step NaN": (["--mean", "age:0:100:nan"], "HG106", 2),
    "step 1e-300": (["--mean", "age:0:100:1e-300"], "HG107", 2),
    "share NaN": ([*MEAN, "--share", "nan"], "HG113", 2),
    "unit without a limit": ([*MEAN, "--unit", "sex"], "HG116", 2),
    "unit 13": ([*MEAN, "--unit", "sex:13"], "HG402", 4),
    "a lone surrogate": (["--mean", "\udcff:0:1"], "HG211", 2),
    "id empty": ([*MEAN, "--request-id", ""], "HG314", 2),
}


@pytest.mark.parametrize("item", COMMANDS)
def test_commands(item: str, people: Path, doors: Any) -> None:
    arguments, code, exit_code = COMMANDS[item]
    assert doors.cli(people, *arguments, out=True) == (code, exit_code)
    assert doors.entries() == [] and not (doors.folder / "out").exists()


@pytest.mark.parametrize("rho", [0, -1, math.nan, math.inf, "1", True, pytest.param(10**400, id="400 digits")])
def test_rho(rho: Any) -> None:
    with pytest.raises(hg.ParameterError, match="HG101"):
        price_of("gaussian", relation="replace-one", rho=rho)


def test_both_epsilon_and_rho(people: Path, doors: Any) -> None:
    with pytest.raises(hg.ParameterError, match="HG109"):
        price_of("gaussian", relation="replace-one", rho=0.5, epsilon=1.0)
    told = doors.command(
        "price", "--mechanism", "gaussian", "--relation", "replace-one", "--rho", "0.5", "--epsilon", "1"
    )
    assert told == ("HG109", 2)
    # A release has one budget.
    with pytest.raises(hg.ParameterError, match="HG141"):
        hg.open(people, relation="add-remove").release([hg.count()], epsilon=1.0, rho=0.5)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, math.nan, math.inf, "0.95", True, None, [0.95]])
def test_a_level_is_refused_and_the_release_kept(level: Any, people: Path, doors: Any) -> None:
    release = hg.open(people, relation="add-remove", ledger=doors.ledger()).release([hg.count()], epsilon=0.5)
    for ask in (release[0].confidence_interval, release.to_dict, lambda one: release.to_json(level=one)):
        with pytest.raises(hg.ParameterError, match="HG110"):
            ask(level)
    doors.texts.append(release.to_json())
    assert doors.entries() == ["recorded"]


@pytest.mark.parametrize("relation", [None, "swap", 1, True, ["add-remove"], float("nan"), Odd()])
def test_a_relation_has_no_default(relation: Any, people: Path, doors: Any) -> None:
    with pytest.raises(hg.ParameterError, match="HG103"):
        hg.open(people, relation=relation).count(epsilon=1.0)
    assert doors.command("release", people, "--epsilon", "1", *MEAN, "--ledger", doors.ledger()) == ("HG103", 2)
    assert doors.entries() == []


@pytest.mark.parametrize("source", [3, 1.5, b"people.csv", ["people.csv"], {"age": [1]}, Odd(), object, print])
def test_a_source_is_a_path_or_a_frame(source: Any, doors: Any) -> None:
    assert doors.api(source, hg.count) == "HG202"
    assert doors.entries() == []
