"""Mount and Zumel's note: the claimed price and variance, and an adaptive attacker, with their sabotages."""

from __future__ import annotations

import math
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from reproduction.page import write_page
from reproduction.win_vector import adaptive, price, run, variance
from scipy import stats


@pytest.mark.parametrize(("n", "draws"), [(2, 1), (3, 2), (4, 4)])
def test_the_price_is_that_of_enumeration(n: int, draws: int) -> None:
    """All n^m resamples of n zeros and of n − 1 zeros and a one; the release is the number of ones."""
    laws = []
    for ones in (1, 0):
        data = [1] * ones + [0] * (n - ones)
        law = np.zeros(draws + 1)
        for drawn in product(data, repeat=draws):
            law[sum(drawn)] += 1 / n**draws
        laws.append(law)
    for epsilon in (0.0, 1.0, 20.0):
        exact = float(np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0.0).sum())
        if epsilon == 20.0:
            assert exact == pytest.approx(price.chance(n / draws, n), rel=1e-12)
        assert exact <= price.chance(n / draws, n) * (1 + 1e-12)


def test_the_stated_prices() -> None:
    for (z, n), expected in price.EXPECTED.items():
        assert round(price.chance(z, n), 4) == expected
    assert round(price.chance(10, 1000, 20), 3) == 0.865


def test_the_claim_is_refuted_by_attack() -> None:
    lines = {line.what: line for line in price.exhibit(share=0.1).lines}
    assert lines["ε = 1/Z = .1 at δ = 0"].verdict == "refuted"
    assert all(line.verdict in ("as expected", "refuted") for line in lines.values())


@pytest.mark.parametrize("right", [1, 500, 900])
def test_the_variance_is_that_of_a_binomial(right: int) -> None:
    """2,000 resamples: within 5 standard errors of p(1 − p)Z/n; the claimed Z/n² is rejected (p < 1e-12) but at 1/n."""
    found, error = variance.simulated(right, 2000)
    assert abs(found - variance.true_variance(right)) <= 5 * error
    if right > 1:
        assert stats.chi2.sf(2000 * found / variance.CLAIMED, 2000) < 1e-12


def test_an_attacker_overfits_a_plain_test_set_and_not_a_private_one() -> None:
    """Five seeds. The plain set overstates by more than 5 points, the default at ε = .2 by less than its limit + .5."""
    found = adaptive.experiment(5)
    assert found["plain"].mean() > adaptive.PLAIN_LEAST
    assert found["plain"].mean() == pytest.approx(adaptive.expected(0.0), abs=0.005)
    private = found["auto, ε = 0.2"]
    assert private.mean() < 0.0083 + 0.005
    # 400 votes on 10,000 records, 5 seeds: no skill at all is rejected for the plain set (p < 1e-12).
    assert stats.norm.sf(found["plain"].mean() / (0.5 / math.sqrt(5 * adaptive.N))) < 1e-12


def test_the_attack_finds_nothing_where_scores_say_nothing() -> None:
    """Sabotage of the attack: scores of coin flips overstate nothing (p > 1e-6, 4·10⁶ votes)."""
    rng = np.random.default_rng(3)
    agrees = rng.integers(0, 2, (adaptive.LOOKS, adaptive.N), dtype=np.uint8)
    blind = adaptive.overstated(agrees, lambda right: float(rng.random()))
    assert 2 * stats.norm.sf(abs(blind) / (0.5 / math.sqrt(adaptive.N))) > 1e-6


def test_the_page_is_self_contained(tmp_path: Path) -> None:
    exhibits = [price.exhibit(share=0.05), variance.exhibit(share=0.05)]
    text = write_page(exhibits, tmp_path, template=run.WIN_VECTOR.folder).read_text(encoding="utf-8")
    outside = set(re.findall(r"""(?:src|href)=["'](?!#)[^"']+""", text)) | set(re.findall(r"url\((?!#)[^)]*", text))
    assert not outside and "<script" not in text
    assert {path.name for path in tmp_path.iterdir()} == {"index.html", "price.png", "variance.png"}
