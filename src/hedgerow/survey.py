"""`hedgerow.open` and what can be asked of what it opens. The work is done in `release/` and `tables/`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
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
from hedgerow.ledger.store import Ledger
from hedgerow.progress import working
from hedgerow.regression.survey_regressions import AsksRegressions
from hedgerow.release.answers import answered, check_expressions, stratified
from hedgerow.release.bootstrap_dp.bootstrap_product import check_guarantee
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
    """Open a source for private releases. Reads names and types only, no value.

    Do not filter a frame before opening it: under replace-one the number of records is stated exactly, so filtering
    first publishes how many records pass the filter. Give all records, and select a part by `where`.
    In a CSV file LF, CR LF and CR alone end a line outside quotation marks; a blank line is no record, unless there is
    one column, where it is a missing value. A `HedgerowWarning` lists types that were
    inferred from values, and says where a first column without a name, as R and pandas write row names, is left out.

    Parameters
    ----------
    source : path or frame, optional
        CSV (also ``.gz``, ``.zst``), Parquet or DuckDB file; a folder of Parquet files; a Stata, SPSS or Excel file;
        ``"-"`` for standard input; a pandas, polars or pyarrow frame; a DuckDB relation; a PySpark DataFrame; any lazy
        frame that narwhals reads. Left out, it is the one that the facts name.
    facts : path or Facts, optional
        A facts file (``hedgerow.toml``) or a `Facts` object. Arguments of this call, and of each release, override it.
    relation : {"replace-one", "add-remove"}
        Who is protected; required, here or in the facts. Under replace-one the number of records is public and stated.
    unit : "row" or {"column": …, "max_rows": …}
        The unit of protection: one row, or all rows of one person, of whom at most `max_rows` (a random choice) count.
    target : {"population", "file", "census"}
        The target of intervals, ``"population"`` by default; ``"file"`` is a census, without sampling error;
        ``"census"`` means the same.
    table : str, optional
        Which table of a database.
    ledger : path, optional
        The ledger in which prices are reserved before data are read; by default that of the facts.

    Returns
    -------
    Survey

    Raises
    ------
    ParameterError, DataError, FactsError, UncertifiedError
        HG103, HG115 for whom and what; HG201 to HG209, HG211 for the source; HG402 for a unit of too many rows; HG701,
        HG702 for a facts file; HG703 for a source that is given nowhere.

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
        protection.relation,
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
            rule="A survey has a source: a file or a frame.",
            finding="Neither the call nor the facts name one.",
            remedy='For example hg.open("survey.csv", facts="hedgerow.toml"), or [data] with a path in the facts.',
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
        return f"{Path(source).resolve()}::{table or ''}"
    return f"object {_PROCESS} {id(source)}"


