"""A headless browser for pages: what it lays out at a width, in a theme, on paper, is measured from inside the page."""

from __future__ import annotations

import html
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.engines import need

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)
# The policy of a page forbids code, so a copy without it gets a probe, which writes what it measures into the page.
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n')
# A window of Chromium is at least 500 px wide; a frame is as narrow as one likes, and the page cannot tell.
PROBE = """<!doctype html><iframe style="border: 0; width: {width}px; height: 2000px" srcdoc="{page}"></iframe><script>
onload = () => {{
  const view = frames[0], root = view.document.documentElement, body = view.getComputedStyle(view.document.body);
  const measured = {{
    page: root.scrollWidth, window: view.innerWidth, ground: body.backgroundColor, ink: body.color,
    owned: root.dataset.owned ?? "no",
    found: (() => {{ {script} }})(),
  }};
  document.documentElement.dataset.probe = JSON.stringify(measured);
}};
</script>"""
# Every word with the lines that it stands on; a hyphen or a slash is a place to break.
SPLIT_WORDS = """
  const walker = view.document.createTreeWalker(view.document.body, NodeFilter.SHOW_TEXT), split = [];
  for (let node; (node = walker.nextNode());) {
    if (node.parentElement.closest("script, style, svg")) continue;
    for (const word of node.data.matchAll(/[^\\s\\u002d\\u2013/]+/g)) {
      const range = view.document.createRange();
      range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top / 4)));
      if (lines.size > 1) split.push(word[0]);
    }
  }
  return split;
"""
A4 = 673  # px between margins of 16 mm


@dataclass(frozen=True)
class Browser:
    """A headless Chromium with a profile of its own."""

    program: str
    folder: Path

    def measure(
        self, page: str, script: str = "return null;", *, width: int, dark: bool = False, paper: bool = False
    ) -> dict[str, Any]:
        """Return widths, colours and what `script` returns of `view` and `root`; `paper` applies the rules of print."""
        assert POLICY.search(page), "a page has a policy that forbids code"
        shown = POLICY.sub("", page)
        if paper:
            shown = shown.replace("@media print", "@media all").replace("@media screen", "@media not all")
        text = PROBE.format(width=width, page=html.escape(shown), script=script)
        theme = ["--blink-settings=preferredColorScheme=0"] if dark else []
        found = re.search(r'data-probe="([^"]*)"', self._run(text, *theme, "--window-size=1300,2100", "--dump-dom"))
        assert found, "the probe did not run"
        measured: dict[str, Any] = json.loads(html.unescape(found[1]))
        return measured

    def split_words(self, page: str) -> list[str]:
        """Return the words of a page that a line of A4 breaks inside."""
        found: list[str] = self.measure(page, SPLIT_WORDS, width=A4, paper=True)["found"]
        return found

    def printed(self, page: str) -> Path:
        """Return the page as a PDF on A4."""
        self._run(page, "--no-pdf-header-footer", f"--print-to-pdf={self.folder / 'page.pdf'}")
        return self.folder / "page.pdf"

    def _run(self, page: str, *options: str) -> str:
        file = self.folder / "page.html"
        file.write_text(page, encoding="utf-8")
        command = [self.program, *FLAGS, f"--user-data-dir={self.folder / 'profile'}", *options, file.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    """A browser; a test that needs one is skipped where none is installed."""
    return Browser(str(need("chromium")), tmp_path)
