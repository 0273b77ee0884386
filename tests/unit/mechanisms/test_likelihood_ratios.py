"""The scores by which audits attack are log-likelihood ratios: of every specimen, on every pair of neighbours.

Where s = log p/q, the mean of e^s is 1 under q, and that of e^−s is 1 under p. Outputs that are drawn with less noise
than the score counts with, or a score with a wrong movement, break this.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.audit.attack import likelihood_ratio
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import AtomicMechanism, AuditRecord, Neighbours, Specimen
from hedgerow.mechanisms.mechanism import specimens
from hedgerow.mechanisms.noisy_counts import HIDDEN, AveragedLaplaceNoise, StableCategories
from hedgerow.testing.simulated import SimulatedNoise

DRAWS = 20_000
# Their scores only rise with the likelihood ratio.
MONOTONE = ("resample", "smoothed-resample")
# An output that one of the neighbours cannot produce has an infinite ratio: tested apart, below.
ENDLESS = ("a value of its own", "two values of its own")


class Narrow(SimulatedNoise):
    """Noise of four fifths of the width that is asked for."""

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        return super().discrete_gaussian(0.8 * width, size)

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        return super().two_sided_geometric(0.8 * scale, size)


def deviations(mechanism: AtomicMechanism, pair: Neighbours, noise: SimulatedNoise) -> list[float]:
    """How many standard errors the means of e^s and of e^−s lie from 1."""
    score, found = likelihood_ratio(mechanism, pair), []
    for sign, data in zip((-1.0, 1.0), pair.histograms(), strict=True):
        ratio = np.exp(np.minimum(sign * score(mechanism.outputs(data, DRAWS, noise)), 50.0))
        found.append(float((ratio.mean() - 1.0) / (ratio.std() / math.sqrt(DRAWS) + 1e-9)))
    return found


LOGARITHMS = [one for one in specimens() if one.mechanism.type not in MONOTONE]


@pytest.mark.parametrize("specimen", LOGARITHMS, ids=lambda one: f"{one.name}, {one.relation}")
def test_the_likelihood_ratio_of_every_pair_has_mean_one(specimen: Specimen) -> None:
    for pair in specimen.mechanism.worst_pairs(specimen.relation):
        if pair.name not in ENDLESS:
            assert np.abs(deviations(specimen.mechanism, pair, SimulatedNoise(3))).max() < 5.0, pair.name


@pytest.mark.parametrize(
    "name", ["mean, n public", "counts by group, Gaussian", "counts by group, geometric", "sparse vector", "sum"]
)
def test_noise_a_fifth_narrower_is_seen(name: str) -> None:
    """Sabotage: narrow noise moves the mean of e^s by more than the standard error."""
    (specimen,) = (one for one in specimens() if one.name == name)
    pairs = specimen.mechanism.worst_pairs(specimen.relation)
    worst = [deviations(specimen.mechanism, pair, Narrow(3)) for pair in pairs]
    assert np.abs(worst).max() > 7.0


def test_the_score_of_a_sum_of_two_laplace_numbers_is_the_ratio_of_its_densities() -> None:
    mechanism = AveragedLaplaceNoise(scale=1.5, draws=2, sensitivity=1.0)
    (pair,) = mechanism.worst_pairs(Relation.REPLACE_ONE)
    x = np.linspace(-9.0, 9.0, 61)
    # (1 + |x|/b)·e^(−|x|/b)/4b
    one, none = (np.log1p(np.abs(x - moved) / 1.5) - np.abs(x - moved) / 1.5 for moved in (1.0, 0.0))
    assert likelihood_ratio(mechanism, pair)(x.reshape(-1, 1, 1)).ravel() == pytest.approx(one - none, abs=1e-4)


@pytest.mark.parametrize(("scale", "threshold"), [(1.0, 6), (2.5, 4), (0.7, 2)])
@pytest.mark.parametrize("others", [1, 2, 5, 9])
def test_a_shared_value_is_shown_or_hidden_as_often_as_its_law_says(scale: float, threshold: int, others: int) -> None:
    mechanism = StableCategories(scale, threshold)
    z, alpha = np.arange(-400.0, 401.0), math.exp(-1.0 / scale)
    chances = (1.0 - alpha) / (1.0 + alpha) * alpha ** np.abs(z)
    score = mechanism.change(AuditRecord(0, others))
    hidden = [math.log(chances[count + z < threshold].sum()) for count in (others, others + 1)]
    assert score(np.array([[HIDDEN]]))[0] == pytest.approx(hidden[1] - hidden[0], abs=1e-12)
    for seen in range(threshold, threshold + 12):
        exact = (abs(seen - others) - abs(seen - others - 1)) / scale
        assert score(np.array([[float(seen)]]))[0] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(("scale", "threshold"), [(1.0, 6), (2.5, 4), (0.7, 2)])
def test_a_value_of_its_own_is_shown_with_the_stated_chance(scale: float, threshold: int) -> None:
    mechanism = StableCategories(scale, threshold)
    z, alpha = np.arange(-400.0, 401.0), math.exp(-1.0 / scale)
    chances = (1.0 - alpha) / (1.0 + alpha) * alpha ** np.abs(z)
    exact = chances[1 + z >= threshold].sum()
    assert exact <= mechanism.alone <= exact * (1.0 + 1e-11)
    score = mechanism.change(AuditRecord(0, 0))
    assert score(np.array([[HIDDEN], [float(threshold)]])).tolist() == pytest.approx([math.log1p(-exact), 40.0])
    for delta in (1e-2, 1e-6):
        least = StableCategories.of_scale(scale, delta)
        assert least.alone <= delta
        assert least.threshold == 2 or StableCategories(scale, least.threshold - 1).alone > delta


def test_neighbours_are_data_sets_that_differ_in_one_record() -> None:
    pair = Neighbours("a pair", AuditRecord(1, 7), None, 3, (4, 0, 2))
    first, second = pair.histograms()
    triplets = [sorted(zip(d.cell.tolist(), d.index.tolist(), d.count.tolist(), strict=True)) for d in (first, second)]
    assert triplets == [[(0, 0, 4), (1, 7, 1), (2, 0, 2)], [(0, 0, 4), (2, 0, 2)]]
    assert first.cells == second.cells == 3


@pytest.mark.parametrize("specimen", list(specimens()), ids=lambda one: f"{one.name}, {one.relation}")
def test_an_output_has_about_as_many_numbers_as_the_memory_of_an_audit_allows(specimen: Specimen) -> None:
    mechanism = specimen.mechanism
    for pair in mechanism.worst_pairs(specimen.relation):
        numbers = mechanism.outputs(pair.histograms()[0], 2, SimulatedNoise(1)).size // 2
        assert mechanism.size >= 1 and numbers <= 3 * pair.cells * mechanism.size
