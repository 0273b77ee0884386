"""UCI Adult as the paper has it: rows with "?" dropped, one-hot columns and numeric ones, all standardised.

98 one-hot columns and 6 numeric ones make the paper's "104 parameters"; 30,162 rows to train on and 15,060 to test on.
Means and standard deviations are those of the training rows, columns those of the categories found there.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..source import data_file

__all__ = ["ADULT_FILES", "RACES", "SEXES", "Adult", "Part", "adult"]

ADULT_FILES = ("adult.data", "adult.test")
_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
_NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
SEXES = ("Female", "Male")


@dataclass(frozen=True, eq=False)
class Part:
    """Training or test rows.

    Attributes
    ----------
    features : float array, (n, 104)
        As they stand: one-hot columns of 0 and 1, then numeric ones.
    label : int array, (n,)
        1 where the income is over 50K.
    race, sex : int arrays, (n,)
        Places in `RACES` and `SEXES`.
    """

    features: NDArray[np.float64]
    label: NDArray[np.int64]
    race: NDArray[np.int64]
    sex: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.label)


@dataclass(frozen=True, eq=False)
class Adult:
    """Both parts, and the names of the columns: ``race=Black`` for a one-hot one."""

    train: Part
    test: Part
    names: tuple[str, ...]

    def standardisation(self, *, one_hot: bool = True) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the training means and sds of the columns; 0 and 1 for one-hot columns, where `one_hot` is false."""
        mean, sd = self.train.features.mean(axis=0), self.train.features.std(axis=0)
        kept = np.array([not one_hot and name not in _NUMERIC for name in self.names])
        return np.where(kept, 0.0, mean), np.where(kept, 1.0, sd)


@lru_cache(maxsize=1)
def adult() -> Adult:
    """Read both files."""
    rows = [list(_rows(name)) for name in ADULT_FILES]
    one_hot = [
        (column, value)
        for column in _COLUMNS[:-1]
        if column not in _NUMERIC
        for value in sorted({row[column] for row in rows[0]})
    ]
    names = (*(f"{column}={value}" for column, value in one_hot), *_NUMERIC)
    train, test = (_part(part, one_hot) for part in rows)
    return Adult(train, test, names)


def _rows(name: str) -> Iterator[dict[str, str]]:
    with data_file(name).open(newline="", encoding="utf-8") as file:
        for cells in csv.reader(file, skipinitialspace=True):
            # Not a comment line, a blank one, a header (copies differ) or a row with a missing value.
            if len(cells) == len(_COLUMNS) and cells[0] != _COLUMNS[0] and "?" not in cells:
                yield dict(zip(_COLUMNS, cells, strict=True))


def _part(rows: list[dict[str, str]], one_hot: list[tuple[str, str]]) -> Part:
    columns = {column: np.array([row[column] for row in rows]) for column in _COLUMNS}
    flags = [columns[column] == value for column, value in one_hot]
    numbers = [columns[column].astype(float) for column in _NUMERIC]
    return Part(
        np.column_stack([*flags, *numbers]).astype(float),
        np.array([income.startswith(">50K") for income in columns["income"]], dtype=np.int64),
        np.searchsorted(RACES, columns["race"]),
        np.searchsorted(SEXES, columns["sex"]),
    )
