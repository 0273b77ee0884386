"""A method of a survey for each statistic. Written by ``make generate`` from the registry; do not edit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack, overload

from hedgerow.keywords import takes
from hedgerow.release.options import ReleaseOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal

    from hedgerow.facts.columns import Scalar
    from hedgerow.release.options import By, UngroupedOptions
    from hedgerow.release.released_estimate import ReleasedEstimate
    from hedgerow.release.result import Release
    from hedgerow.statistics.statistic import AskedFor, Columns, Floats, Totals
    from hedgerow.statistics.survival import Withdrawn


class AsksStatistics:
    """The shorthands of an opened survey: each releases one statistic."""

    def _released(self, asked: AskedFor, options: ReleaseOptions) -> Any:
        raise NotImplementedError

    @overload
    def mean(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def mean(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def mean(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a mean of values clamped to the bounds LO and HI.

        Shorthand for ``release(hg.mean(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
            The name of a numeric column.
        bounds : (low, high), optional
            The lowest and the highest possible value, which are public and declared by the caller. hedgerow never reads
            bounds from the data. If the bounds are left out, the bounds in the facts file are used. If neither the call nor
            the facts declare bounds, the release is refused. The statistic estimates the mean of the CLAMPED values.
        step : float, optional
            The distance between neighbouring grid values; every value is rounded to the nearest grid value. The step must
            divide the width of the bounds, high − low, exactly. If `bounds` are given without a step, the range is cut into
            1,024 equal steps. If neither bounds nor a step is given, both come from the facts.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.mean` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"age": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.mean("age", bounds=(0, 100), step=1, epsilon=2.0))
        1
        """
        from hedgerow.statistics.mean import mean

        return self._released(mean(column, bounds=bounds, step=step), options)

    @overload
    def sum(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def sum(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def sum(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a sum of values clamped to the bounds LO and HI.

        Shorthand for ``release(hg.sum(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
            The name of a numeric column.
        bounds, step : optional
            The bounds and the step of the column, as in `hedgerow.mean`.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.sum` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"turnover": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.sum("turnover", bounds=(0, 1000), step=10, epsilon=2.0))
        1
        """
        from hedgerow.statistics.mean import sum

        return self._released(sum(column, bounds=bounds, step=step), options)

    @overload
    def proportion(self, column: str, *, value: Scalar, **options: Unpack[UngroupedOptions]) -> ReleasedEstimate: ...
    @overload
    def proportion(self, column: str, *, value: Scalar, by: By, **options: Unpack[UngroupedOptions]) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def proportion(self, column: str, *, value: Scalar, **options: Unpack[ReleaseOptions]) -> Any:
        """Release a proportion: the share of records with a given value.

        Shorthand for ``release(hg.proportion(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
            The name of a column of any type.
        value : str, int, float or bool
            The declared value whose share is estimated.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.proportion` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"employed": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.proportion("employed", value=1, epsilon=2.0))
        1
        """
        from hedgerow.statistics.proportion import proportion

        return self._released(proportion(column, value=value), options)

    @overload
    def count(
        self, *, of: Literal["rows", "units"] = "rows", **options: Unpack[UngroupedOptions]
    ) -> ReleasedEstimate: ...
    @overload
    def count(
        self, *, of: Literal["rows", "units"] = "rows", by: By, **options: Unpack[UngroupedOptions]
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def count(self, *, of: Literal["rows", "units"] = "rows", **options: Unpack[ReleaseOptions]) -> Any:
        """Release the number of records.

        Shorthand for ``release(hg.count(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        of : "rows" or "units"
            For a privacy unit with several rows: ``"rows"`` counts rows, and ``"units"`` counts units (persons,
            households). A unit counts once in every cell that contains one of its rows. The statistic that counts units is
            called ``units``.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.count` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"age": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.count(epsilon=2.0))
        1
        """
        from hedgerow.statistics.mean import count

        return self._released(count(of=of), options)

    @overload
    def variance(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def variance(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def variance(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a variance of values clamped to the bounds LO and HI.

        Shorthand for ``release(hg.variance(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
            The name of a numeric column.
        bounds, step : optional
            The bounds and the step of the column, as in `hedgerow.mean`.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.variance` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"age": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.variance("age", bounds=(0, 100), epsilon=2.0))
        1
        """
        from hedgerow.statistics.variance import variance

        return self._released(variance(column, bounds=bounds, step=step), options)

    @overload
    def standard_deviation(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def standard_deviation(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def standard_deviation(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a standard deviation of values clamped to the bounds LO and HI.

        Shorthand for ``release(hg.standard_deviation(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
            The name of a numeric column.
        bounds, step : optional
            The bounds and the step of the column, as in `hedgerow.mean`.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.standard_deviation` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"age": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.standard_deviation("age", bounds=(0, 100), epsilon=2.0))
        1
        """
        from hedgerow.statistics.variance import standard_deviation

        return self._released(standard_deviation(column, bounds=bounds, step=step), options)

    @overload
    def quantile(
        self,
        column: str,
        probability: float | Sequence[float],
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> Any: ...
    @overload
    def quantile(
        self,
        column: str,
        probability: float | Sequence[float],
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def quantile(
        self,
        column: str,
        probability: float | Sequence[float],
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release quantiles of values clamped to the bounds LO and HI.

        Shorthand for ``release(hg.quantile(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
        probability : number or sequence of numbers
            A number strictly between 0 and 1.
        bounds : (low, high), optional
            The declared bounds of the column. The default bounds are those of the facts.
        step : number, optional
            The distance between neighbouring values, if all values lie on a grid that starts at the lower bound. If a step
            is given, released quantiles are values of the grid.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.quantile` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.quantile("income", [0.1, 0.5], bounds=(0, 200000), step=100, epsilon=2.0))
        2
        """
        from hedgerow.statistics.distribution.quantile import quantile

        return self._released(quantile(column, probability, bounds=bounds, step=step), options)

    @overload
    def ratio(
        self,
        numerator: str,
        denominator: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def ratio(
        self,
        numerator: str,
        denominator: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def ratio(
        self,
        numerator: str,
        denominator: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a ratio of the sums of two columns.

        Shorthand for ``release(hg.ratio(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        numerator, denominator : str
            The names of two numeric columns.
        bounds : {name: (low, high) or (low, high, step)}, optional
            The declared bounds of both columns. The default bounds are those of the facts.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.ratio` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"tax": [20.0, 40.0] * 500, "income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.ratio("tax", "income", bounds={"tax": (0, 50), "income": (0, 100)}, epsilon=2.0))
        1
        """
        from hedgerow.statistics.ratio import ratio

        return self._released(ratio(numerator, denominator, bounds=bounds), options)

    @overload
    def bootstrap(
        self,
        statistic: Callable[[Totals], float],
        *,
        columns: Mapping[str, tuple[float, ...]],
        features: Mapping[str, tuple[Callable[[Columns], Floats], tuple[float, float]]] | None = None,
        name: str | None = None,
        limits: tuple[float, float] = (-math.inf, math.inf),
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def bootstrap(
        self,
        statistic: Callable[[Totals], float],
        *,
        columns: Mapping[str, tuple[float, ...]],
        features: Mapping[str, tuple[Callable[[Columns], Floats], tuple[float, float]]] | None = None,
        name: str | None = None,
        limits: tuple[float, float] = (-math.inf, math.inf),
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def bootstrap(
        self,
        statistic: Callable[[Totals], float],
        *,
        columns: Mapping[str, tuple[float, ...]],
        features: Mapping[str, tuple[Callable[[Columns], Floats], tuple[float, float]]] | None = None,
        name: str | None = None,
        limits: tuple[float, float] = (-math.inf, math.inf),
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release .

        Shorthand for ``release(hg.bootstrap(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        statistic : callable
            A function that takes {feature: total, "count": number of records} and returns a number. The totals are noisy,
            so the function must accept any real numbers. If the function fails or returns no finite number, the estimate is
            marked as unreliable.
        columns : {name: (low, high) or (low, high, step)}
            Numeric columns with their declared bounds.
        features : {name: (function, (low, high))}, optional
            Functions of the columns, each with declared bounds, whose totals are released. The function of a feature
            receives arrays of grid values, and its results are clamped to the bounds of the feature. If no features are
            given, the columns themselves are summed.
        name : str, optional
            The name under which the statistic is printed. The default is the name of the function.
        limits : (low, high)
            The range of possible values of the statistic. Confidence intervals are cut at the ends of the range `limits`.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.bootstrap` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"tax": [20.0, 40.0] * 500, "income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.bootstrap(lambda t: t["tax"] / t["income"], columns={"tax": (0, 50), "income": (0, 100)}, name="rate",
        ...     epsilon=2.0))
        1
        """
        from hedgerow.statistics.own_functions import bootstrap

        return self._released(
            bootstrap(statistic, columns=columns, features=features, name=name, limits=limits), options
        )

    @overload
    def covariance(
        self,
        first: str,
        second: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def covariance(
        self,
        first: str,
        second: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def covariance(
        self,
        first: str,
        second: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a covariance of two columns whose values are clamped to bounds.

        Shorthand for ``release(hg.covariance(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        first, second : str
            The names of two numeric columns.
        bounds : {name: (low, high) or (low, high, step)}, optional
            The declared bounds of both columns. The default bounds are those of the facts.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.covariance` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"age": [20.0, 40.0] * 500, "income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.covariance("age", "income", bounds={"age": (0, 100), "income": (0, 10)},
        ...     epsilon=2.0))
        1
        """
        from hedgerow.statistics.covariance import covariance

        return self._released(covariance(first, second, bounds=bounds), options)

    @overload
    def correlation(
        self,
        first: str,
        second: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def correlation(
        self,
        first: str,
        second: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def correlation(
        self,
        first: str,
        second: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a correlation of two columns whose values are clamped to bounds.

        Shorthand for ``release(hg.correlation(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        first, second : str
            The names of two numeric columns.
        bounds : {name: (low, high) or (low, high, step)}, optional
            The declared bounds of both columns. The default bounds are those of the facts.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.correlation` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"age": [20.0, 40.0] * 500, "income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.correlation("age", "income", bounds={"age": (0, 100), "income": (0, 10)},
        ...     epsilon=2.0))
        1
        """
        from hedgerow.statistics.covariance import correlation

        return self._released(correlation(first, second, bounds=bounds), options)

    @overload
    def function(
        self,
        statistic: Callable[[Mapping[str, Any]], Any],
        *,
        columns: Mapping[str, tuple[float, ...]],
        name: str | None = None,
        limits: tuple[float, float] = (-math.inf, math.inf),
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def function(
        self,
        statistic: Callable[[Mapping[str, Any]], Any],
        *,
        columns: Mapping[str, tuple[float, ...]],
        name: str | None = None,
        limits: tuple[float, float] = (-math.inf, math.inf),
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def function(
        self,
        statistic: Callable[[Mapping[str, Any]], Any],
        *,
        columns: Mapping[str, tuple[float, ...]],
        name: str | None = None,
        limits: tuple[float, float] = (-math.inf, math.inf),
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release .

        Shorthand for ``release(hg.function(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        statistic : callable
            A function that takes {column: mean} and returns a number. The function must be smooth within the bounds. The
            derivative of the function is computed with complex numbers, or by differences if the function does not accept
            complex numbers.
        columns : {name: (low, high) or (low, high, step)}
            Numeric columns with their declared bounds.
        name : str, optional
            The name under which the statistic is printed. The default is the name of the function.
        limits : (low, high)
            The range of possible values of the statistic. Confidence intervals are cut at the ends of the range `limits`.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.function` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"income": [20.0, 40.0] * 500, "household": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> columns = {"income": (0, 200_000, 200), "household": (1, 8, 1)}
        >>> len(survey.function(lambda t: t["income"] / t["household"], columns=columns, name="income per head",
        ...     epsilon=2.0))
        1
        """
        from hedgerow.statistics.own_functions import function

        return self._released(function(statistic, columns=columns, name=name, limits=limits), options)

    @overload
    def share_below(
        self,
        column: str,
        *,
        line: float | None = None,
        of_median: float | None = None,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def share_below(
        self,
        column: str,
        *,
        line: float | None = None,
        of_median: float | None = None,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def share_below(
        self,
        column: str,
        *,
        line: float | None = None,
        of_median: float | None = None,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release shares of the records below a line, or below a part of the median such as 60%.

        Shorthand for ``release(hg.share_below(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
        line, of_median : number
            Give exactly one argument: a fixed value as `line`, or a positive multiple of the median, such as 0.6, as
            `of_median`.
        bounds, step : optional
            The bounds and the step of the column, as in `hedgerow.quantile`. All statistics of one column are computed from
            one table of counts.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.share_below` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.share_below("income", line=12000, bounds=(0, 200000), step=100, epsilon=2.0))
        1
        """
        from hedgerow.statistics.distribution.share_below import share_below

        return self._released(share_below(column, line=line, of_median=of_median, bounds=bounds, step=step), options)

    @overload
    def cdf(
        self,
        column: str,
        *,
        at: float | Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> Any: ...
    @overload
    def cdf(
        self,
        column: str,
        *,
        at: float | Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def cdf(
        self,
        column: str,
        *,
        at: float | Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release shares of the records whose value is at most X.

        Shorthand for ``release(hg.cdf(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
        at : number or sequence of numbers
            One value or several values of the column.
        bounds, step : optional
            The bounds and the step of the column, as in `hedgerow.quantile`. All statistics of one column are computed from
            one table of counts.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.cdf` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.cdf("income", at=[15000, 30000], bounds=(0, 200000), step=100, epsilon=2.0))
        2
        """
        from hedgerow.statistics.distribution.cdf import cdf

        return self._released(cdf(column, at=at, bounds=bounds, step=step), options)

    @overload
    def gini(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> ReleasedEstimate: ...
    @overload
    def gini(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def gini(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a Gini coefficient of values clamped to the bounds LO and HI.

        Shorthand for ``release(hg.gini(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
            The name of a column without negative values.
        bounds, step : optional
            The bounds and the step of the column, as in `hedgerow.quantile`. All statistics of one column are computed from
            one table of counts.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.gini` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.gini("income", bounds=(0, 200000), epsilon=2.0))
        1
        """
        from hedgerow.statistics.distribution.gini import gini

        return self._released(gini(column, bounds=bounds, step=step), options)

    @overload
    def lorenz(
        self,
        column: str,
        *,
        at: float | Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> Any: ...
    @overload
    def lorenz(
        self,
        column: str,
        *,
        at: float | Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def lorenz(
        self,
        column: str,
        *,
        at: float | Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release parts of the total that belong to the lowest share P of the records.

        Shorthand for ``release(hg.lorenz(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
            The name of a column without negative values.
        at : number or sequence of numbers
            One share of the records or several shares, strictly between 0 and 1.
        bounds, step : optional
            The bounds and the step of the column, as in `hedgerow.quantile`. All statistics of one column are computed from
            one table of counts.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.lorenz` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.lorenz("income", at=[0.4, 0.9], bounds=(0, 200000), epsilon=2.0))
        2
        """
        from hedgerow.statistics.distribution.lorenz import lorenz

        return self._released(lorenz(column, at=at, bounds=bounds, step=step), options)

    @overload
    def histogram(
        self,
        column: str,
        *,
        bins: Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[UngroupedOptions],
    ) -> Any: ...
    @overload
    def histogram(
        self,
        column: str,
        *,
        bins: Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def histogram(
        self,
        column: str,
        *,
        bins: Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release shares of the records in bins [END, END); the last bin includes both ends.

        Shorthand for ``release(hg.histogram(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        column : str
        bins : sequence of numbers
            The ends of the bins, in ascending order.
        bounds, step : optional
            The bounds and the step of the column, as in `hedgerow.quantile`. Values are clamped to the bounds before they
            are counted.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.histogram` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"income": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.histogram("income", bins=[0, 10000, 50000], bounds=(0, 50000), step=100,
        ...     epsilon=2.0))
        2
        """
        from hedgerow.statistics.distribution.histogram import histogram

        return self._released(histogram(column, bins=bins, bounds=bounds, step=step), options)

    @overload
    def survival(
        self,
        time: str,
        event: str,
        *,
        at: float | Sequence[float] | None = None,
        bins: Sequence[float] | None = None,
        value: Scalar = 1,
        withdrawn: Withdrawn = "evenly",
        competing: Sequence[Scalar] = (),
        entry: str | None = None,
        start: float = 0.0,
        **options: Unpack[UngroupedOptions],
    ) -> Any: ...
    @overload
    def survival(
        self,
        time: str,
        event: str,
        *,
        at: float | Sequence[float] | None = None,
        bins: Sequence[float] | None = None,
        value: Scalar = 1,
        withdrawn: Withdrawn = "evenly",
        competing: Sequence[Scalar] = (),
        entry: str | None = None,
        start: float = 0.0,
        by: By,
        **options: Unpack[UngroupedOptions],
    ) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def survival(
        self,
        time: str,
        event: str,
        *,
        at: float | Sequence[float] | None = None,
        bins: Sequence[float] | None = None,
        value: Scalar = 1,
        withdrawn: Withdrawn = "evenly",
        competing: Sequence[Scalar] = (),
        entry: str | None = None,
        start: float = 0.0,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release survival: shares of records whose event comes after the times T, with censored records.

        Shorthand for ``release(hg.survival(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
        time : str
            A numeric column: the time of the event, or the time at which the observation ended. Records whose time is
            missing or negative are left out.
        event : str
            The column that says whether the observed time ended with the event. Records without a value in this column are
            left out.
        at : number or sequence of numbers, optional
            The times at which the curve is requested. A record whose event comes exactly at `at` counts as surviving: the
            share is P(T ≥ at). By default, the curve is requested at all cut points in `bins`.
        bins : sequence of numbers, optional
            Cut points that divide time into intervals; 0 and the times in `at` are added. Each interval has two noisy
            counts: its events and its censored records. By default, the times in `at` and further cut points between them
            form about 12 intervals.
        value : str, int, float or bool
            The value of the column `event` that marks an event. A record with any other value in this column is censored.
        withdrawn : "evenly", "middle" or "end"
            With ``"evenly"``, the rates of events and of censoring change linearly within an interval, with slopes that the
            neighbouring intervals determine; the choice ``"evenly"`` suits times that are measured more finely than the
            intervals. With ``"middle"``, a censored record is at risk for half of its interval (the life table of
            actuaries); the choice ``"middle"`` causes errors if intervals are wide. With ``"end"``, a censored record is at
            risk for its whole interval (Kaplan–Meier); the choice ``"end"`` suits intervals that contain one observed time
            each.
        competing : sequence of str, int, float or bool
            Further values of the column `event`, which mark an event by a competing cause, such as another cause of death.
            With competing causes, survival is the share of records without an event of any cause, and the method
            ``incidence`` of the curve computes the cumulative incidence of each cause. Each cause adds one noisy count to
            each interval, at no further price.
        entry : str, optional
            A numeric column of the times from which on records are observed (late entry, or left truncation), on the scale
            of the column `time`; needs ``withdrawn="evenly"``. A record is at risk from its time of entry on, so the record
            counts for only a part of the interval that contains its time of entry. A record that enters at `start` or
            before is at risk from `start` on. Records without a time of entry, and records whose interval of entry comes
            after the interval of their exit, are left out. With late entry, one record counts among the exits and among the
            entries, so the noise at the same price is 1.4 times as large with Gaussian noise and twice as large with
            Laplace noise.
        start : number
            The time at which the curve begins: survival is the share of the records without the event at `start`. Records
            whose time is before `start` are left out. If `time` is an age, choose a `start` at which records are at risk.
        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.survival` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"months": [20.0, 40.0] * 500, "died": [20.0, 40.0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> len(survey.survival("months", "died", at=[12, 24], epsilon=2.0))
        2
        """
        from hedgerow.statistics.survival import survival

        return self._released(
            survival(
                time,
                event,
                at=at,
                bins=bins,
                value=value,
                withdrawn=withdrawn,
                competing=competing,
                entry=entry,
                start=start,
            ),
            options,
        )
