"""`TestSet`: a test set that is looked at through a mechanism, a declared number of times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
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
from hedgerow.mechanisms.interface import AtomicMechanism
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
from hedgerow.testset.scores import LookProduct, Score, best_of, describe_difference

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


class TestSet:
    """A test set that answers a limited number of looks (queries) with private scores.

    Guarantee: the scores of all `n_looks` looks together are (ε, δ)-differentially private for the neighbouring
    relation. The privacy unit is one row. The price of each look is reserved in the ledger before labels are read. So
    no sequence of looks reveals much about one record, and the scores of later models stay valid.

    Parameters
    ----------
    X_test : table or None
        The features, in the form that a model's ``predict`` takes. None if no model will be scored.
    y_test : array
        The labels of the rows: numbers, booleans or texts. A label of another type counts as missing, and every
        prediction for a row without a label counts as wrong.
    metric : str or Metric
        The metric: ``"accuracy"``, ``"zero-one"``, ``"brier"``, ``"log-loss"``, or a `Metric` that a
        function of the module `hedgerow.testset.metric` makes.
    relation : {"replace-one", "add-remove"}
        The neighbouring relation: how neighbouring data sets differ. Under replace-one the number of records is public.
    epsilon, delta : float
        The TOTAL privacy budget of all looks. δ = 0 asks for mechanisms of pure differential privacy.
    n_looks : int
        The number of looks (queries) that are ever allowed.
    ledger : path, optional
        The ledger file in which looks are counted. If the file does not exist, a new ledger is made. If the file
        exists, the ledger is opened, and its public settings must equal the arguments of the call. Labels and features
        are NOT compared with the labels and features of earlier calls, because a comparison would reveal information
        about them. Give each test set a `name` and a ledger of its own. Without a ledger, only this Python object
        counts the looks: it cannot be copied, and its count is lost when the process ends.
    mechanism : str
        The mechanism. ``"auto"`` chooses the mechanism with the smallest expected error; see `comparison`.
        ``"narrowest"`` chooses the mechanism and the noise that give the narrowest proven interval at the last look,
        for a model that was fitted to all earlier scores. `choose.MECHANISMS` lists all names.
    labels : list, optional
        The public list of all possible labels, declared and never read from the data. A prediction outside `labels` is
        refused before a look is taken, and a label of a row outside `labels` counts as missing. Without `labels`, every
        whole number or text counts as a label, so a misspelt prediction uses up a look.
    name : str, optional
        The public name that the custodian (the keeper of the labels) gives to this test set. A ledger that was made
        under one name cannot be opened under another name.
    thinning, threshold, n_answers
        Options that only single mechanisms use; see `hedgerow.testset.mechanisms.look_mechanism.Options`.

    Attributes
    ----------
    settings : Settings
        The public facts, the metric and the mechanism of the test set.

    Raises
    ------
    ParameterError
        HG101 to HG103: budget or relation are invalid. HG170 to HG173, HG177, HG178: another argument is invalid.
    LedgerError
        HG301 to HG308, HG433: the file is not a ledger, or the ledger has other settings or another name.
    UncertifiedError
        HG401, HG403, HG431: no price is proven for the mechanism with these facts.

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
        r"""Make a test set from a file of labels, with a new ledger.

        Making a test set releases nothing and spends no budget. The records of the file are counted once. A test set
        that is made from a file scores files of predictions only: it accepts neither models nor arrays.

        Parameters
        ----------
        labels : path
            The file of labels. A ledger and its file of labels can move together: the ledger stores a relative path.
        columns : FileColumns
            The label column with its declared labels, the prediction column, the metric and, if any, the key column.
        ledger, epsilon, n_looks, relation, delta, mechanism
            The same arguments as those of `TestSet`.
        options : Options, optional
            Options that apply to single mechanisms only.

        Returns
        -------
        TestSet
            The open test set, of whose looks (queries) none is taken.

        Raises
        ------
        HedgerowError
            The same errors as those of `TestSet`. HG201 to HG209: the file cannot be read. HG302: the ledger exists.
            HG436, HG437: the column whose keys join predictions to records is invalid.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> _ = (folder / "labels.csv").write_text("outcome\n" + "yes\nno\n" * 500)
        >>> columns = FileColumns("outcome", "predicted", ("no", "yes"), parse_metric("accuracy"))
        >>> terms = {"ledger": folder / "exam.ledger", "relation": "replace-one", "epsilon": 1.0, "n_looks": 5}
        >>> ts = TestSet.create(folder / "labels.csv", columns, **terms)
        >>> ts.remaining, ts.settings.conditions.n
        (5, 1000)
        """
        return cls.of(FileSource.create(labels, columns, **terms))

    @classmethod
    def open(cls, ledger: str | Path) -> Self:
        """Open the ledger of a test set that the method `create` made (errors HG301 to HG308, HG433, HG438)."""
        return cls.of(FileSource.open(ledger))

    @classmethod
    def of(cls, source: LabelSource) -> Self:
        """Return the test set for a source of labels."""
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
        """The number of looks that are left."""
        return max(0, self.settings.conditions.n_looks - self._looks.past().used)

    @property
    def history(self) -> tuple[Score, ...]:
        """The scores of all recorded looks, in order."""
        return self._looks.past().in_order

    @property
    def minimum_detectable_difference(self) -> float | None:
        """The difference of two expected scores that is detected with probability 0.8. None if n is private."""
        return self.settings.minimum_detectable_difference

    @cached_property
    def comparison(self) -> tuple[Compared, ...]:
        """All mechanisms at this budget, with the best first; see `hedgerow.testset.mechanisms.choose.compare`."""
        return compare(self.settings.conditions, self.settings.options)

    def close(self) -> None:
        """Close the ledger. After `close`, the next use of the test set opens the ledger again."""
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
        """Score a model, or predictions in the order of the test set. A score takes one look (query).

        If `metric` or `groups` is given, one look answers several scores at the same price: see
        `hedgerow.testset.parts`. A look with several scores takes predictions but no model, and returns all named
        metrics of one kind, for all records and for each group.

        Parameters
        ----------
        model_or_predictions : estimator or array
            A model with ``predict`` (or with ``predict_proba``, for metrics of probabilities), or an array with one
            prediction for each record: labels, or probabilities of the positive label. For a test set from a file: the
            path of a file with the column of predictions and, if a key was named, the key column. Further columns of
            the file are ignored if there is a key column, and refused otherwise.
        metric : str or list of str, optional
            The metrics of predicted labels: ``"precision"``, ``"recall"``, ``"specificity"``, ``"f1"``,
            ``"balanced_accuracy"``; for groups also ``"accuracy"`` and ``"zero_one_loss"``. A metric of probabilities
            or other scores: ``"roc_auc"``. A metric of probabilities in ten bins: ``"calibration_error"``.
        groups : array, optional
            The group of each record, as an array, or as the name of a column in the file of predictions. Groups may
            depend on features and predictions, but never on labels.
        positive : label, optional
            The label that counts as positive. The default is the positive label of the metric of the test set, or 1.
        bounds : (float, float), optional
            The declared bounds of numeric labels, for the metrics ``"r2"`` and ``"mean_squared_error"``.
        training_score : float, optional
            The score of the same metric on the training set. Only the mechanism `thresholdout` needs this score.
        request_id : str, optional
            The permanent name of the request. If the same predictions come in the same order under the same name, the
            recorded answer is returned, and no look (query) is taken. Of models, only the Python class is compared with
            the earlier request. Give each model a request name of its own.
        labels : path, optional
            The present path of the file of labels, if the file was moved after `create`. No digest is compared.

        Returns
        -------
        Score
            The score with its error and its certificate; for several metrics or groups, all scores of the look.

        Raises
        ------
        BudgetExceeded
            HG430: all declared looks (queries) are taken. Nothing was read.
        UncertifiedError
            HG431: several scores need Gaussian noise; scores of ranks, bins or squared errors also need replace-one.
        ParameterError
            HG170: the predictions have the wrong shape or kind. HG171: the metric or a label is invalid. HG174: the
            model has no suitable method for predictions. HG176: the score on the training set is missing. HG179: the
            process is the child of a fork, which has no ledger. HG314: the request id is invalid. No look was taken.
        ParameterError, DataError
            HG201 to HG209: the file cannot be read. HG434: the labels changed after `create`. HG435: the file of labels
            is missing. HG437: the column whose keys join predictions to records is invalid. No look was taken.
        LedgerError, SpentError
            HG311, HG312: the request id was used before. HG601, HG606: the look (query) counts as taken.

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
        """Return the difference between the scores of two models, first minus second.

        The comparison takes one look (query), and has the same price as one score. A record with equal predictions adds
        exactly 0 to the difference. So if two models agree on most records, the error of the difference is much smaller
        than the error of two separate scores. See `hedgerow.testset.scored`.

        Parameters
        ----------
        first, second : array
            The predictions of the two models: two arrays in the order of the test set, or the paths of two files.
            Models are not accepted, because the number of differing predictions reveals information about features.
        request_id, labels : optional
            The same arguments as those of `score`.

        Returns
        -------
        Score
            The difference of the two scores, first minus second, with its error and its certificate.

        Raises
        ------
        BudgetExceeded, LedgerError, SpentError
            The errors of `score`.
        UncertifiedError
            HG431: no privacy price is proven for this metric or this mechanism. No look was taken.
        ParameterError
            HG170: the predictions are not two arrays of n entries. No look was taken.

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
            return spend(LookProduct(price, asked, reading, scored), Account(None, looks, name))

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
        """Return the settings of the test set and the number of remaining looks (queries), as plain JSON data."""
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
        """Return a function that scores a model or predictions, to be maximised or minimised by a tuning loop.

        Every call of the returned function takes one of the declared looks (queries). Do not use the returned function
        for cross-validation, which would pass training folds.
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
        rule="A test set allows only the declared number of looks.",
        finding=finding,
        remedy="The scores of earlier looks are still in `history` (`hedgerow testset show`). For new models use new "
        "test records with their own ledger. Compare candidates on a validation set first.",
    )
