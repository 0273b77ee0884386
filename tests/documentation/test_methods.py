"""Method pages: the prices that they print are the library's own, and what the code says of them is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reproduction.brawner_honaker.theory import attained_epsilon, bootstrap_epsilon

ROOT = Path(__file__).parents[2]
METHODS = ROOT / "docs" / "methods"
ROW = re.compile(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
POINTER = re.compile(r"\b(\w+\.md)(?: §(\d+))?(?! of)")
FOLDERS = ("src", "tests", "docs", "benchmarks", "reproduction")


def prices() -> list[list[str]]:
    return [list(row) for row in ROW.findall((METHODS / "private_bootstrap.md").read_text(encoding="utf-8"))]


@pytest.mark.parametrize("row", prices(), ids=lambda row: f"k={row[0]}")
def test_the_prices_of_the_private_bootstrap(row: list[str]) -> None:
    k, *printed = row
    found = [bootstrap_epsilon(0.5, n_resamples=int(k), delta=delta) for delta in (1e-3, 1e-6, 1e-9)]
    found += [attained_epsilon(0.5, n_resamples=int(k), delta=delta) for delta in (1e-6, 1e-9)]
    for text, value in zip(printed, found, strict=True):
        unit = 10.0 ** -len(text.partition(".")[2])
        # Half a unit of the last digit, and 1e-4 for the rounding of upper bounds.
        assert float(text) == pytest.approx(value, abs=0.5 * unit + 1e-4 * value)


def test_every_row_of_prices_is_read() -> None:
    assert [int(row[0]) for row in prices()] == [1, 5, 10, 20, 50, 100]


def test_what_the_code_says_of_method_pages_is_there() -> None:
    known = {page.name: page.read_text(encoding="utf-8") for page in ROOT.glob("**/*.md") if ".venv" not in page.parts}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for name, section in POINTER.findall(path.read_text(encoding="utf-8")):
                if section:
                    assert re.search(rf"^## {section}\. ", known[name], re.MULTILINE), f"{path}: {name} §{section}"


def test_formulas_are_written_in_unicode_since_the_site_shows_tex_as_it_is() -> None:
    # The site has no program that draws TeX: the pages must work without another machine.
    tex = re.compile(r"\\(?:prod|sum|frac|sigma|mathbf|le|in)\b|(?<![`\w])\$[A-Za-z\\][^$`\n]*\$(?!\w)")
    for page in (ROOT / "docs").rglob("*.md"):
        if "_build" not in page.parts:
            text = re.sub(
                r"^(`{3,}).*?^\1|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
            )
            assert not tex.search(text), f"{page}: {tex.search(text)}"
    assert tex.search("with $R$ times") and tex.search(r"$$\sum_A p_A$$")
