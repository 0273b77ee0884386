"""Worst neighbours: they move exactly as far as was priced, and every kind of pair is attacked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.replay import SilentNoise
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import Neighbours, Specimen
from hedgerow.mechanisms.mechanism import Composition, specimens
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.noisy_moments import MomentsGaussian, MomentsGeometric
from hedgerow.mechanisms.resampled_sums import ResampledSums, bootstrap

# These have no table of sums: tests of their own hold their laws.
NOT_ADDED = ("sparse-vector", "randomised-records", "resample", "smoothed-resample", "stable-categories")
MOMENTS = [one for one in specimens() if isinstance(one.mechanism, (MomentsGaussian, MomentsGeometric))]


def label(one: Specimen) -> str:
    return f"{one.name}, {one.relation}"


def moved(pair: Neighbours, mechanism: MomentsGaussian | MomentsGeometric) -> np.ndarray:
    """The exact tables' difference, in widths, through the code that releases."""
    first, second = (mechanism.outputs(data, 1, SilentNoise())[0] for data in pair.histograms())
    widths = [noise.in_units for noise in mechanism.noise.coordinates().values()]
    return np.abs(first - second) / np.array(widths)


@pytest.mark.parametrize("one", MOMENTS, ids=label)
def test_the_worst_pair_moves_moments_as_far_as_was_priced_and_no_farther(one: Specimen) -> None:
    assert isinstance(one.mechanism, (MomentsGaussian, MomentsGeometric))
    layout, widths = one.mechanism.layout, one.mechanism.noise.widths()
    pairs = one.mechanism.worst_pairs(one.relation)
    if isinstance(one.mechanism, MomentsGaussian):
        farthest = max(np.sqrt((moved(pair, one.mechanism) ** 2).sum()) for pair in pairs)
        assert farthest == pytest.approx(layout.mu(one.relation, widths), rel=1e-9)
    else:
        farthest = max(moved(pair, one.mechanism).sum() for pair in pairs)
        assert farthest == pytest.approx(layout.pure(one.relation, widths), rel=1e-9)


@pytest.mark.parametrize("one", [one for one in specimens() if one.mechanism.type not in NOT_ADDED], ids=label)
def test_a_contribution_is_what_the_release_adds(one: Specimen) -> None:
    pair = one.mechanism.worst_pairs(one.relation)[0]
    assert pair.first is not None
    with_record, _ = pair.histograms()
    empty = Neighbours("empty", None, None, pair.cells).histograms()[0]
    if one.mechanism.type in ("gaussian", "laplace", "averaged-laplace"):
        assert one.mechanism.contribution(pair.first)[0].tolist() == [1.0]
        return
    tables = [one.mechanism.outputs(data, 1, SilentNoise())[0] for data in (with_record, empty)]
    difference = (tables[0] - tables[1])[pair.first.cell]
    # Silent resampling draws every record as often as is expected, to the nearest whole number.
    times = one.mechanism.weight_moments()[0] if isinstance(one.mechanism, ResampledSums) else 1.0
    added = round(times) * one.mechanism.contribution(pair.first)[0]
    assert np.array_equal(difference if difference.ndim == 1 else difference[:, 0], added)


def test_each_relation_has_its_pairs() -> None:
    grouped = bootstrap(3, "value-and-count", cells=2)
    assert [pair.name for pair in grouped.worst_pairs(Relation.REPLACE_ONE)] == ["same cell", "across cells"]
    assert [pair.name for pair in grouped.worst_pairs(Relation.ADD_REMOVE)] == ["one-sided"]
    assert [pair.name for pair in GeometricCounts(1.0, 1).worst_pairs(Relation.REPLACE_ONE)] == ["one-sided"]
    assert [pair.name for pair in bootstrap(3, "value").worst_pairs(Relation.REPLACE_ONE)] == ["same cell"]


def test_neighbours_differ_in_one_record() -> None:
    for one in specimens():
        for pair in one.mechanism.worst_pairs(one.relation):
            first, second = pair.histograms()
            assert first.total() == 1 + sum(pair.others)
            assert second.total() == sum(pair.others) + (pair.second is not None)


def test_what_has_no_known_worst_pair_is_refused() -> None:
    with pytest.raises(UncertifiedError, match="HG520"):
        Composition((GeometricCounts(1.0, 1),)).worst_pairs(Relation.ADD_REMOVE)


LAW_NOT_KNOWN = {"bounded-resampled-gaussian", "sparse-vector"}


@pytest.mark.parametrize("one", specimens(), ids=label)
def test_worst_neighbours_prove_four_fifths_of_the_price_where_their_law_is_known(one: Specimen) -> None:
    """By their exact laws, without a draw. A mechanism without a known law says why it has none."""
    attained = one.mechanism.attained(one.relation)
    upper = profile_of(one.mechanism, one.relation).epsilon_upper(one.delta)
    assert bool(attained.pairs) is (one.mechanism.type not in LAW_NOT_KNOWN) and (attained.pairs or attained.why)
    if attained.pairs and math.isfinite(upper):
        assert 0.8 * upper < attained.epsilon_lower(one.delta) <= upper * (1.0 + 1e-9)
