"""The README: it is short, its pictures are there, its lines run, and its first example passes type checks."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
EXAMPLE = next(body for kind, body in BLOCKS if kind == "python")
MOST_WORDS = 700


def test_the_readme_is_read_in_three_minutes() -> None:
    assert len(TEXT.split()) <= MOST_WORDS


def test_the_pictures_are_there_for_light_and_dark_pages() -> None:
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"', TEXT)
    assert len(pictures) == 2 and pictures[0] != pictures[1]
    for picture in pictures:
        assert (ROOT / picture).read_text(encoding="utf-8").startswith("<svg")


def test_a_dark_picture_differs_in_colours_only() -> None:
    specified = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    assert specified is not None and specified.loader is not None
    pictures = importlib.util.module_from_spec(specified)
    specified.loader.exec_module(pictures)
    for name in ("demo", "epsilon"):
        light, dark = (pictures.file_of(name, page).read_text(encoding="utf-8") for page in ("light", "dark"))
        assert pictures.on_dark(light) == dark
        assert not set(pictures.ON_DARK) & set(re.findall("#[0-9a-f]{6}", dark))


def test_every_line_for_the_shell_runs(tmp_path: Path) -> None:
    """Run the lines one after the other in one folder: later lines read what earlier lines wrote."""
    from hedgerow.demo import draw_survey

    (tmp_path / "hedgerow-demo").mkdir()
    (tmp_path / "hedgerow-demo" / "survey.csv").write_text(draw_survey().to_csv())
    program = Path(sys.executable).with_name("hedgerow")
    lines = [line for kind, body in BLOCKS if kind == "sh" for line in body.splitlines() if line.startswith("hedgerow")]
    assert len(lines) == 5
    for line in lines:
        words = shlex.split(line)[1:]
        run = subprocess.run([program, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert run.returncode == 0, f"{line}\n{run.stderr}"


def test_the_first_example_passes_mypy_strict(tmp_path: Path) -> None:
    """One start of mypy reads the example and the same with a misspelt name: all errors are of the second."""
    programs = {"example.py": EXAMPLE, "misspelt.py": EXAMPLE.replace("hg.mean(", "hg.means(")}
    assert len(set(programs.values())) == 2
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
    # In the repository, whose settings are strict and whose cache `make lint` has filled.
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *(tmp_path / name for name in programs)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    errors = [line for line in run.stdout.splitlines() if ": note: " not in line]
    assert errors and all("misspelt.py" in line and "means" in line for line in errors), run.stdout + run.stderr


@pytest.mark.skipif(importlib.util.find_spec("basedpyright") is None, reason="basedpyright is not installed")
def test_the_first_example_passes_pyright_strict(tmp_path: Path) -> None:
    """Run Pyright's strict mode by basedpyright, which brings its own node and so needs no network."""
    (tmp_path / "example.py").write_text("# pyright: strict\n" + EXAMPLE)
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "example.py"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stdout
