"""The exhibits of ``reproduction/brawner_honaker`` in small: the paper's figures, ours, and the page.

What needs ages or published results reads them from $HEDGEROW_DATA and is skipped, visibly, without it. About 12 s.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from reproduction.brawner_honaker import (
    alpha_prime,
    attack,
    coverage,
    figure_1,
    figure_4,
    figure_5,
    figure_8,
    figure_9a,
    hypotheses,
    naive,
    price,
    regression,
    reidentification,
    run,
    section_8,
)
from reproduction.brawner_honaker.partition import chances, partition
from reproduction.brawner_honaker.published import population, releases
from reproduction.drawing import INK, Drawing
from reproduction.exhibit import Exhibit, Line
from reproduction.page import write_page
from reproduction.pums import pums
from reproduction.run import run as started
from reproduction.source import FILES, data_file, is_the_copy_used
from scipy import stats

needs_data = pytest.mark.data(*run.BRAWNER_HONAKER.needed)


def test_figure_4_is_the_binomial_law() -> None:
    law = figure_4.exact()
    for draws, expected in figure_4.EXPECTED.items():
        assert law[draws] == pytest.approx(expected, abs=figure_4.TOLERANCE[draws])
    resamples = 50_000
    zeros = round(figure_4.simulated(resamples)[0] * resamples)
    assert stats.binomtest(zeros, resamples, law[0]).pvalue > 1e-6
    # sabotage: the third of the paper's words taken at its word
    assert stats.binomtest(zeros, resamples, 1 / 3).pvalue < 1e-12


@needs_data
def test_figure_8_the_average_varies_more_than_one_release() -> None:
    runs = 4000
    plain, average = figure_8.answers("one sample", runs)

    def p_value(ratio: float) -> float:
        f = float(average.var(ddof=1) / plain.var(ddof=1)) / ratio**2
        return 2 * float(min(stats.f.sf(f, runs - 1, runs - 1), stats.f.cdf(f, runs - 1, runs - 1)))

    assert p_value(figure_8.expected_ratio("one sample")) > 1e-6
    assert p_value(1.0) < 1e-12  # sabotage: Result 1, equal variances


@needs_data
def test_figure_9a_has_its_mode_at_zero_and_section_8_its_coverage() -> None:
    runs = 2000
    zeros = round(runs * figure_9a.summaries(runs)["unbiased"][1])
    assert stats.binomtest(zeros, runs, 0.092).pvalue > 1e-6
    # sabotage: the noise of the average taken off instead of that of a replicate leaves no zeros
    spreads = releases(runs).replicates.var(axis=1, ddof=1)
    assert int((spreads < releases(runs).mechanism.noise_variance / 50).sum()) == 0
    assert stats.binomtest(0, runs, 0.092).pvalue < 1e-12
    for name, several in section_8.coverages(runs).items():
        covered = round(runs * several.mean())
        expected = min(section_8.EXPECTED[name], 0.9998)
        assert stats.binomtest(covered, runs, expected).pvalue > 1e-6, name
    assert stats.binomtest(round(runs * section_8.coverages(runs)["unbiased"].mean()), runs, 0.95).pvalue < 1e-12


def test_the_attack_refutes_remark_3() -> None:
    runs = 1_000_000
    found = attack.attack(runs)
    drawn = stats.binom.pmf(np.arange(30), attack.N, 1 / attack.N)
    for (rho, delta), one in found.items():
        sd = (1 / (2 * rho)) ** 0.5
        law = float(drawn @ stats.norm.sf((one.threshold - np.arange(30)) / sd))
        assert stats.binomtest(one.p_hits, runs, law).pvalue > 1e-6
        # sabotage: a plain query, in which the record counts once
        assert stats.binomtest(one.p_hits, runs, float(stats.norm.sf((one.threshold - 1) / sd))).pvalue < 1e-12
        assert one.epsilon_lower > attack.claimed_epsilon(rho, delta=delta)


def test_the_attack_proves_nothing_of_the_plain_query() -> None:
    """Sabotage of the attack itself: hits of a Gaussian mechanism must not refute the Gaussian's price."""
    runs, delta = 10**7, 1e-3
    for t in np.arange(0.5, 5.5, 0.25):
        p, q = (round(runs * float(stats.norm.sf(t - shift))) for shift in (1, 0))
        assert attack.epsilon_lower(p, q, runs, delta) <= attack.claimed_epsilon(0.5, delta=delta)


def test_prices_are_as_expected() -> None:
    lines = price.exhibit().lines
    assert not [line for line in lines if line.verdict in ("differs", "not as expected")]
    found = price.prices()
    for k in price.LADDER:
        assert found["general"][k] > found["attained"][k] > found["replace-one"][k] - 1e-3


@needs_data
def test_published_anchors_are_read_off_the_results() -> None:
    found = coverage.published_best()
    assert set(found) == set(coverage.ANCHORS)
    for key, (method, quality) in found.items():
        assert quality.width == pytest.approx(coverage.ANCHORS[key], abs=coverage.ANCHOR_TOLERANCE), method
        assert quality.coverage >= coverage.LEAST


def test_intervals_of_one_setting() -> None:
    law = coverage.laws()[0]
    runs = 400
    found = coverage.judge(coverage.Setting(law, 1000, 0.5), runs=runs, seed=1)
    for name in ("moments", "calibrated", "conservative"):
        assert stats.binom.cdf(round(found[name].coverage * runs), runs, 0.89) > 1e-6, name
    assert found["moments"].width == pytest.approx(1.0, abs=0.05)
    assert found["moments"].width < found["calibrated"].width < found["most conservative"].width


