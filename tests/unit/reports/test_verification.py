"""A record is believed as far as its mechanism goes, and no further."""

from __future__ import annotations

import copy
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.joint.joint_numbers import JointCoordinate, JointFeature, JointLayout
from hedgerow.mechanisms.noisy_counts import GaussianNoise, GeometricCounts, LaplaceNoise
from hedgerow.mechanisms.resampled_sums import ResampledUnits
from hedgerow.noise.lattice import lattice_noise
from hedgerow.release.result import Release
from hedgerow.reports import write_report
from hedgerow.reports.verify import verification
from hedgerow.reports.verify.comparison import page_contradictions, page_of
from hedgerow.reports.verify.verification import read_record, verify_file, verify_record


def test_a_further_bound_that_is_rounded_up_to_one_holds() -> None:
    record = certify(GeometricCounts(0.05, 1), Relation.ADD_REMOVE, unit="row", delta=0.0).to_dict()
    assert 1.0 in [one["delta"] for one in record["profile"]]
    assert verify_record(record).holds
    assert not verify_record({**record, "delta": 1.0}).holds


def test_a_price_or_a_rate_that_cannot_be_is_refused_and_ends_in_no_other_error() -> None:
    counts = certify(GeometricCounts(0.5, 1), Relation.ADD_REMOVE, unit="row", delta=0.0).to_dict()
    units = ResampledUnits.specimens()[1].mechanism
    drawn = certify(units, Relation.ADD_REMOVE, unit="row", delta=1e-3).to_dict()
    rare = {**drawn, "mechanism": {**drawn["mechanism"], "rate": 1e-300}}
    for altered in ({**counts, "epsilon": -1e308}, rare):
        with pytest.raises(hg.HedgerowError) as refused:
            verify_record(altered)
        assert refused.value.code == "HG502"
    assert verify_record(counts).holds and verify_record(drawn).stated.holds


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    people = pa.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500})
    asked = [hg.mean("age", bounds=(0, 100), step=1), hg.sum("age", bounds=(0, 100), step=1)]
    made = hg.open(people, relation="replace-one").release(asked, by={"sex": [0, 1]}, epsilon=1.0)
    return dict(json.loads(made.to_json()))


def test_a_record_holds_and_says_for_whom(record: dict[str, Any]) -> None:
    found = verify_record(record)
    found.require()
    assert found.holds and len(found.profile) == 4
    told = found.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert (told["relation"], told["unit"], told["holds"]) == ("replace-one", "row", True)
    assert 0.5 < told["attack_success_upper"] < 1.0
    assert told["protected"].startswith("Every row") and told["assumptions"] and told["not_covered"]
    alone = verify_record(record["certificate"]).to_dict()
    assert alone | {"unchecked_fields": told["unchecked_fields"]} == told
    of_release, of_certificate = ("source", "date", "methods.*"), ("delta", "versions.*")
    named = [*(f"release.{name}" for name in of_release), *(f"certificate.{name}" for name in of_certificate)]
    assert told["unchecked_fields"] == named


def test_figures_that_another_version_may_compute_otherwise_are_named(record: dict[str, Any]) -> None:
    altered = copy.deepcopy(record)
    altered["certificate"]["profile"][1]["epsilon"] = 1e6
    assert not verify_record(altered).holds
    altered["certificate"]["versions"]["scipy"] = "0.1"
    found = verify_record(altered)
    assert found.holds and {"certificate.profile.**", "certificate.epsilon_lower"} <= {*found.unchecked}


def test_assumptions_that_a_record_cannot_show_are_named() -> None:
    people = pa.table({"x": np.arange(2000.0) % 10, "y": np.arange(2000.0) % 7})
    given = {"bounds": {"x": (0, 10), "y": (0, 7)}, "epsilon": 2.0}
    made = json.loads(hg.open(people, relation="replace-one").ols("y ~ x", **given).to_json())
    for assumed, named in (([], "certificate.assumptions"), (["the moon is round"], "certificate.assumptions.*")):
        made["certificate"]["assumptions"] = assumed
        assert verify_record(made).holds and named in verify_record(made).unchecked
    made["request"]["bounds"]["x"][0] = False
    assert not verify_record(made).holds


