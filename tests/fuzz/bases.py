"""Genuine records to alter: of every statistic, product, way to release and mechanism, and those of earlier versions.

All come from the registries: a statistic, a mechanism or a kind of record that is added is altered without another
line.
"""

from __future__ import annotations

import gzip
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.contracts.test_records import WAYS, asked_for, survey
from tests.contracts.test_records_of_products import KINDS, people, records
from tests.mirror import TESTS

import hedgerow as hg
from hedgerow.mechanisms.certificate import certify
from hedgerow.mechanisms.mechanism import kinds
from hedgerow.reports import report_html
from hedgerow.reports.answer_pages import found_html
from hedgerow.statistics.registry import entries

Record = dict[str, Any]
Group = Callable[[], list[Record]]
RELATIONS = ("replace-one", "add-remove")


def _of_statistic(kind: str) -> list[Record]:
    asked = asked_for(entries()[kind])
    results = [survey(relation).release(asked, epsilon=2.0, by={"g": [0, 1]}) for relation in RELATIONS]
    return [json.loads(result.to_json()) for result in results]


def _of_way(way: str) -> list[Record]:
    return [json.loads(WAYS[way](relation).to_json()) for relation in RELATIONS]


def _of_mechanism(kind: str) -> list[Record]:
    """Return certificates alone; where an ε has no end, which no record states, at the δ of one record in two."""
    made = [certify(one.mechanism, one.relation, unit="row", delta=one.delta) for one in kinds()[kind].specimens()]
    ended = [one if math.isfinite(one.epsilon) else replace(one, epsilon=9.0, delta=0.5, profile=()) for one in made]
    return [json.loads(one.to_json()) for one in ended]


def _of_before(name: str) -> list[Record]:
    """Return records that an earlier version wrote."""
    kept = json.loads(gzip.decompress((TESTS / "references" / f"{name}.json.gz").read_bytes()))
    return [made.get("record", made) for made in kept.values()]


def groups() -> dict[str, Group]:
    """Return what makes records, by names."""
    return {
        **{f"statistic {kind}": partial(_of_statistic, kind) for kind in entries()},
        **{f"way {way}": partial(_of_way, way) for way in WAYS},
        **{f"product {product}": lambda product=product: list(records(product).values()) for product in KINDS},
        **{f"mechanism {kind}": partial(_of_mechanism, kind) for kind, one in kinds().items() if one.specimens()},
        **{f"of before: {name}": partial(_of_before, name) for name in ("earlier_tables", "earlier_logits")},
    }


@cache
def genuine(group: str) -> list[Record]:
    """Return the records of a group."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return groups()[group]()


@cache
def pages(folder: Path) -> list[str]:
    """Return pages of a release, of a table and of a search, which hold their records."""
    opened = hg.open(people(), relation="replace-one")
    opened.contingency_table(by={"g": ["a", "b", "c"]}, epsilon=1.0).write(folder / "table.html")
    release = opened.release([hg.mean("x", bounds=(0, 10)), hg.count()], by={"g": ["a", "b"]}, epsilon=1.0)
    search = found_html(opened.find_bounds("x", epsilon=0.5))
    return [report_html(release), (folder / "table.html").read_text(encoding="utf-8"), search]
