"""The papers' own calibrations, sensitivities and mechanism, for reproduction only; some of their claims are false.

Nothing here is used by a release, and no statement or certificate rests on it.

* Of O'Keefe and Charest's sensitivities (2018, section 5) two are false. The correct ones and their proofs are in
  `hedgerow.tables.bootstrap_dp`; an attack that tells neighbours apart at these scales is among the audits.
* The private bootstrap of Brawner and Honaker (2018) has multinomial weights: each replicate draws n records with
  replacement, averages them and adds Gaussian noise of sd √(k/2ρ)·R/n. The claim that k of them are ρ-zCDP is false
  (private_bootstrap.md §3): a record that is drawn r times moves the average r times as far. The released bootstrap has
  Poisson weights about a public midpoint.
* Fishman, Mugunthan and Tanzer's multicalibration without privacy is `NoPrivacy`: what privacy costs is seen beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget, positive_number
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.multicalibration.calibrated_model import (
    HIGH,
    LOW,
    STEPS,
    Patch,
    Patches,
    Records,
    Residuals,
    bucket_of,
    from_grid,
)
from hedgerow.multicalibration.calibration_mechanism import (
    PUBLISHED_ALPHA,
    CalibrationMechanism,
    FittedCalibration,
    Setting,
    check_parameter,
)
from hedgerow.noise.lattice import NoiseSource
from hedgerow.resampling.replicates import multinomial_weights
from hedgerow.tables.bootstrap_table import CellExtremes

Integers = NDArray[np.int64]

__all__ = [
    "MultinomialBootstrap",
    "NoPrivacy",
    "brawner_honaker_noise_sd",
    "multinomial_replicates",
    "multinomial_weights",
    "published_accuracy_probability",
    "published_cell_sensitivities",
    "published_contingency_sensitivity",
    "published_magnitude_sensitivity",
    "published_membership_sensitivities",
    "published_split_sensitivities",
    "win_vector_delta",
    "win_vector_epsilon_claimed",
]

Floats = NDArray[np.float64]


def brawner_honaker_noise_sd(rho: float, *, n_resamples: int, sensitivity: float = 1.0) -> float:
    """Return the noise sd of one replicate as published: √(k/2ρ)·Δ. The claim that this is ρ-zCDP is false.

    Source: Brawner & Honaker (2018), §6.

    >>> brawner_honaker_noise_sd(0.5, n_resamples=1)
    1.0
    """
    return sensitivity * math.sqrt(n_resamples / (2.0 * rho))


def win_vector_epsilon_claimed(shrinkage: float) -> float:
    """Return the ε that the note claims for scoring a resample of size n/Z: 1/Z. The true ε is infinite."""
    return 1.0 / shrinkage


def win_vector_delta(n: int, shrinkage: float) -> float:
    """Return the exact δ, for every ε ≥ 0, of scoring a resample of size ⌈n/Z⌉: 1 − (1 − 1/n)^m.

    See testset.md.

    >>> round(win_vector_delta(1000, 10), 4)
    0.0952
    """
    return 1.0 - (1.0 - 1.0 / n) ** math.ceil(n / shrinkage)


def published_contingency_sensitivity(table: CellExtremes) -> float:
    """Return 1, the sensitivity of a table of counts that O'Keefe & Charest (2018) claim in section 5.1.

    The claim is FALSE: where two cells have rows the sensitivity is 2.

    >>> published_contingency_sensitivity(CellExtremes.of([1, 1], [0, 1]))
    1.0
    """
    return 1.0


def published_cell_sensitivities(table: CellExtremes) -> Floats:
    """Return V_i, the sensitivity of each cell's total that O'Keefe & Charest claim in section 5.2, Table 2.

    The claim is FALSE unless all rows are in that cell.

    >>> published_cell_sensitivities(CellExtremes.of([5.0, 7.0, 9.0], [0, 0, 1])).tolist()
    [2.0, 0.0]
    """
    return table.spread


def published_magnitude_sensitivity(table: CellExtremes) -> float:
    """Return what option (i) of section 5.2 claims for a table of totals: max_i V_i. FALSE, see above.

    >>> published_magnitude_sensitivity(CellExtremes.of([5.0, 7.0, 9.0], [0, 0, 1]))
    2.0
    """
    return float(table.spread.max())


def published_split_sensitivities(table: CellExtremes) -> Floats:
    """Return w_i of option (ii) of section 5.2, noise of scale w_i/ε in cell i: k·V_i over k cells. FALSE in principle.

    Where V_i is small beside the values of the cell, k times it is still too small; elsewhere it pays too much.

    >>> published_split_sensitivities(CellExtremes.of([5.0, 7.0, 9.0], [0, 0, 1])).tolist()
    [4.0, 0.0]
    """
    return len(table.low) * table.spread


def published_membership_sensitivities(table: CellExtremes) -> Floats:
    """Return w_i of the third option of section 5.2: V_i. True where each row's cell is public.

    >>> published_membership_sensitivities(CellExtremes.of([5.0, 7.0, 9.0], [0, 0, 1])).tolist()
    [2.0, 0.0]
    """
    return table.spread


def published_accuracy_probability(gamma: float) -> float:
    """Return what Theorem 4 prints as the least probability of its error bound: γ. It is 1 − γ (Dwork & Roth, 3.8).

    >>> published_accuracy_probability(0.05)
    0.05
    """
    return gamma


@dataclass(frozen=True, slots=True)
class MultinomialBootstrap(Mechanism):
    """k noisy means of multinomial resamples of n records with values in [low, high].

    A description that the registry of mechanisms does not hold: `certify` refuses it (HG401).

    Attributes
    ----------
    n, n_resamples : int
        n is public; k.
    low, high : float
        Bounds of a value; values are clamped.
    noise_sd : float
        Of ONE replicate's mean, in the value's unit.

    Raises
    ------
    ParameterError
        HG101: a size that is not positive, or bounds that are not in order.

    Examples
    --------
    Section 8 of the paper: 500 ages, k = 50, ρ = ½.

    >>> MultinomialBootstrap.as_published(0.5, n=500, bounds=(0, 100), n_resamples=50).noise_sd ** 2
    2.0000000000000004
    """

    n: int
    low: float
    high: float
    n_resamples: int
    noise_sd: float
    type: Literal["multinomial-bootstrap"] = "multinomial-bootstrap"

    def __post_init__(self) -> None:
        positive_number("noise_sd", self.noise_sd)
        if not (self.n >= 1 and self.n_resamples >= 1 and self.low < self.high):
            raise ParameterError(
                "HG101",
                rule="`n` and `n_resamples` must be at least 1, and `low` below `high`.",
                finding=f"Found n={self.n!r}, n_resamples={self.n_resamples!r}, [{self.low!r}, {self.high!r}].",
                remedy="Section 8 of the paper uses n=500, n_resamples=50 and the bounds [0, 100].",
            )

    @classmethod
    def as_published(cls, rho: float, *, n: int, bounds: tuple[float, float], n_resamples: int) -> MultinomialBootstrap:
        """Return the mechanism that the paper calls ρ-zCDP: noise variance Δ²k/2ρ a replicate, Δ = R/n (eq. 29)."""
        low, high = bounds
        noise_sd = brawner_honaker_noise_sd(rho, n_resamples=n_resamples, sensitivity=(high - low) / n)
        return cls(n, low, high, n_resamples, noise_sd)

    @property
    def sensitivity(self) -> float:
        """Δ = R/n: how far one replaced record moves the mean of the data itself."""
        return (self.high - self.low) / self.n

    @property
    def noise_variance(self) -> float:
        """σ₁², the noise variance of one replicate."""
        return self.noise_sd**2


def multinomial_replicates(
    mechanism: MultinomialBootstrap,
    values: ArrayLike,
    counts: ArrayLike,
    *,
    rng: np.random.Generator | int | None = None,
) -> NDArray[np.float64]:
    """Return the k noisy means of each of several data sets, simulated.

    Parameters
    ----------
    mechanism : MultinomialBootstrap
    values : array, (rows,)
        Distinct values; clamped.
    counts : integer array, (rows,) or (data sets, rows)
        How many records of each data set have each value; each data set has n records.
    rng : Generator or seed

    Returns
    -------
    float array, (data sets, n_resamples)

    Raises
    ------
    ParameterError
        HG101: a data set without exactly n records.

    Examples
    --------
    >>> published = MultinomialBootstrap.as_published(0.5, n=500, bounds=(0, 100), n_resamples=50)
    >>> multinomial_replicates(published, [20.0, 60.0], [250, 250], rng=1).shape
    (1, 50)
    """
    generator = np.random.default_rng(rng)
    clamped = np.clip(np.asarray(values, dtype=np.float64), mechanism.low, mechanism.high)
    data = np.atleast_2d(np.asarray(counts, dtype=np.int64))
    if np.any(data.sum(axis=1) != mechanism.n):
        raise ParameterError(
            "HG101", rule="Each data set must have n records.", finding=f"Not all have {mechanism.n}.",
            remedy="Draw the data sets with rng.multinomial(n, shares, size=…).",
        )  # fmt: skip
    means = np.empty((len(data), mechanism.n_resamples))
    for row, count in enumerate(data):
        present = np.flatnonzero(count)  # a sample holds few of the possible values; the rest need no draw
        weights = multinomial_weights(count[present], n_resamples=mechanism.n_resamples, generator=generator)
        means[row] = weights @ clamped[present]
    return means / mechanism.n + generator.normal(0.0, mechanism.noise_sd, means.shape)


@dataclass(frozen=True, slots=True)
class NoPrivacy(CalibrationMechanism[None]):
    """The published calibration of Fishman, Mugunthan and Tanzer (Algorithms 1 and 2), without privacy.

    Scores are projected to [0, 1].

    The class `NoPrivacy` gives no privacy guarantee. The calibrated model is a function of the exact records and has no
    certificate. Use the class as ``Multicalibrator(mechanism=NoPrivacy())``.

    The published algorithm visits every group and score bucket in turn. S_i is the set of records of one group in one
    score bucket; ȳ is the mean label of these records, and p̄ is their mean score. The scores are shifted by ȳ − p̄ if
    ``|ȳ − p̄| ≥ α/2`` (from 2ωN with ``ω = α|S_i|/4n``, figure 1) and ``|S_i| ≥ α|S|/k``, where S is the group, as in
    Hébert-Johnson et al. The paper of Fishman, Mugunthan and Tanzer prints ``α|S_i|/k``, a condition that always holds,
    because S_i stands on both sides. The visits are repeated until no score is shifted.

    Parameters
    ----------
    low, high : float
        The lower and the upper end of the range of scores. The published algorithm uses the range (0, 1). The default
        range excludes 0 and 1, so that a wrong score has no infinite log loss.
    most_sweeps : int
        The largest number of sweeps (visits of all groups and buckets). The limit on sweeps is needed if two groups
        shift each other's scores back and forth.
    """

    low: float = LOW
    high: float = HIGH
    most_sweeps: int = 100

    name: ClassVar[str] = "none"

    def __post_init__(self) -> None:
        fits = 0.0 <= self.low < self.high <= 1.0
        check_parameter(fits, "The range of the output lies in [0, 1].", self.low, self.high)

    def describe(self, setting: Setting, budget: Budget) -> None:
        """Return None instead of a mechanism, because this class gives no privacy.

        Parameters
        ----------
        setting : Setting
            All settings of the calibration that are known before data are read. It is not used.
        budget : Budget
            The privacy budget. It is not used.

        Raises
        ------
        HedgerowError
            No error is expected.

        Examples
        --------
        >>> from hedgerow.facts.relation import Relation
        >>> from hedgerow.multicalibration.family import Family
        >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
        >>> NoPrivacy().describe(public, Budget(1.0, 0.0)) is None
        True
        """
        return

    def run(self, setting: Setting, described: object, records: Records, noise: NoiseSource) -> FittedCalibration:
        """Run Algorithm 1 until a sweep shifts no score, or until the limit on sweeps is reached.

        Parameters
        ----------
        setting : Setting
            All settings of the calibration that are known before data are read.
        described : None
            The result of `describe`.
        records : Records
            The private records, grouped into distinct rows with their counts.
        noise : NoiseSource
            A source of random numbers. It is not used.

        Returns
        -------
        FittedCalibration
            The model, with exact residuals. No part of the result is private.

        Raises
        ------
        HedgerowError
            No error is expected.

        Examples
        --------
        >>> from hedgerow.facts.relation import Relation
        >>> from hedgerow.multicalibration.family import Family
        >>> from hedgerow.noise.secure import SecureNoise
        >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
        >>> scores, labels = np.array([0.75, 0.25, 0.25]), np.array([0, 1, 1])
        >>> records = Records.of(public.family, np.zeros((3, 0), dtype=np.int64), scores, labels)
        >>> NoPrivacy().run(public, None, records, SecureNoise()).after.n
        3.0
        """
        members = [np.flatnonzero(inside[records.pattern]) for inside in records.membership.T]
        current = records.score.copy()
        patches: list[Patch] = []
        for _ in range(self.most_sweeps):
            before = len(patches)
            for group, rows in enumerate(members):
                self._one_group(setting, records, group, rows, current, patches)
            if len(patches) == before:
                break
        model = Patches(setting.n_buckets, tuple(patches), self.low, self.high)
        return FittedCalibration(
            model,
            exact_residuals(records, records.score, setting),
            exact_residuals(records, np.clip(current, round(self.low * STEPS), round(self.high * STEPS)), setting),
        )

    def _one_group(
        self, setting: Setting, records: Records, group: int, rows: Integers, current: Integers, patches: list[Patch]
    ) -> None:
        """Go through the buckets of one group in order; a record that is shifted up may be in a later one again."""
        k, count = setting.n_buckets, records.count[rows]
        alpha = PUBLISHED_ALPHA if setting.alpha is None else setting.alpha
        enough = alpha * float(count.sum()) / k
        bucket, gap = bucket_of(current[rows], k), records.label[rows] * STEPS - current[rows]
        for b in range(k):
            inside = np.flatnonzero(bucket == b)
            size = float(count[inside].sum())
            if size < enough or size <= 0.0:
                continue
            mean = float((count[inside] * gap[inside]).sum()) / size
            shift = round(mean)
            if abs(mean) < alpha / 2.0 * STEPS or shift == 0:
                continue
            patches.append(Patch(np.array([[group, b]]), np.array([shift])))
            moved = rows[inside]
            current[moved] = np.clip(current[moved] + shift, 0, STEPS)
            bucket[inside] = bucket_of(current[moved], k)
            gap[inside] = records.label[moved] * STEPS - current[moved]


def exact_residuals(records: Records, score: Integers, setting: Setting) -> Residuals:
    """Return the residuals of the records themselves at these scores (grid indices). PRIVATE."""
    k, member, n, p = setting.n_buckets, records.membership, records.total(), from_grid(score)
    key = records.pattern * k + bucket_of(score, k)
    values = (records.count * (records.label - p), records.count, records.count * p)
    by_pattern = [np.bincount(key, v, minlength=len(member) * k).reshape(-1, k) for v in values]
    sums = np.stack([member.T.astype(np.float64) @ summed for summed in by_pattern])
    # A score of exactly 0 or 1 counts as half a grid step from it.
    inside = np.clip(p, 0.5 / STEPS, 1.0 - 0.5 / STEPS)
    losses = -np.where(records.label == 1, np.log(inside), np.log1p(-inside)), (records.label - p) ** 2
    log_loss, brier = (float((records.count * loss).sum()) / max(n, 1.0) for loss in losses)
    return Residuals.exact(setting.family.names, sums, n, log_loss=log_loss, brier=brier)
