"""Draws the picture of the README and of the home page: ``make pictures`` runs this file.

The picture shows released mean incomes of the demonstration's survey, with their intervals and the true values of the
law behind the survey. The noise of a release is fresh, so each run draws other numbers. One file is for light pages,
one for dark pages: the same drawing in other colours.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import hedgerow as hg
from hedgerow.demo import INCOME, REGIONS, SEXES, draw_survey, true_value
from hedgerow.plots.figure import AXIS, BLUE, INK, PALE, QUIET, RULE, as_svg, figure_of
from hedgerow.release.combine import joined

FOLDER = Path(__file__).parent / "_static"
LIGHT, DARK = FOLDER / "demo-light.svg", FOLDER / "demo-dark.svg"
TRUE = "#d55e00"  # Okabe and Ito's vermilion
# The colour on a dark page, by the colour on a light page: all have a contrast of 3 or more to a page of #0d1117.
ON_DARK = {
    INK: "#e6edf3",
    QUIET: "#a8b1bb",
    RULE: "#30363d",
    AXIS: "#6e7681",
    PALE: "#2f6690",
    BLUE: "#8ecbff",
    TRUE: "#ff9e64",
}


def draw_intervals() -> str:
    """Return one SVG element: released mean incomes by sex and by region, each with its interval and its true value."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "survey.csv"
        file.write_text(draw_survey().to_csv(), encoding="utf-8")
        survey = hg.open(file, relation="replace-one")
        income = hg.mean("income", bounds=INCOME, step=200)
        groups: list[dict[str, Sequence[object]]] = [{"sex": SEXES}, {"region": REGIONS}]
        release = joined([survey.release(income, by=by, epsilon=0.5) for by in groups])
    axes = release.plot()
    # The light page needs no background of the picture, and the dark page must not have a white one.
    figure_of(axes).patch.set_visible(False)
    axes.patch.set_visible(False)
    truths = [true_value("mean", "income", estimate.cell, bounds=INCOME) for estimate in release]
    (marks,) = axes.plot(truths, range(len(truths)), "D", ms=4.5, color=TRUE, zorder=4, label="true value")
    place = {"loc": "lower right", "bbox_to_anchor": (0.99, 0.06 / figure_of(axes).get_figheight())}
    figure_of(axes).legend(handles=[marks], frameon=False, fontsize=9, handlelength=1.4, labelcolor=INK, **place)
    return as_svg(axes)


def on_dark(picture: str) -> str:
    """Return the picture in the colours of a dark page; a text without a colour of its own is as light as the ink."""
    coloured = re.sub("|".join(ON_DARK), lambda colour: ON_DARK[colour.group()], picture)
    return coloured.replace("</style>", f"text{{fill: {ON_DARK[INK]}}}</style>", 1)


def main() -> None:
    """Write both files."""
    FOLDER.mkdir(exist_ok=True)
    picture = draw_intervals()
    for path, text in ((LIGHT, picture), (DARK, on_dark(picture))):
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
