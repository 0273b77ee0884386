"""Sparse vector as it runs: noise on the threshold once, noise on every question, and a stop after the last yes.

Every draw is made here, as `hedgerow.mechanisms.sparse_vector.SparseVector` describes it and as it is priced. The
caller brings exact integer statistics that one record moves by at most the described reach, and must publish nothing
else.

`SparseVectorRuns` goes through n independent runs abreast, for audits and studies; `SparseVectorRun` is one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.mechanisms.sparse_vector import SparseVector
from hedgerow.noise.source import NoiseSource

Integers = NDArray[np.int64]
_AHEAD = 1024  # numbers of question noise drawn at a time: they do not depend on the questions


class SparseVectorRuns:
    """`runs` independent runs of one description, asked the same number of questions side by side.

    Examples
    --------
    >>> from hedgerow.facts.relation import Relation
    >>> from hedgerow.mechanisms.sparse_vector import sparse_vector
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
    >>> from hedgerow.mechanisms.sparse_vector import sparse_vector
    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> answered = {"answer_moves": ((1,),), "answer_widths": (1.0,)}
    >>> described = sparse_vector(1.0, Relation.ADD_REMOVE, reach=1, positives=2, **answered)
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
                rule="A sparse-vector run answers no question after its last yes.",
                finding=f"All {self.description.positives} are used up.",
                remedy="Start another run, at a price of its own.",
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
                rule="Each yes of a sparse-vector run is followed by at most one answer, of the described length.",
                finding=f"Found {len(values)} values for {len(scales)}, or no yes that is still to be answered.",
                remedy="Call answer right after ask has returned True, once.",
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
