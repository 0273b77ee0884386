"""How much a server takes: declared when it starts, the same for everybody, and told to whoever asks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from hedgerow.errors import ParameterError

_LEAST_BYTES, _USUAL_BYTES, _BYTES_A_RECORD = 2**20, 64 * 2**20, 128


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes.

    Attributes
    ----------
    requests_per_minute : int
        From all clients together, malformed requests included; as many may come at once.
    most_bytes : int
        Of the body of one request.
    seconds : float
        In which a whole request must have arrived.
    connections : int
        Open at a time.
    """

    requests_per_minute: int = 120
    most_bytes: int = _USUAL_BYTES
    seconds: float = 30.0
    connections: int = 64

    def __post_init__(self) -> None:
        numbers = (self.requests_per_minute, self.most_bytes, self.seconds, self.connections)
        if not all(isinstance(one, (int, float)) and 1 <= one <= 2**40 for one in numbers):
            raise ParameterError(
                "HG450",
                rule="A limit of a server is a number from 1 on.",
                finding="Found something else.",
                remedy="For example requests_per_minute=120.",
                shell="For example --rate 120.",
            )


def usual_bytes(n: int | None) -> int:
    """Return the limit of a body for n records, a public number; for a private one a limit that does not depend on it.

    >>> usual_bytes(10_000), usual_bytes(1_000_000), usual_bytes(None)
    (1280000, 128000000, 67108864)
    """
    return _USUAL_BYTES if n is None else max(_LEAST_BYTES, _BYTES_A_RECORD * n)


def usual_connections(most_bytes: int) -> int:
    """Return how many requests may arrive at a time: 64, or fewer so that their bodies take a GiB at most.

    >>> usual_connections(2**20), usual_connections(2**27), usual_connections(2**40)
    (64, 8, 2)
    """
    return max(2, min(64, 2**30 // max(1, most_bytes)))


class Rate:
    """A number of requests a minute: each takes one, and they come back evenly.

    >>> rate = Rate(2, lambda: 0.0)
    >>> rate.wait(), rate.wait(), rate.wait()
    (0, 0, 30)
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock, self._lock = per_minute, clock, Lock()
        self._left, self._seen = float(per_minute), clock()

    def wait(self) -> int:
        """Take one, and return 0; where none is left, return after how many whole seconds there is one again."""
        with self._lock:
            now = self._clock()
            self._left = min(self._most, self._left + (now - self._seen) * self._most / 60.0)
            self._seen = now
            if self._left >= 1.0:
                self._left -= 1.0
                return 0
            return max(1, math.ceil((1.0 - self._left) * 60.0 / self._most))
