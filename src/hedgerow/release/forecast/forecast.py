"""A forecast: the errors that a planned release may be expected to have, from public facts and a guess.

Reads no data and spends nothing. Cells are taken to be equally large; what is not guessed is taken at its worst.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, overload

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.facts import Missing
from hedgerow.facts.numbers import whole
from hedgerow.inference.level import parse_level
from hedgerow.mechanisms.mechanism import ResampledGaussian, Single
from hedgerow.release.designs.bootstrap import BootstrapDesign
from hedgerow.release.designs.counts import CountsDesign
from hedgerow.release.designs.design import Design, PlannedStatistic, PublicFacts
from hedgerow.release.designs.moments import MomentsDesign
from hedgerow.release.designs.resampled_smooth import ResampledSmooth
from hedgerow.release.designs.resampled_statistic import ResampledMean
from hedgerow.release.draw.draw import MomentsMechanism, moments_spread
from hedgerow.release.forecast.expected import (
    Reading,
    expected_counts,
    expected_moments,
    expected_replicates,
    mean_law,
    smooth_law,
)
from hedgerow.release.forecast.guess import Guess, parse_guesses
from hedgerow.resampling.smooth_statistic import Smooth
from hedgerow.resampling.statistic import Count, Proportion, Statistic, Sum

# An interval of this part of what is possible says next to nothing.
WASTE = 0.9
_ASSUMED = 1.0 / math.sqrt(12.0)


@dataclass(frozen=True, slots=True)
class Expected:
    """What one statistic may be expected to come with, in each cell.

    Attributes
    ----------
    statistic, column : str
    method, reason : str
        What `auto` takes, and why.
    n_resamples : int or None
    cells : int
    records : float or None
        Records in a cell, all cells taken to be equally large; None where nothing is known of their number.
    noise_sd : float
        Standard deviation of the noise on the total that is released (on one replicate's, for a bootstrap), in the
        column's unit.
    sampling_error, bootstrap_error, privacy_error, standard_error : float or None
    half_width : float or None
        Half the expected length of the interval at `level`.
    level : float
    wasteful : bool
        The interval would say next to nothing: it is as wide as what is possible, or the cell drowns in noise.
    guess : str
        What the numbers rest on, in words.
    value : float or None
        The value of the statistic by the guess; None for a function of one's own.
    """

    statistic: str
    column: str | None
    method: str
    reason: str
    n_resamples: int | None
    cells: int
    records: float | None
    noise_sd: float
    sampling_error: float | None
    bootstrap_error: float | None
    privacy_error: float | None
    half_width: float | None
    level: float
    wasteful: bool
    guess: str
    value: float | None = None

    @property
    def standard_error(self) -> float | None:
        """The root of the sum of the squares of the three parts."""
        if self.sampling_error is None or self.bootstrap_error is None or self.privacy_error is None:
            return None
        return math.hypot(self.sampling_error, self.bootstrap_error, self.privacy_error)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self) | {"standard_error": self.standard_error}


@dataclass(frozen=True, slots=True, repr=False)
class Forecast(Sequence[Expected]):
    """The expected errors of each statistic of a plan."""

    expected: tuple[Expected, ...] = field(default=())

    @overload
    def __getitem__(self, index: int) -> Expected: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Expected]: ...
    def __getitem__(self, index: int | slice) -> Expected | Sequence[Expected]:
        return self.expected[index]

    def __len__(self) -> int:
        return len(self.expected)

    def __repr__(self) -> str:
        return f"<Forecast of {len(self)} statistic{'s' * (len(self) != 1)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"expected": [one.to_dict() for one in self]}


def forecast(
    items: Sequence[PlannedStatistic],
    facts: PublicFacts,
    *,
    cells: int,
    guess: Mapping[str, Mapping[str, float]] | None = None,
    n: int | None = None,
    level: float = 0.95,
) -> Forecast:
    """Return the expected errors of every statistic of a plan, in every cell; see `Plan.forecast`.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> plan = survey.plan([hg.mean("age", bounds=(0, 100), step=1)], epsilon=1.0)
    >>> expected = plan.forecast({"age": {"mean": 40, "sd": 10}})[0]
    >>> round(expected.sampling_error, 2), round(expected.privacy_error, 2)
    (0.32, 0.43)
    """
    level, guesses = parse_level(level), parse_guesses(guess)
    guessed = None if n is None else whole(n)
    if n is not None and (guessed is None or guessed < 1):
        raise ParameterError(
            "HG707",
            rule="`n` is a number of records: a whole number, 1 or more.",
            finding=f"Found {n!r}.",
            remedy="Under replace-one the plan knows it; under add-remove it is guessed.",
        )
    # A public n is a fact, and a guess does not override it.
    size = facts.n if facts.n is not None else guessed
    each = None if size is None else size / cells
    return Forecast(
        tuple(
            _public(facts.n or 0, level) if item.design is None else _expected(item, cells, guesses, each, level)
            for item in items
        )
    )


def _expected(
    item: PlannedStatistic, cells: int, guesses: Mapping[str, Guess], each: float | None, level: float
) -> Expected:
    """Return what one statistic comes with in a cell of `each` records (None where their number is not known)."""
    statistic, design = item.statistic, item.design
    assert design is not None and item.mechanism is not None  # what is public and free was answered before
    columns = [guesses.get(name, Guess()) for name in _columns(statistic)]
    records = None if each is None else each * math.prod(_present(design, one) for one in columns)
    k = design.n_resamples if isinstance(design, BootstrapDesign) else None
    about = (statistic.name, statistic.column, design.method, design.reason, k, cells)
    noise = _noise_sd(design, item.mechanism)
    known = isinstance(design, (BootstrapDesign, MomentsDesign, CountsDesign))
    if records is None or not known:
        said = (
            "the number of records is private and was not guessed" if known else "not forecast: units of several rows"
        )
        return Expected(*about, None, noise, None, None, None, None, level, False, said)
    tried = _readings(item, design, columns, records, level)
    reading, said, value = max(tried, key=lambda one: one[0].width)
    half = reading.width / 2 if math.isfinite(reading.width) else None
    possible = _possible(statistic, records)
    drowned = reading.sampling_error is None or (isinstance(statistic, Count) and not reading.reliable)
    wasteful = drowned or (possible is not None and reading.width >= WASTE * possible)
    return Expected(
        *about,
        records,
        noise,
        sampling_error=reading.sampling_error,
        bootstrap_error=reading.bootstrap_error,
        privacy_error=reading.privacy_error,
        half_width=half,
        level=level,
        wasteful=wasteful,
        guess=said,
        value=value,
    )


def _public(n: int, level: float) -> Expected:
    why = "n is public under replace-one: exact, without noise and without a price"
    exact = (0.0, 0.0, 0.0, 0.0, 0.0)
    said = "nothing is guessed"
    return Expected("count", None, "public", why, None, 1, float(n), *exact, level, False, said, float(n))


def _readings(
    item: PlannedStatistic, design: Design, columns: Sequence[Guess], records: float, level: float
) -> list[tuple[Reading, str, float | None]]:
    """Return what each candidate guess would be read as, with the guess in words and the value it implies."""
    statistic, mechanism = item.statistic, item.mechanism
    assert mechanism is not None  # as just checked
    if isinstance(design, BootstrapDesign):
        return _bootstrapped(design, mechanism, columns, records, level)
    if isinstance(design, MomentsDesign):
        made: list[tuple[Reading, str, float | None]] = []
        for mean, sd in columns[0].moments(design.statistic.column, design.statistic.grid):
            read = expected_moments(design, mechanism, records=records, mean=mean, sd=sd, level=level)
            value = mean * records if isinstance(statistic, Sum) else mean
            made.append((read, _said(columns[0], mean, sd), value))
        return made
    assert isinstance(design, CountsDesign)  # the designs there are
    if isinstance(statistic, Count):
        read = expected_counts(design, mechanism, records=records, share=1.0, level=level)
        return [(read, "cells of equal size", records)]
    return [
        (
            expected_counts(design, mechanism, records=records, share=share, level=level),
            f"share {share:g}" + (" (the worst)" if columns[0].share is None else ""),
            share,
        )
        for share in columns[0].shares()
    ]


def _bootstrapped(
    design: BootstrapDesign, mechanism: Single, columns: Sequence[Guess], records: float, level: float
) -> list[tuple[Reading, str, float | None]]:
    resampled = design.resampled
    statistic = resampled.statistic
    if isinstance(resampled, ResampledSmooth):
        pairs, words = [], []
        for guess, (column, grid) in zip(columns, resampled.statistic.grids, strict=True):
            # The worst law for a function of one's own is not known, so the uniform one stands in.
            full = Guess(grid.centre, 2 * grid.half_range * _ASSUMED) if not guess.of_values else guess
            mean, sd = sorted(full.moments(column, grid), key=lambda pair: abs(pair[0] - grid.centre))[0]
            pairs.append((mean, sd))
            words.append(f"{column} beta with mean {mean:.4g}, sd {sd:.4g}" + " (assumed)" * (not guess.of_values))
        law = smooth_law(resampled, pairs)
        read = expected_replicates(design, mechanism, law, records=records, level=level)
        independent = ", independent" if len(words) > 1 else ""
        return [(read, "; ".join(words) + independent, None)]
    if not isinstance(resampled, ResampledMean):
        one = np.ones(1), np.ones((1, 1))
        read = expected_replicates(design, mechanism, one, records=records, level=level)
        return [(read, "cells of equal size", records)]
    if isinstance(statistic, Proportion):
        moments = [(share, math.sqrt(share * (1 - share))) for share in columns[0].shares()]
    else:
        moments = columns[0].moments(str(statistic.column), resampled.grid)
    made: list[tuple[Reading, str, float | None]] = []
    for mean, sd in moments:
        law = mean_law(resampled, mean, sd)
        read = expected_replicates(design, mechanism, law, records=records, level=level)
        value = mean * records if isinstance(statistic, Sum) else mean
        made.append((read, _said(columns[0], mean, sd), value))
    return made


def _said(guess: Guess, mean: float, sd: float) -> str:
    if guess.share is not None:
        return f"share {guess.share:g}"
    worst = [] if guess.mean is not None else ["mean"]
    worst += [] if guess.sd is not None else ["sd"]
    said = f"mean {mean:.4g}, sd {sd:.4g}"
    return said + (f" ({' and '.join(worst)} the worst)" if worst else "")


def _columns(statistic: Statistic) -> list[str]:
    if isinstance(statistic, Smooth):
        return [column for column, _ in statistic.grids]
    return [] if statistic.column is None else [statistic.column]


def _present(design: Design, guess: Guess) -> float:
    dropped = getattr(design, "missing", None) is Missing.DROP
    return 1.0 - guess.missing if dropped else 1.0


def _noise_sd(design: Design, mechanism: Single) -> float:
    """Return the noise on the released total, in the column's unit (of a bootstrap: of one replicate's)."""
    if isinstance(mechanism, MomentsMechanism) and isinstance(design, MomentsDesign):
        low, high = design.statistic.grid.as_bounds()
        unit = (high - low) / (design.layout.stride * design.layout.steps)
        place = list(mechanism.noise.coordinates()).index("total")
        return float(moments_spread(mechanism)[0][place]) * unit
    if isinstance(mechanism, ResampledGaussian) and isinstance(design, BootstrapDesign):
        resampled = design.resampled
        unit = resampled.grid.half_step if isinstance(resampled, ResampledMean) else 1.0
        return mechanism.coordinates[0].noise.in_units * unit
    return float(getattr(mechanism, "noise_sd", math.nan))


def _possible(statistic: Statistic, records: float) -> float | None:
    """Return the length of what is possible for a statistic, None where it has no end that is known."""
    if isinstance(statistic, Count):
        return None
    if isinstance(statistic, Proportion):
        return 1.0
    if isinstance(statistic, Smooth):
        return statistic.high - statistic.low if math.isfinite(statistic.high - statistic.low) else None
    low, high = statistic.grid.as_bounds()
    return records * (max(high, 0.0) - min(low, 0.0)) if isinstance(statistic, Sum) else high - low
