"""A power cut right after an answer: the journal of the last commit comes back wherever the folder was not synced.

A preloaded library (`failing_disk.c`) logs what is done and synced: from the log follows what a power cut brings back.
Each process of a test gives one answer and ends without warning; then the power is cut, and another process is asked
the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.laws.disk import NEEDED, Disk, built
from tests.unit.testset.served import PREDICTED, made

from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger

pytestmark = NEEDED

WITHOUT_EXTRA = "import hedgerow.ledger.file as f; f._PRAGMAS = ('PRAGMA synchronous = FULL', *f._PRAGMAS[1:])"
WITHOUT_SYNC = "import hedgerow.ledger.file as f; f.sync_folder = lambda folder: None"
ANSWER = """
import json, os, sys
from pathlib import Path
from hedgerow.testset.server.service import Service
ledger, predicted = Path(sys.argv[1]), sys.argv[2]
service = Service(ledger, ledger.with_name("test.csv"), lambda line: None)
answer = service.answer_score("one", predicted.encode(), "application/json")
print(json.dumps([answer.status, answer.record]), flush=True)
os._exit(0)
"""
RELEASE = """
import json, os, sys, hedgerow as hg
survey = hg.open(sys.argv[2], relation="add-remove", ledger=sys.argv[1])
try:
    found = survey.release([hg.count()], epsilon=0.5, delta=0.0, request_id="one")
    print(json.dumps([found.replayed, [one.estimate for one in found], found.ledger_head]), flush=True)
except hg.HedgerowError as refused:
    print(json.dumps([refused.code]), flush=True)
os._exit(0)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("library"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "kept"
    made.mkdir(mode=0o700)
    return made


@dataclass
class Told:
    """Processes that give answers one after the other, from files in a folder, and the disk under them."""

    library: Path
    folder: Path
    disk: Disk

    def __call__(self, script: str, *given: str | Path) -> Any:
        """Run a script in a process of its own, which ends at once, and return what it printed."""
        log = self.folder.with_name("log")
        where = {"LD_PRELOAD": str(self.library), "FAILING_DISK": str(self.folder), "FAILING_DISK_LOG": str(log)}
        command = [sys.executable, "-c", script, *map(str, given)]
        run = subprocess.run(command, env={**os.environ, **where}, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        self.disk.replays(log.read_bytes() if log.exists() else b"")
        log.unlink(missing_ok=True)
        return json.loads(run.stdout)

    def cut(self) -> int:
        """Cut the power: each removal of a file that was not synced is undone; return how many there are."""
        back = {path: content for path, content in self.disk.synced.items() if path not in self.disk.names}
        for path, content in back.items():
            Path(path).write_bytes(content.synced)
        self.disk = Disk.of(self.folder)
        return len(back)


def test_a_server_gives_one_look_one_answer(library: Path, folder: Path) -> None:
    ledger, body = made(folder), json.dumps({"predictions": PREDICTED})
    told = Told(library, folder, Disk.of(folder))
    first = told(ANSWER, ledger, body)
    assert first[0] == 200 and told.cut() == 0
    again = told(ANSWER, ledger, body)
    assert again[1]["replayed"] and again[1]["score"] == first[1]["score"]


@pytest.mark.parametrize(("before", "back"), [("", 0), (WITHOUT_SYNC, 1)], ids=["synced", "not synced"])
def test_an_answer_from_a_record_is_synced_too(library: Path, folder: Path, before: str, back: int) -> None:
    """A server that was killed between the removal of a journal and its sync leaves the sync to the next server.

    Where neither syncs the folder, the test sees the journal come back, and a second draw.
    """
    ledger, body = made(folder), json.dumps({"predictions": PREDICTED})
    told = Told(library, folder, Disk.of(folder))
    first = told(WITHOUT_EXTRA + ANSWER, ledger, body)
    again = told(before + ANSWER, ledger, body)
    assert again[1]["replayed"] and again[1]["score"] == first[1]["score"]
    assert told.cut() == back
    if back:
        drawn = told(ANSWER, ledger, body)
        assert not drawn[1]["replayed"] and drawn[1]["score"] != first[1]["score"]


@pytest.mark.parametrize(("before", "back"), [("", 0), (WITHOUT_EXTRA, 1)], ids=["synced", "not synced"])
def test_a_release_is_kept_or_refused(library: Path, folder: Path, before: str, back: int) -> None:
    ledger, data = folder / "people.ledger", folder / "people.csv"
    data.write_text("age\n" + "30\n" * 500)
    budget = Budget(2.0, 1e-6)
    Ledger.create(ledger, dataset="people", budget=budget, relation="add-remove", unit="row").close()
    told = Told(library, folder, Disk.of(folder))
    first = told(before + RELEASE, ledger, data)
    assert not first[0] and told.cut() == back
    again = told(RELEASE, ledger, data)
    # Also where the record is lost there is no second draw: the price stays reserved.
    assert again == (["HG312"] if back else [True, *first[1:]])
    with Ledger.open(ledger) as opened:
        assert len(opened.entries()) == 1
        if not back:
            opened.verify(first[2])
