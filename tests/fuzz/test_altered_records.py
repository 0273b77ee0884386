"""Altered records: `verify` refuses each with a code, finds it false, or names as unchecked what was altered.

No input may end in an error of Python. A bare certificate is a description and its price: where an altered one holds,
the verifier that shares no code with hedgerow (`hedgerow_verify.py`) must not find its price too low.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from itertools import chain, groupby
from operator import getitem
from pathlib import Path
from typing import Any

import hedgerow_verify
import pytest
from hypothesis import strategies as st
from tests.fuzz.bases import Record, genuine, groups, pages
from tests.fuzz.edits import NAMES, Edit, Splice, edited, nodes, spliced
from tests.fuzz.inputs import counts, refusal, tried
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.errors import HedgerowError
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.mechanism import from_record
from hedgerow.multicalibration.calibration_mechanism import CalibrationMechanism
from hedgerow.reports.verify import verification
from hedgerow.reports.verify.comparison import differences, is_among
from hedgerow.reports.verify.verification import Verification, verify_file, verify_record

PLACES = st.integers(0, 2**24)
EDITS = st.lists(st.builds(Edit, st.sampled_from(NAMES), PLACES, PLACES), min_size=1, max_size=3)
SPLICES = st.lists(st.builds(Splice, PLACES, PLACES, PLACES), min_size=1, max_size=3)
SLICE = [*groups()][::17]
"""The groups of the suite; the long run alters records of all."""


def unnamed(record: Record, altered: Any, unchecked: tuple[str, ...]) -> Iterator[str]:
    """Yield what differs from the genuine record and is not named; a list of another length is altered in its places.

    A field that is left out is no altered figure: where it counts, the record no longer holds. Nor is an answer that is
    left out or stands elsewhere, since each answer follows from the release. Several noisy numbers, such as two whose
    sum stays, may be changed together with all that follows from them, which no record can show (`NOT_CHECKED`). Nor
    does a noisy number that changes in its fifth digit, or by a thousandth of a record, change a result by more than
    the digits that are compared; of a regression in its fourth digit, which a note states in whole per cent, or by a
    hundred-thousandth of the largest number of a Newton step, or of the residuals that margins are added up from. A
    price may be stated too high where another version is said to have computed the price. A declared value is compared
    in the type of its column: a number and its text are one. A step of a table that stands twice in a row changes
    nothing the second time, or other numbers would differ too.
    """
    found = [*_unnamed(record, altered, unchecked)]
    if len(found) == 1 or not all(_NOISY.search(place) for place in found):
        yield from found


def _unnamed(record: Record, altered: Any, unchecked: tuple[str, ...]) -> Iterator[str]:
    for place in differences(record, altered):
        if place.partition(".")[0] == "asked" and all(
            answer in record.get("asked", ()) for answer in altered.get("asked", ())
        ):
            continue
        holder = _at(altered, place)
        if _nearly(record, altered, place) or (_VALUE.search(place) and str(holder) == str(_at(record, place))):
            continue
        if place == "certificate.epsilon" and holder != "left out" and holder > record["certificate"]["epsilon"]:
            continue  # `_priced_alike`: of the same versions this is found
        if place == "steps" and [step for step, _ in groupby(holder)] == record[place]:
            continue
        if holder != "left out" and not is_among(place, unchecked) and not is_among(f"{place}.0", unchecked):
            yield place


def _at(record: Any, place: str) -> Any:
    """Return the value of a field, or "left out"."""
    for step in place.split("."):
        record = record[int(step)] if isinstance(record, list) else record.get(step, "left out")
        if record == "left out":
            break
    return record


_VALUE = re.compile(r"request\.statistics\.\d+\.value$")
_NOISY = re.compile(
    r"(noisy\.\d+\.values|found\.noisy_counts|distributions\.\d+\.cells\.\d+\.counts\.\d+"
    r"|(?P<fit>fits)\.\d+\.released(?P<step>\.\d+)?)\.\d+$"
)


def _nearly(record: Record, altered: Any, place: str) -> bool:
    value, other, noisy = _at(record, place), _at(altered, place), _NOISY.search(place)
    if noisy is None or not all(type(each) in (int, float) for each in (value, other)):
        return False
    # A thousandth, and what doubles add to it: −0.999 lies a little farther from −1.
    together = noisy["step"] or "margins" in record
    room = 1e-5 * max(map(abs, _at(record, place.rpartition(".")[0]))) if together else 1e-3 + 1e-12
    return math.isclose(value, other, rel_tol=1e-3 if noisy["fit"] else 1e-4, abs_tol=room)


def check_holding(record: Record, altered: Any, found: Verification) -> None:
    """Check a record that was altered and is called good."""
    if "certificate" in record:
        assert [*unnamed(record, altered, found.unchecked)] == []
    else:
        assert hedgerow_verify.checked(altered)[0] != "WRONG"


def check_record(chosen: list[str], drawn: tuple[int, int, list[Edit]]) -> None:
    group, place, edits = drawn
    records = genuine(chosen[group % len(chosen)])
    record = records[place % len(records)]
    altered = edited(record, edits, records)
    found, code = refusal(lambda: verify_record(altered))
    if code is None:
        json.dumps(found.to_dict(), allow_nan=False)
        if found.holds:
            check_holding(record, altered, found)


@counts(120, 160_000)
def test_what_is_altered_in_a_record_is_refused_found_or_named(count: int) -> None:
    chosen = SLICE if count < 1_000 else [*groups()]
    tried(count, st.tuples(PLACES, PLACES, EDITS), partial(check_record, chosen))


def parts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where the lists and objects of a record stand, of a list the first two; certificates are priced anew."""
    if isinstance(value, (dict, list)):
        yield path
        for key, inner in value.items() if isinstance(value, dict) else [*enumerate(value)][:2]:
            if key != "certificate":
                yield from parts(inner, (*path, key))


