"""The people of the PUMS extract, for exhibits, benchmarks and the tests that need them."""

from __future__ import annotations

import csv
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .source import data_file

__all__ = ["EXTRACT", "pums"]

EXTRACT = "PUMS5extract10000.csv"


@cache
def pums() -> dict[str, NDArray[np.float64]]:
    """Return the columns of the extract by name, 10,000 people each.

    Raises
    ------
    DataNotFoundError
        The extract is not in the folder of data.
    """
    with data_file(EXTRACT).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name}
