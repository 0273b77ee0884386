"""The public data files of the reproductions: where each is, where it is had, and what it is recognised by.

None of them is part of this repository. A file is looked for in the folder that ``HEDGEROW_DATA`` names, or else in
``reproduction/data``, where a reader puts a copy.
"""

from __future__ import annotations

import hashlib
import os
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["FILES", "DataNotFoundError", "PublicFile", "data_file", "data_folder"]


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A public file: what it holds, who publishes it, the SHA-256 of the copy used here, and what to type to have it.

    `typed` holds shell commands for the folder of data; a file that must be derived says in `derived` how.
    """

    name: str
    holds: str
    publisher: str
    sha256: str
    typed: tuple[str, ...] = ()
    derived: str = ""

    def how_to_get(self) -> str:
        """Return where the file is had, in lines to be printed."""
        lines = [f"{self.name}: {self.holds}", f"published by {self.publisher}", f"SHA-256 {self.sha256}"]
        lines += textwrap.wrap(self.derived, 100)
        lines += [f"$ {command}" for command in self.typed]
        return "\n    ".join(lines)


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"
_ADULT = "UCI Machine Learning Repository, Adult (CC BY 4.0), " + _UCI
_PSI = "https://github.com/privacytoolsproject/PSI-Library/raw/547d787a76f711bb5fc055ed3665c373a93a89fd/data"
FILES = {
    file.name: file
    for file in (
        PublicFile(
            "PUMS5extract10000.csv",
            "10,000 records of the California PUMS 5 % sample, with age and income",
            "the Privacy Tools Project, PSI-Library (Honaker 2015), as data/PUMS5extract10000.RData",
            "3f2142ed4a623d0f7dec6789b478a303e6054c60fc6729b9c66c77992e443604",
            (
                f"curl -LO {_PSI}/PUMS5extract10000.RData",
                'Rscript -e \'write.csv(get(load("PUMS5extract10000.RData")), "PUMS5extract10000.csv")\'',
            ),
            "The file is R's; a table written from it by another program has another SHA-256 and serves as well.",
        ),
        PublicFile(
            "RiceFarms.csv",
            "1,026 records of Indonesian rice farms",
            "the R package plm, in the Rdatasets collection (Vincent Arel-Bundock)",
            "c5b33303b1214ac3e42094c6d0266d44f0761be5627366252b64ee32876be829",
            ("curl -LO https://vincentarelbundock.github.io/Rdatasets/csv/plm/RiceFarms.csv",),
        ),
        PublicFile(
            "adult.data",
            "32,561 records of the census of 1994, for training",
            _ADULT,
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            (f"curl -LO {_UCI}/adult.data",),
        ),
        PublicFile(
            "adult.test",
            "16,281 records of the census of 1994, for testing",
            _ADULT,
            "1d0b72a0d02e41fb80bdbb00b5bc80571a01c7e56df6435df2af5be0e4cb768c",
            (f"curl -LO {_UCI}/adult.test",),
            "Copies differ in blank lines, and so in SHA-256; records are what is read.",
        ),
        PublicFile(
            "wang_cheng_awan_intervals.csv",
            "coverage and width of published 90 % private intervals for a mean (Wang, Cheng & Awan, arXiv 2210.06140)",
            "nobody in this form; its source is the GitHub repository Zhanyu-Wang/Differentially_Private_Bootstrap",
            "fc8dc32da32942e11b25a1e363dc1f5b806bb441cdbcdda2da46bfd22de85a71",
            derived="Derived by hand from that repository's result files (folder results, Apache-2.0), one line for "
            "each file and method. Columns read here: experiment, N, mu, B, method, coverage, and ratio_to_oracle, the "
            "mean width over 2·1.6449·√(Var/N + 1/(N·mu)²), Var that of N(.5, 1) clamped to [0, 1]. Without it "
            "the exhibit “coverage” shows our own figures alone.",
        ),
    )
}


class DataNotFoundError(FileNotFoundError):
    """A public file is not in the folder of data; `filename` is its name."""

    def __init__(self, name: str) -> None:
        super().__init__(2, "not in the folder of data", name)


def data_folder() -> Path:
    """Return the folder that ``HEDGEROW_DATA`` names, else ``reproduction/data``."""
    return Path(os.environ.get("HEDGEROW_DATA") or Path(__file__).parent / "data")


def data_file(name: str) -> Path:
    """Return the path of a public file.

    Raises
    ------
    DataNotFoundError
        It is not there.
    """
    path = data_folder() / name
    if not path.is_file():
        raise DataNotFoundError(name)
    return path


@cache
def is_the_copy_used(path: Path) -> bool:
    """Return whether a file is, byte by byte, the one that the figures here were made with."""
    return hashlib.sha256(path.read_bytes()).hexdigest() == FILES[path.name].sha256
