"""Small hostile data sets that differ in one record: extremes, values out of bounds, NaN, ±inf, missing, odd groups."""

from __future__ import annotations

import importlib
import importlib.util
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hedgerow.engines.source import Source, open_source
from hedgerow.facts.relation import Relation

BOUNDS, STEP, GROUPS = (-2.0, 8.0), 0.5, ("a", "b")
_VALUES = (-2.0, 8.0, 3.0, 0.0, -1e12, 1e12, 1.7e308, 5e-324, -0.0, math.nan, math.inf, -math.inf, None)
_PLAIN = (-2.0, 8.0, 3.0, 0.0, 1e12, -1e12, 2.25)
_GROUPS = ("a", "b", "elsewhere", None)
_BINARY = (0, 1, None)


@dataclass(frozen=True, slots=True)
class Person:
    """One record: a number with bounds, a group, a binary answer; None is missing."""

    value: float | None
    group: str | None
    works: int | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two data sets that are neighbours under `relation`."""

    relation: Relation
    first: tuple[Person, ...]
    second: tuple[Person, ...]


def draw_pair(relation: Relation, rng: np.random.Generator, *, complete: bool = False, records: int = 6) -> Pair:
    """Draw neighbours: `records` people, one of whom is another (replace-one) or not there (add-remove).

    `complete` draws from data without missing values, as a declaration of completeness promises.

    >>> pair = draw_pair(Relation.ADD_REMOVE, np.random.default_rng(1))
    >>> len(pair.first) - len(pair.second)
    1
    """
    first = tuple(_person(rng, complete) for _ in range(records))
    place = int(rng.integers(records))
    changed = (_person(rng, complete),) if relation is Relation.REPLACE_ONE else ()
    return Pair(relation, first, first[:place] + changed + first[place + 1 :])


def _person(rng: np.random.Generator, complete: bool) -> Person:
    values = _PLAIN if complete else _VALUES
    groups, answers = (_GROUPS[:3], _BINARY[:2]) if complete else (_GROUPS, _BINARY)
    value = values[rng.integers(len(values))] if rng.random() < 0.6 else float(np.round(rng.uniform(*BOUNDS), 3))
    return Person(value, groups[rng.integers(len(groups))], answers[rng.integers(len(answers))])


def in_csv(people: tuple[Person, ...], folder: Path, name: str) -> Source:
    """Open the people as a CSV file: works in the core install, and every value passes the text reader."""
    lines = ["value,group,works", *(",".join(_text(cell) for cell in _cells(person)) for person in people)]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return open_source(path)


def in_frame(people: tuple[Person, ...]) -> Source | None:
    """Open the people as an Arrow table; None where pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        return None
    arrow = importlib.import_module("pyarrow")
    kinds = {"value": arrow.float64(), "group": arrow.string(), "works": arrow.int64()}
    columns = zip(*(_cells(person) for person in people), strict=True)
    arrays = [arrow.array(cells, kind) for cells, kind in zip(columns, kinds.values(), strict=True)]
    return open_source(arrow.table(dict(zip(kinds, arrays, strict=True))))


def _cells(person: Person) -> tuple[float | None, str | None, int | None]:
    return person.value, person.group, person.works


def _text(cell: float | str | None) -> str:
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)
