"""The public statement of a release under bootstrap differential privacy. It is not a DP certificate.

ε-bootstrap differential privacy for D (O'Keefe & Charest, 2018, Definition 5) is the inequality of differential privacy
for those neighbours alone whose rows are rows of D. Its noise is as wide as D makes it, so the width must not be
published; hence the price cannot be computed again from a record, and nothing here lets anyone try.

Nothing in a statement depends on the data: it is written before they are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from hedgerow.errors import VerificationError
from hedgerow.facts.budget import Budget

GUARANTEE = "bootstrap-dp"
Option = Literal["whole-table", "per-cell", "public-membership", "numbers"]
NUMBERS: Option = "numbers"

UNPROTECTED = (
    "This is NOT differential privacy.",
    "Nothing is promised to anyone who has no row in D, or none like a row of D: people who join later among them.",
    "Whoever holds an extreme value is protected only among the values of D: the noise is as wide as D's extremes make "
    "it, so whoever learns how wide it is learns about them.",
    "How wide it is can be estimated from the table itself, the better the more cells have totals that are known or "
    "close to 0, and from repeated releases.",
    "What all rows of D share is not protected at all, for instance that no row lies in an empty cell; nor are groups "
    "of rows beyond their number times epsilon.",
    "Releases from another D, a corrected or updated one, do not add up with this one: what changed is unprotected.",
)
"""Whom the promise leaves out, said with every output."""


@dataclass(frozen=True, slots=True)
class BootstrapNoise:
    """What ran, as far as it is public: two-sided geometric noise on a public grid, its scale confidential.

    Attributes
    ----------
    epsilon : float
        The price: it adds up for the same D (O'Keefe & Charest, Result 7).
    statistic : str
        ``"count"`` or ``"sum"`` of a table; of a release what its numbers are, in words.
    option : {"whole-table", "per-cell", "public-membership", "numbers"}
        How the noise is spread over the cells of a table; chosen by name or from public facts. ``"numbers"``: of a
        release, each of whose numbers has noise and a part of the price of its own.
    cells : int
        How many numbers.
    grid : str
        The public step on which results lie, as a fraction; of a release one for each number, with commas.
    public_columns : tuple of str
        Columns of which everybody's category is taken as public: the promise is for rows that agree on them.
    part : tuple of str or None
        (column, category) where D is one part of a partition by a public column; parts cost what the dearest one costs
        (Result 8, under this assumption).
    """

    epsilon: float
    statistic: str
    option: Option
    cells: int
    grid: str
    public_columns: tuple[str, ...] = ()
    part: tuple[str, str] | None = None
    type: Literal["bootstrap-geometric"] = "bootstrap-geometric"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data, the type first."""
        return {
            "type": self.type,
            "epsilon": self.epsilon,
            "statistic": self.statistic,
            "option": self.option,
            "cells": self.cells,
            "grid": self.grid,
            "public_columns": list(self.public_columns),
            "part": None if self.part is None else list(self.part),
        }

    @classmethod
    def from_dict(cls, record: object) -> BootstrapNoise:
        """Read it back (HG502 if it is not a statement)."""
        if not isinstance(record, Mapping) or set(record) != {field.name for field in fields(cls)}:
            raise _unreadable()
        try:
            part = record["part"]
            noise = cls(
                Budget(record["epsilon"], 0.0).epsilon,
                record["statistic"],
                record["option"],
                record["cells"],
                record["grid"],
                tuple(record["public_columns"]),
                None if part is None else (part[0], part[1]),
                record["type"],
            )
        except (ValueError, TypeError, IndexError, KeyError):
            raise _unreadable() from None
        texts = (noise.grid, *noise.public_columns, *(noise.part or ()))
        fits = (
            noise.type == "bootstrap-geometric"
            and (noise.statistic in ("count", "sum") or (noise.option == NUMBERS and isinstance(noise.statistic, str)))
            and noise.option in get_args(Option)
            and type(noise.cells) is int
            and all(isinstance(text, str) for text in texts)
            and (noise.part is None or noise.part[0] in noise.public_columns)
        )
        if not fits or json.dumps(noise.to_dict(), sort_keys=True) != json.dumps(dict(record), sort_keys=True):
            raise _unreadable()
        return noise


@dataclass(frozen=True, slots=True)
class BootstrapStatement:
    """ε-bootstrap differential privacy for D, stated; it can be believed or not, but not computed again without D.

    Attributes
    ----------
    mechanism : BootstrapNoise
    unit : str
    assumptions, unprotected : tuple of str
        What it rests on, and whom it leaves out.
    versions : mapping
        What drew it.

    Examples
    --------
    >>> noise = BootstrapNoise(1.0, "sum", "whole-table", 9, "1")
    >>> statement = BootstrapStatement(noise, "row", (), UNPROTECTED, {"hedgerow": "0"})
    >>> statement.to_dict()["differential_privacy"], statement.relation
    (False, 'rows of D')
    """

    mechanism: BootstrapNoise
    unit: str
    assumptions: tuple[str, ...]
    unprotected: tuple[str, ...]
    versions: Mapping[str, str]
    guarantee: ClassVar[str] = GUARANTEE

    @property
    def epsilon(self) -> float:
        """The stated ε."""
        return self.mechanism.epsilon

    @property
    def relation(self) -> str:
        """Between which data sets it holds: ``"rows of D"``, and where columns are public, that agree on them."""
        public = self.mechanism.public_columns
        return "rows of D" if not public else "rows of D that agree on " + ", ".join(public)

    def __repr__(self) -> str:
        return f"BootstrapStatement(epsilon={self.epsilon:.6g}, {self.relation!r}; not differential privacy)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "guarantee": self.guarantee,
            "differential_privacy": False,
            "epsilon": self.epsilon,
            "relation": self.relation,
            "unit": self.unit,
            "mechanism": self.mechanism.to_dict(),
            "assumptions": list(self.assumptions),
            "unprotected": list(self.unprotected),
            "versions": dict(self.versions),
        }

    def attack(self) -> str:
        """Return nothing: bootstrap-dp does not bound what an attacker gains who may think of rows outside the data."""
        return ""

    def to_json(self) -> str:
        """Return JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, record: object) -> BootstrapStatement:
        """Read a statement back; one that claims more than a statement may is refused (HG502)."""
        if not isinstance(record, Mapping):
            raise _unreadable()
        try:
            statement = cls(
                BootstrapNoise.from_dict(record["mechanism"]),
                record["unit"],
                tuple(record["assumptions"]),
                tuple(record["unprotected"]),
                dict(record["versions"]),
            )
        except (KeyError, TypeError, ValueError):
            raise _unreadable() from None
        texts = (statement.unit, *statement.assumptions, *statement.unprotected)
        # What it is not is said first, in every version.
        fits = all(isinstance(text, str) for text in texts) and statement.unprotected[:1] == UNPROTECTED[:1]
        if not fits or json.dumps(statement.to_dict(), sort_keys=True) != json.dumps(dict(record), sort_keys=True):
            raise _unreadable()
        return statement


def _unreadable() -> VerificationError:
    return VerificationError(
        "HG502",
        rule="A statement of bootstrap differential privacy is a JSON record with exactly the fields of the format.",
        finding="This record has other fields than a statement, or says that it is differential privacy.",
        remedy="Use the file that the release wrote.",
    )
