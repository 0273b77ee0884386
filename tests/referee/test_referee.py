"""The referee: it walks all that spends, finds nothing in hedgerow, and finds each sabotage."""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any
from unittest import mock

import hedgerow_verify
import numpy as np
import pytest
from tests.referee.attacks import attack
from tests.referee.cases import Case, cases, released, statistics_without_a_case
from tests.referee.recorder import OTHER_MECHANISMS, Recorder, added_to_vectors, products, run
from tests.referee.testers import AUDITORIUM, BARE, RECORDER, look_of_others
from tests.referee.walk import Line, random_pair, shares, walk

import hedgerow as hg
from hedgerow.audit.replay import SilentNoise
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint import joint_moments
from hedgerow.mechanisms.laws import Gaussian, Laplace
from hedgerow.release import execute

# Bounds that no other test has: prices of a sabotage are kept under a description of their own.
ODD = {"bounds": (0, 10), "step": 0.625}
NEVER_DRAWN = {
    "moments-geometric": "joint-moments has taken its place",
    "averaged-laplace-moments": "joint-moments has taken its place",
}
"""Mechanisms of older records and of studies, which no public call draws any more."""


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    """Return every case on one pair of neighbours, under one of its relations each."""
    chosen = [
        replace(case, relations=(case.relations[place % len(case.relations)],)) for place, case in enumerate(cases())
    ]
    return list(walk(chosen, pairs=1, searched=0, proving=False))


def test_every_statistic_has_a_case() -> None:
    assert statistics_without_a_case() == set()


def test_every_product_and_every_mechanism_is_run(lines: list[Line]) -> None:
    """A new product, or a new mechanism, fails here until it has a case."""
    assert {name for line in lines for name in line.worst.products} == set(products())
    drawn = {kind for line in lines for kind in line.worst.mechanisms}
    assert drawn == (added_to_vectors() | set(OTHER_MECHANISMS)) - set(NEVER_DRAWN)


def test_neighbours_show_nothing_and_move_within_the_price(lines: list[Line]) -> None:
    assert [str(line) for line in lines if line.findings] == []
    assert sum(line.worst.moved > 0.5 for line in lines) > len(lines) / 3, "pairs that hardly move show nothing"


def test_outputs_are_attacked_where_vectors_cannot_be_compared(lines: list[Line]) -> None:
    """Where no vector meets noise, where records are resampled, and under bootstrap-dp."""

    def spent(chosen: Iterable[Line]) -> set[tuple[str, str]]:
        return {pair for line in chosen for pair in itertools.product(line.worst.products, line.kinds)}

    unknown = [line for line in lines if line.worst.resampled or not line.worst.compared]
    assert spent(unknown) - spent(line for line in lines if line.case.attacked) == set()


def test_the_outside_verifier_reads_the_record_of_every_product() -> None:
    """It prices each certificate, or says that it cannot; where it agrees, an ε that is 0.1 % lower is not accepted."""
    read: set[str] = set()
    verdicts: Counter[str] = Counter()
    for case in cases():
        recorder = Recorder(1, texts=[])
        pair = random_pair(case, case.relations[-1], np.random.default_rng(1))
        run(lambda data: case.call(data, case.relations[-1]), pair[0], recorder)  # noqa: B023 # called at once
        for name, text in recorder.texts or ():
            read.add(name)
            for _, certificate in hedgerow_verify.certificates(json.loads(text)):
                verdict, says = hedgerow_verify.checked(certificate)
                assert verdict in ("AGREES", "HOLDS", "CANNOT"), (case.name, says)
                verdicts[verdict] += 1
                if verdict == "AGREES" and certificate["epsilon"] > 0.0:
                    lower = certificate | {"epsilon": 0.999 * certificate["epsilon"]}
                    assert hedgerow_verify.checked(lower)[0] in ("WRONG", "CANNOT"), case.name
    assert read == set(products())
    assert verdicts["AGREES"] > sum(verdicts.values()) / 2, verdicts


def test_an_attack_on_public_calls_passes_bootstrap_dp_and_finds_noise_that_is_missing() -> None:
    """100 calls on each of two neighbours; without noise they prove more than the price."""
    (case,) = (case for case in cases() if case.name == "bootstrap-dp")
    found, price = attack(case, Relation.REPLACE_ONE, runs=100, tried=3)
    assert found.epsilon_lower <= price.epsilon
    found, price = attack(case, Relation.REPLACE_ONE, runs=100, tried=3, noise=SilentNoise())
    assert found.epsilon_lower > price.epsilon


@pytest.mark.long
@pytest.mark.parametrize(
    "case", [case for case in cases() if case.attacked and "bootstrap-dp" not in case.name], ids=lambda case: case.name
)
def test_ten_thousand_public_calls_cross_no_price(case: Case) -> None:
    """On the neighbours, of twelve pairs, that a short attack tells apart best; α = 1e-6 each.

    Without bootstrap-dp, which promises nothing for neighbours outside the rows of D: see the next test, and
    tests/statistical/test_bootstrap_audit.py for what it does promise.
    """
    for relation in case.relations:
        found, price = attack(case, relation, runs=10_000, tried=12)
        assert found.epsilon_lower <= price.epsilon, relation


