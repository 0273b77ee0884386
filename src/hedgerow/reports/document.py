"""A document as a tree of blocks: pure data, which a renderer turns into a page. Every text is plain, never markup.

A document as one HTML file that fetches and runs nothing: styles and pictures inside, the record as JSON.

What is escaped where: texts by jinja2's autoescape, after characters that steer a reader (controls, directions) were
replaced; texts in a picture by its XML writer; the record as JSON in ASCII without ``<``, ``>`` and ``&``, so that no
text in it can end the element it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from xml.etree import ElementTree

from markupsafe import Markup

from hedgerow.facts.printed import json_for_script, page_templates, printable


class Shown(str):
    """A text that shows numbers of the record: `fields` are their paths, in the order of the numbers in the text.

    On the page the paths stand beside the text (``data-field``), so that `hedgerow verify` compares the two.

    >>> Shown.of("46.8 to 47.5", "interval.low", "interval.high").fields
    ('interval.low', 'interval.high')
    """

    fields: tuple[str, ...]

    @classmethod
    def of(cls, text: str, *fields: str) -> Shown:
        """Return a text with the fields of its numbers."""
        made = cls(text)
        made.fields = fields
        return made


PRICE = "certificate.epsilon", "certificate.delta"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph; ``warning`` is highlighted, ``quiet`` is printed pale."""

    kind: ClassVar[str] = "paragraph"
    text: str
    tone: Literal["plain", "quiet", "warning"] = "plain"


@dataclass(frozen=True, slots=True)
class Items:
    """A list under a heading of its own, or none."""

    kind: ClassVar[str] = "items"
    entries: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Terms with what they stand for."""

    kind: ClassVar[str] = "pairs"
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ReaderQuestions:
    """A reader's questions, each with an answer of a few sentences."""

    kind: ClassVar[str] = "answers"
    entries: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows under one title; the first cell of each row is its heading."""

    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table with a caption and a heading over each column.

    Attributes
    ----------
    caption : str
    head : tuple of str
        One a column.
    groups : tuple of RowGroup
        Each row as long as `head`.
    numeric : bool
        Whether all but the first column are numbers, to be aligned at the right.
    stacked : bool
        Whether each row may become a small block of its own where the page is narrow.
    """

    kind: ClassVar[str] = "table"
    caption: str
    head: tuple[str, ...]
    groups: tuple[RowGroup, ...]
    numeric: bool = False
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture as SVG text of our own making, said in words too."""

    kind: ClassVar[str] = "figure"
    svg: str
    alt: str
    caption: str


Block = Paragraph | Items | Pairs | ReaderQuestions | TableBlock | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A whole page: title, lead, opening blocks, sections, and the record that it shows, for machines."""

    title: str
    lead: str
    opening: tuple[Block, ...]
    sections: tuple[Section, ...]
    foot: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)


_DROPPED = {"metadata", "style", "script", "title"}
# The colours of plots/, as the page's own: it has them for light and for dark.
_COLOURS = {
    "#ffffff": "paper",
    "#1a1a1a": "ink",
    "#6b6b6b": "quiet",
    "#b8b8b8": "axis",
    "#e4e4e4": "rule",
    "#9ecae1": "interval",
    "#0072b2": "accent",
    "#b2182b": "alarm",
}
_COLOUR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")
_FONT = re.compile(r"'DejaVu Sans'(, sans-serif)?")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")


def inline_svg(svg: str, *, alt: str, name: str) -> Markup:
    """Return an SVG element for an HTML page: named in words, in the page's colours and font, no name twice.

    Parameters
    ----------
    svg : str
        As matplotlib writes it; made by us, its texts escaped by its writer.
    alt : str
        What the picture shows, for whoever does not see it.
    name : str
        Stands before every id, since two pictures of a page may use the same.

    Examples
    --------
    >>> inline_svg('<svg xmlns="http://www.w3.org/2000/svg" width="9pt"><g id="a"/></svg>', alt="Nothing.", name="p")
    Markup('<svg role="img" aria-label="Nothing."><g id="p-a" /></svg>')
    """
    root = ElementTree.fromstring(svg)
    _keep_known(root)
    for element in root.iter():
        # Without namespaces: HTML has its own rules for an svg element, and needs none.
        element.tag = element.tag.rpartition("}")[2]
        attributes = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({key: _rewritten(key, value, name) for key, value in attributes.items()})
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {"role": "img", "aria-label": alt}
    # Written by an XML writer, which escapes texts and attributes.
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _keep_known(parent: ElementTree.Element) -> None:
    for child in list(parent):
        if child.tag.rpartition("}")[2] in _DROPPED:
            parent.remove(child)
        else:
            _keep_known(child)


def _rewritten(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return f"#{name}-{value.removeprefix('#')}"
    value = _REFERENCE.sub(rf"url(#{name}-\1)", value)
    if key == "style":
        value = _COLOUR.sub(
            lambda match: f"{match[1]}: var(--{_COLOURS[match[2]]}, {match[2]})" if match[2] in _COLOURS else match[0],
            value,
        )
        value = _FONT.sub("system-ui, sans-serif", value)
    return value


def render(document: Document) -> str:
    """Return the page as text, to be written as UTF-8.

    >>> page = render(Document("a < b", "", (), ()))
    >>> "<h1>a &lt; b</h1>" in page, "http:" in page
    (True, False)
    """
    pictures = {
        figure.svg: inline_svg(figure.svg, alt=printable(figure.alt), name=f"picture-{place}")
        for place, figure in enumerate(_figures(document))
    }
    page = page_templates("hedgerow.reports").get_template("page.html")
    return str(page.render(document=document, pictures=pictures, record=json_for_script(document.record))) + "\n"


def _figures(document: Document) -> list[Figure]:
    blocks = [*document.opening, *(block for section in document.sections for block in section.blocks)]
    return [block for block in blocks if isinstance(block, Figure)]
