"""Draws every page of the built site as a browser shows it, wide and narrow, light and dark; finds what is too wide.

``make docs screenshots`` writes docs/_build/screenshots/WIDTH-SCHEME/PAGE.png and contact sheets of twelve or 24 pages
each. A page that can be scrolled sideways is printed with the elements that are too wide, and the exit code is 1. Words
after the name of the program select the pages whose paths contain all of them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from tornado.websocket import WebSocketClientConnection, websocket_connect

BUILD = Path(__file__).parent / "_build"
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
MOST_HEIGHT = 2600  # of a page that is longer, its beginning is drawn
COLUMNS, ROWS, SMALL = 6, 2, 320
_WIDE = """(() => {
  const root = document.documentElement, wide = [];
  if (root.scrollWidth <= root.clientWidth) return wide;
  for (const element of document.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    let inside = element.parentElement, scrolls = false;
    for (; inside; inside = inside.parentElement) if (getComputedStyle(inside).overflowX !== "visible") scrolls = true;
    if (box.right > root.clientWidth + 1 && !scrolls) wide.push(element.tagName + "." + element.className);
  }
  return wide.slice(0, 5).concat([root.scrollWidth + " px"]);
})()"""


class Tab:
    """A tab of a headless browser, told what to do by its protocol for tools."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket, self._sent = socket, 0

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command, and return its result."""
        self._sent += 1
        await self._socket.write_message(json.dumps({"id": self._sent, "method": method, "params": parameters}))
        while True:
            answer = json.loads(await self._socket.read_message() or "{}")
            if answer.get("id") == self._sent:
                result: dict[str, Any] = answer.get("result", {})
                return result

    async def value(self, script: str) -> Any:
        """Return what a script returns."""
        return (await self.ask("Runtime.evaluate", expression=script, returnByValue=True))["result"].get("value")

    async def show(self, page: Path, width: int, scheme: str) -> None:
        """Load a page, and wait for its pictures."""
        feature = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.ask("Emulation.setEmulatedMedia", features=feature)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        await self.ask("Emulation.setDeviceMetricsOverride", **size)
        await self.ask("Page.navigate", url=page.as_uri())
        for _ in range(100):
            if await self.value("document.readyState") == "complete":
                break
            await asyncio.sleep(0.05)

    async def draw(self, target: Path, width: int) -> None:
        """Write the page as a picture."""
        height = min(MOST_HEIGHT, int(await self.value("document.documentElement.scrollHeight")))
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        drawn = await self.ask("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        target.write_bytes(base64.b64decode(drawn["data"]))


async def draw_all(pages: Sequence[Path], port: int, folder: Path) -> list[str]:
    """Draw all pages in all widths and schemes; return what is too wide."""
    address = f"http://127.0.0.1:{port}/json/new?about:blank"
    for _ in range(200):
        try:
            request = urllib.request.Request(address, method="PUT")
            url = json.loads(urllib.request.urlopen(request).read())["webSocketDebuggerUrl"]
            break
        except OSError:
            await asyncio.sleep(0.1)
    tab, wide = Tab(await websocket_connect(url, max_message_size=2**28)), []
    for width in WIDTHS:
        for scheme in SCHEMES:
            target = folder / f"{width}-{scheme}"
            target.mkdir(parents=True, exist_ok=True)
            for page in pages:
                name = str(page.relative_to(BUILD / "html").with_suffix("")).replace("/", "__")
                await tab.show(page, width, scheme)
                if scheme == "light" and (found := await tab.value(_WIDE)):
                    wide.append(f"{name} at {width} px: {', '.join(found)}")
                await tab.draw(target / f"{name}.png", width)
    return wide


def sheets(folder: Path) -> Iterator[Path]:
    """Write contact sheets of the pictures of a folder."""
    pictures = sorted(folder.glob("*.png"))
    small = SMALL if folder.name.startswith("1280") else SMALL // 2
    columns = COLUMNS if small == SMALL else COLUMNS * 2
    for start in range(0, len(pictures), columns * ROWS):
        height = 650 if small == SMALL else 700
        sheet = Image.new("RGB", (columns * (small + 8), ROWS * (height + 20)), "white")
        for place, picture in enumerate(pictures[start : start + columns * ROWS]):
            image = Image.open(picture).convert("RGB")
            image = image.resize((small, round(image.height * small / image.width))).crop((0, 0, small, height))
            x, y = place % columns * (small + 8), place // columns * (height + 20)
            sheet.paste(image, (x, y + 14))
            ImageDraw.Draw(sheet).text((x, y), picture.stem[-small // 6 :], fill="black")
        target = folder.parent / f"sheet-{folder.name}-{start // (columns * ROWS):02d}.png"
        sheet.save(target)
        yield target


def main() -> None:
    """Draw the site."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        sys.exit("make screenshots needs a Chromium.")
    pages = sorted(page for page in (BUILD / "html").rglob("*.html") if "_static" not in page.parts)
    pages = [page for page in pages if all(word in str(page) for word in sys.argv[1:])]
    folder, port = BUILD / "screenshots", 9333
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", f"--user-data-dir={profile}"]
        browser = subprocess.Popen([program, *flags, f"--remote-debugging-port={port}"], stderr=subprocess.DEVNULL)
        try:
            wide = asyncio.run(draw_all(pages, port, folder))
        finally:
            browser.terminate()
            browser.wait()
    for drawn in sorted(folder.iterdir()):
        if drawn.is_dir():
            for sheet in sheets(drawn):
                print(sheet)
    print(f"{len(pages)} pages in {len(WIDTHS) * len(SCHEMES)} forms")
    print("\n".join(wide))
    sys.exit(bool(wide))


if __name__ == "__main__":
    main()
