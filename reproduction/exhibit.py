"""What an exhibit is: lines of the paper's figures beside ours, each with a verdict, a reason, and a drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .drawing import Picture

__all__ = ["Exhibit", "Line", "Verdict", "within"]

Verdict = Literal["reproduced", "differs", "differs as stated", "refuted", "as expected", "not as expected"]
"""`reproduced`, `differs`: a printed figure or statement, inside or outside the tolerance. `differs as stated`: outside
it, but at our own figure that stands in the exhibit's file, with what is known of the reason. `refuted`: a statement
that is false here beyond chance. `as expected`, `not as expected`: an exhibit of our own beside the figures that stand
at the top of its file, stated beforehand unless it says otherwise."""


@dataclass(frozen=True, slots=True)
class Line:
    """One figure: what it is, as the paper has it (or as expected), as found here."""

    what: str
    paper: str
    ours: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One exhibit of the page.

    Attributes
    ----------
    key, title : str
        Its anchor, and what it shows in a sentence.
    lines : tuple of Line
    reason : str
        Why ours differs where it does.
    drawing : Picture or None
        None where the lines say it all.
    drawn : str
        What the drawing shows, in words, for those who do not see it.
    own : bool
        Whether the exhibit is ours; the column of the paper's figures then holds what we expected.
    """

    key: str
    title: str
    lines: tuple[Line, ...]
    reason: str
    drawing: Picture | None
    drawn: str = ""
    own: bool = False


def within(found: float, expected: float, tolerance: float, *, own: bool = False) -> Verdict:
    """Return the verdict on one number."""
    if abs(found - expected) <= tolerance:
        return "as expected" if own else "reproduced"
    return "not as expected" if own else "differs"
