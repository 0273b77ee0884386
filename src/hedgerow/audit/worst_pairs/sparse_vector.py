"""Sparse vector under attack: the questions that tell neighbours apart best, their exact law, and the score it gives.

The proof of the price (see `hedgerow.mechanisms.sparse_vector`) loses nothing where many statistics rise by Δ from one
neighbour to the other while others fall by Δ, all are asked below a threshold that is rarely reached, the falling ones
first: "no" to those speaks for the neighbour on which they are low, "yes" to the rising ones, asked last, for the same.
A run of answers is a finite text, so its chance is one sum over the threshold's noise, exact but for far tails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.sparse_vector import SparseVector
from hedgerow.noise.source import NoiseSource
from hedgerow.release.draw.sparse_vector import SparseVectorRuns

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_NOT_ASKED = -1
_FALLING = 4  # falling questions; the more, the nearer the threshold's part of the price comes
_REACH = 45.0  # scales of the threshold's noise that are summed over: e^-45 is left out


@dataclass(frozen=True, slots=True)
class Questions:
    """Statistics on either neighbour (0: low, 1: high) and their public threshold."""

    low: Integers
    high: Integers
    threshold: int

    @classmethod
    def worst(cls, mechanism: SparseVector, *, falling: int = _FALLING, threshold: int = 0) -> Questions:
        """Return `falling` statistics that fall by Δ, then as many as may be answered yes that rise by Δ.

        Monotone statistics may not move against one another: there all of them rise.
        """
        reach, rising = mechanism.reach, mechanism.positives
        if mechanism.monotone:
            return cls(np.zeros(falling + rising, np.int64), np.full(falling + rising, reach), threshold)
        low = np.array([reach] * falling + [0] * rising)
        return cls(low, reach - low, threshold)

    def on(self, neighbour: int) -> Integers:
        """Return the statistics on one neighbour."""
        return self.high if neighbour else self.low


def sparse_vector_outputs(mechanism: SparseVector, neighbour: int, runs: int, noise: NoiseSource) -> Floats:
    """Return what `runs` runs say, (runs, 1, questions + answers): 1 yes, 0 no, −1 not asked; answers 0 if none.

    The answers follow the costliest movement: 0 on the low neighbour, that movement on the high one.

    >>> from hedgerow.facts.relation import Relation
    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> described = SparseVector(Relation.ADD_REMOVE, 1, False, 1, 2.0, 2.0)
    >>> sparse_vector_outputs(described, 1, 7, SimulatedNoise(1)).shape
    (7, 1, 5)
    """
    questions = Questions.worst(mechanism)
    drawn = SparseVectorRuns(mechanism, noise, runs)
    move = np.array(costliest_move(mechanism), dtype=np.int64)
    said, answers = [], []
    for statistic in questions.on(neighbour):
        still = drawn.open
        yes = drawn.ask(int(statistic), questions.threshold)
        said.append(np.where(still, yes.astype(np.int64), _NOT_ASKED))
        if move.size:
            answers.append(drawn.answer(np.tile(move * neighbour, (runs, 1))))
    return np.concatenate([np.stack(said, axis=1), *answers], axis=1).astype(np.float64)[:, None, :]


def sparse_vector_ratio(mechanism: SparseVector, sign: float) -> Callable[[Floats], Floats]:
    """Return log(P_high/P_low), times `sign`, as a score of such outputs: exact for runs of answers and values."""
    questions = Questions.worst(mechanism)
    long = len(questions.low)
    move = np.array(costliest_move(mechanism), dtype=np.float64)
    scales = np.array(mechanism.answer_scales)
    known: dict[int, float] = {}

    def score(outputs: Floats) -> Floats:
        flat = outputs.reshape(len(outputs), -1)
        # Each run of answers as one number, base 3: far quicker to sort than rows.
        digits = flat[:, :long].astype(np.int64) - _NOT_ASKED
        codes, first, place = np.unique(digits @ 3 ** np.arange(long), return_index=True, return_inverse=True)
        for code, row in zip(codes.tolist(), first, strict=True):
            if code not in known:
                text = tuple((digits[row] + _NOT_ASKED).tolist())
                high, low = (log_chances(mechanism, questions, side, text) for side in (1, 0))
                known[code] = high - low
        total = np.array([known[code] for code in codes.tolist()])[place.ravel()]
        if move.size:
            values = flat[:, long:].reshape(len(flat), long, len(move))
            moved = ((np.abs(values) - np.abs(values - move)) / scales).sum(axis=2)
            total = total + (moved * (flat[:, :long] == 1)).sum(axis=1)
        return np.asarray(sign * total)

    return score


def costliest_move(mechanism: SparseVector) -> tuple[int, ...]:
    """Return the stated movement of an answer that costs most; () where nothing is answered."""
    scales = mechanism.answer_scales
    cost = [sum(d / s for d, s in zip(move, scales, strict=True)) for move in mechanism.answer_moves]
    return mechanism.answer_moves[int(np.argmax(cost))] if cost else ()


def log_chances(mechanism: SparseVector, questions: Questions, neighbour: int, text: tuple[int, ...]) -> float:
    """Return the log of the chance that a run says `text`: Σ_z P(ρ = z) Π P(ν < t − q_i + z or not), in logarithms."""
    from scipy.special import logsumexp

    span = int(np.ceil(_REACH * max(mechanism.threshold_scale, 0.1))) + 2
    z = np.arange(-span, span + 1)
    total = -np.abs(z) / mechanism.threshold_scale
    normaliser = logsumexp(total)
    for said, statistic in zip(text, questions.on(neighbour), strict=True):
        if said != _NOT_ASKED:
            total = total + _log_half_line(questions.threshold + z - statistic, mechanism.question_scale, said == 1)
    return float(logsumexp(total) - normaliser)


def texts(mechanism: SparseVector, questions: int) -> Iterator[tuple[int, ...]]:
    """Yield every run of answers to so many questions: no more yes than are paid for, nothing asked after the last."""
    for said in product((0, 1), repeat=questions):
        yes = np.cumsum(said)
        over = np.concatenate([[False], yes[:-1] >= mechanism.positives])
        if not np.any(over & (np.array(said) == 1)):
            yield tuple(np.where(over, _NOT_ASKED, said).tolist())


def worst_loss(mechanism: SparseVector, questions: Questions) -> float:
    """Return max |log P_high/P_low| over all runs of answers: a lower bound on the ε of comparing, by enumeration.

    >>> from hedgerow.facts.relation import Relation
    >>> described = SparseVector(Relation.ADD_REMOVE, 1, False, 1, 2.0, 4.0)
    >>> 0.6 < worst_loss(described, Questions.worst(described)) < described.pure()
    True
    """
    losses = [
        log_chances(mechanism, questions, 1, text) - log_chances(mechanism, questions, 0, text)
        for text in texts(mechanism, len(questions.low))
    ]
    return float(np.abs(losses).max())


def _log_half_line(start: Integers, scale: float, above: bool) -> Floats:
    """Return log P(ν ≥ start), or of its complement, for two-sided geometric ν."""
    # With a = e^(−1/b): P(ν ≥ s) = a^s/(1 + a) for s ≥ 1, and 1 − a^(1 − s)/(1 + a) for s ≤ 0; mirrored for ν ≤ s − 1.
    s = start if above else 1 - start
    tail = np.where(s >= 1, s, 1 - s) / -scale - np.log1p(np.exp(-1.0 / scale))
    return np.asarray(np.where(s >= 1, tail, np.log1p(-np.exp(np.minimum(tail, -1e-300)))))
