"""A power cut right after an answer: the journal of the last commit comes back wherever the folder was not synced.

A preloaded library (`power_cut.c`) keeps what a power cut could bring back. Each process of a test gives one answer and
ends without warning; then the power is cut, and another process is asked the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.testset.served import PREDICTED, made

from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="needs Linux and gcc"
)

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
    built = tmp_path_factory.mktemp("library") / "power_cut.so"
    source = Path(__file__).with_name("power_cut.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True)
    return built


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "kept"
    made.mkdir(mode=0o700)
    return made


def told(library: Path, folder: Path, script: str, *given: str | Path) -> Any:
    """Run a script in a process of its own, which ends at once, and return what it printed."""
    where = {**os.environ, "LD_PRELOAD": str(library), "POWER_CUT": str(folder)}
    run = subprocess.run([sys.executable, "-c", script, *map(str, given)], env=where, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def cut(folder: Path) -> int:
    """Cut the power: each removal of a journal that was not synced is undone; return how many there are."""
    back = list(folder.glob("*.unsynced"))
    for one in back:
        one.replace(one.with_suffix(""))
    return len(back)


def test_a_server_gives_one_look_one_answer(library: Path, folder: Path) -> None:
    ledger, body = made(folder), json.dumps({"predictions": PREDICTED})
    first = told(library, folder, ANSWER, ledger, body)
    assert first[0] == 200 and cut(folder) == 0
    again = told(library, folder, ANSWER, ledger, body)
    assert again[1]["replayed"] and again[1]["score"] == first[1]["score"]


@pytest.mark.parametrize(("before", "back"), [("", 0), (WITHOUT_SYNC, 1)], ids=["synced", "not synced"])
def test_an_answer_from_a_record_is_synced_too(library: Path, folder: Path, before: str, back: int) -> None:
    """A server that was killed between the removal of a journal and its sync leaves the sync to the next server.

    Where neither syncs the folder, the test sees the journal come back, and a second draw.
    """
    ledger, body = made(folder), json.dumps({"predictions": PREDICTED})
    first = told(library, folder, WITHOUT_EXTRA + ANSWER, ledger, body)
    again = told(library, folder, before + ANSWER, ledger, body)
    assert again[1]["replayed"] and again[1]["score"] == first[1]["score"]
    assert cut(folder) == back
    if back:
        drawn = told(library, folder, ANSWER, ledger, body)
        assert not drawn[1]["replayed"] and drawn[1]["score"] != first[1]["score"]


@pytest.mark.parametrize(("before", "back"), [("", 0), (WITHOUT_EXTRA, 1)], ids=["synced", "not synced"])
def test_a_release_is_kept_or_refused(library: Path, folder: Path, before: str, back: int) -> None:
    ledger, data = folder / "people.ledger", folder / "people.csv"
    data.write_text("age\n" + "30\n" * 500)
    budget = Budget(2.0, 1e-6)
    Ledger.create(ledger, dataset="people", budget=budget, relation="add-remove", unit="row").close()
    first = told(library, folder, before + RELEASE, ledger, data)
    assert not first[0] and cut(folder) == back
    again = told(library, folder, RELEASE, ledger, data)
    # Also where the record is lost there is no second draw: the price stays reserved.
    assert again == (["HG312"] if back else [True, *first[1:]])
    with Ledger.open(ledger) as opened:
        assert len(opened.entries()) == 1
        if not back:
            opened.verify(first[2])
