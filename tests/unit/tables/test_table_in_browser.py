"""A wide table as a browser shows it: it scrolls inside its own box, its row headings stay, both themes are there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow.release.cells.margins import consistent_table
from hedgerow.release.cells.shape import TableDimension, TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.publication.formats.html import html_page
from hedgerow.release.publication.publication import Publication

# How far the table is from its box and the row heading from the box's edge, and what bars look like.
PROBE = """
  const box = root.querySelector(".scroll");
  box.scrollLeft = 1e6;
  const heading = root.querySelector("tbody th").getBoundingClientRect();
  const parts = [...root.querySelectorAll("td")].map((cell) => {
    const bar = cell.querySelector(".bar").getBoundingClientRect(), around = cell.getBoundingClientRect();
    const part = cell.querySelector(".interval").getBoundingClientRect();
    const inside = bar.left >= around.left && bar.right <= around.right && bar.bottom <= around.bottom;
    return inside && part.width >= 1 && part.height >= 3;
  });
  const colours = ["interval", "noise", "number"].map((name) =>
    view.getComputedStyle(root.querySelector("td .bar:not(.unsure) ." + name)).fill);
  return {
    table: box.scrollWidth, box: box.clientWidth, heading: Math.round(heading.left - box.getBoundingClientRect().left),
    bars: parts.every(Boolean), colours: colours,
  };
"""
LABELS = (
    "<script>document.documentElement.dataset.owned = 1</script>",
    '"><img src=x onerror="document.documentElement.dataset.owned = 1">',
    "w" * 60,
    "plain",
)
SHAPE = TableShape(
    (
        TableDimension("district", LABELS),
        TableDimension("age", tuple(f"{10 * age} to {10 * age + 9}" for age in range(12))),
    )
)


@pytest.fixture(scope="module")
def page() -> str:
    cells = TableCells.counts(SHAPE, np.arange(48.0) * 1234.0, privacy_variance=4.0)
    return html_page(Publication(LABELS[0], consistent_table(cells), LABELS[1], unit=LABELS[1]))


@pytest.mark.parametrize(("width", "dark"), [(1000, False), (390, True)])
def test_it_scrolls_inside_its_box_and_row_headings_stay(page: str, browser: Any, width: int, dark: bool) -> None:
    seen = browser.measure(page, PROBE, width=width, dark=dark)
    assert seen["page"] <= seen["window"] == width
    assert seen["found"]["table"] > seen["found"]["box"]
    assert seen["found"]["heading"] == 0
    assert seen["ground"] == ("rgb(23, 25, 28)" if dark else "rgb(255, 255, 255)")
    assert seen["owned"] == "no"


@pytest.mark.parametrize(("width", "dark", "paper"), [(390, False, False), (390, True, False), (673, True, True)])
def test_every_bar_is_seen_inside_its_cell(page: str, browser: Any, width: int, dark: bool, paper: bool) -> None:
    found = browser.measure(page, PROBE, width=width, dark=dark, paper=paper)["found"]
    light = ["rgb(158, 202, 225)", "rgb(0, 114, 178)", "rgb(0, 0, 0)" if paper else "rgb(26, 26, 26)"]
    assert found["bars"]
    assert found["colours"] == (
        light if paper or not dark else ["rgb(47, 86, 111)", "rgb(108, 184, 234)", "rgb(231, 231, 228)"]
    )


def test_the_probe_sees_a_box_that_does_not_hold_and_a_label_that_runs(page: str, browser: Any) -> None:
    broken = (
        page.replace("overflow-x: auto", "").replace("position: sticky", "").replace("<main>", f"<main>{LABELS[0]}")
    )
    seen = browser.measure(broken.replace(".bar {", ".bar { position: relative; left: 20rem;"), PROBE, width=390)
    assert seen["page"] > seen["window"] == 390
    assert seen["owned"] == "1" and not seen["found"]["bars"]
