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
from .source import FILES, DataNotFoundError, data_file, data_folder, is_the_copy_used

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
        return tuple(name for name in self.needed if not (data_folder() / name).is_file())


def run(reproduction: Reproduction, arguments: Sequence[str] | None = None) -> None:
    """Run what the data here allow, print, write; exit 1 where a verdict is `differs` or `not as expected`.

    An exhibit whose file is not here is left out by name, and it is said where the file is had.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the full number of runs")
    parser.add_argument("--out", type=Path, default=reproduction.folder / "out")
    asked = parser.parse_args(arguments)
    for name in reproduction.needed:
        if name not in reproduction.missing and not is_the_copy_used(data_file(name)):
            print(f"Note: {data_file(name)} is not the copy that these figures were made with (another SHA-256).")
    start, exhibits, left_out = time.monotonic(), [], []
    for make in reproduction.exhibits:
        try:
            exhibits.append(make(share=asked.share))
        except DataNotFoundError as absent:
            left_out.append(f"{make.__module__.rpartition('.')[2]} (needs {absent.filename})")
            continue
        _print(exhibits[-1])
    if reproduction.missing:
        _say_what_is_missing(reproduction, left_out)
    if not exhibits:
        return
    seconds = time.monotonic() - start
    page = write_page(exhibits, asked.out, template=reproduction.folder, share=asked.share)
    verdicts = Counter(line.verdict for exhibit in exhibits for line in exhibit.lines)
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) + f"; {seconds:.0f} s")
    print(f"Page: {page}")
    sys.exit(1 if verdicts["differs"] or verdicts["not as expected"] else 0)


def _say_what_is_missing(reproduction: Reproduction, left_out: Sequence[str]) -> None:
    if left_out:
        print("\nLeft out: " + "; ".join(left_out) + ".")
    print(f"\nNot in {data_folder()}, the folder of data (HEDGEROW_DATA names another); put there:")
    for name in reproduction.missing:
        print("\n  " + FILES[name].how_to_get())


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
