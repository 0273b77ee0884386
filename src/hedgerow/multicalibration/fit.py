"""One fit from its price to its model: describe → certify → reserve → read → run → record.

Everything up to the reservation sees public facts alone. Records are read by a function that is called afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.engines.source import Source
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget, warn_about_delta
from hedgerow.facts.columns import Category, Grid, Scalar
from hedgerow.facts.declared import Facts, protection_of
from hedgerow.facts.given import whole
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.mechanism import Composition, Single, as_record
from hedgerow.multicalibration.groups.columns import Column
from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.groups.groups import Categories, Predicate
from hedgerow.multicalibration.mechanisms.mechanism import CalibrationMechanism, Fitted, Setting, mechanism_named
from hedgerow.multicalibration.model.model import BaseOrigin, Model
from hedgerow.multicalibration.model.model_file import family_record, model_from_text, model_text
from hedgerow.multicalibration.model.records import STEPS, Records
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.spend import Account, run_unpriced, spend
from hedgerow.user_code import silence

PREFIX = "multicalibrate:"


def next_fit(ledger: str | Path, n_fits: int, request_id: str | None = None) -> str:
    """Return the id of the next fit in this ledger: its number, or the caller's own word for it.

    A word that is in the ledger already is returned as it is: the ledger answers the same request from its record.

    Raises
    ------
    ParameterError
        HG165: `n_fits` is no whole number from 1.
    UncertifiedError
        HG423: as many fits as were declared are in the ledger; nothing was spent.
    """
    most = whole(n_fits)
    if most is None or most < 1:
        raise ParameterError(
            "HG165", rule="`n_fits` is the number of fits to pay for, from 1.", finding=f"Found {n_fits!r}."
        )
    with Ledger.open(ledger) as kept:
        fits = {entry.request_id for entry in kept.entries() if entry.request_id.startswith(PREFIX)}
    if request_id is not None and PREFIX + request_id in fits:
        return PREFIX + request_id
    done = len(fits)
    if done >= most:
        raise UncertifiedError(
            "HG423",
            rule="In a ledger a model is fitted as often as was declared: each fit on the same records is paid for.",
            finding=f"{done} of {n_fits} declared fits are in it. Cross-validation and grid searches refit clones.",
            remedy="Choose parameters from public facts or on public data; or declare n_fits, each at its full price.",
        )
    return f"{PREFIX}{done + 1 if request_id is None else request_id}"


_REFITS = "This is the price of one fit: nothing adds up several on the same records, which a ledger would."
_PREDICATES = "Predicates of groups keep nothing of one record for another: each is shown one record at a time."


@dataclass(frozen=True, slots=True)
class Price:
    """What will run, for one model, and the certificate of all of them; None and None without privacy."""

    described: Single | Composition | None
    certificate: Certificate | None


@dataclass(frozen=True, slots=True)
class FitResult:
    """The model, the head of the ledger after the fit (None without one), and whether it was read from its record.

    `unrecorded` says that the ledger holds the price alone, since the model could not be written there (HG606).
    """

    model: Model
    head: str | None
    replayed: bool
    unrecorded: bool = False


def price_of_fit(
    mechanism: CalibrationMechanism,
    setting: Setting,
    budget: Budget,
    *,
    base: BaseOrigin,
    in_ledger: bool,
    notes: Sequence[str] = (),
) -> Price:
    """Price a fit from public facts: no record is read. `notes` stand on the certificate beside its own assumptions.

    Raises
    ------
    UncertifiedError
        As the mechanism's ``describe``.
    """
    described = mechanism.describe(setting, budget)
    if described is None:
        return Price(None, None)
    parts = described.parts if isinstance(described, Composition) else (described,)
    whole = described if setting.models == 1 else Composition(parts * setting.models)
    told = [base.value]
    if any(isinstance(attribute, Predicate) for attribute in setting.family.attributes):
        told.append(_PREDICATES)
    if not in_ledger:
        told.append(_REFITS)
    told.extend(notes)
    return Price(described, certify(whole, setting.relation, unit="row", delta=budget.delta, assumptions=told))


def fit_model(
    read: Callable[[], Sequence[Records]],
    *,
    mechanism: CalibrationMechanism,
    setting: Setting,
    budget: Budget,
    classes: Sequence[Scalar],
    score: Column | None = None,
    base: BaseOrigin = BaseOrigin.GIVEN,
    ledger: str | Path | None = None,
    n_fits: int = 1,
    request_id: str | None = None,
    total: Budget | None = None,
    notes: Sequence[str] = (),
) -> FitResult:
    """Fit a model: the price is reserved, and only then `read` is called.

    Parameters
    ----------
    read : callable
        Returns the records of each model: one for two classes, else one a class.
    mechanism, setting, budget
        What to run, on which public facts, at which price for everything together.
    classes : sequence
        The labels.
    score : str or int, optional
        The column in which scores stand, kept in the model.
    base : BaseOrigin
        Where the base model comes from, as the certificate says it.
    ledger : path, optional
        Where the price is reserved.
    n_fits : int
        How many fits may be in that ledger in all.
    request_id : str, optional
        With a ledger: the same request under the same id is answered with the recorded model, at no further price.
    total : Budget, optional
        All that may ever be spent: a fit that alone costs more is refused (HG706).
    notes : sequence of str
        What else stands on the certificate.

    Raises
    ------
    UncertifiedError, BudgetExceeded, LedgerError
        Nothing was read or spent.
    SpentError
        HG601: the price counts as spent.

    Warns
    -----
    HedgerowWarning
        HG606: the model could not be kept in the ledger; it is returned all the same.
    """
    price = price_of_fit(mechanism, setting, budget, base=base, in_ledger=ledger is not None, notes=notes)

    def run() -> Model:
        noise = SecureNoise()
        with nullcontext() if price.certificate is None else silence():
            fitted = [mechanism.run(setting, price.described, records, noise) for records in read()]
        return model_of(fitted, mechanism.name, setting, classes, price.certificate, score)

    if price.certificate is None:
        _no_ledger_for(mechanism, ledger)
        return FitResult(run_unpriced(Account(total, None), run), None, False)
    warn_about_delta(budget.delta, setting.n, frames=3)
    named = None if ledger is None else next_fit(ledger, n_fits, request_id)
    spent = spend(
        Account(total, ledger, named),
        price.certificate,
        # A word that no other fit has: the number of a fit alone would let two at one moment pass for the same.
        {
            **_request(price, setting, mechanism, classes, uuid4().hex if request_id is None else request_id),
            **({"base": base.name} if base in (BaseOrigin.APART, BaseOrigin.UNPROTECTED) else {}),
        },
        run=run,
        write=model_text,
        read=model_from_text,
    )
    # A record holds predicates by name alone; here they are at hand.
    return FitResult(replace(spent.value, family=setting.family), spent.head, spent.replayed, spent.unrecorded)


def model_of(
    fitted: Sequence[Fitted],
    mechanism: str,
    setting: Setting,
    classes: Sequence[Scalar],
    certificate: Certificate | None,
    score: Column | None = None,
) -> Model:
    """Return the model of several runs."""
    return Model(
        setting.family,
        tuple(classes),
        tuple(one.calibration for one in fitted),
        setting.n_buckets,
        mechanism,
        tuple(one.before for one in fitted),
        tuple(one.after for one in fitted),
        certificate,
        score,
        setting.n,
    )


def _request(
    price: Price, setting: Setting, mechanism: CalibrationMechanism, classes: Sequence[Scalar], word: str
) -> dict[str, Any]:
    """Return what is asked for, all of it public."""
    return {
        "multicalibrate": mechanism.name,
        "runs": None if price.described is None else as_record(price.described),
        "models": setting.models,
        "relation": str(setting.relation),
        "n": setting.n,
        "groups": family_record(setting.family),
        "n_buckets": setting.n_buckets,
        "classes": list(classes),
        "fit": word,
    }


def _no_ledger_for(mechanism: CalibrationMechanism, ledger: str | Path | None) -> None:
    if ledger is not None:
        raise ParameterError(
            "HG167",
            rule="What is on record in a ledger has a price.",
            finding=f"mechanism={mechanism.name!r} has none: it reads the records as they are.",
            remedy='Choose a private mechanism, for example "table", or fit without a ledger.',
        )


@dataclass(frozen=True, slots=True)
class ScoredColumns:
    """Which columns hold what: the label with its two values, the second of which is counted as 1, and the score."""

    label: str
    score: str
    classes: tuple[Scalar, Scalar] = (0, 1)

    def query(self, family: Family) -> Query:
        """Return the question: groups and label as cells, "other" included for groups; the score as grid index."""
        grouped = []
        for attribute in family.attributes:
            if not isinstance(attribute, Categories) or not isinstance(attribute.column, str):
                raise ParameterError(
                    "HG165",
                    rule="Groups of a file are columns with declared values.",
                    finding="Found cut points, masks or a predicate.",
                    remedy="Write the group into a column of the file first.",
                )
            grouped.append(Category.declared(attribute.column, attribute.values, other=True))
        label = Category.declared(self.label, self.classes)
        return Query(
            ValueOnGrid(self.score, Grid.from_bounds(self.score, (0, 1), Fraction(1, STEPS))), (*grouped, label)
        )


def records_from(source: Source, family: Family, columns: ScoredColumns) -> Records:
    """Return the records of a source, folded by its engine. PRIVATE.

    >>> import pyarrow
    >>> from hedgerow.engines.source import open_source
    >>> table = pyarrow.table({"p": [0.25, 0.25, 0.5], "y": [1, 1, 0], "sex": ["f", "f", "m"]})
    >>> family = Family((Categories("sex", ("f",)),), depth=1)
    >>> found = records_from(open_source(table), family, ScoredColumns("y", "p"))
    >>> found.score.tolist(), found.label.tolist(), found.count.tolist(), found.patterns[found.pattern].tolist()
    ([250000, 500000], [1, 0], [2, 1], [[0], [1]])
    """
    histogram = source.histogram(columns.query(family))
    atom, label = np.divmod(histogram.cell, 2)
    atoms, pattern = np.unique(atom, return_inverse=True)
    digits = np.unravel_index(atoms, family.levels) if family.levels else ()
    patterns = np.stack(digits, axis=1) if digits else np.zeros((len(atoms), 0), dtype=np.int64)
    if histogram.index.max(initial=0) > STEPS:
        raise ValueError("score grid")
    return Records(family, patterns.astype(np.int64), pattern, histogram.index, label, histogram.count)


def fit_from_source(
    source: Source,
    columns: ScoredColumns,
    family: Family,
    *,
    relation: Relation | str | None,
    epsilon: float,
    delta: float | None = None,
    mechanism: object = "table",
    n_buckets: int = 10,
    alpha: float = 0.1,
    ledger: str | Path | None = None,
    n_fits: int = 1,
    request_id: str | None = None,
    total: Budget | None = None,
    notes: Sequence[str] = (),
) -> FitResult:
    """Fit a model from precomputed scores in a source; the price is reserved before a value is read.

    Guarantee   that of the mechanism, for the relation; the certificate is ``result.model.certificate``. The base model
    is not covered. Arguments as `Multicalibrator` and `fit_model`.

    Raises
    ------
    ParameterError, DataError, UncertifiedError, BudgetExceeded, LedgerError
        Nothing was spent: the columns and their kinds are checked against the schema first.
    SpentError
        The price counts as spent.
    """
    chosen, whom = mechanism_named(mechanism), parse_relation(relation)
    budget = Budget(epsilon, chosen.default_delta if delta is None else delta)
    source.check(columns.query(family))
    n = source.count_rows() if whom is Relation.REPLACE_ONE else None
    return fit_model(
        lambda: [records_from(source, family, columns)],
        mechanism=chosen,
        setting=Setting(family, whom, n, n_buckets, alpha),
        budget=budget,
        classes=columns.classes,
        score=columns.score,
        ledger=ledger,
        n_fits=n_fits,
        request_id=request_id,
        total=total,
        notes=notes,
    )


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
    >>> from hedgerow.multicalibration.mechanisms.mechanism import mechanism_named
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
    facts.allow(mechanism.releases)
    unsourced = tuple(
        f"categories of column {column}: no source given" for column in read if facts.column(column).source is None
    )
    kept = facts.ledger_path if ledger is None else ledger
    return Governed(told.relation, kept, facts.budget, (*unsourced, *told.notes))
