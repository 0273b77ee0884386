"""The page as a browser shows it: nothing hangs out at any width, both themes are there, no label runs.

The page forbids code, so a copy without its policy gets a probe of ours, which writes what it measures into the page.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from html import escape
from pathlib import Path

import pytest

from hedgerow.inference.estimate import Estimate
from hedgerow.release.result import Release
from hedgerow.reports import report_html

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
  const seen = [inner.scrollWidth, frames[0].innerWidth, style.backgroundColor, style.color];
  document.documentElement.dataset.probe = [...seen, inner.dataset.owned ?? "no"].join("|");
}};
</script>"""
LABELS = [
    "<script>document.documentElement.dataset.owned = 1</script>",
    '"><img src=x onerror="document.documentElement.dataset.owned = 1">',
    "</script><script>document.documentElement.dataset.owned = 1</script>",
    "w" * 300,
]


@pytest.fixture(scope="module")
def page(make_release: Callable[..., Release], make_estimate: Callable[..., Estimate]) -> str:
    cells = [
        make_estimate("income", {"region": label}, 123_456.0, privacy_error=1234.5, note=label) for label in LABELS
    ]
    return report_html(make_release(*cells, make_estimate(LABELS[0], {}, 40.0), source=LABELS[2]))


def probed(page: str, folder: Path, width: int, *, dark: bool = False) -> list[str]:
    """Return what the probe saw: width of the page and of its window, background, ink, whether a label ran."""
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


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True), (320, False)])
def test_it_fits_the_window_in_both_themes_and_no_label_runs(page: str, tmp_path: Path, width: int, dark: bool) -> None:
    across, window, ground, ink, owned = probed(page, tmp_path, width, dark=dark)
    assert int(across) <= int(window) == width
    light = ("rgb(255, 255, 255)", "rgb(26, 26, 26)")
    assert (ground, ink) == (("rgb(23, 25, 28)", "rgb(231, 231, 228)") if dark else light)
    assert owned == "no"


def test_the_probe_sees_what_hangs_out_and_a_label_that_runs(page: str, tmp_path: Path) -> None:
    broken = page.replace("<main>", f"<main>{LABELS[0]}<p style='width: 900px'>wide</p>")
    across, window, *_, owned = probed(broken, tmp_path, 390)
    assert int(across) > int(window) and owned == "1"
