"""`hedgerow margins`: all tables of several columns, which agree with one another, with their errors and one price."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.call import Call, spends
from hedgerow.cli.grammar import parse_target
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.inputs import content_of
from hedgerow.statistics.entry import parse_number, parse_on_grid

if TYPE_CHECKING:
    from hedgerow.margins.margin_tables import Margins
    from hedgerow.margins.release_margins import PlannedMargins

_OPTIONS = "by labels other where epsilon rho mu delta missing"


@spends(
    f"source relation … {_OPTIONS} … level target table unit facts ledger request_id out force quiet as_json",
    out=typer.Option(
        metavar="DIR",
        help="Write an index, a page and a workbook for each table, <formats margins> and the certificate there.",
    ),
)
def margins(
    *,
    total: Annotated[
        str | None,
        typer.Option(metavar="COL[:LO:HI[:STEP]]", help="Totals of a column, of values clamped to LO and HI."),
    ] = None,
    order: Annotated[int, typer.Option("--order", metavar="K", help="The largest number of columns of a table.")] = 3,
    call: Call,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL,COL=W",
            help="How much a table, or with a number those of an order, matters; or equal; or cells.",
        ),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A CSV file of exact public totals: columns of --by, then the count."),
    ] = None,
    target_se: Annotated[
        list[str] | None,
        typer.Option(metavar="COL,COL:VALUE", help="The largest standard deviation of the noise of a table's cells."),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="A CSV file of groups: categories of a column, then a column for each level."
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Show counts as they were drawn, not non-negative whole ones.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only print the price and the noise of each table; reads and spends nothing.")
    ] = False,
) -> None:
    """Release all tables of counts of several columns, which agree with one another.

    All options are checked before the data are read. Once they are read, the price is spent, even if the command fails.
    """
    from hedgerow.reports.margins_pages import MARGINS_FILES, add_pages

    column, bounds, step = (None, None, None) if total is None else parse_on_grid("--total", total)
    asked = {
        "total": column,
        "bounds": bounds,
        "step": step,
        "order": order,
        "weights": _weights(weight or ()),
        "known": dict(map(read_known, known)) if known else None,
        "target_se": {_columns(name): value for name, value in (parse_target("--target-se", t) for t in target_se)}
        if target_se
        else None,
        "hierarchies": dict(map(read_hierarchies, hierarchy)) if hierarchy else None,
    }
    given = {**call.chosen, **{name: value for name, value in asked.items() if value is not None}}
    with call.opened(None if plan else MARGINS_FILES) as (survey, folder):
        if plan:
            _show_plan(call, survey.plan_margins(**given))
            return

        def release() -> Margins:
            released = survey.margins(**given, request_id=call.request_id)
            return released if raw or total is not None else released.nonnegative().rounded()

        def write(result: Margins) -> Sequence[str]:
            return () if folder is None else add_pages(result, folder, level=call.level)

        call.spend(
            release,
            str,
            None if folder is None else write,
            numbers=lambda result: result.to_csv(level=call.level).rstrip(),
            survey=survey,
        )


def _show_plan(call: Call, planned: PlannedMargins) -> None:
    from hedgerow.mechanisms.certificate import round_up

    price = {"epsilon_upper": round_up(planned.epsilon), "delta": planned.delta}
    if call.as_json:
        tables = [
            {"by": list(table.columns), "cells": table.cells, "weight": table.weight, "noise_sd": table.privacy_error}
            for table in planned.expected()
        ]
        write_json({"plan": {**planned.plan.facts.record(), **price}, "tables": tables})
        return
    opening = f"Price: ε ≤ {price['epsilon_upper']:.6g} at δ = {price['delta']:.3g}. Nothing was read or spent."
    write_stdout("\n".join([opening, "", *str(planned).splitlines()[1:]]))


def _columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))


def _weights(texts: Sequence[str]) -> dict[Any, float] | str | None:
    """Return the weights of ``COL,COL=W``, of ``ORDER=W``, or ``equal`` or ``cells`` (HG116)."""
    if list(texts) in (["equal"], ["cells"]):
        return texts[0]
    weights: dict[Any, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        number = parse_number(value)
        if not name or number is None:
            raise ParameterError(
                "HG116",
                rule="`--weight` is written as columns, or an order, and a number; or it is equal or cells.",
                finding=f"Found {text!r}.",
                remedy="Give a weight to the table by named columns, as in --weight sex,region=5, or to all tables "
                "of one column, as in --weight 1=10.",
            )
        weights[int(name) if name.isascii() and name.isdigit() else _columns(name)] = float(number)
    return weights or None


def read_known(path: str) -> tuple[tuple[str, ...], dict[tuple[str, ...], float]]:
    """Return the columns and the numbers of a known table from a CSV file, its counts in the last column.

    Raises
    ------
    ParameterError
        HG241: the file cannot be read, or is no such table.
    """
    rule = "A known table is a CSV file of columns of `--by`, and of the counts in the last column."
    remedy = "For example the lines sex,count and f,5200 and m,4800; a file of the count alone is the total."
    head, lines = _read_lines(path, "HG241", rule, remedy)
    try:
        numbers = {tuple(line[:-1]): float(line[-1]) for line in lines}
    except ValueError:
        numbers = {}
    if len(numbers) < len(lines):
        raise _not_read(path, "HG241", rule, remedy)
    return tuple(head[:-1]), numbers


def read_hierarchies(path: str) -> tuple[str, dict[str, dict[str, list[str]]]]:
    """Return a column and the groups of its categories at each level from a CSV file, the categories first.

    Raises
    ------
    ParameterError
        HG162: the file cannot be read, or is no such table.
    """
    rule = "Groups of categories are a CSV file: the categories of a column, then a column for each level of groups."
    remedy = "For example the lines region,country and N,England and W,Wales."
    head, lines = _read_lines(path, "HG162", rule, remedy)
    if len(head) < 2 or len({*head}) < len(head):
        raise _not_read(path, "HG162", rule, remedy)
    levels: dict[str, dict[str, list[str]]] = {name: {} for name in head[1:]}
    for category, *groups in lines:
        for name, group in zip(levels, groups, strict=True):
            levels[name].setdefault(group, []).append(category)
    return head[0], levels


def _read_lines(path: str, code: str, rule: str, remedy: str) -> tuple[list[str], list[list[str]]]:
    """Return the first line of a CSV file and the others, all of one length.

    A request names such files, and another person opens them. So devices and large files are not read.
    """
    try:
        if not Path(path).is_file():
            raise ValueError
        text = content_of(path).decode("utf-8-sig")
        head, *lines = [line for line in csv.reader(StringIO(text, newline="")) if line]
    except (OSError, ValueError, csv.Error):
        raise _not_read(path, code, rule, remedy) from None
    if not all(len(line) == len(head) for line in lines):
        raise _not_read(path, code, rule, remedy)
    return head, lines


def _not_read(path: str, code: str, rule: str, remedy: str) -> ParameterError:
    return ParameterError(code, rule=rule, finding=f"{format_argument(path)} is none.", remedy=remedy)
