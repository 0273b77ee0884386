"""A shorthand's one number is an estimate that also tells what its release tells; names, headings and unpacking."""

from __future__ import annotations

import copy
import csv
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import hedgerow as hg
from hedgerow.errors import ParameterError
from hedgerow.facts.printed import OWN_NAMES, group_headings
from hedgerow.release.released_estimate import ReleasedEstimate
from hedgerow.reports.verify.verification import verify_record
from hedgerow.statistics.registry import entries

PEOPLE = pyarrow.table({"age": [30.0, 50.0] * 500, "level": ["low", "high"] * 500, "sex": [0, 0, 1, 1] * 250})
SURVEY = hg.open(PEOPLE, relation="replace-one")
AGE: dict[str, Any] = {"bounds": (0, 100), "step": 1}


def age() -> ReleasedEstimate:
    return SURVEY.mean("age", **AGE, epsilon=2.0)


def test_one_number_is_an_estimate_and_its_release() -> None:
    number = age()
    assert isinstance(number, hg.Estimate) and isinstance(number, ReleasedEstimate)
    (unpacked,) = number
    assert unpacked is number[0] is number.release[0] is number.plain() and len(number) == 1
    low, high = number.confidence_interval()
    assert low < number.estimate < high and float(number) == number.estimate
    assert f"{number:.2f}" == f"{number.estimate:.2f}" and round(number, 1) == round(number.estimate, 1)
    assert number.certificate is not None and number.certificate.epsilon <= 2.0
    assert number.to_dict() == number[0].to_dict() and "certificate" not in number.to_dict()
    assert verify_record(number.release.to_dict()).holds and number.to_json() == number.release.to_json()
    assert number.relation == "replace-one" and number.notes == number.release.notes
    assert str(number) == str(number.release) and "replace-one" in repr(number)
    with pytest.raises(AttributeError):
        _ = number.no_such_name


def test_what_is_computed_from_it_is_no_release() -> None:
    number = age()
    for made in (2 * number, number - 40, np.log(number), np.float64(2) * number, number / number[0], number.sqrt()):
        assert isinstance(made, hg.Estimate) and not isinstance(made, ReleasedEstimate)
        assert not hasattr(made, "certificate")
    assert (number - number).standard_error == 0.0
    assert np.multiply(np.float64(3), number).estimate == pytest.approx(3 * number.estimate)


def test_it_is_copied_sent_and_pooled() -> None:
    number = age()
    for again in (pickle.loads(pickle.dumps(number)), copy.copy(number), copy.deepcopy(number)):
        assert again == number == number[0] and again.certificate == number.certificate
    assert number != age()
    pooled = hg.combine([number, age()])
    assert len(pooled) == 1 and pooled[0].method == "combined"


def test_it_writes_what_a_release_writes(tmp_path: Path) -> None:
    number = age()
    number.write(tmp_path / "age.csv")
    assert (tmp_path / "age.csv").read_text() == number.to_csv().replace("\r\n", "\n")
    number.to_csv(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "age.csv").read_bytes()
    assert number.to_frame("pyarrow").num_rows == 1


def test_several_numbers_are_a_release() -> None:
    grouped = SURVEY.mean("age", **AGE, by={"sex": [0, 1]}, epsilon=2.0)
    assert isinstance(grouped, hg.Release) and len(grouped) == 2
    assert isinstance(SURVEY.mean("age", **AGE, by={"sex": [0]}, epsilon=2.0), hg.Release)
    assert isinstance(SURVEY.quantile("age", [0.25, 0.5], **AGE, epsilon=2.0), hg.Release)
    assert isinstance(SURVEY.quantile("age", 0.5, **AGE, epsilon=2.0), ReleasedEstimate)


def test_every_statistic_has_a_shorthand() -> None:
    assert len(entries()) > 15
    for kind in entries():
        assert callable(getattr(hg.Survey, kind)), kind
        assert f"hg.{kind}(" in (getattr(hg.Survey, kind).__doc__ or "")


def test_a_cell_is_named_by_value_or_label_in_the_order_of_by() -> None:
    by = {"sex": {0: "men", 1: "women"}, "level": ["low", "high"]}
    release = SURVEY.count(by=by, epsilon=2.0)
    assert release["women", "high"] is release[3] is release[1, "high"] is release["1", "high"]
    only = SURVEY.release([hg.count(), hg.mean("age", **AGE)], by={"sex": {0: "men", 1: "women"}}, epsilon=2.0)
    with pytest.raises(ParameterError, match=r"HG137.*Several have the cell women.*count"):
        _ = only["women"]
    for missing in ("women", ("women", "none"), ("women", "high", "x"), ()):
        with pytest.raises(ParameterError, match=r"HG137.*No estimate has"):
            _ = release[missing]


def test_groups_keep_their_names_in_files_unless_we_use_them() -> None:
    release = SURVEY.count(by={"sex": {0: "men", 1: "women"}, "level": ["low", "high"]}, epsilon=2.0)
    (head, first, *_) = csv.reader(io.StringIO(release.to_csv()))
    assert head[2:5] == ["sex", "by_level", "sex_label"] and first[2:5] == ["0", "low", "men"]
    assert set(head) - {"sex", "by_level", "sex_label"} <= OWN_NAMES
    assert set(release.to_columns()) == set(head)
    table = SURVEY.contingency_table(by={"level": ["low", "high"]}, epsilon=2.0)
    assert "by_level" in table.to_columns() and table.to_csv().startswith("by_level,summed_over,")
    assert set(table.to_columns()) - {"by_level"} <= OWN_NAMES
    (names, labels) = group_headings(["level", "by_level", "level_label"], ["level"])
    assert names == {"level": "by_by_level", "by_level": "by_level", "level_label": "level_label"}
    assert labels == {"level": "by_level_label"}


def test_census_is_another_name_of_file() -> None:
    assert hg.open(PEOPLE, relation="replace-one", target="census").target == "file"


def test_the_value_of_a_proportion_has_a_column() -> None:
    table = pyarrow.table({"sex": [0, 1] * 500, "value": ["low", "high"] * 500})
    survey = hg.open(table, relation="replace-one")
    asked = [hg.proportion("sex", value=1), hg.proportion("sex", value=0), hg.mean("sex", bounds=(0, 1))]
    release = survey.release(asked, by={"value": ["low"]}, epsilon=1.0)
    columns = release.to_columns()
    assert columns["value"] == ["1", "0", None] and columns["by_value"] == ["low"] * 3
    assert release.to_csv().startswith("statistic,column,value,by_value,estimate")
    plain = survey.release(hg.mean("sex", bounds=(0, 1)), by={"value": ["low"]}, epsilon=1.0)
    assert plain.to_columns()["value"] == ["low"] and "by_value" not in plain.to_columns()
