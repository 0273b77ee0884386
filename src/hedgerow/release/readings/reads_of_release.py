"""The readings of a release, as its methods: each is post-processing of what was released, and costs no budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

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
        return cast(Sequence[Estimate], self)

    def survival(self, time: str, **cell: object) -> SurvivalCurve:
        """Return the released survival curve of a cell, with all that can be read from it, at no further price.

        Parameters
        ----------
        time : str
            The column of times.
        **cell
            The cell: one category for each group column.

        Returns
        -------
        SurvivalCurve
            The curve. Its methods ``survival``, ``median``, ``quantile``, ``restricted_mean`` and ``at_risk`` return
            estimates, ``to_columns`` the whole curve, and ``plot`` draws it.

        Raises
        ------
        ParameterError
            HG137: no survival curve of this column and cell was released.

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
        """Test whether events come as often, at every time, in all cells of a survival curve, at no further price.

        The test counts sampling and privacy noise. It compares the cells up to the last time at which enough records
        are at risk in every one of them.

        Parameters
        ----------
        time : str
            The column of times.

        Returns
        -------
        LogRank
            The statistic, its degrees of freedom and the p-value.

        Raises
        ------
        ParameterError
            HG137: no curve of this name was released. HG112: there is one cell only, or the noise hides a cell.

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
            The axes; a new figure without it.
        level : float
            The confidence level of the interval of each point.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            HG137: no curve of this name was released. HG110: the level is invalid.

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
        """Return which cells of a statistic differ, with one promise for the whole list, at no further price.

        Each cell is tested with its sampling and noise errors, and the p-values are adjusted for their number.

        Parameters
        ----------
        against : float, "common" or Release
            What the cells are compared with: a number; the mean of all cells, weighted by their records where these are
            known, as of means and shares; or the same cells of an earlier release.
        of : str, optional
            The statistic, as a term without a cell: ``"mean(income)"``. Only needed if the release has several.
        level : float
            The level of the promise.
        method : "benjamini-yekutieli", "bonferroni" or "holm"
            ``"benjamini-yekutieli"``: of the cells that are said to differ, on average at most a share of `level` do
            not. The others: no cell is said to differ that does not, with chance 1 − `level`. All hold under any
            dependence between cells.
        independent : bool
            Whether an earlier release is of other people. Otherwise the same people may be in both, and the sum of both
            sampling errors is taken.

        Returns
        -------
        Screening
            ``.differing`` lists the estimates, ``.cells`` all tests.

        Raises
        ------
        ParameterError
            HG146: the cells cannot be compared in this way. HG110: the level is invalid. HG137: the earlier release
            lacks a cell.

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
        """Return intervals of the cells of a statistic which hold all at once with chance `level`.

        Each of m intervals is at the level 1 − (1 − `level`)/m (Bonferroni), whatever the dependence of the cells is.

        Parameters
        ----------
        of : str, optional
            The statistic, as a term without a cell: ``"mean(income)"``. Only needed if the release has several.
        level : float
            The chance that all intervals hold together.

        Returns
        -------
        tuple of Interval
            In the order of the cells.

        Raises
        ------
        ParameterError
            HG146: no such statistic. HG110: the level is invalid. HG108: a record has no intervals at other levels.

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
        """Return estimates of many cells which learn from one another (empirical Bayes), at no further price.

        Each cell is drawn towards what the cells have in common, the more, the larger its own error is. The mean
        squared error over cells falls. The intervals hold in the stated share of all cells together; that of a single
        cell which is unlike the others holds less often.

        Parameters
        ----------
        of : str, optional
            The statistic, as a term without a cell: ``"mean(income)"``. Only needed if the release has several.
        towards : sequence of str
            Group columns: cells are drawn towards the sum of an effect of each. By default, towards their mean.

        Returns
        -------
        ShrunkCells
            A sequence of `ShrunkEstimate`, with ``.spread``, the standard deviation of the true values about the line.

        Raises
        ------
        ParameterError
            HG146: there are too few cells, or a column is no group.

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

        The effect is computed from released means or shares and counts, and costs no budget. It is a comparison: the
        page on effects says under which assumptions it is causal.

        Parameters
        ----------
        of : str
            The statistic, as a term without a cell: ``"mean(income)"`` or ``"proportion(employed=1)"``.
        treated, control : {column: category}
            The two groups.
        standardise : sequence of str
            Columns of strata. The release must hold the counts of its cells, in the same call as the means.
        target : "all", "treated" or "control"
            Whose shares of the strata are used.
        measure : "difference", "ratio" or "odds-ratio"
            The standardised difference (g-formula) or ratio, or the odds ratio of Mantel and Haenszel.
        before, after : {column: category}, optional
            Cells of two times: the effect is then the difference in differences.

        Returns
        -------
        Estimate
            The effect, with the sampling and the noise part of its error.

        Raises
        ------
        ParameterError
            HG146: there are no such cells, or it is not known how their errors go together.

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
        """Return the counts or sums of all cells, made to agree with public totals, with less noise.

        Totals that are public, as from a register or a census of the same records, are exact by declaration. The cells
        are moved by generalised least squares, and their errors of the noise fall; no data are read, and nothing is
        spent.

        Parameters
        ----------
        known : {columns: {category: total}}
            The columns are one of `by`, or a tuple; a category is a tuple where there are several. ``{(): total}`` is
            the total of all cells.
        of : str, optional
            The statistic, as a term without a cell: ``"count()"``. Only needed if the release has several.

        Returns
        -------
        ReconciledCells
            A sequence of `Estimate`, with ``.noise``, the covariance of their noise.

        Raises
        ------
        ParameterError
            HG146: the totals contradict each other, do not fit the cells, or are not of counts or sums.

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
            numbers = [float(number) for (number,) in rest]
        except (ParameterError, ValueError):
            return None
        if curve.curve.event != event:
            return None
        return curve._term(name, numbers)
