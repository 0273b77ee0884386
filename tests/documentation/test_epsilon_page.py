"""The page on ε: every number of its tables is computed, and a number that is off is found."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pandas as pd
import pytest

import hedgerow as hg
from hedgerow.accounting.profile import PureProfile, attack_success_upper
from hedgerow.facts.printed import at_most_percent

PAGE = (Path(__file__).parents[2] / "docs" / "epsilon.md").read_text(encoding="utf-8")
GUESS = {"age": {"mean": 47, "sd": 17}}
EPSILONS = re.findall(r"[\d.]+", re.findall(r"^\| ε \| (0.*) \|$", PAGE, re.MULTILINE)[0])
SHARES = re.findall(r"[\d.]+ %", re.findall(r"^\| right at most .*?\) \| (.*) \|$", PAGE, re.MULTILINE)[0])
ERRORS = re.findall(r"^\| ([\d.]+) \| (\S+) \((\S+)\) \| (\S+) \((\S+)\) \| (\S+) \((\S+)\) \|$", PAGE, re.MULTILINE)


def test_right_guesses_at_each_epsilon() -> None:
    assert len(EPSILONS) == len(SHARES) == 8
    for epsilon, share in zip(map(float, EPSILONS), SHARES, strict=True):
        largest = 1.0 / (1.0 + math.exp(-epsilon))
        assert attack_success_upper(PureProfile(epsilon)) == pytest.approx(largest, rel=1e-9)
        assert at_most_percent(largest).replace("\N{NO-BREAK SPACE}", " ") == share


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: f"epsilon {row[0]}")
def test_errors_of_a_mean(row: tuple[str, ...]) -> None:
    epsilon, *printed = row
    for place, n in enumerate((100, 1_000, 100_000)):
        survey = hg.open(pd.DataFrame({"age": [47] * n}), relation="replace-one")
        plan = survey.plan(hg.mean("age", bounds=(18, 95), step=1), epsilon=float(epsilon))
        expected = plan.forecast(GUESS)[0]
        for text, error in zip(
            printed[2 * place : 2 * place + 2], (expected.privacy_error, expected.standard_error), strict=True
        ):
            assert error is not None and float(text) == float(f"{error:.2g}")


def test_every_row_of_errors_is_read() -> None:
    assert [row[0] for row in ERRORS] == ["0.1", "0.5", "1", "2", "10"]
