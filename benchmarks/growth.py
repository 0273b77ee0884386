"""How the time of a release grows: with records, groups, statistics, joint columns, and features of a regression.

    python -m benchmarks.growth [--turns 3] [--only WORD] [--write]

Each point is the least CPU time of some calls in this process, after one that is not counted; a call reads the data,
chooses and prices its noise, and returns every estimate, error and interval. The slope is that of log(seconds) over
log(size) by least squares from the middle of a curve on: 1 is proportional, 2 is quadratic. `--write` draws the picture
of docs/project/benchmarks.md anew, and writes the numbers beside the picture.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow
from benchmarks.ratios import PAGE, complete, price, seconds

import hedgerow as hg

STEP = {"bounds": (0, 100), "step": 1}
RECORDS = 10_000
CURVES: dict[str, tuple[int, ...]] = {
    "records": (10**3, 10**4, 10**5, 10**6, 10**7),
    "groups": (10, 100, 1_000, 10_000, 100_000),
    "statistics": (1, 3, 10, 30),
    "columns of a joint vector": (2, 5, 10, 20, 30),
    "features of a regression": (2, 5, 10, 30, 60),
}


def table(columns: int, groups: int = 1, records: int = RECORDS) -> pyarrow.Table:
    """Return whole numbers from 0 to 100 in so many columns, and a group of each record."""
    rng = np.random.default_rng(3)
    drawn = {f"v{place}": rng.integers(0, 101, records).astype(np.float64) for place in range(columns)}
    return pyarrow.table(drawn | {"group": rng.integers(0, groups, records)})


def calls(curve: str, size: int) -> Callable[[], None]:
    """Return the release that a point of a curve stands for."""
    if curve == "records":
        return _released(table(1, records=size), [hg.mean("v0", **STEP)])
    if curve == "groups":
        return _released(table(1, size), [hg.mean("v0", **STEP)], by={"group": list(range(size))})
    if curve == "statistics":
        return _released(table(size), [hg.mean(f"v{place}", **STEP) for place in range(size)])
    if curve == "columns of a joint vector":
        pairs = [(f"v{place}", f"v{place + 1}") for place in range(size - 1)]
        asked = [hg.covariance(*pair, bounds={name: (0, 100) for name in pair}) for pair in pairs]
        return _released(table(size), asked)
    survey = hg.open(table(size + 1), relation="replace-one")
    names = [f"v{place}" for place in range(1, size + 1)]
    bounds = {name: (0, 100) for name in ("v0", *names)}
    return lambda: _fitted(survey, names, bounds)


def _released(rows: pyarrow.Table, statistics: list[Any], **options: Any) -> Callable[[], None]:
    survey = hg.open(rows, relation="replace-one")
    return lambda: complete(survey.release(statistics, **options, **price()))


def _fitted(survey: hg.Survey, features: list[str], bounds: dict[str, tuple[int, int]]) -> None:
    survey.ols(f"v0 ~ {' + '.join(features)}", bounds=bounds, **price()).to_columns()


def measured(turns: int, only: str) -> Iterator[tuple[str, list[tuple[int, float]]]]:
    """Yield each curve with its (size, seconds)."""
    for curve, sizes in CURVES.items():
        if only in curve:
            points = []
            for size in sizes:
                run = calls(curve, size)
                points.append((size, min(seconds(run) for _ in range(turns + 1))))
            yield curve, points


def slope(points: list[tuple[int, float]]) -> float:
    """Return the slope of log(seconds) over log(size), from the middle of the curve on."""
    sizes, times = np.log(np.array(points[len(points) // 2 :])).T
    return float(np.polyfit(sizes, times, 1)[0])


def draw(curves: list[tuple[str, list[tuple[int, float]]]]) -> None:
    """Draw all curves, each named at its end with its slope."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for name, points in curves:
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3.5, label=f"{name}: slope {slope(points):.2f}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("how many")
    axes.set_ylabel("CPU seconds of a release")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=1, frameon=False, fontsize=8.5)
    figure.savefig(PAGE.with_name("growth.svg"), metadata={"Date": None}, facecolor="white")


def main() -> None:
    parser = argparse.ArgumentParser(description="How the time of a release grows.")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="", help="curves whose name has this word")
    parser.add_argument("--write", action="store_true", help="draw the picture anew, and write its numbers")
    chosen = parser.parse_args()
    curves = []
    for name, points in measured(chosen.turns, chosen.only):
        curves.append((name, points))
        told = ", ".join(f"{size:,}: {time:.3g} s" for size, time in points)
        print(f"{name}: {told}; slope {slope(points):.2f}", flush=True)
    if chosen.write:
        draw(curves)
        with PAGE.with_name("growth.csv").open("w", newline="", encoding="utf-8") as file:
            rows = [(name, *point, slope(points)) for name, points in curves for point in points]
            csv.writer(file).writerows([("curve", "size", "seconds", "slope"), *rows])


if __name__ == "__main__":
    main()
