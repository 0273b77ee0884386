"""Totals: plain sums where cells alone were released, least squares where totals were too; what is refused."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.inference.interval import quantiles_of
from hedgerow.release.cells.margins import ReleasedMargin, consistent_table
from hedgerow.release.cells.printed_numbers import (
    STATISTICS_CANADA,
    ReliabilityBands,
    nearest_non_negative,
    non_negative,
    reliability_letters,
    whole_numbers,
)
from hedgerow.release.cells.shape import Hierarchy, TableDimension, TableShape
from hedgerow.release.cells.table_cells import TableCells

SHAPE = TableShape(
    (
        TableDimension("sex", ("f", "m")),
        TableDimension("district", ("a", "b", "c")),
        TableDimension("age", (1, 2, 3, 4)),
    )
)
REGION = Hierarchy.of("district", "region", {"north": ["c", "a"], "south": ["b"]})
WHOLE = np.arange(24.0) * 7 % 11 - 2.0


def counts(**options: object) -> TableCells:
    return TableCells.counts(SHAPE, WHOLE, **{"privacy_variance": 2.0, **options})


def test_with_cells_alone_totals_are_plain_sums_and_cells_unchanged() -> None:
    cells = counts()
    table = consistent_table(cells)
    assert table.interior is cells
    grid = WHOLE.reshape(SHAPE.shape)
    assert len(table.margins) == 7
    for kept in (set(kept) for length in range(3) for kept in combinations(range(3), length)):
        summed = tuple(axis for axis in range(3) if axis not in kept)
        margin = table.margin(SHAPE.columns[axis] for axis in kept)
        # Whole numbers: the sums are exact.
        assert np.array_equal(margin.values, grid.sum(axis=summed).ravel())
        assert margin.privacy_variance == 2.0 * math.prod(SHAPE.shape[axis] for axis in summed)
    assert not table.notes


def test_a_hierarchy_adds_up_by_its_groups() -> None:
    table = consistent_table(counts(), hierarchies=[REGION])
    grid = WHOLE.reshape(SHAPE.shape)
    by_region = table.margin(["age", "region"])
    expected = np.stack([grid[:, [0, 2]].sum(axis=(0, 1)), grid[:, 1].sum(axis=0)])
    assert by_region.shape.columns == ("region", "age")
    assert np.array_equal(by_region.values, expected.ravel())
    assert by_region.noise_variance.tolist() == [8.0] * 4 + [4.0] * 4


def test_sampling_variances_of_totals_follow_from_the_records_not_from_the_cells() -> None:
    """Under replace-one the cells share n records: a total has variance T − T²/n, less than its cells added up."""
    table = consistent_table(counts(n=300))
    margin = table.margin(["sex"])
    assert margin.sampling_variance == pytest.approx(margin.values - margin.values**2 / 300)
    added = np.broadcast_to(table.interior.sampling_variance, 24).reshape(2, 12).sum(axis=1)
    assert (np.asarray(margin.sampling_variance) < added).all()


def test_second_moments_of_totals_add_up() -> None:
    square = np.arange(24.0) * 3.0
    cells = TableCells.totals(
        SHAPE, WHOLE, privacy_variance=1.0, second_moment=square, second_moment_variance=4.0, n=99
    )
    total = consistent_table(cells).margin()
    taken = (WHOLE.sum() ** 2 - 24.0) / 99
    assert total.sampling_variance == pytest.approx([square.sum() - taken])
    assert total.second_moment_variance == 96.0


def test_a_sampling_variance_that_was_given_adds_up_too() -> None:
    cells = TableCells(SHAPE, WHOLE, np.full(24, 5.0), 1.0)
    assert consistent_table(cells).margin().sampling_variance == pytest.approx([120.0])


def test_a_known_total_is_kept_to_and_has_no_error() -> None:
    known = ReleasedMargin((), np.array([150.0]), 0.0)
    table = consistent_table(counts(n=150), released=[known])
    assert table.margin().values == pytest.approx([150.0])
    assert table.margin().standard_error == pytest.approx([0.0], abs=1e-6)
    assert table.interior.privacy_variance == pytest.approx(2.0 * 23 / 24)
    assert table.notes


def test_errors_that_are_withheld_are_withheld_of_totals() -> None:
    cells = TableCells.without_errors(SHAPE, WHOLE, counted=True)
    table = consistent_table(cells)
    assert all(margin.withheld for margin in table.margins.values())
    assert whole_numbers(non_negative(table)).margin().withheld


def test_the_noise_of_a_plain_sum_has_the_law_of_the_sum() -> None:
    table = consistent_table(counts(noise_law="laplace"), hierarchies=[REGION])
    assert table.margin(["sex", "district"]).noise_law == "averaged-laplace-4"
    # Groups of unequal size have no one law: Laplace's own is wider.
    assert table.margin(["sex", "region"]).noise_law == "laplace"
    released = [ReleasedMargin(("sex",), np.array([50.0, 60.0]), 2.0, "laplace")]
    assert consistent_table(counts(), released=released).margin().noise_law == "laplace"


@pytest.mark.parametrize("level", [0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize(
    "weights", [[1], [1, 1], [1, 0.5], [2, 1, 1], [1, 0.2, 0.2, 0.2], [1] * 6, [1] + [0.25] * 8, [1] * 12]
)
def test_weighted_sums_of_laplace_numbers_are_covered_by_what_they_are_read_as(
    level: float, weights: list[float]
) -> None:
    """P(|Σ w L| ≤ h) by inverting the characteristic function ∏ 1/(1 + w²t²/2), h the half-width of one cell."""
    one = TableCells.totals(TableShape(()), [0.0], privacy_variance=1.0, noise_law="laplace")
    half = float(one.interval(level)[1][0])
    unit = np.array(weights) / np.linalg.norm(weights)
    t = np.linspace(1e-6, 400.0, 100_001)
    characteristic = np.prod([1.0 / (1.0 + w * w * t * t / 2.0) for w in unit], axis=0)
    covered = 2.0 / np.pi * np.trapezoid(np.sin(t * half) / t * characteristic, t)
    assert covered >= level - 2e-5
    # The normal quantile alone would not cover one Laplace number at the levels in use.
    if len(weights) == 1 and level >= 0.95:
        assert float(quantiles_of("gaussian", level, np.zeros(1), np.ones(1))[0]) < half


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("HG160", {"hierarchies": [Hierarchy.of("nothing", "region", {"n": [1]})]}),
        ("HG160", {"hierarchies": [Hierarchy("district", "sex", REGION.groups)]}),
        ("HG160", {"released": [ReleasedMargin(("region",), np.zeros(2), 1.0)]}),
        ("HG160", {"released": [ReleasedMargin(("sex", "sex"), np.zeros(2), 1.0)]}),
        ("HG160", {"released": [ReleasedMargin(("district", "region"), np.zeros(3), 1.0)], "hierarchies": [REGION]}),
        ("HG161", {"released": [ReleasedMargin(("sex",), np.zeros(3), 1.0)]}),
        ("HG161", {"released": [ReleasedMargin(("sex",), np.zeros(2), -1.0)]}),
        ("HG162", {"hierarchies": [Hierarchy.of("district", "region", {"n": ["a", "b"]})]}),
        ("HG162", {"hierarchies": [Hierarchy.of("district", "region", {"n": ["a", "b"], "s": ["b", "c"]})]}),
        ("HG162", {"hierarchies": [Hierarchy.of("district", "region", {"n": ["a", "b", "c"], "s": []})]}),
        (
            "HG162",
            {"released": [ReleasedMargin((), np.array([9.0]), 0.0), ReleasedMargin(("sex",), np.zeros(2), 0.0)]},
        ),
    ],
)
def test_what_cannot_add_up_is_refused(code: str, options: dict[str, list[object]]) -> None:
    with pytest.raises(ParameterError) as failed:
        consistent_table(counts(), **options)
    assert failed.value.code == code


def test_unequal_noise_beside_released_totals_is_refused() -> None:
    cells = counts(privacy_variance=np.arange(1.0, 25.0))
    assert consistent_table(cells).margin().privacy_variance == 300.0
    with pytest.raises(ParameterError, match="HG162"):
        consistent_table(cells, released=[ReleasedMargin((), np.array([9.0]), 0.0)])


def test_too_many_kinds_of_totals_are_refused() -> None:
    shape = TableShape(tuple(TableDimension(f"c{place}", (0,)) for place in range(13)))
    with pytest.raises(ParameterError, match="HG162"):
        consistent_table(TableCells.counts(shape, [1.0], privacy_variance=1.0))


def test_rounding_shows_other_numbers_and_keeps_the_errors() -> None:
    table = consistent_table(counts(), released=[ReleasedMargin((), np.array([100.25]), 3.0)])
    mended = whole_numbers(non_negative(table))
    assert mended.interior.published.min() >= 0.0
    assert np.array_equal(mended.interior.published, np.rint(mended.interior.published))
    assert np.array_equal(mended.interior.values, table.interior.values)
    assert mended.margin().published == [round(float(table.margin().values[0]))]
    assert np.array_equal(mended.interior.interval(0.95)[1], table.interior.interval(0.95)[1])
    assert mended.interior.interval(0.95)[0].min() >= 0.0
    assert len(mended.notes) == 3


def test_a_table_that_needs_no_mending_gets_no_note() -> None:
    table = consistent_table(TableCells.counts(TableShape(()), [4.0], privacy_variance=1.0))
    assert whole_numbers(non_negative(table)).notes == ()


def test_cells_without_noise_are_not_moved_by_the_projection() -> None:
    shown = nearest_non_negative(np.array([5.0, -4.0, 9.0]), np.array([0.0, 1.0, 2.0]))
    assert shown.tolist() == [5.0, 0.0, 5.0]
    assert nearest_non_negative(np.array([-5.0, 1.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("base", [0, -1.0, math.inf, math.nan, True, "1"])
def test_a_base_that_is_none_is_refused(base: float) -> None:
    with pytest.raises(ParameterError, match="HG164"):
        whole_numbers(consistent_table(counts()), base=base)


def test_multiples_of_a_base_add_up() -> None:
    table = whole_numbers(consistent_table(counts()), base=5)
    assert set(table.interior.published % 5) == {0.0}
    assert table.margin().published[0] % 5 == 0


def test_letters_are_those_of_the_bands() -> None:
    shape = TableShape((TableDimension("a", tuple(range(8))),))
    values = np.array([1000.0] * 6 + [0.0, -5.0])
    error = np.array([49.0, 50.0, 149.0, 249.0, 349.0, 350.0, 1.0, 1.0])
    cells = TableCells.counts(shape, values, privacy_variance=error**2, census=True)
    assert "".join(reliability_letters(cells)) == "ABCDEFFF"
    signed = TableCells.totals(shape, -values, privacy_variance=error**2)
    assert "".join(reliability_letters(signed)) == "ABCDEFFD"
    exact = TableCells.counts(shape, values * 0.0, privacy_variance=0.0, census=True)
    assert set(reliability_letters(exact)) == {"A"}
    assert STATISTICS_CANADA.last == ("F", "too unreliable to be published")


@pytest.mark.parametrize(
    "bands",
    [
        ((), ("F", "")),
        ((("A", 0.2, ""), ("B", 0.1, "")), ("F", "")),
        ((("A", 0.1, ""), ("A", 0.2, "")), ("F", "")),
        ((("A", 0.1, ""),), ("A", "")),
        ((("A", 0.0, ""),), ("F", "")),
    ],
)
def test_bands_that_are_none_are_refused(bands: tuple[tuple[tuple[str, float, str], ...], tuple[str, str]]) -> None:
    with pytest.raises(ParameterError, match="HG164"):
        ReliabilityBands(*bands)


def test_a_known_total_is_published_to_the_last_digit() -> None:
    """Adding the adjusted cells up leaves the last digits of a float."""
    rng = np.random.default_rng(20261120)
    for _ in range(50):
        table = consistent_table(
            TableCells.counts(SHAPE, rng.normal(100.0, 30.0, SHAPE.size), privacy_variance=2.0, noise_law="laplace"),
            released=[ReleasedMargin((), np.array([1017.0]), 0.0)],
        )
        assert table.margin(()).published.tolist() == [1017.0]
        assert table.interior.values.sum() == pytest.approx(1017.0, rel=1e-12)
