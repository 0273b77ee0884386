"""`hedgerow testset serve`: a server that keeps the labels, and answers with noisy scores."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from hedgerow.cli import options
from hedgerow.cli.terminal import write_json, write_note, write_stdout
from hedgerow.errors import ParameterError


def serve(
    ledger: Annotated[str, typer.Argument(metavar="LEDGER", help="The test set's ledger, made by `create`.")],
    labels: Annotated[str, typer.Option(metavar="FILE", help="Its labels, readable by this user alone.")],
    socket: Annotated[
        str | None, typer.Option(metavar="PATH", help="Listen at this Unix socket. [default: LEDGER.socket]")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Listen at this port of this machine alone; 0 for any free one.")
    ] = None,
    access: Annotated[
        str, typer.Option(metavar="WHO", help="Who may use the socket: user, group or all. A port is for all.")
    ] = "user",
    rate: Annotated[int, typer.Option(metavar="N", help="Requests a minute, of all clients together.")] = 120,
    most_bytes: Annotated[
        int | None, typer.Option(metavar="N", help="Of one request. [default: 128 for each record, at least a MiB]")
    ] = None,
    connections: Annotated[
        int | None, typer.Option(metavar="N", help="Open at a time. [default: 64, fewer for bodies above 16 MiB]")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer predictions with scores until Ctrl-C or SIGTERM; the labels are told to nobody."""
    from pathlib import Path

    from hedgerow.testset.server.address import Address
    from hedgerow.testset.server.limits import Limits, usual_connections
    from hedgerow.testset.server.service import Service
    from hedgerow.testset.server.transport import TestSetServer

    if socket is not None and port is not None:
        raise ParameterError(
            "HG450",
            rule="A server listens at one address.",
            finding="Both a socket and a port were given.",
            remedy="Give --socket or --port.",
        )
    path = Path(f"{ledger}.socket" if socket is None else socket).absolute()
    wanted = Address(path) if port is None else Address(port=port)
    service = Service(ledger, labels, write_note)
    try:
        most = service.usual_bytes if most_bytes is None else most_bytes
        limits = Limits(rate, most, connections=usual_connections(most) if connections is None else connections)
        with TestSetServer(service, wanted, limits, access) as server:  # type: ignore[arg-type]  # it is checked there
            for number in ("SIGTERM", "SIGINT", "SIGHUP"):
                if hasattr(signal, number) and signal.getsignal(getattr(signal, number)) is not signal.SIG_IGN:
                    signal.signal(getattr(signal, number), lambda *_: server.stop())
            told = service.facts()
            if as_json:
                write_json({"address": str(server.address), "test_set": told})
            else:
                left = f"{told['remaining']} of {told['n_looks']} looks left"
                write_stdout(f"serving {told['metric']} at {server.address}, {left}")
            server.serve_forever(poll_interval=0.1)
        write_note("stopped; every answer that was sent is on record")
    finally:
        service.close()
