"""Made-up people, and margins of them that are drawn with a given noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import hedgerow as hg
from hedgerow.margins.margin_tables import Margins
from hedgerow.margins.release_margins import PlannedMargins, plan_margins
from hedgerow.noise.lattice import NoiseSource
from hedgerow.release.execute import draw_tables, read_histograms

BY: dict[str, Any] = {"sex": ["f", "m"], "region": ["N", "S", "W"], "old": [0, 1], "job": ["a", "b", "c", "d"]}
COMPLETE: dict[str, Any] = {"missing": "error-if-declared-complete"}


def people(n: int = 3000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.55, 0.45])
    region = rng.choice(["N", "S", "W"], n, p=[0.6, 0.3, 0.1])
    old = (rng.random(n) < np.where(sex == "f", 0.4, 0.2)).astype(int)
    job = rng.choice(["a", "b", "c", "d"], n, p=[0.7, 0.25, 0.045, 0.005])
    return pa.table({"sex": sex, "region": region, "old": old, "job": job})


def crossed(table: pa.Table, by: dict[str, Any] = BY) -> np.ndarray:
    """Return the crossing of all columns, counted by hand."""
    whole = np.zeros([len(values) for values in by.values()])
    for row in table.to_pylist():
        whole[tuple(values.index(row[column]) for column, values in by.items())] += 1
    return whole


def summed(whole: np.ndarray, columns: tuple[str, ...], by: dict[str, Any] = BY) -> np.ndarray:
    return whole.sum(axis=tuple(at for at, column in enumerate(by) if column not in columns))


def planned(survey: hg.Survey, **options: Any) -> PlannedMargins:
    return plan_margins(survey._opened(), **({"by": BY, "order": 3, "epsilon": 1.0} | options))


def many(survey: hg.Survey, noises: Iterable[NoiseSource], **options: Any) -> Iterator[Margins]:
    """Yield the margins of one plan and one reading, with each noise."""
    plan = planned(survey, **options)
    with plan.reading() as source:
        answers = read_histograms(plan.plan, source)
        for noise in noises:
            (table,) = draw_tables(plan.plan, answers, noise)
            assert table is not None
            yield plan.tables(table, None, source="made up")


def drawn(survey: hg.Survey, noise: NoiseSource, **options: Any) -> Margins:
    (margins,) = many(survey, [noise], **options)
    return margins
