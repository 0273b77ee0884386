"""Numbers under bootstrap-dp: how wide their noise is, what goes out, what is refused, what the custodian has."""

import json
import pickle
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Missing
from hedgerow.ledger.bootstrap_statement import UNPROTECTED, BootstrapStatement
from hedgerow.ledger.store import Ledger
from hedgerow.release.bootstrap_dp.bootstrap_numbers import BootstrapNumber, OwnFunction
from hedgerow.reports.verify.verification import refuse_statement
from hedgerow.testing.simulated import SimulatedNoise

COMPLETE = {"missing": "error-if-declared-complete"}
INCOMES = [310.0, 20.0, 45.0, 45.0, 120.0, 80.0]


def opened(values=INCOMES, **more):
    return hg.open(pyarrow.table({"x": values}), relation="replace-one", **more)


def released(asked, survey=None, *, epsilon=1.0, **options):
    survey = opened() if survey is None else survey
    return survey.release(asked, guarantee="bootstrap-dp", epsilon=epsilon, **(COMPLETE | options))


def number(kind, n, *, probability=None, function=None):
    own = None if function is None else OwnFunction(function, 0.0, 50.0, 1.0)
    return BootstrapNumber(kind, "x", n, Fraction(1), None, Missing.DECLARED_COMPLETE, 1.0, probability, own)


def farthest(one, rows):
    """Return the greatest change of what is drawn, over all neighbours whose rows are rows of D."""
    values, n = np.unique(rows), len(rows)

    def drawn(chosen):
        y, counts = np.unique(np.array(chosen), return_counts=True)
        return one.exact(y, counts)

    shared = combinations_with_replacement(values.tolist(), n - 1)
    return max(abs(drawn((*z, a)) - drawn((*z, b))) for z in shared for a in values.tolist() for b in values.tolist())


KINDS = [
    ("sum", None),
    ("mean", None),
    ("minimum", None),
    ("maximum", None),
    ("variance", None),
    ("quantile", 0.5),
    ("quantile", 0.3),
    ("quantile", 0.99),
]


@pytest.mark.parametrize(("kind", "probability"), KINDS)
@settings(max_examples=8, deadline=None)
@given(rows=st.lists(st.integers(-30, 30), min_size=2, max_size=5))
def test_noise_is_wide_enough_for_all_neighbours_and_no_wider_than_rounding(kind, probability, rows):
    one = number(kind, len(rows), probability=probability)
    y, counts = np.unique(np.array(rows), return_counts=True)
    width, moved = one.width(y, counts=counts), farthest(one, rows)
    assert moved <= width <= max(1, moved + 2)


@settings(max_examples=8, deadline=None)
@given(rows=st.lists(st.integers(0, 30), min_size=2, max_size=4))
def test_an_own_function_has_its_searched_sensitivity(rows):
    one = number("range", len(rows), function=np.ptp)
    y, counts = np.unique(np.array(rows), return_counts=True)
    assert one.width(y, counts=counts) == max(1, farthest(one, rows))


def test_local_sensitivity_would_not_be_enough():
    # The greatest value of D moves by 1 where one row of D is replaced; over Dⁿ by 9.
    rows = [0, 9, 9, 9]
    one, local = number("maximum", 4), 0
    for place in range(4):
        for other in rows:
            local = max(local, abs(9 - max([*rows[:place], other, *rows[place + 1 :]])))
    y, counts = np.unique(np.array(rows), return_counts=True)
    assert farthest(one, rows) == one.width(y, counts=counts) == 9 > local


def test_an_attack_finds_half_the_noise_and_not_the_whole():
    rows, runs = [20, 45, 80, 310], 200_000
    for kind in ("mean", "maximum"):
        one = number(kind, 4)
        y, counts = np.unique(np.array(rows), return_counts=True)
        scale, apart = float(one.width(y, counts=counts)), farthest(one, rows)
        for narrowed, caught in ((1.0, False), (0.5, True)):
            noise = SimulatedNoise(5)
            near, far = (noise.two_sided_geometric(narrowed * scale, runs) + at for at in (0, apart))
            # Everything up to the nearer number is the worst event of this noise.
            share, other = (float(np.mean(drawn <= 0)) for drawn in (near, far))
            ratio = np.log(share / other) - 4 * np.sqrt(1 / (share * runs) + 1 / (other * runs))
            assert bool(ratio > 1.0) is caught


