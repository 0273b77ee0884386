"""Whether the parts of a record fit one another: its numbers, its facts and the mechanism that it prices.

What is compared follows from what a mechanism describes: how many numbers it makes and how wide their noise is, whose
presence it takes as public, and for how many rows of a unit it was priced. Nothing is judged that a record cannot show;
`NOT_CHECKED` says what that is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.mechanisms.mechanism import (
    CellTotals,
    Counts,
    Mechanism,
    Moments,
    ResampledGaussian,
    ResampledRows,
    ResampledSums,
    ResampledUnits,
    Single,
    TreeCounts,
    parts_of,
)
from hedgerow.release.designs.design import END_PAIR, MIDPOINT, PUBLIC_MEMBERSHIP, declared_complete
from hedgerow.release.distributions import READING, follows, readings
from hedgerow.release.joint_record import Facts as JointFacts
from hedgerow.release.joint_record import counts_fit, joint_values, noise_covariance
from hedgerow.reports.verify.fitted_record import contradictions_of_a_model, contradictions_of_a_score
from hedgerow.reports.verify.found_record import contradictions_of_what_was_found
from hedgerow.reports.verify.joint_estimates import contradictions_of_answers, contradictions_of_estimates
from hedgerow.reports.verify.priced_errors import Facts, possible_error, same_worth
from hedgerow.reports.verify.regression_record import contradictions_of_a_regression


def contradictions_of_noisy_numbers(record: Mapping[str, Any], certificate: Certificate) -> Iterator[str]:
    """Yield where the number of cells, or the noise, is not that of the one mechanism of a table."""
    noisy, features = record["noisy"], record["table"]["features"]
    parts = parts_of(certificate.mechanism)
    shape = noisy["shape"]
    if len(parts) != 1 or parts[0].released_cells != shape[0] or math.prod(shape) != len(noisy["values"]):
        yield "It has another number of cells than its mechanism."
        return
    spread = parts[0].table_spread(features)
    found = np.array(noisy["noise_sd"], dtype=np.float64)
    if spread is None or found.shape != spread.shape or not np.allclose(found, spread, rtol=1e-9, atol=0.0):
        yield "The noise beside the numbers is not that of its mechanism."


NOT_CHECKED = (
    "Whether a row is what the unit says (a person, a household), and whether the unit was another one: a text that "
    "was changed wherever it stands looks as if it had been written so.",
    "Whether two records can be the worst for all parts of a release at once, on which a lower bound on its ε rests.",
    "Whether the assumptions are true, and whether more were made than the mechanism and the record itself show.",
    "Whether this mechanism is the one that ran, on these data, with noise that nobody saw; or whether a number, its "
    "errors and its mechanism were all changed together.",
    "The estimates, their sampling errors and their intervals, unless joint moments or the counts of a distribution "
    "are on record, from which they are computed anew. Nor the errors of a statistic of one's own, nor the privacy "
    "error of one that was read from replicates, of the margins of a table, and of most scores and models; that of a "
    "mean or a share whose number of records is private is checked for its size alone, that of totals with bounds by "
    "cell up to one factor for all.",
    "Gini coefficients, Lorenz curves and shares below a part of the median in records of older versions, which have "
    "no field `reading` beside the counts: ask the record for them anew, as their errors there can be too small.",
    "The date, what a page shows around the record that it holds, and other releases from the same data.",
)
"""What no record can show about itself."""

Entry = Mapping[str, Any]


def contradictions(record: object, certificate: Certificate) -> tuple[str, ...]:
    """Return in what a record contradicts itself, in sentences; empty where its parts fit one another.

    Parameters
    ----------
    record : object
        JSON data: a certificate, or a release, table, score or model that holds one.
    certificate : Certificate
        The one in it.

    Examples
    --------
    >>> from hedgerow.mechanisms.certificate import certify
    >>> from hedgerow.mechanisms.mechanism import GeometricCounts
    >>> made = certify(GeometricCounts(3.0, 2), Relation.ADD_REMOVE, unit="row", delta=0.0)
    >>> contradictions(made.to_dict(), made)
    ()
    >>> about = {"relation": "add-remove", "unit": "row", "n": 100}
    >>> contradictions({"certificate": made.to_dict(), "release": about, "estimates": []}, made)[0]
    'The number of records is stated, which is public under replace-one and private under add-remove.'
    """
    found = list(_of_certificate(certificate))
    if isinstance(record, Mapping) and "certificate" in record:
        try:
            found += _of_record(record, certificate)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            found.append("Something that a record of its kind holds is missing, or of another kind.")
    return tuple(dict.fromkeys(found))


def _of_certificate(certificate: Certificate) -> Iterator[str]:
    if certificate.bound != "upper":
        yield "Its bound is no upper one."
    for part in parts_of(certificate.mechanism):
        rows = _rows_of(part)
        if rows is not None and not _unit_of(rows, certificate.unit):
            yield f"Its unit is not one of at most {rows} rows, for which the mechanism was priced."
        valued = isinstance(part, ResampledGaussian) and part.shape in ("value", "value-and-count")
        if valued and certificate.relation is Relation.REPLACE_ONE and END_PAIR not in certificate.assumptions:
            yield "An assumption on which the price of its mechanism rests is missing."


def _rows_of(part: Mechanism) -> int | None:
    """Return the limit of rows that a mechanism was priced for, where units may have several."""
    if isinstance(part, ResampledUnits):
        return part.max_rows
    return part.layout.rows if isinstance(part, JointMoments) else None


def _unit_of(rows: int, unit: str) -> bool:
    return unit.endswith(f", at most {rows} row{'s' if rows > 1 else ''}")


def _of_record(record: Mapping[str, Any], certificate: Certificate) -> Iterator[str]:
    if "score" in record and "release" not in record:
        yield from contradictions_of_a_score(record["score"], certificate)
        return
    about = record["release"]
    if (about["relation"], about["unit"]) != (str(certificate.relation), certificate.unit):
        yield "The release names another relation or another unit than its certificate."
    if about["n"] is not None and certificate.relation is not Relation.REPLACE_ONE:
        yield "The number of records is stated, which is public under replace-one and private under add-remove."
    if about.get("date") is not None and not _is_date(about["date"]):
        yield "Its date is none of the calendar."
    if "hedgerow_model" in record:
        yield from contradictions_of_a_model(record, certificate)
        return
    if about["n"] is None and certificate.relation is Relation.REPLACE_ONE:
        yield "The number of records, which is public under replace-one, is not stated."
    several = any(_rows_of(part) is not None for part in parts_of(certificate.mechanism))
    if not several and certificate.unit != "row":
        yield "Its unit has several rows, and its mechanism was priced for one."
    if "table" in record and record["table"]["guarantee"] != "dp":
        yield "The table names another guarantee than the one that a certificate prices."
    if "found" in record:
        yield from contradictions_of_what_was_found(record["found"], certificate)
    elif "regression" in record:
        yield from contradictions_of_a_regression(record)
    elif "noisy" in record:
        yield from contradictions_of_noisy_numbers(record, certificate)
    else:
        yield from _Numbers(record, certificate).contradictions()
        yield from contradictions_of_answers(record)


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


class _Numbers:
    """The estimates of a release or a table, held against the mechanism part by part, in the order of the request."""

    def __init__(self, record: Mapping[str, Any], certificate: Certificate) -> None:
        self._certificate = certificate
        self._entries: Sequence[Entry] = record["estimates"]
        self._joint: Sequence[Entry] = record.get("joint", ())
        self._tables: Sequence[Entry] = record.get("distributions", ())
        self._about = JointFacts(record["release"]["n"], record["release"]["target"] == str(Target.FILE))
        self._pools = "combined" in record["release"].get("methods", ())
        self._missing = str(record["release"]["missing"])
        self._weights: Entry | None = record["release"].get("weights")
        n = record["release"]["n"]
        columns = {entry["column"] for entry in self._entries if entry["column"] is not None}
        complete = frozenset(column for column in columns if self._is_complete(column))
        self._facts = Facts(n, complete, record["release"].get("where") is not None)
        # Counts that add up to a public total were adjusted to it, which takes noise away.
        self._adjusted = n is not None and bool(record.get("table", {}).get("margins"))

    def _is_complete(self, column: str) -> bool:
        policy = str(Missing.DECLARED_COMPLETE)
        return self._missing == policy or f"{policy} for {column}" in self._missing.split(", ")

    def contradictions(self) -> Iterator[str]:
        """Yield what does not fit."""
        for column in sorted(self._facts.complete):
            if declared_complete(column) not in self._certificate.assumptions:
                yield "Values are taken as complete, as declared, and the certificate does not say so."
        parts = parts_of(self._certificate.mechanism)
        if self._pools:
            yield from self._pooled(parts)
            return
        yield from self._of_joint([part for part in parts if isinstance(part, JointMoments)])
        if self._weights is not None and not all(isinstance(part, JointMoments) for part in parts):
            yield "It says that records are weighted, and a number was read otherwise."
        yield from self._of_counted([part for part in parts if isinstance(part, Counts)])
        values = joint_values(self._joint, self._certificate.mechanism, self._about)
        yield from contradictions_of_estimates(self._joint, self._entries, values, self._weights)
        yield from self._of_distributions([part for part in parts if isinstance(part, TreeCounts)])
        moments = (one for one in self._joint if "counted" not in one)
        read = {place for one in (*moments, *self._tables) for place in one["estimates"]}
        left = [entry for place, entry in enumerate(self._entries) if place not in read]
        for part in parts:
            if isinstance(part, (JointMoments, TreeCounts)):
                continue
            left = yield from self._public(left)
            size = self._size(part, left[0] if left else None)
            group, left = left[:size], left[size:]
            if size == 0 or len(group) < size:
                yield "It has fewer numbers than its mechanism makes, or others than it can make."
                return
            yield from self._of_part(part, group)
        left = yield from self._public(left)
        if left:
            yield "It has more numbers than its mechanism makes: some have no price."

    def _pooled(self, parts: Sequence[Single]) -> Iterator[str]:
        """Yield where numbers pooled from several releases are more than these releases made of each."""
        public = [entry for entry in self._entries if entry["method"] == "public"]
        yield from self._public(list(public))
        # Any number of statistics is read from joint moments at one price.
        made = [math.inf if isinstance(part, JointMoments) else float(part.released_cells or 0) for part in parts]
        if len(parts) < 2 or 2 * (len(self._entries) - len(public)) > sum(made):
            yield "It has more numbers than its mechanism makes: some have no price."

    def _of_joint(self, parts: Sequence[JointMoments]) -> Iterator[str]:
        """Yield where joint moments on record are not those of their mechanisms."""
        joint = [one for one in self._joint if "counted" not in one]
        places = [place for one in joint for place in one["estimates"]]
        if len(parts) != len(joint) or len(set(places)) < len(places):
            yield "It has fewer numbers than its mechanism makes, or others than it can make."
            return
        for part, one in zip(parts, joint, strict=True):
            group = [self._entries[place] for place in one["estimates"]]
            cells = [cell["cell"] for cell in one["cells"]]
            repeated = [entry["cell"] for entry in group] != cells * (len(group) // max(len(cells), 1))
            of_moments = all((entry["method"], entry["n_resamples"]) == ("moments", None) for entry in group)
            if not group or part.released_cells != len(cells) or repeated or not of_moments:
                yield "Its numbers are not of the statistic, the cells or the method of its mechanism."
                return
            if not _numbers_fit(part, one, len(part.layout.features)):
                yield "It has more numbers than its mechanism makes: some have no price."
                return
            for first in group[:: len(cells)]:
                yield from self._presence(part, first)
            yield from self._noise_of(part, one)
            if any(entry["privacy_error"] is None and entry["reliable"] for entry in group):
                yield "A number is called reliable, and has no error."

    def _of_counted(self, parts: Sequence[Counts]) -> Iterator[str]:
        """Yield where noisy counts on record are not those of their mechanisms."""
        counted = [one for one in self._joint if "counted" in one]
        for part, one in zip(parts, counted, strict=True) if counted else ():
            group = [self._entries[place] for place in one["estimates"]]
            share = group[0]["statistic"] == "proportion"
            public = self._facts.divides(group[0])
            known = ["count"] if not share else ["equal"] if public else ["equal", "different"]
            cells = [cell["cell"] for cell in one["cells"]]
            if one["counted"] != known or [entry["cell"] for entry in group] != cells:
                yield "Its numbers are not of the statistic, the cells or the method of its mechanism."
                return
            made = _numbers_fit(part, one, 1) and part.released_cells == len(known) * len(cells)
            if not made or len(one["powers"]) != share or not counts_fit(one, part, self._about):
                yield "It has more numbers than its mechanism makes: some have no price."
                return
            yield from self._noise_of(part, one)

    def _noise_of(self, part: JointMoments | Counts, one: Entry) -> Iterator[str]:
        priced = noise_covariance(part, one, self._about)
        found = np.array(one["noise_covariance"], dtype=np.float64)
        if found.shape != priced.shape or not np.allclose(found, priced, rtol=1e-6, atol=1e-9 * priced.max()):
            yield "The noise beside the joint moments is not that of its mechanism."

    def _of_distributions(self, parts: Sequence[TreeCounts]) -> Iterator[str]:
        """Yield where released counts are not those of their mechanisms, or do not tell what was read from them."""
        places = [place for one in self._tables for place in one["estimates"]]
        if len(parts) != len(self._tables) or len(set(places)) < len(places):
            yield "It has fewer numbers than its mechanism makes, or others than it can make."
            return
        target = str(Target.FILE) if self._about.census else ""
        found = readings(self._tables, self._certificate.mechanism, n=self._facts.n, target=target)
        for one, reading in zip(self._tables, found, strict=True):
            fields = {"estimates", "column", "grid", "declared", "group", "public", "cells"}
            cells = [cell["cell"] for cell in one["cells"]]
            group = [self._entries[place] for place in one["estimates"]]
            known = set(one) - {"reading"} == fields and one.get("reading", READING) == READING
            if not known or any(set(cell) != {"cell", "counts"} for cell in one["cells"]):
                yield "It has more numbers than its mechanism makes: some have no price."
                return
            repeated = [entry["cell"] for entry in group] != cells * (len(group) // max(len(cells), 1))
            of_table = all((entry["method"], entry["n_resamples"]) == ("distribution", None) for entry in group)
            if not group or repeated or not of_table or {entry["column"] for entry in group} != {one["column"]}:
                yield "Its numbers are not of the statistic, the cells or the method of its mechanism."
                return
            if one["public"] and not all(self._facts.divides(entry) for entry in group):
                yield "Its mechanism takes every value as present, and the record says that missing ones were dropped."
            for place, entry in enumerate(group):
                if not follows(entry, one, reading, place % len(cells)):
                    yield "A number, its errors or its interval do not follow from the counts on record."

    def _public(self, left: list[Entry]) -> Generator[str, None, list[Entry]]:
        """Pass over numbers that are public, and return the rest."""
        while left and left[0]["method"] == "public":
            entry = left.pop(0)
            named = (entry["statistic"], entry["cell"], entry["estimate"])
            if self._facts.selected or named != ("count", {}, self._facts.n):
                yield "A number without a price is not the public number of records."
        return left

    def _size(self, part: Single, first: Entry | None) -> int:
        """Return how many numbers a part makes; 0 where no release makes any with it."""
        cells = part.released_cells
        if cells is None or first is None:
            return 0
        shares = isinstance(part, Counts)
        if not shares or first["statistic"] != "proportion" or self._facts.divides(first):
            return cells
        return 0 if cells % 2 else cells // 2  # those that are equal, and those that are not

    def _of_part(self, part: Single, group: Sequence[Entry]) -> Iterator[str]:
        first = group[0]
        same = {(entry["statistic"], entry["column"], entry["method"]) for entry in group}
        places = {json.dumps(entry["cell"], sort_keys=True) for entry in group}
        resamples = part.n_resamples if isinstance(part, ResampledSums) else None
        if (
            len(same) > 1
            or len(places) < len(group)
            or first["method"] not in part.methods
            or {entry["n_resamples"] for entry in group} != {resamples}
            or not _serves(part, first["statistic"])
        ):
            yield "Its numbers are not of the statistic, the cells or the method of its mechanism."
            return
        yield from self._presence(part, first)
        if any(entry["privacy_error"] is None and entry["reliable"] for entry in group):
            yield "A number is called reliable, and has no error."
        if not all(self._fits(part, entry, len(group)) for entry in group):
            yield "The privacy error beside a number is not that of the noise on record."
        known = [entry["privacy_error"] for entry in group]
        if isinstance(part, CellTotals) and (None in known or not same_worth(part, known)):
            yield "The privacy error beside a number is not that of the noise on record."

    def _presence(self, part: Single, first: Entry) -> Iterator[str]:
        """Yield where a price rests on records whose presence is public, and the record does not say that it is."""
        if isinstance(part, (Moments, JointMoments)):
            public, cells = part.layout.presence == "public", part.layout.cells
        else:
            public, cells = isinstance(part, ResampledRows) and part.presence == "public", 1
        if public and self._certificate.relation is not Relation.REPLACE_ONE:
            yield "Its mechanism takes the presence of every record as public, which add-remove keeps private."
        kept = first["column"] in self._facts.complete or MIDPOINT in (first["note"] or "")
        if isinstance(part, JointMoments):
            # The last of weighted features is the weight, which is 0 where it is missing.
            columns = part.layout.features[:-1] if self._weights is not None else part.layout.features
            kept |= all(feature.missing for feature in columns)
        if public and not kept:
            yield "Its mechanism takes every value as present, and the record says that missing ones were dropped."
        if public and self._facts.selected:
            yield "Its mechanism takes the presence of every record as public, and records are selected by a condition."
        if public and (cells > 1 or first["cell"]) and PUBLIC_MEMBERSHIP not in self._certificate.assumptions:
            yield "Its mechanism takes the cell of every record as public, and the certificate does not say so."

    def _fits(self, part: Single, entry: Entry, cells: int) -> bool:
        if entry["privacy_error"] is None:
            # Only a ratio whose denominator is lost in noise, or replicates that say nothing, have none.
            return not (entry["statistic"] in ("count", "sum") and not self._adjusted) or entry["n_resamples"]
        found = possible_error(part, entry, self._facts)
        if found is None:
            return True
        low, high = found
        if self._adjusted and entry["statistic"] == "count":
            low *= 0.0 if entry["n_resamples"] else (1.0 - 1.0 / cells) ** 0.5
        return bool(low * (1.0 - 1e-9) <= entry["privacy_error"] <= high)


def _numbers_fit(part: JointMoments | Counts, one: Entry, columns: int) -> bool:
    """Whether a record of joint moments has (N, Σf) and Σff' of its features by cell, and nothing else."""
    fields = {"estimates", "functions", "features", "powers", "noise_law", "noise_covariance", "cells"}
    fields |= {"counted"} if isinstance(part, Counts) else set()
    powers = {tuple(power) for power in one["powers"]}
    d = len(powers)
    once = len(one["features"]) == len(one["powers"]) == d and {len(power) for power in powers} <= {columns}
    if set(one) | {"functions"} != fields or not once or one["noise_law"] != part.noise_law.name:
        return False
    for cell in one["cells"]:
        if set(cell) != {"cell", "sums", "second_moments"}:
            return False
        sums, moments = np.array(cell["sums"], dtype=np.float64), np.array(cell["second_moments"], dtype=np.float64)
        # Both triangles are one: in the other there would be room for numbers without a price.
        square = moments.shape == ((d, d) if d else (0,)) and np.allclose(moments, moments.T, rtol=1e-9)
        if sums.shape != (d + 1,) or not square:
            return False
    return True


def _serves(part: Single, statistic: str) -> bool:
    """Whether a release uses a mechanism for a statistic."""
    if isinstance(part, Counts):
        return statistic in ("count", "proportion")
    if isinstance(part, CellTotals):
        return statistic == "sum"
    return statistic in ("mean", "sum") if isinstance(part, Moments) else True
