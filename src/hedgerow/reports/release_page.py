"""A release as a page: what was released, how sure it is, what was protected, and the record to check it by."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hedgerow.accounting.profile import Profile
from hedgerow.facts.columns import Category
from hedgerow.facts.printed import at_most_percent, decimals, joined, number, percent, plural
from hedgerow.inference.estimate import Estimate, said_once
from hedgerow.inference.interval import parse_level
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.release.distributions import ColumnDistribution, Picture, statistic_of
from hedgerow.release.publication.write_file import write_lines
from hedgerow.release.result import Release
from hedgerow.reports.document import (
    PRICE,
    Block,
    Document,
    Figure,
    Items,
    Pairs,
    Paragraph,
    ReaderQuestions,
    RowGroup,
    Section,
    Shown,
    TableBlock,
    render,
)
from hedgerow.reports.protection import EXACT_NOISE, ProtectionText, protection_of
from hedgerow.reports.survival_section import survival_sections
from hedgerow.statistics.distribution.gini import Gini
from hedgerow.statistics.distribution.histogram import Bin
from hedgerow.statistics.distribution.lorenz import Lorenz

if TYPE_CHECKING:
    from hedgerow.facts.declared import Facts

REPORT = "report.html"
_CURVE_POINTS = 160
_PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
_LISTED, _DRAWN = 24, 6  # of the distributions of a release, those in the table and those with pictures
_SIMULATED = "SIMULATED. The noise was seeded, for a study: these numbers are not private, and have no certificate."
_NO_LEDGER = "None was kept: nothing here tells which other releases were made from the same data."
_NO_SOURCE = "NO SOURCE GIVEN"
_MISSING = {
    "drop": "left out: a mean is over the records that have a value",
    "midpoint": "counted as the midpoint of the bounds",
    "error-if-declared-complete": "declared not to occur",
}


class _Folder(Protocol):
    """A folder whose files are made whole before they get their names."""

    def put(self, texts: Mapping[str, str]) -> tuple[str, ...]: ...


def write_report(
    release: Release,
    path: str | Path,
    *,
    level: float = 0.95,
    facts: Facts | None = None,
    ledger_head: str | None = None,
) -> None:
    """Write a release as one HTML file that fetches and runs nothing.

    A confidence interval is computed from released numbers and costs no budget.

    Parameters
    ----------
    release : Release
    path : path
        Written over where it exists.
    level : float
        The confidence level of the intervals.
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
    """Write ``report.html`` into a release's folder, made apart and then moved; return its name.

    No page shows more than 100,000 cells: then there is none.
    """
    if release._large:
        return ()
    return folder.put({REPORT: report_html(release, level=level, facts=facts, ledger_head=ledger_head)})


def report_html(
    release: Release,
    *,
    level: float = 0.95,
    facts: Facts | None = None,
    ledger_head: str | None = None,
) -> str:
    """Return the page that `write_report` writes."""
    return render(release_document(release, level=level, facts=facts, ledger_head=ledger_head))


def release_document(
    release: Release,
    *,
    level: float = 0.95,
    facts: Facts | None = None,
    ledger_head: str | None = None,
) -> Document:
    """Return a release as a tree of blocks. Its privacy curve is recomputed from the certificate."""
    level = parse_level(level)
    certificate = release.certificate
    curve = certificate.reprice() if certificate is not None else None
    protection = protection_of(certificate, curve) if certificate is not None and curve is not None else None
    return Document(
        title=f"Private statistics of {source_name(release)}",
        lead=what_was_released(release),
        opening=_opening(release, level, protection),
        sections=(
            _estimates(release, level),
            *_distributions(release, level),
            *survival_sections(release, level),
            *_asked(release, level),
            protected_section(certificate, curve, protection),
            declared_facts(release, facts),
            *about_section(release),
            record_section(release.reasons, certificate, ledger_head),
        ),
        record=release.to_dict(level),
    )


def _opening(release: Release, level: float, protection: ProtectionText | None) -> tuple[Block, ...]:
    protected = (protection.who, protection.attack, price_line(protection)) if protection is not None else (_SIMULATED,)
    answers = ReaderQuestions(
        (
            ("How sure is it?", how_sure(release, level)),
            ("What was protected?", protected),
        )
    )
    return (answers,) if protection is not None else (Paragraph(_SIMULATED, "warning"), answers)


def price_line(protection: ProtectionText) -> Shown:
    """Return the price in a line, with its fields."""
    return Shown.of(f"Price: {protection.price}.", *PRICE)


