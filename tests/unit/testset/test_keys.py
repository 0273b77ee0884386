"""Keys that join predictions to records: as texts, whatever holds them, and without a look at a label."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hedgerow.errors import ParameterError
from hedgerow.testset import TestSet
from hedgerow.testset.file_columns import FileColumns

N = 200
LABELS = [i % 2 for i in range(N)]
COLUMNS = FileColumns.declared("accuracy", label="y", prediction="prediction", labels=(0, 1), positive=None, key="id")


def created(folder: Path, keys: pa.Array, relation: str, labels: pa.Array | None = None) -> TestSet:
    parquet.write_table(pa.table({"id": keys, "y": LABELS if labels is None else labels}), folder / "y.parquet")
    return TestSet.create(
        folder / "y.parquet",
        COLUMNS,
        ledger=folder / "l",
        relation=relation,
        epsilon=50.0,
        n_looks=1,
        mechanism="laplace",
    )


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(20, 0), pa.string()])
def test_identifiers_of_eighteen_digits_are_told_apart(kind: pa.DataType, relation: str, tmp_path: Path) -> None:
    """A double keeps sixteen: neighbours would be one key, and their predictions another's."""
    numbers = [900_719_925_474_099_301 + i for i in range(N)]
    keys = pa.array([str(one) for one in numbers]).cast(kind)
    (tmp_path / "p.csv").write_text(
        "id,prediction\n"
        + "".join(f"{key},{label}\n" for key, label in reversed(list(zip(numbers, LABELS, strict=True))))
    )
    score = created(tmp_path, keys, relation).score(tmp_path / "p.csv")
    assert score.value > 0.95, "the predictions are the labels"


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.time32("s")])
def test_a_key_of_another_type_is_refused_by_its_type(kind: pa.DataType, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"HG437.*'id' is of another type"):
        created(tmp_path, pa.array(list(range(N)), kind), "add-remove")
    assert not (tmp_path / "l").exists()


def test_no_label_is_read_before_a_look_is_taken(tmp_path: Path) -> None:
    """Public keys are; were a label read with them, one that cannot be read would be refused at no price."""
    broken = pa.array([b"1"] * (N - 1) + [b"\xff"]).view(pa.string())
    made = created(tmp_path, pa.array(range(N)), "replace-one", broken)
    (tmp_path / "p.csv").write_text("id,prediction\n" + "".join(f"{i},1\n" for i in range(N - 1)))
    with pytest.raises(ParameterError, match=r"HG437.*1 of 200"):
        made.score(tmp_path / "p.csv")
    assert made.remaining == 1
