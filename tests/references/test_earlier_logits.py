"""Logistic regressions that were released before there was a pilot: they are read and priced as they were.

The file holds records that commit 94c8bec wrote: five Newton steps from β = 0, the curvature bounded entry by entry,
normal intervals.
"""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from hedgerow.regression.logit.logit_regression import logit_from_record
from hedgerow.reports.verify.verification import verify_record
from hedgerow.special import ndtri

RECORDS: dict[str, Any] = json.loads(gzip.decompress((Path(__file__).parent / "earlier_logits.json.gz").read_bytes()))


@pytest.mark.parametrize("name", RECORDS)
def test_an_earlier_record_holds_and_has_the_intervals_it_had(name: str) -> None:
    record = RECORDS[name]
    assert "bound" not in record["certificate"]["mechanism"] and verify_record(record).holds
    fit = logit_from_record(record)
    assert fit.reliable == (name != "swamped, replace-one") and not fit.fit.path.piloted
    if fit.reliable:
        for term, (low, high) in fit.conf_int().items():
            assert high - low == pytest.approx(2.0 * ndtri(0.975) * fit.bse[term], rel=1e-12)


@pytest.mark.parametrize("name", ["one regressor, add-remove", "categories, replace-one"])
def test_an_earlier_record_read_as_a_later_one_contradicts_itself(name: str) -> None:
    record = copy.deepcopy(RECORDS[name])
    record["certificate"]["mechanism"]["bound"] = "joint"
    assert not verify_record(record).holds
