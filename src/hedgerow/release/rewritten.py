"""A release, written again from its record: from what was asked, the noisy tables and the mechanism."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Target
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import Estimates
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.combine import combine, joined
from hedgerow.release.designs.design import covers, noise_on_record
from hedgerow.release.execute import public_count
from hedgerow.release.many_cells import NOT_LISTED
from hedgerow.release.plan import Plan
from hedgerow.release.record import (
    NOISE_OF_NUMBERS,
    Record,
    RecordedFacts,
    RecordKind,
    Rewritten,
    joint_values,
    plan_of,
    request_of,
    statistics_in_words,
    tables_of,
)
from hedgerow.release.result import Release, recorded_estimate, release_of
from hedgerow.release.spend import receipts

OF_THE_CUSTODIAN = ("release.source", "release.date", "release.about.**", "release.derived.**")
"""What the custodian alone knows: the name of a derived column need not tell its expression."""
_OF_CODE = (
    *("estimate", "sampling_error", "bootstrap_error", "privacy_error", "reliable", "note", "replicates"),
    *("replicates.*", "confidence_interval.low", "confidence_interval.high", "confidence_interval.method"),
)
"""Of the estimate of a function whose code is not on record."""
_NOT_ANSWERED = "Not answered: "


def rewritten_release(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record as a release writes it from what was asked, the noisy tables and the mechanism."""
    for name, together in _OF_SEVERAL.items():
        if name in record:
            return _several(record, name, together)
    if "request" not in record and "reading" not in record:
        return _earlier(record)
    release, plan = reread(record, certificate)
    written = release.to_dict(level_of(record))
    for stated, computed in zip(record.get("joint", ()), written.get("joint", ()), strict=True):
        joint = release[computed["estimates"][0]]._joint
        if "noise_covariance" in stated and isinstance(joint, JointValue):
            # Early records hold the matrix of any number of moments.
            (totals,) = joint.releases
            computed["noise_covariance"] = noise_on_record(totals)
        # The tangent of a function stands for its code.
        for function, other in zip(stated.get("functions", ()), computed["functions"], strict=True):
            if other["function"]["type"] == "tangent":
                other["function"] = function["function"]
    return Rewritten(written, _unchecked(plan), certified=certified_by(plan), narrowed=plan.narrowed())


def _unchecked(plan: Plan) -> tuple[str, ...]:
    """Return the fields of the record of a plan that are copied."""
    own = [place for places, item in plan.places() if item.statistic.is_of_ones_own for place in places]
    copied = [f"estimates.{place}.{name}" for place in own for name in _OF_CODE]
    totals = ("joint.*.cells.**", "joint.*.functions.*.function.**")
    of_code = (*totals, "request.statistics.**", "noisy.*.values.*", *NOISE_OF_NUMBERS) if own else ()
    return (*OF_THE_CUSTODIAN, "release.methods.*", *copied, *_halved_steps(plan), *_unread(plan), *of_code)


def _unread(plan: Plan) -> Iterator[str]:
    """Yield the noisy numbers that no answer uses."""
    drawn = {id(item.design.drawn): item for item in plan.items if item.design and item.design.kept_in == "noisy"}
    for at, item in enumerate(drawn.values()):
        if item.design is not None and item.mechanism is not None:
            numbers = len(item.design.added_up(item.mechanism))
            for place in item.design.unread(item.mechanism):
                yield from (f"noisy.{at}.values.{cell * numbers + place}" for cell in range(plan.cells))


def _halved_steps(plan: Plan) -> Iterator[str]:
    """Yield where an odd number of steps stands whose double gives the same release, or the double itself.

    If missing values count as the midpoint, a grid of an odd number of steps is divided once more.
    """
    for places, item in plan.places():
        halved = item.design is not None and item.design.missing is Missing.MIDPOINT
        if halved and any(grid.with_midpoint().steps % 4 == 2 for _, grid in item.statistic.grids):
            yield from (f"request.statistics.{place}.grid.2" for place in places)


