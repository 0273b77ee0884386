"""A private model is a function of the released tables and of public facts: the same tables, the same model."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import family_of
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_fit import model_of
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.count_table import CountTable, exact_places
from hedgerow.multicalibration.model_file import model_from_text, model_text

FAMILY = family_of({"a": [0, 1]})
SETTING = Setting(FAMILY, Relation.ADD_REMOVE, None, n_buckets=5)
MECHANISM = CountTable(bins=8)
DESCRIBED = MECHANISM.describe(SETTING, Budget(1.0, 0.0))
people = st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1), st.integers(0, 1)), max_size=30)
# 3 atoms × 8 bins × 2 labels, and where scores lie in 8 bins.
tables = st.lists(st.integers(-5, 60), min_size=56, max_size=56)


class Aimed:
    """Noise that takes any counts to one wanted release: only for tests, it is as secret as its tables."""

    secure = False

    def __init__(self, wanted: NDArray[np.int64], *exact: NDArray[np.int64]) -> None:
        starts = np.cumsum([one.size for one in exact])[:-1]
        parts = zip(np.split(wanted, starts), exact, strict=True)
        self.differences = [part - one.ravel() for part, one in parts]

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        difference = self.differences.pop(0)
        assert size == len(difference)
        return difference

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        raise AssertionError("a table draws geometric noise")

    def generator(self) -> np.random.Generator:
        raise AssertionError("a table draws no generator")


def records(rows: list[tuple[int, float, int]]) -> Records:
    classes, scores, labels = (np.array([row[i] for row in rows]) for i in range(3))
    return Records.of(FAMILY, classes.reshape(-1, 1).astype(np.int64), scores.astype(float), labels.astype(np.int64))


def text(rows: list[tuple[int, float, int]], wanted: list[int]) -> str:
    private = records(rows)
    noise = Aimed(np.array(wanted), MECHANISM.counts(private), exact_places(private, MECHANISM.score_bins(FAMILY)))
    fitted = MECHANISM.run(SETTING, DESCRIBED, private, noise)
    return model_text(model_of([fitted], "table", SETTING, (0, 1), None))


@settings(max_examples=50, deadline=None)
@given(people, people, tables)
def test_the_same_table_makes_the_same_model_whoever_was_counted(
    some: list[tuple[int, float, int]], others: list[tuple[int, float, int]], wanted: list[int]
) -> None:
    assert text(some, wanted) == text(others, wanted)


@settings(max_examples=50, deadline=None)
@given(people, tables)
def test_a_model_survives_its_record_bit_by_bit(rows: list[tuple[int, float, int]], wanted: list[int]) -> None:
    written = text(rows, wanted)
    assert model_text(model_from_text(written)) == written


def test_the_law_could_fail() -> None:
    """Another table makes another model: the text does depend on what was released."""
    assert text([], [0] * 56) != text([], [50] * 24 + [0] * 32)
