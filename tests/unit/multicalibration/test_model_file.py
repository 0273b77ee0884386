"""Model files: small, versioned, whole or refused; rows scored from them as in Python."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import DataError, ParameterError
from hedgerow.multicalibration import cuts, family_of, masks, read_model, write_model
from hedgerow.multicalibration.calibrated_model import CalibratedModel, Patch, Patches, ScoreBins, Shifts
from hedgerow.multicalibration.family import Family, records_of
from hedgerow.multicalibration.model_file import apply_to_file


def shifted(family: Family, score: str | None = "p") -> CalibratedModel:
    shift = np.random.default_rng(1).normal(0.0, 0.1, (family.atoms, 4))
    made = Shifts(ScoreBins(4).edges, shift, 0.001, 0.999)
    return CalibratedModel(family, (0, 1), (made,), 10, "table", (None,), (None,), None, score)


def patched(family: Family) -> CalibratedModel:
    rounds = (Patch(np.array([[1, 2], [0, 2]]), np.array([150_000, -20_000])), Patch(np.array([[0, 3]]), np.array([7])))
    return CalibratedModel(family, ("no", "yes"), (Patches(10, rounds),), 10, "rounds", (None,), (None,), None, "p")


@pytest.mark.parametrize(
    "groups", [{"sex": [0, 1], "race": ["A", "B"]}, {"age": cuts(30)}, masks("a", "b", disjoint=True)]
)
@pytest.mark.parametrize("made", [shifted, patched])
def test_a_model_is_read_back_to_the_last_bit(groups: Any, made: Any, tmp_path: Path) -> None:
    model = made(family_of(groups))
    write_model(model, tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again.family == model.family and again.classes == model.classes
    classes = model.family.atom_classes()
    scores = np.linspace(0, 1, len(classes))
    first, second = (m.calibrations[0].apply(m.family, classes, scores) for m in (model, again))
    assert (first == second).all()
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def broken(change: Any) -> Any:
    def apply(record: dict[str, Any]) -> Any:
        change(record)
        return record

    return apply


@pytest.mark.parametrize(
    "change",
    [
        broken(lambda r: r.update(hedgerow_model=2)),
        broken(lambda r: r.update(extra=1)),
        broken(lambda r: r.pop("score")),
        broken(lambda r: r["calibrations"][0].update(kind="code")),
        broken(lambda r: r["calibrations"][0].update(unknown=1)),
        broken(lambda r: r["calibrations"][0].update(high=7)),
        broken(lambda r: r["calibrations"][0].update(low=-(10**400))),
        broken(lambda r: r["calibrations"][0]["shift"].pop()),
        broken(lambda r: r["calibrations"][0]["shift"][0].__setitem__(0, float("nan"))),
        broken(lambda r: r.update(before=[])),
        broken(lambda r: r["calibrations"][0]["edges"].reverse()),
        broken(lambda r: r["groups"]["attributes"][0].update(kind="lambda")),
        broken(lambda r: r.update(classes=[0, 1, 2])),
        broken(lambda r: r.update(certificate={"epsilon": 0.1})),
        broken(lambda r: r.update(release={"relation": "add-remove", "unit": "row", "n": None})),
        broken(lambda r: r.update(score=["p"])),
        lambda r: [r],
    ],
)
def test_what_is_not_what_was_written_is_refused_whole(change: Any, tmp_path: Path) -> None:
    write_model(shifted(family_of({"sex": [0, 1]})), tmp_path / "m.json")
    record = change(json.loads((tmp_path / "m.json").read_text()))
    (tmp_path / "m.json").write_text(json.dumps(record))
    with pytest.raises(DataError) as refused:
        read_model(tmp_path / "m.json")
    assert refused.value.code == "HG168"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{", b"[" * 100_000, b'{"a":' * 990 + b"1" + b"}" * 990, None])
def test_what_is_no_json_is_refused(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "m.json").write_bytes(content)
    with pytest.raises(DataError) as refused:
        read_model(tmp_path / "m.json")
    assert refused.value.code == "HG168"


def test_a_function_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as refused:
        write_model(shifted(family_of([lambda X: X[:, 0] > 0])), tmp_path / "m.json")
    assert refused.value.code == "HG169" and not list(tmp_path.iterdir())


def test_rows_of_a_file_are_scored_as_in_python(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = [[str(i), f"{rng.random():.6f}", str(rng.integers(0, 3)), rng.choice(["A", " B ", "C"])] for i in range(300)]
    rows += [["x", "no number", "0", "A"], ["short", "0.5"]]
    (tmp_path / "rows.csv").write_text("\n".join(";".join(row) for row in [["id", "p", "sex", "race"], *rows]) + "\n")
    family = family_of({"sex": [0, 1], "race": ["A", "B"]})
    assert apply_to_file(shifted(family), tmp_path / "rows.csv", tmp_path / "out.csv") == 302
    with (tmp_path / "out.csv").open(newline="") as file:
        header, *scored = csv.reader(file, delimiter=";")
    assert header == ["id", "p", "sex", "race", "calibrated"] and [row[:4] for row in scored[:301]] == rows[:301]
    columns = {"sex": np.array([float(r[2]) for r in rows[:300]]), "race": np.array([r[3].strip() for r in rows[:300]])}
    wanted = shifted(family).calibrated(records_of(columns), np.array([float(r[1]) for r in rows[:300]]))[:, 1]
    np.testing.assert_allclose([float(row[4]) for row in scored[:300]], wanted, atol=1e-8)
    assert scored[300][4] == "" and scored[301] == ["short", "0.5", "", "", scored[301][4]]


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("p,race\n0.5,A\n")
    model = shifted(family_of({"sex": [0, 1]}))
    for arguments in ({"out": "out.csv"}, {"out": "rows.csv"}):
        with pytest.raises((DataError, ParameterError)) as refused:
            apply_to_file(model, tmp_path / "rows.csv", tmp_path / arguments["out"])
        assert refused.value.code == "HG166"
    same = shifted(family_of({"race": ["A"]}))
    with pytest.raises(ParameterError):
        apply_to_file(same, tmp_path / "rows.csv", tmp_path / "rows.csv")
    with pytest.raises(DataError) as lost:
        apply_to_file(same, tmp_path / "rows.csv", tmp_path / "nowhere" / "out.csv")
    assert lost.value.code == "HG168" and sorted(p.name for p in tmp_path.iterdir()) == ["rows.csv"]


def test_everything_but_the_estimator_works_without_scikit_learn() -> None:
    code = """
import sys
sys.modules["sklearn"] = None
from hedgerow.multicalibration import family_of, multicalibration_error, read_model
from hedgerow.multicalibration.calibration_fit import fit_from_source
import hedgerow.cli.main
try:
    from hedgerow.multicalibration import Multicalibrator
except ImportError as told:
    print(told)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "hedgerow[sklearn]" in run.stdout, run.stderr


def test_a_pipe_or_a_device_is_neither_read_nor_put_out_of_the_way(tmp_path: Path) -> None:
    """A device may have no end, and one that is moved out of the way is missed by everybody else."""
    with pytest.raises(DataError, match="cannot be read as one"):
        read_model("/dev/null")
    pipe, model = tmp_path / "pipe.csv", shifted(family_of({"sex": [0, 1]}))
    os.mkfifo(pipe)
    (tmp_path / "rows.csv").write_text("p,sex\n0.5,1\n")
    for write in (lambda: write_model(model, pipe), lambda: apply_to_file(model, tmp_path / "rows.csv", pipe)):
        with pytest.raises(DataError) as refused:
            write()
        assert refused.value.code == "HG168" and pipe.is_fifo()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pipe.csv", "rows.csv"]
