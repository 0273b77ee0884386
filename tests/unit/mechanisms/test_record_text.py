"""The text of a record: a number or a field that two programs could read in two ways is refused."""

from __future__ import annotations

import math

import pytest

from hedgerow.errors import UncertifiedError, VerificationError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify, check_numbers, mechanism_from_record, record_of
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.mechanism import Composition, as_record, from_record
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.residual_margins import ResidualMargins

ONE = GeometricCounts(2.0, 3)


@pytest.mark.parametrize(
    ("text", "code", "finding"),
    [
        ('{"epsilon": 1.0, "epsilon": 2.0}', "HG505", "occurs twice"),
        ('{"parts": [{"scale": 1.0, "scale": 1.0}]}', "HG505", "occurs twice"),
        ('{"epsilon": NaN}', "HG502", "no finite number"),
        ('{"epsilon": -Infinity}', "HG502", "no finite number"),
        ('{"epsilon": 1e999}', "HG502", "no finite number"),
        ('{"epsilon": 1.1e300}', "HG502", "larger than 1e[+]300"),
        ('{"epsilon": -1.1e300}', "HG502", "larger than 1e[+]300"),
        (f'{{"epsilon": {10**301}}}', "HG502", "larger than 1e[+]300"),
        ('{"noisy": [0.5, 1e999, 2.0]}', "HG502", "no finite number"),
        ('{"noisy": [0.5, -1.1e300, 2.0]}', "HG502", "larger than 1e[+]300"),
        (f'{{"noisy": [1, {10**400}, 2]}}', "HG502", "larger than 1e[+]300"),
        (f'{{"noisy": [true, [0.5, 1], {10**301}]}}', "HG502", "larger than 1e[+]300"),
        (f'{{"epsilon": 1{"0" * 5000}}}', "HG502", "larger than 1e[+]300"),
        ('{"epsilon": 1.0', "HG502", "no JSON"),
        ("[" * 200_000, "HG502", "no JSON"),
    ],
    ids=lambda part: str(part)[:24],
)
def test_a_text_that_is_no_record_is_refused(text: str, code: str, finding: str) -> None:
    with pytest.raises(VerificationError, match=finding) as refused:
        record_of(text)
    assert refused.value.code == code


def test_a_text_within_the_limits_is_read_as_it_stands() -> None:
    text = '{"a": [1e300, -1e300, 7, null, true, "NaN"], "b": {"a": 1}, "c": ' + str(10**299) + "}"
    assert record_of(text) == {"a": [1e300, -1e300, 7, None, True, "NaN"], "b": {"a": 1}, "c": 10**299}


def test_numbers_are_checked_at_any_depth() -> None:
    check_numbers({"a": ((1.0, [2]), {"b": -1e300})})
    for wrong in (math.nan, math.inf, -math.inf, 2e300, -(10**301)):
        for record in (wrong, {"a": wrong}, [[wrong]], ({"a": (1, {"b": [wrong]})},)):
            with pytest.raises(VerificationError, match="HG502"):
                check_numbers(record)


@pytest.mark.parametrize(
    "record",
    [
        {"type": "composition"},
        {"type": "composition", "parts": "geometric"},
        {"type": "composition", "parts": [], "further": 1},
        {"type": "composition", "parts": [{"type": "composition", "parts": []}]},
        {"type": "composition", "parts": [7]},
        {"type": ["geometric"]},
        {"scale": 1.0},
        "geometric",
    ],
    ids=str,
)
def test_what_describes_no_mechanism_is_refused(record: object) -> None:
    with pytest.raises(
        ValueError, match=r"a mechanism is an object|a composition has parts|no mechanism has this type"
    ):
        from_record(record)
    with pytest.raises(VerificationError, match="HG502"):
        mechanism_from_record(record)


def test_a_composition_of_one_part_costs_what_the_part_costs_and_of_two_more() -> None:
    one, two = Composition((ONE,)), Composition((ONE, ONE))
    assert from_record(as_record(two)) == two
    far = Relation.REPLACE_ONE
    assert one.attained(far) == ONE.attained(far)
    lower = [made.attained(far).epsilon_lower(0.0) for made in (ONE, one, two)]
    assert lower == pytest.approx([1.0, 1.0, 2.0], abs=1e-9)
    assert certify(one, far, unit="row", delta=0.0).epsilon == certify(ONE, far, unit="row", delta=0.0).epsilon
    assert not one.attained(far).why.startswith("What is worst") and two.attained(far).why.startswith("What is worst")


def test_what_a_mechanism_cannot_answer_is_an_error_and_no_number() -> None:
    """A mechanism of several parts is drawn and attacked part by part; a record may hold another mechanism."""
    together = Composition((ONE, ONE))
    with pytest.raises(UncertifiedError, match="HG520"):
        together.worst_pairs(Relation.REPLACE_ONE)
    pair = ONE.worst_pairs(Relation.REPLACE_ONE)[0]
    assert pair.first is not None
    with pytest.raises(TypeError, match="part by part"):
        together.outputs(pair.histograms()[0], 1, None)  # type: ignore[arg-type]  # no noise is drawn
    with pytest.raises(TypeError, match="composition"):
        together.change(pair.first)
    with pytest.raises(TypeError, match="composition"):
        together.excess(Relation.REPLACE_ONE, ONE.contribution(pair.first)[0])
    with pytest.raises(UncertifiedError, match="HG401"):
        Mechanism().terms(Relation.REPLACE_ONE)
    with pytest.raises(TypeError, match="holds geometric"):
        ResidualMargins.of_record(ONE)
    assert GeometricCounts.of_record(ONE) is ONE
