"""A table under differential privacy, written again from its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hedgerow.mechanisms.certificate import Certificate
from hedgerow.release.receipt import receipts
from hedgerow.release.record.asked_and_drawn import plan_of, request_of, tables_of
from hedgerow.release.record.kind import Record, RecordKind, Rewritten
from hedgerow.release.result import recorded_estimate
from hedgerow.release.rewritten import OF_THE_CUSTODIAN, certified_by, level_of
from hedgerow.tables.dp.choice import Choice
from hedgerow.tables.dp.release_table import kept_record, read_table


def rewritten_table(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record as a table, or what a ledger keeps of one, is written from what was asked and drawn."""
    if record["table"]["guarantee"] != "dp":
        raise ValueError("a certificate prices no other guarantee")
    if "request" not in record:
        return _earlier(record)
    about, plan = record["release"], plan_of(record, certificate, request_of(record))
    (drawn,) = tables_of(record, plan)
    if drawn is None:
        raise ValueError("a table has groups, so something is drawn")
    ((_, reason),) = about["methods"].items()
    choice = Choice(plan, record["table"]["option"], reason)
    choice = replace(choice, option=choice.design.sensitivity or choice.option)
    table = read_table(choice, drawn, certificate, source=about["source"])
    own = [note for note in about.get("notes", ()) if note in receipts()]
    told = {"remarks": (*table.remarks, *own), "date": about.get("date"), "about": about.get("about", {})}
    table = replace(table, **told).after(record["steps"])
    written = table.to_dict(level_of(record)) if "estimates" in record else kept_record(table)
    unchecked = (*OF_THE_CUSTODIAN, "release.methods.*")
    return Rewritten(written, unchecked, certified=certified_by(plan), narrowed=plan.narrowed())


def _earlier(record: Record) -> Rewritten:
    """Return a record of an earlier version, which holds no more of what was drawn than the estimates."""
    level = level_of(record) if "estimates" in record else 0.95

    def again(entries: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        return (recorded_estimate(one, None).to_dict(level) for one in entries)

    written = {name: value for name, value in record.items() if name != "certificate"}
    if "estimates" in record:
        margins = [{**one, "estimates": [*again(one["estimates"])]} for one in record["table"]["margins"]]
        written |= {"estimates": [*again(record["estimates"])], "table": {**record["table"], "margins": margins}}
    about = record["release"]
    whole = ("release.**", "table.**", "estimates.**", "noisy.**")
    return Rewritten(written, whole, certified={"relation": about["relation"], "unit": about["unit"]})


RECORD = RecordKind("a table", "table", rewritten_table)
