"""Sums of columns with missing values: each adds 0, so a record moves a sum by max(U, 0) − min(L, 0) and no more."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.columns import Grid, Missing
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.noise.lattice import NoiseSource
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.joint import joint_release
from hedgerow.release.designs.joint.joint_release import GridWithZero, JointDesign, joint_design
from hedgerow.reports.verify.verification import consistency
from hedgerow.resampling.counted_values import GridSums
from hedgerow.testing.simulated import SimulatedNoise

RELATION = Relation.REPLACE_ONE
GRIDS = {"to a bound of 0": (0, 4, 1), "0 within": (-2, 3, 1), "above 0": (2, 6, 2), "below 0": (-6, -3, 1)}
GRIDS |= {"0 between two steps": (-3, 1, 2), "of another unit": (1, 4, 1.5)}
Row = tuple[int | None, ...]


def designed(*bounds: tuple[float, float, float]) -> JointDesign:
    sums = [hg.sum(f"x{i}", bounds=(low, high), step=step) for i, (low, high, step) in enumerate(bounds)]
    facts = PublicFacts(RELATION, "row", "population", 3)
    return joint_design(sums, (), facts, Missing.DROP)


def mechanism_of(design: JointDesign, law: Law) -> JointMoments:
    d = len(design.values)
    sums: dict[tuple[int, ...], float] = {(i,): 1.0 for i in range(d)} | {(i, i): 0.4 for i in range(d)}
    return joint_moments(
        law, design.layout, JointWeights(d, {}, sums | ({(0, 1): 0.1} if d > 1 else {})), 1.0, RELATION
    )


def added_up(design: JointDesign, mechanism: JointMoments, rows: Iterable[Row]) -> np.ndarray[Any, Any]:
    """Return the exact numbers of a file of these grid places, by the sums that an engine answers."""
    rows = list(rows)
    sums = {}
    for monomial in design.query(mechanism).monomials:
        present = [row for row in rows if all(row[place] is not None for place, _ in monomial)]
        of_rows = [np.prod([row[place] ** power for place, power in monomial], dtype=object) for row in present]
        sums[monomial] = np.array([sum(of_rows)], dtype=object)
    answer = GridSums(sums, np.zeros(1, dtype=np.int64), 0)
    return mechanism.exact(answer if not design.zeros else design.with_zeros(answer, mechanism))[0]


def farthest(design: JointDesign, mechanism: JointMoments) -> float:
    """Return the most that a record moves the numbers, in the noise's units, over all neighbours."""
    places = [[*range(value.size), None] for value in design.values]
    each = {row: added_up(design, mechanism, [row]) for row in product(*places)}
    widths, power = mechanism._widths(), mechanism.noise_law.power
    return max(
        float((np.abs((first - second).astype(float) / widths) ** power).sum())
        for first in each.values()
        for second in each.values()
    )


def priced(mechanism: JointMoments) -> float:
    return mechanism.mu(RELATION) ** 2 if mechanism.law == "gaussian" else mechanism.pure(RELATION)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)
@pytest.mark.parametrize("bounds", GRIDS.values(), ids=GRIDS)
def test_no_two_records_move_a_sum_further_than_the_price_says_and_two_do(
    bounds: tuple[float, float, float], law: Law
) -> None:
    design = designed(bounds)
    mechanism = mechanism_of(design, law)
    assert farthest(design, mechanism) == pytest.approx(priced(mechanism), rel=1e-9)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)
def test_two_sums_and_their_product_move_no_further_than_the_price_says(law: Law) -> None:
    design = designed((2, 4, 1), (-3, 1, 2))
    mechanism = mechanism_of(design, law)
    assert farthest(design, mechanism) == pytest.approx(priced(mechanism), rel=1e-9)


