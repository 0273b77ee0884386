"""Sparse vector: many questions "is this statistic at least that?", of which only the few answered yes are paid for.

Lyu, Su & Li (2017), Algorithm 7, with
integer statistics and two-sided geometric noise. One draw of noise ρ is added to the threshold, ONCE; each question i
compares

    q_i + ν_i ≥ T_i + ρ,      q_i the statistic, T_i its public threshold, ν_i noise of its own,

and after `positives` answers "yes" no more is asked. A "yes" may be followed by an answer: a vector of integers that
belong to it, each plus noise of its own. Questions may depend on all that was said before.

The price, proven on the integers
---------------------------------
Let D, D' be neighbours, Δ = `reach`, c = `positives`, P(ρ = z) ∝ e^(−|z|/b₁), P(ν = z) ∝ e^(−|z|/b₂). Given the answers
so far the questions are fixed, so the chance of a run of answers is, with f over "no" and g over "yes",

    Σ_z P(ρ = z) · Π_no P(q_i(D) + ν < T_i + z) · Π_yes P(q_i(D) + ν ≥ T_i + z).

The sum runs over ALL integers, so z may be replaced by z + Δ, Δ an integer, term by term:

* P(ρ = z) ≤ e^(Δ/b₁) P(ρ = z + Δ);
* "no": q_i(D) ≥ q_i(D') − Δ, so {q_i(D) + ν < T_i + z} lies inside {q_i(D') + ν < T_i + z + Δ}: no price, however many;
* "yes": {q_i(D) + ν ≥ T_i + z} is {ν ≥ t}, t = T_i + z − q_i(D) an integer, and the event wanted on D' is {ν ≥ t'} with
  t' ≤ t + 2Δ. Summing P(ν = j) ≤ e^(2Δ/b₂) P(ν = j + 2Δ) over j ≥ t gives a factor e^(2Δ/b₂), at most c times.

So the loss is at most Δ/b₁ + 2cΔ/b₂. Ties need no care: ≥ and < split the integers into two half-lines that integer
shifts map onto half-lines, and with > and ≤ the same lines hold. If all statistics move the same way between any two
neighbours (`monotone`), cΔ/b₂ is enough: where they rise from D to D', t' ≤ t + Δ after the shift; where they fall, z
is not shifted, "no" costs nothing, and "yes" costs Δ/b₂. An answer costs the largest of Σ |d_i|/s_i over its possible
movements d, at most c times. Nothing in this needs δ.

What an audit asks
------------------
The proof of the price loses nothing where many statistics rise by Δ from one
neighbour to the other while others fall by Δ, all are asked below a threshold that is rarely reached, the falling ones
first: "no" to those speaks for the neighbour on which they are low, "yes" to the rising ones, asked last, for the same.
A run of answers is a finite text, so its chance is one sum over the threshold's noise, exact but for far tails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.dominating_pairs import ROUND_UP, DominatingPair, PureDPPair
from hedgerow.accounting.lower_bounds import LowerBoundPairs
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import positive_number
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import AtomicMechanism, AuditRecord, Floats, Neighbours, Score, Specimen
from hedgerow.noise.lattice import NoiseSource, require_drawable, require_positive
from hedgerow.resampling.counted_values import Histogram

Integers = NDArray[np.int64]

# A certificate rounds ε up to 1e-6, and a price is rounded up in its last digits: aim below by less than it shows.
_AIM = 1.0 - 1e-9
_AHEAD = 1024  # numbers of question noise drawn at a time: they do not depend on the questions
_NOT_ASKED = -1
_FALLING = 4  # falling questions of an audit; the more, the nearer the threshold's part of the price comes
_REACH = 45.0  # scales of the threshold's noise that are summed over: e^-45 is left out


@dataclass(frozen=True, slots=True)
class SparseVector(AtomicMechanism):
    """Questions against public thresholds until `positives` were answered yes, each yes with an answer where wanted.

    Pure ε = Δ/b₁ + 2cΔ/b₂ + c·max_d Σ |d_i|/s_i, the 2 dropped for `monotone` statistics; see the module's proof.

    Attributes
    ----------
    relation : Relation
        The neighbours for which `reach`, `monotone` and `answer_moves` are stated. Under another one there is no price.
    reach : int
        Δ, the farthest that one record moves any statistic, in its own integers.
    monotone : bool
        Whether between any two neighbours all statistics move the same way (counts under add-remove do).
    positives : int
        c, after which nothing more is asked.
    threshold_scale, question_scale : float
        b₁ of the noise drawn once, b₂ of each question's.
    answer_moves : tuple of tuples of int
        The movements d of an answer between neighbours: each that can occur is no larger, coordinate by coordinate,
        than one of these. Empty where nothing is answered but yes.
    answer_scales : tuple of float
        s_i of each coordinate of an answer.
    """

    relation: Relation
    reach: int
    monotone: bool
    positives: int
    threshold_scale: float
    question_scale: float
    answer_moves: tuple[tuple[int, ...], ...] = ()
    answer_scales: tuple[float, ...] = ()
    type: Literal["sparse-vector"] = "sparse-vector"

    def __post_init__(self) -> None:
        require_positive(reach=self.reach, positives=self.positives)
        whole = all(isinstance(number, int) for move in self.answer_moves for number in move)
        scales = {f"answer_scales[{index}]": scale for index, scale in enumerate(self.answer_scales)}
        scales |= {"threshold_scale": self.threshold_scale, "question_scale": self.question_scale}
        require_positive(**scales)
        require_drawable(*scales.values())
        whole = whole and isinstance(self.reach, int) and isinstance(self.positives, int)
        fits = whole and all(
            len(move) == len(self.answer_scales) and all(d >= 0 for d in move) for move in self.answer_moves
        )
        fits = fits and len({*self.answer_moves}) == len(self.answer_moves)
        if not fits or bool(self.answer_moves) != bool(self.answer_scales):
            raise ParameterError(
                "HG406",
                rule="Each scale of the noise needs one whole number, 0 or more, for every movement of an answer; no "
                "movement is given twice.",
                finding=f"Found {len(self.answer_moves)} movements for {len(self.answer_scales)} scales.",
            )

    def comparing_loss(self) -> float:
        """Return Δ/b₁ + 2cΔ/b₂ (cΔ/b₂ where monotone): what all the questions cost together."""
        shifts = 1 if self.monotone else 2
        return self.reach / self.threshold_scale + shifts * self.positives * self.reach / self.question_scale

    def answering_loss(self) -> float:
        """Return c·max_d Σ |d_i|/s_i: what the answers cost together; 0 without any."""
        moved = (sum(d / s for d, s in zip(move, self.answer_scales, strict=True)) for move in self.answer_moves)
        return self.positives * max(moved, default=0.0)

    def pure(self) -> float:
        """Return ε, up to rounding in the last digits."""
        return self.comparing_loss() + self.answering_loss()

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return a pair of bounded loss, under the stated relation only."""
        if relation is not self.relation:
            return super(SparseVector, self).terms(relation)
        return (PureDPPair(self.pure() * ROUND_UP),)

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return none: the loss nears its bound as more and more questions are asked."""
        return LowerBoundPairs((), "The worst run of questions has no end; `hedgerow audit` attacks a long one.")

    @property
    def size(self) -> int:
        """Questions and answers of a run that an audit attacks."""
        return _FALLING + self.positives

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one positive alone, and one that is followed by a residual sum and a count."""
        near, far, answers = Relation.ADD_REMOVE, Relation.REPLACE_ONE, AnswerNoise(((2, 1), (3, 0)), (2.0, 1.0))
        alone = sparse_vector(2.0, near, reach=1, positives=1)
        answered = sparse_vector(2.0, far, reach=2, positives=1, answers=answers)
        return (
            Specimen("sparse vector", alone, near, 0.0),
            Specimen("sparse vector with answers", answered, far, 1e-3, released=False),
        )

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the statistics of `Questions.worst`: high on one neighbour, low on the other."""
        return (Neighbours("rising against falling", AuditRecord(0, 1), AuditRecord(0, 0), 1),)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return what `n` runs say; the index of the one record says which neighbour it is."""
        return sparse_vector_outputs(self, int(data.index[0]), n, noise)

    def change(self, record: AuditRecord) -> Score:
        """Return log(P_high/P_low) of what a run says, for the high neighbour; 0 for the low one."""
        return sparse_vector_ratio(self, float(record.index))