def test_numbers_are_those_of_numpy_about_their_noise():
    x = np.random.default_rng(3).lognormal(8, 1, 4_000).round(2)
    survey = opened(x)
    asked = [
        hg.sum("x", step=0.01),
        hg.mean("x", step=0.01),
        hg.variance("x", step=0.01),
        hg.quantile("x", 0.5, step=0.01),
        hg.bootstrap_dp.minimum("x", step=0.01),
        hg.bootstrap_dp.maximum("x", step=0.01),
    ]
    release = released(asked, survey, epsilon=90.0)
    truth = np.array([x.sum(), x.mean(), x.var(ddof=1), np.median(x), x.min(), x.max()])
    figures = release.for_the_custodian()
    away = np.abs([one.estimate for one in release] - truth)
    assert (away <= figures.accuracy(1e-9) + 0.01).all()
    spread = np.ptp(x)
    assert figures.sensitivity == pytest.approx(
        [spread, spread / 4_000, spread**2 / 4_000, spread / 2, spread, spread], rel=1e-3
    )
    low, high = figures.interval(1 - 1e-9)
    assert ((low - 0.01 <= truth) & (truth <= high + 0.01)).all()


def test_no_bounds_are_needed_and_no_grid_is_too_fine():
    x = [0.0, 123_456_789.01, 987_654_321.99, 1e9]
    for asked in (hg.bootstrap_dp.maximum("x", step=0.01), hg.mean("x", step=0.0001), hg.sum("x", step=0.01)):
        release = released(asked, opened(x))
        assert "no bounds are declared" in " ".join(release.certificate.assumptions)
        assert release.for_the_custodian().sensitivity[0] > 2e8
    bounded = released(hg.mean("x", bounds=(0, 2_000_000_000)), opened(x)).for_the_custodian()
    assert bounded.gain()[0] == pytest.approx(2.0, rel=1e-2)
    assert np.isnan(released(hg.bootstrap_dp.maximum("x", step=1), opened(x)).for_the_custodian().gain()).all()


def test_a_number_that_cannot_change_is_not_released_exactly():
    release = released(hg.bootstrap_dp.maximum("x", step=1), opened([7.0] * 5))
    assert release.for_the_custodian().sensitivity[0] == 1.0
    share = released(hg.proportion("x", value=7), opened([7.0] * 5))
    assert share.for_the_custodian().sensitivity[0] == pytest.approx(0.2)


def test_epsilon_is_divided_and_adds_up_to_no_more():
    asked = [hg.mean("x", step=1), hg.bootstrap_dp.maximum("x", step=1), hg.sum("x", step=1)]
    figures = released(asked, share=[1, 1, 2]).for_the_custodian()
    # Scale w/ε_i in steps: what was spent is Σ w/scale, with w in steps.
    spent = sum(Fraction(290) / Fraction(float(scale)) for scale in figures._scale)
    assert Fraction(999, 1000) < spent <= 1


def test_every_output_says_that_it_is_not_differential_privacy(tmp_path: Path):
    release = released([hg.mean("x", step=1), hg.bootstrap_dp.minimum("x", step=1)])
    record = json.loads(release.to_json())
    assert record["certificate"]["differential_privacy"] is False
    assert record["certificate"]["guarantee"] == record["release"]["guarantee"] == "bootstrap-dp"
    assert [one["standard_error"] for one in record["estimates"]] == [None, None]
    release.to_csv(tmp_path / "numbers.csv")
    for text in (str(release), repr(release), release.to_json(), (tmp_path / "numbers.csv").read_text()):
        assert "NOT differential privacy" in text
    assert record["release"]["notes"] == list(UNPROTECTED)
    assert BootstrapStatement.from_dict(record["certificate"]) == release.certificate
    with pytest.raises(hg.UncertifiedError, match="HG415"):
        refuse_statement(record)