def _estimates(release: Release, level: float) -> Section:
    notes = tuple(said_once([*(estimate.note for estimate in release), *release.notes]))
    blocks: list[Block] = [estimates_table(release, level)]
    if notes:
        blocks.append(Items(notes))
    if len(release):
        blocks += estimates_figures(release, level)
    blocks.append(Items(covered(release), title="What the intervals are about"))
    return Section("estimates", "Estimates", tuple(blocks))


def _distributions(release: Release, level: float) -> tuple[Section, ...]:
    """Return a section of the distributions that were released: quantiles of each, and a picture."""
    every = release._all_distributions()
    if not every:
        return ()
    rows = {
        f"{distribution.column}{distribution.cell_in_words}": tuple(
            (f"{probability:g}", *_row(distribution.quantile(probability), level, resampled=False)[1:])
            for probability in _PROBABILITIES
        )
        for distribution in every[:_LISTED]
    }
    table = TableBlock(
        caption=f"Quantiles with {percent(level)} intervals, each by itself: at most this share of the records lies "
        "below. All is read from the same counts as the estimates above, and costs nothing more.",
        head=("share", *estimate_head(level, resampled=False)[1:]),
        groups=tuple(RowGroup(each, name) for name, each in rows.items()),
        numeric=True,
        stacked=True,
    )
    pictures = [figure for distribution in every[:_DRAWN] for figure in _pictures(release, distribution, level)]
    left = f"{plural(len(every), 'distribution')} were released. The first {_LISTED} are listed, {_DRAWN} drawn."
    said = (Paragraph(left),) if len(every) > _DRAWN else ()
    columns = joined(list(dict.fromkeys(distribution.column for distribution in every)))
    return (Section("distributions", f"The distribution of {columns}", (table, *said, *pictures)),)


def _pictures(release: Release, whole: ColumnDistribution, level: float) -> Iterator[Figure]:
    """Yield the distribution function, and of what was asked for the histogram and the Lorenz curve."""
    from hedgerow.plots.figure import as_svg

    name = f"{whole.column}{whole.cell_in_words}"
    grid = whole.reading.leaves.grid
    asked = {row.statistic for row in release if (row.method, row.column) == ("distribution", whole.column)}
    own = [statistic_of(asked_for, whole.column, grid) for asked_for in asked]
    bins = sorted({end for statistic in own if isinstance(statistic, Bin) for end in (statistic.low, statistic.high)})
    unequal = any(isinstance(statistic, (Gini, Lorenz)) for statistic in own)
    said = {
        "cdf": f"The distribution function. Pale: a band that holds all of it at once, with {percent(level)} chance.",
        "histogram": f"The histogram. Each bar has its {percent(level)} interval.",
        "lorenz": f"The Lorenz curve. Pale: the {percent(level)} interval of each of its points.",
    }
    kinds: list[Picture] = ["cdf"]
    if bins:
        kinds.append("histogram")
    if unequal:
        kinds.append("lorenz")
    for kind in kinds:
        yield Figure(
            svg=as_svg(whole.plot(kind=kind, bins=bins or None, level=level)),
            alt=f"{name}: {said[kind]}",
            caption=f"{name}. {said[kind]}",
        )


def _asked(release: Release, level: float) -> tuple[Section, ...]:
    """Return a section of what was asked of the estimates, where anything was."""
    if not release.answers:
        return ()
    answers = tuple(release.answers.values())
    resampled = any(answer.bootstrap_error for answer in answers)
    rows = tuple(
        (text, *_row(answer, level, resampled=resampled, place=f"asked.{at}")[1:])
        for at, (text, answer) in enumerate(release.answers.items())
    )
    notes = tuple(said_once(answer.note for answer in answers))
    table = TableBlock(
        caption="Expressions of the estimates above. The errors are those of the whole expression, with the "
        "correlations of its terms.",
        head=("expression", *estimate_head(level, resampled=resampled)[1:]),
        groups=(RowGroup(rows),),
        numeric=True,
        stacked=True,
    )
    remarks = (Items(notes),) if notes else ()
    about = Items(covered(answers), title="What these intervals are about")
    return (Section("asked", "Computed from the estimates", (table, *remarks, about)),)


