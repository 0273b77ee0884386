"""All tables of up to three of five columns of Adult, by `Survey.margins` and by AIM of OpenDP, at the same price.

Run: HEDGEROW_DATA=folder python -m benchmarks.margins_beside_aim [--peer PYTHON] [--rounds 80] [--runs 5]

The price is that of ε = 1 at δ = 1e-6 under add-remove: AIM gets the same ρ. A line of each shows the root mean squared
error about the file of the tables of one, of two and of three columns, that of all tables alike, and the seconds of the
process's own time: ours as drawn, non-negative and whole, the mean of some runs; AIM's (McKenna, Mullins, Sheldon &
Miklau, VLDB 2022) in one run with its defaults, or with fewer rounds.

AIM runs in the Python that ``--peer`` names, in which ``pip install "opendp[mbi]"`` was done, since that needs older
versions of other packages. Without it AIM is left out, and a line says so.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from benchmarks.margins import COLUMNS, SEED, People, adult, people, released
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.facts.relation import Relation

Floats = NDArray[np.float64]
FIVE = ("education", "marital", "race", "sex", "income")
_PEER = """
import json, sys, time
try:
    import mbi, polars
    import opendp.prelude as dp
except ImportError as missing:
    sys.exit(f"missing: {missing.name}")
dp.enable_features("contrib")
asked = json.load(sys.stdin)
data = polars.DataFrame(asked["columns"]).lazy()
context = dp.Context.compositor(
    data=data, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=asked["rho"]), split_evenly_over=1
)
start = time.process_time()
query = context.query().select(*asked["columns"])
table = query.contingency_table(keys=asked["categories"], algorithm=dp.mbi.AIM(rounds=asked["rounds"])).release()
seconds, tables = time.process_time() - start, []
for names in asked["tables"]:
    # A last category of each column is that of the values that were not listed.
    listed = tuple(slice(0, len(asked["categories"][name])) for name in names)
    tables.append(table.project(tuple(names))[listed].reshape(-1).tolist())
json.dump({"seconds": seconds, "tables": tables}, sys.stdout)
"""


def line(name: str, exact: Mapping[tuple[int, ...], Floats], shown: Sequence[Mapping[tuple[int, ...], Floats]]) -> str:
    """Return the errors of some runs by the number of columns, and of all tables alike."""
    errors = {
        table: float(np.mean([((run[table] - counts) ** 2).mean() for run in shown])) for table, counts in exact.items()
    }
    orders = sorted({len(table) for table in exact})
    by_order = (np.mean([error for table, error in errors.items() if len(table) == order]) for order in orders)
    all_alike = math.sqrt(float(np.mean([*errors.values()])))
    return f"{name:<22}" + " ".join(f"{math.sqrt(float(error)):8.2f}" for error in by_order) + f"   all {all_alike:.2f}"


def ours(five: People, exact: Mapping[tuple[int, ...], Floats], runs: int) -> float:
    """Print the errors of margins, and return the ρ of their price."""
    survey = hg.open(five.table(np.arange(len(five.levels))), relation="add-remove")
    plan = survey.plan_margins(
        by=five.categories, order=3, weights="equal", missing="error-if-declared-complete", epsilon=1.0
    )
    start, drawn = time.process_time(), list(released(plan, iter(range(SEED, SEED + runs))))
    read = time.process_time()
    positive = [margins.nonnegative() for margins in drawn]
    fitted = time.process_time()
    whole = [margins.rounded() for margins in positive]
    end = time.process_time()
    for name, each, seconds in (
        ("margins, as drawn", drawn, read - start),
        ("margins, non-negative", positive, fitted - start),
        ("margins, whole", whole, end - start),
    ):
        shown = [{table: margins.cells(table).published for table in exact} for margins in each]
        print(f"{line(name, exact, shown)}   {seconds / runs:.2f} s")
    return plan.mechanism.mu(Relation.ADD_REMOVE) ** 2 / 2.0


def aim(five: People, exact: Mapping[tuple[int, ...], Floats], rho: float, options: argparse.Namespace) -> None:
    """Print the errors of AIM, or that it is left out."""
    table, names = five.table(np.arange(len(five.levels))), list(five.categories)
    asked: dict[str, Any] = {
        "columns": {name: table[name].to_pylist() for name in names},
        "categories": five.categories,
        "rho": rho,
        "rounds": options.rounds,
        "tables": [[names[place] for place in places] for places in exact],
    }
    command = [options.peer, "-c", _PEER]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        why = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"it ended with {done.returncode}"
        print(f'AIM is LEFT OUT: {why}. Name by --peer a Python with pip install "opendp[mbi]".')
        return
    answer = json.loads(done.stdout)
    shown = {table: np.array(numbers) for table, numbers in zip(exact, answer["tables"], strict=True)}
    rounds = "" if options.rounds is None else f", {options.rounds} rounds"
    print(f"{line('AIM' + rounds, exact, [shown])}   {answer['seconds']:.0f} s")


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", default=sys.executable, help="a Python that has opendp[mbi]")
    parser.add_argument("--rounds", type=int, help="rounds of AIM; by default 16 a column")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    rows = adult("adult.data", "adult.test")
    nine = people(rows, {name: sorted({row[place] for row in rows}) for place, name in enumerate(COLUMNS)})
    places = [list(COLUMNS).index(name) for name in FIVE]
    five = People(nine.levels[:, places], {name: nine.categories[name] for name in FIVE})
    every = np.arange(len(five.levels))
    tables = [table for order in (1, 2, 3) for table in combinations(range(len(FIVE)), order)]
    exact = {table: five.counts(table, every) for table in tables}
    aim(five, exact, ours(five, exact, options.runs), options)


if __name__ == "__main__":
    main()