def test_nothing_of_the_scale_goes_out():
    def without_numbers(values):
        record = json.loads(
            released([hg.mean("x", step=1), hg.bootstrap_dp.maximum("x", step=1)], opened(values)).to_json()
        )
        for one in record["estimates"]:
            del one["estimate"]
        return record

    assert without_numbers([1.0, 2.0, 3.0]) == without_numbers([5.0, 5.0, 9_999_999.0])
    figures = released(hg.mean("x", step=1)).for_the_custodian()
    with pytest.raises(hg.ParameterError, match="HG159"):
        pickle.dumps(figures)
    assert "CONFIDENTIAL" in figures.in_words(["mean of x"])


REFUSED = [
    (hg.count(), {}, "HG413"),
    (hg.ratio("x", "y", bounds={"x": (0, 1), "y": (0, 1)}), {}, "HG413"),
    (hg.mean("x", step=1), {"missing": None}, "HG413"),
    (hg.mean("x", step=1), {"missing": "midpoint"}, "HG413"),
    (hg.mean("x", step=1), {"by": {"x": [1, 2]}}, "HG413"),
    (hg.mean("x", step=1), {"where": "x > 1"}, "HG413"),
    (hg.mean("x", step=1), {"delta": 1e-6}, "HG413"),
    (hg.mean("x", step=1), {"rho": 0.1}, "HG413"),
    (hg.mean("x", step=1), {"noise": "gaussian"}, "HG413"),
    (hg.mean("x", step=1), {"ask": ["mean(x)"]}, "HG413"),
    (hg.mean("x", step=1), {"share": [0]}, "HG113"),
    (hg.mean("x"), {}, "HG106"),
    (hg.mean("x", step=1), {"epsilon": None}, "HG101"),
    ([], {}, "HG112"),
    (hg.bootstrap_dp.own_function("x", np.ptp, answers=(0, 500), answer_step=1, step=1), {}, "HG412"),
]


@pytest.mark.parametrize(("asked", "options", "code"), REFUSED)
def test_what_bootstrap_dp_does_not_have_is_refused_before_anything_is_read(asked, options, code, tmp_path: Path):
    ledger = tmp_path / "weak.ledger"
    made = {"dataset": "x", "relation": "replace-one", "unit": "row", "budget": Budget(2.0, 0.0)}
    with Ledger.create(ledger, guarantee="bootstrap-dp", **made):
        pass
    survey = opened([1.0] * 20, ledger=ledger)
    with pytest.raises(hg.HedgerowError, match=code):
        survey.release(asked, guarantee="bootstrap-dp", **({"epsilon": 1.0} | COMPLETE | options))
    with Ledger.open(ledger) as kept:
        assert kept.spent() == 0.0


def test_extremes_are_refused_under_dp_and_unknown_guarantees_too():
    with pytest.raises(hg.ParameterError, match="HG112"):
        opened().release(hg.bootstrap_dp.maximum("x", step=1), epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="HG154"):
        opened().release(hg.mean("x", bounds=(0, 9)), epsilon=1.0, guarantee="nearly")


def test_a_ledger_of_its_own_answers_again(tmp_path: Path):
    ledger = tmp_path / "weak.ledger"
    made = {"dataset": "x", "relation": "replace-one", "unit": "row", "budget": Budget(2.0, 0.0)}
    with Ledger.create(ledger, guarantee="bootstrap-dp", **made):
        pass
    survey = opened(ledger=ledger)
    one, again = (released(hg.mean("x", step=1), survey, request_id="a") for _ in range(2))
    assert again.replayed and [*map(str, again)] == [*map(str, one)]
    with pytest.raises(hg.ParameterError, match="HG159"):
        again.for_the_custodian()
    with pytest.raises(hg.LedgerError, match="HG316"):
        survey.release(hg.mean("x", bounds=(0, 500)), epsilon=0.1)
    with pytest.raises(hg.BudgetExceeded):
        released(hg.mean("x", step=1), survey, epsilon=1.5)