@dataclass(frozen=True, slots=True)
class AnswerNoise:
    """What follows a yes: the movements of an answer, how wide its noise is, and what the answers take of ε.

    Attributes
    ----------
    moves : tuple of tuples of int
        `SparseVector.answer_moves`.
    widths : tuple of float
        How wide the noise of an answer's coordinates is relative to one another.
    share : float
        ε₃/ε, what the answers take.
    """

    moves: tuple[tuple[int, ...], ...]
    widths: tuple[float, ...]
    share: float = 0.5


def sparse_vector(
    epsilon: float,
    relation: Relation,
    *,
    reach: int,
    positives: int,
    monotone: bool = False,
    answers: AnswerNoise | None = None,
) -> SparseVector:
    """Return the description that spends ε in the proportions of Lyu, Su & Li: ε₁ : ε₂ = 1 : (2c)^(2/3).

    Parameters
    ----------
    epsilon : float
        Of the whole run, answers included.
    relation, reach, positives, monotone
        As in `SparseVector`. For monotone statistics the proportion is 1 : c^(2/3).
    answers : AnswerNoise, optional
        What follows each yes.

    Raises
    ------
    ParameterError
        HG101: ε is not positive. HG182: a share outside (0, 1). HG406: numbers that do not fit.

    Examples
    --------
    >>> near = Relation.ADD_REMOVE
    >>> found = sparse_vector(1.0, near, reach=1, positives=4, answers=AnswerNoise(((1,),), (1.0,)))
    >>> round(found.threshold_scale, 9), round(found.question_scale, 9), round(found.answer_scales[0], 9)
    (10.00000001, 20.00000002, 8.000000008)
    >>> round(found.pure(), 6)
    1.0
    """
    epsilon = positive_number("epsilon", epsilon)
    if answers is not None and not 0.0 < answers.share < 1.0:
        raise ParameterError(
            "HG182",
            rule="In the sparse vector technique, the share of ε that pays for numeric answers lies strictly between "
            "0 and 1.",
            finding=f"Found {answers.share!r}.",
            remedy="Leave the share of ε for numeric answers at 0.5.",
        )
    moves, widths, share = (answers.moves, answers.widths, answers.share) if answers else ((), (), 0.0)
    third = epsilon * share
    shifts = (1 if monotone else 2) * positives
    ratio = shifts ** (2.0 / 3.0)
    first = (epsilon - third) / (1.0 + ratio)
    second = epsilon - third - first
    unit = SparseVector(relation, reach, monotone, positives, 1.0, 1.0, moves, widths)
    stretch = unit.answering_loss() / (third * _AIM) if moves else 1.0
    return SparseVector(
        relation,
        reach,
        monotone,
        positives,
        threshold_scale=reach / (first * _AIM),
        question_scale=shifts * reach / (second * _AIM),
        answer_moves=moves,
        answer_scales=tuple(width * stretch for width in widths),
    )


