"""Coverage of the intervals that an analyst pools from synthetic files.

Run: HEDGEROW_DATA=folder python -m benchmarks.synthetic [--runs 5] [--files 50] [--rows N] [--n 5000] [--epsilon 1]
     [--relation replace-one] [--held-out] [--every] [--nine] [--seed S] [--keep FILE] [--rule] [--steps]

The population are the records of both files of Adult, or with ``--held-out`` those of the file of tests alone. Each
run draws n records with replacement, releases all margins of up to three of five columns with seeded noise, draws
files, and answers shares, a gap and slopes of a logit on each file. A line of each question shows how often 95 %
intervals hold the population's answer, with the median width over that of the release's own interval where it has one:

* pooled, with the files of the centre, and without;
* of s.e.: with the files of the centre, the Student interval of the standard error, without a longer side;
* less b: about the estimate less the bias of a refit, with √T;
* naive: of the first file alone, by its own standard error;
* law: the answer of the fitted law itself, with the sd over the refits and m − 1 degrees of freedom;
* release: the interval of the released margins themselves; a question of four columns has none.

``flagged`` is how often `pool` marks the question as biased, and ``weak`` how often the fit finds a table weak on which
the question rests: the table of its columns, for four columns any of their pairs, and for a slope the pair with the
outcome. Two files are enough to see what is weak: ``--files 2``. The last line is the seconds of the process for a run,
the fit gap, and the peak of the memory. Each run prints a line when it ends. ``--keep FILE`` keeps the answers of each
run as one line of a file, and the same command then goes on after the last run that was kept. ``--every`` runs all
eight settings of n, ε and relation; 200 runs of each take hours. ``--nine`` takes nine columns, whose joint table is
not held.

``--steps`` follows the slope of education from the records to the fitted law, alone and beside all columns: in the
released table of education and income with its negative numbers, in the agreeing tables, and in the law. Each step has
the sum of the rich records in the eight categories below HS-grad.

``--rule`` simulates the pooling rule alone: estimates of m files whose law is normal, with the variance V of the refits
from U/4 to 5·U. It prints the coverage of 95 % intervals and their median width over 2·1.96·√V, by degrees of freedom.
Then the fit, and each refit again, leans by a part of √V: the coverage and width of `pool` with files of the centre,
the coverage of the Student interval of √T, and how often `pool` marks the question.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.margins import COLUMNS, People, adult, people, released
from numpy.typing import NDArray
from scipy.special import stdtrit

import hedgerow as hg
from hedgerow.errors import HedgerowError
from hedgerow.margins.agreeing_fit import agreeing_fit
from hedgerow.margins.margin_tables import Margins
from hedgerow.margins.release_margins import PlannedMargins
from hedgerow.synthetic.joint_law import JointLaw
from hedgerow.synthetic.pooling import PooledEstimate

Floats = NDArray[np.float64]
SEED = 20261125
FIVE = ("education", "marital", "race", "sex", "income")
SCHOOLS = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
    "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
RICH = {"income": ">50K"}
SHARES: dict[str, dict[str, str]] = {
    "share of rich, women": {"sex": "Female"},
    "share of rich, Black": {"race": "Black"},
    "share of rich, American Indian": {"race": "Amer-Indian-Eskimo"},
    "share of rich, married women": {"sex": "Female", "marital": "Married-civ-spouse"},
    "share of rich, married women, Bachelors (4 columns)": {
        "sex": "Female",
        "marital": "Married-civ-spouse",
        "education": "Bachelors",
    },
}
GAP = "gap of sexes, Bachelors"
KINDS = ("pooled", "of s.e.", "less b", "without", "naive", "law", "release")
SLOPES = ("logit: four years of education", "logit: married", "logit: Black", "logit: woman")
RESTS = (
    {name: {*cell, *RICH} for name, cell in SHARES.items()}
    | {GAP: {"education", "sex", *RICH}}
    | {name: {column, *RICH} for name, column in zip(SLOPES, FIVE, strict=False)}
)


class Answer(NamedTuple):
    value: float
    variance: float


def logit(design: Floats, counts: Floats, rich: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of a logit and their variances, from all records and the rich ones at each row."""
    size = design.shape[1]
    slopes, ridge = np.zeros(size), 1e-9 * np.eye(size)
    for _ in range(30):
        chance = 1.0 / (1.0 + np.exp(-design @ slopes))
        hessian = (design * (counts * chance * (1.0 - chance))[:, None]).T @ design + ridge
        step = np.linalg.solve(hessian, design.T @ (rich - counts * chance))
        slopes = slopes + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-9:
            break
    return slopes, np.diag(np.linalg.inv(hessian))


