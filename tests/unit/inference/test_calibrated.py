"""The shipped curves hold their level in the model for every nuisance, off the grid on which they were made."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from hedgerow.inference.bootstrap import calibrated_programme, replicate_intervals
from hedgerow.inference.bootstrap.calibrated_programme import CAPS, RATES, CriticalCurve
from hedgerow.inference.bootstrap.replicate_intervals import calibrated_interval, critical_curve
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.resampling.replicates import LADDER

LEVELS = (0.9, 0.95, 0.99)


def nuisances(k: int, cap: float) -> np.ndarray:
    """ν from 0 over ten decades and more, dense and off the programme's own grid, up to the cap."""
    dense = np.concatenate([[0.0], np.geomspace(3e-6, 1e9, 311)])
    highest = cap / k
    return np.append(dense[dense < highest], highest) if math.isfinite(cap) else dense


def least_coverage(curve: CriticalCurve, k: int, cap: float = math.inf) -> float:
    return float(calibrated_programme.coverage(curve, nuisances(k, cap), n_resamples=k, nodes=801).min())


@pytest.mark.parametrize("level", LEVELS)
def test_every_shipped_curve_covers_whatever_the_nuisance(level: float) -> None:
    for k in LADDER:
        for cap in (*CAPS, math.inf):
            curve = critical_curve(k, level=level, cap=cap)
            assert least_coverage(curve, k, cap) >= level - 1e-6, (k, cap)
            # sabotage: a curve 1 % narrower does not
            narrow = CriticalCurve(curve.knots, curve.heights * 0.99, curve.ceiling)
            assert least_coverage(narrow, k, cap) < level - 1e-4, (k, cap)


def test_every_shipped_rate_covers_and_none_is_solved_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicate_intervals, "solve", None)
    for level, k, rate in product(LEVELS, LADDER, RATES):
        curve = critical_curve(k, level=level, rate=rate)
        narrow = CriticalCurve(curve.knots, curve.heights * 0.99, curve.ceiling)
        least, less = (
            calibrated_programme.coverage(one, nuisances(k, math.inf), n_resamples=k, rate=rate, nodes=401).min()
            for one in (curve, narrow)
        )
        assert least >= level - 1e-6 and less < level - 1e-4, (k, level, rate)


def test_a_rate_between_two_is_read_as_the_higher_with_the_offset_that_it_leaves() -> None:
    """Sabotage: the next lower one, whose interval is narrower."""
    known = {"centre": 0.0, "n": 40.0}
    for rate, read, lower in ((2.5, 3.0, 2.0), (5.0, 6.0, 4.0), (32.0, 32.0, 24.0), (33.0, 64.0, 32.0)):
        ours, higher, less = (
            calibrated_interval(Replicates(10.0, 5.0, 50, 2.0, rate=one, **known), level=0.95)
            for one in (rate, read, lower)
        )
        assert ours == higher and ours[1] > less[1]


def test_the_file_holds_every_rung_and_its_curves_are_what_is_used() -> None:
    text = files("hedgerow.inference.bootstrap").joinpath("calibrated_table.json").read_text(encoding="utf-8")
    curves = json.loads(text)["curves"]
    assert len(text) < 300_000
    assert {level: set(of_k) for level, of_k in curves.items()} == {f"{x:g}": {str(k) for k in LADDER} for x in LEVELS}
    rungs = [f"{cap:g}" for cap in (*CAPS, math.inf)]
    assert all(list(heights) == rungs for of_k in curves.values() for heights in of_k.values())
    rates = json.loads(text)["rates"]
    assert all(list(heights) == [f"{rate:g}" for rate in RATES] for of_k in rates.values() for heights in of_k.values())
    assert curves["0.95"]["50"]["inf"] == critical_curve(50, level=0.95).heights.tolist()


def test_the_programme_makes_the_shipped_curves_again() -> None:
    for k, level, cap in ((5, 0.9, math.inf), (50, 0.95, math.inf), (200, 0.99, 2.0)):
        again = calibrated_programme.solve(k, level=level, cap=cap)
        ratio = np.geomspace(0.7, 1e4, 60)
        np.testing.assert_allclose(
            again.half_width(ratio), critical_curve(k, level=level, cap=cap).half_width(ratio), rtol=5e-3
        )


def test_coverage_agrees_with_adaptive_quadrature() -> None:
    k, nu, rate = 20, 0.7, 0.5
    curve = critical_curve(k, level=0.9, rate=rate)
    error = math.sqrt(rate * nu + (1 + nu) / k)

    def integrand(x: float) -> float:
        half = float(curve.half_width((1 + nu) * x / (k - 1)))
        return float(stats.chi2.pdf(x, k - 1) * (2 * stats.norm.cdf(half / error) - 1))

    kinks = curve.knots**2 * (k - 1) / (1 + nu)
    exact = integrate.quad(integrand, 0, 120, points=kinks[kinks < 120], limit=400)[0]
    ours = calibrated_programme.coverage(curve, np.array([nu]), n_resamples=k, rate=rate)[0]
    assert ours == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize(("k", "rate"), [(6, 1.0), (33, 1.0), (20, 0.25), (20, 3.0), (3, 1.0)])