def certified_page(
    title: str,
    lead: str,
    answer: Section,
    certificate: Certificate,
    ledger_head: str | None,
    record: Mapping[str, Any],
) -> str:
    """Return the page of a product that has one answer: the answer, who was protected, and the record."""
    from hedgerow.reports.document import render

    curve = certificate.reprice()
    protection = protection_of(certificate, curve)
    opening = ReaderQuestions((("What was protected?", (protection.who, protection.attack, price_line(protection))),))
    protected, checked = protected_section(certificate, curve, protection), record_section({}, certificate, ledger_head)
    return render(Document(title, lead, (opening,), (answer, protected, checked), record=record))


def protected_section(
    certificate: Certificate | None, curve: Profile | None, protection: ProtectionText | None
) -> Section:
    """Return who is protected against what; without a certificate, that nobody is."""
    title = "Who is protected against what"
    if certificate is None or curve is None or protection is None:
        return Section("protection", title, (Paragraph(_SIMULATED),))
    hits = tuple((percent(alarms), at_most_percent(upper)) for alarms, upper in protection.hits_upper)
    return Section(
        "protection",
        title,
        (
            Pairs(
                (
                    ("Who", protection.who),
                    ("Against whom", protection.against),
                    ("The promise", protection.promise),
                    ("In plain words", protection.attack),
                    ("Price", Shown.of(f"{protection.price}. Smaller is stronger; both are upper bounds.", *PRICE)),
                    *(("Also", line) for line in protection.bounds),
                )
            ),
            TableBlock(
                caption="An attacker who accuses: how often it can be right, for how often it is wrong. A guess "
                "without the release is as often right as wrong.",
                head=("wrong accusations", "right ones, at most"),
                groups=(RowGroup(hits),),
                numeric=True,
            ),
            *_curve_figure(certificate, curve),
            Items(protection.assumptions, title="What this rests on"),
            Items(protection.not_covered, title="What it does not cover"),
            Paragraph(EXACT_NOISE, "quiet"),
        ),
    )


def _curve_figure(certificate: Certificate, curve: Profile) -> tuple[Figure, ...]:
    from hedgerow.plots.figure import as_svg
    from hedgerow.plots.privacy import draw_epsilon_of_delta

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


def record_section(reasons: Mapping[str, str], certificate: Certificate | None, ledger_head: str | None) -> Section:
    """Return how a result was made, by which methods and why, and how to check its record."""
    versions = ", ".join(f"{name} {version}" for name, version in certificate.versions.items()) if certificate else "–"
    methods = tuple((f"Method: {method}", f"{reason[0].upper()}{reason[1:]}.") for method, reason in reasons.items())
    check = (
        "This file holds the whole record as JSON, in the element of id “record”. hedgerow verify report.html prices "
        "the mechanism anew from it, off-line, and says whether the stated price holds."
    )
    entries = (*methods, ("Versions", versions), ("Ledger", ledger_head or _NO_LEDGER), ("Check it", check))
    return Section("record", "How it was made, and how to check it", (Pairs(entries),))


def source_name(release: Release) -> str:
    """Return the source without the folders that it lies in, which say more about a machine than about data.

    >>> import hedgerow as hg, pyarrow
    >>> source_name(hg.open(pyarrow.table({"age": [30.0]}), relation="add-remove").count(epsilon=1.0))
    'pyarrow.Table'
    """
    parts = [part for part in re.split(r"[/\\]", release.source) if part]
    return parts[-1] if parts else release.source


def what_was_released(release: Release) -> str:
    """Return one sentence: how many numbers, of what, by what, from what.

    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> what_was_released(survey.mean("age", bounds=(0, 100), epsilon=1.0))
    '1 number was computed from pyarrow.Table (1,000 records): the mean of age.'
    """
    size = "" if release.n is None else f" ({plural(release.n, 'record')})"
    things = joined([f"the {name}" for name in dict.fromkeys(estimate._subject() for estimate in release)])
    groupings = list(dict.fromkeys(tuple(estimate.cell) for estimate in release))
    phrases = [f"by {joined(grouping)}" if grouping else "overall" for grouping in groupings]
    by = "" if phrases == ["overall"] else f", {joined(phrases)}"
    verb = "was" if len(release) == 1 else "were"
    return f"{plural(len(release), 'number')} {verb} computed from {source_name(release)}{size}: {things}{by}."


