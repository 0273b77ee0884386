"""A recorder in place of the noise: the exact vectors of two neighbours, compared with the price that is certified.

A public call runs on the first of two neighbouring data sets with recorded noise. Each draw is an array that notes the
numbers that it is added to: these are the exact vector before noise. Then the call runs on the second data set, and
each sum is answered by the answer of the first run, as if its noise had made up for the difference. So both runs see
the same outputs, also where a later question depends on an earlier answer. Then

* the laws, widths and numbers of all draws must be equal: they may depend on outputs, and on nothing else;
* the movement of the exact vectors in widths of the noise must be within μ, or within the ε of pure privacy;
* the ε that this movement proves at the certified δ must be within the certified ε.

A draw that is added to nothing is a finding too, unless the mechanism adds no noise to a vector (`OTHER_MECHANISMS`).
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import hedgerow
from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.lower_bounds import ExactLaw, epsilon_lower
from hedgerow.audit.replay import SilentNoise
from hedgerow.errors import HedgerowError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.laws import AVERAGED, GAUSSIAN, LAPLACE, Additive, Law, law_named
from hedgerow.mechanisms.mechanism import kinds, parts_of
from hedgerow.mechanisms.noisy_counts import NoisyNumber
from hedgerow.testing.simulated import SimulatedNoise

SLACK = 1.0 + 2e-6  # prices are rounded up at the sixth digit
PRODUCT = ("price", "request", "reading", "draw", "read", "write", "from_record")
OTHER_MECHANISMS = {
    "stable-categories": "its vector has a number for each value that occurs, so its length is hidden by a threshold",
    "sparse-vector": "its noise is compared and not added, and draws that follow an answer are thrown away",
    "randomised-records": "each record is replaced by random bits",
    "resample": "no noise is added to what is resampled",
    "smoothed-resample": "no noise is added to what is resampled",
}
"""Mechanisms without a vector that noise is added to, and why. The audit attacks their laws."""


@dataclass(frozen=True)
class Added:
    """An exact vector, the law of the noise on each of its numbers, the product that added it, and the sum."""

    law: Law
    width: float
    product: int
    exact: NDArray[Any]
    output: NDArray[Any]

    @property
    def shown(self) -> tuple[Any, ...]:
        """What may not depend on the data."""
        return self.law, self.width, self.product, self.exact.shape


class Drawn(np.ndarray[Any, Any]):
    """Noise that tells the recorder what it is added to."""

    made: tuple[Recorder, str, float, int] | None

    def __array_finalize__(self, made_from: Any) -> None:
        self.made = getattr(made_from, "made", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(given) if isinstance(given, Drawn) else given for given in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        if self.made is None or ufunc is not np.add:
            return result
        recorder, law, width, draws = self.made
        if method == "reduce":
            summed = np.asarray(result).view(Drawn)
            summed.made = (recorder, law, width, draws * (self.size // summed.size))
            return summed
        (exact,) = [given for given in inputs if not isinstance(given, Drawn)]
        return recorder.add(law_of(law, draws), width, np.array(exact), np.asarray(result))


def law_of(word: str, draws: int) -> Law:
    """Return the law of a sum of so many draws."""
    if word == GAUSSIAN.word:
        return GAUSSIAN
    return LAPLACE if draws == 1 else law_named(AVERAGED, draws)


@dataclass
class Recorder:
    """A source of noise that records; with `answers` it repeats the answers of another run.

    Where `texts` is a list, it also gets what each product writes for the ledger, with the product's name.
    """

    seed: int
    answers: list[Added] | None = None
    steps: list[tuple[Any, ...]] = field(default_factory=list)
    added: list[Added] = field(default_factory=list)
    products: list[tuple[str, Any]] = field(default_factory=list)
    texts: list[tuple[str, str]] | None = None
    secure: bool = True

    def __post_init__(self) -> None:
        self._noise = SimulatedNoise(self.seed)

    def discrete_gaussian(self, width: float, size: int) -> Any:
        """Return noise that notes what it is added to."""
        return self._drawn(GAUSSIAN.word, width, self._noise.discrete_gaussian(width, size))

    def two_sided_geometric(self, scale: float, size: int) -> Any:
        """Return noise that notes what it is added to."""
        return self._drawn(LAPLACE.word, scale, self._noise.two_sided_geometric(scale, size))

    def generator(self) -> np.random.Generator:
        """Return weights of a bootstrap: each record is drawn as often as is expected."""
        self.steps.append(("generator",))
        return SilentNoise().generator()

    def _drawn(self, law: str, width: float, noise: NDArray[np.int64]) -> Drawn:
        self.steps.append((law, width, noise.size))
        drawn = noise.view(Drawn)
        drawn.made = (self, law, width, 1)
        return drawn

    def add(self, law: Law, width: float, exact: NDArray[Any], output: NDArray[Any]) -> NDArray[Any]:
        """Note an exact vector, and return its noisy sum."""
        place = len(self.added)
        if self.answers is not None and place < len(self.answers):
            before = self.answers[place].output
            output = before if before.shape == output.shape else output
        self.added.append(Added(law, width, len(self.products) - 1, exact, output))
        return output.copy()

    def never_added(self) -> int:
        """Return how many draws were added to nothing."""
        drawn = sum(step[-1] for step in self.steps if len(step) == 3)
        return drawn - sum(added.exact.size * added.law.draws for added in self.added)


@cache
def products() -> dict[str, type]:
    """Return every class that spends, by its name: the methods of a product make one."""
    spending = {}
    for module in pkgutil.walk_packages(hedgerow.__path__, "hedgerow."):
        if module.name.endswith("__main__"):
            continue
        for name, part in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(part) and part.__module__ == module.name and not getattr(part, "_is_protocol", False):
                fields = set(dir(part)) | set(getattr(part, "__dataclass_fields__", ()))
                if set(PRODUCT) <= fields:
                    spending[name] = part
    bases = {base for part in spending.values() for base in part.__mro__[1:]}
    return {name: part for name, part in spending.items() if part not in bases}


def added_to_vectors() -> set[str]:
    """Return the kinds of mechanism that add noise to a vector, by their name in JSON.

    Those of one number are priced by name and drawn by no product.
    """
    return {name for name, kind in kinds().items() if not issubclass(kind, NoisyNumber)} - set(OTHER_MECHANISMS)


@contextmanager
def standing_in(recorder: Recorder) -> Iterator[None]:
    """Put the recorder in place of the noise of every product."""

    def drawing(draw: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(self: Any, source: Any, noise: Any) -> Any:
            recorder.products.append((type(self).__name__, self.price))
            return draw(self, source, noise)

        return recorded

    def reading(read: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(self: Any, noisy: Any) -> Any:
            result = read(self, noisy)
            if recorder.texts is not None:
                recorder.texts.append((type(self).__name__, self.write(result)))
            return result

        return recorded

    with ExitStack() as patches:
        for place in ("hedgerow.release.spend.SecureNoise", "hedgerow.testset.testset.SecureNoise"):
            patches.enter_context(mock.patch(place, lambda: recorder))
        for product in products().values():
            patches.enter_context(mock.patch.object(product, "draw", drawing(product.draw)))
            patches.enter_context(mock.patch.object(product, "read", reading(product.read)))
        yield


@dataclass(frozen=True)
class Comparison:
    """What two runs showed.

    Attributes
    ----------
    findings : tuple of text
        Differences that neighbours may not have.
    moved : float
        The movement over what is paid for: 1 where these neighbours are the worst.
    reached : float or None
        The ε that the movement proves at the certified δ, over the certified ε; None where it was not asked for, or the
        law is not known: records are resampled, or the guarantee is another one.
    products, mechanisms : frozenset of text
        What ran.
    compared : bool
        Whether vectors were compared.
    resampled : bool
        Whether records are resampled, so that vectors are compared replicate by replicate.
    """

    findings: tuple[str, ...]
    moved: float
    reached: float | None
    products: frozenset[str]
    mechanisms: frozenset[str]
    compared: bool
    resampled: bool


def run(call: Callable[[Any], object], data: Any, recorder: Recorder) -> str:
    """Run a call with a recorder and return how it ended."""
    with standing_in(recorder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(data)
        except HedgerowError as refused:
            return f"{refused.code}: {refused}"
    return "done"


def compare(
    call: Callable[[Any], object], first: Any, second: Any, relation: Relation, *, seed: int = 1, proving: bool = False
) -> Comparison:
    """Run a call on two neighbours and compare what met the noise with the certificate.

    `proving` also computes the ε that the movement proves, which takes seconds where noise is Laplace and δ above 0.
    """
    here, there, findings = both_recorded(call, first, second, seed)
    prices = [price for _, price in here.products]
    certified = all(isinstance(price, Certificate) for price in prices)
    mechanisms = {part.type for price in prices for part in parts_of(price.mechanism)} if certified else set()
    compared = certified and not mechanisms & set(OTHER_MECHANISMS)
    moved, reached = 0.0, None
    if compared:
        findings += divergences(here, there)
        if not findings:
            pairs = [pair for pair in zip(here.added, there.added, strict=True)]
            parts = [
                movement(price, [pair for pair in pairs if pair[0].product == place], relation, proving)
                for place, price in enumerate(prices)
            ]
            moved = max(part for part, _ in parts)
            known = [share for _, share in parts if share is not None]
            reached = max(known, default=None)
            if moved > SLACK:
                findings.append(f"the exact vectors move by {moved:.6g} times what the certificate covers")
            if reached is not None and reached > SLACK:
                findings.append(f"the exact vectors prove {reached:.6g} times the ε of the certificate")
    named = frozenset(name for name, _ in here.products)
    weighed = ("generator",) in here.steps
    return Comparison(tuple(findings), moved, reached, named, frozenset(mechanisms), compared, weighed)


def both_recorded(
    call: Callable[[Any], object], first: Any, second: Any, seed: int
) -> tuple[Recorder, Recorder, list[str]]:
    """Run a call on two neighbours, the second with the answers of the first, and return a finding for each refusal."""
    here = Recorder(seed)
    endings = [run(call, first, here)]
    there = Recorder(seed, here.added)
    endings.append(run(call, second, there))
    refusals = [f"the call ended otherwise: {ending}" for ending in dict.fromkeys(endings) if ending != "done"]
    return here, there, refusals


def divergences(here: Recorder, there: Recorder) -> list[str]:
    """Return what two runs show beside their noisy numbers."""
    findings = []
    if [name for name, _ in there.products] != [name for name, _ in here.products] or there.steps != here.steps:
        findings.append(f"control flow: {len(here.steps)} and {len(there.steps)} draws, or other laws and widths")
    if [added.shown for added in here.added] != [added.shown for added in there.added]:
        findings.append("other vectors met the noise")
    if here.never_added():
        findings.append(f"{here.never_added()} draws were added to nothing that was recorded")
    return findings


def movement(
    price: Certificate, pairs: list[tuple[Added, Added]], relation: Relation, proving: bool
) -> tuple[float, float | None]:
    """Return how far the vectors of a product moved over what is paid for, and the share of ε that they prove.

    Gaussian noise costs μ² = Σ (d/w)². Of Laplace noise, also of sums of it, Σ |d|/w bounds the loss, and far out it is
    reached. Where both kinds are added in one product, the movement is the proven share of ε. Where records are
    resampled, a replicate may move each sum by its declared reach.
    """
    moved = [(a.law, a.width, np.abs((a.exact - b.exact).astype(np.float64)).ravel()) for a, b in pairs]
    singles = parts_of(price.mechanism)
    reaches = [part for part in singles if hasattr(part, "reaches")]
    if reaches:
        return resampled(pairs, reaches, relation), None
    squares = sum(float(((d / width) ** 2).sum()) for law, width, d in moved if law.power == 2)
    loss = sum(float(d.sum()) / width for law, width, d in moved if law.power == 1)
    both = len({law.power for law, _, _ in moved}) > 1
    reached = share(proven(moved, price.delta), price.epsilon) if proving or both else None
    if both:
        return reached or 0.0, reached
    if squares:
        if price.mu is None:
            raise TypeError("Gaussian noise whose certificate states no μ")
        return share(math.sqrt(squares), price.mu), reached
    return (share(loss, pure(price, relation)) if loss else 0.0), reached


def share(cost: float, paid: float) -> float:
    """Return cost/paid; what costs nothing may have no price."""
    return 0.0 if cost == 0.0 else math.inf if paid == 0.0 else cost / paid


def proven(moved: list[tuple[Law, float, NDArray[np.float64]]], delta: float) -> float:
    """Return an ε that noise whose numbers are moved by these steps costs at least at δ."""
    laws = Counter[ExactLaw]()
    for law, width, distances in moved:
        for distance, times in Counter(distances[distances > 0.0].tolist()).items():
            laws[law.exact(distance, width)] += times
    return epsilon_lower(tuple(laws.items()), delta) if laws else 0.0


def pure(price: Certificate, relation: Relation) -> float:
    """Return the least ε of pure privacy that is stated: by the profile, the certificate, or the mechanism itself."""
    bounds = [profile_of(price.mechanism, relation).epsilon_upper(0.0)]
    if price.delta == 0.0:
        bounds.append(price.epsilon)
    singles = parts_of(price.mechanism)
    own = [part.pure(relation) for part in singles if isinstance(part, Additive) and type(part).pure != Additive.pure]
    if len(own) == len(singles):
        bounds.append(sum(own))
    return min(bounds)


def resampled(pairs: list[tuple[Added, Added]], parts: list[Any], relation: Relation) -> float:
    """Return the largest movement of a sum of one replicate over what its mechanism declares."""
    moved = [np.abs((a.exact - b.exact).astype(np.float64)) for a, b in pairs]
    largest, place = 0.0, 0
    for part in parts:
        coordinates = moved[place : place + len(part.coordinates)]
        place += len(part.coordinates)
        scales = [2.0**coordinate.noise.bits for coordinate in part.coordinates]
        table = np.stack([d / scale for d, scale in zip(coordinates, scales, strict=True)], axis=1)
        largest = max(largest, part.excess(relation, table))
    return largest
