"""Tables from joint moments beside what they were read from before: errors, widths and coverage of 95 % intervals.

Run: python -m benchmarks.tables_of_joint_moments [--runs 1000] [--earlier 150] [--epsilon 1 4]

Before, units of several rows had replicates of their totals, and a sum of rows was added up about zero. Six cells of 10
to 40 records or units with three rows each, and their totals, as `tests/statistical/simulations/small_cells.py` draws
them: values that are skewed, tied at 0, or rare. For each path a line shows, of cells and behind the bar of totals:

* ``rmse``: the root mean squared error of the numbers, ``s.e.`` the mean standard error over it.
* ``width``: the mean width of intervals; ``cover`` and ``least``: their coverage, and the least of one number.

The last column is the width of the new path over that of the earlier one.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from tests.statistical.simulations.small_cells import LAWS, Small

Floats = NDArray[np.float64]
SEED = 20261124


def read(setting: Small, runs: int) -> list[Floats]:
    """Return errors of the numbers, standard errors, widths, and whether each was covered; runs × numbers."""
    grid = setting.truth.reshape(2, 3)
    truth = np.concatenate([setting.truth, grid.sum(axis=1), grid.sum(axis=0), [grid.sum()]])
    found: list[list[Floats]] = [[], [], [], []]
    for table in setting.tables(runs, np.random.default_rng(SEED)):
        whole = table.with_margins()
        parts = [whole.cells, *whole.margins.values()]
        values, errors = (np.concatenate([getattr(p, name) for p in parts]) for name in ("values", "standard_error"))
        low, high = np.concatenate([part.interval(0.95) for part in parts], axis=1)
        covered = (low <= truth + 1e-9) & (truth <= high + 1e-9)
        for kept, numbers in zip(found, (values - truth, errors, high - low, covered), strict=True):
            kept.append(numbers)
    return [np.array(kept, dtype=float) for kept in found]


def line(numbers: list[Floats], here: slice) -> tuple[str, float]:
    """Return what is printed of cells, or of totals, and the mean width."""
    error, spread, width, covered = (one[:, here] for one in numbers)
    rmse = np.sqrt((error**2).mean(axis=0))
    each = covered.mean(axis=0)
    said = f"{rmse.mean():>8.1f}{(spread.mean(axis=0) / rmse).mean():>6.2f}{width.mean():>9.1f}"
    return f"{said}{each.mean():>7.3f}{each.min():>7.3f}", float(width.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--earlier", type=int, default=150)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 4.0])
    parser.add_argument("--noise", default="auto")
    given = parser.parse_args()
    head = f"{'rmse':>8}{'s.e.':>6}{'width':>9}{'cover':>7}{'least':>7}"
    print(f"{'table':<52}{head}  |{head}   width")
    kinds = [("units: count", "skewed"), *product(("units: sum", "sum"), LAWS)]
    for (kind, data), relation, epsilon in product(kinds, ("add-remove", "replace-one"), given.epsilon):
        now = Small(kind, relation, epsilon, given.noise, data)
        widths = []
        for setting, runs in ((replace(now, earlier=True), given.earlier), (now, given.runs)):
            numbers = read(setting, runs)
            (cells, wide), (totals, wider) = (line(numbers, here) for here in (slice(6), slice(6, None)))
            widths.append((wide, wider))
            ratios = [f"{new / old:.2f}" for old, new in zip(widths[0], widths[-1], strict=True)]
            name = f"{now}{', earlier' if setting.earlier else ''}"
            print(f"{name:<52}{cells}  |{totals}   {' '.join(ratios) if len(widths) > 1 else ''}", flush=True)


if __name__ == "__main__":
    main()
