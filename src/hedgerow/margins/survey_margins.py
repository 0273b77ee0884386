"""What is asked of a survey about margins: `Survey.margins` and its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from hedgerow.facts.budget import warn_about_budget
from hedgerow.facts.declared import Facts, naming_facts_nearby
from hedgerow.keywords import takes
from hedgerow.progress import working
from hedgerow.release.options import By
from hedgerow.release.spend import OpenedSource, spend

if TYPE_CHECKING:
    from hedgerow.margins.margin_tables import Margins
    from hedgerow.margins.release_margins import PlannedMargins


class MarginsOptions(TypedDict, total=False):
    """Keywords of margins; see `AsksMargins.margins`."""

    by: By
    total: str | None
    bounds: Any
    step: Any
    order: int
    weights: Mapping[Any, float] | Literal["equal"] | None
    known: Mapping[Any, Any] | None
    target_se: Mapping[Any, float] | None
    epsilon: float | None
    rho: float | None
    mu: float | None
    delta: float | None
    missing: str | None
    other: bool | None
    where: str | None
    request_id: str | None


class AsksMargins:
    """The margins of an opened survey."""

    facts: Facts | None
    identity: str

    def _opened(self) -> OpenedSource:
        raise NotImplementedError

    @contextmanager
    def _of_margins(self) -> Iterator[OpenedSource]:
        with naming_facts_nearby(self.facts, self.identity.partition("::")[0]):
            yield self._opened()

    @takes(MarginsOptions, order=3)
    @working("Planning, reading and releasing")
    def margins(self, **options: Unpack[MarginsOptions]) -> Margins:
        """Release all tables of counts, or totals, of up to `order` columns, which agree with one another.

        Guarantee   (ε, δ)-differential privacy of everything in the result; any table, difference, ratio or percentage
        of it costs nothing more.

        Parameters
        ----------
        by : {column: [category, …]} or [column, …]
            The columns, as in `release`: categories with labels, `hg.bands`, or those of the facts.
        total : str, optional
            A numeric column: tables then hold its totals, of values clamped to `bounds`, as in `hg.sum`; the source is
            opened with ``target="file"``. By default tables hold counts of records.
        bounds, step : optional
            Of `total`; by default those of the facts.
        order : int
            The largest number of columns of a table; 3 by default.
        weights : mapping or "equal", optional
            How much the noise of a table matters: ``{("sex", "region"): 5, 1: 10}`` weighs one table five times, and
            those of one column ten times, what they would have. By default the tables of each order weigh the same
            together; with ``"equal"`` each table weighs the same.
        known : mapping, optional
            Exact totals that are public: ``{("sex", "region"): {("f", "N"): 5200, …}, "age": [10, 20]}``. They are not
            released and leave the price to the other tables. Whether they are those of this file, you answer for.
        target_se : mapping, optional
            ``{("sex", "region"): 20}``: weights are chosen such that the noise of each cell of the table has at most
            this standard deviation.
        other : bool
            Add a category for the rest to each column; otherwise a record outside the categories of one column is in no
            table at all, so that all tables count the same records.
        missing : str, optional
            ``"error-if-declared-complete"`` declares that every record has a declared category in each column. Under
            replace-one the total is then public, and costs nothing.
        epsilon, delta, rho, mu, where, request_id
            As in `release`; δ must be positive.

        Returns
        -------
        Margins
            ``margins["sex", "region"]`` is a `ProtectedTable`; ``.ask(…)``, ``.covariance(…)``, ``.nonnegative()``,
            ``.rounded()``, ``.certificate``.

        Raises
        ------
        HedgerowError
            HG240 for the columns, the order and the weights, HG241 for known totals, HG242 for targets, HG402 for units
            of several rows about a population. Before the data are read nothing is spent.

        Source
            Xiao, He, Zhang & Kifer, *An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss
            Functions*, NeurIPS 2023, for the residuals; the price under replace-one is `mechanisms.residual_margins`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> people = pyarrow.table({"sex": [0, 1] * 500, "old": [0, 0, 1, 1] * 250, "rich": [0] * 900 + [1] * 100})
        >>> survey = hg.open(people, relation="replace-one")
        >>> margins = survey.margins(by={"sex": [0, 1], "old": [0, 1], "rich": [0, 1]}, order=2, epsilon=1.0)
        >>> len(margins.tables()), len(margins), margins.certificate.epsilon <= 1.0
        (7, 19, True)
        >>> margins["sex", "rich"].at(sex=0, rich=1).standard_error > 0
        True
        """
        from hedgerow.margins.release_margins import plan_margins

        request_id = options.pop("request_id", None)
        with self._of_margins() as opened:
            planned = plan_margins(opened, **options)
            warn_about_budget(planned.epsilon, planned.delta, opened.n, frames=4)
            return spend(planned, opened.account(request_id))

    @takes(MarginsOptions, order=3)
    @working("Planning")
    def plan_margins(self, **options: Unpack[MarginsOptions]) -> PlannedMargins:
        """Return the plan and the price of `margins` with the same arguments, without reading any value.

        Parameters
        ----------
        **options
            As in `margins`.

        Returns
        -------
        PlannedMargins
            ``.epsilon`` at ``.delta`` is the price; ``.expected()`` the noise of each table.

        Raises
        ------
        HedgerowError
            As `margins` before it reads data; nothing is spent.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"a": [0, 1] * 500, "b": [0, 0, 1, 1] * 250}), relation="replace-one")
        >>> plan = survey.plan_margins(by={"a": [0, 1], "b": [0, 1]}, order=2, epsilon=1.0)
        >>> [table.columns for table in plan.expected()]
        [(), ('a',), ('b',), ('a', 'b')]
        """
        from hedgerow.margins.release_margins import plan_margins

        with self._of_margins() as opened:
            return plan_margins(opened, **options)