def how_sure(release: Release, level: float) -> tuple[str, ...]:
    """Return sentences: what an interval promises, what privacy noise adds to it, which numbers are lost in it."""
    said = [
        f"Each number has an interval around it. {percent(level)} of such intervals, over many releases like this one, "
        "hold the value that they are about."
    ]
    added = [share for estimate in release if (share := _added(estimate)) is not None]
    if added:
        middle = "" if len(added) == 1 else f", in the median by {at_most_percent(median(added))}"
        said.append(
            f"Privacy noise makes the standard errors larger: by {at_most_percent(max(added))} at most{middle}."
        )
    elif any(estimate.privacy_error for estimate in release):
        said.append("All of the uncertainty is privacy noise: no sampling is counted.")
    lost = sum(not estimate.reliable for estimate in release)
    if lost:
        verb = "is" if lost == 1 else "are"
        said.append(f"{lost:,} of {plural(len(release), 'number')} {verb} marked as not reliable: noise drowns them.")
    return tuple(said)


def covered(estimates: Sequence[Estimate]) -> tuple[str, ...]:
    """Return what each kind of interval is about, once each, as sentences."""
    texts = dict.fromkeys(estimate.covers for estimate in estimates if estimate.covers)
    return tuple(f"{text[0].upper()}{text[1:]}." for text in texts)


def _added(estimate: Estimate) -> float | None:
    """Return by what share protection makes a standard error larger; None where there is nothing to compare."""
    error, sampling = estimate.standard_error, estimate.sampling_error
    if error is None or not sampling or not estimate.reliable or not math.isfinite(error / sampling):
        return None
    return error / sampling - 1.0


def estimates_table(release: Release, level: float) -> TableBlock:
    """Return a row for each estimate: cell, estimate, errors and their parts, interval, reliability.

    Each row is rounded to two digits of its own standard error; a column for resampling is there where it is used.
    """
    resampled = any(estimate.bootstrap_error for estimate in release)
    groups: dict[str, list[tuple[str, ...]]] = {}
    for at, estimate in enumerate(release):
        row = _row(estimate, level, resampled=resampled, place=f"estimates.{at}")
        groups.setdefault(estimate._subject(), []).append(row)
    return TableBlock(
        caption=f"Estimates with standard errors and {percent(level)} intervals. A standard error is the root of the "
        "sum of the squares of its parts.",
        head=estimate_head(level, resampled=resampled),
        groups=tuple(RowGroup(tuple(rows), name) for name, rows in groups.items()),
        numeric=True,
        stacked=True,
    )


def estimate_head(level: float, *, resampled: bool) -> tuple[str, ...]:
    """Return the headings of a table of estimates, the first of them of what is estimated."""
    parts = ("sampling", *(("resampling",) if resampled else ()), "privacy noise")
    return ("cell", "estimate", "standard error", *parts, f"{percent(level)} interval", "reliable")


def estimates_figures(release: Release, level: float) -> tuple[Figure, ...]:
    """Return a figure for each statistic: error bars of the interval and of its privacy part, and the same in words.

    Each has a scale of its own, and each fits a printed page by itself.
    """
    from hedgerow.plots.bars import ErrorBar, draw_error_bars
    from hedgerow.plots.figure import as_svg

    panels: dict[str, list[ErrorBar]] = {}
    for bar, estimate in zip(release._error_bars(level), release, strict=True):
        # A distribution of one cell has pictures of its own: what is read from it is not drawn number by number.
        if estimate.cell or estimate.method != "distribution":
            panels.setdefault(bar.panel, []).append(bar)
    return tuple(
        Figure(
            svg=as_svg(draw_error_bars(bars, level=level)),
            alt=f"Error bars of {name}, {plural(len(bars), 'estimate')}; the table above has the same numbers.",
            caption=f"{name[:1].upper()}{name[1:]}. Pale: the whole {percent(level)} interval, of sampling and privacy "
            "together. Full: the part that privacy noise alone would leave.",
        )
        for name, bars in panels.items()
    )


def _row(estimate: Estimate, level: float, *, resampled: bool, place: str = "") -> tuple[str, ...]:
    """Return a line of a table of estimates; `place` is the path of the estimate on record, where it has one."""
    interval = estimate.confidence_interval(level)
    # Without a standard error the width of the interval says how many digits mean anything.
    places = decimals(estimate.standard_error or (interval.high - interval.low) / 4.0)
    interval = interval if places is None else interval.outward(places)
    shown = {
        "estimate": estimate.estimate,
        "standard_error": estimate.standard_error,
        "sampling_error": estimate.sampling_error,
        **({"bootstrap_error": estimate.bootstrap_error} if resampled else {}),
        "privacy_error": estimate.privacy_error,
    }
    return (
        estimate._cell_in_words() or "all",
        *(_of_record(number(value, places), place, name) for name, value in shown.items()),
        ends_shown(f"{number(interval.low, places)} to {number(interval.high, places)}", place),
        "yes" if estimate.reliable else "NO",
    )


