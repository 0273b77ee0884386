"""Several fits side by side hold the numbers of the fits; stars and p-values are those of their tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.printed import decimals, number
from hedgerow.reports.verify.verification import read_record, verify_record

RNG = np.random.default_rng(5)
X, Z = RNG.random(4_000) * 3.0, RNG.integers(0, 2, 4_000)
DATA = pa.table({"x": X, "z": Z, "y": np.clip(1.0 + 0.5 * X + RNG.normal(0.0, 0.5, 4_000), 0.0, 5.0)})
SURVEY = hg.open(DATA, relation="replace-one")
BOUNDS = {"x": (0, 3), "y": (0, 5), "z": (0, 1)}
FULL = SURVEY.ols("y", ["x", "z"], bounds=BOUNDS, epsilon=8.0)
SMALL = FULL.submodel("y", ["x"])


def rows_of(text: str) -> dict[str, list[str]]:
    """Return the cells of the rows that have a name."""
    lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if "|" in line]
    return {line[0]: line[1:] for line in lines if line[0]}


def test_each_fit_is_a_column_and_a_term_that_is_not_in_a_fit_is_empty() -> None:
    table = hg.models(SMALL, FULL)
    assert table.terms == ("x", "z", "Intercept") and len(table) == 2
    printed = {row[0]: row[1:] for row in table.printed().rows if row[0]}
    assert printed["z"] == ("", number(FULL.params["z"], decimals(FULL.bse["z"])))
    assert printed["x"][0] == number(SMALL.params["x"], decimals(SMALL.bse["x"]))
    assert printed["R²"] == (number(SMALL.rsquared, 3), number(FULL.rsquared, 3))
    assert "Fits of one release are paid for once." in table.notes
    errors = table.printed().rows[1]
    assert errors[1] == f"({number(SMALL.bse['x'], decimals(SMALL.bse['x']))})"


def test_two_releases_name_two_prices() -> None:
    other = SURVEY.logit("z", ["x"], bounds={"x": (0, 3)}, epsilon=0.5)
    table = hg.models(FULL, other, names=["pay", "share"])
    first, second = [note for note in table.notes if note.startswith("Guarantee of")]
    assert first.startswith("Guarantee of pay: ε ≤ ") and second.startswith("Guarantee of share: ε ≤ 0.")
    assert table.printed().heads[0][1].text == "y" and table.printed().heads[1][2].text == "share"


def test_stars_and_p_values_are_those_of_the_tests() -> None:
    table = hg.models(FULL, stars=True, p_values=True)
    first = [row[1] for row in table.printed().rows]
    assert first[0].endswith("***") == (FULL.pvalues["x"] < 0.001)
    assert first[2] == f"[{FULL.pvalues['x']:.3f}]"
    assert "***" not in str(hg.models(FULL)) and "[" not in first[0]
    summary = FULL.summary(p_values=True, stars=True)
    assert "P>|t|" in summary and f"{FULL.tvalues['x']:.3f}" in summary
    assert "P>|t|" not in FULL.summary()


def test_every_form_holds_the_same_numbers(tmp_path: Path) -> None:
    table = hg.models(SMALL, FULL, names=["small", "full"])
    latex = table.to_latex(tmp_path / "models.tex", title="Pay")
    assert (tmp_path / "models.tex").read_text(encoding="utf-8") == latex
    assert r"\caption{Pay}" in latex and r"\multicolumn{2}{c}{y}" in latex
    shown = number(FULL.params["z"], decimals(FULL.bse["z"])).replace("−", "$-$")
    assert f" &  & {shown} " in latex or f"&  & {shown} \\\\" in latex
    assert rows_of(table.to_markdown())["z"][-1].replace("\\", "") in (shown.replace("$-$", "−"), shown)
    frame = table.to_frame("pandas")
    assert list(frame["model"]) == ["small"] * 2 + ["full"] * 3
    assert float(frame.loc[(frame["model"] == "full") & (frame["term"] == "z"), "estimate"].iloc[0]) == FULL.params["z"]
    assert "<pre>" in table._repr_html_()


def test_a_release_by_cell_has_a_column_for_each_cell() -> None:
    fits = SURVEY.ols("y", ["x"], bounds=BOUNDS, by={"z": [0, 1]}, epsilon=1.0)
    assert hg.models(fits).names == ("z=0", "z=1")


@pytest.mark.parametrize(("fits", "names"), [((), None), ((3,), None), ((FULL,), ["a", "b"])])
def test_what_is_no_fit_is_refused(fits: tuple[object, ...], names: list[str] | None) -> None:
    with pytest.raises(hg.ParameterError, match="HG194"):
        hg.models(*fits, names=names)


def test_fits_and_tables_of_models_are_written_in_every_format(tmp_path: Path) -> None:
    side_by_side = hg.models(FULL.submodel("y ~ x"), FULL, names=["x alone", "both"])
    for name in ("a.csv", "a.tex", "a.md", "a.qmd", "a.png", "a.svg", "a.pdf"):
        for written in (FULL, side_by_side):
            written.write(tmp_path / name, title="Pay")
            assert (tmp_path / name).stat().st_size > 0
    FULL.write(tmp_path / "fit.json")
    assert verify_record(read_record(tmp_path / "fit.json")).holds
    with pytest.raises(hg.ParameterError, match="HG118"):
        side_by_side.write(tmp_path / "models.json")
    bars = side_by_side.error_bars()
    assert [bar.label for bar in bars][:2] == ["x, x alone", "x, both"] and bars[-1].panel == "Intercept"


def test_a_frame_has_p_values_where_they_are_asked_for() -> None:
    frame = FULL.to_frame("pandas", p_values=True)
    assert frame["pvalue"].tolist() == list(FULL.pvalues.values())
    assert "pvalue" not in FULL.to_frame("pandas").columns


def test_the_header_is_that_of_statsmodels() -> None:
    summary = FULL.summary()
    for name in ("Dep. Variable:", "No. Observations:", "Model:", "R-squared:", "Covariance Type:", "Relation:", "ε:"):
        assert name in summary