def test_curves_made_on_demand_cover_too(k: int, rate: float) -> None:
    curve = critical_curve(k, level=0.95, rate=rate)
    covered = calibrated_programme.coverage(curve, nuisances(k, math.inf), n_resamples=k, rate=rate, nodes=801)
    assert covered.min() >= 0.95 - 1e-6
    assert critical_curve(k, level=0.95, rate=rate) is curve


def test_curves_rise_with_the_spread_and_with_the_level() -> None:
    ratio = np.exp(np.linspace(-4, 8, 500))
    for k in LADDER:
        for cap in (*CAPS, math.inf):
            widths = [critical_curve(k, level=level, cap=cap).half_width(ratio) for level in LEVELS]
            assert all((np.diff(width) >= 0).all() for width in widths), (k, cap)
            assert (widths[0] < widths[1]).all() and (widths[1] < widths[2]).all(), (k, cap)


@pytest.mark.parametrize("k", [3, 10, 300])
def test_it_tends_to_students_interval_where_there_is_no_noise(k: int) -> None:
    student = stats.t.ppf(0.975, k - 1) * math.sqrt(4.0 * (1 + 1 / k))
    none = calibrated_interval(Replicates(0.0, 4.0, k, 0.0), level=0.95)[1]
    little = calibrated_interval(Replicates(0.0, 4.0, k, 1e-9), level=0.95)[1]
    assert none == pytest.approx(student, rel=5e-4)
    assert little == pytest.approx(none, rel=1e-6)


def test_a_cap_narrows_and_a_loose_one_changes_nothing() -> None:
    summary = {"mean": 0.0, "spread": 0.02, "n_resamples": 50, "noise_variance": 0.02}
    free = calibrated_interval(Replicates(**summary), level=0.95)[1]
    assert calibrated_interval(Replicates(**summary, variance_cap=1.0), level=0.95)[1] == free
    widths = [calibrated_interval(Replicates(**summary, variance_cap=c), level=0.95)[1] for c in (1e-6, 4e-4, 2e-3)]
    assert widths == sorted(widths) and widths[-1] < free
    known = stats.norm.ppf(0.975) * math.sqrt(0.02 / 50)
    assert known <= widths[0] < 1.08 * known


def test_a_mean_near_a_bound_does_not_prove_a_small_variance() -> None:
    """With m* at the bound by chance, the cap must leave room for the variance of the next few plausible means."""
    at_bound = Replicates(0.0, 0.02, 50, 0.02, centre=0.5, n=100, variance_cap=0.25 / 100)
    low, high = calibrated_interval(at_bound, level=0.95)
    assert (high - low) / 2 > 1.2 * stats.norm.ppf(0.975) * math.sqrt(0.02 / 50)


@pytest.mark.parametrize("mean", [92.0, 93.0, 95.0, 99.0, 5.0, 55.0, 50.0, 64.0, 82.0])
def test_a_mean_far_from_the_centre_leaves_less_room_below_the_cap(mean: float) -> None:
    """Values in [0, 100] vary by at most 50² − (x̄ − 50)²; x̄ is read two of its largest standard errors nearer to 50."""
    k, n, noise = 50, 100.0, 40.0
    cap, known = 50.0**2 / n, noise + (mean - 50.0) ** 2 / n
    nearer = max(abs(mean - 50.0) - 2.0 * math.sqrt(noise / k + cap * (1.0 + 1.0 / k)), 0.0)
    rung = min(rung for rung in CAPS if rung >= k * (cap - nearer**2 / n) / known)
    one = Replicates(mean, 55.0, k, noise, centre=50.0, n=n, variance_cap=cap)
    half = math.sqrt(known) * float(critical_curve(k, level=0.95, cap=rung).half_width(55.0 / known))
    assert calibrated_interval(one, level=0.95) == pytest.approx((mean - half, mean + half), rel=1e-12)
    far = rung < min(rung for rung in CAPS if rung >= k * cap / known)
    assert far == (abs(mean - 50.0) > 40.0)  # near the centre nothing is taken off


@pytest.mark.parametrize(
    ("rate", "shipped"), [(0.9 * RATES[0], RATES[0]), (RATES[0], RATES[0]), (RATES[-1], RATES[-1])]
)
def test_a_rate_is_read_as_the_next_one_that_is_shipped(rate: float, shipped: float) -> None:
    assert replicate_intervals._shipped_rate(rate) == shipped


