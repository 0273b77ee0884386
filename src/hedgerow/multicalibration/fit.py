"""One fit from its price to its model: describe → certify → reserve → read → run → record.

Everything up to the reservation sees public facts alone. Records are read by a function that is called afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from hedgerow.accounting.certificate import Certificate, certify
from hedgerow.accounting.compose import profile_of
from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget, warn_about_delta
from hedgerow.facts.columns import Scalar
from hedgerow.mechanisms.mechanism import Composition, Single, as_record
from hedgerow.multicalibration.base_origin import BaseOrigin
from hedgerow.multicalibration.groups.attribute import Column, Predicate
from hedgerow.multicalibration.mechanisms.mechanism import CalibrationMechanism, Fitted, Setting
from hedgerow.multicalibration.model.model import Model
from hedgerow.multicalibration.model.model_record import family_record, model_from_text, model_text
from hedgerow.multicalibration.model.records import Records
from hedgerow.multicalibration.refits import next_fit
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.spend.reservation import spending_in
from hedgerow.release.spend.spend import spend
from hedgerow.release.spend.total import price_within
from hedgerow.user_code import silence

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
    if total is not None:
        _within(price, setting, total)

    def run() -> Model:
        noise = SecureNoise()
        with nullcontext() if price.certificate is None else silence():
            fitted = [mechanism.run(setting, price.described, records, noise) for records in read()]
        return model_of(fitted, mechanism.name, setting, classes, price.certificate, score)

    if price.certificate is None:
        _no_ledger_for(mechanism, ledger)
        return FitResult(run(), None, False)
    warn_about_delta(budget.delta, setting.n, frames=3)
    named = None if ledger is None else next_fit(ledger, n_fits, request_id)
    spent = spend(
        spending_in(ledger, price.certificate),
        price.certificate,
        # A word that no other fit has: the number of a fit alone would let two at one moment pass for the same.
        {
            **_request(price, setting, mechanism, classes, uuid4().hex if request_id is None else request_id),
            **({"base": base.name} if base in (BaseOrigin.APART, BaseOrigin.UNPROTECTED) else {}),
        },
        request_id=named,
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


def _within(price: Price, setting: Setting, total: Budget) -> None:
    whole = None if price.certificate is None else price.certificate.mechanism
    # Without privacy no ε holds at all.
    price_within(math.inf if whole is None else profile_of(whole, setting.relation).epsilon_upper(total.delta), total)


def _no_ledger_for(mechanism: CalibrationMechanism, ledger: str | Path | None) -> None:
    if ledger is not None:
        raise ParameterError(
            "HG167",
            rule="What is on record in a ledger has a price.",
            finding=f"mechanism={mechanism.name!r} has none: it reads the records as they are.",
            remedy='Choose a private mechanism, for example "table", or fit without a ledger.',
        )
