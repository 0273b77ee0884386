"""A forecast: the errors that a planned release may be expected to have, and the ε that a wanted error needs.

It uses public facts and a guess, reads no data and spends nothing. Cells are taken to be equally large; what is not
guessed is taken at its worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Missing
from hedgerow.facts.printed import percent
from hedgerow.facts.validation import as_int, format_argument
from hedgerow.inference.interval import parse_level
from hedgerow.release.designs.design import PlannedStatistic, PublicFacts
from hedgerow.release.designs.guess import Guess, SupposedCell, parse_guesses

# An interval of this part of what is possible says next to nothing.
WASTE = 0.9


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected standard error and interval of one statistic, in each cell.

    Attributes
    ----------
    statistic, column : str
    method, reason : str
        What `auto` takes, and why.
    n_resamples : int or None
    cells : int
    records : float or None
        Records in a cell, all cells taken to be equally large; None where nothing is known of their number.
    noise_sd : float or None
        Standard deviation of the noise on the total that is released (on one replicate's, for a bootstrap), in the
        column's unit; None where several totals make the statistic.
    sampling_error, bootstrap_error, privacy_error, standard_error : float or None
    half_width : float or None
        Half the expected length of the interval at `level`.
    level : float
    wasteful : bool
        Whether the interval would be useless: as wide as the range of possible values, or noise hides the cell.
    guess : str
        What the numbers rest on, in words.
    value : float or None
        The value of the statistic by the guess; None for a function of one's own.
    settled : bool
        Whether the guess settles the standard error: of what is read from a distribution, whether the laws of the
        values that it leaves open agree within 25 %.
    """

    statistic: str
    column: str | None
    method: str
    reason: str
    n_resamples: int | None
    cells: int
    records: float | None
    noise_sd: float | None
    sampling_error: float | None
    bootstrap_error: float | None
    privacy_error: float | None
    half_width: float | None
    level: float
    wasteful: bool
    guess: str
    value: float | None = None
    settled: bool = True

    @property
    def standard_error(self) -> float | None:
        """The root of the sum of the squares of the three parts."""
        if self.sampling_error is None or self.bootstrap_error is None or self.privacy_error is None:
            return None
        return math.hypot(self.sampling_error, self.bootstrap_error, self.privacy_error)

    @property
    def label(self) -> str:
        """Statistic and column, in words."""
        return self.statistic + (f" of {self.column}" if self.column else "")

    def __str__(self) -> str:
        if self.standard_error is None or self.half_width is None:
            return f"{self.label}: no error is known beforehand ({self.guess})"
        errors = f"s.e. {self.standard_error:.3g}, of which privacy {self.privacy_error:.3g}"
        return (
            f"{self.label}: {errors}; {percent(self.level, space=' ')} interval ± {self.half_width:.3g} ({self.guess})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self) | {"standard_error": self.standard_error}


@dataclass(frozen=True, slots=True, repr=False)
class Forecast(Sequence[Expected]):
    """The expected errors of each statistic of a plan, and what a declaration would gain (`Plan.advice`)."""

    expected: tuple[Expected, ...] = field(default=())
    advice: tuple[str, ...] = field(default=(), kw_only=True)

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

    def __str__(self) -> str:
        return "\n".join(str(expected) for expected in self)

    def card(self, title: str, notes: Sequence[str] = ()) -> str:
        """Return what a notebook shows: the errors of each statistic, and its expected interval as a picture."""
        from hedgerow.plots.notebook import ExpectedLine, card_of_expected

        lines = [
            ExpectedLine(
                expected.label + (" (says next to nothing)" if expected.wasteful else ""),
                (expected.standard_error, expected.sampling_error, expected.privacy_error),
                expected.half_width,
                expected.value,
            )
            for expected in self
        ]
        guesses = dict.fromkeys(expected.guess for expected in self if expected.guess)
        return card_of_expected(title, lines, level=self[0].level, notes=(*notes, *guesses))

    def _repr_html_(self) -> str:
        return self.card(repr(self)[1:-1])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"expected": [expected.to_dict() for expected in self]}


