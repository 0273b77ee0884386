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
    from hedgerow.regression.logit_regression import LogitRegression
    from hedgerow.regression.regression import Regression, RegressionByCell
    from hedgerow.regression.release_logit import PlannedLogit
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
        """Release a linear regression: coefficients whose standard errors count sampling and privacy noise.

        Guarantee   (ε, δ)-differential privacy of everything in the result; submodels, contrasts and predictions of it
        cost nothing more.

        Parameters
        ----------
        formula : str
            ``"income ~ age + educ + C(sex)"``: columns, ``C(column)`` for categories (treatment coding, the first
            declared value is the reference), ``a:b`` and ``a * b`` for products, ``I(age ** 2)`` for powers, ``- 1``
            for no intercept. A formula needs the extra ``hedgerow[formulas]``.
        regressors : list of str, optional
            The terms, where `formula` is the name of the response alone; formulaic is not needed.
        **options
            ``bounds={column: (low, high)}`` of numeric columns and ``categories={column: [value, …]}``, where the facts
            have none; ``intercept=False`` beside a list; ``guess={column: {"mean": …}}``, made without the data,
            for which the weights of the release are chosen; ``clip_norm=1.0``: records outside a ball of this length
            about the midpoints, in half-ranges of the bounds, are shrunk into it, and their share is released;
            ``robust=True`` (HC1) or ``"HC0"``: standard errors that hold where variances differ, for a small share of
            the price; ``weights=(column, largest)``: records count by their weights, with robust errors;
            ``by``, ``where``, ``epsilon``, ``delta``, ``rho``, ``mu``, ``noise``, ``missing``, ``other``,
            ``request_id`` as in `release`. A record that misses a value of any
            column of the model, or whose category is not declared, is left out.

        Returns
        -------
        Regression, or with `by` a RegressionByCell
            ``.params``, ``.bse``, ``.conf_int()``, ``.cov_params()``, ``.summary()``, ``.submodel(…)``,
            ``.contrast(…)``, ``.predict(…)``, ``.certificate``.

        Raises
        ------
        HedgerowError
            HG190 to HG192 for the formula, HG197 for robust errors, HG104 for bounds, HG111 for categories, HG402 for
            units of several rows. A fit that the noise swamps is returned, marked unreliable, with intervals as wide as
            what is known.

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
        """Return the plan and the price of `ols` with the same arguments, without reading any value.

        Parameters
        ----------
        formula, regressors, **options
            As in `ols`.

        Returns
        -------
        PlannedRegression
            ``.epsilon`` at ``.delta`` is the price; ``.expected(guess)`` the errors to be expected.

        Raises
        ------
        HedgerowError
            As `ols` before it reads data; nothing is spent.

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
        """Release a logistic regression: coefficients whose standard errors count sampling and privacy noise.

        Guarantee   (ε, δ)-differential privacy of everything in the result; contrasts and predictions of it cost
        nothing more. Each of a few Newton steps releases gradient and curvature at public coefficients, with noise.

        Parameters
        ----------
        formula, regressors
            As in `ols`; the response may be numbers, texts or booleans.
        value : number, text or boolean
            The outcome is 1 where the response equals it, 1 by default, and 0 where it is anything else. It must be
            given where the response holds texts by its declared type (HG111).
        steps : int
            How many steps share the price: 2 by default, a pilot and one more; 5 without an intercept.
        **options
            ``bounds``, ``categories``, ``intercept`` as in `ols`; ``where``, ``epsilon``, ``delta``, ``rho``, ``mu``,
            ``request_id`` as in `release`. A record that misses a value of any column of the model, or whose category
            is not declared, is left out.

        Returns
        -------
        LogitRegression
            ``.params``, ``.bse``, ``.conf_int()``, ``.cov_params()``, ``.summary()``, ``.contrast(…)``,
            ``.predict(…)``: chances, ``.certificate``.

        Raises
        ------
        HedgerowError
            HG190 to HG192 for the formula, HG196 for the steps, HG104 for bounds, HG111 for categories, HG402 for units
            of several rows. A fit that did not converge, or that the noise swamps, is returned, marked unreliable, with
            intervals without an end.

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
        from hedgerow.regression.release_logit import planned_logit

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
        """Return the plan and the price of `logit` with the same arguments, without reading any value.

        Parameters
        ----------
        formula, regressors, **options
            As in `logit`.

        Returns
        -------
        PlannedLogit
            ``.price`` is its certificate; ``.expected(guess)`` the errors to be expected.

        Raises
        ------
        HedgerowError
            As `logit` before it reads data; nothing is spent.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> plan = survey.plan_logit("z", ["x"], bounds={"x": (0, 3)}, epsilon=1.0)
        >>> plan.price.epsilon <= 1.0
        True
        """
        from hedgerow.regression.release_logit import planned_logit

        options.pop("request_id", None)
        with self._asking() as opened:
            return planned_logit(formula, regressors, opened, **options)
