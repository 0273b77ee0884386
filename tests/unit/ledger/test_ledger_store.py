"""One ledger, one process: what it takes, what it refuses, and that a refusal spends nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hedgerow.canonical import canonical, digest
from hedgerow.errors import (
    BudgetExceeded,
    HedgerowError,
    LedgerError,
    ParameterError,
    SpentError,
    UncertifiedError,
    VerificationError,
)
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation, UnitLimit
from hedgerow.ledger import file, open_ledgers, store
from hedgerow.ledger.chain import Header
from hedgerow.ledger.ledger_entry import Head, fingerprint_of
from hedgerow.ledger.open_ledgers import open_again
from hedgerow.ledger.store import Ledger, Replay, Reserved
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.noisy_counts import GaussianNoise, GeometricCounts


def price(epsilon: float = 0.25, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Certificate:
    return certify(GeometricCounts(1.0 / epsilon * (1 + 1e-9), 1), relation, unit=unit, delta=0.0)


def create(path: Path, epsilon: float = 1.0, **more: object) -> Ledger:
    facts = {"budget": Budget(epsilon, 0.0), "dataset": "people", "relation": "add-remove", "unit": "row", **more}
    return Ledger.create(path, **facts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def spend(ledger: Ledger, name: str, epsilon: float = 0.25, result: str | None = None) -> Reserved | Replay:
    reserved = ledger.reserve(price(epsilon), request_id=name, fingerprint="count")
    if result is not None:
        assert isinstance(reserved, Reserved)
        reserved.record(result)
    return reserved


def rewrite(path: Path, *statements: str) -> None:
    """Edit a ledger as its owner can: with SQLite, triggers taken away and put back."""
    with sqlite3.connect(path, isolation_level=None) as rows:
        triggers = rows.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            rows.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            rows.execute(statement)
        for _, sql in triggers:
            rows.execute(sql)
    rows.close()


def test_what_is_spent_survives_reopening(path: Path) -> None:
    with create(path) as ledger:
        spend(ledger, "a", 0.25, "first")
        spend(ledger, "b", 0.5)
    again = Ledger.open(path)
    assert (again.spent(), again.remaining()) == (0.75, 0.25)
    assert (again.dataset, again.unit, again.family, again.budget) == ("people", "row", "any", Budget(1.0, 0.0))
    one, two = again.entries()
    assert (one.state, one.result, one.total_micro, one.relation) == ("recorded", "first", 250_000, "add-remove")
    assert (two.state, two.result, two.total_micro, two.sealed) == ("reserved", None, 750_000, None)
    assert two.previous == one.sealed
    assert again.head == again.verify() == again.verify(str(again.head)) == Head(3, two.hash)
    assert repr(two) == "Entry('b', reserved, total_epsilon=0.750000)"
    assert repr(again) == "Ledger('people', epsilon=1, delta=0, 'add-remove')"


def test_the_budget_can_be_used_up_exactly_and_no_further(path: Path) -> None:
    ledger = create(path)
    for name in "abcd":
        spend(ledger, name)
    assert ledger.remaining() == 0.0
    head = ledger.head
    with pytest.raises(BudgetExceeded, match="HG310") as refused:
        spend(ledger, "one unit more", 0.002)
    assert (refused.value.requested, refused.value.remaining) == (0.002, 0.0)
    assert ledger.head == head and len(ledger.entries()) == 4


def test_a_release_at_the_whole_gaussian_budget_fits(path: Path) -> None:
    noise = GaussianNoise(5.2, 1.0)
    whole = certify(noise, Relation.REPLACE_ONE, unit="row", delta=1e-6)
    ledger = create(path, budget=Budget(whole.epsilon, 1e-6), relation="replace-one")
    assert ledger.would_spend(whole) == whole.epsilon
    ledger.reserve(whole, request_id="a", fingerprint="mean")
    assert ledger.remaining() == 0.0


def test_composition_costs_less_than_the_sum(path: Path) -> None:
    one = certify(GaussianNoise(40.0, 1.0), Relation.REPLACE_ONE, unit="row", delta=1e-6)
    ledger = create(path, budget=Budget(1.0, 1e-6), relation="replace-one")
    for number in range(20):
        ledger.reserve(one, request_id=str(number), fingerprint="mean")
    assert ledger.spent() < 0.6 * 20 * one.epsilon


def test_the_same_request_is_answered_from_the_file_at_no_cost(path: Path) -> None:
    ledger = create(path)
    text = '{"estimate": 41.5, "name": "Zoë\\u0000\\n"}\r\n\0'
    spend(ledger, "a", result=text)
    head = ledger.head
    for _ in range(100):
        replay = Ledger.open(path).reserve(price(), request_id="a", fingerprint="count")
        assert isinstance(replay, Replay) and replay.result == text and replay.head == head
    assert ledger.head == head


def test_another_request_under_a_used_id_is_refused(path: Path) -> None:
    ledger = create(path)
    spend(ledger, "a", result="x")
    with pytest.raises(LedgerError, match="HG311"):
        ledger.reserve(price(), request_id="a", fingerprint="another")
    spend(ledger, "b")
    with pytest.raises(LedgerError, match="HG312"):
        spend(ledger, "b")
    with pytest.raises(LedgerError, match="HG311"):
        ledger.reserve(price(), request_id="b", fingerprint="another")
    assert ledger.spent() == 0.5


def test_a_result_is_recorded_once(path: Path) -> None:
    ledger = create(path)
    reserved = spend(ledger, "a")
    assert isinstance(reserved, Reserved)
    reserved.record("x")
    head = ledger.head
    reserved.record("x")
    assert ledger.head == head
    with pytest.raises(LedgerError, match="HG313"):
        reserved.record("y")
    with pytest.raises(LedgerError, match="HG313"):
        ledger.record("never", "x")


def test_prices_of_another_relation_or_unit_are_refused(path: Path) -> None:
    ledger = create(path)
    for other in (price(relation=Relation.REPLACE_ONE), price(unit="household")):
        with pytest.raises(LedgerError, match="HG309"):
            ledger.reserve(other, request_id="a", fingerprint="count")
    assert ledger.head.counter == 0


def test_a_certificate_that_understates_its_price_gains_nothing(path: Path) -> None:
    honest = price(0.5)
    cheap = Certificate(honest.mechanism, honest.relation, "row", 1e-6, 0.0, (), "upper", (), {})
    ledger = create(path)
    ledger.reserve(cheap, request_id="a", fingerprint="count")
    assert ledger.spent() == 0.5


def test_a_gaussian_ledger_takes_gaussians_only(path: Path) -> None:
    ledger = create(path, budget=Budget(1.0), family="gaussian")
    with pytest.raises(UncertifiedError, match="HG315"):
        spend(ledger, "a")
    noise = certify(GaussianNoise(9.0, 1.0), Relation.ADD_REMOVE, unit="row", delta=1e-6)
    ledger.reserve(noise, request_id="a", fingerprint="mean")
    assert ledger.spent() == noise.epsilon == ledger.verify().counter * noise.epsilon


@pytest.mark.parametrize(
    "wrong",
    [
        {"request_id": ""},
        {"request_id": "x" * 201},
        {"request_id": "line\nbreak"},
        {"request_id": 7},
        {"fingerprint": ""},
        {"fingerprint": None},
    ],
)
def test_ids_and_requests_are_texts(path: Path, wrong: dict[str, object]) -> None:
    ledger = create(path)
    with pytest.raises(ParameterError, match="HG314"):
        ledger.reserve(price(), **{"request_id": "a", "fingerprint": "count", **wrong})
    assert ledger.head.counter == 0


def test_what_is_no_text_is_not_recorded(path: Path) -> None:
    reserved = spend(create(path), "a")
    for wrong in ("\ud800", b"bytes", None):
        with pytest.raises(ParameterError, match="HG314"):
            reserved.record(wrong)


@pytest.mark.parametrize(
    "wrong", [{"dataset": ""}, {"unit": "\x1b[31m"}, {"family": "all"}, {"relation": "both"}, {"budget": 1.0}]
)
def test_a_ledger_is_not_made_of_nonsense(path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        create(path, **wrong)
    assert not path.exists()


def test_fingerprints_are_canonical_and_finite() -> None:
    assert fingerprint_of({"b": 1, "a": [0.1]}) == '{"a":[0.1],"b":1}'
    for wrong in ({"a": float("nan")}, {"a": {1}}, {"a": Path()}):
        with pytest.raises(ParameterError, match="HG314"):
            fingerprint_of(wrong)


@pytest.mark.parametrize("wrong", ["", "7", "1:abc", "-1:" + 64 * "a", None, "1:" + 64 * "A"])
def test_a_head_is_copied_whole(wrong: object) -> None:
    with pytest.raises(ParameterError, match="HG314"):
        Head.parse(wrong)


# Bad files ------------------------------------------------------------------------------------------------------------


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("dataset = people\n" * 100)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2048])


def corrupted(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * 512 + whole[8704:])


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def another_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as rows:
        rows.execute("CREATE TABLE head (id)")
    rows.close()


def second_name(path: Path) -> None:
    os.link(path, path.with_name("copy"))


def newer(path: Path) -> None:
    rewrite(path, f"PRAGMA user_version = {file.VERSION + 1}")


def without_triggers(path: Path) -> None:
    with sqlite3.connect(path) as rows:
        rows.execute("DROP TRIGGER links_no_DELETE")
    rows.close()


def gone(path: Path) -> None:
    path.unlink()


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (empty, "HG303"),
        (text, "HG303"),
        (truncated, "HG303"),
        (corrupted, "HG303"),
        (folder, "HG303"),
        (pipe, "HG303"),
        (another_database, "HG303"),
        (second_name, "HG303"),
        (without_triggers, "HG303"),
        (newer, "HG304"),
        (gone, "HG301"),
        (loop, "HG301"),
    ],
)
def test_what_is_no_whole_ledger_is_refused_and_left_as_it_is(
    path: Path, spoil: Callable[[Path], None], code: str
) -> None:
    ledger = create(path, 100.0)
    for number in range(20):
        spend(ledger, f"r{number}", result="x" * 500)
    ledger.close()
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(LedgerError, match=code):
        Ledger.open(path)
    assert (path.read_bytes() if path.is_file() else None) == before
    with pytest.raises(HedgerowError):
        spend(ledger, "more")


def test_opening_makes_no_file_and_creating_overwrites_none(path: Path, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="HG301"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="HG301"):
        Ledger.open("nul\0byte")
    assert not path.exists()
    create(path)
    before = path.read_bytes()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "left-journal").write_bytes(b"x")
    for taken in (path, tmp_path / "dangling", tmp_path / "missing" / "ledger", tmp_path / "left", "nul\0byte"):
        with pytest.raises(LedgerError, match="HG302"):
            create(taken)
    assert path.read_bytes() == before


def test_odd_names_of_files_work(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=memory&x#y%20é.ledger"
    spend(create(path), "a")
    assert Ledger.open(path).spent() == 0.25
    link = tmp_path / "link"
    link.symlink_to(path)
    assert Ledger.open(link).path == path.resolve()


# Deceit ---------------------------------------------------------------------------------------------------------------

EDITS = {
    "an edited mechanism": ["UPDATE links SET body = replace(body, '\"scale\":4', '\"scale\":9') WHERE counter = 1"],
    "a deleted link": ["DELETE FROM links WHERE counter = 2"],
    "a dropped tail": ["DELETE FROM links WHERE counter = 4"],
    "an edited result": ["UPDATE links SET result = CAST('forged' AS BLOB) WHERE counter = 2"],
    "a renamed request": ["UPDATE links SET request = 'z' WHERE counter = 3"],
    "a header with more": ["UPDATE header SET body = replace(body, '\"epsilon\":1.0', '\"epsilon\":9.0')"],
    "no header": ["DELETE FROM header"],
    "a moved head": ["UPDATE head SET counter = 2"],
    "no head": ["DELETE FROM head"],
}


@pytest.mark.parametrize("edit", EDITS)
def test_edits_are_noticed(path: Path, edit: str) -> None:
    ledger = create(path)
    spend(ledger, "a", result="one")
    spend(ledger, "b", result="two")
    ledger.close()
    kept = Ledger.open(path)
    _, mark = kept.news()
    rewrite(path, *EDITS[edit])
    with pytest.raises(HedgerowError, match="HG305"):
        kept.news(mark)
    with pytest.raises(HedgerowError, match="HG305"):
        Ledger.open(path).verify()
    with pytest.raises(HedgerowError, match="HG305"):
        Ledger.open(path).entries()


def ending(use: Callable[[], object]) -> object:
    try:
        return use()
    except HedgerowError as refused:
        return refused.code, refused.finding


@pytest.mark.parametrize("edit", EDITS)
def test_whoever_opens_again_notices_what_whoever_opens_notices(path: Path, edit: str) -> None:
    create(path).close()
    for name in ("a", "b"):
        with open_again(path) as ledger:
            spend(ledger, name, result="one")
    rewrite(path, *EDITS[edit])
    found = ending(lambda: Ledger.open(path).entries())
    assert isinstance(found, tuple) and found[0] == "HG305"
    assert ending(lambda: open_again(path).entries()) == found
    assert ending(lambda: open_again(path).entries()) == found


def test_whoever_opens_again_sees_what_is_there_now(path: Path, tmp_path: Path) -> None:
    create(path).close()
    with open_again(path) as first:
        spend(first, "a", 0.125, result="one")
    shutil.copy(path, tmp_path / "old")
    with Ledger.open(path) as other:
        spend(other, "b", 0.5)
    with open_again(path) as again:
        assert again is first and again.spent() == 0.625 and again.head == again.verify()
        with pytest.raises(BudgetExceeded, match="HG310"):
            spend(again, "c", 0.5)
    # As by `open`, an old copy and another ledger are taken for what they are.
    shutil.copy(tmp_path / "old", path)
    with open_again(path) as again:
        assert again is not first and again.spent() == 0.125
    path.unlink()
    with pytest.raises(LedgerError, match="HG301"):
        open_again(path)
    create(path, epsilon=9.0).close()
    with open_again(path) as again:
        assert (again.spent(), again.remaining()) == (0.0, 9.0)


def test_a_process_remembers_few_ledgers(tmp_path: Path) -> None:
    for name in "abcdef":
        create(tmp_path / name).close()
        open_again(tmp_path / name).close()
    assert [place.name for place in open_ledgers._OPEN] == ["c", "d", "e", "f"]


def test_news_are_what_was_reserved_or_recorded_since(path: Path) -> None:
    ledger = create(path)
    spend(ledger, "a", 0.1, result="one")
    first = spend(ledger, "b", 0.1)
    entries, mark = ledger.news()
    assert entries == ledger.entries() and ledger.news(mark) == ((), mark)
    spend(ledger, "c", 0.1, result="three")
    assert isinstance(first, Reserved)
    first.record("two")
    assert [(one.request_id, one.result) for one in ledger.news(mark)[0]] == [("c", "three"), ("b", "two")]
    _, mark = ledger.news()
    with Ledger.open(path) as other:
        spend(other, "d", 0.1)
    assert ledger.news(mark)[0] == ledger.entries()  # others have written, so that all is read again
    _, mark = ledger.news()
    ledger.close()
    assert len(ledger.news(mark)[0]) == 4


def rechained(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    """Forge as well as can be: change the first link and compute every hash after it anew."""
    import json

    with sqlite3.connect(path) as rows:
        bodies = [json.loads(body) for (body,) in rows.execute("SELECT body FROM links ORDER BY counter")]
        previous = rows.execute("SELECT hash FROM header").fetchone()[0]
    rows.close()
    change(bodies[0])
    statements = []
    for record in bodies:
        record["previous"] = previous
        body = canonical(record)
        previous = digest(body)
        quoted = body.replace("'", "''")
        where = f"WHERE counter = {record['counter']}"
        statements.append(f"UPDATE links SET body = '{quoted}', hash = '{previous}' {where}")
    rewrite(path, *statements, f"UPDATE head SET hash = '{previous}'")


def test_a_chain_forged_anew_still_has_to_add_up_and_to_pass_the_head(path: Path) -> None:
    ledger = create(path)
    spend(ledger, "a", result="one")
    head = ledger.head
    spend(ledger, "b")
    ledger.close()
    rechained(path, lambda record: record.update(total=1))
    with pytest.raises(VerificationError, match=r"HG305.*total"):
        Ledger.open(path).verify()
    rechained(path, lambda record: record.update(total=250_000, fingerprint="another"))
    assert Ledger.open(path).verify().counter == 3  # whole in itself, so only a head kept elsewhere tells
    with pytest.raises(VerificationError, match="HG306"):
        Ledger.open(path).verify(head)


def test_an_old_copy_is_noticed_with_a_head_and_by_whoever_saw_more(path: Path, tmp_path: Path) -> None:
    ledger = create(path)
    spend(ledger, "a", result="one")
    ledger.close()
    shutil.copy(path, tmp_path / "old")
    spend(ledger, "b", result="two")
    head = str(ledger.head)
    ledger.close()
    shutil.copy(tmp_path / "old", path)
    assert Ledger.open(path).verify().counter == 2
    with pytest.raises(VerificationError, match="HG306"):
        Ledger.open(path).verify(head)
    with pytest.raises(LedgerError, match="HG305"):
        spend(ledger, "c")
    with pytest.raises(VerificationError, match="HG305"):
        ledger.verify()


def test_another_process_that_spends_is_seen(path: Path) -> None:
    one, two = create(path), Ledger.open(path)
    spend(one, "a", 0.5)
    assert two.remaining() == 0.5
    spend(two, "b", 0.5, "x")
    with pytest.raises(BudgetExceeded):
        spend(one, "c")
    assert [entry.request_id for entry in one.entries()] == ["a", "b"]


def test_rows_are_only_ever_appended(path: Path) -> None:
    spend(create(path), "a", result="x")
    rows = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "UPDATE links SET kind = 'reserve'",
        "DELETE FROM links",
        "UPDATE header SET body = 'x'",
        "DELETE FROM header",
        "UPDATE head SET counter = 0",
        "DELETE FROM head",
        f"INSERT INTO links VALUES (9, 'reserve', 'b', '{{}}', '{64 * 'a'}', NULL)",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            rows.execute(statement)
    rows.close()


# Disks and locks ------------------------------------------------------------------------------------------------------


def reopened_with(monkeypatch: pytest.MonkeyPatch, ledger: Ledger, *pragmas: str) -> None:
    monkeypatch.setattr(file, "_PRAGMAS", (*file._PRAGMAS, *pragmas))
    ledger.close()


def test_a_full_disk_at_reserve_spends_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = create(path)
    spend(ledger, "a")
    before = path.read_bytes()
    reopened_with(monkeypatch, ledger, "PRAGMA max_page_count = 1")
    with pytest.raises(LedgerError, match=r"HG307.*full"):
        ledger.reserve(price(), request_id="b", fingerprint="x" * 100_000)
    monkeypatch.undo()
    ledger.close()
    assert ledger.spent() == 0.25 and path.read_bytes() == before
    spend(ledger, "b")
    ledger.verify()


def test_a_full_disk_at_record_leaves_the_price_spent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = create(path)
    reserved = spend(ledger, "a")
    reopened_with(monkeypatch, ledger, "PRAGMA max_page_count = 1")
    with pytest.raises(SpentError, match="HG606"):
        reserved.record("x" * 100_000)
    monkeypatch.undo()
    ledger.close()
    assert ledger.spent() == 0.25 and ledger.entries()[0].state == "reserved"
    reserved.record("x")
    assert ledger.entries()[0].result == "x"


def test_a_ledger_that_cannot_be_written_is_noticed_before_anything_is_spent(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = create(path)
    reopened_with(monkeypatch, ledger, "PRAGMA query_only = ON")
    with pytest.raises(LedgerError, match="HG307"):
        spend(ledger, "a")
    assert ledger.spent() == 0.0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_or_folder_is_noticed(path: Path, tmp_path: Path) -> None:
    ledger = create(path)
    ledger.close()  # an open file stays writable
    path.chmod(0o400)
    with pytest.raises(LedgerError, match="HG307"):
        spend(ledger, "a")
    path.chmod(0o600)
    tmp_path.chmod(0o500)
    with pytest.raises(LedgerError, match="HG307"):
        spend(ledger, "a")
    tmp_path.chmod(0o700)
    assert ledger.spent() == 0.0


def test_a_locked_ledger_is_waited_for_and_then_refused(path: Path) -> None:
    create(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ledger = Ledger.open(path, timeout=0.01)
    with pytest.raises(LedgerError, match="HG308"):
        spend(ledger, "a")
    # What reads alone needs no turn to write.
    assert ledger.spent() == 0.0 and ledger.entries() == ledger.news()[0] == () and ledger.remaining() > 0.0
    assert ledger.head == ledger.verify() and ledger.would_spend(price()) == 0.25
    other.execute("ROLLBACK")
    other.close()
    spend(ledger, "a")


def test_an_interrupted_transaction_spends_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = create(path)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.ledger.store.write_link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        spend(ledger, "a")
    monkeypatch.undo()
    assert ledger.spent() == 0.0
    spend(ledger, "a")
    ledger.verify()


def test_the_clock_decides_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.ledger import store

    ledger = create(path)
    spend(ledger, "a")
    monkeypatch.setattr(store, "_now", lambda: "1970-01-01T00:00:00+00:00")
    spend(ledger, "b")
    assert [entry.at[:4] for entry in ledger.entries()][1] == "1970"
    ledger.verify()


def test_no_message_holds_an_id_a_request_or_a_result(path: Path) -> None:
    ledger, canary = create(path), "canary-48151623"
    ledger.reserve(price(), request_id=canary, fingerprint=canary).record(canary)
    attempts: list[Callable[[], object]] = [
        lambda: ledger.reserve(price(), request_id=canary, fingerprint="x"),
        lambda: ledger.record(canary, "y"),
        lambda: ledger.record(canary * 2, "y"),
        lambda: ledger.reserve(price(0.9), request_id=canary + "b", fingerprint=canary),
        lambda: ledger.reserve(price(), request_id=canary * 99, fingerprint=canary),
        lambda: Ledger.open(path.with_name(canary)),
    ]
    for attempt in attempts:
        with pytest.raises(HedgerowError) as refused:
            attempt()
        assert canary not in str(refused.value) and refused.value.__cause__ is None


def test_stored_numbers_are_exact(path: Path) -> None:
    awkward: list[Mechanism] = [GeometricCounts(0.1 + 0.2 + 3, 3), GeometricCounts(10 / 3, 1), GeometricCounts(7, 1)]
    ledger = create(path, 100.0)
    for number, mechanism in enumerate(awkward):
        certificate = certify(mechanism, Relation.ADD_REMOVE, unit="row", delta=0.0)
        ledger.reserve(certificate, request_id=str(number), fingerprint="count")
    assert [entry.mechanism for entry in Ledger.open(path).entries()] == awkward


def test_a_header_that_is_not_canonical_is_refused() -> None:
    header = Header("people", Budget(1.0), Relation.ADD_REMOVE, "row", "any", "", "")
    assert Header.from_body(header.body()) == header
    with pytest.raises(ValueError):
        Header.from_body(header.body().replace(":", ": ", 1))


def test_a_unit_is_given_as_to_open_or_by_its_text(tmp_path: Path) -> None:
    texts = set()
    given = ({"column": "id", "max_rows": 4}, ("id", 4), UnitLimit("id", 4), "id, at most 4 rows")
    for place, unit in enumerate(given):
        texts.add(create(tmp_path / str(place), unit=unit).unit)
    assert texts == {"id, at most 4 rows"}
    for unit in ("banana:nonsense", "id, at most few rows", ("id", 0), None):
        with pytest.raises(ParameterError, match="HG115"):
            create(tmp_path / "none", unit=unit)
    with pytest.raises(UncertifiedError, match="HG402"):
        create(tmp_path / "none", unit=("id", 13))


def test_a_ledger_that_was_made_for_any_text_is_still_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "checked_unit", str)
    create(path, unit="household").close()
    monkeypatch.undo()
    ledger = Ledger.open(path)
    ledger.reserve(price(unit="household"), request_id="a", fingerprint="count")
    assert ledger.unit == "household" and ledger.spent() == 0.25
    with pytest.raises(LedgerError, match="holds 'add-remove' for 'household'; the request has 'add-remove' for 'row'"):
        ledger.reserve(price(), request_id="b", fingerprint="count")


def test_the_database_that_tells_the_tables_of_a_ledger_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is left open is a warning from Python 3.13 on."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remembered(*given: Any, **more: Any) -> sqlite3.Connection:
        opened.append(connect(*given, **more))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remembered)
    assert file._expected.__wrapped__() == file._expected()
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
