"""Records of all products but releases: genuine ones are written again as they are, altered ones not.

Each product reads its record and writes it again from what determines it (`hedgerow.release.record`). Here the two
are compared: all genuine records are the same; of single edits of a record each one is seen, or its field is among
those that the product names as unchecked. The certificate is priced anew elsewhere, so its own fields are not edited.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.errors import HedgerowError, HedgerowWarning
from hedgerow.find.search import RECORD as SEARCH
from hedgerow.margins.release_margins import RECORD as MARGINS
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.multicalibration import Multicalibrator
from hedgerow.multicalibration.calibration_fit import RECORD as MODEL
from hedgerow.multicalibration.model_file import model_text
from hedgerow.multicalibration.rounds import Rounds
from hedgerow.regression.regression_record import RECORD as REGRESSION
from hedgerow.release.record import RecordKind
from hedgerow.reports.verify.comparison import differences, is_among, same
from hedgerow.reports.verify.verification import KINDS as KINDS_OF_RECORDS
from hedgerow.reports.verify.verification import asked_in_words
from hedgerow.testset import TestSet
from hedgerow.testset.scored import RECORD as SCORE

Made = Iterator[tuple[str, str]]
N = 400


def _labels(seed: int) -> tuple[np.random.Generator, Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N)
    first, second = (np.where(rng.random(N) < 0.8, y, 1 - y) for _ in range(2))
    chances = np.clip(0.5 + 0.3 * (y - 0.5) + rng.normal(0.0, 0.15, N), 0.0, 1.0)
    return rng, y, first, second, chances


def plain_looks() -> Made:
    """Every mechanism under every relation that it serves, three looks; metrics that are no 0 or 1."""
    _, y, first, second, chances = _labels(0)
    for mechanism in ("gaussian", "laplace", "resample", "resample_gaussian", "smoothed_resample", "split"):
        for relation in ("replace-one", "add-remove") if mechanism in ("gaussian", "laplace") else ("replace-one",):
            delta = 0.5 if mechanism == "resample" else 1e-6
            ts = TestSet(None, y, relation=relation, epsilon=3.0, delta=delta, n_looks=3, mechanism=mechanism)
            for look, sent in enumerate((first, second, first)):
                yield f"{mechanism} {relation} {look}", ts.score(sent).to_json()
    # As many answers as looks: by chance, one that agrees may use up an answer too.
    ts = TestSet(None, y, relation="replace-one", epsilon=3.0, n_looks=3, mechanism="thresholdout", n_answers=3)
    for look, training in enumerate((0.8, 0.2, 0.8)):
        yield f"thresholdout {look}", ts.score(first, training_score=training).to_json()
    for relation in ("replace-one", "add-remove"):
        for metric, mechanism in (("brier", "gaussian"), ("log-loss", "laplace")):
            ts = TestSet(None, y, metric=metric, relation=relation, epsilon=3.0, n_looks=2, mechanism=mechanism)
            for look in range(2):
                yield f"{metric} {relation} {look}", ts.score(chances).to_json()


def looks_by_parts() -> Made:
    """Looks by parts and comparisons, at first and after other looks."""
    rng, y, first, second, chances = _labels(1)
    group = rng.integers(0, 3, N)
    ts = TestSet(None, y, relation="replace-one", epsilon=6.0, n_looks=20, mechanism="gaussian")
    for look in range(2):
        yield f"comparison {look}", ts.compare(first, second).to_json()
        yield f"classes {look}", ts.score(first, metric=["f1", "recall", "balanced_accuracy"]).to_json()
        yield f"precision {look}", ts.score(first, metric="precision", groups=group).to_json()
        yield f"right by group {look}", ts.score(first, metric="accuracy", groups=group).to_json()
        yield f"ranks {look}", ts.score(chances, metric="roc_auc", groups=group).to_json()
        yield f"bins {look}", ts.score(chances, metric="calibration_error", groups=group).to_json()
        yield f"plain after parts {look}", ts.score(first).to_json()
    numbers = np.clip(rng.normal(5.0, 2.0, N), 0.0, 10.0)
    ts = TestSet(None, numbers, relation="replace-one", epsilon=6.0, n_looks=9, mechanism="gaussian")
    sent = numbers + rng.normal(0.0, 1.0, N)
    for look in range(2):
        yield f"squares {look}", ts.score(sent, metric=["r2", "mean_squared_error"], bounds=(0, 10)).to_json()
        yield f"errors {look}", ts.score(sent, metric="mean_squared_error", bounds=(0, 10), groups=group).to_json()
    private = TestSet(None, y, relation="add-remove", epsilon=6.0, n_looks=9, mechanism="gaussian")
    for look in range(2):
        yield f"comparison, n private {look}", private.compare(first, second).to_json()
        yield f"classes, n private {look}", private.score(first, metric=["f1", "recall"], groups=group).to_json()
        yield f"right, n private {look}", private.score(first, groups=group).to_json()


def people() -> pa.Table:
    rng, n = np.random.default_rng(2), 4000
    x = np.clip(rng.normal(5.0, 2.0, n), 0.0, 10.0)
    return pa.table(
        {
            "x": x,
            "y": np.clip(0.3 * x + rng.normal(1.0, 0.6, n), 0.0, 5.0),
            "z": rng.integers(0, 10, n),
            "g": rng.choice(["a", "b", "c"], n),
            "b": (rng.random(n) < 1.0 / (1.0 + np.exp(2.5 - 0.5 * x))).astype(int),
            "w": rng.choice([0.0, 0.5, 1.0, 3.0], n),
            "s": rng.choice(["N", "S"], n),
        }
    )


def searches() -> Made:
    """Bounds and categories, with a condition, and where nothing is found."""
    for relation in ("replace-one", "add-remove"):
        survey = hg.open(people(), relation=relation)
        yield f"bounds {relation}", survey.find_bounds("x", epsilon=0.5).to_json()
        chosen = survey.find_bounds("x", epsilon=0.5, where="g == 'a'", around=20, share=0.9)
        yield f"bounds, chosen {relation}", chosen.to_json()
        yield f"no bounds {relation}", survey.find_bounds("x", epsilon=0.002).to_json()
        yield f"categories {relation}", survey.find_categories("g", epsilon=0.5).to_json()
        yield f"numbers {relation}", survey.find_categories("z", epsilon=0.5, delta=1e-7).to_json()


_BOUNDS = {"x": (0, 10), "y": (0, 5), "z": (0, 9, 1)}
_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "by": {"by": {"g": ["a", "b"]}, "other": True},
    "where": {"where": "z > 2"},
    "weights": {"weights": ("w", 3)},
    "robust": {"robust": True},
    "robust by": {"robust": True, "by": {"g": ["a", "b"]}},
    "pure": {"delta": 0.0},
    "complete": {"missing": "error-if-declared-complete"},
}


def margins() -> Made:
    """Workloads of every kind: with a public total and without, conditions, known totals, numbers that are shown."""
    by: dict[str, Any] = {"g": ["a", "b", "c"], "s": {"N": "north", "S": "south"}, "b": [0, 1]}
    for relation in ("replace-one", "add-remove"):
        survey = hg.open(people(), relation=relation)
        plain = survey.margins(by=by, order=2, epsilon=1.0)
        yield f"margins {relation}", plain.to_json()
        yield f"non-negative margins {relation}", plain.nonnegative().to_json()
        yield f"whole margins {relation}", plain.nonnegative().rounded().to_json()
        complete = survey.margins(by=by, order=3, epsilon=1.0, missing="error-if-declared-complete")
        yield f"complete margins {relation}", complete.to_json()
        bands = {"x": hg.bands(0, 3, 10), "s": ["N"]}
        chosen = survey.margins(by=bands, order=2, epsilon=1.0, other=True, where="z > 2")
        yield f"margins, chosen {relation}", chosen.to_json()
        known = survey.margins(by=by, order=2, epsilon=1.0, other=False, known={"s": [2000, 2000]}, weights={1: 3})
        yield f"margins, known {relation}", known.to_json()
    paid = hg.open(people(), relation="replace-one", target="file")
    yield "margins of totals", paid.margins(by=by, total="x", bounds=(0, 10), order=2, epsilon=1.0).to_json()
    units = hg.open(people(), relation="add-remove", unit={"column": "z", "max_rows": 5}, target="file")
    yield "margins of units", units.margins(by=by, order=2, epsilon=1.0).to_json()


def regressions() -> Made:
    """Linear and logistic regressions with every option."""
    for relation in ("replace-one", "add-remove"):
        survey = hg.open(people(), relation=relation)
        categories = {"s": ["N", "S"]}
        for name, options in _OPTIONS.items():
            if relation == "add-remove" and name not in ("by", "weights", "robust"):
                continue
            fit = survey.ols("y", ["x", "C(s)"], bounds=_BOUNDS, categories=categories, epsilon=2.0, **options)
            yield f"ols {name} {relation}", fit.to_json()
        persons = people().append_column("u", pa.array(np.arange(len(people())) // 3))
        units = hg.open(persons, relation=relation, unit={"column": "u", "max_rows": 2})
        fit = units.ols("y", ["x", "C(s)"], bounds=_BOUNDS, categories=categories, epsilon=4.0)
        yield f"ols of units {relation}", fit.to_json()
        by = units.ols("y", ["x"], bounds=_BOUNDS, epsilon=4.0, by={"g": ["a", "b"]}, other=True)
        yield f"ols of units by cell {relation}", by.to_json()
        numeric = survey.ols("y", ["x", "z"], bounds=_BOUNDS, epsilon=2.0)
        yield f"ols numeric {relation}", numeric.to_json()
        yield f"submodel {relation}", numeric.submodel("y", ["x"]).to_json()
        ball = survey.ols("y", ["x", "z"], bounds=_BOUNDS, clip_norm=1.0, epsilon=2.0)
        yield f"ols in a ball {relation}", ball.to_json()
        products = survey.ols("y", ["x", "z", "x:z", "I(x ** 2)"], bounds=_BOUNDS, epsilon=4.0)
        yield f"ols of products {relation}", products.to_json()
        for name in ("plain", "where") if relation == "add-remove" else ("where",):
            fit = survey.logit("b", ["x", "C(s)"], bounds=_BOUNDS, categories=categories, epsilon=4.0, **_OPTIONS[name])
            yield f"logit {name} {relation}", fit.to_json()


def models() -> Made:
    """Every mechanism of multicalibration, with a target and without; of three classes; rounds that end early."""
    rng, n = np.random.default_rng(3), 3000
    features = {"sex": rng.integers(0, 2, n), "r": rng.choice(["a", "b"], n), "p": rng.beta(2.0, 2.0, n)}
    y = (rng.random(n) < np.clip(features["p"] * 0.6 + 0.3 * features["sex"], 0.0, 1.0)).astype(int)
    table, groups = pa.table(features).to_pandas(), {"sex": [0, 1], "r": ["a", "b"]}
    for mechanism in ("table", "rounds", "numeric_sparse", "input_perturbation"):
        for relation in ("replace-one", "add-remove") if mechanism != "input_perturbation" else ("replace-one",):
            for alpha in (None, 0.1):
                delta = {"delta": 1e-6} if mechanism == "rounds" else {}
                fitted = Multicalibrator(
                    groups=groups, score_column="p", epsilon=5.0, relation=relation, mechanism=mechanism, alpha=alpha,
                    **delta,
                )  # fmt: skip
                yield f"{mechanism} {relation} {alpha}", model_text(fitted.fit(table, y).model_)
    chances = rng.dirichlet([2.0, 2.0, 2.0], n)
    of_three = (chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    table = table.assign(**{f"p{label}": chances[:, label] for label in range(3)})
    for name, mechanism, epsilon, alpha, score, labels in (
        ("rounds that end early", Rounds(6), 20.0, 0.3, "p", y),
        ("input_perturbation that shifts no cell", "input_perturbation", 1.0, None, "p", y),
        ("table of three classes", "table", 5.0, None, ["p0", "p1", "p2"], of_three),
    ):
        fitted = Multicalibrator(
            groups=groups, score_column=score, epsilon=epsilon, relation="replace-one", mechanism=mechanism,
            alpha=alpha, classes=sorted({*labels.tolist()}),
        )  # fmt: skip
        yield name, model_text(fitted.fit(table, labels).model_)


KINDS: dict[str, tuple[RecordKind, Callable[[], Made]]] = {
    "plain looks": (SCORE, plain_looks),
    "looks by parts": (SCORE, looks_by_parts),
    "searches": (SEARCH, searches),
    "margins": (MARGINS, margins),
    "regressions": (REGRESSION, regressions),
    "models": (MODEL, models),
}
# Of a record of few fields, such as that of categories, the source, the date and the values are many.
_SHARE = {"plain looks": 0.1, "looks by parts": 0.1, "searches": 0.2, "margins": 0.1, "regressions": 0.1, "models": 0.1}
_MADE: dict[str, dict[str, Any]] = {}
# What a record of before the numbers were kept does not hold.
_LATER = ("reading", "request", "test_set", "best", "noisy_total")


def records(kind: str) -> dict[str, Any]:
    if kind not in _MADE:
        with warnings.catch_warnings():
            # A resample has no small δ, which is told when its test set is opened.
            warnings.simplefilter("ignore", HedgerowWarning)
            _MADE[kind] = {name: json.loads(text) for name, text in KINDS[kind][1]()}
    return _MADE[kind]


def seen(record: Any, kind: RecordKind, certificate: Certificate) -> tuple[list[str], tuple[str, ...]]:
    """What contradicts itself in a record, and the fields that are not checked."""
    try:
        again = kind.rewrite(record, certificate)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, HedgerowError) as refused:
        return [type(refused).__name__], ()
    found = [*again.found, *differences({k: v for k, v in record.items() if k != "certificate"}, again.record)]
    stated = record["certificate"]
    found += [f"certificate.{k}" for k, value in again.certified.items() if list(differences(stated[k], value))]
    return found, again.unchecked


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, (dict, list)):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, (*path, name))
    else:
        yield path, value


def edits(value: Any, path: tuple[Any, ...]) -> list[Any]:
    """Other values of a leaf, by more than the last digits in which libraries differ."""
    if value is None:
        return [1]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [value + " x"]
    halved = value // 2 if isinstance(value, int) else value / 2.0
    # What a fit released is counted in steps of a lattice: one of these moves no number that is read from it. A noisy
    # sum of margins is counted in such steps too: one step moves each cell by less than the 1e-6 that are compared.
    one = 1 if isinstance(value, int) else max(1.0, abs(value) / 1000.0)
    more = [] if path[0] == "fits" and "released" in path else [value + one]
    return [one for one in (value * 2, halved, *more) if not same(one, value)]


def altered(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy({name: one for name, one in record.items() if name != "certificate"})
    inner: Any = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return {**made, "certificate": record["certificate"]}


def sampled(record: Any, rng: np.random.Generator, each: int) -> list[tuple[tuple[Any, ...], Any]]:
    """Up to `each` leaves of every pattern of paths, places in lists being one pattern."""
    patterns: dict[str, list[tuple[tuple[Any, ...], Any]]] = {}
    for path, value in leaves(record):
        if path[0] != "certificate":
            name = ".".join("*" if isinstance(step, int) else str(step) for step in path)
            patterns.setdefault(name, []).append((path, value))
    return [ls[place] for ls in patterns.values() for place in rng.permutation(len(ls))[:each]]


def fuzzed(kind: str, each: int, *, most: int | None = None) -> tuple[int, int, list[str]]:
    """How many edits were made, how many were not seen, and those among them that no list names."""
    rng, made, accepted, unnamed = np.random.default_rng(5), 0, 0, list[str]()
    for name, record in records(kind).items():
        certificate = Certificate.from_dict(record["certificate"])
        chosen = sampled(record, rng, each)
        for path, value in [chosen[place] for place in rng.permutation(len(chosen))[:most]]:
            for other in edits(value, path):
                found, unchecked = seen(altered(record, path, other), KINDS[kind][0], certificate)
                made += 1
                if not found:
                    place = ".".join(map(str, path))
                    accepted += 1
                    unnamed += [] if is_among(place, unchecked) else [f"{name}: {place}: {value} -> {other}"]
    return made, accepted, unnamed


@pytest.mark.parametrize("kind", KINDS)
def test_a_ledger_says_in_words_what_a_record_was_asked_for(kind: str) -> None:
    for name, record in records(kind).items():
        assert asked_in_words(json.dumps(record)), name


def test_every_kind_of_record_has_words() -> None:
    survey = hg.open(pa.table({"sex": [0, 1] * 200}), relation="replace-one")
    made = {
        "a release": survey.count(by={"sex": [0, 1]}, where="sex == 1", epsilon=1.0),
        "a table": survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0),
    }
    words = [asked_in_words(result.to_json()) for result in made.values()]
    assert words == ["count by sex where sex == 1", "table of count by sex"]
    assert {kind.name for kind, _ in KINDS.values()} | set(made) == {kind.name for kind in KINDS_OF_RECORDS}


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_genuine_record_is_written_again_as_it_is(kind: str) -> None:
    for name, record in records(kind).items():
        found, _ = seen(record, KINDS[kind][0], Certificate.from_dict(record["certificate"]))
        assert found == [], name


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "margins"])  # which came later
def test_a_record_of_before_the_numbers_were_kept_still_holds(kind: str) -> None:
    for name, record in records(kind).items():
        before = {part: one for part, one in record.items() if part not in (*_LATER, "released")}
        if "found" in before:
            before["found"] = {part: one for part, one in before["found"].items() if part != "noisy_total"}
        found, unchecked = seen(before, KINDS[kind][0], Certificate.from_dict(record["certificate"]))
        assert found == [] and len(unchecked) > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_is_seen_or_its_field_is_named(kind: str) -> None:
    made, accepted, unnamed = fuzzed(kind, 1, most=6)
    assert made > 60 and unnamed == [] and accepted < _SHARE[kind] * made, f"{made} edits, {accepted} not seen"


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_edit_is_seen_or_its_field_is_named(kind: str) -> None:
    made, accepted, unnamed = fuzzed(kind, 3)
    print(f"{kind}: {made} edits, {accepted} not seen")
    assert unnamed == [] and accepted < _SHARE[kind] * made, f"{made} edits, {accepted} not seen"


def test_a_drawn_number_that_a_limit_hides_is_named() -> None:
    """Squares that give a negative variance give a sampling error of 0, whatever their sum is."""
    genuine = records("plain looks")["log-loss replace-one 1"]
    certificate = Certificate.from_dict(genuine["certificate"])
    assert "released.numbers.0" not in seen(genuine, SCORE, certificate)[1]
    for holder in (("released",), ("best", "released")):
        squares = (*holder, "numbers", 1)
        again = SCORE.rewrite(altered(genuine, squares, -10.0), certificate).record
        record = {**again, "certificate": genuine["certificate"]}
        for value in (-9.0, -20.0):
            found, unchecked = seen(altered(record, squares, value), SCORE, certificate)
            assert found == [] and is_among(".".join(map(str, squares)), unchecked)
        found, unchecked = seen(altered(record, (*holder, "numbers", 0), -300.0), SCORE, certificate)
        assert found and not is_among(".".join((*holder, "numbers", "0")), unchecked)


def test_a_standard_error_and_a_price_that_were_made_smaller_are_seen() -> None:
    """What a list by hand let pass: the error of a score divided by 5, wider noise of a search."""
    score = next(iter(records("plain looks").values()))
    certificate = Certificate.from_dict(score["certificate"])
    for field in ("standard_error", "sampling_error", "n_looks", "paid"):
        other = {"standard_error": score["score"]["standard_error"] / 5.0, "sampling_error": 0.001}
        changed = altered(score, ("score", field), other.get(field, 7))
        assert seen(changed, SCORE, certificate)[0]
    search = records("searches")["bounds replace-one"]
    made = Certificate.from_dict(search["certificate"])
    wider = copy.deepcopy(search)
    wider["request"]["epsilon"] /= 2.0
    assert "certificate.mechanism" in seen(wider, SEARCH, made)[0]


def test_a_regression_has_no_field_of_another_name_and_no_number_for_a_truth_value() -> None:
    genuine = records("regressions")["ols plain replace-one"]
    certificate = Certificate.from_dict(genuine["certificate"])
    for path, value in ((("release", "other"), 1), (("request", "intercept"), 1)):
        assert seen(altered(genuine, path, value), REGRESSION, certificate)[0]
