"""The interface of every mechanism: its price, its draw, its worst neighbours, and how one record shows in an output.

A mechanism is a frozen description, so what is priced is what is drawn. `AtomicMechanism` lists the questions; a
mechanism answers those that apply to it, and refuses the others by the defaults here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.compose import repeated
from hedgerow.accounting.dominating_pairs import DominatingPair
from hedgerow.accounting.lower_bounds import LowerBoundPairs
from hedgerow.accounting.profile import Profile
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.noise.lattice import NoiseSource
from hedgerow.resampling.counted_values import Histogram

Floats = NDArray[np.float64]
LATER = MappingProxyType({"later": True})
"""The metadata of a field that a description got later: a record names it only where it is not at its default."""
Outcomes = tuple[Floats, Floats]
"""The chances of the same outputs under one neighbour and under the other."""
Score = Callable[[Floats], Floats]
"""One number for each output, or for each output's cell."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One record: its cell and the grid index of its value."""

    cell: int
    index: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two data sets that differ in one unit, of one record or none beside those that they share.

    Where other records add their own noise or nothing, they can only hide the one that differs, and none are shared.
    `others` says how many are in each cell where a mechanism treats cells without records in another way.
    """

    name: str
    first: AuditRecord | None
    second: AuditRecord | None
    cells: int
    others: tuple[int, ...] = ()

    def histograms(self) -> tuple[Histogram, Histogram]:
        """Return both data sets as histograms."""
        return self._histogram(self.first), self._histogram(self.second)

    def _histogram(self, record: AuditRecord | None) -> Histogram:
        records = [(cell, 0, count) for cell, count in enumerate(self.others) if count]
        records += [] if record is None else [(record.cell, record.index, 1)]
        cell, index, count = np.array(records, dtype=np.int64).reshape(-1, 3).T
        return Histogram.from_triplets(cell, index, count, cells=self.cells)


class Mechanism:
    """What is priced: a single mechanism, or several that run on the same records."""

    __slots__ = ()
    type: str
    """The name in JSON; it never changes."""

    def singles(self) -> tuple[AtomicMechanism, ...]:
        """Return the single mechanisms that this one is made of."""
        raise NotImplementedError

    def nearly_mu(self, relation: Relation) -> float | None:
        """Return the μ of a Gaussian release that costs about as much; None where nothing is known of it."""
        return None

    @classmethod
    def of_record(cls, read: Mechanism) -> Self:
        """Return the mechanism of a record that is to hold one of this class; TypeError where it holds another."""
        if not isinstance(read, cls):
            raise TypeError(f"the record holds {read.type}")
        return read

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the dominating pair of neighbours as independent terms, which composition adds up.

        Raises
        ------
        UncertifiedError
            HG401: the mechanism has no certified pair under this relation.
        """
        raise UncertifiedError(
            "HG401",
            rule="Only mechanisms with a known dominating pair are priced.",
            finding="The given mechanism is of another kind.",
        )

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the neighbours that an audit must attack, each a candidate for the worst.

        Where the movement of a record depends on its value, the values that move most are found by brute force over
        the grid, not by the formula that prices them.

        Raises
        ------
        UncertifiedError
            HG520: no pair is known.
        """
        raise UncertifiedError(
            "HG520",
            rule="An audit attacks single mechanisms whose worst neighbouring data sets are known.",
            finding=f"Found {self.type!r} of another shape.",
            remedy="Audit each mechanism of a composition separately.",
        )

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return pairs of neighbours whose laws are known exactly: the mechanism costs at least what any of them does.

        They are computed from what records add and from the noise that is drawn, not from the terms that price it.
        """
        return LowerBoundPairs((), "No pair of neighbours of this mechanism has a law that is known exactly.")

    def exact_law(self, relation: Relation) -> Outcomes | None:
        """Return the chances of all outputs that matter under two worst neighbours; None where outputs are too many.

        They are computed by enumeration, by no formula that prices.
        """
        return None

    def excess(self, relation: Relation, difference: Floats) -> float:
        """Return how much two exact tables of neighbours differ, in declared sensitivities: more than 1 is a fault."""
        raise TypeError(self.type)

    def studied(self) -> Self:
        """Return the mechanism whose outputs are in the units of the data, as a study reads them."""
        return self

    @property
    def size(self) -> int:
        """Roughly how many times three numbers there are to a cell of one output."""
        return 1

    @property
    def bits(self) -> tuple[int, ...] | NDArray[np.int64]:
        """The lattice of each feature, or of each cell and feature: outputs are whole multiples of 2^−bits."""
        return (0,)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` independent outputs, (n, cells, features) or (n, cells, features, replicates).

        They are drawn by the functions that a release calls.
        """
        raise TypeError(f"{self.type} is drawn part by part")

    def change(self, record: AuditRecord) -> Score:
        """Return the change of the log-density of a cell (n, features[, replicates]) through one record in it."""
        raise TypeError(self.type)


@dataclass(frozen=True, slots=True)
class Quote:
    """For whom a price is asked by name, and the options that some mechanisms take; the range U − L is 1."""

    relation: Relation
    n_resamples: int = 1
    rate: float = 1.0
    n_draws: int = 1

    @property
    def sensitivity(self) -> float:
        """1, by which a replaced value moves a sum, or ½, by which one that comes or goes moves Σ(x − c)."""
        return 1.0 if self.relation is Relation.REPLACE_ONE else 0.5


class AtomicMechanism(Mechanism):
    """One mechanism, a frozen dataclass, which is drawn as a whole."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    price_name: ClassVar[str | None] = None
    """The name by which ``hedgerow price`` and ``audit`` ask for it, with noise in units of the range; None: not so."""
    price_unit: ClassVar[str] = "the range U − L"
    """In what the noise that it is priced with is measured."""
    sized_by_mu: ClassVar[bool] = False
    """Whether ρ and μ are sizes of its noise, which then needs δ > 0."""

    symmetric: ClassVar[bool] = False
    """Whether the noise is symmetric, so that both orders of two neighbours cost the same."""
    has_mu: ClassVar[bool] = True
    """Whether a μ bounds its price: it does not where a record may count any number of times."""

    methods: ClassVar[tuple[str, ...]] = ()
    """The ``method`` of the estimates that a release draws with it; empty where no release of statistics does."""

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return what the audit attacks of this kind, at sizes where a lower bound comes near the price.

        Every registered mechanism has at least one: a test and each campaign of the audit fail without it.
        """
        raise NotImplementedError(f"{cls.__name__} names no specimen for the audit")

    def singles(self) -> tuple[Self, ...]:
        """Return the mechanism itself."""
        return (self,)

    @property
    def row_limit(self) -> int | None:
        """The limit of rows of a unit for which it was priced; None where a unit has one row."""
        return None

    @property
    def end_pair_computed(self) -> bool:
        """Whether its price under replace-one rests on a pair of ends that was found on a grid, not proven."""
        return False

    @property
    def not_priced(self) -> tuple[str, ...]:
        """Fields of the description, by their paths, whose value need not change the price: it is that of the worst."""
        return ()

    @property
    def finest_grid(self) -> int:
        """Into how many steps the finest grid of a column is cut, where its price takes time in proportion; else 0."""
        return 0

    @property
    def tells_cells(self) -> bool:
        """Whether presence is public in several cells, and with it the number of records of each."""
        presence = getattr(getattr(self, "layout", None), "presence", "private")
        return presence == "public" and (self.released_cells or 0) > 1

    @property
    def released_cells(self) -> int | None:
        """How many cells a release of statistics has; None where none is drawn with it."""
        return None

    def table_spread(self, features: Sequence[str]) -> Floats | None:
        """Return the sd of the noise on each feature of a table, as it is drawn; None where no table is."""
        return None

    @property
    def table_law(self) -> str:
        """The law of that noise, by its name in a table."""
        return "gaussian"

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> Self:
        """Return the mechanism with noise of this standard deviation, in units of the range."""
        raise NotImplementedError

    @classmethod
    def of_precision(cls, precision: float, quote: Quote) -> Self:
        """Return the mechanism with noise proportional to 1/precision."""
        return cls.of_noise_sd(1.0 / precision, quote)

    @property
    def priced_sd(self) -> float:
        """Standard deviation of the noise on the number released (of one replicate), in units of the range."""
        raise NotImplementedError

    def half_width(self, cells: int, gamma: float) -> float | None:
        """Return h with P(all cells' noise within ± h) ≥ 1 − γ, in units of what is added up; None: not plain noise."""
        return None

    def repeated(self, times: int, relation: Relation) -> Profile:
        """Return an upper bound on the privacy profile of `times` runs."""
        (term,) = self.terms(relation)
        return repeated(term, times)


@dataclass(frozen=True, slots=True)
class Specimen:
    """A mechanism that the audit attacks under one relation, at δ; `released`: whether secure noise draws it in time.

    The mechanism itself tells which neighbours are worst and how its outputs are drawn.
    """

    name: str
    mechanism: AtomicMechanism
    relation: Relation
    delta: float
    released: bool = True


def across_or_one_sided(index: int, cells: int, *, across: bool) -> tuple[Neighbours, ...]:
    """Return a record in one cell against one in another; where that cannot be, against none."""
    if across:
        return (Neighbours("across cells", AuditRecord(0, index), AuditRecord(1, index), cells),)
    return (Neighbours("one-sided", AuditRecord(0, index), None, cells),)


def copies(data: Histogram, n: int) -> Histogram:
    """Return `n` copies of the data as cells of one histogram, so that one call draws every output."""
    copy = np.repeat(np.arange(n, dtype=np.int64), len(data.cell))
    return Histogram(
        np.tile(data.cell, n) + copy * data.cells,
        np.tile(data.index, n),
        np.tile(data.count, n),
        np.tile(data.missing, n),
        data.outside * n,
    )
