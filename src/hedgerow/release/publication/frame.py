"""Converts columns to polars, pandas or pyarrow, whichever the caller has; all of them are optional."""

from __future__ import annotations

import importlib
from typing import Any

from hedgerow.errors import ParameterError

BACKENDS = {"polars": "DataFrame", "pandas": "DataFrame", "pyarrow": "table"}


def build_frame(columns: dict[str, list[Any]], backend: str | None) -> Any:
    """Return the columns as a frame of `backend`, or of the first library that is installed.

    Raises
    ------
    ParameterError
        HG208: the library is not known or not installed.
    """
    for name in (backend,) if backend is not None else BACKENDS:
        if name not in BACKENDS:
            raise _no_frame(f"Found backend {name!r}.")
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        # Categories of one column may differ in type between groups; frames want one type a column.
        return getattr(library, BACKENDS[name])({key: _of_one_type(column) for key, column in columns.items()})
    raise _no_frame("None of them is installed." if backend is None else f"{backend} is not installed.")


def _of_one_type(column: list[Any]) -> list[Any]:
    kinds = {type(value) for value in column if value is not None}
    if kinds <= {int, float} or len(kinds) <= 1:
        return column
    return [None if value is None else str(value) for value in column]


def _no_frame(finding: str) -> ParameterError:
    return ParameterError(
        "HG208",
        rule="A data frame needs polars, pandas or pyarrow.",
        finding=finding,
        remedy="Install one of them, or use .to_dict(), which needs none.",
    )
