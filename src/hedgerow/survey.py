"""`hedgerow.open` and what can be asked of what it opens. The work is done in `release/` and `tables/`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast, overload

from hedgerow.engines.source import ColumnSource, count_units, open_source
from hedgerow.errors import FactsError, HedgerowWarning
from hedgerow.facts.budget import warn_about_budget
from hedgerow.facts.declared import Allowance, Facts, Protection, naming_facts_nearby, protection_of
from hedgerow.facts.relation import Relation, Target, UnitLimit
from hedgerow.facts.validation import as_float
from hedgerow.formats import is_url, public_name
from hedgerow.inputs import note_input
from hedgerow.keywords import takes
from hedgerow.ledger.guarantee import check_guarantee
from hedgerow.ledger.store import Ledger
from hedgerow.margins.survey_margins import AsksMargins
from hedgerow.progress import working
from hedgerow.regression.survey_regressions import AsksRegressions
from hedgerow.release.answers import answered, check_expressions, stratified
from hedgerow.release.execute import certificate_of
from hedgerow.release.options import (
    By,
    PlanOptions,
    ReleaseOptions,
    TableOptions,
)
from hedgerow.release.plan import Plan, planned
from hedgerow.release.publication.shared import BACKENDS
from hedgerow.release.released_estimate import ReleasedEstimate, alone
from hedgerow.release.request import usual_delta
from hedgerow.release.result import Release
from hedgerow.release.spend import OpenedSource, spend
from hedgerow.release.statistics_product import StatisticsProduct
from hedgerow.shorthands import AsksStatistics
from hedgerow.statistics.mean import count, sum
from hedgerow.statistics.statistic import AskedFor, StatisticRequest

if TYPE_CHECKING:
    from hedgerow.find.found import Bounds, Categories, Found, RowLimit
    from hedgerow.release.bootstrap_dp.bootstrap_release import AskedOfRows, BootstrapRelease
    from hedgerow.tables.protected import ProtectedTable

# The id of an object is unique within one process only, and a release may be sent to another process.
_PROCESS = token_hex(8)


@takes()
def open(
    source: object = None,
    facts: object = None,
    *,
    relation: Literal["replace-one", "add-remove"] | None = None,
    unit: object = None,
    target: Literal["population", "file", "census"] | None = None,
    table: str | None = None,
    ledger: str | Path | None = None,
) -> Survey:
    """Open a data source for private releases. hedgerow reads only the names and types of columns, and no value.

    Do not filter a frame before you open it. Under replace-one the number of records is public, so a filter would
    publish how many records pass the filter. Open all records, and select a part of them with `where`. In a CSV file,
    LF, CR LF and CR end a line unless they stand inside quotation marks. A blank line is not a record, except in a file
    of one column, where a blank line is a missing value. A `HedgerowWarning` lists the columns whose types were
    inferred from values. A first column without a name (row names of R and pandas) is left out with a warning.

    Parameters
    ----------
    source : path or frame, optional
        The data: a CSV (also ``.gz``, ``.zst``), Parquet or DuckDB file; a folder of Parquet files; a Stata, SPSS or
        Excel file; ``"-"`` for standard input; a pandas, polars or pyarrow frame; a DuckDB relation; a PySpark
        DataFrame; any lazy frame that narwhals reads. By default, the source that the facts name is opened.
    facts : path or Facts, optional
        A facts file (``hedgerow.toml``) or a `Facts` object. The arguments of `open` and of releases override facts.
    relation : {"replace-one", "add-remove"}
        The neighbouring relation. The call of `open` or the facts must state the relation, before anything is planned
        or released. Under replace-one the number of records is public.
    unit : "row" or {"column": …, "max_rows": …}
        The privacy unit: one row, or all rows of one person. At most `max_rows` random rows of each person are used.
    target : {"population", "file", "census"}
        The quantity that intervals cover: the number of the ``"population"`` from which the records were drawn
        (default), or of the ``"file"``. With ``"file"`` or the synonym ``"census"``, no sampling error is included.
    table : str, optional
        The name of the table, if the source is a database.
    ledger : path, optional
        The ledger in which prices are reserved before data are read. By default, the facts name the ledger.

    Returns
    -------
    Survey

    Raises
    ------
    ParameterError, DataError, FactsError, UncertifiedError
        HG103, HG115: the relation, unit or target is unknown. HG201 to HG209, HG211: the source cannot be opened.
        HG402: the limit of rows is too large. HG701, HG702: the facts file is invalid. HG703: no source is named.

    Examples
    --------
    >>> import pyarrow
    >>> survey = open(pyarrow.table({"age": [18.0, 41.0, 93.0]}), relation="replace-one")
    >>> survey.n
    3
    """
    declared = None if facts is None else facts if isinstance(facts, Facts) else Facts.read(facts)
    with naming_facts_nearby(facts, source):
        protection = protection_of(declared, relation=relation, unit=unit, target=target)
        _check_source(source, declared)
    if source is None and declared is not None and declared.data is not None:
        source, table = declared.data_path, declared.data.table if table is None else table
    ledger_path = declared.ledger_path if ledger is None and declared is not None else ledger
    note_input(ledger_path)
    opened = open_source(source, table=table, types=None if declared is None else declared.types())
    for remark in opened.remarks:
        warnings.warn(remark, HedgerowWarning, stacklevel=3)
    return Survey(
        opened,
        protection.stated,
        protection.unit,
        protection.target,
        declared,
        protection.notes,
        None if ledger_path is None else Path(ledger_path).resolve(),
        _identity(source, table),
    )


def _check_source(source: object, declared: Facts | None) -> None:
    if source is None and (declared is None or declared.data is None):
        raise FactsError(
            "HG703",
            rule="A survey needs a source: a file or a frame.",
            finding="Neither the call nor the facts name a source.",
            remedy='Name a file, for example hg.open("survey.csv"), or write its path under [data] in the facts.',
            shell="Name the file first, or write [data] with a path into the facts.",
            facts_help=True,
        )


def _identity(source: object, table: str | None) -> str:
    """Return what identifies an opened source: a path, a URL without its password, or the identity of a frame."""
    if is_url(source):
        url = str(source)
        # A user and parameters may mean another database: they are told apart, and not kept.
        more = (
            "" if url == public_name(url) else blake2b(url.encode(), key=_PROCESS.encode(), digest_size=8).hexdigest()
        )
        return f"{public_name(url)}::{table or ''}{more and '?'}{more}"
    if isinstance(source, (str, PathLike)):
        return f"{source if '://' in str(source) else Path(source).resolve()}::{table or ''}"
    return f"object {_PROCESS} {id(source)}"


@dataclass(frozen=True)
class Survey(AsksStatistics, AsksRegressions, AsksMargins):
    """An opened source. Every released number is noisy, and a certificate states the privacy price of the release.

    Attributes
    ----------
    relation : str or None
        The neighbouring relation; None where no relation is stated, so that every request is refused.
    unit : str
        The privacy unit.
    target : str
        The quantity that intervals cover.
    facts : Facts or None
        The declared facts about the source.
    overrides : tuple of str
        The names of the facts that the arguments of `open` override. Every certificate lists them.
    ledger : Path or None
        The ledger file in which prices are reserved.
    """

    source: ColumnSource
    relation: Relation | None
    unit: str | UnitLimit
    target: Target
    facts: Facts | None = None
    overrides: tuple[str, ...] = ()
    ledger: Path | None = None
    identity: str = ""

    def __repr__(self) -> str:
        relation, size = self.relation or "no relation", "" if self.n is None else f", n={self.n}"
        return f"<Survey {self.source.name!r}, {relation}, unit {self.unit}, target {self.target}{size}>"

    @property
    def budget(self) -> Allowance | None:
        """The whole budget and the part that was spent, from the ledger, else from the facts; None without either."""
        if self.ledger is not None:
            with Ledger.open(self.ledger) as ledger:
                return Allowance(ledger.budget, ledger.spent())
        return None if self.facts is None or self.facts.budget is None else Allowance(self.facts.budget)

    @cached_property
    def n(self) -> int | None:
        """The number of units (rows, or people) under replace-one, where the number is public; None otherwise."""
        if self.relation is not Relation.REPLACE_ONE:
            return None
        limit = self.unit
        return count_units(self.source, limit.column) if isinstance(limit, UnitLimit) else self.source.count_rows()

    @takes(PlanOptions, estimator="auto", noise="auto")
    @working("Planning")
    def plan(self, statistics: StatisticRequest | Sequence[AskedFor], **options: Unpack[PlanOptions]) -> Plan:
        """Return the plan and the privacy price of a release with the same arguments. No value is read.

        Parameters
        ----------
        statistics, **options
            The arguments of `release`.

        Returns
        -------
        Plan
            The plan. The price of a plan is at most ``.epsilon`` at ``.delta``. The method ``.forecast(guess)`` returns
            the expected errors, and ``.query()`` returns the SQL that would be sent.

        Raises
        ------
        HedgerowError
            The errors that the method `release` raises before data are read. Nothing is spent.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> plan = survey.plan([hg.mean("age", bounds=(0, 100), step=1)], epsilon=1.0)
        >>> plan.forecast({"age": {"mean": 40, "sd": 10}})[0].half_width > 0
        True
        """
        protection = Protection(self.relation, self.unit, self.target, self.overrides)
        with naming_facts_nearby(self.facts, self.identity.partition("::")[0]):
            plan = planned(statistics, protection, self.facts, n=self.n, **options)
        for item in plan.items:
            if item.design is not None:
                self.source.check(item.design.query)
        if plan.streamed():
            from hedgerow.engines.frame_source import FrameSource

            if isinstance(self.source, FrameSource):
                self.source.check_stream()
        return replace(plan, source=self.source)

    @overload
    def release(
        self,
        statistics: StatisticRequest | Sequence[AskedFor],
        *,
        guarantee: Literal["dp"] = "dp",
        ask: Sequence[str] = (),
        totals: Mapping[Any, Mapping[Any, float]] | None = None,
        request_id: str | None = None,
        **options: Unpack[PlanOptions],
    ) -> Release: ...
    @overload
    def release(
        self,
        statistics: AskedOfRows | Sequence[AskedOfRows],
        *,
        guarantee: Literal["bootstrap-dp"],
        request_id: str | None = None,
        **options: Unpack[PlanOptions],
    ) -> BootstrapRelease: ...
    @takes(PlanOptions, estimator="auto", noise="auto")
    @working("Planning, reading and releasing")
    def release(
        self,
        statistics: Any,
        *,
        guarantee: str = "dp",
        ask: Sequence[str] = (),
        totals: Mapping[Any, Mapping[Any, float]] | None = None,
        request_id: str | None = None,
        **options: Unpack[PlanOptions],
    ) -> Release | BootstrapRelease:
        """Release statistics with standard errors, confidence intervals and one certificate for the whole call.

        Guarantee: (ε, δ)-differential privacy of everything in the result, for the survey's relation and unit.
        The attribute ``release.certificate`` states the price, which anyone can compute again from the JSON text.

        Parameters
        ----------
        statistics : statistic or list of them
            The statistics: `hg.mean`, `hg.sum`, `hg.proportion`, `hg.count`, `hg.bootstrap` and others.
        by : {column: [category, …]} or [column, …], optional
            The groups. One estimate is released for each combination of declared categories, even if no record has the
            combination. Categories are declared in the facts or in the argument `by`. The form ``{0: "men", 1:
            "women"}`` gives labels to categories; `hg.bands` groups numbers.
        epsilon, delta : float
            The TOTAL privacy price (ε at δ) of the call. The default of δ is the δ of the budget in the facts, else
            1e-6. With δ = 0, only mechanisms of pure differential privacy are used.
        rho, mu : float, optional
            The total price as ρ or μ in place of `epsilon`: the Gaussian noise then has exactly this μ in total, where
            μ = √(2ρ). The certificate states the ε of this Gaussian noise at δ, and a ledger reserves this ε.
        estimator : {"auto", "moments", "bootstrap", "bounded-bootstrap"}
            ``"auto"`` uses second moments for the errors of sums, means and smooth functions of means, and bootstrap
            replicates for `hg.bootstrap`. Counts and proportions need neither moments nor replicates. With
            ``"bounded-bootstrap"``, a bootstrap replicate holds a record at most 5 times, the noise is five times as
            large, and the price can be stated as ρ.
        noise : {"auto", "laplace", "gaussian", "averaged-laplace"}
            The distribution of the noise, on integers. ``"auto"`` chooses the noise distribution from public facts.
            ``"averaged-laplace"`` is the average of `n_draws` (10) Laplace draws. Averaged Laplace noise is close to
            normal, satisfies pure differential privacy, and serves counts, proportions, sums and means.
        missing : {"drop", "midpoint", "error-if-declared-complete"}
            The policy for values that are missing, NaN, infinite or not numbers. The default is the policy of the
            facts, else ``"drop"``.
        share : list of float, optional
            The relative precision of the noise (μ²), one number for each statistic. By default, all statistics have
            equal precision.
        other : bool
            Whether to add one cell for all undeclared values. By default, rows with undeclared values are left out.
        where : str, optional
            A condition that selects records: comparisons of columns with constants, ``in [...]``, ``and``, ``or``,
            ``not`` and brackets, as in ``"age >= 25 and region in ['North', 'East']"``. A comparison with a missing
            value is never true. The exact number of selected records is never shown.
        weights : (column, largest), optional
            The column of weights, and the largest weight that a record may have. Weights are clamped to the range from
            0 to the largest weight, and a missing weight is 0. With weights w, a mean or a share is Σwx/Σw, a sum is
            Σwx, a count is Σw, and a ratio is Σwx/Σwy. With weights, functions of means receive weighted means.
        unit_weight : {"rows", "unit"}
            If a unit has several rows: whether distributions weight every row or every unit (``"unit"``) equally.
        n_resamples : int, optional
            The number of bootstrap replicates. By default, the number of replicates is chosen from public facts.
        interval : str, optional
            The interval method for bootstrap estimates: ``"calibrated"`` (default), ``"conservative"``, ``"unbiased"``
            or ``"most-conservative"``.
        guarantee : {"dp", "bootstrap-dp"}
            The guarantee ``"bootstrap-dp"`` is NOT differential privacy: its noise depends on the range of the data
            themselves. Under bootstrap-dp, no bounds are needed, and the numbers have no standard errors. See
            `hedgerow.release.bootstrap_dp.bootstrap_release.bootstrap_release`.
        ask : list of str
            Expressions of estimates, such as ``"mean(tax | sex=0) - mean(tax | sex=1)"``. The answers are in
            ``release.answers``, the record and the report, and cost no budget; see `Release.ask`.
        totals : {columns of `by`: {category: size}}, optional
            The public sizes N_h of the cells, if the cells are strata. The stratified mean Σ N_h/N · mean_h and the
            total Σ N_h · mean_h of every mean and share are then computed, at no further price.
        request_id : str, optional
            If a ledger is used: the name of this request. If the same request was recorded under the same name, the
            recorded result is returned, at no further price.

        Returns
        -------
        Release
            The estimates, ordered by statistic and then by cell. Under the guarantee bootstrap-dp, the result is a
            `BootstrapRelease`.

        Raises
        ------
        HedgerowError
            An error with a code, which ``hedgerow explain CODE`` explains. An error before the data are read costs no
            budget. If a release fails after the data are read, a `SpentError` says that the price counts as spent.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = open(pyarrow.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500}), relation="replace-one")
        >>> release = survey.release([hg.mean("age", bounds=(0, 100), step=1)], by={"sex": [0, 1]}, epsilon=1.0)
        >>> len(release), release.certificate.epsilon <= 1.0
        (2, True)
        """
        if check_guarantee(guarantee) == "bootstrap-dp":
            from hedgerow.release.bootstrap_dp.bootstrap_release import bootstrap_release

            further = {"ask": ask or None, "totals": totals, **options}
            return bootstrap_release(statistics, self._opened(), request_id=request_id, **further)
        plan = self.plan(statistics, **options)
        expressions = (*check_expressions(ask, plan), *check_expressions(stratified(totals, plan), plan))
        warn_about_budget(plan.request.budget.epsilon, plan.request.budget.delta, self.n, frames=3)
        opened = self._opened()
        return answered(
            spend(StatisticsProduct(plan, opened, certificate_of(plan)), opened.account(request_id)), expressions
        )

    def _released(self, asked: AskedFor, options: ReleaseOptions) -> Release | ReleasedEstimate:
        return alone(self.release(asked, **options), options.get("by"))

    @takes(TableOptions, sensitivity="auto", noise="auto", margins=False)
    def magnitude_table(
        self,
        column: str,
        *,
        bounds: Any = None,
        step: Any = None,
        by: By,
        guarantee: str = "dp",
        **options: Unpack[TableOptions],
    ) -> ProtectedTable:
        """Release the totals of a column by cells, with errors, one certificate and, on request, marginal totals.

        The argument `guarantee` names the privacy guarantee. The guarantee ``"dp"`` is (ε, δ)-differential privacy, at
        the price that the certificate states.

        Parameters
        ----------
        column, bounds, step, by
            The column, its bounds and step, and the group columns (outermost first), as in `hg.sum` and `release`.
        guarantee : {"dp", "bootstrap-dp"}
            The privacy guarantee; ``"bootstrap-dp"`` is NOT differential privacy.
        **options
            The options ``epsilon``, ``delta``, ``noise``, ``n_draws``, ``missing``, ``other``, ``where``, ``weights``
            and ``request_id`` are as in `release`. The option ``sensitivity`` is ``"auto"``, ``"whole-table"``,
            ``"per-cell"`` (with bounds by cell in ``cell_bounds``; see `tables.dp.choice_by_cell`) or
            ``"public-membership"`` (the cell of every record is public). The option ``margins`` adds marginal totals.

        Returns
        -------
        ProtectedTable
            The table: a sequence of estimates, ordered by cell, that can be written as CSV, JSON, HTML and XLSX.

        Raises
        ------
        HedgerowError
            The errors of `release`. HG111: categories are invalid. HG104 to HG107: bounds are invalid. HG401 to HG403:
            no noise with a proven price meets the budget. An error before the data are read costs no budget.

        Examples
        --------
        >>> import pyarrow
        >>> survey = open(pyarrow.table({"pay": [30.0, 50.0] * 500, "sex": [0, 1] * 500}), relation="replace-one")
        >>> table = survey.magnitude_table("pay", bounds=(0, 100), step=1, by={"sex": [0, 1]}, epsilon=1.0)
        >>> len(table), table[0].statistic, table.certificate.epsilon <= 1.0
        (2, 'sum', True)
        """
        asked = sum(column, bounds=bounds, step=step)
        return self._table(asked, guarantee=guarantee, by=by, **options)

    @takes(TableOptions, sensitivity="auto", noise="auto", margins=False)
    def contingency_table(self, *, by: By, guarantee: str = "dp", **options: Unpack[TableOptions]) -> ProtectedTable:
        """Release the number of records by cells: a contingency table with errors and a certificate.

        Parameters
        ----------
        by, guarantee, **options
            The group columns and the guarantee, as in `magnitude_table`. No bounds are needed.

        Returns
        -------
        ProtectedTable
            The table, in the form that `magnitude_table` returns. With ``margins=True`` the totals get noise of their
            own, if a total then has at least 1.25 times less noise and no number more than 5 % more; see ``.reason``.

        Raises
        ------
        HedgerowError
            The same errors as those of `magnitude_table`, except errors about bounds.

        Examples
        --------
        >>> import pyarrow
        >>> survey = open(pyarrow.table({"sex": [0, 1] * 500}), relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0, margins=True)
        >>> len(table), len(table.margin())
        (2, 1)
        """
        return self._table(count(), guarantee=guarantee, by=by, **options)

    @takes()
    @working("Looking")
    def find_bounds(
        self,
        column: str,
        *,
        epsilon: float | None = None,
        share: float = 0.99,
        around: float = 0,
        of: Literal["values", "rows"] = "values",
        where: str | None = None,
        request_id: str | None = None,
    ) -> Bounds | RowLimit:
        """Find bounds that contain most values of a column, by a separate private release.

        Guarantee: ε-differential privacy (δ = 0) of everything in the result. The price of the search adds to the price
        of the releases that use the bounds. Bounds from a codebook cost no budget and are better.

        Parameters
        ----------
        column : str
            A numeric column, or a computed column that `hg.column` returned. Missing values are left out. A unit of
            several rows counts once in each cell of the public grid that holds one of its (at most ``max_rows``) rows.
        epsilon : float
            The privacy price, which has no default.
        share : float
            The share of the values that the bounds should contain, from 0.5 to 0.999.
        around : float
            A public number near which values may lie. Bounds differ from `around` by a round number of steps.
        of : str
            With ``of="rows"``, the method finds a limit on rows per unit at which the share `share` of the units keep
            all their rows. With ``of="rows"``, `column` names the column of the privacy unit.
        where, request_id : str, optional
            The arguments of `release`.

        Returns
        -------
        Bounds, or RowLimit
            The bounds: ``.bounds`` is a pair to pass to a statistic, ``.max_rows`` is a limit on rows per unit, and
            ``.certificate`` states the price.

        Raises
        ------
        HedgerowError
            HG101, HG131, HG145, HG203, HG204: an argument is invalid. HG402: with ``of="rows"``, the column does not
            name the privacy unit. HG704: the facts do not allow this statistic. The listed errors cost no budget.

        Examples
        --------
        >>> import pyarrow
        >>> survey = open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> search = survey.find_bounds("age", epsilon=1.0)
        >>> survey.mean("age", bounds=search.bounds, epsilon=1.0)[0].statistic
        'mean'
        """
        from hedgerow.find.search import bounds_search

        make = partial(bounds_search, of=of, around=around, epsilon=epsilon, share=share)
        return cast("Bounds | RowLimit", self._found(column, where, request_id, make))

    @takes()
    @working("Looking")
    def find_categories(
        self,
        column: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        where: str | None = None,
        request_id: str | None = None,
    ) -> Categories:
        """Find the values of a column that many records have, by a separate private release.

        Guarantee: everything in the result together is (ε, δ)-differentially private. A value that only one record has
        is shown with a probability of at most δ. Values of the column that few records have are left out.

        Parameters
        ----------
        column : str
            The name of a column of numbers, booleans or texts. The missing values of the column are left out.
        epsilon, delta : float
            The privacy price. The default of δ is the δ of the budget in the facts, else 1e-6; δ must be positive.
        where, request_id : str, optional
            The arguments of `release`.

        Returns
        -------
        Categories
            The found values: ``.values`` can be passed in `by`, and ``.certificate`` states the price.

        Raises
        ------
        HedgerowError
            HG101, HG102, HG111, HG131, HG203: an argument is invalid. HG401: δ is 0. HG402: a privacy unit has several
            rows. HG704: the facts do not allow this statistic. The listed errors cost no budget.

        Examples
        --------
        >>> import pyarrow
        >>> survey = open(pyarrow.table({"job": ["nurse", "clerk"] * 500}), relation="replace-one")
        >>> search = survey.find_categories("job", epsilon=1.0)
        >>> search.values, len(survey.count(by={"job": search.values}, epsilon=1.0))
        (('clerk', 'nurse'), 2)
        """
        from hedgerow.find.search import CategoriesSearch

        make = partial(CategoriesSearch.of, epsilon=epsilon, delta=usual_delta(self.facts) if delta is None else delta)
        return cast("Categories", self._found(column, where, request_id, make))

    def _found(self, column: str, where: str | None, request_id: str | None, make: partial[Any]) -> Found:
        from hedgerow.find.search import Place, release_found

        with self._asking() as opened:
            return release_found(opened, partial(make, Place.of(column, where, self.facts)), request_id=request_id)

    def _opened(self) -> OpenedSource:
        protection = Protection(self.relation, self.unit, self.target, self.overrides)
        return OpenedSource(self.source, protection, self.facts, self.n, self.ledger, self._backend(), self.identity)

    @working("Planning, reading and releasing")
    def _table(self, asked: StatisticRequest, *, guarantee: str, **options: Any) -> ProtectedTable:
        from hedgerow.margins.table_with_totals import release_better_table

        opened = self._opened()
        if guarantee == "dp":
            delta = as_float(usual_delta(self.facts) if options.get("delta") is None else options["delta"])
            if delta is not None:
                warn_about_budget(as_float(options.get("epsilon")), delta, self.n, frames=4)
        with naming_facts_nearby(self.facts, self.identity.partition("::")[0]):
            return release_better_table(asked, opened, guarantee=guarantee, **options)

    def _backend(self) -> str | None:
        library = self.source.name.split(".")[0]
        return library if library in BACKENDS else None
