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

The least noise of one look with which all looks together stay within the budget, as a ledger will add them up.

The accountant's own composition of all looks guides the search; the ledger's running total, which folds entry by entry
and is larger in its last digits, decides.

From the noisy mean or sums of a look to an estimate with its errors, in the metric's unit. Post-processing.

Write u ∈ [−1, 1] for a loss about the midpoint in units of half the range. A mean of u has variance at most
(1 − ū²)/n, and exactly that where the losses are 0 or 1, so the error of sampling needs no second release.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.calibrate import most_precise
from hedgerow.accounting.profile import Profile
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation
from hedgerow.facts.validation import as_float, as_int, format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score_test import Quadratic, QuadraticTest
from hedgerow.ledger.total import RunningTotal
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.noise.lattice import NoiseSource
from hedgerow.resampling.counted_values import Histogram

MOST_LOOKS = 10_000


@dataclass(frozen=True, slots=True)
class Conditions:
    """The public facts that all looks (queries) at one test set share.

    The noise and the expected errors of scores follow from these facts.

    Attributes
    ----------
    relation : Relation
    budget : Budget
        The privacy budget, ε at δ, of all looks together.
    n_looks : int
    n : int or None
        The number of records, which is public under replace-one and None under add-remove. None under add-remove.
    grid : Grid
        The grid of the loss of one record, with its bounds.

    Raises
    ------
    ParameterError
        HG173: the number of looks, or the number of records, is not a whole number in the allowed range.

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
                remedy="Declare only as many looks as you will need; with fewer looks each look has less noise.",
            )
        object.__setattr__(self, "n_looks", looks)
        if (self.n is None) is (self.relation is Relation.REPLACE_ONE) or (self.n is not None and self.n < 2):
            raise ParameterError(
                "HG173",
                rule="A test set needs at least 2 records. The number of records is public under replace-one only.",
                finding="Found another value.",
                remedy="Give the test set as arrays or as a file.",
            )

    @property
    def binary(self) -> bool:
        """Whether the loss of each record is 0 or 1."""
        return self.grid.steps == 1 and self.grid.as_bounds() == (0.0, 1.0)

    @property
    def half_range(self) -> float:
        """Half of the range R of the loss of one record."""
        return self.grid.half_range


def replace_one_only(name: str, conditions: Conditions) -> int:
    """Return n, or refuse a mechanism whose number of draws reveals it (HG431)."""
    if conditions.n is not None:
        return conditions.n
    raise UncertifiedError(
        "HG431",
        rule=f"`{name}` is for replace-one: how much it draws shows how many records there are.",
        finding="Under add-remove the number of records is private.",
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
        rule="`thinning` must be a positive number. With `thinning`, a resample has n/thinning records.",
        finding=f"Found {format_argument(thinning)}.",
        remedy="Mount & Zumel use a thinning of 10.",
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
class DrawnLook:
    """The numbers of one look as they became public: the answer follows from these and from public facts alone.

    Attributes
    ----------
    numbers : tuple of float
        What the mechanism drew: sums of u ∈ [−1, 1], a record's loss, or of losses in grid steps, or a number of draws.
    paid : bool
        True if the test set was used for the answer, which costs a part of the price. If not, the number is the
        training score.
    """

    numbers: tuple[float, ...]
    paid: bool = True


@dataclass(frozen=True, slots=True)
class LookAnswer:
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
    described : AtomicMechanism
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
    described: AtomicMechanism
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
    def of(cls, conditions: Conditions, described: AtomicMechanism, options: Options) -> Self:
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

    @property
    def numbers(self) -> int | None:
        """How many numbers with Gaussian noise an answer is, that of the records left out; None for other noise."""
        return None

    def of_one_record(self) -> float:
        """Return a bound on what one answer tells of one record, all others and their number known, in nats."""
        return math.inf

    def spread_of_sums(self, beta: float) -> tuple[float, float]:
        """Return what the two `LookAnswer.sums` err by, both at once, but for a probability `beta`."""
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

    def answer(self, question: Question, noise: NoiseSource) -> LookAnswer:
        """Draw, and read what was drawn."""
        return self.read(self.draw(question, noise))

    @abstractmethod
    def draw(self, question: Question, noise: NoiseSource) -> DrawnLook:
        """Return the numbers that become public: all else that a look returns is read from them."""

    @abstractmethod
    def read(self, drawn: DrawnLook) -> LookAnswer:
        """Return the answer that the numbers give. It reads no record."""

    def restated(self) -> AtomicMechanism:
        """Return the description with all that the public facts say beside the noise, such as the number of records."""
        return self.described


_ROUND_UP = 1.0 + 1e-12
_SHAVINGS = 12


def all_looks(mechanism: AtomicMechanism, conditions: Conditions) -> Profile:
    """Return an upper bound on the privacy profile of `n_looks` looks by one mechanism.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 4, 1000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> round(all_looks(GeometricCounts(8.0, 1), facts).epsilon_upper(0.0), 6)
    0.5
    """
    return mechanism.repeated(conditions.n_looks, conditions.relation)


def fits(mechanism: AtomicMechanism, conditions: Conditions) -> bool:
    """Return whether a ledger of the conditions' budget takes `n_looks` entries of this mechanism."""
    return excess(mechanism, conditions) <= 0.0


