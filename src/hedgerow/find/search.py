"""Searches for bounds and categories that nobody declared: priced from public facts, then released like anything else.

==================  ==================================================================================
`BoundsSearch`      noisy counts of rows, or of units, by cells of a public grid, pure; bounds are read off them
`CategoriesSearch`  noisy counts of the values that occur, shown from a threshold on: ε and δ > 0
`RowsSearch`        noisy counts of units by their number of rows, pure; a limit is read off them
==================  ==================================================================================

The record of a search, written again from what was asked and from the noisy counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.calibrate import least_noise
from hedgerow.clock import today
from hedgerow.engines.query import ColumnQuery, Query
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget, warn_about_budget
from hedgerow.facts.columns import Scalar, Selection, checked_column
from hedgerow.facts.declared import Facts
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.relation import MOST_ROWS, Relation, Target, UnitLimit, max_rows_of, unit_of_text
from hedgerow.facts.validation import format_argument
from hedgerow.find.found import (
    Bounds,
    Categories,
    Found,
    LogGrid,
    RowLimit,
    checked_share,
    contradicted_by_noise,
    found_from_record,
    narrowest_bounds,
)
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.mechanisms.noisy_counts import GeometricCounts, StableCategories
from hedgerow.noise.lattice import NoiseSource
from hedgerow.release.designs.design import PublicFacts, only_where
from hedgerow.release.options import Resolver
from hedgerow.release.record import READING, Record, RecordKind, Rewritten
from hedgerow.release.request import parse_budget
from hedgerow.release.spend import OpenedSource, receipts, spend

_SEEN = 3.0  # standard deviations: fewer units than that may be noise
_OTHER = "Its numbers are not those that the mechanism of its certificate gives."
_WIDTH = "Its negative counts show noise of another width than that of its certificate."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a search looks: a column, and the records that count."""

    column: str
    chosen: tuple[Selection, ...] = ()

    @classmethod
    def of(cls, column: object, where: object = None, facts: Facts | None = None) -> Place:
        """Return a column, with the expression that the facts declare for it, and a condition (HG131, HG203)."""
        resolver = Resolver() if facts is None else Resolver(facts)
        name = resolver.facts.computed(checked_column(column))
        return cls(name, () if where is None else (resolver.selection(where),))

    def record(self) -> dict[str, Any]:
        """Return the condition, and what computes the columns that are computed, as plain JSON data."""
        named = [self.column, *(column for selection in self.chosen for column in selection.columns)]
        derived = {str(column): column.text for column in named if isinstance(column, DerivedColumn)}
        where = {"where": self.chosen[0].text} if self.chosen else {}
        return where | ({"derived": derived} if derived else {})


