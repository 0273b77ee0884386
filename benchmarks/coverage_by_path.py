"""Coverage of the 95 % intervals of small cells, by every path on which a table gives them.

Run: python -m benchmarks.coverage_by_path [--runs N] [--kind KIND]

The simulations are those of the tests (`tests/statistical/simulations/small_cells.py`). Each figure is the coverage
over all cells of a path, and that of the least one with its standard error.
"""

import argparse

from tests.statistical.simulations.small_cells import KINDS, Small, coverage


def settings(kind: str | None = None) -> list[Small]:
    found = [Small(name, relation, e) for name in KINDS for relation in ("replace-one", "add-remove") for e in (1, 16)]
    only = {"public membership": "replace-one", "count of n": "replace-one"}
    return [one for one in found if kind in (None, one.kind) and only.get(one.kind, one.relation) == one.relation]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--kind", choices=KINDS)
    given = parser.parse_args()
    goal = 0.94 - 2.0 * (0.94 * 0.06 / given.runs) ** 0.5
    print(f"{given.runs} runs each; the goal for each cell is .94 less two standard errors: {goal:.4f}")
    print(f"{'table':<44}{'path':<36}{'all':>7}{'least':>8}{'s.e.':>7}  cells, then totals")
    for place, setting in enumerate(settings(given.kind)):
        for path, found in coverage(setting, given.runs, 20261122 + place).items():
            share = found / given.runs
            least = float(share.min())
            spread = (max(least * (1.0 - least), 1e-9) / given.runs) ** 0.5
            each = " ".join(f"{one:.3f}" for one in share) if path in ("CSV", "totals, CSV") else ""
            low = "  LOW" if least < goal else ""
            print(f"{setting!s:<44}{path:<36}{share.mean():>7.4f}{least:>8.4f}{spread:>7.4f}  {each}{low}", flush=True)


if __name__ == "__main__":
    main()
