"""One hand for all pictures: ink, colours and letters, so that a page can show several beside each other."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's blue, pale and full: told apart by lightness alone, so in grey and by every kind of eye.
PALE, BLUE = "#9ecae1", "#0072b2"
INK, QUIET, RULE = "#1a1a1a", "#6b6b6b", "#e4e4e4"


def drawn_with(*, size: int = 10) -> dict[str, Any]:
    """Return matplotlib's settings for a picture with letters of `size` points.

    Text stays text in SVG, and the same numbers give the same file.

    >>> drawn_with(size=9)["font.size"]
    9
    """
    return {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": size,
        "text.usetex": False,
        "axes.unicode_minus": True,
        "svg.fonttype": "none",
        "svg.hashsalt": "hedgerow",
        "hatch.linewidth": 0.8,
    }
