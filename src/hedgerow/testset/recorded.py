"""The record of a look, written again from the numbers that were drawn: what `hedgerow verify` holds it against."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import Composition, Mechanism, as_record, parts_of
from hedgerow.release.record.kind import Record, RecordKind, Rewritten
from hedgerow.testset.mechanisms.choose import choose, kind_named, mechanism_of
from hedgerow.testset.mechanisms.mechanism import Conditions, Drawn, Options
from hedgerow.testset.metric import Metric
from hedgerow.testset.paired import difference_score, plain_score
from hedgerow.testset.parts.look import SHAVED, Division, LookByParts, score_by_parts
from hedgerow.testset.parts.measures import parse_measures
from hedgerow.testset.parts.squares import SquaredParts
from hedgerow.testset.score import Best, Score, drawn_of, score_from_record
from hedgerow.testset.settings import Settings, Terms, assumptions_of

_OTHER = "The mechanism of the score is not the one on its certificate."
_BEST = "The best score before is of no look before."
_COPIED = (
    *("metric", "greater_is_better", "value", "sampling_error", "resampling_error", "noise_error"),
    *("confidence_interval.*", "fixed_model.*", "reliable", "note", "look", "n_looks", "best", "best_look"),
    *("distinguishable", "paid", "request_id"),
)
"""The fields that nothing determines on a record of before the numbers that were drawn were kept."""


def rewrite(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record of a look as it is written from its terms, its drawn numbers and its mechanism."""
    if "reading" not in record:
        return _of_before(record, certificate)
    by_parts = record["released"]["kind"] == "parts"
    score, unchecked, certified = (_by_parts if by_parts else _plain)(record, certificate)
    found = () if score.best_look is None or 1 <= score.best_look < score.look else (_BEST,)
    again = replace(score, request_id=record["score"]["request_id"], certificate=certificate).to_dict()
    del again["certificate"]
    return Rewritten(again, ("score.request_id", *unchecked), found, {"unit": "row", **certified})


RECORD = RecordKind("a score of a test set", "score", rewrite)
Read = tuple[Score, tuple[str, ...], Mapping[str, Any]]


def _plain(record: Record, certificate: Certificate) -> Read:
    """Return a plain look, or a comparison of two models."""
    told, released = record["score"], record["released"]
    drawn, earlier = drawn_of(released), told["look"] - 1
    settings = _settings(record, certificate, paid=drawn is None or drawn.paid)
    mechanism = Composition(()) if settings.mechanism.once and earlier else settings.mechanism.restated()
    certified = {"mechanism": _as_json(mechanism), "assumptions": list(settings.assumptions)}
    if drawn is None:
        numbers = Drawn(tuple(map(float, released["numbers"])))
        return difference_score(settings, numbers, int(released["differing"]), earlier), (), certified
    best, unchecked = _best(record, settings)
    # Of a number of records that was divided among looks, what each look has is known.
    unchecked += ("test_set.n",) if settings.mechanism.records_a_look != settings.conditions.n else ()
    return plain_score(settings, drawn, earlier, best), unchecked, certified


def _best(record: Record, settings: Settings) -> tuple[Best | None, tuple[str, ...]]:
    """Return the best score before, and which of its fields nothing determines."""
    known = record.get("best")
    if known is None:
        return None, ()
    value, look, drawn = record["score"]["best"], record["score"]["best_look"], drawn_of(known.get("released"))
    unchecked = ("score.best_look",) if record["score"]["look"] > 2 else ()
    if drawn is None:
        best = Best(value, known["sampling_error"], known["privacy_error"], look, None)
        return best, (*unchecked, "score.best", "best.sampling_error", "best.privacy_error")
    again = plain_score(settings, drawn, 0, None)
    return Best(again.value, again.sampling_error, again.privacy_error, look, drawn), unchecked


def _settings(record: Record, certificate: Certificate, *, paid: bool) -> Settings:
    """Return the settings of a test set as far as a look is read from them."""
    told, terms = record["score"], record["test_set"]
    metric, name = terms["metric"], told["mechanism"]
    low, high = Fraction(metric["lower"]), Fraction(metric["upper"])
    grid = Grid(low, high, int(metric["steps"]), bool(metric.get("declared", True)))
    # Where all looks have a price of their own, no number of a look depends on the ε of all of them.
    budget = Budget(terms.get("epsilon", 1.0), certificate.delta)
    conditions = Conditions(certificate.relation, budget, told["n_looks"], terms["n"], grid)
    threshold = conditions.half_range if paid else terms["threshold"]
    options = Options(threshold=threshold, n_answers=terms.get("n_answers", 1))
    described = Metric(str(metric["name"]), grid, bool(metric["greater_is_better"]), "labels")
    known = Terms(conditions=conditions, metric=described, options=options, keyed=bool(terms["keyed"]))
    if "epsilon" in terms:
        return known.settled(choose(name, conditions, options))
    (mechanism,) = parts_of(certificate.mechanism)
    return known.settled(mechanism_of(name, conditions, mechanism, options))


def _by_parts(record: Record, certificate: Certificate) -> Read:
    """Return a look by parts."""
    told, terms, released = record["score"], record["test_set"], record["released"]
    squares = released["of"] == "squares"
    parts, sums = (SquaredParts if squares else Division).from_record(released)
    measures, mu, earlier = parse_measures(released["metrics"]), float(terms["mu_of_a_look"]), told["look"] - 1
    each = float(terms["nats_of_one_record"]) if earlier else None
    look = LookByParts(measures, parts, told["n_looks"], earlier, mu, each, bool(terms["keyed"]))
    described = parts.mechanism(mu * SHAVED)
    # A plain look at one sum tells D²/8 of a record, and at a sum and its squares D²/6.
    if {one.kind for one in measures} != {released["of"]} or not (each is None or _near(each, mu)):
        raise ValueError("parts")
    unread = set.intersection(*(set(one.unread) for one in measures))
    certified = {
        "mechanism": _as_json(described),
        "relation": str(Relation.REPLACE_ONE),
        "assumptions": list(assumptions_of(look.records, look.keyed)),
    }
    return score_by_parts(look, described, sums), tuple(f"released.{one}" for one in unread), certified


def _as_json(mechanism: Mechanism) -> Any:
    return json.loads(json.dumps(as_record(mechanism)))


def _near(each: float, mu: float) -> bool:
    # μ is that of the noise as priced, D that of the lattice: they differ in the last digits.
    return any(math.isclose(each, mu**2 / part, rel_tol=1e-3) for part in (6.0, 8.0))


def _of_before(record: Record, certificate: Certificate) -> Rewritten:
    """Return a record of an earlier version, without drawn numbers: what follows from other fields is written again."""
    told, parts = record["score"], parts_of(certificate.mechanism)
    kind = kind_named(told["mechanism"])
    # The first look of some mechanisms pays for all others.
    free = kind.once and told["look"] > 1 and not parts
    described = ("joint-moments",) if "parts" in told else kind.describes
    fits = free or (len(parts) == 1 and parts[0].type in described)
    score = score_from_record(json.dumps({"score": told, "certificate": certificate.to_dict()}))
    again = score.to_dict()
    del again["certificate"]
    unchecked = [
        *(f"score.{one}" for one in _COPIED),
        *(f"score.parts.*.{one}" for one in (*_COPIED, "group", "records")),
    ]
    return Rewritten(again, tuple(unchecked), () if fits else (_OTHER,), {"unit": "row"})
