"""`FileTestSet`: a test set kept as a file, scored from files of predictions alone. For gates of CI.

The label column stays with the custodian. The ledger holds the path of that file and a keyed digest of its bytes. The
digest is compared with the same file only, never with anything that a submitter sends. Labels are read after a look is
paid, and only the score compares predictions with them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.reading import unreadable
from hedgerow.engines.source import InOrder, OrderedSource, open_in_order
from hedgerow.errors import DataError, HedgerowError, LedgerError, ParameterError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget, warn_about_delta
from hedgerow.facts.columns import Scalar
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.resampling.histogram import Histogram
from hedgerow.testset.counted import CountedTestSet, Rows
from hedgerow.testset.entries import Entries, digest_of, digest_of_file, entries_of
from hedgerow.testset.file_columns import FileColumns, check_covered, check_distinct, joined, require_key
from hedgerow.testset.looks import LedgerLooks
from hedgerow.testset.mechanisms.mechanism import Conditions, Options
from hedgerow.testset.metric import losses_of
from hedgerow.testset.paired import count_differing, differences_of, require_paired
from hedgerow.testset.parts.look import Parts, PartsAsked, require_parts
from hedgerow.testset.parts.measures import parse_measures
from hedgerow.testset.score import Score
from hedgerow.testset.settings import LookOptions, Settings, Terms, settings_from_record


class Asked(TypedDict, total=False):
    """What is asked with predictions; see `FileTestSet.score`."""

    metric: str | Sequence[str] | None
    groups: str | None
    positive: Scalar | None
    training_score: float | None
    request_id: str | None


class FileTestSet(CountedTestSet):
    """A test set of a file; made by `create`, used again through `open`. See `hedgerow.testset.TestSet`.

    Attributes
    ----------
    settings : Settings
    columns : FileColumns
    """

    _looks: LedgerLooks

    def __init__(self, settings: Settings, columns: FileColumns, looks: LedgerLooks, ledger: Path) -> None:
        super().__init__(settings, looks)
        self.columns, self._ledger = columns, ledger.absolute()

    @classmethod
    def create(
        cls,
        source: str | Path,
        columns: FileColumns,
        *,
        ledger: str | Path,
        epsilon: float,
        n_looks: int,
        options: Options | None = None,
        **terms: Unpack[LookOptions],
    ) -> FileTestSet:
        """Make the ledger of a test set: its records are counted once, and nothing is released or spent.

        Parameters
        ----------
        source : path
            The custodian's file of labels. Its path is kept relative to the ledger, so that both may move together.

        Raises
        ------
        HedgerowError
            As `hedgerow.testset.TestSet`; HG201 to HG209 for the file; HG302 where the ledger exists; HG436, HG437 for
            the key.
        """
        if Path(ledger).exists():
            raise LedgerError(
                "HG302",
                rule="A new ledger is made where nothing is, in a folder that can be written.",
                finding="Something is at this path already.",
                remedy="Choose another path, or score against that one.",
            )
        opened, whom = open_in_order(source), parse_relation(terms.get("relation"))
        columns.check_labels(opened)
        require_key(whom, columns.key)
        n = opened.count_rows() if whom is Relation.REPLACE_ONE else None
        if n is not None and columns.key is not None:
            check_distinct(columns.read_keys(opened), whose="labels")
        budget = Budget(epsilon, terms.get("delta", DEFAULT_DELTA))
        conditions = Conditions(whom, budget, n_looks, n, columns.metric.grid)
        warn_about_delta(conditions.budget.delta, n)
        declared = Terms(
            conditions=conditions,
            metric=columns.metric,
            options=options or Options(),
            keyed=columns.key is not None,
        )
        settings, secret = declared.chosen(terms.get("mechanism", "auto"))
        where = {
            "labels_file": _relative_path(Path(ledger), Path(source)),
            "labels_digest": _digest(secret.key, source),
        }
        record = {**settings.record(), "file": columns.record(), **where}
        return cls(settings, columns, LedgerLooks.create(Path(ledger), record, secret), Path(ledger))

    @classmethod
    def open(cls, ledger: str | Path) -> FileTestSet:
        """Open the ledger of a test set that `create` made (HG301 to HG308, HG433, HG438)."""
        looks = LedgerLooks.open(Path(ledger))
        record = looks.settings
        if "file" not in record:
            looks.close()
            raise LedgerError(
                "HG433",
                rule="A test set kept as a file has a ledger that `hedgerow testset create` made.",
                finding="This one was made for arrays.",
                remedy="Open it in Python, with hedgerow.testset.TestSet.",
            )
        with refuse_unknown_settings(looks):
            columns = FileColumns.from_record(record["file"], record["metric"])
            budget = Budget(record["epsilon"], record["delta"])
            conditions = Conditions(
                Relation(record["relation"]), budget, record["n_looks"], record["n"], columns.metric.grid
            )
            terms = Terms(conditions=conditions, metric=columns.metric, keyed=columns.key is not None)
            settings = settings_from_record(record, terms)
        return cls(settings, columns, looks, Path(ledger))

    def __getstate__(self) -> dict[str, Any]:
        """Return where the ledger lies: a copy counts there, too."""
        return {"ledger": self._ledger}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the ledger again."""
        vars(self).update(vars(FileTestSet.open(state["ledger"])))

    def score(
        self,
        source: str | Path,
        *,
        labels: str | Path | None = None,
        **asked: Unpack[Asked],
    ) -> Score:
        """Take one look: score a file of predictions against the custodian's labels.

        Parameters
        ----------
        source : path
            Has the column of predictions and, where one was named, the key; further columns are never read then.
            Without a key further columns are refused.
        metric, positive, training_score, request_id
            As `hedgerow.testset.TestSet.score`; the same predictions under the same id take no second look.
        groups : str, optional
            The column of groups, in the file of predictions.
        labels : path, optional
            Where the custodian's labels are now, if not where `create` found them. Their digest is not compared.

        Raises
        ------
        BudgetExceeded
            HG430: no looks are left.
        UncertifiedError
            HG431: a look by parts, of a test set that has none.
        ParameterError, DataError, LedgerError
            HG170 another number of predictions than public records, HG171 a metric or label that is none, HG176 no
            training score, HG201 to HG209 for a file, HG434 labels that changed since `create`, HG435 labels that are
            not there, HG437 keys. No look was taken.
        """
        return self.score_sent(open_in_order(source), labels=labels, **asked)

    def score_sent(self, sent: InOrder, *, labels: str | Path | None = None, **asked: Unpack[Asked]) -> Score:
        """Take one look, as `score` does, with predictions that are in no file."""
        if asked.get("metric") is not None or asked.get("groups") is not None:
            return self._score_parts(sent, labels, asked)
        training, request_id = self._training(asked.get("training_score")), asked.get("request_id")
        self.columns.check_predictions(sent)
        predictions, keys = self.columns.read_predictions(sent)
        self._check_sent(predictions, keys)
        held = self._open_labels(labels)
        if self.settings.conditions.n is not None:
            self._in_order(held, keys)
        request = {"training": training, "predictions": self._digest(request_id, predictions, keys)}

        def losses(opened: OrderedSource, rows: Rows) -> Histogram:
            read, records = self.columns.read_labels(opened)
            found = joined(records, predictions, keys) if self.columns.key is not None else predictions
            return losses_of(self.columns.measured, read, found, rows)

        return self._take_look(self._plain(losses, training), request, request_id, self.columns.reading(held))

    def compare(
        self,
        first: str | Path,
        second: str | Path,
        *,
        labels: str | Path | None = None,
        request_id: str | None = None,
    ) -> Score:
        """Take one look at the difference of the scores of two files of predictions, first minus second.

        See `hedgerow.testset.TestSet.compare` for what is told, and `score` for the rest.
        """
        return self.compare_sent(open_in_order(first), open_in_order(second), labels=labels, request_id=request_id)

    def compare_sent(
        self, first: InOrder, second: InOrder, *, labels: str | Path | None = None, request_id: str | None = None
    ) -> Score:
        """Take one look, as `compare` does, with predictions that are in no file."""
        require_paired(self.settings)
        sent = []
        for one in (first, second):
            self.columns.check_predictions(one)
            sent.append(self.columns.read_predictions(one))
            self._check_sent(*sent[-1])
        held = self._open_labels(labels)
        pair = [self._in_order(held, keys)(predictions) for predictions, keys in sent]
        digests = [self._digest(request_id, *one) for one in sent]

        def differences(opened: OrderedSource) -> Histogram:
            return differences_of(self.columns.measured, self.columns.read_labels(opened)[0], *pair)

        request = {"predictions": digests[0], "against": digests[1]}
        reading = self.columns.reading(held)
        return self._compared(differences, count_differing(*pair), request, request_id, reading)

    def _score_parts(self, sent: InOrder, labels: str | Path | None, asked: Asked) -> Score:
        require_parts(self.settings)
        metric, column, request_id = asked.get("metric"), asked.get("groups"), asked.get("request_id")
        measures = parse_measures("accuracy" if metric is None else metric)
        if measures[0].kind == "squares":
            raise ParameterError(
                "HG171",
                rule="Labels of files are declared values, and a squared error needs numbers.",
                finding=f"`{measures[0].name}` was asked for.",
                remedy="In Python, take TestSet with arrays and score(…, metric='r2', bounds=…). No look was taken.",
            )
        kind, code = measures[0].kind, self.columns.code_of(asked.get("positive"))
        self.columns.check_predictions(sent, kind, column)
        predictions, keys = self.columns.read_predictions(sent, kind)
        self._check_sent(predictions, keys)
        groups = None if column is None else self.columns.read_groups(sent, column)
        held = self._open_labels(labels)
        order = self._in_order(held, keys)
        found, group = order(predictions), None if groups is None else order(groups)
        parts = PartsAsked(measures, code, Parts.of(kind, found, group, code))
        given = self._digest(request_id, predictions, keys, *([] if groups is None else [groups]))

        def outcome(opened: OrderedSource) -> NDArray[np.bool_]:
            read = self.columns.read_labels(opened)[0]
            return read.equal(found) if kind == "right" else read.among([code])

        return self._by_parts(parts, outcome, {"predictions": given}, request_id, self.columns.reading(held))

    def _in_order(self, held: OrderedSource, keys: list[str]) -> Callable[[Entries], Entries]:
        """Return what brings what was sent into the order of the records, whose keys are public (HG437)."""
        if self.columns.key is None:
            return lambda sent: sent
        records = self.columns.read_keys(held)
        check_covered(records, keys)
        return lambda sent: joined(records, sent, keys)

    def _digest(self, request_id: str | None, predictions: Entries, keys: list[str], *groups: Entries) -> str | None:
        given = (predictions, entries_of(keys), *groups)
        return None if request_id is None else digest_of(self._looks.secret.key, *given)

    def serve(self, labels: Path) -> Path | None:
        """Answer from now on for a server that holds these looks alone; see `LedgerLooks.resumes`.

        Returns what `score_sent` takes as `labels`: None where they lie where `create` found them.

        Raises
        ------
        DataError, ParameterError
            HG434: they are not, byte by byte, those with which the ledger was made. HG111, HG170, HG203, HG435.
        """
        record = self._looks.settings
        known = self._ledger.parent / record.get("labels_file", "")
        named = None if known.exists() and labels.samefile(known) else labels
        self._open_labels(named)
        if _digest(self._looks.secret.key, labels) != record.get("labels_digest"):
            raise changed_labels()
        self._looks.resumes = True
        return named

    def to_dict(self) -> dict[str, Any]:
        """Return what is fixed and what is left, as plain JSON data."""
        record = self.settings.record()
        return {
            **{name: record[name] for name in ("relation", "epsilon", "delta", "n", "n_looks", "mechanism")},
            "metric": self.columns.metric.name,
            "greater_is_better": self.columns.metric.greater_is_better,
            "bounds": list(self.columns.metric.grid.as_bounds()),
            "remaining": self.remaining,
            "spent": self._looks.spent,
            "expected_error": self.settings.mechanism.expected_error(),
            "minimum_detectable_difference": self.minimum_detectable_difference,
            "last_half_width": self.settings.last_half_width,
            "head": self._looks.head,
            "labels_file": self._looks.settings.get("labels_file"),
            "key": self.columns.key,
        }

    def _check_sent(self, predictions: Entries, keys: list[str]) -> None:
        n = self.settings.conditions.n
        # A ledger of an earlier version may join by position under add-remove; a refusal by size would reveal n.
        require_key(self.settings.conditions.relation, self.columns.key)
        if self.columns.key is not None:
            check_distinct(keys, whose="predictions")
        elif len(predictions) != n:
            raise ParameterError(
                "HG170",
                rule="A file of predictions has one row for each record of the test set, in its order.",
                finding=f"It has another number than {n:,}.",
                remedy="No look was taken. Predict for the whole test set.",
            )

    def _open_labels(self, labels: str | Path | None) -> OrderedSource:
        """Return the custodian's labels, opened (HG434, HG435); nothing that was sent is looked at."""
        record = self._looks.settings
        if labels is not None and self.settings.mechanism.once:
            raise ParameterError(
                "HG435",
                rule="Where the first look pays for all, looks read the labels with which the ledger was made.",
                finding="Other labels were named.",
                remedy="Put them back where `create` found them. No look was taken.",
            )
        known = record.get("labels_file")
        place = Path(labels) if labels is not None else None if known is None else self._ledger.parent / known
        if place is None or not place.exists():
            raise DataError(
                "HG435",
                rule="Labels stay with the custodian, in the file from which the test set was made.",
                finding="The ledger was made by an earlier version and does not say where."
                if place is None
                else "They are not there.",
                remedy='Say where they are now: labels="FILE". No look was taken.',
            )
        opened = open_in_order(place)
        self.columns.check_labels(opened)
        if labels is None and _digest(self._looks.secret.key, place) != record["labels_digest"]:
            raise changed_labels("If only its form has changed, name it by `labels`.")
        n = self.settings.conditions.n
        if labels is not None and n is not None and opened.count_rows() != n:
            raise ParameterError(
                "HG170",
                rule="The file of labels has as many records as when the ledger was made.",
                finding=f"It has another number than {n:,}.",
                remedy="No look was taken.",
            )
        return opened


