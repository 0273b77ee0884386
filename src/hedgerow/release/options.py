"""The keywords of a release, its plan and a table, declared once: for type checkers, for help and for refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from hedgerow.facts.columns import Scalar

By = Mapping[str, Sequence[Scalar] | None] | Sequence[str]


class PlanOptions(TypedDict, total=False):
    """What `Survey.plan` takes beside the statistics; see `Survey.release`."""

    by: By | None
    epsilon: float | None
    delta: float | None
    method: str
    missing: str | None
    share: Sequence[float] | None
    other: bool | None
    n_resamples: int | None
    interval: str | None
    noise: str | None
    n_draws: int | None


class ReleaseOptions(PlanOptions, total=False):
    """What `Survey.release` takes beside the statistics."""

    request_id: str | None


class TableOptions(TypedDict, total=False):
    """What a table takes beside its groups and its guarantee; see `Survey.magnitude_table`."""

    epsilon: float | None
    delta: float | None
    method: str
    missing: str | None
    share: Sequence[float] | None
    other: bool | None
    n_resamples: int | None
    interval: str | None
    noise: str
    n_draws: int | None
    margins: bool
    cell_bounds: Any
    part: tuple[str, str] | None
    request_id: str | None
