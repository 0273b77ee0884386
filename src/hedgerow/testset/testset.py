"""`TestSet`: a test set that is looked at through a mechanism, a declared number of times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self, Unpack
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import BudgetExceeded, HedgerowWarning
from hedgerow.facts.budget import DEFAULT_DELTA, Budget, warn_about_budget
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.keywords import takes
from hedgerow.ledger.ledger_entry import checked_text
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import AtomicMechanism
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.spend import Account, spend
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testset.adaptive_bounds import Earlier, earlier_answers
from hedgerow.testset.file_columns import FileColumns
from hedgerow.testset.label_sources import ArraySource, FileSource, FileTerms, LabelSource, SentEntries
from hedgerow.testset.looks import EarlierLooks, LookOptions, Looks, LooksInMemory, TestSetTerms, opened_looks
from hedgerow.testset.mechanisms.choose import Compared, compare
from hedgerow.testset.mechanisms.look_mechanism import Conditions, DrawnLook, Question, checked_options
from hedgerow.testset.mechanisms.thresholdout import checked_training
from hedgerow.testset.metric import Metric, check_function, losses_of, parse_metric
from hedgerow.testset.parts.look import PartsAsked, numbers_released, parts_of_sent, require_parts, score_by_parts
from hedgerow.testset.parts.measures import parse_measures
from hedgerow.testset.predictions import checked_labels, checked_length, labels_of
from hedgerow.testset.scored import (
    count_differing,
    difference_score,
    differences_of,
    paired_look,
    plain_score,
    refuse_models,
    require_paired,
    with_equal,
)
from hedgerow.testset.scores import Score, best_of, describe_difference, score_from_record

Rows = NDArray[np.int64] | None


class TestSetOptions(LookOptions, total=False):
    """Keywords of `TestSet`, apart from its records, ε and the number of looks."""

    metric: str | Metric
    ledger: str | Path | None
    labels: Sequence[Any] | None
    name: str | None
    thinning: float
    threshold: float
    n_answers: int


_DEFAULTS: TestSetOptions = {
    "metric": "accuracy",
    "relation": None,
    "delta": DEFAULT_DELTA,
    "ledger": None,
    "mechanism": "auto",
    "labels": None,
    "name": None,
    "thinning": 10.0,
    "threshold": 0.02,
    "n_answers": 20,
}


@dataclass(frozen=True, slots=True)
class _LookProduct:
    """A look as what spends; the noise is the test set's own."""

    price: Certificate
    request: Mapping[str, Any]
    labels: AbstractContextManager[Any]
    scored: Callable[[Any], Score]

    def reading(self) -> AbstractContextManager[Any]:
        return self.labels

    def draw(self, source: Any, noise: NoiseSource) -> Score:
        return self.scored(source)

    def read(self, noisy: Score) -> Score:
        return noisy

    def write(self, result: Score) -> str:
        return result.to_json()

    def from_record(self, text: str) -> Score:
        return score_from_record(text)


