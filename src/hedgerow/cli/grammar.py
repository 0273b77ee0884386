"""How groups, bounds, guesses and shares are written on the command line.

A statistic says in its own file how it is written (`hedgerow.statistics.entry`).

=====================  ======================================================================================
``COL``                a group whose categories the facts declare
``COL=v1,v2``          values apart by commas; ``"North, East"`` in double quotes keeps its comma
``COL=0..25..45``      bands between cut points, the last one closed
``COL=men,women``      labels of the categories or bands of a group, in their order
``v1,v2:LO:HI``        bounds of a cell, one category a group in their order; ``COL=v1,v2:LO:HI``, of categories of COL
``COL:MAX``            weights, up to the largest
``COL=v1:N,v2:N``      the sizes of cells
``1,2``                shares, one per statistic
``COL:sd=18,mean=45``  a guess: mean, sd, law, share, missing, quantile.0.5, and correlation.COL with another column
``COL:0.5``            a target, split from the right
=====================  ======================================================================================

A value that prints as it was written is read as a whole number or a decimal; any other, such as ``01``, stays text. So
a value that is compared as text (every column of a CSV file) is compared as it was written.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import bands, with_names
from hedgerow.facts.relation import unfit_weights
from hedgerow.statistics.entry import Number, parse_number, parse_value, unwritten, written_column


def parse_by(texts: Sequence[str], *, banded: bool = False) -> dict[str, Any] | None:
    """Return {column: [category, …]} of each ``COL=v1,v2``, None for a column alone; None where there is no group.

    Where groups may be bands they are written by their cut points, ``COL=0..25..45``.

    Raises
    ------
    ParameterError
        HG111 a column named twice, or with no categories after ``=``; HG116 a category that is empty, or
        in single quotes; HG133 cut points.

    Examples
    --------
    >>> parse_by(["sex=0,1", 'region="North, East",South'])
    {'sex': [0, 1], 'region': ['North, East', 'South']}
    >>> parse_by(["sex"])
    {'sex': None}
    >>> parse_by(["age=0..25..45"], banded=True)
    {'age': Bands(cuts=(0.0, 25.0, 45.0), labels=None)}
    """
    groups: dict[str, Any] = {}
    for text in texts:
        column, equals, listed = text.partition("=")
        if not column or (equals and not listed.strip()):
            raise _no_categories(column or text)
        column = written_column(column)
        if column in groups:
            raise ParameterError(
                "HG111",
                rule="Each column is named once in `--by`, with all its categories.",
                finding=f"Column {column!r} is named twice.",
                remedy=f"For example, write --by {column}=0,1.",
            )
        if not equals:
            groups[column] = None
            continue
        written: list[Any] = listed.split("..")
        cuts = [parse_number(cut.strip()) for cut in written]
        # Bands of texts, such as 2026-01..2026-06, would be a category that no record has.
        begun = "," not in listed and any(cut.strip()[:1].isdigit() for cut in written)
        if banded and len(cuts) > 1 and (begun or any(cut is not None for cut in cuts)) and '"' not in listed:
            groups[column] = bands(*(text if cut is None else cut for text, cut in zip(written, cuts, strict=True)))
            continue
        values = [value.strip() for value in next(csv.reader([listed], skipinitialspace=True))]
        if not all(values):
            raise ParameterError(
                "HG116",
                rule="`--by` is written COL=v1,v2, without an empty category.",
                finding=f"One of column {column!r} is.",
                remedy="Records with missing values do not form a cell, so leave the empty category out.",
            )
        opening = next((place for place, value in enumerate(values) if value.startswith("'")), len(values))
        if '"' not in listed and any(value.endswith("'") for value in values[opening:]):
            raise ParameterError(
                "HG116",
                rule="A category that contains a comma stands in double quotes.",
                finding=f"A category of column {column!r} stands in single quotes.",
                remedy=f"For example --by '{column}=\"North, East\",South': the single quotes are for the shell.",
            )
        groups[column] = [parse_value(value) for value in values]
    return groups or None


def with_labels(groups: dict[str, Any] | None, texts: Sequence[str]) -> dict[str, Any] | None:
    """Return groups with the labels of each ``COL=men,women``, one a category or band, in their order.

    Raises
    ------
    ParameterError
        HG116: written otherwise. HG111: a column whose categories or bands the call does not list, or is labelled
        twice; another number of labels than of categories, or two that are the same.

    Examples
    --------
    >>> with_labels(parse_by(["sex=0,1"]), ["sex=men,women"])
    {'sex': {0: 'men', 1: 'women'}}
    """
    labelled: dict[str, Any] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        column, names = written_column(name), next(csv.reader([listed], skipinitialspace=True), [])
        if not column or not equals or not names:
            raise unwritten("--labels", "COL=label,label", text, "--by sex=0,1 --labels sex=men,women")
        values = None if groups is None else groups.get(column)
        if values is None or column in labelled:
            raise ParameterError(
                "HG111",
                rule="The option `--labels` may name each column once. Categories or bands must be listed in the "
                "option `--by`.",
                finding=f"{text!r} labels it again." if values is not None else f"`--by` lists none of {column!r}.",
                remedy="Declare the categories before their labels, for example --by sex=0,1 --labels sex=men,women. "
                "In a facts file, write the labels beside the categories.",
            )
        labelled[column] = with_names(column, values, names)
    return None if groups is None else groups | labelled


def parse_cell_bounds(texts: Sequence[str]) -> dict[Any, Any] | None:
    """Return {(category, …): (lo, hi)} of each ``v1,v2:LO:HI``, and {COL: {category: (lo, hi)}} of ``COL=v1,v2:LO:HI``.

    Raises
    ------
    ParameterError
        HG116 what is written otherwise; HG152 a cell or category named twice. Whether the table has them is checked
        with the table.

    Examples
    --------
    >>> parse_cell_bounds(["owner,trad:0:4000", '"a, b",high:0:9.5'])
    {('owner', 'trad'): (0, 4000), ('a, b', 'high'): (0, 9.5)}
    >>> parse_cell_bounds(["status=share,mixed:0:9000", "status=owner:0:20000"])
    {'status': {'share': (0, 9000), 'mixed': (0, 9000), 'owner': (0, 20000)}}
    >>> parse_cell_bounds([])
    """
    bounds: dict[Any, Any] = {}
    for text in texts:
        column, equals, rest = text.partition("=")
        listed, *ends = (rest if equals else text).rsplit(":", 2)
        low, high = (parse_number(end) for end in ends) if len(ends) == 2 else (None, None)
        names = [name.strip() for name in next(csv.reader([listed], skipinitialspace=True), [""])]
        if low is None or high is None or not (column and names and all(names)):
            raise ParameterError(
                "HG116",
                rule="`--cell-bounds` is written CAT,CAT:LO:HI, with one category for each group, or "
                "COL=CAT,CAT:LO:HI.",
                finding=f"Found {text!r}.",
                remedy="Write the categories of the cell and its bounds, for example --cell-bounds "
                "share,trad:0:4000, or --cell-bounds status=share,mixed:0:9000.",
            )
        categories = tuple(parse_value(name) for name in names)
        group, keys = (bounds.setdefault(column, {}), categories) if equals else (bounds, (categories,))
        for key in keys:
            if key in group:
                raise ParameterError(
                    "HG152",
                    rule="The bounds of each cell are given once.",
                    finding=f"{text!r} names one again.",
                    remedy="Give one pair of bounds for each cell.",
                )
            group[key] = (low, high)
    return bounds or None


def parse_guess(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return {column: {name: number}} of each ``COL:name=number,…`` (HG116); the names are checked by the forecast.

    >>> parse_guess(["age:sd=18,mean=45,correlation.income=.3", "time:utc:share=.5"])
    {'age': {'sd': 18, 'mean': 45, 'correlation': {'income': 0.3}}, 'time:utc': {'share': 0.5}}
    >>> parse_guess(["income:quantile.0.5=22000,quantile.0.9=60000", "age:law=gamma"])
    {'income': {'quantiles': {0.5: 22000, 0.9: 60000}}, 'age': {'law': 'gamma'}}
    """
    guesses: dict[str, dict[str, Any]] = {}
    for text in texts:
        column, colon, listed = text.rpartition(":")
        pairs = [part.partition("=") for part in listed.split(",")]
        numbers = {
            name.strip(): value.strip() if name.strip() == "law" else parse_number(value.strip())
            for name, _, value in pairs
        }
        if not column or not colon or None in numbers.values() or "" in numbers:
            raise ParameterError(
                "HG116",
                rule="`--guess` is written COL:name=number,name=number.",
                finding=f"Found {text!r}.",
                remedy="Write a guess as a column and its moments, for example --guess age:sd=18,mean=45, or --guess "
                "employed:share=0.6.",
            )
        known = guesses.setdefault(column, {})
        for name, number in numbers.items():
            kind, dot, other = name.partition(".")
            if kind == "correlation" and dot:
                known.setdefault(kind, {})[other] = number
            elif kind == "quantile" and dot:
                known.setdefault("quantiles", {})[parse_number(other)] = number
            else:
                known[name] = number
    return guesses


