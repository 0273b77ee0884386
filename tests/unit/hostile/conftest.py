"""Two doors to every release, `hedgerow.open` and the command line, and everything that either lets out."""

from __future__ import annotations

import json
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger

CANARY = "424242.125"


@dataclass
class Doors:
    """Asks one question through both doors, each with a ledger, and keeps every text that comes out."""

    folder: Path
    logged: Callable[[], str]
    texts: list[str] = field(default_factory=list)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def ledger(self, relation: str = "add-remove") -> Path:
        path = self.folder / f"{relation}.ledger"
        if not path.exists():
            Ledger.create(path, dataset="people", budget=Budget(90.0, 1e-5), relation=relation, unit="row").close()
        return path

    def entries(self, relation: str = "add-remove") -> list[str]:
        with Ledger.open(self.ledger(relation)) as ledger:
            ledger.verify()
            return [entry.state for entry in ledger.entries()]

    def api(self, source: Any, asked: Callable[[], Any], relation: str = "add-remove", **options: Any) -> str | None:
        """Release through the package; return the code of its refusal, None where it was released."""
        opening = {name: options.pop(name) for name in ("table", "unit", "target") if name in options}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                survey = hg.open(source, relation=relation, ledger=self.ledger(relation), **opening)
                self.texts.append(repr(survey))
                release = survey.release(asked(), **{"epsilon": 0.5, **options})
                self.texts += [repr(release), str(release), release.to_json(), release._repr_html_()]
                code = None
            except hg.HedgerowError as refused:
                assert refused.rule and refused.remedy, refused
                self.texts += [str(refused), repr(refused), "".join(traceback.format_exception(refused))]
                code = refused.code
        self.texts += [str(one.message) for one in told]
        return code

    def cli(
        self, source: object, *asked: object, relation: str = "add-remove", out: bool = False
    ) -> tuple[str | None, int]:
        """Release through the command line; return (code, exit code). Pictures take a second, so few ask for `out`."""
        folder = ["--out", self.folder / "out"] if out else ["--json"]
        given = ["--relation", relation, "--ledger", self.ledger(relation), *folder]
        epsilon = [] if "--epsilon" in asked else ["--epsilon", "0.5"]
        arguments = ["release", *([] if source is None else [source]), *given, *epsilon, *asked]
        return self.command(*arguments)

    def command(self, *arguments: object) -> tuple[str | None, int]:
        """Run any command; return (code, exit code)."""
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        self.texts += [result.stdout, result.stderr]
        assert "Traceback" not in result.output
        if result.exit_code == 0:
            return None, 0
        if "--json" in arguments:
            # Under --json a refusal is JSON, after any warnings.
            error = json.loads(result.stderr.splitlines()[-1])["error"]
            assert error["exit"] == result.exit_code and error["rule"], result.stderr
            return error["code"], result.exit_code
        code = result.stderr.split(":", 1)[0]
        assert f"hedgerow explain {code}" in result.stderr, result.stderr
        return code, result.exit_code

    def said(self) -> str:
        """Everything that came out, the files of the releases included."""
        written = [path.read_bytes().decode("utf-8", "replace") for path in self.folder.glob("out/*")]
        return "\n".join([*self.texts, *written, self.logged()])


@pytest.fixture
def doors(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Doors]:
    caplog.set_level(logging.DEBUG)
    both = Doors(tmp_path, lambda: caplog.text)
    yield both
    said = both.said()
    # Fixed at the end of every test: whatever it was about, no value of the data came out.
    assert CANARY not in said and CANARY not in json.dumps(said)
