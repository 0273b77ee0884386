"""CPU seconds of a new process: importing hedgerow, its help, a price, a plan and a release; which modules take them.

    python benchmarks/import_time.py [--modules]

The file has 2,000 records. User and system time of the whole process, the median and the least of seven runs after one
that writes bytecode, as an installed package has it; the median is compared with the aim.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ASKED = ["rows.csv", "--relation", "replace-one", "--mean", "age:0:100"]
RELEASE = ["-m", "hedgerow", "release", *ASKED, "--epsilon", "1"]
PRICE = ["-m", "hedgerow", "price", "--mechanism", "gaussian", "--relation", "replace-one", "--epsilon", "1"]
RUNS = {
    "python alone": (["-c", "pass"], None),
    "import numpy": (["-c", "import numpy"], None),
    "import scipy.special": (["-c", "import scipy.special"], None),
    "import hedgerow": (["-c", "import hedgerow"], 0.3),
    "hedgerow --help": (["-m", "hedgerow", "--help"], None),
    "hedgerow price": (PRICE, 0.5),
    "hedgerow plan": (["-m", "hedgerow", "plan", *ASKED, "--epsilon", "1"], 0.8),
    "hedgerow release": (RELEASE, 0.8),
    "  of a count": (
        ["-m", "hedgerow", "release", "rows.csv", "--relation", "add-remove", "--count", "--rho", "0.1"],
        0.8,
    ),
    "  with a ledger": ([*RELEASE, "--ledger", "ledger.db"], 0.8),
    "  with --out": ([*RELEASE, "--out", "results", "--force"], 0.8),
}
LEDGER = [
    "ledger",
    "create",
    "ledger.db",
    "--dataset",
    "rows",
    "--relation",
    "replace-one",
    "--epsilon",
    "100",
    "--delta",
    "1e-3",
]


def cpu_seconds(arguments: list[str], folder: str) -> float:
    """Return user and system time of one process, which keeps its bytecode."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, cwd=folder, env=kept)
    after = os.times()
    return max(0.0, sum(after[2:4]) - sum(before[2:4]))


def seconds_by_package() -> Counter[str]:
    """Return the seconds that a price spends importing each top-level package, itself timed: larger than unobserved."""
    done = subprocess.run([sys.executable, "-X", "importtime", *PRICE], check=True, capture_output=True, text=True)
    found: Counter[str] = Counter()
    for own, name in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)", done.stderr):
        found[name.partition(".")[0]] += int(own)
    return found


def main() -> int:
    late = False
    with tempfile.TemporaryDirectory() as folder:
        rows = "\n".join(str(18 + place * 7 % 73) for place in range(2000))
        Path(folder, "rows.csv").write_text(f"age\n{rows}\n", encoding="utf-8")
        cpu_seconds(["-m", "hedgerow", *LEDGER], folder)
        for name, (arguments, aim) in RUNS.items():
            _, *found = [cpu_seconds(arguments, folder) for _ in range(8)]
            middle = statistics.median(found)
            late |= aim is not None and middle > aim
            print(f"{name:22s} {middle:.2f} s, least {min(found):.2f}" + ("" if aim is None else f"   aim {aim} s"))
    if "--modules" in sys.argv:
        for name, micro in seconds_by_package().most_common(12):
            print(f"  {micro / 1e6:6.3f} s  {name}")
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
