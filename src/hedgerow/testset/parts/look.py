r"""A look by parts: sums of the labels over parts that the submitter declares, one noisy vector at the price of a look.

The submitter sends predictions and, where wanted, a group for each record. Under replace-one the number of records is
public, and what was sent for each place or public key is fixed, so every record has a known vector v_i, ‖v_i‖ ≤ 1: the
unit vector of its part; of ranks, a vector of two or three numbers within its group. The look releases Σ (2y_i − 1)·v_i
with Gaussian noise, y_i = 1 where the label is the positive one (or is the predicted one). Another label in one record
moves the sum by 2‖v_i‖ ≤ 2, which is what it moves Σ ±1 by in a plain look: the noise on every number is that of one
look, and so is the price, however many parts and metrics there are. A record cannot leave its part; parts that
overlapped would cost more. The mechanism is `JointMoments` of vectors in a ball, presence public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.region import LevelTest, ScoreRegion
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import STEPS, JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import GAUSSIAN
from hedgerow.mechanisms.noisy_moments import MomentsGaussian
from hedgerow.noise.lattice import NoiseSource
from hedgerow.testset.adaptive_bounds import COVERS_FITTED, METHOD, Earlier, share_of_sampling
from hedgerow.testset.entries import Entries, entries_of
from hedgerow.testset.looks import Settings
from hedgerow.testset.mechanisms.look_mechanism import COVERS, two_sided
from hedgerow.testset.mechanisms.noisy_sum import GaussianLook
from hedgerow.testset.metric import accuracy, brier
from hedgerow.testset.parts.counted_parts import CountedParts
from hedgerow.testset.parts.measures import BINS, SUBPARTS, GroupSums, Kind, KnownOfGroup, Measure, PartReading
from hedgerow.testset.parts.squares import SquaredParts, Squares
from hedgerow.testset.predictions import checked_kind
from hedgerow.testset.scores import Part, Score

MOST_GROUPS = 100
OF_LABELS: tuple[Kind, ...] = ("right", "classes")
"""The kinds whose predictions are labels."""
SHAVED = 1.0 - 1e-6  # rounding of the noise to its lattice must not make it dearer than a look
_OF_COUNT = 0.5  # the weight of a label itself beside its rank
Described = JointMoments | MomentsGaussian
Group = TypeVar("Group")
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """Parts of the records as far as their sums are read: their sizes, no record.

    Attributes
    ----------
    kind : Kind
    groups : tuple of str
        Their names; one, "", where none were declared.
    sizes : int array, (groups, parts of a group)
    chances : float array, (groups, parts of a group)
        The sum of the chances that were predicted.
    """

    kind: Kind
    groups: tuple[str, ...]
    sizes: Integers
    chances: Floats

    relation: ClassVar[Relation] = Relation.REPLACE_ONE

    @property
    def records(self) -> int:
        """How many records there are."""
        return int(self.sizes.sum())

    @property
    def cells(self) -> int:
        """How many parts there are in all."""
        return int(self.sizes.size)

    @property
    def units(self) -> Floats:
        """What one of v's units is, in each group and, last, for all records: records, or ranks; (groups + 1, d)."""
        places = len(self.groups) + 1
        if self.kind != "ranks":
            return np.ones((places, 1))
        units = np.full((places, 2 + (places > 2)), 1.0 / _OF_COUNT)
        records = np.append(self.sizes.sum(axis=1), self.sizes.sum())
        units[:, 1:] = (records / 2.0 / _of_rank(units.shape[1]))[:, None]
        return units

    def asked(self) -> dict[str, Any]:
        """Return what else tells such a look from others: nothing."""
        return {}

    def mechanism(self, mu: float) -> JointMoments:
        """Return the release that costs μ."""
        d = self.units.shape[1]
        layout = JointLayout((JointFeature(STEPS),) * d, "public", self.cells, ball=d)
        weights = JointWeights(d, {}, {(i,): 1.0 for i in range(d)})
        return joint_moments(GAUSSIAN, layout, weights, mu, Relation.REPLACE_ONE)

    def of_groups(self, described: JointMoments, sums: Floats) -> list[GroupSums]:
        """Return what noisy sums of the labels tell of each group and, last, of all records.

        `sums` holds Σ y·v of each part, (groups, parts of a group, d).
        """
        each = float(described.noise_sds()[0]) / (2.0 * STEPS)
        groups = [self._of_group(place, sums[place], each) for place in range(len(self.groups))]
        return [*groups, self._of_group(len(self.groups), sums.sum(axis=0), each * math.sqrt(len(self.groups)))]

    def _of_group(self, place: int, sums: Floats, sd: float) -> GroupSums:
        overall = place == len(self.groups)
        sizes, chances = (
            (self.sizes.sum(axis=0), self.chances.sum(axis=0)) if overall else (self.sizes[place], self.chances[place])
        )
        # Of ranks: the labels, and their ranks in the group or among all.
        columns = [0, sums.shape[1] - 1 if overall else 1] if self.kind == "ranks" else [0]
        units = self.units[place, columns]
        return GroupSums((sums[:, columns] * units).ravel(), sd * units, sizes, chances)

    def record(self, sums: Floats) -> dict[str, Any]:
        """Return the division and noisy sums of its parts as plain JSON data; null for a part that holds no record."""
        held = self.sizes.sum(axis=0) > 0
        shown = [
            [numbers if there else None for numbers, there in zip(group, held, strict=True)] for group in sums.tolist()
        ]
        chances = {"chances": self.chances.tolist()} if self.kind == "chances" else {}
        return {"of": self.kind, "groups": list(self.groups), "sizes": self.sizes.tolist(), **chances, "sums": shown}

    @classmethod
    def from_record(cls, released: Mapping[str, Any]) -> tuple[Division, Floats]:
        """Return the division and the sums from their record."""
        sizes = np.array(released["sizes"], dtype=np.int64)
        chances = np.array(released.get("chances", np.zeros(sizes.shape)), dtype=np.float64)
        parts = cls(released["of"], tuple(released["groups"]), sizes, chances)
        if sizes.shape != chances.shape or sizes.shape != (len(parts.groups), SUBPARTS[parts.kind]):
            raise ValueError("sizes")
        d = parts.units.shape[1]
        sums = [[[0.0] * d if numbers is None else numbers for numbers in group] for group in released["sums"]]
        return parts, np.array(sums, dtype=np.float64).reshape(*sizes.shape, d)


