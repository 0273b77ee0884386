"""Survival: the share of the records whose event has not come before a time, where some records are censored."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import LARGEST, Category, Scalar, bands, checked_column
from hedgerow.facts.validation import as_float, format_argument, plain
from hedgerow.keywords import takes
from hedgerow.statistics.entry import COLUMN, Field, StatisticEntry, parse_number, parse_value, unwritten
from hedgerow.statistics.statistic import Family, Statistic, StatisticRequest

if TYPE_CHECKING:
    from hedgerow.engines.query import Indicator

Withdrawn = Literal["evenly", "middle", "end"]
USUAL_INTERVALS, MOST_INTERVALS = 12, 200
_MOST_TIME = 1e12
_AT_THE_START = 1e-6  # of the first interval: who enters so soon is there from the start


@dataclass(frozen=True, slots=True)
class Survival(Statistic):
    """P(T ≥ at) of the time T to an event, from records of which some are observed for a shorter time.

    Attributes
    ----------
    time, event : str
        The columns.
    value : str, int, float or bool
        The value of `event` that says that the event came; with another value the record is censored.
    cuts : tuple of float
        Where time is cut into intervals, from 0 on; `at` is one of them.
    at : float
        The time.
    withdrawn : "evenly", "middle" or "end"
        When a censored record leaves its interval.
    competing : tuple
        Values of `event` that say that the event came by another cause.
    entry : str or None
        The column of the times at which records enter the observation; None where all are observed from the start.
    start : float
        Where the curve begins.
    hazards : "lines" or "constant"
        What hazards are within an interval if records leave evenly; they are constant in older records alone.
    """

    time: str
    event: str
    value: Scalar
    cuts: tuple[float, ...]
    at: float
    withdrawn: Withdrawn = "evenly"
    competing: tuple[Scalar, ...] = ()
    entry: str | None = None
    start: float = 0.0
    hazards: Literal["lines", "constant"] = "constant"
    kind: ClassVar[str] = "survival"
    family: ClassVar[Family] = "survival"

    @property
    def name(self) -> str:
        """The statistic with its time."""
        return f"survival_{self.at:.15g}"

    @property
    def column(self) -> str:
        """Both columns."""
        return f"{self.time}, {self.event}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Both columns, and that of entries."""
        return self.time, self.event, *(() if self.entry is None else (self.entry,))

    @property
    def causes(self) -> tuple[Scalar, ...]:
        """The values of `event` that say that the event came, by one cause or another."""
        return self.value, *self.competing

    @property
    def counted(self) -> Indicator:
        """Whether the event came, by the first cause."""
        from hedgerow.engines.query import Indicator

        return Indicator(self.event, self.value)

    @property
    def intervals(self) -> Category:
        """The intervals of time as a group column; the last one holds the times from the last cut on."""
        return Category.declared(self.time, bands(self.start, *self.cuts, LARGEST))

    @property
    def entries(self) -> tuple[Category, ...]:
        """The intervals of entry as a group column; the first one holds the records that are there from the start."""
        if self.entry is None:
            return ()
        after = self.start + _AT_THE_START * (self.cuts[0] - self.start)
        return (Category.declared(self.entry, bands(-LARGEST, after, *self.cuts)),)

    @property
    def groups(self) -> tuple[Category, ...]:
        """The intervals as a group column, after those of entry, and the causes and the rest where causes compete."""
        causes = (Category.declared(self.event, self.causes, other=True),) if self.competing else ()
        return *self.entries, *causes, self.intervals

    @property
    def place(self) -> int:
        """Which of the cuts the time is."""
        return self.cuts.index(self.at)

    @property
    def shared_table(self) -> tuple[Any, ...]:
        """What the one table of counts is of that shares of other times are read from too."""
        late = self.entry, self.start
        return self.kind, self.time, self.event, str(self.value), self.cuts, self.withdrawn, self.competing, *late

    def possible(self, records: float) -> float | None:
        """Return 1."""
        return 1.0

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return what is shared, up to when."""
        among = f", of those without at {self.start:.15g}" if self.start else ""
        return f"share without {self.event_in_words} before {self.time} = {self.at:.15g}{among}"

    @property
    def event_in_words(self) -> str:
        """The values of the event: ``died = 1``, or ``died = 1 or 2``."""
        return f"{self.event} = {' or '.join(map(str, self.causes))}"

    def renamed(self, name: Callable[[str], str]) -> Statistic:
        """Return the statistic of columns by other names."""
        entry = None if self.entry is None else name(self.entry)
        return replace(self, time=name(self.time), event=name(self.event), entry=entry)

    def public_record(self) -> list[Any]:
        """Return name, columns, value, cuts, when censored records leave, competing causes, entry and start."""
        competing = [list(self.competing)] if self.competing else []
        late = [self._late()] if self._late() else []
        return [self.name, self.time, self.event, self.value, list(self.cuts), self.withdrawn, *competing, *late]

    def _late(self) -> dict[str, Any]:
        """Return entry and start, where they are given."""
        return {
            **({"entry": self.entry} if self.entry is not None else {}),
            **({"start": self.start} if self.start else {}),
        }

    def record(self) -> dict[str, Any]:
        """Return all of it as plain JSON data."""
        return {
            "statistic": self.kind,
            "time": self.time,
            "event": self.event,
            "value": self.value,
            "cuts": list(self.cuts),
            "at": self.at,
            "withdrawn": self.withdrawn,
            **({"competing": list(self.competing)} if self.competing else {}),
            **self._late(),
            **({"hazards": self.hazards} if self.hazards == "lines" else {}),
        }

    @classmethod
    def from_record(cls, given: Mapping[str, Any]) -> Survival:
        """Return the statistic of `record`."""
        columns, competing = (given["time"], given["event"]), given.get("competing", ())
        late = given.get("entry"), given.get("start", 0.0)
        made = _survival(*columns, [given["at"]], given["cuts"], given["value"], given["withdrawn"], competing, *late)[
            0
        ]
        return replace(made, hazards="lines" if given.get("hazards") == "lines" else "constant")


@overload
def survival(
    time: str,
    event: str,
    *,
    at: float,
    bins: Sequence[float] | None = None,
    value: Scalar = 1,
    withdrawn: Withdrawn = "evenly",
    competing: Sequence[Scalar] = (),
    entry: str | None = None,
    start: float = 0.0,
) -> Survival: ...
@overload
def survival(
    time: str,
    event: str,
    *,
    at: Sequence[float] | None = None,
    bins: Sequence[float] | None = None,
    value: Scalar = 1,
    withdrawn: Withdrawn = "evenly",
    competing: Sequence[Scalar] = (),
    entry: str | None = None,
    start: float = 0.0,
) -> list[Survival]: ...
@takes()
def survival(
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
) -> Survival | list[Survival]:
    """Request a survival curve: the shares of records whose event comes after given times.

    The shares for all times are computed from one table: the numbers of events and of censored records in each interval
    of time. The method ``release.survival(time)`` computes the whole curve, its median, restricted means, the numbers
    at risk and a log-rank test from the same table, at no further price. The estimator is the life table, or the
    estimator of Kaplan and Meier; see the argument `withdrawn`.

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

    Returns
    -------
    Survival, or a list of them
        The request, to be passed to `Survey.release` or `Survey.plan`. The result is a list, except if `at` is one
        number.

    Raises
    ------
    ParameterError
        HG112: the times do not rise from 0, there are more than 200 intervals, or the value of `withdrawn` is unknown.
        HG111: a value is not a text, a finite number or a boolean, or is given twice.

    Examples
    --------
    >>> [asked.name for asked in survival("months", "died", at=[12, 24])]
    ['survival_12', 'survival_24']
    >>> len(survival("months", "died", at=12).cuts), survival("months", "died", bins=[0, 6, 12])[0].cuts
    (12, (6.0, 12.0))
    """
    if at is None or isinstance(at, (list, tuple, range)):
        return _survival(time, event, at, bins, value, withdrawn, competing, entry, start)
    return _survival(time, event, [at], bins, value, withdrawn, competing, entry, start)[0]


def _survival(
    time: str,
    event: str,
    at: Sequence[object] | None,
    bins: Sequence[float] | None,
    value: Scalar,
    withdrawn: str,
    competing: Sequence[Scalar],
    entry: str | None,
    start: float,
) -> list[Survival]:
    """Return one request for each time."""
    value, *others = _causes(time, event, value, competing)
    begin = as_float(start)
    if begin is None or not 0.0 <= begin < _MOST_TIME:
        raise _unfit(f"Found {format_argument(start)} for the start.")
    listed = None if at is None else _times(at, begin)
    given = [] if bins is None else _times(bins, begin, whole=True)
    if listed is None and not given:
        raise _unfit("Neither `at` nor `bins` is given.")
    cuts = sorted({*given, *(listed or ())}) if given else _usual_cuts(listed or [], begin)
    if len(cuts) > MOST_INTERVALS:
        raise _unfit(f"They make {len(cuts):,} intervals.")
    if withdrawn not in get_args(Withdrawn):
        raise ParameterError(
            "HG112",
            rule='Censored records leave their interval "evenly", in the "middle" or at the "end".',
            finding=f"Found {format_argument(withdrawn)}.",
            remedy='Use "evenly", the default.',
        )
    columns = checked_column(time), checked_column(event)
    entered = None if entry is None else checked_column(entry)
    if len({*columns, entered}) < 3:
        raise _unfit("Two of time, event and entry are the same column.")
    if entered is not None and withdrawn != "evenly":
        raise _unfit(f'Late entry was asked for with withdrawn={format_argument(withdrawn)}; it needs "evenly".')
    leave = cast(Withdrawn, withdrawn)
    asked = cuts if listed is None else listed
    hazards: Literal["lines", "constant"] = "lines" if leave == "evenly" else "constant"
    first = Survival(*columns, value, tuple(cuts), cuts[-1], leave, tuple(others), entered, begin, hazards)
    return [replace(first, at=place) for place in asked]


def _causes(time: str, event: str, value: Scalar, competing: Sequence[Scalar]) -> list[Scalar]:
    """Return the values that say that the event came, the competing ones last (HG111)."""
    listed = isinstance(competing, (list, tuple, range))
    causes = [plain(cause) for cause in (value, *(competing if listed else (competing,)))]
    for cause in causes:
        fits = isinstance(cause, (str, int, float, bool)) and not (
            isinstance(cause, float) and not math.isfinite(cause)
        )
        if not fits or causes.count(cause) > 1 or not listed:
            raise ParameterError(
                "HG111",
                rule="The values that mark an event are declared: texts, finite numbers or booleans, each once.",
                finding=f"Found {format_argument(cause)} for column {format_argument(event)}.",
                remedy=f'For example hg.survival("{time}", "{event}", at=12, value=1).',
                shell=f"For example, write --survival {time}/{event}=1:12.",
            )
    return causes


def _times(given: Sequence[object], start: float, *, whole: bool = False) -> list[float]:
    """Return times after the start that rise (HG112); of `whole` intervals a first one at the start is left out."""
    numbers = [as_float(time) for time in given] if isinstance(given, (list, tuple, range)) else []
    if whole and numbers[:1] == [start]:
        del numbers[0]
    times = [number for number in numbers if number is not None and start < number <= _MOST_TIME]
    if not times or len(times) < len(numbers) or any(low >= high for low, high in pairwise(times)):
        raise _unfit(f"Found {format_argument(given)}.")
    return times


def _usual_cuts(times: Sequence[float], start: float) -> list[float]:
    """Return the times with cuts between them, in equal parts of each stretch."""
    parts = -(-USUAL_INTERVALS // len(times))
    return [
        high if part == parts else low + (high - low) * part / parts
        for low, high in pairwise([start, *times])
        for part in range(1, parts + 1)
    ]


def _unfit(finding: str) -> ParameterError:
    return ParameterError(
        "HG112",
        rule=f"Survival has two columns or three, and times after the start (0 by default) that rise and make at most "
        f"{MOST_INTERVALS} intervals.",
        finding=finding,
        remedy='Name the column of times, the column of events, and rising times, for example hg.survival("months", '
        '"died", at=[12, 24], bins=range(1, 25)).',
        shell="For example, write --survival months/died=1:12,24.",
    )


def _parse(text: str) -> list[StatisticRequest]:
    columns, colon, listed = text.rpartition(":")
    time, slash, event = columns.rpartition("/")
    entry, late, time = time.rpartition("..")
    event, equals, value = event.partition("=")
    begin, begins, listed = listed.rpartition("..")
    times = [parse_number(part) for part in listed.split(",")]
    start = parse_number(begin) if begins else 0.0
    written = colon and slash and time and event and (entry or not late) and start is not None
    if not written or None in times or (equals and not value.strip()):
        form = "[ENTRY..]TIME/EVENT[=V,…]:[START..]T,…, with times above 0 for T"
        raise unwritten(ENTRY.option, form, text, f"{ENTRY.option} months/died=1:12,24")
    of_event, *competing = (
        [parse_value(cause) for cause in next(csv.reader([value], skipinitialspace=True))] if equals else [1]
    )
    asked_at = [number for number in times if number is not None]
    about: dict[str, Any] = {"entry": entry or None, "start": start}
    return list(survival(time, event, at=asked_at, value=of_event, competing=competing, **about))


ENTRY = StatisticEntry(
    survival,
    21,
    {"time": COLUMN, "event": COLUMN, "at": Field("numbers", "The times of a survival curve.")},
    {
        "bins": Field("numbers", "The ends of the bins of a histogram, which rise; where a survival curve is cut."),
        "value": Field("value", "The value of a proportion; of a survival curve the value of the event."),
        "withdrawn": Field("text", 'When a censored record leaves its interval: "evenly", "middle" or "end".'),
        "competing": Field("values", "The values of the event of a survival curve that come by competing causes."),
        "entry": Field("text", "The column of the times from which on records of a survival curve are observed."),
        "start": Field("number", "The time at which a survival curve begins."),
    },
    by_name=("at",),
    metavar="[ENTRY..]TIME/EVENT[=V,…]:[START..]T,…",
    about="Survival: shares of records whose event comes after the times T, with censored records.",
    parse=_parse,
    also_called=("kaplan_meier", "life_table", "survfit", "cumulative_incidence", "aalen_johansen"),
)
