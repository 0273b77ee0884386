"""Run every exhibit, print exhibit, paper, ours and verdict, and write one page: ``make reproduce``."""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from . import (
    attack,
    coverage,
    figure_4,
    figure_6,
    figure_7a,
    figure_7b,
    figure_8,
    figure_9a,
    figure_9b,
    price,
    section_8,
)
from .exhibit import Exhibit
from .page import write_page
from .published import data_file

__all__ = ["EXHIBITS", "main"]

OUT = Path(__file__).parent / "out"
NEEDED = ("PUMS5extract10000.csv", "wang_cheng_awan_intervals.csv")
EXHIBITS: tuple[Callable[..., Exhibit], ...] = (
    figure_4.exhibit,
    figure_6.exhibit,
    figure_7a.exhibit,
    figure_7b.exhibit,
    figure_8.exhibit,
    figure_9a.exhibit,
    figure_9b.exhibit,
    section_8.exhibit,
    attack.exhibit,
    price.exhibit,
    coverage.exhibit,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write; exit 1 where a verdict is `differs` or `not as expected`, 2 where data are not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the full number of runs")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args(arguments)
    missing = [name for name in NEEDED if not data_file(name).is_file()]
    if missing:
        print("Not found: " + ", ".join(missing) + ". Set HEDGEROW_DATA to the folder that holds them.")
        sys.exit(2)
    start, exhibits = time.monotonic(), []
    for make in EXHIBITS:
        exhibits.append(make(share=asked.share))
        _print(exhibits[-1])
    seconds = time.monotonic() - start
    page = write_page(exhibits, asked.out, share=asked.share)
    verdicts = Counter(line.verdict for exhibit in exhibits for line in exhibit.lines)
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) + f"; {seconds:.0f} s")
    print(f"Page: {page}")
    sys.exit(1 if verdicts["differs"] or verdicts["not as expected"] else 0)


def _print(exhibit: Exhibit) -> None:
    print(f"\n{exhibit.title}")
    widths = (48, 28, 46)
    for line in exhibit.lines:
        cells = [textwrap.wrap(text, width) or [""] for text, width in zip(
            (line.what, line.paper, line.ours), widths, strict=True)]  # fmt: skip
        for row in range(max(map(len, cells))):
            shown = [cell[row] if row < len(cell) else "" for cell in cells]
            end = line.verdict if row == 0 else ""
            print("  " + "  ".join(f"{text:{width}}" for text, width in zip(shown, widths, strict=True)) + "  " + end)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
