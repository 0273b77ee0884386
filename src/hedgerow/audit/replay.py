"""Grey-box replay: a release runs on two neighbours with the same seed, and only the noisy numbers may differ.

For each pair of neighbours and each public function these are compared: every question to the engine and the shape of
its answer, every draw of noise (law, width, number), log records, prints and warnings, the lines of code that ran
between the data and the noisy table, and the text of the error if there is one. Then both run without noise: the exact
tables may not differ by more than the sensitivity that was declared and priced.

Neighbours are small data sets that differ in one record: extremes, values out of bounds, NaN, ±inf, missing values, and
groups that were not declared.

A record of one run of a release from inside, so that two runs can be compared step by step.

The recorders take the place of the source of data and the source of noise. The code of the release is unchanged.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import logging
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import hedgerow
from hedgerow.engines.files import KEPT
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.engines.source import ColumnSource, Source, open_source
from hedgerow.engines.streamed import Streams, Watch
from hedgerow.errors import HedgerowError
from hedgerow.facts.relation import Relation, Target
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.release.execute import read_estimates, run_reserved
from hedgerow.release.plan import Plan
from hedgerow.resampling.counted_values import GridSums, Histogram
from hedgerow.resampling.replicates import StreamedReplicates, Tally
from hedgerow.statistics.mean import count, mean, sum
from hedgerow.statistics.proportion import proportion
from hedgerow.statistics.statistic import Statistic
from hedgerow.statistics.variance import variance
from hedgerow.survey import Survey
from hedgerow.testing.simulated import SimulatedNoise

_HOME = Path(hedgerow.__file__).parent
# Reading a noisy table is post-processing: it may branch on noise. Everything else between data and table may not.
_TRACED = ("engines", "resampling", "noise", "mechanisms")
_TRACED_FILES = ("execute.py", "design.py")
# Empty cells and empty histograms skip the weights. Only the running time shows it, which is a known hole.
_EXEMPT = ("replicates.py",)


@dataclass(slots=True)
class Trace:
    """Steps in order, lines of hedgerow's own code that ran, and how it ended.

    Attributes
    ----------
    steps : list of text
        Queries, sizes of answers, draws (law, width, size), warnings, log records.
    lines : set of text
        ``file:line`` of code that ran between the data and the noisy table.
    ending : text
        ``"done"``, or the type and the whole text of the error.
    """

    steps: list[str] = field(default_factory=list)
    lines: set[str] = field(default_factory=set)
    ending: str = "done"

    def differences(self, other: Trace) -> list[str]:
        """Return the differences between two traces; empty if there are none."""
        differences = []
        if self.ending != other.ending:
            differences.append(f"ending: {self.ending} | {other.ending}")
        if self.steps != other.steps:
            steps = sorted(set(self.steps) ^ set(other.steps))[:4] or ["order or number"]
            differences.append("steps: " + " | ".join(steps))
        if self.lines != other.lines:
            differences.append("lines: " + ", ".join(sorted(self.lines ^ other.lines)[:4]))
        return differences


class RecordedNoise:
    """Seeded noise that notes every draw asked for: law, width, size."""

    secure: bool = False

    def __init__(self, seed: int, trace: Trace) -> None:
        self._noise, self._trace = SimulatedNoise(seed), trace

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        """Note and draw."""
        self._trace.steps.append(f"draw gaussian {width!r} {size}")
        return self._noise.discrete_gaussian(width, size)

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        """Note and draw."""
        self._trace.steps.append(f"draw geometric {scale!r} {size}")
        return self._noise.two_sided_geometric(scale, size)

    def generator(self) -> np.random.Generator:
        """Return the generator of resampling weights, and add the step ``"generator"`` to the trace."""
        self._trace.steps.append("generator")
        return self._noise.generator()


class SilentNoise:
    """No noise at all, and every record drawn once: what is left is the exact table, for sensitivities only."""

    secure: bool = False

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        """Return zeros."""
        return np.zeros(size, dtype=np.int64)

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        """Return zeros."""
        return np.zeros(size, dtype=np.int64)

    def generator(self) -> np.random.Generator:
        """Return a stand-in for a generator, by which a record is drawn as often as is expected, rounded."""
        return cast("np.random.Generator", _Certain())


class _Certain:
    def poisson(self, lam: Any, size: Any) -> NDArray[np.int64]:
        return np.broadcast_to(np.rint(np.asarray(lam, dtype=np.float64)).astype(np.int64), size).copy()

    def integers(self, low: int, high: int, size: Any, dtype: Any = np.int64) -> NDArray[Any]:
        return np.asarray(low + np.arange(math.prod(np.atleast_1d(size))).reshape(size) % (high - low), dtype)

    def multinomial(self, n: Any, pvals: Any, size: Any) -> NDArray[np.int64]:
        drawn = np.zeros((*size, len(pvals)), dtype=np.int64)
        drawn[..., round(float(pvals @ np.arange(len(pvals))))] = n
        return drawn


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """A source that notes every question and the shape of its answer.

    The number of histogram rows is not noted: it is a function of the data that nobody outside sees, and no draw of
    noise and no output has its size.
    """

    source: Source
    trace: Trace
    answers: dict[Query | SumsQuery, Histogram | GridSums] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name in reports; the same for neighbours."""
        return "recorded"

    @property
    def columns(self) -> Mapping[str, str]:
        """Names and kinds."""
        return self.source.columns

    def check(self, query: Query | SumsQuery) -> None:
        """Pass the question on."""
        self.source.check(query)

    def histogram(self, query: Query) -> Histogram:
        """Note the question and the shape of the answer."""
        self.trace.steps.append(f"query {query!r}")
        answer = self.source.histogram(query)
        self.trace.steps.append(f"answer {answer.cells} {answer.count.dtype} {answer.missing.shape}")
        self.answers[query] = answer
        return answer

    def stream(self, query: Query, asked: StreamedReplicates, watch: Watch) -> Tally:
        """Note the question, and keep the answer as it would be counted; HG601 where the source cannot be streamed."""
        self.trace.steps.append(f"stream {query!r}")
        if not isinstance(self.source, Streams):
            raise TypeError(f"{self.source.name} cannot be read one batch at a time")
        self.answers[query] = self.source.histogram(query)
        return self.source.stream(query, asked, watch)

    def sums(self, query: SumsQuery) -> GridSums:
        """Note the question and the shape of the answer."""
        self.trace.steps.append(f"query {query!r}")
        answer = self.source.sums(query)
        self.trace.steps.append(f"answer {answer.cells} {len(answer.sums)} {answer.missing.shape}")
        self.answers[query] = answer
        return answer

    def count_rows(self) -> int:
        """Pass on; public under replace-one."""
        return self.source.count_rows()


