"""Where the labels of a test set lie, and how predictions meet them: arrays in memory, or a file that an engine reads.

A `LabelSource` checks what was sent, opens the labels before anything is paid, and reads them afterwards, beside the
prediction of each record. All else of a look is the same for arrays and for files.

The label column of a file stays with the custodian. The ledger holds the path of that file and a keyed digest of its
bytes. The digest is compared with the same file only, never with anything that a submitter sends. Labels are read after
a look is paid, and only the score compares predictions with them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Required, Self, TypedDict, Unpack

from hedgerow.engines.reading import unreadable
from hedgerow.engines.source import InOrder, OrderedSource, open_in_order
from hedgerow.errors import DataError, HedgerowError, LedgerError, ParameterError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget, warn_about_budget
from hedgerow.facts.columns import Scalar
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.testset.entries import Entries, digest_of, digest_of_file, entries_of
from hedgerow.testset.file_columns import FileColumns, check_covered, check_distinct, joined, require_key
from hedgerow.testset.looks import (
    LedgerLooks,
    LookOptions,
    Looks,
    Settings,
    TestSetTerms,
    refuse_copy,
    settings_from_record,
)
from hedgerow.testset.mechanisms.look_mechanism import Conditions, Options
from hedgerow.testset.metric import Metric
from hedgerow.testset.parts.look import checked_for, positive_label
from hedgerow.testset.parts.measures import Kind
from hedgerow.testset.predictions import (
    align_to_records,
    as_predictions,
    checked_kind,
    class_of_model,
    is_model,
    predicted,
)

Context = AbstractContextManager[Any]


class SubmissionOptions(TypedDict, total=False):
    """What is asked with predictions that are sent; see `hedgerow.testset.TestSet.score`."""

    metric: str | Sequence[str] | None
    groups: str | None
    positive: Scalar | None
    training_score: float | None
    request_id: str | None


class FileTerms(LookOptions, total=False):
    """Keywords of a test set of files; see `hedgerow.testset.TestSet`, and `Options` for those of single mechanisms."""

    ledger: Required[str | Path]
    epsilon: Required[float]
    n_looks: Required[int]
    options: Options | None


@dataclass(frozen=True, slots=True, eq=False)
class SentEntries:
    """What was sent with one look, checked. It depends on no record, unless a model predicted.

    Attributes
    ----------
    predictions : Entries
    groups : Entries or None
    keys : list of str or None
        By which predictions are joined to the records of a file, empty where there is no key; None of arrays.
    model : str or None
        The class of the model that predicted, if one was given.
    """

    predictions: Entries
    groups: Entries | None = None
    keys: list[str] | None = None
    model: str | None = None

    def digest(self, key: bytes) -> str | None:
        """Return what tells it from other entries under the same id; None of a model, whose class is compared."""
        keys = None if self.keys is None else entries_of(self.keys)
        columns = [column for column in (self.predictions, keys, self.groups) if column is not None]
        return None if self.model is not None else digest_of(key, *columns)

    def each(self, arranged: Callable[[Entries], Entries]) -> SentEntries:
        """Return the predictions and the groups, arranged."""
        groups = None if self.groups is None else arranged(self.groups)
        return replace(self, predictions=arranged(self.predictions), groups=groups)

    def arranged(self, records: list[str]) -> SentEntries:
        """Return the entries of all records by their keys, in the order of these (HG437 where one is left out)."""
        keys = self.keys or ()
        check_covered(records, keys)
        groups = None if self.groups is None else joined(records, self.groups, keys)
        return SentEntries(joined(records, self.predictions, keys), groups, records)


@dataclass(frozen=True, slots=True, eq=False)
class LabelSource(ABC):
    """The labels of a test set, with its settings and the looks that were taken at them.

    Attributes
    ----------
    settings : Settings
    looks : Looks
    """

    settings: Settings
    looks: Looks

    @property
    @abstractmethod
    def measured(self) -> Metric:
        """The metric of labels and predictions as they are read."""

    @abstractmethod
    def positive(self, kind: Kind, about: Any) -> Any:
        """Return what the positive label of a look by parts is read as (HG171)."""

    @abstractmethod
    def sent(self, given: Any, kind: Kind | None = None, groups: Any = None) -> SentEntries:
        """Return what was sent, checked for the test set's own metric or for a look by parts of one kind."""

    @abstractmethod
    def held(self, labels: str | Path | None, *sent: SentEntries) -> tuple[Context, list[SentEntries]]:
        """Return the context in which labels are read; and what was sent, in the order of records if that is public."""

    @abstractmethod
    def records(self, opened: Any, sent: SentEntries) -> tuple[Entries, SentEntries]:
        """Return the label of each record, and what was sent for each. Call it only after a look is paid."""

    @abstractmethod
    def again(self) -> dict[str, Any]:
        """Return what opens the same test set again, for a copy."""

    def to_dict(self) -> dict[str, Any]:
        """Return what is public of the source alone, as plain JSON data."""
        return {}