@dataclass(frozen=True, slots=True, eq=False)
class Parts(Division):
    """What a look by parts asks, all of which the submitter knows.

    Attributes
    ----------
    cell : int array, (records,)
        The part of each record: group by group.
    weights : int array, (records, d)
        v in steps of 1/STEPS, ‖v‖ ≤ 1.
    """

    cell: Integers
    weights: Integers

    @classmethod
    def of(cls, kind: Kind, sent: Entries, groups: Entries | None, positive: Any) -> Parts:
        """Return the parts of predictions that were checked, and of groups (HG170)."""
        names, group = group_of(groups, len(sent))
        sub, part = SUBPARTS[kind], np.zeros(len(sent), dtype=np.int64)
        if kind == "classes":
            part = sent.equal(entries_of([positive]).taken(part)).astype(np.int64)
        elif kind == "chances":
            part = np.minimum(BINS - 1, np.floor(np.clip(sent.numbers, 0.0, 1.0) * BINS)).astype(np.int64)
        cell = group * sub + part
        sizes = np.bincount(cell, minlength=sub * len(names)).reshape(len(names), sub)
        chances = np.clip(sent.numbers, 0.0, 1.0) if kind == "chances" else np.zeros(len(sent))
        totals = np.bincount(cell, weights=chances, minlength=sub * len(names)).reshape(len(names), sub)
        vectors = _ranked(sent.numbers, group, names) if kind == "ranks" else np.ones((len(sent), 1))
        # Towards zero, so that no vector becomes longer than 1.
        weights = np.trunc(vectors * STEPS).astype(np.int64)
        return cls(kind, names, sizes, np.asarray(totals, dtype=np.float64), cell, weights)

    def placed(self, predictions: Entries, groups: Entries | None) -> Parts:
        """Return the same: the part of each record follows from what was sent."""
        return self

    def exact(self, outcome: NDArray[np.bool_]) -> NDArray[np.object_]:
        """Return Σ (2y − 1)·v of each part, (cells, d), in steps."""
        signs = np.where(outcome, 1.0, -1.0)
        # Sums of integers below 2^53 are exact.
        columns = [np.bincount(self.cell, weights=signs * column, minlength=self.cells) for column in self.weights.T]
        return np.stack(columns, axis=1).astype(np.int64).astype(object)

    def draw(self, described: JointMoments, outcome: NDArray[Any], noise: NoiseSource) -> Floats:
        """Draw the noise, once, and return the noisy Σ y·v of each part."""
        return self.of_labels(described.noisy(self.exact(outcome), noise, cells=({},) * self.cells).values)

    def of_labels(self, noisy: Floats) -> Floats:
        """Return Σ y·v of each part, half of Σ (2y − 1)·v and of Σ v, which does not depend on labels."""
        whole = np.stack(
            [np.bincount(self.cell, weights=column, minlength=self.cells) for column in self.weights.T], axis=1
        )
        return np.asarray(((noisy + whole) / (2.0 * STEPS)).reshape(*self.sizes.shape, self.weights.shape[1]))


