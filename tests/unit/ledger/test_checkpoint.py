"""A checkpoint changes how long a ledger takes to open, and nothing that it says, takes or notices."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hedgerow.canonical import digest
from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger import chain, file, store
from hedgerow.ledger.store import Ledger, Reserved
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.noisy_counts import GaussianNoise, GeometricCounts

MIXES: dict[str, Callable[[int], Mechanism]] = {
    "gaussian": lambda number: GaussianNoise(40.0 + number, 1.0),
    "mixed": lambda number: (GaussianNoise(400.0, 1.0), GeometricCounts(1000.0 + number % 7, 4))[number % 2],
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and checkpoints of the shortest ledgers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "LEAST_LINKS", 1)
    monkeypatch.setattr(store, "_now", lambda: "2026-11-23T00:00:00+00:00")
    return tmp_path / "cache" / "hedgerow" / "ledgers"


def price(mechanism: Mechanism) -> Certificate:
    return Certificate(mechanism, Relation.REPLACE_ONE, "row", 0.1, 1e-6, (), "upper", (), {})


def spend(ledger: Ledger, number: int, mix: str, *, recorded: bool = True) -> None:
    reserved = ledger.reserve(price(MIXES[mix](number)), request_id=f"request {number}", fingerprint='{"mean":"age"}')
    assert isinstance(reserved, Reserved)
    if recorded:
        reserved.record(f"result {number}")


def filled(path: Path, mix: str = "gaussian", entries: int = 20) -> Path:
    with Ledger.create(path, dataset="people", budget=Budget(50.0), relation="replace-one", unit="row") as ledger:
        for number in range(entries):
            spend(ledger, number, mix, recorded=number % 5 != 0)
    return path


def begins_at(ledger: Ledger) -> int:
    """The link after which the file was read."""
    assert ledger._chain is not None
    return ledger._chain.start.counter


@pytest.mark.parametrize("mix", MIXES)
def test_a_ledger_goes_on_from_its_checkpoint_as_if_there_were_none(mix: str, tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger", mix)
    plain = Path(shutil.copy(path, tmp_path / "plain"))
    for number in range(20, 26):
        for one in (path, plain):
            with Ledger.open(one) as ledger:
                assert begins_at(ledger) == (ledger.head.counter if one is path or number > 20 else 0)
                spend(ledger, number, mix)
        # Without a checkpoint, everything is read and composed from the first link on.
        (chain._place(plain)).unlink()
        with Ledger.open(plain) as ledger:
            assert begins_at(ledger) == 0
            ledger.would_spend(price(MIXES[mix](0)))
    assert chain._place(path).exists()
    with Ledger.open(path) as quick, Ledger.open(plain) as whole:
        assert begins_at(quick) > 0
        asked = price(MIXES[mix](3))
        assert (quick.head, quick.spent(), quick.remaining()) == (whole.head, whole.spent(), whole.remaining())
        assert quick.would_spend(asked) == whole.would_spend(asked)
        assert quick.entries() == whole.entries()
        assert quick.verify(quick.head) == whole.head


def test_requests_before_a_checkpoint_are_known(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        assert begins_at(ledger) > 0
        again = ledger.reserve(price(MIXES["gaussian"](1)), request_id="request 1", fingerprint='{"mean":"age"}')
        assert again == store.Replay("request 1", "result 1", ledger.head)
        for name, fingerprint, code in (("request 1", "another", "HG311"), ("request 5", '{"mean":"age"}', "HG312")):
            with pytest.raises(LedgerError, match=code):
                ledger.reserve(price(MIXES["gaussian"](1)), request_id=name, fingerprint=fingerprint)
        with pytest.raises(LedgerError, match="HG313"):
            ledger.record("request 1", "another result")
        assert ledger.record("request 1", "result 1") == ledger.head
        ledger.record("request 5", "late")
    with Ledger.open(path) as ledger:
        assert begins_at(ledger) == ledger.head.counter
        assert {one.request_id: one.result for one in ledger.entries()}["request 5"] == "late"


def outcome(path: Path) -> object:
    """What a process sees of a ledger that it opens, and what it would spend."""
    try:
        with Ledger.open(path) as ledger:
            seen = ledger.head, ledger.spent(), ledger.would_spend(price(MIXES["gaussian"](1)))
            return begins_at(ledger), seen
    except HedgerowError as refused:
        return None, refused.code


@pytest.mark.parametrize("believed", [False, True])
def test_no_edit_of_the_file_is_hidden_by_its_checkpoint(
    believed: bool, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path / "ledger")
    whole, place, chance = path.read_bytes(), chain._place(path), random.Random(4)
    kept = place.read_text()
    if believed:  # the sabotage: a checkpoint that is taken for one of any bytes
        hashed = digest(whole)
        monkeypatch.setattr(file.LedgerFile, "bytes_hash", lambda self: hashed)
    hidden = 0
    for at in chance.sample(range(len(whole)), 150):
        changed = bytearray(whole)
        changed[at] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(changed))
        place.write_text(kept)
        begun, seen = outcome(path)
        place.unlink(missing_ok=True)
        assert begun in (0, None) or believed
        hidden += seen != outcome(path)[1]
    assert (hidden > 0) == believed


def test_an_edit_that_keeps_the_chain_is_composed_anew(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        before = ledger.would_spend(price(MIXES["gaussian"](1)))
    cheaper = filled(tmp_path / "cheaper", entries=10)
    shutil.copyfile(cheaper, path)
    with Ledger.open(path) as ledger:
        assert begins_at(ledger) == 0
        assert ledger.would_spend(price(MIXES["gaussian"](1))) < before


@pytest.mark.parametrize(
    "fault",
    ["empty", "cut", "edited", "another version", "others may write", "the group may write", "a link", "folder"],
)
def test_a_checkpoint_that_cannot_be_believed_is_left_aside(fault: str, tmp_path: Path, cache: Path) -> None:
    path = filled(tmp_path / "ledger")
    place = chain._place(path)
    text = place.read_text()
    match fault:
        case "empty":
            place.write_text("")
        case "cut":
            place.write_text(text[:-1])
        case "edited":
            place.write_text(text.replace('"stated":', '"stated":-'))
        case "another version":
            body = text.split("\n")[1].replace("hedgerow-checkpoint-1", "hedgerow-checkpoint-9")
            place.write_text(f"{digest(body)}\n{body}")
        case "others may write":
            place.chmod(0o602)
        case "the group may write":
            place.chmod(0o620)
        case "a link":
            place.rename(tmp_path / "elsewhere")
            place.symlink_to(tmp_path / "elsewhere")
        case "folder":
            cache.chmod(0o777)
    with Ledger.open(path) as ledger:
        assert begins_at(ledger) == 0
        assert ledger.verify().counter == ledger.head.counter


def test_only_its_owner_may_read_or_write_a_checkpoint(tmp_path: Path, cache: Path) -> None:
    place = chain._place(filled(tmp_path / "ledger"))
    assert (cache.stat().st_mode & 0o777, place.stat().st_mode & 0o777) == (0o700, 0o600)
    assert "result 1" not in place.read_text()


@pytest.mark.parametrize("home", [True, False])
def test_a_cache_that_cannot_be_written_only_costs_time(
    home: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    (tmp_path / "no folder").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no folder") if home else "")
    if not home:
        monkeypatch.setattr(Path, "expanduser", nowhere)
    path = filled(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        assert begins_at(ledger) == 0
        spend(ledger, 20, "gaussian")


@pytest.mark.parametrize("moved", [False, True])
def test_an_interrupt_while_a_checkpoint_is_kept_is_passed_on(
    moved: bool, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before or after the file is moved into its place; no other file is left behind."""
    path, replaced = filled(tmp_path / "ledger", entries=2), Path.replace
    kept = json.loads(chain._place(path).read_text().split("\n", 1)[1])
    known = chain.load(path, lambda: str(kept["bytes"]))
    assert known is not None
    chain._place(path).unlink()

    def interrupted(written: Path, place: Path) -> None:
        if moved:
            replaced(written, place)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        chain.save(path, known)
    assert list(cache.iterdir()) == ([chain._place(path)] if moved else [])


