"""The published JSON Schemas describe what is written, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.unit.approval.conftest import done, edited

from hedgerow.approval.schemas import schemas


def faults(path: str, kind: str) -> list[Any]:
    validator = jsonschema.Draft202012Validator(schemas()[kind], format_checker=jsonschema.FormatChecker())
    return list(validator.iter_errors(json.loads(Path(path).read_text())))


def test_what_is_written_fits_its_schema(desk: Path) -> None:
    assert faults("request.json", "request") == [] == faults("approved.json", "approval")
    assert json.loads(done("schema", "approval")) == schemas()["approval"]


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(signatures=[]),
        lambda record: record["request"].pop("purpose"),
        lambda record: record["request"].update(more=1),
        lambda record: record["signatures"][0].update(decision="perhaps"),
        lambda record: record["signatures"][0].update(ledger="L"),
    ],
)
def test_another_file_does_not(desk: Path, change: Any) -> None:
    assert faults(edited("approved.json", change), "approval")