TAMPERED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a smaller ε": lambda r: r["certificate"].update(epsilon=0.5),
    "a smaller δ": lambda r: r["certificate"].update(delta=1e-9),
    "a point of the curve": lambda r: r["certificate"]["profile"][2].update(delta=1e-12),
    "less noise": lambda r: r["certificate"]["mechanism"]["blocks"][0]["noise"].update(width=1000),
    "values that reach farther": lambda r: r["certificate"]["mechanism"]["layout"]["features"][0].update(steps=900),
    "another bound": lambda r: r["certificate"].update(bound="estimate"),
    "another relation around it": lambda r: r["release"].update(relation="add-remove"),
    "another unit around it": lambda r: r["release"].update(unit="person"),
    "nothing around it": lambda r: r.pop("release"),
    "a δ that promises nothing": lambda r: r["certificate"].update(delta=1.0),
    "a negative ε": lambda r: r["certificate"].update(epsilon=-1.0, delta=0.9),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_record_that_was_altered_does_not_hold(record: dict[str, Any], name: str) -> None:
    altered = copy.deepcopy(record)
    TAMPERED[name](altered)
    found = verify_record(altered)
    assert not found.holds and not found.to_dict()["holds"]
    with pytest.raises(hg.VerificationError, match="HG501"):
        found.require()


@pytest.mark.parametrize("changed", [{"epsilon": 99.0}, {"delta": 1e-3}, {"assumptions": ["the moon is round"]}])
def test_a_weaker_claim_holds(record: dict[str, Any], changed: dict[str, Any]) -> None:
    # A bound from below belongs to the δ that it was proven at.
    unbounded = {"epsilon_lower": None, "epsilon_lower_why": "Not searched for."} if "delta" in changed else {}
    found = verify_record({**record["certificate"], **changed, **unbounded})
    assert found.holds and set(changed.get("assumptions", ())) <= set(found.protection.assumptions)


def test_the_points_that_fail_are_named(record: dict[str, Any]) -> None:
    altered = copy.deepcopy(record["certificate"])
    altered["profile"][1]["delta"] /= 2
    assert [point.holds for point in verify_record(altered).profile] == [True, False, True, True]


LATTICE = {"width": 10**6, "bits": 16}
NOISE = {"count": LATTICE, "total": LATTICE, "square": LATTICE}
GRID = {"start": -(10**9), "stride": 2, "steps": 10**9, "offset": 3, "presence": "private", "cells": 2}
GAUSSIAN = certify(GaussianNoise(1.0, 1.0), Relation.ADD_REMOVE, unit="row", delta=1e-6).to_dict()


@pytest.mark.parametrize(
    "hostile",
    [
        None,
        [],
        {},
        {"certificate": None},
        {"certificate": []},
        {**GAUSSIAN, "more": 1},
        {**GAUSSIAN, "epsilon": float("nan")},
        {**GAUSSIAN, "epsilon": float("inf")},
        {**GAUSSIAN, "epsilon": 10**400},
        {**GAUSSIAN, "mechanism": {"type": "gaussian", "noise_sd": 0.0, "sensitivity": 1.0}},
        {**GAUSSIAN, "mechanism": {"type": "gaussian", "noise_sd": 1e-320, "sensitivity": 1e300}},
        {**GAUSSIAN, "mechanism": {"type": "geometric", "scale": -1.0, "cells": 1}},
        {**GAUSSIAN, "relation": "none"},
        {**GAUSSIAN, "mechanism": {"type": "geometric", "scale": 1e300, "cells": 1}},
        {**GAUSSIAN, "mechanism": {"type": "moments-gaussian", "layout": GRID, "noise": NOISE}},
    ],
)
def test_what_is_no_record_is_refused(hostile: object) -> None:
    try:
        found = verify_record(hostile)
    except hg.VerificationError as refused:
        assert refused.code == "HG502"
    else:
        assert not found.holds