class Search(Protocol):
    """What is looked for, and the mechanism that looks: a description, made from public facts."""

    @classmethod
    def of_record(cls, place: Place, asked: Mapping[str, Any], certificate: Certificate, *, drawn: bool) -> Self:
        """Return the search of a record; with the mechanism that was `drawn`, where the ε asked for is not known."""
        ...

    def answered_again(self, released: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
        """Return the answer of recorded counts, what contradicts them, and which fields were released as they are."""
        ...

    @property
    def found(self) -> type[Found]:
        """What it returns."""
        ...

    def protected(self, unit: str | UnitLimit) -> str | UnitLimit:
        """Return the unit that is protected, or refuse another one (HG402)."""
        ...

    def unit_on_record(self, certificate: Certificate) -> str:
        """Return the unit that the certificate of a record must state."""
        ...

    @property
    def place(self) -> Place:
        """Where it looks."""
        ...

    @property
    def mechanism(self) -> GeometricCounts | StableCategories:
        """What it draws."""
        ...

    @property
    def delta(self) -> float:
        """The δ of its price."""
        ...

    @property
    def budget(self) -> Budget:
        """What was asked to be spent: ε and δ."""
        ...

    @property
    def query(self) -> Query | ColumnQuery:
        """The one question to the engine."""
        ...

    def request(self) -> dict[str, Any]:
        """Return what is asked for as plain JSON data."""
        ...

    def check(self, source: ColumnSource) -> None:
        """Refuse, before any value is read, a column that cannot be looked at."""
        ...

    def draw(self, source: ColumnSource, noise: NoiseSource) -> dict[str, Any]:
        """Count, add noise, and return the answer with its noisy counts."""
        ...


@dataclass(frozen=True, slots=True)
class BoundsSearch:
    """A search for bounds that hold a share of a column's numbers.

    Units of several rows count once in each cell in which they have one of their rows, of which so many are kept as
    the limit says: a unit moves as many counts by 1.
    """

    place: Place
    grid: LogGrid
    share: float
    mechanism: GeometricCounts
    budget: Budget
    unit: str | UnitLimit = "row"
    found: type[Found] = Bounds
    delta: float = 0.0

    @classmethod
    def of(
        cls,
        place: Place,
        relation: Relation,
        unit: str | UnitLimit = "row",
        *,
        epsilon: object,
        share: object = 0.99,
        around: object = 0,
    ) -> Self:
        """Return the search of least noise at a price (HG101, HG145).

        >>> search = BoundsSearch.of(Place("income"), Relation.REPLACE_ONE, epsilon=0.1)
        >>> round(search.mechanism.scale, 1), search.mechanism.cells
        (20.0, 483)
        """
        part, grid = checked_share(share), LogGrid.of(around)
        budget = parse_budget({"epsilon": epsilon, "delta": 0.0}, None)
        rows = max_rows_of(unit)
        made = least_noise(lambda precision: GeometricCounts(1.0 / precision, grid.cells, rows=rows), relation, budget)
        return cls(place, grid, part, made.mechanism, budget, unit)

    @classmethod
    def of_record(cls, place: Place, asked: Mapping[str, Any], certificate: Certificate, *, drawn: bool) -> Self:
        """Return the search of a record; with the mechanism that was `drawn`, where the ε asked for is not known."""
        made = GeometricCounts.of_record(certificate.mechanism)
        given = {name: asked[name] for name in ("share", "around")}
        unit = unit_of_text(certificate.unit)
        search = cls.of(place, certificate.relation, unit, epsilon=asked["epsilon"], **given)
        if made.cells != search.grid.cells:
            raise TypeError(made.type)
        return replace(search, mechanism=made) if drawn else search

    def answered_again(self, released: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
        """Return the answer of recorded counts, and what contradicts them; no more was released."""
        counts = released["noisy_counts"]
        answer = self.answer(np.array(counts, dtype=np.int64))
        # Ends of cells are exact: two of them may be closer to each other than numbers that were computed.
        other = () if (released["ends"], len(counts)) == (answer["ends"], self.mechanism.cells) else (_OTHER,)
        return answer, (*other, *((_WIDTH,) if contradicted_by_noise(counts, self.mechanism.scale) else ())), ()

    def protected(self, unit: str | UnitLimit) -> str | UnitLimit:
        """Return the unit, for which the search is made."""
        return self.unit

    def unit_on_record(self, certificate: Certificate) -> str:
        """Return the unit, for which the search is made."""
        return str(self.unit)

    @property
    def query(self) -> Query:
        """The one question to the engine."""
        limit = self.unit if isinstance(self.unit, UnitLimit) else None
        return self.grid.query(self.place.column, self.place.chosen, limit)

    def request(self) -> dict[str, Any]:
        """Return what is asked for as plain JSON data."""
        about = {"find": "bounds", "column": str(self.place.column)}
        return about | {"share": self.share, "around": float(self.grid.around), **self.place.record()}

    def check(self, source: ColumnSource) -> None:
        """Refuse a column that is not there, or is no number (HG203, HG204), or does not compare so (HG111)."""
        source.check(self.query)

    def draw(self, source: ColumnSource, noise: NoiseSource) -> dict[str, Any]:
        """Return the bounds, and the noisy count of each cell between the ends of the grid."""
        histogram = source.histogram(self.query)
        counts = (histogram.cell_sums() + histogram.missing)[:, None]
        drawn = self.mechanism.noisy(counts, noise, cells=self.query.labels, features=("count",))
        return self.answer(drawn.values[:, 0].astype(np.int64))

    def answer(self, noisy: NDArray[np.int64]) -> dict[str, Any]:
        """Return what noisy counts of the cells tell. It reads no record."""
        bounds = narrowest_bounds(noisy, self.mechanism.scale, self.grid, self.share)
        return {
            "kind": Bounds.kind,
            "column": str(self.place.column),
            "share": self.share,
            "around": float(self.grid.around),
            "bounds": None if bounds is None else list(bounds),
            "ends": list(self.grid.ends),
            "noisy_counts": noisy.tolist(),
            "noisy_total": int(noisy.sum()),
        }


@dataclass(frozen=True, slots=True)
class CategoriesSearch:
    """A search for the values of a column that many records have."""

    place: Place
    mechanism: StableCategories
    budget: Budget
    found: type[Found] = Categories

    @classmethod
    def of(
        cls, place: Place, relation: Relation, unit: str | UnitLimit = "row", *, epsilon: object, delta: object
    ) -> Self:
        """Return the search of least noise at a price (HG101, HG102; HG401 at δ = 0; HG402 units of several rows).

        >>> search = CategoriesSearch.of(Place("occupation"), Relation.REPLACE_ONE, epsilon=0.5, delta=1e-6)
        >>> round(search.mechanism.scale, 1), search.mechanism.threshold
        (4.0, 54)
        """
        if isinstance(unit, UnitLimit):
            raise UncertifiedError(
                "HG402",
                rule="No price of a search for categories is proven for units of several rows.",
                finding=f"Found the unit {unit}.",
                remedy=f"Declare the categories; or search in a file with one row of each {unit.column}.",
            )
        budget = parse_budget({"epsilon": epsilon, "delta": delta}, None)
        if budget.delta == 0.0:
            raise UncertifiedError(
                "HG401",
                rule="A search for categories needs a positive δ.",
                finding="At δ = 0 the search must not show a value that only one record may have.",
                remedy="Choose a δ such as 1e-6, or declare the categories.",
            )

        def build(precision: float) -> StableCategories:
            return StableCategories.of_scale(1.0 / precision, budget.delta)

        return cls(place, least_noise(build, relation, budget).mechanism, budget)

    @classmethod
    def of_record(cls, place: Place, asked: Mapping[str, Any], certificate: Certificate, *, drawn: bool) -> Self:
        """Return the search of a record; with the mechanism that was `drawn`, where the ε asked for is not known."""
        made = StableCategories.of_record(certificate.mechanism)
        if drawn:
            return cls(place, made, Budget(1.0, certificate.delta))
        return cls.of(place, certificate.relation, epsilon=asked["epsilon"], delta=asked["delta"])

    def answered_again(self, released: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
        """Return the answer of recorded counts, what contradicts them, and that the values were released."""
        values, counts, threshold = released["values"], released["noisy_counts"], self.mechanism.threshold
        once = len({(type(value), value) for value in values}) == len(values)
        listed = once and min(counts, default=threshold) >= threshold
        answer = self.answer(zip(values, counts, strict=True))
        return answer, () if listed else (_OTHER,), ("found.values.*",)

    def protected(self, unit: str | UnitLimit) -> str | UnitLimit:
        """Return the unit of one row, for which the search is made."""
        return "row"

    def unit_on_record(self, certificate: Certificate) -> str:
        """Return the unit of one row."""
        return "row"

    @property
    def delta(self) -> float:
        """The δ of its price."""
        return self.budget.delta

    @property
    def query(self) -> ColumnQuery:
        """The one question to the engine."""
        return ColumnQuery(self.place.column, self.place.chosen)

    def request(self) -> dict[str, Any]:
        """Return what is asked for as plain JSON data."""
        return {"find": "categories", "column": str(self.place.column), **self.place.record()}

    def check(self, source: ColumnSource) -> None:
        """Refuse a column that is not there, or has no values to declare (HG111, HG203)."""
        source.check_column(self.query)

    def draw(self, source: ColumnSource, noise: NoiseSource) -> dict[str, Any]:
        """Return the values whose noisy counts reach the threshold, sorted, and those counts."""
        occurring = source.values(self.query)
        seen = self.mechanism.select(occurring.counts, noise)
        return self.answer((occurring.values[place], int(seen[place])) for place in np.flatnonzero(seen))

    def answer(self, shown: Iterable[tuple[Scalar, int]]) -> dict[str, Any]:
        """Return the values that are shown with their noisy counts, sorted. It reads no record."""
        ordered = sorted(shown)
        return {
            "kind": Categories.kind,
            "column": str(self.place.column),
            "values": [value for value, _ in ordered],
            "noisy_counts": [count for _, count in ordered],
            "noisy_total": sum(count for _, count in ordered),
            "threshold": self.mechanism.threshold,
        }


@dataclass(frozen=True, slots=True)
class RowsSearch:
    """A search for a limit of rows that a share of the units keep. It protects all rows of a unit, however many.

    Units are counted by their number of rows, 1 to 12 and more. A unit stands in one count, so that the price is that
    of a record in counts of disjoint cells: one count moves by 1 where a unit comes or goes, two where it changes.
    """

    place: Place
    share: float
    mechanism: GeometricCounts
    budget: Budget
    found: type[Found] = RowLimit
    delta: float = 0.0

    @classmethod
    def of(cls, place: Place, relation: Relation, *, epsilon: object, share: object = 0.99) -> Self:
        """Return the search of least noise at a price (HG101, HG145).

        >>> search = RowsSearch.of(Place("person"), Relation.ADD_REMOVE, epsilon=0.1)
        >>> round(search.mechanism.scale, 1), search.mechanism.cells
        (10.0, 12)
        """
        budget = parse_budget({"epsilon": epsilon, "delta": 0.0}, None)
        made = least_noise(lambda precision: GeometricCounts(1.0 / precision, MOST_ROWS), relation, budget)
        return cls(place, checked_share(share), made.mechanism, budget)

    @classmethod
    def of_record(cls, place: Place, asked: Mapping[str, Any], certificate: Certificate, *, drawn: bool) -> Self:
        """Return the search of a record; with the mechanism that was `drawn`, where the ε asked for is not known."""
        search = cls.of(place, certificate.relation, epsilon=asked["epsilon"], share=asked["share"])
        return replace(search, mechanism=GeometricCounts.of_record(certificate.mechanism)) if drawn else search

    def answered_again(self, found: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
        """Return the answer of recorded counts, and what contradicts them; no more was released."""
        counts = found["noisy_counts"]
        if len(counts) != self.mechanism.cells:
            raise TypeError("counts")
        contradicted = (_WIDTH,) if contradicted_by_noise(counts, self.mechanism.scale) else ()
        return self.answer(np.array(counts, dtype=np.int64)), contradicted, ()

    def protected(self, unit: str | UnitLimit) -> str | UnitLimit:
        """Return the unit of the survey, which this column names, or refuse any other (HG402)."""
        if not isinstance(unit, UnitLimit) or unit.column != self.place.column:
            raise UncertifiedError(
                "HG402",
                rule="To find a limit of rows, open the survey with a unit whose column is the searched column.",
                finding=f"Found the unit {unit}.",
                remedy=f'Open the survey with unit={{"column": "{self.place.column}", "max_rows": 1}}.',
            )
        return unit

    def unit_on_record(self, certificate: Certificate) -> str:
        """Return what the certificate states, if that is a unit of this column."""
        units = [str(UnitLimit(self.place.column, rows)) for rows in range(1, MOST_ROWS + 1)]
        return certificate.unit if certificate.unit in units else units[0]

    @property
    def query(self) -> Query:
        """The one question to the engine."""
        return Query(None, self.place.chosen, UnitLimit(self.place.column, MOST_ROWS))

    def request(self) -> dict[str, Any]:
        """Return what is asked for as plain JSON data."""
        return {"find": "rows", "column": str(self.place.column), "share": self.share, **self.place.record()}

    def check(self, source: ColumnSource) -> None:
        """Refuse a column that is not there, or cannot name units (HG115, HG203)."""
        source.check(self.query)

    def draw(self, source: ColumnSource, noise: NoiseSource) -> dict[str, Any]:
        """Return the limit, and the noisy count of the units with each number of rows."""
        histogram = source.histogram(self.query)
        rows, _ = self.query.unit_totals(histogram.index)
        counts = np.bincount(rows - 1, histogram.count, MOST_ROWS).astype(np.int64)
        labels = [{"rows": place} for place in range(1, MOST_ROWS + 1)]
        drawn = self.mechanism.noisy(counts[:, None], noise, cells=labels, features=("count",))
        return self.answer(drawn.values[:, 0].astype(np.int64))

    def answer(self, noisy: NDArray[np.int64]) -> dict[str, Any]:
        """Return what noisy counts tell: the least limit beyond which at most 1 − share of the units are seen."""
        beyond = int(noisy.sum()) - np.cumsum(noisy)
        # The sum of the noise of all counts has this standard deviation.
        seen = int(noisy.sum()) > _SEEN * self.mechanism.noise_sd * math.sqrt(self.mechanism.cells)
        within = beyond <= (1.0 - self.share) * int(noisy.sum())
        return {
            "kind": RowLimit.kind,
            "column": str(self.place.column),
            "share": self.share,
            "max_rows": int(np.argmax(within)) + 1 if seen else None,
            "noisy_counts": noisy.tolist(),
            "noisy_total": int(noisy.sum()),
        }


def bounds_search(
    place: Place,
    relation: Relation,
    unit: str | UnitLimit,
    *,
    of: object,
    around: object,
    epsilon: object,
    share: object,
) -> Search:
    """Return the search for bounds of values, or of the rows of units (HG101, HG145)."""
    if of == "rows":
        return RowsSearch.of(place, relation, epsilon=epsilon, share=share)
    if of == "values":
        return BoundsSearch.of(place, relation, unit, epsilon=epsilon, share=share, around=around)
    raise ParameterError(
        "HG145",
        rule="A search finds either bounds of the values of a column, or a limit of the rows of units.",
        finding=f"Found {format_argument(of)}.",
        remedy="Use 'values', the default, or 'rows'.",
    )


def certificate_of_search(search: Search, facts: PublicFacts, notes: tuple[str, ...] = ()) -> Certificate:
    """Return the certificate of a search. It depends on public facts alone."""
    return certify(search.mechanism, facts.relation, unit=str(facts.unit), delta=search.delta, assumptions=notes)


def spent_on(search: Search) -> dict[str, Any]:
    """Return what a search was asked to spend, as plain JSON data: its noise follows from that."""
    return {"epsilon": search.budget.epsilon, "delta": search.budget.delta}


def release_found(opened: OpenedSource, make: partial[Search], *, request_id: str | None = None) -> Found:
    """Release what a search finds. Guarantee: (ε, δ)-differential privacy of everything in it.

    Parameters
    ----------
    opened : OpenedSource
        The source and its public facts.
    make : partial
        Makes the search for a relation and a unit; its keywords are the options of the call.
    request_id : str, optional
        With a ledger: the same request under the same id is answered from its record.

    Raises
    ------
    HedgerowError
        An error before the data are read costs nothing. A `SpentError` says that the price counts as spent.
    """
    protection = opened.protection
    Resolver.of(opened.facts, make.keywords, related=protection.related).require({})
    search = make(protection.relation, protection.unit)
    unit = search.protected(protection.unit)
    if opened.facts is not None:
        opened.facts.allow([f"find_{search.found.kind}"])
    search.check(opened.source)
    warn_about_budget(search.budget.epsilon, search.delta, opened.n, frames=4)
    facts = PublicFacts(protection.relation, unit, protection.target, opened.n)
    certificate = certificate_of_search(search, facts, protection.notes)
    return spend(_SearchProduct(search, facts, certificate, opened.source), opened.account(request_id))


@dataclass(frozen=True, slots=True)
class _SearchProduct:
    """A search as what spends."""

    search: Search
    facts: PublicFacts
    price: Certificate
    source: ColumnSource

    @property
    def request(self) -> dict[str, Any]:
        asked = self.search.request()
        return {**asked, **self.facts.record(), "certificate": self.price.to_dict()["mechanism"]}

    @property
    def in_words(self) -> tuple[str, ...]:
        selected = (only_where(selection.text) for selection in self.search.place.chosen)
        return (f"{self.search.found.kind} of {self.search.place.column}, missing values left out", *selected)

    def expected(self, *, n: int | None = None) -> tuple[()]:
        return ()

    def reading(self) -> AbstractContextManager[ColumnSource]:
        return self.source.reading([self.search.query])

    def draw(self, source: ColumnSource, noise: NoiseSource) -> dict[str, Any]:
        return self.search.draw(source, noise)

    def read(self, noisy: dict[str, Any]) -> Found:
        search = self.search
        about = {"source": self.source.name, **self.facts.record(), "missing": "drop", **search.place.record()}
        asked = {**search.request(), **spent_on(search)}
        return search.found(certificate=self.price, about={**about, "date": today()}, found=noisy, request=asked)

    def write(self, result: Found) -> str:
        return result.to_json()

    def from_record(self, text: str) -> Found:
        return found_from_record(text)


_SEARCHES: dict[str, type[Search]] = {
    Bounds.kind: BoundsSearch,
    Categories.kind: CategoriesSearch,
    RowLimit.kind: RowsSearch,
}
_OF_BEFORE = {"epsilon": 1.0}  # no number of a record depends on it once the mechanism is known
_FACTS = ("release.source", "release.date", "release.target")


def rewrite(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record of a search as it is written from its request, its noisy counts and its mechanism."""
    released, counts = record["found"], record["found"]["noisy_counts"]
    if not all(type(count) is int for count in counts):
        raise TypeError("counts")
    before, asked = "reading" not in record, record.get("request", {**_OF_BEFORE, **released, **record["release"]})
    search = _SEARCHES[released["kind"]].of_record(Place(str(asked["column"])), asked, certificate, drawn=before)
    answer, contradicted, known = search.answered_again(released)
    where = {name: asked[name] for name in ("where", "derived") if name in asked}
    again: dict[str, Any] = {"release": _facts(record, certificate, where), "found": answer}
    if before:
        del answer["noisy_total"]
        known = (*known, "release.where", "release.derived.*", "found.column", "found.noisy_counts.*")
    else:
        again |= {"reading": READING, "request": {**search.request(), **where, **spent_on(search)}}
    unit = search.unit_on_record(certificate)
    certified = {"mechanism": as_record(search.mechanism), "unit": unit, "delta": search.delta}
    unknown = (*_FACTS, *(("release.n",) if certificate.relation is Relation.REPLACE_ONE else ()))
    return Rewritten(again, (*unknown, *known), contradicted, certified, counts_units=unit != "row")


RECORD = RecordKind("a search", "found", rewrite, lambda record: "{kind} of {column}".format(**record["found"]))


def _facts(record: Record, certificate: Certificate, where: Mapping[str, Any]) -> dict[str, Any]:
    about, public = record["release"], certificate.relation is Relation.REPLACE_ONE
    n, dated = about["n"], {"date": about["date"]} if "date" in about else {}
    if public and (type(n) is not int or n < 0):
        raise TypeError("n")
    # Its own sentences stand on no record: a note says what became of the price.
    notes = [note for note in about.get("notes", ()) if note in receipts()]
    return {
        "source": about["source"],
        "relation": str(certificate.relation),
        "unit": certificate.unit,
        "target": str(Target(about["target"])),
        "n": n if public else None,
        "missing": "drop",
        **where,
        **dated,
        **({"notes": notes} if notes else {}),
    }
