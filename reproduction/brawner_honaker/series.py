"""The three estimates of the paper, drawn alike in every exhibit."""

from __future__ import annotations

from typing import Any

from ..drawing import BLUE, GREEN, ORANGE

__all__ = ["SERIES"]

# Colour, line and mark: any one of the three tells the series apart.
SERIES: dict[str, dict[str, Any]] = {
    "unbiased": {"color": ORANGE, "ls": "-", "marker": "o"},
    "conservative": {"color": BLUE, "ls": "--", "marker": "s"},
    "most conservative": {"color": GREEN, "ls": "-.", "marker": "^"},
}
