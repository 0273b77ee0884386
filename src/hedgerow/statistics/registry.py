"""All statistics, by the files of this folder: what facts may name, and what the command line can ask for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

from hedgerow import statistics
from hedgerow.statistics.entry import StatisticEntry
from hedgerow.statistics.statistic import Statistic


@cache
def _modules() -> tuple[ModuleType, ...]:
    listed = walk_packages(statistics.__path__, f"{statistics.__name__}.")
    return tuple(import_module(module.name) for module in listed)


@cache
def entries() -> dict[str, StatisticEntry]:
    """Return the entry of each statistic by its name, in the order of lists.

    >>> list(entries())[:4]
    ['mean', 'sum', 'proportion', 'count']
    """
    listed = [
        part
        for module in _modules()
        for part in vars(module).values()
        if isinstance(part, StatisticEntry) and part.ask.__module__ == module.__name__
    ]
    return {entry.kind: entry for entry in sorted(listed, key=lambda entry: (entry.place, entry.kind))}


def statistic_from_record(given: Mapping[str, Any]) -> Statistic:
    """Return the statistic of a record; one with a function of the user's own comes without the function.

    Raises
    ------
    KeyError, TypeError, ValueError, ParameterError
        It is no such record.

    Examples
    --------
    >>> from hedgerow.statistics.mean import mean
    >>> age = mean("age", bounds=(0, 100), step=1)
    >>> statistic_from_record(age.record()) == age
    True
    """
    return classes()[given["statistic"]].from_record(given)


@cache
def classes() -> dict[str, type[Statistic]]:
    """Return the class of each kind, from the file that defines it."""
    return {
        part.kind: part
        for module in _modules()
        for part in vars(module).values()
        if isinstance(part, type) and issubclass(part, Statistic) and part.__module__ == module.__name__
        if "kind" in vars(part)
    }
