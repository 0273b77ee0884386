"""`hedgerow publish`: what registries, statistical offices and readers ask for of a release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import options
from hedgerow.cli.terminal import write_stdout

REGISTRY, SDMX, CITATION = "registry.yaml", "sdmx.csv", "CITATION.cff"


def publish(
    source: Annotated[
        str, typer.Argument(metavar="DIR", help="What --out wrote, or the JSON record of a release, table or fit.")
    ],
    registry: Annotated[
        str | None,
        typer.Option(metavar="FILE", help=f"Entry of the registry of deployments. [default: DIR/{REGISTRY}]"),
    ] = None,
    sdmx: Annotated[
        str | None, typer.Option(metavar="FILE", help=f"The numbers as SDMX-CSV. [default: DIR/{SDMX}]")
    ] = None,
    citation: Annotated[
        str | None, typer.Option(metavar="FILE", help=f"Citation: .cff, .bib or .txt. [default: DIR/{CITATION}]")
    ] = None,
    structure: Annotated[
        str | None, typer.Option(metavar="AGENCY:FLOW(VERSION)", help="The dataflow that SDMX names.")
    ] = None,
    facts: options.FactsPath = None,
) -> None:
    """Write an entry for the registry of deployments, SDMX-CSV and a citation. Needs the record alone.

    Who publishes what for which use stands under [about] in the facts. With options, only what they name is written.
    """
    from hedgerow.facts.declared import Facts
    from hedgerow.release.publication.write_file import write_lines
    from hedgerow.reports.publish.citation import CITATIONS
    from hedgerow.reports.publish.record import Published, unknown_format, yaml
    from hedgerow.reports.publish.registry import registry_entry
    from hedgerow.reports.publish.sdmx import STRUCTURE_ID, sdmx_csv

    published = Published.read(source, None if facts is None else Facts.read(facts))
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    if registry is sdmx is citation is None:
        registry, sdmx, citation = (str(folder / name) for name in (REGISTRY, SDMX, CITATION))
    made: list[tuple[str, Callable[[], str]]] = []
    if registry is not None:
        made.append((registry, lambda: yaml(registry_entry(published)) + "\n"))
    if sdmx is not None:
        made.append((sdmx, lambda: sdmx_csv(published, structure_id=structure or STRUCTURE_ID)))
    if citation is not None:
        suffix = Path(citation).suffix.lower()
        if suffix not in CITATIONS:
            raise unknown_format(Path(citation), tuple(CITATIONS))
        made.append((citation, lambda: CITATIONS[suffix](published)))
    # All are made before the first is written.
    written = [(path, text()) for path, text in made]
    for path, text in written:
        write_lines(path, [text])
        write_stdout(f"Wrote {path}")
