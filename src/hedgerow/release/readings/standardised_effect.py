"""An effect between two groups of cells of a release, standardised over strata, with one standard error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.validation import format_argument
from hedgerow.inference.effects import EffectWithErrors, Measure, Target, effect_of, with_errors
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.operators import texts_of_cell
from hedgerow.inference.region import LevelTest, ScoreRegion
from hedgerow.release.ask import covariances
from hedgerow.release.readings.numbers_of_cells import noise_law_of, numbers_of, reach, unfit_reading

Floats = NDArray[np.float64]
Cell = Mapping[str, object]
NOT_CAUSAL = (
    "This is a comparison. It is the effect of the treatment only under the assumptions of its design: see the page on "
    "effects."
)
_METHOD = "standardised"


def effect(
    estimates: Sequence[Estimate],
    of: object,
    *,
    treated: Cell,
    control: Cell,
    standardise: Sequence[str],
    target: object,
    measure: object,
    before: Cell | None,
    after: Cell | None,
) -> Estimate:
    """Return an effect; see `Release.effect`."""
    if measure not in get_args(Measure) or target not in get_args(Target):
        raise unfit_reading(
            f"A measure is one of {', '.join(get_args(Measure))}, and a target one of {', '.join(get_args(Target))}.",
            f"Found {format_argument(measure)} and {format_argument(target)}.",
            'Use the defaults: "difference" and "all".',
        )
    if (before is None) is not (after is None) or (before is not None and measure != "difference"):
        raise unfit_reading(
            "A difference in differences has cells before and after, and is a difference.",
            "One of both is missing, or another measure was given.",
            "Give both, or neither, and measure a difference.",
        )
    numbers = numbers_of(estimates, of)
    strata = _strata(numbers, tuple(standardise))
    times: tuple[Cell, ...] = ({},) if before is None or after is None else (before, after)
    groups = (control, treated)
    values = [
        [[_at(numbers, {**group, **stratum, **time}) for stratum in strata] for group in groups] for time in times
    ]
    used = [number for time in values for group in time for number in group]
    weighed = len(strata) > 1
    if weighed:
        counts = numbers_of(estimates, "count()")
        used += [_at(counts, {**group, **stratum, **times[-1]}) for group in groups for stratum in strata]
    read = _read(used, len(times), len(strata), cast(Measure, measure), cast(Target, target))
    return _estimate(read, used, _said(of or "the statistic", groups, standardise, times, str(measure), str(target)))


def _strata(numbers: Sequence[Estimate], standardise: tuple[str, ...]) -> list[dict[str, object]]:
    """Return the strata: all combinations of the columns that cells have."""
    missing = [column for column in standardise if any(column not in number.cell for number in numbers)]
    if missing:
        groups = ", ".join(numbers[0].cell) or "none"
        raise unfit_reading("Strata are of columns of `by`.", f"Found {missing[0]!r}.", f"There are {groups}.")
    distinct = {tuple(number.cell[column] for column in standardise): None for number in numbers}
    return [dict(zip(standardise, values, strict=True)) for values in distinct]


def _at(numbers: Sequence[Estimate], cell: Cell) -> Estimate:
    """Return the number of a cell, whose categories are compared by what they print as (HG146)."""
    wanted = texts_of_cell(cell)
    for number in numbers:
        if texts_of_cell(number.cell) == wanted:
            return number
    said = ", ".join(f"{name}={value}" for name, value in wanted.items())
    raise unfit_reading(
        "An effect compares whole cells: treated, control and strata name every column of `by`.",
        f"There is no cell {said or 'of all records'}.",
        f"There are cells of {', '.join(numbers[0].cell) or 'no columns'}.",
    )


def _read(
    used: Sequence[Estimate], times: int, strata: int, measure: Measure, target: Target
) -> EffectWithErrors | None:
    """Return the effect with its errors; None where the noise hides a cell."""
    if any(number.standard_error is None or not number.reliable for number in used):
        return None
    known = covariances(used)
    if not known.known:
        raise unfit_reading(
            "An effect is read from numbers whose joint distribution is known.",
            "That of these is not known.",
            "Release means and counts in one call, by the same groups, estimated from moments.",
        )

    def function(numbers: NDArray[np.complex128]) -> complex:
        shaped = numbers[: 2 * times * strata].reshape(times, 2, strata)
        values = shaped[-1] - shaped[0] if times > 1 else shaped[0]
        rest = numbers[2 * times * strata :]
        counts = rest.reshape(2, strata) if len(rest) else np.ones((2, strata), dtype=complex)
        return complex(effect_of(measure, target, values, counts))

    numbers = np.array([number.estimate for number in used])
    in_logs = measure != "difference"
    if in_logs and not function(numbers.astype(complex)).real > 0.0:
        return None
    read = with_errors(function, numbers, known.sampling, known.noise, in_logs=in_logs)
    return read if all(map(math.isfinite, (read.value, read.sampling_error, read.privacy_error))) else None


def _estimate(read: EffectWithErrors | None, used: Sequence[Estimate], said: tuple[str, str]) -> Estimate:
    law, (name, about) = noise_law_of(used), said
    if read is None:
        region = ScoreRegion(LevelTest(lambda _: (-math.inf, math.inf), _METHOD))
        return Estimate(name, None, {}, 0.0, None, None, None, _METHOD, None, False, NOT_CAUSAL, about, region)

    def accepted(level: float) -> tuple[float, float]:
        half = reach(law, level, read.sampling_error, read.privacy_error)
        if read.in_logs:
            return read.value * math.exp(-half), read.value * math.exp(half)
        return read.value - half, read.value + half

    scale = read.value if read.in_logs else 1.0
    errors = read.sampling_error * scale, 0.0, read.privacy_error * scale
    region = ScoreRegion(LevelTest(accepted, _METHOD, 0.0 if read.in_logs else -math.inf))
    return Estimate(name, None, {}, read.value, *errors, _METHOD, None, True, NOT_CAUSAL, about, region)


def _said(
    of: object, groups: tuple[Cell, Cell], standardise: Sequence[str], times: Sequence[Cell], measure: str, target: str
) -> tuple[str, str]:
    """Return the name of an effect, and what its interval covers."""
    control, treated = (", ".join(f"{name}={value}" for name, value in group.items()) for group in groups)
    over = f", standardised over {', '.join(standardise)} of {target}" if standardise else ""
    change = ""
    if len(times) > 1:
        first, last = (", ".join(f"{name}={value}" for name, value in time.items()) for time in times)
        change = f" in the change from {first} to {last}"
    name = f"{measure} of {of}: {treated} against {control}{over}{change}"
    return name, f"the population {name}; sampling and privacy noise are counted"
