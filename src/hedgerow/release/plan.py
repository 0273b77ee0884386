"""The plan: what would run and what it would cost, from public facts alone, before any data are read."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.accounting.calibrate import Calibrated, least_noise
from hedgerow.privacy.mechanism import Composition, Mechanism, Single
from hedgerow.release.choice import choose_design, count_families
from hedgerow.release.counts import Family
from hedgerow.release.design import Design, PublicFacts
from hedgerow.release.request import Request
from hedgerow.release.wording import LEFT_OUT
from hedgerow.resampling.statistic import Statistic

__all__ = ["Plan", "PlannedStatistic", "make_plan"]


@dataclass(frozen=True, slots=True)
class PlannedStatistic:
    """One statistic with its design and mechanism; both None where the answer is public and free."""

    statistic: Statistic
    design: Design | None
    mechanism: Single | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What runs if this is executed. Made from public facts; spends and reads nothing."""

    request: Request
    facts: PublicFacts
    items: tuple[PlannedStatistic, ...]
    calibrated: Calibrated | None

    @property
    def mechanism(self) -> Mechanism:
        """What runs as a whole: the one mechanism, or a composition."""
        return Composition(()) if self.calibrated is None else self.calibrated.mechanism

    def notes(self) -> tuple[str, ...]:
        """Return what a reader must know about the release as a whole, from public facts."""
        left_out = any(not category.other for category in self.request.by)
        return (LEFT_OUT,) if left_out else ()

    def reasons(self) -> dict[str, str]:
        """Return, for each method in use, why it was chosen."""
        return {item.design.method: item.design.reason for item in self.items if item.design is not None}


def make_plan(request: Request, facts: PublicFacts) -> Plan:
    """Choose a design for each statistic and the least noise that meets the total budget.

    Noise precision (μ²) is divided by the shares of the request. Where counts may take either family, both are priced
    and the one with less noise for everybody is kept.

    Raises
    ------
    ParameterError
        HG108 a method that does not serve a statistic, HG117 a Gaussian at δ = 0.
    UncertifiedError
        HG401 or HG403 where no certified amount of noise meets the budget.
    """
    plans = [_priced(request, facts, family) for family in count_families(request)]
    return max(plans, key=lambda plan: plan.calibrated.precision if plan.calibrated else 0.0)


def _priced(request: Request, facts: PublicFacts, family: Family) -> Plan:
    designs = [
        choose_design(statistic, request, facts, family=family, share=share)
        for statistic, share in zip(request.statistics, request.shares, strict=True)
    ]
    shares = [share if design else 0.0 for share, design in zip(request.shares, designs, strict=True)]
    total = sum(shares)

    def build_parts(precision: float) -> tuple[Single | None, ...]:
        # μ² is what adds up, so a share of the precision is a share of μ².
        return tuple(
            design.mechanism(precision * (share / total) ** 0.5) if design else None
            for design, share in zip(designs, shares, strict=True)
        )

    def build(precision: float) -> Mechanism:
        parts = tuple(part for part in build_parts(precision) if part is not None)
        return parts[0] if len(parts) == 1 else Composition(parts)

    calibrated = least_noise(build, facts.relation, request.budget) if total > 0 else None
    mechanisms = build_parts(calibrated.precision) if calibrated else (None,) * len(designs)
    items = tuple(
        PlannedStatistic(statistic, design, mechanism)
        for statistic, design, mechanism in zip(request.statistics, designs, mechanisms, strict=True)
    )
    return Plan(request, facts, items, calibrated)
