"""The campaign's bookkeeping: what it runs, what it says when something is wrong or cut off, and its page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.audit import campaign
from hedgerow.audit.campaign import FALSE_ALARM, Campaign, alpha_of_each, run_campaign
from hedgerow.audit.faults import FaultResult, Rejection, mutants
from hedgerow.audit.law import LawStatistic, LawTest
from hedgerow.audit.replay import ReplayResult
from hedgerow.cli.main import app
from hedgerow.mechanisms.mechanism import specimens
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.reports.audit_page import campaign_page


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The specimens of one mechanism, one law, three mutants, no replay; all of them are run by tests of their own."""

    def one_law(seed: int, alpha: float) -> list[tuple[str, Callable[[], LawTest]]]:
        return [("a law", lambda: LawTest("a law", 10, alpha, (LawStatistic("KS", 0.1, 0.0, 0.2),)))]

    def no_replay(pairs: int, *, seed: int, csv_every: int, go_on: Callable[[int], bool]) -> ReplayResult:
        return ReplayResult(pairs if go_on(0) else 0, 28, 28, (), 0.9)

    monkeypatch.setattr(campaign, "replay", no_replay)
    monkeypatch.setattr(campaign, "specimens", GeometricCounts.specimens)
    monkeypatch.setattr(campaign, "_law_tests", one_law)
    monkeypatch.setattr(campaign, "mutants", lambda: mutants()[-3:])


SPECIMENS = len(GeometricCounts.specimens())
TESTS = SPECIMENS + sum(specimen.released for specimen in GeometricCounts.specimens()) + 1


@pytest.fixture
def found(little: None) -> Campaign:
    return run_campaign(runs=5_000, replays=1)


def test_a_campaign_runs_every_part_and_counts_its_tests(found: Campaign) -> None:
    assert found.passes and found.left_out == ()
    assert len(found.audits) == SPECIMENS > 1 and {one.verdict.source for one in found.released} == {"released"}
    assert len(found.caught) == 3 and found.replay is not None and found.replay.pairs == 1
    assert found.false_alarm == pytest.approx(FALSE_ALARM)
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["passes"] is True and [one["name"] for one in record["mutants"]][-1] == "textbook NumPy Laplace"


def test_all_tests_of_a_campaign_share_one_chance_of_a_false_alarm(found: Campaign) -> None:
    """A few of them here, more in the full list: together as likely to fail a correct library, each alone less."""
    verdicts = [one.verdict for one in (*found.audits, *found.released)]
    each = [1.0 - one.confidence for one in verdicts] + [test.alpha for test in found.laws]
    assert len(each) == TESTS and each == pytest.approx([FALSE_ALARM / TESTS] * TESTS, rel=1e-6)
    for one in verdicts:
        assert sum(attack.alpha for attack in one.attacks) == pytest.approx(FALSE_ALARM / TESTS, rel=1e-6)


def test_the_more_a_campaign_tests_the_less_each_test_may_err() -> None:
    tests = len(specimens()) + sum(one.released for one in specimens()) + len(campaign._law_tests(1, 0.5))
    assert tests > 50 and alpha_of_each() * tests == pytest.approx(FALSE_ALARM)


def test_anything_wrong_fails_it(found: Campaign) -> None:
    crossed = replace(found.audits[0], verdict=replace(found.audits[0].verdict, epsilon_lower=1e3))
    accepted = FaultResult(found.caught[0].mutant, Rejection(False, "nothing seen"))
    rejected = replace(found.laws[0], statistics=(LawStatistic("KS", 0.3, 0.0, 0.2),))
    assert found.replay is not None
    wrong: list[dict[str, Any]] = [
        {"audits": (crossed,)},
        {"caught": (accepted,)},
        {"laws": (rejected,)},
        {"off_lattice": 1},
        {"replay": replace(found.replay, divergences=("steps",))},
        {"replay": replace(found.replay, largest_excess=1.001)},
        {"replay": None},
        {"left_out": ("mutants",)},
    ]
    for change in wrong:
        assert not replace(found, **change).passes, change
    assert "FAILED" in campaign_page(replace(found, **wrong[0]))
    assert "Passed" in campaign_page(found) and campaign_page(found).count("<svg") == 2


def test_what_there_was_no_time_for_is_named_and_fails_it(little: None) -> None:
    cut = run_campaign(runs=5_000, replays=1, seconds=0.0)
    assert not cut.passes and "mutants" in cut.left_out and len(cut.left_out) == TESTS + 2


def test_the_command_without_a_mechanism_runs_it(little: None, tmp_path: Path) -> None:
    page = tmp_path / "all.html"
    result = CliRunner().invoke(app, ["audit", "--runs", "2000", "--report", str(page)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert "mutant textbook NumPy Laplace: rejected by attack" in result.stdout and "at most" in result.stdout
    assert "Audit campaign" in page.read_text(encoding="utf-8")


def test_names_are_text_on_the_page(found: Campaign) -> None:
    named = replace(found.audits[0].specimen, name="<script>alert(1)</script>")
    page = campaign_page(replace(found, audits=(replace(found.audits[0], specimen=named),)))
    assert "<script>" not in page and page.count("<script") == 1 and "&lt;script&gt;" in page
    assert '<script type="application/json" id="record">' in page