@needs_data
def test_the_page_is_whole_and_self_contained(tmp_path: Path) -> None:
    exhibits = [make.exhibit(share=0.02) for make in (figure_4, section_8)]
    marked = Exhibit("x", "<b>", (Line("a & b", "<i>", "1 %", "differs"),), "why", Drawing.of("x").finished(), "drawn")
    template = run.BRAWNER_HONAKER.folder
    text = write_page([*exhibits, marked], tmp_path, template=template).read_text(encoding="utf-8")
    outside = set(re.findall(r"""(?:src|href)=["'](?!#)[^"']+""", text)) | set(re.findall(r"url\((?!#)[^)]*", text))
    assert not outside and "<script" not in text and "@import" not in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert "&lt;b&gt;" in text and "a &amp; b" in text and "<b>" not in text.split("<main>")[1]
    svg = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert INK not in svg and "var(--ink)" in svg
    assert text == write_page([*exhibits, marked], tmp_path, template=template).read_text(encoding="utf-8")


def test_without_data_what_needs_none_runs_and_the_rest_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path / "empty"))
    pums.cache_clear()
    population.cache_clear()
    releases.cache_clear()
    both = dataclasses.replace(run.BRAWNER_HONAKER, exhibits=(figure_4.exhibit, figure_8.exhibit))
    with pytest.raises(SystemExit) as stopped:
        started(both, ["--share", "0.2", "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert stopped.value.code == 0
    assert 'id="figure-4"' in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "Left out: figure_8 (needs PUMS5extract10000.csv)" in said
    for name in run.BRAWNER_HONAKER.needed:
        file = FILES[name]
        assert name in said and file.sha256 in said and file.publisher in said and "HEDGEROW_DATA" in said


def test_another_copy_is_used_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "PUMS5extract10000.csv").write_text("age\n40\n", encoding="utf-8")
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    nothing = dataclasses.replace(run.BRAWNER_HONAKER, exhibits=())
    started(nothing, [])
    assert "not the copy that these figures were made with" in capsys.readouterr().out


@pytest.mark.parametrize("name", FILES)
def test_every_file_says_where_it_is_had(name: str) -> None:
    file = FILES[name]
    assert file.typed or file.derived
    assert len(file.sha256) == 64 and file.publisher in file.how_to_get()


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.data(name)) for name in FILES])
def test_a_file_that_is_here_is_the_copy_used(name: str) -> None:
    assert is_the_copy_used(data_file(name))


def test_the_partition_is_a_resample_in_another_order() -> None:
    exhibit = figure_5.exhibit(share=0.05)
    assert {line.verdict for line in exhibit.lines} <= {"reproduced", "as expected"}
    # Every record lies in one part, and a part's records are drawn as often as it says.
    parts = partition(50, np.random.default_rng(1))
    assert sorted(np.concatenate(parts).tolist()) == list(range(50))
    assert sum(times * len(part) for times, part in enumerate(parts)) == 50
    # sabotage: with noise of i²·p_i in place of i·p_i the sum has about twice the variance
    shares = chances(200)
    times = np.arange(len(shares))
    assert (times * shares).sum() == pytest.approx(1.0) and (times**2 * shares).sum() > 1.9


def test_the_naive_bound_holds_and_the_secrecy_of_the_sample_does_not() -> None:
    verdicts = {line.what.partition(",")[0].partition(":")[0]: line.verdict for line in naive.exhibit().lines}
    assert verdicts["§6.1"] == "reproduced" and verdicts["eq. 18"] == "refuted"
    # At the noise of §6.1 itself the divergence stays below: what is refuted is the factor of eq. 18.
    widened = naive.RHO * 2.0 * (1.0 - np.exp(-1.0)) ** 2
    assert naive.divergence(100.0, most=5, rho=widened) < 100.0 * naive.RHO


def test_small_exhibits_need_no_data() -> None:
    for made in (figure_1.exhibit(share=0.05), reidentification.exhibit(share=0.1)):
        assert {line.verdict for line in made.lines} <= {"reproduced", "as expected"}


@needs_data
def test_alpha_prime_runs_the_other_way_and_p_values_hold_their_level() -> None:
    first, *others = alpha_prime.exhibit(share=0.1).lines
    assert first.verdict == "refuted" and {line.verdict for line in others} <= {"as expected", "reproduced"}
    ours = [line for line in hypotheses.exhibit(share=0.1).lines if line.what.startswith("ours")]
    assert len(ours) == 4 and {line.verdict for line in ours} == {"as expected"}


@needs_data
def test_a_slope_by_moments_is_narrower_than_by_replicates() -> None:
    assert {line.verdict for line in regression.exhibit(share=0.01).lines} == {"as expected"}


def test_every_exhibit_stands_in_the_table_of_statements() -> None:
    text = (run.BRAWNER_HONAKER.folder / "page.html.j2").read_text(encoding="utf-8")
    named = set(re.findall(r'"([a-z]+-?[a-z0-9]*)"', text.partition("set statements")[2].partition("] %}")[0]))
    assert {"section-2", "figure-1", "figure-5", "naive", "alpha-prime", "hypotheses", "regression"} <= named