def check_parts(record: Record, others: Sequence[Any]) -> None:
    """Put each of the others in place of each part of a record, and one more field into each object."""
    altered = json.loads(json.dumps(record))
    for *path, last in [*parts(record)][1:]:
        holder = reduce(getitem, path, altered)
        kept = holder[last]
        more = [kept | {"another": None}] if isinstance(kept, dict) else []
        for holder[last] in (other for other in [*others, *more] if other != kept):
            found, code = refusal(lambda: verify_record(altered))
            if code is None and found.holds:
                check_holding(record, altered, found)
        holder[last] = kept


@pytest.mark.parametrize("group", [group for group in groups() if group.startswith("product")])
def test_a_part_of_a_product_that_is_a_text_is_refused_found_or_named(group: str) -> None:
    check_parts(genuine(group)[0], ["another"])


@pytest.mark.parametrize("group", [group for group in groups() if group.startswith(("product", "statistic"))])
def test_a_noisy_number_whose_square_no_double_holds_is_found(group: str) -> None:
    record = genuine(group)[0]
    for place, kept in enumerate(record.get("noisy", ())):
        values = [1e299] * len(kept["values"])
        tables = [*record["noisy"][:place], kept | {"values": values}, *record["noisy"][place + 1 :]]
        found, code = refusal(lambda tables=tables: verify_record(record | {"noisy": tables}))
        assert code is not None or not found.holds or is_among(f"noisy.{place}.values.0", found.unchecked)


@pytest.mark.long
@pytest.mark.parametrize("group", [group for group in groups() if not group.startswith("mechanism")])
def test_a_part_of_another_type_is_refused_found_or_named(group: str) -> None:
    for record in genuine(group):
        check_parts(record, ["another", [], {}])


