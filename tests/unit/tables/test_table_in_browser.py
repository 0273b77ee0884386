"""A wide table as a browser shows it: it scrolls inside its own box, its row headings stay, both themes are there.

The page forbids code, so a copy without its policy gets a probe of ours, which writes what it measures into the page.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from html import escape
from pathlib import Path

import numpy as np
import pytest

from hedgerow.tables.cells import TableCells
from hedgerow.tables.margins import consistent_table
from hedgerow.tables.publication import Publication
from hedgerow.tables.shape import Axis, TableShape
from hedgerow.tables.write_html import html_page

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
pytestmark = pytest.mark.skipif(not BROWSER, reason="no headless Chromium is installed")

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --no-first-run"
)
# A window of Chromium is at least 500 px wide; a frame is as narrow as one likes, and the page cannot tell.
PROBE = """<!doctype html><iframe style="border: 0; width: {width}px; height: 2000px" srcdoc="{page}"></iframe><script>
onload = () => {{
  const inner = frames[0].document.documentElement, style = frames[0].getComputedStyle(inner.querySelector("body"));
  const box = inner.querySelector(".scroll");
  box.scrollLeft = 1e6;
  const heading = inner.querySelector("tbody th").getBoundingClientRect();
  const seen = [inner.scrollWidth, frames[0].innerWidth, box.scrollWidth, box.clientWidth];
  const more = [Math.round(heading.left - box.getBoundingClientRect().left), style.backgroundColor];
  document.documentElement.dataset.probe = [...seen, ...more, inner.dataset.owned ?? "no"].join("|");
}};
</script>"""
LABELS = (
    "<script>document.documentElement.dataset.owned = 1</script>",
    '"><img src=x onerror="document.documentElement.dataset.owned = 1">',
    "w" * 60,
    "plain",
)
SHAPE = TableShape((Axis("district", LABELS), Axis("age", tuple(f"{10 * age} to {10 * age + 9}" for age in range(12)))))


@pytest.fixture(scope="module")
def page() -> str:
    cells = TableCells.counts(SHAPE, np.arange(48.0) * 1234.0, privacy_variance=4.0)
    return html_page(Publication(LABELS[0], consistent_table(cells), LABELS[1], unit=LABELS[1]))


def probed(page: str, folder: Path, width: int, *, dark: bool = False) -> list[str]:
    """Return widths of page, window, table and box, how far the row heading is from the box's edge, ground, owned."""
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n', page)
    assert policy
    file = folder / "page.html"
    file.write_text(PROBE.format(width=width, page=escape(page.replace(policy[0], ""))), encoding="utf-8")
    theme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    command = [BROWSER, *FLAGS.split(), *theme, f"--user-data-dir={folder / 'profile'}", "--window-size=1300,2100"]
    run = subprocess.run(
        [*command, "--dump-dom", file.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    found = re.search(r'data-probe="([^"]*)"', run.stdout)
    assert found, "the probe did not run"
    return found[1].split("|")


@pytest.mark.parametrize(("width", "dark"), [(1000, False), (390, True)])
def test_it_scrolls_inside_its_box_and_row_headings_stay(page: str, tmp_path: Path, width: int, dark: bool) -> None:
    across, window, table, box, heading, ground, owned = probed(page, tmp_path, width, dark=dark)
    assert int(across) <= int(window) == width
    assert int(table) > int(box)
    assert heading == "0"
    assert ground == ("rgb(23, 25, 28)" if dark else "rgb(255, 255, 255)")
    assert owned == "no"


def test_the_probe_sees_a_box_that_does_not_hold_and_a_label_that_runs(page: str, tmp_path: Path) -> None:
    broken = (
        page.replace("overflow-x: auto", "").replace("position: sticky", "").replace("<main>", f"<main>{LABELS[0]}")
    )
    across, window, *_, owned = probed(broken, tmp_path, 390)
    assert int(across) > int(window)
    assert owned == "1"
