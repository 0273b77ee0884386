"""The page of a release: whole, self-contained, well formed, and inert whatever the labels say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hg
from hedgerow.accounting.profile import attack_success_upper
from hedgerow.facts.declared import ColumnFacts, Facts
from hedgerow.facts.printed import at_most_percent, json_for_script, printable
from hedgerow.inference.estimate import Estimate
from hedgerow.release.result import Release
from hedgerow.reports import add_report, release_document, report_html, write_report
from hedgerow.reports.document import ReaderQuestions, TableBlock, inline_svg

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    '" onload="alert(1)',
    "' autofocus onfocus='alert(1)",
    "]]>",
    "<!-- </style></title></svg>",
    "</script><!--",
    "{{ 7 * 7 }}{% raw %}",
    "url(https://example.org/x)",
    "a\u202egnp.exe",
    "nul\x00 bell\x07 esc\x1b[31m line\nfeed",
    "\ud800",
    "&lt;b&gt; &amp;amp;",
    "$\\alpha$ %s",
]

ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer", "script"),
    *("h1", "h2", "h3", "p", "ul", "li", "dl", "div", "dt", "dd", "bdi", "span"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"),
    *("svg", "g", "defs", "path", "use", "text", "tspan", "clippath", "rect", "pattern"),
}


class Page(HTMLParser):
    """What a browser finds: elements with attributes, texts by element, and whether all are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.comments: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            self.texts[tag][-1] += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def check_page(text: str) -> Page:
    """Hold a page to what every report is: no resource, no code, headings, captions, scopes, names used once."""
    page = Page(text)
    assert text.startswith("<!doctype html>") and page.open == [] and page.comments == []
    assert page.all("html") == [{"lang": "en"}] and len(page.all("h1")) == 1
    assert [script.get("type") for script in page.all("script")] == ["application/json"]
    assert {tag for tag, _ in page.elements} <= ELEMENTS
    for tag, attributes in page.elements:
        names = set(attributes)
        assert not any(name.startswith("on") for name in names) and not names & {"src", "action", "formaction"}, tag
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
        assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", attributes.get("style") or ""))
    assert not re.search(r"@import|url\(", page.texts["style"][0])
    assert all(heading.get("scope") in {"col", "row", "rowgroup"} for heading in page.all("th")) and page.all("th")
    assert len(page.all("caption")) == len(page.all("table")) and all(page.texts["caption"])
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in page.all("svg"))
    assert len(page.all("svg")) == len(page.texts.get("figcaption", []))
    names = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(names) == len(set(names))
    referred = {attributes["href"] for tag, attributes in page.elements if tag == "use"}
    assert {name[1:] for name in referred if name} <= set(names)
    levels = [int(tag[1]) for tag, _ in page.elements if tag in {"h1", "h2", "h3"}]
    assert levels[0] == 1 and all(after - before <= 1 for before, after in pairwise(levels))
    return page


@pytest.fixture(scope="module")
def text(make_release: Callable[..., Release]) -> str:
    return report_html(make_release())


def test_a_page_is_whole_and_fetches_and_runs_nothing(make_release: Callable[..., Release], text: str) -> None:
    release = make_release()
    page = check_page(text)
    assert "http:" not in text and "https:" not in text
    assert json.loads(page.texts["script"][0]) == json.loads(release.to_json())
    assert len(page.all("svg")) == 2


@pytest.mark.parametrize(
    "broken",
    [
        ("<h1>", "<h1>twice</h1><h1>"),
        ('scope="row"', ""),
        ("<caption>", "<caption hidden></caption><caption>"),
        ("<main>", '<main onclick="x()">'),
        ("</main>", '<img src="a.png"></main>'),
        ("</main>", "<script>x()</script></main>"),
        ('href="#', 'href="//example.org/#'),
        ("</style>", "body { background: url(a.png) }</style>"),
    ],
)
def test_the_check_sees_what_is_wrong(text: str, broken: tuple[str, str]) -> None:
    assert broken[0] in text
    with pytest.raises(AssertionError):
        check_page(text.replace(*broken, 1))


