"""Coverage of the 95 % intervals of table cells by simulation: counts and totals, large cells and small ones.

Run: python -m benchmarks.coverage_of_tables [--runs N]

The simulations are those of the tests (`tests/statistical/simulations/tables.py`). The last columns are the least
coverage of any cell, and that of the smallest cells together.
"""

import argparse

import numpy as np
from tests.statistical.simulations.tables import settings, simulate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print(f"{'setting':<52}{'all':>8}{'least':>8}{'small':>8}{'width':>10}")
    found = []
    for place, setting in enumerate(settings()):
        found.append(simulate(setting, runs, np.random.default_rng([20261120, place])))
        one = found[-1]
        print(f"{setting!s:<52}{one.overall:>8.4f}{one.least:>8.4f}{one.small:>8.4f}{one.width:>10.1f}", flush=True)
    print(
        f"least coverage of any cell in {len(found)} settings: {min(one.least for one in found):.4f} ({runs} runs each)"
    )


if __name__ == "__main__":
    main()
