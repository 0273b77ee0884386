"""From a plan to its price, and from a reserved price to the estimates.

Order: plan (from public facts) → certificate → reserve (`hedgerow.release.spend`), from here on spent → histogram →
noise → estimates → record. There is no refund: if a step after the reservation fails, what was reserved stays spent,
and the message is fixed text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.engines.query import Query, SumsQuery
from hedgerow.engines.source import Source, count_units, sums_together
from hedgerow.engines.streamed import Rows, Streams
from hedgerow.errors import SpentError
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import Estimates
from hedgerow.inference.means_and_counts import exact_count
from hedgerow.inference.region import ScoreRegion
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.designs.design import PUBLIC_COUNT, Design, PublicFacts
from hedgerow.release.plan import Plan
from hedgerow.release.spend import whatever_fails_is_spent
from hedgerow.resampling.counted_values import GridSums, Histogram

Answer = Histogram | GridSums | Rows


def public_count(facts: PublicFacts, name: str) -> Estimate:
    """Return n, labelled as what it is, by the name of the statistic."""
    return Estimate(
        statistic=name,
        column=None,
        cell={},
        estimate=float(facts.n or 0),
        sampling_error=0.0,
        bootstrap_error=0.0,
        privacy_error=0.0,
        method="public",
        n_resamples=None,
        reliable=True,
        note=PUBLIC_COUNT,
        covers="the number of records of this file, which replace-one makes public",
        _region=ScoreRegion(exact_count(facts.n or 0)),
    )


def certificate_of(plan: Plan, narrowed: str | None = None) -> Certificate:
    """Return the certificate of the plan. It depends on public facts alone, so it is made before data are read.

    By `narrowed` records may not differ as much as the mechanism allows, for another reason than those of a plan.
    """
    profile = None if plan.calibrated is None else plan.calibrated.profile
    return certify(
        plan.mechanism,
        plan.facts.relation,
        unit=str(plan.facts.unit),
        delta=plan.request.budget.delta if plan.calibrated else 0.0,
        profile=profile,
        assumptions=plan.assumptions(),
        narrowed=plan.narrowed() if narrowed is None else narrowed,
    )


def run_reserved(plan: Plan, source: Source, noise: NoiseSource) -> list[AdditiveTable | None]:
    """Read and add noise: the tables of `draw_tables`. Whatever fails in here fails after the price was reserved.

    Raises
    ------
    SpentError
        HG601 the source could not be read to the end, HG602 a false declaration, HG603 the data changed meanwhile.
    """
    return whatever_fails_is_spent(lambda: draw_tables(plan, read_histograms(plan, source), noise))


def read_histograms(plan: Plan, source: Source) -> dict[Query | SumsQuery, Answer]:
    """Ask each different question once, and all questions about sums together."""
    answers: dict[Query | SumsQuery, Answer] = {}
    streamed = plan.streamed()
    for query in (questions := plan.questions()):
        if isinstance(query, SumsQuery):
            answers.update(sums_together(source, questions[query]).items())
        elif query in streamed and isinstance(source, Streams):
            answers[query] = Rows(source, query)
            continue
        else:
            answers[query] = source.histogram(query)
        check_unchanged(plan.facts, answers[query], source)
    return answers


def draw_tables(plan: Plan, answers: Mapping[Any, Answer], noise: NoiseSource) -> list[AdditiveTable | None]:
    """Draw fresh noise for every release, once where statistics share one; None where the answer is public."""

    def draw(design: Design[Any, Any], mechanism: AtomicMechanism) -> AdditiveTable:
        answer = answers[design.query]
        table: AdditiveTable = design.table(answer, mechanism, noise)
        if isinstance(answer, Rows):
            check_rows(plan.facts, answer.total())
        return table

    return plan.each_drawn(draw)


def read_estimates(plan: Plan, tables: Sequence[AdditiveTable | None]) -> Estimates:
    """Return the estimates that the tables of `draw_tables` tell."""
    return Estimates(
        (public_count(plan.facts, item.statistic.name),)
        if item.design is None or table is None
        else item.design.estimates(table)
        for item, table in zip(plan.items, tables, strict=True)
    )


def changed() -> SpentError:
    """Return the error of a release whose number of records is public and is no longer what it was (HG603)."""
    return SpentError(
        "HG603",
        rule="Under replace-one the number of records is public and fixed.",
        finding="The number of records changed between planning and reading.",
        remedy="Count the price of this call as spent, and release from a copy of the data that does not change.",
    )


def check_unchanged(facts: PublicFacts, histogram: Answer, source: Source) -> None:
    """Check that there are as many records as were public when the release was planned (HG603)."""
    limit = facts.limit
    if facts.n is not None:
        check_rows(facts, histogram.total() if limit is None else count_units(source, limit.column))


def check_rows(facts: PublicFacts, count: int) -> None:
    """Check that the number of records, or units, that were read is the public one (HG603)."""
    if facts.n is not None and facts.n != count:
        raise changed()
