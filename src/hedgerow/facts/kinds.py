"""The statistics that a facts file can name, found in ``statistics/``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

REGRESSIONS = ("ols", "logit")
"""What facts can allow besides: no statistic of a release, but a release of its own."""


def kinds() -> dict[str, Any]:
    """Return the entry of each statistic by its name (`hedgerow.statistics.entry`).

    The files of the statistics import the grids of this folder, so they are found by name, when they are needed.

    >>> "mean" in kinds()
    True
    """
    entries: dict[str, Any] = import_module("hedgerow.statistics.registry").entries()
    return entries
