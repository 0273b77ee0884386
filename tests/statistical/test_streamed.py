"""Replicates of records in batches: the law of records in memory, exact sums on every engine, one price."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.contracts.continuous_people import RATE, continuous_people

import hedgerow as hg
from hedgerow.audit.replay import SilentNoise, replay_pair
from hedgerow.engines import frame_source, streamed
from hedgerow.errors import SpentError
from hedgerow.noise.secure import SecureNoise
from hedgerow.progress import Work
from hedgerow.release.designs import row_bootstrap
from hedgerow.release.designs.replicates_read import ResampledSmooth
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.resampling import replicates as resampled
from hedgerow.resampling.counted_values import Histogram
from hedgerow.resampling.replicates import ExactTotal, StreamedReplicates, Tally, poisson_replicates, record_weights
from hedgerow.testing import simulated
from hedgerow.testing.simulated import SimulatedNoise

ACCEPT, REJECT = 1e-6, 1e-12
ROWS = 501


def asked_of(values: np.ndarray, k: int, chance: Any, **further: Any) -> StreamedReplicates:
    """Return replicates of the sum of these values: record i has the index i."""
    reach = int(np.abs(values).max())
    return StreamedReplicates(1, len(values), lambda index: values[index, None], (reach,), k, 1.0, chance, **further)


def in_batches(asked: StreamedReplicates, sizes: list[int]) -> np.ndarray:
    tally, ends = asked.tally(), np.cumsum(sizes)
    for first, last in zip(ends - sizes, ends, strict=True):
        tally.take(np.arange(first, last) + 1)
    return np.asarray(tally.sums.value()[0, 0])


@pytest.mark.parametrize("most", [None, 2])
def test_weights_are_poisson_and_independent(most: int | None) -> None:
    """150,000 weights from the secure generator; a rate 5 % off, and a neighbour's weight, are rejected."""
    generator = SecureNoise().generator()
    drawn = record_weights(1500, rate=1.0, n_resamples=100, generator=generator, most=most)
    top = 6 if most is None else most

    def p_value(claimed: float) -> float:
        chances = stats.poisson.pmf(np.arange(top + 1), claimed)
        chances[-1] = stats.poisson.sf(top - 1, claimed)
        observed = np.bincount(np.minimum(drawn.ravel(), top), minlength=top + 1)
        return float(stats.chisquare(observed, chances * drawn.size).pvalue)

    def pair(weights: np.ndarray, other: np.ndarray) -> float:
        table = np.histogram2d(np.minimum(weights, 2).ravel(), np.minimum(other, 2).ravel(), 3)[0]
        return float(stats.chi2_contingency(table).pvalue)

    assert drawn.max() <= (most or 99)
    assert p_value(1.0) > ACCEPT and p_value(1.05) < REJECT
    assert pair(drawn[:, :-1], drawn[:, 1:]) > ACCEPT and pair(drawn[:-1], drawn[1:]) > ACCEPT
    assert pair(drawn, drawn) < REJECT