def parse_target(option: str, text: str) -> tuple[str, float]:
    """Return (column, positive number) of ``COL:VALUE`` (HG116).

    >>> parse_target("--target-se", "age:0.5")
    ('age', 0.5)
    """
    column, _, value = text.rpartition(":")
    number = parse_number(value)
    if not column or number is None or not 0 < number < float("inf"):
        raise ParameterError(
            "HG116",
            rule=f"`{option}` is written COL:VALUE, with a positive number.",
            finding=f"Found {text!r}.",
            remedy=f"For example {option} age:0.5" + ("; counts are called count." if "target" in option else "."),
        )
    return column, float(number)


def parse_unit(text: str | None) -> tuple[str, int] | str | None:
    """Return the unit of ``COL:MAX``, or ``row``; a column's name may hold colons (HG116 where there is no number).

    >>> parse_unit("person_id:4"), parse_unit("row"), parse_unit(None)
    (('person_id', 4), 'row', None)
    """
    if text is None or text == "row":
        return text
    column, _, limit = text.rpartition(":")
    # No source has 10¹⁸ rows, and Python reads no number of thousands of digits.
    if not column or not limit.isascii() or not limit.isdigit() or len(limit) > 18:
        raise ParameterError(
            "HG116",
            rule="`--unit` is written as row, or as a column, a colon and a limit of rows.",
            finding=f"Found {text!r}.",
            remedy="Write row, or the column of the unit and its limit of rows, for example --unit person_id:4.",
        )
    return column, int(limit)


