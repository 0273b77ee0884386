"""What is released under bootstrap-dp: one product, with one statement, one draw and one record, of numbers and tables.

What is released are whole numbers on public grids (`ExactNumbers`), each with noise as wide as D makes it. Numbers of a
release and cells of a table differ in how they are asked for, and in what they are read as.

What only the custodian of D may know of a bootstrap-dp release: sensitivities, noise, intervals, accuracy, gains.

They are no part of the release, since the width of the noise is a fact about D. They are kept beside it for as long as
the process that drew it keeps it, under a token that holds nothing: a copy that was pickled, sent, written or read back
from a ledger has none. They refuse to be pickled and offer no other form than arrays in memory, and lines for the
custodian's own terminal.

What bootstrap-dp is defined for, and is refused elsewhere before anything is read or spent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NoReturn, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hedgerow.clock import today
from hedgerow.engines.query import ColumnQuery, Query
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import ParameterError, UncertifiedError, VerificationError
from hedgerow.facts.printed import part_of
from hedgerow.facts.relation import Relation
from hedgerow.inference.interval import parse_level
from hedgerow.ledger.bootstrap_statement import GUARANTEE, UNPROTECTED, BootstrapNoise, BootstrapStatement
from hedgerow.mechanisms.laws import geometric_half_width
from hedgerow.noise.lattice import NoiseSource
from hedgerow.release.bootstrap_dp.bootstrap_numbers import draw
from hedgerow.release.publication.shared import Result
from hedgerow.release.spend import OpenedSource, spend
from hedgerow.version import __version__

Floats = NDArray[np.float64]


class Token:
    """Names what was drawn in this process, and holds nothing."""

    __slots__ = ("__weakref__",)

    def __repr__(self) -> str:
        return "Token()"


_KEPT: WeakKeyDictionary[Token, CustodianFigures] = WeakKeyDictionary()


class CustodianFigures:
    """Confidential: whoever has these learns about the extremes of D. Never written, printed or sent.

    Parameters
    ----------
    values : float array, one entry a number
        The released numbers, in the column's unit.
    sensitivity : float array
        w_i: the noise of number i is two-sided geometric of scale w_i/ε, or a little above.
    scale : float array
        That scale, in steps of the grid.
    step : float or float array
        One step of each number's grid, in its unit.
    everywhere : float array, optional
        The sensitivity within the declared bounds, which ordinary differential privacy pays for; NaN without bounds.
    """

    __slots__ = ("_everywhere", "_scale", "_sensitivity", "_step", "_values")

    def __init__(
        self,
        values: Floats,
        sensitivity: Floats,
        scale: Floats,
        step: float | Floats,
        everywhere: float | Floats = math.nan,
    ) -> None:
        self._values, self._sensitivity, self._scale, self._step = values, sensitivity, scale, step
        self._everywhere = everywhere

    @property
    def sensitivity(self) -> Floats:
        """w_i of each number, in the column's unit."""
        return self._sensitivity.copy()

    @property
    def noise_sd(self) -> Floats:
        """Standard deviation of the noise on each number, in the column's unit: √(2α)/(1 − α), α = e^(−1/scale)."""
        return np.asarray(np.sqrt(2.0) * np.exp(-0.5 / self._scale) / -np.expm1(-1.0 / self._scale) * self._step)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (low, high) of each number of this file, clamped as declared; sampling error not counted.

        Exact for the integers that were drawn; each holds by itself with probability `level` or a little more.

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.
        """
        gamma = 1.0 - parse_level(level)
        kinds, places = np.unique(self._scale, return_inverse=True)
        widths = np.array([geometric_half_width(scale, gamma=gamma) for scale in kinds])[places] * self._step
        return self._values - widths, self._values + widths

    def accuracy(self, gamma: float = 0.05) -> Floats:
        """Return h_i such that, with probability at least 1 − γ, the noise of EVERY number i stays within ± h_i.

        O'Keefe & Charest's γ-accuracy is 1/h_i (their Theorem 4, with its probability put right). Exact for the
        integers that were drawn: each of the k numbers stays within with probability (1 − γ)^(1/k).

        Raises
        ------
        ParameterError
            HG157: γ is no probability below 1.
        """
        kinds, places = np.unique(self._scale, return_inverse=True)
        k = len(self._scale)
        return np.array([geometric_half_width(scale, cells=k, gamma=gamma) for scale in kinds])[places] * self._step

    def gain(self, sensitivity: float | Floats | None = None) -> Floats:
        """Return Δf/Δ_D f of each number: by how much noise for `sensitivity` would be wider (their Result 12).

        Without one, Δf is that of the declared bounds; NaN where there are none, since the noise has no bound then.
        """
        everywhere = self._everywhere if sensitivity is None else sensitivity
        return np.asarray(np.broadcast_to(everywhere, self._sensitivity.shape) / self._sensitivity)

    def in_words(self, names: Sequence[str], *, level: float = 0.95) -> str:
        """Return the figures as lines for the custodian's terminal: no file and no report holds them."""
        gamma = 1.0 - parse_level(level)
        lines = ["CONFIDENTIAL, for the custodian of the data alone: who learns these learns about the extremes."]
        rows = zip(names, self._sensitivity, self.noise_sd, self.accuracy(gamma), self.gain(), strict=True)
        for name, width, sd, reach, gain in rows:
            gained = "" if math.isnan(gain) else f", gain {gain:.4g} over the declared bounds"
            lines.append(f"{name}: sensitivity {width:.6g}, noise sd {sd:.6g}, all within ± {reach:.6g}{gained}")
        return "\n".join([*lines, f"All numbers are within with probability {part_of(level)} or a little more."])

    def __repr__(self) -> str:
        return f"CustodianFigures({len(self._values)} numbers; confidential, not part of the result)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ParameterError(
            "HG159",
            rule="Confidential numbers of a bootstrap-dp release stay in the memory of the process that drew them.",
            finding="The release was pickled or copied.",
            remedy="Use the confidential numbers in the process that made the release. Do not publish the "
            "confidential numbers, or anything that was computed from them.",
        )


