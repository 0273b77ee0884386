"""A predicate is a function of one record: the same groups in fit, predict and metrics, in frames of every library."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hedgerow.errors import DataError, ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.multicalibration import (
    Multicalibrator,
    family_of,
    multicalibration_error,
    noise_floor,
)
from hedgerow.multicalibration.family import Family, RecordColumns, records_of
from hedgerow.multicalibration.model_file import model_from_text, model_text
from hedgerow.multicalibration.predicates import FAILED, ElementwiseColumn, values_in

N = 60
NAN = float("nan")


def _cells() -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    day = [datetime(2019 + i % 3, 1 + i % 12, 3) for i in range(N)]
    made: dict[str, list[Any]] = {
        "sex": rng.choice(["Female", "Male"], N).tolist(),
        "race": rng.choice(["White", "Black", "Other"], N).tolist(),
        "age": rng.integers(17, 90, N).tolist(),
        "kids": rng.integers(0, 4, N).tolist(),
        "pay": rng.random(N).round(3).tolist(),
        "flag": rng.choice([True, False], N).tolist(),
        "day": day,
    }
    for place, name in enumerate(("race", "age", "flag", "day")):
        for row in range(place, N, 7):
            made[name][row] = None
    return {**made, "score": [0.5] * N}


CELLS = _cells()
ARROW = pa.table(CELLS)
FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(CELLS),
    "pandas nullable": lambda: pd.DataFrame(CELLS).convert_dtypes(),
    "pandas of Arrow": lambda: pd.DataFrame(CELLS).convert_dtypes(dtype_backend="pyarrow"),
    "pandas category": lambda: pd.DataFrame(CELLS).convert_dtypes().astype("category").assign(score=0.5),
    "pandas object": lambda: pd.DataFrame(CELLS, dtype=object),
    "Polars": lambda: pl.DataFrame(CELLS),
    "Polars categorical": lambda: pl.DataFrame(CELLS).cast({"sex": pl.Categorical, "race": pl.Categorical}),
    "Arrow": lambda: ARROW,
    "Arrow dictionary": lambda: ARROW.set_column(1, "race", ARROW["race"].dictionary_encode()),
}
# In a column of numbers a missing number is NaN. Whether an object column holds numbers, its type does not tell.
UNTYPED = ("pandas object",)

# Predicate, and the plain function of one record where that is another: what is written as if of whole columns.
PREDICATES: dict[str, tuple[Callable[[Any], Any], Callable[[dict[str, Any]], Any] | None]] = {
    "and": (lambda x: x["sex"] == "Female" and x["race"] == "Black", None),
    "in": (lambda x: x["race"] in ("Black", "Other"), None),
    "in a set": (lambda x: x["race"] in {"Black", "Other"}, None),
    "not": (lambda x: not x["sex"].endswith("Male"), None),
    "not of a missing number": (lambda x: not x["age"] > 40, None),
    "text method": (lambda x: x["race"].startswith("B"), None),
    "text parts": (lambda x: len(x["race"]) == 5 and x["race"][0] == "W", None),
    "search": (lambda x: re.search("l(.)", x["race"]).group(1) == "a", None),
    "look-up": (lambda x: {"Black": 1, "Other": 0}[x["race"]], None),
    "chained": (lambda x: 30 <= x["age"] < 50, None),
    "one or nought": (lambda x: 1 if x["sex"] == "Female" else 0, None),
    "is None": (lambda x: x["race"] is None, None),
    "is None, whole": (lambda x: (x["race"] is None) | (x["kids"] > 2), None),
    "type": (lambda x: isinstance(x["race"], str) & (x["kids"] > 1), None),
    "boolean": (lambda x: x["flag"], None),
    "not boolean": (lambda x: not x["flag"] and x["kids"] > 1, None),
    "two columns": (lambda x: x["kids"] * 20 > x["age"], None),
    "beyond 64 bits": (lambda x: x["kids"] ** 50 > 2**70, None),
    "divided by nought": (lambda x: 1 / x["kids"] > 0.4, None),
    "divided by nought, alone": (lambda x: x["pay"] < 0.5 and 1 / x["kids"] > 0.4, None),
    "date": (lambda x: x["day"] >= datetime(2020, 1, 1), None),
    "part of a date": (lambda x: x["day"].year == 2020, None),
    "missing": (lambda x: x["race"] != x["race"] or x["age"] != x["age"], None),
    "attribute": (
        lambda x: (x.age > 40) & (x.get("sex") == "Male") & (x.get("none", 1) == 1),
        lambda x: x["age"] > 40 and x["sex"] == "Male",
    ),
    "not, whole": (
        lambda X: ~(X["age"] > 40) & ~X["sex"].isin(["Male"]),
        lambda x: not x["age"] > 40 and x["sex"] == "Female",
    ),
    "not boolean, whole": (lambda X: ~X["flag"], lambda x: not {True: True, False: False}[x["flag"]]),
    "or, whole": (
        lambda X: X["age"].between(30, 50) | (X["kids"] > 2),
        lambda x: 30 <= x["age"] <= 50 or x["kids"] > 2,
    ),
    "isna, whole": (lambda X: X["age"].isna(), lambda x: x["age"] is None or x["age"] != x["age"]),
    "NumPy": (lambda X: (np.log(X["pay"] + 1) > 0.4) & np.isfinite(X["kids"]), None),
}


def plainly(kind: str, predicate: Callable[[Any], Any]) -> list[bool]:
    """The answers of a plain Python loop over the records."""
    nought = None if kind in UNTYPED else NAN
    found = []
    for row in range(N):
        record = {name: cells[row] for name, cells in CELLS.items()}
        record["age"] = nought if record["age"] is None else record["age"]
        try:
            found.append(bool(predicate(record)))
        except Exception:
            found.append(False)
    return found


@pytest.mark.parametrize("kind", FRAMES)
def test_fit_predict_and_metrics_agree_with_a_plain_loop(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = FRAMES[kind](), np.arange(N) % 2
    seen: list[list[list[bool]]] = []

    classes_of = Family.classes

    def spied(family: Family, columns: RecordColumns) -> Any:
        found = classes_of(family, columns)
        if len(found):
            seen.append((found == 0).T.tolist())
        return found

    groups = {name: predicate for name, (predicate, _) in PREDICATES.items()}
    asked = Multicalibrator(groups=groups, depth=1, mechanism="rounds", relation="add-remove", epsilon=1.0)
    with monkeypatch.context() as patched:
        patched.setattr(Family, "classes", spied)
        asked.fit(X, y).predict_proba(X)
        multicalibration_error(y, [0.5] * N, groups, X=X)
        noise_floor([0.5] * N, groups, X=X, n_draws=2)
    assert len(seen) == 4
    for place, (name, (predicate, plain)) in enumerate(PREDICATES.items()):
        wanted = plainly(kind, plain or predicate)
        assert [found[place] for found in seen] == [wanted] * 4, name
        assert any(wanted) or name == "missing", name


@pytest.mark.parametrize("make", [lambda c: c, lambda c: {n: np.array(v, dtype=object) for n, v in c.items()}])
def test_mappings_of_lists_and_arrays_are_read_likewise(make: Any) -> None:
    family = family_of({name: predicate for name, (predicate, _) in PREDICATES.items()}, depth=1)
    found = family.classes(records_of(make(CELLS)))
    for place, (predicate, plain) in enumerate(PREDICATES.values()):
        assert (found[:, place] == 0).tolist() == plainly("pandas object", plain or predicate)


ACROSS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda X: X["a"] > X["a"].mean(),
    "NumPy's mean": lambda X: X["a"] > np.mean(X["a"]),
    "mean of an array": lambda X: X["a"] > np.asarray(X["a"]).mean(),
    "sum": lambda X: X["a"] > np.add.reduce(X["a"]) / 3,
    "Python's sum": lambda X: X["a"] > sum(X["a"]) / 3,
    "an entry": lambda X: X["a"] > X["a"][2] / 2,
    "number of records": lambda X: (X["a"] > 0) & (len(X) > 1),
    "so far": lambda X: X["a"] == np.maximum.accumulate(X["a"]) + 1,
    "rank": lambda X: X["a"].rank(pct=True) > 0.5,
    "order": lambda X: np.argsort(X["a"]) > 1,
    "median": lambda X: X["a"].to_numpy() > np.median(X["a"]),
    "another type": lambda X: (X["a"] > 5) if (X["a"] > 5) is None else [True] * len(X["a"]),
    "attribute": lambda X: X.a > X.a.max() - 1,
    "rows": lambda X: [row["a"] > 5 for row in X],
    "slice": lambda X: X[0:1]["a"] > 5,
    "behind an and": lambda x: x["s"] == "female" and x["a"] > x["a"].mean(),
    "behind two": lambda x: x["s"] in ("male", "female") and x["a"] > 42 and x["a"] > np.median(x["a"]),
}
WRONG: dict[str, Callable[[Any], Any]] = {
    "a text": lambda x: x["s"].upper(),
    "a number": lambda x: x["a"],
    "nothing": lambda x: None,
    "an array": lambda x: np.array([float(x["a"]) > 1]),
    "a text and a number": lambda x: x["s"] > 3,
    "behind an and": lambda x: x["a"] > 42 and x["s"] > 3,
    "pandas' texts": lambda x: x["s"].str.startswith("B"),
    "no such name": lambda x: x["s"] == nobody,  # type: ignore[name-defined]  # noqa: F821 - what is tested
    "a bitwise not": lambda x: ~(x["a"] > 3) and x["s"] == "male",
}


@pytest.mark.parametrize("name", [*ACROSS, *(f"wrong: {name}" for name in WRONG)])
def test_what_one_record_does_not_answer_is_refused_before_anything_is_spent(name: str, tmp_path: Path) -> None:
    predicate = WRONG[name[7:]] if name.startswith("wrong: ") else ACROSS[name]
    place = tmp_path / "people.ledger"
    Ledger.create(place, dataset="people", budget=Budget(2.0, 1e-6), relation="replace-one", unit="row").close()
    told = set()
    for last in (9.0, -700.0, NAN):
        X = pd.DataFrame({"a": [1.0, 2.0, last], "s": ["male", "female", "x"], "score": 0.5})
        asked = Multicalibrator(groups={"g": predicate}, relation="replace-one", epsilon=1.0, ledger=place)
        for ask in (
            lambda asked=asked, X=X: asked.fit(X, [0, 1, 1]),
            lambda X=X: multicalibration_error([0, 1, 1], [0.5] * 3, {"g": predicate}, X=X),
        ):
            with pytest.raises(UncertifiedError) as refused:
                ask()
            told.add(str(refused.value))
    assert len(told) == 1 and refused.value.code == "HG440"
    with Ledger.open(place) as kept:
        assert kept.entries() == ()


@pytest.mark.parametrize("name", ACROSS)
def test_where_types_tell_nothing_no_predicate_sees_across_records_either(name: str) -> None:
    """It is refused, or its answers are those that each record has alone."""
    answers = []
    for other in (9.0, 1.5, -700.0):
        X = pd.DataFrame({"a": [1.0, 2.0, other], "s": "female"}, dtype=object)
        try:
            answers.append(family_of([ACROSS[name]]).classes(records_of(X)).ravel()[:2].tolist())
        except UncertifiedError as refused:
            answers.append([refused.code])
    assert answers[0] == answers[1] == answers[2]
    assert answers[0] == ["HG440"] or name in ("Python's sum", "an entry", "another type")


def test_a_predicate_sees_one_record_and_no_row_number() -> None:
    seen: list[tuple[type, Any]] = []

    def watching(person: Any) -> bool:
        if person["a"] > 1000:
            seen.append((type(person["a"]), person["a"]))
        return bool(person["a"] > 0)

    X = pd.DataFrame({"a": np.arange(2000, 2050, dtype=np.int32), "score": 0.5})
    Multicalibrator(groups=[watching], relation="add-remove", epsilon=1.0).fit(X, [0, 1] * 25)
    made_up, rows = seen[:-50], seen[-50:]
    assert rows == [(int, value) for value in range(2000, 2050)] and {value for _, value in made_up} == {1001}


def test_a_predicate_of_columns_is_called_once_for_all_records() -> None:
    """With 30,000 records a call each took 10 s; made-up records take the same number of calls for any number."""
    calls = []

    def young_women(X: Any) -> Any:
        calls.append(1)
        return (X["age"] < 30) & X["sex"].isin(["F"]) & np.isfinite(X["age"])

    counted = []
    for n in (4, 2000):
        frame = pd.DataFrame({"age": [20.0, 40.0, np.nan, 25.0] * (n // 4), "sex": ["F", "F", "F", "M"] * (n // 4)})
        assert family_of([young_women]).classes(records_of(frame)).ravel().tolist() == [0, 1, 1, 1] * (n // 4)
        counted.append(len(calls))
    assert counted[1] == 2 * counted[0]


def test_an_odd_cell_does_not_change_how_others_are_asked() -> None:
    """The way is chosen by types alone: a text among numbers fails alone, and the others are answered as before."""
    for way in (lambda x: x["a"] < 30, lambda x: x["a"] < 30 and True):
        for odd in (99, "x", None, [1], np.array([1, 2])):
            column = pd.Series([20, 40, None], dtype=object)
            column[2] = odd
            found = family_of([way]).classes(records_of(pd.DataFrame({"a": column}))).ravel()
            assert found.tolist() == [0, 1, 1]


def test_a_column_that_is_not_there_is_named() -> None:
    X = pd.DataFrame({"age": [20.0, 40.0]})
    for predicate in (lambda x: x["gender"] == "F", lambda x: x.gender == "F" and x["age"] > 3):
        with pytest.raises(DataError, match="'gender'"):
            family_of([predicate]).classes(records_of(X))


def test_a_model_that_was_read_refuses_to_score_by_a_predicate() -> None:
    X = pd.DataFrame({"a": [1.0, 2.0], "score": 0.5})
    asked = Multicalibrator(groups={"g": lambda x: x["a"] > 1}, relation="add-remove", epsilon=1.0).fit(X, [0, 1])
    with pytest.raises(ParameterError) as refused:
        model_from_text(model_text(asked.model_)).calibrated(records_of(X), np.array([0.5, 0.5]))
    assert refused.value.code == "HG169"


def test_what_a_column_does_not_allow_is_refused() -> None:
    column = ElementwiseColumn([0.0, 1.0, 2.0, 3.0])
    for ask in (bool, len, list, np.asarray, np.sum, np.sort, lambda c: c @ c, lambda c: c < np.arange(4.0)):
        with pytest.raises((TypeError, AttributeError)):
            ask(column)
    # The sabotage that this is for: a plain array gives all of them.
    assert np.sum(np.arange(4.0)) == 6.0


def test_what_was_computed_from_a_failure_fails() -> None:
    failed = ElementwiseColumn([None, 1.0]) > 0
    for made in (
        failed == np.False_,
        ~failed,
        np.logical_or(failed, True),
        failed.isin([True, False]),
        failed.isna() | True,
    ):
        assert values_in(made)[0] is FAILED


def test_a_predicate_that_changes_its_mind_costs_no_refusal_after_the_price() -> None:
    """A predicate must keep nothing; one that does ends no fit, and neither does one that returns another column."""
    calls: list[Any] = []

    def changing(X: Any) -> Any:
        calls.append(X["a"] > 1)
        if len(values_in(calls[-1]) or ()) > 1:
            return calls[1]
        return calls[-1]

    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "score": 0.5})
    Multicalibrator(groups=[changing], relation="add-remove", epsilon=1.0).fit(X, [0, 1, 1])
    assert family_of([changing]).classes(records_of(X)).ravel().tolist() == [1, 1, 1]