def test_a_unit_of_several_rows_is_named_and_needs_no_single_rows() -> None:
    noise = GaussianNoise(1.0, 1.0)
    told = verify_record(
        certify(noise, Relation.REPLACE_ONE, unit="person, at most 4 rows", delta=1e-6).to_dict()
    ).protection
    assert told.who.startswith("Every unit (person, at most 4 rows)") and "one unit" in told.promise
    assert "How many units" in told.not_covered[0] and not any("more than one row" in text for text in told.assumptions)


def test_a_pure_price_is_checked_at_no_delta() -> None:
    found = verify_record(certify(LaplaceNoise(2.0, 1.0), Relation.ADD_REMOVE, unit="row", delta=0.0).to_dict())
    assert found.holds and found.stated.delta == found.stated.delta_upper == 0.0


def test_a_record_is_read_from_every_file_of_a_release(make_release: Callable[..., Release], tmp_path: Path) -> None:
    release = make_release(source="</script><script id='record'>{}")
    assert release.certificate is not None
    (tmp_path / "certificate.json").write_text(release.certificate.to_json(), encoding="utf-8-sig")
    release.to_json(tmp_path / "release.json")
    write_report(release, tmp_path / "report.html")
    read = [read_record(tmp_path / name) for name in ("certificate.json", "release.json", "report.html")]
    assert read == [release.certificate.to_dict(), release.to_dict(), release.to_dict()]


@pytest.mark.parametrize(
    "text",
    [
        *("", "no json", "<p>no record</p>", "<script id='record'>{", "[" * 100_000, "9" * 5_000, "1" + "0" * 400),
        *('{"epsilon": NaN}', '{"epsilon": -Infinity}', '{"epsilon": 1e999}', '{"epsilon": 1e301}'),
    ],
)
def test_a_file_without_a_record_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(hg.VerificationError, match="HG502"):
        verify_record(read_record(tmp_path / "file"))


@pytest.mark.parametrize(
    ("shown", "holds"),
    [
        *[("1e+15", True), ("1.000e15", True), ("9.9e14", False)],
        *[(text, False) for text in ("0e16", "0e300", "1e999", "1e-999", "1e" + "9" * 5_000)],
    ],
)
def test_a_number_of_a_page_with_an_exponent_is_that_of_the_record(shown: str, holds: bool) -> None:
    page = page_of(f'<b data-field="n">{shown}</b><script id="record">{{"n": 999999999999999}}</script>')
    assert (not list(page_contradictions(page, json.loads(page.record)))) == holds


@pytest.mark.parametrize("inside", [False, True])
def test_a_field_that_is_named_twice_is_refused(record: dict[str, Any], inside: bool, tmp_path: Path) -> None:
    """The first ε is small, the last one true: a reader that takes the first would see another record."""
    text = json.dumps(record if inside else record["certificate"])
    (tmp_path / "file").write_text(text.replace('"epsilon": ', '"epsilon": 0.01, "epsilon": ', 1))
    with pytest.raises(hg.VerificationError, match="HG505"):
        read_record(tmp_path / "file")
    with pytest.raises(hg.VerificationError, match="HG505"):
        Certificate.from_json((tmp_path / "file").read_text())


