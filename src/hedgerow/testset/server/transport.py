"""HTTP for the service: two paths, one request a connection, every size and time limited before anything is read.

No answer holds a word of the standard library's, which quotes what was sent: each is JSON of ours, with the same
headers. A page in a browser on this machine could send requests to a port: those with an ``Origin``, or to another
``Host``, are refused.

Each connection has a thread of its own, and each peer a share of them (`hedgerow.testset.server.transport.Places`). A
connection for which there is no place is refused by a thread too: what its client still sends is read and thrown away,
since closing the connection at once would tear the answer away.

How much a server takes: declared when it starts, the same for everybody, and told to whoever asks.

A peer is a user at a Unix socket, and an address at a port. Each has a share of the connections, so that no peer holds
them all.
"""

from __future__ import annotations

import io
import json
import math
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any, Literal

from hedgerow.errors import LedgerError, ParameterError
from hedgerow.testset.server.client import LOCAL, Access, Address, bound, peer_of
from hedgerow.testset.server.service import CSV, JSON, ServerAnswer, Service, malformed, refusal, stopping


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


FACTS, SCORES = "/v1", "/v1/scores"
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_LENGTH = re.compile(r"[0-9]{1,15}")
_TICK = 0.25  # seconds after which a thread that waits for a client looks whether the server stops
_SILENCE = 1.0  # seconds without a byte after which what a client still sends is waited for no longer
_BODIES_THROWN_AWAY = 16  # so many times the largest body is read of a request that was refused


class TestSetServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Serves a test set at an address until it is stopped.

    Parameters
    ----------
    service : Service
    address : Address
        Port 0 stands for any free one; `address` then says which.
    limits : Limits
    access : {"user", "group", "all"}
        Who may use the Unix socket. A port may be used by every user of this machine.

    Raises
    ------
    ParameterError
        HG450: the address is taken, or cannot be listened at.
    """

    # Test runners collect classes whose names begin so.
    __test__ = False
    request_queue_size = 1024
    daemon_threads = False

    def __init__(self, service: Service, address: Address, limits: Limits, access: Access = "user") -> None:
        self.service, self.limits, self.rate = service, limits, Rate(limits.requests_per_minute)
        self.places, self.refusals = Places(limits), Places(limits)
        made, self.address = bound(address, access)
        super().__init__((str(address.path or ""), 0), _RequestHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = made
        self._file = None if address.path is None else (address.path.stat().st_dev, address.path.stat().st_ino)
        self.server_activate()

    def stop(self) -> None:
        """Take no more requests; the look under way is finished and answered. Called from another thread or signal."""
        self.service.stopping = True
        threading.Thread(target=self.shutdown, daemon=True).start()

    def server_close(self) -> None:
        """Wait for the answers that are under way, and remove the socket."""
        self.service.stopping = True
        super().server_close()
        path = self.address.path
        with suppress(OSError):
            if path is not None and (path.lstat().st_dev, path.lstat().st_ino) == self._file:
                path.unlink()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, where there is a place for this peer; else refuse, in a thread too."""
        taken: Places | None = None
        with suppress(OSError):
            peer = peer_of(request, client_address)
            taken = next((places for places in (self.places, self.refusals) if places.take(request, peer)), None)
            if taken is None:
                request.settimeout(_TICK)
                request.sendall(_as_http(_busy(1, "connections")))
        if taken is None:
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            taken.free(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one request, and free its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.free(request)
            self.refusals.free(request)

    def loses(self, request: Any) -> bool:
        """Return whether a connection is to end now: its place went to another connection."""
        return not (self.places.holds(request) or self.refusals.holds(request))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went away is no failure, and a traceback may quote what it sent."""


class _Late(Exception):
    """The request did not arrive in time, or its connection is to end."""


class _Arriving(io.RawIOBase):
    """The bytes of a request, of which all must have arrived by a deadline, or before the connection is to end."""

    def __init__(self, server: TestSetServer, request: socket.socket) -> None:
        self._server, self._request, self._begun = server, request, time.monotonic()
        self.seconds = server.limits.head_seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            left = self._begun + self.seconds - time.monotonic()
            if left <= 0.0 or self._server.service.stopping or self._server.loses(self._request):
                raise _Late
            self._request.settimeout(min(left, _TICK))
            with suppress(TimeoutError):
                return self._request.recv_into(buffer)


class _RequestHandler(BaseHTTPRequestHandler):
    server: TestSetServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self._arriving = _Arriving(self.server, self.request)
        self.rfile = io.BufferedReader(self._arriving)
        self._unread = True

    def handle(self) -> None:
        """Answer one request, or say that there is no place for it."""
        try:
            if self.server.refusals.holds(self.request):
                self._send(_busy(1, "connections"))
            else:
                self.handle_one_request()
        except _Late:
            self._send(self._late())
        if self._unread:
            with suppress(OSError):
                self._throw_away()

    def _late(self) -> ServerAnswer:
        if self.server.service.stopping:
            return stopping()
        if self.server.loses(self.request):
            return _busy(1, "connections")
        return refusal(malformed(f"It did not arrive within {self._arriving.seconds:g} seconds."), 408)

    def handle_expect_100(self) -> bool:
        """Wait: a body is asked for once its head was accepted."""
        return True

    def do_GET(self) -> None:
        """Answer with the public facts."""
        answer = self._refused()
        if answer is None and self.path != FACTS:
            answer = _not_there("GET", self.path)
        if answer is None:
            answer = self.server.service.answer_facts()
            limits = self.server.limits
            shares = {"connections_a_peer": limits.connections_a_peer, "head_seconds": limits.head_seconds}
            if answer.status == 200:
                answer = ServerAnswer(200, {**answer.record, "limits": {**asdict(limits), **shares}})
        self._send(answer)

    def do_POST(self) -> None:
        """Answer with a score."""
        answer = self._refused()
        if answer is None and self.path != SCORES:
            answer = _not_there("POST", self.path)
        if answer is None:
            answer = self._check_head()
        if answer is None:
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.send_response_only(100)
                self.end_headers()
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            self._unread = False
            if len(body) < length:
                answer = refusal(malformed("It ended before its Content-Length."), 400)
            else:
                kind = _media_type(self.headers.get("Content-Type", ""))
                answer = self.server.service.answer_score(self.headers["Idempotency-Key"], body, kind)
        self._send(answer)

    def _refused(self) -> ServerAnswer | None:
        """Count a request whose head arrived, and refuse one that comes from no program of this machine."""
        self._unread = not {"Content-Length", "Transfer-Encoding"}.isdisjoint(self.headers)
        if not self.server.places.keep(self.request) or self.server.service.stopping:
            return self._late()
        self._arriving.seconds = self.server.limits.seconds
        if (too_many := self._counted()) is not None:
            return too_many
        hosts = self.headers.get_all("Host", [])
        host = re.sub(r":[0-9]{1,5}$", "", hosts[0]) if len(hosts) == 1 else ""
        if "Origin" in self.headers or (self.server.address.path is None and host not in LOCAL):
            return refusal(malformed("It comes from a web page, or names another host than localhost."), 421)
        return None

    def _counted(self) -> ServerAnswer | None:
        """Count a request, and refuse one that is too many."""
        if seconds := self.server.rate.wait():
            return _busy(seconds, "requests a minute")
        return None

    def _check_head(self) -> ServerAnswer | None:
        """Return the refusal of a head, before a byte of the body is read."""
        for name in ("Idempotency-Key", "Content-Type", "Content-Length"):
            if len(self.headers.get_all(name, [])) > 1:
                return refusal(malformed(f"{name} stands there twice."), 400)
        length = self.headers.get("Content-Length")
        if "Transfer-Encoding" in self.headers or length is None:
            return refusal(malformed("It has no Content-Length; bodies in chunks are not taken."), 411)
        if not _LENGTH.fullmatch(length):
            return refusal(malformed("Its Content-Length is no number."), 400)
        if int(length) > self.server.limits.most_bytes:
            refused = ParameterError(
                "HG454",
                rule=f"The body of a request has at most {self.server.limits.most_bytes:,} bytes.",
                finding="The request is larger than the limit.",
                remedy="No look was taken. Send one prediction for each record, as CSV.",
            )
            return refusal(refused, 413)
        if not _KEY.fullmatch(self.headers.get("Idempotency-Key", "")):
            return refusal(malformed("It has no Idempotency-Key of 1 to 200 visible characters of ASCII."), 400)
        kind = _media_type(self.headers.get("Content-Type", ""))
        if kind not in (JSON, CSV) or self.headers.get("Content-Encoding", "identity") != "identity":
            return refusal(malformed(f"Its Content-Type is neither {JSON} nor {CSV}, or it is compressed."), 415)
        return None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Count and refuse what the standard library cannot parse, in words of ours: its own quote the request."""
        if (too_many := self._counted()) is not None:
            self._send(too_many)
        elif code == 501:
            self._send(ServerAnswer(405, refusal(malformed("Its method is neither GET nor POST."), 405).record))
        else:
            self._send(refusal(malformed("It is no request of HTTP/1.1, or its head is too long."), code))

    def _send(self, answer: ServerAnswer) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.request.settimeout(self.server.limits.seconds)
            self.request.sendall(_as_http(answer))

    def _throw_away(self) -> None:
        """Read what the client still sends, up to a limit: closing at once would tear the answer away."""
        self.request.shutdown(socket.SHUT_WR)
        left, begun = _BODIES_THROWN_AWAY * self.server.limits.most_bytes, time.monotonic()
        heard = now = begun
        self.request.settimeout(_TICK)
        while left > 0 and now <= heard + _SILENCE and not self.server.loses(self.request):
            if now > begun + (_SILENCE if self.server.service.stopping else self.server.limits.seconds):
                return
            with suppress(TimeoutError):
                part = self.request.recv(2**16)
                if not part:
                    return
                left, heard = left - len(part), time.monotonic()
            now = time.monotonic()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a path or a header may hold anything. The service tells of looks."""


_PHRASES = {200: "OK", 400: "Bad Request", 403: "Forbidden", 429: "Too Many Requests", 503: "Service Unavailable"}


def _as_http(answer: ServerAnswer) -> bytes:
    body = json.dumps(answer.record, ensure_ascii=True, allow_nan=False).encode() + b"\n"
    lines = [
        f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, 'Refused')}",
        f"Content-Type: {JSON}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    if answer.retry_after is not None:
        lines.append(f"Retry-After: {answer.retry_after}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii") + body


def _media_type(stated: str) -> str:
    return stated.split(";")[0].strip().lower()


def _not_there(method: str, path: str) -> ServerAnswer:
    status = 405 if path in (FACTS, SCORES) else 404
    return refusal(malformed(f"A test set is asked by GET {FACTS} and POST {SCORES}."), status)


def _busy(seconds: int, what: str) -> ServerAnswer:
    refused = LedgerError(
        "HG455",
        rule=f"A server takes so many {what} and no more.",
        finding="There were more requests.",
        remedy="No look was taken. Wait for the number of seconds in the header Retry-After, and send the request "
        "again under the same key.",
    )
    status = 429 if what.startswith("requests") else 503
    return ServerAnswer(status, refusal(refused, 429).record, seconds)
