"""`Coefficients`: what a fit of any family shows, and what follows from it at no further price."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import VerificationError
from hedgerow.facts.printed import Lines, decimals, starred
from hedgerow.inference.interval import Interval, parse_level
from hedgerow.inference.region import LevelTest, ScoreRegion, pvalue_of
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.regression.contrasts import Contrast, ContrastTest, ContrastTests, hypotheses, records_of, unfit
from hedgerow.regression.features import Declared, written
from hedgerow.regression.formula import INTERCEPT, Regressor, computed_from
from hedgerow.regression.model_table import FitOutputs, card_of_fits, finite, paired
from hedgerow.release.publication.shared import REPLAYED, SIMULATED
from hedgerow.release.publication.text import aligned
from hedgerow.release.record import READING
from hedgerow.release.spend import Receivable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.plots.bars import ErrorBar
    from hedgerow.plots.notebook import Line

COEFFICIENTS = "coefficients"
Floats = NDArray[np.float64]
ModelT = TypeVar("ModelT", bound=Declared)
MechanismT = TypeVar("MechanismT", bound=Mechanism)


class CoefficientFit(Protocol):
    """The algebra behind a fit."""

    @property
    def params(self) -> Floats:
        """The coefficients."""
        ...

    @property
    def reliable(self) -> bool:
        """Whether anything of the fit can be relied on."""
        ...

    @property
    def sampling_covariance(self) -> Floats:
        """The covariance of the coefficients that comes from sampling."""
        ...

    @property
    def noise_covariance(self) -> Floats:
        """The covariance of the coefficients that comes from the noise."""
        ...

    def errors(self, weights: Floats) -> tuple[float, float]:
        """Return the sampling and the noise error of a weighted sum of coefficients."""
        ...

    def accepted(self, weights: Floats, level: float) -> tuple[float, float]:
        """Return the values of it that are not rejected at a level."""
        ...


@dataclass(frozen=True, slots=True)
class FitContext(Generic[ModelT, MechanismT]):
    """What was asked of what: public, and the same for all cells of a release.

    Attributes
    ----------
    model : Model or LogitModel
    formula : str
    mechanism : JointMoments or NewtonSteps
        What was drawn: how the noisy numbers are read.
    n : int or None
        The number of records of the file, under replace-one.
    facts : mapping
        source, relation, unit, target, n, missing, where, date.
    remarks : tuple of str
    request : mapping or None
        What was asked for, as `hedgerow.regression.features.request_record` writes it; None of a record of an earlier
        version.
    shrinks : bool
        Whether coefficients are shrunk where the noise is large; not in records of earlier versions.
    """

    model: ModelT
    formula: str
    mechanism: MechanismT
    n: int | None
    facts: Mapping[str, Any]
    remarks: tuple[str, ...] = ()
    request: Mapping[str, Any] | None = None
    shrinks: bool = False

    @property
    def census(self) -> bool:
        """Whether intervals are about this file."""
        return bool(self.facts.get("target") == "file")


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(Receivable, FitOutputs, Generic[ModelT, MechanismT]):
    """The coefficients of one fit, linear or logistic, computed from released numbers."""

    family: ClassVar[str]
    """The name of the model in the header of `summary`."""
    how: ClassVar[str]
    """How the coefficients were released, in sentences."""
    about: FitContext[ModelT, MechanismT]
    released: Floats
    regressors: tuple[Regressor, ...]
    certificate: Certificate | None
    cell: Mapping[str, Any] = field(default_factory=dict)
    ledger_head: str | None = None
    unrecorded: bool = False
    replayed: bool = False
    backend: str | None = None

    @property
    def fit(self) -> CoefficientFit:
        """The algebra behind the coefficients."""
        raise NotImplementedError

    @property
    def fits(self) -> tuple[Self, ...]:
        """The fit of each cell, as a tuple that holds this fit alone."""
        return (self,)

    @property
    def size(self) -> str:
        """The size of the data behind the fit, in words."""
        raise NotImplementedError

    def facts_of_fit(self) -> dict[str, str]:
        """Return the facts that a table of models prints below the coefficients, such as the number of records."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers, as sentences."""
        raise NotImplementedError

    def _noted(self, notes: Sequence[str]) -> Self:
        """Return the result with more notes."""
        return replace(self, about=replace(self.about, remarks=(*self.about.remarks, *notes)))

    def with_backend(self, backend: str | None) -> Self:
        """Return the same result, whose method `to_frame` will use the data frame library of the caller."""
        return replace(self, backend=backend)

    @property
    def title(self) -> str:
        """The family of the fit, the formula and the cell."""
        where = "".join(f" | {column}={value}" for column, value in self.cell.items())
        return f"{self.family} {self.about.formula}{where}"

    def header(self) -> dict[str, str]:
        """Return the facts above the coefficients that statsmodels prints, under the same names as in statsmodels."""
        raise NotImplementedError

    def head(self) -> tuple[str, ...]:
        """Return the lines above the table of coefficients, in two columns: facts about the fit and its price."""
        facts = {**self.header(), "Relation": str(self.about.facts["relation"])}
        if self.certificate is not None:
            facts |= {"ε": f"≤ {self.certificate.epsilon:.6g}", "δ": f"{self.certificate.delta:.3g}"}
        return (self.title, "", *paired(facts))

    def asked(self) -> dict[str, Any]:
        """Return the request as plain JSON data."""
        raise NotImplementedError

    def known(self) -> dict[str, Any]:
        """Return all facts about the fit except the coefficients, as plain JSON data."""
        return {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the regressors, in order."""
        return tuple(regressor.name for regressor in self.regressors)

    @property
    def params(self) -> dict[str, float]:
        """The coefficients by name."""
        return dict(zip(self.names, self.fit.params.tolist(), strict=True))

    @property
    def bse(self) -> dict[str, float]:
        """The standard error of each coefficient, from sampling and privacy noise together."""
        return dict(zip(self.names, np.sqrt(np.diag(self._covariance)).tolist(), strict=True))

    @property
    def sampling_error(self) -> dict[str, float]:
        """The part of each standard error that comes from sampling."""
        return dict(zip(self.names, np.sqrt(np.diag(self.fit.sampling_covariance)).tolist(), strict=True))

    @property
    def privacy_error(self) -> dict[str, float]:
        """The part of each standard error that comes from the noise."""
        return dict(zip(self.names, np.sqrt(np.diag(self.fit.noise_covariance)).tolist(), strict=True))

    @property
    def _covariance(self) -> Floats:
        return self.fit.sampling_covariance + self.fit.noise_covariance

    def cov_params(self) -> Floats:
        """Return the covariance matrix of the coefficients, (k, k): the sum of the sampling and the privacy part."""
        return self._covariance

    def conf_int(self, level: float = 0.95) -> dict[str, Interval]:
        """Return the confidence interval of each coefficient.

        The end of an interval is infinite if the noise hides the coefficient. HG110: invalid confidence level.

        The code ``low, high = fit.conf_int()["age"]`` unpacks the two ends of an interval.
        """
        level, whose = parse_level(level), "this file" if self.about.census else "the population"
        intervals = {}
        for name, row in zip(self.names, np.eye(len(self.names)), strict=True):
            region = self._region(row)
            intervals[name] = Interval(
                *region.ends(level), level, region.methods[0], f"the coefficient of {name} in {whose}"
            )
        return intervals

    @property
    def reliable(self) -> bool:
        """Whether the fit converged and the noise is small enough that the fit can be relied on."""
        return self.fit.reliable

    def contrast(self, weights: object, level: float = 0.95) -> Contrast:
        """Return a weighted sum of coefficients with its errors and its confidence interval, at no further price.

        Parameters
        ----------
        weights : {name: weight} or sequence of one weight for each coefficient
        level : float
            The confidence level of the interval.

        Returns
        -------
        Contrast
            The estimate of the weighted sum, with its errors and its interval.

        Raises
        ------
        ParameterError
            HG194: a name in the weighted sum is not the name of a coefficient. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> fit.contrast({"Intercept": 1, "x": 2}).standard_error > 0
        True
        """
        (asked,), level = hypotheses(weights, self.names), parse_level(level)
        row = asked.weights
        return Contrast(
            float(row @ self.fit.params), *self.fit.errors(row), *self._region(row).ends(level), level, self.reliable
        )

    def t_test(self, contrasts: object, level: float = 0.95) -> ContrastTests:
        """Test weighted sums of coefficients, two-sided, as the method `t_test` of statsmodels does.

        The tests cost no budget, since they are computed from released numbers. A test rejects at level α exactly if
        the interval at level 1 − α excludes the value of the hypothesis, so the test includes the privacy noise.

        Parameters
        ----------
        contrasts : str, {name: weight}, sequence or array
            The hypotheses: an equation such as ``"10 * age - educ = 5"``, several equations in a list or separated by
            commas, a mapping of weights, or an array with one weight for each coefficient.

        Returns
        -------
        ContrastTests
            The tests in the order of the hypotheses, each with a p-value (``.pvalue``).

        Raises
        ------
        ParameterError
            HG194: a hypothesis is not about a weighted sum of coefficients. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 2000, "y": [1.0, 2.0, 2.0, 4.0] * 2000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> fit.t_test("x = 2")[0].pvalue < 0.01 < fit.t_test("x = 0.9")[0].pvalue
        True
        """
        level, tests = parse_level(level), []
        for hypothesis in hypotheses(contrasts, self.names):
            effect, sd = float(hypothesis.weights @ self.fit.params), math.hypot(*self.fit.errors(hypothesis.weights))
            region = self._region(hypothesis.weights)
            distance = effect - hypothesis.value
            tvalue = distance / sd if sd else math.copysign(math.inf, distance) if distance else 0.0
            pvalue = pvalue_of(region, hypothesis.value)
            tests.append(
                ContrastTest(hypothesis.name, effect, sd, hypothesis.value, tvalue, pvalue, *region.ends(level), level)
            )
        return ContrastTests(tuple(tests))

    def _region(self, weights: Floats) -> ScoreRegion:
        """Return the values of a weighted sum of coefficients that are not rejected."""
        return ScoreRegion(LevelTest(partial(self.fit.accepted, weights), self.about.mechanism.type))

    @property
    def tvalues(self) -> dict[str, float]:
        """Each coefficient divided by its standard error."""
        return dict(zip(self.names, self.t_test(np.eye(len(self))).tvalue.tolist(), strict=True))

    @property
    def pvalues(self) -> dict[str, float]:
        """The p-value of the test that each coefficient is 0."""
        return dict(zip(self.names, self.t_test(np.eye(len(self))).pvalue.tolist(), strict=True))

    def predict(self, records: object, level: float = 0.95) -> list[Contrast]:
        """Return the predicted response for each given record, with an interval.

        Parameters
        ----------
        records : {column: value}, {column: values}, list of {column: value}, or data frame
            One record or several records: a mapping, or a frame of pandas, polars, pyarrow or another library that
            narwhals reads.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        list of Contrast
            A list with one prediction for each record, even for a single record.

        Raises
        ------
        ParameterError
            HG194: a record lacks a column of the model, or has a value that was not declared.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> len(fit.predict({"x": 1.0})), len(fit.predict({"x": [1.0, 2.0]})), len(fit.predict(data))
        (1, 2, 2000)
        """
        return [self.contrast(self._regressors_of(record).tolist(), level) for record in records_of(records)]

    def _regressors_of(self, record: Mapping[str, Any]) -> Floats:
        model, values = self.about.model, []
        for regressor in self.regressors:
            value = 1.0
            for column, level in regressor.monomial.levels:
                if record.get(column) not in model.categories[column]:
                    raise unfit(f"column {column!r} has no declared value")
                value *= float(record[column] == level)
            for column, power in regressor.monomial.powers:
                number = record.get(column, computed_from(record, column))
                if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
                    raise unfit(f"column {column!r} has no number")
                value *= float(number) ** power
            values.append(value)
        return np.array(values)

    def __len__(self) -> int:
        return len(self.regressors)

    def __repr__(self) -> str:
        cell = "".join(f", {column}={value}" for column, value in self.cell.items())
        return f"<{type(self).__name__} {self.about.formula}{cell}, {len(self)} coefficients, {self.price()}>"

    def __str__(self) -> str:
        return self.summary()

    def price(self) -> str:
        """Return the privacy price as one line of text. The line of a simulated result says that it has no price."""
        return SIMULATED if self.certificate is None else self.certificate.price()

    def missing_in_words(self) -> tuple[str, ...]:
        """Return a sentence on how missing values were treated; none if a note of the result says the same."""
        return ()

    def summary(self, level: float = 0.95, *, p_values: bool = False, stars: bool = False) -> str:
        """Return the table of coefficients as text, with facts about the fit, the price and the notes.

        Parameters
        ----------
        level : float
            The confidence level of the intervals.
        p_values : bool
            Whether to print the columns t and P>|t|, as statsmodels does; the tests include the privacy noise.
        stars : bool
            Whether to mark coefficients whose p-value is below 0.05, 0.01 and 0.001.

        Returns
        -------
        str

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> "P>|t|" in fit.summary(p_values=True)
        True
        """
        table = self._table(level, p_values=p_values, stars=stars)
        return Lines("\n".join([*self.head(), "", table, "", *self.closing()]))

    def closing(self) -> tuple[str, ...]:
        """Return the lines of text below the table of coefficients: the price and the notes."""
        return (self.price(), *self.missing_in_words(), *self.notes, *((REPLAYED,) if self.replayed else ()))

    def table(self, level: float = 0.95) -> str:
        """Return only the coefficients, with their errors and intervals, as text."""
        return self._table(level, p_values=False, stars=False)

    def _table(self, level: float, *, p_values: bool, stars: bool) -> str:
        intervals, params, bse = self.conf_int(level), self.params, self.bse
        tests = {test.name: test for test in self.t_test(np.eye(len(self)))} if p_values or stars else {}
        ends = f"[{(1 - level) / 2:.3g}", f"{(1 + level) / 2:.3g}]"
        rows = [["", "coef", "std err", "sampling", "privacy", *(("t", "P>|t|") if p_values else ()), *ends]]
        for name, test in zip(self.names, tests.values() or repeat(None), strict=False):
            errors = (bse[name], self.sampling_error[name], self.privacy_error[name])
            coefficient = _number(params[name]) + (starred(test.pvalue) if stars and test else "")
            tested = (f"{test.tvalue:.3f}", f"{test.pvalue:.3f}") if p_values and test else ()
            rows.append([name, coefficient, *map(_number, errors), *tested, *map(_number, intervals[name])])
        return Lines("\n".join(aligned(rows, 1)))

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return one line for each coefficient, in columns of equal length. Infinite numbers become None."""
        ends = list(self.conf_int(level).values())
        return {
            **{column: [value] * len(self) for column, value in self.cell.items()},
            "term": list(self.names),
            "estimate": list(self.params.values()),
            "standard_error": list(map(finite, self.bse.values())),
            "sampling_error": list(map(finite, self.sampling_error.values())),
            "privacy_error": list(map(finite, self.privacy_error.values())),
            "low": [finite(low) for low, _ in ends],
            "high": [finite(high) for _, high in ends],
            "reliable": [self.reliable] * len(self),
        }

    def error_bars(self, level: float = 0.95) -> list[ErrorBar]:
        """Return the coefficients as error bars on one axis that shows 0; the intercept has a panel of its own."""
        from hedgerow.plots.bars import ErrorBar

        cell, bars = ", ".join(f"{column}={value}" for column, value in self.cell.items()), []
        for name, ends in sorted(self.conf_int(level).items(), key=lambda item: item[0] == INTERCEPT):
            alone = name == INTERCEPT
            label = (cell or "all") if alone else ", ".join(filter(None, (name, cell)))
            drawn = (label, self.params[name], ends.low, ends.high, self.privacy_error[name], self.reliable)
            bars.append(ErrorBar(*drawn, panel=name if alone else COEFFICIENTS, about_zero=not alone))
        return bars

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw each coefficient with its interval and the part of the interval that comes from the noise.

        The coefficients share one axis with a line at 0. The intercept is drawn in a panel of its own.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes of matplotlib in which the picture is drawn. If no axes are given, a new figure is made.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        matplotlib.axes.Axes
            The axes of the first panel.

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> fit.plot().get_title(loc="left")
        'coefficients'
        """
        from hedgerow.plots.bars import draw_error_bars
        from hedgerow.plots.figure import shown_in_notebook

        with shown_in_notebook():
            return draw_error_bars(self.error_bars(level), level=level, ax=ax)

    def card_lines(self) -> list[Line]:
        """Return one line for each coefficient, as a notebook card shows it."""
        from hedgerow.plots.notebook import Line

        unsure = "" if self.reliable else " (not reliable)"
        cell = (", ".join(f"{column}={value}" for column, value in self.cell.items()),) if self.cell else ()
        lines = []
        for name, ends in self.conf_int().items():
            printed = ends.outward(decimals(self.bse[name]))
            errors = (finite(self.bse[name]), finite(self.sampling_error[name]), finite(self.privacy_error[name]))
            lines.append(Line((*cell, name + unsure), self.params[name], errors, (printed.low, printed.high)))
        return lines

    def _repr_html_(self) -> str:
        return card_of_fits([self], self.plot)

    def coefficients(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a list of the coefficients, each with its errors, as plain JSON data. Infinite numbers become null."""
        columns = self.to_columns(level)
        records = []
        for place, name in enumerate(self.names):
            errors = {
                key: columns[key][place] for key in ("estimate", "standard_error", "sampling_error", "privacy_error")
            }
            ends = {"low": columns["low"][place], "high": columns["high"][place], "level": level}
            records.append({"term": name, **errors, "confidence_interval": ends, "reliable": self.reliable})
        return records

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data: the request, the coefficients, the underlying noisy numbers, and the certificate."""
        return record_of_fits([self], level)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the JSON text.

        If `path` is given, also write the text to this file (error HG118: the file cannot be written).
        """
        return written(self.to_dict(), path)


AnyFit = Coefficients[Any, Any]


def record_of_fits(fits: Sequence[AnyFit], level: float) -> dict[str, Any]:
    """Return the record of one release, as plain JSON data; null stands for what is infinite or hidden."""
    first = fits[0]
    cells = [
        {
            "cell": dict(fit.cell),
            **fit.known(),
            "reliable": fit.reliable,
            "coefficients": fit.coefficients(level),
            "notes": list(fit.notes),
            "released": fit.released.tolist(),
        }
        for fit in fits
    ]
    facts, asked = {**first.about.facts, "notes": list(first.about.remarks)}, first.about.request
    read = {} if asked is None else {"reading": READING, "request": asked}
    made = {**read, "regression": first.asked(), "fits": cells}
    if first.certificate is None:
        return {"release": facts | {"simulated": True}, **made}
    return {"release": facts, **made, "certificate": first.certificate.to_dict()}


@contextmanager
def reading_back() -> Iterator[None]:
    """Turn whatever a record that is none of a regression raises into HG502."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise VerificationError(
            "HG502",
            rule="A regression is read only from a record that hedgerow wrote.",
            finding="The given text is another kind of record.",
            remedy="Use the unchanged record, or the result in the ledger.",
        ) from None


def _number(value: float) -> str:
    return f"{value:.5g}" if math.isfinite(value) else ("-inf" if value < 0.0 else "inf")
