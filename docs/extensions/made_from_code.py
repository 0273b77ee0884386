"""Writes the pages of commands and of error codes from the program itself, before the other pages are read."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import typer
from sphinx.application import Sphinx

from hedgerow.cli.main import app as program
from hedgerow.cli.verbs.learning import load_registry

FAMILIES = {
    "1": "What is asked for",
    "2": "Sources of data",
    "3": "Budgets and ledgers",
    "4": "Refused, or failed once data were read",
    "5": "Certificates and records",
    "6": "Files and the machine",
    "7": "Facts",
    "9": "Faults of hedgerow",
}


def rst(text: str) -> str:
    """Return a text of the program as reStructuredText: code in backticks stays code, all else is plain."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(f"``{part}``" if odd % 2 else re.sub(r"([\\*_|`])", r"\\\1", part) for odd, part in enumerate(parts))


def titled(text: str, line: str = "=") -> str:
    """Return a heading."""
    return f"{rst(text)}\n{line * (len(text) + 8)}\n\n"


def toctree(names: list[str], *options: str) -> str:
    """Return a table of contents."""
    return "\n".join(
        [".. toctree::", *(f"   :{option}" for option in options), "", *(f"   {n}" for n in names), "", ""]
    )


def error_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each code and one that lists them, as `hedgerow explain` does."""
    registry = dict(sorted(load_registry().items()))
    listed = titled("Error codes")
    listed += "A message ends in a code. ``hedgerow explain CODE`` prints its page, which stands here too.\n\n"
    for digit, family in FAMILIES.items():
        codes = [code for code in registry if code[2] == digit]
        listed += titled(f"HG{digit}..: {family}", "-") + toctree([f"errors/{code}" for code in codes], "maxdepth: 1")
    yield "errors", listed
    for code, page in registry.items():
        why, mend = (rst(page[part]) for part in ("why", "mend"))
        yield (
            f"errors/{code}",
            titled(f"{code}: {page['title']}")
            + f"{rst(page['meaning'])}\n\n**Why the rule exists.** {why}\n\n**How to mend it.** {mend}\n\n"
            + f".. code-block:: text\n\n{textwrap.indent(page['example'], '   ')}\n",
        )


def command_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each verb and one that lists them, with the exit codes."""
    group = typer.main.get_command(program)

    from hedgerow.cli import main

    codes = inspect.getdoc(main).split("Exit codes: ")[1].split("\n\n")[0]
    yield (
        "commands",
        titled("Commands")
        + "``hedgerow COMMAND --help`` prints these pages in the shell.\n\n"
        + toctree([f"commands/{name}" for name in group.commands], "maxdepth: 2")
        + titled("Exit codes", "-")
        + rst(codes),
    )
    for name, command in group.commands.items():
        yield f"commands/{name}", "".join(command_sections(command, f"hedgerow {name}", "="))


def command_sections(command: click.Command, path: str, line: str) -> Iterator[str]:
    """Yield what `--help` prints of a command and of those below it."""
    context = typer.Context(command, info_name=path)
    yield titled(path, line)
    yield rst(inspect.cleandoc(command.help or "")) + "\n\n"
    yield f".. code-block:: text\n\n   {path} {' '.join(command.collect_usage_pieces(context))}\n\n"
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) and "--help" not in record[0]:
            yield f"``{record[0]}``\n   {rst(record[1]) or '…'}\n\n"
    for name, below in getattr(command, "commands", {}).items():
        yield from command_sections(below, f"{path} {name}", {"=": "-", "-": "~"}[line])


def write(app: Sphinx) -> None:
    """Write the pages that changed, and remove those of codes and commands that are no more."""
    folder = Path(app.srcdir, "reference", "generated")
    pages = {folder / f"{name}.rst": text for name, text in [*error_pages(), *command_pages()]}
    for old in set(folder.rglob("*.rst")) - set(pages):
        old.unlink()
    for page, text in pages.items():
        page.parent.mkdir(parents=True, exist_ok=True)
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages first."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
