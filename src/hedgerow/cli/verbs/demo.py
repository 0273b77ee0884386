"""`hedgerow demo`: the main job on an embedded population whose true values are known."""

from __future__ import annotations

from typing import Annotated

import typer

from hedgerow.cli.terminal import write_stdout


def demo(
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the survey and the results.")] = "hedgerow-demo",
) -> None:
    """Release statistics of a synthetic survey of 20,000 records, and compare them with the truth."""
    from hedgerow.demo.run import run_demo

    write_stdout(run_demo(out))
