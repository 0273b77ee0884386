"""A release as a page: what was released, how sure it is, what was protected, and the record to check it by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hedgerow.accounting.profile import Profile
from hedgerow.facts.printed import at_most_percent, percent
from hedgerow.inference.estimate import parse_level
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.release.result.write_file import write_lines
from hedgerow.reports.declared_facts import declared_facts
from hedgerow.reports.document import (
    Answers,
    Block,
    Document,
    Figure,
    Items,
    Pairs,
    Paragraph,
    RowGroup,
    Section,
    Table,
)
from hedgerow.reports.estimates import estimates_figures, estimates_table
from hedgerow.reports.protection import Protection, protection_of
from hedgerow.reports.summary import covered, how_sure, source_name, what_was_released

if TYPE_CHECKING:
    from hedgerow.facts.declared import Facts
    from hedgerow.release.result.result import Release

REPORT = "report.html"
_CURVE_POINTS = 160
_SIMULATED = "SIMULATED. The noise was seeded, for a study: these numbers are not private, and have no certificate."
_NO_LEDGER = "None was kept: nothing here tells which other releases were made from the same data."


class _Folder(Protocol):
    """A folder with one beside it where files are made whole before they are moved to their names."""

    @property
    def path(self) -> Path: ...
    @property
    def staging(self) -> Path: ...


def write_report(
    release: Release,
    path: str | Path,
    *,
    level: float = 0.95,
    facts: Facts | None = None,
    ledger_head: str | None = None,
) -> None:
    """Write a release as one HTML file that fetches and runs nothing. Post-processing: it costs no budget.

    Parameters
    ----------
    release : Release
    path : path
        Written over where it exists.
    level : float
        Of the intervals.
    facts : Facts, optional
        The custodian's facts: those of the columns that the release names are listed with their sources.
    ledger_head : str, optional
        The head of the ledger that holds this release.

    Raises
    ------
    ParameterError
        HG110 for the level; HG504: the file cannot be written.

    Examples
    --------
    >>> import tempfile, hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> page = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(survey.mean("age", bounds=(0, 100), epsilon=1.0), page)
    >>> "<h1>" in page.read_text(encoding="utf-8")
    True
    """
    text = report_html(release, level=level, facts=facts, ledger_head=ledger_head)
    write_lines(path, [text], code="HG504")


def add_report(
    release: Release,
    folder: _Folder,
    *,
    level: float = 0.95,
    facts: Facts | None = None,
    ledger_head: str | None = None,
) -> tuple[str, ...]:
    """Write ``report.html`` into a release's folder, made apart and then moved; return its name."""
    write_report(release, folder.staging / REPORT, level=level, facts=facts, ledger_head=ledger_head)
    (folder.staging / REPORT).replace(folder.path / REPORT)
    return (REPORT,)


def report_html(
    release: Release,
    *,
    level: float = 0.95,
    facts: Facts | None = None,
    ledger_head: str | None = None,
) -> str:
    """Return the page that `write_report` writes."""
    from hedgerow.reports.html import render

    return render(release_document(release, level=level, facts=facts, ledger_head=ledger_head))


def release_document(
    release: Release,
    *,
    level: float = 0.95,
    facts: Facts | None = None,
    ledger_head: str | None = None,
) -> Document:
    """Return a release as a tree of blocks. The certificate is priced anew for the curve and what follows from it."""
    level = parse_level(level)
    certificate = release.certificate
    curve = certificate.reprice() if certificate is not None else None
    told = protection_of(certificate, curve) if certificate is not None and curve is not None else None
    return Document(
        title=f"Private statistics of {source_name(release)}",
        lead=what_was_released(release),
        opening=_opening(release, level, told),
        sections=(
            _estimates(release, level),
            _protected(certificate, curve, told),
            declared_facts(release, facts),
            _made(release, certificate, ledger_head),
        ),
        record=release.to_dict(level),
    )