@dataclass(frozen=True, slots=True, eq=False)
class PartsAsked:
    """One look by parts: which metrics, of which label, by which parts."""

    measures: tuple[Measure, ...]
    positive: Any
    parts: Parts | Squares | CountedParts

    def mechanism(self, settings: Settings) -> Described:
        """Return the release, whose price is at most that of a plain look."""
        return self.parts.mechanism(_mu(settings) * SHAVED)

    def outcome(self, labels: Entries, predictions: Entries) -> NDArray[Any]:
        """Return what is added up of each record: its number, whether the prediction is right, or it is positive."""
        kind = self.measures[0].kind
        if kind == "squares":
            return labels.numbers
        return labels.equal(predictions) if kind == "right" else labels.among([self.positive])

    def look(self, settings: Settings, earlier: Earlier) -> LookByParts:
        """Return this look as the one after the earlier ones."""
        mechanism = settings.mechanism
        each = mechanism.of_one_record() if earlier.looks else None
        before = (earlier.looks, earlier.numbers or None)
        conditions = (settings.conditions.n_looks, *before, _mu(settings), each, settings.keyed)
        return LookByParts(self.measures, self.parts, *conditions)

    def record(self) -> dict[str, Any]:
        """Return what tells it from other looks at the same predictions and groups, as plain JSON data."""
        label = self.positive if isinstance(self.positive, (str, int, float)) else str(self.positive)
        return {"metrics": [measure.name for measure in self.measures], "positive": label, **self.parts.asked()}


def require_parts(settings: Settings, kind: Kind) -> None:
    """Refuse looks by parts of a kind that a test set has no proven price for (HG431)."""
    public, gaussian = settings.conditions.n is not None, settings.mechanism.mu is not None
    if gaussian and (public or kind in OF_LABELS):
        return
    raise UncertifiedError(
        "HG431",
        rule="A metric of several noisy numbers, such as recall, needs Gaussian noise. Ranks (roc_auc), bins "
        "(calibration_error) and squared errors also need a public number of records.",
        finding="This test set has another " + ("relation." if gaussian else "mechanism."),
        remedy="Make a test set with relation='replace-one' and mechanism='gaussian'. No look was taken.",
    )


def parts_of_sent(
    settings: Settings, kind: Kind, sent: tuple[Entries, Entries | None], about: Any
) -> Parts | Squares | CountedParts:
    """Return the parts of predictions and groups that were sent and checked (HG170, HG171)."""
    predictions, groups = sent
    if settings.conditions.n is None:
        names, place = group_of(groups, len(predictions))
        values = {} if groups is None else dict(zip(place.tolist(), groups.kinds_and_values(), strict=True))
        return CountedParts(kind, names, tuple(values[number] for number in sorted(values)), about)
    if kind == "squares":
        return Squares.of(predictions, group_of(groups, settings.conditions.n), about)
    return Parts.of(kind, predictions, groups, about)


def _mu(settings: Settings) -> float:
    return settings.mechanism.mu or 0.0  # `require_parts` was asked before


def positive_label(settings: Settings, given: Any) -> Any:
    """Return the label that counts as positive: the one given, that of the metric, or 1 (HG171)."""
    declared = settings.labels
    label = given.item() if hasattr(given, "item") else given
    if label is None:
        label = settings.metric.positive
    entry = entries_of([label])
    if entry.missing[0] or (declared and not entry.among(declared)[0]):
        raise no_positive(given)
    return label


