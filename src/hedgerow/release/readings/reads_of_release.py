"""The readings of a release, as its methods: each is post-processing of what was released, and costs no budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError
from hedgerow.inference.effects import Measure, Target
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import Interval
from hedgerow.inference.many_cells.multiple_tests import Method
from hedgerow.inference.survival.log_rank import LogRank
from hedgerow.release.readings.reconciliation import ReconciledCells, agreeing
from hedgerow.release.readings.screening import Screening, screened, simultaneous
from hedgerow.release.readings.shrinkage import ShrunkCells, drawn_together
from hedgerow.release.readings.standardised_effect import effect
from hedgerow.release.readings.survival_curve import SurvivalCurve, curve_of, curves_of, log_rank_of, plot_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReadsOfRelease:
    """What is read of a sequence of estimates beside the numbers that were asked for."""

    __slots__ = ()

    @property
    def _own(self) -> Sequence[Estimate]:
        estimates: Sequence[Estimate] = self.estimates  # type: ignore[attr-defined]  # a field of the release
        return estimates

    def survival(self, time: str, **cell: object) -> SurvivalCurve:
        """Return the released survival curve of a cell and its derived statistics, at no further price.

        Parameters
        ----------
        time : str
            The column of times.
        **cell
            The cell (group of records): one category for each group column.

        Returns
        -------
        SurvivalCurve
            The curve, whose methods ``survival``, ``median``, ``quantile``, ``restricted_mean`` and ``at_risk`` return
            estimates. The method ``to_columns`` returns the curve as numbers, and ``plot`` draws the curve.

        Raises
        ------
        ParameterError
            HG137: no survival curve of this column within this cell was released.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"months": [5.0, 14.0, 30.0, 40.0] * 500, "died": [1, 0, 1, 0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> release = survey.survival("months", "died", at=[12, 36], epsilon=1)
        >>> release.survival("months").median().statistic
        'median_survival'
        """
        return curve_of(self._own, time, cell)

    def log_rank(self, time: str) -> LogRank:
        """Test whether the survival curves of all cells are equal (log-rank test), at no further price.

        The test includes both sampling error and privacy noise. The test compares the cells up to the last time at
        which every cell has enough records at risk.

        Parameters
        ----------
        time : str
            The column of times.

        Returns
        -------
        LogRank
            The result of the log-rank test: the test statistic, its degrees of freedom and the p-value.

        Raises
        ------
        ParameterError
            HG137: no survival curve of this name was released. HG112: there is only one cell, or the privacy noise
            hides a cell.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> columns = {"months": [5.0, 14.0, 30.0, 40.0] * 500, "died": [1, 0, 1, 0] * 500, "sex": [0, 1] * 1000}
        >>> survey = hg.open(pyarrow.table(columns), relation="replace-one")
        >>> release = survey.release(hg.survival("months", "died", at=[12, 36]), by={"sex": [0, 1]}, epsilon=1)
        >>> release.log_rank("months").pvalue < 0.001
        True
        """
        return log_rank_of(self._own, time)

    def plot_survival(self, time: str, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw the survival curves of all cells in one picture, with intervals and the numbers at risk.

        Parameters
        ----------
        time : str
            The column of times.
        ax : matplotlib Axes, optional
            The axes of matplotlib in which the curve is drawn; by default, a new figure.
        level : float
            The confidence level of the interval of each point.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            HG137: no survival curve of this name was released. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"months": [5.0, 14.0, 30.0, 40.0] * 500, "died": [1, 0, 1, 0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> release = survey.survival("months", "died", at=[12, 36], epsilon=1)
        >>> release.plot_survival("months").get_ylabel()
        'share without the event'
        """
        from hedgerow.plots.figure import shown_in_notebook

        every = [curve for curve in curves_of(self._own) if curve.curve.time == time]
        with shown_in_notebook():
            return plot_curves(every or [curve_of(self._own, time, {})], ax, level=level)

    def screen(
        self,
        *,
        against: object = "common",
        of: str | None = None,
        level: float = 0.05,
        method: Method = "benjamini-yekutieli",
        independent: bool = False,
    ) -> Screening:
        """Return which cells differ from a reference, with one error rate for all cells together, at no further price.

        The test of each cell includes sampling error and privacy noise, and the p-values are adjusted for the number of
        tests.

        Parameters
        ----------
        against : float, "common" or Release
            The reference of the comparison: a number; the mean of all cells (weighted by the numbers of records, where
            these are known); or the same cells of an earlier release.
        of : str, optional
            The statistic, written without a cell: ``"mean(income)"``. The statistic; needed only if the release has
            several statistics.
        level : float
            The error rate of the whole list of cells, such as 0.05.
        method : "benjamini-yekutieli", "bonferroni" or "holm"
            With ``"benjamini-yekutieli"``, among the cells that are reported as different, the expected share of cells
            without a true difference is at most `level` (the false discovery rate). With ``"bonferroni"`` or
            ``"holm"``, the probability that no cell without a true difference is reported is at least 1 − `level` (the
            family-wise error rate). The methods of Benjamini and Yekutieli, Bonferroni, and Holm are valid under any
            dependence between cells.
        independent : bool
            Whether the earlier release contains different people. If False, the same people may be in both releases,
            and the sampling error of a difference between the releases is the sum of the sampling errors of both
            releases.

        Returns
        -------
        Screening
            The result of all tests: ``.differing`` lists the estimates that differ, and ``.cells`` lists all tests.

        Raises
        ------
        ParameterError
            HG146: the cells cannot be compared with the given reference. HG110: the confidence level is invalid. HG137:
            the earlier release lacks one of the cells.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"age": [30.0, 50.0, 30.0, 60.0] * 500, "area": [0, 1, 2, 3] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> release = survey.mean("age", bounds=(0, 100), by={"area": [0, 1, 2, 3]}, epsilon=1.0)
        >>> [estimate.cell["area"] for estimate in release.screen(against=30.0).differing]
        [1, 3]
        """
        return screened(self._own, of=of, against=against, level=level, method=method, independent=independent)

    def simultaneous_intervals(self, *, of: str | None = None, level: float = 0.95) -> tuple[Interval, ...]:
        """Return simultaneous confidence intervals of the cells of a statistic.

        With probability `level`, all intervals together cover the quantities that they estimate.

        Each of the m intervals has the level 1 − (1 − `level`)/m (Bonferroni), which is valid under any dependence
        between cells.

        Parameters
        ----------
        of : str, optional
            The statistic, written without a cell: ``"mean(income)"``. The statistic; needed only if the release has
            several statistics.
        level : float
            The probability that all intervals together cover the quantities that they estimate.

        Returns
        -------
        tuple of Interval
            The intervals, in the order of the cells.

        Raises
        ------
        ParameterError
            HG146: the release does not contain the named statistic. HG110: the confidence level is invalid. HG108: a
            release that was read from a record has no intervals at other levels.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500}), relation="replace-one")
        >>> release = survey.mean("age", bounds=(0, 100), by={"sex": [0, 1]}, epsilon=1.0)
        >>> low, high = release.simultaneous_intervals()[0]
        >>> low < release[0].confidence_interval().low < release[0].confidence_interval().high < high
        True
        """
        return simultaneous(self._own, of=of, level=level)

    def shrink(self, *, of: str | None = None, towards: Sequence[str] = ()) -> ShrunkCells:
        """Return shrunken estimates of many cells, each of which uses the numbers of all cells (empirical Bayes).

        The shrunken estimates are computed at no further price.

        The estimate of each cell is moved towards the common mean of the cells; an estimate with a larger error is
        moved further. Shrinkage lowers the mean squared error over all cells. On average over all cells the intervals
        cover at the stated level; the interval of a single cell that is unlike the others covers less often.

        Parameters
        ----------
        of : str, optional
            The statistic, written without a cell: ``"mean(income)"``. The statistic; needed only if the release has
            several statistics.
        towards : sequence of str
            Group columns whose additive effects predict a value for each cell; the estimate of the cell is moved
            towards the predicted value. By default, the estimates of all cells are moved towards their common mean.

        Returns
        -------
        ShrunkCells
            A sequence of `ShrunkEstimate`; its attribute ``.spread`` is the estimated standard deviation of the true
            values about the values towards which the estimates are moved.

        Raises
        ------
        ParameterError
            HG146: the release has too few cells, or a named column is not a group column.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"age": [30.0, 50.0, 40.0, 60.0] * 50, "area": [0, 1, 2, 3] * 50})
        >>> survey = hg.open(table, relation="replace-one")
        >>> release = survey.mean("age", bounds=(0, 100), by={"area": [0, 1, 2, 3]}, epsilon=1.0)
        >>> all(0.0 < number.shrinkage < 1.0 for number in release.shrink())
        True
        """
        return drawn_together(self._own, of=of, towards=towards)

    def effect(
        self,
        of: str,
        *,
        treated: Mapping[str, object],
        control: Mapping[str, object],
        standardise: Sequence[str] = (),
        target: Target = "all",
        measure: Measure = "difference",
        before: Mapping[str, object] | None = None,
        after: Mapping[str, object] | None = None,
    ) -> Estimate:
        """Return an effect between two groups of cells, standardised over strata, with one standard error.

        The effect is computed from released means or shares and counts, and costs no budget. The effect is a
        comparison; the page on effects says under which assumptions it is a causal effect.

        Parameters
        ----------
        of : str
            The statistic, written without a cell: ``"mean(income)"`` or ``"proportion(employed=1)"``.
        treated, control : {column: category}
            The two groups.
        standardise : sequence of str
            The columns of the strata. The release must contain the count of each cell, from the same call as the means.
        target : "all", "treated" or "control"
            The group of records whose shares of the strata serve as weights.
        measure : "difference", "ratio" or "odds-ratio"
            The measure of the effect: the standardised difference (g-formula), the standardised ratio, or the odds
            ratio of Mantel and Haenszel.
        before, after : {column: category}, optional
            Categories that select the cells before and after an event; the effect is then the difference in
            differences.

        Returns
        -------
        Estimate
            The effect, with the sampling part and the noise part of its error.

        Raises
        ------
        ParameterError
            HG146: the release lacks cells that the effect compares, or the correlation between the errors of the cells
            is not known.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> columns = {"pay": [30.0, 35.0, 40.0, 45.0] * 500, "trained": [0, 1] * 1000, "old": [0, 0, 1, 1] * 500}
        >>> survey = hg.open(pyarrow.table(columns), relation="replace-one")
        >>> groups = {"trained": [0, 1], "old": [0, 1]}
        >>> release = survey.release([hg.mean("pay", bounds=(0, 100)), hg.count()], by=groups, epsilon=4.0)
        >>> read = release.effect("mean(pay)", treated={"trained": 1}, control={"trained": 0}, standardise=["old"])
        >>> abs(read.estimate - 5.0) < 5.0 * read.standard_error
        True
        """
        about: dict[str, Any] = {"treated": treated, "control": control, "standardise": standardise, "target": target}
        return effect(self._own, of, **about, measure=measure, before=before, after=after)

    def reconcile(self, known: Mapping[Any, Any], *, of: str | None = None) -> ReconciledCells:
        """Return the counts or sums of all cells, adjusted to agree with public totals, which reduces their noise.

        Public totals come from a register or a census of the same records, and are declared to be exact. Generalised
        least squares adjusts the cells and reduces their noise errors; no data are read, and no budget is spent.

        Parameters
        ----------
        known : {columns: {category: total}}
            The public totals: a key names one group column of `by` or a tuple of columns, and for a tuple of columns
            each category is a tuple. The entry ``{(): total}`` is the total of all cells.
        of : str, optional
            The statistic, written without a cell: ``"count()"``. The statistic; needed only if the release has several
            statistics.

        Returns
        -------
        ReconciledCells
            A sequence of estimates; its attribute ``.noise`` is the covariance matrix of their noise.

        Raises
        ------
        ParameterError
            HG146: the totals contradict each other or name other cells, or the statistic is neither a count nor a sum.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"sex": [0, 1] * 500, "area": [0, 0, 1, 1] * 250}), relation="add-remove")
        >>> release = survey.count(by={"sex": [0, 1], "area": [0, 1]}, epsilon=0.5)
        >>> agreeing = release.reconcile({"sex": {0: 500, 1: 500}})
        >>> round(agreeing[0].estimate + agreeing[1].estimate, 6)
        500.0
        >>> agreeing[0].privacy_error < release[0].privacy_error
        True
        """
        return agreeing(self._own, known, of=of)

    def _read_survival(self, name: str, about: Sequence[tuple[str, ...]], cell: Mapping[str, str]) -> Estimate | None:
        """Return the estimate that a released survival curve gives for a term of an expression, or None."""
        if len(about) < 2 or any(len(part) > 1 for part in about):
            return None
        (time,), (event,), *rest = about
        try:
            curve = curve_of(self._own, time, cell)
            return curve._term(name, [word for (word,) in rest]) if curve.curve.event == event else None
        except (ParameterError, ValueError):
            return None
