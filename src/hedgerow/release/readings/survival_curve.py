"""The survival curves that a release holds: the whole curve, its median, restricted means, numbers at risk, log-rank.

All is read from the counts that the shares of survival were read from, and costs no budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Scalar
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import normal_quantile, parse_level
from hedgerow.inference.operators import texts_of_cell
from hedgerow.inference.region import LevelTest, ScoreRegion
from hedgerow.inference.survival.life_table import Floats, LifeTables, ReadWithErrors
from hedgerow.inference.survival.log_rank import LogRank, log_rank
from hedgerow.release.designs.design import PublicFacts, covers, covers_number
from hedgerow.release.designs.survival_design import HIDDEN_CURVE, SurvivalTable, SurvivalTest, test_behind
from hedgerow.statistics.survival import Survival

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MEDIAN = 0.5
_METHOD = "life-table"


@dataclass(frozen=True, slots=True, eq=False)
class SurvivalCurve:
    """The released survival curve of one cell (group of records).

    All statistics that are computed from the curve cost no budget.

    Attributes
    ----------
    curve : Survival
        The request for the curve: its columns, the value that marks an event, and the cut points of time.
    cell : mapping
        {column: category}.
    table : SurvivalTable
        The noisy counts of events and of censored records, for all cells.
    place : int
        The index of the cell to which the curve belongs.
    facts : PublicFacts
        Of the release.
    """

    curve: Survival
    cell: Mapping[str, Any]
    table: SurvivalTable
    place: int
    facts: PublicFacts

    def __repr__(self) -> str:
        times = f"{len(self.curve.cuts)} intervals up to {self.curve.cuts[-1]:.15g}"
        return f"<SurvivalCurve of {self.curve.column}{self.cell_in_words}, {times}>"

    @property
    def life(self) -> LifeTables:
        """The life tables of all cells."""
        return self.table.life

    @property
    def cell_in_words(self) -> str:
        """The cell in brackets, after a space; nothing where all records are one."""
        return f" ({', '.join(f'{name}={value}' for name, value in self.cell.items())})" if self.cell else ""

    def survival(self, at: float) -> Estimate:
        """Return the share of records whose event comes after a cut point of time; another time raises error HG112.

        The error of the difference or the ratio between the survival of two cells at the same time includes the
        correlation of the two estimates.
        """
        place = self._cut(at)
        asked = replace(self.curve, at=self.curve.cuts[place])
        read, joint = self.life.read(place), self.table.at(place)
        errors = (read.sampling_error, read.privacy_error) if read.reliable[self.place] else None
        value = float(read.value[self.place])
        region = ScoreRegion(SurvivalTest(self.table, asked, self.facts, self.place), joint=joint.row(self.place))
        return self._estimate(asked.name, value, errors, covers(asked, self.facts), region)

    def incidence(self, cause: Scalar, at: float) -> Estimate:
        """Return the cumulative incidence of a cause: the share of records to which this cause comes before a time.

        The estimator is that of Aalen and Johansen: records to which another cause came are not censored, so the shares
        of all causes and the share without an event add up to about 1. The error of the difference between two causes
        at the same time, or between two cells, includes the correlation of the two estimates.

        Parameters
        ----------
        cause : str, int, float or bool
            A value of the column of events that was requested as `value` or as one of `competing`.
        at : number
            A cut point of time.

        Returns
        -------
        Estimate

        Raises
        ------
        ParameterError
            HG112: there is no such cause, or the time is not a cut point.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"months": [5.0, 14.0, 30.0, 40.0] * 500, "ended": [1, 0, 2, 1] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> release = survey.survival("months", "ended", competing=[2], at=[12, 36], epsilon=1)
        >>> release.survival("months").incidence(2, 36).statistic
        'incidence_2_36'
        """
        index, place = self._cause(cause), self._cut(at)
        read, joint = self.table.incidence.read(index, place), self.table.of_causes_at(place)[index]
        errors = (read.sampling_error, read.privacy_error) if read.reliable[self.place] else None

        def accepted(level: float) -> tuple[float, float]:
            low, high = self.table.incidence.ends(index, place, level)
            return float(low[self.place]), float(high[self.place])

        region = ScoreRegion(LevelTest(accepted, _METHOD, 0.0, 1.0), joint=joint.row(self.place))
        when, word = f"{self.curve.cuts[place]:.15g}", str(self.curve.causes[index])
        about = f"share to which {self.curve.event} = {word} comes before {self.curve.time} = {when}"
        value, name = float(read.value[self.place]), f"incidence_{word}_{when}"
        return self._estimate(name, value, errors, covers_number(about, self.facts), region)

    def incidence_columns(self, cause: Scalar, level: float = 0.95) -> dict[str, list[float]]:
        """Return the cumulative incidence of a cause as columns.

        Parameters
        ----------
        cause : str, int, float or bool
            A value of the column of events that was requested.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        dict
            The columns time, events, incidence, standard_error, low and high: one number for each cut point of time.

        Raises
        ------
        ParameterError
            HG110: the confidence level is invalid. HG112: there is no such cause.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"months": [5.0, 14.0, 30.0, 40.0] * 500, "ended": [1, 0, 2, 1] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> release = survey.survival("months", "ended", competing=[2], at=[12, 36], epsilon=1)
        >>> release.survival("months").incidence_columns(2)["time"][-1]
        36.0
        """
        index, incidence, every = self._cause(cause), self.table.incidence, range(self.life.intervals)
        ends = [incidence.ends(index, place, parse_level(level)) for place in every]
        reads = [incidence.read(index, place) for place in every]
        return {
            "time": list(self.curve.cuts),
            "events": (self.life.forms_of_events[index] @ self.life.counts[self.place]).tolist(),
            "incidence": incidence.shares[index, self.place].tolist(),
            **self._error_columns(reads, ends),
        }

    def plot_incidence(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw the cumulative incidence of every cause as steps, with intervals; the numbers at risk stand below.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes of matplotlib in which the curves are drawn; by default, a new figure.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"months": [5.0, 14.0, 30.0, 40.0] * 500, "ended": [1, 0, 2, 1] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> release = survey.survival("months", "ended", competing=[2], at=[12, 36], epsilon=1)
        >>> len(release.survival("months").plot_incidence().lines)
        2
        """
        from hedgerow.plots.curves import DrawnSurvival, draw_survival
        from hedgerow.plots.figure import shown_in_notebook

        drawn, at_risk = [], self.life.at_risk[self.place]
        for cause in self.curve.causes:
            columns = self.incidence_columns(cause, level)
            time, share, low, high = (np.array(columns[name]) for name in ("time", "incidence", "low", "high"))
            label, begin = f"{self.curve.event} = {cause}", self.curve.start
            drawn.append(DrawnSurvival(time, share, low, high, at_risk, label, start=0.0, begin=begin))
        with shown_in_notebook():
            return draw_survival(drawn, across=self.curve.time, level=level, ax=ax, what="share with the event")

    def quantile(self, share: float) -> Estimate:
        """Return the first time at which the survival curve falls to a share.

        An end of the interval is ∞ if no bound of the time is known.

        Raises
        ------
        ParameterError
            HG112: the given share does not lie between 0 and 1.
        """
        number = as_float(share)
        if number is None or not 0.0 < number < 1.0:
            raise _unread("A quantile of time has a share between 0 and 1.", f"Found {format_argument(share)}.")

        def accepted(level: float) -> tuple[float, float]:
            read = self.life.quantile(number, self.place, level)
            return read.low, read.high

        read = self.life.quantile(number, self.place, 0.95)
        noise = math.sqrt(max(read.standard_error**2 - read.sampling_error**2, 0.0)) if read.reliable else 0.0
        errors = (np.array([read.sampling_error]), np.array([noise])) if read.reliable else None
        name = "median_survival" if number == _MEDIAN else f"survival_time_{number:.15g}"
        about = f"first {self.curve.time} at which the share without {self._event} falls to {number:.15g}"
        region = ScoreRegion(LevelTest(accepted, _METHOD, 0.0))
        # Without a crossing the last cut stands for the point: the median is later.
        value = read.value if math.isfinite(read.value) else self.curve.cuts[-1]
        return self._estimate(name, value, errors, covers_number(about, self.facts), region, own=True)

    def median(self) -> Estimate:
        """Return the median survival time, before which half of the records have their event; see `quantile`."""
        return self.quantile(_MEDIAN)

    def restricted_mean(self, until: float) -> Estimate:
        """Return the mean time without the event up to `until`: the area below the curve, ∫ S(t) dt.

        Within an interval the rate of events changes linearly, with a slope that the rates of the neighbouring
        intervals determine; with ``withdrawn="middle"`` or ``"end"`` the curve is a straight line between cut points of
        time. The error of the difference between the mean times of two cells includes the correlation of the two
        estimates.

        Raises
        ------
        ParameterError
            HG112: the time is not positive, or lies beyond the last cut point.
        """
        end = as_float(until)
        begin = self.curve.start
        if end is None or not begin < end <= self.curve.cuts[-1]:
            last = f"{self.curve.cuts[-1]:.15g}, the last cut"
            raise _unread(
                f"A restricted mean goes up to a time above {begin:.15g} and at most {last}.",
                f"Found {format_argument(until)}.",
            )
        weights, start = self.life.weights_of_mean(end)
        read, joint = self.life.combined(weights, start=start), self.table.mean_until(end)
        clear = bool(read.reliable[self.place])
        errors = (read.sampling_error, read.privacy_error) if clear else None
        value = float(read.value[self.place])
        spread = math.hypot(float(read.sampling_error[self.place]), float(read.privacy_error[self.place]))

        def accepted(level: float) -> tuple[float, float]:
            reach = normal_quantile(level) * spread
            return (max(0.0, value - reach), min(end - begin, value + reach)) if clear else (0.0, end - begin)

        region = ScoreRegion(LevelTest(accepted, _METHOD, 0.0, end - begin), joint=joint.row(self.place))
        about = f"mean {self.curve.time} without {self._event}, up to {end:.15g}"
        return self._estimate(f"restricted_mean_{end:.15g}", value, errors, covers_number(about, self.facts), region)

    def at_risk(self, at: float = 0.0) -> Estimate:
        """Return the number of records at risk: their time is `at` or later, and their entry (if any) is earlier.

        The time `at` must be 0 (or where the curve begins) or a cut point (otherwise error HG112).
        """
        life, begin = self.life, self.curve.start
        place = 0 if as_float(at) in (0.0, begin) else self._cut(at) + 1
        form, when = life.form_at_risk(place), self.curve.cuts[place - 1] if place else begin
        value = float(life.counts[self.place] @ form)
        noise = math.sqrt(float(life.noise(form)))
        # Binomial where the number of all records is public, else Poisson.
        among = 0.0 if self.facts.n is None else value / self.facts.n
        sampling = 0.0 if self.facts.census else math.sqrt(max(value * (1.0 - among), 0.0))

        def accepted(level: float) -> tuple[float, float]:
            reach = normal_quantile(level) * math.hypot(sampling, noise)
            return max(0.0, value - reach), max(0.0, value + reach)

        entered = "" if self.curve.entry is None else f" and {self.curve.entry} before"
        about = f"number of records with {self.curve.time} ≥ {when:.15g}{entered}"
        region = ScoreRegion(LevelTest(accepted, _METHOD, 0.0))
        errors = np.array([sampling]), np.array([noise])
        return self._estimate(
            f"at_risk_{when:.15g}", value, errors, covers_number(about, self.facts, total=True), region, own=True
        )

    def _term(self, name: str, words: Sequence[str]) -> Estimate | None:
        """Return what a term of an expression names, such as ``restricted_mean(months, died, 36)``; None: nothing."""
        if name == "incidence" and len(words) == 2:
            return self.incidence(words[0], float(words[1]))
        numbers = [float(word) for word in words]
        readings: dict[tuple[str, int], Callable[..., Estimate]] = {
            ("survival", 1): self.survival,
            ("at_risk", 1): self.at_risk,
            ("median_survival", 0): self.median,
            ("survival_time", 1): self.quantile,
            ("restricted_mean", 1): self.restricted_mean,
        }
        reading = readings.get((name, len(numbers)))
        return None if reading is None else reading(*numbers)

    def to_columns(self, level: float = 0.95) -> dict[str, list[float]]:
        """Return the curve as columns: time, at_risk, events, survival, standard_error, low and high.

        Error HG110: the confidence level is invalid.
        """
        life, every = self.life, range(self.life.intervals)
        ends = [life.ends(place, parse_level(level)) for place in every]
        reads = [life.read(place) for place in every]
        return {
            "time": list(self.curve.cuts),
            "at_risk": life.at_risk[self.place].tolist(),
            "events": life.events[self.place].tolist(),
            "survival": life.survival[self.place].tolist(),
            **self._error_columns(reads, ends),
        }

    def _error_columns(
        self, reads: Sequence[ReadWithErrors], ends: Sequence[tuple[Floats, Floats]]
    ) -> dict[str, list[float]]:
        """Return the columns standard_error, low and high of this cell, of numbers of all cells at each cut."""
        errors = [(float(read.sampling_error[self.place]), float(read.privacy_error[self.place])) for read in reads]
        return {
            "standard_error": [math.hypot(*parts) for parts in errors],
            "low": [float(low[self.place]) for low, _ in ends],
            "high": [float(high[self.place]) for _, high in ends],
        }

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw the curve as steps, with the interval of each point; the numbers at risk stand below the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes of matplotlib in which the curve is drawn; by default, a new figure.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> table = pyarrow.table({"months": [5.0, 14.0, 30.0, 40.0] * 500, "died": [1, 0, 1, 0] * 500})
        >>> survey = hg.open(table, relation="replace-one")
        >>> release = survey.survival("months", "died", at=[12, 36], epsilon=1)
        >>> len(release.survival("months").plot().lines)
        1
        """
        from hedgerow.plots.figure import shown_in_notebook

        with shown_in_notebook():
            return plot_curves([self], ax, level=level)

    def _repr_html_(self) -> str:
        from hedgerow.plots.notebook import card_of_lines

        shown = [*(self.survival(cut) for cut in self._shown()), self.median()]
        lines = [number._card_line(with_cell=False) for number in shown]
        return card_of_lines(
            f"Survival of {self.curve.column}{self.cell_in_words}", "", ("statistic",), lines, picture=self.plot
        )

    def _shown(self) -> Sequence[float]:
        cuts = self.curve.cuts
        return [cuts[place] for place in sorted({len(cuts) * part // 4 - 1 for part in range(1, 5)} - {-1})]

    @property
    def _event(self) -> str:
        return self.curve.event_in_words

    def _cause(self, cause: object) -> int:
        words = [str(value) for value in self.curve.causes]
        if str(cause) not in words:
            raise _unread(
                f"A cumulative incidence is of a cause that was requested: {', '.join(words)}.",
                f"Found {format_argument(cause)}.",
            )
        return words.index(str(cause))

    def _cut(self, at: float) -> int:
        number = as_float(at)
        if number is None or number not in self.curve.cuts:
            cuts = ", ".join(f"{cut:.6g}" for cut in self.curve.cuts)
            raise _unread(f"A survival curve is read at its cuts: {cuts}.", f"Found {format_argument(at)}.")
        return self.curve.cuts.index(number)

    def _estimate(
        self, name: str, value: float, errors: Any, about: str, region: ScoreRegion, *, own: bool = False
    ) -> Estimate:
        at = 0 if own else self.place
        sampling, privacy = (None, None) if errors is None else (float(part[at]) for part in errors)
        note = HIDDEN_CURVE if errors is None else None
        none = None if errors is None else 0.0
        return Estimate(
            name, self.curve.column, dict(self.cell), value, sampling, none, privacy, _METHOD, None, errors is not None,
            note, about, region,
        )  # fmt: skip


def curves_of(estimates: Sequence[Estimate]) -> Iterator[SurvivalCurve]:
    """Yield the survival curve of each cell of each table that estimates were read from."""
    seen: set[tuple[int, int]] = set()
    for estimate in estimates:
        test = test_behind(estimate._region)
        if test is None or test.cell is None or (id(test.table), test.cell) in seen:
            continue
        seen.add((id(test.table), test.cell))
        yield SurvivalCurve(test.curve, dict(test.table.cells[test.cell]), test.table, test.cell, test.facts)


def curve_of(estimates: Sequence[Estimate], time: str, cell: Mapping[str, object]) -> SurvivalCurve:
    """Return the survival curve of a column of times in a cell (HG137: there is none, or several)."""
    every, wanted = list(curves_of(estimates)), texts_of_cell(cell)
    fitting = [curve for curve in every if curve.curve.time == time and texts_of_cell(curve.cell) == wanted]
    if len(fitting) == 1:
        return fitting[0]
    raise _unnamed(every, f"There are several of {time!r}." if fitting else f"There is none of {time!r} in this cell.")


def _unnamed(curves: Sequence[SurvivalCurve], finding: str) -> ParameterError:
    listed = sorted({f"{curve.curve.time}{curve.cell_in_words}" for curve in curves})
    return ParameterError(
        "HG137",
        rule="A survival curve of a release is named by its column of times and its whole cell.",
        finding=finding,
        remedy=f"There are those of {'; '.join(listed)}." if listed else "Ask for a survival curve in the release.",
    )


def log_rank_of(estimates: Sequence[Estimate], time: str) -> LogRank:
    """Return the log-rank test between all cells of the curves of a column (HG137, HG144)."""
    every = list(curves_of(estimates))
    tables = {id(curve.table): curve.table for curve in every if curve.curve.time == time}
    if len(tables) != 1:
        raise _unnamed(every, f"There are several of {time!r}." if tables else f"There is none of {time!r}.")
    (table,) = tables.values()
    result = log_rank(table.life)
    if result is None:
        raise _unread(
            "A log-rank test compares two or more cells in which enough records are at risk.",
            "There is one cell." if len(table.cells) < 2 else "The noise hides the first interval of a cell.",
        )
    return result


def plot_curves(curves: Sequence[SurvivalCurve], ax: Axes | None = None, *, level: float = 0.95) -> Axes:
    """Draw curves of cells in one picture, with the numbers at risk below (HG110)."""
    from hedgerow.plots.curves import DrawnSurvival, draw_survival

    drawn = []
    for curve in curves:
        columns = {name: np.array(values) for name, values in curve.to_columns(level).items()}
        label = ", ".join(f"{name}={value}" for name, value in curve.cell.items()) or "all records"
        time, share, low, high, at_risk = (columns[name] for name in ("time", "survival", "low", "high", "at_risk"))
        drawn.append(DrawnSurvival(time, share, low, high, at_risk, label, begin=curve.curve.start))
    return draw_survival(drawn, across=curves[0].curve.time, level=level, ax=ax)


def _unread(rule: str, finding: str) -> ParameterError:
    return ParameterError(
        "HG112", rule=rule, finding=finding, remedy="Ask for a number that the released survival curves contain."
    )