def no_positive(given: Any) -> ParameterError:
    """Return the refusal of a positive label that is none (HG171)."""
    return ParameterError(
        "HG171",
        rule="A metric such as precision or recall needs one positive label, written exactly as in the labels.",
        finding="None was named, and 1 is no label." if given is None else "It is not one of the declared labels.",
        remedy='For example positive="yes". No look was taken.',
        shell="For example, write --positive yes. No look was taken.",
    )


def checked_for(kind: Kind, labels: Sequence[Any], sent: Entries) -> Entries:
    """Return predictions that the metrics of a kind can read (HG170)."""
    if kind in OF_LABELS:
        return checked_kind(accuracy(), labels, sent)
    if kind == "chances":
        checked_kind(brier(), (), sent)
    if sent.is_text.any() or not np.isfinite(sent.numbers).all():
        raise ParameterError(
            "HG170",
            rule="The metrics roc_auc and calibration_error need finite numbers as predictions, one for each record.",
            finding="Some of the predictions are missing or are not finite numbers.",
            remedy="Give finite numbers, for example the predicted probabilities of the positive label. No look was "
            "taken.",
        )
    return sent


def named(groups: Sequence[str], known: Sequence[Group]) -> list[tuple[str | None, Group]]:
    """Return what is told of all records, and then of each group by its name."""
    by_name: list[tuple[str | None, Group]] = list(zip(groups, known[:-1], strict=True))
    return [(None, known[-1]), *(by_name if tuple(groups) != ("",) else [])]


@dataclass(frozen=True, slots=True, eq=False)
class LookByParts:
    """A look by parts as its answer is read: public facts.

    Attributes
    ----------
    measures : tuple of Measure
    parts : Division, SquaredParts or CountedParts
    n_looks, earlier : int
        How many looks there are, and how many came before this one.
    numbers : int or None
        How many numbers these answered; None where that is not known.
    mu : float
        The price of a plain look.
    of_one_record : float or None
        What a plain look tells of a record at most, in nats; None at the first look, which no other came before.
    keyed : bool
        Whether predictions were joined to records by a key.
    """

    measures: tuple[Measure, ...]
    parts: Division | SquaredParts | CountedParts
    n_looks: int
    earlier: int
    numbers: int | None
    mu: float
    of_one_record: float | None
    keyed: bool

    def before(self, records: float) -> Earlier:
        """Return the earlier answers of a test set of so many records."""
        each = self.of_one_record or 0.0
        return Earlier(self.earlier * records * each, self.earlier, self.numbers, each)

    def to_dict(self, sums: Floats) -> dict[str, Any]:
        """Return this look and its noisy sums as plain JSON data."""
        nats = {} if self.of_one_record is None else {"nats_of_one_record": self.of_one_record}
        metrics = [measure.name for measure in self.measures]
        return {
            "test_set": {"keyed": self.keyed, "mu_of_a_look": self.mu, **nats, **self.before(0.0).record()},
            "released": {"kind": "parts", "metrics": metrics, **self.parts.record(sums)},
        }


def numbers_released(determined_by: Mapping[str, Any] | None, plain: int | None) -> int | None:
    """Return how many noisy numbers a recorded look answered, `plain` if not by parts; None where that is not known."""
    if determined_by is None or plain is None:
        return None
    released = determined_by["released"]
    if released["kind"] != "parts":
        # Where n is private, a comparison answers Σ d and Σ d².
        return 2 if released["kind"] == "comparison" and "differing" not in released else plain
    groups = len(released["groups"])
    if "sizes" not in released:
        return 2 * CountedParts.from_record(released)[0].cells
    if released["of"] == "squares":
        return groups * SquaredParts.NUMBERS
    return groups * SUBPARTS[released["of"]] * (1 if released["of"] != "ranks" else 2 + (groups > 1))


def score_by_parts(look: LookByParts, described: Any, sums: Floats) -> Score:
    """Return the score that noisy sums tell: the first metric of all records leads. It reads no record."""
    known: Sequence[KnownOfGroup] = look.parts.of_groups(described, sums)
    every = tuple(
        _part(look, measure, name, sums_of_group, known[-1].total)
        for name, sums_of_group in named(look.parts.groups, known)
        for measure in look.measures
    )
    first = every[0]
    return Score(
        estimate=first.estimate,
        metric=first.metric,
        greater_is_better=look.measures[0].greater_is_better,
        look=look.earlier + 1,
        n_looks=look.n_looks,
        best=None,
        best_look=None,
        distinguishable=None,
        paid=True,
        request_id="",
        certificate=None,
        fixed_model=first.fixed_model,
        parts=every,
        determined_by=look.to_dict(sums),
    )


