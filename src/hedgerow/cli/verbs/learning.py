"""`hedgerow explain CODE`: the page of an error code, from the registry that ships with the package.

`hedgerow demo`: the main job on an embedded population whose true values are known.

`hedgerow schema`: the JSON Schema of a facts file.
"""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError

_PARTS = (
    ("meaning", "What it means"),
    ("why", "Why the rule exists"),
    ("mend", "How to mend it"),
)
_WIDTH = 88


def explain(
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="A code such as HG104; without it, all are listed.")
    ] = None,
) -> None:
    """Print what an error code means, why the rule exists and how to mend it."""
    registry = load_registry()
    if code is None:
        write_stdout("\n".join(f"{known}  {entry['title']}" for known, entry in registry.items()))
    else:
        write_stdout(page(code, registry))


def load_registry() -> dict[str, dict[str, str]]:
    """Return every code with its page: title, meaning, why, mend, example.

    >>> load_registry()["HG104"]["title"]
    'A numeric statistic has no bounds'
    """
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("hedgerow").joinpath("error_codes.toml").read_text(encoding="utf-8"))


def page(code: str, registry: dict[str, dict[str, str]]) -> str:
    """Return the page of a code, in lower or upper case, with or without HG (HG116 where there is none)."""
    asked = code.strip().upper()
    known = asked if asked.startswith("HG") else f"HG{asked}"
    if known not in registry:
        raise ParameterError(
            "HG116",
            rule="A code is HG and three digits, as printed at the start of a message.",
            finding=f"There is no page for {code!r}.",
            remedy="hedgerow explain, without a code, lists them all.",
        )
    entry = registry[known]
    said = [f"{known}: {entry['title']}"]
    for key, heading in _PARTS:
        said += ["", heading, textwrap.indent(textwrap.fill(entry[key], _WIDTH), "  ")]
    # An example is shown as it is typed, so its lines stay as they are.
    return "\n".join([*said, "", "Example", textwrap.indent(entry["example"].strip(), "  ")])


def demo(
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the survey and the results.")] = "hedgerow-demo",
) -> None:
    """Release statistics of a synthetic survey of 20,000 records, and compare them with the truth."""
    from hedgerow.demo import run_demo

    write_stdout(run_demo(out))


def schema() -> None:
    """Print the JSON Schema of a facts file (hedgerow.toml), for editors and other checkers."""
    from hedgerow.facts.facts_file import json_schema

    write_json(json_schema())
