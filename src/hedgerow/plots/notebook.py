"""What a notebook shows of a result: a small table, its notes and a picture, as one piece of HTML that runs nothing.

Every result's ``_repr_html_`` is a `Card`. It stands in a page of somebody else's, light or dark: it takes that page's
colours, and the picture brings its own white paper. Texts are escaped by jinja2; the picture is a PNG in the text, so
that a saved notebook shows it without hedgerow.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hedgerow.errors import HedgerowError
from hedgerow.facts.printed import decimals, number, page_templates, percent
from hedgerow.plots.figure import drawn_for_a_page, figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is longer is looked at by `to_frame`; a picture of more bars is taller than a screen.
MOST_ROWS, MOST_BARS = 60, 40
NUMBERS = ("estimate", "s.e.", "sampling", "privacy", "interval")
_CSS_PIXELS, _DENSITY = 96, 150


class Line(NamedTuple):
    """One number of a table with its errors, None where there is none, and its interval, rounded outwards."""

    names: tuple[str, ...]
    estimate: float | None
    errors: tuple[float | None, float | None, float | None]
    interval: tuple[float | None, float | None]

    def printed(self) -> tuple[str, ...]:
        """Return the cells: names, the number to as many digits as its error supports, errors, interval.

        >>> Line(("mean of age",), 41.8731, (0.186, 0.171, 0.073), (41.5, 42.24)).printed()
        ('mean of age', '41.87', '0.19', '0.17', '0.073', '41.5 to 42.24')
        """
        places = decimals(self.errors[0])
        ends = " to ".join(number(end) for end in self.interval)
        return (
            *self.names,
            number(self.estimate, places),
            *(number(error, decimals(error)) for error in self.errors),
            ends,
        )


class ExpectedLine(NamedTuple):
    """One number that is planned: its expected errors, half its interval, and its value by a guess."""

    name: str
    errors: tuple[float | None, float | None, float | None]
    half_width: float | None
    value: float | None = None

    def printed(self) -> tuple[str, ...]:
        """Return the cells: name, errors, half the interval.

        >>> ExpectedLine("mean of age", (0.186, 0.171, 0.073), 0.365).printed()
        ('mean of age', '0.19', '0.17', '0.073', '± 0.36')
        """
        half = "–" if self.half_width is None else f"± {number(self.half_width, decimals(self.half_width))}"
        return (self.name, *(number(error, decimals(error)) for error in self.errors), half)


class _Picture(NamedTuple):
    data: str
    alt: str
    width: int


@dataclass(frozen=True, slots=True)
class Card:
    """A result as a notebook shows it.

    Attributes
    ----------
    title, caption : str
        Above everything, and above the table: plain texts, as all others.
    head : sequence of str
    rows : sequence of sequences of str
        The table; the first cell of a row is its heading.
    named : int
        How many cells of a row are names, set to the left.
    notes : sequence of str
    picture : callable or None
        Draws, and returns the axes; None or a refusal of ours: there is no picture.
    alt : str
        The picture in words.
    """

    title: str = ""
    caption: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    named: int = 1
    notes: Sequence[str] = ()
    picture: Callable[[], Axes] | None = None
    alt: str = ""

    def html(self) -> str:
        """Return the piece of HTML.

        >>> print(Card(caption="a < b").html())
        <div style="max-width: 60rem; overflow-x: auto">
        <p style="margin: 0 0 .3em; overflow-wrap: anywhere">a &lt; b</p>
        </div>
        """
        template = page_templates("hedgerow.plots").get_template("card.html")
        return str(template.render(card=self, picture=self._drawn()))

    def _drawn(self) -> _Picture | None:
        if self.picture is None:
            return None
        try:
            with drawn_for_a_page():
                figure = figure_of(self.picture())
        except HedgerowError:
            return None
        written = io.BytesIO()
        # Without the program's name and the like, equal numbers give equal text in a saved notebook.
        figure.savefig(written, format="png", dpi=_DENSITY, facecolor="white", metadata={"Software": None})
        data = base64.b64encode(written.getvalue()).decode("ascii")
        return _Picture(f"data:image/png;base64,{data}", self.alt, round(figure.get_figwidth() * _CSS_PIXELS))


def card_of_lines(
    title: str,
    caption: str,
    head: tuple[str, ...],
    lines: Sequence[Line],
    *,
    notes: Sequence[str] = (),
    picture: Callable[[], Axes] | None = None,
) -> str:
    """Return the card of numbers with errors: at most `MOST_ROWS` lines, and a picture of at most `MOST_BARS`.

    >>> "3.1 to 4" in card_of_lines("", "", ("of",), [Line(("x",), 3.5, (0.2, 0.1, 0.17), (3.1, 4.0))])
    True
    """
    more = len(lines) - MOST_ROWS
    more_note = [f"{more:,} more lines; a data frame of this result holds all."] if more > 0 else []
    drawn = picture if len(lines) <= MOST_BARS else None
    said = [f"{' '.join(line.names)}: {line.printed()[-5]}, interval {line.printed()[-1]}" for line in lines[:8]]
    alt = "Each number with its interval, and the part of it that privacy noise alone would leave. " + "; ".join(said)
    rows = [line.printed() for line in lines[:MOST_ROWS]]
    return Card(title, caption, (*head, *NUMBERS), rows, len(head), (*notes, *more_note), drawn, alt).html()


def card_of_expected(title: str, lines: Sequence[ExpectedLine], *, level: float, notes: Sequence[str] = ()) -> str:
    """Return the card of a plan: expected errors, and the expected intervals about a guess, or about 0.

    >>> card_of_expected("", [ExpectedLine("x", (None, None, 1.0), None)], level=0.95).count("<tr>")
    2
    """
    from hedgerow.plots.bars import ErrorBar, draw_error_bars

    known = [line for line in lines if line.half_width is not None]
    bars = [
        ErrorBar("expected", at := line.value or 0.0, at - half, at + half, line.errors[2], True, line.name)
        for line in known
        if (half := line.half_width) is not None
    ]

    def picture() -> Axes:
        return draw_error_bars(bars, level=level)

    head = ("to be released", "s.e.", "sampling", "privacy", percent(level) + " interval")
    rows = [line.printed() for line in lines[:MOST_ROWS]]
    alt = "Expected intervals, and the part of each that privacy noise alone would leave. " + "; ".join(
        " ".join((line.name, line.printed()[-1])) for line in known[:8]
    )
    drawn = picture if 0 < len(bars) <= MOST_BARS else None
    return Card(title, "Expected, in each cell", head, rows, 1, notes, drawn, alt).html()
