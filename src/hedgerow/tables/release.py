"""Which guarantee a table is released under: chosen by name, and only by name."""

from __future__ import annotations

from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.facts.given import format_argument
from hedgerow.release.bootstrap_dp.reach import check_guarantee
from hedgerow.release.opened import OpenedSource
from hedgerow.statistics.statistic import Asked
from hedgerow.tables.bootstrap_dp.release import bootstrap_table
from hedgerow.tables.dp.release_table import protected_table
from hedgerow.tables.protected import ProtectedTable


def release_table(asked: Asked, opened: OpenedSource, *, guarantee: object = "dp", **options: Any) -> ProtectedTable:
    """Return the table released under the guarantee that was named.

    Raises
    ------
    ParameterError
        HG127 a `part` under dp; HG154: there is no guarantee of that name.
    HedgerowError
        As `protected_table`.
    """
    if guarantee == "dp":
        if options.pop("part", None) is not None:
            raise ParameterError(
                "HG127",
                rule="`part` of a larger table is for bootstrap-dp, where parts share one price.",
                finding="Found it under dp.",
                remedy="Leave `part` out: under dp the prices of parts add up in the ledger.",
            )
        return protected_table(asked, opened, **options)
    if options.get("cell_bounds") is not None and guarantee == "bootstrap-dp":
        raise ParameterError(
            "HG155",
            rule="Bounds by cell are for totals under dp: bootstrap-dp scales its noise to the data themselves.",
            finding=f"Found guarantee={format_argument(guarantee)}.",
            remedy="Leave `cell_bounds` out.",
        )
    options.pop("cell_bounds", None)
    return bootstrap_table(asked, opened, guarantee=check_guarantee(guarantee), **options)
