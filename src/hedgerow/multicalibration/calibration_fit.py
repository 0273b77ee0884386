"""One fit from its price to its model: describe → certify → reserve → read → run → record.

Everything up to the reservation uses only public facts. Records are read by a function that is called afterwards.

The record of a calibrated model, written again from what was asked and from the released numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import uuid4

import numpy as np

from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.engines.source import ColumnSource, Source
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget, warn_about_budget
from hedgerow.facts.columns import Category, Grid, Scalar
from hedgerow.facts.declared import Facts, Protection, protection_of
from hedgerow.facts.relation import Relation, UnitLimit, parse_relation
from hedgerow.facts.validation import as_int, format_argument
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.mechanism import Composition, as_record, parts_of
from hedgerow.multicalibration.calibrated_model import STEPS, BaseOrigin, CalibratedModel, Records
from hedgerow.multicalibration.calibration_mechanism import (
    CalibrationMechanism,
    FittedCalibration,
    Setting,
    all_models,
    mechanism_class,
    mechanism_named,
)
from hedgerow.multicalibration.declared_groups import CategoryGroups, Predicate
from hedgerow.multicalibration.family import Column, Family
from hedgerow.multicalibration.model_file import family_of_record, family_record, model_from_text, model_text
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.record import Record, RecordKind, Rewritten, fields_of_mechanism
from hedgerow.release.spend import Account, Receivable, run_unpriced, spend
from hedgerow.user_code import silence

S = TypeVar("S")
PREFIX = "multicalibrate:"
NO_LEDGER = Account(total=None, ledger=None)
_REFITS = "This is the price of one fit: nothing adds up several on the same records, which a ledger would."
_PREDICATES = (
    "A predicate of a group gets one record at a time, or columns that allow only operations record by record, and "
    "keeps nothing of what it gets."
)


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """What is fitted and what is asserted about it: public facts, known before a record is read.

    Attributes
    ----------
    mechanism, setting, budget
        What runs, on which public facts, at which price for all models together.
    classes : sequence
        The labels.
    score : str or int, optional
        The column of scores, kept in the model.
    base : BaseOrigin
        Where the base model comes from, for the certificate.
    notes : sequence of str
        Further assumptions for the certificate.
    """

    mechanism: CalibrationMechanism[Any]
    setting: Setting
    budget: Budget
    classes: Sequence[Scalar]
    score: Column | None = None
    base: BaseOrigin = BaseOrigin.GIVEN
    notes: Sequence[str] = ()

    def certificate(self, described: AtomicMechanism | Composition, *, in_ledger: bool) -> Certificate:
        """Return the price of all models and what it assumes."""
        assumptions = [self.base.value]
        if any(isinstance(attribute, Predicate) for attribute in self.setting.family.attributes):
            assumptions.append(_PREDICATES)
        if not in_ledger:
            assumptions.append(_REFITS)
        return certify(
            all_models(described, self.setting.models),
            self.setting.relation,
            unit="row",
            delta=self.budget.delta,
            assumptions=[*assumptions, *self.notes],
        )

    def asked(self) -> dict[str, Any]:
        """Return what was asked for, as the model keeps it: with the released numbers, all of the model follows."""
        mechanism: Any = self.mechanism
        return {
            "groups": family_record(self.setting.family),
            "classes": list(self.classes),
            "score": self.score,
            "n": self.setting.n,
            "n_buckets": self.setting.n_buckets,
            "alpha": self.setting.alpha,
            "parameters": {
                field.name: getattr(mechanism, field.name)
                for field in fields(mechanism)
                if field.name not in mechanism.planned
            },
        }

    def request(self, described: AtomicMechanism | Composition, fit_id: str) -> dict[str, Any]:
        """Return what is asked for, all of it public; `fit_id` distinguishes this fit from any other."""
        own_base = self.base in (BaseOrigin.APART, BaseOrigin.UNPROTECTED)
        return {
            "multicalibrate": self.mechanism.name,
            "runs": as_record(described),
            "models": self.setting.models,
            "relation": str(self.setting.relation),
            "n": self.setting.n,
            "groups": family_record(self.setting.family),
            "n_buckets": self.setting.n_buckets,
            "classes": list(self.classes),
            "fit": fit_id,
            **({"base": self.base.name} if own_base else {}),
        }


@dataclass(frozen=True, slots=True)
class FitResult(Receivable):
    """A model with what the ledger knows of its fit.

    Attributes
    ----------
    model : CalibratedModel
    ledger_head : str or None
        The head of the ledger after the fit; None without one.
    replayed : bool
        Whether the model was read from its record.
    unrecorded : bool
        True if the ledger holds only the price, because the model could not be written to the ledger (HG606).
    notes : tuple of str
        Sentences about the privacy price, for readers of the score.
    """

    model: CalibratedModel
    ledger_head: str | None = None
    replayed: bool = False
    unrecorded: bool = False
    notes: tuple[str, ...] = ()


def fit_model(
    fit: CalibrationFit,
    reading: AbstractContextManager[S],
    read: Callable[[S], Sequence[Records]],
    account: Account = NO_LEDGER,
    *,
    n_fits: int = 1,
) -> FitResult:
    """Fit a model: the price is reserved, and only then `read` is called.

    Parameters
    ----------
    fit : CalibrationFit
        What is fitted.
    reading : context manager
        As of `hedgerow.release.spend.Product.reading`: entered before the price is reserved.
    read : callable
        Returns, from what `reading` yields, the records of each model: one for two classes, else one a class.
    account : Account
        Where it is paid. With a ledger, the same request under the same id is answered with the recorded model, at no
        further cost.
    n_fits : int
        How many fits the ledger may hold in all.

    Raises
    ------
    UncertifiedError, BudgetExceeded, LedgerError, DataError
        Nothing was read or spent.
    SpentError
        HG601: the price counts as spent.

    Warns
    -----
    HedgerowWarning
        HG606: the model could not be kept in the ledger; it is returned all the same.
    """
    mechanism, setting = fit.mechanism, fit.setting
    described = mechanism.describe(setting, fit.budget)
    certificate = None if described is None else fit.certificate(described, in_ledger=account.ledger is not None)

    if described is None or certificate is None:
        if account.ledger is not None:
            raise ParameterError(
                "HG167",
                rule="Every entry of a ledger has a price.",
                finding=f"mechanism={mechanism.name!r} has none: it reads the records as they are.",
                remedy='Choose a private mechanism, such as "table", or fit without a ledger.',
            )
        with reading as source:
            return FitResult(run_unpriced(account, lambda: _fitted(fit, described, None, read(source), SecureNoise())))
    warn_about_budget(fit.budget.epsilon, fit.budget.delta, setting.n, frames=3)
    name = account.request_id
    numbered = None if account.ledger is None else next_fit(account.ledger, n_fits, name)
    # Without a random word two fits at the same moment, which take the same number, would be the same request.
    request = fit.request(described, uuid4().hex if name is None else name)
    return spend(
        _FitProduct(fit, described, certificate, request, reading, read), replace(account, request_id=numbered)
    )


def _fitted(
    fit: CalibrationFit,
    described: AtomicMechanism | Composition | None,
    certificate: Certificate | None,
    models: Sequence[Records],
    noise: NoiseSource,
) -> CalibratedModel:
    """Return the model of these records; the code of a priced fit may print nothing."""
    mechanism, setting = fit.mechanism, fit.setting
    with nullcontext() if certificate is None else silence():
        fitted = [mechanism.run(setting, described, records, noise) for records in models]
    made = model_of(fitted, mechanism.name, setting, fit.classes, certificate, fit.score)
    numbers = tuple(rounds.numbers or tuple(table.values for table in rounds.released) for rounds in fitted)
    known = certificate is not None and mechanism_class(mechanism.name) is type(mechanism)
    return replace(made, request=fit.asked(), released=numbers) if known else made


@dataclass(frozen=True, slots=True)
class _FitProduct(Generic[S]):
    """A calibration as what spends: a mechanism may read, draw and read again."""

    fit: CalibrationFit
    described: AtomicMechanism | Composition
    price: Certificate
    request: Mapping[str, Any]
    source: AbstractContextManager[S]
    records: Callable[[S], Sequence[Records]]

    def reading(self) -> AbstractContextManager[S]:
        return self.source

    def draw(self, source: S, noise: NoiseSource) -> CalibratedModel:
        return _fitted(self.fit, self.described, self.price, self.records(source), noise)

    def read(self, noisy: CalibratedModel) -> FitResult:
        # The record holds only the names of predicates; here they are at hand.
        return FitResult(replace(noisy, family=self.fit.setting.family))

    def write(self, result: FitResult) -> str:
        return model_text(result.model)

    def from_record(self, text: str) -> FitResult:
        return self.read(model_from_text(text))


def model_of(
    fitted: Sequence[FittedCalibration],
    mechanism: str,
    setting: Setting,
    classes: Sequence[Scalar],
    certificate: Certificate | None,
    score: Column | None = None,
) -> CalibratedModel:
    """Return the model that several runs make together, one a calibration."""
    return CalibratedModel(
        setting.family,
        tuple(classes),
        tuple(result.calibration for result in fitted),
        setting.n_buckets,
        mechanism,
        tuple(result.before for result in fitted),
        tuple(result.after for result in fitted),
        certificate,
        score,
        setting.n,
    )


def next_fit(ledger: Any, n_fits: int, request_id: str | None = None) -> str:
    """Return the id of the next fit in this ledger: `PREFIX` with its number, or with the id that the caller gave.

    Cross-validation, a grid search and a pipeline clone an estimator and fit the clones, each time on the same people.
    Every fit is an entry whose id starts with `PREFIX`, so the ledger counts the fits of clones and of other processes
    too. The fit after the declared number is refused before anything is reserved or read. An id that is in the ledger
    already is returned as it is: the ledger answers the same request from its record.

    Raises
    ------
    ParameterError
        HG165: `n_fits` is no whole number from 1.
    UncertifiedError
        HG423: as many fits as were declared are in the ledger; nothing was spent.
    """
    most = as_int(n_fits)
    if most is None or most < 1:
        raise ParameterError(
            "HG165",
            rule="`n_fits` is the number of fits that are paid for, at least 1.",
            finding=f"Found {format_argument(n_fits)}.",
        )
    with Ledger.open(ledger) as opened:
        fits = {entry.request_id for entry in opened.entries() if entry.request_id.startswith(PREFIX)}
    if request_id is not None and PREFIX + request_id in fits:
        return PREFIX + request_id
    done = len(fits)
    if done >= most:
        raise UncertifiedError(
            "HG423",
            rule="In a ledger, a model can be fitted as often as declared, because each fit on the same records is "
            "paid for.",
            finding=f"{done} of {n_fits} declared fits are in it. Cross-validation and grid searches refit clones.",
            remedy="Choose parameters from public facts or on public data; or declare a larger n_fits, where each fit "
            "has its full price.",
        )
    return f"{PREFIX}{done + 1 if request_id is None else request_id}"


# Fits from a file or a frame that an engine reads: scores are precomputed, and no row reaches Python. Groups × label ×
# score on its grid is one histogram question like any other, and its answer is all that a fit needs. Records without a
# score, or with another label than the two, are left out: under either relation that depends on one record alone.


@dataclass(frozen=True, slots=True)
class ScoredColumns:
    """Which columns hold the label, with its two values of which the second is counted as 1, and the score."""

    label: str
    score: str
    classes: tuple[Scalar, Scalar] = (0, 1)

    def query(self, family: Family) -> Query:
        """Return the question: groups and label as cells, "other" included for groups; the score as grid index."""
        grouped = []
        for attribute in family.attributes:
            if not isinstance(attribute, CategoryGroups) or not isinstance(attribute.column, str):
                raise ParameterError(
                    "HG165",
                    rule="The groups of a file are columns with declared values.",
                    finding="The given groups use cut points, masks or a predicate.",
                    remedy="Write the group into a column of the file first.",
                )
            grouped.append(Category.declared(attribute.column, attribute.values, other=True))
        label = Category.declared(self.label, self.classes)
        return Query(
            ValueOnGrid(self.score, Grid.from_bounds(self.score, (0, 1), Fraction(1, STEPS))), (*grouped, label)
        )


@dataclass(frozen=True, slots=True)
class FitOptions:
    """What a fit from a source is asked to do; the parameters of `Multicalibrator` of the same names, and `notes`."""

    relation: Relation | str | None
    epsilon: float
    delta: float | None = None
    mechanism: object = "table"
    n_buckets: int = 10
    alpha: float | None = None
    notes: Sequence[str] = ()


def records_from(source: Source, family: Family, columns: ScoredColumns) -> Records:
    """Return the records of a source, folded by its engine. PRIVATE.

    >>> import pyarrow
    >>> from hedgerow.engines.source import open_source
    >>> table = pyarrow.table({"p": [0.25, 0.25, 0.5], "y": [1, 1, 0], "sex": ["f", "f", "m"]})
    >>> family = Family((CategoryGroups("sex", ("f",)),), depth=1)
    >>> rows = records_from(open_source(table), family, ScoredColumns("y", "p"))
    >>> rows.score.tolist(), rows.label.tolist(), rows.count.tolist(), rows.patterns[rows.pattern].tolist()
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
    source: ColumnSource,
    columns: ScoredColumns,
    family: Family,
    options: FitOptions,
    account: Account = NO_LEDGER,
    *,
    n_fits: int = 1,
) -> FitResult:
    """Fit a model from precomputed scores in a source; the price is reserved before a value is read.

    Guarantee   that of the mechanism, for the relation; the certificate is ``result.model.certificate``. The base model
    is not covered. `account` and `n_fits` as in `fit_model`.

    Raises
    ------
    ParameterError, DataError, UncertifiedError, BudgetExceeded, LedgerError
        Nothing was spent: the columns and their kinds are checked against the schema first.
    SpentError
        After a `SpentError` the price counts as spent.
    """
    mechanism, relation = mechanism_named(options.mechanism), parse_relation(options.relation)
    budget = Budget(options.epsilon, mechanism.default_delta if options.delta is None else options.delta)
    source.check(columns.query(family))
    n = source.count_rows() if relation is Relation.REPLACE_ONE else None
    setting = Setting(family, relation, n, options.n_buckets, options.alpha)
    fit = CalibrationFit(mechanism, setting, budget, columns.classes, columns.score, notes=options.notes)
    reading = source.reading([columns.query(family)])
    return fit_model(fit, reading, lambda held: [records_from(held, family, columns)], account, n_fits=n_fits)


