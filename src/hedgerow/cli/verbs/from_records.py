"""`hedgerow verify`: a record priced anew from itself alone, off-line.

`hedgerow publish`: what registries, statistical offices and readers ask for of a release.

`hedgerow ask`: an expression of estimates that were released, from their records alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import shared_options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError
from hedgerow.facts.lines import paragraph

if TYPE_CHECKING:
    from hedgerow.release.result import Release
    from hedgerow.reports.verify.verification import CheckedPoint, Verification


_INDENT, _MOST_NUMBERS = "  ", 20


def verify(
    record: Annotated[
        str,
        typer.Argument(metavar="RECORD", help="certificate.json, release.json, table.json, a model or report.html."),
    ],
    as_json: shared_options.AsJson = False,
) -> None:
    """Recompute the price of a record. Exit 5 if a price does not hold, or if the record contradicts itself.

    Needs the record alone: no data, no network. Says who is protected against what, and what is assumed.
    """
    from hedgerow.facts.printed import for_terminal
    from hedgerow.reports.verify.verification import verify_file

    stated, verification = verify_file(record)
    if as_json:
        write_json(verification.to_dict())
    else:
        # Whoever altered a record may have put codes into it that steer a terminal.
        page = _page(verification, stated).replace("\N{NO-BREAK SPACE}", " ")
        write_stdout(for_terminal(page))
    verification.require()


def _page(verification: Verification, stated: object) -> str:
    from hedgerow.reports.verify.verification import NOT_CHECKED

    protection, certificate = verification.protection, verification.certificate
    holding = sum(point.holds for point in verification.profile)
    versions = ", ".join(f"{name} {version}" for name, version in certificate.versions.items())
    return "\n".join(
        [
            f"{_verdict(verification)}: {protection.price}",
            "",
            *_titled("What this record says is NOT PROTECTED", verification.not_protected),
            f"{'stated':<8}  {_point(verification.stated)}",
            *(f"{'curve':<8}  {_point(point)}" for point in verification.profile),
            *(f"{'also':<8}  {line}" for line in protection.bounds),
            f"{1 * verification.stated.holds + holding} of {1 + len(verification.profile)} stated prices hold for the "
            f"recorded mechanism: {certificate.mechanism.type}.",
            "",
            *_titled("The record contradicts itself", verification.contradictions),
            *_titled("The numbers of the record", numbers_of(stated)),
            *_titled(
                "Who is protected" + (", by the calibration alone" if verification.not_protected else ""),
                [protection.who],
            ),
            *_titled("Against whom", [protection.against, protection.attack]),
            *_titled("What this rests on", protection.assumptions),
            *_titled("What it does not cover", protection.not_covered),
            *_titled("What a record cannot show about itself", NOT_CHECKED),
            *_titled("Fields of this record that nothing else in it determines", [", ".join(verification.unchecked)]),
            f"Made by: {versions}.",
            "The price follows from the record alone.",
        ]
    )


def numbers_of(record: object) -> list[str]:
    """Return a line for each of the first estimates of a record: whoever reads a page compares these with it."""
    entries = record.get("estimates", []) if isinstance(record, dict) else []
    try:
        lines = [_estimate(entry) for entry in entries[:_MOST_NUMBERS]]
    except (LookupError, TypeError, ValueError, AttributeError):
        return []  # what such a record lacks stands among its contradictions
    return lines + ([f"… and {len(entries) - _MOST_NUMBERS:,} more"] if len(entries) > _MOST_NUMBERS else [])


def _estimate(entry: Mapping[str, Any]) -> str:
    from hedgerow.facts.printed import number

    cell = ", ".join(f"{column}={value}" for column, value in entry["cell"].items())
    name = entry["statistic"] if entry["column"] is None else f"{entry['statistic']} of {entry['column']}"
    error, ends = entry["standard_error"], entry["confidence_interval"]
    span = f"{100 * ends['level']:.4g} % interval {number(ends['low'])} to {number(ends['high'])}"
    said = f"s.e. {error:.3g}, " if error is not None else ""
    return f"{name}{f' ({cell})' if cell else ''}: {number(entry['estimate'])} ({said}{span})"


def _verdict(verification: Verification) -> str:
    if not verification.holds:
        return "DOES NOT HOLD" + (", THE RECORD CONTRADICTS ITSELF" if verification.contradictions else "")
    return "HOLDS FOR THE CALIBRATION ALONE, THE BASE MODEL IS NOT PROTECTED" if verification.not_protected else "HOLDS"


def _point(point: CheckedPoint) -> str:
    verdict = "holds" if point.holds else "DOES NOT HOLD"
    return f"ε ≤ {point.epsilon:.6g} at δ = {point.delta:.3g}: {verdict} (re-priced: δ ≤ {point.delta_upper:.4g})"


def _titled(title: str, texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    return [title, *(paragraph(text, indent=_INDENT) for text in texts), ""]


REGISTRY, SDMX, CITATION = "registry.yaml", "sdmx.csv", "CITATION.cff"


def publish(
    source: Annotated[
        str, typer.Argument(metavar="DIR", help="What --out wrote, or the JSON record of a release, table or fit.")
    ],
    registry: Annotated[
        str | None,
        typer.Option(metavar="FILE", help=f"Entry of the registry of deployments. [default: DIR/{REGISTRY}]"),
    ] = None,
    sdmx: Annotated[
        str | None, typer.Option(metavar="FILE", help=f"The numbers as SDMX-CSV. [default: DIR/{SDMX}]")
    ] = None,
    citation: Annotated[
        str | None, typer.Option(metavar="FILE", help=f"Citation: .cff, .bib or .txt. [default: DIR/{CITATION}]")
    ] = None,
    structure: Annotated[
        str | None, typer.Option(metavar="AGENCY:FLOW(VERSION)", help="The dataflow that SDMX names.")
    ] = None,
    facts: shared_options.FactsPath = None,
) -> None:
    """Write an entry for the registry of deployments, SDMX-CSV and a citation. Needs the record alone.

    Who publishes what for which use stands under [about] in the facts. With options, only what they name is written.
    """
    from hedgerow.facts.declared import Facts
    from hedgerow.release.publication.write_file import write_lines
    from hedgerow.reports.publishing import (
        CITATIONS,
        STRUCTURE_ID,
        PublishedRecord,
        registry_entry,
        sdmx_csv,
        unknown_format,
        yaml,
    )

    published = PublishedRecord.read(source, None if facts is None else Facts.read(facts))
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    if registry is sdmx is citation is None:
        registry, sdmx, citation = (str(folder / name) for name in (REGISTRY, SDMX, CITATION))
    made: list[tuple[str, Callable[[], str]]] = []
    if registry is not None:
        made.append((registry, lambda: yaml(registry_entry(published)) + "\n"))
    if sdmx is not None:
        made.append((sdmx, lambda: sdmx_csv(published, structure_id=structure or STRUCTURE_ID)))
    if citation is not None:
        suffix = Path(citation).suffix.lower()
        if suffix not in CITATIONS:
            raise unknown_format(Path(citation), tuple(CITATIONS))
        made.append((citation, lambda: CITATIONS[suffix](published)))
    # All are made before the first is written.
    written = [(path, text()) for path, text in made]
    for path, text in written:
        write_lines(path, [text])
        write_stdout(f"Wrote {path}")


def ask(
    asked: Annotated[
        list[str],
        typer.Argument(metavar="RECORD… EXPRESSION", help="release.json, report.html or margins.json; the expression."),
    ],
    *,
    independent: Annotated[
        bool, typer.Option("--independent", help="The records are of different people, who are in one of them alone.")
    ] = False,
    test: Annotated[
        float | None, typer.Option(metavar="VALUE", help="Test whether the answer is this value: a p-value, two-sided.")
    ] = None,
    percent: shared_options.Percent = None,
    independence: shared_options.Independence = False,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the percentages there: .csv, .tex, .html and others.")
    ] = None,
    effect: Annotated[
        str | None,
        typer.Option(
            metavar="COL=VALUE",
            help="The effect of this group on the statistic that the expression names.",
        ),
    ] = None,
    control: Annotated[
        str | None, typer.Option(metavar="COL=VALUE", help="The group that an effect is compared with.")
    ] = None,
    standardise: Annotated[
        str | None, typer.Option(metavar="COL[,COL]", help="The columns over whose strata an effect is standardised.")
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="all|treated|control", help="Whose shares of the strata an effect takes.")
    ] = "all",
    measure: Annotated[
        str, typer.Option(metavar="difference|ratio|odds-ratio", help="How an effect is measured.")
    ] = "difference",
    before: Annotated[
        str | None, typer.Option(metavar="COL=VALUE", help="With --after: the difference in differences.")
    ] = None,
    after: Annotated[str | None, typer.Option(metavar="COL=VALUE", help="The later cells of --before.")] = None,
    screen: Annotated[
        str | None,
        typer.Option(metavar="common|VALUE|RECORD", help="Which cells differ from their mean, a value, a record."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of --screen: benjamini-yekutieli (the default), bonferroni or holm."),
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Draw all cells towards their mean, to lower errors.")
    ] = False,
    towards: Annotated[
        str | None, typer.Option(metavar="COL[,COL]", help="Of --shrink: towards the means of these groups instead.")
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="CSV of public totals in its last column: counts or sums are adjusted to agree with them.",
        ),
    ] = None,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Intervals of all cells that hold together at --level.")
    ] = False,
    level: shared_options.Level = 0.95,
    as_json: shared_options.AsJson = False,
) -> None:
    """Compute with released estimates: 'ratio(tax, income | sex=0) - ratio(tax, income | sex=1)'.

    Needs the records alone: no data, no price. Terms of several records are named in order: 'r1.count - r2.count'. Of
    the record of a table, --percent and --independence need no expression. With --screen, --shrink, --known and
    --simultaneous, which read all cells of a statistic, the expression is the statistic, such as 'mean(income)'.
    """
    from hedgerow.inference.interval import parse_level
    from hedgerow.margins.release_margins import margins_from_record
    from hedgerow.release.ask import ask as answer_of
    from hedgerow.reports.verify.verification import read_record

    level = parse_level(level)
    if percent is not None or independence:
        _of_a_table(asked, percent, independence, out, level, as_json=as_json)
        return
    all_cells: dict[str, Callable[[Any, str | None], tuple[str, dict[str, Any]]]] = {
        "--screen": lambda cells, of: _screened(cells, of, screen or "", level, method=method, independent=independent),
        "--shrink": lambda cells, of: _shrunk(cells, of, towards, level),
        "--known": lambda cells, of: _reconciled(cells, of, known or [], level),
        "--simultaneous": lambda cells, of: _simultaneous(cells, of, level),
    }
    given = (screen is not None, shrink, bool(known), simultaneous)
    chosen = [name for name, present in zip(all_cells, given, strict=True) if present]
    if chosen or method is not None or towards is not None:
        stray = (method is not None and screen is None) or (towards is not None and not shrink)
        alone = len(chosen) == 1 and not stray and test is None and effect is None
        _of_all_cells(asked, all_cells[chosen[0]] if alone else None, as_json=as_json)
        return
    *paths, expression = asked
    if not paths:
        raise ParameterError(
            "HG116",
            rule="The command `hedgerow ask` needs one or more files of released results, and an expression.",
            finding="The command has only one argument: the record or the expression is missing.",
            remedy="Name a file and an expression of its estimates, for example: hedgerow ask release.json "
            "'ratio(tax, income) * 100'.",
        )
    records: list[Any] = [read_record(path) for path in paths]
    if len(records) == 1 and isinstance(records[0], dict) and "regression" in records[0]:
        _of_coefficients(records[0], expression, test, level, as_json=as_json)
        return
    if len(records) == 1 and isinstance(records[0], dict) and "margins" in records[0]:
        answer = margins_from_record(records[0], shown=False).ask(expression)
    else:
        releases = [_release(record) for record in records]
        if effect is None:
            answer = answer_of(expression, releases, independent=independent)
        else:
            groups = {"treated": effect, "control": control or "", "before": before, "after": after}
            cells: dict[str, Any] = {name: text if text is None else _cell(text) for name, text in groups.items()}
            answer = releases[0].effect(
                expression,
                **cells,
                standardise=_words(standardise),
                target=target,  # type: ignore[arg-type]  # checked where it is used
                measure=measure,  # type: ignore[arg-type]  # so
            )
            expression = answer.statistic
    _print_answer(expression, answer, test, level, as_json=as_json)


def _print_answer(expression: str, answer: Any, test: float | None, level: float, *, as_json: bool) -> None:
    """Print the answer to an expression, and its test."""
    from hedgerow.release.publication.text import answer_text

    tested = None if test is None else answer.test(test)
    if as_json:
        test_record = {} if tested is None else {"test": tested.to_dict()}
        write_json({"expression": expression, **answer.to_dict(level), **test_record})
        return
    write_stdout(answer_text(expression, answer, level=level))
    if tested is not None:
        said = str(tested)
        write_stdout(f"\n{said[0].upper()}{said[1:]}.")


def _of_a_table(
    paths: Sequence[str], percent: str | None, independence: bool, out: str | None, level: float, *, as_json: bool
) -> None:
    """Tell the percentages of a table, and whether its two columns are independent."""
    from hedgerow.cli.verbs.releasing import reading_lines
    from hedgerow.margins.table_with_totals import any_table_from_record
    from hedgerow.reports.verify.verification import read_record

    if len(paths) != 1 or (out is not None and percent is None):
        raise ParameterError(
            "HG116",
            rule="--percent and --independence read the record of one table; --out writes percentages.",
            finding="The command has no record, or further arguments, or --out without --percent.",
            remedy="Name the file of one table, for example: hedgerow ask table.json --percent row --out "
            "percentages.tex.",
        )
    table = any_table_from_record(read_record(paths[0])).reading(percentages=percent, independence=independence)
    if out is not None:
        table.asked_percentages().write(out, level=level)
    if as_json:
        write_json(table.recorded_readings(level))
    else:
        write_stdout("\n".join(reading_lines(table, level)).strip("\n"))


def _of_all_cells(
    asked: Sequence[str], read: Callable[[Any, str | None], tuple[str, dict[str, Any]]] | None, *, as_json: bool
) -> None:
    """Print what is read of all cells of a statistic, as text or as a record."""
    from hedgerow.reports.verify.verification import read_record

    if read is None or len(asked) > 2:
        raise ParameterError(
            "HG116",
            rule="--screen, --shrink, --known and --simultaneous each read one record, without --test and --effect; "
            "--method belongs to --screen and --towards to --shrink.",
            finding="The command has two of these options, or several records, or an option that belongs to an "
            "option that is absent.",
            remedy="Give one of the options and one record, for example: `hedgerow ask release.json 'mean(income)' "
            "--screen common`.",
        )
    release = _release(read_record(asked[0]))
    text, entries = read(release, asked[1] if len(asked) == 2 else None)
    if as_json:
        write_json(entries)
    else:
        write_stdout(text)


def _release(record: object) -> Release:
    from hedgerow.release.result import release_of

    return release_of(record)


def _screened(
    release: Any, of: str | None, reference: str, level: float, *, method: str | None, independent: bool
) -> tuple[str, dict[str, Any]]:
    """Return which cells differ from a value, from their mean, or from those of an earlier record."""
    from hedgerow.reports.verify.verification import read_record
    from hedgerow.statistics.entry import parse_number

    against: Any = reference if reference == "common" else parse_number(reference)
    if against is None:
        against = _release(read_record(reference))
    error_rate = round(1.0 - level, 12)
    chosen = {} if method is None else {"method": method}
    screening = release.screen(of=of, against=against, level=error_rate, independent=independent, **chosen)
    return str(screening), screening.to_dict()


def _shrunk(release: Any, of: str | None, towards: str | None, level: float) -> tuple[str, dict[str, Any]]:
    """Return the cells drawn towards their mean, or towards the means of groups."""
    cells = release.shrink(of=of, towards=_words(towards))
    return str(cells), cells.to_dict(level)


def _reconciled(release: Any, of: str | None, known: Sequence[str], level: float) -> tuple[str, dict[str, Any]]:
    """Return the cells adjusted to public totals."""
    from hedgerow.cli.verbs.tabulating import read_known

    cells = release.reconcile(dict(read_known(path) for path in known), of=of)
    return str(cells), {"level": level, "cells": [number.to_dict(level) for number in cells]}


def _simultaneous(release: Any, of: str | None, level: float) -> tuple[str, dict[str, Any]]:
    """Return the intervals of all cells that hold together."""
    from hedgerow.facts.printed import number, percent
    from hedgerow.release.readings.numbers_of_cells import numbers_of

    pairs = list(zip(numbers_of(release, of), release.simultaneous_intervals(of=of, level=level), strict=True))
    lines = [f"{cell.label()}: {number(interval.low)} to {number(interval.high)}" for cell, interval in pairs]
    lines.append(f"With a chance of {percent(level, space=' ')}, all these intervals hold together.")
    cells = [
        {"cell": dict(cell.cell), "estimate": cell.estimate, "low": interval.low, "high": interval.high}
        for cell, interval in pairs
    ]
    return "\n".join(lines), {"level": level, "cells": cells}


def _words(text: str | None) -> list[str]:
    """Return the words of ``COL[,COL]``."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _cell(text: str) -> dict[str, str]:
    """Return the cell of ``COL=VALUE[,COL=VALUE]``."""
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _of_coefficients(
    record: dict[str, Any], expression: str, test: float | None, level: float, *, as_json: bool
) -> None:
    """Tell weighted sums of the coefficients of a regression: '10 * age - educ'."""
    from hedgerow.regression.coefficients import AnyFit
    from hedgerow.regression.logit.logit_regression import logit_from_record
    from hedgerow.regression.regression import regressions_from_record

    logit = record["regression"].get("family") == "logit"
    fits: tuple[AnyFit, ...] = (logit_from_record(record),) if logit else regressions_from_record(record)
    asked = expression if test is None else f"{expression} = {test!r}"
    tests_by_cell = [(dict(fit.cell), fit.t_test(asked, level)) for fit in fits]
    if as_json:
        write_json(
            {
                "expression": expression,
                "tests": [{"cell": cell, **result.to_dict()} for cell, tests in tests_by_cell for result in tests],
            }
        )
        return
    for cell, tests in tests_by_cell:
        said = ", ".join(f"{column}={value}" for column, value in cell.items())
        write_stdout("\n".join([*([said] if said else []), tests.summary()]))
