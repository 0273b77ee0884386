"""A record of one run of a release from inside, so that two runs can be compared step by step.

The recorders take the place of the source of data and the source of noise. The code of the release is unchanged.
"""

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import hedgerow
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.engines.source import Source
from hedgerow.engines.streamed import Streams, Watch
from hedgerow.resampling.grid_sums import GridSums
from hedgerow.resampling.histogram import Histogram
from hedgerow.resampling.streamed import StreamedReplicates, Tally
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
        found = []
        if self.ending != other.ending:
            found.append(f"ending: {self.ending} | {other.ending}")
        if self.steps != other.steps:
            found.append("steps: " + " | ".join(sorted(set(self.steps) ^ set(other.steps))[:4] or ["order or number"]))
        if self.lines != other.lines:
            found.append("lines: " + ", ".join(sorted(self.lines ^ other.lines)[:4]))
        return found


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
        return np.broadcast_to(np.rint(np.asarray(lam)).astype(np.int64), size).copy()

    def integers(self, low: int, high: int, size: Any, dtype: Any) -> NDArray[Any]:
        return np.asarray(low + np.arange(size) % (high - low), dtype)

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
    handler = _Handler(trace)
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
            trace.steps.extend(f"warning {one.category.__name__} {one.message}" for one in caught)
            trace.steps.append(f"printed {printed.getvalue()!r}")


class _Handler(logging.Handler):
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
