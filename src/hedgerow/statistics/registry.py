"""All statistics, by the files of this folder: what facts may name, and what the command line can ask for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from hedgerow import statistics
from hedgerow.statistics.entry import Entry


@cache
def entries() -> dict[str, Entry]:
    """Return the entry of each statistic by its name, in the order of lists.

    >>> list(entries())[:4]
    ['mean', 'sum', 'proportion', 'count']
    """
    found = walk_packages(statistics.__path__, f"{statistics.__name__}.")
    modules = (import_module(one.name) for one in found)
    listed = [module.ENTRY for module in modules if hasattr(module, "ENTRY")]
    return {one.kind: one for one in sorted(listed, key=lambda one: (one.place, one.kind))}
