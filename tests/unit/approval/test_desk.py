"""The local page of two people over raw HTTP: the whole path, and what may be tried with its pages."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.unit.approval.conftest import PASSPHRASE, decided, done, edited, run, spent

from hedgerow.cli.desk.desk_server import LIMITS, DeskServer, Role
from hedgerow.cli.desk.form import words_of
from hedgerow.cli.desk.papers import Papers
from hedgerow.transport.limits import Limits

PAGE = Path(__file__).parents[3] / "docs" / "how_to" / "desk.md"
FACTS: dict[str, Any] = {
    "relation": "add-remove",
    "columns": {"age": {"bounds": [0, 100], "step": 1}, "sex": {"categories": [0, 1]}},
}
FORM = {"statistic0": "--mean", "column0": "age", "statistic1": "--count", "by": "sex", "epsilon": "0.4", "n": "600"}
ASKED = {**FORM, "asked_by": "bob", "purpose": "<script>alert(1)</script>", "until": "2999-12-31"}
ROOMY = Limits(requests_per_minute=10_000, most_bytes=LIMITS.most_bytes, seconds=5.0)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: str

    @property
    def code(self) -> str:
        """The code of the refusal that a page shows."""
        found = re.search(r"HG\d{3}", self.body)
        return found[0] if found else ""


@dataclass
class Visitor:
    """A browser as a client of HTTP: it keeps its cookies, and names its page as their origin."""

    server: DeskServer
    cookies: dict[str, str] = field(default_factory=dict)

    def send(self, request: bytes) -> Answer:
        with socket.create_connection(("127.0.0.1", self.server.address.port), 20) as dialled:
            dialled.sendall(request)
            dialled.shutdown(socket.SHUT_WR)
            raw = b"".join(iter(lambda: dialled.recv(2**16), b""))
        head, _, body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("ascii").split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        assert int(headers["Content-Length"]) == len(body) and headers["Cache-Control"] == "no-store"
        if "Set-Cookie" in headers:
            name, _, value = headers["Set-Cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return Answer(int(first.split()[1]), headers, body.decode())

    def ask(self, method: str, path: str, fields: dict[str, Any] | None = None, **headers: str | None) -> Answer:
        """Send a request as a page of the desk would; a header that is None is left out."""
        host = f"127.0.0.1:{self.server.address.port}"
        body = urlencode(fields or {}, doseq=True).encode() if method == "POST" else b""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent: dict[str, str | None] = {"Host": host, "Cookie": cookies, "Sec-Fetch-Site": "same-origin"}
        if method == "POST":
            form = "application/x-www-form-urlencoded"
            sent |= {"Origin": f"http://{host}", "Content-Type": form, "Content-Length": str(len(body))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{name}: {value}" for name, value in sent.items() if value is not None),
        ]
        return self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def enter(self, role: Role) -> Visitor:
        token = self.server.url(role).partition("#")[2]
        answer = self.ask("POST", "/enter", {"token": token})
        assert (answer.status, answer.body) == (200, f"/{role}")
        assert "HttpOnly; SameSite=Strict" in answer.headers["Set-Cookie"]
        return self

    def secret(self, role: str = "analyst", name: str = "") -> str:
        page = self.ask("GET", f"/{role}/request/{name}" if name else f"/{role}").body
        found = re.search(r'name="csrf" value="([^"]+)"', page)
        return unescape(found[1]) if found else ""

    def put(self, **changes: str) -> str:
        """Ask as the analyst, and return the name of the request."""
        answer = self.ask("POST", "/analyst/ask", {**ASKED, **changes, "csrf": self.secret()})
        assert answer.status == 303, answer.body
        return answer.headers["Location"].rpartition("/")[2]

    def decide(self, verb: str, name: str, passphrase: str = PASSPHRASE, **more: str) -> Answer:
        csrf = self.secret("custodian", name) or "none"
        return self.ask("POST", f"/custodian/{verb}/{name}", {"csrf": csrf, "passphrase": passphrase, **more})


@contextmanager
def served(limits: Limits = ROOMY, ledger: str = "L", key: str | None = "ada.key") -> Iterator[Visitor]:
    papers = Papers(Path("papers"), Path(ledger), "people.csv", None if key is None else Path(key))
    with DeskServer(papers, FACTS, limits=limits, named="hedgerow.toml") as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield Visitor(server)
        finally:
            server.shutdown()
            thread.join()


def papers() -> list[str]:
    return sorted(path.name for path in Path("papers").iterdir())


def test_the_whole_path_on_pages(desk: Path) -> None:
    with served() as visitor:
        visitor.enter("analyst")
        visitor.enter("custodian")
        form = visitor.ask("GET", "/analyst").body
        assert "age (from 0 to 100)" in form and "--quantile" in form and spent() == (0.0, 0)
        forecast = visitor.ask("GET", f"/analyst/forecast?{urlencode(FORM)}").body
        assert "mean of age" in forecast and "Price: ε ≤ 0.3" in forecast
        more = visitor.ask("GET", f"/analyst/forecast?{urlencode({**FORM, 'epsilon': '2'})}").body
        assert privacy_error(more) < privacy_error(forecast) / 3, "more ε, less noise"
        name = visitor.put()
        assert papers() == [f"{name}.json"] and spent() == (0.0, 0)
        queue = visitor.ask("GET", "/custodian").body
        assert "&lt;script&gt;" in queue and "<script>alert" not in queue and "waiting" in queue and ">0.6<" in queue
        assert visitor.decide("approve", name).status == 303
        page = visitor.ask("GET", f"/custodian/request/{name}").body
        assert "Approved by ada" in page and "Release now" in page and spent() == (0.0, 0)
        assert visitor.decide("release", name).status == 303
        cost, count = spent()
        assert 0.3 < cost <= 0.4 and count == 1
        for role in ("analyst", "custodian"):
            assert f'src="/{role}/report/{name}"' in visitor.ask("GET", f"/{role}/request/{name}").body
            report = visitor.ask("GET", f"/{role}/report/{name}")
            assert "people.csv" in report.body and report.headers["Content-Security-Policy"].startswith("sandbox;")
        assert "released" in visitor.ask("GET", "/analyst").body
    assert "Each signature was checked" in done("request", "show", f"papers/{name}.json", "--ledger", "L")


def test_only_requests_without_a_decision_count_against_the_limit(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.cli.desk.papers._MOST_WAITING", 2)
    with served() as visitor:
        visitor.enter("analyst")
        visitor.enter("custodian")
        first = visitor.put(purpose="first")
        visitor.put(purpose="second")
        full = visitor.ask("POST", "/analyst/ask", {**ASKED, "purpose": "third", "csrf": visitor.secret()})
        assert "HG335" in full.body and len(papers()) == 2
        assert visitor.decide("deny", first).status == 303
        visitor.put(purpose="third")
        assert len(papers()) == 3 and spent() == (0.0, 0)


def test_each_page_says_what_is_served_and_how_to_stop(desk: Path) -> None:
    with served() as visitor:
        visitor.enter("analyst")
        page = visitor.ask("GET", "/analyst").body
        assert "facts in hedgerow.toml" in page and "ledger is L" in page and "Ctrl-C" in page


def privacy_error(forecast: str) -> float:
    return float(next(line for line in forecast.splitlines() if line.startswith("mean of age  ")).split()[-1])


def test_the_command_of_the_page_opens_a_desk(desk: Path) -> None:
    block = re.findall(r"^```serve\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    _, *words = shlex.split(block[0].replace("survey.ledger", "L"))
    facts = 'relation = "add-remove"\n[data]\npath = "people.csv"\n[columns.age]\nbounds = [0, 9]\n'
    Path("hedgerow.toml").write_text(facts)
    with subprocess.Popen([sys.executable, "-m", "hedgerow", *words], stdout=subprocess.PIPE, text=True) as opened:
        assert opened.stdout is not None
        addresses = [opened.stdout.readline() for _ in range(2)]
        opened.terminate()
    assert [line.partition(": http://127.0.0.1:")[0] for line in addresses] == ["analyst", "custodian"]
    assert opened.returncode == 0 and Path("L.desk").is_dir()
    shown = run("desk", "--facts", "hedgerow.toml")
    assert shown.exit_code == 2 and "HG116" in shown.stderr


def test_every_code_of_the_page_is_tried() -> None:
    codes = set(re.findall(r"HG\d{3}", PAGE.read_text(encoding="utf-8")))
    assert len(codes) >= 5 and codes <= {code for code, _ in ATTACKS.values()} | {"HG455"}


def test_the_form_stands_for_a_command() -> None:
    fields = {"statistic0": ["--quantile"], "column0": ["age"], "more0": [":0.5"], "by": ["sex"], "where": ["age > 3"]}
    fields |= {"statistic1": ["--count"], "column1": ["age"], "statistic2": ["--facts"], "column2": ["/etc/passwd"]}
    assert words_of(fields) == ["--quantile", "age:0.5", "--count", "--by", "sex", "--where", "age > 3"]


def test_a_smaller_request_is_signed_in_place_of_the_asked_one(desk: Path) -> None:
    with served() as visitor:
        name = visitor.enter("analyst").put()
        answer = visitor.enter("custodian").decide("approve", name, epsilon="0.1", strike="2", note="less")
        smaller = answer.headers["Location"].rpartition("/")[2]
        record = json.loads(Path("papers", f"{smaller}.json").read_text())
        assert smaller != name and record["request"]["amends"] == name and "--count" not in record["request"]["words"]
        assert record["request"]["price"]["epsilon"] <= 0.1


def test_a_release_that_is_refused_says_why_and_may_be_tried_again(desk: Path) -> None:
    with served() as visitor:
        name = visitor.enter("analyst").put()
        visitor.enter("custodian").decide("approve", name)
        Path("people.csv").rename("away.csv")
        refused = visitor.decide("release", name)
        assert refused.status == 400 and refused.code.startswith("HG2") and "\ufffd" not in refused.body
        assert spent() == (0.0, 0)
        Path("away.csv").rename("people.csv")
        assert visitor.decide("release", name).status == 303 and spent()[1] == 1


def test_two_people_sign_one_after_the_other(desk: Path) -> None:
    with served(ledger="two") as visitor:
        name = visitor.enter("analyst").put()
        visitor.enter("custodian").decide("approve", name)
        assert "waiting" in visitor.ask("GET", f"/custodian/request/{name}").body
        assert visitor.decide("release", name).code == "HG330" and spent("two") == (0.0, 0)
    with served(ledger="two", key="bea.key") as visitor:
        visitor.enter("custodian").decide("approve", name)
        assert visitor.decide("release", name).status == 303 and spent("two")[1] == 1


ATTACKS: dict[str, tuple[str, Callable[[Visitor, str], Answer]]] = {}


def attack(name: str, code: str) -> Callable[[Callable[[Visitor, str], Answer]], None]:
    def named(attempt: Callable[[Visitor, str], Answer]) -> None:
        assert name not in ATTACKS
        ATTACKS[name] = code, attempt

    return named


def approving(**headers: str | None) -> Callable[[Visitor, str], Answer]:
    def send(visitor: Visitor, name: str) -> Answer:
        fields = {"csrf": visitor.secret("custodian", name), "passphrase": PASSPHRASE}
        return visitor.ask("POST", f"/custodian/approve/{name}", fields, **headers)

    return send


def getting(path: str, **headers: str | None) -> Callable[[Visitor, str], Answer]:
    return lambda visitor, name: visitor.ask("GET", path.replace("ID", name), **headers)


for title, sent in {
    "a form from another origin": {"Origin": "http://evil.example"},
    "a form from another port of this machine": {"Origin": "http://127.0.0.1:1"},
    "a form from a page of no origin": {"Origin": "null"},
    "a form without an origin": {"Origin": None},
    "a form that a browser says another site sent": {"Sec_Fetch_Site": "cross-site"},
    "a form that a browser says another port sent": {"Sec_Fetch_Site": "same-site"},
    "DNS that was bound again": {"Host": "evil.example", "Origin": "http://evil.example"},
    "a host that begins as ours": {"Host": "127.0.0.1.evil.example", "Origin": "http://127.0.0.1.evil.example"},
    "our host at another port": {"Host": "127.0.0.1:1", "Origin": "http://127.0.0.1:1"},
    "a form without a cookie": {"Cookie": ""},
    "a form with a forged cookie": {"Cookie": "hedgerow-custodian=a"},
    "a form as JSON": {"Content_Type": "application/json"},
    "a form as plain text, which needs no leave of a browser": {"Content_Type": "text/plain"},
    "a body without a length": {"Content_Length": None},
    "a body in chunks": {"Transfer_Encoding": "chunked"},
}.items():
    attack(title, "HG335")(approving(**sent))  # type: ignore[arg-type]  # headers by name
for title, path, sent in (
    ("a page that another site opens", "/custodian/request/ID", {"Sec_Fetch_Site": "cross-site"}),
    ("a page that another port opens", "/custodian", {"Sec_Fetch_Site": "same-site"}),
    ("a page under another host", "/custodian", {"Host": "evil.example"}),
    ("a page without a host", "/custodian", {"Host": None}),
    ("a page without a cookie", "/custodian", {"Cookie": None}),
    ("a token in the address", "/custodian?token=TOKEN", {"Cookie": None}),
    ("a path out of the folder", "/custodian/request/..%2f..%2fL", {}),
    ("a report out of the folder", "/custodian/report/../../people.csv", {}),
    ("a file of the program", "/desk_server.py", {}),
    ("half a name", "/custodian/request/ID".replace("ID", "0" * 63), {}),
    ("a request that is not there", "/custodian/request/" + "0" * 64, {}),
    ("a page that is none", "/custodian/keys", {}),
    ("the analyst's forecast as the custodian", "/custodian/forecast", {}),
):
    attack(title, "HG335")(getting(path, **sent))  # type: ignore[arg-type]  # so


@attack("a wrong token", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    return Visitor(visitor.server).ask("POST", "/enter", {"token": "custodian." + "a" * 43})


@attack("the analyst's token in the custodian's role", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.ask("POST", "/enter", {"token": f"custodian.{visitor.server.tokens['analyst']}"})


@attack("the analyst's cookie under the custodian's name", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    analyst, custodian = (f"hedgerow-{role}-{visitor.server.address.port}" for role in visitor.server.tokens)
    return visitor.ask("GET", "/custodian", Cookie=f"{custodian}={visitor.cookies[analyst]}")


@attack("a form without its secret", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.ask("POST", f"/custodian/approve/{name}", {"passphrase": PASSPHRASE})


@attack("a form with the secret of another session", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    csrf = Visitor(visitor.server).enter("custodian").secret("custodian", name)
    return visitor.ask("POST", f"/custodian/approve/{name}", {"csrf": csrf, "passphrase": PASSPHRASE})


@attack("approval on the analyst's page", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.ask("POST", f"/analyst/approve/{name}", {"csrf": visitor.secret(), "passphrase": PASSPHRASE})


@attack("approval by a link", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.ask("GET", f"/custodian/approve/{name}?passphrase={PASSPHRASE.replace(' ', '+')}")


@attack("another method", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.ask("DELETE", f"/custodian/request/{name}")


@attack("a body that is too large", "HG454")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.ask("POST", f"/custodian/approve/{name}", {"note": "a" * 2**16})


@attack("too many fields", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.ask("POST", f"/custodian/approve/{name}", {f"a{place}": "b" for place in range(101)})


@attack("a body that is no text of a form", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.ask("POST", f"/custodian/approve/{name}", {"note": "a"}, Content_Length="4")


@attack("a wrong passphrase", "HG323")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.decide("approve", name, "wrong horse")


@attack("a release that nobody approved", "HG330")
def _(visitor: Visitor, name: str) -> Answer:
    csrf = visitor.secret("custodian", name)
    return visitor.ask("POST", f"/custodian/release/{name}", {"csrf": csrf})


@attack("approval after a denial", "HG330")
def _(visitor: Visitor, name: str) -> Answer:
    csrf = visitor.secret("custodian", name)
    assert visitor.decide("deny", name).status == 303
    return visitor.ask("POST", f"/custodian/approve/{name}", {"csrf": csrf, "passphrase": PASSPHRASE})


@attack("a larger ε of the approver", "HG330")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.decide("approve", name, epsilon="0.9")


@attack("an ε that is no number", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    return visitor.decide("approve", name, epsilon="a lot")


@attack("a file that was changed after its signature", "HG330")
def _(visitor: Visitor, name: str) -> Answer:
    csrf = visitor.secret("custodian", name)
    assert visitor.decide("approve", name).status == 303
    edited(f"papers/{name}.json", lambda record: record["signatures"][0].update(note="fine"))
    return visitor.ask("POST", f"/custodian/release/{name}", {"csrf": csrf})


@attack("a file under the name of another request", "HG335")
def _(visitor: Visitor, name: str) -> Answer:
    shutil.copy(f"papers/{name}.json", f"papers/{'0' * 64}.json")
    return visitor.ask("GET", f"/custodian/request/{'0' * 64}")


@attack("a request whose sentences are not its command's", "HG333")
def _(visitor: Visitor, name: str) -> Answer:
    edited(f"papers/{name}.json", lambda record: record.update(in_words=["nothing at all"]))
    record = json.loads(Path(f"papers/{name}.json").read_text())
    from hedgerow.approval.written_request import WrittenRequest

    other = WrittenRequest.from_dict(record).id
    Path(f"papers/{name}.json").rename(f"papers/{other}.json")
    return visitor.decide("approve", other)


@pytest.mark.parametrize("title", ATTACKS)
def test_what_is_tried_with_pages_is_refused_by_a_code_and_signs_nothing(desk: Path, title: str) -> None:
    code, attempt = ATTACKS[title]
    with served() as visitor:
        name = visitor.enter("analyst").put()
        answer = attempt(visitor.enter("custodian"), name)
        assert answer.status >= 400 and answer.code == code, (answer.status, answer.body)
        for word in (PASSPHRASE, visitor.server.tokens["custodian"], "Traceback", "evil"):
            assert word not in answer.body
    assert spent() == (0.0, 0)
    signed = [json.loads(path.read_text()).get("signatures", []) for path in Path("papers").glob("*.json")]
    decisions = {each["decision"] for signatures in signed if isinstance(signatures, list) for each in signatures}
    assert decisions == {
        "approval after a denial": {"deny"},
        "a file that was changed after its signature": {"approve"},
    }.get(title, set())


def test_five_hundred_requests_are_too_many_and_spend_nothing(desk: Path) -> None:
    with served(LIMITS) as visitor:
        visitor.enter("custodian")
        answers = [visitor.ask("GET", "/desk.css") for _ in range(500)]
        refused = [answer for answer in answers if answer.status == 429]
        assert len(refused) > 100 and all(
            answer.code == "HG455" and "Retry-After" in answer.headers for answer in refused
        )
    assert spent() == (0.0, 0) and papers() == []


def test_ten_wrong_passphrases_close_the_desk_to_signing(desk: Path) -> None:
    with served() as visitor:
        name = visitor.enter("analyst").put()
        visitor.enter("custodian")
        assert {visitor.decide("approve", name, "wrong horse").code for _ in range(10)} == {"HG323"}
        last = visitor.decide("approve", name)
        assert last.code == "HG323" and "There were more." in last.body and papers() == [f"{name}.json"]


def test_a_slow_client_is_ended(desk: Path) -> None:
    with served(Limits(requests_per_minute=100, most_bytes=1000, seconds=1.0)) as visitor:
        with socket.create_connection(("127.0.0.1", visitor.server.address.port), 20) as dialled:
            dialled.sendall(b"GET / HTTP/1.1\r\n")
            raw = dialled.recv(2**16)
        assert raw.startswith(b"HTTP/1.1 408 ") and b"HG335" in raw


def test_two_approvals_at_once_make_one_decision(desk: Path) -> None:
    with served() as visitor:
        name = visitor.enter("analyst").put()
        csrf = visitor.enter("custodian").secret("custodian", name)
        answers: list[Answer] = []

        def approve() -> None:
            fields = {"csrf": csrf, "passphrase": PASSPHRASE}
            answers.append(visitor.ask("POST", f"/custodian/approve/{name}", fields))

        threads = [Thread(target=approve) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answer.status for answer in answers) == [303, 400, 400, 400]
        assert len(json.loads(Path("papers", f"{name}.json").read_text())["signatures"]) == 1


def test_a_desk_without_a_key_decides_nothing_and_shows_what_the_terminal_signed(desk: Path) -> None:
    with served(key=None) as visitor:
        name = visitor.enter("analyst").put()
        assert "Passphrase" not in visitor.enter("custodian").ask("GET", f"/custodian/request/{name}").body
        assert decided("approve", f"papers/{name}.json", f"papers/{name}.json").exit_code == 0
        assert "Approved by ada" in visitor.ask("GET", f"/custodian/request/{name}").body