def parse_weights(text: str | None) -> tuple[str, float] | None:
    """Return (column, largest weight) of ``COL:MAX``; None where none is given (HG134).

    >>> parse_weights("weight:10")
    ('weight', 10)
    """
    if text is None:
        return None
    column, _, most = text.rpartition(":")
    number = parse_number(most)
    if not column or number is None:
        raise unfit_weights(f"Found {text!r}.")
    return column, number


def parse_totals(text: str | None) -> dict[tuple[str, ...], dict[Any, float]] | None:
    """Return {(column,): {category: size}} of ``COL=v1:N,v2:N``; None where none is given (HG138).

    >>> parse_totals('region="North, East":12000,South:8000')
    {('region',): {'North, East': 12000, 'South': 8000}}
    """
    from hedgerow.release.answers import unfit_totals

    if text is None:
        return None
    column, _, listed = text.partition("=")
    totals: dict[Any, float] = {}
    for part in next(csv.reader([listed], skipinitialspace=True), []):
        value, _, size = part.rpartition(":")
        number, category = parse_number(size.strip()), parse_value(value)
        if number is None or not value.strip() or category in totals:
            raise unfit_totals(f"Found {text!r}.")
        totals[category] = number
    return {(column,): totals}


def parse_share(text: str | None) -> list[Number] | None:
    """Return the shares of ``1,2``; what they must be is checked by the release (HG116 where they are no numbers).

    >>> parse_share("1,2.5")
    [1, 2.5]
    """
    if text is None:
        return None
    numbers = [parse_number(part) for part in text.split(",")]
    if any(number is None for number in numbers):
        raise ParameterError(
            "HG116",
            rule="`--share` is written as numbers separated by commas, one number for each statistic.",
            finding=f"Found {text!r}.",
            remedy="For example --share 2,1. The numbers of `--share` belong to the means, sums, proportions, the "
            "count and the other statistics, in the order of the help text.",
        )
    return [number for number in numbers if number is not None]


def _no_categories(column: str) -> ParameterError:
    return ParameterError(
        "HG111",
        rule="The categories of a group are declared and never read from the data.",
        finding=f"`--by {column}` gives none.",
        remedy=f"List them, e.g. --by {column}=0,1.",
    )
