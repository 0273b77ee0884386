"""The number of records under replace-one: public, exact, without noise and without a price."""

from __future__ import annotations

from hedgerow.inference.counts import exact_count
from hedgerow.inference.estimate import Estimate
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.wording import PUBLIC_COUNT


def public_count(facts: PublicFacts) -> Estimate:
    """Return n, labelled as what it is."""
    basis = exact_count(facts.n or 0)
    return Estimate(
        statistic="count",
        column=None,
        cell={},
        estimate=basis.a,
        sampling_error=0.0,
        bootstrap_error=0.0,
        privacy_error=0.0,
        method="public",
        n_resamples=None,
        reliable=True,
        note=PUBLIC_COUNT,
        covers="the number of records of this file, which replace-one makes public",
        basis=basis,
    )
