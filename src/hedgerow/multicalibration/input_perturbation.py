"""``input_perturbation``: every record is randomised before it is used; the rest is post-processing of random records.

Guarantee   LOCAL ε-differential privacy under replace-one: it holds for each record on its own, whoever adds them up
(`hedgerow.mechanisms.randomised_records` has the proof). Under add-remove it is refused: the number of randomised
records is the number of records.

This is Fishman, Mugunthan & Tanzer's input perturbation (section 3.2), made private. In the paper labels are not
perturbed at all, and features by so little that the sex of one person costs an ε of about 50,000
(private_multicalibration.md). Here a record shows one cell, classes × bucket of the score × label, as random bits, and
p is read as the middle of its bucket.

Nobody needs to be trusted with the records, but the error is larger. At ε = 1 a count over all n records has
an error of 1.9·√n, where ``table`` has 1.4 for any n: with 30,000 records only everybody together can be calibrated,
and groups need tens of millions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.randomised_records import NOWHERE, RandomisedRecords, randomised_records
from hedgerow.multicalibration.calibrated_model import HIGH, LOW, Patches, Records, bucket_of
from hedgerow.multicalibration.calibration_mechanism import (
    PUBLISHED_ALPHA,
    CalibrationMechanism,
    FittedCalibration,
    Setting,
    check_parameter,
)
from hedgerow.multicalibration.family import Block
from hedgerow.multicalibration.rounds import UNRELEASED, NoisyCells, patch_of, shifts_of
from hedgerow.noise.lattice import AdditiveTable, NoiseSource

Floats = NDArray[np.float64]
_BINARY = ("label=0", "label=1")


@dataclass(frozen=True, slots=True)
class InputPerturbation(CalibrationMechanism[RandomisedRecords]):
    """Randomised records, and one patch made of them.

    Parameters
    ----------
    everybody : float, optional
        The share of records that show only score and label; each of the others shows the class of one column too, with
        equal shares for the columns. By default 1 where n is so small that no group could exceed its noise, and .5
        otherwise: a public choice, since n, α and ε are public.
    z : float
        A cell is shifted when its residual sum exceeds z standard deviations of the noise in it.

    Examples
    --------
    >>> from hedgerow.multicalibration.family import Family
    >>> public = Setting(Family((), depth=1), Relation.REPLACE_ONE, 1000)
    >>> InputPerturbation().describe(public, Budget(1.0, 0.0)).views
    (20,)
    """

    everybody: float | None = None
    z: float = 2.5

    name: ClassVar[str] = "input_perturbation"
    untold: ClassVar[str] = "no errors are known: each record is released as random bits, too noisy to read them from"
    noise: ClassVar[tuple[type, ...]] = (RandomisedRecords,)
    planned: ClassVar[tuple[str, ...]] = ("everybody",)
    sized: ClassVar[tuple[str, ...]] = ("flip", "views", "shares")
    untraced: ClassVar[tuple[str, ...]] = ("flip", "shares.*")  # where no cell exceeds its noise

    def __post_init__(self) -> None:
        check_parameter(
            self.everybody is None or 0.0 < self.everybody <= 1.0,
            "The share of records that show no classes lies in (0, 1].",
            self.everybody,
            code="HG182",
            remedy="Leave it out.",
        )

    def describe(self, setting: Setting, budget: Budget) -> RandomisedRecords:
        """Return the randomiser of one model, at its share of ε.

        Raises
        ------
        UncertifiedError
            HG425: under add-remove, where the number of randomised records is not public.
        """
        if setting.relation is not Relation.REPLACE_ONE:
            raise UncertifiedError(
                "HG425",
                rule="Randomised records protect the values of a record (replace-one), but not its presence "
                "(add-remove).",
                finding="The relation is add-remove.",
                remedy='Use relation="replace-one", or another mechanism.',
            )
        epsilon, k = budget.epsilon / setting.models, setting.n_buckets
        everybody, *columns = _columns(setting)
        alone = randomised_records(epsilon, (2 * k,), (1.0,))
        share = self.everybody
        if share is None:
            share = 0.5 if _some_column_exceeds_its_noise(alone, setting, columns) else 1.0
        if share == 1.0 or not columns:
            return alone
        sizes = tuple(block.size * k * 2 for block in (everybody, *columns))
        return randomised_records(epsilon, sizes, (share, *[(1.0 - share) / len(columns)] * len(columns)))

    def run(
        self, setting: Setting, described: RandomisedRecords, records: Records, noise: NoiseSource
    ) -> FittedCalibration:
        """Randomise every record, read the sums of the bits, and shift the cells that exceed their noise."""
        k = setting.n_buckets
        row = np.repeat(np.arange(len(records.count)), records.count.astype(np.int64))
        # A record that was left out (no label, no score) is in no cell and shows random bits too: otherwise the number
        # of randomised records would reveal how many are complete.
        absent = (len(row) if setting.n is None else setting.n) - len(row)
        if absent < 0:
            raise ValueError("more records than are public")
        shown = described.choose_views(len(row) + absent, noise)
        bucket = bucket_of(records.score, k)
        released = []
        for view, block in enumerate(_columns(setting)[: len(described.views)]):
            mine = row[shown[: len(row)] == view]
            nowhere = np.full(int((shown[len(row) :] == view).sum()), NOWHERE)
            group = block.group_of(records.patterns)[records.pattern[mine]]
            inner = ((group - block.start) * k + bucket[mine]) * 2 + records.label[mine]
            lies = np.concatenate([np.where(group >= 0, inner, NOWHERE), nowhere])
            counts = described.debiased(described.count_ones(view, lies, noise), len(lies))
            released.append(_estimates(setting, described, view, block, counts, len(lies)))
        return replace(self.read(setting, described, [table.values for table in released]), released=tuple(released))

    def read(self, setting: Setting, described: RandomisedRecords, numbers: Sequence[Floats]) -> FittedCalibration:
        """Return the one round of shifts that the estimated counts of all views give."""
        if setting.n is None or len(numbers) != len(described.views):
            raise TypeError("input_perturbation is read as it was described")
        k, groups = setting.n_buckets, len(setting.family.groups)
        cells = NoisyCells(*(np.full((groups, k), number) for number in (0.0, 0.0, UNRELEASED, 0.0)))
        for view, (block, values) in enumerate(zip(_columns(setting), numbers, strict=False)):
            if values.shape != (block.size * k, 2) or values.size != described.views[view]:
                raise TypeError("input_perturbation is read as it was described")
            spread = np.full(2, described.noise_sd(setting.n, view))
            _read_into(cells, AdditiveTable((), _BINARY, values, spread, "gaussian"), block)
        patch = patch_of(shifts_of(setting.family, cells, z=self.z, least=setting.least_shift))
        return FittedCalibration(Patches(k, (patch,), LOW, HIGH), None, None)


def _columns(setting: Setting) -> list[Block]:
    """Return everybody, then the groups of each column: what records may show, in the order of the views."""
    return [block for block in setting.family.blocks if len(block.attributes) <= 1]


def _some_column_exceeds_its_noise(alone: RandomisedRecords, setting: Setting, columns: list[Block]) -> bool:
    """Return whether an average cell with error α would exceed two sd of its noise if half the records showed columns.

    It depends on n, α, ε and the family, which are all public.
    """
    if not columns or setting.n is None:
        return False
    noise = alone.noise_sd(setting.n, 0) * np.sqrt(2.0 * len(columns))
    alpha = PUBLISHED_ALPHA if setting.alpha is None else setting.alpha
    return any(alpha * setting.n / (block.size * setting.n_buckets) > 2.0 * noise for block in columns)


def _estimates(
    setting: Setting, described: RandomisedRecords, view: int, block: Block, counts: Floats, shown: int
) -> AdditiveTable:
    """Return the debiased counts of a view as a table of labels by group and bucket, scaled to all records."""
    n = setting.n or shown
    names = setting.family.names[block.start : block.start + block.size]
    cells = [{"group": name, "bucket": bucket} for name in names for bucket in range(setting.n_buckets)]
    values = counts.reshape(-1, 2) * (n / max(shown, 1))
    return AdditiveTable(cells, _BINARY, values, np.full(2, described.noise_sd(n, view)), "gaussian")


def _read_into(cells: NoisyCells, table: AdditiveTable, block: Block) -> None:
    """Fill the rows of one block with R = Σ y − p and N as the table estimates them, p the middle of its bucket."""
    k = cells.residual.shape[1]
    rows = slice(block.start, block.start + block.size)
    zeros, ones = (table.column(label).reshape(-1, k) for label in _BINARY)
    middle, variance = (np.arange(k) + 0.5) / k, table.sd(_BINARY[0]) ** 2
    cells.residual[rows] = ones * (1.0 - middle) - zeros * middle
    cells.count[rows] = ones + zeros
    cells.residual_variance[rows] = variance * ((1.0 - middle) ** 2 + middle**2)
    cells.count_variance[rows] = 2.0 * variance
