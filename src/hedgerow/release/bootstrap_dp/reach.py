"""What bootstrap-dp is defined for, and is refused elsewhere before anything is read or spent."""

from __future__ import annotations

from collections.abc import Mapping

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.given import format_argument
from hedgerow.facts.relation import Relation
from hedgerow.release.opened import OpenedSource


def check_reach(opened: OpenedSource, noise: str, delta: object, where: object) -> None:
    """Refuse another relation, unit or law, a δ, a condition, and a budget of differential privacy (HG413)."""
    findings = {
        "another relation": opened.protection.relation is not Relation.REPLACE_ONE,
        "a unit of several rows": opened.protection.unit != "row",
        "Gaussian noise": noise == "gaussian",
        "averaged Laplace noise": noise == "averaged-laplace",
        "a condition on records": where is not None,
        "a delta": delta not in (None, 0, 0.0),
        "a source whose facts set a budget of differential privacy, and no ledger for bootstrap-dp": (
            opened.ledger is None and opened.facts is not None and opened.facts.budget is not None
        ),
    }
    found = [finding for finding, there in findings.items() if there]
    if found:
        raise UncertifiedError(
            "HG413",
            rule="bootstrap-dp is defined for replaced rows, unit row, pure epsilon and geometric noise, and is no "
            "part of a budget of differential privacy.",
            finding=f"The request has {found[0]}.",
            remedy='Leave it out, or release with guarantee="dp". Nothing was read or spent.',
        )


GUARANTEES: Mapping[str, str] = {
    "dp": "differential privacy",
    "bootstrap-dp": "bootstrap differential privacy, which is NOT differential privacy",
}


def check_guarantee(guarantee: object) -> str:
    """Return the name of a guarantee (HG154 where there is none of that name).

    >>> check_guarantee("dp")
    'dp'
    """
    if isinstance(guarantee, str) and guarantee in GUARANTEES:
        return guarantee
    raise ParameterError(
        "HG154",
        rule="`guarantee` must be one of " + ", ".join(f'"{name}"' for name in GUARANTEES) + ".",
        finding=f"Found {format_argument(guarantee)}.",
        remedy='"dp" is differential privacy; the other protects less, and says whom it does not.',
    )
