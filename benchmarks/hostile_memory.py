"""Peak memory of `hedgerow release` on hostile files, each in a process of its own.

Run ``python benchmarks/hostile_memory.py`` (about half a minute; ``--only NAME`` for one file). Target: 512 MB at most,
whatever the file. The peak is that of the whole process, libraries included: ``VmHWM`` of Linux (``ru_maxrss`` counts
what the parent held when it began).

``answer`` is what the file is met with: a refusal, or "released". The files are made anew in a temporary folder
of some 300 MB.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TARGET = 512.0
ROW = b"41,1\n"
# Its own process, so that the peak is of one file; told on standard error, after whatever the release said.
PROGRAM = """
import sys
from hedgerow.cli.main import main
try:
    main()
finally:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print("PEAK", peak / 2**10, file=sys.stderr)
"""


def a_million_columns(path: Path) -> None:
    path.write_text(",".join(f"c{place}" for place in range(10**6)) + "\n" + "1," * 10**6 + "\n")


def ten_thousand_columns(path: Path) -> None:
    header = ",".join(["age", "sex", *(f"c{place}" for place in range(9_998))])
    path.write_text(header + "\n" + ("41" + ",1" * 9_999 + "\n") * 200)


def a_long_field(path: Path) -> None:
    path.write_bytes(b"age,sex\n" + b"9" * 20 * 2**20 + b",1\n" + ROW * 1000)


def a_long_field_beside(path: Path) -> None:
    path.write_bytes(b"age,sex\n41," + b"x" * 20 * 2**20 + b"\n" + ROW * 1000)


def a_long_header(path: Path) -> None:
    path.write_bytes(b"a" * 20 * 2**20 + b"\n" + ROW)


def no_line_end(path: Path) -> None:
    path.write_bytes(b"age,sex\n" + b"9" * 100 * 2**20)


def a_bomb(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b"age,sex\n")
        for _ in range(64):
            file.write(b"\0" * 2**20 * 4)


def an_open_quote(path: Path) -> None:
    path.write_bytes(b'age,sex\n41,1\n"' + ROW * (20 * 2**20 // len(ROW)))


def open_quotes(path: Path) -> None:
    path.write_bytes(b"age,sex\n" + b'"41,1\n' * 10**6)


def a_million_rows(path: Path) -> None:
    path.write_bytes(b"age,sex\n" + b"".join(b"%d,%d\n" % (place % 97, place % 2) for place in range(10**6)))


def a_million_ragged_rows(path: Path) -> None:
    path.write_bytes(b"age,sex\n" + b"41\n41,1,1,1,1\n" * 500_000)


def a_million_broken_rows(path: Path) -> None:
    path.write_bytes(b"age,sex\n" + b"\xff\xfe,\xe9\n" * 10**6)


FILES: dict[str, Callable[[Path], None]] = {
    "10⁶ columns": a_million_columns,
    "10⁴ columns": ten_thousand_columns,
    "20 MB field": a_long_field,
    "20 MB field, not asked for": a_long_field_beside,
    "20 MB header": a_long_header,
    "100 MB line": no_line_end,
    "gzip bomb, 256 MB": a_bomb,
    "unterminated quote, 20 MB": an_open_quote,
    "10⁶ unterminated quotes": open_quotes,
    "10⁶ rows": a_million_rows,
    "10⁶ ragged rows": a_million_ragged_rows,
    "10⁶ rows of no UTF-8": a_million_broken_rows,
}


def peak_of(path: Path) -> tuple[float, str, float]:
    """Release from a file; return the peak in MB, what was answered, and the seconds."""
    asked = ["--relation", "add-remove", "--mean", "age:0:100:1", "--by", "sex=0,1", "--epsilon", "1", "--json"]
    began = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, "release", str(path), *asked], capture_output=True, text=True, check=False
    )
    said, _, peak = ran.stderr.rpartition("PEAK")
    return float(peak), said.partition(":")[0] or "released", time.perf_counter() - began


def main() -> int:
    """Print the peak of each file; exit with 1 where one is above the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=FILES)
    only = parser.parse_args().only
    above = False
    print(f"{'file':28} {'on disk':>8} {'peak':>7} {'time':>6}  answer")
    for name, make in FILES.items():
        if only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "people.csv"
                make(path)
                peak, answer, seconds = peak_of(path)
                size = path.stat().st_size / 2**20
            above |= peak > TARGET
            print(f"{name:28} {size:5.0f} MB {peak:4.0f} MB {seconds:4.1f} s  {answer}", flush=True)
    print(f"target: {TARGET:.0f} MB each, {'MISSED' if above else 'met'}")
    return int(above)


if __name__ == "__main__":
    raise SystemExit(main())
