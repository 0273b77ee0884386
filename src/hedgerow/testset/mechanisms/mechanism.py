"""What every mechanism of a test set is: a description that is priced, and one way to answer a question with it.

===========================  ==========================================================================  =============
file                         what it releases                                                            relations
===========================  ==========================================================================  =============
`gaussian`                   the sum of the losses plus discrete Gaussian noise                          both
`laplace`                    the same plus two-sided geometric noise                                     both
`resample`                   what records drawn with replacement say (Mount & Zumel): (0, δ) only        replace-one
`resample_gaussian`          a Poisson resample of size n/Z about the midpoint plus Gaussian noise       replace-one
`smoothed_resample`          draws from the outcomes and as many made-up ones, for 0/1 losses            replace-one
`thresholdout`               the training score where it is close enough, else a paid answer             replace-one
===========================  ==========================================================================  =============
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hedgerow.errors import ParameterError
from hedgerow.facts.given import real, whole
from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.mechanism import Single
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram


@dataclass(frozen=True, slots=True)
class Options:
    """What may be asked of single mechanisms beside the conditions.

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
    number = real(thinning)
    if number is not None and number > 0.0:
        # What is no number stays what it is: `thresholdout` alone asks for these two, and refuses it.
        bar, answers = real(threshold), whole(n_answers)
        return Options(number, threshold if bar is None else bar, n_answers if answers is None else answers)
    raise ParameterError(
        "HG172",
        rule="`thinning` is a positive number: a resample has n/thinning records.",
        finding=f"Found {thinning!r}.",
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
class Answer:
    """What one look returns, and whether it used up one of the answers that are paid for."""

    estimate: Estimate
    paid: bool = True


class LookMechanism(Protocol):
    """One mechanism with its noise, fitted to the budget of all looks."""

    @property
    def name(self) -> str:
        """The value of `mechanism=`."""
        ...

    @property
    def described(self) -> Single:
        """What runs at each look (at the first, for all looks, where `once`): priced and drawn."""
        ...

    @property
    def once(self) -> bool:
        """Whether the whole price is paid with the first look."""
        ...

    def expected_error(self) -> float | None:
        """Return the sd, about the test set's own score, that a look may be expected to have; None without n."""
        ...

    def answer(self, question: Question, noise: NoiseSource) -> Answer:
        """Draw, and read what was drawn."""
        ...
