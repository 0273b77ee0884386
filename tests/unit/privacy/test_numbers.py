"""Every kind of number is a number wherever one is asked for, and means the same; a boolean never is."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.budget import Budget, Mu, Rho
from hedgerow.facts.columns import Category, Grid
from hedgerow.facts.relation import UnitLimit
from hedgerow.facts.validation import as_float, as_fraction, as_int
from hedgerow.inference.interval import parse_level
from hedgerow.mechanisms.laws import parse_draws
from hedgerow.multicalibration.rounds import NumericSparse, Rounds
from hedgerow.release.designs.guess import Guess, parse_guesses
from hedgerow.release.price import price_of
from hedgerow.release.request import parse_n_resamples
from hedgerow.reports.release_page import report_html
from hedgerow.statistics.distribution.quantile import quantile

_REALS = [np.float64, np.float32, np.float16, np.longdouble, np.array, Decimal, Fraction]
_WHOLES = [np.int64, np.uint8, np.array, Decimal, Fraction]
_TABLE = pa.table({"age": [30.0, 50.0] * 50})


def _release(**options: object) -> hg.Release:
    given = {"epsilon": 1.0, **options}
    return hg.open(_TABLE, relation="add-remove").release([hg.count(), hg.count()], **given)


# What is asked for, and what is kept of it; 0.25 and 4 are held exactly by every type.
_TAKES_REAL: dict[str, Callable[[object], object]] = {
    "epsilon": lambda given: Budget(given, 0.0).epsilon,
    "delta": lambda given: Budget(1.0, given).delta,
    "mu": lambda given: Mu(given).mu,
    "rho": lambda given: Rho(given).rho,
    "bounds": lambda given: float(Grid.from_bounds("x", (0, given)).upper),
    "step": lambda given: float(Grid.from_bounds("x", (0, 1), given).step),
    "level": parse_level,
    "share": lambda given: _release(share=[given, 0.25])[0].privacy_error and 0.25,
    "probability": lambda given: quantile("x", given, bounds=(0, 64)) and 0.25,
    "noise_sd": lambda given: price_of("gaussian", relation="add-remove", noise_sd=given).mechanism and 0.25,
    "guess": lambda given: parse_guesses({"x": {"mean": given}})["x"].mean,
    "residual_share": lambda given: Rounds(residual_share=given).residual_share,
    "threshold": lambda given: NumericSparse(threshold=given).threshold,
}
_TAKES_WHOLE: dict[str, Callable[[object], object]] = {
    "n_resamples": parse_n_resamples,
    "n_draws": parse_draws,
    "max_rows": lambda given: UnitLimit("person", given).max_rows,
    "rounds": lambda given: Rounds(rounds=given).rounds,
    "positives": lambda given: NumericSparse(positives=given).positives,
    "price": lambda given: price_of("bootstrap", relation="add-remove", noise_sd=9.0, n_resamples=given) and 4,
}


@pytest.mark.parametrize("kind", _REALS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", _TAKES_REAL)
def test_a_real_number_of_every_kind_is_taken(name: str, kind: Callable[[float], object]) -> None:
    kept = _TAKES_REAL[name](kind(0.25))
    assert kept == 0.25
    assert isinstance(kept, float)


@pytest.mark.parametrize("kind", _WHOLES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", _TAKES_WHOLE)
def test_a_whole_number_of_every_kind_is_taken(name: str, kind: Callable[[int], object]) -> None:
    kept = _TAKES_WHOLE[name](kind(4))
    assert kept == 4
    assert type(kept) is int


@pytest.mark.parametrize("wrong", [True, np.bool_(True), np.array(True), "4", np.timedelta64(4, "s"), np.ma.masked])
@pytest.mark.parametrize("name", [*_TAKES_REAL, *_TAKES_WHOLE])
def test_what_is_no_number_is_refused(name: str, wrong: object) -> None:
    with pytest.raises(hg.ParameterError):
        (_TAKES_REAL | _TAKES_WHOLE)[name](wrong)


_HUGE = 10**5000
"""Python refuses to print it, so that a message which quotes it would fail in place of the refusal."""


@pytest.mark.parametrize("name", [name for name in (*_TAKES_REAL, *_TAKES_WHOLE) if name != "guess"])
def test_a_number_of_too_many_digits_is_refused_with_a_code(name: str) -> None:
    with pytest.raises(hg.HedgerowError):
        (_TAKES_REAL | _TAKES_WHOLE)[name](_HUGE)


@pytest.mark.parametrize("name", ["relation", "target", "unit"])
def test_a_huge_number_in_place_of_a_word_is_refused_with_a_code(name: str) -> None:
    with pytest.raises(hg.HedgerowError):
        hg.open(_TABLE, **{"relation": "add-remove", name: _HUGE})


@pytest.mark.parametrize("asked", ["proportion", "by", "missing", "estimator", "noise", "interval"])
def test_a_huge_number_in_a_request_is_refused_with_a_code(asked: str) -> None:
    survey = hg.open(_TABLE, relation="add-remove")
    with pytest.raises(hg.HedgerowError):
        if asked == "proportion":
            survey.proportion("age", value=_HUGE, epsilon=1.0)
        elif asked == "by":
            survey.count(by={"age": [0, _HUGE]}, epsilon=1.0)
        else:
            survey.release([hg.count()], epsilon=1.0, **{asked: _HUGE})


def test_a_decimal_is_exact() -> None:
    grid = Grid.from_bounds("x", (Decimal(0), Decimal("0.3")), Decimal("0.1"))
    assert (grid.upper, grid.steps) == (Fraction(3, 10), 3)
    assert Grid.from_bounds("x", (0, Fraction(1, 3)), Fraction(1, 9)).steps == 3


def test_a_number_is_what_it_holds_not_what_it_prints() -> None:
    liar = type("Liar", (float,), {"__repr__": lambda self: "9.0", "__str__": lambda self: "9.0"})(0.5)
    assert as_fraction(liar) == Fraction(1, 2)


@pytest.mark.parametrize("huge", [Decimal("1e999999999"), Decimal("1e-999999999"), 10**400, Fraction(10**400)])
def test_a_number_beyond_every_float_is_none(huge: object) -> None:
    assert as_float(huge) is None


def test_floats_are_no_whole_numbers() -> None:
    assert [as_int(one) for one in (50.0, np.float64(50.0), Decimal("50.5"), np.array([50]))] == [None] * 4


def test_declared_values_may_be_numpys() -> None:
    assert Category.declared("sex", np.array([0, 1])).values == (0, 1)
    assert type(Category.declared("sex", np.array([0, 1])).values[0]) is int
    assert type(hg.proportion("employed", value=np.int64(1)).value) is int
    assert parse_guesses({"x": Guess(mean=1.0)})["x"].mean == 1.0


def test_facts_of_fractions_are_printed() -> None:
    declared = hg.Facts(columns={"age": hg.ColumnFacts(bounds=(Fraction(0), Decimal(100)), step=np.int64(1))})
    release = hg.open(_TABLE, declared, relation="add-remove").mean("age", by={"age": [30, 50]}, epsilon=1.0)
    assert "0 to 100, step 1" in report_html(release, facts=declared)


def test_a_delta_that_publishes_records_is_warned_of() -> None:
    for options in ({}, {"delta": np.float64(0.999)}, {"delta": Decimal("0.01")}):
        survey = hg.open(_TABLE, relation="add-remove")
        if not options:
            assert _release().certificate is not None
            continue
        with pytest.warns(hg.HedgerowWarning, match=r"exceeds 0\.001"):
            survey.release([hg.mean("age", bounds=(0, 100), step=1)], epsilon=1.0, **options)
        with pytest.warns(hg.HedgerowWarning, match=r"exceeds 0\.001"):
            survey.contingency_table(by={"age": [30, 50]}, epsilon=1.0, **options)
