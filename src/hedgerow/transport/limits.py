"""How much a server takes: declared when it starts, the same for everybody, and told to whoever asks.

A peer is a user at a Unix socket, and an address at a port. Each has a share of the connections, so that no peer holds
them all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from hedgerow.errors import ParameterError


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
        In which a whole request must have arrived; its head in 10 at most.
    connections : int
        Open at a time; half of them of one peer.
    """

    requests_per_minute: int = 120
    most_bytes: int = 64 * 2**20
    seconds: float = 30.0
    connections: int = 64

    def __post_init__(self) -> None:
        numbers = (self.requests_per_minute, self.most_bytes, self.seconds, self.connections)
        if not all(isinstance(number, (int, float)) and 1 <= number <= 2**40 for number in numbers):
            raise ParameterError(
                "HG450",
                rule="A limit of a server is a number of at least 1.",
                finding="Found another value.",
                remedy="For example, write requests_per_minute=120.",
                shell="For example, write --rate 120.",
            )

    @property
    def head_seconds(self) -> float:
        """In which the head of a request must have arrived."""
        return min(10.0, self.seconds)

    @property
    def connections_a_peer(self) -> int:
        """How many connections of one peer are open at a time."""
        return max(1, int(self.connections) // 2)


def usual_connections(most_bytes: int) -> int:
    """Return how many requests may arrive at a time: 64, or fewer so that their bodies take a GiB at most.

    >>> usual_connections(2**20), usual_connections(2**27), usual_connections(2**40)
    (64, 8, 2)
    """
    return max(2, min(64, 2**30 // max(1, most_bytes)))


@dataclass(slots=True)
class _ConnectionPlace:
    peer: Hashable
    state: Literal["waiting", "asked", "lost"] = "waiting"


class Places:
    """The connections that are open, of each peer a share.

    A connection waits until the head of its request has arrived. Where no place is left for a peer, its connection that
    has waited longest loses its place to the new one. So connections that ask for nothing keep no request out, and what
    one peer does takes no place from another peer.

    Examples
    --------
    >>> places = Places(Limits(connections=4))
    >>> [places.take(connection, "a peer") for connection in ("first", "second", "third")]
    [True, True, True]
    >>> places.keep("first"), places.keep("second"), places.keep("third")
    (False, True, True)
    >>> places.take("fourth", "a peer"), places.take("fourth", "another peer")
    (False, True)
    """

    def __init__(self, limits: Limits) -> None:
        self._most, self._share, self._lock = limits.connections, limits.connections_a_peer, Lock()
        self._places: dict[Hashable, _ConnectionPlace] = {}  # by connection, the oldest first

    def take(self, connection: Hashable, peer: Hashable) -> bool:
        """Return whether a new connection got a place."""
        with self._lock:
            held = [place for place in self._places.values() if place.state != "lost"]
            own = [place for place in held if place.peer == peer]
            if len(own) >= self._share or len(held) >= self._most:
                oldest = next((place for place in own if place.state == "waiting"), None)
                ending = sum(place.peer == peer for place in self._places.values()) - len(own)
                # Threads of connections that lost their place are about to end; their number is bounded too.
                if oldest is None or ending >= self._share:
                    return False
                oldest.state = "lost"
            self._places[connection] = _ConnectionPlace(peer)
            return True

    def keep(self, connection: Hashable) -> bool:
        """Let a connection keep its place until it is freed; return False where it has none or lost it."""
        with self._lock:
            place = self._places.get(connection)
            if place is None or place.state == "lost":
                return False
            place.state = "asked"
            return True

    def holds(self, connection: Hashable) -> bool:
        """Return whether a connection has a place that it did not lose."""
        with self._lock:
            place = self._places.get(connection)
            return place is not None and place.state != "lost"

    def free(self, connection: Hashable) -> None:
        """Forget a connection, if it is known."""
        with self._lock:
            self._places.pop(connection, None)


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
