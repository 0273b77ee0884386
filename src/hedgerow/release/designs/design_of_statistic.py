"""Which method serves which statistic: decided from public facts before data are read, with the reason in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law, law_named
from hedgerow.release.designs.column_distribution import DistributionStatistic
from hedgerow.release.designs.design import Design, NoiseLaw, PublicFacts, check_midpoint
from hedgerow.release.designs.joint.joint_release import joint_release, shares_release
from hedgerow.release.designs.joint.joint_statistic import JointStatistic
from hedgerow.release.designs.plain_counts import CountsDesign
from hedgerow.release.designs.replicates_read import resampled_of
from hedgerow.release.designs.row_bootstrap import BootstrapDesign, replicates_for
from hedgerow.release.designs.sums import MomentsDesign, check_membership
from hedgerow.release.designs.survival_design import SurvivalDesign, SurvivalRelease
from hedgerow.release.designs.table_choice import distribution_release
from hedgerow.release.designs.unit_bootstrap import unit_design
from hedgerow.release.options import REPLICATED
from hedgerow.release.request import Request
from hedgerow.statistics.statistic import Statistic
from hedgerow.statistics.survival import Survival

ASKED = "asked for"
_REASONS: dict[str, str] = {
    "geometric": "plain counts: two-sided geometric noise is the least that meets this budget",
    "gaussian": "plain counts: Gaussian noise composes best with the rest of this release",
    "moments": "one vector release gives the estimate and its standard error, narrower than any bootstrap of a mean",
    "bootstrap": "a statistic of one's own has no cheap second moment, so its error comes from resamples",
    "survival": "one table of counts tells the whole survival curve, and its noise is known",
    "joint": "one vector of joint moments gives all smooth functions of means with their errors: {chosen}{other}",
}


_Group = tuple[Missing, tuple[str, ...]]
_MOST_COLUMNS, _FEW = 12, 4


def is_joint(statistic: Statistic, request: Request, facts: PublicFacts) -> bool:
    """Whether a statistic is read from joint moments: a smooth function of means, unless replicates are asked for."""
    counted = statistic.family == "counts" and facts.weights is None and (facts.limit is None or statistic.of_units)
    apart = request.membership or request.about_zero
    if counted or not (statistic.powers or statistic.is_count) or apart:
        return False
    if facts.limit is not None and facts.census:
        return False
    if (statistic.family == "function" or facts.limit is not None) and (
        request.n_resamples is not None or request.interval is not None
    ):
        return False
    return request.estimator in ("auto", "moments")


def counts_join(request: Request, facts: PublicFacts) -> bool:
    """Whether counts and shares of a call could be read from its joint moments: there are others to go with."""
    if facts.totalled:
        return False
    asked = [statistic for statistic in request.statistics if not _is_public(statistic, request, facts)]
    counted = [statistic for statistic in asked if statistic.family == "counts"]
    read = [
        statistic
        for statistic in asked
        if statistic.columns and (statistic.family == "counts" or is_joint(statistic, request, facts))
    ]
    joins = bool(counted and read) and Missing.MIDPOINT not in request.policies
    return joins and (request.estimator == "moments" or (request.estimator == "auto" and len(asked) > 1))


def joint_designs(request: Request, facts: PublicFacts, *, counted: bool = False) -> dict[int, JointStatistic]:
    """Return the designs of the statistics that are read from joint moments, by their place in the request.

    Statistics share a release, each over the records that have its own columns, unless their columns are too many, or
    the products of powers that tell the covariances of variances and the like are of too many columns. Those of units
    of several rows, and of weighted rows, share one where the same rows count. Counts and shares are among them if
    `counted`.

    Raises
    ------
    ParameterError
        HG114: the midpoint for a missing value.
    """
    groups: dict[_Group, list[int]] = {}
    joint = {
        place: statistic
        for place, statistic in enumerate(request.statistics)
        if is_joint(statistic, request, facts)
        or (counted and statistic.family == "counts" and not _is_public(statistic, request, facts))
    }
    if counted:
        # All records count in any release, whatever becomes of missing values.
        joint = dict(sorted(joint.items(), key=lambda item: (item[1].is_count, item[0])))
    for place, statistic in joint.items():
        missing = request.policies[place]
        check_midpoint(statistic, missing)
        # Rows that are added up count where they have all values of a release.
        rows = facts.totalled and missing is Missing.DROP
        group = (missing, tuple(sorted(statistic.columns)) if rows else ())
        with_others = counted and statistic.is_count and bool(groups)
        groups.setdefault(next(iter(groups)) if with_others else group, []).append(place)
    releases = list(_divided(groups, request.statistics))
    alone = all(
        place in joint or _is_public(statistic, request, facts) for place, statistic in enumerate(request.statistics)
    )
    laws = _laws_of_joint(request, len(releases) if alone else 0)
    designs: dict[int, JointStatistic] = {}
    for missing, places in releases:
        asked = [request.statistics[place] for place in places]
        shares = [request.shares[place] for place in places]
        budget = request.budget if alone and len(releases) == 1 else _part(request, sum(shares))
        release = joint_release(asked, request.by, facts, missing, budget=budget, laws=laws, shares=shares)
        other = release.choice.runner_up
        beside = "" if other is None else f" (next best: {other.name})"
        reason = _REASONS["joint"].format(chosen=release.choice.name, other=beside)
        for k, (place, own) in enumerate(zip(places, asked, strict=True)):
            designs[place] = JointStatistic(own, release, k, reason)
    return designs


def is_of_table(statistic: Statistic, request: Request, facts: PublicFacts) -> bool:
    """Whether a statistic is read from the distribution of its column, and not from replicates."""
    if not statistic.of_table or request.estimator != "auto" or request.draws is not None:
        return False
    return statistic.family == "distribution" or (request.n_resamples is None and request.interval is None)


def distribution_designs(request: Request, facts: PublicFacts) -> dict[int, DistributionStatistic]:
    """Return the designs of what is read from distributions, by place: one table for each column on one grid.

    Raises
    ------
    ParameterError
        HG114: the midpoint for a missing value.
    """
    places = [place for place, statistic in enumerate(request.statistics) if is_of_table(statistic, request, facts)]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for declared in (True, False):
        for place in places:
            statistic, missing = request.statistics[place], request.policies[place]
            if statistic.grid.declared is not declared:
                continue
            check_midpoint(statistic, missing)
            grid = statistic.grid
            about = (statistic.grids[0][0], missing, grid.lower, grid.upper)
            # What declares no step is read from a table that another statistic of the column has.
            same = next((key for key in groups if key[:-1] == about), None) if not declared else None
            groups.setdefault(same or (*about, grid.steps if declared else 0), []).append(place)
    others = [statistic for place, statistic in enumerate(request.statistics) if place not in places]
    alone = len(groups) == 1 and all(_is_public(statistic, request, facts) for statistic in others)
    designs: dict[int, DistributionStatistic] = {}
    for own in groups.values():
        budget = request.budget if alone else _part(request, sum(request.shares[place] for place in own))
        asked = [request.statistics[place] for place in own]
        laws = _laws_of_table(request, alone)
        missing = request.policies[own[0]]
        release, reason = distribution_release(asked, request.by, facts, missing, budget=budget, laws=laws)
        designs |= {place: DistributionStatistic(request.statistics[place], release, reason) for place in own}
    return designs


def survival_designs(request: Request, facts: PublicFacts, law: NoiseLaw) -> dict[int, SurvivalDesign]:
    """Return the designs of survival by place: one table for all times of one curve.

    Raises
    ------
    ParameterError
        HG114: the midpoint for a missing value.
    UncertifiedError
        HG402: units of several rows.
    """
    designs: dict[int, SurvivalDesign] = {}
    tables: dict[tuple[Any, ...], list[tuple[int, Survival]]] = {}
    for place, statistic in enumerate(request.statistics):
        if statistic.family == "survival" and request.estimator == "auto":
            key = (statistic.shared_table, request.policies[place])
            tables.setdefault(key, []).append((place, cast(Survival, statistic)))
    for (_, missing), asked in tables.items():
        check_midpoint(asked[0][1], missing)
        places = tuple(sorted({statistic.place for _, statistic in asked}))
        release = SurvivalRelease(asked[0][1], places, request.by, facts, missing, law, request.draws or 1)
        reason = _REASONS["survival"] if request.noise == "auto" else ASKED
        designs |= {place: SurvivalDesign(statistic, release, reason) for place, statistic in asked}
    return designs


def _laws_of_table(request: Request, alone: bool) -> tuple[Literal["gaussian", "laplace"], ...]:
    """Return the laws that a table of counts may take; beside other statistics Gaussian noise composes best."""
    if request.noise == "laplace" or request.budget.delta == 0.0:
        return ("laplace",)
    return ("laplace", "gaussian") if alone and request.noise == "auto" else ("gaussian",)


def _divided(
    groups: Mapping[_Group, list[int]], statistics: Sequence[Statistic]
) -> Iterator[tuple[Missing, list[int]]]:
    """Yield what is released as a whole: of so many columns at most, and of products of so few."""
    for (missing, _), places in groups.items():
        parts: list[list[int]] = [[]]
        for place in places:
            wider = [statistics[member] for member in (*parts[-1], place)]
            fits = len({column for statistic in wider for column in statistic.columns}) <= _MOST_COLUMNS
            if parts[-1] and not (fits and shares_release(wider)):
                parts.append([])
            parts[-1].append(place)
        yield from ((missing, part) for part in parts)


def _is_public(statistic: Statistic, request: Request, facts: PublicFacts) -> bool:
    """Whether the answer is public: the number of records of all cells together, where the relation shows it."""
    of_units = facts.limit is None or statistic.of_units
    return statistic.is_count and facts.relation is Relation.REPLACE_ONE and not request.by and of_units


def _laws_of_joint(request: Request, releases: int) -> tuple[Law, ...]:
    """Return the laws that so many joint releases may take; 0: beside others, with which Gaussian noise composes best.

    Of a few numbers in all Laplace noise is less.
    """
    if request.noise != "auto" and not (request.noise == "gaussian" and request.budget.delta == 0.0):
        return (law_named(request.noise, request.draws),)
    if request.budget.delta == 0.0:
        return (LAPLACE,)
    if releases == 0:
        return (GAUSSIAN,)
    return (LAPLACE, GAUSSIAN) if releases == 1 else (LAPLACE,) if releases <= _FEW else (GAUSSIAN,)


def _part(request: Request, share: float) -> Budget:
    """Return about what a share of the noise precision buys: for the choice of weights alone."""
    return Budget(max(request.budget.epsilon * math.sqrt(share), 1e-3), request.budget.delta)


def laws_of_counts(request: Request, facts: PublicFacts) -> Sequence[NoiseLaw]:
    """Return the kinds of noise that counts may take at this budget.

    Raises
    ------
    ParameterError
        HG117: a bootstrap or Gaussian noise at δ = 0.
    """
    if request.draws is not None:
        return ("averaged-laplace",)
    if request.budget.delta == 0.0:
        _check_pure(request, facts)
        return ("geometric",)
    if request.noise == "laplace":
        return ("geometric",)
    counted = any(statistic.family in ("counts", "survival") for statistic in request.statistics)
    chosen = counted and request.estimator == request.noise == "auto"
    return ("geometric", "gaussian") if chosen else ("gaussian",)


def _check_pure(request: Request, facts: PublicFacts) -> None:
    """Refuse what needs δ > 0 (HG117)."""
    resampled = request.estimator in REPLICATED or any(
        statistic.family == "function"
        and not is_joint(statistic, request, facts)
        and not is_of_table(statistic, request, facts)
        for statistic in request.statistics
    )
    if resampled or request.noise == "gaussian":
        raise ParameterError(
            "HG117",
            rule="The bootstrap needs `delta` above 0." if resampled else '`noise="gaussian"` needs `delta` above 0.',
            finding="delta=0 was given.",
            remedy="Give delta=1e-6."
            if resampled
            else 'Use noise="laplace" (or "auto") for a pure guarantee, or give delta=1e-6.',
        )


def choose_design(
    statistic: Statistic, request: Request, facts: PublicFacts, *, law: NoiseLaw, share: float, missing: Missing
) -> Design[Any, Any] | None:
    """Return how a statistic is released, missing values by its policy; None where the answer is public.

    Raises
    ------
    ParameterError
        HG108: the method does not serve the statistic.
    """
    if request.membership:
        check_membership(statistic, facts, missing)
    if facts.weights is not None:
        raise _unserved("An option for replicates or for noise", statistic, "no such option beside weights")
    if facts.limit is not None and not statistic.of_units:
        return unit_design(statistic, request, facts, share=share, missing=missing)
    if missing is Missing.MIDPOINT:
        statistic = statistic.with_midpoint()
    if _is_public(statistic, request, facts):
        return None
    if statistic.family in ("distribution", "survival"):
        raise _unserved(_apart(request), statistic, 'estimator="auto"')
    if request.estimator in REPLICATED or statistic.family == "function":
        if request.estimator == "moments":
            raise _unserved('estimator="moments"', statistic, 'estimator="bootstrap" or "auto"')
        if request.noise == "laplace":
            raise _unserved('noise="laplace"', statistic, 'noise="gaussian" or "auto": a bootstrap has Gaussian noise')
        return _bootstrap(statistic, request, facts, share, missing)
    if statistic.family == "moments":
        return _moments(statistic, request, facts, missing)
    if request.estimator == "moments":
        raise _unserved('estimator="moments"', statistic, 'estimator="auto", with noise="laplace" or "gaussian"')
    reason = _REASONS[law] if request.noise == "auto" else ASKED
    return CountsDesign(statistic, request.by, facts, missing, law, reason, request.draws or 1)


def _apart(request: Request) -> str:
    """Return which option keeps a statistic from being read from a distribution."""
    return f'estimator="{request.estimator}"' if request.estimator != "auto" else f'noise="{request.noise}"'


def _moments(statistic: Statistic, request: Request, facts: PublicFacts, missing: Missing) -> MomentsDesign:
    if request.draws is not None:
        named: NoiseLaw = "averaged-laplace"
        return MomentsDesign(
            statistic, request.by, facts, missing, named, named, ASKED, request.membership, request.draws
        )
    pure = request.budget.delta == 0.0 or request.noise == "laplace"
    law: NoiseLaw = "geometric" if pure else "gaussian"
    # Without a second moment a vector of moments is a plain Gaussian release, and was always called so.
    plain = facts.census and request.noise == "gaussian" and request.estimator != "moments"
    method = "geometric" if pure else "gaussian" if plain else "moments"
    reason = "a pure guarantee (δ = 0)" if request.budget.delta == 0.0 else _REASONS["moments"]
    return MomentsDesign(
        statistic,
        request.by,
        facts,
        missing,
        law,
        method,
        reason if request.estimator == request.noise == "auto" else ASKED,
        request.membership,
    )


def _bootstrap(
    statistic: Statistic, request: Request, facts: PublicFacts, share: float, missing: Missing
) -> Design[Any, Any]:
    check_midpoint(statistic, missing)
    resampled = resampled_of(statistic, public=facts.in_one_cell(request.by, missing))
    resampled.rehearse()
    return BootstrapDesign(
        resampled,
        request.by,
        facts,
        missing,
        request.n_resamples or replicates_for(facts, request.by, request.budget, share),
        request.interval or "calibrated",
        ASKED if request.estimator in REPLICATED else _REASONS["bootstrap"],
        request.estimator if request.estimator in REPLICATED else "bootstrap",
    )


def _unserved(option: str, statistic: Statistic, instead: str) -> ParameterError:
    return ParameterError(
        "HG108",
        rule="The estimator and the noise must serve every statistic of the release.",
        finding=f"{option} does not serve a {statistic.name} here.",
        remedy=f"Use {instead}.",
    )
