"""Mutants rejected from inside: by the law of draws, the lattice, replay on neighbours, brute force, enumeration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.attacks.exact import exact_epsilon_lower
from hedgerow.audit.attacks.lattice import off_lattice
from hedgerow.audit.attacks.law import has_law
from hedgerow.audit.mutants.mutant import Rejection
from hedgerow.audit.replay.replay import replay_pair
from hedgerow.audit.worst_pairs.specimens import mean_with_private_count
from hedgerow.engines.query import Query, SumsQuery, ValueOnGrid
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.mechanisms.mechanism import GeometricCounts
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.plan import Plan, make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.grid_sums import GridSums
from hedgerow.resampling.histogram import Histogram
from hedgerow.statistics.mean import mean
from hedgerow.testing.simulated import SimulatedNoise

ALPHA = 1e-6
_WIDTH = float(2**20)


def noise_two_per_cent_low(seed: int) -> Rejection:
    """Draw Gaussian noise .98 times as wide as asked for."""
    draws = 100_000
    drawn = SimulatedNoise(seed).discrete_gaussian(0.98 * _WIDTH, draws)
    test = has_law(drawn, "gaussian", _WIDTH, alpha=ALPHA)
    spread = test.statistics[-1]
    said = f"spread {spread.value:.4f}, allowed {spread.low:.4f} to {spread.high:.4f}, {draws:,} draws"
    return Rejection(not test.accepted, said)


def wrong_relation(seed: int) -> Rejection:
    """Price counts by group for add-remove and claim it for replace-one, under which a record moves two counts."""
    mechanism = GeometricCounts(1.0, cells=2)
    claimed = profile_of(mechanism, Relation.ADD_REMOVE).epsilon_upper(1e-6)
    found = exact_epsilon_lower(mechanism, Relation.REPLACE_ONE, 1e-6)
    said = f"ε = {found:.4g} at δ = 1e-06 by enumeration, claimed {claimed:.4g}"
    return Rejection(found > claimed, said, found, claimed)


def float_noise(seed: int) -> Rejection:
    """Draw the noise of a mean as doubles, and add it as it is."""
    mechanism = mean_with_private_count(Relation.ADD_REMOVE)
    data = mechanism.worst_pairs(Relation.ADD_REMOVE)[0].histograms()[0]
    outputs = mechanism.outputs(data, 1000, SimulatedNoise(seed))
    floated = outputs + np.random.default_rng(seed).normal(0.0, 1.0, outputs.shape)
    found, true = off_lattice(floated, mechanism), off_lattice(outputs, mechanism)
    said = f"{found:,} of {outputs.size:,} numbers off the lattice; {true} of the true ones"
    return Rejection(found > 0 and true == 0, said)


def clamp_dropped(seed: int) -> Rejection:
    """Put values out of bounds on the grid without clamping them to it."""
    _, moved = replay_pair(_plan(), *_sources((1.0, 1e6), (1.0, 2.0), clamp=False), seed=seed)
    _, true = replay_pair(_plan(), *_sources((1.0, 1e6), (1.0, 2.0)), seed=seed)
    said = f"a record moves the table {moved:.3g} times as far as declared; clamped, {true:.3g} times"
    return Rejection(moved > 1.0 >= true - 1e-9, said)


def nan_let_through(seed: int) -> Rejection:
    """Let NaN, not recognised as missing, reach the conversion to whole numbers."""
    nan = ((1.0, math.nan), (1.0, 2.0))
    found, _ = replay_pair(_plan(), *_sources(*nan, screen=False), seed=seed)
    true, _ = replay_pair(_plan(), *_sources(*nan), seed=seed)
    first = (found or ["none"])[0].split(":")[0]
    said = f"{len(found)} differences between neighbours, the first in the {first}; screened, {len(true)}"
    return Rejection(bool(found) and not true, said)


@dataclass(frozen=True, slots=True)
class BrokenSource:
    """Numbers put on the grid by hand, with the screening of NaN and the clamping each optional."""

    values: tuple[float, ...]
    clamp: bool = True
    screen: bool = True

    @property
    def name(self) -> str:
        """A name."""
        return "broken"

    @property
    def columns(self) -> Mapping[str, str]:
        """One column."""
        return {"value": "number"}

    def check(self, query: Query | SumsQuery) -> None:
        """Answer means of the one column alone."""
        if not isinstance(query, Query) or not isinstance(query.value, ValueOnGrid):
            raise ParameterError("HG520", rule="This source is for one kind of question.", finding="Found another.")

    def histogram(self, query: Query) -> Histogram:
        """Count by grid index, with what is broken left out."""
        self.check(query)
        grid = query.value.grid  # type: ignore[union-attr]  # as just checked
        low, high = grid.as_bounds()
        step = (high - low) / grid.steps
        index = []
        for value in self.values:
            if self.screen and not math.isfinite(value):
                index.append(-1)
                continue
            bounded = min(max(value, low), high) if self.clamp else value
            index.append(math.floor((bounded - low) / step + 0.5))
        ones = np.ones(len(index), dtype=np.int64)
        return Histogram.from_triplets(np.zeros(len(index), dtype=np.int64), np.array(index), ones, cells=1)

    def sums(self, query: SumsQuery) -> GridSums:
        """Refuse: see `check`."""
        self.check(query)
        raise TypeError("checked")

    def count_rows(self) -> int:
        """Return the number of values."""
        return len(self.values)


def _sources(
    first: tuple[float, ...], second: tuple[float, ...], *, clamp: bool = True, screen: bool = True
) -> tuple[BrokenSource, BrokenSource]:
    return BrokenSource(first, clamp, screen), BrokenSource(second, clamp, screen)


def _plan() -> Plan:
    request = parse_request(mean("value", bounds=(0, 10), step=1), epsilon=1.0, missing=str(Missing.DROP))
    return make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 2))
