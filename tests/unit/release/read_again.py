"""A release that is written to a file, verified, and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hg
from hedgerow.reports.verify.verification import verify_record


def read_again(first: hg.Release, folder: Path, *expressions: str) -> tuple[hg.Release, dict[str, Any]]:
    """Return a release as read from its file, and its record, which holds; both answer the expressions alike."""
    first.to_json(folder / "release.json")
    record: dict[str, Any] = json.loads(first.to_json())
    assert verify_record(record).holds and verify_record(record).contradictions == ()
    again = hg.Release.from_json(folder / "release.json")
    assert again.to_json() == first.to_json()
    for expression in expressions:
        own, other = first.ask(expression), again.ask(expression)
        assert (own.estimate, own.standard_error) == pytest.approx((other.estimate, other.standard_error))
    return again, record
