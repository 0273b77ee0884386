"""`FileTestSet`: a test set kept as a file, scored from files that hold its labels beside predictions. For CI gates.

The ledger remembers how many records have each label (as a keyed digest) and, under replace-one, how many records there
are. That is less than the fingerprint of `TestSet`: it tells one test set from another where their labels differ.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from hedgerow.engines.source import Source, open_source
from hedgerow.errors import LedgerError, ParameterError, SpentError
from hedgerow.noise.secure import SecureNoise
from hedgerow.privacy.budget import DEFAULT_DELTA, Budget
from hedgerow.privacy.relation import Relation, parse_relation
from hedgerow.resampling.histogram import Histogram
from hedgerow.testset.ask import ask
from hedgerow.testset.choose import Compared, choose, compare
from hedgerow.testset.conditions import Conditions
from hedgerow.testset.file_settings import FileColumns, counts_digest
from hedgerow.testset.looks import LedgerLooks
from hedgerow.testset.mechanism import Options
from hedgerow.testset.opened import threshold_noise
from hedgerow.testset.score import Score
from hedgerow.testset.secret import Secret
from hedgerow.testset.settings import Settings, settings_from_record
from hedgerow.testset.thresholdout import checked_training

__all__ = ["FileTestSet"]


class FileTestSet:
    """A test set of a file; made by `create`, used again through `open`. See `hedgerow.testset.TestSet`.

    Attributes
    ----------
    settings : Settings
    columns : FileColumns
    """

    __test__ = False

    def __init__(self, settings: Settings, columns: FileColumns, looks: LedgerLooks) -> None:
        self.settings, self.columns, self._looks = settings, columns, looks

    @classmethod
    def create(
        cls,
        source: str | Path,
        columns: FileColumns,
        *,
        ledger: str | Path,
        relation: str | None,
        epsilon: float,
        delta: float = DEFAULT_DELTA,
        n_looks: int,
        mechanism: str = "auto",
        options: Options | None = None,
    ) -> FileTestSet:
        """Make the ledger of a test set; its labels are counted once, and nothing is told or spent.

        Raises
        ------
        HedgerowError
            As `hedgerow.testset.TestSet`; HG201 to HG209 for the file; HG302 where the ledger exists.
        """
        if Path(ledger).exists():
            raise LedgerError(
                "HG302",
                rule="A new ledger is made where nothing is, in a folder that can be written.",
                finding="Something is at this path already.",
                remedy="Choose another path, or score against that one.",
            )
        opened, whom = open_source(source), parse_relation(relation)
        query = columns.label_query()
        opened.check(query)
        n = opened.count_rows() if whom is Relation.REPLACE_ONE else None
        conditions = Conditions(whom, Budget(epsilon, delta), n_looks, n, columns.metric.grid)
        chosen = choose(mechanism, conditions, options or Options())
        settings = Settings(conditions, columns.metric, chosen, options or Options())
        secret = Secret.fresh(threshold_noise(chosen, SecureNoise()))
        counts = columns.label_counts(opened.histogram(query))
        record = {**settings.record(), "file": columns.record(), "fingerprint": counts_digest(counts, secret.key)}
        return cls(settings, columns, LedgerLooks.create(Path(ledger), record, secret, dataset="test set"))

    @classmethod
    def open(cls, ledger: str | Path) -> FileTestSet:
        """Open the ledger of a test set that `create` made (HG301 to HG308, HG433)."""
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
        columns = FileColumns.from_record(record["file"], record["metric"])
        budget = Budget(record["epsilon"], record["delta"])
        conditions = Conditions(
            Relation(record["relation"]), budget, record["n_looks"], record["n"], columns.metric.grid
        )
        return cls(settings_from_record(record, conditions, columns.metric), columns, looks)

    def score(self, source: str | Path, *, training_score: float | None = None, request_id: str | None = None) -> Score:
        """Take one look: score the predictions of a file that holds the test set's labels beside them.

        Raises
        ------
        BudgetExceeded
            HG430: no looks are left.
        ParameterError, DataError
            HG170 another number of records, HG176 no training score, HG201 to HG209 for the file. No look was taken.
        SpentError
            HG434: the labels are not those of the test set. The look counts as taken, since labels were read.
        """
        training = checked_training(training_score) if self.settings.mechanism.once else None
        opened, query = open_source(source), self.columns.query()
        opened.check(query)
        n = self.settings.conditions.n
        if n is not None and opened.count_rows() != n:
            raise ParameterError(
                "HG170",
                rule="A file of predictions has one row for each record of the test set.",
                finding=f"It has another number than {n:,}.",
                remedy="No look was taken. Predict for the whole test set.",
            )
        told = {"predictions": None if request_id is None else self._digest(Path(source))}
        return ask(
            self.settings,
            self._looks,
            lambda: self._losses(opened),
            told,
            SecureNoise(),
            request_id=request_id,
            training=training,
        )

    @property
    def remaining(self) -> int:
        """How many looks are left."""
        return self.settings.looks_left(self._looks.past().used)

    @property
    def history(self) -> tuple[Score, ...]:
        """The scores of all looks that were recorded, in order."""
        return self._looks.past().in_order

    @property
    def minimum_detectable_difference(self) -> float | None:
        """See `hedgerow.testset.TestSet`."""
        return self.settings.minimum_detectable_difference

    def comparison(self) -> tuple[Compared, ...]:
        """All mechanisms at this budget, the best first."""
        return compare(self.settings.conditions, self.settings.options)

    def to_dict(self) -> dict[str, Any]:
        """Return what is fixed and what is left, as plain JSON data."""
        record = self.settings.record()
        return {
            **{name: record[name] for name in ("relation", "epsilon", "delta", "n", "n_looks", "mechanism")},
            "metric": self.columns.metric.name,
            "remaining": self.remaining,
            "spent": self._looks.spent,
            "expected_error": self.settings.mechanism.expected_error(),
            "minimum_detectable_difference": self.minimum_detectable_difference,
            "head": self._looks.head,
        }

    def close(self) -> None:
        """Close the ledger."""
        self._looks.close()

    def _losses(self, opened: Source) -> Histogram:
        counts = self.columns.label_counts(opened.histogram(self.columns.label_query()))
        told = counts_digest(counts, self._looks.secret.key)
        if told != self._looks.settings["fingerprint"]:
            raise SpentError(
                "HG434",
                rule="A file of predictions holds the labels of the test set.",
                finding="These are others. They were read, so the look counts as taken.",
                remedy="Take the label column of the test set as it was when the ledger was made.",
            )
        return self.columns.losses(opened.histogram(self.columns.query()))

    def _digest(self, path: Path) -> str | None:
        try:
            with path.open("rb") as file:
                hashed = hashlib.blake2b(key=self._looks.secret.key, digest_size=16)
                while part := file.read(1 << 20):
                    hashed.update(part)
                return hashed.hexdigest()
        except OSError:
            return None