def test_what_another_process_writes_meanwhile_is_read_whole(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    with Ledger.open(path) as mine, Ledger.open(path) as other:
        assert begins_at(mine) > 0
        spend(other, 20, "gaussian")
        assert mine.head == other.head
        assert begins_at(mine) == 0
        spend(mine, 21, "gaussian")
        assert mine.verify(mine.head).counter == other.head.counter


def test_an_old_copy_put_back_under_a_process_is_noticed(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    old = Path(shutil.copy(path, tmp_path / "old"))
    with Ledger.open(path) as ledger:
        spend(ledger, 20, "gaussian")
    with Ledger.open(path) as ledger:
        assert begins_at(ledger) > 0
        old.replace(path)
        with pytest.raises(LedgerError, match="HG305"):
            _ = ledger.head


def test_a_checkpoint_forged_in_the_users_own_cache_is_seen_by_verify_alone(tmp_path: Path) -> None:
    """The one hole, which docs/decisions/0007 states: who can write there can do all that the user can."""
    path = filled(tmp_path / "ledger")
    place, whole = chain._place(path), path.read_bytes()
    edited = whole.replace(b"mean", b"sums", 1)
    assert edited != whole
    path.write_bytes(edited)
    body = place.read_text().split("\n")[1].replace(digest(whole), digest(edited))
    place.write_text(f"{digest(body)}\n{body}")
    with Ledger.open(path) as ledger, pytest.raises(HedgerowError, match="HG305"):
        ledger.verify()


def test_verify_believes_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        asked: list[Path] = []
        monkeypatch.setattr(file, "load", lambda path, hashed: asked.append(path))
        ledger.verify()
        assert asked == []
        _ = ledger.head
        ledger._file.close()
        _ = ledger.head
        assert asked == [path]


def test_a_crash_between_two_checkpoints_loses_nothing(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    crashed = Ledger.open(path)
    spend(crashed, 20, "gaussian", recorded=False)
    crashed._file.close()  # as the end of a process closes it, without leaving a checkpoint
    with sqlite3.connect(path) as connection:
        links = connection.execute("SELECT count(*) FROM links").fetchone()[0]
    connection.close()
    with Ledger.open(path) as ledger:
        assert (begins_at(ledger), ledger.head.counter) == (0, links)