class Questions:
    """Shares, a gap and slopes, from counts of the five columns."""

    def __init__(self, population: People) -> None:
        self.population = population
        self.places = [list(population.categories).index(name) for name in FIVE]
        self.sizes = tuple(population.sizes[place] for place in self.places)
        self.levels = np.indices(self.sizes).reshape(5, -1)
        rich = self.inside(RICH).astype(float)
        years = np.array([1 + SCHOOLS.index(name) for name in population.categories["education"]], dtype=float)[
            self.levels[0]
        ]
        marks = [self.inside({"marital": "Married-civ-spouse"}), self.inside({"race": "Black"})]
        columns = [np.ones(len(rich)), years / 4.0 - 2.5, *marks, self.inside({"sex": "Female"})]
        self.rich, self.design = rich, np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)

    def inside(self, cell: dict[str, str]) -> NDArray[np.bool_]:
        chosen = np.ones(self.levels.shape[1], dtype=bool)
        for name, value in cell.items():
            chosen &= self.levels[FIVE.index(name)] == self.population.categories[name].index(value)
        return chosen

    def counts(self, levels: NDArray[Any], weights: Floats | None = None) -> Floats:
        flat = np.zeros(len(levels), dtype=np.int64)
        for place, size in zip(self.places, self.sizes, strict=True):
            flat = flat * size + levels[:, place]
        return np.bincount(flat, weights, minlength=math.prod(self.sizes)).astype(np.float64)

    def share(self, counts: Floats, cell: dict[str, str]) -> Answer:
        inside = self.inside(cell)
        total = max(float(counts[inside].sum()), 1e-9)
        value = float((counts * self.rich)[inside].sum()) / total
        return Answer(value, value * (1.0 - value) / total)

    def answers(self, counts: Floats) -> dict[str, Answer]:
        made = {name: self.share(counts, cell) for name, cell in SHARES.items()}
        men, women = (self.share(counts, {"education": "Bachelors", "sex": sex}) for sex in ("Male", "Female"))
        made[GAP] = Answer(men.value - women.value, men.variance + women.variance)
        slopes, variances = logit(self.design, counts, counts * self.rich)
        pairs = zip(SLOPES, slopes[1:], variances[1:], strict=True)
        return made | {name: Answer(float(slope), float(variance)) for name, slope, variance in pairs}


def of_release(margins: Margins, order: int) -> Iterator[tuple[str, Any]]:
    """Yield the release's own estimates of the questions that are functions of its tables."""

    def share(cell: dict[str, str]) -> list[dict[str, str]]:
        return [{**cell, **RICH}, cell]

    for name, cell in SHARES.items():
        if len(cell) < order:
            part, whole = margins.estimates(*share(cell))
            yield name, part / whole
    cells = [cell for sex in ("Male", "Female") for cell in share({"education": "Bachelors", "sex": sex})]
    a, b, c, d = margins.estimates(*cells)
    yield GAP, a / b - c / d


