"""95 % intervals of table cells by simulation: not significantly below 94 % in any cell, and the test has power.

1,000 runs a setting, seeded. `benchmarks/coverage_of_tables.py` prints the same with widths and more runs, and
`benchmarks/coverage_by_path.py` what small cells are given on every path.
"""

import dataclasses
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.statistical.simulations.small_cells import Small, coverage
from tests.statistical.simulations.tables import Setting, settings, simulate

import hedgerow as hg
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.inference.means_and_counts import counts_with_errors, proportions_with_errors
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.execute import draw_tables
from hedgerow.resampling.counted_values import Histogram
from hedgerow.tables.table_options import TableChoice, choose
from hedgerow.testing.simulated import SimulatedNoise

RUNS = 1000
SEED = 20261121


def too_low(covered: int, total: int, least: float = 0.94) -> bool:
    return bool(stats.binom.cdf(covered, total, least) < 1e-6)


@pytest.mark.parametrize("setting", list(settings()), ids=str)
def test_every_cell_covers(setting: Setting) -> None:
    """1,000 runs, twelve cells of 30 % to .2 % of 2,000 records."""
    result = simulate(setting, RUNS, np.random.default_rng([SEED, 1]))
    assert not any(too_low(int(covered), RUNS) for covered in result.covered), result
    assert result.overall < 0.985


@pytest.mark.parametrize("statistic", ["count", "sum"])
def test_intervals_that_leave_out_privacy_noise_are_caught(statistic: str) -> None:
    """Sabotage: ± 1.96 sampling errors alone, at ε = 0.5."""
    setting = Setting(statistic, "replace-one", "population", "geometric", 0.5)
    result = simulate(setting, RUNS, np.random.default_rng([SEED, 2]), sampling_only=True)
    assert stats.binom.cdf(int(result.covered.sum()), RUNS * len(result.covered), 0.94) < 1e-12


def exact_coverage(sd: float, law: str, *, of: str = "count", margin: float | None = None) -> float:
    """Coverage of a file's 1,000, or share of 1,000 in 4,000, under integer noise, added up over its law."""
    z = np.arange(-2000, 2001)
    if law == "laplace":
        # The scale whose two-sided geometric law has this standard deviation: sd = 1/(√2·sinh(1/2b)).
        p = np.exp(-np.abs(z) * 2 * np.arcsinh(1 / (np.sqrt(2) * sd)))
    else:
        p = np.exp(-(z**2) / (2 * sd**2))
    options = {"census": True, "noise_law": law, "method": "test", "noise_sd": sd}
    counted = of == "count"
    read = (
        counts_with_errors(1000.0 + z, n=4000, **options)
        if counted
        else proportions_with_errors(1000.0 + z, 4000.0, **options)
    )
    test, truth = read.test, 1000.0 if counted else 0.25
    if margin is not None:
        test = dataclasses.replace(test, margin=margin)
    low, high = test.accepted(0.95)
    return float(p[(low <= truth + 1e-9) & (high >= truth - 1e-9)].sum() / p.sum())


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("of", ["count", "proportion"])
def test_whole_numbers_cover_whatever_the_width_of_their_noise(of: str, law: str) -> None:
    """Exact, no simulation: 200 widths. Sabotage: without half a count, coverage falls below 85 %."""
    widths = np.exp(np.linspace(np.log(0.2), np.log(30), 200))
    assert min(exact_coverage(sd, law, of=of) for sd in widths) > 0.945
    assert min(exact_coverage(sd, law, of=of, margin=0.0) for sd in widths) < 0.85


@cache
def choice_of_totals(n: int) -> TableChoice:
    """Return the plan of a table of totals whose cells are declared public."""
    told = Protection(Relation.REPLACE_ONE, "row", Target.FILE, ())
    options = {"sensitivity": "public-membership", "missing": "error-if-declared-complete", "epsilon": 1.0}
    asked = hg.sum("value", bounds=(80, 100), step=1)
    return choose(asked, told, None, n=n, by={"cell": [0, 1, 2]}, delta=0, **options)


def table_of(cells: list[int], values: list[int], seed: int) -> AdditiveTable:
    """Draw that table from records given by cell and value."""
    choice = choice_of_totals(len(cells))
    ones = np.ones(len(cells), dtype=int)
    histogram = Histogram.from_triplets(np.array(cells), np.array(values) - 80, ones, cells=3)
    (drawn,) = draw_tables(choice.plan, {choice.plan.items[0].design.query: histogram}, SimulatedNoise(seed))
    assert drawn is not None
    return drawn


def test_public_cells_hide_a_value_and_not_a_cell() -> None:
    """2,000 tables a side, told apart by the total of the cell concerned, or by the numbers of records.

    A value changed within its cell by the whole range is told apart as often as ε = 1 lets it: at most
    e/(1 + e) = .731 of the time. Sabotage: a record that changes its cell, against the declaration, is seen at once.
    """
    records, runs = ([0, 0, 1, 2], [80, 90, 85, 100]), 2000
    first = [table_of(*records, seed) for seed in range(runs)]
    value = [table_of(records[0], [100, 90, 85, 100], runs + seed) for seed in range(runs)]
    assert all((one.column("count") == [2, 1, 1]).all() for one in [*first, *value])
    totals = np.array([one.column("total")[0] for one in first]), np.array([one.column("total")[0] for one in value])
    middle = (totals[0].mean() + totals[1].mean()) / 2
    right = int((totals[0] <= middle).sum() + (totals[1] > middle).sum())
    assert stats.binom.sf(right, 2 * runs, np.e / (1 + np.e)) > 1e-6
    assert stats.binom.cdf(right, 2 * runs, 0.68) > 1e-6, "an attack this weak would see nothing"
    moved = table_of([1, 0, 1, 2], records[1], 0)
    assert not (moved.column("count") == first[0].column("count")).all()


SMALL = [Small("public membership", "replace-one", 16.0), Small("sum", "add-remove", 16.0)]
SMALL += [Small("sum", "replace-one", 4.0, data="rare"), Small("units: count", "add-remove", 4.0)]
SMALL += [Small("units: sum", "replace-one", 16.0), Small("units: sum", "add-remove", 4.0, data="tied")]
LAST = "totals, nonnegative, rounded, CSV"


@pytest.mark.parametrize("setting", SMALL, ids=str)
def test_small_cells_and_their_totals_cover_on_the_longest_path(setting: Small) -> None:
    """Cells of 10, 20 and 40 skewed records: totals added, cut at 0, rounded, written to CSV and read back."""
    runs = 200 if setting.kind.startswith("units") else 500
    found = coverage(setting, runs, SEED, (LAST,))[LAST]
    assert len(found) == 12 and not any(too_low(int(covered), runs) for covered in found), found / runs


def test_totals_that_take_each_cell_for_other_units_do_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: second moments are added over cells as if no unit had rows in several; hardly any noise hides it."""
    over = JointTotals.over

    def apart(self: JointTotals, *given: Any) -> JointTotals:
        cells = given[1]
        found = over(dataclasses.replace(self, across=None), *given)
        most, mixing = min(self.limit or 1, cells), found.mixing.copy()
        mixing[1 + self.features :] /= most
        return dataclasses.replace(found, products=found.products / most, mixing=mixing)

    monkeypatch.setattr(JointTotals, "over", apart)
    covered = coverage(Small("units: sum", "add-remove", 100.0), 300, SEED, ("totals, CSV",))["totals, CSV"]
    assert stats.binom.cdf(int(covered[-1]), 300, 0.94) < 1e-12