def _of_record(text: str, place: str, name: str) -> str:
    return Shown.of(text, f"{place}.{name}") if place else text


def ends_shown(text: str, place: str) -> str:
    """Return the ends of an interval, with their fields where the estimate has a path on record."""
    name = f"{place}.confidence_interval"
    return Shown.of(text, f"{name}.low", f"{name}.high") if place else text


def _weights(weights: Mapping[str, Any] | None) -> Iterator[tuple[str, str, str]]:
    if weights is not None:
        clamped = f"column {weights['column']}, clamped to [0, {weights['most']:.15g}]; none counts as 0"
        yield "weights", clamped, "the request"


def declared_facts(release: Release, facts: Facts | None) -> Section:
    """Return the public facts of a release with their sources; with a custodian's facts, those of its columns too."""
    stated = "the request" if facts is None else "the request or the facts"
    size = Shown.of(number(release.n), "release.n")
    rows = [
        ("source", source_name(release), stated),
        ("relation", release.relation, stated),
        ("unit of protection", release.unit, stated),
        ("records", *(("private", "–") if release.n is None else (size, "public under replace-one"))),
        ("target", release.target, stated),
        ("missing values", _MISSING.get(release.missing, release.missing), stated),
        *(() if release.where is None else (("records that count", f"those where {release.where}", "the request"),)),
        *_weights(release.weights),
        *((f"column {name}", f"computed as {text}", stated) for name, text in release.derived.items()),
        *(() if release.date is None else (("date", release.date, "the clock, in UTC"),)),
        *_categories(release, facts),
        *(() if facts is None else _bounds(release, facts)),
    ]
    return Section(
        "facts",
        "What was declared",
        (
            Paragraph("None of this was read off private values. Bounds stand with the intervals above too."),
            TableBlock(
                caption="Public facts, and where each comes from.",
                head=("fact", "value", "source"),
                groups=(RowGroup(tuple(rows)),),
            ),
        ),
    )


_ABOUT = {
    "title": "title",
    "description": "description",
    "curators": "published by",
    "intended_use": "intended use",
    "region": "region",
    "sector": "sector",
    "period": "time of the records",
    "published": "first published",
    "deployment_model": "where noise is added",
    "actors": "who sees what",
    "releases": "how often",
    "refreshed": "when the budget begins anew",
    "source_type": "records",
    "access": "access",
    "why_epsilon": "why this budget",
    "why_bounds": "why these bounds",
    "tuning": "tried before",
    "url": "address",
    "doi": "DOI",
    "licence": "licence",
}


def about_section(release: Release) -> tuple[Section, ...]:
    """Return who publishes this for which use, as the facts say; nothing where they do not."""
    said = tuple(
        (name, joined([str(item) for item in value]) if isinstance(value, (list, tuple)) else str(value))
        for key, name in _ABOUT.items()
        if (value := release.about.get(key))
    )
    return (Section("about", "Who publishes this, and what for", (Pairs(said),)),) if said else ()


def _categories(release: Release, facts: Facts | None) -> Iterator[tuple[str, str, str]]:
    released: dict[str, dict[str, str]] = {}
    for estimate in release:
        for column, value in estimate.cell.items():
            label = estimate.labels.get(column)
            released.setdefault(column, {})[str(value)] = str(value) if label is None else f"{value} ({label})"
    for column, values in released.items():
        source = "the request"
        if facts is not None and (groups := (declared := facts.column(column)).groups) is not None:
            # A call may override the facts, whose source then says nothing about what was released.
            known = {*map(str, Category.declared(column, groups).values), "other"}
            source = (declared.source or _NO_SOURCE) if set(values) <= known else source
        yield f"categories of {column}", ", ".join(values.values()), source


def _bounds(release: Release, facts: Facts) -> Iterator[tuple[str, str, str]]:
    for column in dict.fromkeys(estimate.column for estimate in release if estimate.column is not None):
        declared = facts.column(column)
        if declared.bounds is not None:
            # As floats: a fraction has no such format.
            low, high = (float(end) for end in declared.bounds)
            step = "" if declared.step is None else f", step {float(declared.step):g}"
            yield f"bounds of {column}, by the facts", f"{low:g} to {high:g}{step}", declared.source or _NO_SOURCE
