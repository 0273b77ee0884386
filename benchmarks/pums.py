"""The people of the PUMS extract, for other benchmarks: ``PUMS5extract10000.csv`` in the folder HEDGEROW_DATA."""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["pums"]


@cache
def pums() -> dict[str, NDArray[np.float64]]:
    """Return the columns of the extract by name, 10,000 people each."""
    with (Path(os.environ["HEDGEROW_DATA"]) / "PUMS5extract10000.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name}
