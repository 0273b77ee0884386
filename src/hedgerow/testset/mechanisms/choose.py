"""Which mechanism: all of them side by side at one budget, from public facts, and the one of least expected error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.mechanisms.mechanism import GeometricCounts, MomentsGaussian, MomentsGeometric, Resample, Single
from hedgerow.testset.mechanisms.gaussian import GaussianLook
from hedgerow.testset.mechanisms.laplace import LaplaceLook
from hedgerow.testset.mechanisms.mechanism import Conditions, LookMechanism, Options
from hedgerow.testset.mechanisms.resample import ResampleLook
from hedgerow.testset.mechanisms.resample_gaussian import ResampleGaussianLook
from hedgerow.testset.mechanisms.smoothed_resample import SmoothedResampleLook
from hedgerow.testset.mechanisms.thresholdout import ThresholdoutLook

_KINDS: dict[str, Any] = {
    kind.name: kind
    for kind in (
        GaussianLook,
        LaplaceLook,
        SmoothedResampleLook,
        ResampleGaussianLook,
        ThresholdoutLook,
        ResampleLook,
    )
}
MECHANISMS = tuple(_KINDS)
_BY_NAME_ONLY = {
    "thresholdout": "by name only: it needs a training score; the error is that of a paid answer",
    "resample": "by name only: (0, δ), no ε",
}


@dataclass(frozen=True, slots=True)
class Compared:
    """One mechanism at the budget of all looks.

    Attributes
    ----------
    name : str
    standard_error : float or None
        The sd of one look about the test set's own score, at a score in the middle of its range, where resampling errs
        most; under add-remove in records instead, since n is private. None where the mechanism does not serve.
    times_best : float or None
        That, over the least that `auto` may take.
    note : str
        Why it does not serve, or what else must be known.
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
    """Return every mechanism with its expected error, the best first; reads no data.

    Parameters
    ----------
    conditions : Conditions
        The public facts.
    options : Options, optional
        Of single mechanisms.

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
    tried = [(name, *_error(name, conditions, options or Options())) for name in MECHANISMS]
    best = min((error for name, error, _ in tried if error is not None and name not in _BY_NAME_ONLY), default=None)
    rows = [
        Compared(name, error, error / best if error is not None and best else None, _note(name, note))
        for name, error, note in tried
    ]
    return tuple(sorted(rows, key=lambda row: (row.name in _BY_NAME_ONLY, row.standard_error or float("inf"))))


def choose(name: str, conditions: Conditions, options: Options) -> LookMechanism:
    """Return the mechanism of a name, fitted to a ledger; for ``"auto"`` that of least expected error.

    Raises
    ------
    ParameterError
        HG172: no mechanism of this name.
    UncertifiedError
        HG401, HG403, HG431: it does not serve under these conditions.
    """
    if name != "auto":
        return _fitted(name, conditions, options)
    served = [row for row in compare(conditions, options) if row.standard_error and row.name not in _BY_NAME_ONLY]
    if not served:
        # Nothing serves: let the plainest mechanism say why.
        served = [Compared("gaussian", None, None, "")]
    return _fitted(served[0].name, conditions, options)


def mechanism_of(name: str, conditions: Conditions, described: Single, options: Options) -> LookMechanism:
    """Return the mechanism of a recorded description."""
    look: LookMechanism = _kind(name).of(conditions, described, options)
    return look


def _fitted(name: str, conditions: Conditions, options: Options) -> LookMechanism:
    look: LookMechanism = _kind(name).fitted(conditions, options)
    return look


def _kind(name: str) -> Any:
    if name not in _KINDS:
        raise ParameterError(
            "HG172",
            rule="`mechanism` is auto, " + ", ".join(MECHANISMS) + ".",
            finding=f"Found {name!r}.",
            remedy="auto takes the one of least expected error.",
        )
    return _KINDS[name]


def _error(name: str, conditions: Conditions, options: Options) -> tuple[float | None, str]:
    try:
        look: LookMechanism = _KINDS[name].fitted(conditions, options, checked=False)
    except HedgerowError as refused:
        return None, f"{refused.code}: {refused.rule}"
    if conditions.n is not None:
        return look.expected_error(), _resample_price(look, conditions)
    return _in_records(look.described, conditions), "in records; n is private"


def _resample_price(look: LookMechanism, conditions: Conditions) -> str:
    if not isinstance(look, ResampleLook):
        return ""
    needed = Resample(look.described.n, look.described.draws * conditions.n_looks).chance
    return f"all looks cost δ = {needed:.4g}"


def _in_records(described: Single, conditions: Conditions) -> float | None:
    """Return the sd of n times the score's noise, in units of one record's range, at a score in the middle."""
    steps = conditions.grid.steps
    match described:
        case GeometricCounts():
            # Two counts, each with noise of its own, of which the middle takes half of each.
            return float(described.noise_sd / math.sqrt(2.0))
        case MomentsGaussian():
            return described.noise.total.in_units / (2.0 * steps)
        case MomentsGeometric():
            return float(math.sqrt(2.0) * described.noise.total.in_units / (2.0 * steps))
    return None


def _note(name: str, note: str) -> str:
    return "; ".join(part for part in (_BY_NAME_ONLY.get(name, ""), note) if part)
