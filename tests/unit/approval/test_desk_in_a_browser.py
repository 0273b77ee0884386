"""The local page of two people in a real browser without a window: the whole path, tabs, keys, width, dark, names."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.engines import need
from tests.unit.approval.conftest import PASSPHRASE, spent
from tests.unit.approval.test_desk import LIMITS, Visitor, papers, served

NAMED = {"textbox", "button", "combobox", "slider", "checkbox", "link", "spinbutton", "Iframe", "searchbox", "Date"}
_KEYS = {"Tab": 9, "Enter": 13, "ArrowDown": 40, "ArrowRight": 39, " ": 32}


class Chromium:
    """A browser that is told what to do through two pipes, by its protocol for tools."""

    def __init__(self, program: Path, folder: Path) -> None:
        theirs, self._write = os.pipe()
        self._read, back = os.pipe()
        options = "--headless --no-sandbox --disable-gpu --no-first-run --remote-debugging-pipe about:blank"
        words = [
            "bash",
            "-c",
            f'exec "$0" --user-data-dir="$1" {options} 3<&{theirs} 4>&{back}',
            program,
            folder / "profile",
        ]
        self._process = subprocess.Popen(words, pass_fds=(theirs, back), stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(back)
        self._sent, self._left = 0, b""

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send one command, and return its result."""
        self._sent += 1
        about = {} if session is None else {"sessionId": session}
        message = {"id": self._sent, "method": method, "params": parameters, **about}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._left:
                part = os.read(self._read, 2**16)
                assert part, "the browser ended"
                self._left += part
            raw, _, self._left = self._left.partition(b"\0")
            answer = json.loads(raw)
            if answer.get("id") == self._sent:
                if "navigated" in answer.get("error", {}).get("message", ""):
                    raise Navigated(answer)
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def tab(self, url: str) -> Tab:
        """Open a page in a new tab."""
        target = self.ask("Target.createTarget", url=url)["targetId"]
        return Tab(self, self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def close(self) -> None:
        """End the browser."""
        self.ask("Browser.close")
        self._process.wait(20)
        os.close(self._write)
        os.close(self._read)


class Navigated(AssertionError):
    """The page was left while a command ran in it."""


class Tab:
    """A tab of the browser."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.ask(method, self._session, **parameters)

    def value(self, script: str) -> Any:
        """Return what a script returns."""
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)["result"].get(
            "value"
        )

    def wait(self, script: str) -> Any:
        """Wait until a script returns something true, and return that."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with suppress(Navigated):
                if self.value("document.readyState") == "complete" and (seen := self.value(f"!!({script})")):
                    return seen
            time.sleep(0.05)
        raise AssertionError((script, self.value("location.href"), self.value("document.body.innerText")))

    def go(self, script: str, until: str) -> None:
        """Leave the page by a script, and wait on the next page; until that is there scripts see the old page."""
        self.value(f"window.isOld = true; setTimeout(() => {{ {script} }}); 0")
        self.wait(f"!window.isOld && ({until})")

    def key(self, name: str) -> None:
        """Press a key."""
        about = {"key": name, "code": name, "windowsVirtualKeyCode": _KEYS[name]}
        text = {"Enter": {"text": "\r"}, " ": {"text": " "}}.get(name, {})
        self.ask("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def reach(self, script: str) -> None:
        """Press Tab until the element in focus is the one for which a script returns true."""
        for _ in range(80):
            if self.value(f"((at) => {script})(document.activeElement)"):
                return
            self.key("Tab")
        raise AssertionError(f"no Tab leads to {script}")

    def type(self, name: str, text: str) -> None:
        """Reach a field by its id, and type into it."""
        self.reach(f"at.id === {name!r}")
        self.ask("Input.insertText", text=text)

    def size(self, width: int, *, dark: bool = False) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def draw(self, name: str) -> None:
        """Write a picture of the page, where HEDGEROW_PICTURES names a folder."""
        if folder := os.environ.get("HEDGEROW_PICTURES"):
            drawn = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
            Path(folder, f"{name}.png").write_bytes(base64.b64decode(drawn["data"]))


@pytest.fixture
def browser(desk: Path) -> Iterator[Chromium]:
    """A browser; a test that needs one is skipped where none is installed."""
    made = Chromium(need("chromium"), desk)
    yield made
    made.close()


def filled(tab: Tab) -> None:
    """Fill the analyst's form by keys alone, and send it."""
    tab.reach("at.id === 'statistic0'")
    tab.key("ArrowDown")
    tab.reach("at.id === 'column0'")
    tab.key("ArrowDown")
    tab.reach("at.name === 'by'")
    tab.key(" ")
    tab.type("n", "600")
    tab.reach("at.id === 'epsilon'")
    tab.key("ArrowRight")
    tab.wait("document.getElementById('forecast').textContent.includes('mean of age')")
    before = tab.value("document.getElementById('forecast').textContent")
    tab.key("ArrowRight")
    tab.wait(f"document.getElementById('forecast').textContent !== {json.dumps(before)}")
    tab.type("asked_by", "bob")
    tab.type("purpose", "monthly report")
    tab.reach("at.id === 'until'")
    tab.value("document.getElementById('until').value = '2999-12-31'")
    tab.reach("at.textContent === 'Send for approval'")
    tab.key("Enter")


def test_two_people_go_the_whole_path_by_keys_alone(desk: Path, browser: Chromium) -> None:
    with served(LIMITS) as visitor:
        analyst = browser.tab(visitor.server.url("analyst"))
        analyst.wait("location.pathname === '/analyst'")
        assert analyst.value("document.cookie") == "" and analyst.value("location.hash") == ""
        analyst.draw("ask")
        filled(analyst)
        analyst.wait("location.pathname.startsWith('/analyst/request/')")
        (name,) = (path.removesuffix(".json") for path in papers())
        # Back, and forward again: no form is sent a second time.
        analyst.value("history.back()")
        analyst.wait("location.pathname === '/analyst'")
        analyst.value("history.forward()")
        analyst.wait("location.pathname.startsWith('/analyst/request/')")
        assert papers() == [f"{name}.json"] and spent() == (0.0, 0)
        # A second tab with the other role, beside the first.
        custodian = browser.tab(visitor.server.url("custodian"))
        custodian.wait("location.pathname === '/custodian'")
        custodian.draw("queue")
        custodian.reach(f"at.href?.endsWith('/custodian/request/{name}')")
        custodian.key("Enter")
        custodian.wait("document.getElementById('passphrase')")
        custodian.draw("decide")
        custodian.type("note", "once")
        custodian.type("passphrase", PASSPHRASE)
        custodian.key("Enter")
        custodian.wait("document.body.innerText.includes('Approved by ada')")
        assert spent() == (0.0, 0)
        custodian.reach("at.textContent === 'Release now'")
        custodian.key("Enter")
        custodian.wait("document.querySelector('iframe')")
        assert spent()[1] == 1
        analyst.go("location.reload()", "document.querySelector('iframe')?.title === 'The released report'")
        assert "Private statistics of people.csv" in shown_report(browser, f"/analyst/report/{name}")
        analyst.ask("Page.bringToFront")
        analyst.draw("released")


def shown_report(browser: Chromium, path: str) -> str:
    """Return the document in a frame: of no origin, so that the browser shows it as a target of its own."""
    for _ in range(100):
        for target in browser.ask("Target.getTargets")["targetInfos"]:
            if target["type"] == "iframe" and target["url"].endswith(path):
                session = browser.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
                root = browser.ask("DOM.getDocument", session)["root"]["nodeId"]
                text: str = browser.ask("DOM.getOuterHTML", session, nodeId=root)["outerHTML"]
                if "</main>" in text:
                    return text
        time.sleep(0.1)
    return ""


def test_a_wrong_token_enters_nothing(desk: Path, browser: Chromium) -> None:
    with served(LIMITS) as visitor:
        tab = browser.tab(visitor.server.url("analyst")[:-1] + "~")
        tab.wait("document.body.innerText.includes('HG335')")
        assert tab.value("location.pathname") == "/" and tab.value("fetch('/analyst').then((it) => it.status)") == 403


def test_pages_fit_a_narrow_window_in_light_and_dark_and_name_their_parts(desk: Path, browser: Chromium) -> None:
    with served(LIMITS) as visitor:
        name = Visitor(visitor.server).enter("analyst").put(purpose="monthly report " * 20)
        grounds = set()
        for role in ("analyst", "custodian"):
            tab = browser.tab(visitor.server.url(role))  # type: ignore[arg-type]  # a Role
            tab.wait(f"location.pathname === '/{role}'")
            for path in (f"/{role}", f"/{role}/request/{name}"):
                for width, dark in ((1280, False), (360, False), (360, True)):
                    tab.size(width, dark=dark)
                    tab.go(
                        f"location.href = {path!r}", f"location.pathname === {path!r} && document.querySelector('h1')"
                    )
                    # Waited for: a page that is measured before its stylesheet is there may still be too wide.
                    tab.wait("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
                    assert "\ufffd" not in tab.value("document.body.innerText")
                    grounds.add((dark, tab.value("getComputedStyle(document.body).backgroundColor")))
                    tab.draw(f"{role}-{'request' if name in path else 'list'}-{width}-{'dark' if dark else 'light'}")
                tab.ask("Accessibility.enable")
                nodes = [node for node in tab.ask("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
                parts = [(node["role"]["value"], node.get("name", {}).get("value")) for node in nodes]
                assert {kind for kind, _ in parts} >= {"main", "banner", "navigation", "heading", "link"}
                unnamed = [kind for kind, called in parts if kind in NAMED and not called]
                assert not unnamed, (path, unnamed)
        assert grounds == {(False, "rgb(255, 255, 255)"), (True, "rgb(23, 25, 28)")}


def test_a_page_of_another_site_cannot_act_with_the_cookies(desk: Path, browser: Chromium) -> None:
    with served(LIMITS) as visitor:
        name = Visitor(visitor.server).enter("analyst").put()
        tab = browser.tab(visitor.server.url("custodian"))
        tab.wait("location.pathname === '/custodian'")
        url = f"http://127.0.0.1:{visitor.server.address.port}/custodian/deny/{name}"
        Path("evil.html").write_text(
            f'<form method="post" action="{url}"><input name="passphrase" value="{PASSPHRASE}"></form>'
            "<script>document.forms[0].submit()</script>"
        )
        other = browser.tab(Path("evil.html").absolute().as_uri())
        other.wait("document.body.innerText.includes('HG335')")
        assert b'"deny"' not in Path("papers", f"{name}.json").read_bytes()
