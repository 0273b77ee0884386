"""Algorithms 1 and 2 with the free variables of Figure 1, as printed. THE PRIVATE ORACLES ARE NOT PRIVATE: see `audit`.

Four things the paper leaves open or that cannot run are settled here, the first two as its text implies:
`updated := true` stands in the loop (printed outside, Algorithm 1 never ends); ȳ is the mean label of S_i (printed,
labels are intersected with an interval of scores); an empty S_i is left alone; q.ψ is 0 before the first update.
m = α|S_i|/k of the first column is never more than |S_i|, so α|S|/k is read, as in Hébert-Johnson et al. β of Figure 1
is .05, T of the input perturbation no limit on updates; k is the example's 3 unless said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .adult import Part
from .scores import GROUPS, bucket, members

__all__ = ["Free", "K", "Update", "input_perturbation", "multicalibrated", "numeric_sparse", "passes", "replayed"]

BETA, K = 0.05, 3
_MOST_SWEEPS = 200


@dataclass(frozen=True, slots=True)
class Free:
    """A column of Figure 1.

    Attributes
    ----------
    least, least_share : float
        m = least + least_share·|S|.
    most_updates : float
        j.
    threshold : float
        2ωN/|S_i|: the threshold on |r||S_i| is this times |S_i|.
    size, query, refreshed, answer : float
        ψ₁, ψ₂, ψ₃, ψ₄: scales of Laplace noise.
    """

    least: float
    least_share: float
    most_updates: float
    threshold: float
    size: float = 0.0
    query: float = 0.0
    refreshed: float = 0.0
    answer: float = 0.0


@dataclass(frozen=True, slots=True)
class Update:
    """What the oracle answered: r is added to the scores of `group` that lie in interval `bucket`."""

    group: int
    bucket: int
    r: float


def input_perturbation(alpha: float, *, k: int) -> Free:
    """Return the first column of Figure 1: no noise in the oracle; 2ωN = 2·α|S_i|/4n·n, so the threshold is α/2."""
    return Free(0.0, alpha / k, math.inf, threshold=alpha / 2)


def numeric_sparse(alpha: float, epsilon: float, *, groups: int = len(GROUPS)) -> Free:
    """Return the second column of Figure 1; ω comes out as α, so the threshold on |r| is 2α."""
    least = math.log(groups) / (alpha**2 * epsilon)
    updates = math.sqrt(least * epsilon) / math.sqrt(math.log(groups / BETA) + math.log(groups))
    window = math.sqrt(math.log(groups)) / math.sqrt(least * epsilon)
    return Free(
        least, 0.0, updates, 2 * window,
        size=epsilon * math.sqrt(updates), query=9 * updates / (2 * epsilon), refreshed=9 * updates / (4 * epsilon),
        answer=9 * updates / epsilon,
    )  # fmt: skip


def passes(
    free: Free, group: int, size: int, residual: float, noise: NDArray[np.float64], *, threshold_noise: float = 0.0
) -> NDArray[np.bool_]:
    """Return whether the oracle answers with an update rather than ✓, for each row of standard Laplace noise (runs, 2).

    Both checks of Algorithm 2: `size` = |S_i| against m, with |S| = `group`; then |r||S_i| against 2ωN + q.ψ.
    """
    large = size + free.size * noise[:, 0] >= free.least + free.least_share * group
    loud = abs(residual) + free.query * noise[:, 1] >= free.threshold * size + threshold_noise
    return np.asarray(large & loud)


def multicalibrated(
    scores: NDArray[np.float64], part: Part, free: Free, *, rng: np.random.Generator, k: int = K,
    project: bool = False,
) -> list[Update]:  # fmt: skip
    """Return the updates of Algorithm 1, in order.

    Parameters
    ----------
    project : bool
        Whether scores are kept in [0, 1] after each update. As printed they are not.
    """
    groups, current = members(part), scores.copy()
    sizes = [int(count) for count in groups.sum(axis=1)]
    updates: list[Update] = []
    threshold_noise = 0.0
    for _ in range(_MOST_SWEEPS):
        before = len(updates)
        for group in range(len(groups)):
            for interval in range(k):
                if len(updates) >= free.most_updates:
                    return updates
                inside = groups[group] & (bucket(current, k) == interval)
                size = int(inside.sum())
                if not size:
                    continue
                residual = float((part.label[inside] - current[inside]).sum())
                noise = rng.laplace(size=(1, 2))
                if not passes(free, sizes[group], size, residual, noise, threshold_noise=threshold_noise)[0]:
                    continue
                threshold_noise = float(free.refreshed * rng.laplace())
                r = (residual + free.answer * float(rng.laplace())) / size
                updates.append(Update(group, interval, r))
                current[inside] = current[inside] + r
                if project:
                    current[inside] = np.clip(current[inside], 0.0, 1.0)
        if len(updates) == before:
            return updates
    return updates


def replayed(
    updates: list[Update], scores: NDArray[np.float64], part: Part, *, k: int = K, project: bool = False
) -> NDArray[np.float64]:
    """Return the scores that the post-processed classifier gives to rows: the updates one after the other."""
    groups, current = members(part), scores.copy()
    for update in updates:
        inside = groups[update.group] & (bucket(current, k) == update.bucket)
        current[inside] = current[inside] + update.r
        if project:
            current[inside] = np.clip(current[inside], 0.0, 1.0)
    return current
