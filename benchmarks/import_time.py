"""CPU seconds of a new process: importing hedgerow, its help, and one price; and which modules take the time.

    python benchmarks/import_time.py [--modules]

Aims: `import hedgerow` 0.3 s, `hedgerow price` 0.5 s. The least of several runs is compared with the aim: the others
had to share the machine. About half of a price is NumPy and SciPy, which any price needs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter

PRICE = ["-m", "hedgerow", "price", "--mechanism", "gaussian", "--relation", "replace-one", "--epsilon", "1"]
RUNS = {
    "python alone": (["-c", "pass"], None),
    "import numpy": (["-c", "import numpy"], None),
    "import scipy.special": (["-c", "import scipy.special"], None),
    "import hedgerow": (["-c", "import hedgerow"], 0.3),
    "hedgerow --help": (["-m", "hedgerow", "--help"], None),
    "hedgerow price": (PRICE, 0.5),
}


def cpu_seconds(arguments: list[str]) -> float:
    """Return user and system time of one process."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
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
    for name, (arguments, aim) in RUNS.items():
        least = min(cpu_seconds(arguments) for _ in range(7))
        late |= aim is not None and least > aim
        print(f"{name:22s} {least:.2f} s" + ("" if aim is None else f"   aim {aim} s"))
    if "--modules" in sys.argv:
        for name, micro in seconds_by_package().most_common(12):
            print(f"  {micro / 1e6:6.3f} s  {name}")
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