@contextmanager
def recording(trace: Trace) -> Iterator[None]:
    """Note warnings, log records, prints and the lines of code that run; errors end the trace and go no further."""
    printed = io.StringIO()
    handler = _TraceHandler(trace)
    root = logging.getLogger()
    level, before = root.level, sys.gettrace()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(printed), redirect_stderr(printed):
        warnings.simplefilter("always")
        sys.settrace(_line_tracer(trace.lines))
        try:
            yield
        except Exception as failure:
            trace.ending = f"{type(failure).__name__}: {failure} {failure.__cause__!r}"
        finally:
            sys.settrace(before)
            root.removeHandler(handler)
            root.setLevel(level)
            trace.steps.extend(f"warning {warning.category.__name__} {warning.message}" for warning in caught)
            trace.steps.append(f"printed {printed.getvalue()!r}")


class _TraceHandler(logging.Handler):
    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.DEBUG)
        self._trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        self._trace.steps.append(f"log {record.name} {record.levelname} {record.getMessage()}")


def _line_tracer(lines: set[str]) -> Callable[[FrameType, str, Any], Any]:
    def on_line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.add(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
        return on_line

    def on_call(frame: FrameType, event: str, _: Any) -> Any:
        return on_line if _is_traced(frame.f_code.co_filename) else None

    return on_call


_KNOWN: dict[str, bool] = {}


def _is_traced(filename: str) -> bool:
    if filename not in _KNOWN:
        path = Path(filename)
        inside = path.is_relative_to(_HOME)
        folder = path.relative_to(_HOME).parts[0] if inside else ""
        named = folder in _TRACED or (folder == "release" and path.name in _TRACED_FILES)
        _KNOWN[filename] = named and path.name not in _EXEMPT
    return _KNOWN[filename]


BOUNDS, STEP, GROUPS = (-2.0, 8.0), 0.5, ("a", "b")
_VALUES = (-2.0, 8.0, 3.0, 0.0, -1e12, 1e12, 1.7e308, 5e-324, -0.0, math.nan, math.inf, -math.inf, None)
_PLAIN = (-2.0, 8.0, 3.0, 0.0, 1e12, -1e12, 2.25)
_GROUPS = ("a", "b", "elsewhere", None)
_BINARY = (0, 1, None)
_SLACK = 1.0 + 1e-9


@dataclass(frozen=True, slots=True)
class Person:
    """One record: a number with bounds, a group, a binary answer; None is missing."""

    value: float | None
    group: str | None
    works: int | None


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Two data sets that are neighbours under `relation`."""

    relation: Relation
    first: tuple[Person, ...]
    second: tuple[Person, ...]


def draw_pair(
    relation: Relation, rng: np.random.Generator, *, complete: bool = False, records: int = 6
) -> NeighbourPair:
    """Draw neighbours: `records` people, one of whom is another (replace-one) or not there (add-remove).

    `complete` draws from data without missing values, as a declaration of completeness promises.

    >>> pair = draw_pair(Relation.ADD_REMOVE, np.random.default_rng(1))
    >>> len(pair.first) - len(pair.second)
    1
    """
    first = tuple(_person(rng, complete) for _ in range(records))
    place = int(rng.integers(records))
    changed = (_person(rng, complete),) if relation is Relation.REPLACE_ONE else ()
    return NeighbourPair(relation, first, first[:place] + changed + first[place + 1 :])


def _person(rng: np.random.Generator, complete: bool) -> Person:
    values = _PLAIN if complete else _VALUES
    groups, answers = (_GROUPS[:3], _BINARY[:2]) if complete else (_GROUPS, _BINARY)
    value = values[rng.integers(len(values))] if rng.random() < 0.6 else float(np.round(rng.uniform(*BOUNDS), 3))
    return Person(value, groups[rng.integers(len(groups))], answers[rng.integers(len(answers))])


def in_csv(people: tuple[Person, ...], folder: Path, name: str) -> ColumnSource:
    """Open the people as a CSV file: works in the core install, and every value passes the text reader."""
    lines = ["value,group,works", *(",".join(_text(cell) for cell in _cells(person)) for person in people)]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return open_source(path)


def in_frame(people: tuple[Person, ...]) -> ColumnSource | None:
    """Open the people as an Arrow table; None where pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        return None
    arrow = importlib.import_module("pyarrow")
    kinds = {"value": arrow.float64(), "group": arrow.string(), "works": arrow.int64()}
    columns = zip(*(_cells(person) for person in people), strict=True)
    arrays = [arrow.array(cells, kind) for cells, kind in zip(columns, kinds.values(), strict=True)]
    return open_source(arrow.table(dict(zip(kinds, arrays, strict=True))))


def _cells(person: Person) -> tuple[float | None, str | None, int | None]:
    return person.value, person.group, person.works


def _text(cell: float | str | None) -> str:
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


@dataclass(frozen=True, slots=True)
class Function:
    """One public function with its options."""

    name: str
    statistic: Statistic
    options: dict[str, Any]
    complete: bool = False


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What all replays found.

    Attributes
    ----------
    pairs, functions, replays : int
        Neighbours, functions, and how many runs were compared.
    divergences : tuple of text
        The differences between neighbours; there should be none.
    largest_excess : float
        The largest difference of exact tables, in units of the declared sensitivity; it should be at most 1.
    """

    pairs: int
    functions: int
    replays: int
    divergences: tuple[str, ...]
    largest_excess: float

    @property
    def passes(self) -> bool:
        """Whether something was compared, nothing diverged and no sensitivity was exceeded."""
        return self.replays > 0 and not self.divergences and self.largest_excess <= _SLACK


def public_functions() -> tuple[Function, ...]:
    """Return mean, sum, proportion and count with every grouping and policy that a survey offers, and selections."""
    average, total = mean("value", bounds=BOUNDS, step=STEP), sum("value", bounds=BOUNDS, step=STEP)
    by: dict[str, Any] = {"by": {"group": list(GROUPS)}}
    functions = []
    for groups, options in (("", {}), (" by group", by), (" by group and the rest", {**by, "other": True})):
        for pure in (False, True):
            budget = {"epsilon": 1.0, "delta": 0.0 if pure else 1e-6}
            kind = f"{groups}{', pure' if pure else ''}"
            functions += [
                Function("mean" + kind, average, {**options, **budget}),
                Function("sum" + kind, total, {**options, **budget}),
                Function("mean, midpoint" + kind, average, {**options, **budget, "missing": "midpoint"}),
            ]
        budget = {"epsilon": 1.0, "delta": 0.0}
        functions += [
            Function("proportion" + groups, proportion("works", value=1), {**options, **budget}),
            Function("count" + groups, count(), {**options, **budget}),
        ]
    declared = {"epsilon": 1.0, "delta": 1e-6, "missing": "error-if-declared-complete"}
    functions += [
        Function("mean, complete", average, declared, complete=True),
        Function("proportion, complete", proportion("works", value=1), {**declared, "delta": 0.0}, complete=True),
    ]
    bootstrap = {"estimator": "bootstrap", "epsilon": 1.0, "delta": 1e-6}
    functions.append(Function("mean, bootstrap", average, bootstrap))
    averaged: dict[str, Any] = {**by, "noise": "averaged-laplace", "epsilon": 1.0, "delta": 1e-6}
    functions += [Function(f"{s.name}, averaged Laplace by group", s, averaged) for s in (average, total, count())]
    functions.append(Function("mean, bootstrap by group", average, {**by, **bootstrap}))
    where = {"where": "value >= 0 and not group in ['b']", "epsilon": 1.0, "delta": 0.0}
    selected = (average, total, proportion("works", value=1), count(), variance("value", bounds=BOUNDS, step=STEP))
    functions += [Function(f"{function.name}, where", function, where) for function in selected]
    functions += [
        Function("count, where, by group", count(), {**by, **where}),
        Function("mean, where, bootstrap", average, {**where, **bootstrap}),
        Function("mean, where, midpoint", average, {**where, "missing": "midpoint"}),
        Function("mean, where, complete", average, {**declared, "where": where["where"]}, complete=True),
    ]
    # A column with every strange number there is: no weight may stop a run, or say anything.
    weighing: dict[str, Any] = {"weights": ("value", 5.0), "epsilon": 1.0, "delta": 0.0}
    weighed = (mean("works", bounds=(0.0, 1.0), step=1.0), proportion("works", value=1), count())
    functions += [Function(f"{function.name}, weighted", function, weighing) for function in weighed]
    functions.append(Function("sum, weighted by group", sum("works", bounds=(0.0, 1.0), step=1.0), {**by, **weighing}))
    return tuple(functions)


def replay(pairs: int, *, seed: int, csv_every: int = 0, go_on: Callable[[int], bool] | None = None) -> ReplayResult:
    """Replay `pairs` random neighbours through every public function.

    Parameters
    ----------
    pairs : int
        Half of them replace-one, half add-remove.
    seed : int
        Of the data and of the noise.
    csv_every : int
        One pair in so many goes through a CSV file; 0 for none where frames can be read.
    go_on : callable, optional
        Called with the number of finished pairs before each pair; False stops.

    Returns
    -------
    Replay
        Functions that this version refuses from public facts alone are left out, once both neighbours were refused.
    """
    rng = np.random.default_rng(seed)
    divergences: list[str] = []
    plans: dict[tuple[str, Relation], Plan | None] = {}
    replays, largest = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(pairs):
            if go_on is not None and not go_on(number):
                pairs = number
                break
            relation = tuple(Relation)[number % 2]
            csv = bool(csv_every) and number % csv_every == 0
            for complete, chosen in _split(public_functions()):
                pair = draw_pair(relation, rng, complete=complete)
                opened = _opened(pair, Path(folder), csv=csv)
                for function in chosen:
                    known = (function.name, relation)
                    if known not in plans:
                        plans[known], other = (_plan(source, function, relation) for source in opened)
                        if _record(plans[known]) != _record(other):
                            divergences.append(f"{function.name}: the plans differ")
                    plan = plans[known]
                    if plan is None:
                        continue
                    differences, moved = replay_pair(plan, *opened, seed=int(rng.integers(2**31)))
                    divergences += [f"{function.name}, {relation}: {difference}" for difference in differences]
                    replays, largest = replays + 1, max(largest, moved)
    names = {name for (name, _), plan in plans.items() if plan is not None}
    return ReplayResult(pairs, len(names), replays, tuple(divergences), largest)


def replay_pair(plan: Plan, first: Source, second: Source, *, seed: int) -> tuple[list[str], float]:
    """Return the differences between two sources under one seed, and that of exact tables in declared sensitivities."""
    # What a run computes of the public plan is kept for a while: else the first recorded run alone would show it. What
    # is kept of the data of `first` would show in the run of `second`.
    with suppress(Exception), warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        read_estimates(plan, run_reserved(plan, RecordedSource(first, Trace()), RecordedNoise(seed, Trace())))
    traces: list[Trace] = []
    answers: list[dict[Query | SumsQuery, Histogram | GridSums]] = []
    for source in (first, second):
        trace = Trace()
        recorded = RecordedSource(source, trace)
        KEPT.close()  # a connection that is open for the file of one source runs fewer lines than a new one
        with recording(trace):
            estimates = read_estimates(plan, run_reserved(plan, recorded, RecordedNoise(seed, trace)))
            trace.steps.append(f"estimates {len(estimates)} {[estimate.cell for estimate in estimates]!r}")
        traces.append(trace)
        answers.append(recorded.answers)
    differences = traces[0].differences(traces[1])
    if any(trace.ending != "done" for trace in traces):
        return differences, 0.0
    exact = [_exact_tables(plan, given) for given in answers]
    moved = [
        item.mechanism.excess(plan.facts.relation, a - b)
        for item, a, b in zip([item for item in plan.items if item.design], *exact, strict=True)
        if item.mechanism is not None
    ]
    return differences, max(moved, default=0.0)


def _exact_tables(plan: Plan, answers: Mapping[Any, Histogram | GridSums]) -> list[NDArray[np.float64]]:
    return [
        item.design.table(answers[item.design.query], item.mechanism, SilentNoise()).values
        for item in plan.items
        if item.design is not None and item.mechanism is not None
    ]


def _opened(pair: NeighbourPair, folder: Path, *, csv: bool) -> tuple[ColumnSource, ColumnSource]:
    frames = None if csv else (in_frame(pair.first), in_frame(pair.second))
    if frames is not None and frames[0] is not None and frames[1] is not None:
        return frames[0], frames[1]
    return in_csv(pair.first, folder, "first"), in_csv(pair.second, folder, "second")


def _plan(source: ColumnSource, function: Function, relation: Relation) -> Plan | None:
    try:
        return Survey(source, relation, "row", Target.POPULATION).plan(function.statistic, **function.options)
    except HedgerowError:
        return None


def _record(plan: Plan | None) -> object:
    return None if plan is None else as_record(plan.mechanism)


def _split(functions: tuple[Function, ...]) -> Iterator[tuple[bool, list[Function]]]:
    for complete in (False, True):
        yield complete, [function for function in functions if function.complete is complete]
