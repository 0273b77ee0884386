"""`hedgerow release`: what it prints and writes, and that whatever is wrong with a command costs and shows nothing."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.release.publication.folder import FILES, ReleaseFolder
from hedgerow.release.result import Release

CANARY = "424242.125"
MEAN = ["--mean", "age:0:100:1"]
ONE = ["--relation", "replace-one", "--epsilon", "1"]
runner = CliRunner()


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 400 records, one of which holds a value that must be seen nowhere."""
    rng = np.random.default_rng(20)
    rows = [
        f"{age},{sex},{name}"
        for age, sex, name in zip(
            rng.integers(18, 95, 399), rng.integers(0, 2, 399), rng.choice(["North", "Île"], 399), strict=True
        )
    ]
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    path.write_text("age,sex,region\n" + "\n".join([*rows, f"{CANARY},{CANARY},{CANARY}"]) + "\n", encoding="utf-8")
    return path


def run(*arguments: object) -> Any:
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_json_is_the_contract_and_nothing_else(survey: Path) -> None:
    result = run("release", survey, *ONE, *MEAN, "--count", "--by", "sex=0,1", "--level", ".9", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    record = json.loads(result.stdout)
    assert list(record) == ["release", "estimates", "joint", "request", "noisy", "reading", "certificate"]
    about = record["release"]
    assert {key: about[key] for key in ("source", "relation", "unit", "target", "n", "missing")} == {
        "source": str(survey),
        "relation": "replace-one",
        "unit": "row",
        "target": "population",
        "n": 400,
        "missing": "drop",
    }
    asked = [(one["statistic"], one["column"], one["cell"]) for one in record["estimates"]]
    assert asked == [
        ("mean", "age", {"sex": 0}),
        ("mean", "age", {"sex": 1}),
        ("count", None, {"sex": 0}),
        ("count", None, {"sex": 1}),
    ]
    assert {one["confidence_interval"]["level"] for one in record["estimates"]} == {0.9}
    fields = {
        "estimate",
        "standard_error",
        "sampling_error",
        "bootstrap_error",
        "privacy_error",
        "n_resamples",
        "reliable",
    }
    assert all(fields | {"note", "method"} <= set(one) for one in record["estimates"])
    certificate = Certificate.from_json(result.stdout)
    certificate.verify()
    assert certificate.epsilon <= 1.0


def test_the_table_shows_every_part_of_the_error_and_what_it_covers(survey: Path) -> None:
    result = run("release", survey, *ONE, *MEAN, "--by", "sex=0,1")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["statistic", "cell", "estimate", "s.e.", "sampling", "privacy", "95", "%", "interval"]
    assert [line.split()[:3] for line in lines[1:3]] == [["mean", "age", "sex=0"], ["mean", "age", "sex=1"]]
    said = " ".join(lines[3:])
    assert "the population mean of age clamped to [0, 100]" in said and "sampling and privacy noise are counted" in said
    assert "ε ≤ " in said and "replace-one, unit row" in said
    assert "outside the declared categories are left out" in said
    assert "left out" not in run("release", survey, *ONE, *MEAN, "--by", "sex=0,1", "--other").stdout


def test_a_bootstrap_is_asked_for_by_name(survey: Path) -> None:
    bootstrap = ["--estimator", "bootstrap", "--n-resamples", "20", "--interval", "unbiased", "--delta", "1e-3"]
    result = run("release", survey, *ONE, *MEAN, *bootstrap, "--json")
    assert result.exit_code == 0, result.stderr
    (estimate,) = json.loads(result.stdout)["estimates"]
    assert (estimate["method"], estimate["n_resamples"]) == ("bootstrap", 20)
    assert estimate["confidence_interval"]["method"] == "unbiased"
    shown = run("release", survey, *ONE, *MEAN, *bootstrap).stdout
    assert "bootstrap" in shown.splitlines()[0]


def test_an_unreliable_cell_is_said_to_be_one(survey: Path) -> None:
    result = run("release", survey, *ONE, *MEAN, "--by", "region=Nowhere,North")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].endswith("reliable")
    assert result.stdout.splitlines()[1].endswith("NO") and "noise hides the number of records" in result.stdout


def test_values_are_compared_as_written(tmp_path: Path) -> None:
    path = tmp_path / "zip.csv"
    path.write_text("zip\n" + "01\n" * 3000 + "1\n" * 1000, encoding="utf-8")
    result = run("release", path, *ONE, "--proportion", "zip=01", "--json")
    (estimate,) = json.loads(result.stdout)["estimates"]
    assert abs(estimate["estimate"] - 0.75) < 0.02


