"""Resampling as the only noise: a test set scored on records drawn from it with replacement (docs/methods/testset.md).

==================  =====================================================================================
`Resample`          m draws from n records, as Mount & Zumel proposed: (0, δ), and no ε for a smaller δ
`SmoothedResample`  m draws from n binary outcomes and 2a made-up ones: pure ε = m·ln((a + 1)/a)
==================  =====================================================================================

Both are for replace-one alone: the number of draws shows how many records there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from hedgerow.errors import ParameterError

MOST_DRAWS = 2**24


@dataclass(frozen=True, slots=True)
class Resample:
    """`draws` of `n` records with replacement; what they say is released as it is.

    Whoever's record is not drawn leaves no trace, and whoever's is drawn may be seen: δ(ε) = 1 − (1 − 1/n)^draws for
    every ε ≥ 0, attained by n − 1 records that say 0 and one that may say 1.

    Raises
    ------
    ParameterError
        HG406: `n` or `draws` is no whole number, below 1 or above 2²⁴ draws.

    Examples
    --------
    >>> round(Resample(n=1000, draws=100).chance, 4)
    0.0952
    """

    n: int
    draws: int
    type: Literal["resample"] = "resample"

    def __post_init__(self) -> None:
        _require_whole(n=self.n, draws=self.draws)

    @property
    def chance(self) -> float:
        """The probability that a given record is drawn at all: δ."""
        return 1.0 if self.n == 1 else -math.expm1(self.draws * math.log1p(-1.0 / self.n))


@dataclass(frozen=True, slots=True)
class SmoothedResample:
    """The number of successes in `draws` draws with replacement from n outcomes, `fake` successes, `fake` failures.

    One record moves a draw's chance of success between (s + a)/(n + 2a) and (s + 1 + a)/(n + 2a), a = `fake`.

    Raises
    ------
    ParameterError
        HG406: one of them is no whole number, below 1, or there are more than 2²⁴ draws.

    Examples
    --------
    >>> round(SmoothedResample(n=1000, fake=500, draws=100).pure, 3)
    0.2
    """

    n: int
    fake: int
    draws: int
    type: Literal["smoothed-resample"] = "smoothed-resample"

    def __post_init__(self) -> None:
        _require_whole(n=self.n, fake=self.fake, draws=self.draws)

    @property
    def loss(self) -> float:
        """The largest privacy loss of one draw: ln((a + 1)/a)."""
        return math.log1p(1.0 / self.fake)

    @property
    def pure(self) -> float:
        """ε at δ = 0: attained where no record succeeds and every draw does."""
        return self.draws * self.loss


def _require_whole(**numbers: object) -> None:
    for name, number in numbers.items():
        whole = isinstance(number, int) and not isinstance(number, bool)
        most = MOST_DRAWS if name == "draws" else 2**53
        if not whole or not 1 <= number <= most:  # type: ignore[operator]  # whole says that it is an int
            raise ParameterError(
                "HG406",
                rule=f"`{name}` of a resample is a whole number from 1 to {most:,}.",
                finding=f"Found {number!r}.",
            )
