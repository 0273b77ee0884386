"""The interface of a multicalibration mechanism: describe what will run, then run it; all else is post-processing.

A mechanism is one frozen object with its own parameters and two methods:

``describe(setting, budget)``
    reads only public facts and returns the privacy mechanism that will run (`hedgerow.mechanisms.mechanism`). This is
    what is priced, certified and reserved BEFORE data are read; None where nothing is private (`hedgerow.testing`).
``run(setting, described, records, noise)``
    reads the records, draws the noise that `described` states, and returns a `FittedCalibration`: a model, and what can
    be read from the release. Everything in a private `FittedCalibration` is a function of noisy releases and public
    facts.

============================  =====================================================================
``table``                     one noisy count table, atom × score bin × label (the default)
``rounds``                    Gaussian histogram rounds, for families too large for a table
``numeric_sparse``            residual sums above a noisy threshold, corrected
``input_perturbation``        every record randomised first
============================  =====================================================================

To add one, write a subclass of `CalibrationMechanism`, and name it in `MECHANISMS`. The estimator, the command and its
help, the report and `hedgerow verify` then find it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.calibrate import least_noise
from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.facts.validation import as_float, as_int, format_argument, kind_of
from hedgerow.mechanisms.interface import AtomicMechanism, Mechanism
from hedgerow.mechanisms.mechanism import Composition, parts_of
from hedgerow.multicalibration.calibrated_model import CalibratedModel, Calibration, Records, Residuals
from hedgerow.multicalibration.family import Family
from hedgerow.noise.lattice import AdditiveTable, NoiseSource

MECHANISMS = {
    "table": "hedgerow.multicalibration.count_table:CountTable",
    "rounds": "hedgerow.multicalibration.rounds:Rounds",
    "numeric_sparse": "hedgerow.multicalibration.rounds:NumericSparse",
    "input_perturbation": "hedgerow.multicalibration.input_perturbation:InputPerturbation",
}
"""The file and the class of each name, imported on use: a fit needs one of them."""
PUBLISHED_ALPHA = 0.1
_WITHOUT = "none"  # the name of a calibration without privacy, which old models state


M = TypeVar("M", bound=Mechanism)
D = TypeVar("D")
"""What a mechanism describes: the privacy mechanism of one model, None where nothing is private."""


def check_parameter(fits: bool, rule: str, *values: object, code: str = "HG165", remedy: str = "") -> None:
    """Raise a `ParameterError` that shows the values, unless they fit the rule."""
    if not fits:
        raise ParameterError(
            code, rule=rule, finding=f"Found {' and '.join(map(format_argument, values))}.", remedy=remedy
        )


@dataclass(frozen=True, slots=True)
class Setting:
    """All settings of the calibration that are known before data are read.

    Attributes
    ----------
    family : Family
        The groups; ``family.most_groups`` is M.
    relation : Relation
        The neighbouring relation and the privacy unit: how two neighbouring data sets differ.
    n : int or None
        The number of records: public under replace-one, None under add-remove.
    n_buckets : int
        k, the number of score buckets in which calibration is required.
    alpha : float or None
        The target, if any: a cell is shifted only when its mean residual is at least α/2 (Algorithm 2), and a private
        mechanism that measures again stops once its release shows every group α-calibrated (Definition 3). None: as far
        as the noise allows; Algorithms 1 and 2 without privacy, which need a target, then take `PUBLISHED_ALPHA`.
    models : int
        How many models are fitted on the same records (one a class above two classes): they share the budget.
    """

    family: Family
    relation: Relation
    n: int | None
    n_buckets: int = 10
    alpha: float | None = None
    models: int = 1

    def __post_init__(self) -> None:
        buckets, alpha = as_int(self.n_buckets), None if self.alpha is None else as_float(self.alpha)
        fits = buckets is not None and 1 <= buckets <= 1000
        check_parameter(fits, "`n_buckets` is a whole number from 1 to 1,000.", self.n_buckets)
        alpha_fits = self.alpha is None or (alpha is not None and 0.0 < alpha <= 1.0)
        check_parameter(alpha_fits, "`alpha` lies in (0, 1], or is None.", self.alpha)
        object.__setattr__(self, "n_buckets", buckets)
        object.__setattr__(self, "alpha", alpha)

    @property
    def least_shift(self) -> float:
        """The least mean residual of a cell that a private mechanism shifts: α/2, or 0 without a target."""
        return 0.0 if self.alpha is None else self.alpha / 2.0


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """The result of one run.

    Attributes
    ----------
    calibration : Calibration
        The model.
    before, after : Residuals or None
        Residuals of the original and of the calibrated scores: read from the release (exact for ``none``), None where
        the release does not show them.
    released : tuple of AdditiveTable
        The noisy tables, in order; everything else follows from them and from public facts.
    numbers : tuple of float array
        These tables as `CalibrationMechanism.read` takes them; where empty, their values.
    """

    calibration: Calibration
    before: Residuals | None
    after: Residuals | None
    released: tuple[AdditiveTable, ...] = ()
    numbers: tuple[NDArray[np.float64], ...] = ()


class CalibrationMechanism(ABC, Generic[D]):
    """Which bound is used; see the module.

    Attributes
    ----------
    name : str
        The value of ``mechanism=``.
    default_delta : float
        The δ used where the user gives none: 0 where δ = 0 is possible.
    releases : tuple of str
        The kinds of statistics that are released, as a facts file allows or forbids them.
    untold : str
        The reason why a report lacks the calibration errors before or after the fit; empty if the report has both
        errors.
    noise : tuple of type
        The types of the privacy mechanisms that `describe` returns for one model, in order.
    planned : tuple of str
        The parameters that `describe` alone depends on: `read` depends on all others.
    sized : tuple of str
        The fields of the privacy mechanisms that the budget and the `planned` parameters decide, such as the noise. All
        other fields follow from the setting: how far one record moves what is released, for example.
    untraced : tuple of str
        Those of the fields `sized` that may be altered where nothing else in a record changes; `verify` names them as
        unchecked.
    """

    __slots__ = ()
    name: ClassVar[str]
    default_delta: ClassVar[float] = 0.0
    releases: ClassVar[tuple[str, ...]] = ("count",)
    untold: ClassVar[str] = ""
    noise: ClassVar[tuple[type, ...]] = ()
    planned: ClassVar[tuple[str, ...]] = ()
    sized: ClassVar[tuple[str, ...]] = ()
    untraced: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def describe(self, setting: Setting, budget: Budget) -> D:
        """Return the privacy mechanism for ONE calibrated model.

        The mechanism is chosen so that all ``setting.models`` models together meet the budget.

        Parameters
        ----------
        setting : Setting
            All settings of the calibration that are known before data are read.
        budget : Budget
            The privacy budget for all models together.

        Returns
        -------
        Mechanism
            The privacy mechanism, whose price is certified before data are read.

        Raises
        ------
        UncertifiedError
            HG401, HG420 to HG429: the mechanism cannot be certified for these public facts.

        Examples
        --------
        >>> from hedgerow.mechanisms.certificate import certify
        >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
        >>> described = mechanism_named("table").describe(public, Budget(1.0, 0.0))
        >>> certify(described, public.relation, unit="row", delta=0.0).epsilon <= 1.0
        True
        """

    @abstractmethod
    def run(self, setting: Setting, described: D, records: Records, noise: NoiseSource) -> FittedCalibration:
        """Fit one model with the noise that the mechanism `described` states.

        Parameters
        ----------
        setting : Setting
            All settings of the calibration that are known before data are read.
        described : Mechanism
            The privacy mechanism that `describe` returned.
        records : Records
            The private records, grouped into distinct rows with their counts.
        noise : NoiseSource
            The source of random numbers.

        Returns
        -------
        FittedCalibration
            The calibrated model, and the noisy tables from which it was computed.

        Raises
        ------
        UncertifiedError
            The noise source cannot draw the noise that the mechanism `described` states.

        Examples
        --------
        >>> from hedgerow.noise.secure import SecureNoise
        >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
        >>> table = mechanism_named("table")
        >>> scores, labels = np.array([0.75, 0.25, 0.25]), np.array([0, 1, 1])
        >>> records = Records.of(public.family, np.zeros((3, 0), dtype=np.int64), scores, labels)
        >>> described = table.describe(public, Budget(1.0, 0.0))
        >>> len(table.run(public, described, records, SecureNoise()).released) > 0
        True
        """

    def read(self, setting: Setting, described: D, numbers: Sequence[NDArray[np.float64]]) -> FittedCalibration:
        """Return the calibrated model that the released numbers determine.

        No record is read. The command `hedgerow verify` uses this method to check a model.

        Parameters
        ----------
        setting : Setting
            All settings of the calibration that are known before data are read.
        described : Mechanism
            The privacy mechanism that `describe` returned.
        numbers : sequence of float array
            The released numbers, in the form of ``FittedCalibration.numbers``.

        Returns
        -------
        FittedCalibration
            The calibration that the method `run` returned when it drew the numbers.

        Raises
        ------
        TypeError
            The mechanism was written by the user, and does not define the method `read`.

        Examples
        --------
        >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
        >>> table = mechanism_named("table")
        >>> described = table.describe(public, Budget(1.0, 0.0))
        >>> bins = described.parts[1].cells
        >>> table.read(public, described, [np.full((bins, 2), 50.0), np.zeros((bins, 1))]).before is not None
        True
        """
        raise TypeError(f"{self.name} reads no numbers")

    def follows(self, described: D, parts: Sequence[AtomicMechanism]) -> bool:
        """Return whether the privacy mechanisms of one model are those that `describe` returned, but for the noise.

        Parameters
        ----------
        described : Mechanism
            The privacy mechanism that `describe` returned, for any budget.
        parts : sequence of AtomicMechanism
            The privacy mechanisms of one model on a certificate.

        Returns
        -------
        bool
            False if a field that is not among `sized` differs from what the setting gives.

        Raises
        ------
        HedgerowError
            The method raises no error: mechanisms of other types differ.

        Examples
        --------
        >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
        >>> table = mechanism_named("table")
        >>> one, other = (table.describe(public, Budget(epsilon, 0.0)) for epsilon in (1.0, 2.0))
        >>> table.follows(one, other.parts), table.follows(one, other.parts[:1])
        (True, False)
        """
        own: tuple[AtomicMechanism, ...] = parts_of(described)  # type: ignore[arg-type]  # `none` alone has no mechanism
        return tuple(map(type, own)) == tuple(map(type, parts)) and all(
            replace(one, **{name: getattr(part, name) for name in self.sized}) == part
            for one, part in zip(own, parts, strict=True)
        )

    @classmethod
    def agrees(cls, model: CalibratedModel, before: Residuals | None, part: Any) -> bool:
        """Return whether the groups and residuals of a model agree with the part of the certificate for this model.

        Parameters
        ----------
        model : CalibratedModel
            The calibrated model that was read from a file.
        before : Residuals or None
            The residuals of the uncorrected scores, as the file states them.
        part : Mechanism
            The part of the certificate that describes one model.

        Returns
        -------
        bool
            False if the certificate cannot belong to this model.

        Raises
        ------
        HedgerowError
            The method raises no error: if the model and the certificate disagree, the method returns False.

        Examples
        --------
        >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
        >>> table = mechanism_named("table")
        >>> described = table.describe(public, Budget(1.0, 0.0))
        >>> bins = described.parts[1].cells
        >>> fitted = table.read(public, described, [np.full((bins, 2), 50.0), np.zeros((bins, 1))])
        >>> made, residuals = (fitted.calibration,), (fitted.before,)
        >>> model = CalibratedModel(public.family, (0, 1), made, 10, "table", residuals, (None,), None)
        >>> table.agrees(model, fitted.before, described.parts[0])
        True
        """
        return True


def mechanism_class(name: str) -> type[CalibrationMechanism[Any]] | None:
    """Return the mechanism of that name, None where there is none."""
    if name not in MECHANISMS:
        return None
    module, _, kind = MECHANISMS[name].partition(":")
    mechanism: type[CalibrationMechanism[Any]] = getattr(import_module(module), kind)
    return mechanism


def mechanism_named(mechanism: object) -> CalibrationMechanism[Any]:
    """Return the mechanism of that name with its default parameters; an object with the methods is returned as it is.

    Raises
    ------
    ParameterError
        HG167: neither.

    Examples
    --------
    >>> mechanism_named("table").name
    'table'
    """
    named = mechanism_class(mechanism) if isinstance(mechanism, str) else None
    if named is not None:
        return named()
    if not isinstance(mechanism, (str, type)) and all(hasattr(mechanism, part) for part in ("name", "describe", "run")):
        return mechanism  # type: ignore[return-value]  # the three parts of the interface were looked for
    if mechanism == _WITHOUT:
        raise ParameterError(
            "HG167",
            rule="A calibration without privacy is for studies only and has no name on the command line.",
            finding=f'Found "{_WITHOUT}".',
            remedy="For a study in Python, pass NoPrivacy() of hedgerow.testing.published to Multicalibrator.",
        )
    raise ParameterError(
        "HG167",
        rule="`mechanism` is one of " + ", ".join(f'"{name}"' for name in MECHANISMS) + ".",
        finding=f"Found {format_argument(mechanism)}."
        if isinstance(mechanism, str)
        else f"Found {kind_of(mechanism)}.",
        remedy='The default mechanism is "table". To set the parameters of the mechanism "table", use an object such '
        "as Table(bins=20).",
        shell="The default is table.",
    )


def all_models(described: AtomicMechanism | Composition, models: int) -> AtomicMechanism | Composition:
    """Return the composition of the mechanisms of all models of a fit."""
    return described if models == 1 else Composition(parts_of(described) * models)


def least_noise_for(build: Callable[[float], M], setting: Setting, budget: Budget) -> M:
    """Return ``build(M)`` for the largest precision M at which all the setting's models together meet the budget.

    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None, models=2)
    >>> described = least_noise_for(lambda m: GeometricCounts(1.0 / m, 40), public, Budget(1.0, 0.0))
    >>> 2.0 <= described.scale <= 2.003
    True
    """
    least = least_noise(
        lambda precision: Composition(parts_of(build(precision)) * setting.models), setting.relation, budget
    )
    return build(least.precision)
