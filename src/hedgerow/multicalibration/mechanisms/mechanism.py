"""The interface of a multicalibration mechanism: describe what will run, then run it, then nothing but post-processing.

A mechanism is one frozen object with its own parameters and two methods:

``describe(setting, budget)``
    reads public facts only and returns the privacy mechanism that will run (`hedgerow.mechanisms.mechanism`), the one
    that is priced, certified and reserved BEFORE data are read; None where nothing is private (``none``).
``run(setting, described, records, noise)``
    touches the records, draws the noise that `described` says, and returns a `Fitted`: a model, and what can be read
    from what was released. Everything in a private `Fitted` is a function of noisy releases and public facts.

============================  =====================================================================
``table``                     one noisy count table, atom × score bin × label (the default)
``rounds``                    Gaussian histogram rounds, for families too large for a table
``numeric_sparse``            residual sums above a noisy threshold, corrected
``input_perturbation``        every record randomised first
``none``                      Algorithms 1 and 2 of Fishman et al., without privacy
============================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from hedgerow.accounting.calibrate import least_noise
from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.given import kind_of, real, whole
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import Composition, Single
from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.model.model import Calibration, Residuals
from hedgerow.multicalibration.model.records import Records
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything that may be known before data are read.

    Attributes
    ----------
    family : Family
        The groups; ``family.most_groups`` is M.
    relation : Relation
        Who is protected.
    n : int or None
        The number of records: public under replace-one, None under add-remove.
    n_buckets : int
        k, the buckets of the prediction in which calibration is asked for.
    alpha : float
        Algorithms 1 and 2 move a cell when its mean residual is at least α/2.
    models : int
        How many models are fitted on the same records (one a class above two classes): they share the budget.
    """

    family: Family
    relation: Relation
    n: int | None
    n_buckets: int = 10
    alpha: float = 0.1
    models: int = 1

    def __post_init__(self) -> None:
        buckets, alpha = whole(self.n_buckets), real(self.alpha)
        if buckets is None or not 1 <= buckets <= 1000:
            raise ParameterError(
                "HG165", rule="`n_buckets` is a whole number from 1 to 1,000.", finding=f"Found {self.n_buckets!r}."
            )
        if alpha is None or not 0.0 < alpha <= 1.0:
            raise ParameterError("HG165", rule="`alpha` lies in (0, 1].", finding=f"Found {self.alpha!r}.")
        object.__setattr__(self, "n_buckets", buckets)
        object.__setattr__(self, "alpha", alpha)


@dataclass(frozen=True, slots=True)
class Fitted:
    """What came out of one run.

    Attributes
    ----------
    calibration : Calibration
        The model.
    before, after : Residuals or None
        Residuals of the original and of the calibrated scores: read from what was released (exact for ``none``), None
        where what was released does not tell.
    released : tuple of AdditiveTable
        The noisy tables, in order; all the rest follows from them and from public facts.
    """

    calibration: Calibration
    before: Residuals | None
    after: Residuals | None
    released: tuple[AdditiveTable, ...] = ()


class CalibrationMechanism(Protocol):
    """See the module."""

    @property
    def name(self) -> str:
        """The word by which `Multicalibrator` knows it."""
        ...

    @property
    def default_delta(self) -> float:
        """The δ that it needs where the user names none: 0 for a pure price."""
        ...

    def describe(self, setting: Setting, budget: Budget) -> Single | Composition | None:
        """Return what will run for ONE model, such that ``setting.models`` of them together meet the budget.

        Raises
        ------
        UncertifiedError
            HG401, HG420 to HG429: this cannot be certified for these public facts.
        """
        ...

    def run(
        self, setting: Setting, described: Single | Composition | None, records: Records, noise: NoiseSource
    ) -> Fitted:
        """Fit one model, adding the noise that `described` states."""
        ...


def least_noise_for(
    build: Callable[[float], Single | Composition], setting: Setting, budget: Budget
) -> Single | Composition:
    """Return ``build(M)`` for the largest precision M at which all the setting's models together meet the budget.

    >>> from hedgerow.mechanisms.mechanism import GeometricCounts
    >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None, models=2)
    >>> described = least_noise_for(lambda m: GeometricCounts(1.0 / m, 40), public, Budget(1.0, 0.0))
    >>> 2.0 <= described.scale <= 2.003
    True
    """

    def all_models(precision: float) -> Composition:
        one = build(precision)
        parts = one.parts if isinstance(one, Composition) else (one,)
        return Composition(parts * setting.models)

    found = least_noise(all_models, setting.relation, budget)
    return build(found.precision)


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