def others_of(value: Any) -> list[Any]:
    """Return what may stand in place of a value of a mechanism; first what may make the price lower."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, float):
        return [value * 2.0, value / 2.0]
    if isinstance(value, int):
        return [value // 2, value + value // 4, value * 2, value - 1, value + 1]
    if isinstance(value, list):
        return [value + value[-1:], value[:-1], value[::-1]]
    swapped = {"gaussian": "laplace", "public": "private"}
    return [other for pair in swapped.items() for other in pair if value in pair and other != value]


def repriced(
    record: Record, stated: Certificate, narrowed: str | None, path: tuple[Any, ...], other: Any
) -> Record | None:
    """Return a record with one value of its mechanism replaced, and with the price of that mechanism; None for none."""
    mechanism = json.loads(json.dumps(record["certificate"]["mechanism"]))
    reduce(getitem, path[:-1], mechanism)[path[-1]] = other
    facts = {"unit": stated.unit, "delta": stated.delta, "assumptions": stated.assumptions, "narrowed": narrowed}
    try:
        made = certify(from_record(mechanism), stated.relation, **facts)
        return {**record, "certificate": json.loads(made.to_json())}
    except (HedgerowError, ArithmeticError, ValueError, TypeError, LookupError):
        return None  # no such mechanism, or none with a price


def check_repriced(record: Record, most: int) -> Iterator[str]:
    """Check a record whose mechanism is altered in one place, with a price that is right for the altered mechanism.

    Such a record contradicts itself, or what was altered is named: how far one record moves what is released follows
    from what was asked, and the noise from the errors that are shown. Yield each alteration that was judged.
    """
    stated = Certificate.from_dict(record["certificate"])
    kind = next(kind for kind in verification.KINDS if kind.field in record)
    narrowed = kind.rewrite(record, stated).narrowed
    for path, value in [*nodes(record["certificate"]["mechanism"])]:
        for other in others_of(value)[:most] if path[-1] != "type" else ():
            altered = repriced(record, stated, narrowed, path, other)
            if altered is None:
                continue
            yield f"{path}"
            found, code = refusal(lambda altered=altered: verify_record(altered))
            if code is None and found.holds:
                told = [place for place in _unnamed(record, altered, found.unchecked) if not _OF_PRICE.match(place)]
                assert told == [], (path, other)


_OF_PRICE = re.compile(r"certificate\.(epsilon|mu$|profile)")
ASKED = [group for group in groups() if group.startswith(("product", "statistic", "way"))]


def mechanism_types(record: Record) -> tuple[str, ...]:
    mechanism = record["certificate"]["mechanism"]
    return (mechanism["type"], *(part["type"] for part in mechanism.get("parts", ())))


@pytest.mark.parametrize("group", ["product models", "product plain looks", "statistic bootstrap", "statistic mean"])
def test_a_mechanism_that_is_altered_with_its_price_is_found_or_named(group: str) -> None:
    of_each = {mechanism_types(record): record for record in genuine(group)}
    assert [*chain.from_iterable(check_repriced(record, 2) for record in of_each.values())]


@pytest.mark.long
@pytest.mark.parametrize("group", ASKED)
def test_every_field_of_a_mechanism_that_is_altered_with_its_price_is_found_or_named(group: str) -> None:
    judged = [*chain.from_iterable(check_repriced(record, 5) for record in genuine(group) if "certificate" in record)]
    assert judged or group == "product searches"


def test_a_movement_that_is_not_compared_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CalibrationMechanism, "follows", lambda *_: True)
    record = next(one for one in genuine("product models") if mechanism_types(one) == ("sparse-vector",))
    with pytest.raises(AssertionError, match="reach"):
        [*check_repriced(record, 1)]


def check_text(chosen: list[str], folder: Path, drawn: tuple[int, int, list[Splice]]) -> None:
    """Check a record's or a page's text with bytes put in, taken out and repeated; one in four by the command too."""
    group, place, splices = drawn
    records = genuine(chosen[group % len(chosen)])
    of_pages = pages(folder) if group % 4 == 0 else []
    original = (of_pages or [json.dumps(record, ensure_ascii=False) for record in records])[
        place % len(of_pages or records)
    ]
    path = folder / "record"
    path.write_bytes(spliced(original.encode(), splices))
    found, code = refusal(lambda: verify_file(path))
    if code is None and found[1].holds:
        genuine_record = verify_file_of(original, path)
        check_holding(genuine_record, found[0], found[1])
        path.write_bytes(spliced(original.encode(), splices))
    if splices[0].other % 4:
        return  # the command takes three times as long
    result = CliRunner().invoke(app, ["verify", str(path), *(["--json"] if place % 2 else [])])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 2, 4, 5) and "\x1b" not in result.output
    assert (code is None) == bool(result.stdout) and (code is not None or (result.exit_code == 0) == found[1].holds)


def verify_file_of(text: str, path: Path) -> Any:
    """Return the record of a genuine text."""
    path.write_text(text, encoding="utf-8")
    return verify_file(path)[0]


@counts(60, 40_000)
def test_the_text_of_a_record_or_a_page_may_be_any_bytes(count: int, tmp_path: Path) -> None:
    chosen = SLICE if count < 1_000 else [*groups()]
    tried(count, st.tuples(PLACES, PLACES, SPLICES), partial(check_text, chosen, tmp_path))


def test_a_figure_that_is_not_compared_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "_compared", lambda *_: iter(()))
    with pytest.raises(AssertionError):
        tried(120, st.tuples(PLACES, PLACES, EDITS), partial(check_record, SLICE))
