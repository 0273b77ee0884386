"""`Regression`: coefficients with standard errors that count sampling and privacy noise, and what follows of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Missing
from hedgerow.facts.printed import Lines, number
from hedgerow.facts.validation import format_argument
from hedgerow.inference.estimates_of_cells import HIDDEN
from hedgerow.mechanisms.certificate import Certificate, record_of
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.joint.joint_numbers import JointReading
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.regression.clustered import ClusterRelease, TotalsOfUnits, clusters_of
from hedgerow.regression.coefficients import (
    Coefficients,
    FitContext,
    reading_back,
    record_of_fits,
)
from hedgerow.regression.contrasts import unfit
from hedgerow.regression.features import LinearFeatures, model_of_record, model_record, written
from hedgerow.regression.formula import INTERCEPT, FormulaTerms
from hedgerow.regression.least_squares import REMARK, LeastSquaresFit, RegressionMoments, noise_parts
from hedgerow.regression.model_table import FitOutputs, card_of_fits, counted_in_words, finite
from hedgerow.regression.sandwich import BITS_IN_ALL, CLASSICAL, WEIGHTS, RobustFit, SandwichRelease, second_of
from hedgerow.release.spend import Receipt
from hedgerow.resampling.counted_values import Monomial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.plots.bars import ErrorBar

Floats = NDArray[np.float64]
_HIDDEN = (
    "The noise swamps the moments of the regressors: these coefficients are not reliable, and their intervals are as "
    "wide as what is known. The price was paid; a larger epsilon, more records or fewer regressors would help."
)
_SHRUNK = (
    "The noise is large beside the moments of the regressors: estimates are drawn towards 0, which makes them wrong by "
    "less on average. Intervals are not drawn, and an estimate need not be in their middle."
)
_NEAR = "The noise is not small beside the moments of the regressors: standard errors are approximate."


_HOW = (
    "Sums of the columns and of their products were computed exactly, noise was added once, and the coefficients were "
    "read from the noisy sums by least squares. Standard errors count the sampling of records and the noise; an "
    "interval counts that the moments of the regressors are noisy too, and has no end where the noise hides it."
)


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Coefficients[LinearFeatures, JointMoments]):
    """A least-squares fit for one cell of records, computed from noisy moments.

    Guarantee: everything in the result together is (ε, δ)-differentially private, at the price that ``certificate``
    states. Contrasts and predictions are computed from released numbers, so they cost no further budget.

    Attributes
    ----------
    about : FitContext
        The request and the data source, with all public facts.
    released : float array
        The released noisy numbers of this cell, in the order in which the mechanism lists them.
    regressors : tuple of Regressor
        The terms of this fit: all terms of the request, or fewer terms for a submodel.
    certificate : Certificate or None
        The certificate of the fit; None for a simulated result.
    cell : mapping
        The cell of records as {column: category}; empty if the fit has no groups (`by`).
    second : SandwichRelease, ClusterRelease or None
        The numbers that a second step of the release added, for standard errors that are robust or clustered. The
        attribute `second` is None if the standard errors are neither robust nor clustered.
    """

    family: ClassVar[str] = "OLS"
    how: ClassVar[str] = _HOW

    second: SandwichRelease | ClusterRelease | None = None

    @cached_property
    def fit(self) -> LeastSquaresFit:
        """The algebra behind it."""
        model = self.about.model
        constant = INTERCEPT in self.names or any(
            all(
                any(
                    regressor.monomial.levels == ((column, value),) and not regressor.monomial.powers
                    for regressor in self.regressors
                )
                for value in values
            )
            for column, values in model.categories.items()
        )
        rows, shrinks = model.rows(self.regressors), self.about.shrinks
        fit = LeastSquaresFit(self.moments, rows, model.target, constant, shrinks=shrinks)
        return fit if self.second is None else self.second.robust_fit(fit, model)

    @cached_property
    def moments(self) -> RegressionMoments:
        """The noisy second moments from which the fit is computed."""
        about = self.about
        reading = self._reading(about.model.moments())
        totals = np.append(about.model.untangled @ reading.values(self.released[None, :])[0], 0.0)
        n = max(float(totals[0]), 1.0)
        parts = noise_parts(about.model, reading.mixing, n)
        law = about.mechanism.noise_law.name
        return RegressionMoments(float(totals[0]), totals[about.model.table] / n, parts, law, about.census)

    @property
    def public(self) -> bool:
        """Whether the number of records is public. A public number has no noise."""
        return self.about.mechanism.layout.presence == "public"

    def _reading(self, wanted: Sequence[Monomial]) -> JointReading:
        return self.about.mechanism.reading(wanted, n=self.about.n if self.public else None)

    @property
    def rsquared(self) -> float:
        """R², the share of the response's variance that the regressors explain. R² is NaN if the noise hides R²."""
        return self.fit.rsquared

    @property
    def _what(self) -> str:
        """What is counted: the rows of units of several rows, else records."""
        return "records" if self.about.mechanism.layout.most_rows is None else "rows"

    @property
    def scale(self) -> float:
        """The estimated variance of the residuals."""
        return self.fit.scale

    @property
    def nobs(self) -> float:
        """The number of records, public or noisy. With weights, the sum of weights divided by the largest weight."""
        return self.moments.n

    @property
    def weight(self) -> float:
        """The sum of the weights of the records. Without weights, the number of records."""
        weights = self.about.facts.get("weights")
        return self.nobs * (1.0 if weights is None else float(weights["most"]))

    @property
    def df_resid(self) -> float:
        """The residual degrees of freedom, which are records minus regressors, and at least 1."""
        return self.fit.freedom

    @cached_property
    def shrunk(self) -> tuple[float, float] | None:
        """The share of records that were shrunk into the ball, and the error of this share. None without a ball."""
        model = self.about.model
        if model.ball is None:
            return None
        reading = self._reading([(), ((len(model.features), 1),)])
        n, total = reading.values(self.released[None, :])[0]
        size = max(float(n), 1.0)
        share = (float(total) / size + 1.0) / 2.0
        slope = np.array([-float(total) / size, 1.0]) / (2.0 * size)
        return min(max(share, 0.0), 1.0), float(np.linalg.norm(slope @ reading.mixing))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers, as sentences."""
        hidden = () if self.reliable else (_HIDDEN,)
        near = (_NEAR,) if self.reliable and self.fit.noise_ratio > REMARK else ()
        near = (*near, _SHRUNK) if self.fit.shrunk else near
        sentences: tuple[str, ...] = (HIDDEN,) if self.reliable and self.fit.hidden and not self.about.census else ()
        if self.shrunk is not None:
            share, error = self.shrunk
            sentences += (
                f"Records outside a ball of {self.about.model.ball:g} half-ranges about the midpoints were shrunk into "
                f"it: a share of {share:.3g}, with a standard error of {error:.2g}. The fit is of the records so "
                "changed.",
            )
        if self.second is not None and isinstance(self.fit, RobustFit):
            sentences += self.second.notes(self.fit)
        return (*hidden, *near, *sentences, *self.about.remarks)

    @property
    def size(self) -> str:
        """The number of records or the sum of weights, and R², in words."""
        determined = "hidden by the noise" if math.isnan(self.rsquared) else number(self.rsquared, 4)
        weighed = self.about.facts.get("weights") is not None
        size = f"sum of weights {number(round(self.weight))}" if weighed else f"{number(round(self.nobs))} {self._what}"
        return f"{size}, R² {determined}"

    def facts_of_fit(self) -> dict[str, str]:
        """Return R² and the number of records or the sum of weights, by name."""
        size = "Records" if self.about.facts.get("weights") is None else "Sum of weights"
        determined = "hidden" if math.isnan(self.rsquared) else number(self.rsquared, 3)
        return {size: number(round(self.weight)) + ("" if self.public else " (noisy)"), "R²": determined}

    def missing_in_words(self) -> tuple[str, ...]:
        """Return a sentence that says how records with missing values were treated."""
        dropped = self.about.facts.get("missing") == Missing.DROP
        return ("Records with a missing value in any column of the model are left out.",) if dropped else ()

    def submodel(self, formula: object, regressors: object = None, *, intercept: bool = True) -> Regression:
        """Return a fit with fewer regressors, computed from the same released numbers at no further price.

        Parameters
        ----------
        formula, regressors, intercept
            The formula of the submodel, as in `Survey.ols`. The columns and products of all terms of the submodel must
            be in the released model.

        Returns
        -------
        Regression

        Raises
        ------
        ParameterError
            HG193: the released numbers do not determine the submodel. HG193 is also raised if the privacy unit has
            several rows: such a fit has no submodels.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> list(fit.submodel("y", []).params)
        ['Intercept']
        """
        model = self.about.model
        terms = FormulaTerms.parsed(formula, regressors, intercept=intercept)
        if self.about.mechanism.layout.most_rows is not None:
            raise ParameterError(
                "HG193",
                rule="For units of several rows, the standard errors of a regression need the residuals of its own "
                "model.",
                finding=f"The release is of {self.about.formula}; asked was {format_argument(formula)}.",
                remedy="Release the submodel in a release of its own.",
            )
        if terms.response == model.response and set(terms.categories) <= set(model.categories):
            regressors_left = terms.regressors(model.categories)
            known = {regressor.monomial for regressor in model.regressors} | set(model.features)
            if all(regressor.monomial in known or regressor.name == INTERCEPT for regressor in regressors_left):
                request = self.about.request
                if request is not None:
                    request = {**request, "submodel": {"formula": str(formula), **terms.record()}}
                about = replace(self.about, formula=str(formula), request=request)
                if self.second is not None:
                    about = replace(about, remarks=(*about.remarks, CLASSICAL))
                return replace(self, about=about, regressors=regressors_left, second=None)
        raise ParameterError(
            "HG193",
            rule="A submodel needs the response of the release, and terms that the release contains.",
            finding=f"The release is of {self.about.formula}; asked was {format_argument(formula)}.",
            remedy="Release the missing terms separately, or add the missing terms to the formula of the next release.",
        )

    def header(self) -> dict[str, str]:
        """Return the facts above the coefficients that statsmodels prints, under the same names as in statsmodels."""
        weighed = self.about.facts.get("weights") is not None
        size = f"{self.weight:,.6g}" if weighed else f"{self.nobs:,.0f}"
        return {
            "Dep. Variable": self.about.model.response,
            "Sum of weights" if weighed else counted_in_words(self._what): size + ("" if self.public else " (noisy)"),
            "Model": self.family,
            "R-squared": "hidden by the noise" if math.isnan(self.rsquared) else f"{self.rsquared:.4g}",
            "Covariance Type": "nonrobust" if self.second is None else self.second.kind,
        }

    def asked(self) -> dict[str, Any]:
        """Return the request as plain JSON data."""
        question, ball = model_record(self.about.model, self.about.formula, self.regressors), self.about.model.ball
        question |= {} if ball is None else {"clip_norm": ball}
        question |= {"shrinks": True} if self.about.shrinks else {}
        return question if self.second is None else question | {"robust": self.second.kind}

    def known(self) -> dict[str, Any]:
        """Return the number of records, R² and the numbers for robust or clustered errors, as plain JSON data."""
        second = {} if self.second is None else {"second_step": self.second.to_dict()}
        size = "records" if self.about.facts.get("weights") is None else "sum_of_weights"
        return {size: self.weight, "rsquared": finite(self.rsquared)} | second


@dataclass(frozen=True, eq=False, repr=False)
class RegressionByCell(FitOutputs, Sequence[Regression]):
    """The fits of all cells (groups of records) of one release, in the order of the cells.

    All fits share one certificate.
    """

    fits: tuple[Regression, ...]

    def __getitem__(self, index: Any) -> Any:
        return self.fits[index]

    def __iter__(self) -> Iterator[Regression]:
        return iter(self.fits)

    def __len__(self) -> int:
        return len(self.fits)

    def _received(self, receipt: Receipt) -> RegressionByCell:
        """Return the fits with the receipt of the ledger."""
        return RegressionByCell(tuple(fit._received(receipt) for fit in self.fits))

    def with_backend(self, backend: str | None) -> RegressionByCell:
        """Return the same fits, whose method `to_frame` will use the data frame library of the caller."""
        return RegressionByCell(tuple(fit.with_backend(backend) for fit in self.fits))

    def __repr__(self) -> str:
        return f"<Regressions {self.fits[0].about.formula} of {len(self)} cells, {self.fits[0].price()}>"

    def __str__(self) -> str:
        return self.summary()

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw the coefficients of all cells: coefficients of the same name share one panel, as in `Regression.plot`.

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
        >>> fits = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, by={"z": [0, 1]}, epsilon=1.0)
        >>> fits.plot().get_title(loc="left")
        'coefficients'
        """
        from hedgerow.plots.bars import draw_error_bars
        from hedgerow.plots.figure import shown_in_notebook

        with shown_in_notebook():
            return draw_error_bars(self.error_bars(level), level=level, ax=ax)

    def _repr_html_(self) -> str:
        return card_of_fits(self.fits, self.plot)

    def summary(self, level: float = 0.95, *, p_values: bool = False, stars: bool = False) -> str:
        """Return one table of coefficients for each cell, as text.

        The price and each note are printed once, below all tables.

        Parameters
        ----------
        level : float
            The confidence level of the intervals.
        p_values : bool
            Whether to print the columns t and P>|t|, as statsmodels does; the tests include the privacy noise. The
            printed tests include the privacy noise.
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
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fits = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, by={"z": [0, 1]}, epsilon=1.0)
        >>> "P>|t|" in fits.summary(p_values=True)
        True
        """
        shown = [fit._table(level, p_values=p_values, stars=stars) for fit in self.fits]
        tables = ["\n".join([*fit.head(), "", table, ""]) for fit, table in zip(self.fits, shown, strict=True)]
        return Lines("\n".join([*tables, *dict.fromkeys(line for fit in self.fits for line in fit.closing())]))

    def table(self, level: float = 0.95) -> str:
        """Return the coefficients of every cell as text, below the name of the cell."""
        return Lines("\n\n".join(f"{fit.title}\n{fit.table(level)}" for fit in self.fits))

    @property
    def certificate(self) -> Certificate | None:
        """The price of all cells together. Each record lies in only one cell."""
        return self.fits[0].certificate

    @property
    def unrecorded(self) -> bool:
        """Whether the ledger holds only the price of the release, without its result."""
        return self.fits[0].unrecorded

    @property
    def replayed(self) -> bool:
        """Whether the result was read from the record of the ledger."""
        return self.fits[0].replayed

    def at(self, **cell: Any) -> Regression:
        """Return the fit of one cell; error HG194 says that no such cell exists."""
        for fit in self.fits:
            if dict(fit.cell) == cell:
                return fit
        raise unfit("no cell has these categories")

    @property
    def backend(self) -> str | None:  # type: ignore[override]  # read from the first fit, not a field
        """The caller's own frame library."""
        return self.fits[0].backend

    def error_bars(self, level: float = 0.95) -> list[ErrorBar]:
        """Return the coefficients of all cells as error bars; coefficients of the same name stand side by side."""
        fits = [fit.error_bars(level) for fit in self.fits]
        return [bar for bars in zip(*fits, strict=True) for bar in bars]

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return one line for each coefficient of each cell, in columns of equal length."""
        tables = [fit.to_columns(level) for fit in self.fits]
        return {key: [value for table in tables for value in table[key]] for key in tables[0]}

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data of all fits, in the form of `Regression.to_dict`."""
        return record_of_fits(self.fits, level)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the JSON text.

        If `path` is given, also write the text to this file (error HG118: the file cannot be written).
        """
        return written(self.to_dict(), path)


def regressions_from_record(record: Mapping[str, Any] | str) -> tuple[Regression, ...]:
    """Return the fit of each cell, read anew from the released numbers of a record (HG502 where it is none).

    The coefficients that the record states are not looked at: they follow.
    """
    content: Any = record_of(record) if isinstance(record, str) else record
    with reading_back():
        facts, certificate = dict(content["release"]), Certificate.from_dict(content["certificate"])
        parts, notes = parts_of(certificate.mechanism), facts.pop("notes")
        mechanism, robust = JointMoments.of_record(parts[0]), content["regression"].get("robust")
        model, regressors = model_of_record(content["regression"])
        weighted = facts.get("weights") is not None
        model, most_rows = replace(model, bits=BITS_IN_ALL) if weighted else model, mechanism.layout.most_rows
        model = model if most_rows is None else TotalsOfUnits.of(model, most_rows).model
        stated = mechanism.layout
        shares = WEIGHTS if weighted else None
        if stated != model.layout(stated.presence, stated.cells, most_rows=most_rows, shares=shares):
            raise ValueError
        formula, asked = str(content["regression"]["formula"]), content["request"] if "reading" in content else None
        shrinks = content["regression"].get("shrinks", False)
        if not isinstance(shrinks, bool):
            raise ValueError
        about = FitContext(model, formula, mechanism, facts["n"], facts, tuple(notes), asked, shrinks)
        read = partial(second_of, weighted=weighted) if most_rows is None else clusters_of
        seconds = [
            None if robust is None else read(cell["second_step"], kind=robust, parts=parts, model=model)
            for cell in content["fits"]
        ]
        if len(parts) != 1 + (robust is not None):
            raise ValueError
        numbers = [np.array(cell["released"], dtype=np.float64) for cell in content["fits"]]
        fits = tuple(
            Regression(about, own, regressors, certificate, dict(cell["cell"]), second=second)
            for cell, own, second in zip(content["fits"], numbers, seconds, strict=True)
        )
        if any(fit.released.shape != (len(mechanism.names),) for fit in fits) or len(fits) != mechanism.layout.cells:
            raise ValueError
        for fit in fits:
            _ = fit.fit.params
    return fits
