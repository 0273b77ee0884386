"""`hedgerow testset`: create, score and show; the gate, the exit codes and the JSON that others read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.cli.main import app
from hedgerow.errors import DataError, LedgerError, ParameterError
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testset import MECHANISMS, TestSet, brier, log_loss
from hedgerow.testset.file_columns import FileColumns

N = 1200
RNG = np.random.default_rng(20261120)
LABELS = RNG.choice(["cat", "dog"], N)
RIGHT = RNG.random(N) < 0.9
PREDICTED = np.where(RIGHT, LABELS, np.where(LABELS == "cat", "dog", "cat"))
CHANCES = np.where(PREDICTED == "dog", 0.8, 0.2)
MAKE = ["--label", "y", "--labels", "cat,dog", "--epsilon", "2", "--looks", "3", "--relation", "replace-one",
        "--mechanism", "gaussian"]  # fmt: skip


def hedgerow(*words: object) -> int:
    with pytest.raises(SystemExit) as end:
        app([str(word) for word in words])
    return int(end.value.code or 0)


def write(path: Path, **columns: Any) -> Path:
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "test.csv", id=range(N), y=LABELS)
    write(tmp_path / "predicted.csv", prediction=PREDICTED)
    write(tmp_path / "chances.csv", chance=CHANCES)
    return tmp_path


def created(folder: Path, *more: object, ledger: str = "ts.ledger") -> Path:
    path = folder / ledger
    assert hedgerow("testset", "create", folder / "test.csv", "--ledger", path, *MAKE, *more) == 0
    return path


def test_from_the_first_day_to_the_last_look(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = created(folder)
    said = capsys.readouterr().out
    assert "are detected (power" in said and "resample_gaussian" in said and "3 of 3 looks left" in said
    score = ["testset", "score", folder / "predicted.csv", "--ledger", ledger]
    assert hedgerow(*score, "--min", 0.8, "--id", "commit 1") == 0
    assert "the gate is met: the whole interval lies on the wanted side" in capsys.readouterr().out
    assert hedgerow(*score, "--id", "commit 1", "--min", 0.99) == 5, "answered from the record, against another gate"
    missed = capsys.readouterr()
    assert "HG432" in missed.err and "no look taken" in missed.out and "NOT met" in missed.out
    assert hedgerow(*score) == 0 and hedgerow(*score) == 0
    capsys.readouterr()
    assert hedgerow(*score) == 3
    assert "HG430" in capsys.readouterr().err
    assert hedgerow("testset", "show", "--ledger", ledger) == 0
    shown = capsys.readouterr().out
    assert shown.count("look ") == 3 + 2 and "0 of 3 looks left" in shown


def test_the_json_that_others_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "ts.ledger"
    assert hedgerow("testset", "create", folder / "test.csv", "--ledger", path, *MAKE, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["n"] == N and made["remaining"] == 3 and made["spent"] == 0.0
    assert made["minimum_detectable_difference"] > made["expected_error"] > 0.0
    assert {row["mechanism"] for row in made["mechanisms"]} == set(MECHANISMS)
    assert hedgerow("testset", "score", folder / "predicted.csv", "--ledger", path, "--min", "0.5", "--json") == 0
    scored = json.loads(capsys.readouterr().out)
    told_beside = {"min", "max", "met", "verdict", "replayed", "ledger"}
    assert set(scored) == {"score", "certificate", "test_set", "released", "reading", *told_beside}
    checked = verify_record(scored)
    assert checked.holds and told_beside - {"max"} <= {one.partition(".")[0] for one in checked.unchecked}
    assert (
        scored["met"] is True
        and scored["verdict"] == "met"
        and scored["min"] == 0.5
        and scored["ledger"]["head"].startswith("4:")
    )
    told = scored["score"]
    assert abs(told["value"] - RIGHT.mean()) < 6 * told["privacy_error"]
    assert told["confidence_interval"]["level"] == 0.95 and told["look"] == 1 and told["remaining"] == 2
    assert scored["certificate"]["epsilon"] < 2.0 and scored["certificate"]["bound"] == "upper"
    assert hedgerow("testset", "show", "--ledger", path, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["scores"] == [told] and shown["spent"] > 0.0


def test_a_gate_looks_at_the_interval_and_not_at_the_value(folder: Path) -> None:
    ledger = created(folder)
    opened = TestSet.open(ledger)
    value = opened.score(folder / "predicted.csv", request_id="a").value
    opened.close()
    gate = ["testset", "score", folder / "predicted.csv", "--ledger", ledger, "--id", "a"]
    assert hedgerow(*gate, "--min", value - 0.001) == 5
    assert hedgerow(*gate, "--min", value - 0.2) == 0


def test_a_gate_that_is_undecided_is_told_from_one_that_is_missed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = created(folder)
    gate = ["testset", "score", folder / "predicted.csv", "--ledger", ledger, "--id", "a", "--json"]
    capsys.readouterr()
    assert hedgerow(*gate) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["met"] is None and scored["verdict"] is None
    ends, found = scored["score"]["confidence_interval"], {}
    for bar in (ends["low"] - 0.01, ends["low"] + 0.01, ends["high"] + 0.01):
        code = hedgerow(*gate, "--min", bar)
        printed = capsys.readouterr()
        found[json.loads(printed.out)["verdict"]] = code
        assert ("cannot say" in printed.err) == (json.loads(printed.out)["verdict"] == "undecided")
    assert found == {"met": 0, "undecided": 5, "missed": 5}


@pytest.mark.parametrize("bar", ["nan", "inf", 80, -0.1])
def test_a_gate_that_no_score_can_meet_takes_no_look(
    folder: Path, bar: object, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = created(folder)
    assert hedgerow("testset", "score", folder / "predicted.csv", "--ledger", ledger, "--min", bar) == 2
    assert "HG175" in capsys.readouterr().err
    opened = TestSet.open(ledger)
    assert opened.remaining == 3
    opened.close()


def test_a_look_without_a_score_is_shown(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = created(folder)

    def failing(*_: object) -> None:
        raise OSError("the disk went away")

    with monkeypatch.context() as patched:
        patched.setattr("hedgerow.testset.testset.losses_of", failing)
        assert hedgerow("testset", "score", folder / "predicted.csv", "--ledger", ledger) == 6
    assert hedgerow("testset", "show", "--ledger", ledger) == 0
    assert "1 more used up without a score" in capsys.readouterr().out


def test_a_ledger_that_is_not_there_names_the_command_that_makes_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hedgerow("testset", "show", "--ledger", folder / "none") == 2
    said = capsys.readouterr().err
    assert "HG301" in said and "hedgerow testset create" in said
    nowhere = folder / "no such folder" / "ts.ledger"
    assert hedgerow("testset", "create", folder / "test.csv", "--ledger", nowhere, *MAKE) == 2
    assert "a folder that exists" in capsys.readouterr().err


@pytest.mark.parametrize("metric", ["brier", "log-loss"])
def test_losses_of_chances_are_gated_from_above(folder: Path, metric: str) -> None:
    ledger = folder / "b.ledger"
    options = ["--label", "y", "--positive", "dog", "--metric", metric, "--prediction", "chance", "--epsilon", "3",
               "--looks", "3", "--relation", "replace-one"]  # fmt: skip
    assert hedgerow("testset", "create", folder / "test.csv", "--ledger", ledger, *options) == 0
    gate = ["testset", "score", folder / "chances.csv", "--ledger", ledger]
    assert hedgerow(*gate, "--min", 0.1) == 2, "more loss is worse"
    assert hedgerow(*gate, "--max", 0.9) == 0
    opened = TestSet.open(ledger)
    score = opened.score(folder / "chances.csv")
    loss = (brier if metric == "brier" else log_loss)(positive="dog")
    exact = loss.of_chances(LABELS == "dog", CHANCES).mean()
    assert abs(score.value - exact) < 6 * score.privacy_error + 0.002
    opened.close()


def test_a_missing_prediction_counts_as_wrong(folder: Path) -> None:
    odd = PREDICTED.copy()
    odd[:300] = ""
    write(folder / "odd.csv", id=range(N), prediction=odd)
    opened = TestSet.open(created(folder, "--key", "id"))
    score = opened.score(folder / "odd.csv")
    exact = float((odd == LABELS).mean())
    assert exact < 0.75 and abs(score.value - exact) < 6 * score.privacy_error


@pytest.mark.parametrize("more", [[], ["--metric", "f1", "--positive", "dog"]], ids=["accuracy", "f1"])
@pytest.mark.parametrize("odd", ["horse", "Cat", "1"])
def test_a_prediction_that_is_no_declared_label_takes_no_look(
    folder: Path, odd: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = created(folder)
    write(folder / "odd.csv", prediction=[odd, *PREDICTED[1:]])
    assert hedgerow("testset", "score", folder / "odd.csv", "--ledger", ledger, *more) == 2
    said = capsys.readouterr().err
    assert "HG170" in said and "declared labels" in said and "No look was taken" in said
    pair = [folder / "predicted.csv", folder / "odd.csv"]
    assert hedgerow("testset", "compare", *pair, "--ledger", ledger) == 2
    assert "HG170" in capsys.readouterr().err and TestSet.open(ledger).remaining == 3


def test_predictions_with_a_further_column_are_joined_by_it_or_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In another order each would be scored against the label of another record."""
    order = np.random.default_rng(3).permutation(N)
    shuffled = write(folder / "shuffled.csv", id=order, prediction=PREDICTED[order])
    ledger = created(folder)
    score = ["testset", "score", shuffled, "--ledger", ledger]
    for words in (score, [*score, "--metric", "f1", "--positive", "dog"]):
        assert hedgerow(*words) == 2
        said = capsys.readouterr().err
        assert "HG437" in said and "--key id" in said and "drop the column" in said
    assert hedgerow("testset", "compare", folder / "predicted.csv", shuffled, "--ledger", ledger) == 2
    assert "HG437" in capsys.readouterr().err and TestSet.open(ledger).remaining == 3
    keyed = TestSet.open(created(folder, "--key", "id", ledger="keyed"))
    assert abs(keyed.score(shuffled).value - RIGHT.mean()) < 0.1
    # The column of groups is named.
    write(folder / "groups.csv", prediction=PREDICTED, g=order % 2)
    found = ["testset", "score", folder / "groups.csv", "--ledger", ledger, "--positive", "dog"]
    assert hedgerow(*found, "--metric", "f1", "--groups", "g") == 0


