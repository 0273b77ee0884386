"""What a mechanism of a test set is given, and what it must do: describe what is priced, and answer a question with it.

To add one, write a subclass of `LookMechanism` beside these, and name it in `hedgerow.testset.mechanisms.choose`.

===========================  ==========================================================================  =============
name                         what it releases                                                            relations
===========================  ==========================================================================  =============
`gaussian`                   the sum of the losses plus discrete Gaussian noise                          both
`laplace`                    the same plus two-sided geometric noise                                     both
`resample`                   what records drawn with replacement say (Mount & Zumel): (0, δ) only        replace-one
`resample_gaussian`          a Poisson resample of size n/Z about the midpoint plus Gaussian noise       replace-one
`smoothed_resample`          draws from the outcomes and as many made-up ones, for 0/1 losses            replace-one
`split`                      of records that no other look reads, the sum plus two-sided geometric noise  replace-one
`thresholdout`               the training score where it is close enough, else a paid answer             replace-one
===========================  ==========================================================================  =============
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.facts.given import as_float, as_int, format_argument
from hedgerow.facts.relation import Relation
from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.mechanism import Single
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram

MOST_LOOKS = 10_000


@dataclass(frozen=True, slots=True)
class Conditions:
    """The public facts of all looks at one test set: the noise and the expected errors follow from these alone.

    Attributes
    ----------
    relation : Relation
    budget : Budget
        ε, δ of all looks together.
    n_looks : int
    n : int or None
        The number of records, public under replace-one; None under add-remove.
    grid : Grid
        The losses of one record.

    Raises
    ------
    ParameterError
        HG173: the number of looks or records is not a whole number in range.

    Examples
    --------
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> facts.binary, facts.half_range
    (True, 0.5)
    """

    relation: Relation
    budget: Budget
    n_looks: int
    n: int | None
    grid: Grid

    def __post_init__(self) -> None:
        looks = as_int(self.n_looks)
        if looks is None or not 1 <= looks <= MOST_LOOKS:
            raise ParameterError(
                "HG173",
                rule=f"`n_looks` is a whole number from 1 to {MOST_LOOKS:,}: the budget is divided among the looks.",
                finding=f"Found {format_argument(self.n_looks)}.",
                remedy="Declare as many as you will need; fewer looks have less noise each.",
            )
        object.__setattr__(self, "n_looks", looks)
        if (self.n is None) is (self.relation is Relation.REPLACE_ONE) or (self.n is not None and self.n < 2):
            raise ParameterError(
                "HG173",
                rule="A test set has at least 2 records; their number is public under replace-one, and only there.",
                finding="Found another.",
                remedy="Give the test set as arrays or as a file.",
            )

    @property
    def binary(self) -> bool:
        """Whether a record adds 0 or 1."""
        return self.grid.steps == 1 and self.grid.as_bounds() == (0.0, 1.0)

    @property
    def half_range(self) -> float:
        """R/2 of one record's losses."""
        return self.grid.half_range


def replace_one_only(name: str, conditions: Conditions) -> int:
    """Return n, or refuse a mechanism whose number of draws reveals it (HG431)."""
    if conditions.n is not None:
        return conditions.n
    raise UncertifiedError(
        "HG431",
        rule=f"`{name}` is for replace-one: how much it draws shows how many records there are.",
        finding="Under add-remove their number is private.",
        remedy="Use mechanism='gaussian' or 'laplace'.",
    )


@dataclass(frozen=True, slots=True)
class Options:
    """The options of single mechanisms.

    Attributes
    ----------
    thinning : float
        Z of `resample` and `resample_gaussian`: the resample has n/Z records.
    threshold : float
        Of `thresholdout`: how far training and test score may lie apart without an answer from the test set.
    n_answers : int
        Of `thresholdout`: how many answers from the test set are paid for.
    """

    thinning: float = 10.0
    threshold: float = 0.02
    n_answers: int = 20


def checked_options(thinning: float, threshold: float, n_answers: int) -> Options:
    """Return the options (HG172 if the thinning is invalid); `thresholdout` looks at its own itself.

    >>> checked_options(10, 0.02, 20).thinning
    10.0
    """
    number = as_float(thinning)
    if number is not None and number > 0.0:
        # Invalid values of these two stay as they are: only `thresholdout` uses them, and refuses them.
        bar, answers = as_float(threshold), as_int(n_answers)
        return Options(number, threshold if bar is None else bar, n_answers if answers is None else answers)
    raise ParameterError(
        "HG172",
        rule="`thinning` is a positive number: a resample has n/thinning records.",
        finding=f"Found {format_argument(thinning)}.",
        remedy="Mount & Zumel take 10.",
    )


