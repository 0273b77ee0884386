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
    weights: Mapping[Any, float] | Literal["equal", "cells"] | None
    known: Mapping[Any, Any] | None
    target_se: Mapping[Any, float] | None
    hierarchies: Mapping[str, Any] | None
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
        """Release all tables, of counts or of a column's totals, by up to `order` columns.

        All tables agree with one another: common totals are equal.

        Guarantee: everything in the result together is (ε, δ)-differentially private. Tables, differences, ratios and
        percentages that are computed from the result cost no further budget.

        Parameters
        ----------
        by : {column: [category, …]} or [column, …]
            The columns and their categories, as in `release`: categories with labels, `hg.bands`, or the categories of
            the facts.
        total : str, optional
            A numeric column. If `total` is given, the tables contain totals of this column, whose values are clamped to
            `bounds` as in `hg.sum`. If the target is the population and the lower bound of the column is 0 or more, the
            sampling errors are upper bounds; see the notes of the result. By default the tables hold counts of records.
        bounds, step : optional
            The bounds and the step of the column `total`. By default, the bounds and the step in the facts are used.
        order : int
            The largest number of group columns that a table has. The default is 3.
        weights : mapping, "equal" or "cells", optional
            The importance of each table: a table with a larger weight gets less noise. ``{("sex", "region"): 5, 1:
            10}`` multiplies the default weight of one table by 5, and the default weights of all tables of one column
            by 10. By default the tables of each order have the same total weight. With ``"equal"``, every single table
            has the same weight. With ``"cells"``, the noise of the cells of the largest tables is at most 1.05 times
            the least noise that is possible at the same price, and within this limit the noise of the totals is as
            small as possible.
        known : mapping, optional
            Exact totals that are public: ``{("sex", "region"): {("f", "N"): 5200, …}, "age": [10, 20]}``. Known totals
            need no release, so the whole price serves the other tables. The caller is responsible for the claim that
            the totals in `known` are the totals of the file.
        target_se : mapping, optional
            The largest standard deviation of the noise of each cell, by table, such as ``{("sex", "region"): 20}``. The
            weights of the tables are chosen such that no standard deviation of the noise exceeds its value in
            `target_se`.
        hierarchies : mapping, optional
            Groups of categories, by column and level: ``{"region": {"country": {"England": ["N", "S"], "Wales":
            ["W"]}}}``. Every table of such a column also contains the totals of the groups of categories, which are
            sums of its cells and cost no budget. A column may have several levels of groups. By default, the
            hierarchies in the facts are used.
        other : bool
            Whether each column gets one further category for all values that are not declared. Without a category for
            undeclared values, a record with an undeclared value in one column is left out of every table, so that all
            tables count the same records.
        missing : str, optional
            The policy for missing values; ``"error-if-declared-complete"`` declares that every record has a declared
            category in each column. If every record has a declared category, then under replace-one the total number of
            records is public and costs no budget.
        epsilon, delta, rho, mu, where, request_id
            The same arguments as in `release`. δ must be positive.

        Returns
        -------
        Margins
            All tables; ``margins["sex", "region"]`` is a `ProtectedTable`. The result also offers ``.ask(…)``,
            ``.covariance(…)``, ``.nonnegative()``, ``.rounded()`` and ``.certificate``.

        Raises
        ------
        HedgerowError
            HG160, HG162: a hierarchy does not form a tree of the declared categories. HG240: the columns, the order or
            the weights are invalid; or the target is the population, and the lower bound of the column `total` is
            negative. HG241: the known totals contradict each other or the declared categories. HG242: no weights of the
            tables meet the requested standard deviations. An error before the data are read costs no budget.

        Source
            The noisy residuals follow Xiao, He, Zhang & Kifer, *An Optimal and Scalable Matrix Mechanism for Noisy
            Marginals under Convex Loss Functions*, NeurIPS 2023. The module `mechanisms.residual_margins` derives the
            price under replace-one.

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
        """Return the plan and the privacy price of `margins` with the same arguments, without reading data.

        No value is read.

        Parameters
        ----------
        **options
            The arguments of `margins`.

        Returns
        -------
        PlannedMargins
            The plan. The price of the plan is ``.epsilon`` at ``.delta``, and ``.expected()`` returns the noise of each
            table.

        Raises
        ------
        HedgerowError
            The errors that the method `margins` raises before data are read. Nothing is spent.

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
