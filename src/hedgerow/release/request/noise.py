"""Which noise is asked for by name: the averaged Laplace, with the number of its draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hedgerow.errors import ParameterError
from hedgerow.facts.numbers import whole
from hedgerow.mechanisms.averaged_laplace import MOST_DRAWS
from hedgerow.resampling.smooth_statistic import Smooth
from hedgerow.resampling.statistic import Statistic

AVERAGED_LAPLACE: Literal["averaged-laplace"] = "averaged-laplace"
N_DRAWS = 10
"""From ten draws on a sample of a hundred can hardly be told from a normal one (Brawner & Honaker, Figure 3)."""


def parse_noise(
    noise: object, n_draws: object, *, method: str, statistics: Sequence[Statistic], units: bool
) -> int | None:
    """Return the number of Laplace draws to a number; None where no noise is asked for by name.

    Raises
    ------
    ParameterError
        HG185 an unknown noise, HG186 an option that belongs to another, HG187 an invalid number of draws, HG188 a
        statistic or a unit that it does not serve.

    Examples
    --------
    >>> parse_noise("averaged-laplace", None, method="auto", statistics=(), units=False)
    10
    """
    if noise is None:
        if n_draws is not None:
            raise _unfit("`n_draws` belongs to averaged Laplace noise.", "It was given without it.")
        return None
    if noise != AVERAGED_LAPLACE:
        raise ParameterError(
            "HG185",
            rule=f'`noise` is "{AVERAGED_LAPLACE}", or left out.',
            finding=f"Found {noise!r}.",
            remedy='Leave it out: the method then chooses, and method="geometric" or "gaussian" names the other laws.',
        )
    if method != "auto":
        raise _unfit("`noise` names the law of the noise, and so does a method.", f'Found method="{method}" beside it.')
    if units or any(isinstance(statistic, Smooth) for statistic in statistics):
        raise ParameterError(
            "HG188",
            rule="Averaged Laplace noise serves counts, proportions, sums and means of rows.",
            finding="The unit has several rows." if units else "A statistic of this release is bootstrapped.",
            remedy="Leave `noise` out.",
        )
    return N_DRAWS if n_draws is None else parse_draws(n_draws)


def parse_draws(n_draws: object) -> int:
    """Return a number of draws (HG187).

    >>> parse_draws(20)
    20
    """
    number = whole(n_draws)
    if number is None or not 1 <= number <= MOST_DRAWS:
        raise ParameterError(
            "HG187",
            rule=f"`n_draws` is a whole number from 1 to {MOST_DRAWS}.",
            finding=f"Found {n_draws!r}.",
            remedy=f"{N_DRAWS} is the default; 1 is plain Laplace noise.",
        )
    return number


def _unfit(rule: str, finding: str) -> ParameterError:
    return ParameterError(
        "HG186",
        rule=rule,
        finding=finding,
        remedy=f'Give noise="{AVERAGED_LAPLACE}" alone, with n_draws if you like.',
    )
