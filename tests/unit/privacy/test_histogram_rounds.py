"""Histogram rounds: the farthest neighbours over all integer pairs, through the sums that a fit makes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.profile import GaussianProfile
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify, mechanism_from_record
from hedgerow.mechanisms.histograms import HistogramRounds, widest_bucket
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.multicalibration import calibrated_model as grid
from hedgerow.multicalibration import rounds
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.declared_groups import CategoryGroups
from hedgerow.multicalibration.family import Family
from hedgerow.noise.lattice import LatticeNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
Vectors = np.ndarray


def described(steps: int, buckets: int, groups: int, most: int, wide: tuple[float, float]) -> HistogramRounds:
    """Return one round with noise of these widths, in grid steps and in records."""
    fine = [LatticeNoise(round(width * 2**16), 16) for width in wide]
    return HistogramRounds(1, groups, buckets, most, steps, *fine)


def single_records(family: Family, steps: int, buckets: int) -> Vectors:
    """Return (R, N) over all groups and buckets of every data set of one record: all classes, scores and labels."""
    vectors = []
    every = product(product(*(range(levels) for levels in family.levels)), range(steps + 1), (0, 1))
    for classes, score, label in every:
        at = np.array([classes], dtype=np.int64).reshape(1, -1)
        zero = np.zeros(1, dtype=np.int64)
        one = Records(family, at, zero, zero + score, zero + label, zero + 1)
        vectors.append(rounds.exact_cells(one, one.score, buckets).ravel())
    return np.array(vectors)


@pytest.mark.parametrize(("depth", "attributes"), [(1, 1), (1, 2), (2, 2), (2, 3)])
@pytest.mark.parametrize(("steps", "buckets"), [(4, 1), (4, 2), (6, 3)])
@pytest.mark.parametrize("wide", [(1.0, 1.0), (8.0, 0.5), (2.0, 50.0)])
def test_the_farthest_neighbours_by_brute_force(
    depth: int, attributes: int, steps: int, buckets: int, wide: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rounds, grid):
        monkeypatch.setattr(module, "STEPS", steps)
    family = Family(tuple(CategoryGroups(f"c{a}", ("x", "y")) for a in range(attributes)), depth)
    vectors = single_records(family, steps, buckets).astype(float)
    k = buckets
    widths = np.tile(np.repeat(wide, k), len(family.groups))
    scaled = vectors / widths
    near = np.sqrt((scaled**2).sum(axis=1).max())
    products = scaled @ scaled.T
    squares = np.diag(products)
    far = np.sqrt((squares[:, None] + squares[None, :] - 2 * products).max())
    stated = described(steps, buckets, len(family.groups), family.most_groups, wide)
    assert near == pytest.approx(stated.mu(NEAR), rel=1e-9)
    assert far <= stated.mu(FAR) * (1 + 1e-9)
    if buckets > 1:
        # With one bucket everybody shares a cell of "all", and the bound is not reached.
        assert far == pytest.approx(stated.mu(FAR), rel=1e-9)


def test_fewer_groups_than_a_record_can_be_in_would_be_a_false_price(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rounds, grid):
        monkeypatch.setattr(module, "STEPS", 4)
    family = Family((CategoryGroups("a", ("x",)), CategoryGroups("b", ("x",))), 2)
    vectors = single_records(family, 4, 2).astype(float)
    moved = math.sqrt((vectors**2).sum(axis=1).max())
    assert moved > described(4, 2, 4, 3, (1.0, 1.0)).mu(NEAR), "M one too small"
    assert moved <= described(4, 2, 4, 4, (1.0, 1.0)).mu(NEAR) * (1 + 1e-9)


def test_rounds_compose_as_gaussians() -> None:
    once = described(1000, 10, 9, 4, (2000.0, 3.0))
    thrice = HistogramRounds(3, 9, 10, 4, 1000, once.residual, once.count)
    assert thrice.mu(NEAR) == pytest.approx(math.sqrt(3.0) * once.mu(NEAR))
    found = profile_of(thrice, NEAR).epsilon_upper(1e-6)
    exact = GaussianProfile(thrice.mu(NEAR)).epsilon_upper(1e-6)
    assert exact <= found <= exact * (1 + 1e-4)


@pytest.mark.parametrize(("buckets", "steps"), [(1, 4), (2, 4), (3, 7), (10, 1_000_000), (7, 1_000_000), (1000, 1000)])
def test_the_widest_bucket_is_that_of_the_grid(buckets: int, steps: int) -> None:
    index = np.arange(steps + 1)
    bucket = np.minimum(index * buckets // steps, buckets - 1)
    widths = [np.ptp(index[bucket == b]) for b in range(buckets)] if steps < 10_000 else []
    ends = [np.searchsorted(bucket, b, side="right") - np.searchsorted(bucket, b) - 1 for b in range(buckets)]
    assert widest_bucket(buckets, steps) == max(widths or ends) == max(ends)


def test_the_certificate_reads_back() -> None:
    once = described(1000, 10, 9, 4, (20_000.0, 30.0))
    assert mechanism_from_record(as_record(once)) == once
    certify(once, FAR, unit="row", delta=1e-6).verify()


def test_impossible_descriptions_are_refused() -> None:
    fine = LatticeNoise(1000, 0)
    for groups, buckets, most in ((2, 10, 3), (2, 101, 1), (0, 1, 1)):
        with pytest.raises(ParameterError, match="HG406"):
            HistogramRounds(1, groups, buckets, most, 100, fine, fine)


def test_a_record_that_claims_many_buckets_is_priced_at_once() -> None:
    fine = LatticeNoise(1000, 0)
    claimed = HistogramRounds(1, 10**12, 10**12, 1, 10**12, fine, fine)
    assert claimed.widest_bucket == 1 and claimed.mu(Relation.REPLACE_ONE) > 1e9