def _part(
    look: LookByParts, measure: Measure, group: str | None, known: KnownOfGroup, total: tuple[float, float]
) -> Part:
    records = known.records
    reading = measure.read(known)
    estimate = Estimate(
        statistic="score",
        column=None,
        cell={},
        estimate=reading.value,
        sampling_error=reading.sampling,
        bootstrap_error=0.0,
        privacy_error=reading.noise,
        method=GaussianLook.name,
        n_resamples=None,
        reliable=reading.reliable,
        note=None if reading.reliable else "the noise is too large for the records that this divides by",
        covers=COVERS,
        _region=ScoreRegion(LevelTest(reading.fixed, GaussianLook.name, *reading.ends)),
    )
    if not look.earlier:
        return Part(measure.name, group, records, estimate, None)
    fixed = estimate.confidence_interval()
    of_private = partial(_fitted_ends_of_private_n, reading, look, total)
    fitted = of_private if records is None else partial(fitted_ends, reading, look, records, known.sd)
    region = ScoreRegion(LevelTest(fitted, METHOD, *reading.ends))
    return Part(measure.name, group, records, replace(estimate, _region=region, covers=COVERS_FITTED), fixed)


def fitted_ends(reading: PartReading, look: LookByParts, records: int, sd: float, level: float) -> tuple[float, float]:
    """Return the interval of a model fitted to earlier answers; public facts alone share the probability to err."""
    n, beta = float(look.parts.records or records), 1.0 - level
    earlier = look.before(n)
    if not math.isfinite(earlier.information):
        return reading.ends
    share = share_of_sampling(earlier, records, lambda b: two_sided(b) * sd / records, beta, all_records=n)
    return reading.fitted(earlier.exponent(n, share * beta), (1.0 - share) * beta)


def _fitted_ends_of_private_n(
    reading: PartReading, look: LookByParts, total: tuple[float, float], level: float
) -> tuple[float, float]:
    """Return the interval where the number of records is private: for the most that the noise leaves possible."""
    beta = 1.0 - level
    most = total[0] + two_sided(0.1 * beta) * total[1]  # one side of it: .05 of β
    if most < 1.0 or not math.isfinite(look.of_one_record or 0.0):
        return reading.ends
    return reading.fitted(look.before(most).exponent(most, 0.8 * beta), 0.15 * beta)


def group_of(groups: Entries | None, n: int) -> tuple[tuple[str, ...], Integers]:
    """Return the names of groups and the place of each record's among them (HG170)."""
    if groups is None:
        return ("",), np.zeros(n, dtype=np.int64)
    names, place = np.unique(np.array(groups.kinds_and_values(), dtype=object), return_inverse=True)
    if len(groups) != n or groups.missing.any() or not 1 <= len(names) <= MOST_GROUPS:
        raise ParameterError(
            "HG170",
            rule=f"Groups are one label for each record, of at most {MOST_GROUPS} different ones; none is missing.",
            finding="The given groups do not follow the rule.",
            remedy="Groups may depend on predictions and features, but not on the labels of records. No look was "
            "taken.",
        )
    plain = [
        str(int(float(name[1:]))) if name[0] == "n" and float(name[1:]).is_integer() else name[1:] for name in names
    ]
    return tuple(plain), place.astype(np.int64)


def _of_rank(d: int) -> float:
    """Return the weight of each rank in a vector of so many numbers, beside that of the label."""
    return math.sqrt((1.0 - _OF_COUNT**2) / (d - 1))


def _ranked(scores: Floats, group: Integers, names: tuple[str, ...]) -> Floats:
    """Return (label, rank in the group, rank among all) of length 1 at most."""
    within, weight = np.zeros(len(scores)), _of_rank(2 + (len(names) > 1))
    for place in range(len(names)):
        rows = np.flatnonzero(group == place)
        within[rows] = _centred(scores[rows]) * 2.0 / len(rows) * weight
    columns = [np.full(len(scores), _OF_COUNT), within]
    if len(names) > 1:
        columns.append(_centred(scores) * 2.0 / len(scores) * weight)
    return np.stack(columns, axis=1)


def _centred(scores: Floats) -> Floats:
    """Return how many are lower, and half of those that are equal, minus half of all: from −n/2 to n/2."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2.0 - len(scores) / 2.0)[place])
