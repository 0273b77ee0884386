"""What is asked of a survey about regressions: `Survey.ols`, `Survey.logit` and their plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Unpack

from hedgerow.facts.budget import warn_about_budget
from hedgerow.facts.declared import Facts, naming_facts_nearby
from hedgerow.keywords import takes
from hedgerow.progress import working
from hedgerow.release.options import LogitOptions, RegressionOptions
from hedgerow.release.spend import OpenedSource, spend

if TYPE_CHECKING:
    from hedgerow.regression.logit.logit_regression import LogitRegression
    from hedgerow.regression.logit.release_logit import PlannedLogit
    from hedgerow.regression.regression import Regression, RegressionByCell
    from hedgerow.regression.release_regression import PlannedRegression


class AsksRegressions:
    """The regressions of an opened survey."""

    facts: Facts | None
    identity: str

    def _opened(self) -> OpenedSource:
        raise NotImplementedError

    @contextmanager
    def _asking(self) -> Iterator[OpenedSource]:
        with naming_facts_nearby(self.facts, self.identity.partition("::")[0]):
            yield self._opened()

    @takes(RegressionOptions, noise="auto", intercept=True, robust=False)
    @working("Planning, reading and releasing")
    def ols(
        self, formula: str, regressors: Sequence[str] | None = None, **options: Unpack[RegressionOptions]
    ) -> Regression | RegressionByCell:
        """Release a linear regression.

        The standard errors of the coefficients include sampling error and privacy noise.

        Guarantee: everything in the result together is (ε, δ)-differentially private. Submodels, contrasts and
        predictions are computed from the released numbers and cost no further budget.

        Parameters
        ----------
        formula : str
            The formula, such as ``"income ~ age + educ + C(sex)"``. The term ``C(column)`` gives one coefficient for
            each declared category except the first. The terms ``a:b`` and ``a * b`` are products, ``I(age ** 2)`` is a
            power, and ``- 1`` removes the intercept. Formulas with ``~`` need the extra package ``hedgerow[formulas]``.
        regressors : list of str, optional
            The terms of the model, if `formula` is only the name of the response. If the terms are a list, the package
            formulaic is not needed.
        **options
            Options: ``bounds={column: (low, high)}`` for numeric columns and ``categories={column: [value, …]}``, if
            the facts do not declare them. The option ``intercept=False`` removes the intercept. The option
            ``guess={column: {"mean": …}}`` states means that were guessed without the data; the guess improves how the
            release divides its precision. The option ``clip_norm=1.0`` shrinks records that lie far from the middle of
            the bounds; the share of shrunk records is released. The option ``robust=True`` (HC1) or ``"HC0"`` requests
            standard errors that are valid under heteroscedasticity, for a small part of the price. If a privacy unit
            can have several rows, the standard errors are always clustered by unit. The option ``weights=(column,
            largest)`` weights the records; the standard errors are then robust. The options ``by``, ``where``,
            ``epsilon``, ``delta``, ``rho``, ``mu``, ``noise``, ``missing``, ``other`` and ``request_id`` are as in
            `release`. A record is left out if a column of the model is missing, or contains a category that was not
            declared.

        Returns
        -------
        Regression, or with `by` a RegressionByCell
            The fit, with ``.params``, ``.bse``, ``.conf_int()``, ``.cov_params()``, ``.summary()``, ``.submodel(…)``,
            ``.contrast(…)``, ``.predict(…)`` and ``.certificate``.

        Raises
        ------
        HedgerowError
            HG190 to HG192: the formula is invalid. HG197: robust standard errors are not possible for this fit. HG104:
            bounds are missing. HG111: categories are missing. HG188 and HG402: Laplace noise, weights or a clip norm
            were requested, which are not available if a privacy unit can have several rows. If the noise is too large
            for a fit, the fit is still returned, marked as unreliable. The intervals of such an unreliable fit contain
            every possible value.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> ages = [20.0, 30.0, 40.0, 60.0] * 5000
        >>> pay = [100.0 + 2.0 * age + 10.0 * (place % 3) for place, age in enumerate(ages)]
        >>> survey = hg.open(pyarrow.table({"age": ages, "pay": pay}), relation="replace-one")
        >>> fit = survey.ols("pay", ["age"], bounds={"age": (0, 100), "pay": (0, 400)}, epsilon=1.0)
        >>> 1.5 < fit.params["age"] < 2.5, fit.certificate.epsilon <= 1.0
        (True, True)
        """
        from hedgerow.regression.release_regression import planned_regression

        request_id = options.pop("request_id", None)
        with self._asking() as opened:
            plan = planned_regression(formula, regressors, opened, **options)
            warn_about_budget(plan.epsilon, plan.delta, opened.n, frames=4)
            return spend(plan, opened.account(request_id)).with_backend(opened.backend)

    @takes(RegressionOptions, noise="auto", intercept=True, robust=False)
    @working("Planning")
    def plan_ols(
        self, formula: str, regressors: Sequence[str] | None = None, **options: Unpack[RegressionOptions]
    ) -> PlannedRegression:
        """Return the plan and the privacy price of `ols` with the same arguments, without reading data.

        No value is read.

        Parameters
        ----------
        formula, regressors, **options
            The arguments of `ols`.

        Returns
        -------
        PlannedRegression
            The plan. The price of the plan is ``.epsilon`` at ``.delta``, and ``.expected(guess)`` returns the expected
            errors.

        Raises
        ------
        HedgerowError
            The errors that the method `ols` raises before data are read. Nothing is spent.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> plan = survey.plan_ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> plan.epsilon <= 1.0
        True
        """
        from hedgerow.regression.release_regression import planned_regression

        options.pop("request_id", None)
        with self._asking() as opened:
            return planned_regression(formula, regressors, opened, **options)

    @takes(LogitOptions, value=1, steps=2, intercept=True)
    @working("Planning, reading and releasing")
    def logit(
        self, formula: str, regressors: Sequence[str] | None = None, **options: Unpack[LogitOptions]
    ) -> LogitRegression:
        """Release a logistic regression.

        The standard errors of the coefficients include sampling error and privacy noise.

        Guarantee: everything in the result together is (ε, δ)-differentially private. Contrasts and predictions are
        computed from the released numbers and cost no further budget. A logistic regression is computed from a few
        noisy Newton steps. Each Newton step releases the gradient and the curvature at public coefficients, with noise.

        Parameters
        ----------
        formula, regressors
            The formula or the terms, as in `ols`. The response column may contain numbers, texts or booleans.
        value : number, text or boolean
            The outcome is 1 in records whose response equals `value`, and 0 in all other records. The default is 1. If
            the declared type of the response is text, `value` must be given (HG111).
        steps : int
            The number of Newton steps, which share the privacy price. The default is 2 steps with an intercept (a pilot
            step and one more), and 5 steps without an intercept.
        **options
            The options ``bounds``, ``categories`` and ``intercept`` are as in `ols`. The options ``where``,
            ``epsilon``, ``delta``, ``rho``, ``mu`` and ``request_id`` are as in `release`. A record is left out if a
            column of the model is missing, or contains a category that was not declared.

        Returns
        -------
        LogitRegression
            The fit, with ``.params``, ``.bse``, ``.conf_int()``, ``.cov_params()``, ``.summary()``, ``.contrast(…)``,
            ``.certificate`` and ``.predict(…)``, which returns probabilities.

        Raises
        ------
        HedgerowError
            HG190 to HG192: the formula is invalid. HG196: the number of Newton steps is invalid. HG104: bounds are
            missing. HG111: categories are missing. If the fit does not converge or the noise is too large, the fit is
            still returned, marked as unreliable. The intervals of a fit that does not converge have infinite ends.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> ages = [20.0, 30.0, 40.0, 60.0] * 5000
        >>> old = [int(age * (place % 7) > 120) for place, age in enumerate(ages)]
        >>> survey = hg.open(pyarrow.table({"age": ages, "old": old}), relation="add-remove")
        >>> fit = survey.logit("old", ["age"], bounds={"age": (0, 100)}, epsilon=2.0)
        >>> fit.reliable, 0.02 < fit.params["age"] < 0.12, fit.certificate.epsilon <= 2.0
        (True, True, True)
        """
        from hedgerow.regression.logit.release_logit import planned_logit

        request_id = options.pop("request_id", None)
        with self._asking() as opened:
            plan = planned_logit(formula, regressors, opened, **options)
            warn_about_budget(plan.budget.epsilon, plan.budget.delta, opened.n, frames=4)
            return spend(plan, opened.account(request_id)).with_backend(opened.backend)

    @takes(LogitOptions, value=1, steps=2, intercept=True)
    @working("Planning")
    def plan_logit(
        self, formula: str, regressors: Sequence[str] | None = None, **options: Unpack[LogitOptions]
    ) -> PlannedLogit:
        """Return the plan and the privacy price of `logit` with the same arguments, without reading data.

        No value is read.

        Parameters
        ----------
        formula, regressors, **options
            The arguments of `logit`.

        Returns
        -------
        PlannedLogit
            The plan. The plan: ``.price`` is the certificate of the planned fit, and ``.expected(guess)`` returns the
            expected errors.

        Raises
        ------
        HedgerowError
            The errors that the method `logit` raises before data are read. Nothing is spent.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> plan = survey.plan_logit("z", ["x"], bounds={"x": (0, 3)}, epsilon=1.0)
        >>> plan.price.epsilon <= 1.0
        True
        """
        from hedgerow.regression.logit.release_logit import planned_logit

        options.pop("request_id", None)
        with self._asking() as opened:
            return planned_logit(formula, regressors, opened, **options)