def test_all_weights_of_three_records_have_their_chance() -> None:
    """20,000 replicates of (r1, r2, r3), batches of two and one, against the product of Poisson laws."""
    k, law = 20_000, np.append(stats.poisson.pmf([0, 1], 1.0), stats.poisson.sf(1, 1.0))
    expected = (law[:, None, None] * law[:, None] * law).ravel() * k

    def p_value(sums: np.ndarray) -> float:
        # Nobody is drawn 100 times, so a sum tells each of its weights.
        digits = np.minimum([sums // 10_000, sums // 100 % 100, sums % 100], 2)
        return float(stats.chisquare(np.bincount(digits.T @ [9, 3, 1], minlength=27), expected).pvalue)

    asked = asked_of(np.array([10_000, 100, 1]), k, SimulatedNoise(5))
    assert p_value(in_batches(asked, [2, 1])) > ACCEPT
    tied = in_batches(replace(asked, chance=SimulatedNoise(6)), [3])
    assert p_value(tied) > ACCEPT
    assert p_value(tied // 10_000 * 10_101) < REJECT  # one weight for all


def test_batches_have_the_law_of_records_in_memory() -> None:
    """6,000 replicates of 240 skewed records with ties; weights that batches share are rejected."""
    k, rng = 6_000, np.random.default_rng(7)
    values = np.append(rng.geometric(0.1, 239), 400)
    histogram = Histogram(*np.zeros((1, 240), np.int64), np.arange(240), np.ones(240, np.int64), np.zeros(1, int), 0)
    whole = poisson_replicates(histogram, values[:, None], n_resamples=k, rate=1.0, generator=rng)[0, 0]

    def p_value(sums: np.ndarray) -> float:
        jitter = rng.uniform(-0.5, 0.5, (2, k))
        return float(stats.ks_2samp(sums + jitter[0], whole + jitter[1]).pvalue)

    assert p_value(in_batches(asked_of(values, k, SimulatedNoise(8)), [40] * 6)) > ACCEPT
    # The weights of the first batch for each of the others.
    shared = in_batches(asked_of(values.reshape(6, 40).sum(axis=0), k, SimulatedNoise(9)), [40])
    assert p_value(shared) < REJECT


@given(
    parts=st.lists(st.lists(st.integers(-(2**70), 2**70), min_size=2, max_size=2), max_size=8),
    small=st.lists(st.integers(-(2**62) + 1, 2**62 - 1), max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_no_total_wraps_around(parts: list[list[int]], small: list[int]) -> None:
    total = ExactTotal((2,))
    for part in parts:
        total.add(np.array(part, dtype=object))
    for number in small:
        total.add(np.array([number, -number]))
    exact = [sum(part[place] for part in parts) + sign * sum(small) for place, sign in ((0, 1), (1, -1))]
    assert [int(one) for one in total.value()] == exact


def test_what_is_packed_elsewhere_is_the_same_sum() -> None:
    """Sums beyond 64 bits, cells, missing values and records outside survive the way from an executor."""
    values = np.array([3, -(2**45), 2**45, 5])
    asked = replace(asked_of(values, 3, SilentNoise()), cells=2)
    here, there = asked.tally(), asked.tally()
    keys = np.array([1, 2, 5 + 3, 5 + 4, 0, 5, -3, -4])
    for _ in range(2):
        there.take(keys)
    here.take(keys[:3])
    packed = {name: np.array(numbers, dtype=np.int64) for name, numbers in there.packed().items()}
    here.absorb(**packed)
    assert here.sums.value()[:, 0, 0].tolist() == [3 * (3 - 2**45), 2**45 * 3 + 10]
    assert (here.missing.tolist(), here.outside, here.total()) == ([2, 2], 4, 19)
    huge = asked.tally()
    huge.sums.add(np.full((2, 1, 3), 3 * 2**70, dtype=object))
    here.absorb(**{name: np.array(numbers, dtype=np.int64) for name, numbers in huge.packed().items()})
    assert int(here.sums.value()[0, 0, 0]) == 3 * (3 - 2**45) + 3 * 2**70


def test_parts_of_a_seeded_tally_start_elsewhere() -> None:
    """Partitions that a cluster reads have weights of their own; one generator for all would give them the same."""
    asked = asked_of(np.ones(500, np.int64), 20, SimulatedNoise(3))
    drawn = []
    for part in (0, 1):
        tally = replace(asked, chance=SimulatedNoise(3)).tally(part)
        tally.take(np.arange(500) + 1)
        drawn.append(tally.sums.value().tolist())
    assert drawn[0] != drawn[1]


def people() -> pd.DataFrame:
    return continuous_people(ROWS, seed=4)


OPTIONS: dict[str, Any] = {"epsilon": 1.0, "n_resamples": 5, "by": {"group": [0, 1]}, "where": "x > 20"}


def parquet(frame: pd.DataFrame, folder: Path) -> Any:
    pq.write_table(pa.Table.from_pandas(frame), folder / "people.parquet", row_group_size=100)
    return folder / "people.parquet"


def csv(frame: pd.DataFrame, folder: Path) -> Any:
    frame.to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


def sqlite(frame: pd.DataFrame, folder: Path) -> Any:
    with closing(sqlite3.connect(folder / "people.sqlite")) as connection, connection:
        frame.to_sql("people", connection, index=False)
    return folder / "people.sqlite"


SOURCES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "pandas": lambda frame, _: frame,
    "pyarrow": lambda frame, _: pa.Table.from_pandas(frame),
    "polars": lambda frame, _: pl.from_pandas(frame, nan_to_null=True),
    "polars, lazy": lambda frame, folder: pl.scan_parquet(parquet(frame, folder)),
    "duckdb": lambda frame, _: duckdb.from_arrow(pa.Table.from_pandas(frame)),
    "parquet": parquet,
    "csv": csv,
    "sqlite": sqlite,
}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(resampled, "BATCH", 37)
    monkeypatch.setattr(streamed, "READ", 64)
    monkeypatch.setattr(frame_source, "READ", 64)
    yield


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("kind", SOURCES)
def test_each_record_is_taken_once_on_every_engine(kind: str, tmp_path: Path) -> None:
    """With every record drawn once and without noise the table is that of the records counted by value."""
    survey = hg.open(SOURCES[kind](people(), tmp_path), relation="replace-one")
    source: Any = survey.source
    plan = survey.plan(RATE, missing="drop", **OPTIONS)
    design: Any = plan.items[0].design
    assert design.streams
    (found,) = draw_tables(plan, read_histograms(plan, source), SilentNoise())
    (counted,) = draw_tables(plan, {design.query: source.histogram(design.query)}, SilentNoise())
    assert found is not None and counted is not None
    assert found.values.tolist() == counted.values.tolist()
    assert found.values[:, -1].sum() > 0


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("sabotage", ["none", "dropped", "twice"])
def test_a_batch_that_is_lost_or_repeated_is_noticed(sabotage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums differ, and where the number of records is public nothing is released."""
    take, taken = Tally._take, []

    def faulty(self: Tally, keys: np.ndarray) -> None:
        taken.append(len(keys))
        times = 1 if len(taken) != 2 else {"none": 1, "dropped": 0, "twice": 2}[sabotage]
        for _ in range(times):
            take(self, keys)

    survey = hg.open(people(), relation="replace-one")
    plan = survey.plan(RATE, missing="drop", **OPTIONS)
    unknown = replace(plan, facts=replace(plan.facts, n=None))
    (exact,) = draw_tables(unknown, read_histograms(unknown, survey.source), SilentNoise())
    monkeypatch.setattr(Tally, "_take", faulty)
    (found,) = draw_tables(unknown, read_histograms(unknown, survey.source), SilentNoise())
    taken.clear()
    if sabotage == "none":
        assert found.values.tolist() == exact.values.tolist()  # type: ignore[union-attr]  # tables of replicates
        survey.release(RATE, missing="drop", **OPTIONS)
        return
    assert found.values.tolist() != exact.values.tolist()  # type: ignore[union-attr]  # tables of replicates
    with pytest.raises(SpentError, match="HG603"):
        survey.release(RATE, missing="drop", **OPTIONS)


@pytest.mark.parametrize(("relation", "estimator"), [("replace-one", "bootstrap"), ("add-remove", "bounded-bootstrap")])
def test_price_and_answer_are_those_of_the_other_path(
    relation: str, estimator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One certificate, byte for byte; estimates and replicates of one law, compared over 40 simulated releases."""
    survey, certificates, found = hg.open(people(), relation=relation), [], []
    options = {"epsilon": 20.0, "delta": 1e-6, "n_resamples": 10, "missing": "drop", "estimator": estimator}
    for most in (row_bootstrap.MOST_COUNTED, 2**62):
        monkeypatch.setattr(row_bootstrap, "MOST_COUNTED", most)
        design: Any = survey.plan(RATE, **options).items[0].design
        assert design.streams == (most < 2**62)
        released: Any = survey.release(RATE, **options)
        certificates.append(released.certificate.to_json())
        study = simulated.Study.of(survey, RATE, **options)
        rng = np.random.default_rng(most % 97)
        drawn: list[Any] = [study.draw(SimulatedNoise(rng))[0] for _ in range(40)]
        found.append([one for estimate in drawn for one in estimate.replicates])
    assert certificates[0] == certificates[1]
    assert stats.ks_2samp(*found).pvalue > ACCEPT
    assert stats.ks_2samp(found[0], np.mean(found[1]) + 2 * (found[1] - np.mean(found[1]))).pvalue < 1e-4


def test_what_is_declared_decides_the_path() -> None:
    """Grids and groups alone: neither the records nor how many there are."""

    def streams(frame: pd.DataFrame, asked: Any = RATE, **options: Any) -> bool:
        plan = hg.open(frame, relation="add-remove").plan(asked, epsilon=1.0, missing="drop", **options)
        design: Any = plan.items[0].design
        return bool(design.streams)

    few = pd.DataFrame({name: [1.0] for name in "xyz"} | {"group": [0]})
    assert streams(few) and streams(people())
    coarse = hg.bootstrap(lambda t: t["x"] / t["y"], columns={name: (0, 100, 1) for name in "xy"}, name="rate")
    assert not streams(few, coarse) and not streams(people(), coarse)
    assert streams(few, coarse, by={"group": list(range(1000))})
    fine = hg.mean("x", bounds=(0, 100), step=1e-5)
    assert streams(few, fine, estimator="bootstrap") and not streams(few, hg.count(), estimator="bootstrap")


@pytest.mark.usefixtures("small_batches")
def test_progress_counts_batches_where_their_number_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, float]] = []
    monkeypatch.setattr(Work, "show", lambda self, what, done: said.append((what, done)))
    monkeypatch.setattr(row_bootstrap, "READ", 64)
    hg.open(people(), relation="add-remove").release(RATE, missing="drop", **OPTIONS)
    assert not said
    hg.open(people(), relation="replace-one").release(RATE, missing="drop", **OPTIONS)
    assert said[0][0] == "Resampling batch 1 of 8" and said[-1] == ("Resampling batch 8 of 8", 1.0)


def test_midpoints_fill_missing_values() -> None:
    """A single column of a fine grid: the exact table is that of records counted by value."""
    frame = people()
    survey = hg.open(frame, relation="replace-one")
    plan = survey.plan(
        hg.mean("y", bounds=(0, 100), step=1e-5), epsilon=1.0, estimator="bootstrap", missing="midpoint", n_resamples=5
    )
    design: Any = plan.items[0].design
    (found,) = draw_tables(plan, read_histograms(plan, survey.source), SilentNoise())
    (counted,) = draw_tables(plan, {design.query: survey.source.histogram(design.query)}, SilentNoise())
    assert design.streams and found.values.tolist() == counted.values.tolist()


def test_a_column_declared_complete_must_be() -> None:
    with pytest.raises(SpentError, match="HG602"):
        hg.open(people(), relation="replace-one").release(
            RATE, epsilon=1.0, n_resamples=5, missing="error-if-declared-complete"
        )


def test_products_of_ours_are_made_at_once_and_of_a_user_s_functions_record_by_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same integers both ways; a function that looks across records is never given more than one."""
    index = np.random.default_rng(2).integers(0, 1025**2, 300)
    bounds = {name: (0, 100) for name in "xy"}
    own = hg.bootstrap(
        lambda t: t["f"], columns=bounds, features={"f": (lambda c: c["x"] - c["x"].mean(), (-100, 100))}, name="own"
    )
    asked = [hg.covariance("x", "y", bounds=bounds), hg.correlation("x", "y", bounds=bounds)]
    ours = [ResampledSmooth(one).features(index).tolist() for one in asked]
    assert not ResampledSmooth(own).features(index)[:, 0].any()
    monkeypatch.setattr("hedgerow.release.designs.replicates_read.of_each_alone", lambda function: False)
    assert [ResampledSmooth(one).features(index).tolist() for one in asked] == ours
    # The sabotage: all functions are taken for ours.
    monkeypatch.setattr("hedgerow.release.designs.replicates_read.of_each_alone", lambda function: True)
    assert ResampledSmooth(own).features(index)[:, 0].any()


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "parquet"])
def test_neighbours_run_the_same_lines_and_draw_the_same_noise(kind: str, relation: str, tmp_path: Path) -> None:
    """One record and none under add-remove; one record and another, missing and distant, under replace-one."""
    first = people().head(1)
    second = first.head(0) if relation == "add-remove" else first.assign(x=np.nan, y=1e300)
    surveys = []
    for place, frame in enumerate((first, second)):
        (folder := tmp_path / str(place)).mkdir()
        surveys.append(hg.open(SOURCES[kind](frame, folder), relation=relation))
    plan = surveys[0].plan(RATE, missing="drop", **OPTIONS)
    differences, moved = replay_pair(plan, *(survey.source for survey in surveys), seed=3)
    assert plan.streamed() and not differences and moved <= 1.0