def _opening(release: Release, level: float, told: Protection | None) -> tuple[Block, ...]:
    protected = (told.who, told.attack, f"Price: {told.price}.") if told is not None else (_SIMULATED,)
    answers = Answers(
        (
            ("How sure is it?", how_sure(release, level)),
            ("What was protected?", protected),
        )
    )
    return (answers,) if told is not None else (Paragraph(_SIMULATED, "warning"), answers)


def _estimates(release: Release, level: float) -> Section:
    notes = tuple(dict.fromkeys([estimate.note for estimate in release if estimate.note] + list(release.notes)))
    blocks: list[Block] = [estimates_table(release, level)]
    if notes:
        blocks.append(Items(notes))
    if len(release):
        blocks += estimates_figures(release, level)
    blocks.append(Items(covered(release), title="What the intervals are about"))
    return Section("estimates", "Estimates", tuple(blocks))


def _protected(certificate: Certificate | None, curve: Profile | None, told: Protection | None) -> Section:
    title = "Who is protected against what"
    if certificate is None or curve is None or told is None:
        return Section("protection", title, (Paragraph(_SIMULATED),))
    hits = tuple((percent(alarms), at_most_percent(upper)) for alarms, upper in told.hits_upper)
    return Section(
        "protection",
        title,
        (
            Pairs(
                (
                    ("Who", told.who),
                    ("Against whom", told.against),
                    ("The promise", told.promise),
                    ("In plain words", told.attack),
                    ("Price", f"{told.price}. Smaller is stronger; both are upper bounds."),
                )
            ),
            Table(
                caption="An attacker who accuses: how often it can be right, for how often it is wrong. A guess "
                "without the release is as often right as wrong.",
                head=("wrong accusations", "right ones, at most"),
                groups=(RowGroup(hits),),
                numeric=True,
            ),
            *_curve_figure(certificate, curve),
            Items(told.assumptions, title="What this rests on"),
            Items(told.not_covered, title="What it does not cover"),
        ),
    )


def _curve_figure(certificate: Certificate, curve: Profile) -> tuple[Figure, ...]:
    from hedgerow.plots.privacy import as_svg, draw_epsilon_of_delta

    least = max(1e-12, certificate.delta / 1e4)
    widest = min(curve.epsilon_upper(least), 4.0 * certificate.epsilon + 1.0)
    epsilons = np.linspace(0.0, widest, _CURVE_POINTS).tolist()
    deltas = [curve.delta_upper(epsilon) for epsilon in epsilons]
    if not sum(delta > 0.0 for delta in deltas) > 0.0:
        return ()
    drawn = draw_epsilon_of_delta(epsilons, deltas, stated=(certificate.epsilon, certificate.delta))
    points = "; ".join(f"ε = {point.epsilon:.3g} at δ = {point.delta:.3g}" for point in certificate.profile)
    return (
        Figure(
            svg=as_svg(drawn),
            alt=f"The privacy curve: ε falls as δ grows. On it or above it lie {points}.",
            caption="The privacy curve ε(δ). One mechanism keeps many promises at once: every pair in the shaded part "
            "holds. ε bounds how many times likelier an outcome may become, δ is what may be added.",
        ),
    )


def _made(release: Release, certificate: Certificate | None, ledger_head: str | None) -> Section:
    versions = ", ".join(f"{name} {found}" for name, found in certificate.versions.items()) if certificate else "–"
    methods = tuple(
        (f"Method: {method}", f"{reason[0].upper()}{reason[1:]}.") for method, reason in release.reasons.items()
    )
    check = (
        "This file holds the whole record as JSON, in the element of id “record”. hedgerow verify report.html prices "
        "the mechanism anew from it, off-line, and says whether the stated price holds."
    )
    entries = (*methods, ("Versions", versions), ("Ledger", ledger_head or _NO_LEDGER), ("Check it", check))
    return Section("record", "How it was made, and how to check it", (Pairs(entries),))