def test_labels_are_text_wherever_they_stand(
    make_release: Callable[..., Release], make_estimate: Callable[..., Estimate]
) -> None:
    cells = [make_estimate("age", {label: label}, 40.0, note=label, covers=label) for label in HOSTILE]
    columns = [make_estimate(label, {}, 40.0, method=label) for label in HOSTILE]
    # A source is shown without its folders, so whatever looks like one is left out.
    source = re.sub(r"[/\\]", "", "".join(HOSTILE))
    release = make_release(*cells, *columns, source=source, reasons={s: s for s in HOSTILE}, notes=tuple(HOSTILE))
    text = report_html(release, ledger_head=source)
    page = check_page(text)
    # What was released stands there to the letter, but for characters that nobody can see.
    shown = page.texts["bdi"]
    for label in HOSTILE:
        assert f"{printable(label)}={printable(label)}" in shown and f"mean of {printable(label)}" in shown
    assert f"Private statistics of {printable(source)}" in page.texts["h1"]
    assert not any(sign in text for sign in ("\u202e", "\x00", "\x07", "\x1b", "\ud800"))
    assert "49" not in "".join(page.texts["li"])
    assert json.loads(page.texts["script"][0]) == release.to_dict()
    text.encode("utf-8")


def test_without_autoescape_the_same_labels_would_get_through(
    make_release: Callable[..., Release], make_estimate: Callable[..., Estimate], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hedgerow.facts.printed import page_templates
    from hedgerow.reports import document

    environment = page_templates("hedgerow.reports").overlay(autoescape=False)
    monkeypatch.setattr(document, "page_templates", lambda package: environment)
    with pytest.raises(AssertionError):
        check_page(report_html(make_release(make_estimate("age", {"x": HOSTILE[1]}, 40.0))))


def test_a_script_element_holds_any_record() -> None:
    record = {label: [label] for label in HOSTILE}
    text = str(json_for_script(record))
    assert json.loads(text) == record
    assert not re.search(r"[<>&]", text) and text.isascii()


def test_a_picture_brings_nothing_but_shapes_and_texts() -> None:
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt">'
        "<metadata>who</metadata><style>*{}</style><script>x()</script>"
        '<g id="a" style="fill: #ffffff; stroke: #123456"><use xlink:href="#a" clip-path="url(#b)"/></g></svg>'
    )
    assert str(inline_svg(drawn, alt='say "cheese"', name="p")) == (
        '<svg role="img" aria-label="say &quot;cheese&quot;">'
        '<g id="p-a" style="fill: var(--paper, #ffffff); stroke: #123456">'
        '<use href="#p-a" clip-path="url(#p-b)" /></g></svg>'
    )


def test_three_questions_are_answered_before_everything_else(make_release: Callable[..., Release]) -> None:
    release = make_release()
    document = release_document(release)
    told = "3 numbers were computed from survey.csv (20,000 records): the mean of age, overall and by sex."
    assert document.lead == told
    (answers,) = [block for block in document.opening if isinstance(block, ReaderQuestions)]
    sure, protected = (" ".join(sentences) for _, sentences in answers.entries)
    # √(.3² + .4²)/.3 = 1.667: a percentage is never rounded down.
    assert "95\N{NO-BREAK SPACE}% of such intervals" in sure and "by 67\N{NO-BREAK SPACE}% at most" in sure
    assert "1 of 3 numbers is marked as not reliable" in sure
    assert release.certificate is not None
    success = attack_success_upper(release.certificate.reprice())
    assert at_most_percent(success) in protected and "Every row of the table" in protected
    assert f"ε ≤ {release.certificate.epsilon:.6g} at δ = 1e-06, replace-one, unit row" in protected