class TestSet:
    """A test set whose scores, all together, are (ε, δ)-private for each of its records.

    Guarantee   everything that `score` returns, over all `n_looks` looks, is (ε, δ)-differentially private for the
    relation, with one row as the unit. Each look is reserved in the ledger before labels are read. So no sequence of
    looks learns much about any one record, and the test set stays fit to judge models.

    Parameters
    ----------
    X_test : table or None
        Features: what a model's ``predict`` takes. None where only predictions will be scored.
    y_test : array
        Labels, one for each row: numbers, truth values or texts. Anything else is missing, and counts as wrong.
    metric : str or Metric
        ``"accuracy"``, ``"zero-one"``, ``"brier"``, ``"log-loss"``, or one of `hedgerow.testset.metric`.
    relation : {"replace-one", "add-remove"}
        Who is protected. Under replace-one the number of records is public.
    epsilon, delta : float
        The TOTAL of all looks. δ = 0 asks for pure mechanisms.
    n_looks : int
        How often the test set may be looked at, ever.
    ledger : path, optional
        Where looks are counted. It is made if nothing is there; else it is opened, and its settings, which are public,
        must be the same. Labels and features are NOT compared with those of before, since the answer would tell of
        them: give `name`, and keep one ledger for each test set. Without a ledger this object alone counts; it cannot
        be copied, and the count is lost with it.
    mechanism : str
        ``"auto"`` takes the one of least expected error, see `comparison`. ``"narrowest"`` takes the mechanism, and the
        amount of noise, with the narrowest proven interval of the last look for a model fitted to all others; see
        `hedgerow.testset.looks_forecast`. Else one of `choose.MECHANISMS`.
    labels : list, optional
        All possible labels. A prediction that is none of them is then refused before a look is taken, and any other
        label of a record counts as missing. They are declared, never read off the data: without them any whole number
        or text is taken for a label, and a wrong one uses up a look.
    name : str, optional
        What the custodian calls this test set, public: a ledger is not opened under another name.
    thinning, threshold, n_answers
        Of single mechanisms, see `hedgerow.testset.mechanisms.look_mechanism.Options`.

    Attributes
    ----------
    settings : Settings
        Conditions, metric and mechanism.

    Raises
    ------
    ParameterError
        HG101 to HG103 for the budget and the relation, HG170 to HG173, HG177 and HG178 for the rest.
    LedgerError
        HG301 to HG308, HG433: the file is not a ledger, or it was made under other settings or another name.
    UncertifiedError
        HG401, HG403, HG431: the mechanism cannot be used under these conditions.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 5000)
    >>> ts = TestSet(None, y, metric="accuracy", relation="replace-one", epsilon=1.0, n_looks=10)
    >>> ts.remaining, round(ts.minimum_detectable_difference, 3)
    (10, 0.06)
    >>> score = ts.score(np.where(rng.random(5000) < 0.9, y, 1 - y))
    >>> abs(score.value - 0.9) < 0.05, score.look, ts.remaining
    (True, 1, 9)
    """

    # Test runners collect classes whose names begin so.
    __test__ = False

    @takes(TestSetOptions, **_DEFAULTS)
    def __init__(
        self, X_test: object, y_test: object, *, epsilon: float, n_looks: int, **options: Unpack[TestSetOptions]
    ) -> None:
        given: TestSetOptions = {**_DEFAULTS, **options}
        labels, relation, metric = labels_of(y_test), parse_relation(given["relation"]), parse_metric(given["metric"])
        declared = checked_labels(metric, given["labels"])
        if metric.function is not None:
            check_function(metric.function, metric.needs, declared)
        checked_length(X_test, len(labels))
        n = len(labels) if relation is Relation.REPLACE_ONE else None
        terms = TestSetTerms(
            conditions=Conditions(relation, Budget(epsilon, given["delta"]), n_looks, n, metric.grid),
            metric=metric,
            options=checked_options(given["thinning"], given["threshold"], given["n_answers"]),
            labels=declared,
            name=None if given["name"] is None else checked_text("name", given["name"]),
        )
        warn_about_budget(terms.conditions.budget.epsilon, terms.conditions.budget.delta, n, frames=3)
        looks: Looks
        if given["ledger"] is None:
            settings, secret = terms.chosen(given["mechanism"])
            looks = LooksInMemory(secret)
        else:
            given["ledger"] = path = Path(given["ledger"]).absolute()
            settings, looks = opened_looks(path, terms, given["mechanism"])
        fixed: TestSetOptions = {"metric": metric, "mechanism": settings.mechanism.name}
        keywords = {"epsilon": epsilon, "n_looks": n_looks, **given, **fixed}
        known = labels.only(labels.among(declared)) if declared else labels
        self._begin(ArraySource(settings, looks, X_test, known, keywords))

    @classmethod
    def create(cls, labels: str | Path, columns: FileColumns, **terms: Unpack[FileTerms]) -> Self:
        """Make a test set of the custodian's file of labels, in a new ledger; nothing is released or spent.

        Records are counted, once. Files of predictions are then scored, for a gate of continuous integration; models
        and arrays are not.

        Parameters
        ----------
        labels : path
            Kept relative to the ledger, so that both may move together.
        columns : FileColumns
            The label column with its declared labels, the prediction column, the metric, and the key if there is one.
        ledger, epsilon, n_looks, relation, delta, mechanism
            As of a test set of arrays.
        options : Options, optional
            Of single mechanisms.

        Raises
        ------
        HedgerowError
            As a test set of arrays; HG201 to HG209 for the file; HG302 where the ledger exists; HG436, HG437 for the
            key.
        """
        return cls.of(FileSource.create(labels, columns, **terms))

    @classmethod
    def open(cls, ledger: str | Path) -> Self:
        """Open the ledger of a test set that `create` made (HG301 to HG308, HG433, HG438)."""
        return cls.of(FileSource.open(ledger))

    @classmethod
    def of(cls, source: LabelSource) -> Self:
        """Return the test set of a source."""
        made = cls.__new__(cls)
        made._begin(source)
        return made

    def _begin(self, source: LabelSource) -> None:
        self._source, self.settings, self._looks = source, source.settings, source.looks
        self._noise: NoiseSource = SecureNoise()

    def __getstate__(self) -> dict[str, Any]:
        """Return what opens the ledger again: a copy counts there, too (HG179 without a ledger)."""
        return self._source.again()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the ledger again."""
        if "y_test" not in state:
            self._begin(FileSource.open(**state))
            return
        with warnings.catch_warnings():
            # The user was warned when the original was opened.
            warnings.simplefilter("ignore", HedgerowWarning)
            self.__init__(**state)  # type: ignore[misc]  # the one way in which a test set of arrays is opened

    @property
    def remaining(self) -> int:
        """How many looks are left."""
        return max(0, self.settings.conditions.n_looks - self._looks.past().used)

    @property
    def history(self) -> tuple[Score, ...]:
        """The scores of all looks that were recorded, in order."""
        return self._looks.past().in_order

    @property
    def minimum_detectable_difference(self) -> float | None:
        """Which difference of two expected scores is found distinguishable with probability .8; None without n."""
        return self.settings.minimum_detectable_difference

    @cached_property
    def comparison(self) -> tuple[Compared, ...]:
        """All mechanisms at this budget, the best first; see `hedgerow.testset.mechanisms.choose.compare`."""
        return compare(self.settings.conditions, self.settings.options)

    def close(self) -> None:
        """Close the ledger; using the test set again opens it again."""
        self._looks.close()

    @takes()
    def score(
        self,
        model_or_predictions: object,
        *,
        metric: str | Sequence[str] | None = None,
        groups: object = None,
        positive: Any = None,
        bounds: tuple[float, float] | None = None,
        training_score: float | None = None,
        request_id: str | None = None,
        labels: str | Path | None = None,
    ) -> Score:
        """Take one look: score a model, or its predictions in the order of the test set.

        With `metric` or `groups` it is a look by parts, at the same price: see `hedgerow.testset.parts`. It takes
        predictions alone, and tells as many metrics of one kind as are named, of all records and of each group.

        Parameters
        ----------
        model_or_predictions : estimator or array
            Something with ``predict`` (for metrics of chances, ``predict_proba``), or an array of n predictions:
            labels, or the chances of the metric's positive label. For a test set of files the path of one that has the
            column of predictions and, where one was named, the key; further columns are then never read, else refused.
        metric : str or list of str, optional
            Of predicted labels ``"precision"``, ``"recall"``, ``"specificity"``, ``"f1"``, ``"balanced_accuracy"``; or
            ``"accuracy"``, ``"zero_one_loss"``, for groups; of chances or other scores ``"roc_auc"``; of chances
            ``"calibration_error"`` in ten bins.
        groups : array, optional
            A label for each record; a column of a file of predictions. It may depend on features and predictions, never
            on labels.
        positive : label, optional
            The label that counts as positive; else that of the test set's metric, or 1.
        bounds : (float, float), optional
            Of labels that are numbers, declared: for ``"r2"`` and ``"mean_squared_error"`` of predicted numbers.
        training_score : float, optional
            The same metric on the training set; needed by `thresholdout`, ignored by the rest.
        request_id : str, optional
            The same predictions, in the same order, under the same id are answered from the record, and take no look.
            For a model, its class is compared, not what it predicts, which depends on records: give each model an id
            of its own.
        labels : path, optional
            Where the custodian's file of labels is now, if not where `create` found it. Its digest is not compared.

        Raises
        ------
        BudgetExceeded
            HG430: no looks are left. Nothing was read.
        UncertifiedError
            HG431: a look by parts by another mechanism than Gaussian noise; under add-remove one of ranks, bins or
            squares. No look was taken.
        ParameterError
            HG170 predictions of another shape or kind, HG171 a metric or label that is none, HG174 a model that cannot
            predict, HG176 no training score, HG179 in the child of a fork without a ledger, HG314 an invalid id. No
            look was taken.
        ParameterError, DataError
            Of files HG201 to HG209, HG434 labels that changed since `create`, HG435 labels that are not there, HG437
            keys. No look was taken.
        LedgerError, SpentError
            HG311, HG312 for the id; HG601, HG606: the look counts as taken.

        Examples
        --------
        >>> import numpy as np
        >>> y = np.arange(10_000) % 2
        >>> ts = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=20)
        >>> found = ts.score(np.where(y + np.arange(10_000) % 5 > 1, 1, 0), metric=["f1", "recall"])
        >>> abs(found["recall"].value - 0.8) < 0.02, ts.remaining
        (True, 19)
        """
        if metric is not None or groups is not None:
            about = bounds if positive is None else positive
            measures = "accuracy" if metric is None else metric
            return self._by_parts(model_or_predictions, measures, groups, about, request_id, labels)
        training = checked_training(training_score) if self.settings.mechanism.needs_training else None
        sent = self._source.sent(model_or_predictions)
        model = {} if sent.model is None else {"model": sent.model}
        request = {"training": training, **self._digests(request_id, predictions=sent), **model}
        reading, (sent,) = self._source.held(labels, sent)

        def take(now: EarlierLooks, name: str, opened: Any) -> Score:
            truth, aligned = self._source.records(opened, sent)
            losses = partial(losses_of, self._source.measured, truth, aligned.predictions)
            drawn, earlier = self._draw(losses, now, name, training), self._earlier(now, name)
            before = [now.scores[other] for other in now.ids[: earlier.looks] if other in now.scores]
            # Differences of two models are no scores of one.
            best = best_of(tuple(score for score in before if score.metric == self.settings.metric.name))
            return plain_score(self.settings, drawn, earlier, best)

        return self._take_look(take, request, request_id, reading)

    def _by_parts(
        self,
        given: object,
        metric: str | Sequence[str],
        groups: object,
        about: Any,
        request_id: str | None,
        labels: str | Path | None,
    ) -> Score:
        """Take one look by parts; see `hedgerow.testset.parts.look`."""
        measures = parse_measures(metric)
        kind = measures[0].kind
        require_parts(self.settings, kind)
        refuse_models(given)
        positive = self._source.positive(kind, about)
        sent = self._source.sent(given, kind, groups)
        digests = self._digests(request_id, predictions=sent)
        reading, (sent,) = self._source.held(labels, sent)
        about = about if kind == "squares" else positive
        parts = parts_of_sent(self.settings, kind, (sent.predictions, sent.groups), about)
        asked = PartsAsked(measures, positive, parts)
        described = asked.mechanism(self.settings)

        def take(now: EarlierLooks, name: str, opened: Any) -> Score:
            truth, aligned = self._source.records(opened, sent)
            placed: Any = parts.placed(aligned.predictions, aligned.groups)
            sums = placed.draw(described, asked.outcome(truth, aligned.predictions), self._noise)
            return score_by_parts(asked.look(self.settings, self._earlier(now, name)), described, sums)

        return self._take_look(take, {**digests, **asked.record()}, request_id, reading, described)

    @takes()
    def compare(
        self, first: object, second: object, *, request_id: str | None = None, labels: str | Path | None = None
    ) -> Score:
        """Take one look at the difference of two models' scores, first minus second, from predictions of both.

        It is priced as one look. Records for which the predictions are equal add exactly 0, so where two models agree
        on most records the difference errs much less than that of two scores. See `hedgerow.testset.scored`.

        Parameters
        ----------
        first, second : array
            Predictions of n records each, in the order of the test set, or files of them. Models are not taken: for how
            many records their predictions differ would tell of features.
        request_id, labels : optional
            As for `score`.

        Raises
        ------
        BudgetExceeded, LedgerError, SpentError
            As for `score`.
        UncertifiedError
            HG431: a metric or a mechanism that has no proven price for it. No look was taken.
        ParameterError
            HG170: not two arrays of n predictions. No look was taken.

        Examples
        --------
        >>> import numpy as np
        >>> y = np.arange(10_000) % 2
        >>> ts = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=20)
        >>> good, less = (np.where(np.arange(10_000) < right, y, 1 - y) for right in (9_500, 9_000))
        >>> found = ts.compare(good, less)
        >>> abs(found.value - 0.05) < 0.03, found.distinguishable, found.sampling_error < 0.003
        (True, True, True)
        """
        require_paired(self.settings)
        refuse_models(first, second)
        sent = [self._source.sent(predictions) for predictions in (first, second)]
        request = {"training": None, **self._digests(request_id, predictions=sent[0], against=sent[1])}
        reading, (entries, other) = self._source.held(labels, *sent)
        public = self.settings.conditions.n is not None
        look = None if public else paired_look(self.settings)
        differing = count_differing(entries.predictions, other.predictions) if public else None

        def take(now: EarlierLooks, name: str, opened: Any) -> Score:
            (truth, ours), (_, theirs) = (self._source.records(opened, each) for each in (entries, other))
            differences = differences_of(self._source.measured, truth, ours.predictions, theirs.predictions)
            if look is None:
                drawn = self._draw(lambda _: differences, now, name)
            else:
                drawn = look.draw(Question(with_equal(differences, len(truth))), self._noise)
            return difference_score(self.settings, drawn, differing, self._earlier(now, name))

        return self._take_look(take, request, request_id, reading, None if look is None else look.described)

    def _digests(self, request_id: str | None, **sent: SentEntries) -> dict[str, str | None]:
        """Return by its name what tells each from others; of a request without an id nothing."""
        key = self._looks.secret.key
        return {name: None if request_id is None else entries.digest(key) for name, entries in sent.items()}

    def _take_look(
        self,
        take: Callable[[EarlierLooks, str, Any], Score],
        request: Mapping[str, Any],
        request_id: str | None,
        reading: AbstractContextManager[Any],
        described: AtomicMechanism | None = None,
    ) -> Score:
        """Take one look, or answer from the record of the same request under the same id.

        Parameters
        ----------
        take : callable
            Reads the labels, draws, and returns the score; called once the look is paid, with all looks so far, the
            name of this one, and what `reading` yields.
        request : mapping
            What tells this request from others, as plain JSON data.
        request_id : str or None
            The caller's id.
        reading : context manager
            As of `hedgerow.release.spend.Product.reading`: entered before the look is taken.
        described : AtomicMechanism, optional
            What is drawn, if it is not the mechanism of a plain look.

        Raises
        ------
        BudgetExceeded
            HG430: no looks, or no answers, are left.
        ParameterError
            HG314: the id is no text of a sensible size.
        LedgerError, SpentError
            As `hedgerow.release.spend.spend`.
        """
        # Checked here: an invalid id would be stored as another text, and not be found again.
        name = uuid4().hex if request_id is None else checked_text("request_id", request_id)
        settings, looks = self.settings, self._looks
        with looks.turn():
            before = looks.past()
            answers = settings.mechanism.answers
            if name not in before.ids and before.used >= settings.conditions.n_looks:
                raise _out(f"All {settings.conditions.n_looks:,} looks are used up.")
            if name not in before.ids and answers is not None and before.answered() >= answers:
                raise _out(f"All {answers:,} answers that disagree with the training score are used up.")
            first = not before.used or name == before.ids[0]  # also where that look is resumed
            price = settings.certificate(paid=first or not settings.mechanism.once, described=described)

            def scored(labels: Any) -> Score:
                # Read again: what others have reserved meanwhile counts as answered.
                certificate = price if self._noise.secure else None
                return replace(take(looks.past(), name, labels), request_id=name, certificate=certificate)

            # The budget of a test set is that of its looks, which count them.
            asked = {"a look": settings.metric.name, **request}
            return spend(_LookProduct(price, asked, reading, scored), Account(None, looks, name))

    def _draw(
        self, read: Callable[[Rows], Histogram], now: EarlierLooks, name: str, training: float | None = None
    ) -> DrawnLook:
        mechanism, secret = self.settings.mechanism, self._looks.secret
        rows = mechanism.rows(secret.key, now.ids.index(name))
        question = Question(read(rows), training, secret.threshold_noise, now.answered(but=name))
        return mechanism.draw(question, self._noise)

    def _earlier(self, now: EarlierLooks, name: str) -> Earlier:
        """Return the answers before a look; how many numbers they are is not known of a look without a record."""
        mechanism, before = self.settings.mechanism, now.ids[: now.ids.index(name)]
        numbers: int | None = 0
        for earlier in before:
            score = now.scores.get(earlier)
            answered = None if score is None else numbers_released(score.determined_by, mechanism.numbers)
            numbers = None if numbers is None or answered is None else numbers + answered
        return earlier_answers(mechanism, len(before), numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return what is fixed and what is left, as plain JSON data."""
        settings, metric = self.settings, self.settings.metric
        record = settings.record()
        return {
            **{name: record[name] for name in ("relation", "epsilon", "delta", "n", "n_looks", "mechanism")},
            "metric": metric.name,
            "greater_is_better": metric.greater_is_better,
            "bounds": list(metric.grid.as_bounds()),
            "remaining": self.remaining,
            "spent": self._looks.spent,
            "expected_error": settings.mechanism.expected_error(),
            "minimum_detectable_difference": self.minimum_detectable_difference,
            "last_half_width": settings.last_half_width,
            "head": self._looks.head,
            **self._source.to_dict(),
        }

    def __call__(self, model_or_predictions: object) -> float:
        """Take one look and return the value alone, for a tuning loop; see `as_objective`."""
        return self.score(model_or_predictions).value

    def as_objective(self, *, maximise: bool = True) -> Callable[[object], float]:
        """Return a function from a model or predictions to a number that a tuning loop may maximise (or minimise).

        Every call takes a look. It is not a scorer for cross-validation, which would give it training folds.
        """
        sign = 1.0 if self.settings.metric.greater_is_better is maximise else -1.0
        return lambda model_or_predictions: sign * self(model_or_predictions)

    def __repr__(self) -> str:
        settings, least = self.settings, self.minimum_detectable_difference
        facts, name = settings.conditions, settings.metric.name
        size = "" if facts.n is None else f" of {facts.n:,} records"
        detect = "" if least is None else f", {describe_difference(least, facts)}"
        last = settings.last_half_width
        detect += "" if last is None else f"; a model fitted to all other answers: ± {last:.3g} at the last look"
        return (
            f"<TestSet{size}, {name} by {settings.mechanism.name}, ε ≤ {facts.budget.epsilon:g} at "
            f"δ = {facts.budget.delta:.3g}, {facts.relation}, {self.remaining} of {facts.n_looks} looks left{detect}>"
        )


def _out(finding: str) -> BudgetExceeded:
    return BudgetExceeded(
        "HG430",
        requested=1.0,
        remaining=0.0,
        rule="A test set is looked at as often as was declared, and not once more.",
        finding=finding,
        remedy="Earlier scores are still in `history` (`hedgerow testset show`). For new models take new test records, "
        "with a ledger of their own; compare candidates on a validation set first.",
    )
