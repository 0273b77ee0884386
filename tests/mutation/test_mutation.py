"""The command `make mutants`: what it counts as a fault, which tests it picks, and a slice of a real run."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "hedgerow"
ENTRIES = tomllib.loads((Path(__file__).with_name("equivalent.toml")).read_text(encoding="utf-8")).get("equivalent", [])
EXAMPLE = '''"""A file."""
import math
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from x import a * 1
LIMIT: int | None = 3
@dataclass(slots=True)
class A:
    b: float = 0.5

def f(x: int | None = 2, *, y: int) -> int | None:
    """Return 1 + 1."""
    if x < 3 and x:
        raise ValueError(f"{x + 1}")
    for y in zip(x, x, strict=True):
        math.prod(y)
    x = x * y
    return max(x, -LIMIT) ** 2

def specimens():
    return 1 + 1
'''.replace("a * 1", "a")


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["before"][:40] for entry in ENTRIES])
def test_an_equivalent_fault_still_has_its_line_and_a_reason(entry: dict[str, Any]) -> None:
    source = " ".join(line.strip() for line in (SOURCE / entry["file"]).read_text(encoding="utf-8").splitlines())
    assert entry["before"] in source
    made = entry["after"] if isinstance(entry["after"], list) else [entry["after"]]
    assert made and all(after != entry["before"] and after not in source for after in made)
    assert len(entry["reason"].split()) >= 6
    assert entry["same"] in ("result", "law", "bound"), "what the second reader found"


def test_the_faults_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cosmic_ray", reason="make mutants installs it")
    from tests.mutation import mutations

    monkeypatch.setattr(mutations, "SOURCE", tmp_path)
    path = tmp_path / "a.py"
    path.write_text(EXAMPLE, encoding="utf-8")
    faults = mutations.mutations_of(path)
    changed = {mutations.changed(EXAMPLE, one.source(EXAMPLE))[1] for one in faults}
    assert changed == {
        *("LIMIT: int | None = 4", "LIMIT: int | None = 2", "b: float = 0.45", "b: float = 0.55"),
        *(f"def f(x: int | None = {number}, *, y: int) -> int | None:" for number in (3, 1)),
        *("if x <= 3 and x:", "if x < 3 or x:", "if x < 4 and x:", "if x < 2 and x:", "if not x < 3 and x:"),
        *("x = x / y", "for y in []:", "pass", "return min(x, -LIMIT) ** 2", "return max(x, LIMIT) ** 2"),
        *("return max(x, -LIMIT) * 2", "return max(x, -LIMIT) ** 3", "return max(x, -LIMIT) ** 1"),
    }
    for one in faults:
        ast.parse(one.source(EXAMPLE))
        assert one.text in mutations.changed(EXAMPLE, one.source(EXAMPLE))[0], "the fault stands on its line"
    assert len({one.key for one in faults}) == len(faults)
    # A line above moves no key, so that the sample and the list of equivalent faults stay as they are.
    path.write_text(EXAMPLE.replace("import math", "import math\n\n"), encoding="utf-8")
    assert {one.key for one in mutations.mutations_of(path)} == {one.key for one in faults}


def test_the_tests_of_a_line(tmp_path: Path) -> None:
    pytest.importorskip("coverage", reason="make mutants installs it")
    from tests.mutation.covering import Covering

    source = "A = 1\ndef f():\n    return (1 +\n        2)\nB = 2\n"
    covering = Covering(["slow", "quick"], [2.0, 1.0], {"a.py": {1: [], 2: [], 3: [0, 1], 5: []}})
    assert covering.of("a.py", 3, source) == ["quick", "slow"]
    assert covering.of("a.py", 4, source) == ["quick", "slow"], "the line belongs to the statement of line 3"
    assert covering.of("a.py", 1, source) == ["quick", "slow"], "what runs on import is met by all tests of the file"
    assert covering.of("b.py", 1, source) == []


def test_lines_of_every_folder_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of the project, which measure other folders for `make coverage`, do not apply."""
    pytest.importorskip("coverage", reason="make mutants installs it")
    from tests.mutation import covering

    settings: dict[str, object] = {}

    class Measured:
        def __init__(self, **given: object) -> None:
            settings.update(given)
            raise KeyboardInterrupt

    monkeypatch.setattr(covering.coverage, "Coverage", Measured)
    with pytest.raises(KeyboardInterrupt):
        covering.measure(tmp_path, ["ledger/total.py"], [])
    assert settings["config_file"] is False
    assert settings["include"] == [str(tmp_path / "src" / "hedgerow" / "ledger" / "total.py")]


@pytest.mark.long
def test_most_faults_of_a_slice_are_noticed() -> None:
    """60 faults of the sample of `make mutants`; the whole sample takes hours."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.mutation", "--count", "60", "--least", "0.8"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
