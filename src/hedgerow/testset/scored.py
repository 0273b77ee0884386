"""The difference of two models' scores on the same records, from one look.

A record adds d = −1, 0 or 1: whether the first model is right, minus whether the second is. Replacing one record moves
Σ d by at most 2. That is what it moves Σ u by, u = ±1 for a loss of 0 or 1, so the noise of one look serves and the
price is that of one look. Records for which both predictions are equal add 0 whatever their label is, and how many
differ, m, is known from what was sent. Hence E d² ≤ P(the predictions differ), and the sampling error is √(m/n)/√n.
Where n is private, so is m, and a look releases the number of records, Σ d and Σ d².

The difference is distinguishable from 0 if it exceeds z·√(m/n² + p²), z = Φ⁻¹(1 − α/(2·n_looks)), p the noise: all
comparisons of the declared looks hold at once, of models that were made before any answer was known. The interval from
the second look on holds for fitted models, by the empirical Bernstein bound at the level of `adaptive_bounds`.

The record of a look, written again from the numbers that were drawn: what `hedgerow verify` holds it against.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import normal_quantile
from hedgerow.inference.region import LevelTest, ScoreRegion
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.laws import GAUSSIAN
from hedgerow.mechanisms.mechanism import Composition, as_record, parts_of
from hedgerow.release.record import Record, RecordKind, Rewritten
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testset.adaptive_bounds import (
    METHOD,
    NUMBERS,
    SHARES,
    Earlier,
    chernoff,
    earlier_answers,
    for_fitted_model,
)
from hedgerow.testset.entries import Entries
from hedgerow.testset.looks import Settings, TestSetTerms, assumptions_of
from hedgerow.testset.mechanisms.choose import choose, kind_named, mechanism_of
from hedgerow.testset.mechanisms.look_mechanism import Conditions, DrawnLook, LookMechanism, Options
from hedgerow.testset.mechanisms.noisy_sum import GaussianLook, SummedLosses
from hedgerow.testset.metric import Metric
from hedgerow.testset.parts.counted_parts import CountedParts
from hedgerow.testset.parts.look import SHAVED, Division, LookByParts, score_by_parts
from hedgerow.testset.parts.measures import parse_measures
from hedgerow.testset.parts.squares import SquaredParts
from hedgerow.testset.predictions import is_model
from hedgerow.testset.scores import LEVEL, BestBefore, Score, distinguishable, drawn_of, drawn_record, score_from_record

_POWER = 0.8
_COVERS = "the difference of two expected scores, first minus second"
_DIFFERENCES = Grid.from_bounds("difference", (-1, 1), 1.0)


def plain_score(settings: Settings, drawn: DrawnLook, earlier: Earlier, best: BestBefore | None) -> Score:
    """Return the score that the numbers of a plain look give, after the earlier answers. It reads no record."""
    answer, fixed = settings.mechanism.read(drawn), None
    estimate = answer.estimate
    if earlier.information > 0.0:
        fixed = estimate.confidence_interval()
        estimate = for_fitted_model(answer, settings.mechanism, earlier)
    known = {} if best is None else {"best": best.to_dict()}
    test_set = {**settings.on_record(paid=drawn.paid), **earlier.record()}
    score = Score(
        estimate=estimate,
        metric=settings.metric.name,
        greater_is_better=settings.metric.greater_is_better,
        look=earlier.looks + 1,
        n_looks=settings.conditions.n_looks,
        best=None if best is None else best.value,
        best_look=None if best is None else best.look,
        distinguishable=None,
        paid=answer.paid,
        request_id="",
        certificate=None,
        fixed_model=fixed,
        determined_by={"test_set": test_set, "released": drawn_record(drawn), **known},
    )
    return score if best is None else replace(score, distinguishable=distinguishable(score, best))


def require_paired(settings: Settings) -> None:
    """Refuse a test set that cannot compare pairs (HG431)."""
    if settings.conditions.binary and settings.mechanism.mu is not None:
        return
    raise UncertifiedError(
        "HG431",
        rule="Two models can be compared only by losses of 0 and 1, with Gaussian noise.",
        finding="The test set has another metric or mechanism.",
        remedy="In Python, make a test set with metric='accuracy' and mechanism='gaussian'. No look was taken.",
    )


def refuse_models(*given: object) -> None:
    """Refuse models where predictions are needed: what they predict depends on features (HG170)."""
    if any(is_model(sent) for sent in given):
        raise ParameterError(
            "HG170",
            rule="Comparisons and looks by parts take predictions only, not models.",
            finding="A model was given instead of predictions.",
            remedy="Give the predictions of the model, if you may see the features of the test set. No look was taken.",
        )


def count_differing(first: Entries, second: Entries) -> int:
    """Return for how many records two predictions are not known to be equal.

    >>> from hedgerow.testset.entries import entries_of
    >>> count_differing(entries_of([1, 0, None]), entries_of([1, 1, None]))
    2
    """
    return len(first) - int(first.equal(second).sum())


def paired_look(settings: Settings) -> GaussianLook:
    """Return what answers a comparison where n is private: (N, Σ d, Σ d²), at the price of a plain look at most.

    Of one record that tells more than a plain look of the same price, so the noise is larger by as much as makes it
    tell no more.
    """
    plain = settings.mechanism
    conditions, mu = replace(settings.conditions, grid=_DIFFERENCES), (plain.mu or 0.0) * SHAVED
    losses = SummedLosses(conditions, GAUSSIAN)
    tells = GaussianLook(conditions, losses.mechanism(mu)).of_one_record() / plain.of_one_record()
    return GaussianLook(conditions, losses.mechanism(mu / math.sqrt(max(1.0, tells))))


def with_equal(differences: Histogram, records: int) -> Histogram:
    """Return d + 1 of all records, also of those that add nothing: 0, 1 or 2."""
    counts = np.zeros(3, dtype=np.int64)
    counts[2 * differences.index] = differences.count
    counts[1] = records - counts.sum()
    index = np.flatnonzero(counts)
    return Histogram.from_triplets(np.zeros_like(index), index, counts[index], cells=1)


def differences_of(metric: Metric, labels: Entries, first: Entries, second: Entries) -> Histogram:
    """Return how many records only the first (index 1) and only the second (index 0) scores on; others add nothing."""
    difference = metric.places(labels, first) - metric.places(labels, second)
    counts = np.array([np.count_nonzero(difference == sign) for sign in (-1, 1)], dtype=np.int64)
    index = np.flatnonzero(counts)
    return Histogram.from_triplets(np.zeros_like(index), index, counts[index], cells=1)


def difference_score(settings: Settings, drawn: DrawnLook, differing: int | None, earlier: Earlier) -> Score:
    """Return the difference that the numbers drawn of `differences_of` give, after the earlier answers.

    Parameters
    ----------
    differing : int or None
        For how many records the predictions differ; None where the number of records is private.
    """
    if differing is None:
        return _difference_of_private_n(settings, paired_look(settings), drawn, earlier)
    mechanism, n = settings.mechanism, settings.conditions.n or 0
    answer = mechanism.read(drawn)
    # The answer is read as a score, (1 + Σ d/n)/2.
    value = min(max(2.0 * answer.estimate.estimate - 1.0, -differing / n), differing / n)
    noise = 2.0 * (mechanism.expected_error() or 0.0)
    sampling = math.sqrt(differing / n / n)
    plain = LevelTest(partial(_difference_ends, value, math.hypot(sampling, noise)), mechanism.name, -1.0, 1.0)
    bound = LevelTest(partial(_fitted_ends, value, mechanism, differing, earlier), METHOD, -1.0, 1.0)
    fixed = Estimate(
        statistic="score",
        column=None,
        cell={},
        estimate=value,
        sampling_error=sampling,
        bootstrap_error=0.0,
        privacy_error=noise,
        method=mechanism.name,
        n_resamples=None,
        reliable=True,
        note=None,
        covers=_COVERS,
        _region=ScoreRegion(plain),
    )
    fitted = replace(fixed, _region=ScoreRegion(bound)) if earlier.looks else None
    released = {"numbers": list(drawn.numbers), "differing": differing}
    return _compared(settings, fixed, fitted, earlier, (released, {}))


def _difference_of_private_n(settings: Settings, look: GaussianLook, drawn: DrawnLook, earlier: Earlier) -> Score:
    """Return the difference that (N, Σ d, Σ d²) give."""
    answer, known = look.read(drawn), {"nats_of_one_record": earlier.of_one_record} if earlier.looks else {}
    fixed = replace(answer.estimate, covers=_COVERS)
    bound = LevelTest(partial(_fitted_ends_of_private_n, look, drawn, earlier), METHOD, -1.0, 1.0)
    fitted = replace(fixed, _region=ScoreRegion(bound)) if earlier.looks else None
    return _compared(settings, fixed, fitted, earlier, ({"numbers": list(drawn.numbers)}, known))


def _compared(
    settings: Settings,
    fixed: Estimate,
    fitted: Estimate | None,
    earlier: Earlier,
    recorded: tuple[dict[str, Any], dict[str, Any]],
) -> Score:
    """Return the score of a comparison; `recorded` is what was released, and what else its test set must tell."""
    errors = (fixed.sampling_error, fixed.privacy_error)
    known = [error for error in errors if error is not None]
    explained = _critical(settings.conditions.n_looks) * math.hypot(*known)
    return Score(
        estimate=fixed if fitted is None else fitted,
        metric=f"difference of {settings.metric.name}",
        greater_is_better=settings.metric.greater_is_better,
        look=earlier.looks + 1,
        n_looks=settings.conditions.n_looks,
        best=None,
        best_look=None,
        distinguishable=abs(fixed.estimate) > explained if len(known) == len(errors) else None,
        paid=True,
        request_id="",
        certificate=None,
        fixed_model=None if fitted is None else fixed.confidence_interval(),
        determined_by={
            "test_set": {**settings.on_record(), **recorded[1], **earlier.record()},
            "released": {"kind": "comparison", **recorded[0]},
        },
    )


def minimum_detectable_paired_difference(settings: Settings, agree: float) -> float:
    """Return the difference found distinguishable with probability .8, of models that agree on a share of the records.

    >>> from hedgerow.testset import TestSet
    >>> ts = TestSet(None, [0, 1] * 5000, relation="replace-one", epsilon=1.0, n_looks=50)
    >>> round(minimum_detectable_paired_difference(ts.settings, 0.9) / ts.minimum_detectable_difference, 2)
    0.52
    """
    require_paired(settings)
    n = settings.conditions.n or 1
    error = math.hypot(math.sqrt((1.0 - agree) / n), 2.0 * (settings.mechanism.expected_error() or 0.0))
    return (_critical(settings.conditions.n_looks) + NormalDist().inv_cdf(_POWER)) * error


def _critical(n_looks: int) -> float:
    return -NormalDist().inv_cdf((1.0 - LEVEL) / (2.0 * n_looks))


def _difference_ends(value: float, error: float, level: float) -> tuple[float, float]:
    """Return the ends of a normal interval: sampling and noise."""
    return _around(value, normal_quantile(level) * error)


def _fitted_ends(
    value: float, mechanism: LookMechanism, differing: int, earlier: Earlier, level: float
) -> tuple[float, float]:
    """Return the empirical Bernstein bound (Maurer & Pontil 2009, theorem 4) at the level for fitted models, and noise.

    For n numbers in [0, 1] with sample variance V, each side errs by √(2V·ln(2/δ)/n) + 7·ln(2/δ)/(3(n − 1)) but for
    probability δ. Here numbers lie in [−1, 1], the sample variance is at most m/(n − 1), and two sides have half each.
    """
    n = float(mechanism.conditions.n or 1)
    beta = 1.0 - level

    def half(share: float) -> float:
        sampling = _bernstein(n, differing, earlier.exponent(n, share * beta))
        return sampling + 2.0 * mechanism.spread((1.0 - share) * beta)

    return _around(value, min(half(share) for share in SHARES))


def _bernstein(n: float, squares: float, exponent: float) -> float:
    """Return the bound for the mean of n numbers in [−1, 1] whose squares add up to so much."""
    log = exponent + math.log(4.0)
    return math.sqrt(2.0 * squares / (n - 1.0) * log / n) + 14.0 * log / (3.0 * (n - 1.0))


def _fitted_ends_of_private_n(
    look: GaussianLook, drawn: DrawnLook, earlier: Earlier, level: float
) -> tuple[float, float]:
    """Return the same for what the noise leaves possible of n, Σ d and Σ d², a third of .2·β for each."""
    beta, (count, total, square) = 1.0 - level, drawn.numbers
    around, along, over = look.spread_of_moments(0.2 * beta / 3.0)
    least, most = count - around, count + around
    if not least >= 2.0:
        return -1.0, 1.0
    known = replace(earlier, information=earlier.looks * most * earlier.of_one_record)
    # Squares are released about a number that is taken off each.
    squares = min(most, max(0.0, square + over + look.taken_off * most))
    # Half of the probability for each of two bounds, which both hold then.
    exponent = known.exponent(most, 0.8 * beta) + math.log(2.0)
    half = _bernstein(least, squares, exponent)
    ends = [(total + way * along) / n for way in (-1.0, 1.0) for n in (least, most)]
    low, high = (min(1.0, max(-1.0, end)) for end in (min(ends), max(ends)))
    lowest, highest = chernoff((1.0 + low) / 2.0, least, exponent)[0], chernoff((1.0 + high) / 2.0, least, exponent)[1]
    return max(2.0 * lowest - 1.0, low - half), min(2.0 * highest - 1.0, high + half)


def _around(value: float, half: float) -> tuple[float, float]:
    return max(-1.0, value - half), min(1.0, value + half)


_OTHER = "The mechanism of the score is not the one on its certificate."
_BEST = "The best score before is of no look before."
_NUMBERS = f"test_set.{NUMBERS}"
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
    faults = () if score.best_look is None or 1 <= score.best_look < score.look else (_BEST,)
    again = replace(score, request_id=record["score"]["request_id"], certificate=certificate).to_dict()
    del again["certificate"]
    return Rewritten(again, ("score.request_id", *unchecked), faults, {"unit": "row", **certified})


RECORD = RecordKind(
    "a score of a test set", "score", rewrite, lambda record: f"{record['score']['metric']} on a test set"
)
Read = tuple[Score, tuple[str, ...], Mapping[str, Any]]


def _plain(record: Record, certificate: Certificate) -> Read:
    """Return a plain look, or a comparison of two models."""
    score, released = record["score"], record["released"]
    drawn, looks = drawn_of(released), score["look"] - 1
    settings = _settings(record, certificate, paid=drawn is None or drawn.paid)
    mechanism = Composition(()) if settings.mechanism.once and looks else settings.mechanism.restated()
    earlier = earlier_answers(
        settings.mechanism, looks, _numbers_before(record, looks * (settings.mechanism.numbers or 0))
    )
    certified = {"mechanism": _as_json(mechanism), "assumptions": list(settings.assumptions)}
    if drawn is None and "differing" not in released:
        return _private_comparison(record, certificate, settings)
    if drawn is None:
        numbers = DrawnLook(tuple(map(float, released["numbers"])))
        difference = partial(difference_score, settings, differing=int(released["differing"]), earlier=earlier)
        return (
            difference(numbers),
            (_NUMBERS, *_hidden("", numbers, lambda other: _shown(difference(other)))),
            certified,
        )
    best, unchecked = _best(record, settings)
    unchecked += (_NUMBERS,)
    # Of a number of records that was divided among looks, what each look has is known.
    unchecked += ("test_set.n",) if settings.mechanism.records_a_look != settings.conditions.n else ()
    read = partial(plain_score, settings, earlier=earlier, best=best)
    return read(drawn), (*unchecked, *_hidden("", drawn, lambda other: _shown(read(other)))), certified


def _hidden(place: str, drawn: DrawnLook, shown: Callable[[DrawnLook], object]) -> tuple[str, ...]:
    """Return the fields of the drawn numbers that a limit hides: with another number the record shows the same.

    For example the sum of the squares of losses is hidden where the variance that the sum gives is negative, so that
    the sampling error is 0.
    """

    def is_hidden(at: int) -> bool:
        step = max(1.0, abs(drawn.numbers[at]) / 2.0)
        others = ((*drawn.numbers[:at], drawn.numbers[at] + way, *drawn.numbers[at + 1 :]) for way in (-step, step))
        return any(shown(replace(drawn, numbers=other)) == shown(drawn) for other in others)

    return tuple(f"{place}released.numbers.{at}" for at in range(len(drawn.numbers)) if is_hidden(at))


def _errors(score: Score) -> tuple[object, ...]:
    return score.value, score.sampling_error, score.privacy_error


def _shown(score: Score) -> tuple[object, ...]:
    return (*_errors(score), score.confidence_interval(), score.fixed_model, score.distinguishable)


def _private_comparison(record: Record, certificate: Certificate, settings: Settings) -> Read:
    """Return a comparison of two models where the number of records is private."""
    score, terms = record["score"], record["test_set"]
    drawn = DrawnLook(tuple(map(float, record["released"]["numbers"])))
    (described,) = parts_of(certificate.mechanism)
    look = GaussianLook(replace(settings.conditions, grid=_DIFFERENCES), described)
    looks, each = score["look"] - 1, terms.get("nats_of_one_record", math.inf)
    if not settings.conditions.binary or (looks and not math.isclose(each, look.of_one_record(), rel_tol=1e-3)):
        raise ValueError("comparison")
    earlier = Earlier(math.inf if looks else 0.0, looks, _numbers_before(record, looks), each)
    certified = {"mechanism": _as_json(look.restated()), "assumptions": list(settings.assumptions)}
    difference = partial(_difference_of_private_n, settings, look, earlier=earlier)
    hidden = _hidden("", drawn, lambda other: _shown(difference(other)))
    return difference(drawn), (_NUMBERS, *hidden), certified


def _best(record: Record, settings: Settings) -> tuple[BestBefore | None, tuple[str, ...]]:
    """Return the best score before, and which of its fields nothing determines."""
    known = record.get("best")
    if known is None:
        return None, ()
    value, look, drawn = record["score"]["best"], record["score"]["best_look"], drawn_of(known.get("released"))
    unchecked: tuple[str, ...] = ("score.best_look",) if record["score"]["look"] > 2 else ()
    if drawn is None:
        best = BestBefore(value, known["sampling_error"], known["privacy_error"], look, None)
        return best, (*unchecked, "score.best", "best.sampling_error", "best.privacy_error")
    read = partial(plain_score, settings, earlier=earlier_answers(settings.mechanism, 0), best=None)
    again = read(drawn)
    unchecked += _hidden("best.", drawn, lambda other: _errors(read(other)))
    return BestBefore(again.value, again.sampling_error, again.privacy_error, look, drawn), unchecked


def _settings(record: Record, certificate: Certificate, *, paid: bool) -> Settings:
    """Return the settings of a test set as far as a look is read from them."""
    score, terms = record["score"], record["test_set"]
    metric, name = terms["metric"], score["mechanism"]
    low, high = Fraction(metric["lower"]), Fraction(metric["upper"])
    grid = Grid(low, high, int(metric["steps"]), bool(metric.get("declared", True)))
    # Where all looks have a price of their own, no number of a look depends on the ε of all of them.
    budget = Budget(terms.get("epsilon", 1.0), certificate.delta)
    conditions = Conditions(certificate.relation, budget, score["n_looks"], terms["n"], grid)
    threshold = conditions.half_range if paid else terms["threshold"]
    options = Options(threshold=threshold, n_answers=terms.get("n_answers", 1))
    described = Metric(str(metric["name"]), grid, bool(metric["greater_is_better"]), "labels")
    known = TestSetTerms(conditions=conditions, metric=described, options=options, keyed=bool(terms["keyed"]))
    if "epsilon" in terms:
        return known.settled(choose(name, conditions, options))
    (mechanism,) = parts_of(certificate.mechanism)
    return known.settled(mechanism_of(name, conditions, mechanism, options))


def _by_parts(record: Record, certificate: Certificate) -> Read:
    """Return a look by parts."""
    score, terms, released = record["score"], record["test_set"], record["released"]
    private, squares = "sizes" not in released, released["of"] == "squares"
    parts, sums = (CountedParts if private else SquaredParts if squares else Division).from_record(released)
    measures, mu, earlier = parse_measures(released["metrics"]), float(terms["mu_of_a_look"]), score["look"] - 1
    each = float(terms["nats_of_one_record"]) if earlier else None
    conditions = (score["n_looks"], earlier, _numbers_before(record, earlier), mu, each, bool(terms["keyed"]))
    look = LookByParts(measures, parts, *conditions)
    described = parts.mechanism(mu * SHAVED)
    # A plain look at one sum tells D²/8 of a record, and at a sum and its squares D²/6.
    if {measure.kind for measure in measures} != {released["of"]} or not (each is None or _near(each, mu, private)):
        raise ValueError("parts")
    unread = set.intersection(*(set(measure.unread) for measure in measures))
    certified = {
        "mechanism": _as_json(described),
        "relation": str(parts.relation),
        "assumptions": list(assumptions_of(parts.records, look.keyed)),
    }
    unchecked = (_NUMBERS, *(f"released.{field}" for field in unread))
    return score_by_parts(look, described, sums), unchecked, certified


def _numbers_before(record: Record, least: int) -> int | None:
    """Return how many numbers were answered before; none on a record of an earlier version, whose bound stays."""
    numbers = record["test_set"].get(NUMBERS)
    if numbers is not None and not 0 < least <= numbers:
        raise ValueError(NUMBERS)
    return None if numbers is None else int(numbers)


def _as_json(mechanism: Mechanism) -> Any:
    return json.loads(json.dumps(as_record(mechanism)))


def _near(each: float, mu: float, private: bool) -> bool:
    # μ is that of the noise as priced, D that of the lattice: they differ in the last digits.
    if private:
        return 0.999 * mu**2 / 4.0 <= each <= 1.001 * mu**2 / 2.0
    return any(math.isclose(each, mu**2 / part, rel_tol=1e-3) for part in (6.0, 8.0))


def _of_before(record: Record, certificate: Certificate) -> Rewritten:
    """Return a record of an earlier version, without drawn numbers: what follows from other fields is written again."""
    fields, parts = record["score"], parts_of(certificate.mechanism)
    kind = kind_named(fields["mechanism"])
    # The first look of some mechanisms pays for all others.
    free = kind.once and fields["look"] > 1 and not parts
    # Where their number is private, parts are moments by cell.
    vector = "parts" in fields and certificate.relation is Relation.REPLACE_ONE
    described = ("joint-moments",) if vector else kind.describes
    fits = free or (len(parts) == 1 and parts[0].type in described)
    score = score_from_record(json.dumps({"score": fields, "certificate": certificate.to_dict()}))
    again = score.to_dict()
    del again["certificate"]
    unchecked = [
        *(f"score.{field}" for field in _COPIED),
        *(f"score.parts.*.{field}" for field in (*_COPIED, "group", "records")),
    ]
    return Rewritten(again, tuple(unchecked), () if fits else (_OTHER,), {"unit": "row"})
