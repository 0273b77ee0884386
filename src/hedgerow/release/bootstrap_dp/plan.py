"""What runs under bootstrap-dp: one plan, one statement, one draw and one record, of numbers and of tables alike.

What is released are whole numbers on public grids (`ExactNumbers`), each with noise as wide as D makes it. Numbers of a
release and cells of a table differ in how they are asked for, and in what they are read as: in their plans.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.clock import today
from hedgerow.engines.query import ColumnQuery, Query
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import VerificationError
from hedgerow.ledger.bootstrap_statement import GUARANTEE, UNPROTECTED, BootstrapNoise, BootstrapStatement
from hedgerow.noise.source import NoiseSource
from hedgerow.release.bootstrap_dp.custodian import CustodianFigures, Token, keep
from hedgerow.release.bootstrap_dp.number import draw
from hedgerow.release.opened import OpenedSource
from hedgerow.release.publication.result import Result
from hedgerow.release.spend import spend
from hedgerow.version import __version__

METHOD = "bootstrap-geometric"
_FIXED = "D is the table that was read, n rows of it, and n is public"
_SECRET = "the custodian keeps the scale of the noise confidential, and everything computed from it or from the data"

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True)
class ExactNumbers:
    """Whole numbers of one public grid, and how far a neighbour moves each: they leave this process with noise alone.

    Attributes
    ----------
    sums : array of int, (numbers,)
        What is drawn, without its noise.
    widths : float array
        w of each, in the same steps.
    epsilon : float
        The price of all of them together: one step in one of them costs 1/scale.
    pitch, offset : Fraction
        What a step is worth, and what 0 is.
    everywhere : float
        The largest w within the declared bounds, in the unit of the numbers; NaN without bounds.
    """

    sums: NDArray[Any]
    widths: NDArray[np.float64]
    epsilon: float
    pitch: Fraction
    offset: Fraction
    everywhere: float


@dataclass(frozen=True, slots=True)
class BootstrapPlan(Generic[R]):
    """What runs if something is released under bootstrap-dp. Made from public facts; reads and spends nothing.

    Attributes
    ----------
    epsilon : float
        The price.
    n : int
        The rows of D, public.
    notes : tuple of str
        Where facts come from that have no source.
    """

    epsilon: float
    n: int
    notes: tuple[str, ...]

    def statement(self) -> BootstrapStatement:
        """Return what is promised and whom it leaves out, written before the data are read."""
        texts = (_FIXED, *self.values_read(), _SECRET, *self.assumptions(), *self.notes)
        return BootstrapStatement(self.noise(), "row", texts, UNPROTECTED, {"hedgerow": __version__})

    def public_record(self) -> dict[str, Any]:
        """Return the request as plain JSON data: what tells it from another, all of it public."""
        return {"guarantee": GUARANTEE, "epsilon": self.epsilon, "n": self.n, **self.asked()}

    def noise(self) -> BootstrapNoise:
        """Return what runs, as far as it is public."""
        raise NotImplementedError

    def values_read(self) -> tuple[str, ...]:
        """Return what becomes of values before they are used, each in a clause."""
        raise NotImplementedError

    def assumptions(self) -> tuple[str, ...]:
        """Return what is taken as declared, each in a clause."""
        raise NotImplementedError

    def asked(self) -> dict[str, Any]:
        """Return what is asked for as plain JSON data."""
        raise NotImplementedError

    def questions(self) -> list[Query | ColumnQuery]:
        """Return what a source must be able to answer."""
        raise NotImplementedError

    def exact(self, source: ColumnSource) -> Iterator[ExactNumbers]:
        """Yield what is released, exactly: facts of the data."""
        raise NotImplementedError

    def result(self, values: NDArray[np.float64], **about: Any) -> R:
        """Return released numbers as a result, whose fields of `Result` are given."""
        raise NotImplementedError

    def written(self, result: R) -> str:
        """Return what a ledger keeps of a result."""
        raise NotImplementedError


def release_planned(plan: BootstrapPlan[R], opened: OpenedSource, *, request_id: str | None) -> R:
    """Release what is planned. Guarantee: ε-bootstrap differential privacy for D; NOT differential privacy.

    For data sets D1, D2 ∈ Dⁿ, whose n rows are rows of D and which differ in one of them, P(release | D1) ≤
    e^ε·P(release | D2).

    Raises
    ------
    LedgerError
        HG316: the ledger is for differential privacy.
    SpentError
        After the data were read: the price counts as spent.
    """
    return spend(_BootstrapProduct(plan, opened, plan.statement()), opened.account(request_id))


_Noisy = tuple[NDArray[np.float64], CustodianFigures]


@dataclass(frozen=True, slots=True)
class _BootstrapProduct(Generic[R]):
    """A release under bootstrap-dp as what spends."""

    plan: BootstrapPlan[R]
    opened: OpenedSource
    price: BootstrapStatement

    @property
    def request(self) -> dict[str, Any]:
        return self.plan.public_record()

    def reading(self) -> AbstractContextManager[ColumnSource]:
        return self.opened.source.reading(self.plan.questions())

    def draw(self, source: ColumnSource, noise: NoiseSource) -> _Noisy:
        values, widths, scales, steps, everywhere = [], [], [], [], []
        for exact in self.plan.exact(source):
            noisy, drawn_at = draw(exact.sums, exact.widths, exact.epsilon, noise)
            # Divided once, so that a tenth is printed as .1; reading integers as doubles is post-processing.
            values += [float(number * exact.pitch + exact.offset) for number in noisy]
            step, size = float(exact.pitch), len(noisy)
            widths.append(exact.widths * step)
            scales.append(drawn_at)
            steps.append(np.full(size, step))
            everywhere.append(np.full(size, exact.everywhere))
        found = np.array(values, dtype=np.float64)
        return found, CustodianFigures(found, *map(np.concatenate, (widths, scales, steps, everywhere)))

    def read(self, noisy: _Noisy) -> R:
        values, figures = noisy
        return self._result(values, today(), keep(figures))

    def write(self, result: R) -> str:
        return self.plan.written(result)

    def from_record(self, text: str) -> R:
        try:
            record = json.loads(text)
            kept = record["noisy"] if "noisy" in record else [one["estimate"] for one in record["estimates"]]
            values, date = np.array(kept, dtype=np.float64), record["release"].get("date")
            if values.shape != (self.price.mechanism.cells,):
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError):
            raise VerificationError(
                "HG502",
                rule="A release is read back from the record that it left in the ledger.",
                finding="This is no such record.",
                remedy="Give the request another id, at its price.",
            ) from None
        return self._result(values, date, None)

    def _result(self, values: NDArray[np.float64], date: str | None, token: Token | None) -> R:
        return self.plan.result(
            values,
            certificate=self.price,
            source=self.opened.source.name,
            relation=self.price.relation,
            unit=self.price.unit,
            target=str(self.opened.protection.target),
            n=self.plan.n,
            date=date,
            backend=self.opened.backend,
            token=token,
        )
