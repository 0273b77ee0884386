"""What every output of a table says beside its numbers: its guarantee by name, n, what was declared, what was left out.

All of it is public: it follows from what was asked and from the facts, not from the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.release.designs.design import MIDPOINT

if TYPE_CHECKING:
    from hedgerow.tables.protected import ProtectedTable

AS_DRAWN = (
    "Numbers stand as they were drawn: noise was added and nothing was cut, so counts may be negative and totals lie "
    "outside what is possible. They are unbiased and add up."
)
AS_READ = (
    "Numbers outside what is possible were moved to the nearest possible one, so small cells, and totals over them, "
    "are too large on average."
)
_NO_VALUE = "Records without a value of {} add nothing."
_UNITS = "At most {} of each {} are used, drawn at random where there are more; rows without {} are left out."


def named_guarantee(table: ProtectedTable) -> str:
    """Return the guarantee as a word in a column, or below a picture: never a name that promises more than was kept."""
    if table.simulated:
        return "simulated (NOT private)"
    return "dp" if table.guarantee == "dp" else f"{table.guarantee} (NOT differential privacy)"


def disclosures_of(table: ProtectedTable) -> tuple[str, ...]:
    """Return the sentences about n, missing values, units and what was taken as declared, from public facts."""
    return (*_size(table), *_rows_used(table.unit), *_missing(table), *_assumed(table))


def _size(table: ProtectedTable) -> tuple[str, ...]:
    if table.n is None:
        return ()
    whose = "records" if table.unit == "row" else f"units ({table.unit.partition(',')[0]})"
    return (f"The file has n = {table.n:,} {whose}: public under replace-one, exact.",)


def _rows_used(unit: str) -> tuple[str, ...]:
    column, separator, most = unit.rpartition(", at most ")
    return (_UNITS.format(most, column, column),) if separator else ()


def _missing(table: ProtectedTable) -> tuple[str, ...]:
    if table.column is None:
        return ()
    said = {"midpoint": MIDPOINT, "drop": _NO_VALUE.format(table.column)}
    return (said[table.missing],) if table.missing in said else ()


def _assumed(table: ProtectedTable) -> tuple[str, ...]:
    """Return what the price rests on beside proofs; a bootstrap-dp statement says it in the words of its remarks."""
    if table.guarantee == "dp":
        return tuple(f"The guarantee rests on this: {text}." for text in getattr(table.certificate, "assumptions", ()))
    if table.option == "public-membership":
        return ("Which cell every record belongs to is public, as declared: nothing is promised about it.",)
    return ()
