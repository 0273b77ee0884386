"""A PostgreSQL server of the tests' own: in a temporary folder, stopped at the end, no way in but a password."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.engines import unprivileged

USER = "hedgerow"
DATABASE = "postgres"


class Postgres(NamedTuple):
    """A server that runs: where it listens, its password, and the log in which it writes every statement."""

    port: int
    password: str
    log: Path

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"


@contextmanager
def running(bin_folder: Path) -> Iterator[Postgres]:
    """Start a server, yield where it is, stop it."""
    user = unprivileged() if os.getuid() == 0 else None
    # Short: the path of a Unix socket holds some hundred bytes.
    folder = Path(tempfile.mkdtemp(prefix="hg-pg-", dir="/tmp"))
    password = secrets.token_hex(12)
    try:
        (folder / "password").write_text(password)
        if user is not None:
            shutil.chown(folder, user)
            shutil.chown(folder / "password", user)

        def run(*command: str | Path) -> None:
            subprocess.run(
                command, check=True, capture_output=True, cwd=folder, user=user, extra_groups=[] if user else None
            )

        data, log = folder / "data", folder / "log"
        run(
            bin_folder / "initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "--pwfile", folder / "password",
            "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync",
        )  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off -c log_statement=all"
        # A statement ends with the tests that sent it, however these end.
        options += " -c statement_timeout=60s -c client_connection_check_interval=1s"
        # The server's own output goes to the log, else it would hold the pipe open for ever.
        run(bin_folder / "pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")
        try:
            yield Postgres(port, password, log)
        finally:
            with suppress(subprocess.CalledProcessError):  # a test may have ended it
                run(bin_folder / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
