"""Whom a survey protects and what its intervals are about: from the call, else from the facts."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.facts.declared import Facts
from hedgerow.facts.relation import Relation, Target, parse_relation, parse_target, parse_unit
from hedgerow.facts.unit import UnitLimit


@dataclass(frozen=True, slots=True)
class Told:
    """Relation, unit and target in force, and in sentences which of the facts the call overrides."""

    relation: Relation
    unit: str | UnitLimit
    target: Target
    notes: tuple[str, ...]


def told_facts(facts: Facts | None, *, relation: object = None, unit: object = None, target: object = None) -> Told:
    """Return what is in force: an argument where it was given, else the fact, else the default.

    Raises
    ------
    ParameterError
        HG103 no relation from anywhere, HG115 if unit or target is invalid.
    UncertifiedError
        HG402: a unit of too many rows.

    Examples
    --------
    >>> told_facts(Facts(relation="add-remove"), target="file").notes
    ('target: file in this call, not population as in the facts',)
    """
    declared = Facts() if facts is None else facts
    told = {
        "relation": (relation, declared.relation),
        "unit": (unit, declared.unit),
        "target": (target, declared.target),
    }
    chosen = {name: fact if given is None else given for name, (given, fact) in told.items()}
    parsed = parse_relation(chosen["relation"]), parse_unit(chosen["unit"]), parse_target(chosen["target"])
    notes = tuple(
        f"{name}: {given} in this call, not {fact} as in the facts"
        for name, (given, fact) in told.items()
        if facts is not None and given is not None and fact is not None and given != fact
    )
    return Told(*parsed, notes)
