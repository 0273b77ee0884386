"""What intervals are to reach: at least 94 % coverage, and at most 1.10 times the width of one that knows the truth."""

from __future__ import annotations

import math

__all__ = ["COVERAGE", "WIDTH", "least_coverage"]

COVERAGE, WIDTH = 0.94, 1.10


def least_coverage(runs: int) -> float:
    """Return the least share of so many runs that is no evidence of less than `COVERAGE`: two standard errors below."""
    return COVERAGE - 2.0 * math.sqrt(COVERAGE * (1.0 - COVERAGE) / runs)