def reread(record: Record, certificate: Certificate) -> tuple[Release, Plan]:
    """Return the release of a record, with intervals at any level, and its plan.

    Raises
    ------
    KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, HedgerowError
        It is no such record.
    """
    request, about = request_of(record), record["release"]
    plan = plan_of(record, certificate, request)
    tables = tables_of(record, plan)
    estimates = Estimates(_estimates(record, certificate, plan, tables))
    release = Release._of(
        plan,
        tables,
        certificate,
        source=about["source"],
        backend=None,
        date=about.get("date"),
        about=about.get("about"),
        estimates=estimates,
    )
    reasons = {name: about["methods"].get(name, "") for name in release.reasons}
    release = replace(release, reasons=reasons, notes=with_receipts(release.notes, about["notes"]))
    return release._answering(*(answer["expression"] for answer in record.get("asked", ()))), plan


def _estimates(
    record: Record, certificate: Certificate, plan: Plan, tables: Sequence[AdditiveTable | None]
) -> Iterator[Sequence[Estimate]]:
    """Yield the estimates of each statistic: read from its table, or copied where its code is not on record."""
    about = record["release"]
    facts = RecordedFacts(about["n"], about["target"] == str(Target.FILE))
    known = joint_values(record.get("joint", ()), certificate.mechanism, facts)
    for (places, item), table in zip(plan.places(), tables, strict=True):
        if item.design is None or table is None:
            yield (public_count(plan.facts, item.statistic.name),)
        elif not item.statistic.is_of_ones_own:
            yield item.design.estimates(table)
        else:
            copied = [recorded_estimate(record["estimates"][place], known.get(place)) for place in places]
            yield tuple(
                replace(
                    _by_tangent(estimate),
                    statistic=item.statistic.name,
                    column=item.statistic.column,
                    cell=cell,
                    method=item.design.method,
                    n_resamples=item.design.n_resamples,
                    covers=covers(item.statistic, plan.facts),
                )
                for estimate, cell in zip(copied, table.cells, strict=True)
            )


def _by_tangent(estimate: Estimate) -> Estimate:
    """Return an estimate of a function of one's own with the value of its tangent, where the record has one."""
    tangent = estimate._joint
    if tangent is None or not estimate.reliable:
        return estimate
    return replace(estimate, estimate=min(max(tangent.estimate, tangent.low), tangent.high))


def level_of(record: Record) -> float:
    """Return the level of the intervals of a record."""
    if NOT_LISTED in record:
        return float(record[NOT_LISTED]["level"])
    return float(record["estimates"][0]["confidence_interval"]["level"])


def with_receipts(notes: Sequence[str], stated: Sequence[str]) -> tuple[str, ...]:
    """Return notes with those of a record that say what became of its price, or what was not answered."""
    receipts_and_answers = [
        note for note in stated[len(notes) :] if note in receipts() or note.startswith(_NOT_ANSWERED)
    ]
    return (*notes, *receipts_and_answers)


def certified_by(plan: Plan) -> dict[str, Any]:
    """Return what the certificate of a plan says beside its price."""
    facts = plan.facts
    return {"relation": str(facts.relation), "unit": str(facts.unit), "assumptions": list(plan.assumptions())}


_OF_SEVERAL: dict[str, Callable[[Sequence[Release]], Release]] = {"pooled": combine, "joined": joined}


def _several(record: Record, name: str, together: Callable[[Sequence[Release]], Release]) -> Rewritten:
    """Return the record of several releases: each is read again, and they are put together again."""
    releases, unchecked, level = [], list[str](), level_of(record)
    for at, part in enumerate(record[name]):
        release, plan = reread(part, Certificate.from_dict(part["certificate"]))
        releases.append(release)
        unchecked += [f"{name}.{at}.{field}" for field in (*_unchecked(plan), "certificate.versions.*")]
    made = together(releases)
    made = replace(made, notes=with_receipts(made.notes, record["release"]["notes"]))
    written = {**made.to_dict(level), name: [release.to_dict(level) for release in releases]}
    assert made.certificate is not None  # each of them has one
    stated = made.certificate.to_dict()
    certified = {field: stated[field] for field in ("mechanism", "relation", "unit", "delta", "assumptions")}
    return Rewritten(written, (*OF_THE_CUSTODIAN, *unchecked), certified=certified)


def _earlier(record: Record) -> Rewritten:
    """Return a record of an earlier version, which holds neither what was asked nor what was drawn."""
    about = record["release"]
    written = release_of(record).to_dict(level_of(record))
    certified = {"relation": about["relation"], "unit": about["unit"]}
    whole = ("release.**", "estimates.**", "asked.**", "joint.**", "distributions.**")
    return Rewritten(written, whole, certified=certified)


RECORD = RecordKind("a release", "estimates", rewritten_release, statistics_in_words)