def forecast(
    items: Sequence[PlannedStatistic],
    facts: PublicFacts,
    *,
    cells: int,
    guess: Mapping[str, Mapping[str, Any]] | None = None,
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
    (0.32, 0.15)
    """
    level, guesses = parse_level(level), parse_guesses(guess)
    guessed = None if n is None else as_int(n)
    if n is not None and (guessed is None or guessed < 1):
        raise ParameterError(
            "HG707",
            rule="`n` is the number of records, a whole number of at least 1.",
            finding=f"Found {format_argument(n)}.",
            remedy="Under replace-one the plan counts the records of its source. Under add-remove give a guess of "
            "the number of records.",
        )
    # A public n is a fact, and a guess does not override it.
    size: float | None = facts.n if facts.n is not None else guessed
    if facts.where is not None:
        # How many records are selected is private, whatever n is.
        selected = guesses.get("where", Guess()).share
        size = None if size is None or not selected else size * selected
    each, tables = None if size is None else size / cells, dict[object, Any]()
    return Forecast(
        tuple(
            _public(item.statistic.name, facts.n or 0, level)
            if item.design is None
            else _expected(item, cells, SupposedCell(guesses, each or 0.0, level, tables), known=each is not None)
            for item in items
        )
    )


def _expected(item: PlannedStatistic, cells: int, supposed: SupposedCell, *, known: bool) -> Expected:
    """Return what one statistic comes with in such a cell; `known`: whether the number of its records is."""
    statistic, design = item.statistic, item.design
    assert design is not None and item.mechanism is not None  # what is public and free was answered before
    dropped = [supposed.of(name).missing for name in statistic.columns if design.missing is Missing.DROP]
    records, level = supposed.records * math.prod(1.0 - missing for missing in dropped), supposed.level
    about = (statistic.name, statistic.column, design.method, design.reason, design.n_resamples, cells)
    noise = design.noise_sd(item.mechanism)
    if not known or design.not_forecast:
        said = design.not_forecast or "the number of records is private and was not guessed"
        return Expected(*about, None, noise, None, None, None, None, level, False, said)
    candidates = design.expected(item.mechanism, replace(supposed, records=records))
    worst = max(candidates, key=lambda candidate: candidate.reading.width)
    reading = worst.reading
    half = reading.width / 2 if math.isfinite(reading.width) else None
    # A unit of several rows adds as many values.
    possible = statistic.possible(records * design.rows)
    drowned = reading.sampling_error is None or (statistic.is_count and not reading.reliable)
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
        guess=worst.guess,
        value=worst.value,
        settled=worst.settled,
    )


def _public(name: str, n: int, level: float) -> Expected:
    why = "n is public under replace-one: exact, without noise and without a price"
    exact = (0.0, 0.0, 0.0, 0.0, 0.0)
    said = "nothing is guessed"
    return Expected(name, None, "public", why, None, 1, float(n), *exact, level, False, said, float(n))


_LEAST, _MOST = 1e-3, 1e2
_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class ErrorTarget:
    """A standard error that is wanted of every statistic of a column; ``"count"`` stands for counts.

    `relative` takes it as a part of the value that is guessed.
    """

    column: str
    standard_error: float
    relative: bool = False

    def excess(self, expected: Expected) -> float | None:
        """Return the expected error divided by the target; None if the target is for another column."""
        if (expected.column or "count") != self.column:
            return None
        if expected.records is None:
            raise ParameterError(
                "HG707",
                rule="A plan for a requested error needs a number of records.",
                finding=f"Of {self.column!r}: {expected.guess}.",
                remedy="Give your guess of the number of records, for example n=10_000. With `where`, also guess the "
                "share of records that the condition selects: {'where': {'share': 0.3}}. If no error can be "
                "forecast, give epsilon in place of a target.",
                shell="Add --n 10000, a guess of how many there are; with --where also --guess where:share=0.3. Where "
                "errors are not forecast, give --epsilon.",
            )
        if not expected.settled:
            raise ParameterError(
                "HG707",
                rule="To plan for the error of a quantile or share, the guess must determine this error to within a "
                "quarter.",
                finding=f"For {expected.label} the guess leaves the law of the values open about the places asked: "
                f"{expected.guess} is one of them.",
                remedy="Guess quantiles about those asked, "
                f'{{"{self.column}": {{"quantiles": {{0.1: 8_000, 0.5: 22_000, 0.9: 60_000}}}}}}, or the kind of law '
                'beside its mean and sd: "law": "lognormal", "gamma" or "beta". Or give epsilon.',
                shell=f"Guess quantiles about those asked, --guess {self.column}:quantile.0.1=8000,quantile.0.5=22000,"
                "quantile.0.9=60000, or the kind of law beside mean and sd, law=lognormal, law=gamma or law=beta. Or "
                "give --epsilon.",
            )
        if expected.standard_error is None:
            return math.inf
        if not self.relative:
            return expected.standard_error / self.standard_error
        if not expected.value:
            raise ParameterError(
                "HG707",
                rule="A relative error is a fraction of a guessed value, which must not be 0.",
                finding=f"That of {self.column!r} is not guessed, or is 0.",
                remedy="Guess the mean (or the share) of the column, or give an absolute error.",
            )
        return expected.standard_error / abs(self.standard_error * expected.value)


def epsilon_needed(forecast_at: Callable[[float], Forecast], targets: Sequence[ErrorTarget]) -> float:
    """Return an ε at which the forecast meets every target, within 2 % of the least.

    Parameters
    ----------
    forecast_at : callable
        ε → the forecast of the release at this total price.
    targets : list of ErrorTarget

    Raises
    ------
    ParameterError
        HG707: a target of a column that is not released; HG708: no ε up to 100 meets them, since sampling error alone,
        which no budget buys off, exceeds one.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> guess, asked = {"age": {"mean": 40, "sd": 10}}, [hg.mean("age", bounds=(0, 100), step=1)]
    >>> wanted = [ErrorTarget("age", 0.35)]
    >>> 0.9 < epsilon_needed(lambda e: survey.plan(asked, epsilon=e).forecast(guess), wanted) < 1.1
    True
    """

    def worst(epsilon: float) -> float:
        forecast = forecast_at(epsilon)
        excesses: list[float] = []
        for target in targets:
            of_target = [excess for expected in forecast if (excess := target.excess(expected)) is not None]
            if not of_target:
                raise _not_released(target)
            excesses += of_target
        return max(excesses)

    return least_epsilon(worst)


def least_epsilon(worst: Callable[[float], float]) -> float:
    """Return an ε, within 2 % of the least, where the error over what is wanted is at most 1 (HG708 where none is)."""
    low, high = _bracket(worst)
    while high / low > 1.0 + _TOLERANCE:
        middle = math.sqrt(low * high)
        if worst(middle) <= 1.0:
            high = middle
        else:
            low = middle
    # Three digits, rounded up: the error falls as ε rises, so the target is still met.
    unit = 10.0 ** (math.floor(math.log10(high)) - 2)
    return min(round(math.ceil(high / unit - 1e-9) * unit, 12), _MOST)


def _bracket(worst: Callable[[float], float]) -> tuple[float, float]:
    """Return (ε that fails, ε that meets), within a factor of 4 of each other."""
    at = 1.0
    if worst(at) <= 1.0:
        while at > _LEAST:
            lower = max(at / 4.0, _LEAST)
            if worst(lower) > 1.0:
                return lower, at
            at = lower
        return _LEAST, _LEAST
    while at < _MOST:
        higher = min(at * 4.0, _MOST)
        if worst(higher) <= 1.0:
            return at, higher
        at = higher
    raise ParameterError(
        "HG708",
        rule="The requested error must be reachable with some ε up to 100.",
        finding="No ε reaches the requested error: the sampling error alone is larger.",
        remedy="Give a guess of the mean and the standard deviation of the column. Without a guess of the standard "
        "deviation, the plan uses the largest standard deviation that the bounds allow. As an alternative, "
        "ask for a larger standard error.",
        shell="Add --guess COL:mean=M,sd=S: without it the worst sd is planned for. Or ask for a larger error.",
    )


def _not_released(target: ErrorTarget) -> ParameterError:
    return ParameterError(
        "HG707",
        rule="A target must name a column that is released.",
        finding=f"Nothing of {target.column!r} is.",
        remedy='The target of a count is called "count".',
    )
