"""What was opened last stays open for the next question: to open DuckDB takes as long as to add up a million values.

One thing at most is kept. Who takes it has it alone, so that two threads never share one. What an error has passed is
closed. Before a fork, what is kept is closed, since its threads would be missing in the child; and at the end of the
program.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class KeptOpen(Generic[T]):
    """At most one context that was entered and is not used at present, with the key by which it is asked for.

    Examples
    --------
    >>> @contextmanager
    ... def opened():
    ...     print("opened")
    ...     yield 1
    ...     print("closed")
    >>> kept = KeptOpen()
    >>> for _ in range(2):
    ...     with kept.taken("a", opened) as one:
    ...         print(one)
    opened
    1
    1
    >>> kept.close()
    closed
    """

    def __init__(self) -> None:
        self._idle: list[tuple[Hashable, ExitStack, T]] = []
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self.close)

    @contextmanager
    def taken(self, key: Hashable, opening: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
        """Yield what is kept under this key, or what `opening` opens, and keep it afterwards, in place of another."""
        with ExitStack() as open_now:
            taken = self._take(key, open_now) or (open_now.enter_context(opening()),)
            yield taken[0]
            still_open = open_now.pop_all()
        self._idle.append((key, still_open, taken[0]))
        self.close(but=1)

    def _take(self, key: Hashable, open_now: ExitStack) -> tuple[T] | None:
        with suppress(IndexError):  # no lock, which a child could find taken: each step of a list is one of Python's
            kept, still_open, opened = self._idle.pop()
            open_now.push(still_open)
            if kept == key:
                return (opened,)
            open_now.close()
        return None

    def close(self, *, but: int = 0) -> None:
        """Close what is kept, except for so many that were used last."""
        with suppress(IndexError):
            while len(self._idle) > but:
                self._idle.pop(0)[1].close()
