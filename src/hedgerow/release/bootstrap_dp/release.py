"""A release under bootstrap differential privacy: numbers whose noise is as wide as D's own range makes it.

What goes out are noisy numbers on public grids and a statement in public words (`BootstrapStatement`): no standard
error, no interval, no sensitivity. The custodian has those in memory: `BootstrapRelease.for_the_custodian`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

import numpy as np

from hedgerow.clock import today
from hedgerow.engines.cells import as_entries, as_numbers
from hedgerow.engines.query import ColumnQuery, Query
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import SpentError, VerificationError
from hedgerow.facts.columns import Missing
from hedgerow.inference.estimate import Estimate
from hedgerow.ledger.bootstrap_statement import BootstrapStatement
from hedgerow.noise.source import NoiseSource
from hedgerow.release.bootstrap_dp.custodian import CustodianFigures, Token, figures_of, keep
from hedgerow.release.bootstrap_dp.number import Integers, Number, least_scale
from hedgerow.release.bootstrap_dp.plan import NumbersPlan, numbers_plan, questions_about
from hedgerow.release.execute import changed
from hedgerow.release.opened import OpenedSource
from hedgerow.release.publication.result import REPLAYED, Result
from hedgerow.release.spend import spend

METHOD = "bootstrap-geometric"
_NOTE = "NOT differential privacy; the width of its noise is confidential, so it has no error and no interval"
_REASON = "noise as wide as the data make it, which is asked for by name"


@dataclass(frozen=True, slots=True)
class Withheld:
    """The interval of a number whose noise may not be told: everything."""

    methods: tuple[str, ...] = ("withheld",)
    low: float = -math.inf
    high: float = math.inf
    withheld: bool = True

    def interval(self, level: float, method: str) -> tuple[float, float]:
        """Return (−∞, ∞)."""
        return self.low, self.high


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class BootstrapRelease(Result):
    """Numbers under ε-bootstrap differential privacy for D, which is NOT differential privacy.

    A sequence of `Estimate` without errors; ``certificate`` is a `BootstrapStatement`. The fields of
    `hedgerow.release.publication.result.Result` come with it, by name.
    """

    estimates: tuple[Estimate, ...]
    certificate: BootstrapStatement
    notes: tuple[str, ...] = ()
    token: Token | None = field(default=None, repr=False)
    guarantee: Literal["bootstrap-dp"] = "bootstrap-dp"

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, index: int | slice) -> Estimate | Sequence[Estimate]:
        return self.estimates[index]

    def __len__(self) -> int:
        return len(self.estimates)

    def __repr__(self) -> str:
        return f"<BootstrapRelease of {len(self)} estimate{'s' * (len(self) != 1)}, {self.price()}>"

    def __str__(self) -> str:
        lines = [f"{one.statistic} of {one.column}: {one.estimate:.15g}" for one in self]
        return "\n".join([*lines, f"Guarantee: {self.price()}.", *self.notes, *([REPLAYED] if self.replayed else [])])

    def price(self) -> str:
        """Return guarantee, price, relation and unit in a line."""
        stated = self.certificate
        return (
            "bootstrap differential privacy, which is NOT differential privacy, "
            f"ε ≤ {stated.epsilon:.6g}, {stated.relation}, unit {stated.unit}"
        )

    def for_the_custodian(self) -> CustodianFigures:
        """Return sensitivities, noise, intervals, accuracy and gains, for D's custodian: confidential, in memory alone.

        Raises
        ------
        ParameterError
            HG159: the release was read back, sent or written.
        """
        return figures_of(self.token)

    def custodian_names(self) -> list[str]:
        """Return what each number is, in words."""
        return [f"{one.statistic} of {one.column}" for one in self]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data: what was asked, the numbers without errors, the statement."""
        about = self._facts(self.notes, {METHOD: _REASON}) | {"guarantee": self.guarantee}
        return {
            "release": about,
            "estimates": [one.to_dict(level) for one in self],
            "certificate": self.certificate.to_dict(),
        }

    def to_json(self) -> str:
        """Return the JSON text."""
        return "".join(self.publication().json_parts())

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the numbers as columns of equal length, the guarantee among them."""
        columns: dict[str, list[Any]] = {
            name: [getattr(one, name) for one in self] for name in ("statistic", "column", "estimate", "method", "note")
        }
        return columns | {"guarantee": [f"{self.guarantee} (NOT differential privacy)"] * len(self)}

    def publication(self, title: str | None = None, *, level: float = 0.95) -> NumbersPublication:
        """Return what the formats read."""
        return NumbersPublication(self, level)


@dataclass(frozen=True, slots=True)
class NumbersPublication:
    """A bootstrap-dp release as the formats read it: no picture, since there is no error to draw."""

    release: BootstrapRelease
    level: float
    withheld: bool = True

    @property
    def kind(self) -> Literal["release"]:
        """The kind of publication: a release."""
        return "release"

    def lines(self) -> Iterator[Sequence[Any]]:
        """Yield the names of the columns, then one line per number."""
        columns = self.release.to_columns(self.level)
        yield list(columns)
        yield from zip(*columns.values(), strict=True)

    def json_parts(self) -> Iterator[str]:
        """Yield the JSON text."""
        yield json.dumps(self.release.to_dict(self.level), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def bootstrap_release(
    statistics: object, opened: OpenedSource, *, request_id: str | None = None, **options: Any
) -> BootstrapRelease:
    """Release numbers. Guarantee: ε-bootstrap differential privacy for D; NOT differential privacy.

    For data sets D1, D2 ∈ Dⁿ, whose n rows are rows of D and which differ in one of them, P(release | D1) ≤
    e^ε·P(release | D2). Whom that leaves unprotected is in ``release.certificate.unprotected`` and in every output.

    Raises
    ------
    UncertifiedError, ParameterError
        As `numbers_plan`: nothing was read or spent.
    LedgerError
        HG316: the ledger is for differential privacy.
    SpentError
        After the data were read: the price counts as spent.

    Notes
    -----
    O'Keefe & Charest (2018), Definitions 5, 9 and 10, Results 7 and 11.
    """
    plan = numbers_plan(statistics, opened, **options)
    return spend(_NumbersProduct(plan, opened, plan.statement()), opened.account(request_id))


@dataclass(frozen=True, slots=True)
class _NumbersProduct:
    """Numbers under bootstrap-dp as what spends."""

    plan: NumbersPlan
    opened: OpenedSource
    price: BootstrapStatement

    @property
    def request(self) -> dict[str, Any]:
        return self.plan.public_record()

    def reading(self) -> AbstractContextManager[ColumnSource]:
        return self.opened.source.reading([one for number in self.plan.numbers for one in questions_about(number)])

    def draw(self, source: ColumnSource, noise: NoiseSource) -> BootstrapRelease:
        return _drawn(self.plan, replace(self.opened, source=source), self.price, noise)

    def read(self, noisy: BootstrapRelease) -> BootstrapRelease:
        return noisy

    def write(self, result: BootstrapRelease) -> str:
        return result.to_json()

    def from_record(self, text: str) -> BootstrapRelease:
        return _read_back(text, self.plan, self.opened, self.price)


def _drawn(
    plan: NumbersPlan, opened: OpenedSource, statement: BootstrapStatement, noise: NoiseSource
) -> BootstrapRelease:
    read: dict[str, tuple[np.ndarray[Any, Any], Integers]] = {}
    values, widths, scales, pitches = [], [], [], []
    for number in plan.numbers:
        exact, width = exact_and_width(number, opened.source, read)
        scale = least_scale(float(width), number.epsilon)
        drawn = exact + int(noise.two_sided_geometric(scale, 1)[0])
        values.append(float(drawn * number.pitch + number.offset))
        widths.append(float(width * number.pitch))
        scales.append(scale)
        pitches.append(float(number.pitch))
    everywhere = np.array([number.everywhere() for number in plan.numbers])
    figures = CustodianFigures(np.array(values), np.array(widths), np.array(scales), np.array(pitches), everywhere)
    return replace(_release(plan, opened, statement, values, today()), token=keep(figures))


def exact_and_width(number: Number, source: ColumnSource, read: dict[str, Any]) -> tuple[int, int]:
    """Return q and w of a number: facts of the data, which leave this process with noise alone.

    Raises
    ------
    SpentError
        HG602 a column that was declared complete has a row without a value; HG603 the number of rows changed.
    """
    if number.indicator is not None:
        histogram = source.histogram(Query(number.indicator.counted))
        if histogram.total() != number.n:
            raise changed()
        return int(histogram.cell_sums(histogram.index)[0]), 1
    if number.column not in read:
        found = source.values(ColumnQuery(number.column))
        read[number.column] = as_numbers(as_entries(np.array(found.values, dtype=object))), found.counts
    x, counts = read[number.column]
    known = np.isfinite(x)
    y, counts = number.placed(x[known]), counts[known]
    without = number.n - int(counts.sum())
    if without < 0 or source.count_rows() != number.n:
        raise changed()
    if without and number.missing is Missing.DECLARED_COMPLETE:
        raise SpentError(
            "HG602",
            rule="A column that was declared complete holds no missing value.",
            finding="This one does.",
            remedy="Count the price of this call as spent, and correct the declaration.",
        )
    if without and number.missing is Missing.MIDPOINT:
        y, counts = np.append(y, number.fill), np.append(counts, without)
    adds_0 = without > 0 and number.missing is Missing.DROP
    return number.exact(y, counts), number.width(y, some_missing=adds_0, counts=counts)


def _release(
    plan: NumbersPlan,
    opened: OpenedSource,
    statement: BootstrapStatement,
    values: Sequence[float],
    date: str | None,
) -> BootstrapRelease:
    estimates = tuple(
        Estimate(
            number.name, number.column, {}, value, None, None, None, METHOD, None, False, _NOTE,
            f"{number.name} of {number.column}, with noise of undisclosed width", Withheld(),
        )
        for number, value in zip(plan.numbers, values, strict=True)
    )  # fmt: skip
    policies = ", ".join(dict.fromkeys(str(number.missing) for number in plan.numbers))
    return BootstrapRelease(
        estimates=estimates,
        certificate=statement,
        source=opened.source.name,
        relation=statement.relation,
        unit=statement.unit,
        target=str(opened.protection.target),
        n=plan.n,
        missing=policies,
        date=date,
        backend=opened.backend,
        notes=statement.unprotected,
    )


def _read_back(text: str, plan: NumbersPlan, opened: OpenedSource, statement: BootstrapStatement) -> BootstrapRelease:
    try:
        record = json.loads(text)
        values = [float(one["estimate"]) for one in record["estimates"]]
        return _release(plan, opened, statement, values, record["release"].get("date"))
    except (KeyError, TypeError, ValueError):
        raise VerificationError(
            "HG502",
            rule="A release is read back from the record that it left in the ledger.",
            finding="This is no such record.",
            remedy="Give the request another id, at its price.",
        ) from None
