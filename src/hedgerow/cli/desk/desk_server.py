"""The pages of the desk, rendered here and sent over the transport of `hedgerow.transport`: no framework, two scripts.

Who may see a page: whoever has its token. The command prints two addresses, each with a token behind the sign #, which
a browser sends to no server. A script hands the token over for a cookie that scripts cannot read (HttpOnly) and that
no page of another site sends (SameSite=Strict). A cookie is valid for one role and until the desk ends.

What changes something needs more: a POST from a page of this origin, with the secret of the session in its form.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qs, urlsplit

from hedgerow.approval.approval import Approval
from hedgerow.approval.written_request import WrittenRequest
from hedgerow.cli.desk.form import ROWS, Choices, Fields, forecast_of, request_of, text_of
from hedgerow.cli.desk.papers import Papers
from hedgerow.cli.verbs.requesting import expected_lines, lines_of, statistics_of
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.facts.printed import page_templates
from hedgerow.transport.address import Address
from hedgerow.transport.limits import Limits
from hedgerow.transport.local_server import HttpAnswer, LocalServer, RequestHead

Role = Literal["analyst", "custodian"]
LIMITS = Limits(requests_per_minute=300, most_bytes=2**16, seconds=10.0, connections=32)
_FORM, _HTML, _TEXT = "application/x-www-form-urlencoded", "text/html; charset=utf-8", "text/plain; charset=utf-8"
_STATIC = {"/desk.css": "text/css; charset=utf-8", "/desk.js": "text/javascript; charset=utf-8"}
_MOST_FIELDS, _MOST_SESSIONS = 100, 200
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A report runs no script, and is a document of no origin: it can ask for nothing of the desk.
_REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that has shown a token: which role it has, and the secret in its forms."""

    role: Role
    csrf: str


