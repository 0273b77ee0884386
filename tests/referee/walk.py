"""The walk over all cases: real neighbours, drawn at random and then searched for neighbours that move more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from tests.referee.cases import Case, Unit, row, unit
from tests.referee.recorder import Comparison, compare

from hedgerow.facts.relation import Relation

Pair = tuple[tuple[Unit, ...], tuple[Unit, ...]]


@dataclass(frozen=True)
class Line:
    """What all neighbours of one case under one relation showed.

    `worst` is the comparison of the neighbours that moved most, `pair`.
    """

    case: Case
    relation: Relation
    pairs: int
    findings: tuple[str, ...]
    worst: Comparison
    pair: Pair

    @property
    def kinds(self) -> frozenset[str]:
        """The mechanisms, or why there is none."""
        return self.worst.mechanisms or frozenset({"no noise" if self.worst.compared else "another guarantee"})

    def __str__(self) -> str:
        kinds = ", ".join(sorted(self.kinds))
        compared = f"moves {self.worst.moved:.4f} of the price" if self.worst.compared else "not compared"
        proven = "" if self.worst.reached is None else f", proves {self.worst.reached:.4f} of ε"
        text = f"{self.case.name}, {self.relation}: {self.pairs} pairs, {compared}{proven} ({kinds})"
        return "\n".join([text, *(f"  FINDING {finding}" for finding in self.findings)])


def walk(chosen: Sequence[Case], *, pairs: int, searched: int, seed: int = 1, proving: bool = True) -> Iterator[Line]:
    """Compare `pairs` random neighbours of each case, and `searched` changes of the pair that moved most."""
    for case in chosen:
        for relation in case.relations:
            rng = np.random.default_rng([seed, *case.name.encode()])
            yield case_line(case, relation, pairs, searched if case.sweep else 0, rng, proving=proving)


def case_line(
    case: Case, relation: Relation, pairs: int, searched: int, rng: np.random.Generator, *, proving: bool
) -> Line:
    """Return what the neighbours of a case show."""
    findings: list[str] = []
    seen: list[tuple[Comparison, Pair]] = []

    def look(pair: Pair, *, proving: bool = False) -> Comparison:
        comparison = compare(lambda data: case.call(data, relation), *pair, relation, proving=proving)
        findings.extend(comparison.findings)
        if not seen or comparison.moved > seen[-1][0].moved:
            seen.append((comparison, pair))
        return comparison

    for _ in range(pairs):
        look(random_pair(case, relation, rng))
    searched = searched if seen[-1][0].compared else 0
    for _ in range(searched):
        look(changed_pair(case, seen[-1][1], rng))
    worst, pair = seen[-1]
    worst = look(pair, proving=True) if proving and worst.compared and not findings else worst
    return Line(case, relation, pairs + searched, tuple(dict.fromkeys(findings)), worst, pair)


def random_pair(case: Case, relation: Relation, rng: np.random.Generator) -> Pair:
    """Draw neighbours that differ in the last unit: it is another (replace-one), or is not there (add-remove)."""
    shared = tuple(unit(rng, case) for _ in range(case.records - 1))
    first, second = unit(rng, case), unit(rng, case)
    return (*shared, first), (*shared, second) if relation is Relation.REPLACE_ONE else shared


def changed_pair(case: Case, pair: Pair, rng: np.random.Generator) -> Pair:
    """Change one cell of the unit that differs, draw this unit anew, or give it as many equal rows as it may have."""

    def changed(given: Unit) -> Unit:
        chance = rng.random()
        if chance < 0.3:
            return unit(rng, case)
        place, column = int(rng.integers(len(given))), int(rng.integers(len(given[0])))
        if chance < 0.5 and case.rows > 1:
            return (given[place],) * case.rows
        other = row(rng, complete=case.complete)
        new = (*given[place][:column], other[column], *given[place][column + 1 :])
        return (*given[:place], new, *given[place + 1 :])

    first, second = pair
    if len(first) == len(second) and rng.random() < 0.5:
        return first, (*second[:-1], changed(second[-1]))
    return (*first[:-1], changed(first[-1])), second


def shares(lines: Sequence[Line]) -> dict[tuple[str, str], float | None]:
    """Return the largest share of the certified ε that is proven, by what spends and by mechanism; None: not known."""
    largest: dict[tuple[str, str], float | None] = {}
    for line in lines:
        for key in product(line.worst.products, line.kinds):
            shown = [share for share in (largest.get(key), line.worst.reached) if share is not None]
            largest[key] = max(shown, default=None)
    return dict(sorted(largest.items()))
