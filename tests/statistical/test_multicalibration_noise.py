"""What a fit draws is what its certificate prices: the noise of the released table has the described scale."""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hedgerow.audit.attack import threshold_attack
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.multicalibration import family_of
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.count_table import CountTable, exact_places
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.testing.simulated import SimulatedNoise

# n = 20 tables × 1,200 cells of independent noise.
TABLES, ACCEPT, REJECT = 20, 1e-9, 1e-12
FAMILY = family_of({"a": range(14)})


def parts_of(described: object) -> tuple[GeometricCounts, GeometricCounts]:
    assert isinstance(described, Composition)
    counts, places = described.parts
    assert isinstance(counts, GeometricCounts) and isinstance(places, GeometricCounts)
    return counts, places


def noise_of(setting: Setting, described: Composition, source: NoiseSource) -> NDArray[np.float64]:
    rng = np.random.default_rng(3)
    classes = rng.integers(0, 15, (500, 1))
    records = Records.of(FAMILY, classes, rng.random(500), rng.integers(0, 2, 500))
    exact = CountTable().counts(records)
    drawn = [CountTable().run(setting, described, records, source).released[0].values - exact for _ in range(TABLES)]
    return np.concatenate([one.ravel() for one in drawn])


def p_value(noise: NDArray[np.float64], scale: float) -> float:
    """Two-sided p of Σ|z|: under P(z) ∝ exp(−|z|/scale) its mean and variance are known, and n is large."""
    alpha = np.exp(-1.0 / scale)
    z = np.arange(1, 2000)
    law = (1 - alpha) / (1 + alpha) * alpha**z
    mean, square = 2 * (z * law).sum(), 2 * (z**2 * law).sum()
    standard = (np.abs(noise).mean() - mean) / np.sqrt((square - mean**2) / len(noise))
    return float(2 * stats.norm.sf(abs(standard)))


@pytest.mark.entropy
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("source", [SecureNoise(), SimulatedNoise(11)], ids=["secure", "simulated"])
def test_the_released_table_carries_the_noise_that_is_priced(relation: Relation, source: NoiseSource) -> None:
    setting = Setting(FAMILY, relation, 500 if relation is Relation.REPLACE_ONE else None)
    described = CountTable().describe(setting, Budget(0.5, 0.0))
    counts, places = parts_of(described)
    assert p_value(noise_of(setting, Composition((counts, places)), source), counts.scale) > ACCEPT
    # The sabotage: noise of .7 times the scale, as a wrong sensitivity would draw it.
    low = dataclasses.replace(counts, scale=0.7 * counts.scale)
    assert p_value(noise_of(setting, Composition((low, places)), source), counts.scale) < REJECT


def test_where_scores_lie_carries_the_noise_that_is_priced() -> None:
    """n = 100 releases × 40 bins."""
    mechanism, setting = CountTable(place_share=0.5), Setting(NOBODY, Relation.ADD_REMOVE, None)
    counts, places = parts_of(mechanism.describe(setting, Budget(0.5, 0.0)))
    rng = np.random.default_rng(3)
    records = Records.of(NOBODY, np.zeros((500, 0), dtype=np.int64), rng.random(500), rng.integers(0, 2, 500))
    exact = exact_places(records, mechanism.score_bins(NOBODY))

    def noise(drawn: GeometricCounts) -> NDArray[np.float64]:
        releases = (
            mechanism.release(setting, Composition((counts, drawn)), records, SecureNoise()) for _ in range(100)
        )
        return np.concatenate([placed.values.ravel() - exact for _, placed in releases])

    assert p_value(noise(places), places.scale) > ACCEPT
    # The sabotage: noise of .7 times the scale.
    assert p_value(noise(dataclasses.replace(places, scale=0.7 * places.scale)), places.scale) < REJECT


def test_the_two_labels_and_all_cells_have_noise_of_their_own() -> None:
    setting = Setting(FAMILY, Relation.ADD_REMOVE, None)
    described = CountTable().describe(setting, Budget(0.5, 0.0))
    noise = noise_of(setting, Composition(parts_of(described)), SecureNoise()).reshape(-1, 2)
    n = len(noise)
    assert abs(stats.pearsonr(noise[:, 0], noise[:, 1]).statistic) < 6 / np.sqrt(n)
    # The sabotage: one label's noise reused for the other.
    assert abs(stats.pearsonr(noise[:, 0], noise[:, 0]).statistic) > 6 / np.sqrt(n)


NOBODY = family_of(None)


def released_cell(
    records: Records, relation: Relation, weaker: float
) -> Callable[[int], Iterator[NDArray[np.float64]]]:
    """Return a sampler of what a whole release says for a record of label 1 at the end of the last bin.

    Both tables speak, by the log ratio of the laws of 0 and 1 plus noise; under replace-one against label 0 at the end
    of the first bin.
    """
    mechanism = CountTable(bins=2, place_share=0.4)
    setting = Setting(NOBODY, relation, 3)
    counts, places = parts_of(mechanism.describe(setting, Budget(1.0, 0.0)))
    drawn = Composition(
        (
            dataclasses.replace(counts, scale=weaker * counts.scale),
            dataclasses.replace(places, scale=weaker * places.scale),
        )
    )
    noise = SimulatedNoise(17)

    def says(noisy: float, of: GeometricCounts) -> float:
        return float(abs(noisy) - abs(noisy - 1.0)) / of.scale

    def draw(runs: int) -> Iterator[NDArray[np.float64]]:
        told = np.empty(runs)
        for run in range(runs):
            table, placed = (one.values for one in mechanism.release(setting, drawn, records, noise))
            told[run] = says(table[1, 1], counts) + says(placed[1, 0], places)
            if relation is Relation.REPLACE_ONE:
                told[run] -= says(table[0, 0], counts) + says(placed[0, 0], places)
        yield told

    return draw


def people(*labels: int) -> Records:
    n, scores = len(labels), np.where(np.array(labels) == 1, 1.0, 0.5 - 1e-6)
    return Records.of(NOBODY, np.zeros((n, 0), dtype=np.int64), scores, np.array(labels, dtype=np.int64))


@pytest.mark.parametrize("relation", list(Relation))
def test_a_released_table_stays_within_its_price_on_the_worst_neighbours(relation: Relation) -> None:
    """A record more, or another; 10,000 releases each, confidence 1 − 1e-6. The sabotage: noise at half its scale."""
    pair = ((1,), ()) if relation is Relation.ADD_REMOVE else ((1,), (0,))

    def attacked(weaker: float) -> float:
        first, second = (released_cell(people(*labels), relation, weaker) for labels in pair)
        return threshold_attack(first, second, lambda x: x, delta=0.0, runs=10_000, alpha=1e-6).epsilon_lower

    assert 0.4 < attacked(1.0) <= 1.0
    assert attacked(0.5) > 1.0
