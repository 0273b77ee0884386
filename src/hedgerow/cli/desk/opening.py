"""`hedgerow desk`: opens a local page on which one person asks and another approves."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import shared_options
from hedgerow.cli.terminal import write_json, write_note, write_stdout
from hedgerow.errors import ParameterError


def desk(
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="What releases read. [default: the data of the facts]")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="FILE", help="The ledger. [default: the ledger of the facts]")
    ] = None,
    facts: shared_options.FactsPath = None,
    key: Annotated[
        str | None, typer.Option(metavar="FILE", help="The private key of the person who decides here.")
    ] = None,
    folder: Annotated[
        str | None, typer.Option(metavar="DIR", help="The folder of the requests. [default: LEDGER.desk]")
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", help="A port of this machine; 0 for any free one.")] = 0,
    as_json: shared_options.AsJson = False,
) -> None:
    """Open a local page to ask, approve and release, until Ctrl-C; it prints an address for each of the two people."""
    from hedgerow.cli.desk.desk_server import DeskServer
    from hedgerow.cli.desk.papers import Papers
    from hedgerow.facts.declared import Facts
    from hedgerow.facts.facts_file import record_of_file

    record = {} if facts is None else record_of_file(facts)
    declared = None if facts is None else Facts.read(facts)
    ledger = ledger or (None if declared is None or declared.ledger_path is None else str(declared.ledger_path))
    if ledger is None:
        raise ParameterError(
            "HG116",
            rule="A desk (the local page of `hedgerow desk`) needs one ledger, whose requests are approved on the "
            "desk.",
            finding="No ledger was named.",
            remedy="Add --ledger FILE, or --facts with a file that names a ledger.",
        )
    data = data or (None if declared is None else declared.data_path)
    place = Path(folder or f"{ledger}.desk")
    papers = Papers(place, Path(ledger), data, None if key is None else Path(key))
    with DeskServer(papers, record, port, named="" if facts is None else Path(facts).name) as server:
        for number in ("SIGTERM", "SIGINT", "SIGHUP"):
            if hasattr(signal, number) and signal.getsignal(getattr(signal, number)) is not signal.SIG_IGN:
                signal.signal(getattr(signal, number), lambda *_: server.stop())
        if as_json:
            write_json({role: server.url(role) for role in server.tokens} | {"folder": str(place)})
        else:
            for role in server.tokens:
                write_stdout(f"{role}: {server.url(role)}", as_is=True)
        served = f"facts {facts}" if facts is not None else "no facts (--facts FILE): the form has no columns"
        write_note(f"The desk serves {served}; ledger {ledger}. Ctrl-C ends the desk.")
        server.serve_forever(poll_interval=0.1)
    write_note("stopped; the requests stay in the folder")
