"""Units of several rows through the front door: the certificate names them, n counts them, and the price re-prices."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.engines.source import open_source
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.resampling.counted_values import GridSums, Histogram

PERSON = [p for p in range(600) for _ in range(1 + p % 5)]
TABLE = pa.table({"person": PERSON, "age": [40.0 + p % 7 for p in PERSON], "sex": [i % 2 for i in range(len(PERSON))]})
UNIT = {"column": "person", "max_rows": 4}


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_release_of_units_is_certified_for_units(relation: str) -> None:
    survey = hg.open(TABLE, relation=relation, unit=UNIT)
    assert survey.n == (600 if relation == "replace-one" else None)
    release = survey.release(
        [hg.mean("age", bounds=(0, 100), step=1), hg.count()], by={"sex": [0, 1]}, epsilon=1.0, n_resamples=20,
        estimator="bootstrap",
    )  # fmt: skip
    record = Certificate.from_json(release.certificate.to_json())
    record.verify()
    assert record.unit == "person, at most 4 rows" == release.to_dict()["release"]["unit"]
    assert 0.99 < record.epsilon <= 1.0
    assert [part["type"] for part in record.to_dict()["mechanism"]["parts"]] == ["resampled-units"] * 2
    assert len(release) == 4


def test_rows_are_not_public_where_units_are() -> None:
    """Under replace-one the number of units is public; the number of rows has a price."""
    release = hg.open(TABLE, relation="replace-one", unit=UNIT).count(epsilon=1.0)
    assert release.certificate.epsilon > 0.9
    assert release[0].privacy_error > 0


def test_a_number_of_units_that_changes_is_noticed() -> None:
    class Growing:
        """A source that finds one unit more at each question."""

        def __init__(self) -> None:
            self.inner, self.asked = open_source(TABLE), 0
            self.name, self.columns, self.check = "growing", self.inner.columns, self.inner.check

        def histogram(self, query: Query) -> Histogram:
            self.asked += 1
            return open_source(TABLE.slice(0, len(PERSON) - 5 * (self.asked == 1))).histogram(query)

        def reading(self, queries: object) -> AbstractContextManager[Growing]:
            return nullcontext(self)

        def sums(self, query: SumsQuery) -> GridSums:
            return self.inner.sums(query)

        def count_rows(self) -> int:
            return self.inner.count_rows()

    from dataclasses import replace

    survey = replace(hg.open(TABLE, relation="replace-one", unit=UNIT), source=Growing())
    with pytest.raises(hg.HedgerowError, match="HG603"):
        survey.mean("age", bounds=(0, 100), epsilon=1.0)


def test_what_is_not_certified_for_units_is_refused_before_reading() -> None:
    survey = hg.open(TABLE, relation="add-remove", unit=UNIT)
    for options in ({"delta": 0}, {"noise": "laplace"}):
        with pytest.raises(hg.HedgerowError, match=r"HG117|HG108"):
            survey.mean("age", bounds=(0, 100), epsilon=1.0, estimator="bootstrap", **options)
    with pytest.raises(hg.HedgerowError, match="HG402"):
        survey.release([hg.variance("age", bounds=(0, 100))], epsilon=1.0, estimator="bootstrap")
    with pytest.raises(hg.HedgerowError, match="HG402"):
        hg.open(TABLE, relation="add-remove", unit={"column": "person", "max_rows": 13})


def test_a_census_of_units_is_refused_and_no_unit_is_no_failure() -> None:
    with pytest.raises(hg.ParameterError, match="HG115"):
        hg.open(TABLE, relation="add-remove", unit=UNIT, target="file").mean("age", bounds=(0, 100), epsilon=1.0)
    nobody = pa.table({"person": pa.array([None] * 5, pa.int64()), "age": [1.0] * 5})
    survey = hg.open(nobody, relation="replace-one", unit=UNIT)
    asked = [hg.mean("age", bounds=(0, 100)), hg.sum("age", bounds=(0, 100)), hg.count()]
    assert survey.n == 0 and len(survey.release(asked, epsilon=1.0, delta=1e-6)) == 3


def test_ids_that_a_float_cannot_tell_apart_name_nobody() -> None:
    from hedgerow.engines.source import count_units

    wide = pa.table({"person": pa.array([16777216.0, 16777217.0, 5.0, -0.0, 0.0], pa.float32()), "age": [1.0] * 5})
    assert count_units(open_source(wide), "person") == 2