class DeskServer(LocalServer):
    """Serves a desk at a port of this machine.

    Parameters
    ----------
    papers : Papers
    facts : mapping
        The facts of the analyst's form.
    port : int
        0 stands for any free one.
    named : str
        The name of the file of these facts, which each page of a role shows.

    Attributes
    ----------
    tokens : dict
        The token of each role.
    """

    has_pages = True
    nothing_done = "Nothing was read or spent."
    smaller = "Send the form as it is."

    def __init__(
        self, papers: Papers, facts: Mapping[str, Any], port: int = 0, limits: Limits = LIMITS, *, named: str = ""
    ) -> None:
        self._papers, self._facts, self._named = papers, facts, named
        self.tokens: dict[Role, str] = {role: secrets.token_urlsafe(32) for role in get_args(Role)}
        self._sessions: dict[str, Session] = {}
        super().__init__(Address(port=port), limits)

    def url(self, role: Role) -> str:
        """Return the address that opens the desk for a role."""
        return f"http://127.0.0.1:{self.address.port}/#{role}.{self.tokens[role]}"

    def malformed(self, finding: str) -> ParameterError:
        """Return the error of a request that no page of the desk sends (HG335)."""
        return _unfit(finding)

    def refused(self, error: HedgerowError, status: int, retry_after: int | None = None) -> HttpAnswer:
        """Return the page that tells an error."""
        later = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return self._page("refused.html", status, later, error=error)

    def check(self, head: RequestHead) -> HttpAnswer | None:
        """Return the refusal of a request without a session, or of a form of another type."""
        if head.method == "POST" and head.media_type != _FORM:
            return self.refused(_unfit("Its Content-Type is not that of a form."), 415)
        path = urlsplit(head.path).path
        if path in _STATIC or (path, head.method) in (("/", "GET"), ("/enter", "POST")):
            return None
        if path.split("/")[1] not in self.tokens:
            return self.refused(_unfit("There is no such page."), 404)
        return None if self._session(head) else self.refused(_unfit("It shows no token, or an old one."), 403)

    def answer(self, head: RequestHead, body: bytes) -> HttpAnswer:
        """Answer a request with a page."""
        try:
            return self._answered(head, body)
        except HedgerowError as error:
            return self.refused(error, 400)
        except Exception:
            # The words of a library may quote anything.
            return self.refused(HedgerowError("HG901", rule="Every failure has a code and a page."), 500)

    def _answered(self, head: RequestHead, body: bytes) -> HttpAnswer:
        parts = urlsplit(head.path)
        if parts.path in _STATIC:
            text = (Path(__file__).parent / "templates" / parts.path[1:]).read_bytes()
            return HttpAnswer(200, text, _STATIC[parts.path])
        fields = _fields(body if head.method == "POST" else parts.query.encode())
        if parts.path == "/":
            return self._page("enter.html", 200, {})
        if parts.path == "/enter":
            return self._enter(text_of(fields, "token"))
        session = self._session(head)
        _, _, action, name = (*parts.path.split("/"), "", "")[:4]
        if session is None:
            return self.refused(_unfit("It shows no token, or an old one."), 403)
        if head.method == "POST":
            if not hmac.compare_digest(text_of(fields, "csrf").encode(), session.csrf.encode()):
                return self.refused(_unfit("Its form is not of this session."), 403)
            return self._posted(session, action, name, fields)
        return self._shown(session, action, name, fields)

    def _enter(self, text: str) -> HttpAnswer:
        """Give a session for a token; a token may be shown again, from a second tab or browser."""
        for role, token in self.tokens.items():
            if hmac.compare_digest(text.encode(), f"{role}.{token}".encode()):
                name = secrets.token_urlsafe(32)
                self._sessions = dict(
                    [*self._sessions.items(), (name, Session(role, secrets.token_urlsafe(32)))][-_MOST_SESSIONS:]
                )
                cookie = f"{self._cookie(role)}={name}; HttpOnly; SameSite=Strict; Path=/{role}"
                return HttpAnswer(200, f"/{role}".encode(), _TEXT, {"Set-Cookie": cookie})
        return self.refused(_unfit("It shows no token, or an old one."), 403)

    def _cookie(self, role: str) -> str:
        # Browsers send cookies of one port to all ports of this machine: a desk knows its own by the name.
        return f"hedgerow-{role}-{self.address.port}"

    def _session(self, head: RequestHead) -> Session | None:
        role = urlsplit(head.path).path.split("/")[1]
        try:
            cookie = SimpleCookie(head.headers.get("Cookie", "")).get(self._cookie(role))
        except CookieError:
            return None
        session = None if cookie is None else self._sessions.get(cookie.value)
        return session if session is not None and session.role == role else None

    def _shown(self, session: Session, action: str, name: str, fields: Fields) -> HttpAnswer:
        if action == "":
            return self._list(session, fields)
        if action == "request":
            return self._request(session, name, None)
        if action == "report" and (report := self._papers.report(name)) is not None:
            return HttpAnswer(200, report, _HTML, {"Content-Security-Policy": _REPORT_POLICY})
        if action == "forecast" and session.role == "analyst":
            try:
                said = _forecast(forecast_of(fields, self._facts))
            except HedgerowError as error:
                said = [str(error)]
            return HttpAnswer(200, "\n".join(said).encode(), _TEXT)
        return self.refused(_unfit("There is no such page."), 404)

    def _posted(self, session: Session, action: str, name: str, fields: Fields) -> HttpAnswer:
        if (session.role, action) == ("analyst", "ask"):
            approval = Approval(request_of(fields, self._facts))
            self._papers.put(approval)
            return _to(f"/analyst/request/{approval.request.id}")
        if session.role == "custodian" and action in ("approve", "deny"):
            return _to(f"/custodian/request/{self._decide(name, action == 'approve', fields)}")
        if (session.role, action) == ("custodian", "release"):
            refusal = self._papers.release(name)
            return self._request(session, name, refusal) if refusal else _to(f"/custodian/request/{name}")
        return self.refused(_unfit("There is no such page."), 404)

    def _decide(self, name: str, approved: bool, fields: Fields) -> str:
        """Sign a decision, and return the name of the request that was signed."""
        number = text_of(fields, "epsilon")
        try:
            epsilon, strike = float(number) if number else None, [int(place) for place in fields.get("strike", ())]
        except ValueError:
            raise _unfit("A number is written otherwise.") from None
        passphrase, note = fields.get("passphrase", [""])[0], text_of(fields, "note")
        decision: Literal["approve", "deny"] = "approve" if approved else "deny"
        return self._papers.decide(name, decision, passphrase, note=note, epsilon=epsilon, strike=strike)

    def _list(self, session: Session, fields: Fields) -> HttpAnswer:
        shown: dict[str, Any] = {"papers": self._papers.all(), "session": session, "problem": None, "forecast": []}
        if session.role == "custodian":
            shown["left"] = {paper.id: self._papers.left(paper) for paper in shown["papers"]}
            return self._page("queue.html", 200, {}, **shown, budget=self._papers.budget, spent=self._papers.spent)
        if fields:
            try:
                shown["forecast"] = _forecast(forecast_of(fields, self._facts))
            except HedgerowError as error:
                shown["problem"] = error
        choices = {"choices": Choices(self._facts), "rows": ROWS, "values": fields, "budget": self._papers.budget}
        return self._page("ask.html", 200, {}, **shown, **choices)

    def _request(self, session: Session, name: str, refusal: str | None) -> HttpAnswer:
        paper = self._papers.paper(name)
        custodian = session.role == "custodian"
        left = self._papers.left(paper) if custodian else None
        shown = {
            "paper": paper,
            "session": session,
            "lines": "\n".join(lines_of(paper.approval, left, paper.state != "unreadable")).split("\n"),
            "parts": [" ".join(part) for part in statistics_of(paper.approval.request.words)],
            "decides": custodian and paper.state == "waiting" and self._papers.key is not None,
            "releases": custodian and paper.state == "approved" and self._papers.data is not None,
            "has_report": self._papers.report(name) is not None,
            "refusal": (refusal or "").splitlines(),
        }
        return self._page("request.html", 200 if refusal is None else 400, {}, **shown)

    def _page(self, template: str, status: int, headers: Mapping[str, str], **shown: Any) -> HttpAnswer:
        text = (
            page_templates("hedgerow.cli.desk")
            .get_template(template)
            .render(**shown, facts_named=self._named, ledger_named=self._papers.ledger.name)
        )
        own = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY"}
        return HttpAnswer(status, text.encode(), _HTML, {**own, **headers})


def _forecast(asked: WrittenRequest) -> list[str]:
    return [f"Price: ε ≤ {asked.epsilon:.6g} at δ = {asked.delta:.3g}", *asked.in_words, *expected_lines(asked)]


def _fields(text: bytes) -> Fields:
    try:
        return parse_qs(text.decode("ascii"), strict_parsing=False, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise _unfit("Its fields cannot be read.") from None


def _to(path: str) -> HttpAnswer:
    """Return an answer that leads to a page: who goes back or reloads sends no form again."""
    return HttpAnswer(303, b"", _TEXT, {"Location": path})


def _unfit(finding: str) -> ParameterError:
    return ParameterError(
        "HG335",
        rule="A desk (the local page of `hedgerow desk`) answers only its own pages, opened with the token that the "
        "command printed.",
        finding=finding,
        remedy="Open the address that the command `hedgerow desk` printed. Nothing was read or spent.",
    )
