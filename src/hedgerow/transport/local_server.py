"""HTTP for a server of this machine: one request a connection, every size and time limited before anything is read.

No answer holds a word of the standard library's, which quotes what was sent: each is one of the server's own, with the
same headers. A page in a browser on this machine could send requests to a port: those with the ``Origin`` of another
page, or to another ``Host``, are refused.

Each connection has a thread of its own, and each peer a share of them (`hedgerow.transport.limits.Places`). A
connection for which there is no place is refused by a thread too: what its client still sends is read and thrown away,
since closing the connection at once would tear the answer away.
"""

from __future__ import annotations

import io
import re
import socket
import socketserver
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

from hedgerow.errors import HedgerowError, LedgerError, ParameterError
from hedgerow.transport.address import LOCAL, Access, Address, bound, peer_of
from hedgerow.transport.limits import Limits, Places, Rate

_LENGTH = re.compile(r"[0-9]{1,15}")
_TICK = 0.25  # seconds after which a thread that waits for a client looks whether the server stops
_SILENCE = 1.0  # seconds without a byte after which what a client still sends is waited for no longer
_BODIES_THROWN_AWAY = 16  # so many times the largest body is read of a request that was refused
_OWN_PAGE = ("same-origin", "none")  # what a browser says of a request that no other page caused


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request before its body.

    Attributes
    ----------
    method : {"GET", "POST"}
    path : str
        As it was sent, with the query.
    headers : email.message.Message
    """

    method: str
    path: str
    headers: Message

    def once(self, name: str) -> str | None:
        """Return a header that stands there once; None where it is missing or stands there twice."""
        values = self.headers.get_all(name, [])
        return str(values[0]) if len(values) == 1 else None

    @property
    def media_type(self) -> str:
        """The type of the body, without its parameters."""
        return self.headers.get("Content-Type", "").split(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A status, a body with its type, and further headers, which must never hold a text that was sent."""

    status: int
    body: bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the answer as HTTP carries it."""
        headers = {
            "Content-Type": self.media_type,
            "Content-Length": len(self.body),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
            **self.headers,
        }
        lines = [f"HTTP/1.1 {self.status} {_PHRASES.get(self.status, 'Refused')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii") + self.body


_PHRASES = {
    **{200: "OK", 303: "See Other", 400: "Bad Request", 403: "Forbidden", 404: "Not Found"},
    **{429: "Too Many Requests", 503: "Service Unavailable"},
}


class LocalServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Serves at an address of this machine until it is stopped; a subclass says what it answers.

    Parameters
    ----------
    address : Address
        Port 0 stands for any free one; `address` then says which.
    limits : Limits
    access : {"user", "group", "all"}
        Who may use the Unix socket. A port may be used by every user of this machine.

    Attributes
    ----------
    stopping : bool
        Whether no more requests are taken.
    has_pages : bool
        Whether pages of this server's own origin may send requests; pages of others never may.
    nothing_done, smaller : str
        What is said of every request that was refused, and how to make a smaller one.

    Raises
    ------
    ParameterError
        HG450: the address is taken, or cannot be listened at.
    """

    request_queue_size = 1024
    daemon_threads = False
    has_pages: ClassVar[bool] = False
    nothing_done: ClassVar[str] = "Nothing was done."
    smaller: ClassVar[str] = "Send a smaller request."

    def __init__(self, address: Address, limits: Limits, access: Access = "user") -> None:
        self.limits, self.rate, self.stopping = limits, Rate(limits.requests_per_minute), False
        self.places, self.refusals = Places(limits), Places(limits)
        made, self.address = bound(address, access)
        super().__init__((str(address.path or ""), 0), _RequestHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = made
        self._file = None if address.path is None else (address.path.stat().st_dev, address.path.stat().st_ino)
        self.server_activate()

    def check(self, head: RequestHead) -> HttpAnswer | None:
        """Return the refusal of a request, before a byte of its body is read; None where it is taken."""
        raise NotImplementedError

    def answer(self, head: RequestHead, body: bytes) -> HttpAnswer:
        """Answer a request that was taken."""
        raise NotImplementedError

    def malformed(self, finding: str) -> HedgerowError:
        """Return the error of a request that cannot be read."""
        raise NotImplementedError

    def refused(self, error: HedgerowError, status: int, retry_after: int | None = None) -> HttpAnswer:
        """Return the answer that tells an error."""
        raise NotImplementedError

    def take_no_more(self) -> None:
        """Refuse every request from now on."""
        self.stopping = True

    def stop(self) -> None:
        """Take no more requests; what is under way is finished and answered. Called from another thread or signal."""
        self.take_no_more()
        threading.Thread(target=self.shutdown, daemon=True).start()

    def server_close(self) -> None:
        """Wait for the answers that are under way, and remove the socket."""
        self.take_no_more()
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
                request.sendall(self.busy(1, "connections").to_bytes())
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

    def busy(self, seconds: int, what: str) -> HttpAnswer:
        """Return the refusal of a request for which there is no place."""
        refused = LedgerError(
            "HG455",
            rule=f"A server takes so many {what} and no more.",
            finding="There were more requests.",
            remedy=f"{self.nothing_done} Wait for the number of seconds in the header Retry-After, and send the "
            "same request again.",
        )
        return self.refused(refused, 429 if what.startswith("requests") else 503, seconds)

    def too_large(self) -> HttpAnswer:
        """Return the refusal of a body that is larger than the limit."""
        refused = ParameterError(
            "HG454",
            rule=f"The body of a request has at most {self.limits.most_bytes:,} bytes.",
            finding="The request is larger than the limit.",
            remedy=f"{self.nothing_done} {self.smaller}",
        )
        return self.refused(refused, 413)


def stopping_error() -> LedgerError:
    """Return the error of a request to a server that is about to end (HG455)."""
    return LedgerError("HG455", rule="A server that is stopping accepts no new request.")


class _Late(Exception):
    """The request did not arrive in time, or its connection is to end."""


class _Arriving(io.RawIOBase):
    """The bytes of a request, of which all must have arrived by a deadline, or before the connection is to end."""

    def __init__(self, server: LocalServer, request: socket.socket) -> None:
        self._server, self._request, self._begun = server, request, time.monotonic()
        self.seconds = server.limits.head_seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            left = self._begun + self.seconds - time.monotonic()
            if left <= 0.0 or self._server.stopping or self._server.loses(self._request):
                raise _Late
            self._request.settimeout(min(left, _TICK))
            with suppress(TimeoutError):
                return self._request.recv_into(buffer)


class _RequestHandler(BaseHTTPRequestHandler):
    server: LocalServer
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
                self._send(self.server.busy(1, "connections"))
            else:
                self.handle_one_request()
        except _Late:
            self._send(self._late())
        if self._unread:
            with suppress(OSError):
                self._throw_away()

    def _late(self) -> HttpAnswer:
        if self.server.stopping:
            return self.server.refused(stopping_error(), 503)
        if self.server.loses(self.request):
            return self.server.busy(1, "connections")
        return self._malformed(f"It did not arrive within {self._arriving.seconds:g} seconds.", 408)

    def _malformed(self, finding: str, status: int) -> HttpAnswer:
        return self.server.refused(self.server.malformed(finding), status)

    def handle_expect_100(self) -> bool:
        """Wait: a body is asked for once its head was accepted."""
        return True

    def do_GET(self) -> None:
        """Answer a request without a body."""
        head = RequestHead("GET", self.path, self.headers)
        self._send(self._refused(head) or self.server.check(head) or self.server.answer(head, b""))

    def do_POST(self) -> None:
        """Answer a request with a body."""
        head = RequestHead("POST", self.path, self.headers)
        answer = self._refused(head) or self._check_length(head) or self.server.check(head)
        if answer is None:
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.send_response_only(100)
                self.end_headers()
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            self._unread = False
            if len(body) < length:
                answer = self._malformed("It ended before its Content-Length.", 400)
            else:
                answer = self.server.answer(head, body)
        self._send(answer)

    def _refused(self, head: RequestHead) -> HttpAnswer | None:
        """Count a request whose head arrived, and refuse one that comes from no program or page of this machine."""
        self._unread = not {"Content-Length", "Transfer-Encoding"}.isdisjoint(self.headers)
        if not self.server.places.keep(self.request) or self.server.stopping:
            return self._late()
        self._arriving.seconds = self.server.limits.seconds
        if (too_many := self._counted()) is not None:
            return too_many
        host = head.once("Host") or ""
        named = re.sub(r":[0-9]{1,5}$", "", host)
        if self._is_of_another_page(host) or (self.server.address.path is None and named not in LOCAL):
            return self._malformed("It comes from a web page, or names another host than localhost.", 421)
        return None

    def _is_of_another_page(self, host: str) -> bool:
        """Return whether a page sent a request, other than a page of a server that has pages."""
        if not self.server.has_pages:
            return "Origin" in self.headers
        origins, fetched = self.headers.get_all("Origin", []), self.headers.get_all("Sec-Fetch-Site", [])
        own_host = host in {f"{name}:{self.server.address.port}" for name in LOCAL}
        own_page = all(origin == f"http://{host}" for origin in origins) and all(site in _OWN_PAGE for site in fetched)
        # A browser states the origin of each POST.
        return not own_host or not own_page or (self.command == "POST" and not origins)

    def _counted(self) -> HttpAnswer | None:
        """Count a request, and refuse one that is too many."""
        if seconds := self.server.rate.wait():
            return self.server.busy(seconds, "requests a minute")
        return None

    def _check_length(self, head: RequestHead) -> HttpAnswer | None:
        """Return the refusal of the size of a body, before a byte of it is read."""
        for name in ("Content-Type", "Content-Length"):
            if len(self.headers.get_all(name, [])) > 1:
                return self._malformed(f"{name} stands there twice.", 400)
        length = head.once("Content-Length")
        if "Transfer-Encoding" in self.headers or length is None:
            return self._malformed("It has no Content-Length; bodies in chunks are not taken.", 411)
        if not _LENGTH.fullmatch(length):
            return self._malformed("Its Content-Length is no number.", 400)
        return self.server.too_large() if int(length) > self.server.limits.most_bytes else None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Count and refuse what the standard library cannot parse, in words of ours: its own quote the request."""
        if (too_many := self._counted()) is not None:
            self._send(too_many)
        elif code == 501:
            self._send(self._malformed("Its method is neither GET nor POST.", 405))
        else:
            self._send(self._malformed("It is no request of HTTP/1.1, or its head is too long.", code))

    def _send(self, answer: HttpAnswer) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.request.settimeout(self.server.limits.seconds)
            self.request.sendall(answer.to_bytes())

    def _throw_away(self) -> None:
        """Read what the client still sends, up to a limit: closing at once would tear the answer away."""
        self.request.shutdown(socket.SHUT_WR)
        left, begun = _BODIES_THROWN_AWAY * self.server.limits.most_bytes, time.monotonic()
        heard = now = begun
        self.request.settimeout(_TICK)
        while left > 0 and now <= heard + _SILENCE and not self.server.loses(self.request):
            if now > begun + (_SILENCE if self.server.stopping else self.server.limits.seconds):
                return
            with suppress(TimeoutError):
                part = self.request.recv(2**16)
                if not part:
                    return
                left, heard = left - len(part), time.monotonic()
            now = time.monotonic()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a path or a header may hold anything. The server itself tells what it did."""
