"""Request, approve, release: the whole path, for every verb that spends."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest
from tests.unit.approval.conftest import ASKED, COUNT, decided, done, edited, release, request, run, spent

import hedgerow as hg
from hedgerow.approval.approval import Approval
from hedgerow.approval.keys import Approver, create_keys, read_approvers, unlock
from hedgerow.approval.written_request import WrittenRequest
from hedgerow.cli.verbs.asking import requestable
from hedgerow.errors import HedgerowError
from hedgerow.ledger.store import Ledger

PAIR = ["--by", "sex=0,1", "--relation", "add-remove"]
COMMANDS = {
    "release": ["--mean", "age:0:100:1", "--count", *PAIR, "--epsilon", "0.1"],
    "table": ["--total", "age:0:100:1", *PAIR, "--epsilon", "0.1"],
    "margins": ["--by", "age=30,50", "--order", "2", *PAIR, "--epsilon", "0.1"],
    "ols": ["age ~ sex", "--bounds", "age:0:100", "--bounds=sex:0:1", *PAIR[2:], "--epsilon", "0.1"],
    "logit": ["sex ~ age", "--bounds", "age:0:100", *PAIR[2:], "--epsilon", "0.1"],
    "find": ["bounds", "age", *PAIR[2:], "--epsilon", "0.1"],
}


def test_every_verb_that_spends_can_be_asked_for() -> None:
    assert set(requestable()) == set(COMMANDS)


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_verb_is_asked_for_approved_and_released(desk: Path, verb: str) -> None:
    asked = request(verb, *COMMANDS[verb])
    assert asked["price"]["epsilon"] <= 0.1 and asked["in_words"] and spent() == (0.0, 0)
    assert bool(asked["expected"]) == (verb != "find")
    assert decided("approve", "request.json", "approved.json").exit_code == 0
    shown = release("approved.json", "--out", "out", "--json")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["certificate"]["epsilon"] == asked["price"]["epsilon"]
    assert Path("out", "certificate.json").exists()
    with Ledger.open("L") as opened:
        (entry,) = opened.entries()
    assert entry.request_id == WrittenRequest.from_dict(asked).id and entry.approval is not None
    assert json.loads(entry.fingerprint) == asked["asked"]
    done("ledger", "verify", "L")


def test_a_request_of_the_facts_by_name_is_asked_for_with_the_facts(desk: Path) -> None:
    Path("hedgerow.toml").write_text(
        'relation = "add-remove"\nledger = "L"\n[data]\npath = "people.csv"\n'
        "[columns.age]\nbounds = [0, 100]\nstep = 1\n"
        '[[release]]\nname = "monthly"\nstatistics = [{statistic = "mean", column = "age"}]\nepsilon = 0.2\n'
    )
    asked = request("release", "--facts", "hedgerow.toml", "--request", "monthly")
    assert "data" not in asked["facts"] and "ledger" not in asked["facts"]
    assert decided("approve", "request.json", "approved.json").exit_code == 0
    # The facts of the custodian say where data and ledger are.
    assert run("release", "--facts", "hedgerow.toml", "--request", "approved.json").exit_code == 0
    assert spent()[1] == 1


def test_two_people_sign_where_the_ledger_asks_for_two(desk: Path) -> None:
    assert decided("approve", "request.json", "one.json", ledger="two", more=("--note", "fine")).exit_code == 0
    assert decided("approve", "one.json", "both.json", by="bea", ledger="two").exit_code == 0
    shown = release("both.json", ledger="two")
    assert shown.exit_code == 0, shown.output
    kept = done("ledger", "show", "two")
    assert "approvers ada, bea; 2 must sign each request" in kept
    assert "asked by bob for: monthly report; approved by ada (fine), bea" in kept and "count by sex" in kept
    (entry,) = json.loads(done("ledger", "show", "two", "--json"))["entries"]
    assert [each["by"] for each in entry["approval"]["signatures"]] == ["ada", "bea"]


def test_an_approver_lowers_the_price_and_strikes_a_statistic(desk: Path) -> None:
    asked = request("release", "--mean", "age:0:100:1", *COUNT)
    changed = decided("approve", "request.json", "approved.json", more=("--epsilon", "0.1", "--strike", "1"))
    assert changed.exit_code == 0
    signed = Approval.read("approved.json").request
    assert signed.amends == WrittenRequest.from_dict(asked).id and signed.epsilon <= 0.1
    assert "--mean" not in signed.words and "--count" in signed.words
    assert {row["statistic"] for row in json.loads(release("approved.json", "--json").stdout)["estimates"]} == {"count"}
    assert spent()[0] <= 0.1
    kept = done("ledger", "show", "L")
    assert f"approved by ada; made smaller from request {signed.amends[:16]}" in kept
    assert "count (sex=0): " in kept and "95 % interval" in kept, "the released numbers"
    assert "Every signature was checked again and holds: 1 on 1 entries." in done("ledger", "verify", "L")
    assert json.loads(done("ledger", "verify", "L", "--json"))["signatures_checked"] == 1


def test_show_prints_what_a_person_must_know(desk: Path) -> None:
    shown = done("request", "show", "approved.json", "--ledger", "L")
    for words in (
        "of bob",
        "monthly report",
        "number of records",
        "by sex: 0, 1",
        "Price: ε ≤ 0.399",
        "Approved by ada",
    ):
        assert words in shown
    assert "Left of the budget of the ledger after it: ε ≥ 0.6" in shown and "3.51" in shown
    record = json.loads(done("request", "show", "approved.json", "--ledger", "L", "--json"))
    assert record["left"] == pytest.approx(0.6, abs=1e-3) and len(record["id"]) == 64


def test_what_a_document_quotes_is_escaped_on_a_terminal(desk: Path) -> None:
    edited("approved.json", lambda record: record["signatures"][0].update(note="\x1b[31mred"))
    assert "\x1b" not in done("request", "show", "approved.json")


def test_a_ledger_without_approvers_is_as_before(desk: Path) -> None:
    assert run("release", "people.csv", *COUNT, "--ledger", "open").exit_code == 0
    shown = done("ledger", "show", "open", "--json")
    assert "approv" not in shown and "identity" not in shown
    with Ledger.open("open") as opened:
        assert opened._header.body().count("hedgerow-ledger-1") == 1


def test_keys_are_files_of_their_owner_alone(tmp_path: Path) -> None:
    private, public = create_keys("ada", tmp_path, "correct horse")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    (approver,) = read_approvers(public)
    assert approver == unlock(private, "correct horse").approver == Approver.of_line(approver.line)
    text = private.read_text()
    assert "ENCRYPTED" in text and "correct" not in text
    for name, passphrase in (("ada", "correct horse"), ("../ada", "correct horse"), ("bea", "short")):
        with pytest.raises(HedgerowError, match="HG323"):
            create_keys(name, tmp_path, passphrase)
    assert private.read_text() == text and len(list(tmp_path.iterdir())) == 2


def test_a_missing_package_is_named(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    shown = release()
    assert "HG319" in shown.stderr and "hedgerow[approval]" in shown.stderr and spent() == (0.0, 0)
    # Who asks needs no key.
    request("release", *COUNT)


def test_no_file_is_replaced_without_force(desk: Path) -> None:
    shown = run("request", "release", *COUNT, *ASKED, "--out", "approved.json")
    assert shown.exit_code == 2 and "HG119" in shown.stderr
    assert Approval.read("approved.json").signatures


def test_python_asks_for_what_the_shell_asks_for(desk: Path) -> None:
    about = {"asked_by": "bob", "purpose": "monthly report", "until": "2999-12-31"}
    asked = hg.request(f"release {' '.join(COUNT)}", n=600, **about)
    shell = request("release", *COUNT)
    assert {**asked.to_dict(), "at": shell["at"]} == shell
    with pytest.raises(hg.ParameterError, match=r"HG116.*--epsilon"):
        hg.request("release --count --epsilom 1", **about)
    with pytest.raises(hg.ParameterError, match="HG321"):
        hg.request("demo", **about)


def test_the_words_name_missing_values_known_totals_and_groups(desk: Path) -> None:
    Path("known.csv").write_text("sex,count\n0,300\n1,301\n")
    Path("groups.csv").write_text("age,half\n30,young\n50,old\n")
    pair = ["--by", "age=30,50", "--known", "known.csv", "--hierarchy", "groups.csv"]
    words = " ".join(request("margins", *pair, *PAIR, "--epsilon", "0.1")["in_words"])
    assert "known totals by sex: 300, 301" in words and "half: groups of age: young = 30; old = 50" in words
    assert "Records outside the declared categories are left out." in words
    for policy, said in (("drop", "are left out"), ("midpoint", "count as the midpoint of the bounds")):
        asked = request("release", "--mean", "age:0:100:1", *PAIR, "--missing", policy, "--epsilon", "0.1")
        assert f"missing values of age {said}" in asked["in_words"]
    asked = request("logit", *COMMANDS["logit"])
    assert "missing value" in asked["in_words"][-1]


def test_show_says_whether_it_checked_the_signatures(desk: Path) -> None:
    assert "were not checked" in done("request", "show", "approved.json")
    assert "Each signature was checked" in done("request", "show", "approved.json", "--ledger", "L")
    for more, checked in (((), False), (("--ledger", "L"), True)):
        shown = json.loads(done("request", "show", "approved.json", "--json", *more))
        assert shown["signatures_checked"] is checked


def test_refusals_say_what_differs_and_who_signed(desk: Path) -> None:
    number = ["--count", "--by", "sex=0,1", "--relation", "replace-one", "--epsilon", "0.4", "--n", "601"]
    new = ["--epsilon", "1", "--relation", "replace-one", "--approvers", "approvers"]
    done("ledger", "create", "R", *new)
    request("release", *number)
    assert decided("approve", "request.json", "approved.json", ledger="R").exit_code == 0
    shown = release(ledger="R")
    assert "HG322" in shown.stderr and "n (the number of records)" in shown.stderr and spent("R") == (0.0, 0)
    request("release", *COUNT)
    assert decided("approve", "request.json", "one.json", ledger="two").exit_code == 0
    for path, said in (("one.json", "Only ada signed this file."), ("request.json", "Nobody has signed this file.")):
        shown = release(path, ledger="two")
        assert "HG327" in shown.stderr and said in shown.stderr and "the ledger asks for 2" in shown.stderr
    request("release", "--mean", "wage:0:100:1", *PAIR, "--epsilon", "0.1")
    assert decided("approve", "request.json", "approved.json").exit_code == 0
    shown = release()
    assert "HG203" in shown.stderr and "Nothing was spent." in shown.stderr and spent() == (0.0, 0)
