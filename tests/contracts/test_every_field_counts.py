"""Alterations that random ones found: each field of a record changes the verdict, or `verify` names the field."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.contracts.test_records import WAYS, assert_holds, survey
from tests.contracts.test_records_of_products import records

import hedgerow as hg
from hedgerow.errors import HedgerowError
from hedgerow.reports.verify.verification import verify_record

Record = dict[str, Any]


def held(record: Record) -> bool:
    try:
        return verify_record(record).holds
    except HedgerowError:
        return False


@pytest.mark.parametrize("way", ["overall", "shown otherwise"])
def test_a_record_whose_request_has_another_name_is_no_earlier_record(way: str) -> None:
    record = assert_holds(WAYS[way]("add-remove"))
    record["request\u202e"] = record.pop("request")
    assert not held(record)


def test_a_noisy_number_that_no_answer_uses_is_named_and_each_other_one_counts() -> None:
    """The number of records is public, and the mechanism draws a noisy one too."""
    record = assert_holds(WAYS["answers"]("replace-one"))
    (noisy,), unused = record["noisy"], set[str]()
    for place, name in enumerate(noisy["features"]):
        altered = copy.deepcopy(record)
        altered["noisy"][0]["values"][place] *= 1.5
        if held(altered):
            unused.add(name)
    named = {place for place in verify_record(record).unchecked if place.startswith("noisy.")}
    assert unused == {"count"}
    assert named == {f"noisy.0.values.{noisy['features'].index('count')}"}


def test_noise_on_a_number_that_a_look_does_not_draw_is_refused() -> None:
    looks = [one for one in records("plain looks").values() if "noise" in one["certificate"]["mechanism"]]
    silent = [
        (look, name)
        for look in looks
        for name, noise in look["certificate"]["mechanism"]["noise"].items()
        if noise is None
    ]
    assert silent
    for look, name in silent:
        altered = copy.deepcopy(look)
        altered["certificate"]["mechanism"]["noise"][name] = {"width": 1983410, "bits": 19}
        assert not held(altered)


def test_a_search_that_lost_a_count_of_0_is_refused() -> None:
    search = next(one for one in records("searches").values() if 0 in one["found"]["noisy_counts"])
    assert held(search)
    counts = search["found"]["noisy_counts"]
    at = len(counts) - 1 - counts[::-1].index(0)
    altered = copy.deepcopy(search)
    del altered["found"]["noisy_counts"][at]
    assert not held(altered)


def test_the_expression_of_a_derived_column_is_named() -> None:
    record = assert_holds(WAYS["derived"]("replace-one"))
    assert "release.derived.**" in verify_record(record).unchecked


def test_a_value_and_its_text_are_one_in_every_type_of_column() -> None:
    """So a record that writes one as the other says the same."""
    for column, value in (("b", 1), ("h", 2), ("w", 2)):
        opened = survey("replace-one")
        exact = [opened.release([hg.proportion(column, value=one)], epsilon=50.0) for one in (value, str(value))]
        assert exact[0][0].estimate == pytest.approx(exact[1][0].estimate, abs=0.02)
        assert 0.1 < exact[0][0].estimate < 0.9
