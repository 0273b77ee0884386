"""`hedgerow_verify.py`, which shares no code with hedgerow, computes the same prices and finds too low ones."""

from __future__ import annotations

import copy
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import hedgerow_verify
import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.mechanism import kinds
from hedgerow.reports import report_html

ROOT = Path(__file__).parents[2]
NO_FORMULA = hedgerow_verify.NOT_CHECKED
SPECIMENS = [
    pytest.param(specimen.mechanism, specimen.relation, delta, id=f"{kind}, {specimen.name}, {place}, δ {delta:g}")
    for kind, mechanism in kinds().items()
    if kind not in NO_FORMULA
    for place, specimen in enumerate(mechanism.specimens())
    for delta in sorted({specimen.delta, 1e-6 if place == 0 else specimen.delta})
]
FROZEN = ROOT / "tests" / "references" / "frozen_self.json.gz"


def certificate_of(mechanism: Mechanism, relation: Relation, delta: float) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(certify(mechanism, relation, delta=delta, unit="row").to_dict()))
    return loaded


def narrowed(value: Any, by: float) -> None:
    """Make all noise narrower, where it stands."""
    names = {"width", "widths", "scale", "sd", "noise_sd", "threshold_scale", "question_scale", "answer_scales"}
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if key in names and isinstance(inner, (int, float)):
            value[key] = int(inner * by) if isinstance(inner, int) else inner * by
        elif key in names:
            value[key] = [number * by for number in inner]
        elif isinstance(inner, (dict, list)):
            narrowed(inner, by)


def as_doubles(value: Any) -> Any:
    """Return a value of JSON with every whole number written as 2.0."""
    if isinstance(value, (dict, list)):
        return {k: as_doubles(v) for k, v in value.items()} if isinstance(value, dict) else [*map(as_doubles, value)]
    return float(value) if type(value) is int else value


@pytest.mark.parametrize(("mechanism", "relation", "delta"), SPECIMENS)
def test_prices_agree_and_noise_five_per_cent_narrower_is_found(
    mechanism: Mechanism, relation: Relation, delta: float
) -> None:
    certificate = certificate_of(mechanism, relation, delta)
    verdict, says = hedgerow_verify.checked(certificate)
    assert verdict != "WRONG", says
    assert hedgerow_verify.checked(as_doubles(certificate)) == (verdict, says)
    if verdict == "AGREES":
        altered = copy.deepcopy(certificate)
        narrowed(altered["mechanism"], 0.95)
        if altered["mechanism"] != certificate["mechanism"]:
            assert hedgerow_verify.checked(altered)[0] == ("WRONG" if "at most" not in says else "CANNOT")
        lower = certificate | {"epsilon": 0.999 * certificate["epsilon"]}
        assert hedgerow_verify.checked(lower)[0] == ("WRONG" if "at most" not in says else "CANNOT")


def test_most_kinds_of_mechanism_have_a_formula_that_agrees() -> None:
    agreeing = {
        kind
        for kind, mechanism in kinds().items()
        if kind not in NO_FORMULA
        for specimen in mechanism.specimens()
        if hedgerow_verify.checked(certificate_of(specimen.mechanism, specimen.relation, specimen.delta))[0] == "AGREES"
    }
    named = set(hedgerow_verify.KNOWN) | set(NO_FORMULA)
    assert set(kinds()) <= named
    # Of these the price is a curve that the file bounds from above, by more than is stated, or an ε without end.
    bounded = {"averaged-laplace", "averaged-laplace-counts", "averaged-laplace-moments", "resample"}
    assert set(kinds()) - set(NO_FORMULA) - agreeing == bounded


def test_records_from_before_are_never_called_wrong() -> None:
    with gzip.open(FROZEN) as file:
        certificates = list(hedgerow_verify.certificates(json.load(file)))
    verdicts = [hedgerow_verify.checked(certificate)[0] for _, certificate in certificates]
    assert verdicts.count("WRONG") == 0
    assert verdicts.count("AGREES") + verdicts.count("HOLDS") > 0.6 * len(verdicts)


def test_a_field_that_the_file_does_not_know_is_not_ignored() -> None:
    certificate = certificate_of(
        *next((specimen.mechanism, specimen.relation, specimen.delta) for specimen in kinds()["geometric"].specimens())
    )
    certificate["mechanism"]["later"] = 3
    assert hedgerow_verify.checked(certificate)[0] == "CANNOT"


def test_chances_that_all_is_told_add_up_over_the_parts_of_a_release() -> None:
    """Two tables that may show a category of one person each: the price of one of them is found too low."""
    specimen = kinds()["stable-categories"].specimens()[0]
    certificate = certificate_of(specimen.mechanism, specimen.relation, 1e-3)
    one = hedgerow_verify.Price()
    hedgerow_verify.shown(certificate["mechanism"], False, one)
    two = hedgerow_verify.Price()
    for _ in range(2):
        hedgerow_verify.shown(certificate["mechanism"], False, two)
    assert two.told == pytest.approx(2.0 * one.told - one.told**2)
    assert two.told > 1.9 * one.told > 0.0


def test_a_unit_of_thousands_of_rows_is_bounded() -> None:
    mechanism = {"type": "geometric", "cells": 10_000, "rows": 5_000, "scale": 10_000.0}
    stated = {"mechanism": mechanism, "relation": "add-remove", "epsilon": 0.5, "delta": 0.0, "profile": []}
    assert hedgerow_verify.checked(stated)[0] == "AGREES"
    assert hedgerow_verify.checked(stated | {"epsilon": 0.49})[0] == "CANNOT"


def test_the_file_runs_by_the_standard_library_alone_on_a_record_and_on_its_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    survey = hg.open(pa.table({"income": rng.integers(0, 100, 500).astype(float)}), relation="replace-one")
    release = survey.release([hg.mean("income", bounds=(0, 100), step=1)], epsilon=1.0)
    names = [str(tmp_path / name) for name in ("release.json", "report.html")]
    for name, text in zip(names, (release.to_json(), report_html(release)), strict=True):
        Path(name).write_text(text, "utf-8")
    command = [sys.executable, "-I", "-S", str(ROOT / "hedgerow_verify.py")]
    run = subprocess.run([*command, *names], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.count("AGREES")) == (0, 2), run.stdout + run.stderr
    record = json.loads(Path(names[0]).read_text("utf-8"))
    record["certificate"]["epsilon"] *= 0.99  # what a bound contradicts is not called wrong, and not called right
    Path(names[0]).write_text(json.dumps(record), "utf-8")
    run = subprocess.run([*command, names[0]], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.count("WRONG")) == (2, 0), run.stdout + run.stderr


def test_the_file_stays_short_and_imports_the_standard_library_alone() -> None:
    text = (ROOT / "hedgerow_verify.py").read_text("utf-8")
    imported = {line.split()[1].split(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imported <= set(sys.stdlib_module_names)
    assert len(text.splitlines()) <= 430