class SparseVectorRuns:
    """`runs` independent runs of one description, asked the same number of questions side by side.

    Examples
    --------
    >>> from hedgerow.facts.relation import Relation
    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> described = sparse_vector(1.0, Relation.ADD_REMOVE, reach=1, positives=1)
    >>> runs = SparseVectorRuns(described, SimulatedNoise(1), 3)
    >>> runs.ask(1000).tolist(), runs.ask(1000).tolist()
    ([True, True, True], [False, False, False])
    """

    def __init__(self, description: SparseVector, noise: NoiseSource, runs: int) -> None:
        self.description = description
        self._noise = noise
        self._threshold = noise.two_sided_geometric(description.threshold_scale, runs)
        self.positives = np.zeros(runs, dtype=np.int64)
        self._owed = np.zeros(runs, dtype=bool)

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which runs may still be asked."""
        return np.asarray(self.positives < self.description.positives)

    def ask(self, statistic: int | Integers, threshold: int | Integers = 0) -> NDArray[np.bool_]:
        """Return, for each run, whether statistic + ν ≥ threshold + ρ; False where the run is over."""
        drawn = self._noise.two_sided_geometric(self.description.question_scale, len(self.positives))
        said = self.open & (np.asarray(statistic) + drawn >= np.asarray(threshold) + self._threshold)
        self.positives = self.positives + said
        self._owed = said
        return said

    def answer(self, values: Integers) -> Integers:
        """Return values (runs × coordinates) plus noise, for runs whose last question was answered yes; else 0."""
        scales = self.description.answer_scales
        noise = [self._noise.two_sided_geometric(scale, len(self.positives)) for scale in scales]
        noisy = np.where(self._owed[:, None], values + np.stack(noise, axis=1), 0)
        self._owed = np.zeros_like(self._owed)
        return noisy


@dataclass(frozen=True, slots=True)
class RunState:
    """Where a run stands, to go on with it later. `threshold_noise` is as secret as the data: keep it with them."""

    threshold_noise: int
    positives: int
    owed: bool


class SparseVectorRun:
    """One run: `ask` until the description's number of positives is reached; `answer` once after each.

    Parameters
    ----------
    description : SparseVector
        What is drawn, and what was priced.
    noise : NoiseSource
        `SecureNoise` for a release.
    resume : RunState, optional
        Goes on with an earlier run of the same description, at no further price.

    Examples
    --------
    >>> from hedgerow.facts.relation import Relation
    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> described = sparse_vector(1.0, Relation.ADD_REMOVE, reach=1, positives=2, answers=AnswerNoise(((1,),), (1.0,)))
    >>> run = SparseVectorRun(described, SimulatedNoise(1))
    >>> run.ask(5, threshold=1000), run.ask(2000, threshold=1000)
    (False, True)
    >>> abs(run.answer(2000)[0] - 2000) < 200, run.remaining
    (True, 1)
    """

    def __init__(self, description: SparseVector, noise: NoiseSource, *, resume: RunState | None = None) -> None:
        self.description = description
        self._noise = noise
        self._ahead: Integers = np.zeros(0, dtype=np.int64)
        if resume is None:
            drawn = int(noise.two_sided_geometric(description.threshold_scale, 1)[0])
            resume = RunState(drawn, 0, False)
        self._state = resume

    @property
    def remaining(self) -> int:
        """How many questions may still be answered yes."""
        return self.description.positives - self._state.positives

    @property
    def state(self) -> RunState:
        """Where the run stands; SECRET, see `RunState`."""
        return self._state

    def ask(self, statistic: int, threshold: int = 0) -> bool:
        """Return whether statistic + ν ≥ threshold + ρ.

        Raises
        ------
        UncertifiedError
            HG426: the run has said yes as often as its price allows.
        """
        return self.first_positive(np.array([statistic]), threshold) is not None

    def first_positive(self, statistics: Integers, threshold: int = 0) -> int | None:
        """Ask in order until the first yes, and return its place; None where all are answered no.

        Raises
        ------
        UncertifiedError
            HG426: the run has said yes as often as its price allows.
        """
        if self.remaining <= 0:
            raise UncertifiedError(
                "HG426",
                rule="A run of the sparse vector technique answers no question after its last yes.",
                finding=f"All {self.description.positives} are used up.",
                remedy="Start another run, which has its own price.",
            )
        for start in range(0, len(statistics), _AHEAD):
            part = np.asarray(statistics[start : start + _AHEAD], dtype=np.int64)
            hits = np.flatnonzero(part + self._drawn(len(part)) >= threshold + self._state.threshold_noise)
            if hits.size:
                self._state = RunState(self._state.threshold_noise, self._state.positives + 1, True)
                return start + int(hits[0])
        self._state = RunState(self._state.threshold_noise, self._state.positives, False)
        return None

    def answer(self, *values: int) -> tuple[int, ...]:
        """Return the values that belong to the last yes, each plus noise of its own; once for each yes.

        Raises
        ------
        ParameterError
            HG183: the last question was not answered yes, was answered already, or the values do not fit.
        """
        scales = self.description.answer_scales
        if not self._state.owed or len(values) != len(scales) or not values:
            raise ParameterError(
                "HG183",
                rule="After each yes, a run of the sparse vector technique gives at most one answer, of the described "
                "length.",
                finding=f"Found {len(values)} values for {len(scales)}, or no yes that is still to be answered.",
                remedy="Call answer once, directly after ask has returned True.",
            )
        self._state = RunState(self._state.threshold_noise, self._state.positives, False)
        return tuple(
            int(value) + int(self._noise.two_sided_geometric(scale, 1)[0])
            for value, scale in zip(values, scales, strict=True)
        )

    def _drawn(self, size: int) -> Integers:
        """Return `size` draws of question noise; those behind a yes are discarded with it, which costs nothing."""
        if len(self._ahead) < size:
            fresh = self._noise.two_sided_geometric(self.description.question_scale, max(_AHEAD, size))
            self._ahead = np.concatenate([self._ahead, fresh])
        drawn, self._ahead = self._ahead[:size], self._ahead[size:]
        return drawn


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


def sparse_vector_ratio(mechanism: SparseVector, sign: float) -> Score:
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