def excess(mechanism: AtomicMechanism, conditions: Conditions) -> float:
    """Return the ε of all looks as a ledger adds them up, minus the ε of the budget; they fit if it is at most 0."""
    budget, looks = conditions.budget, conditions.n_looks
    allowed = int(Fraction(str(budget.epsilon)) * 10**6)
    if all(term.exact_mu() is not None for term in mechanism.terms(conditions.relation)):
        # μ² add up, there as here.
        return all_looks(mechanism, conditions).epsilon_upper(budget.delta) - (allowed - 2) / 1e6
    total = RunningTotal(conditions.relation, budget.epsilon, budget.delta)
    for _ in range(looks):
        total = total.plus(mechanism)
        if total.micro is None:
            break
    return math.inf if total.micro is None else (total.micro - allowed) / 1e6


def fit(build: Callable[[float], AtomicMechanism], conditions: Conditions, *, checked: bool = True) -> AtomicMechanism:
    """Return build(M) for nearly the largest M whose looks together meet the budget; the price must rise with M.

    Parameters
    ----------
    build : callable
        From precision to a mechanism.
    conditions : Conditions
        The budget and the number of looks.
    checked : bool
        Whether a ledger's total is asked too. Without it the mechanism is good for a comparison, not for a release.

    Raises
    ------
    UncertifiedError
        HG401, HG431: no amount of noise meets the budget.
    """
    budget = conditions.budget
    # Less is left over than one more look would cost.
    tolerance = min(1e-3, 0.2 / conditions.n_looks) * budget.epsilon
    # Looks cost about their root (without δ, their number) times what one costs: the search begins where it may end.
    fewer = conditions.n_looks ** (0.5 if budget.delta > 0.0 else 1.0)

    def looks(mechanism: AtomicMechanism) -> Profile:
        return all_looks(mechanism, conditions)

    limit = budget.epsilon - max(3e-6, 0.1 * tolerance)
    for _ in range(_SHAVINGS):
        fitted = most_precise(lambda precision: build(precision / fewer), looks, budget.delta, (limit, tolerance))
        over = excess(fitted.mechanism, conditions) if checked else 0.0
        if over <= 0.0:
            return fitted.mechanism
        # The ledger's bound lies above the search's by about as much at the next try.
        limit = min(limit, fitted.epsilon_upper) - (
            over + 0.1 * tolerance if math.isfinite(over) else max(tolerance, 1e-4 * budget.epsilon)
        )
    raise UncertifiedError(
        "HG431",
        rule="The price of all looks together must fit the ledger's budget.",
        finding=f"No amount of noise was found with which {conditions.n_looks:,} looks do.",
        remedy="Use the Gaussian mechanism, fewer looks or a larger epsilon.",
    )


_COLUMN, _REASON = "loss", "the score of a test set"
_NO_RESAMPLING = Quadratic()
COVERS = "the expected score on records drawn as the test set was; sampling and privacy noise are counted"


def estimate_of_mean(
    look: LookMechanism,
    u: float,
    *,
    resampling: Quadratic = _NO_RESAMPLING,
    noise_variance: float = 0.0,
    noise_law: str = "gaussian",
) -> Estimate:
    """Return the estimate of a metric from a noisy mean of u, n public.

    Parameters
    ----------
    look : LookMechanism
        What answered.
    u : float
        The noisy mean, unbiased for ū; it may lie outside [−1, 1].
    resampling : Quadratic
        Variance of the resampling about the test set's own ū, as a function of ū.
    noise_variance, noise_law
        Variance of the added noise, and its law.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> from hedgerow.testset.mechanisms.noisy_sum import GaussianLook
    >>> from hedgerow.testset.mechanisms.look_mechanism import Conditions, Options
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 1, 2500, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> found = estimate_of_mean(GaussianLook.fitted(facts, Options()), 0.6, noise_variance=1e-4)
    >>> round(found.estimate, 6), round(found.sampling_error, 6), round(found.privacy_error, 6)
    (0.8, 0.008, 0.005)
    """
    conditions, mechanism = look.conditions, look.name
    n, half, centre = float(conditions.n or 0), conditions.half_range, conditions.grid.centre
    inside = min(max(u, -1.0), 1.0)
    sampling = Quadratic(constant=half**2 / n, square=-1.0 / n)
    other = Quadratic(
        constant=half**2 * (resampling.constant + noise_variance),
        linear=half * resampling.linear,
        square=resampling.square,
    )
    low, high = conditions.grid.as_bounds()
    test = QuadraticTest(
        np.array([half * u]),
        shift=centre,
        sampling=sampling,
        noise=other,
        low=low,
        high=high,
        noise_law=noise_law,
        method=mechanism,
        margin=conditions.grid.rounding,
    )
    resampled = resampling.constant + inside * (resampling.linear + inside * resampling.square)
    return Estimate(
        statistic="score",
        column=None,
        cell={},
        estimate=centre + half * inside,
        sampling_error=half * math.sqrt(max(0.0, 1.0 - inside**2) / n),
        bootstrap_error=half * math.sqrt(max(0.0, resampled)),
        privacy_error=half * math.sqrt(noise_variance),
        method=mechanism,
        n_resamples=None,
        reliable=True,
        note=None,
        covers=COVERS,
        _region=ScoreRegion(test),
    )


def two_sided(beta: float) -> float:
    """Return z such that a standard normal lies beyond ±z with probability `beta`, however small.

    >>> round(two_sided(0.05), 2)
    1.96
    """
    return -NormalDist().inv_cdf(max(beta, 1e-300) / 2.0)