@dataclass(frozen=True)
class Survey(AsksStatistics, AsksRegressions):
    """An opened source: nothing but noisy, certified numbers comes out of it.

    Attributes
    ----------
    source : ColumnSource
        Where histograms are counted.
    relation, unit, target
        Who is protected, and the target of intervals.
    facts : Facts or None
        What is declared about the source.
    overrides : tuple of str
        Which of the facts the opening call overrides; every certificate lists them.
    ledger : Path or None
        Where prices are reserved.
    identity : str
        Identifies this source within this process.
    """

    source: ColumnSource
    relation: Relation
    unit: str | UnitLimit
    target: Target
    facts: Facts | None = None
    overrides: tuple[str, ...] = ()
    ledger: Path | None = None
    identity: str = ""

    def __repr__(self) -> str:
        size = f", n={self.n}" if self.n is not None else ""
        return f"<Survey {self.source.name!r}, {self.relation}, unit {self.unit}, target {self.target}{size}>"

    @property
    def budget(self) -> Allowance | None:
        """The whole budget and what was spent of it: by the ledger, else by the facts; None without either."""
        if self.ledger is not None:
            with Ledger.open(self.ledger) as ledger:
                return Allowance(ledger.budget, ledger.spent())
        return None if self.facts is None or self.facts.budget is None else Allowance(self.facts.budget)

    @cached_property
    def n(self) -> int | None:
        """The number of units (rows, or people) under replace-one, where it is public; None under add-remove."""
        if self.relation is not Relation.REPLACE_ONE:
            return None
        limit = self.unit
        return count_units(self.source, limit.column) if isinstance(limit, UnitLimit) else self.source.count_rows()

    @takes(PlanOptions, estimator="auto", noise="auto")
    @working("Planning")
    def plan(self, statistics: StatisticRequest | Sequence[AskedFor], **options: Unpack[PlanOptions]) -> Plan:
        """Return the plan and the price of `release` with the same arguments, without reading any value.

        Parameters
        ----------
        statistics, **options
            As in `release`.

        Returns
        -------
        Plan
            ``.epsilon`` at ``.delta`` is the price, an upper bound; ``.forecast(guess)`` the errors to be expected;
            ``.query()`` the SQL that would be sent.

        Raises
        ------
        HedgerowError
            With a code, as `release` before it reads data; nothing is spent.

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
        """Release statistics with standard errors, intervals and one certificate for the whole call.

        Guarantee   (ε, δ)-differential privacy of everything in the result, for the survey's relation and unit:
        ``release.certificate`` states the price and can be re-priced from its own JSON.

        Parameters
        ----------
        statistics : statistic or list of them
            `hg.mean`, `hg.sum`, `hg.proportion`, `hg.count`, `hg.bootstrap` and its siblings.
        by : {column: [category, …]} or [column, …], optional
            Release each cell of the product, and nothing else; categories are declared here or in the facts. Empty
            cells are released too. ``{0: "men", 1: "women"}`` labels categories; `hg.bands` makes bands of numbers.
        epsilon, delta : float
            The TOTAL price of the call. δ defaults to that of the facts' budget, else 1e-6; δ = 0 asks for a pure
            mechanism.
        rho, mu : float, optional
            The total in place of `epsilon`: Gaussian noise whose composition has exactly this μ, or μ = √(2ρ). The
            certificate states the ε that it costs at δ, which is what a ledger reserves.
        estimator : {"auto", "moments", "bootstrap", "bounded-bootstrap"}
            ``"auto"`` takes second moments for the errors of sums, means and smooth functions of means, replicates for
            `hg.bootstrap` and quantiles; counts and proportions need neither. Of ``"bounded-bootstrap"`` no record is
            drawn more than 5 times in a replicate: five times the noise, and a ρ.
        noise : {"auto", "laplace", "gaussian", "averaged-laplace"}
            The law, on integers. ``"auto"`` chooses from public facts. ``"averaged-laplace"`` is the average of
            `n_draws` (10) Laplace releases: close to normal, and pure; for counts, proportions, sums and means.
        missing : {"drop", "midpoint", "error-if-declared-complete"}
            The policy for missing, NaN, infinite or unparsable values: by default that of the facts, else ``"drop"``.
        share : list of float, optional
            Parts of the noise precision (μ²), one per statistic; equal by default.
        other : bool
            Add a cell for the rest; otherwise rows outside the declared categories are left out.
        where : str, optional
            Use only records for which this is true: comparisons of columns with constants, ``in [...]``, ``and``,
            ``or``, ``not`` and brackets, as in ``"age >= 25 and region in ['North', 'East']"``. A missing value makes
            no comparison true. How many records are selected is private, under either relation.
        weights : (column, largest), optional
            Weigh each record by a column, clamped to 0 up to the declared largest weight; a missing weight is 0. A mean
            or a share is Σwx/Σw, a sum Σwx, a count Σw, a ratio Σwx/Σwy, a function one of weighted means.
        n_resamples : int, optional
            Replicates of a bootstrap; chosen from public facts by default.
        interval : str, optional
            ``"calibrated"`` (default), ``"conservative"``, ``"unbiased"`` or ``"most-conservative"``; bootstrap only.
        guarantee : {"dp", "bootstrap-dp"}
            ``"bootstrap-dp"`` is NOT differential privacy: noise as wide as the data's own range makes it, so bounds
            are not needed, and numbers without errors; see
            `hedgerow.release.bootstrap_dp.bootstrap_release.bootstrap_release`.
        ask : list of str
            Expressions such as ``"ratio(tax, income | sex=0) - ratio(tax, income | sex=1)"``, whose answers stand in
            ``release.answers``, in the record and in the report, at no price; see `Release.ask`.
        totals : {columns of `by`: {category: size}}, optional
            The public size N_h of each cell, a stratum: adds to the answers the stratified mean Σ N_h/N · mean_h and
            the total Σ N_h · mean_h of every mean and share, at no price.
        request_id : str, optional
            With a ledger: the same request under the same id is answered from its record, at no further price.

        Returns
        -------
        Release
            A sequence of estimates, statistic by statistic and cell by cell; under bootstrap-dp a `BootstrapRelease`.

        Raises
        ------
        HedgerowError
            With a code; ``hedgerow explain CODE`` prints its page. Before the data are read nothing is spent; after,
            `SpentError` says that the price counts as spent.

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
        """Release totals of a column by cells, with errors, one certificate and, if asked, margins.

        Guarantee   that of `guarantee`, by name: ``"dp"`` is (ε, δ)-differential privacy, priced by its certificate.

        Parameters
        ----------
        column, bounds, step, by
            As in `hg.sum` and `release`; the first column is outermost.
        guarantee : {"dp", "bootstrap-dp"}
            ``"bootstrap-dp"`` is NOT differential privacy.
        **options
            ``epsilon``, ``delta``, ``noise``, ``n_draws``, ``missing``, ``other``, ``where``, ``request_id`` as in
            `release`;
            ``sensitivity``: ``"auto"``, ``"whole-table"``, ``"per-cell"`` (with ``cell_bounds``: bounds by cell, see
            `tables.dp.choice_by_cell`), ``"public-membership"`` (the cell of every record is public: by naming it you
            declare it); ``margins``: add totals, at no further price.

        Returns
        -------
        ProtectedTable
            A sequence of estimates, cell by cell, that writes itself as CSV, JSON, HTML and XLSX.

        Raises
        ------
        HedgerowError
            As `release`: HG111 for categories, HG104 to HG107 for bounds, HG401 to HG403 where no certified noise
            meets the budget. Nothing is spent before the data are read.

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
        """Release counts by cells: a contingency table, with errors, one certificate and, if asked, margins.

        Parameters
        ----------
        by, guarantee, **options
            As in `magnitude_table`; no bounds are needed.

        Returns
        -------
        ProtectedTable
            A sequence of estimates, cell by cell, that writes itself as CSV, JSON, HTML and XLSX.

        Raises
        ------
        HedgerowError
            As `magnitude_table`, without bounds.

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
        """Find bounds that contain most values of a column, by a separate release: ``.bounds`` is public.

        Guarantee   ε-differential privacy (δ = 0) of everything in the result; its price adds to that of the releases
        that use the bounds. Bounds from a codebook cost nothing, and are better where there are some.

        Parameters
        ----------
        column : str
            A numeric column, or `hg.column`; missing values are left out.
        epsilon : float
            The price; required.
        share : float
            The share of the values, 0.5 to 0.999, that the bounds are chosen to hold.
        around : float
            A public number near which values may lie: bounds are friendly numbers of steps away from it.
        of : str
            ``"rows"``: a limit of rows that this share of the units keep whole; `column` is that of the survey's unit.
        where, request_id : str, optional
            As in `release`.

        Returns
        -------
        Bounds, or RowLimit
            ``.bounds`` is a pair to pass to a statistic, ``.max_rows`` a limit; ``.certificate`` states the price.

        Raises
        ------
        HedgerowError
            HG101, HG131, HG145, HG203, HG204; HG402 for units of several rows; HG704 where the facts list the
            statistics that are allowed. Before the data are read nothing is spent.

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
        """Find the values of a column that many records have, by a separate release: ``.values`` are public.

        Guarantee   (ε, δ)-differential privacy of everything in the result. A value that only one record has is shown
        with a chance of at most δ; values that few records have are left out.

        Parameters
        ----------
        column : str
            Numbers, booleans or texts, compared as in `by`; missing values are left out.
        epsilon, delta : float
            The price; δ defaults to that of the facts' budget, else 1e-6, and must be positive.
        where, request_id : str, optional
            As in `release`.

        Returns
        -------
        Categories
            ``.values`` to pass in `by`; ``.certificate`` states the price.

        Raises
        ------
        HedgerowError
            HG101, HG102, HG111, HG131, HG203; HG401 at δ = 0; HG402 for units of several rows; HG704 where the facts
            list the statistics that are allowed. Before the data are read nothing is spent.

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

    def _found(self, column: str, where: str | None, request_id: str | None, make: Callable[..., Any]) -> Found:
        from hedgerow.find.search import Place, release_found

        place = Place.of(column, where, self.facts)
        return release_found(self._opened(), lambda relation: make(place, relation), request_id=request_id)

    def _opened(self) -> OpenedSource:
        protection = Protection(self.relation, self.unit, self.target, self.overrides)
        return OpenedSource(self.source, protection, self.facts, self.n, self.ledger, self._backend(), self.identity)

    @working("Planning, reading and releasing")
    def _table(self, asked: StatisticRequest, *, guarantee: str, **options: Any) -> ProtectedTable:
        from hedgerow.tables.release_table import release_table

        opened = self._opened()
        if guarantee == "dp":
            delta = as_float(usual_delta(self.facts) if options.get("delta") is None else options["delta"])
            if delta is not None:
                warn_about_budget(as_float(options.get("epsilon")), delta, self.n, frames=4)
        with naming_facts_nearby(self.facts, self.identity.partition("::")[0]):
            return release_table(asked, opened, guarantee=guarantee, **options)

    def _backend(self) -> str | None:
        library = self.source.name.split(".")[0]
        return library if library in BACKENDS else None
