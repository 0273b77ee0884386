"""A method of a survey for each statistic. Written by ``make generate`` from the registry; do not edit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack, overload

from hedgerow.keywords import takes
from hedgerow.release.options import ReleaseOptions, current_release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from hedgerow.facts.columns import Scalar
    from hedgerow.release.options import By, UngroupedOptions
    from hedgerow.release.released_estimate import ReleasedEstimate
    from hedgerow.release.result import Release
    from hedgerow.statistics.statistic import AskedFor, Columns, Floats, Totals


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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def mean(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a mean, of values clamped to LO and HI.

        Shorthand for ``release(hg.mean(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def sum(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a sum, of values clamped to LO and HI.

        Shorthand for ``release(hg.sum(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
        """
        from hedgerow.statistics.mean import sum

        return self._released(sum(column, bounds=bounds, step=step), options)

    @overload
    def proportion(self, column: str, *, value: Scalar, **options: Unpack[UngroupedOptions]) -> ReleasedEstimate: ...
    @overload
    def proportion(self, column: str, *, value: Scalar, by: By, **options: Unpack[UngroupedOptions]) -> Release: ...
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def proportion(self, column: str, *, value: Scalar, **options: Unpack[ReleaseOptions]) -> Any:
        """Release a proportion: the share of records with this value.

        Shorthand for ``release(hg.proportion(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
        """
        from hedgerow.statistics.proportion import proportion

        return self._released(proportion(column, value=value), options)

    @overload
    def count(self, **options: Unpack[UngroupedOptions]) -> ReleasedEstimate: ...
    @overload
    def count(self, *, by: By, **options: Unpack[UngroupedOptions]) -> Release: ...
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def count(self, **options: Unpack[ReleaseOptions]) -> Any:
        """Release the number of records.

        Shorthand for ``release(hg.count(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
        """
        from hedgerow.statistics.mean import count

        return self._released(count(), options)

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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def variance(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a variance, of values clamped to LO and HI.

        Shorthand for ``release(hg.variance(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def standard_deviation(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a standard deviation, of values clamped to LO and HI.

        Shorthand for ``release(hg.standard_deviation(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def quantile(
        self,
        column: str,
        probability: float | Sequence[float],
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release quantiles, of values clamped to LO and HI.

        Shorthand for ``release(hg.quantile(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def ratio(
        self,
        numerator: str,
        denominator: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a ratio of two columns' sums.

        Shorthand for ``release(hg.ratio(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
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

        Shorthand for ``release(hg.bootstrap(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def covariance(
        self,
        first: str,
        second: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a covariance of two columns, clamped to LO and HI.

        Shorthand for ``release(hg.covariance(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def correlation(
        self,
        first: str,
        second: str,
        *,
        bounds: Mapping[str, tuple[float, ...]] | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a correlation of two columns, clamped to LO and HI.

        Shorthand for ``release(hg.correlation(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
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

        Shorthand for ``release(hg.function(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
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
        """Release shares below a line, or below a part of the median such as 60%.

        Shorthand for ``release(hg.share_below(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def cdf(
        self,
        column: str,
        *,
        at: float | Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release shares of the records up to X.

        Shorthand for ``release(hg.cdf(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def gini(
        self,
        column: str,
        *,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release a Gini coefficient, of values clamped to LO and HI.

        Shorthand for ``release(hg.gini(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def lorenz(
        self,
        column: str,
        *,
        at: float | Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release parts of the total that the lowest P of the records hold.

        Shorthand for ``release(hg.lorenz(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
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
    @takes(ReleaseOptions, current=current_release, estimator="auto", noise="auto")
    def histogram(
        self,
        column: str,
        *,
        bins: Sequence[float],
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        **options: Unpack[ReleaseOptions],
    ) -> Any:
        """Release shares of the records in bins [END, END), the last one closed.

        Shorthand for ``release(hg.histogram(…), …)``: arguments as there. Without `by`, one number is
        returned as a `ReleasedEstimate`; several numbers are returned as a `Release`.
        """
        from hedgerow.statistics.distribution.histogram import histogram

        return self._released(histogram(column, bins=bins, bounds=bounds, step=step), options)
