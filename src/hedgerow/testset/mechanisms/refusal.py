"""Refusals that several mechanisms share."""

from __future__ import annotations

from hedgerow.errors import UncertifiedError
from hedgerow.testset.mechanisms.conditions import Conditions


def replace_one_only(name: str, conditions: Conditions) -> int:
    """Return n, or refuse a mechanism whose size shows it (HG431)."""
    if conditions.n is not None:
        return conditions.n
    raise UncertifiedError(
        "HG431",
        rule=f"`{name}` is for replace-one: how much it draws shows how many records there are.",
        finding="Under add-remove their number is private.",
        remedy="Use mechanism='gaussian' or 'laplace'.",
    )
