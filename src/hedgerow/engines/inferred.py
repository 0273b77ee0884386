"""Types that another library inferred from values: told once, since one record may have decided them.

A plan, a dtype and a name are all that is looked at, never a value: what is said depends on how the source was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_LISTED = 5
# As polars and DuckDB call the steps of a plan that read texts, or objects of pandas, whose types they guess.
_POLARS = ("csv scan", "ndjson scan")
_DUCKDB = ("read_csv", "read_json", "sniff_csv", "pandas_scan")


def inferred_types(native: Any, columns: Sequence[str]) -> str:
    """Return what of a frame's types was inferred from its values, in public words; empty where nothing is known to be.

    >>> import pyarrow
    >>> inferred_types(pyarrow.table({"age": [18, 93]}), ["age"])
    ''
    """
    library = type(native).__module__.partition(".")[0].lstrip("_")
    if library == "pandas":
        loose = [name for name, dtype in zip(columns, native.dtypes, strict=True) if str(dtype) == "object"]
        named = ", ".join(repr(name) for name in loose[:_LISTED]) + (", …" if len(loose) > _LISTED else "")
        return f"pandas columns of dtype object hold anything and are taken for text: {named}" if loose else ""
    if library == "polars" and hasattr(native, "explain"):
        plan = native.explain(optimized=False).lower()
        return "polars infers the types of a scanned text file from some of its rows" if _among(_POLARS, plan) else ""
    if library == "duckdb" and hasattr(native, "explain"):
        plan = (native.sql_query() + native.explain()).lower()
        return "DuckDB infers the types of texts and of pandas objects from some rows" if _among(_DUCKDB, plan) else ""
    return ""


def _among(steps: tuple[str, ...], plan: str) -> bool:
    return any(step in plan for step in steps)