def keep(figures: CustodianFigures) -> Token:
    """Store figures in memory and return a token for `figures_of`; they are dropped with the token."""
    token = Token()
    _KEPT[token] = figures
    return token


def figures_of(token: Token | None) -> CustodianFigures:
    """Return the figures kept under a token (HG159 where there are none)."""
    figures = None if token is None else _KEPT.get(token)
    if figures is None:
        raise ParameterError(
            "HG159",
            rule="Confidential numbers of a bootstrap-dp release stay in the memory of the process that drew them.",
            finding="The release was read back, sent or written, so the release has no confidential numbers.",
            remedy="Read the confidential numbers in the process that made the release, before the process ends.",
        )
    return figures


class OfTheCustodian:
    """A result whose figures stay in the memory that drew it."""

    __slots__ = ()
    token: Token | None

    def for_the_custodian(self) -> CustodianFigures:
        """Return sensitivities, noise, intervals, accuracy and gains, for D's custodian: confidential, in memory alone.

        Raises
        ------
        ParameterError
            HG159: the release was read back, sent or written.
        """
        return figures_of(self.token)


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


_Noisy = tuple[NDArray[np.float64], CustodianFigures]


@dataclass(frozen=True, slots=True)
class BootstrapProduct(Generic[R]):
    """A release under bootstrap-dp. Guarantee: ε-bootstrap differential privacy for D; NOT differential privacy.

    For data sets D1, D2 ∈ Dⁿ, whose n rows are rows of D and which differ in one of them, P(release | D1) ≤
    e^ε·P(release | D2). It is made from public facts, and reads and spends nothing before `released`.

    Attributes
    ----------
    opened : OpenedSource
        What is read.
    epsilon : float
        The price.
    notes : tuple of str
        Where facts come from that have no source.
    """

    opened: OpenedSource
    epsilon: float
    notes: tuple[str, ...]

    def released(self, request_id: str | None) -> R:
        """Release the product, and return the result.

        Raises
        ------
        LedgerError
            HG316: the ledger is for differential privacy.
        SpentError
            After the data were read: the price counts as spent.
        """
        return spend(self, self.opened.account(request_id))

    @property
    def n(self) -> int:
        """The rows of D, public."""
        return self.opened.n or 0

    @property
    def price(self) -> BootstrapStatement:
        """What is promised and whom it leaves out, written before the data are read."""
        texts = (_FIXED, *self.values_read(), _SECRET, *self.assumptions(), *self.notes)
        return BootstrapStatement(self.noise(), "row", texts, UNPROTECTED, {"hedgerow": __version__})

    @property
    def request(self) -> dict[str, Any]:
        """The request as plain JSON data: what tells it from another, all of it public."""
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

    def write(self, result: R) -> str:
        """Return what a ledger keeps of a result."""
        raise NotImplementedError

    def reading(self) -> AbstractContextManager[ColumnSource]:
        """Reach the source for its questions."""
        return self.opened.source.reading(self.questions())

    def draw(self, source: ColumnSource, noise: NoiseSource) -> _Noisy:
        """Read the exact numbers and add noise."""
        values, widths, scales, steps, everywhere = [], [], [], [], []
        for exact in self.exact(source):
            noisy, drawn_at = draw(exact.sums, exact.widths, exact.epsilon, noise)
            # Divided once, so that a tenth is printed as .1; reading integers as doubles is post-processing.
            values += [float(number * exact.pitch + exact.offset) for number in noisy]
            step, size = float(exact.pitch), len(noisy)
            widths.append(exact.widths * step)
            scales.append(drawn_at)
            steps.append(np.full(size, step))
            everywhere.append(np.full(size, exact.everywhere))
        numbers = np.array(values, dtype=np.float64)
        return numbers, CustodianFigures(numbers, *map(np.concatenate, (widths, scales, steps, everywhere)))

    def read(self, noisy: _Noisy) -> R:
        """Return the result, with the custodian's figures beside it."""
        values, figures = noisy
        return self._read(values, today(), keep(figures))

    def from_record(self, text: str) -> R:
        """Return the result that wrote a text, without the custodian's figures (HG502)."""
        try:
            record = json.loads(text)
            noisy = record["noisy"] if "noisy" in record else [part["estimate"] for part in record["estimates"]]
            values, date = np.array(noisy, dtype=np.float64), record["release"].get("date")
            if values.shape != (self.noise().cells,):
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError):
            raise VerificationError(
                "HG502",
                rule="A release is read only from the record that it left in the ledger.",
                finding="The given text is another kind of record.",
                remedy="Give the request another id, and pay its price.",
            ) from None
        return self._read(values, date, None)

    def _read(self, values: NDArray[np.float64], date: str | None, token: Token | None) -> R:
        price = self.price
        return self.result(
            values,
            certificate=price,
            source=self.opened.source.name,
            relation=price.relation,
            unit=price.unit,
            target=str(self.opened.protection.target),
            n=self.n,
            date=date,
            backend=self.opened.backend,
            token=token,
        )


def check_reach(opened: OpenedSource, noise: str, delta: object, where: object, weights: object = None) -> None:
    """Refuse another relation, unit or law, a δ, a condition, weights, and a budget of differential privacy (HG413)."""
    findings = {
        "another relation": opened.protection.relation is not Relation.REPLACE_ONE,
        "a unit of several rows": opened.protection.unit != "row",
        "Gaussian noise": noise == "gaussian",
        "averaged Laplace noise": noise == "averaged-laplace",
        "a condition on records": where is not None,
        "weights": weights is not None,
        "a delta": delta not in (None, 0, 0.0),
        "a source whose facts set a budget of differential privacy, and no ledger for bootstrap-dp": (
            opened.ledger is None and opened.facts is not None and opened.facts.budget is not None
        ),
    }
    present = [finding for finding, there in findings.items() if there]
    if present:
        raise UncertifiedError(
            "HG413",
            rule="bootstrap-dp is defined for replaced rows, unit row, pure epsilon and geometric noise, and cannot be "
            "paid from a budget of differential privacy.",
            finding=f"The request has {present[0]}.",
            remedy='Leave the part that bootstrap-dp does not support out, or release with guarantee="dp". Nothing '
            "was read or spent.",
        )