@pytest.mark.parametrize("n", [9, 508, 100_000])
def test_a_search_of_too_many_pairs_is_refused_at_any_number_of_rows(n: int):
    asked = hg.bootstrap_dp.own_function("x", np.median, answers=(0, 500), answer_step=1, step=1)
    with pytest.raises(hg.UncertifiedError, match=rf"HG412.*{n:,} rows may have more than 200,000 pairs"):
        released(asked, opened([*map(float, range(n))]))


def test_a_number_prints_its_value_and_note_and_has_no_interval():
    (estimate,) = released(hg.mean("x", step=1))
    for one in (estimate, 2 * estimate - 1):
        assert f"{one.estimate:.6g}" in str(one) and "confidential" in str(one) and "inf" not in repr(one)
        for asked in (one.confidence_interval, lambda one=one: one.test(0)):
            with pytest.raises(hg.ParameterError, match=r"HG159.*confidential.*for_the_custodian"):
                asked()
        interval = one.to_dict()["confidence_interval"]
        assert (interval["low"], interval["high"], interval["method"]) == (None, None, "withheld")


def test_functions_of_ones_own_cannot_tell_by_failing():
    def failing(rows):
        raise ValueError(rows)

    for function in (failing, lambda rows: np.nan, lambda rows: "text", lambda rows: 1e300):
        asked = hg.bootstrap_dp.own_function("x", function, answers=(0, 10), answer_step=1, step=1)
        assert released(asked, opened([1.0, 2.0, 3.0])).for_the_custodian().sensitivity[0] == 1.0
    declared = hg.bootstrap_dp.own_function(
        "x", np.median, answers=(0, 500), answer_step=1, step=1, sensitivity=failing, name="middle"
    )
    release = released(declared)
    assert release.for_the_custodian().sensitivity[0] == 500.0  # the whole range, where the declaration fails
    assert "what its declared function returns" in " ".join(release.certificate.assumptions)


def test_missing_values(tmp_path: Path):
    survey = opened([None, 40.0, 50.0, None])
    total = survey.release(hg.sum("x", step=1), guarantee="bootstrap-dp", epsilon=1.0)
    assert total.for_the_custodian().sensitivity[0] == 50.0  # a row without a value adds 0
    middle = released(hg.mean("x", bounds=(0, 100)), survey, missing="midpoint")
    assert middle.for_the_custodian().sensitivity[0] == pytest.approx(10 / 4, abs=0.1)
    with pytest.raises(hg.SpentError, match="HG602"):
        released(hg.mean("x", step=1), survey)


def test_the_command_line_prints_the_custodians_figures_apart(tmp_path: Path):
    file, out = tmp_path / "people.csv", tmp_path / "out"
    file.write_text("x\n" + "\n".join(map(str, INCOMES)), encoding="utf-8")
    given = ["release", str(file), "--relation", "replace-one", "--epsilon", "1", "--missing", COMPLETE["missing"]]
    weak = ["--mean", "x", "--maximum", "x", "--step", "1", "--guarantee", "bootstrap-dp"]
    done = CliRunner().invoke(app, [*given, *weak, "--for-the-custodian", "--out", str(out)])
    assert done.exit_code == 0
    assert "NOT differential privacy" in done.stdout and "sensitivity 290" not in done.stdout
    assert "CONFIDENTIAL" in done.stderr and "maximum of x: sensitivity 290" in done.stderr
    assert {one.name for one in out.iterdir()} == {"release.json", "release.tex", "estimates.csv", "certificate.json"}
    refused = CliRunner().invoke(app, [*given, "--mean", "x:0:100", "--for-the-custodian"])
    assert refused.exit_code != 0 and "HG116" in str(refused.exception) + refused.stderr
