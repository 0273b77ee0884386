"""Several questions about exact sums, asked as one: a source is scanned once for a whole call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from hedgerow.engines.query import SumsQuery, Value
from hedgerow.engines.source import Source
from hedgerow.resampling.grid_sums import GridSums, Monomial


def sums_together(source: Source, queries: Iterable[SumsQuery]) -> dict[SumsQuery, GridSums]:
    """Return the answer to each question, the same integers as if it were asked alone (HG207).

    Questions that differ only in what they add up, and over which records, are asked as one. Questions about units of
    several rows are asked alone, since which rows of a unit are kept depends on the values that are needed.

    >>> import pyarrow
    >>> from hedgerow.engines.query import ValueOnGrid
    >>> from hedgerow.engines.source import open_source
    >>> from hedgerow.facts.columns import Grid
    >>> people = open_source(pyarrow.table({"age": [18, 93, None], "size": [None, 2, 4]}))
    >>> values = [ValueOnGrid(name, Grid.from_bounds(name, (0, 100), 1)) for name in ("age", "size")]
    >>> alone = [SumsQuery((value,), (((0, 1),),), needed=frozenset([0])) for value in values]
    >>> [(int(found.sums[((0, 1),)][0]), found.missing.tolist()) for found in sums_together(people, alone).values()]
    [(111, [1]), (6, [1])]
    """
    found: dict[SumsQuery, GridSums] = {}
    for sent, asked in as_sent(queries).items():
        whole = source.sums(sent)
        found |= {asked[0]: whole} if len(asked) == 1 else {query: _part(query, whole, sent.values) for query in asked}
    return found


def as_sent(queries: Iterable[SumsQuery]) -> dict[SumsQuery, list[SumsQuery]]:
    """Return the questions that are sent, in order, each with those that its answer answers."""
    groups: dict[SumsQuery, list[SumsQuery]] = {}
    for query in dict.fromkeys(queries):
        rest = replace(query, values=(), monomials=(), needed=frozenset()) if query.unit is None else query
        groups.setdefault(rest, []).append(query)
    return {asked[0] if len(asked) == 1 else _whole(rest, asked): asked for rest, asked in groups.items()}


def _whole(rest: SumsQuery, asked: list[SumsQuery]) -> SumsQuery:
    """Return one question for several."""
    values = tuple(dict.fromkeys(value for query in asked for value in query.values))
    named = [_among(query, monomial, values) for query in asked for monomial in ((), *query.monomials)]
    return replace(rest, values=values, monomials=tuple(dict.fromkeys(named)))


def _among(query: SumsQuery, monomial: Monomial, values: Sequence[Value]) -> Monomial:
    """Return a monomial over more values: it counts only where the values that its question needs are present."""
    powers = dict.fromkeys(query.needed, 0) | dict(monomial)
    return tuple(sorted((values.index(query.values[i]), power) for i, power in powers.items()))


def _part(query: SumsQuery, whole: GridSums, values: Sequence[Value]) -> GridSums:
    """Return the answer to one of the questions."""
    sums = {monomial: whole.sums[_among(query, monomial, values)] for monomial in ((), *query.monomials)}
    return GridSums(sums, np.asarray(whole.sums[()] - sums[()], np.int64), whole.outside)