def changed_labels(further: str = "") -> DataError:
    """Return the refusal of labels that are not those with which the ledger was made (HG434)."""
    other = "Put back the file as it was; other labels are another test set, with a ledger of their own."
    return DataError(
        "HG434",
        rule="A ledger counts looks at the labels with which it was made.",
        finding="The custodian's file has changed since.",
        remedy=" ".join(part for part in (other, further, "No look was taken.") if part),
    )


@contextmanager
def refuse_unknown_settings(looks: LedgerLooks) -> Iterator[None]:
    """Refuse settings that another version wrote in a way that this one does not know (HG438)."""
    unknown = False
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, HedgerowError):
        unknown = True
    if unknown:
        looks.close()
        raise LedgerError(
            "HG438",
            rule="The ledger of a test set begins with its settings, as this version or an earlier one wrote them.",
            finding="These cannot be read.",
            remedy="Use the version that made it, or a newer one. Nothing was spent.",
        )


def _relative_path(ledger: Path, labels: Path) -> str:
    """Return the path of the labels relative to the ledger, so that both may move together."""
    try:
        return os.path.relpath(labels.absolute(), ledger.absolute().parent)
    except ValueError:  # on another drive
        return str(labels.absolute())


def _digest(key: bytes, path: str | Path) -> str:
    try:
        return digest_of_file(key, path)
    except OSError:
        failure = unreadable()
    raise failure from None
