"""Markdown: a table with its caption and its notes; with the ending ``.qmd`` a document of Quarto, which numbers it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hedgerow.facts.printed import printable
from hedgerow.release.publication.formats import Published
from hedgerow.release.publication.printed_table import PrintedTable
from hedgerow.release.publication.publication import too_large
from hedgerow.release.publication.write_file import write_lines

SUFFIXES = (".md", ".qmd")
KINDS = ("release", "table")
APART = SUFFIXES
_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|$~^@])")


def escaped(text: str) -> str:
    r"""Return a text as Markdown shows it, whatever signs it has.

    >>> escaped("a_b|c <i>")
    'a\\_b\\|c \\<i\\>'
    """
    return _SIGNS.sub(r"\\\1", printable(text))


def markdown_text(printed: PrintedTable) -> str:
    r"""Return a table as Markdown: of several lines of headings each column has one text.

    Examples
    --------
    >>> from hedgerow.release.publication.printed_table import Heading
    >>> print(markdown_text(PrintedTable("Ages", 1, ((Heading("sex"), Heading("mean")),), (("f", "46.8"),))))
    **Ages**
    <BLANKLINE>
    | sex | mean |
    |:----|-----:|
    | f | 46.8 |
    <BLANKLINE>
    """
    notes = [line for note in printed.notes for line in ("", escaped(note))]
    return "\n".join([f"**{escaped(printed.caption)}**", "", *_table(printed), *notes, ""])


def quarto_text(printed: PrintedTable) -> str:
    """Return a table as a document of Quarto, which refers to it by ``@tbl-release``."""
    front = ["---", f"title: {json.dumps(printable(printed.caption))}", "---"]
    notes = [line for note in printed.notes for line in ("", escaped(note))]
    caption = f": {escaped(printed.caption)} {{#tbl-release}}"
    return "\n".join([*front, "", *_table(printed), "", caption, *notes, ""])


def write(publication: Published, path: str | Path) -> None:
    """Write `markdown_text`, or `quarto_text` where the path ends so (HG118 where it cannot be written)."""
    text = quarto_text if Path(path).suffix.lower() == ".qmd" else markdown_text
    write_lines(path, [text(publication.printed())])


def why_not(publication: Any) -> str | None:
    """Return why there is no Markdown, in a few words; None where there is some."""
    return too_large(publication) if publication.kind == "table" else None


def _table(printed: PrintedTable) -> list[str]:
    heads = printed.head_texts
    rule = [":----" if place < printed.left else "-----:" for place in range(printed.width)]
    shown = [_heading([line[place] for line in heads], place < printed.left) for place in range(printed.width)]
    return [_row(map(escaped, shown)), f"|{'|'.join(rule)}|", *(_row(map(escaped, row)) for row in printed.rows)]


def _heading(texts: list[str], beside: bool) -> str:
    """Return what heads a column: of several lines all that are not empty, beside the rows the last one alone."""
    return texts[-1] if beside else ": ".join(dict.fromkeys(filter(None, texts)))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