@pytest.mark.parametrize("bounds", [(2, 6, 2), (-6, -3, 1)], ids=str)
def test_a_grid_without_its_zero_would_be_priced_too_low(
    bounds: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sabotage: the range of the sum is that of its bounds, and a missing value still adds 0."""

    def without(grid: Grid) -> GridWithZero:
        start, stride, _ = grid.about_zero()
        return GridWithZero(0, 1, -Fraction(start, stride).numerator, grid.steps)

    monkeypatch.setattr(GridWithZero, "of", staticmethod(without))
    design = designed(bounds)
    mechanism = mechanism_of(design, LAPLACE)
    assert farthest(design, mechanism) > 1.3 * priced(mechanism)


N, RNG = 400, np.random.default_rng(1)
VALUES = np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(50.0, 25.0, N))
TABLE = pa.table({"x": pa.array(VALUES), "y": pa.array(np.where(RNG.random(N) < 0.4, np.nan, -VALUES))})
BOUNDS = [(0, 100), (20, 100), (-30, 100), (-100, -20), (18.25, 93.1)]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_a_sum_has_the_noise_of_its_range_with_zero_and_no_more(bounds: tuple[float, float]) -> None:
    (estimate,) = hg.open(TABLE, relation="replace-one").release(hg.sum("x", bounds=bounds), epsilon=100.0)
    reach = max(bounds[1], 0) - min(bounds[0], 0)
    assert estimate.privacy_error * 100.0 / reach == pytest.approx(2**0.5, rel=0.01)
    exact = np.clip(VALUES[~np.isnan(VALUES)], *bounds).sum()
    assert abs(estimate.estimate - exact) < 12.0 * estimate.privacy_error
    each = np.clip(VALUES, *bounds)
    assert estimate.sampling_error == pytest.approx(np.nan_to_num(each).std() * N**0.5, rel=0.05)


def test_sums_of_columns_that_miss_values_of_their_own_are_read_with_their_covariance() -> None:
    asked = [hg.sum("x", bounds=(20, 100)), hg.sum("y", bounds=(-100, 10))]
    release = hg.open(TABLE, relation="replace-one").release(asked, epsilon=100.0)
    x, y = (
        np.nan_to_num(np.clip(TABLE[name].to_numpy(), *ends)) for name, ends in (("x", (20, 100)), ("y", (-100, 10)))
    )
    assert [part.estimate for part in release] == pytest.approx([x.sum(), y.sum()], abs=50)
    assert (release[0] - release[1]).sampling_error == pytest.approx((x - y).std() * N**0.5, rel=0.05)


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"by": {"g": [0, 1]}}, 3.6),
        ({"relation": "add-remove"}, 1.7),
        ({"missing": "error-if-declared-complete"}, 1.43),
    ],
    ids=["by cells", "add-remove", "complete"],
)
def test_sums_elsewhere_are_as_they_were(options: dict[str, Any], most: float) -> None:
    given = dict(options)
    table = pa.table({"x": np.nan_to_num(VALUES), "g": RNG.integers(0, 2, N)})
    survey = hg.open(table, relation=given.pop("relation", "replace-one"))
    plan = survey.plan(hg.sum("x", bounds=(0, 100)), epsilon=1.0, **given)
    noise = plan.forecast(n=N)[0].noise_sd
    assert noise is not None and noise / 100.0 < most
    # A record moves two cells; where its presence is private a sum about zero would do, and its square is not free.
    assert noise / 100.0 > 1.41


def sums_before(noise: NoiseSource) -> Any:
    """Release sums as before a missing value added 0: with the number of their values."""
    later = joint_release.joint_design
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_release, "joint_design", lambda *about, **also: later(*about, **also, zeros=False))
        patch.setattr("hedgerow.release.spend.SecureNoise", lambda: noise)
        return hg.open(TABLE, relation="replace-one").release(hg.sum("x", bounds=(0, 100)), epsilon=1.0)


def test_a_record_of_before_is_read_again_and_priced_again() -> None:
    release = sums_before(SimulatedNoise(3))
    assert release[0].privacy_error > 190.0
    record = json.loads(release.to_json())
    certificate = Certificate.from_dict(record["certificate"])
    assert consistency(record, certificate).contradictions == ()
    record["estimates"][0]["estimate"] *= 1.001
    assert consistency(record, certificate).contradictions != ()
