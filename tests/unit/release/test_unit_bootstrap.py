"""A release of unit totals from the source to the sentence: what is asked, drawn, clamped, read and said."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.engines.source import open_source
from hedgerow.errors import ParameterError, SpentError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import Relation, Target, UnitLimit
from hedgerow.mechanisms.resampled_sums import units_curve
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.row_bootstrap import replicates_for
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign, unit_design
from hedgerow.release.request import Context, parse_request
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.distribution.quantile import quantile
from hedgerow.statistics.mean import count, mean, sum
from hedgerow.statistics.proportion import proportion
from hedgerow.statistics.statistic import Statistic

LIMIT = UnitLimit("person", 3)
BY = (Category.declared("sex", [0, 1]),)
# 500 people of 1 to 5 rows, of whom at most 3 count; ages 40 and 50, sexes one after the other.
PERSON = [p for p in range(500) for _ in range(1 + p % 5)]
TABLE = pa.table({
    "person": PERSON,
    "age": [40.0 + 10.0 * (p % 2) for p in PERSON],
    "sex": [row % 2 for row in range(len(PERSON))],
})  # fmt: skip
KEPT = [min(1 + p % 5, 3) for p in range(500)]
AGE = {"bounds": (0, 100), "step": 1}


def design(statistic: Statistic, relation: Relation = Relation.ADD_REMOVE, **options: object) -> UnitBootstrapDesign:
    n = 500 if relation is Relation.REPLACE_ONE else None
    facts = PublicFacts(relation, options.pop("unit", LIMIT), Target.POPULATION, n)
    missing, by = options.pop("missing", Missing.DROP), options.pop("by", ())
    usual = parse_request(statistic, context=Context(units=True), epsilon=1.0, n_resamples=20)
    return unit_design(statistic, replace(usual, by=by, **options), facts, share=1.0, missing=missing)


def released(made: UnitBootstrapDesign, mu: float = 1e3) -> list[object]:
    """Return the estimates of a release with noise that hides nothing here."""
    histogram = open_source(TABLE).histogram(made.query)
    return list(made.estimates(made.table(histogram, made.mechanism(mu), SecureNoise())))


def test_mean_sum_share_and_count_are_over_the_rows_kept() -> None:
    rows = np.array(KEPT)
    age = 40.0 + 10.0 * (np.arange(500) % 2)
    truths = {
        mean("age", **AGE): (rows @ age) / rows.sum(),
        sum("age", **AGE): rows @ age,
        proportion("age", value=50): rows @ (age == 50) / rows.sum(),
        count(): rows.sum(),
    }
    for relation in Relation:
        for statistic, truth in truths.items():
            (estimate,) = released(design(statistic, relation))
            # k = 20: the spread is known to a sixth of itself; eight standard errors are beyond chance.
            allowed = 8.0 * math.hypot(estimate.bootstrap_error, estimate.privacy_error)
            assert abs(estimate.estimate - truth) < allowed < 0.2 * truth
            interval = estimate.confidence_interval(0.95)
            assert interval.low < estimate.estimate < interval.high
            assert "at most 3 rows of each person" in estimate.note


def test_cells_share_units() -> None:
    cells = released(design(count(), by=BY))
    histogram = open_source(TABLE).histogram(design(count(), by=BY).query)
    assert histogram.total() > 500  # units in both cells are counted in both
    assert sum_of(cells) == pytest.approx(np.sum(KEPT), rel=0.3)


def sum_of(estimates: list[object]) -> float:
    return math.fsum(estimate.estimate for estimate in estimates)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("statistic", [mean("age", **AGE), sum("age", **AGE), count(), proportion("age", value=50)])
def test_a_budget_of_mu_is_nearly_what_it_costs(relation: Relation, statistic: Statistic) -> None:
    """At k = 50 the price exceeds that of one Gaussian release at the same μ by less than a seventh."""
    from hedgerow.accounting.profile import GaussianProfile

    made = design(statistic, relation, n_resamples=50)
    price = units_curve(made.mechanism(0.25), relation).epsilon_upper(1e-6)
    plain = GaussianProfile(0.25).epsilon_upper(1e-6)
    assert 0.95 * plain < price < 1.15 * plain


def test_noise_is_in_proportion_to_the_limit() -> None:
    one, three = (design(mean("age", **AGE), unit=UnitLimit("person", rows)).mechanism(0.3) for rows in (1, 3))
    for few, many in zip(one.coordinates, three.coordinates, strict=True):
        assert many.reach == 3 * few.reach
        assert many.noise.in_units == pytest.approx(3 * few.noise.in_units, rel=1e-5)


def test_features_are_clamped_whatever_a_histogram_holds() -> None:
    """An index that no engine returns still stands for at most 3 rows of at most their reach."""
    made = design(mean("age", **AGE))
    wild = np.array([0, 300, 903, 10**15, -5], dtype=np.int64)
    ones = np.ones_like(wild)
    features = made.features(Histogram(np.zeros_like(wild), wild, ones, np.zeros(1, np.int64), 0))
    total, rows = features.T
    assert ((rows >= 1) & (rows <= 3) & (np.abs(total) <= 100 * rows)).all()
    assert features[0].tolist() == [-100, 1]


def test_the_range_of_a_total_counts_all_rows_of_all_units() -> None:
    for statistic in (sum("age", **AGE), count()):
        made = design(statistic, Relation.REPLACE_ONE)
        (estimate,) = released(made, mu=1e-4)
        interval = estimate.confidence_interval(0.95)
        assert interval.low >= 0.0
        assert interval.high == 500 * 3 * (100 if statistic.name == "sum" else 1)


def test_a_false_declaration_of_completeness_is_found_after_spending() -> None:
    table = pa.table({"person": [1, 1, 2], "age": [30.0, None, 40.0]})
    made = design(mean("age", **AGE), missing=Missing.DECLARED_COMPLETE)
    with pytest.raises(SpentError, match="HG602"):
        made.table(open_source(table).histogram(made.query), made.mechanism(1.0), SecureNoise())
    whole = open_source(table.slice(0, 1)).histogram(made.query)
    assert made.table(whole, made.mechanism(1.0), SecureNoise()).values.shape == (1, 2, 20)


def test_the_midpoint_stands_in_before_the_limit() -> None:
    table = pa.table({"person": [1, 1, 1], "age": [None, None, None]}).cast(
        pa.schema({"person": pa.int64(), "age": pa.float64()})
    )
    made = design(mean("age", **AGE), missing=Missing.MIDPOINT)
    histogram = open_source(table).histogram(made.query)
    assert made.features(histogram).tolist() == [[0, 3]]


def test_what_has_no_certified_curve_is_refused() -> None:
    with pytest.raises(ParameterError, match="HG117"):
        design(count(), budget=Budget(1.0, 0.0))
    with pytest.raises(ParameterError, match="HG108"):
        design(count(), noise="laplace")
    with pytest.raises(ParameterError, match="HG114"):
        design(proportion("age", value=1), missing=Missing.MIDPOINT)
    with pytest.raises(UncertifiedError, match="HG402"):
        design(quantile("age", 0.5, **AGE))


def test_the_number_of_replicates_follows_public_facts_alone() -> None:
    budget = Budget(1.0, 1e-6)
    facts = [PublicFacts(Relation.REPLACE_ONE, LIMIT, Target.POPULATION, n) for n in (None, 10**3, 10**5, 10**7)]
    unknown, *ladder = (replicates_for(one, (), budget, 1.0, spread=0.12) for one in facts)
    assert unknown == 50 and ladder == sorted(ladder)
    assert (ladder[0], ladder[-1]) == (10, 300)
    assert replicates_for(facts[2], BY, budget, 1.0, spread=0.12) < ladder[1]