@dataclass(frozen=True, slots=True, eq=False)
class ArraySource(LabelSource):
    """Features and labels in memory.

    Attributes
    ----------
    features : table or None
        What a model predicts from.
    labels : Entries
    keywords : mapping
        Those of `hedgerow.testset.TestSet`.
    """

    features: object
    labels: Entries
    keywords: Mapping[str, Any]

    @property
    def measured(self) -> Metric:
        """The metric as it was declared."""
        return self.settings.metric

    def positive(self, kind: Kind, about: Any) -> Any:
        """Return the label itself; None for squared errors, which have none."""
        return None if kind == "squares" else positive_label(self.settings, about)

    def sent(self, given: Any, kind: Kind | None = None, groups: Any = None) -> SentEntries:
        """Return predictions, or what a model predicts, for the test set's own metric alone (HG170, HG174)."""
        n, settings = len(self.labels), self.settings
        public = settings.conditions.n is not None
        if kind is not None:
            predictions = checked_for(kind, settings.labels, as_predictions(given, n, public=public))
            # Groups of another number than the predictions are refused: both were sent.
            rows = len(predictions)
            return SentEntries(predictions, None if groups is None else as_predictions(groups, rows, public=True))

        def checked(entries: Entries) -> Entries:
            return checked_kind(settings.metric, settings.labels, entries)

        if is_model(given):
            predictions = predicted(given, self.features, n, settings.metric, checked, public=public)
            return SentEntries(predictions, model=class_of_model(given))
        return SentEntries(checked(as_predictions(given, n, public=public)))

    def held(self, labels: str | Path | None, *sent: SentEntries) -> tuple[Context, list[SentEntries]]:
        """Return what was sent as it is: the labels are at hand (HG435 for others)."""
        if labels is None:
            return nullcontext(), list(sent)
        raise ParameterError(
            "HG435",
            rule="A test set of arrays keeps the labels with which it was made.",
            finding="A file of labels was named.",
            remedy="Leave it out. No look was taken.",
        )

    def records(self, opened: Any, sent: SentEntries) -> tuple[Entries, SentEntries]:
        """Return both by position."""
        return self.labels, sent.each(lambda entries: align_to_records(entries, len(self.labels)))

    def again(self) -> dict[str, Any]:
        """Return the arrays and the keywords (HG179 without a ledger)."""
        if self.keywords["ledger"] is None:
            raise refuse_copy("It was to be copied or pickled.")
        return {"X_test": self.features, "y_test": self.labels, **self.keywords}


