"""Runs a user's code silently: what it prints, logs, warns of or raises could reveal private data.

A metric, a feature, a predicate or a model sees private values, and its result is not its only output. `quietly` closes
the other outputs that Python has: both standard streams, warnings, logging, NumPy's floating-point reports and every
exception, `SystemExit` and the like included. It cannot close files, sockets, the running time, and what compiled code
writes directly. This is a known hole: do not run code of people whom you do not trust on private data.

Code that takes many records at once and fails for one of them fails for all: the failure would reveal that one.
`one_by_one` halves the records for which it fails until the failing ones stand alone. Where the result of a record
depends on that record alone, which is what the certificate assumes, this gives the results of asking record by record.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def quietly(call: Callable[[], T]) -> T | None:
    """Return what `call` returns, None if it fails: nothing is printed, warned of, logged or raised.

    A real interrupt from outside, Ctrl-C or a signal that ends the process, still arrives; the same exception raised
    by the code itself does not.

    Examples
    --------
    >>> quietly(lambda: 6 * 7), quietly(lambda: 1 / 0), quietly(lambda: exit("label 17 is 0"))
    (42, None, None)
    """
    with silence():
        try:
            return call()
        except BaseException:  # SystemExit, KeyboardInterrupt and errors of compiled code could reveal data too
            if _running.interrupted:
                raise
            return None


@contextmanager
def silence() -> Iterator[None]:
    """Close every output but the result, for many calls of `quietly` at the cost of one.

    Streams, filters and levels belong to the whole process, so one thread at a time is inside; a nested call of the
    same thread passes.
    """
    with _running.lock:
        if _running.depth:
            _running.depth += 1
            try:
                yield
            finally:
                _running.depth -= 1
            return
        _running.depth, _running.interrupted = 1, False
        level = logging.root.manager.disable
        with ExitStack() as shut:
            nowhere = shut.enter_context(Path(os.devnull).open("w", encoding="utf-8", errors="replace"))
            shut.enter_context(redirect_stdout(nowhere))
            shut.enter_context(redirect_stderr(nowhere))
            shut.enter_context(np.errstate(all="ignore"))
            # Recorded and thrown away, so that a function that changes the filters is silent too.
            shut.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("ignore")
            shut.callback(logging.disable, level)
            logging.disable(logging.CRITICAL)
            shut.enter_context(_signals_noted())
            try:
                yield
            finally:
                _running.depth = 0


@dataclass
class _Running:
    """The lock, how many calls are nested, and whether a signal came from outside meanwhile."""

    lock: Any = field(default_factory=threading.RLock)
    depth: int = 0
    interrupted: bool = False


_running = _Running()


def _forget_the_parent() -> None:
    # Another thread of the parent may have held the lock, and does not exist here.
    _running.lock, _running.depth, _running.interrupted = threading.RLock(), 0, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_the_parent)


@contextmanager
def _signals_noted() -> Iterator[None]:
    """Note signals that Python handles: what they raise comes from outside, not from the code that is run."""
    handlers: list[tuple[signal.Signals, Any]] = []
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                signal.signal(number, _noting(handler))
                handlers.append((number, handler))
    try:
        yield
    finally:
        for number, handler in handlers:
            signal.signal(number, handler)


def _noting(handler: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
    def noted(number: int, frame: Any) -> Any:
        _running.interrupted = True
        return handler(number, frame)

    return noted


def one_by_one(call: Callable[[int, int], Any], n: int, nothing: Any) -> NDArray[np.object_]:
    """Return what `call(start, end)` returns for records 0 to n − 1, `nothing` for those for which it fails.

    Parameters
    ----------
    call : callable
        Returns an array of end − start results. Run silently; another length counts as a failure.
    n : int
    nothing : object
        What stands for a record without a result.

    Examples
    --------
    >>> one_by_one(lambda start, end: [1 / (i - 1) for i in range(start, end)], 4, None).tolist()
    [-1.0, None, 1.0, 0.5]
    """
    made: NDArray[np.object_] = np.empty(n, dtype=object)
    waiting = [(0, n)] if n else []
    with silence():
        while waiting:
            start, end = waiting.pop()
            results = quietly(partial(_results, call, start, end))
            if results is not None:
                made[start:end] = results
            elif end - start == 1:
                made[start] = nothing
            else:
                middle = (start + end) // 2
                waiting += [(start, middle), (middle, end)]
    return made


def each_alone(call: Callable[..., T], inputs: Iterable[tuple[Any, ...]], nothing: T) -> list[T]:
    """Return what `call` returns for each tuple of arguments, `nothing` for those on which it fails, silently.

    >>> each_alone(lambda a, b: a / b, [(6, 3), (1, 0), (1, 2)], None)
    [2.0, None, 0.5]
    """
    results = []
    with silence():
        for given in inputs:
            try:
                results.append(call(*given))
            except BaseException:  # as in `quietly`, whose cost at each call this spares
                if _running.interrupted:
                    raise
                results.append(nothing)
    return results


def _results(call: Callable[[int, int], Any], start: int, end: int) -> NDArray[np.object_]:
    cells, n = np.asarray(call(start, end), dtype=object), end - start
    if cells.shape == (n, 1):
        cells = cells[:, 0]
    if cells.shape != (n,):
        raise ValueError("one result a record")
    return cells
