"""All tables of up to three of nine columns of Adult, released as one vector: noise, coverage, shown numbers, time.

Run: HEDGEROW_DATA=folder python -m benchmarks.margins [--runs 6] [--shown 6] [--order 3] [--held-out] [--beside-table]

The population are the 48,842 records of both files of Adult; each run draws as many records from it with replacement,
counts them once, and releases all margins with seeded noise, in the same way as a release does. A line of each relation
shows, in units of the noise that one count of sensitivity 1 needs at the same price: the root of the mean variance over
tables of a cell's noise as the plan states it and as it was found, and that of each table released alone at its share
of the price, with Gaussian noise. Then

* coverage of 95 % intervals about this file, and about the population, by the number that a cell has in the population;
* root mean squared errors by order, of the numbers as they were drawn, and of the non-negative and the whole ones;
* how far tables differ in a total: exactly 0, or up to the last digits, where they agree;
* of 60 random small layouts, by the number of columns of the largest tables: in how many whole numbers were found that
  agree in all tables, how far the farthest is from its number, and the most seconds;
* the noise of the weights in closed form over the least that there is, and the same of 60 random layouts;
* the price, and the largest squared distance of two records by brute force for 40 random small layouts;
* seconds, of the process's own time: from rows in memory to all tables with errors, to non-negative ones, and to whole
  ones; the peak of the memory.

With ``--held-out`` the population are the records of the file of tests alone, which nothing was tuned on.

``--beside-table`` needs no data. Of tables of r × c cells it prints the noise of a cell and of a total by each column
three times: of the table alone with totals as sums, of the margins with the weights "cells", and of the margins with
the default weights; at μ = .3 (Gaussian noise), and at ε = 1 and δ = 1e-6 (Laplace noise in the table).
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.facts.relation import Relation
from hedgerow.margins.agreeing_rounding import agreeing_rounding
from hedgerow.margins.beside_table import WORTH_SAYING, forecasts_of_totals
from hedgerow.margins.margin_tables import Margins
from hedgerow.margins.release_margins import PlannedMargins
from hedgerow.margins.residuals import TableResiduals, projected
from hedgerow.margins.shown_margins import agreeing
from hedgerow.margins.workload import Workload, summed
from hedgerow.mechanisms.residual_margins import ResidualMargins, over_sets
from hedgerow.noise.lattice import lattice_noise
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
COLUMNS = {
    "workclass": 1, "education": 3, "marital": 5, "occupation": 6, "relationship": 7, "race": 8, "sex": 9,
    "country": 13, "income": 14,
}  # fmt: skip
BANDS = ((0.0, 0.5), (0.5, 10.0), (10.0, 50.0), (50.0, 200.0), (200.0, 1000.0), (1000.0, math.inf))
SEED = 20261124


@dataclass(frozen=True)
class People:
    """Records by the places of their categories, and the categories."""

    levels: NDArray[np.int64]
    categories: dict[str, list[str]]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.categories.values()))

    def table(self, rows: NDArray[np.int64]) -> pa.Table:
        chosen = self.levels[rows]
        return pa.table(
            {
                name: np.array(values, dtype=object)[chosen[:, place]]
                for place, (name, values) in enumerate(self.categories.items())
            }
        )

    def counts(self, columns: tuple[int, ...], rows: NDArray[np.int64]) -> Floats:
        flat = np.zeros(len(rows), dtype=np.int64)
        for place in columns:
            flat = flat * self.sizes[place] + self.levels[rows, place]
        return np.bincount(flat, minlength=math.prod(self.sizes[p] for p in columns)).astype(np.float64)


def adult(*files: str) -> list[list[str]]:
    folder, rows = Path(os.environ["HEDGEROW_DATA"]), []
    for name in files:
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            cells = [cell.strip().rstrip(".") for cell in line.split(",")]
            if len(cells) == 15 and cells[0].isdigit():
                rows.append([cells[place] for place in COLUMNS.values()])
    return rows


def people(rows: list[list[str]], categories: dict[str, list[str]]) -> People:
    places = [{value: place for place, value in enumerate(values)} for values in categories.values()]
    return People(np.array([[of[cell] for of, cell in zip(places, row, strict=True)] for row in rows]), categories)


def released(plan: PlannedMargins, seeds: Iterator[int]) -> Iterator[Margins]:
    with plan.reading() as source:
        answers = read_histograms(plan.plan, source)
        for seed in seeds:
            (drawn,) = draw_tables(plan.plan, answers, SimulatedNoise(seed))
            assert drawn is not None
            yield plan.tables(drawn, None, source="Adult")


def plan_of(population: People, rows: NDArray[np.int64], relation: str, options: argparse.Namespace) -> PlannedMargins:
    survey = hg.open(population.table(rows), relation=relation)  # type: ignore[arg-type]
    return survey.plan_margins(
        by=population.categories,
        order=options.order,
        weights="equal",
        missing="error-if-declared-complete",
        epsilon=options.epsilon,
    )


def run(population: People, relation: str, options: argparse.Namespace) -> None:
    n = len(population.levels)
    rng = np.random.default_rng(SEED)
    hits, raw, fitted, whole = np.zeros((len(BANDS), 3)), [], [], []
    agree, differ, plan = 0.0, 0.0, None
    for at in range(options.runs):
        rows = rng.integers(0, n, n)
        plan = plan_of(population, rows, relation, options)
        (margins,) = released(plan, iter([SEED + at]))
        hits += coverage(population, margins, rows)
        raw.append(errors(population, margins, rows))
        if at < options.shown:
            shown = margins.nonnegative()
            rounded = shown.rounded()
            assert shown.shown is not None and rounded.shown is not None
            fitted.append(errors(population, shown, rows))
            whole.append(errors(population, rounded, rows))
            agree = max(agree, shown.shown.largest_difference, disagreement(shown))
            differ = max(differ, rounded.shown.largest_difference)
    assert plan is not None
    mu = plan.mechanism.mu(Relation(relation))
    spread = np.array([table.privacy_error for table in plan.expected()])
    tables = len(spread)
    alone = math.sqrt(tables if relation == "add-remove" else 2.0 * (tables - 1) ** 2 / tables)
    stated, seen = math.sqrt(float((spread**2).mean())) * mu, math.sqrt(float(np.mean([e[-1] for e in raw]))) * mu
    print(f"{relation}: {tables} tables, {sum(t.cells for t in plan.expected()):,} cells, ε ≤ {plan.epsilon:.6g}")
    print(f"  noise of a cell, units of sensitivity 1: planned {stated:.3f}, found {seen:.3f}; alone {alone:.2f}")
    for (low, high), (cells, of_file, of_population) in zip(BANDS, hits, strict=True):
        said = f"{of_file / cells:.4f} of the file, {of_population / cells:.4f} of the population"
        print(f"  {low:>6g} to {high:<6g} records: {cells / options.runs:>7,.0f} cells, coverage {said}")
    for name, each in (("as drawn", raw[: len(whole)]), ("non-negative", fitted), ("whole", whole)):
        if each:
            by_order = np.sqrt(np.mean(each, axis=0))
            print(f"  rmse {name:<13}" + " ".join(f"{e:8.2f}" for e in by_order[:-1]) + f"   all {by_order[-1]:.2f}")
    if fitted:
        ratio = math.sqrt(np.mean([e[-1] for e in whole]) / np.mean([e[-1] for e in raw[: len(whole)]]))
        print(f"  whole over drawn {ratio:.3f}; non-negative tables differ by {agree:.1e}, whole ones by {differ:.0f}")


def coverage(population: People, margins: Margins, rows: NDArray[np.int64]) -> Floats:
    """Return (cells, intervals that hold the file's count, that hold the population's) by band."""
    n, every, hits = len(rows), np.arange(len(population.levels)), np.zeros((len(BANDS), 3))
    for columns in margins.residuals.workload.tables:
        truth = population.counts(columns, every) * n / len(every)
        cells = margins.cells(columns)
        read = cells.columns(0.95)
        of_population = (read.low <= truth) & (truth <= read.high)
        z = 1.959963984540054
        of_file = np.abs(cells.values - population.counts(columns, rows)) <= z * cells.privacy_error
        for place, (low, high) in enumerate(BANDS):
            band = (truth >= low) & (truth < high) & bool(columns)
            hits[place] += band.sum(), of_file[band].sum(), of_population[band].sum()
    return hits


def errors(population: People, margins: Margins, rows: NDArray[np.int64]) -> list[float]:
    """Return the mean squared error about the file by order, and over all tables, each table alike."""
    by_order: dict[int, list[float]] = {}
    for columns in margins.residuals.workload.tables:
        shown = margins.cells(columns).published
        by_order.setdefault(len(columns), []).append(float(((shown - population.counts(columns, rows)) ** 2).mean()))
    every = [error for part in by_order.values() for error in part]
    return [*(float(np.mean(part)) for part in by_order.values()), float(np.mean(every))]


def disagreement(margins: Margins) -> float:
    workload, most = margins.residuals.workload, 0.0
    for columns in workload.tables:
        table = margins.cells(columns).published.reshape(workload.shape(columns))
        for axis in range(len(columns)):
            fewer = columns[:axis] + columns[axis + 1 :]
            most = max(most, float(np.abs(table.sum(axis=axis).reshape(-1) - margins.cells(fewer).published).max()))
    return most


def timed(population: People, relation: str, options: argparse.Namespace) -> None:
    table = population.table(np.arange(len(population.levels)))
    survey = hg.open(table, relation=relation)  # type: ignore[arg-type]
    start = time.process_time(), time.perf_counter()
    margins = survey.margins(
        by=population.categories, order=options.order, epsilon=options.epsilon, missing="error-if-declared-complete"
    )
    for columns in margins.residuals.workload.tables:
        margins.cells(columns).columns(0.95)
    read = time.process_time(), time.perf_counter()
    shown = margins.nonnegative()
    end = time.process_time(), time.perf_counter()
    rounded = shown.rounded()
    last = time.process_time(), time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    first, second, third = (
        f"{b[0] - start[0]:.2f} s ({b[1] - start[1]:.2f} s on the clock)" for b in (read, end, last)
    )
    assert shown.shown is not None and rounded.shown is not None
    print(f"{relation}: rows to tables with errors {first}; non-negative too {second}, gap {shown.shown.gap:.1e}")
    print(f"  whole numbers too {third}, which differ by {rounded.shown.largest_difference:.0f} between tables")
    print(f"  peak of the memory {peak:.2f} GB")


def prices() -> None:
    """Compare the price with all pairs of records of random layouts."""
    rng, worst, too_low = np.random.default_rng(SEED), 0.0, 0
    for _ in range(40):
        sizes = tuple(int(size) for size in rng.integers(2, 5, 3))
        margins = tuple(A for most in range(int(rng.integers(1, 4)) + 1) for A in combinations(range(3), most))
        widths = rng.lognormal(0.0, 0.7, len(margins))
        noise = tuple(lattice_noise(w * math.prod(sizes[i] for i in A)) for w, A in zip(widths, margins, strict=True))
        tables = ResidualMargins(sizes, margins, noise, exhaustive=True)
        spread = tables.table_spread(())[:, 0]
        vectors = []
        for cell in product(*map(range, sizes)):
            levels = [np.array([level]) for level in cell]
            vectors.append(np.concatenate(list(tables.exact(levels, np.ones(1, dtype=np.int64)))) / spread)
        found = max(float(((a - b) ** 2).sum()) for a, b in combinations(vectors, 2))
        every = float(((vectors[0] - vectors[-1]) ** 2).sum())
        stated = tables.mu(Relation.REPLACE_ONE) ** 2
        worst = max(worst, abs(found / stated - 1.0))
        too_low += every < 0.999 * found
    print(
        f"prices of 40 random layouts: within {worst:.1e} of brute force; all columns differing is too low in {too_low}"
    )


def optimum(workload: Workload, relation: str) -> tuple[float, float]:
    """Return the least Σ w·variance at a squared sensitivity of 1, and that of the proportions that are released.

    The dual of min Σ v/τ subject to C·τ ≤ 1, one row of C for each set of columns in which records differ, is raised by
    multiplications until it is within 1e-4 of a feasible value.
    """
    sizes, released = workload.sizes, workload.released
    cost = np.zeros(len(released))
    for table, weight in zip(workload.tables, workload.weights, strict=True):
        cost += [weight * workload.part(table, A) if set(A) <= set(table) else 0.0 for A in released]
    shares = np.array([workload.share(A) for A in released])
    rows = shares[None]
    if relation == "replace-one":
        factors = [(1.0 - 1.0 / size, -1.0 / size) for size in sizes]
        inner = np.array([over_sets([A], [1.0], factors).reshape(-1)[1:] for A in released]).T
        rows = 2.0 * (shares - inner)
    chosen = np.array([1.0 / variance for variance in workload.proportions().values()])
    own = float((cost / chosen).sum() * (rows @ chosen).max())
    dual = np.ones(len(rows))
    least = math.inf
    for _ in range(20_000):
        pull = rows.T @ dual
        dual *= (np.sqrt(cost * pull).sum() / dual.sum()) ** 2
        precision = np.sqrt(cost / (rows.T @ dual))
        used = rows @ precision
        least = min(least, float((cost / precision).sum() * used.max()))
        bound = 2.0 * float(np.sqrt(cost * (rows.T @ dual)).sum()) - float(dual.sum())
        if least - bound <= 1e-4 * least:
            break
        dual *= used
    return least, own


def proportions(population: People, order: int) -> None:
    """Compare the noise of the proportions in closed form with the least there is."""
    every = Workload.up_to(population.sizes, order)
    for relation in ("add-remove", "replace-one"):
        known = frozenset([()]) if relation == "replace-one" else frozenset[tuple[int, ...]]()
        for name, weights in (("equal weights", dict.fromkeys(every.tables, 1.0)), ("orders alike", {})):
            workload = replace(every.weighed(weights), known=known)
            least, own = optimum(workload, relation)
            print(f"{relation}, {name}: noise over the least {math.sqrt(own / least):.4f}")
    rng, ratios = np.random.default_rng(SEED), []
    for _ in range(60):
        sizes = tuple(int(size) for size in rng.integers(2, 12, int(rng.integers(2, 5))))
        workload = Workload.up_to(sizes, int(rng.integers(1, len(sizes) + 1)))
        workload = workload.weighed({table: float(rng.lognormal(0.0, 1.5)) for table in workload.tables})
        least, own = optimum(replace(workload, known=frozenset([()])), "replace-one")
        ratios.append(math.sqrt(own / least))
    print(f"60 random layouts, replace-one: median {np.median(ratios):.4f}, largest {max(ratios):.4f}")


def roundings() -> None:
    """Round random small layouts, many of their cells empty."""
    rng, lines = np.random.default_rng(SEED), dict[int, list[tuple[bool, float, float]]]()
    for _ in range(60):
        sizes = tuple(int(size) for size in rng.integers(2, 8, int(rng.integers(2, 6))))
        workload = Workload.up_to(sizes, int(rng.integers(1, len(sizes) + 1)))
        shares = rng.dirichlet(np.full(math.prod(sizes), float(rng.choice([0.02, 0.2, 1.0]))))
        crossed = rng.multinomial(int(rng.choice([3, 30, 300, 3000])), shares).reshape(sizes)
        exact = TableResiduals.of_tables(
            workload, {A: summed(crossed, tuple(range(len(sizes))), A) for A in workload.largest}
        )
        sd = float(rng.choice([0.3, 2.0, 10.0, 50.0]))
        values = {A: value + projected(rng.normal(0.0, sd, value.shape)) for A, value in exact.values.items()}
        before = agreeing(TableResiduals(workload, values, dict.fromkeys(values, sd**2)))
        start = time.process_time()
        whole = agreeing_rounding(workload, before.tables, negative=False)
        far = 0.0 if whole is None else max(float(np.abs(whole[A] - before.tables[A]).max()) for A in workload.tables)
        lines.setdefault(workload.order, []).append((whole is not None, far, time.process_time() - start))
    for order, tried in sorted(lines.items()):
        found, far, seconds = zip(*tried, strict=True)
        print(
            f"tables of up to {order} columns: whole numbers agree in {sum(found)} of {len(tried)} layouts, "
            f"{max(far):.2f} from their numbers at most, {max(seconds):.2f} s at most"
        )


def beside_table() -> None:
    """Compare tables whose totals are sums of the cells with margins of the same price."""
    for price, relation in product(({"mu": 0.3}, {"epsilon": 1.0, "delta": 1e-6}), ("replace-one", "add-remove")):
        said = ", ".join(f"{name} = {value:g}" for name, value in price.items())
        print(f"\n{said}, {relation}")
        print("        cells   table: cell, by a, by b    weights cells: the same    default: the same")
        for sizes in ((2, 2), (2, 40), (5, 5), (10, 10), (20, 20), (40, 40), (100, 100)):
            by = {name: list(range(size)) for name, size in zip("ab", sizes, strict=True)}
            survey = hg.open(pa.table({name: [0, 1] * 500 for name in by}), relation=relation)  # type: ignore[arg-type]
            line = f"{sizes[0]:5d} × {sizes[1]:<5d}"
            cells_first, default = forecasts_of_totals(survey.plan(hg.count(), by=by, **price))
            for noise in (cells_first.of_table, cells_first.of_margins, default.of_margins):
                line += "   " + " ".join(f"{noise[table]:7.2f}" for table in ((0, 1), (0,), (1,)))
            print(line + ("   advised" if cells_first.gain >= WORTH_SAYING or default.gain >= WORTH_SAYING else ""))


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--shown", type=int, default=6, help="runs in which numbers are made non-negative")
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--beside-table", action="store_true", help="only tables beside margins, without data")
    options = parser.parse_args()
    if options.beside_table:
        beside_table()
        return
    both = adult("adult.data", "adult.test")
    categories = {name: sorted({row[place] for row in both}) for place, name in enumerate(COLUMNS)}
    population = people(adult("adult.test") if options.held_out else both, categories)
    prices()
    roundings()
    proportions(population, options.order)
    for relation in ("add-remove", "replace-one"):
        timed(population, relation, options)
        run(population, relation, options)


if __name__ == "__main__":
    main()
