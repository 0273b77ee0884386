"""From a source to an estimate: joint moments asked of an engine, drawn, and read by the functions of means.

Each of 400 runs samples people, draws noise by a stand-in and reads every function. One question adds up all runs:
their number is a column of categories.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.accounting.compose import profile_of
from hedgerow.engines.query import Indicator, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.errors import SpentError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.joint.estimates import estimate, joint_covariance
from hedgerow.inference.joint.functions import (
    CovarianceOfTotals,
    DeviationOfTotals,
    MeanOfTotals,
    RatioOfTotals,
    ScaledMean,
)
from hedgerow.inference.joint.totals import JointTotals, SideBySide
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.joint.joint_release import JointDesign
from hedgerow.testing.simulated import SimulatedNoise

N = 1_500
INCOME = ValueOnGrid("income", Grid(0, 200, 2**20))  # type: ignore[arg-type]  # whole numbers are fractions
SIZE = ValueOnGrid("size", Grid(1, 9, 8))
EMPLOYED = Indicator("employed", 1)
# An indicator is −1 or 1, so its share is the mean of (1 + f)/2.
AXES = ScaledMean(1, 100.0, 100.0), ScaledMean(2, 5.0, 4.0), ScaledMean(3, 0.5, 0.5)
FUNCTIONS = (MeanOfTotals(AXES[0]), MeanOfTotals(AXES[2]), RatioOfTotals(AXES[0], AXES[1]))
BUDGET = Budget(1.0, 1e-6)


def people(rng: np.random.Generator) -> pa.Table:
    size = 1.0 + rng.binomial(8, 0.3, N)
    income = np.clip(rng.lognormal(3.2, 0.6, N) * np.sqrt(size), 0, 200)
    return pa.table({"income": income, "size": size, "employed": rng.binomial(1, 0.7, N), "sex": rng.integers(0, 2, N)})


def design(relation: Relation, by: tuple[Category, ...] = (), target: Target = Target.POPULATION) -> JointDesign:
    facts = PublicFacts(relation, "row", target, N if relation is Relation.REPLACE_ONE else None)
    return JointDesign((INCOME, SIZE, EMPLOYED), FUNCTIONS, by, facts, Missing.DECLARED_COMPLETE)


def read_together(
    planned: JointDesign, mechanism: JointMoments, tables: list[pa.Table], noise: SimulatedNoise
) -> JointTotals:
    """Return the released moments of many files at once: each file is one category of one column more."""
    runs = np.repeat(np.arange(len(tables)), N)
    whole = pa.concat_tables(tables).append_column("run", pa.array(runs))
    every, question = Category.declared("run", list(range(len(tables)))), planned.query(mechanism)
    sums = open_source(whole).sums(replace(question, by=(every, *question.by)))
    return planned.totals(planned.table(sums, mechanism, noise), mechanism)


TRUTH = people(np.random.default_rng(0))


@cache
def truths() -> list[float]:
    rng = np.random.default_rng(1)
    drawn = [people(rng) for _ in range(400)]
    income, size, employed = (np.concatenate([t[name].to_numpy() for t in drawn]) for name in TRUTH.column_names[:3])
    return [float(income.mean()), float(employed.mean()), float(income.mean() / size.mean())]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("grouped", [False, pytest.param(True, marks=pytest.mark.long)])
def test_every_function_is_covered_with_an_error_that_is_its_spread(relation: Relation, grouped: bool) -> None:
    by = (Category.declared("sex", [0, 1]),) if grouped else ()
    planned = design(relation, by)
    mechanism = planned.choice(BUDGET).mechanism
    assert profile_of(mechanism, relation).epsilon_upper(1e-6) <= 1.0 + 1e-9
    rng, noise = np.random.default_rng(2), SimulatedNoise(3)
    side = SideBySide((read_together(planned, mechanism, [people(rng) for _ in range(400)], noise),))
    for place, truth in enumerate(truths()):
        read = estimate(FUNCTIONS[place], side)
        # The first cell of each run.
        value, error, low, high = (
            part[:: 1 + grouped] for part in (read.value, read.standard_error, *read.accepted(0.95))
        )
        assert len(value) == 400
        assert ((low <= truth) & (truth <= high)).mean() > 0.92
        spread = (np.quantile(value, 0.8413) - np.quantile(value, 0.1587)) / 2.0
        assert error.mean() == pytest.approx(spread, rel=0.17)  # 400 runs: two standard errors
        # Without the noise the error would be too small.
        sampling = people(np.random.default_rng(4))["income"].to_numpy().std() / np.sqrt(N / (1 + grouped))
        assert place or error.mean() > 1.05 * sampling


U, V = ScaledMean(1, 100.0, 100.0), ScaledMean(2, 5.0, 4.0)
PRODUCTS = {
    "variance": (((1,), (2,)), (INCOME,), CovarianceOfTotals(U, U, 2)),
    "standard deviation": (((1,), (2,)), (INCOME,), DeviationOfTotals(CovarianceOfTotals(U, U, 2))),
    "covariance": (((1, 0), (0, 1), (1, 1)), (INCOME, SIZE), CovarianceOfTotals(U, V, 3)),
}


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("name", PRODUCTS)
def test_functions_of_products_are_released_with_their_errors(name: str, relation: Relation) -> None:
    """A variance needs the moments up to the fourth, of 2²⁰ steps: sums of 80 bits, from partition blocks."""
    powers, values, function = PRODUCTS[name]
    planned = replace(design(relation), values=values, functions=(function,), powers=powers)
    mechanism = planned.choice(Budget(3.0, 1e-6)).mechanism
    rng, noise = np.random.default_rng(7), SimulatedNoise(8)
    drawn = [people(rng) for _ in range(200)]
    income, size = (np.concatenate([t[name].to_numpy() for t in drawn]) for name in ("income", "size"))
    truth = np.cov(income, size)[0, 0 if name != "covariance" else 1] ** (0.5 if name == "standard deviation" else 1.0)
    read = estimate(function, SideBySide((read_together(planned, mechanism, drawn, noise),)))
    value, error, (low, high) = read.value, read.standard_error, read.accepted(0.95)
    assert len(value) == 200
    assert ((low <= truth) & (truth <= high)).mean() > 0.9
    assert abs(value.mean() - truth) < 4.0 * value.std() / np.sqrt(200)
    assert 0.75 < error.mean() / value.std() < 1.4


def test_the_covariance_of_two_means_is_that_of_the_people() -> None:
    planned = design(Relation.REPLACE_ONE)
    mechanism = planned.choice(Budget(50.0, 1e-6)).mechanism
    sums = open_source(TRUTH).sums(planned.query(mechanism))
    totals = planned.totals(planned.table(sums, mechanism, SimulatedNoise(1)), mechanism)
    income, size = (estimate(MeanOfTotals(axis), SideBySide((totals,))) for axis in AXES[:2])
    sampling, noise = joint_covariance([income, size])
    true = np.cov(TRUTH["income"].to_numpy(), TRUTH["size"].to_numpy()) / N
    assert sampling.reshape(-1, 2, 2)[0] == pytest.approx(true, rel=0.1)
    assert np.abs(noise).max() < np.abs(true).max()


def test_a_census_has_no_sampling_error_and_less_noise() -> None:
    for relation in Relation:
        census = design(relation, target=Target.FILE)
        mechanism = census.choice(BUDGET).mechanism
        sums = open_source(TRUTH).sums(census.query(mechanism))
        read = estimate(
            FUNCTIONS[0], SideBySide((census.totals(census.table(sums, mechanism, SimulatedNoise(1)), mechanism),))
        )
        assert read.sampling_error[0] == pytest.approx(0.0, abs=1e-6)
        assert abs(read.value[0] - TRUTH["income"].to_numpy().mean()) < 5.0 * read.privacy_error[0]


def test_what_is_declared_complete_and_is_not_stops_before_noise() -> None:
    planned = design(Relation.ADD_REMOVE)
    mechanism = planned.choice(BUDGET).mechanism
    holes = TRUTH.set_column(1, "size", pa.array([None, *TRUTH["size"].to_pylist()[1:]]))
    sums = open_source(holes).sums(planned.query(mechanism))
    with pytest.raises(SpentError, match="HG602"):
        planned.table(sums, mechanism, SimulatedNoise(1))