def test_out_holds_the_release_and_a_certificate_that_prices_itself(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "results"
    result = run("release", survey, *ONE, *MEAN, "--by", "sex=0,1", "--out", out, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    assert json.loads((out / "release.json").read_text(encoding="utf-8")) == json.loads(result.stdout)
    Certificate.from_json((out / "certificate.json").read_text(encoding="utf-8")).verify()
    with (out / "estimates.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["estimate"]) for row in rows] == [
        one["estimate"] for one in json.loads(result.stdout)["estimates"]
    ]
    assert (out / "estimates.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "estimates.svg").read_text(encoding="utf-8")


def test_a_folder_in_use_is_taken_only_by_force(survey: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    refused = run("release", survey, *ONE, "--count", "--out", tmp_path)
    assert refused.exit_code == 2 and "HG119" in refused.stderr and refused.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    target = tmp_path / "elsewhere.json"
    (tmp_path / "release.json").symlink_to(target)
    taken = run("release", survey, *ONE, "--count", "--out", tmp_path, "--force")
    assert taken.exit_code == 0
    # The link itself is replaced: what it pointed at is neither made nor written.
    assert not target.exists() and (tmp_path / "release.json").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "notes.txt"])


def test_force_never_writes_over_the_data(tmp_path: Path) -> None:
    data = tmp_path / "estimates.csv"
    data.write_text("age\n41\n", encoding="utf-8")
    result = run("release", data, *ONE, "--count", "--out", tmp_path, "--force")
    assert result.exit_code == 2 and "HG119" in result.stderr
    assert data.read_text(encoding="utf-8") == "age\n41\n"


def broken(folder: Path) -> dict[str, str]:
    """Sources that are refused, by name."""
    texts = {
        "empty.csv": "",
        "twice.csv": f"age,age\n{CANARY},1\n",
        "nameless.csv": f"age,\n{CANARY},1\n",
        "blank.csv": f"\n{CANARY}\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"age": [CANARY], "sex": ["0"]}), folder / "words.parquet")
    return {name: str(folder / name) for name in [*texts, "words.parquet", "absent.csv"]}


RELATION = ["--relation", "replace-one"]
EPSILON = ["--epsilon", "1"]
# (source or None for the survey, arguments, code, exit code)
BAD: dict[str, tuple[str | None, list[str], str, int]] = {
    "missing file": ("absent.csv", [*ONE, *MEAN], "HG201", 2),
    "empty file": ("empty.csv", [*ONE, *MEAN], "HG206", 2),
    "blank header": ("blank.csv", [*ONE, *MEAN], "HG206", 2),
    "duplicate column": ("twice.csv", [*ONE, *MEAN], "HG205", 2),
    "empty column name": ("nameless.csv", [*ONE, *MEAN], "HG205", 2),
    "missing column": (None, [*ONE, "--mean", "wage:0:1"], "HG203", 2),
    "missing group": (None, [*ONE, *MEAN, "--by", "wage=1,2"], "HG203", 2),
    "non-numeric column": ("words.parquet", [*ONE, *MEAN], "HG204", 2),
    "reversed bounds": (None, [*ONE, "--mean", "age:100:0"], "HG105", 2),
    "equal bounds": (None, [*ONE, "--sum", "age:5:5"], "HG105", 2),
    "NaN bounds": (None, [*ONE, "--mean", "age:nan:100"], "HG105", 2),
    "infinite bounds": (None, [*ONE, "--mean", "age:0:inf"], "HG105", 2),
    "absent bounds": (None, [*ONE, "--mean", "age"], "HG104", 2),
    "one bound": (None, [*ONE, "--mean", "age:0"], "HG116", 2),
    "bounds in words": (None, [*ONE, "--mean", "age:low:high"], "HG116", 2),
    "step that does not divide": (None, [*ONE, "--mean", "age:0:100:7"], "HG106", 2),
    "too many steps": (None, [*ONE, "--mean", "age:0:100:0.000001"], "HG107", 2),
    "no epsilon": (None, [*RELATION, *MEAN], "HG101", 2),
    "epsilon 0": (None, [*RELATION, *MEAN, "--epsilon", "0"], "HG101", 2),
    "epsilon negative": (None, [*RELATION, *MEAN, "--epsilon=-1"], "HG101", 2),
    "epsilon inf": (None, [*RELATION, *MEAN, "--epsilon", "inf"], "HG101", 2),
    "epsilon NaN": (None, [*RELATION, *MEAN, "--epsilon", "nan"], "HG101", 2),
    "epsilon in words": (None, [*RELATION, *MEAN, "--epsilon", "one"], "HG116", 2),
    "delta 1": (None, [*ONE, *MEAN, "--delta", "1"], "HG102", 2),
    "delta negative": (None, [*ONE, *MEAN, "--delta=-0.1"], "HG102", 2),
    "delta NaN": (None, [*ONE, *MEAN, "--delta", "nan"], "HG102", 2),
    "delta 0 with a Gaussian": (None, [*ONE, *MEAN, "--delta", "0", "--noise", "gaussian"], "HG117", 2),
    "no relation": (None, [*EPSILON, *MEAN], "HG103", 2),
    "unknown relation": (None, [*EPSILON, *MEAN, "--relation", "swap"], "HG103", 2),
    "unknown target": (None, [*ONE, *MEAN, "--target", "moon"], "HG115", 2),
    "unknown policy": (None, [*ONE, *MEAN, "--missing", "guess"], "HG114", 2),
    "unknown method": (None, [*ONE, *MEAN, "--estimator", "magic"], "HG108", 2),
    "level in percent": (None, [*ONE, *MEAN, "--level", "95"], "HG110", 2),
    "nothing asked": (None, ONE, "HG112", 2),
    "groups without categories": (None, [*ONE, *MEAN, "--by", "sex"], "HG111", 2),
    "one category twice": (None, [*ONE, *MEAN, "--by", "sex=1,1"], "HG111", 2),
    "one group twice": (None, [*ONE, *MEAN, "--by", "sex=0", "--by", "sex=1"], "HG111", 2),
    "an empty category": (None, [*ONE, *MEAN, "--by", "sex=0,"], "HG116", 2),
    "a share too many": (None, [*ONE, *MEAN, "--share", "1,2"], "HG113", 2),
    "shares in words": (None, [*ONE, *MEAN, "--share", "half"], "HG116", 2),
    "proportion without a value": (None, [*ONE, "--proportion", "sex"], "HG116", 2),
    "interval of another method": (None, [*ONE, *MEAN, "--interval", "calibrated"], "HG108", 2),
    "replicates of another method": (None, [*ONE, *MEAN, "--estimator", "moments", "--n-resamples", "9"], "HG108", 2),
    "table of a CSV file": (None, [*ONE, *MEAN, "--table", "persons"], "HG209", 2),
    "unknown option": (None, [*ONE, *MEAN, "--espilon", "1"], "HG116", 2),
    "second source": (None, [*ONE, *MEAN, "again.csv"], "HG116", 2),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_anything_is_read(name: str, survey: Path, tmp_path: Path) -> None:
    source, arguments, code, exit_code = BAD[name]
    path = str(survey) if source is None else broken(tmp_path)[source]
    out = tmp_path / "out"
    result = run("release", path, *arguments, "--out", out)
    assert (result.exit_code, result.stdout) == (exit_code, ""), result.stderr
    assert result.stderr.startswith(f"{code}: ") and f"hedgerow explain {code}" in result.stderr
    assert CANARY not in result.stderr and "Traceback" not in result.stderr
    assert not out.exists()


def test_facts_are_refused_in_words(survey: Path) -> None:
    result = run("release", survey, *ONE, *MEAN, "--facts", "hedgerow.toml")
    assert (result.exit_code, result.stdout) == (2, "") and "facts" in result.stderr


def test_no_source_at_all() -> None:
    result = run("release", *ONE, *MEAN)
    assert result.exit_code == 2 and result.stderr.startswith("HG116: ")


@pytest.mark.parametrize("text", ["age\n", "age\n\n\n", "age\nx\n", "age\n41\n"])
def test_what_is_small_or_all_missing_is_no_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    path.write_text(text, encoding="utf-8")
    for relation in ("replace-one", "add-remove"):
        result = run("release", path, "--relation", relation, *EPSILON, *MEAN, "--json")
        assert result.exit_code == 0, result.stderr
        assert "NaN" not in result.stdout


def test_no_value_of_the_data_is_seen_anywhere(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = [*ONE, *MEAN, "--sum", "age:0:100:1", "--proportion", "sex=1", "--by", "region=North,Île", "--other"]
    result = run("release", survey, *asked, "--out", out)
    assert result.exit_code == 0
    texts = [
        result.stdout,
        result.stderr,
        *((out / name).read_text(encoding="utf-8") for name in FILES if "png" not in name),
    ]
    assert not any(CANARY in text for text in texts)
    assert "Île" in result.stdout


def test_a_failure_after_the_reservation_is_spent_and_fixed_text(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError(f"cannot convert {CANARY}")

    monkeypatch.setattr("hedgerow.engines.files.CsvSource.sums", fail)
    # Under replace-one the number of records is counted before the reservation, through the same door.
    spent = run("release", survey, "--relation", "add-remove", *EPSILON, *MEAN)
    assert (spent.exit_code, spent.stdout) == (6, "") and spent.stderr.startswith("HG601: ")
    # A failure that nobody foresaw, once before the release and once within it.
    monkeypatch.setattr("hedgerow.survey.Survey.release", fail)
    within = run("release", survey, *ONE, *MEAN)
    assert (within.exit_code, within.stdout) == (6, "") and within.stderr.startswith("HG901: ")
    monkeypatch.undo()
    monkeypatch.setattr("hedgerow.release.publication.text.text_table", fail)
    after = run("release", survey, *ONE, *MEAN)
    assert (after.exit_code, after.stdout) == (6, "") and after.stderr.startswith("HG901: ")
    monkeypatch.setattr("hedgerow.survey.open", fail)
    before = run("release", survey, *ONE, *MEAN)
    assert (before.exit_code, before.stdout) == (2, "") and before.stderr.startswith("HG901: ")
    assert not any(CANARY in result.stderr for result in (spent, within, after, before))


def test_what_cannot_be_written_is_still_printed(survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: ReleaseFolder, release: Release, *, level: float) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ReleaseFolder, "write", full)
    result = run("release", survey, *ONE, *MEAN, "--out", tmp_path / "out", "--json")
    assert result.exit_code == 6 and json.loads(result.stderr)["error"]["code"] == "HG604"
    assert len(json.loads(result.stdout)["estimates"]) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the owner of all may write"
)
def test_a_folder_that_cannot_be_written_is_found_out_first(survey: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    result = run("release", survey, *ONE, *MEAN, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "HG118" in result.stderr


def test_a_folder_called_as_a_file_is_not_made_unless_it_is_there(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "age.json"
    result = run("release", survey, *ONE, *MEAN, "--out", out)
    assert (result.exit_code, result.stdout) == (2, "") and result.stderr.startswith(
        "HG118: Results are written into a"
    )
    assert not out.parent.exists()
    out.mkdir(parents=True)
    assert run("release", survey, *ONE, *MEAN, "--out", out).exit_code == 0 and (out / "release.json").exists()


def test_a_folder_under_a_file_is_found_out_first(survey: Path) -> None:
    result = run("release", survey, *ONE, *MEAN, "--out", survey / "out")
    assert (result.exit_code, result.stdout) == (2, "") and result.stderr.startswith("HG118: ")


def test_a_large_delta_is_warned_of_in_plain_words(survey: Path) -> None:
    result = run("release", survey, *ONE, *MEAN, "--delta", "0.01", "--json")
    assert result.exit_code == 0 and len(json.loads(result.stdout)["estimates"]) == 1
    assert json.loads(result.stderr)["warning"].startswith("delta=0.01 exceeds 1/n") and ".py" not in result.stderr
    words = run("release", survey, *ONE, *MEAN, "--delta", "0.01").stderr
    assert words.startswith("Warning: delta=0.01 exceeds 1/n") and ".py" not in words


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hedgerow", *map(str, arguments)]
    return subprocess.run(command, text=True, encoding="utf-8", timeout=120, check=False, **options)


def test_a_closed_pipe_ends_quietly_and_says_what_is_spent(survey: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    result = process("release", survey, *ONE, *MEAN, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert result.returncode == 6 and result.stderr.startswith("HG604: ")
    assert "Traceback" not in result.stderr and "BrokenPipe" not in result.stderr


def test_a_process_of_its_own_in_a_terminal_of_ascii(survey: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONWARNINGS": "error"}
    options: dict[str, Any] = {"env": environment, "capture_output": True}
    asked = ["release", survey, *ONE, "--count", "--by", "region=Île"]
    shown = process(*asked, **options)
    assert shown.returncode == 0 and "region=?le" in shown.stdout
    record = process(*asked, "--json", **options)
    assert json.loads(record.stdout)["estimates"][0]["cell"] == {"region": "Île"}


def test_help_is_quick_because_it_imports_no_vendor() -> None:
    heavy = ("duckdb", "opendp", "dp_accounting", "scipy", "matplotlib", "pydantic", "narwhals", "pandas", "pyarrow")
    program = (
        "import sys; sys.argv = ['hedgerow', '--help']\n"
        "from hedgerow.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert "release" in result.stdout and result.stdout.splitlines()[-1] == "[]"


def test_version_and_help() -> None:
    assert run("--version").stdout == f"hedgerow {hg.__version__}\n"
    for asked in ([], ["--help"], ["-h"]):
        shown = run(*asked)
        assert shown.exit_code == 0 and all(verb in shown.stdout for verb in ("release", "price", "demo", "explain"))
    unknown = run("relese")
    assert unknown.exit_code == 2 and unknown.stderr.startswith("HG116: ")
