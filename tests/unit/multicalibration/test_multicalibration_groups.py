"""Groups: what a user writes, what structure follows from it, and what is refused because it would ask the data."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hedgerow.errors import DataError, ParameterError, UncertifiedError
from hedgerow.multicalibration import cuts, family_of, masks
from hedgerow.multicalibration.calibrated_model import Records, fold_classes
from hedgerow.multicalibration.family import records_of

PEOPLE = {"race": ["A", "B", "C", "A"], "sex": [0, 1, 1, None], "age": [29.0, 30.0, np.nan, 70.0]}
FAMILY = family_of({"race": ["A", "B"], "sex": [0, 1], "age": cuts(30, 50)})


@pytest.mark.parametrize("make", [pd.DataFrame, lambda d: pl.DataFrame(d, strict=False, nan_to_null=False), dict])
def test_every_kind_of_records_gives_the_same_classes(make: Any) -> None:
    columns = records_of(
        make({name: np.asarray(column) for name, column in PEOPLE.items()} if make is dict else PEOPLE)
    )
    assert FAMILY.classes(columns).tolist() == [[0, 0, 0], [1, 1, 1], [2, 1, 3], [0, 2, 2]]


def test_membership_is_what_the_names_say() -> None:
    member = FAMILY.membership(FAMILY.classes(records_of(pd.DataFrame(PEOPLE))))
    said = [{name for name, inside in zip(FAMILY.names, row, strict=True) if inside} for row in member]
    assert said[0] == {"all", "race=A", "sex=0", "age < 30", "race=A & sex=0", "race=A & age < 30", "sex=0 & age < 30"}
    assert said[2] == {"all", "sex=1"}
    assert said[3] == {"all", "race=A", "50 <= age", "race=A & 50 <= age"}


def test_the_most_groups_of_a_record_are_attained_and_never_exceeded() -> None:
    every_atom = FAMILY.membership(FAMILY.atom_classes())
    assert every_atom.sum(axis=1).max() == FAMILY.most_groups == 7
    assert len(every_atom) == FAMILY.atoms == 3 * 3 * 4


def test_masks_count_one_group_each_unless_they_are_declared_disjoint() -> None:
    X = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0]])
    free, apart = family_of(masks(0, 1, 2)), family_of(masks(0, 1, 2, disjoint=True))
    assert (free.most_groups, apart.most_groups) == (4, 2)
    assert free.membership(free.classes(records_of(X)))[:, 1:].tolist() == X.astype(bool).tolist()
    # The declaration is false of the first record, and kept all the same.
    assert apart.membership(apart.classes(records_of(X))).sum(axis=1).max() == 2


@pytest.mark.parametrize(
    ("groups", "kind", "code"),
    [
        ({"race": None}, UncertifiedError, "HG420"),
        ({"race": "auto"}, UncertifiedError, "HG420"),
        ({"race": {"min_size": 100}}, UncertifiedError, "HG420"),
        (["race", "sex"], UncertifiedError, "HG420"),
        ({"race": []}, ParameterError, "HG165"),
        ({"race": ["A", "A"]}, ParameterError, "HG165"),
        ({"age": cuts(50, 30)}, ParameterError, "HG165"),
        ({"age": cuts()}, ParameterError, "HG165"),
        (7, ParameterError, "HG165"),
        ({f"c{i}": range(10) for i in range(30)}, UncertifiedError, "HG421"),
    ],
)
def test_what_would_be_read_off_the_data_or_makes_no_sense_is_refused(groups: Any, kind: Any, code: str) -> None:
    with pytest.raises(kind) as refused:
        family_of(groups)
    assert refused.value.code == code


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match="'gender'"):
        family_of({"gender": [0, 1]}).classes(records_of(pd.DataFrame(PEOPLE)))


@pytest.mark.parametrize("count", [2, 12, 70])
def test_folding_loses_nothing_however_many_atoms_there_are(count: int) -> None:
    """Small families fold by counting, larger ones by sorting codes, beyond 62 bits by sorting rows."""
    rng = np.random.default_rng(1)
    family = family_of({i: range(3) for i in range(count)}, depth=1)
    classes = rng.integers(0, 4, (500, count))
    patterns, pattern = fold_classes(family, classes)
    assert (patterns[pattern] == classes).all() and len(np.unique(patterns, axis=0)) == len(patterns)


def test_records_keep_every_sum() -> None:
    rng = np.random.default_rng(2)
    X, p, y = rng.integers(0, 3, (1000, 2)), rng.integers(0, 20, 1000) / 20, rng.integers(0, 2, 1000)
    family = family_of({0: [0, 1], 1: [0, 1, 2]})
    records = Records.of(family, family.classes(records_of(X)), p, y)
    assert records.total() == 1000 and len(records.count) < 1000
    for group, inside in enumerate(records.membership.T):
        member = family.membership(family.classes(records_of(X)))[:, group]
        rows = inside[records.pattern]
        assert records.count[rows].sum() == member.sum()
        assert (records.count * records.residual)[rows].sum() == pytest.approx(1e6 * (y - p)[member].sum(), abs=1e-3)
