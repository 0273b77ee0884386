"""Screening, simultaneous intervals and shrinkage of a release, from its record too; what does not fit is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg

AREAS, EACH = 12, 250


def opened(shift: float = 0.0, seed: int = 1) -> hg.Survey:
    rng = np.random.default_rng(seed)
    area = np.repeat(np.arange(AREAS), EACH)
    age = np.clip(rng.normal(40.0 + 20.0 * (area == 3) + shift * (area == 5), 10.0), 0, 100)
    return hg.open(pa.table({"age": age, "area": area, "old": (age > 45).astype(int)}), relation="replace-one")


BY = {"area": list(range(AREAS))}


@pytest.fixture(scope="module")
def release() -> hg.Release:
    return opened().release([hg.mean("age", bounds=(0, 100)), hg.count()], by=BY, epsilon=2.0)


@pytest.mark.parametrize("method", ["benjamini-yekutieli", "bonferroni", "holm"])
@pytest.mark.parametrize("against", [40.0, "common"])
def test_the_cell_that_differs_is_found(release: hg.Release, against: Any, method: Any) -> None:
    found = release.screen(of="mean(age)", against=against, method=method, level=0.01)
    assert 3 in [estimate.cell["area"] for estimate in found.differing] and len(found.differing) <= 2
    assert len(found.cells) == AREAS
    assert all(cell.differs is (cell.adjusted_pvalue <= 0.01) for cell in found.cells)
    assert "12 cells differ" in str(found) and json.dumps(found.to_dict())
    assert found.promise.startswith("Of the cells" if method.startswith("benjamini") else "With a chance of 1 %")


def test_an_earlier_release_of_the_same_people_is_compared_with_care(release: hg.Release) -> None:
    later = opened(shift=25.0, seed=2).release([hg.mean("age", bounds=(0, 100)), hg.count()], by=BY, epsilon=2.0)
    careful = later.screen(of="mean(age)", against=release)
    independent = later.screen(of="mean(age)", against=release, independent=True)
    assert [estimate.cell["area"] for estimate in independent.differing][:1] == [5]
    pairs = zip(careful.cells, independent.cells, strict=True)
    assert all(one.pvalue >= other.pvalue for one, other in pairs)
    with pytest.raises(hg.ParameterError, match="HG137"):
        later.screen(of="mean(age)", against=release[:3])


def test_counts_and_shares_are_screened() -> None:
    shares = opened().release(hg.proportion("old", value=1), by=BY, epsilon=2.0)
    assert [estimate.cell["area"] for estimate in shares.screen(against=0.3085, level=0.01).differing] == [3]
    assert 3 in [estimate.cell["area"] for estimate in shares.screen().differing]
    counts = opened().count(by=BY, epsilon=2.0)
    assert counts.screen(against=EACH).differing == ()
    assert counts.screen().differing == ()


def test_a_cell_that_the_noise_hides_never_differs() -> None:
    survey = hg.open(pa.table({"x": [1.0] * 60 + [9.0] * 2, "g": [0] * 30 + [1] * 30 + [2] * 2}), relation="add-remove")
    found = survey.mean("x", bounds=(0, 10), by={"g": [0, 1, 2]}, epsilon=0.05).screen(against=5.0)
    assert found.differing == () and {cell.pvalue for cell in found.cells} == {1.0}


def test_simultaneous_intervals_hold_those_at_one_level(release: hg.Release) -> None:
    together = release.simultaneous_intervals(of="mean(age)")
    for estimate, interval in zip(release, together, strict=False):
        alone = estimate.confidence_interval()
        assert interval.low < alone.low < alone.high < interval.high and interval.level == 0.95
        assert interval.low == estimate.confidence_interval(1.0 - 0.05 / AREAS).low


def test_shrunk_cells_and_their_record(release: hg.Release, tmp_path: Path) -> None:
    drawn = release.shrink(of="mean(age)")
    assert len(drawn) == AREAS and drawn.spread > 0.0 and "share of all cells together" in str(drawn)
    for number in drawn:
        assert number.standard_error < 1.3 * number.raw.standard_error
        assert abs(number.estimate - number.line) <= abs(number.raw.estimate - number.line) + 1e-9
        assert "on average over cells" in number.confidence_interval().covers
    release.to_json(tmp_path / "release.json")
    again = hg.Release.from_json(tmp_path / "release.json")
    assert again.shrink(of="mean(age)").to_dict() == drawn.to_dict() and json.dumps(drawn.to_dict())
    assert again.screen(of="mean(age)").to_dict() == release.screen(of="mean(age)").to_dict()


def test_cells_are_drawn_towards_groups() -> None:
    rng = np.random.default_rng(5)
    sex, area = np.repeat([0, 1], 1500), np.tile(np.arange(6), 500)
    table = pa.table({"age": np.clip(rng.normal(30.0 + 30.0 * sex, 5.0), 0, 100), "sex": sex, "area": area})
    read = hg.open(table, relation="replace-one").mean(
        "age", bounds=(0, 100), by={"sex": [0, 1], "area": list(range(6))}, epsilon=1.0
    )
    towards_sex, towards_mean = read.shrink(towards=["sex"]), read.shrink()
    assert towards_sex.spread < 3.0 < 10.0 < towards_mean.spread
    assert towards_sex[0].line == pytest.approx(30.0, abs=2.0)


def test_what_cannot_be_read_is_refused(release: hg.Release) -> None:
    few = opened().mean("age", bounds=(0, 100), by={"area": [0, 1]}, epsilon=1.0)
    wrong = [
        lambda: release.screen(),
        lambda: release.screen(of="mean(pay)"),
        lambda: release.screen(of="mean(age)", against="last year"),
        lambda: release.screen(of="mean(age)", method="fisher"),  # type: ignore[arg-type]  # no such method
        lambda: few.shrink(),
        lambda: release.shrink(of="mean(age)", towards=["sex"]),
        lambda: release.shrink(of="mean(age)", towards=["area"]),
    ]
    for call in wrong:
        with pytest.raises(hg.ParameterError, match="HG146"):
            call()
    with pytest.raises(hg.ParameterError, match="HG110"):
        release.screen(of="mean(age)", level=5)
