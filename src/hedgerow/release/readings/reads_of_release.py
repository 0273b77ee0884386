"""The readings of a release, as its methods: each is post-processing of what was released, and costs no budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from hedgerow.errors import ParameterError
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.survival.log_rank import LogRank
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
        every = [curve for curve in curves_of(self._own) if curve.curve.time == time]
        return plot_curves(every or [curve_of(self._own, time, {})], ax, level=level)

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
