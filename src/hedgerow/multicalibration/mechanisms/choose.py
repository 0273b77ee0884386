"""From the word for a mechanism to the mechanism, with its default parameters; an object passes as it is."""

from __future__ import annotations

from importlib import import_module

from hedgerow.errors import ParameterError
from hedgerow.facts.given import kind_of
from hedgerow.multicalibration.mechanisms.mechanism import CalibrationMechanism

# Loaded on use: the mechanisms import what they need, and a fit needs one of them.
MECHANISMS = {
    "table": "hedgerow.multicalibration.mechanisms.table:Table",
    "rounds": "hedgerow.multicalibration.mechanisms.rounds:Rounds",
    "numeric_sparse": "hedgerow.multicalibration.mechanisms.numeric_sparse:NumericSparse",
    "input_perturbation": "hedgerow.multicalibration.mechanisms.input_perturbation:InputPerturbation",
    "none": "hedgerow.multicalibration.mechanisms.none:NoPrivacy",
}


def mechanism_named(mechanism: object) -> CalibrationMechanism:
    """Return the mechanism of that name, or the object itself where it is one.

    Raises
    ------
    ParameterError
        HG167: neither.

    Examples
    --------
    >>> mechanism_named("table").name
    'table'
    """
    if isinstance(mechanism, str) and mechanism in MECHANISMS:
        module, name = MECHANISMS[mechanism].split(":")
        made: CalibrationMechanism = getattr(import_module(module), name)()
        return made
    if not isinstance(mechanism, (str, type)) and all(hasattr(mechanism, part) for part in ("name", "describe", "run")):
        return mechanism  # type: ignore[return-value]  # the three parts of the protocol were looked for
    raise ParameterError(
        "HG167",
        rule="`mechanism` is one of " + ", ".join(f'"{name}"' for name in MECHANISMS) + ".",
        finding=f"Found {mechanism!r}." if isinstance(mechanism, str) else f"Found {kind_of(mechanism)}.",
        remedy='The default is "table"; with parameters of its own it is an object, Table(bins=20).',
        shell="The default is table.",
    )
