"""The plan: what would run and what it would cost, from public facts alone, before any data are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack

from hedgerow.accounting.calibrate import Calibrated, least_noise, surely_over
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.engines.source import ColumnSource, as_sent, units_query
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import CellLabels, Missing
from hedgerow.facts.declared import Facts, Protection
from hedgerow.facts.relation import Relation, UnitLimit
from hedgerow.mechanisms.interface import AtomicMechanism, Mechanism
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.designs.design import (
    END_PAIR,
    LEFT_OUT,
    PUBLIC_MEMBERSHIP,
    Design,
    NoiseLaw,
    PlannedStatistic,
    PublicFacts,
    declared_complete,
    missing_in_words,
    only_where,
)
from hedgerow.release.designs.design_of_statistic import (
    choose_design,
    counts_join,
    distribution_designs,
    joint_designs,
    laws_of_counts,
    survival_designs,
)
from hedgerow.release.many_cells import MOST_CELLS, check_many_cells
from hedgerow.release.options import PlanOptions
from hedgerow.release.request import Context, Request, parse_request

if TYPE_CHECKING:
    from hedgerow.release.forecast import Forecast


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """The plan of a release: the mechanisms that will run, and their privacy price.

    A plan uses public facts only and spends no budget.

    Attributes
    ----------
    request : Request
        The request, completed by the facts.
    facts : PublicFacts
        The neighbouring relation, the privacy unit, and the number of records n if it is public.
    items : tuple of PlannedStatistic
        The planned statistics, each with its mechanism.
    calibrated : Calibrated or None
        The smallest noise that meets the budget, which the calibration found. The attribute `calibrated` is None if the
        release costs no budget.
    source : ColumnSource or None
        The data source for which the plan was made. The method `query` shows the SQL questions to the data source.
    """

    request: Request
    facts: PublicFacts
    items: tuple[PlannedStatistic, ...]
    calibrated: Calibrated[Mechanism] | None
    source: ColumnSource | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        cells, count = self.cells, len(self.items)
        what = f"{count} statistic{'s' * (count != 1)} of {cells} cell{'s' * (cells != 1)}"
        return f"<Plan of {what}, ε ≤ {self.epsilon:.6g} at δ = {self.delta:.3g}, {self.facts.relation}>"

    def __str__(self) -> str:
        return "\n".join([repr(self), *(self._line(item) for item in self.items)])

    def _repr_html_(self) -> str:
        return self.forecast().card(*self.headline())

    def headline(self) -> tuple[str, tuple[str, ...]]:
        """Return the title and the lines of the notebook card: the privacy price, and the reason for each method."""
        price = f"ε ≤ {self.epsilon:.6g} at δ = {self.delta:.3g}, {self.facts.relation}, unit {self.facts.unit}"
        reasons = (f"{method}: {reason}" for method, reason in self.reasons().items())
        return repr(self)[1:-1].partition(", ε")[0], (price, *reasons)

    def _line(self, item: PlannedStatistic) -> str:
        name = item.statistic.name + (f" of {item.statistic.column}" if item.statistic.column else "")
        design = item.design
        return f"{name}: " + ("public, exact and free" if design is None else f"{design.method}: {design.reason}")

    @property
    def epsilon(self) -> float:
        """The price, an upper bound on ε at `delta`, before it is rounded up on a certificate."""
        return 0.0 if self.calibrated is None else self.calibrated.epsilon_upper

    @property
    def delta(self) -> float:
        """The δ of the price."""
        return 0.0 if self.calibrated is None else self.request.budget.delta

    @property
    def mu(self) -> float | None:
        """The μ of a budget that was given as ρ or μ. None if the budget was given as ε."""
        return None if self.calibrated is None else self.request.budget.mu

    @property
    def cells(self) -> int:
        """The number of cells of each statistic."""
        return math.prod(category.levels for category in self.request.by)

    @property
    def labels(self) -> CellLabels:
        """The cells, each a dict of column and category, in the order of the estimates."""
        return CellLabels(self.request.by)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the whole release, which is a single mechanism or a composition of several mechanisms."""
        return Composition(()) if self.calibrated is None else self.calibrated.mechanism

    @property
    def in_words(self) -> tuple[str, ...]:
        """The request in words, with its statistics, its cells, the records that count, and missing values."""
        request = self.request
        cells = [f"by {group.column}: {', '.join(map(str, group.values))}" for group in request.groups]
        cells = [f"{line}, other" if group.other else line for line, group in zip(cells, request.groups, strict=True)]
        selected = [] if request.where is None else [only_where(request.where)]
        weighted = [] if request.weights is None else [f"records {request.weights.in_words}"]
        asked = zip(request.statistics, request.policies, strict=True)
        missing = missing_in_words({column: policy for statistic, policy in asked for column in statistic.columns})
        outside = [LEFT_OUT] if any(not group.other for group in request.groups) else []
        said = (statistic.in_words() for statistic in request.statistics)
        return (*said, *cells, *selected, *weighted, *missing, *outside)

    def forecast(
        self, guess: Mapping[str, Mapping[str, Any]] | None = None, *, n: int | None = None, level: float = 0.95
    ) -> Forecast:
        """Return the errors that this release is expected to have, for a guess that was made without the data.

        Parameters
        ----------
        guess : {column: {"mean": …, "sd": …, "share": …, "missing": …, "correlation": {other: …}}}, optional
            A guess of the mean, standard deviation and other moments of each column. A moment without a guess takes the
            value with the largest forecast error, and columns are assumed to be independent. For quantiles and shares
            of a skewed column, the guess may also contain ``"quantiles": {0.1: …, 0.5: …, 0.9: …}``, or a distribution
            by name (``"law": "lognormal"``, "gamma" or "beta") with its mean and sd. If the guess contains neither
            quantiles nor a distribution, three intervals are forecast, for a lognormal, a gamma and a beta
            distribution, and the widest of the three is returned. With a condition `where`, the entry ``{"where":
            {"share": …}}`` guesses the share of records that satisfy the condition. Without a guess of the share of
            records that satisfy the condition, only the error of the noise is forecast. For a privacy unit with several
            rows, the guess of the mean and sd of the column that names the unit describes the number of rows of one
            unit. With a guess of the number of rows of one unit, the forecast includes the share of units that exceed
            the limit of rows, whose further rows are dropped.
        n : int, optional
            A guess of the number of records, which is needed under add-remove, where the number is private.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        Forecast
            The expected errors of each estimate, in the order of the estimates.

        Raises
        ------
        ParameterError
            HG707: the guess is impossible. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> plan = survey.plan(hg.mean("age", bounds=(0, 100), step=1), epsilon=1.0)
        >>> plan.forecast({"age": {"mean": 40, "sd": 10}})[0].standard_error < plan.forecast()[0].standard_error
        True
        """
        from hedgerow.release.forecast import forecast

        return forecast(self.items, self.facts, cells=self.cells, guess=guess, n=n, level=level)

    def advice(self, guess: Mapping[str, Mapping[str, Any]] | None = None, *, n: int | None = None) -> tuple[str, ...]:
        """Return which statistics would have less noise if their columns had no missing values, and how much less.

        If records with missing values are dropped, the number of remaining records is private and needs noise of its
        own. The noise on the number of records enlarges the error of a mean that lies far from the midpoint of its
        bounds. The gain is the difference between two forecasts for the same guess: one with complete columns, and one
        with missing values. A column without a guess is assumed to have a mean near its lower bound. A gain below 5 %
        of the standard error is not reported. No data are read: the caller must know whether a column has missing
        values.

        Parameters
        ----------
        guess, n
            The guess of moments and the number of records, as in `forecast`.

        Returns
        -------
        tuple of str
            One sentence for each statistic that would have less noise in a call of its own. The tuple is empty if no
            statistic would have less noise.

        Raises
        ------
        ParameterError
            HG707: the guess is impossible.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"pay": [30.0, 50.0] * 500}), relation="replace-one")
        >>> plan = survey.plan([hg.mean("pay", bounds=(0, 1000))], epsilon=1.0)
        >>> print(plan.advice()[0].partition(", and")[0])
        If every record has a value of pay, declare that: mean of pay has 1.6 times less noise
        >>> survey.plan([hg.mean("pay", bounds=(0, 1000))], epsilon=1.0, missing="error-if-declared-complete").advice()
        ()
        """
        pairs = list(zip(self.request.statistics, self.request.policies, strict=True))
        dropped = [policy is Missing.DROP and bool(statistic.columns) for statistic, policy in pairs]
        if not any(dropped):
            return ()
        policies = (
            Missing.DECLARED_COMPLETE if drop else policy for drop, (_, policy) in zip(dropped, pairs, strict=True)
        )
        complete = make_plan(replace(self.request, policies=tuple(policies)), self.facts)
        near = {} if guess is None else dict(guess)
        for column, grid in (each for statistic, _ in pairs for each in statistic.grids):
            known = near.get(column, {})
            if "mean" not in known and "sd" not in known:
                near[column] = {**known, "mean": float(grid.lower + (grid.upper - grid.lower) * _NEAR)}
        sentences = []
        forecasts = zip(self.forecast(near, n=n), complete.forecast(near, n=n), self.request.statistics, strict=True)
        for before, after, statistic in forecasts:
            gain = (before.privacy_error or 0.0) / (after.privacy_error or math.inf)
            in_all = (before.standard_error or 0.0) / (after.standard_error or math.inf)
            if in_all >= _WORTH_SAYING:
                columns = " and ".join(statistic.columns)
                sentences.append(_COMPLETE.format(columns, before.label, gain, in_all, before.guess))
        return tuple(sentences)

    def query(self) -> tuple[str, ...]:
        """Return the SQL that `Survey.release` would send for this plan, statement by statement. Nothing is sent.

        The returned SQL is the SQL that runs, except for two parts that are not known before the run. A question about
        privacy units of several rows contains a secret random key, in whose place ``<a secret key …>`` is shown. A
        compressed CSV file, or a CSV file that is not plain UTF-8, is read through a pipe whose path is not known
        before the run. The returned SQL depends only on the request, the facts, and the names and types of columns. The
        method reads no record and spends no budget.

        Raises
        ------
        ParameterError
            HG213: the plan was made without a source, or the source is a frame of pandas, polars, Arrow or Spark, for
            which no SQL is sent.
        DataError
            HG207: the source could not be opened, or the source has changed.

        Examples
        --------
        >>> import duckdb
        >>> import hedgerow as hg
        >>> people = duckdb.sql("SELECT 40.0 AS age FROM range(1000)")
        >>> plan = hg.open(people, relation="replace-one").plan([hg.mean("age", bounds=(0, 100), step=1)], epsilon=1.0)
        >>> [text.startswith("WITH") and "FROM range(1000)" in text for text in plan.query()]
        [True]
        """
        if self.source is None:
            raise ParameterError(
                "HG213",
                rule="A query can be shown only for a plan with a source, because the columns and the engine determine "
                "its text.",
                finding="The plan was made without a data source.",
                remedy="Open the source: hg.open(…).plan(…).query().",
                shell="Name the source, and leave out --n.",
            )
        source, streamed = self.source, self.streamed()
        return tuple(text for query in self.sent() for text in source.statements(query, by_record=query in streamed))

    def sent(self) -> list[Query | SumsQuery]:
        """Return the questions that are sent to the data source, in order.

        Questions about sums are sent together, and the number of records n is compared after each question.
        """
        sent: list[Query | SumsQuery] = []
        for query, sums in self.questions().items():
            sent += as_sent(sums) if sums else [query]
            if self.facts.limit is not None and self.facts.n is not None:
                sent.append(units_query(self.facts.limit.column))
        return sent

    @property
    def designs(self) -> list[Design[Any, Any]]:
        """The designs of the statistics that are not public, one design for each statistic."""
        return [item.design for item in self.items if item.design is not None]

    def each_drawn(
        self, make: Callable[[Design[Any, Any], AtomicMechanism], AdditiveTable]
    ) -> list[AdditiveTable | None]:
        """Return one table of noisy numbers for each statistic.

        Statistics whose noise is drawn together share a table. A statistic whose value is public has no table, and its
        entry is None.
        """
        made: dict[int, AdditiveTable] = {}
        tables: list[AdditiveTable | None] = []
        for item in self.items:
            if item.design is None or item.mechanism is None:
                tables.append(None)
                continue
            whole = id(item.design.drawn)
            made[whole] = made[whole] if whole in made else make(item.design, item.mechanism)
            tables.append(made[whole])
        return tables

    def places(self) -> Iterator[tuple[range, PlannedStatistic]]:
        """Yield each statistic of the plan, with the positions of its estimates in the release."""
        place = 0
        for item in self.items:
            yield range(place, place := place + (1 if item.design is None else self.cells)), item

    def questions(self) -> dict[Query | SumsQuery, list[SumsQuery]]:
        """Return each distinct question to the data source once, in order.

        All questions about sums are sent together with the first of them.
        """
        queries = dict.fromkeys(design.query for design in self.designs)
        sums = [query for query in queries if isinstance(query, SumsQuery)]
        return {
            query: sums if query in sums else []
            for query in queries
            if not isinstance(query, SumsQuery) or query is sums[0]
        }

    def streamed(self) -> set[Query | SumsQuery]:
        """Return the questions for which records are read one by one: those of bootstraps with fine grids."""
        counted = {design.query for design in self.designs if not design.streams}
        return {design.query for design in self.designs} - counted

    def public_record(self) -> dict[str, Any]:
        """Return the request as plain JSON data. Two requests are the same request if their JSON data are equal."""
        request = self.request
        return {
            "statistics": [statistic.public_record() for statistic in request.statistics],
            **request.public_record(),
            **self.facts.record(),
        }

    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions on the certificate: facts on which the price depends, and facts without a source."""
        pairs = zip(self.request.statistics, self.request.policies, strict=True)
        complete = dict.fromkeys(
            statistic.column for statistic, policy in pairs if statistic.column and policy is Missing.DECLARED_COMPLETE
        )
        return (*map(declared_complete, complete), *self._computed(), *self.request.notes)

    def _computed(self) -> Iterator[str]:
        """Yield what the price rests on beside proofs."""
        if self.request.membership:
            yield PUBLIC_MEMBERSHIP
        scanned = self.facts.relation is Relation.REPLACE_ONE and any(
            item.mechanism is not None and item.mechanism.end_pair_computed for item in self.items
        )
        if scanned:
            yield END_PAIR
        if any(design.runs_code for design in self.designs):
            yield "the functions of columns that define features keep nothing from one record to the next"

    def narrowed(self) -> str:
        """Return the reason why neighbouring data sets differ less than the mechanism allows.

        The text is empty if the columns of a record can vary freely.
        """
        if self.request.where is not None:
            return "Records that `where` leaves out may be the worst ones."
        if self.request.weights is not None:
            return "A weighted value is at most its weight: the two do not vary freely."
        if self.request.derived:
            return "A column is computed from others: its values may not vary freely."
        groups = {category.column for category in self.request.by}
        if any(groups.intersection(statistic.columns) for statistic in self.request.statistics):
            return "A column of `by` is released too: within a cell its values do not vary freely."
        for reason in filter(None, (design.narrowed for design in self.designs)):
            return reason
        # What is drawn apart must be able to differ at once: in columns of its own, and in the same cells.
        released: dict[int, set[str]] = {}
        for item in self.items:
            if item.design is not None:
                released.setdefault(id(item.design.drawn), set()).update(item.statistic.columns)
        columns = [column for own in released.values() for column in own]
        if len(set(columns)) < len(columns) or (len(released) > 1 and groups and self.facts.n is not None):
            return "It was not shown that one pair of records is the worst for all parts."
        return ""

    def notes(self) -> tuple[str, ...]:
        """Return the notes about the release as a whole, which follow from public facts."""
        left_out = any(not category.other for category in self.request.groups)
        selected = () if self.request.where is None else (only_where(self.request.where),)
        return (*selected, LEFT_OUT) if left_out else selected

    def reasons(self) -> dict[str, str]:
        """Return the reason for each method that the release uses."""
        reasons = {design.method: design.reason for design in self.designs if design.drawn is design}
        # Of what several statistics share, each reason is told.
        shared = dict.fromkeys((design.method, design.reason) for design in self.designs if design.drawn is not design)
        for method, reason in shared:
            reasons[method] = "; ".join([*([reasons[method]] if method in reasons else []), reason])
        return reasons


class PlanHolder:
    """What a product with one plan says of the plan: its public facts, its price, and its questions."""

    __slots__ = ()
    plan: Plan

    @property
    def facts(self) -> PublicFacts:
        """The neighbouring relation, the privacy unit, and the number of records n if it is public."""
        return self.plan.facts

    @property
    def epsilon(self) -> float:
        """The price, an upper bound on ε at `delta`; see `Plan.epsilon`."""
        return self.plan.epsilon

    @property
    def delta(self) -> float:
        """The δ of the price."""
        return self.plan.delta

    def query(self) -> tuple[str, ...]:
        """Return the SQL that is sent, without sending it; see `Plan.query`."""
        return self.plan.query()


def make_plan(request: Request, facts: PublicFacts) -> Plan:
    """Choose a design for each statistic and the least noise that meets the total budget.

    Noise precision (μ²) is divided by the shares of the request. Where counts may take either law, both are priced
    and the one with less noise for everybody is kept.

    Raises
    ------
    ParameterError
        HG108 a method that does not serve a statistic, HG117 a Gaussian at δ = 0.
    UncertifiedError
        HG401 or HG403 where no certified amount of noise meets the budget.
    """
    joins, tables = counts_join(request, facts), distribution_designs(request, facts)

    def together() -> Plan:
        designs: dict[int, Design[Any, Any]] = {**joint_designs(request, facts, counted=True), **tables}
        return _priced(request, facts, "gaussian", designs)

    if joins and request.estimator == "moments":
        return together()
    joint: dict[int, Design[Any, Any]] = {**joint_designs(request, facts), **tables}
    first, *others = laws_of_counts(request, facts)
    apart = _priced(request, facts, first, joint)
    for law in others:
        # A law that exceeds the budget with as little noise as the first needs is not worth a price of its own.
        _, build = _parts(request, facts, law, joint)
        terms = [term for part in build(_precision(apart)).values() for term in part.terms(facts.relation)]
        if not surely_over(terms, request.budget):
            apart = max(apart, _priced(request, facts, law, joint), key=_precision)
    if not joins:
        return apart
    whole = together()
    room = len(request.statistics) * math.log1p(_OF_COVARIANCES)
    return whole if _expected_error(whole) <= _expected_error(apart) + room else apart


_NEAR = Fraction(1, 50)  # of the range: where a mean is taken to be that nobody guessed
_WORTH_SAYING = 1.05
_COMPLETE = (
    "If every record has a value of {0}, declare that: {1} has {2:.1f} times less noise, and an s.e. {3:.2f} times "
    'smaller ({4}), since how many values there are is public then. Say missing="error-if-declared-complete" in the '
    "call or in the facts; a false declaration costs the price and returns nothing"
)
_TYPICAL = 1000  # records of a cell, where their number is private
_OF_COVARIANCES = 0.05  # larger errors are worth it to have the covariances of all statistics of a call


def _expected_error(plan: Plan) -> float:
    """Return the sum of the logarithms of the standard errors that a plan expects where nothing is guessed."""
    from hedgerow.release.forecast import forecast

    expected = forecast(plan.items, replace(plan.facts, where=None), cells=plan.cells, n=_TYPICAL * plan.cells)
    errors = [each.standard_error for each in expected]
    return math.fsum(math.inf if error is None else math.log(error) for error in errors if error is None or error > 0.0)


def _precision(plan: Plan) -> float:
    return plan.calibrated.precision if plan.calibrated else 0.0


def _parts(
    request: Request, facts: PublicFacts, law: NoiseLaw, joint: Mapping[int, Design[Any, Any]]
) -> tuple[list[Design[Any, Any] | None], Callable[[float], dict[int, AtomicMechanism]]]:
    """Return the design of each statistic, and the mechanisms by what draws them at a precision in all."""
    each = zip(request.statistics, request.shares, request.policies, strict=True)
    joint = {**joint, **survival_designs(request, facts, law)}
    designs: list[Design[Any, Any] | None] = [
        joint[place]
        if place in joint
        else choose_design(statistic, request, facts, law=law, share=share, missing=missing)
        for place, (statistic, share, missing) in enumerate(each)
    ]
    # Statistics of one joint release have one mechanism, with the shares of all of them.
    released: dict[int, tuple[Design[Any, Any], float]] = {}
    for design, share in zip(designs, request.shares, strict=True):
        if design is not None:
            first, before = released.get(id(design.drawn), (design, 0.0))
            released[id(design.drawn)] = first, before + share
    total = sum(share for _, share in released.values())

    def build_parts(precision: float) -> dict[int, AtomicMechanism]:
        # μ² is what adds up, so a share of the precision is a share of μ².
        return {
            name: design.mechanism(precision * (share / total) ** 0.5) for name, (design, share) in released.items()
        }

    return designs, build_parts


def _priced(request: Request, facts: PublicFacts, law: NoiseLaw, joint: Mapping[int, Design[Any, Any]]) -> Plan:
    designs, build_parts = _parts(request, facts, law, joint)

    def build(precision: float) -> Mechanism:
        parts = tuple(build_parts(precision).values())
        return parts[0] if len(parts) == 1 else Composition(parts)

    if request.budget.mu is not None and not all(part.has_mu for part in build_parts(1.0).values()):
        raise ParameterError(
            "HG141",
            rule="A budget in ρ or μ needs Gaussian noise, whose price is a number μ.",
            finding="A statistic of this release is bootstrapped. In a bootstrap a record may be drawn many times, "
            "so no μ bounds its effect.",
            remedy="Give epsilon instead of rho or mu, or use the bounded bootstrap.",
        )
    calibrated = (
        least_noise(build, facts.relation, request.budget) if any(design is not None for design in designs) else None
    )
    mechanisms = build_parts(calibrated.precision) if calibrated else {}
    items = tuple(
        PlannedStatistic(statistic, design, None if design is None else mechanisms[id(design.drawn)])
        for statistic, design in zip(request.statistics, designs, strict=True)
    )
    return Plan(request, facts, items, calibrated)


def planned(
    statistics: object,
    protection: Protection,
    facts: Facts | None,
    *,
    n: int | None,
    context: Context | None = None,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Return the plan of a release: `options` as in `Survey.release`, the rest from the facts. No source is needed.

    Raises
    ------
    HedgerowError
        As `parse_request` and `make_plan`.

    Examples
    --------
    >>> from hedgerow.facts.declared import protection_of
    >>> from hedgerow.statistics.mean import count
    >>> planned(count(), protection_of(None, relation="add-remove"), None, n=None, epsilon=1.0)
    <Plan of 1 statistic of 1 cell, ε ≤ 0.9997 at δ = 1e-06, add-remove>
    """
    about = replace(
        context or Context(most_cells=MOST_CELLS),
        facts=facts,
        units=isinstance(protection.unit, UnitLimit),
        related=protection.related,
    )
    request = parse_request(statistics, context=about, **options)
    request = replace(request, notes=(*protection.notes, *request.notes))
    about_all = protection.relation, protection.unit, protection.target, n
    plan = make_plan(request, PublicFacts(*about_all, request.where, request.weights, request.unit_weight))
    check_many_cells(plan.items, request, plan.cells)
    return plan
