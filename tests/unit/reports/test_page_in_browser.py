"""Pages as a browser shows them: nothing hangs out at any width, two themes, and paper keeps words and charts whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hedgerow.audit.faults import FaultResult, Rejection, mutants
from hedgerow.audit.verdict import audit_mechanism
from hedgerow.facts.relation import Relation
from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.release.result import Release
from hedgerow.reports import report_html
from hedgerow.reports.audit_page import verdict_page

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


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True), (320, False)])
def test_it_fits_the_window_in_both_themes_and_no_label_runs(page: str, browser: Any, width: int, dark: bool) -> None:
    seen = browser.measure(page, width=width, dark=dark)
    assert seen["page"] <= seen["window"] == width
    light = ("rgb(255, 255, 255)", "rgb(26, 26, 26)")
    assert (seen["ground"], seen["ink"]) == (("rgb(23, 25, 28)", "rgb(231, 231, 228)") if dark else light)
    assert seen["owned"] == "no"


def test_the_probe_sees_what_hangs_out_and_a_label_that_runs(page: str, browser: Any) -> None:
    broken = page.replace("<main>", f"<main>{LABELS[0]}<p style='width: 900px'>wide</p>")
    seen = browser.measure(broken, width=390)
    assert seen["page"] > seen["window"] == 390 and seen["owned"] == "1"


# What a page of paper must hold whole: its height at the width between the margins, and whether it may be broken.
FIGURES = """
  return [...root.querySelectorAll("figure")].map((figure) =>
    [figure.getBoundingClientRect().height, view.getComputedStyle(figure).breakInside]);
"""
A4_HEIGHT = 986  # px between margins of 18 mm


@pytest.fixture(scope="module")
def crowded(make_release: Callable[..., Release], make_estimate: Callable[..., Estimate]) -> str:
    """Many long labels, many long numbers, every column of errors: what a table of three columns and a sum gives."""
    numbers = {"privacy_error": 845_793_668.0, "sampling_error": 1_639_654_247.0, "bootstrap_error": 457_000_000.0}
    cells = [
        make_estimate(
            "income", {"region": f"region {place}", "sex": "women", "age": "under 30"}, 43_568_538.0, **numbers
        )
        for place in range(40)
    ]
    return report_html(make_release(*cells))


@pytest.fixture(scope="module")
def audited() -> str:
    verdict = audit_mechanism(GeometricCounts(1.0, cells=1), Relation.ADD_REMOVE, runs=2_000)
    mutant = next(one for one in mutants() if one.layer == "attack")
    found = Rejection(True, "ε of at least 3 " * 9, 3.0, 1.0)
    return verdict_page(verdict, [FaultResult(mutant, found)])


def test_paper_breaks_no_word_and_no_chart(crowded: str, audited: str, browser: Any) -> None:
    for page in (crowded, audited):
        assert browser.split_words(page) == []
        figures = browser.measure(page, FIGURES, width=673, paper=True)["found"]
        assert figures and all(height < A4_HEIGHT and inside == "avoid" for height, inside in figures)
        assert browser.printed(page).read_bytes()[:5] == b"%PDF-"


def test_the_probe_sees_words_and_charts_that_paper_breaks(crowded: str, browser: Any) -> None:
    broken = crowded.replace("min-width: 8rem", "").replace("min-width: 7rem", "").replace("max-height: 21cm", "")
    assert len(browser.split_words(broken)) > 5
    assert max(height for height, _ in browser.measure(broken, FIGURES, width=673, paper=True)["found"]) > A4_HEIGHT


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True), (320, False)])
def test_the_page_of_an_audit_fits_the_window_in_both_themes(
    audited: str, browser: Any, width: int, dark: bool
) -> None:
    ink = """return [...root.querySelectorAll("svg text, td, dd")].map((text) => view.getComputedStyle(text).fill);"""
    seen = browser.measure(audited, ink, width=width, dark=dark)
    assert seen["page"] <= seen["window"] == width
    assert seen["ground"] == ("rgb(23, 25, 28)" if dark else "rgb(255, 255, 255)")
    assert ("rgb(231, 231, 228)" if dark else "rgb(26, 26, 26)") in seen["found"]
