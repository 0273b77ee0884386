"""`hedgerow.open` and what can be asked of what it opens. Each method delegates in a line or two."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hedgerow.engines.source import Source, open_source
from hedgerow.errors import FactsError
from hedgerow.noise.secure import SecureNoise
from hedgerow.privacy.facts import Scalar
from hedgerow.privacy.relation import Relation, Target, parse_relation, parse_target, parse_unit
from hedgerow.release.design import PublicFacts
from hedgerow.release.execute import certificate_of, run_reserved
from hedgerow.release.frame import BACKENDS
from hedgerow.release.plan import Plan, make_plan
from hedgerow.release.request import parse_request
from hedgerow.release.reservation import NoLedger
from hedgerow.release.result import Release
from hedgerow.resampling import statistic
from hedgerow.resampling.statistic import Statistic

__all__ = ["HedgerowWarning", "Survey", "open"]


class HedgerowWarning(UserWarning):
    """Something allowed that a careful custodian would want to know."""


def open(
    source: object,
    facts: object = None,
    *,
    relation: str | None = None,
    unit: object = "row",
    target: str = "population",
    table: str | None = None,
) -> Survey:
    """Open a source for private releases. Reads names and types only, no value.

    Parameters
    ----------
    source : path or frame
        CSV, Parquet or DuckDB file; a pandas, polars or pyarrow frame; a DuckDB relation; a PySpark DataFrame; any lazy
        frame that narwhals reads.
    facts : None
        A facts file is not read in this version.
    relation : {"replace-one", "add-remove"}
        Who is protected; required. Under replace-one the number of records is public and stated.
    unit : "row"
        The unit of protection.
    target : {"population", "file"}
        What intervals are about; ``"file"`` is a census, without sampling error.
    table : str, optional
        Which table of a DuckDB file.

    Returns
    -------
    Survey

    Raises
    ------
    ParameterError, DataError, FactsError, UncertifiedError
        HG103, HG115 for the facts; HG201 to HG209 for the source; HG402 for a unit of several rows.

    Examples
    --------
    >>> import pyarrow
    >>> survey = open(pyarrow.table({"age": [18.0, 41.0, 93.0]}), relation="replace-one")
    >>> survey.n
    3
    """
    if facts is not None:
        raise FactsError(
            "HG701",
            rule="Public facts are given as arguments in this version.",
            finding="Found `facts`.",
            remedy='For example hg.open(path, relation="replace-one").',
        )
    parsed = parse_relation(relation), parse_unit(unit), parse_target(target)
    return Survey(open_source(source, table=table), *parsed)


@dataclass(frozen=True)
class Survey:
    """An opened source: nothing but noisy, certified numbers comes out of it.

    Attributes
    ----------
    source : Source
        Where histograms are counted.
    relation, unit, target
        Who is protected, and what intervals are about.
    """

    source: Source
    relation: Relation
    unit: str
    target: Target

    def __repr__(self) -> str:
        size = f", n={self.n}" if self.n is not None else ""
        return f"<Survey {self.source.name!r}, {self.relation}, unit {self.unit}, target {self.target}{size}>"

    @cached_property
    def n(self) -> int | None:
        """The number of records under replace-one, where it is public; None under add-remove, where it is private."""
        return self.source.count_rows() if self.relation is Relation.REPLACE_ONE else None

    def plan(self, statistics: Statistic | Sequence[Statistic], **options: Any) -> Plan:
        """Return what `release` with the same arguments would run, and its price, without reading any value."""
        request = parse_request(statistics, **options)
        facts = PublicFacts(self.relation, self.unit, self.target, self.n)
        plan = make_plan(request, facts)
        for item in plan.items:
            if item.design is not None:
                self.source.check(item.design.query)
        return plan

    def release(
        self,
        statistics: Statistic | Sequence[Statistic],
        *,
        by: Mapping[str, Sequence[Scalar]] | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        method: str = "auto",
        missing: str = "drop",
        share: Sequence[float] | None = None,
        other: bool = False,
        n_resamples: int | None = None,
        interval: str | None = None,
    ) -> Release:
        """Release statistics with standard errors, intervals and one certificate for the whole call.

        Guarantee   (ε, δ)-differential privacy of everything in the result, for the survey's relation and unit:
        ``release.certificate`` states the price and can be re-priced from its own JSON.

        Parameters
        ----------
        statistics : statistic or list of them
            `hg.mean`, `hg.sum`, `hg.proportion`, `hg.count`, `hg.bootstrap` and its siblings.
        by : {column: [category, …]}, optional
            Release each cell of the product, and nothing else; categories are declared. Empty cells are released too.
        epsilon, delta : float
            The TOTAL price of the call. δ defaults to 1e-6; δ = 0 asks for a pure mechanism.
        method : str
            ``"auto"`` chooses from public facts: ``"moments"`` for sums and means, ``"geometric"`` or ``"gaussian"``
            for counts and proportions, ``"bootstrap"`` for `hg.bootstrap` and its siblings.
        missing : {"drop", "midpoint", "error-if-declared-complete"}
            What a missing, NaN, infinite or unparsable value counts as.
        share : list of float, optional
            Parts of the noise precision (μ²), one a statistic; equal by default.
        other : bool
            Add a cell for the rest; otherwise rows outside the declared categories are left out.
        n_resamples : int, optional
            Replicates of a bootstrap; chosen from public facts by default.
        interval : str, optional
            ``"calibrated"`` (default), ``"conservative"``, ``"unbiased"`` or ``"most-conservative"``; bootstrap only.

        Raises
        ------
        HedgerowError
            With a code; ``hedgerow explain CODE`` prints its page. Before the data are read nothing is spent; after,
            `SpentError` says that the price counts as spent.

        Examples
        --------
        >>> import pyarrow
        >>> survey = open(pyarrow.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500}), relation="replace-one")
        >>> release = survey.release([statistic.mean("age", bounds=(0, 100), step=1)], by={"sex": [0, 1]}, epsilon=1.0)
        >>> len(release), release.certificate.epsilon <= 1.0
        (2, True)
        """
        plan = self.plan(
            statistics,
            by=by,
            epsilon=epsilon,
            delta=delta,
            method=method,
            missing=missing,
            share=share,
            other=other,
            n_resamples=n_resamples,
            interval=interval,
        )
        self._warn_about_delta(plan)
        certificate = certificate_of(plan)
        reservation = NoLedger().reserve(certificate)
        estimates = run_reserved(plan, self.source, SecureNoise())
        release = Release.of(plan, estimates, certificate, source=self.source.name, backend=self._backend())
        reservation.record(release.to_json())
        return release

    def mean(self, column: str, *, bounds: Any = None, step: Any = None, **options: Any) -> Release:
        """Release a mean: shorthand for ``release([hg.mean(column, …)], …)``."""
        return self.release([statistic.mean(column, bounds=bounds, step=step)], **options)

    def sum(self, column: str, *, bounds: Any = None, step: Any = None, **options: Any) -> Release:
        """Release a sum: shorthand for ``release([hg.sum(column, …)], …)``."""
        return self.release([statistic.sum(column, bounds=bounds, step=step)], **options)

    def proportion(self, column: str, *, value: Scalar, **options: Any) -> Release:
        """Release a share: shorthand for ``release([hg.proportion(column, …)], …)``."""
        return self.release([statistic.proportion(column, value=value)], **options)

    def count(self, **options: Any) -> Release:
        """Release counts: shorthand for ``release([hg.count()], …)``."""
        return self.release([statistic.count()], **options)

    def _backend(self) -> str | None:
        library = self.source.name.split(".")[0]
        return library if library in BACKENDS else None

    def _warn_about_delta(self, plan: Plan) -> None:
        delta = plan.request.budget.delta
        if self.n and delta * self.n > 1.0:
            warnings.warn(
                f"delta={delta:.3g} exceeds 1/n: at this δ a mechanism may publish some record as it is. Take it below "
                f"{1.0 / self.n:.1g}.",
                HedgerowWarning,
                stacklevel=3,
            )
