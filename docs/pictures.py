"""Draws the pictures that stand in files, for light pages and for dark pages: ``make pictures`` runs this file.

===========  =========================================================================================================
``demo``     the picture of the README and of the home page: released mean incomes of the demonstration's survey, with
             their intervals and the true values of the law behind the survey. The noise is fresh in each run
``epsilon``  the largest probability with which an attacker guesses right, against ε
===========  =========================================================================================================
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import hedgerow as hg
from hedgerow.accounting.profile import PureProfile, attack_success_upper
from hedgerow.demo import INCOME, REGIONS, SEXES, draw_survey, true_value
from hedgerow.facts.printed import at_most_percent
from hedgerow.plots.figure import (
    AXIS,
    BLUE,
    INK,
    PALE,
    QUIET,
    as_svg,
    drawn_with,
    figure_of,
    new_figure,
    set_frame,
    set_heading,
)
from hedgerow.plots.figure import ON_DARK as FOR_DARK
from hedgerow.release.combine import joined

FOLDER = Path(__file__).parent / "_static"
TRUE = "#d55e00"  # Okabe and Ito's vermilion
ON_DARK = {light: dark for light, dark in FOR_DARK.items() if light != "#ffffff"} | {TRUE: "#ff9e64"}


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


def draw_guesses() -> str:
    """Return one SVG element: 1/(1 + e^−ε) for ε from 0.1 to 10, with numbers at some ε."""
    import matplotlib
    import numpy as np

    with matplotlib.rc_context(drawn_with()):
        axes = new_figure(5.4, 3.0, layout="constrained").add_subplot()
        epsilons = np.geomspace(0.1, 10.0, 200)
        success = [attack_success_upper(PureProfile(epsilon)) for epsilon in epsilons.tolist()]
        axes.fill_between(epsilons, 0.5, success, color=PALE, alpha=0.4, lw=0)
        axes.plot(epsilons, success, color=BLUE, lw=2.0)
        for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0):
            share = attack_success_upper(PureProfile(epsilon))
            axes.plot(epsilon, share, "o", ms=5, color=BLUE, clip_on=False)
            place = {
                "textcoords": "offset points",
                "xytext": (6, -13) if epsilon > 0.1 else (4, 7),
                "color": INK,
                "fontsize": 9,
            }
            axes.annotate(at_most_percent(share).replace("\N{NO-BREAK SPACE}", " "), (epsilon, share), **place)
        axes.set_xscale("log")
        axes.set_xlim(0.1, 10.0)
        axes.set_ylim(0.5, 1.0)
        axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5, 10], ["0.1", "0.2", "0.5", "1", "2", "5", "10"])
        axes.minorticks_off()
        axes.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1.0], ["50 %", "60 %", "70 %", "80 %", "90 %", "100 %"])
        axes.set_xlabel("ε", color=INK)
        axes.tick_params(color=AXIS, labelcolor=QUIET)
        set_frame(axes, "y")
        axes.spines["bottom"].set_color(AXIS)
        set_heading(axes, "An attacker guesses right at most", color=INK)
        figure_of(axes).patch.set_visible(False)
        axes.patch.set_visible(False)
        return as_svg(axes)


def on_dark(picture: str) -> str:
    """Return the picture in the colours of a dark page; a text without a colour of its own is as light as the ink."""
    coloured = re.sub("|".join(ON_DARK), lambda colour: ON_DARK[colour.group()], picture)
    return coloured.replace("</style>", f"text{{fill: {ON_DARK[INK]}}}</style>", 1)


def file_of(name: str, page: str) -> Path:
    """Return where a picture is kept: ``demo`` or ``epsilon``, for a ``light`` or a ``dark`` page."""
    return FOLDER / f"{name}-{page}.svg"


def main() -> None:
    """Write all files."""
    for name, draw in (("demo", draw_intervals), ("epsilon", draw_guesses)):
        picture = draw()
        file_of(name, "light").write_text(picture + "\n", encoding="utf-8")
        file_of(name, "dark").write_text(on_dark(picture) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
