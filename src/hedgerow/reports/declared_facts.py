"""What was declared about the data, and where each fact comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hedgerow.facts.printed import number
from hedgerow.release.result.result import Release
from hedgerow.reports.document import Paragraph, RowGroup, Section, Table
from hedgerow.reports.summary import source_name

if TYPE_CHECKING:
    from hedgerow.facts.declared import Facts

_NO_SOURCE = "NO SOURCE GIVEN"
_MISSING = {
    "drop": "left out: a mean is over the records that have a value",
    "midpoint": "counted as the midpoint of the bounds",
    "error-if-declared-complete": "declared not to occur",
}


def declared_facts(release: Release, facts: Facts | None) -> Section:
    """Return the public facts of a release with their sources; with a custodian's facts, those of its columns too."""
    stated = "the request" if facts is None else "the request or the facts"
    rows = [
        ("source", source_name(release), stated),
        ("relation", release.relation, stated),
        ("unit of protection", release.unit, stated),
        ("records", *(("private", "–") if release.n is None else (number(release.n), "public under replace-one"))),
        ("target", release.target, stated),
        ("missing values", _MISSING.get(release.missing, release.missing), stated),
        *_categories(release, facts),
        *(() if facts is None else _bounds(release, facts)),
    ]
    return Section(
        "facts",
        "What was declared",
        (
            Paragraph("None of this was read off private values. Bounds stand with the intervals above too."),
            Table(
                caption="Public facts, and where each comes from.",
                head=("fact", "value", "source"),
                groups=(RowGroup(tuple(rows)),),
            ),
        ),
    )


def _categories(release: Release, facts: Facts | None) -> Iterator[tuple[str, str, str]]:
    released: dict[str, dict[str, None]] = {}
    for estimate in release:
        for column, value in estimate.cell.items():
            released.setdefault(column, {})[str(value)] = None
    for column, values in released.items():
        source = "the request"
        if facts is not None and (declared := facts.column(column)).categories is not None:
            # A call may override the facts, whose source then says nothing about what was released.
            known = {*map(str, declared.categories), "other"}
            source = (declared.source or _NO_SOURCE) if set(values) <= known else source
        yield f"categories of {column}", ", ".join(values), source


def _bounds(release: Release, facts: Facts) -> Iterator[tuple[str, str, str]]:
    for column in dict.fromkeys(estimate.column for estimate in release if estimate.column is not None):
        declared = facts.column(column)
        if declared.bounds is not None:
            # As floats: a fraction has no such format.
            low, high = (float(end) for end in declared.bounds)
            step = "" if declared.step is None else f", step {float(declared.step):g}"
            yield f"bounds of {column}, by the facts", f"{low:g} to {high:g}{step}", declared.source or _NO_SOURCE
