"""What a facts file says about a fit: whom it protects, where the price is reserved, what may be released and spent.

An argument of the call overrides a fact, and the certificate says so; the allowance, the kinds of statistics and the
unit are the custodian's, and no argument overrides them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import Facts, protection_of
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration.mechanisms.mechanism import CalibrationMechanism

# What each mechanism releases: counts of records by group, score and label, or sums of label minus score as well.
_KINDS = {"rounds": ("count", "sum"), "numeric_sparse": ("count", "sum")}


@dataclass(frozen=True, slots=True)
class Governed:
    """What is in force for one fit.

    Attributes
    ----------
    relation : Relation
    ledger : path or None
        Where the price is reserved: as the call says, else as the facts do.
    total : Budget or None
        All that may ever be spent.
    notes : tuple of str
        For the certificate: facts without a source, and facts that the call overrides.
    """

    relation: Relation
    ledger: str | Path | None
    total: Budget | None
    notes: tuple[str, ...]


def governed(
    facts: Facts | None,
    mechanism: CalibrationMechanism,
    *,
    read: Sequence[str] = (),
    relation: object = None,
    ledger: str | Path | None = None,
) -> Governed:
    """Return what is in force; `read` names the columns whose values come from the facts.

    Raises
    ------
    ParameterError
        HG103: no relation from anywhere.
    UncertifiedError
        HG402: the facts protect a person with several rows.
    ForbiddenError
        HG704: the facts leave out what the mechanism releases.

    Examples
    --------
    >>> from hedgerow.multicalibration.mechanisms.choose import mechanism_named
    >>> governed(Facts(relation="add-remove", ledger="people.ledger"), mechanism_named("table")).ledger
    'people.ledger'
    """
    told = protection_of(facts, relation=relation)
    if told.unit != "row":
        raise UncertifiedError(
            "HG402",
            rule="A fit protects one row: units of several rows have no certified price here.",
            finding="The facts declare that a person may have several rows.",
            remedy="Bring the scores to one row per person first, with facts of their own.",
        )
    if facts is None:
        return Governed(told.relation, ledger, None, told.notes)
    facts.allow(_KINDS.get(mechanism.name, ("count",)))
    unsourced = tuple(
        f"categories of column {column}: no source given" for column in read if facts.column(column).source is None
    )
    kept = facts.ledger_path if ledger is None else ledger
    return Governed(told.relation, kept, facts.budget, (*unsourced, *told.notes))
