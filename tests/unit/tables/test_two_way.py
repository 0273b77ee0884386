"""Percentages cover what they say, a test of independence keeps its level and finds a dependence; sabotage is seen."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, chi2

import hedgerow as hg
from hedgerow.release.cells.shape import TableDimension, TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.tables.chi_squared import CellNoise, independence
from hedgerow.tables.two_way import percentage_cells

SHAPE = TableShape((TableDimension("sex", ("f", "m")), TableDimension("job", ("a", "b", "c"))))
P = np.array([[0.30, 0.15, 0.05], [0.10, 0.20, 0.20]])
NOISE = CellNoise("laplace", 32.0)
DATA = pa.table({"sex": ["f", "m"] * 1_000, "job": ["a", "a", "b", "b"] * 500, "pay": [1.0, 2.0] * 1_000})
SURVEY = hg.open(DATA, relation="replace-one")
TABLE = SURVEY.contingency_table(by={"sex": ["f", "m"], "job": ["a", "b"]}, epsilon=1.0)


def covered(of: tuple[str, ...], stated: float, runs: int = 300) -> int:
    """Return how many intervals of the percentages of `runs` noisy tables hold the truth."""
    rng, hits = np.random.default_rng(11), 0
    axes = tuple(at for at, column in enumerate(SHAPE.columns) if column not in of)
    truth = (100.0 * P / P.sum(axis=axes, keepdims=True)).reshape(-1)
    for _ in range(runs):
        counts = rng.multinomial(500, P.reshape(-1)) + NOISE.draw((6,), rng)
        cells = TableCells.counts(SHAPE, counts, privacy_variance=stated, noise_law="laplace", n=500)
        read = percentage_cells(cells, of, None).columns(0.95)
        hits += int(((read.low <= truth) & (truth <= read.high)).sum())
    return hits


@pytest.mark.parametrize("of", [("sex",), ("job",), ()])
def test_intervals_of_percentages_hold_the_truth(of: tuple[str, ...]) -> None:
    assert binomtest(covered(of, NOISE.variance), 1_800, 0.94, alternative="less").pvalue > 1e-6


def test_intervals_that_forget_the_noise_do_not() -> None:
    # The sabotage: the noise is taken to be a hundredth of what it is.
    assert binomtest(covered(("sex",), NOISE.variance / 100.0), 1_800, 0.94, alternative="less").pvalue < 1e-12


def test_percentages_of_a_category_add_up_and_print() -> None:
    rows = TABLE.percentages(of="sex")
    assert sum(rows.at(sex="f", job=job).estimate for job in "ab") == pytest.approx(100.0, abs=1e-9)
    assert rows[0].standard_error > 0.0 and rows[0].privacy_error < rows[0].standard_error  # type: ignore[operator]  # given
    assert "Each category of sex has 100 %." in str(rows)
    assert list(rows.to_frame("pandas", across="job").columns) == ["statistic", "sex", "a", "b"]
    for text in (rows.to_latex(title="Jobs"), rows.to_markdown(title="Jobs")):
        assert "Jobs" in text and "(" in text


def test_tables_with_margins_have_the_percentages_of_their_cells_as_drawn() -> None:
    with_margins = TABLE.with_margins()
    assert [e.estimate for e in with_margins.percentages("job")] == [e.estimate for e in TABLE.percentages("job")]


def skewed(moved: float = 0.0) -> np.ndarray:
    """Return the probabilities of three rows and four columns, independent but for what is moved between four cells."""
    rows, columns = 0.5 ** np.arange(3), 0.5 ** np.arange(4)
    cells = np.outer(rows / rows.sum(), columns / columns.sum())
    cells[:2, :2] += moved * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return cells


def rejections(cells: np.ndarray, n: int, runs: int, *, told: CellNoise = NOISE) -> int:
    rng, found = np.random.default_rng(3), 0
    for _ in range(runs):
        noisy = rng.multinomial(n, cells.reshape(-1)).reshape(cells.shape) + NOISE.draw(cells.shape, rng)
        found += independence(noisy, told, n=float(n), n_resamples=199, rng=rng).pvalue <= 0.05
    return found


def test_the_level_is_kept_and_a_dependence_is_found() -> None:
    null, other = skewed(), skewed(0.06)
    assert binomtest(rejections(null, 1_000, 300), 300, 0.06, alternative="greater").pvalue > 1e-6
    assert rejections(other, 1_000, 100) > 90


def test_a_law_that_forgets_the_noise_rejects_what_is_true() -> None:
    null = skewed()
    found = rejections(null, 1_000, 150, told=CellNoise("laplace", 0.01))
    assert binomtest(found, 150, 0.06, alternative="greater").pvalue < 1e-12


def test_without_noise_it_is_the_test_of_every_textbook() -> None:
    counts = np.array([[60.0, 40.0, 30.0], [45.0, 50.0, 35.0]])
    test = independence(counts, CellNoise("gaussian", 0.0), n=260.0, n_resamples=20_000)
    assert test.df == 2
    assert test.pvalue == pytest.approx(chi2.sf(test.statistic, 2), abs=0.015)


@pytest.mark.parametrize("law", ["gaussian", "laplace", "averaged-laplace-10"])
def test_noise_is_drawn_with_its_variance(law: str) -> None:
    drawn = CellNoise(law, 8.0, added=3).draw((200_000,), np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(0.0, abs=0.06)
    assert drawn.var() == pytest.approx(24.0, rel=0.03)


def test_the_same_table_gives_the_same_p_value() -> None:
    test = TABLE.independence("sex", "job")
    assert test.pvalue == TABLE.independence().pvalue
    assert test.to_dict()["columns"] == ["sex", "job"] and "p = " in str(test)


def test_what_has_no_law_is_refused() -> None:
    pay = SURVEY.magnitude_table("pay", bounds=(0, 5), by={"sex": ["f", "m"], "job": ["a", "b"]}, epsilon=1.0)
    census = hg.open(DATA, relation="replace-one", target="census")
    whole = census.contingency_table(by={"sex": ["f", "m"], "job": ["a", "b"]}, epsilon=1.0)
    for asked in (pay.percentages, pay.independence, whole.independence):
        with pytest.raises(hg.ParameterError, match="HG130"):
            asked()
    with pytest.raises(hg.ParameterError, match="HG160"):
        TABLE.percentages("nosuch")
    for columns in (["sex"], ["sex", "nosuch"], ["sex", "sex"]):
        with pytest.raises(hg.ParameterError, match="HG160"):
            TABLE.independence(*columns)
    assert whole.percentages("sex")[0].sampling_error == 0.0
