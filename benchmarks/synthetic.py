"""Coverage of the intervals that an analyst pools from synthetic files.

``--rule`` simulates the pooling rule alone: estimates of m files whose law is normal, with the variance V of the refits
from U/4 to 5·U. It prints the coverage of 95 % intervals and their median width over 2·1.96·√V, by degrees of freedom.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import stdtrit

SEED = 20261125


def rule(runs: int) -> None:
    """Print the coverage of the rule by the number of files and by V/U, for three choices of the degrees of freedom."""
    rng = np.random.default_rng(SEED)
    print("files  V/U  T<=0   df of the rule, 2 at the least   df of the rule   m - 1")
    for files in (5, 10, 20, 50):
        for refits in (0.25, 0.5, 1.0, 2.0, 5.0):
            spread = refits + 1.0
            between = spread * rng.chisquare(files - 1, runs) / (files - 1)
            error = rng.normal(0.0, np.sqrt(refits), runs) + rng.normal(0.0, np.sqrt(spread / files), runs)
            part = 1.0 + 1.0 / files
            total = part * between - 1.0
            own = (files - 1) * (total / (part * between)) ** 2
            said = []
            for freedom in (np.maximum(own, 2.0), own, np.full(runs, files - 1.0)):
                used = np.where(total > 0.0, freedom, files - 1.0)
                half = stdtrit(used, 0.975) * np.sqrt(np.where(total > 0.0, total, 1.0))
                said.append(f"{(np.abs(error) <= half).mean():.3f} ({np.median(half) / 1.96 / np.sqrt(refits):.2f})")
            print(f"{files:5d} {refits:4.2f} {(total <= 0).mean():5.3f}   " + "   ".join(said))


def main() -> None:
    """Print what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rule", action="store_true", help="the pooling rule alone")
    parser.add_argument("--runs", type=int, default=20_000)
    options = parser.parse_args()
    rule(options.runs)


if __name__ == "__main__":
    main()
