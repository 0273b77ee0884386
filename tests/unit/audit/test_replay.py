"""Grey-box replay: silent on the library, and loud on a release that branches, logs, draws or fails by the data."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from hedgerow.audit.faults import BrokenSource
from hedgerow.audit.replay import RecordedNoise, Trace, draw_pair, public_functions, recording, replay, replay_pair
from hedgerow.engines.query import Query
from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.noisy_moments import mean_with_private_count
from hedgerow.mechanisms.resampled_sums import bootstrap
from hedgerow.noise.lattice import LatticeNoise
from hedgerow.release.designs.design import PublicFacts, complete
from hedgerow.release.plan import Plan, make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.mean import mean

TRUE = (BrokenSource((1.0, 9.0)), BrokenSource((1.0, 2.0)))


def plan_of_mean(**options: object) -> Plan:
    request = parse_request(mean("value", bounds=(0, 10), step=1), epsilon=1.0, **options)
    return make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 2))


@dataclass(frozen=True, slots=True)
class Sabotaged(BrokenSource):
    """A source that does something when a value above 5 is there."""

    sabotage: Callable[[], None] = lambda: None

    def histogram(self, query: Query) -> Histogram:
        if max(self.values) > 5.0:
            self.sabotage()
        return BrokenSource.histogram(self, query)


def test_the_library_shows_neighbours_nothing() -> None:
    """4 pairs × every function, two of them replace-one; one of these goes through a CSV file."""
    found = replay(4, seed=11, csv_every=4)
    assert found.divergences == () and found.largest_excess <= 1.0 + 1e-9 and found.passes
    assert found.functions >= 24 and found.replays >= 4 * 22
    assert found.largest_excess > 0.5, "pairs that hardly move would show nothing"


def test_every_statistic_grouping_and_policy_is_replayed() -> None:
    names = " ".join(function.name for function in public_functions())
    for word in ("mean", "sum", "count", "proportion", "by group", "the rest", "midpoint", "complete", "pure"):
        assert word in names


def raise_it() -> None:
    raise ValueError("9.0")


@pytest.mark.parametrize(
    ("sabotage", "part"),
    [
        (lambda: logging.getLogger("hedgerow").info("large"), "steps"),
        (lambda: warnings.warn("large", UserWarning, stacklevel=1), "steps"),
        (lambda: print("large"), "steps"),
        (raise_it, "ending"),
    ],
    ids=["a log record", "a warning", "a print", "an error"],
)
def test_what_depends_on_the_data_is_seen(sabotage: Callable[[], None], part: str) -> None:
    first, second = (Sabotaged(source.values, sabotage=sabotage) for source in TRUE)
    differences, _ = replay_pair(plan_of_mean(), first, second, seed=1)
    assert any(one.startswith(part) for one in differences)
    assert replay_pair(plan_of_mean(), *TRUE, seed=1)[0] == []


def test_a_draw_whose_size_or_width_depends_on_the_data_is_seen() -> None:
    traces = [Trace(), Trace(), Trace()]
    for trace, width, size in zip(traces, (5.0, 5.0, 6.0), (3, 4, 3), strict=True):
        RecordedNoise(1, trace).discrete_gaussian(width, size)
    assert traces[0].differences(traces[1]) and traces[0].differences(traces[2])
    assert not traces[0].differences(traces[0])


def test_a_branch_on_the_data_is_seen_by_its_lines() -> None:
    """A column that was falsely declared complete is refused on a path of its own."""
    trace, other = Trace(), Trace()
    for one, missing in ((trace, 0), (other, 1)):
        empty = np.zeros(0, dtype=np.int64)
        with recording(one):
            complete(Histogram(empty, empty, empty, np.array([missing]), 0), Missing.DECLARED_COMPLETE)
    assert trace.lines and any(text.startswith("lines") for text in trace.differences(other))


def test_movements_beyond_what_was_declared_are_seen() -> None:
    plan = plan_of_mean()
    _, true = replay_pair(plan, BrokenSource((0.0, 0.0)), BrokenSource((0.0, 10.0)), seed=1)
    _, broken = replay_pair(plan, BrokenSource((0.0, 0.0), clamp=False), BrokenSource((0.0, 30.0), clamp=False), seed=1)
    assert 0.5 < true <= 1.0 + 1e-9 < broken


def test_excess_is_measured_in_units_of_the_declared_sensitivity() -> None:
    counts = GeometricCounts(1.0, cells=3)
    assert counts.excess(Relation.REPLACE_ONE, np.array([[1.0], [-1.0], [0.0]])) == 1.0
    assert counts.excess(Relation.REPLACE_ONE, np.array([[2.0], [0.0], [0.0]])) == 2.0
    resampled = bootstrap(3, "value")
    same = np.full((1, 1, 3), 2.0 * resampled.coordinates[0].reach)
    assert resampled.excess(Relation.REPLACE_ONE, same) == 1.0
    mechanism = mean_with_private_count(Relation.ADD_REMOVE)
    thin = replace(mechanism.noise, count=LatticeNoise(10_000, 10))
    one = np.array([[1.0, 0.0, 0.0]])
    assert replace(mechanism, noise=thin).excess(Relation.ADD_REMOVE, one) <= 1.0


def test_neighbours_are_neighbours() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        pair = draw_pair(Relation.REPLACE_ONE, rng)
        assert len(pair.first) == len(pair.second)
        assert sum(repr(a) != repr(b) for a, b in zip(pair.first, pair.second, strict=True)) <= 1
        left = draw_pair(Relation.ADD_REMOVE, rng, complete=True)
        assert len(left.first) == len(left.second) + 1
        assert all(None not in (one.value, one.works) for one in left.first)
