"""A document as a tree of blocks: pure data, which a renderer turns into a page. Every text is plain, never markup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal


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
class Answers:
    """A reader's questions, each with an answer of a few sentences."""

    kind: ClassVar[str] = "answers"
    entries: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows under one title; the first cell of each row is its heading."""

    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
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


Block = Paragraph | Items | Pairs | Answers | Table | Figure


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