def test_every_estimate_has_its_row(make_release: Callable[..., Release]) -> None:
    document = release_document(make_release(), level=0.9)
    (table,) = [block for block in document.sections[0].blocks if isinstance(block, TableBlock)]
    assert table.head[1:] == (
        "estimate",
        "standard error",
        "sampling",
        "privacy noise",
        "90\N{NO-BREAK SPACE}% interval",
        "reliable",
    )
    (group,) = table.groups
    assert group.title == "mean of age"
    assert group.rows[0] == ("all", "41.20", "0.50", "0.30", "0.40", "40.20 to 42.20", "yes")
    assert group.rows[2] == ("sex=1", "50.00", "–", "–", "0.40", "49.00 to 51.00", "NO")


def test_resampling_has_a_column_where_it_is_used(
    make_release: Callable[..., Release], make_estimate: Callable[..., Estimate]
) -> None:
    document = release_document(make_release(make_estimate("age", {}, 40.0, bootstrap_error=0.2)))
    (table,) = [block for block in document.sections[0].blocks if isinstance(block, TableBlock)]
    assert "resampling" in table.head and table.groups[0].rows[0][4] == "0.20"


def test_facts_stand_with_their_sources(make_release: Callable[..., Release]) -> None:
    columns = {
        "age": ColumnFacts(bounds=(18, 95), step=1, source="codebook p. 12"),
        "sex": ColumnFacts(categories=(0, 1)),
    }
    text = report_html(make_release(), facts=Facts(columns=columns), ledger_head="17:3b0c")
    page = check_page(text)
    cells = page.texts["bdi"]
    place = cells.index("bounds of age, by the facts")
    assert cells[place + 1 : place + 3] == ["18 to 95, step 1", "codebook p. 12"]
    assert cells[cells.index("categories of sex") + 2] == "NO SOURCE GIVEN"
    assert "17:3b0c" in page.texts["dd"]
    # A call may release other categories than the facts declare; their source is then not the facts.
    narrow = Facts(columns={"sex": ColumnFacts(categories=(0, 2), source="p. 1")})
    cells = check_page(report_html(make_release(), facts=narrow)).texts["bdi"]
    assert cells[cells.index("categories of sex") + 2] == "the request"


def test_folders_of_the_machine_are_not_told(make_release: Callable[..., Release]) -> None:
    text = report_html(make_release(source="/home/canary/survey.csv")).split("<script")[0]
    assert "survey.csv" in text and "canary" not in text


def test_a_simulated_release_says_so_first_and_promises_nothing(make_release: Callable[..., Release]) -> None:
    text = report_html(make_release(certified=False))
    page = check_page(text)
    assert page.texts["p"][1].startswith("SIMULATED") and "guesses right" not in text and len(page.all("svg")) == 1


def test_a_report_is_written_or_refused(make_release: Callable[..., Release], text: str, tmp_path: Path) -> None:
    release = make_release()
    write_report(release, tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == text
    with pytest.raises(hg.ParameterError, match="HG504"):
        write_report(release, tmp_path / "missing" / "a.html")


def test_a_report_is_moved_into_a_release_folder_whole(make_release: Callable[..., Release], tmp_path: Path) -> None:
    from hedgerow.release.publication.folder import FILES, prepared_folder

    with prepared_folder(tmp_path / "out") as folder:
        assert add_report(make_release(), folder) == ("report.html",)
        assert list(folder.staging.iterdir()) == []
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"] and "report.html" in FILES


def test_a_real_release_makes_a_page() -> None:
    import pyarrow

    table: Any = pyarrow.table({"age": [30.0, 50.0] * 400, "sex": [0, 1] * 400})
    survey = hg.open(table, relation="add-remove")
    release = survey.release([hg.mean("age", bounds=(0, 100)), hg.count()], by={"sex": [0, 1]}, epsilon=1.0, delta=0)
    page = check_page(report_html(release))
    assert "whether it is there at all" in "".join(page.texts["p"]) and "private" in page.texts["bdi"]
