"""One mechanism audited: the certificate's ε from above, attacks from below. It passes when they do not cross.

δ(ε) by enumeration, where the output space is small: integer counts. No sampling, no confidence level.

The sum of (p − e^ε q)₊ over any part of the outputs is a lower bound on δ(ε), so the far tails may be left out. 1e-12
is subtracted for the rounding of the sum. Each mechanism enumerates its own outputs (`exact_law`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.attack import Attack, HistogramScore, Sampler, greatest_epsilon, likelihood_ratio, threshold_attack
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.facts.validation import as_int, format_argument
from hedgerow.mechanisms.interface import Mechanism, Outcomes
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.noise.lattice import NoiseSource
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise

_ROUNDOFF = 1e-12


def exact_delta_lower(mechanism: Mechanism, relation: Relation, epsilon: float) -> float | None:
    """Return a lower bound on δ(ε), exact but for far tails: Σ max(0, p − e^ε q) over outputs; None for too many.

    Examples
    --------
    A count with two-sided geometric noise of scale 1 is pure at ε = 1; two counts are not.

    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> exact_delta_lower(GeometricCounts(1.0, cells=1), Relation.ADD_REMOVE, 1.0)
    0.0
    >>> round(exact_delta_lower(GeometricCounts(1.0, cells=2), Relation.REPLACE_ONE, 1.0), 3)
    0.338
    """
    law = _law(mechanism, relation)
    return None if law is None else _delta_lower(law, epsilon)


def exact_epsilon_lower(mechanism: Mechanism, relation: Relation, delta: float) -> float | None:
    """Return a lower bound on ε at δ by enumeration, within 1e-9 of the exact value where δ > 1e-11; None as above.

    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> round(exact_epsilon_lower(GeometricCounts(2.0, cells=1), Relation.ADD_REMOVE, 1e-6), 4)
    0.5
    """
    law = _law(mechanism, relation)
    return None if law is None else greatest_epsilon(lambda epsilon: _delta_lower(law, epsilon), delta)


def _delta_lower(law: Outcomes, epsilon: float) -> float:
    first, second = law
    return max(0.0, float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum()) - _ROUNDOFF)


@lru_cache(maxsize=8)
def _law(mechanism: Mechanism, relation: Relation) -> Outcomes | None:
    return mechanism.exact_law(relation)


CONFIDENCE = 0.999
FEWEST, MOST = 1_000, 1_000_000_000
_LEARNT_RUNS = 500_000  # a learnt attack gains nothing from more
_LEARNING = 100_000
_MOST_COORDINATES = 3
_CHUNK = 1_000_000
_NUMBERS = 8_000_000  # numbers in hand at once: 64 MB of doubles
Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is claimed and what was found: ``epsilon_lower`` ≤ ε ≤ ``epsilon_upper`` at δ, or the claim is false.

    Attributes
    ----------
    mechanism : Mechanism
    relation : Relation
    delta, epsilon_upper : float
        The certificate's claim.
    epsilon_lower : float
        The largest of the attacks' bounds; wrong with probability at most 1 − ``confidence`` in all.
    confidence : float
    runs : int
        Outputs drawn on each of two neighbours by each attack; 0 where δ(ε) was enumerated alone.
    attacks : tuple of Attack
        Each with its event, whose chances bound δ at every ε.
    exact : float or None
        The bound by enumeration, where outputs are few.
    source : str
        ``"stand-in"`` or ``"released"``: which noise was drawn.
    proven : float
        What the exact laws of the worst neighbours prove, without drawing anything; 0 where they are not known.
    """

    mechanism: Mechanism
    relation: Relation
    delta: float
    epsilon_upper: float
    epsilon_lower: float
    confidence: float
    runs: int
    attacks: tuple[Attack, ...]
    exact: float | None
    source: str
    proven: float = 0.0

    @property
    def passes(self) -> bool:
        """Whether the bounds do not cross; 1e-9 is the width of the searches for ε."""
        lower = max(self.epsilon_lower, self.proven)
        return lower <= self.epsilon_upper + 1e-9 * max(1.0, lower)

    @property
    def gap(self) -> float:
        """``epsilon_upper`` − ``epsilon_lower``: the part of ε that no attack reached."""
        return self.epsilon_upper - self.epsilon_lower

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; an infinite ε is null."""
        return {
            "mechanism": as_record(self.mechanism),
            "relation": str(self.relation),
            "delta": self.delta,
            "epsilon_upper": _finite(self.epsilon_upper),
            "epsilon_lower": _finite(self.epsilon_lower),
            "confidence": self.confidence,
            "runs": self.runs,
            "passes": self.passes,
            "gap": _finite(self.gap),
            "epsilon_proven": _finite(self.proven),
            "source": self.source,
            "attacks": [{"name": made.name, "epsilon_lower": _finite(made.epsilon_lower)} for made in self.attacks],
        }


def audit_mechanism(
    mechanism: Mechanism,
    relation: Relation,
    *,
    delta: float = 1e-6,
    runs: int = 1_000_000,
    confidence: float = CONFIDENCE,
    noise: NoiseSource | None = None,
    advance: Advance | None = None,
) -> Verdict:
    """Attack a mechanism on its worst neighbours and compare with its price.

    A true price fails with probability at most 1 − `confidence`.

    Parameters
    ----------
    mechanism, relation
        What is claimed to be private, and for whom.
    delta : float
        Where ε is compared.
    runs : int
        Outputs on each neighbour by the likelihood-ratio attack, in chunks of at most a million.
    confidence : float
        Of the lower bound as a whole: the chance of error is shared by all attacks made.
    noise : NoiseSource, optional
        Seeded noise by default; `SecureNoise` for a smaller audit of what is released.
    advance : callable, optional
        Called with the number of outputs of each chunk that was drawn.

    Raises
    ------
    ParameterError
        HG521: `runs` or `confidence` out of range.
    UncertifiedError
        HG520: no dominating pair is known.

    Examples
    --------
    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> verdict = audit_mechanism(GeometricCounts(1.0, cells=1), Relation.ADD_REMOVE, delta=1e-6, runs=20_000,
    ...                           noise=SimulatedNoise(1))
    >>> verdict.passes, round(verdict.epsilon_lower, 4), round(verdict.epsilon_upper, 4)
    (True, 1.0, 1.0)
    """
    runs = checked_runs(runs)
    if not 0.5 <= confidence < 1.0:
        raise ParameterError(
            "HG521",
            rule="The confidence of an audit lies in [0.5, 1).",
            finding=f"Found {format_argument(confidence)}.",
            remedy="Try 0.999.",
        )
    drawn_from = SimulatedNoise() if noise is None else noise
    pairs = mechanism.worst_pairs(relation)
    sizes = [mechanism.outputs(pair.histograms()[0], 1, SimulatedNoise(0)).size for pair in pairs]
    small = [pair for pair, size in zip(pairs, sizes, strict=True) if 2 <= size <= _MOST_COORDINATES]
    alpha = (1.0 - confidence) / (len(pairs) + len(small))
    attacks = []
    for pair in pairs:
        first, second = (sampler_of(mechanism, data, drawn_from, advance) for data in pair.histograms())
        score = likelihood_ratio(mechanism, pair)
        attack = threshold_attack(first, second, score, delta=delta, runs=runs, alpha=alpha)
        attacks.append(replace(attack, name=f"{pair.name}, likelihood ratio"))
    for pair in small:
        first, second = (sampler_of(mechanism, data, drawn_from) for data in pair.histograms())
        few = min(runs, _LEARNING)
        learnt = HistogramScore.fit(np.concatenate(list(first(few))), np.concatenate(list(second(few))))
        attack = threshold_attack(first, second, learnt, delta=delta, runs=min(runs, _LEARNT_RUNS), alpha=alpha)
        attacks.append(replace(attack, name=f"{pair.name}, learnt histogram"))
    exact = exact_epsilon_lower(mechanism, relation, delta)
    return Verdict(
        mechanism,
        relation,
        delta,
        profile_of(mechanism, relation).epsilon_upper(delta),
        max(exact or 0.0, *(attack.epsilon_lower for attack in attacks)),
        confidence,
        runs,
        tuple(attacks),
        exact,
        "released" if drawn_from.secure else "stand-in",
        mechanism.attained(relation).epsilon_lower(delta),
    )


def sampler_of(mechanism: Mechanism, data: Histogram, noise: NoiseSource, advance: Advance | None = None) -> Sampler:
    """Return a sampler of outputs on `data`, in chunks of bounded size; `advance` is told the size of each."""

    def draw(runs: int) -> Iterable[NDArray[np.float64]]:
        for size in _chunks(mechanism, data, runs):
            yield mechanism.outputs(data, size, noise)
            if advance is not None:
                advance(size)

    return draw


def _chunks(mechanism: Mechanism, data: Histogram, runs: int) -> Iterator[int]:
    """Yield how many outputs to draw at a time, so that memory stays bounded whatever `runs` is."""
    most = min(_CHUNK, max(1, _NUMBERS // (3 * data.cells * mechanism.size)))
    for start in range(0, runs, most):
        yield min(most, runs - start)


def checked_runs(runs: object) -> int:
    """Return a number of runs from 1,000 to 10⁹ (HG521)."""
    number = as_int(runs)
    if number is None or not FEWEST <= number <= MOST:
        raise ParameterError(
            "HG521",
            rule=f"An audit takes {FEWEST:,} to {MOST:,} runs.",
            finding=f"Found {format_argument(runs)}.",
            remedy="A million runs detect noise that is 5 % too narrow. More runs take more time.",
        )
    return number


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
