"""What may be tried with requests, signatures, clocks and ledgers: each is refused by a code, and nothing is spent."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.approval.conftest import (
    ASKED,
    COUNT,
    PASSPHRASE,
    decided,
    done,
    edited,
    release,
    request,
    run,
    spent,
)
from typer.testing import Result

from hedgerow.approval.approval import Approval
from hedgerow.approval.keys import Approver, SigningKey, unlock
from hedgerow.inputs import MOST_BYTES
from hedgerow.ledger.store import Ledger

Record = dict[str, Any]
ATTACKS: dict[str, tuple[str, Callable[[], Result]]] = {}


def attack(name: str, code: str) -> Callable[[Callable[[], Result]], Callable[[], Result]]:
    def named(run_it: Callable[[], Result]) -> Callable[[], Result]:
        assert name not in ATTACKS
        ATTACKS[name] = code, run_it
        return run_it

    return named


def changed(name: str, change: Callable[[Record], Any], code: str = "HG326") -> None:
    attack(name, code)(lambda: release(edited("approved.json", change)))


def words_with(old: str, new: str) -> Callable[[Record], Any]:
    return lambda record: record["request"].update(
        words=[new if word == old else word for word in record["request"]["words"]]
    )


changed("a larger ε in the command", words_with("0.4", "0.9"))
changed("another group in the command", words_with("sex=0,1", "age=30,50"))
changed("a lower price than the command costs", lambda record: record["request"]["price"].update(epsilon=0.01))
changed("another purpose", lambda record: record["request"].update(purpose="a bet"))
changed("another person who asks", lambda record: record["request"].update(asked_by="mallory"))
changed("a later last day", lambda record: record["request"].update(until="3999-12-31"))
changed("an earlier time of asking", lambda record: record["request"].update(at="2020-01-01T00:00:00+00:00"))
changed("other data of the request", lambda record: record["request"]["asked"].update(missing=["midpoint"]))
changed("facts that were added", lambda record: record["request"].update(facts={"relation": "add-remove"}))
changed("another note", lambda record: record["signatures"][0].update(note="as often as you like"))
changed("another name under the signature", lambda record: record["signatures"][0].update(by="bea"))
changed("another time of the signature", lambda record: record["signatures"][0].update(at="2020-01-01T00:00:00+00:00"))
changed("a signature that is no Base64", lambda record: record["signatures"][0].update(signature="!" * 88))
changed("an empty signature", lambda record: record["signatures"][0].update(signature=""))
changed("no signatures at all", lambda record: record.update(signatures=[]), "HG320")
changed("an unknown field of the approval", lambda record: record.update(budget=9), "HG320")
changed("an unknown field of the request", lambda record: record["request"].update(budget=9), "HG320")
changed("an unknown field of the signature", lambda record: record["signatures"][0].update(role="king"), "HG320")
changed("another format", lambda record: record.update(format="hedgerow-approval-0"), "HG320")
changed("a verb that is no verb of requests", lambda record: record["request"].update(verb="demo"))


def other_signature() -> Record:
    request("release", *COUNT[:-1], "0.1", out="other.json")
    assert decided("approve", "other.json", "other_approved.json").exit_code == 0
    signature: Record = json.loads(Path("other_approved.json").read_text())["signatures"][0]
    return signature


def key_of(name: str) -> SigningKey:
    return unlock(f"{name}.key", PASSPHRASE)


def forged(key: SigningKey, ledger: str = "L", **about: Any) -> str:
    with Ledger.open(ledger) as opened:
        signed = Approval.read("request.json").signed(key, opened.identity, "2026-01-01T00:00:00+00:00", **about)
    Path("forged.json").write_text(signed.to_json())
    return "forged.json"


@attack("the signature of another request", "HG326")
def _() -> Result:
    return release(edited("approved.json", lambda record: record.update(signatures=[other_signature()])))


@attack("a signature for another ledger", "HG326")
def _() -> Result:
    assert decided("approve", "request.json", "approved.json", ledger="two").exit_code == 0
    return release()


@attack("a signature that is moved to another ledger", "HG326")
def _() -> Result:
    with Ledger.open("L") as opened:
        identity = opened.identity
    assert decided("approve", "request.json", "approved.json", ledger="two").exit_code == 0
    return release(edited("approved.json", lambda record: record["signatures"][0].update(ledger=identity)))


@attack("the signature of a stranger", "HG325")
def _() -> Result:
    return release(forged(key_of("eve")))


@attack("the signature of a stranger under an approver's name", "HG326")
def _() -> Result:
    stranger = key_of("eve")
    return release(forged(replace(stranger, approver=Approver("ada", stranger.approver.key))))


@attack("the signature of a stranger beside a valid one", "HG325")
def _() -> Result:
    Path("request.json").write_text(Path("approved.json").read_text())
    return release(forged(key_of("eve")))


@attack("a request that nobody signed", "HG327")
def _() -> Result:
    return release("request.json")


@attack("one signature where the ledger needs two", "HG327")
def _() -> Result:
    assert decided("approve", "request.json", "approved.json", ledger="two").exit_code == 0
    return release(ledger="two")


@attack("one person who signs twice", "HG327")
def _() -> Result:
    assert decided("approve", "request.json", "approved.json", ledger="two").exit_code == 0
    edited("approved.json", lambda record: record.update(signatures=record["signatures"] * 2))
    return release(ledger="two")


@attack("one signature where the facts ask for two", "HG327")
def _() -> Result:
    Path("facts.toml").write_text('relation = "add-remove"\nsignatures = 2\n')
    request("release", "--facts", "facts.toml", "--count", "--by", "sex=0,1", "--epsilon", "0.4")
    assert decided("approve", "request.json", "approved.json").exit_code == 0
    return release()


@attack("a denied request", "HG329")
def _() -> Result:
    assert decided("deny", "request.json", "denied.json").exit_code == 0
    return release("denied.json")


@attack("a denied request that the same person approves afterwards", "HG329")
def _() -> Result:
    assert decided("deny", "request.json", "denied.json").exit_code == 0
    return decided("approve", "denied.json", "approved.json")


@attack("a denial that is turned into an approval", "HG326")
def _() -> Result:
    assert decided("deny", "request.json", "denied.json").exit_code == 0
    return release(edited("denied.json", lambda record: record["signatures"][0].update(decision="approve")))


@attack("a request that one approves and another denies", "HG329")
def _() -> Result:
    assert decided("deny", "approved.json", "both.json", by="bea").exit_code == 0
    return release("both.json")


@attack("a signed request for a ledger without approvers", "HG325")
def _() -> Result:
    return release(ledger="open")


@attack("a release that nobody signed", "HG324")
def _() -> Result:
    return run("release", "people.csv", *COUNT, "--ledger", "L")


@attack("a release that nobody signed under the id of a signed one", "HG324")
def _() -> Result:
    named = Approval.read("approved.json").request.id
    return run("release", "people.csv", *COUNT, "--ledger", "L", "--request-id", named)


@attack("a price that is entered by hand", "HG324")
def _() -> Result:
    done("release", "people.csv", *COUNT, "--out", "out")
    return run("ledger", "reserve", "L", "out/certificate.json")


@attack("a signed request with a further option", "HG116")
def _() -> Result:
    return release("approved.json", "--epsilon", "0.9")


@attack("a signed request under another relation", "HG116")
def _() -> Result:
    return release("approved.json", "--relation", "replace-one")


@attack("a signed request without a ledger", "HG116")
def _() -> Result:
    return run("release", "people.csv", "--request", "approved.json")


@attack("a file with two meanings", "HG320")
def _() -> Result:
    text = Path("approved.json").read_text().replace('"until"', '"until": "2000-01-01", "until"')
    Path("approved.json").write_text(text)
    return release()


@attack("a file that is cut off", "HG320")
def _() -> Result:
    Path("approved.json").write_text(Path("approved.json").read_text()[:400])
    return release()


@attack("a file of brackets, thousands deep", "HG320")
def _() -> Result:
    Path("approved.json").write_text("[" * 100_000)
    return release()


@attack("a number that is none", "HG320")
def _() -> Result:
    Path("approved.json").write_text(Path("approved.json").read_text().replace('"epsilon": 0.4', '"epsilon": NaN'))
    return release()


@attack("more than the budget of the ledger", "HG310")
def _() -> Result:
    request("release", *COUNT[:-1], "1.5")
    assert decided("approve", "request.json", "approved.json").exit_code == 0
    return release()


@attack("approval of a request with a false price", "HG333")
def _() -> Result:
    return decided("approve", edited("request.json", lambda record: record["price"].update(epsilon=0.01)), "new.json")


@attack("approval of a request with false sentences", "HG333")
def _() -> Result:
    return decided("approve", edited("request.json", lambda record: record.update(in_words=["nothing"])), "new.json")


@attack("approval of a request with a false unit", "HG333")
def _() -> Result:
    false = edited("request.json", lambda record: record["price"].update(unit="person, at most 9 rows"))
    return decided("approve", false, "new.json")


@attack("approval of a request with a false relation", "HG333")
def _() -> Result:
    other = {"replace-one": "add-remove", "add-remove": "replace-one"}
    false = edited("request.json", lambda record: record["price"].update(relation=other[record["price"]["relation"]]))
    return decided("approve", false, "new.json")


@attack("approval of a request with false expected errors", "HG333")
def _() -> Result:
    return decided("approve", edited("request.json", lambda record: record.update(expected=[])), "new.json")


@attack("approval at a larger ε", "HG330")
def _() -> Result:
    return decided("approve", "request.json", "new.json", more=("--epsilon", "0.9"))


@attack("approval with all parts struck", "HG330")
def _() -> Result:
    return decided("approve", "request.json", "new.json", more=("--strike", "1"))


@attack("a change of a request that somebody signed", "HG330")
def _() -> Result:
    return decided("approve", "approved.json", "new.json", by="bea", more=("--epsilon", "0.1"))


@attack("approval by a stranger", "HG330")
def _() -> Result:
    return decided("approve", "request.json", "new.json", by="eve")


@attack("approval with another's key", "HG330")
def _() -> Result:
    Path("bea.key").write_text(Path("ada.key").read_text())
    return decided("approve", "request.json", "new.json", by="bea")


@attack("approval with another passphrase", "HG323")
def _() -> Result:
    Path("passphrase").write_text("wrong horse")
    return decided("approve", "request.json", "new.json")


@attack("a key that others may read", "HG323")
def _() -> Result:
    Path("ada.key").chmod(0o644)
    return decided("approve", "request.json", "new.json")


@attack("a request that names data", "HG321")
def _() -> Result:
    return run("request", "release", "people.csv", *COUNT, *ASKED, "--out", "new.json")


@attack("a request without a purpose", "HG321")
def _() -> Result:
    return run("request", "release", *COUNT, *ASKED[:2], *ASKED[4:], "--out", "new.json")


COMPLETE = "error-if-declared-complete"


@attack("a request that declares that no value is missing", "HG334")
def _() -> Result:
    words = ["--mean", "age:0:100:1", "--where", "sex in [1]", "--relation", "add-remove", "--epsilon", "0.1"]
    return run("request", "release", *words, "--missing", COMPLETE, *ASKED, "--out", "new.json")


@attack("a request whose facts declare that no value is missing", "HG334")
def _() -> Result:
    facts = f'relation = "add-remove"\n[columns.age]\nbounds = [0, 100]\nstep = 1\nmissing = "{COMPLETE}"\n'
    Path("facts.toml").write_text(facts)
    words = ["--facts", "facts.toml", "--mean", "age", "--where", "sex in [1]", "--epsilon", "0.1"]
    return run("request", "release", *words, *ASKED, "--out", "new.json")


@attack("approval of facts that declare that no value is missing", "HG334")
def _() -> Result:
    return decided("approve", declaring_complete("request.json"), "new.json")


@attack("a signed request that declares that no value is missing", "HG334")
def _() -> Result:
    declaring_complete("request.json")
    return release(forged(key_of("ada")))


def declaring_complete(path: str) -> str:
    """Write a request that hides the policy in its facts, as an earlier version of hedgerow would have made it."""
    column = {"bounds": [0, 100], "step": 1}
    Path("facts.toml").write_text('relation = "add-remove"\n[columns.age]\nbounds = [0, 100]\nstep = 1\n')
    request("release", "--facts", "facts.toml", "--mean", "age", "--where", "sex in [1]", "--epsilon", "0.1")

    def hide(record: Record) -> None:
        record["facts"]["columns"]["age"] = column | {"missing": COMPLETE}
        record["asked"]["missing"] = [COMPLETE]

    return edited(path, hide)


@attack("a forged signature that is shown with a ledger", "HG326")
def _() -> Result:
    edited("approved.json", lambda record: record["signatures"][0].update(note="fine"))
    return run("request", "show", "approved.json", "--ledger", "L")


@attack("a stranger's signature that is shown with a ledger", "HG325")
def _() -> Result:
    return run("request", "show", forged(key_of("eve")), "--ledger", "L")


@attack("approval beside a forged signature", "HG326")
def _() -> Result:
    edited("approved.json", lambda record: record["signatures"][0].update(note="fine"))
    return decided("approve", "approved.json", "new.json", by="bea")


@attack("a known total from a device that never ends", "HG241")
def _() -> Result:
    words = ["margins", "--by", "sex=0,1", "--by", "age=30,50", "--known", "/dev/zero", "--relation", "add-remove"]
    return run("request", *words, "--epsilon", "0.1", *ASKED, "--out", "new.json")


@attack("groups of categories from a file that is too large", "HG162")
def _() -> Result:
    with Path("large.csv").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    words = ["margins", "--by", "sex=0,1", "--by", "age=30,50", "--hierarchy", "large.csv", "--relation", "add-remove"]
    return run("request", *words, "--epsilon", "0.1", *ASKED, "--out", "new.json")


LONG = "a" * 10**5


@attack("a request at a path of 100,000 characters", "HG320")
def _() -> Result:
    return run("request", "show", LONG)


@attack("a request of 100 MB", "HG320")
def _() -> Result:
    with Path("large.json").open("wb") as file:
        file.truncate(10**8)
    return decided("approve", "large.json", "new.json")


@attack("a known total at a path of 100,000 characters", "HG241")
def _() -> Result:
    words = ["margins", "--by", "sex=0,1", "--by", "age=30,50", "--known", LONG, "--relation", "add-remove"]
    return run("request", *words, "--epsilon", "0.1", *ASKED, "--out", "new.json")


@attack("a request with a condition of 100,000 characters in its words", "HG131")
def _() -> Result:
    return decided(
        "approve", edited("request.json", lambda record: record["words"].extend(["--where", LONG])), "b.json"
    )


@attack("a request under bootstrap-dp", "HG321")
def _() -> Result:
    words = ["--total", "age:0:100:1", "--by", "sex=0,1", "--relation", "replace-one", "--epsilon", "0.1"]
    return run("request", "table", *words, "--guarantee", "bootstrap-dp", "--n", "600", *ASKED, "--out", "new.json")


@attack("a request for what spends nothing", "HG116")
def _() -> Result:
    return run("request", "demo", *ASKED)


@attack("a ledger that needs more signatures than it has approvers", "HG332")
def _() -> Result:
    new = ["--epsilon", "1", "--relation", "add-remove", "--approvers", "approvers", "--signatures", "3"]
    return run("ledger", "create", "new", *new)


@attack("a ledger with an approver of two names", "HG331")
def _() -> Result:
    line = Path("ada.pub").read_text()
    Path("approvers").write_text(line + line.replace(" ada", " amy"))
    return run("ledger", "create", "new", "--epsilon", "1", "--relation", "add-remove", "--approvers", "approvers")


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_is_refused_and_spends_nothing(desk: Path, name: str) -> None:
    code, run_it = ATTACKS[name]
    before = [spent(ledger) for ledger in ("L", "two", "open")]
    shown = run_it()
    assert shown.exit_code in (2, 3, 4) and code in shown.stderr, shown.output
    assert len(shown.stderr) < 2000, "a refusal quotes no long text"
    assert [spent(ledger) for ledger in ("L", "two", "open")] == before == [(0.0, 0)] * 3
    assert not Path("new.json").exists() and not Path("new").exists()


def test_there_are_many_attacks() -> None:
    assert len(ATTACKS) >= 50


def set_clock(monkeypatch: pytest.MonkeyPatch, *date: int) -> None:
    for module in ("approved", "store"):
        monkeypatch.setattr(f"hedgerow.ledger.{module}.now", lambda: datetime(*date, tzinfo=UTC))


def test_a_clock_that_is_late_early_or_went_back_is_refused(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for date, finding in (((2030, 1, 2), "last day"), ((2020, 1, 1), "clock")):
        request("release", *COUNT, asked=[*ASKED[:-1], "2030-01-01"])
        assert decided("approve", "request.json", "approved.json").exit_code == 0
        with pytest.MonkeyPatch.context() as patch:
            set_clock(patch, *date)
            shown = release()
        assert "HG328" in shown.stderr and finding in shown.stderr and spent() == (0.0, 0)
    set_clock(monkeypatch, 2029, 6, 1)
    assert release().exit_code == 0
    request("release", *COUNT[:-1], "0.1", out="next.json")
    assert decided("approve", "next.json", "next_approved.json").exit_code == 0
    before = spent()
    # After the signature, and before the last entry.
    set_clock(monkeypatch, 2029, 5, 31)
    shown = release("next_approved.json")
    assert "HG328" in shown.stderr and "last entry" in shown.stderr and spent() == before
    # What ran is shown again after its last day: that spends nothing.
    set_clock(monkeypatch, 2031, 1, 1)
    assert release().exit_code == 0 and spent() == before


def test_a_signed_request_runs_once_and_is_then_answered_from_its_record(desk: Path) -> None:
    first = json.loads(release("approved.json", "--json").stdout)
    before = spent()
    again = json.loads(release("approved.json", "--json").stdout)
    assert again.pop("replayed") and again["estimates"] == first["estimates"] and spent() == before == (before[0], 1)


def test_two_runs_at_once_are_one_release(desk: Path) -> None:
    words = ["release", "people.csv", "--request", "approved.json", "--ledger", "L", "--json"]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "hedgerow", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    ended = [(process.communicate(timeout=300), process.returncode) for process in running]
    answers = [json.loads(out)["estimates"] for (out, _), code in ended if code == 0]
    refused = [err for (_, err), code in ended if code != 0]
    assert answers and all(answer == answers[0] for answer in answers)
    assert all("HG312" in err for err in refused)
    assert spent() == (spent()[0], 1)


def test_other_data_than_those_that_were_signed_for_are_refused(desk: Path) -> None:
    done("ledger", "create", "R", "--epsilon", "1", "--relation", "replace-one", "--approvers", "approvers")
    asked = ["--mean", "age:0:100:1", "--relation", "replace-one", "--epsilon", "0.4", "--n"]
    request("release", *asked, "601")
    assert decided("approve", "request.json", "approved.json", ledger="R").exit_code == 0
    shown = release(ledger="R")
    assert shown.exit_code == 4 and "HG322" in shown.stderr and spent("R") == (0.0, 0)
    request("release", *asked, "600")
    assert decided("approve", "request.json", "approved.json", ledger="R").exit_code == 0
    assert release(ledger="R").exit_code == 0 and spent("R")[1] == 1


def test_a_full_copy_of_a_ledger_is_taken_for_it_until_a_later_head_is_known(desk: Path) -> None:
    shutil.copy("L", "copy")
    assert release().exit_code == 0
    # Known: nothing off-line tells a copy from its ledger; the threat page says so.
    assert release(ledger="copy").exit_code == 0
    with Ledger.open("L") as opened:
        head = str(opened.head)
    shown = run("ledger", "verify", "copy", "--head", head)
    assert shown.exit_code == 5 and "HG306" in shown.stderr


@pytest.mark.parametrize("fault", ["no approval", "another purpose"])
def test_verify_checks_the_signatures_of_every_entry(desk: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who writes to the file with other code enters what nobody signed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hedgerow.ledger.store.require_signatures", lambda *_: None)
        patch.setattr("hedgerow.cli.verbs.asking.Approval.require", lambda *_: None)
        if fault == "no approval":
            assert run("release", "people.csv", *COUNT, "--ledger", "L").exit_code == 0
        else:
            edited("approved.json", lambda record: record["request"].update(purpose="a bet"))
            assert release().exit_code == 0
    shown = run("ledger", "verify", "L")
    assert shown.exit_code == 5 and "HG305" in shown.stderr and "approval" in shown.stderr
