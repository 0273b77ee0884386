"""95 % intervals of totals with bounds by cell: no cell significantly below 94 %, and the test has power.

1,000 runs a setting, seeded; the cells and their laws are those of `simulations/tables.py`, with bounds of
100, 60 and 25 by the first column: truths are totals of values clamped to their own cell's bounds.
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.statistical.simulations.tables import BY, SHARES, TOP, N, histogram_of, value_laws

import hedgerow as hg
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation, Target
from hedgerow.release.execute import draw_tables
from hedgerow.tables.release_table import read_table
from hedgerow.tables.table_options import choose_by_cell
from hedgerow.testing.simulated import SimulatedNoise

RUNS = 1000
TOPS = {"a": TOP, "b": 60, "c": 25}


def covered(relation: str, target: str, noise: str, epsilon: float, *, sabotage: bool = False, seed: int = 1) -> Any:
    """Return how often each of twelve cells was covered; sabotaged, with the narrowest privacy error for all."""
    told, fixed = Protection(Relation(relation), "row", Target(target), ()), relation == "replace-one"
    options: dict[str, Any] = {"by": BY, "epsilon": epsilon, "noise": noise, "sensitivity": "per-cell"}
    options |= {
        "delta": 0.0 if noise == "geometric" else 1e-6,
        "cell_bounds": {"size": {s: (0, t) for s, t in TOPS.items()}},
    }
    choice = choose_by_cell(hg.sum("value", bounds=(0, TOP), step=1), told, None, n=N if fixed else None, **options)
    query = choice.plan.items[0].design.query
    value = np.minimum(np.arange(TOP + 1), np.repeat(list(TOPS.values()), 4)[:, None])
    law, rng, found = SHARES[:, None] * value_laws(), np.random.default_rng([20261122, seed]), np.zeros(12, dtype=int)
    expected, source = N * (law * value).sum(axis=1), SimulatedNoise(rng)
    for _ in range(RUNS):
        drawn = rng.multinomial(N if fixed else rng.poisson(N), law.ravel()).reshape(law.shape)
        truth = expected if target == "population" else (drawn * value).sum(axis=1)
        (table,) = draw_tables(choice.plan, {query: histogram_of(drawn, valued=True)}, source)
        assert table is not None
        read = read_table(choice, table, None, source="simulated").columns(0.95)
        low, high = read.low, read.high
        if sabotage:
            error = np.hypot(read.sampling_error, read.privacy_error.min())
            low, high = read.estimate - 1.96 * error, read.estimate + 1.96 * error
        found += (low <= truth) & (truth <= high)
    return found


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("target", ["population", pytest.param("file", marks=pytest.mark.long)])
@pytest.mark.parametrize(("noise", "epsilon"), [("geometric", 0.5), ("geometric", 4.0), ("gaussian", 1.0)])
def test_every_cell_covers(relation: str, target: str, noise: str, epsilon: float) -> None:
    found = covered(relation, target, noise, epsilon)
    assert not (stats.binom.cdf(found, RUNS, 0.94) < 1e-6).any(), found
    assert found.mean() / RUNS < 0.985


def test_one_error_for_all_cells_is_caught() -> None:
    """Sabotage: "one error": every cell gets the privacy error of the narrowest."""
    found = covered("replace-one", "file", "geometric", 1.0, sabotage=True)
    assert stats.binom.cdf(int(found[:4].sum()), 4 * RUNS, 0.94) < 1e-12
    assert not stats.binom.cdf(int(found[8:].sum()), 4 * RUNS, 0.92) < 1e-12