@pytest.mark.long
def test_ten_thousand_calls_show_that_bootstrap_dp_is_no_differential_privacy() -> None:
    """Another record changes the scale of the noise too: more is proved than the ε of the statement."""
    (case,) = (case for case in cases() if case.name == "table of totals, bootstrap-dp")
    found, stated = attack(case, Relation.REPLACE_ONE, runs=10_000, tried=12)
    assert found.epsilon_lower > stated.epsilon
    assert stated.to_dict()["differential_privacy"] is False


@pytest.mark.long
def test_searched_neighbours_move_within_the_price_and_prove_no_more_than_epsilon() -> None:
    """`make referee` with fewer pairs."""
    searched = list(walk(cases(), pairs=4, searched=8))
    assert [str(line) for line in searched if line.findings] == []
    assert max(line.worst.moved for line in searched) > 0.9999


def of_sums(noise: str) -> Line:
    """Return what neighbours of a sum show: a few random pairs reach its price."""
    delta = {"delta": 1e-6} if noise == "gaussian" else {}
    case = released(f"sum, {noise}", [hg.sum("x", **ODD)], noise=noise, **delta)
    (line,) = walk([replace(case, relations=(Relation.ADD_REMOVE,))], pairs=12, searched=0)
    return line


@contextmanager
def half_of_the_sensitivity() -> Iterator[None]:
    """Let all that is calibrated and priced believe in half of the true movement."""
    true = joint_moments.cost_of

    def half(layout: Any, weights: Any, relation: Relation, power: Any) -> float:
        return true(layout, weights, relation, power) / 2.0**power

    with mock.patch.object(joint_moments, "cost_of", half):
        yield


@contextmanager
def narrow_noise() -> Iterator[None]:
    """Draw all noise 5 % narrower than its price says."""
    with ExitStack() as patches:
        for law in (Laplace, Gaussian):
            patches.enter_context(mock.patch.object(law, "draw", _narrowed(law.draw)))
        yield


def _narrowed(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, source, width, size: draw(self, source, 0.95 * width, size)


@contextmanager
def noise_that_depends_on_data() -> Iterator[None]:
    """Draw once more, and throw the draw away, where the exact sums add up to more than 1,500 steps."""
    true = joint_moments.JointMoments.noisy

    def noisy(self: Any, sums: Any, source: Any, **options: Any) -> Any:
        if np.ravel(sums).sum() > 1_500:
            source.two_sided_geometric(7.0, 1)
        return true(self, sums, source, **options)

    with mock.patch.object(joint_moments.JointMoments, "noisy", noisy):
        yield


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_sabotages_are_found(noise: str) -> None:
    """12 pairs of neighbours, fixed: within the price, then 2 and 1/0.95 times as far as the certificate covers."""
    true = of_sums(noise)
    assert true.findings == () and 0.99 < true.worst.moved <= 1.000002
    for sabotage, moved in ((half_of_the_sensitivity, 2.0), (narrow_noise, 1 / 0.95)):
        with sabotage():
            line = of_sums(noise)
        assert line.worst.moved == pytest.approx(moved, rel=0.01)
        assert any("what the certificate covers" in finding for finding in line.findings)


def test_draws_that_depend_on_data_are_found() -> None:
    with noise_that_depends_on_data():
        findings = " ".join(of_sums("laplace").findings)
    assert "control flow" in findings and "added to nothing" in findings


def test_what_the_movement_proves_is_compared_with_the_epsilon_of_the_certificate() -> None:
    """A certificate whose μ is right and whose ε is 1 % too low: the movement proves more than ε."""
    line = of_sums("gaussian")
    assert line.worst.reached is not None and 0.99 < line.worst.reached <= 1.000002
    assert next(iter(shares([line]).values())) == line.worst.reached
    true = execute.certify

    def too_low(*given: Any, **options: Any) -> Any:
        return replace(true(*given, **options), epsilon=0.99 * true(*given, **options).epsilon)

    with mock.patch.object(execute, "certify", too_low):
        line = of_sums("gaussian")
    assert any("times the ε of the certificate" in finding for finding in line.findings)


def test_testers_of_other_projects_that_are_not_there_are_skipped_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RECORDER, raising=False)
    monkeypatch.setenv(AUDITORIUM, "/nowhere")
    for package in BARE[AUDITORIUM]:
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
    said: list[str] = []
    assert look_of_others([], said.append) == 0
    assert [line.split(":")[0] for line in said] == [
        f"SKIPPED {name}" for name in ("dp-recorder", "histogram tester", "Rényi tester")
    ]
    assert RECORDER in said[0] and "dp_auditorium" in said[1] and "dp_auditorium" in said[2]
