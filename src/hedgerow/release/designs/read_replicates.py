"""From one cell's replicates to an estimate with its errors, whether rows or people were resampled. Post-processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.facts.facts import Missing
from hedgerow.inference.bootstrap.bootstrap_basis import BootstrapBasis
from hedgerow.inference.estimate import Estimate
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.resampled_statistic import ReadCell
from hedgerow.release.designs.wording import HIDDEN, MIDPOINT, NOT_RELIABLE, SMALL_COUNT, covers
from hedgerow.resampling.statistic import Count, Statistic


def bootstrap_estimate(
    read: ReadCell,
    statistic: Statistic,
    *,
    cell: Mapping[str, Any],
    facts: PublicFacts,
    missing: Missing,
    n_resamples: int,
    interval: str,
    notes: Sequence[str] = (),
) -> Estimate:
    """Return the estimate of one cell; `notes` come after what is said of every bootstrap."""
    basis = BootstrapBasis(read.replicates, read.low, read.high, read.defined, interval, facts.census, read.margin)
    parts = basis.parts() if read.defined else None
    counted = isinstance(statistic, Count)
    said = [] if read.reliable else [SMALL_COUNT if counted else NOT_RELIABLE]
    said += [HIDDEN] if parts and parts.sampling_error == 0.0 and not facts.census else []
    said += [MIDPOINT] if missing is Missing.MIDPOINT and not counted else []
    return Estimate(
        statistic=statistic.name,
        column=statistic.column,
        cell=cell,
        estimate=read.value,
        sampling_error=parts.sampling_error if parts else None,
        bootstrap_error=parts.bootstrap_error if parts else None,
        privacy_error=parts.privacy_error if parts else None,
        method="bootstrap",
        n_resamples=n_resamples,
        reliable=read.reliable,
        note=" ".join([*said, *notes]) or None,
        covers=covers(statistic, facts),
        basis=basis,
        replicates=read.replicates.estimates or None,
    )