def one_run(questions: Questions, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return the answers of one run as plain JSON data: of the fit, its refits, its files, and the release."""
    population, start = questions.population, time.process_time()
    rows = np.random.default_rng([SEED, seed]).choice(len(population.levels), options.n)
    (margins,) = released(_plan(population, rows, options), iter([seed]))
    ready = time.process_time()
    files = margins.synthesize(options.files, options.rows, rng=seed)
    made = files.rows
    seconds = time.process_time() - ready
    own: dict[str, tuple[float, float]] = {}
    for name, estimate in of_release(margins, options.order):
        try:
            own[name] = tuple(estimate.confidence_interval(0.95))
        except HedgerowError:
            own[name] = (-math.inf, math.inf)

    def of_law(law: JointLaw) -> dict[str, Answer]:
        return questions.answers(questions.counts(law.cells.levels, law.weights))

    return {
        "setting": _setting(options),
        "seed": seed,
        "files": [questions.answers(questions.counts(levels)) for levels in made.files],
        "centre": [questions.answers(questions.counts(levels)) for levels in made.centre_files],
        "refits": [of_law(law) for law in made.refits],
        "fit": of_law(made.law),
        "release": own,
        "weak": [table.columns for table in files.fitted_tables() if table.weak],
        "seconds": seconds,
        "all_seconds": time.process_time() - start,
        "gap": made.law.fit.gap,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2,
    }


def pooled(kept: dict[str, Any], name: str, *, centre: bool = True) -> PooledEstimate:
    """Return the pooled answer to a question, with the bias that the files of the centre show, or without."""
    values, spreads = np.array([file[name] for file in kept["files"]]).T
    (one,) = hg.pool(values, spreads, centre=[file[name][0] for file in kept["centre"]] if centre else None)
    return one


def intervals(kept: dict[str, Any], name: str) -> Iterator[tuple[str, float, float]]:
    """Yield the kinds of 95 % intervals of a question with their ends."""
    one, plain = pooled(kept, name), pooled(kept, name, centre=False)
    yield "pooled", *one.confidence_interval()
    t, bias = float(stdtrit(one.df, 0.975)), one.bias or 0.0
    yield "of s.e.", one.estimate - t * one.standard_error, one.estimate + t * one.standard_error
    root = math.sqrt(one.standard_error**2 - max(bias**2 - (one.bias_error or 0.0) ** 2, 0.0))
    yield "less b", one.estimate - bias - t * root, one.estimate - bias + t * root
    yield "without", *plain.confidence_interval()
    value, spread = kept["files"][0][name]
    half = 1.96 * math.sqrt(spread)
    yield "naive", value - half, value + half
    refits = [refit[name][0] for refit in kept["refits"]]
    half, fit = float(stdtrit(len(refits) - 1, 0.975)) * float(np.std(refits, ddof=1)), kept["fit"][name][0]
    yield "law", fit - half, fit + half
    if name in kept["release"]:
        yield "release", *kept["release"][name]


def rests_on_weak(kept: dict[str, Any], name: str, order: int) -> float:
    """Return whether a question rests on a weak table; NaN of runs that were kept before weak tables were."""
    size = len(RESTS[name]) if len(RESTS[name]) <= order else 2
    weak = [{*table} for table in kept.get("weak", ()) if len(table) == size]
    return float(any(table <= RESTS[name] for table in weak)) if "weak" in kept else math.nan


def _setting(options: argparse.Namespace) -> dict[str, Any]:
    names = ("n", "epsilon", "relation", "order", "files", "rows", "held_out", "nine")
    return {name: getattr(options, name) for name in names}


def _kept(options: argparse.Namespace) -> dict[int, dict[str, Any]]:
    """Return the runs of this setting in the file of kept runs, by seed; a line that was cut short is left out."""
    found = {}
    for line in options.keep.read_text().splitlines() if options.keep and options.keep.exists() else ():
        try:
            kept = json.loads(line)
        except json.JSONDecodeError:
            continue
        if kept["setting"] == _setting(options):
            found[kept["seed"]] = kept
    return found


def run(population: People, options: argparse.Namespace) -> None:
    """Print one setting: a line of each run when it ends, and then the table of all runs."""
    questions, kept = Questions(population), _kept(options)
    truth = {name: answer.value for name, answer in questions.answers(questions.counts(population.levels)).items()}
    runs = []
    for at, seed in enumerate(np.random.default_rng(options.seed).integers(2**32, size=options.runs).tolist()):
        if seed not in kept:
            kept[seed] = one_run(questions, seed, options)
            if options.keep:
                with options.keep.open("a") as file:
                    file.write(json.dumps(kept[seed]) + "\n")
        runs.append(kept[seed])
        ends = {name: next(intervals(kept[seed], name)) for name in truth}
        missed = [name for name, (_, low, high) in ends.items() if not low <= truth[name] <= high]
        figures = f"{kept[seed]['seconds']:.1f} s, {kept[seed]['gigabytes']:.2f} GB"
        print(f"run {at + 1} of {options.runs}: {figures}; not held: {', '.join(missed) or 'none'}", flush=True)
    place = " ".join(["held-out"] * options.held_out + ["nine columns"] * options.nine)
    where = f"{place} n = {options.n:,}, ε = {options.epsilon:g}, {options.relation}, {options.files} files".strip()
    heads = "  ".join(f"{kind:<12}" for kind in KINDS)
    print(f"\n{where}, {len(runs)} runs\n{'coverage, and width over the release':<54} {heads}")
    for name in truth:
        held: dict[str, list[tuple[bool, float]]] = defaultdict(list)
        for one in runs:
            for kind, low, high in intervals(one, name):
                held[kind].append((low <= truth[name] <= high, high - low))
        own = np.median([width for _, width in held.get("release", [(True, math.nan)])])
        own = own if math.isfinite(own) else math.nan
        line = []
        for kind in filter(held.__contains__, KINDS):
            share, width = np.mean([hit for hit, _ in held[kind]]), np.median([width for _, width in held[kind]])
            line.append(f"{share:.3f}" + (f" ({width / own:.2f})" if own == own else " (   -)"))
        marked = np.mean([pooled(one, name).flagged for one in runs])
        weak = np.mean([rests_on_weak(one, name, options.order) for one in runs])
        print(f"{name:<54} {'  '.join(line)}   flagged {marked:.2f}   weak {weak:.2f}", flush=True)
    spent, gap = (np.median([one[key] for one in runs]) for key in ("seconds", "gap"))
    peak = max(one["gigabytes"] for one in runs)
    print(f"{spent:.1f} s of the process for the files of a run; fit gap {gap:.3f}; {peak:.2f} GB", flush=True)


def steps(population: People, options: argparse.Namespace) -> None:
    """Print what each step from records to the fitted law does to the slope of education, and to its small cells."""
    questions, found = Questions(population), defaultdict(list)
    names = list(population.categories)
    pair = names.index("education"), names.index("income")
    schools = [population.categories["education"].index(name) for name in SCHOOLS]
    alone = np.stack([np.ones(16), np.arange(1, 17) / 4.0 - 2.5], axis=1)
    rich = population.categories["income"].index(RICH["income"])

    def counted(levels: NDArray[Any], weights: Floats | None = None) -> Floats:
        flat = 2 * levels[:, pair[0]] + levels[:, pair[1]]
        return np.bincount(flat, weights, minlength=32).reshape(16, 2).astype(np.float64)

    for seed in np.random.default_rng(options.seed).integers(2**32, size=options.runs).tolist():
        rows = np.random.default_rng([SEED, seed]).choice(len(population.levels), options.n)
        (margins,) = released(_plan(population, rows, options), iter([seed]))
        law, residuals = margins.synthesize(2, rng=seed).rows.law, margins.residuals
        drawn, cells = population.levels[rows], law.cells.levels
        tables = {
            "records": counted(drawn),
            "released": residuals.table(pair).reshape(16, 2),
            "agreeing": agreeing_fit(residuals).residuals.table(pair).reshape(16, 2),
            "law": counted(cells, law.weights),
        }
        for step, table in tables.items():
            ordered = table[schools]
            slope = logit(alone, ordered.sum(axis=1), ordered[:, rich])[0][1]
            found[step].append((slope, ordered[: SCHOOLS.index("HS-grad"), rich].sum()))
        for step, levels, weights in (("records", drawn, None), ("law", cells, law.weights)):
            found[f"{step}, all"].append(
                (questions.answers(questions.counts(levels, weights))[SLOPES[0]].value, math.nan)
            )
    noise = math.sqrt(residuals.noise_variance(pair))
    truth = questions.answers(questions.counts(population.levels))[SLOPES[0]].value
    print(
        f"n = {options.n:,}, ε = {options.epsilon:g}, {options.relation}, {options.runs} releases: a cell of education"
    )
    print(f"and income has noise of {noise:.1f} records; the slope of education beside all columns is {truth:.2f}")
    print("step            slope: median (mean ± sd)    rich records below HS-grad: mean ± sd")
    for step, values in found.items():
        (middle, _), (slope, small), (spread, about) = (
            of(np.array(values), axis=0) for of in (np.median, np.mean, np.std)
        )
        told = f"{small:8.1f} ± {about:.1f}" if small == small else ""
        print(f"{step:15} {middle:6.2f} ({slope:.2f} ± {spread:.2f})            {told}")


def _plan(population: People, rows: NDArray[np.int64], options: argparse.Namespace) -> PlannedMargins:
    survey = hg.open(population.table(rows), relation=options.relation)
    return survey.plan_margins(
        by=population.categories, order=options.order, epsilon=options.epsilon, missing="error-if-declared-complete"
    )


def rule(runs: int) -> None:
    """Print the coverage of the rule by the number of files and by V/U, for three choices of the degrees of freedom."""
    rng = np.random.default_rng(SEED)
    print("files  V/U  T<=0   df of the rule, 2 at the least   df of the rule   m - 1")
    for files in (5, 10, 20, 50):
        for refits in (0.25, 0.5, 1.0, 2.0, 5.0):
            spread = refits + 1.0
            between = spread * rng.chisquare(files - 1, runs) / (files - 1)
            error = rng.normal(0.0, np.sqrt(refits), runs) + rng.normal(0.0, np.sqrt(spread / files), runs)
            part = 1.0 + 1.0 / files
            total = part * between - 1.0
            own = (files - 1) * (total / (part * between)) ** 2
            said = []
            for freedom in (np.maximum(own, 2.0), own, np.full(runs, files - 1.0)):
                used = np.where(total > 0.0, freedom, files - 1.0)
                half = stdtrit(used, 0.975) * np.sqrt(np.where(total > 0.0, total, 1.0))
                said.append(f"{(np.abs(error) <= half).mean():.3f} ({np.median(half) / 1.96 / np.sqrt(refits):.2f})")
            print(f"{files:5d} {refits:4.2f} {(total <= 0).mean():5.3f}   " + "   ".join(said))


def leaning(runs: int) -> None:
    """Print the coverage of pooled estimates whose fit leans, and whose refits lean by as much or by a part."""
    rng = np.random.default_rng(SEED)
    print("\nfiles  V/U  bias  of refits   pooled   of √T   marked")
    leans = ((0.0, 1.0), *product((0.5, 1.0, 1.5), (1.0, 0.75, 0.5)))
    for files, refits, (bias, again) in product((20, 50), (1.0, 2.0, 10.0), leans):
        fit = math.sqrt(refits) * rng.normal(bias, 1.0, runs)
        values = rng.normal(fit + math.sqrt(refits) * again * bias, math.sqrt(refits + 1.0), (files, runs))
        middles = rng.normal(fit, 1.0, (files, runs))
        pooled = hg.pool([*values], [np.ones(runs)] * files, centre=[*middles])
        ends = np.array([tuple(interval) for interval in pooled.confidence_interval()])
        held = (ends[:, 0] <= 0.0) & (ends[:, 1] >= 0.0)
        width = np.median(ends[:, 1] - ends[:, 0]) / 3.92 / math.sqrt(refits)
        between = values.var(axis=0, ddof=1)
        total = between - 1.0 + 1.0 / files
        freedom = np.where(total > 0.0, np.maximum((files - 1) * (total / between) ** 2, 2.0), files - 1.0)
        plain = np.abs(middles.mean(axis=0)) <= stdtrit(freedom, 0.975) * np.sqrt(np.where(total > 0.0, total, 1.0))
        marked = np.mean([estimate.flagged for estimate in pooled])
        print(
            f"{files:5d} {refits:4.0f} {bias:5.2f} {again * bias:9.2f}     {held.mean():.3f} ({width:.2f})   "
            f"{plain.mean():.3f}   {marked:.2f}"
        )


def main() -> None:
    """Print what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--rows", type=int, help="rows of a file; as many as records by default")
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--relation", default="replace-one")
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--held-out", action="store_true", help="the population is the file of tests alone")
    parser.add_argument("--every", action="store_true", help="all eight settings")
    parser.add_argument("--nine", action="store_true", help="nine columns")
    parser.add_argument("--seed", type=int, default=SEED, help="of all random numbers")
    parser.add_argument("--keep", type=Path, help="a file of JSON lines: keeps each run, and gives those kept before")
    parser.add_argument("--steps", action="store_true", help="where the slope of education is lost, without files")
    parser.add_argument("--rule", action="store_true", help="the pooling rule alone")
    options = parser.parse_args()
    if options.rule:
        rule(20_000)
        leaning(4_000)
        return
    both = adult("adult.data", "adult.test")
    categories = {name: sorted({row[place] for row in both}) for place, name in enumerate(COLUMNS)}
    population = people(adult("adult.test") if options.held_out else both, categories)
    if not options.nine:
        places = [list(COLUMNS).index(name) for name in FIVE]
        kept = {name: categories[name] for name in FIVE}
        population = replace(population, levels=population.levels[:, places], categories=kept)
    settings = product((5000, 48_842), (1.0, 3.0), ("replace-one", "add-remove")) if options.every else None
    for n, epsilon, relation in settings or [(options.n, options.epsilon, options.relation)]:
        options.n, options.epsilon, options.relation = n, epsilon, relation
        (steps if options.steps else run)(population, options)


if __name__ == "__main__":
    main()
