"""LaTeX, Markdown and Quarto hold the numbers of the data files, escape every text, and stand in the folder."""

from __future__ import annotations

import re
from pathlib import Path

import pandas
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.printed import number
from hedgerow.release.publication.folder import FILES, TABLE_FILES, prepared_folder
from hedgerow.release.publication.formats.markdown import markdown_text
from hedgerow.release.publication.formats.tex import escaped, latex_text
from hedgerow.release.publication.printed_table import Heading, PrintedTable

HOSTILE = r"\input{/etc/passwd} & % $x$ #1 _a_ ~ ^ [b] *c* | <script> " + "\u202e\x1b"
SURVEY = hg.open(
    pa.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500, "region": ["[N]", "a_b", HOSTILE[:20], "d"] * 250}),
    relation="replace-one",
)
REGIONS = ["[N]", "a_b", HOSTILE[:20], "d"]


def released() -> hg.Release:
    return SURVEY.release(
        [hg.mean("age", bounds=(0, 100)), hg.count()],
        by={"sex": {0: "men & boys", 1: "women"}},
        epsilon=1.0,
        ask=["mean(age | sex=0) - mean(age | sex=1)"],
    )


def body(tex: str) -> list[list[str]]:
    """Return the cells of the rows between the middle and the bottom rule."""
    inner = tex.split(r"\midrule", 1)[1].split(r"\bottomrule")[0].replace(r"\midrule", "")
    lines = [line.strip().removesuffix(r"\\") for line in inner.splitlines() if line.strip()]
    return [[cell.strip() for cell in re.split(r"(?<!\\)&", line)] for line in lines]


def test_a_release_has_a_row_for_each_number_and_the_price_below() -> None:
    release = released()
    rows = body(release.to_latex(title="Ages"))
    assert [row[1] for row in rows[:4]] == [r"men \& boys", "women"] * 2
    assert len(rows) == len(release) + 1
    assert "mean(age {$|$} sex=0)".replace("{", "").replace("}", "") in rows[-1][0]
    error = release[0].standard_error
    assert rows[0][3] == f"({error:.2g})" or float(rows[0][3].strip("()")) == pytest.approx(error, rel=0.1)
    assert float(rows[0][2]) == pytest.approx(release[0].estimate, abs=error / 10)
    text = release.to_latex(title="Ages")
    assert r"\caption{Ages}" in text
    assert r"$\varepsilon$ $\le$" in text
    assert "in brackets" in text


def test_every_row_has_as_many_cells_as_the_table_has_columns_and_braces_close() -> None:
    table = SURVEY.contingency_table(by={"sex": [0, 1], "region": REGIONS}, margins=True, epsilon=1.0)
    for text in (released().to_latex(), table.to_latex()):
        width = len(re.search(r"begin\{tabular\}\{([lr]+)\}", text)[1])  # type: ignore[index]  # it is there
        assert {len(row) for row in body(text)} == {width}
        bare = re.sub(r"\\[{}]", "", text)
        assert bare.count("{") == bare.count("}")


def test_a_table_has_its_margins_and_its_errors_in_brackets() -> None:
    table = SURVEY.contingency_table(by={"sex": [0, 1], "region": REGIONS}, margins=True, epsilon=1.0)
    rows = body(table.to_latex())
    assert [row[0] for row in rows] == ["0", "1", "Total"]
    printed = number(table.at(sex=1, region="d").estimate, 0).replace("−", "$-$")
    assert re.fullmatch(rf"{re.escape(printed)} \([0-9.,]+\)( [A-F])?", rows[1][4])
    assert r"\multicolumn{5}{c}{region}" in table.to_latex()


def test_no_text_runs_as_a_command() -> None:
    tex = latex_text(PrintedTable(HOSTILE, 1, ((Heading(HOSTILE),),), ((HOSTILE,),), notes=(HOSTILE,)))
    assert r"\input" not in tex and "\x1b" not in tex and "\u202e" not in tex
    assert tex.count(r"\textbackslash{}input\{") == 4
    # A row that began with a bracket or a star would be read as an argument of the line end before it.
    assert escaped("[0, 25)*").startswith("{[}") and escaped("*").startswith("{")
    markdown = markdown_text(PrintedTable(HOSTILE, 1, ((Heading(HOSTILE),),), ((HOSTILE,),), notes=(HOSTILE,)))
    assert r"\<script\>" in markdown and r"\|" in markdown and not re.search(r"(?<!\\)<script", markdown)


def test_the_folder_has_latex_and_no_markdown(tmp_path: Path) -> None:
    assert "release.tex" in FILES and "table.tex" in TABLE_FILES
    assert not [name for name in (*FILES, *TABLE_FILES) if name.endswith((".md", ".qmd"))]
    release = released()
    with prepared_folder(tmp_path / "out") as folder:
        assert "release.tex" in folder.write(release)
    assert (tmp_path / "out" / "release.tex").read_text(encoding="utf-8") == release.to_latex()


def test_quarto_has_a_title_and_a_table_to_refer_to(tmp_path: Path) -> None:
    release = released()
    release.write(tmp_path / "ages.qmd", title='The "ages"')
    release.write(tmp_path / "ages.md", title="Ages")
    quarto = (tmp_path / "ages.qmd").read_text(encoding="utf-8")
    assert quarto.startswith('---\ntitle: "The \\"ages\\""\n---\n') and "{#tbl-release}" in quarto
    markdown = (tmp_path / "ages.md").read_text(encoding="utf-8")
    assert markdown == release.to_markdown(title="Ages")
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(release) + 1


def test_a_long_table_breaks_over_pages() -> None:
    survey = hg.open(pa.table({"code": list(range(50)) * 20}), relation="replace-one")
    text = survey.count(by={"code": list(range(50))}, epsilon=1.0).to_latex()
    assert r"\begin{longtable}" in text and r"\endhead" in text and r"\begin{table}" not in text


class TestFramesWithGroupsSideBySide:
    def test_the_same_numbers_stand_in_other_places(self) -> None:
        table = SURVEY.contingency_table(by={"sex": [0, 1], "region": REGIONS}, epsilon=1.0)
        wide = table.to_frame("pandas", across="region", values=["estimate", "standard_error"])
        assert list(wide["sex"]) == [0, 1]
        for estimate in table:
            row = wide[wide["sex"] == estimate.cell["sex"]].iloc[0]
            assert row[f"{estimate.cell['region']} estimate"] == estimate.estimate
            assert row[f"{estimate.cell['region']} standard_error"] == estimate.standard_error

    def test_labels_head_the_columns(self) -> None:
        wide = released().to_frame("pandas", across="sex")
        assert isinstance(wide, pandas.DataFrame)
        assert list(wide.columns) == ["statistic", "column", "men & boys", "women"]
        assert list(wide["statistic"]) == ["mean", "count"]

    @pytest.mark.parametrize("asked", [{"across": "level"}, {"across": "nosuch"}, {"across": "sex", "values": "x"}])
    def test_a_column_that_is_not_there_is_refused(self, asked: dict[str, str]) -> None:
        with pytest.raises(hg.ParameterError, match="HG160"):
            released().to_frame("pandas", **asked)