def fit_rules(
    facts: Facts | None,
    mechanism: CalibrationMechanism[Any],
    *,
    declared: Sequence[str] = (),
    relation: object = None,
    ledger: str | Path | None = None,
    request_id: str | None = None,
) -> tuple[Protection, Account]:
    """Return whom a fit protects and where it is paid: as the call says, else as the facts do.

    An argument of the call overrides a fact, and a note for the certificate says so. The budget, the kinds of
    statistics and the unit are decided by the custodian, and no argument overrides them. `declared` names the columns
    whose values come from the facts.

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
    >>> from hedgerow.multicalibration.calibration_mechanism import mechanism_named
    >>> fit_rules(Facts(relation="add-remove", ledger="people.ledger"), mechanism_named("table"))[1].ledger
    'people.ledger'
    """
    protection = protection_of(facts, relation=relation)
    if isinstance(protection.unit, UnitLimit):
        column, most = protection.unit.column, protection.unit.max_rows
        raise UncertifiedError(
            "HG402",
            rule="A fit protects single rows: rows of a unit beyond its limit are not left out, so no price holds for "
            "units of several rows.",
            finding=f"The facts declare the unit {protection.unit}.",
            remedy=f"Keep one row of each {column} in a file with facts of its own. Or keep at most {most} rows of "
            f'each {column} there, with unit = "row" and relation = "add-remove", and fit at epsilon/{most} and delta '
            f"0: {most} rows together then cost at most epsilon.",
        )
    if facts is None:
        return protection, Account(None, ledger, request_id)
    facts.allow(mechanism.releases)
    unsourced = [
        f"categories of column {column}: no source given" for column in declared if facts.column(column).source is None
    ]
    return (
        replace(protection, notes=(*unsourced, *protection.notes)),
        Account(facts.budget, facts.ledger_path if ledger is None else ledger, request_id),
    )