def test_a_file_beyond_the_stated_size_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sparse file: it takes no room, and would fill the memory of whoever reads it."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(160 * 2**20 + 1)
    monkeypatch.setattr(verification, "read_text", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(hg.ParameterError, match=r"HG503.* 160 MB"):
        read_record(tmp_path / "large")


def test_a_packed_record_is_read_and_no_more_of_it_than_the_stated_size(
    record: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few kilobytes of gzip may unpack to gigabytes."""
    text = json.dumps(record).encode()
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    assert read_record(tmp_path / "packed") == record and verify_file(tmp_path / "packed")[1].holds
    (tmp_path / "torn").write_bytes(gzip.compress(text)[:-20])
    monkeypatch.setattr(verification, "_LARGEST", len(text) - 1)
    for name in ("packed", "torn"):
        with pytest.raises(hg.ParameterError, match="HG503"):
            read_record(tmp_path / name)


def test_a_curve_of_many_points_is_refused_before_it_is_priced(record: dict[str, Any]) -> None:
    points = record["certificate"]["profile"] * 30
    with pytest.raises(hg.VerificationError, match="HG502"):
        verify_record({**record["certificate"], "profile": points})


def test_what_a_record_cannot_show_is_said(record: dict[str, Any]) -> None:
    """A unit that was renamed, assumptions, the run itself: none of them can be seen, and each is named."""
    told = " ".join(verify_record(record).to_dict()["not_checked"])
    for what in ("unit", "assumptions", "this mechanism is the one that ran", "on these data"):
        assert what in told


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "binary", tmp_path / "pipe", "nul\x00", Path("/dev/null")):
        with pytest.raises(hg.ParameterError, match="HG503"):
            read_record(path)


@pytest.mark.parametrize("about", [{"guarantee": "dp for everybody, for ever"}, {"guarantee": None}, {}, ["dp"]])
def test_a_table_of_another_guarantee_than_its_certificate_does_not_hold(about: Any) -> None:
    people = pa.table({"sex": [0, 1] * 500})
    made = hg.open(people, relation="replace-one").contingency_table(by={"sex": [0, 1]}, epsilon=1.0)
    table = json.loads(made.to_json())
    assert verify_record(table).holds
    changed = table["table"] | about if about and isinstance(about, dict) else about
    assert not verify_record({**table, "table": changed}).holds


def test_formulas_of_a_later_version_are_refused(record: dict[str, Any]) -> None:
    with pytest.raises(hg.VerificationError, match="another version"):
        verify_record({**record, "reading": 2})


@pytest.mark.parametrize("cells", [1, 3])
def test_a_bare_certificate_says_when_the_cell_of_every_record_is_taken_as_public(cells: int) -> None:
    """Such a price leaves out the pair of records in two cells, so whoever reads it must know."""
    coordinates = (JointCoordinate("sum", (0,), lattice_noise(100.0)),)
    joint = JointMoments("gaussian", JointLayout((JointFeature(10),), "public", cells), coordinates, ())
    told = verify_record(certify(joint, Relation.REPLACE_ONE, unit="row", delta=1e-6).to_dict()).protection
    assert any("Which cell each row belongs to" in text for text in told.not_covered) == (cells > 1)


HIDDEN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another field of a release": lambda joint: joint.update(exact=[41.0]),
    "another field of a cell": lambda joint: joint["cells"][1].update(exact=[41.0]),
    "another sum": lambda joint: joint["cells"][1]["sums"].append(41.0),
    "another second moment": lambda joint: [row.append(41.0) for row in joint["cells"][1]["second_moments"]],
    "other numbers below the diagonal": lambda joint: joint["cells"][1]["second_moments"][1].__setitem__(0, 41.0),
    "a feature that is there twice": lambda joint: [
        joint[name].append(joint[name][0]) for name in ("features", "powers")
    ],
    "another law": lambda joint: joint.update(noise_law="averaged-laplace-3"),
}


@pytest.fixture(scope="module")
def joint_record() -> dict[str, Any]:
    people = pa.table({"age": [30.0, 50.0, 40.0] * 500, "wage": [1.0, 3.0, 9.0] * 500, "sex": [0, 1, 1] * 500})
    asked = [hg.covariance("age", "wage", bounds={"age": (0, 100), "wage": (0, 10)})]
    made = hg.open(people, relation="add-remove").release(asked, by={"sex": [0, 1]}, epsilon=1.0)
    return dict(json.loads(made.to_json()))


@pytest.mark.parametrize("how", HIDDEN)
def test_joint_moments_hold_no_number_without_a_price(how: str, joint_record: dict[str, Any]) -> None:
    assert verify_record(joint_record).holds
    altered = copy.deepcopy(joint_record)
    HIDDEN[how](altered["joint"][0])
    assert not verify_record(altered).holds
