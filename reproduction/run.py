"""Run the exhibits of one paper, print paper, ours and verdict of each, and write one page of them all."""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .exhibit import Exhibit
from .page import write_page
from .source import data_file

__all__ = ["Reproduction", "run"]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One paper: its folder (with ``page.html.j2``), the data files it needs, its exhibits in their order.

    Each exhibit is called with ``share=``, the share of the full number of runs.
    """

    folder: Path
    needed: tuple[str, ...]
    exhibits: tuple[Callable[..., Exhibit], ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The needed files that the folder of data does not hold."""
        return tuple(name for name in self.needed if not data_file(name).is_file())


def run(reproduction: Reproduction, arguments: Sequence[str] | None = None) -> None:
    """Run, print, write; exit 1 where a verdict is `differs` or `not as expected`, 2 where data are not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the full number of runs")
    parser.add_argument("--out", type=Path, default=reproduction.folder / "out")
    asked = parser.parse_args(arguments)
    if reproduction.missing:
        print("Not found: " + ", ".join(reproduction.missing) + ". Set HEDGEROW_DATA to the folder that holds them.")
        sys.exit(2)
    start, exhibits = time.monotonic(), []
    for make in reproduction.exhibits:
        exhibits.append(make(share=asked.share))
        _print(exhibits[-1])
    seconds = time.monotonic() - start
    page = write_page(exhibits, asked.out, template=reproduction.folder, share=asked.share)
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