_OTHER = "The mechanism of the model is not the one on its certificate, once for each of its calibrations."
_NOISE = "The noise, the groups or the cells of the model are not those of the mechanism on its certificate."
_SETTING = "The mechanism on its certificate is not the one that its relation, groups and buckets ask for."
_BASE = "A calibration says whether its base model is covered, and its certificate does not."
_ASKED = ("groups", "classes", "score", "n", "n_buckets", "alpha", "parameters")


def rewrite(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record of a model as it is made from its request, its released numbers and its mechanism."""
    model = model_from_text(json.dumps(record))
    kind, parts = mechanism_class(model.mechanism), parts_of(certificate.mechanism)
    expected = () if kind is None else kind.noise * len(model.calibrations)
    if kind is None or not expected or tuple(map(type, parts)) != expected:
        return Rewritten(_written(model), (), (_OTHER,))
    each = len(kind.noise)
    drawn = [parts[start : start + each] for start in range(0, len(parts), each)]
    agrees = all(kind.agrees(model, before, some[0]) for before, some in zip(model.before, drawn, strict=True))
    faults = (() if agrees else (_NOISE,)) + (() if certificate.assumptions else (_BASE,))
    if "reading" not in record:
        return Rewritten(_written(model), _UNCHECKED_BEFORE, faults, {"unit": "row"})
    mechanism, setting = _mechanism_and_setting(model, record["request"], kind, certificate)
    described = mechanism.describe(setting, Budget(certificate.epsilon, certificate.delta))
    faults += () if all(mechanism.follows(described, some) for some in drawn) else (_SETTING,)
    again = _again(model, record["request"], mechanism, setting, drawn, certificate)
    unseen = (*_UNSEEN, *fields_of_mechanism(*kind.untraced), *_unread(again))
    return Rewritten(_written(again), unseen, faults, {"unit": "row"})


RECORD = RecordKind("a calibrated model", "hedgerow_model", rewrite, lambda _: "calibration of a classifier")
_UNSEEN = ("request.alpha", "request.parameters.*")
"""What decides which cells are shifted: another value may decide the same."""
_UNCHECKED_BEFORE = (
    *("groups.**", "classes.*", "n_buckets", "score", "release.n", "calibrations.**", "before.**", "after.**"),
)


def _mechanism_and_setting(
    model: CalibratedModel, asked: Any, kind: type[CalibrationMechanism[Any]], certificate: Certificate
) -> tuple[CalibrationMechanism[Any], Setting]:
    """Return the mechanism of a request, with its parameters, and its setting."""
    family, n, models = family_of_record(asked["groups"]), asked["n"], len(model.calibrations)
    setting = Setting(family, certificate.relation, n, asked["n_buckets"], asked["alpha"], models)
    return kind(**asked["parameters"]), setting


def _again(
    model: CalibratedModel,
    asked: Any,
    mechanism: CalibrationMechanism[Any],
    setting: Setting,
    drawn: list[tuple[AtomicMechanism, ...]],
    certificate: Certificate,
) -> CalibratedModel:
    """Return the model that the released numbers give."""
    described = [some[0] if len(some) == 1 else Composition(some) for some in drawn]
    fitted = [
        mechanism.read(setting, mechanism_of_round, numbers)
        for mechanism_of_round, numbers in zip(described, model.released, strict=True)
    ]
    made = model_of(fitted, model.mechanism, setting, tuple(asked["classes"]), certificate, asked["score"])
    request = {name: asked[name] for name in _ASKED} | {"groups": family_record(setting.family)}
    return replace(made, request=request, released=model.released)


def _unread(model: CalibratedModel) -> tuple[str, ...]:
    """Return which released numbers leave no trace beside a cell that they shift, or do not."""
    if all(errors is None for errors in model.before):
        return ("released.**",)
    if model.mechanism == "table":
        return ("released.*.1.**",)  # the mean score of a bin that holds hardly any record is its middle
    # The last of several tables is told by the errors after, where they are known; the first by those before.
    rounds = max(map(len, model.released))
    releases = 2 if rounds > 1 and all(errors is not None for errors in model.after) else 1
    return tuple(f"released.*.{place}.**" for place in range(1, rounds) if place < rounds - releases + 1)


def _written(model: CalibratedModel) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(model_text(model))
    del record["certificate"]
    return record
