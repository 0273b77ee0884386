"""One self-contained page of an audit: verdict, pictures, table, mutants, and the record for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.campaign import Campaign
from hedgerow.audit.faults import FaultResult
from hedgerow.audit.verdict import Verdict, exact_delta_lower
from hedgerow.reports.document import Document, Figure, Items, Pairs, Paragraph, RowGroup, Section, TableBlock, render

_POINTS = 120
_HEAD = ("mechanism", "relation", "noise", "δ", "ε at most", "ε at least", "gap", "confidence", "runs", "passes")
_MEANING = (
    "A certificate claims ε at most; an attack that counts outputs on two neighbours certifies ε at least. The audit "
    "passes when the two do not cross."
)


def verdict_page(verdict: Verdict, caught: Sequence[FaultResult]) -> str:
    """Return the page of one mechanism's audit, with the mutants that show what the audit can see.

    >>> from hedgerow.audit.verdict import audit_mechanism
    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> from hedgerow.facts.relation import Relation
    >>> verdict = audit_mechanism(GeometricCounts(1.0, cells=1), Relation.ADD_REMOVE, runs=10_000)
    >>> "<svg" in verdict_page(verdict, ()), "http:" in verdict_page(verdict, ())
    (True, False)
    """
    from hedgerow.plots.figure import as_svg
    from hedgerow.plots.privacy import draw_privacy_curve

    widest = max(1e-3, 1.3 * min(verdict.epsilon_upper, 100.0))
    epsilons = np.linspace(0.0, widest, _POINTS).tolist()
    curve = profile_of(verdict.mechanism, verdict.relation)
    upper = [curve.delta_upper(epsilon) for epsilon in epsilons]
    lower = [_delta_lower(verdict, epsilon) for epsilon in epsilons]
    title = f"{verdict.mechanism.type}, {verdict.relation}"
    picture = Figure(
        as_svg(draw_privacy_curve(epsilons, upper, lower, title=title)),
        "δ against ε, claimed and certified; the table below has the figures.",
        "Above: what the certificate claims. Below: what the attacks certify; it must not cross the other.",
    )
    bounds = f"ε ≤ {verdict.epsilon_upper:.4g} claimed, ε ≥ {verdict.epsilon_lower:.4g} certified"
    return _page(
        f"Audit of {title}",
        f"{'Passed' if verdict.passes else 'FAILED'}: {bounds} at δ = {verdict.delta:.3g}.",
        f"A true certificate fails with probability at most {1.0 - verdict.confidence:.2g}.",
        (_mechanisms(picture, [_row(verdict.mechanism.type, verdict)]), *_mutants(caught)),
        verdict.to_dict(),
    )


def campaign_page(campaign: Campaign) -> str:
    """Return the page of a whole campaign."""
    from hedgerow.plots.figure import as_svg
    from hedgerow.plots.privacy import PrivacyBound, draw_privacy_bounds

    audited = [*campaign.audits, *campaign.released]
    bounds = [
        PrivacyBound(f"{name}, {verdict.relation}", verdict.epsilon_lower, verdict.epsilon_upper)
        for name, verdict in ((audit.specimen.name, audit.verdict) for audit in campaign.audits)
    ]
    picture = Figure(
        as_svg(draw_privacy_bounds(bounds, title="Every mechanism: claimed and certified ε")),
        "Claimed and certified ε of every mechanism; the table below has the figures.",
        "The bar is the claimed ε, the mark the certified one.",
    )
    accepted = [test.accepted for test in campaign.laws]
    notes = [
        f"{sum(accepted)} of {len(accepted)} tests of laws accept.",
        f"{campaign.off_lattice} released numbers lie off their lattice.",
    ]
    if campaign.replay is not None:
        replay = campaign.replay
        notes.append(
            f"{replay.replays:,} replays of {replay.pairs} pairs of neighbours: {len(replay.divergences)} divergences; "
            f"the largest movement is {replay.largest_excess:.6g} of the declared sensitivity."
        )
    notes += [f"Not done in time: {what}." for what in campaign.left_out]
    rejected = sum(fault.rejection.rejected for fault in campaign.caught)
    return _page(
        "Audit campaign",
        f"{'Passed' if campaign.passes else 'FAILED'}: {sum(audit.verdict.passes for audit in audited)} of "
        f"{len(audited)} audits pass, {rejected} of {len(campaign.caught)} mutants are rejected.",
        f"A correct library fails with probability at most {campaign.false_alarm:.2g}.",
        (
            _mechanisms(picture, [_row(audit.specimen.name, audit.verdict) for audit in audited]),
            *_mutants(campaign.caught),
            Section("notes", "Laws, lattice, replay", (Items(tuple(notes)),)),
        ),
        campaign.to_dict(),
    )


def _delta_lower(verdict: Verdict, epsilon: float) -> float:
    attacked = max(attack.delta_lower(epsilon) for attack in verdict.attacks)
    return max(attacked, exact_delta_lower(verdict.mechanism, verdict.relation, epsilon) or 0.0)


def _mutants(caught: Sequence[FaultResult]) -> tuple[Section, ...]:
    if not caught:
        return ()
    listed = tuple(
        (
            fault.mutant.name,
            f"{fault.mutant.broken} ({fault.mutant.layer}). "
            + ("Rejected: " if fault.rejection.rejected else "ACCEPTED, so the audit is blind: ")
            + fault.rejection.evidence,
        )
        for fault in caught
    )
    said = Paragraph("Releases broken on purpose. An audit that accepts one of them is blind.")
    return (Section("mutants", "Mutants", (said, *_mutant_picture(caught), Pairs(listed))),)


def _mutant_picture(caught: Sequence[FaultResult]) -> tuple[Figure, ...]:
    from hedgerow.plots.figure import as_svg
    from hedgerow.plots.privacy import PrivacyBound, draw_privacy_bounds

    bounds = [
        PrivacyBound(fault.mutant.name, fault.rejection.epsilon_lower, fault.rejection.epsilon_upper)
        for fault in caught
        if fault.rejection.epsilon_lower is not None and fault.rejection.epsilon_upper is not None
    ]
    if not bounds:
        return ()
    return (
        Figure(
            as_svg(draw_privacy_bounds(bounds, title="Mutants rejected by their outputs")),
            "Claimed and certified ε of the mutants; the list below says what was found.",
            "A mark beyond its bar refutes the claim.",
        ),
    )


def _row(name: str, verdict: Verdict) -> tuple[str, ...]:
    return (
        name,
        str(verdict.relation),
        verdict.source,
        f"{verdict.delta:.3g}",
        f"{verdict.epsilon_upper:.4f}",
        f"{verdict.epsilon_lower:.4f}",
        f"{verdict.gap:.4f}",
        f"1 − {1.0 - verdict.confidence:.2g}",
        f"{verdict.runs:,}",
        "yes" if verdict.passes else "NO",
    )


def _mechanisms(picture: Figure, rows: Sequence[tuple[str, ...]]) -> Section:
    caption = "δ, claimed and certified ε, and what lies between."
    table = TableBlock(caption, _HEAD, (RowGroup(tuple(rows)),), numeric=True, stacked=True)
    return Section("mechanisms", "Mechanisms", (picture, table))


def _page(title: str, verdict: str, alarm: str, sections: Sequence[Section], record: dict[str, Any]) -> str:
    """Return a page; a failure stands out."""
    failed = verdict.startswith("FAILED")
    opening = (*((Paragraph(verdict, "warning"),) if failed else ()), Paragraph(f"{_MEANING} {alarm}"))
    foot = "The whole record is in this file as JSON, in the element of id “record”."
    return render(Document(title, "" if failed else verdict, opening, tuple(sections), foot, record))
