"""The registry of mechanisms of a test set: compared at one budget from public facts, and the best one chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.testset.mechanisms.look_mechanism import Conditions, LookMechanism, Options
from hedgerow.testset.mechanisms.noisy_sum import GaussianLook, LaplaceLook, SplitLook
from hedgerow.testset.mechanisms.resampled_looks import ResampleGaussianLook, ResampleLook, SmoothedResampleLook
from hedgerow.testset.mechanisms.thresholdout import ThresholdoutLook

_KINDS: dict[str, type[LookMechanism]] = {
    kind.name: kind
    for kind in (
        GaussianLook,
        LaplaceLook,
        SmoothedResampleLook,
        ResampleGaussianLook,
        SplitLook,
        ThresholdoutLook,
        ResampleLook,
    )
}
MECHANISMS = tuple(_KINDS)
NARROWEST = "narrowest"
"""The name of the choice by the narrowest interval for fitted models, which a plan of all looks makes."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A mechanism for test sets, with the error that it is expected to have at the given budget.

    Attributes
    ----------
    name : str
    standard_error : float or None
        The standard deviation of the noise of one score, for a score in the middle of its range, where the resampling
        error is largest. Under add-remove the error is in units of records, because n is private. The attribute
        `standard_error` is None if the mechanism cannot be used.
    times_best : float or None
        The ratio of `standard_error` to the smallest `standard_error` among the mechanisms that ``"auto"`` may choose.
    note : str
        The reason why the mechanism cannot be used, or the fact that must be declared first.
    """

    name: str
    standard_error: float | None
    times_best: float | None
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "mechanism": self.name,
            "standard_error": self.standard_error,
            "times_best": self.times_best,
            "note": self.note,
        }


def compare(conditions: Conditions, options: Options | None = None) -> tuple[Compared, ...]:
    """Return every mechanism with the error that it is expected to have, the best mechanism first. No data are read.

    Parameters
    ----------
    conditions : Conditions
        The public facts of the test set, on which the errors depend.
    options : Options, optional
        Options that apply to single mechanisms only.

    Returns
    -------
    tuple of Compared
        A tuple with one entry for each mechanism. Mechanisms that ``"auto"`` may choose come first, ordered by their
        errors.

    Raises
    ------
    HedgerowError
        The function raises no error: if a mechanism cannot be used, the attribute ``note`` of its entry states the
        reason.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> for row in compare(facts)[:3]:
    ...     print(row.name, round(row.standard_error, 4), round(row.times_best, 2))
    gaussian 0.006 1.0
    smoothed_resample 0.0063 1.05
    laplace 0.0084 1.4
    """
    tried = [(kind, *_error(kind, conditions, options or Options())) for kind in _KINDS.values()]
    best = min((error for kind, error, _ in tried if error is not None and not kind.by_name_only), default=None)
    tried.sort(key=lambda row: (bool(row[0].by_name_only), row[1] or math.inf))
    return tuple(
        Compared(
            kind.name,
            error,
            error / best if error is not None and best else None,
            "; ".join(part for part in (kind.by_name_only, note) if part),
        )
        for kind, error, note in tried
    )


def choose(name: str, conditions: Conditions, options: Options) -> LookMechanism:
    """Return the mechanism of a name, fitted to a ledger; for ``"auto"`` that of least expected error.

    Raises
    ------
    ParameterError
        HG172: no mechanism of this name.
    UncertifiedError
        HG401, HG403, HG431: it cannot be used under these conditions.
    """
    if name != "auto":
        return _fitted(kind_named(name), conditions, options)
    served = [
        row.name for row in compare(conditions, options) if row.standard_error and not _KINDS[row.name].by_name_only
    ]
    # If none can be used, the simplest mechanism says why.
    return _fitted(kind_named(served[0] if served else "gaussian"), conditions, options)


def mechanism_of(name: str, conditions: Conditions, described: AtomicMechanism, options: Options) -> LookMechanism:
    """Return the mechanism of a recorded description."""
    return kind_named(name).of(conditions, described, options)


def kind_named(name: str) -> type[LookMechanism]:
    """Return the class of the mechanism of a name (HG172)."""
    if name not in _KINDS:
        raise ParameterError(
            "HG172",
            rule=f"`mechanism` is auto, {NARROWEST}, " + ", ".join(MECHANISMS) + ".",
            finding=f"Found {format_argument(name)}.",
            remedy=f"auto takes the one of least expected error, {NARROWEST} that of the narrowest last interval.",
        )
    return _KINDS[name]


@lru_cache(maxsize=64)
def _fitted(
    kind: type[LookMechanism], conditions: Conditions, options: Options, *, checked: bool = True
) -> LookMechanism:
    # A function of public facts, which are the key: whoever opens a test set again pays for the search once.
    return kind.fitted(conditions, options, checked=checked)


def _error(kind: type[LookMechanism], conditions: Conditions, options: Options) -> tuple[float | None, str]:
    try:
        look = _fitted(kind, conditions, options, checked=False)
    except HedgerowError as refused:
        return None, f"{refused.code}: {refused.rule}"
    if conditions.n is not None:
        return look.expected_error(), look.note()
    return look.error_in_records(), "in records; n is private"