def test_another_number_of_rows_takes_no_look(folder: Path) -> None:
    opened = TestSet.open(created(folder))
    write(folder / "short.csv", prediction=PREDICTED[1:])
    with pytest.raises(ParameterError, match="HG170"):
        opened.score(folder / "short.csv")
    with pytest.raises(DataError, match="HG203"):
        opened.score(folder / "test.csv")
    assert opened.remaining == 3


@pytest.mark.parametrize("more", [[], ["--metric", "f1", "--positive", "dog"]], ids=["accuracy", "f1"])
def test_chances_where_labels_are_compared_take_no_look(
    folder: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """In a CSV file 0.8 is a text, and no text of it is a label: each would have counted as wrong."""
    ledger = created(folder)
    write(folder / "chances.csv", prediction=CHANCES)
    capsys.readouterr()
    assert hedgerow("testset", "score", folder / "chances.csv", "--ledger", ledger, *more) == 2
    assert "HG170" in capsys.readouterr().err and TestSet.open(ledger).remaining == 3


def test_add_remove_keeps_the_number_of_records_to_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [word if word != "replace-one" else "add-remove" for word in MAKE]
    path = folder / "ar.ledger"
    # By position a record that comes or goes would move the predictions of all others.
    assert hedgerow("testset", "create", folder / "test.csv", "--ledger", path, *options) == 2
    assert "HG436" in capsys.readouterr().err
    options += ["--key", "id"]
    assert hedgerow("testset", "create", folder / "test.csv", "--ledger", path, *options, "--json") == 0
    printed = capsys.readouterr().out
    assert json.loads(printed)["n"] is None and str(N) not in printed
    opened = TestSet.open(path)
    keyed = write(folder / "keyed.csv", id=range(N), prediction=PREDICTED)
    assert abs(opened.score(keyed).value - RIGHT.mean()) < 0.1


@pytest.mark.parametrize(
    ("without", "code"), [("--labels", 2), ("--epsilon", 2), ("--looks", 2), ("--relation", 2), ("--label", 2)]
)
def test_what_must_be_declared_has_no_default(folder: Path, without: str, code: int) -> None:
    place = MAKE.index(without)
    words = MAKE[:place] + MAKE[place + 2 :]
    assert hedgerow("testset", "create", folder / "test.csv", "--ledger", folder / "x", *words) == code
    assert not (folder / "x").exists() and not (folder / "x.secret").exists()


def test_a_ledger_is_never_made_twice_and_never_guessed(folder: Path) -> None:
    ledger = created(folder)
    assert hedgerow("testset", "create", folder / "test.csv", "--ledger", ledger, *MAKE) == 2
    assert hedgerow("testset", "show", "--ledger", folder / "none") == 2
    from hedgerow.testset import TestSet

    TestSet(None, LABELS, relation="replace-one", epsilon=1.0, n_looks=2, ledger=folder / "arrays").close()
    with pytest.raises(LedgerError, match="HG433"):
        TestSet.open(folder / "arrays")


def test_columns_are_declared_or_refused() -> None:
    with pytest.raises(ParameterError, match="HG177"):
        FileColumns.declared("accuracy", label="y", prediction="p", labels=("cat",), positive=None)
    with pytest.raises(ParameterError, match="HG177"):
        FileColumns.declared("brier", label="y", prediction="p", labels=(), positive=None)
    with pytest.raises(ParameterError, match="HG171"):
        FileColumns.declared("f1", label="y", prediction="p", labels=(0, 1), positive=None)


def test_thresholdout_from_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [word if word != "gaussian" else "thresholdout" for word in MAKE]
    options += ["--threshold", "0.2", "--answers", "2"]
    path = folder / "th.ledger"
    assert hedgerow("testset", "create", folder / "test.csv", "--ledger", path, *options) == 0
    score = ["testset", "score", folder / "predicted.csv", "--ledger", path]
    assert hedgerow(*score) == 2
    assert "HG176" in capsys.readouterr().err
    assert hedgerow(*score, "--training", 0.9) == 0