def test_a_rate_above_all_that_are_shipped_is_read_as_the_next_power_of_two() -> None:
    for exponent in range(1 + int(math.log2(RATES[-1])), 12):
        assert replicate_intervals._shipped_rate(0.9 * 2.0**exponent) == 2.0**exponent
        assert replicate_intervals._shipped_rate(2.0**exponent) == 2.0**exponent


@pytest.mark.parametrize(
    ("k", "level", "cap", "rate"),
    [
        (20, 0.95, math.inf, 1.0),
        (50, 0.9, 3.2, 1.0),
        (100, 0.99, 0.1, 1.0),
        (50, 0.95, math.inf, 4.0),
        (20, 0.99, math.inf, 1.0),
    ],
)
def test_a_curve_is_solved_again_to_the_digits_of_the_file(k: int, level: float, cap: float, rate: float) -> None:
    """The optimum is unique, and the file holds five digits, rounded up."""
    again = calibrated_programme.solve(k, level=level, cap=cap, rate=rate)
    shipped = critical_curve(k, level=level, cap=cap, rate=rate)
    assert again.knots == pytest.approx(shipped.knots, rel=1e-12) and again.ceiling == shipped.ceiling
    higher = shipped.heights / again.heights - 1.0
    assert higher.min() > -1e-7 and higher.max() < 1.01e-4


@pytest.mark.parametrize(
    ("height", "expected"),
    [(1.23456, 1.2346), (1.2345, 1.2345), (123.451, 123.46), (0.0123451, 0.012346), (9.99999, 10.0)],
)
def test_heights_are_rounded_up_to_five_digits(height: float, expected: float) -> None:
    assert calibrated_programme._rounded_up(height) == expected


def test_the_table_is_written_beside_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one number of replicates, one cap, one rate; the shipped file holds the same curves."""
    monkeypatch.setattr(calibrated_programme, "CAPS", (0.1,))
    monkeypatch.setattr(calibrated_programme, "RATES", (4.0,))
    monkeypatch.setattr("hedgerow.resampling.replicates.LADDER", (20,))
    monkeypatch.setattr(calibrated_programme, "__file__", str(tmp_path / "programme.py"))
    whole = calibrated_programme.table
    monkeypatch.setattr(calibrated_programme, "table", lambda: whole((0.9,)))
    calibrated_programme.main()
    text = (tmp_path / "calibrated_table.json").read_text(encoding="utf-8")
    made, shipped = json.loads(text), replicate_intervals._table()
    assert text.endswith("}\n") and made.keys() == shipped.keys() and made["format"] == shipped["format"] == 1
    assert made["heights"] == shipped["heights"]
    assert made["curves"] == {
        "0.9": {"20": {cap: pytest.approx(shipped["curves"]["0.9"]["20"][cap], rel=2e-5) for cap in ("0.1", "inf")}}
    }
    assert made["rates"] == {"0.9": {"20": {"4": pytest.approx(shipped["rates"]["0.9"]["20"]["4"], rel=2e-5)}}}


@pytest.mark.parametrize(("k", "cap", "rate"), [(5, math.inf, 1.0), (50, 0.1, 1.0), (20, math.inf, 8.0), (3, 0.1, 1.0)])
def test_levels_near_one_are_covered_too(k: int, cap: float, rate: float) -> None:
    """Where expectations lose their digits the interval is Student's: its ends were no numbers."""
    widths = []
    for tail in (1e-5, 1e-7, 1e-8, 1e-12):
        curve = critical_curve(k, level=1.0 - tail, cap=cap, rate=rate)
        if tail > 1e-8:
            covered = calibrated_programme.coverage(curve, nuisances(k, cap) / rate, n_resamples=k, rate=rate)
            assert 1.0 - covered.min() <= tail * (1.0 + 1e-6)
        widths.append(float(curve.half_width(1.3)))
    student = stats.t.isf(0.5e-12, k - 1) * math.sqrt(1.3 * (rate + 1.0 / k))
    assert (np.diff(widths) > 0.0).all() and widths[-1] == pytest.approx(student, rel=1e-4)


@pytest.mark.parametrize("k", [2, 4, 5])
def test_of_fewer_than_five_replicates_the_interval_is_student_s(k: int) -> None:
    ratio = np.array([0.01, 1.0, 30.0])
    student = stats.t.ppf(0.975, k - 1) * np.sqrt((1.0 + 1.0 / k) * ratio)
    half = calibrated_programme.solve(k, level=0.95).half_width(ratio)
    assert half == pytest.approx(student, rel=1e-9) if k < 5 else half[0] > 2.0 * student[0]


def test_a_height_that_passes_no_check_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrated_programme, "coverage", lambda *_, **__: np.array([0.0]))
    curve = calibrated_programme.solve(20, level=0.8)
    assert float(curve.half_width(4.0)) == pytest.approx(stats.t.ppf(0.9, 19) * math.sqrt(4.0 * 1.05), rel=1e-9)
