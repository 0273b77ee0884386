"""A statistic that was asked for without bounds: they are taken from the facts when it is planned, or it is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hedgerow.facts.columns import Grid

NamedGrid = tuple[str, Grid]


@dataclass(frozen=True, slots=True, repr=False)
class Awaiting:
    """What was asked for, of which columns, and how to make it once their grids are known.

    Attributes
    ----------
    kind : str
        The kind of statistic, one of `declared.KINDS`.
    columns : tuple of str
        Whose bounds are awaited.
    step : number or None
        A step given with the call, in place of that of the facts.
    build : callable
        [(column, Grid), …], one a column in order → the statistic.
    steps : int or None
        Into how many parts a range is cut where neither call nor facts give a step; 1,024 where None.
    given : tuple of str
        What else the call was given by position, as Python writes it.
    """

    kind: str
    columns: tuple[str, ...]
    step: float | None
    build: Callable[[Sequence[NamedGrid]], Any] = field(compare=False)
    steps: int | None = None
    given: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Awaiting({self.kind} of {', '.join(self.columns)}, bounds from the facts)"