@dataclass(frozen=True, slots=True, eq=False)
class FileSource(LabelSource):
    """The custodian's file of labels, and files or other tables of predictions.

    Attributes
    ----------
    columns : FileColumns
    ledger : Path
        From whose folder the path of the labels is told.
    """

    looks: LedgerLooks
    columns: FileColumns
    ledger: Path

    @classmethod
    def create(cls, labels: str | Path, columns: FileColumns, **terms: Unpack[FileTerms]) -> Self:
        """Make the ledger of a test set; see `hedgerow.testset.TestSet.create`."""
        ledger = Path(terms["ledger"])
        if ledger.exists():
            raise LedgerError(
                "HG302",
                rule="A new ledger needs a path without a file, in a folder that can be written.",
                finding="A file exists at this path already.",
                remedy="Choose another path, or score against the existing test set.",
            )
        opened, relation = open_in_order(labels), parse_relation(terms.get("relation"))
        columns.check_labels(opened)
        require_key(relation, columns.key)
        n = opened.count_rows() if relation is Relation.REPLACE_ONE else None
        if n is not None and columns.key is not None:
            check_distinct(columns.read_keys(opened), whose="labels")
        budget = Budget(terms["epsilon"], terms.get("delta", DEFAULT_DELTA))
        conditions = Conditions(relation, budget, terms["n_looks"], n, columns.metric.grid)
        warn_about_budget(conditions.budget.epsilon, conditions.budget.delta, n)
        options, keyed = terms.get("options") or Options(), columns.key is not None
        declared = TestSetTerms(conditions=conditions, metric=columns.metric, options=options, keyed=keyed)
        settings, secret = declared.chosen(terms.get("mechanism", "auto"))
        try:
            # Told from the ledger's folder, so that both may move together.
            place = os.path.relpath(Path(labels).absolute(), ledger.absolute().parent)
        except ValueError:  # on another drive
            place = str(Path(labels).absolute())
        of_file = {"labels_file": place, "labels_digest": _digest(secret.key, labels)}
        record = {**settings.record(), "file": columns.record(), **of_file}
        return cls(settings, LedgerLooks.create(ledger, record, secret), columns, ledger.absolute())

    @classmethod
    def open(cls, ledger: str | Path) -> Self:
        """Open the ledger of a test set that `create` made; see `hedgerow.testset.TestSet.open`."""
        looks = LedgerLooks.open(Path(ledger))
        record, settings = looks.settings, None
        if "file" not in record:
            looks.close()
            raise LedgerError(
                "HG433",
                rule="A test set of files needs a ledger that `hedgerow testset create` made.",
                finding="The ledger belongs to a test set of arrays.",
                remedy="Open the test set in Python, with hedgerow.testset.TestSet.",
            )
        try:
            columns = FileColumns.from_record(record["file"], record["metric"])
            budget, relation = Budget(record["epsilon"], record["delta"]), Relation(record["relation"])
            conditions = Conditions(relation, budget, record["n_looks"], record["n"], columns.metric.grid)
            terms = TestSetTerms(conditions=conditions, metric=columns.metric, keyed=columns.key is not None)
            settings = settings_from_record(record, terms)
        except (KeyError, TypeError, ValueError, AttributeError, HedgerowError):
            pass  # written by another version, in a way that this one does not know
        if settings is not None:
            return cls(settings, looks, columns, Path(ledger).absolute())
        looks.close()
        raise LedgerError(
            "HG438",
            rule="The ledger of a test set begins with its settings, in the format of this version or an earlier "
            "version.",
            finding="This version of hedgerow cannot read the settings of the test set.",
            remedy="Use the version of hedgerow that made the test set, or a newer version. Nothing was spent.",
        )

    @property
    def measured(self) -> Metric:
        """The metric of positions in the list of declared labels."""
        return self.columns.measured

    def positive(self, kind: Kind, about: Any) -> Any:
        """Return the position of a declared label (HG171)."""
        if kind != "squares":
            return self.columns.code_of(about)
        raise ParameterError(
            "HG171",
            rule="A test set of files has declared labels, but a squared error needs labels that are numbers.",
            finding="An error of predicted numbers was requested.",
            remedy="In Python, use TestSet with arrays and score(…, metric='r2', bounds=…). No look was taken.",
        )

    def sent(self, given: Any, kind: Kind | None = None, groups: Any = None) -> SentEntries:
        """Return the predictions of a file, or of another table in an order (HG170, HG201 to HG209, HG437)."""
        opened: InOrder = given if hasattr(given, "in_order") else open_in_order(given)
        self.columns.check_predictions(opened, kind, groups)
        predictions, keys = self.columns.read_predictions(opened, kind)
        n = self.settings.conditions.n
        # A ledger of an earlier version may join by position under add-remove; a refusal by size would reveal n.
        require_key(self.settings.conditions.relation, self.columns.key)
        if self.columns.key is not None:
            check_distinct(keys, whose="predictions")
        elif len(predictions) != n:
            raise ParameterError(
                "HG170",
                rule="A file of predictions needs one row for each record of the test set, in the same order.",
                finding=f"It has another number than {n:,}.",
                remedy="No look was taken. Predict every record of the test set.",
            )
        return SentEntries(predictions, None if groups is None else self.columns.read_groups(opened, groups), keys)

    def held(self, labels: str | Path | None, *sent: SentEntries) -> tuple[Context, list[SentEntries]]:
        """Open the labels, whose keys are public where the number of records is (HG434, HG435, HG437)."""
        opened = self._open_labels(labels)
        reading, public = self.columns.reading(opened), self.settings.conditions.n is not None
        if self.columns.key is None or not public:
            return reading, list(sent)
        keys = self.columns.read_keys(opened)
        return reading, [entries.arranged(keys) for entries in sent]

    def records(self, opened: Any, sent: SentEntries) -> tuple[Entries, SentEntries]:
        """Return both, joined by the key where there is one; a record whose prediction was not sent has none."""
        labels, keys = self.columns.read_labels(opened)
        by_key = self.columns.key is not None
        return labels, sent.each(lambda entries: joined(keys, entries, sent.keys or ())) if by_key else sent

    def again(self) -> dict[str, Any]:
        """Return where the ledger lies: a copy counts there, too."""
        return {"ledger": self.ledger}

    def to_dict(self) -> dict[str, Any]:
        """Return where the labels lie, and the key."""
        return {"labels_file": self.looks.settings.get("labels_file"), "key": self.columns.key}

    def serve(self, labels: Path) -> Path | None:
        """Answer from now on for a server that holds these looks alone; see `LedgerLooks.resumes`.

        Returns what a look takes as `labels`: None where they lie where `create` found them.

        Raises
        ------
        DataError, ParameterError
            HG434: they are not, byte by byte, those with which the ledger was made. HG111, HG170, HG203, HG435.
        """
        record = self.looks.settings
        known = self.ledger.parent / record.get("labels_file", "")
        named = None if known.exists() and labels.samefile(known) else labels
        self._open_labels(named)
        if _digest(self.looks.secret.key, labels) != record.get("labels_digest"):
            raise changed_labels()
        self.looks.resumes = True
        return named

    def _open_labels(self, labels: str | Path | None) -> OrderedSource:
        """Return the custodian's labels, opened (HG434, HG435); nothing that was sent is looked at."""
        record, n = self.looks.settings, self.settings.conditions.n
        if labels is not None and self.settings.mechanism.once:
            raise ParameterError(
                "HG435",
                rule="If the first look pays for all looks, every look must read the labels with which the ledger was "
                "made.",
                finding="Other labels were named.",
                remedy="Move the file of labels back to the path at which `hedgerow testset create` read the file. "
                "No look was taken.",
            )
        known = record.get("labels_file")
        place = Path(labels) if labels is not None else None if known is None else self.ledger.parent / known
        if place is None or not place.exists():
            raise DataError(
                "HG435",
                rule="Labels stay with the custodian, in the file from which the test set was made.",
                finding="The ledger was made by an earlier version and does not say where."
                if place is None
                else "They are not there.",
                remedy='Name the present file of labels: labels="FILE". No look was taken.',
            )
        opened = open_in_order(place)
        self.columns.check_labels(opened)
        if labels is None and _digest(self.looks.secret.key, place) != record["labels_digest"]:
            raise changed_labels("If only its form has changed, name it by `labels`.")
        if labels is not None and n is not None and opened.count_rows() != n:
            raise ParameterError(
                "HG170",
                rule="The file of labels must have as many records as when the ledger was made.",
                finding=f"It has another number than {n:,}.",
                remedy="No look was taken.",
            )
        return opened


def changed_labels(further: str = "") -> DataError:
    """Return the refusal of labels that are not those with which the ledger was made (HG434)."""
    other = "Put back the file as it was; other labels are another test set, with a ledger of their own."
    return DataError(
        "HG434",
        rule="A ledger counts the looks at the labels with which it was made.",
        finding="The custodian's file of labels has changed since the ledger was made.",
        remedy=" ".join(part for part in (other, further, "No look was taken.") if part),
    )


def _digest(key: bytes, path: str | Path) -> str:
    try:
        return digest_of_file(key, path)
    except OSError:
        failure = unreadable()
    raise failure from None
