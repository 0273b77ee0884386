"""Where a server of this machine listens: a Unix socket, or a port of this machine; no other address is taken."""

from __future__ import annotations

import http.client
import os
import re
import socket
import stat
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hedgerow.errors import ParameterError

LOOPBACK = "127.0.0.1"
LOCAL = ("localhost", LOOPBACK)
Access = Literal["user", "group", "all"]
MODES: dict[str, int] = {"user": 0o600, "group": 0o660, "all": 0o666}


@dataclass(frozen=True, slots=True)
class Address:
    """A Unix socket's path, or a port of this machine.

    Examples
    --------
    >>> print(Address.parse("http://localhost:8080")), print(Address.parse("unix:///run/ts.socket"))
    http://localhost:8080
    unix:///run/ts.socket
    (None, None)
    """

    path: Path | None = None
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address (HG450 for one that is neither a Unix socket nor on this machine)."""
        if isinstance(text, str) and text.startswith("unix://") and "\0" not in text:
            path = Path(text.removeprefix("unix://"))
            if path.is_absolute():
                return cls(path)
        match = re.fullmatch(r"http://(localhost|127\.0\.0\.1):([0-9]{1,5})/?", text) if isinstance(text, str) else None
        if match is not None and 0 < int(match[2]) < 2**16:
            return cls(port=int(match[2]))
        raise ParameterError(
            "HG450",
            rule="The address of a test set is a Unix socket or a port of this machine: unix:///PATH or "
            "http://localhost:PORT.",
            finding="The given address has another form.",
            remedy="From another machine, connect through ssh: ssh -L 8080:localhost:8080 HOST.",
        )

    def __str__(self) -> str:
        return f"http://localhost:{self.port}" if self.path is None else f"unix://{self.path}"

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        """Return a connection, not opened yet; proxies that the environment names are not asked."""
        return _Connection(self, timeout)

    def dial(self, timeout: float) -> socket.socket:
        """Return a socket that is connected to the server, or raise `OSError`."""
        if self.path is None:
            return socket.create_connection((LOOPBACK, self.port), timeout)
        dialled = socket.socket(socket.AF_UNIX)
        try:
            dialled.settimeout(timeout)
            dialled.connect(str(self.path))
        except BaseException:
            dialled.close()
            raise
        return dialled


class _Connection(http.client.HTTPConnection):
    def __init__(self, address: Address, timeout: float) -> None:
        super().__init__("localhost", address.port or None, timeout=timeout)
        self._address, self._seconds = address, timeout

    def connect(self) -> None:
        self.sock = self._address.dial(self._seconds)


def bound(address: Address, access: Access) -> tuple[socket.socket, Address]:
    """Return a socket that listens there, and the address with the port that the system chose for port 0.

    Raises
    ------
    ParameterError
        HG450: the address is taken, or cannot be listened at.
    """
    if access not in MODES:
        raise ParameterError(
            "HG450",
            rule="`access` is user, group or all: who may use the socket.",
            finding="Found another value.",
            remedy="Leave `access` at user, or write group.",
        )
    if address.path is not None:
        return _bound_to_path(address.path, access), address
    made = socket.socket(socket.AF_INET)
    try:
        # A port of which only closed connections are left may be taken again; one that is listened at may not.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((LOOPBACK, address.port))
    except (OSError, OverflowError):
        made.close()
        raise _taken(f"Port {address.port} is in use or not allowed.", "Take another port.") from None
    return made, Address(port=made.getsockname()[1])


def peer_of(connection: socket.socket, client_address: Any) -> int | str:
    """Return whose connection this is: the user at a Unix socket, where the system tells, and the address at a port."""
    if not isinstance(client_address, tuple):
        asked = getattr(socket, "SO_PEERCRED", None)
        form = struct.Struct("3i")  # process, user, group
        return "" if asked is None else int(form.unpack(connection.getsockopt(socket.SOL_SOCKET, asked, form.size))[1])
    return str(client_address[0])


def _bound_to_path(path: Path, access: Access) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise _taken("This system has no Unix sockets.", "Listen at a port.")
    _remove_left_over(path)
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o777 & ~MODES[access])
    try:
        made.bind(str(path))
    except OSError:
        made.close()
        raise _taken(
            "No socket can be made there: the folder is missing or closed, or the path has more than 100 characters.",
            "Give a shorter path in a folder of yours.",
        ) from None
    finally:
        os.umask(before)
    return made


def _remove_left_over(path: Path) -> None:
    """Remove the socket of a server that was killed; anything else that lies there, a link too, is left (HG450)."""
    try:
        status = path.lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise _taken("Something else lies at this path.", "Give a path where nothing is.")
    with suppress(ConnectionRefusedError, FileNotFoundError):
        with suppress(TimeoutError):
            Address(path).dial(1.0).close()
        raise _taken("Another server listens at this path.", "Stop it first, or give another path.")
    with suppress(OSError):
        path.unlink()


def _taken(finding: str, remedy: str) -> ParameterError:
    rule = "A server listens at a Unix socket or a port of its own."
    return ParameterError("HG450", rule=rule, finding=finding, remedy=remedy)
