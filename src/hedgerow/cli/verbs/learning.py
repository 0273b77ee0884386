"""`hedgerow explain CODE`: the page of an error code, from the registry that ships with the package.

`hedgerow explain epsilon`: what ε is, and how often an attacker guesses right at each ε.

`hedgerow demo`: the main job on an embedded population whose true values are known.

`hedgerow schema`: the JSON Schema of a facts file.
"""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError
from hedgerow.facts.lines import paragraph

_PARTS = (
    ("meaning", "What it means"),
    ("why", "Why the rule exists"),
    ("mend", "How to mend it"),
)
_WIDTH = 90
_EPSILON = ("epsilon", "ε")
_EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
_ABOUT_EPSILON = (
    (
        "What it is",
        "ε is the privacy loss that a release may cost, for each person. Take two data sets that differ in one person. "
        "Whatever set of results one looks at, its probability under the one is at most e^ε times its probability "
        "under the other, plus δ. A smaller ε protects better, and needs more noise.",
    ),
    (
        "What an attacker gains",
        "Think of an attacker who knows every other record, and who finds two possibilities for one person equally "
        "likely before the release. After the release the attacker guesses right with a probability of at most "
        "(e^ε + δ)/(1 + e^ε). At δ = 0:",
    ),
    (
        "How to choose it",
        "Decide which of these probabilities you can answer for, for all releases from these data together: their "
        "prices add up. Then let `hedgerow plan` print the errors at that ε, or find the least ε for a wanted error "
        "with --target-se. Above 10 hedgerow warns: the guarantee says next to nothing about one person.",
    ),
)


def epsilon_page() -> str:
    """Return what ε is, the largest share of right guesses at several ε, and how to choose one.

    >>> print(epsilon_page().splitlines()[0])
    ε (epsilon): what it is and how to choose it
    """
    from hedgerow.accounting.profile import PureProfile, attack_success_upper
    from hedgerow.facts.printed import at_most_percent

    shares = [at_most_percent(attack_success_upper(PureProfile(epsilon))) for epsilon in _EPSILONS]
    table = [f"  ε = {epsilon:<5g} at most {share}" for epsilon, share in zip(_EPSILONS, shares, strict=True)]
    lines = ["ε (epsilon): what it is and how to choose it"]
    for place, (heading, text) in enumerate(_ABOUT_EPSILON):
        lines += ["", heading, paragraph(text, indent="  ", most=_WIDTH)]
        lines += ["", *table] if place == 1 else []
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def explain(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="A code such as HG104, or epsilon; without it, all codes are listed."),
    ] = None,
) -> None:
    """Print what an error code means, why the rule exists and how to mend it; or what ε (epsilon) is."""
    registry = load_registry()
    if code is not None and code.strip().lower() in _EPSILON:
        write_stdout(epsilon_page())
    elif code is None:
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
            remedy="The command `hedgerow explain` without a code lists all codes.",
        )
    entry = registry[known]
    said = [f"{known}: {entry['title']}"]
    for key, heading in _PARTS:
        said += ["", heading, paragraph(entry[key], indent="  ", most=_WIDTH)]
    # An example is shown as it is typed, so its lines stay as they are.
    return "\n".join([*said, "", "Example", textwrap.indent(entry["example"].strip(), "  ")])


def demo(
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the survey and the results.")] = "hedgerow-demo",
) -> None:
    """Release statistics of a synthetic survey of 20,000 records, and compare them with the truth."""
    from hedgerow.demo import run_demo

    write_stdout(run_demo(out))


def schema(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="facts, request or approval.")] = "facts",
) -> None:
    """Print the JSON Schema of a facts file (hedgerow.toml), a request or an approval, for editors and checkers."""
    from hedgerow.approval.schemas import schemas
    from hedgerow.facts.facts_file import json_schema

    known = {"facts": json_schema(), **schemas()}
    if kind not in known:
        raise ParameterError(
            "HG116",
            rule="The command `hedgerow schema` prints the schema of one kind of file.",
            finding=f"Found {kind!r}.",
            remedy=f"Use {', '.join(known)}.",
        )
    write_json(known[kind])
