"""Width of the intervals of a table of persons over that of a release of the same numbers, from the same draws.

Run: python -m benchmarks.tables_of_persons [--n 2000] [--epsilon 1 4] [--runs 10]

Persons have one to four rows, each in one of four waves, all in one of five regions; δ = 1e-6, at most 4 rows. A line
shows the mean width of the cells over that of the estimates of a release, and that of the totals by wave and by region
over that of the sum of the estimates of their cells. Noise is simulated, seeds are fixed.
"""

from __future__ import annotations

import argparse
from functools import reduce
from itertools import product
from operator import add

import numpy as np
import pyarrow as pa

import hedgerow as hg
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation, Target, UnitLimit
from hedgerow.inference.estimate import Estimate
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.tables.release_table import read_table
from hedgerow.tables.table_options import choose
from hedgerow.testing.simulated import SimulatedNoise

SEED, LIMIT = 20261124, UnitLimit("person", 4)
BY = {"wave": [1, 2, 3, 4], "region": [0, 1, 2, 3, 4]}
ASKED = {"count": hg.count(), "sum": hg.sum("pay", bounds=(0, 100), step=1)}


def panel(n: int) -> pa.Table:
    """Return the rows of so many persons."""
    rng = np.random.default_rng(SEED)
    rows = rng.integers(1, 5, n)
    person = np.repeat(np.arange(n), rows)
    pay = np.repeat(rng.normal(40.0, 12.0, n), rows) + rng.normal(0.0, 9.0, len(person))
    about = {"wave": rng.integers(1, 5, len(person)), "region": np.repeat(rng.integers(0, 5, n), rows)}
    return pa.table({"person": person, "pay": pay.clip(0, 100).round(), **about})


def width(estimate: Estimate) -> float:
    """Return the width of the 95 % interval."""
    interval = estimate.confidence_interval()
    return interval.high - interval.low


def ratios(statistic: str, relation: Relation, n: int, epsilon: float, runs: int) -> list[float]:
    """Return the ratios of mean widths: of the cells, the totals by wave, and those by region."""
    survey = hg.open(panel(n), relation=str(relation), unit=LIMIT)
    told = Protection(relation, LIMIT, Target.POPULATION, ())
    choice = choose(ASKED[statistic], told, None, n=survey.n, by=BY, epsilon=epsilon, delta=1e-6)
    sums = read_histograms(choice.plan, survey.source)
    widths = np.zeros((3, 2))
    for run in range(runs):
        (drawn,) = draw_tables(choice.plan, sums, SimulatedNoise(SEED + run))
        table, released = read_table(choice, drawn, None, source="simulated"), choice.design.estimates(drawn)
        widths[0] += [sum(map(width, table)), sum(map(width, released))]
        for place, kept in enumerate(BY, start=1):
            for total in table.with_margins().margin(kept):
                own = [one for one in released if one.cell[kept] == total.cell[kept]]
                widths[place] += [width(total), width(reduce(add, own))]
    return (widths[:, 0] / widths[:, 1]).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 4.0])
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    print(f"{'':<40}{'cells':>8}{'by wave':>9}{'by region':>11}")
    for statistic, relation, epsilon in product(ASKED, Relation, given.epsilon):
        cells, waves, regions = ratios(statistic, relation, given.n, epsilon, given.runs)
        name = f"{statistic}, {relation}, ε = {epsilon:g}"
        print(f"{name:<40}{cells:>8.3f}{waves:>9.3f}{regions:>11.3f}", flush=True)


if __name__ == "__main__":
    main()
