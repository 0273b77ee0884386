"""Tables that were released before they were read from joint moments: records are verified, and ledgers answer.

The file holds, for each table, the record and the ledger that commit 5b910de wrote. Then sums were added up about zero,
and units of several rows had replicates of their totals.
"""

from __future__ import annotations

import base64
import copy
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.reports.verify.verification import consistency

RECORDS = json.loads(gzip.decompress((Path(__file__).parent / "earlier_tables.json.gz").read_bytes()))
N = 240
_RNG = np.random.default_rng(3)
PEOPLE = pa.table(
    {
        "id": np.arange(N) // 2,
        "pay": _RNG.exponential(15.0, N).clip(0, 100).round(),
        "sex": _RNG.integers(0, 2, N),
    }
)


def asked(name: str, path: Path | None = None, **options: Any) -> Any:
    """Ask for the table again."""
    unit = ("id", 2) if "units" in name else None
    opened = hg.open(PEOPLE, relation="replace-one", unit=unit, ledger=path)
    given = {"by": {"sex": [0, 1]}, "epsilon": 1.0, "margins": True, **options}
    given |= {"noise": "gaussian"} if "Gaussian" in name else {}
    if name.startswith("counts"):
        return opened.contingency_table(**given)
    return opened.magnitude_table("pay", bounds=(0, 100), step=1, **given)


def contradicted(record: Any) -> tuple[str, ...]:
    """Return in what a record contradicts itself."""
    return consistency(record, Certificate.from_dict(record["certificate"])).contradictions


def to_nine_digits(value: Any) -> Any:
    """Return JSON data with rounded numbers: the last digits of a sum differ between processors."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: to_nine_digits(one) for name, one in value.items()}
    return [to_nine_digits(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_an_earlier_table_holds_and_an_altered_one_does_not(name: str) -> None:
    record = copy.deepcopy(RECORDS[name]["record"])
    assert contradicted(record) == ()
    record["estimates"][0]["standard_error"] *= 1.01
    assert contradicted(record)


@pytest.mark.parametrize("name", RECORDS)
def test_a_ledger_answers_a_request_with_the_table_that_was_released_before(name: str, tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    path.write_bytes(base64.b64decode(RECORDS[name]["ledger"]))
    table, record = asked(name, path, request_id="first"), RECORDS[name]["record"]
    assert table.replayed
    written = json.loads(table.to_json())
    assert all(written[part] == record[part] for part in ("noisy", "certificate"))
    assert to_nine_digits(written["estimates"]) == to_nine_digits(record["estimates"])
    assert to_nine_digits(written["table"]["margins"]) == to_nine_digits(record["table"]["margins"])
    with Ledger.open(path) as ledger:
        assert len(ledger.entries()) == 1


@pytest.mark.parametrize("name", RECORDS)
def test_the_same_table_has_narrower_intervals_now(name: str) -> None:
    """Over cells and totals together, of one draw each; noise alone hardly moves a mean width of all."""
    now, earlier = (
        [end["high"] - end["low"] for one in entries if (end := one["confidence_interval"])]
        for entries in (
            [*record["estimates"], *(one for margin in record["table"]["margins"] for one in margin["estimates"])]
            for record in (json.loads(asked(name).to_json()), RECORDS[name]["record"])
        )
    )
    assert sum(now) < sum(earlier)