@dataclass(frozen=True, slots=True)
class Question:
    """One look: the losses as a histogram of one cell and, for `thresholdout`, what it compares them with.

    Attributes
    ----------
    histogram : Histogram
        How many records lie at each grid index of the losses.
    training : float or None
        The score on the training set, public.
    threshold_noise : int or None
        The noise on the threshold, drawn once for all looks. As secret as the test set.
    answered : int
        How many answers were paid for before.
    """

    histogram: Histogram
    training: float | None = None
    threshold_noise: int | None = None
    answered: int = 0


@dataclass(frozen=True, slots=True)
class Drawn:
    """The numbers of one look as they became public: the answer follows from these and from public facts alone.

    Attributes
    ----------
    numbers : tuple of float
        What the mechanism drew: sums of u ∈ [−1, 1], a record's loss, or of losses in grid steps, or a number of draws.
    paid : bool
        Whether the test set answered. If not, the number is the training score.
    """

    numbers: tuple[float, ...]
    paid: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """What one look returns, and whether it used up one of the answers that are paid for.

    Attributes
    ----------
    estimate : Estimate
    paid : bool
    sums : (float, float) or None
        Where n is private: the noisy number of records, and the noisy Σ u, u ∈ [−1, 1] a record's loss.
    """

    estimate: Estimate
    paid: bool = True
    sums: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class LookMechanism(ABC):
    """One mechanism with its noise, fitted to the budget of all looks.

    Attributes
    ----------
    conditions : Conditions
    described : Single
        What runs at each look (at the first, for all looks, where `once`): what is priced is what is drawn.
    name : str
        The value of `mechanism=`.
    describes : tuple of str
        The kinds that `described` can be of, by their names in JSON.
    once : bool
        Whether the whole price is paid with the first look.
    needs_training : bool
        Whether it compares with the score on the training set.
    by_name_only : str
        Why `auto` never takes it; empty if it may.
    assumes : tuple of str
        What else must hold for its price to hold.
    """

    conditions: Conditions
    described: Single
    name: ClassVar[str]
    describes: ClassVar[tuple[str, ...]]
    once: ClassVar[bool] = False
    needs_training: ClassVar[bool] = False
    by_name_only: ClassVar[str] = ""
    assumes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the mechanism of least noise with which all looks meet the budget.

        Without `checked` it is good for a comparison, not for a release.
        """

    @classmethod
    def of(cls, conditions: Conditions, described: Single, options: Options) -> Self:
        """Return the mechanism of a description."""
        if described.type not in cls.describes:
            raise TypeError(described.type)
        return cls(conditions, described, **cls.options_kept(options))

    @classmethod
    def options_kept(cls, options: Options) -> dict[str, Any]:
        """Return the options that it needs beside its description."""
        return {}

    @abstractmethod
    def expected_error(self) -> float | None:
        """Return the expected sd of a look about the test set's own score; None without n."""

    def information(self, looks: int) -> float:
        """Return a bound on the mutual information, in nats, of all records and the answers of so many looks.

        Infinite where none is proven, or where n is private; see ``docs/methods/testset.md``.
        """
        return looks * (self.conditions.n or math.inf) * self.of_one_record() if looks else 0.0

    @property
    def mu(self) -> float | None:
        """The price of a look as μ, for which a vector of sums may be released as well; None where none is proven."""
        return None

    def of_one_record(self) -> float:
        """Return a bound on what one answer tells of one record, all others and their number known, in nats."""
        return math.inf

    def spread_of_sums(self, beta: float) -> tuple[float, float]:
        """Return what the two `Answer.sums` err by, both at once, but for a probability `beta`."""
        return math.inf, math.inf

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return what an answer errs about the test set's own score, in ranges, but for a probability `beta`."""
        return math.inf

    @property
    def records_a_look(self) -> int | None:
        """How many records one look reads; None where that is private."""
        return self.conditions.n

    def error_in_records(self) -> float | None:
        """Return the sd of n times the noise on a score of one half, in ranges of one record; None if not known."""
        return None

    def note(self) -> str:
        """Return what else must be known to compare it with others."""
        return ""

    @property
    def answers(self) -> int | None:
        """How many answers from the test set are paid for; None if every look has one."""
        return None

    def rows(self, key: bytes, look: int) -> NDArray[np.int64] | None:
        """Return which rows a look reads, from 0, None for all; `key` is secret like the test set."""
        return None

    def secret_noise(self, noise: NoiseSource) -> int | None:
        """Return noise that is drawn once for all looks, and is secret like the test set; None if there is none."""
        return None

    def answer(self, question: Question, noise: NoiseSource) -> Answer:
        """Draw, and read what was drawn."""
        return self.read(self.draw(question, noise))

    @abstractmethod
    def draw(self, question: Question, noise: NoiseSource) -> Drawn:
        """Return the numbers that become public: all else that a look returns is read from them."""

    @abstractmethod
    def read(self, drawn: Drawn) -> Answer:
        """Return the answer that the numbers give. It reads no record."""

    def restated(self) -> Single:
        """Return the description with all that the public facts say beside the noise, such as the number of records."""
        return self.described
