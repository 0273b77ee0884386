"""Built-in attacks overstate, and the proven interval holds; plans say what can be had."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hedgerow.cli.main import app
from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation
from hedgerow.testing.simulated import SimulatedNoise
from hedgerow.testset import TestSet
from hedgerow.testset.looks_forecast import ATTACKS, attack, plan_looks
from hedgerow.testset.mechanisms.choose import choose
from hedgerow.testset.mechanisms.look_mechanism import Conditions, Options

UNIT = Grid.from_bounds("accuracy", (0, 1), 1)


def facts(n: int, looks: int, epsilon: float = 1.0) -> Conditions:
    return Conditions(Relation.REPLACE_ONE, Budget(epsilon), looks, n, UNIT)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_interval_holds_where_that_of_a_fixed_model_does_not(name: str) -> None:
    """Every attack overstates on average; block signs and the majority leave the narrower interval behind."""
    look, runs = choose("gaussian", facts(2000, 60, 4.0), Options()), 30
    found = attack(name, look, runs=runs, noise=SimulatedNoise(3), rng=np.random.default_rng(4))
    assert found.held == runs and found.overstated > 0.01
    if name in ("block-signs", "majority"):
        assert found.fixed_held < runs / 4


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_the_interval_of_a_private_number_of_records_holds_too(mechanism: str) -> None:
    conditions, runs = Conditions(Relation.ADD_REMOVE, Budget(1.0), 60, None, UNIT), 20
    look, given = choose(mechanism, conditions, Options()), np.random.default_rng(4)
    found = attack("majority", look, runs=runs, noise=SimulatedNoise(3), rng=given, private_n=4000)
    assert found.held == runs and found.overstated > 0.01 and found.fixed_held < runs
    assert found.half_width < 0.5


@pytest.mark.parametrize("mechanism", ["split", "thresholdout", "laplace"])
def test_other_mechanisms_hold_too(mechanism: str) -> None:
    look, runs = choose(mechanism, facts(2000, 20), Options(n_answers=10)), 25
    found = attack("majority", look, runs=runs, noise=SimulatedNoise(3), rng=np.random.default_rng(5))
    assert found.held >= 0.8 * runs


@pytest.mark.long
@pytest.mark.parametrize("name", ATTACKS)
def test_a_hundred_runs_of_a_thousand_looks(name: str) -> None:
    look = choose("gaussian", facts(10_000, 1000), Options())
    assert attack(name, look, runs=100, noise=SimulatedNoise(6), rng=np.random.default_rng(7)).held >= 95


def test_a_plan_takes_the_narrowest_and_says_how_many_looks_have_a_width() -> None:
    few, many = plan_looks(10_000, 10).best, plan_looks(10_000, 1000).best
    assert (few.mechanism, many.mechanism) == ("split", "gaussian") and many.epsilon < 1.0
    asked = plan_looks(10_000, 1000, width=0.12)
    assert asked.most is not None and asked.most.last <= 0.12
    assert plan_looks(10_000, asked.most.looks + 1).best.last > 0.12
    assert plan_looks(100, 10, width=0.001).most is None
    with pytest.raises(ParameterError, match="HG707"):
        plan_looks(100, 10, width=5)


def test_what_is_planned_is_had() -> None:
    """The half-width of a test set made so is that of the plan, within 2 %."""
    planned = plan_looks(5000, 300).best
    y = np.arange(5000) % 2
    made = TestSet(None, y, relation="replace-one", epsilon=planned.epsilon, n_looks=300, mechanism=planned.mechanism)
    assert made.settings.last_half_width == pytest.approx(planned.last, rel=0.02)
    assert f"± {made.settings.last_half_width:.3g} at the last look" in repr(made)


@pytest.mark.parametrize("words", ["plan --n 1000 --looks 20 --width .3", "attack --n 300 --looks 10 --runs 2"])
def test_the_commands(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([*words.split(), "--json"], words.split()):
        with pytest.raises(SystemExit) as end:
            app(["testset", *arguments])
        assert not end.value.code
        told = capsys.readouterr().out
        if "--json" in arguments:
            assert {"choices", "attacks"} & set(json.loads(told))
        else:
            assert "±" in told
