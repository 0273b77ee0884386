"""`Release`: the estimates of one call with the certificate that prices them."""

from __future__ import annotations

import copyreg
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

from hedgerow.errors import ParameterError, VerificationError
from hedgerow.facts.printed import group_headings, plural
from hedgerow.facts.relation import Target
from hedgerow.inference.estimate import Estimate, said_once
from hedgerow.inference.estimates_of_cells import Estimates, columns_of_entries
from hedgerow.inference.interval import parse_level
from hedgerow.inference.region import RecordedRegion, Region
from hedgerow.mechanisms.certificate import Certificate, record_of
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.ask import Covariances, ask, correlated_numbers, covariances, found, of_cell
from hedgerow.release.designs.column_distribution import TableReading, reading_behind
from hedgerow.release.distributions import (
    ColumnDistribution,
    distribution_of,
    facts_stated,
    readings,
    released,
    statistic_of,
)
from hedgerow.release.execute import read_estimates
from hedgerow.release.many_cells import NOT_LISTED, not_listed
from hedgerow.release.plan import Plan
from hedgerow.release.publication.formats.json import record_parts
from hedgerow.release.publication.read_file import read_text
from hedgerow.release.publication.release_publication import ReleasePublication
from hedgerow.release.publication.shared import REPLAYED, SIMULATED, Result, hidden_cells
from hedgerow.release.publication.write_file import optionally_written
from hedgerow.release.readings.reads_of_release import ReadsOfRelease
from hedgerow.release.record import (
    READING,
    RecordedFacts,
    joint_values,
    kept_records,
    noisy_record,
    plan_of,
    regions_of_tables,
    request_of,
    request_record,
    tables_of,
)
from hedgerow.release.request import LISTED_CELLS
from hedgerow.statistics.statistic import Statistic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.plots.bars import ErrorBar


_NUMBERS = ("estimate", "standard_error", "sampling_error", "bootstrap_error", "privacy_error")
_TAIL = ("method", "n_resamples", "reliable", "note")


@dataclass(frozen=True, slots=True, repr=False)
class Release(ReadsOfRelease, Result):
    """The result of one call: a sequence of estimates, and one certificate of the privacy price of the whole call.

    Attributes
    ----------
    estimates : sequence of Estimate
    certificate : Certificate or None
        The certificate. None for a simulated release, which has no certificate.
    reasons : dict
        The reason for the choice of each method, which follows from public facts.
    notes : tuple of str
        Notes for readers that apply to the release as a whole.
    answers : dict
        The answers to expressions, as {expression: estimate}, which the record and the report of the release show.

    """

    estimates: Sequence[Estimate]
    certificate: Certificate | None = field(kw_only=True)
    reasons: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    # What was asked of which opened source; in no record. It tells releases of one request from others.
    _asked: tuple[Statistic, ...] = ()
    _identity: str = ""
    _joint: Sequence[dict[str, Any]] = ()
    _distributions: Sequence[dict[str, Any]] = ()
    answers: dict[str, Estimate] = field(default_factory=dict)
    # The request and the noisy tables, from which a record is read again; empty for records of earlier versions.
    _request: dict[str, Any] = field(default_factory=dict)
    _noisy: tuple[dict[str, Any], ...] = ()
    _pooled: tuple[Release, ...] = ()
    _joined: tuple[Release, ...] = ()

    @classmethod
    def _of(
        cls,
        plan: Plan,
        tables: Sequence[AdditiveTable | None],
        certificate: Certificate | None,
        *,
        source: str,
        backend: str | None,
        identity: str = "",
        date: str | None = None,
        about: Mapping[str, Any] | None = None,
        estimates: Sequence[Estimate] | None = None,
    ) -> Release:
        """Return the release of a plan and its noisy tables. A release without a certificate is simulated.

        If the estimates were read before, pass them as `estimates`.
        """
        request = plan.request
        estimates = read_estimates(plan, tables) if estimates is None else estimates
        parts = kept_records(plan, estimates)
        return cls(
            tuple(each._labelled(request.labels) for each in estimates) if request.labels else estimates,
            certificate=certificate,
            source=source,
            **plan.facts.record(),
            missing=str(request.missing),
            where=request.where,
            weights=None if request.weights is None else request.weights.public_record(),
            derived=request.derived,
            date=date,
            about=dict(about or {}),
            reasons=plan.reasons(),
            notes=plan.notes(),
            backend=backend,
            _asked=request.statistics,
            _identity=identity,
            _joint=parts["joint"],
            _distributions=parts["distributions"],
            _request=request_record(request, plan.facts.n),
            _noisy=tuple(noisy_record(plan, tables)),
        )

    @classmethod
    def from_json(cls, path: str | Path) -> Release:
        """Return the release whose record is in a file; see `release_from_record`.

        Raises
        ------
        ParameterError
            HG503: the file cannot be read.
        VerificationError
            HG502: the file does not contain the record of a release.
        """
        try:
            text = read_text(Path(path))
        except (OSError, ValueError):
            raise ParameterError(
                "HG503",
                rule="A release is read from the record that the release wrote.",
                finding=f"{str(path)!r} cannot be read as UTF-8 text.",
                remedy="Name the release.json of the release.",
            ) from None
        return release_from_record(text)

    @overload
    def __getitem__(self, index: int | str | tuple[object, ...]) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, index: int | str | tuple[object, ...] | slice) -> Estimate | Sequence[Estimate]:
        """Return the estimate at a place, those of a slice, or the estimate of a cell.

        A cell is named by a value or a label for each column of `by`, in order: ``release["women", "North"]``. Whole
        numbers alone are places. HG137 where no estimate or several have the cell.
        """
        if isinstance(index, (int, slice)):
            return self.estimates[index]
        return of_cell(self.estimates, index if isinstance(index, tuple) else (index,))

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            # Only for a name that is not there: those of one estimate are asked of the release first by many.
            meant = {"value": "estimate", "interval": "confidence_interval()"}.get(name, name)
            near = f"; its first estimate has: release[0].{meant}" if hasattr(Estimate, meant.rstrip("()")) else ""
            raise AttributeError(f"A release has no {name!r}{near}.", name=name)

    def estimate(self, statistic: str, *about: object, **cell: object) -> Estimate:
        """Return one estimate, selected by its statistic, its columns and its cell (group of records).

        Parameters
        ----------
        statistic : str
            The name of the statistic: ``"mean"``, ``"ratio"``, or the name of your own function. Or, as the only
            argument, the estimate as it is printed: ``"variance(age | sex=1)"``.
        *about
            The columns in order, and further parts of the printed name of the estimate, such as ``"employed=1"`` or
            ``0.5``. The columns may be left out if only one estimate fits.
        **cell
            The cell (group of records): one category for each group column.

        Returns
        -------
        Estimate

        Raises
        ------
        ParameterError
            HG137: no estimate of the release matches the arguments, or several estimates match. The message of error
            HG137 lists all estimates of the release.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500}), relation="replace-one")
        >>> release = survey.release(hg.variance("age", bounds=(0, 100)), by={"sex": [0, 1]}, epsilon=1.0)
        >>> release.estimate("variance", "age", sex=1) is release.estimate("variance(age | sex=1)") is release[1]
        True
        """
        return found(self.estimates, statistic, [tuple(str(category).split("=", 1)) for category in about], cell)

    def ask(self, expression: str) -> Estimate:
        """Return the estimate of an expression of several estimates, with the error of the whole expression.

        The estimate is computed from released numbers and costs no budget.

        Parameters
        ----------
        expression : str
            The expression: terms such as ``mean(age | sex=0)``, ``count(| sex=0)``, ``proportion(employed=1)`` and
            ``ratio(tax, income)``; numbers; ``+ - * /``; brackets; ``log``, ``exp`` and ``sqrt``.

        Raises
        ------
        ParameterError
            HG136: the expression cannot be parsed; the message says where. HG137: a term names no estimate of the
            release. HG130: the joint distribution of the estimates is not known.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500}), relation="replace-one")
        >>> release = survey.release(hg.variance("age", bounds=(0, 100)), by={"sex": [0, 1]}, epsilon=1.0)
        >>> release.ask("sqrt(variance(age | sex=0)) - sqrt(variance(age | sex=1))").statistic
        'sqrt(variance(age | sex=0)) - sqrt(variance(age | sex=1))'
        """
        return ask(expression, [self])

    def _read(self, name: str, about: Sequence[tuple[str, ...]], cell: Mapping[str, str]) -> Estimate | None:
        """Return the estimate that a released survival curve or distribution gives for a term, or None."""
        column = about[0][0] if about and len(about[0]) == 1 else ""
        try:
            whole = self.distribution(column, **cell)
            numbers = [str(float(value)) for (value,) in about[1:]]
        except (ParameterError, ValueError):
            return self._read_survival(name, about, cell)
        asked = statistic_of("_".join([name, *numbers]), column, whole.reading.leaves.grid)
        return None if asked is None else whole.estimate_of(asked)

    def _answering(self, *expressions: str) -> Release:
        """Return the release with the answers to expressions, for its record and its report (HG136, HG137, HG130)."""
        return replace(self, answers=self.answers | {expression: self.ask(expression) for expression in expressions})

    def distribution(self, column: str, **cell: object) -> ColumnDistribution:
        """Return the released distribution of a column within a cell, with all its quantiles, at no further price.

        Parameters
        ----------
        column : str
        **cell
            The cell (group of records): one category for each group column.

        Returns
        -------
        ColumnDistribution
            The distribution, whose methods ``.quantile(p)``, ``.cdf(x)`` and others return estimates. The method
            ``.plot(kind=…)`` draws the distribution.

        Raises
        ------
        ParameterError
            HG137: no distribution of this column and cell was released.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> release = survey.release(hg.quantile("age", 0.5, bounds=(0, 100), step=1), epsilon=1.0)
        >>> release.distribution("age").quantile(0.25).statistic
        'quantile_0.25'
        """
        return distribution_of(self._all_distributions(), column, cell)

    def _all_distributions(self) -> tuple[ColumnDistribution, ...]:
        """Return every distribution of the release: one for each column and cell."""
        distinct = {id(reading): reading for reading in map(reading_behind, self) if reading is not None}
        tables = list(distinct.values()) or self._readings()
        facts = facts_stated(self, self._request.get("unit_weight"))
        return tuple(released(zip(self._distributions, tables, strict=True), facts))

    def _readings(self) -> list[TableReading]:
        if self.certificate is None:
            return []
        about = {"target": str(self.target), "relation": str(self.relation)}
        return list(readings(self._distributions, self.certificate.mechanism, n=self.n, **about))

    def covariance(self) -> Covariances:
        """Return the covariance matrix of all estimates: a sampling part and a noise part. Unknown values are NaN."""
        return covariances(self.estimates)

    def to_uncertainties(self, *estimates: Estimate) -> list[Any]:
        """Return estimates (by default, all) as correlated numbers of the Python package `uncertainties`.

        Raises
        ------
        ImportError, ParameterError
            The Python package `uncertainties` is not installed: ``pip install hedgerow[uncertainties]``. HG130: the
            covariance of two estimates is not known.
        """
        return correlated_numbers(estimates or self.estimates)

    def __repr__(self) -> str:
        again = ", replayed" if self.replayed else ""
        return f"<Release of {len(self)} estimate{'s' * (len(self) != 1)}, {self.price()}{again}>"

    def __str__(self) -> str:
        again = (REPLAYED,) if self.replayed else ()
        # What is said of single estimates, once each: that noise hides the sampling error, say.
        shown = self._printed
        said = said_once([*self.notes, *(estimate.note for estimate in shown), *hidden_cells(shown)])
        more = [f"{left:,} more estimates."] if (left := len(self) - len(shown)) else []
        return "\n".join([*(str(estimate) for estimate in shown), *more, self.price(), *said, *again])

    def __reduce__(self) -> tuple[Any, tuple[type[Release]], list[Any]]:
        # Functions of the user's own are not sent along: no estimate, interval or certificate needs them. Before Python
        # 3.11.4 a dataclass with slots puts its own `__getstate__` in place of one that is written here.
        asked = tuple(statistic.without_code() for statistic in self._asked)
        state = [asked if part.name == "_asked" else getattr(self, part.name) for part in fields(self)]
        return copyreg.__newobj__, (type(self),), state  # type: ignore[attr-defined]  # typeshed does not list it

    def price(self) -> str:
        """Return the privacy price in one line: ε, δ, relation and unit; a simulated release has no price."""
        return SIMULATED if self.certificate is None else self.certificate.price()

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data: the request, the estimates with intervals at `level`, and the certificate."""
        return {name: list(part) if name == "estimates" else part for name, part in self._record(level).items()}

    def _record(self, level: float) -> dict[str, Any]:
        """Return what `to_dict` returns, with the estimates one by one."""
        answers = [{"expression": text, **answer.to_dict(level)} for text, answer in self.answers.items()]
        unlisted = {NOT_LISTED: not_listed(self._methods(), self._cells, parse_level(level))} if self._large else {}
        return {
            "release": self._facts(self.notes, self.reasons),
            **unlisted,
            "estimates": iter(()) if unlisted else self._entries(level),
            **({"asked": answers} if answers else {}),
            **({"joint": list(self._joint)} if self._joint else {}),
            **({"distributions": list(self._distributions)} if self._distributions else {}),
            **self._determining(level),
            "certificate": self.certificate.to_dict() if self.certificate else None,
        }

    @property
    def _cells(self) -> int:
        return len(self) // len(self._request["statistics"]) if self._request else 0

    @property
    def _large(self) -> bool:
        """Whether there are more cells than a record lists."""
        return self._cells > LISTED_CELLS

    def _methods(self) -> list[str]:
        return [self[place].method for place in range(0, len(self), self._cells)]

    def _json_parts(self, level: float, **more: Any) -> Iterator[str]:
        """Yield the JSON text; further fields stand at its end."""
        return record_parts({**self._record(level), **more})

    def _determining(self, level: float) -> dict[str, Any]:
        """Return what the other fields follow from; nothing where an earlier version wrote the record."""
        for name, several in (("pooled", self._pooled), ("joined", self._joined)):
            if several:
                return {name: [estimate.to_dict(level) for estimate in several], "reading": READING}
        return {"request": self._request, "noisy": list(self._noisy), "reading": READING} if self._request else {}

    def _entries(self, level: float) -> Iterator[dict[str, Any]]:
        level = parse_level(level)
        if isinstance(self.estimates, Estimates):
            return self.estimates.entries(level)
        return (estimate.to_dict(level) for estimate in self)

    def _publication(self, title: str | None = None, *, level: float = 0.95) -> ReleasePublication:
        """Return the data that the output formats read, with intervals at `level`."""
        return ReleasePublication(self, level, title)

    def to_json(self, path: str | Path | None = None, *, level: float = 0.95) -> str:
        """Return the record of the release as JSON text, and write the text to `path` if a path is given.

        Parameters
        ----------
        path : str or Path, optional
            The path of the file to which the text is written.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        str
            The JSON text, which `from_json` reads and ``hedgerow verify`` checks.

        Raises
        ------
        ParameterError
            HG118: the file cannot be written. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> survey.release(hg.mean("age", bounds=(0, 100)), epsilon=1.0).to_json()[0]
        '{'
        """
        return optionally_written("".join(self._publication(level=level).json_parts()), path)

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the estimates as columns of equal length: statistic, a proportion's value, groups, numbers, notes."""
        level, made = parse_level(level), self.estimates
        if isinstance(made, Estimates):
            read = made.in_columns(level)
        else:
            read = columns_of_entries(one.to_dict(level) for one in made)
        cells, labels = read["cell"], read["labels"]
        own = {"value": read["value"]} if "proportion" in read["statistic"] else {}
        labelled = [group for group in cells if group in labels]
        headings, of_labels = group_headings(list(cells), labelled, further=own)
        columns = {name: read[name] for name in ("statistic", "column")} | own
        columns |= {headings[group]: values for group, values in cells.items()}
        columns |= {of_labels[group]: labels[group] for group in labelled}
        return columns | {name: read[name] for name in (*_NUMBERS, "low", "high", "level", *_TAIL)}

    def _error_bars(self, level: float = 0.95) -> list[ErrorBar]:
        """Return the estimates as bars for a plot. The bars of one statistic and column belong to one panel."""
        return [estimate._error_bar(level) for estimate in self._printed]

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw each estimate with its interval and the part of the interval that comes from the noise.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes for all estimates, on one scale. By default, each statistic has a panel in a new figure.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        matplotlib.axes.Axes
            The axes of the first panel.

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500}), relation="replace-one")
        >>> release = survey.release(hg.variance("age", bounds=(0, 100)), by={"sex": [0, 1]}, epsilon=1.0)
        >>> release.plot().get_title(loc="left")
        'variance of age'
        """
        from hedgerow.plots.bars import draw_error_bars
        from hedgerow.plots.figure import shown_in_notebook

        with shown_in_notebook():
            return draw_error_bars(self._error_bars(level), level=level, ax=ax)

    def _repr_html_(self) -> str:
        from hedgerow.plots.notebook import card_of_lines

        shown = self._printed
        said = said_once([*self.notes, *(estimate.note for estimate in shown), *hidden_cells(shown)])
        again = (REPLAYED,) if self.replayed else ()
        celled = any(estimate.cell for estimate in shown)
        return card_of_lines(
            f"Release of {plural(len(self), 'estimate')}",
            self.price(),
            ("statistic", "cell")[: 1 + celled],
            [estimate._card_line(with_cell=celled) for estimate in shown],
            notes=(*said, *again),
            picture=self.plot,
        )


_ESTIMATE = (
    "statistic", "column", "cell", "estimate", "sampling_error", "bootstrap_error", "privacy_error",
    "method", "n_resamples", "reliable", "note",
)  # fmt: skip


def release_from_record(text: str, *, backend: str | None = None) -> Release:
    """Return the release that wrote this JSON; its intervals are those at the recorded level.

    Estimates that were read from joint moments are computed with as before, and have intervals at any level; those of
    a function of one's own are computed with by their tangent, and have the recorded interval alone.

    Raises
    ------
    VerificationError
        HG502: the file does not contain the record of a release.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> release = survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0)
    >>> release_from_record(release.to_json()).to_json() == release.to_json()
    True
    """
    return release_of(record_of(text), backend=backend)


def release_of(record: Any, *, backend: str | None = None) -> Release:
    """Return the release that wrote a record which was read already; see `release_from_record`."""
    try:
        about = record["release"]
        certificate = Certificate.from_dict(record["certificate"])
        if NOT_LISTED in record:
            return _read_again(record, certificate, backend)
        joint = tuple(record.get("joint", ()))
        about_joint = RecordedFacts(about["n"], about["target"] == str(Target.FILE))
        values: dict[int, Region] = {**joint_values(joint, certificate.mechanism, about_joint)}
        values |= regions_of_tables(record, certificate)
        estimates = tuple(
            recorded_estimate(entry, values.get(place)) for place, entry in enumerate(record["estimates"])
        )
        tables = tuple(record.get("distributions", ()))
        public = {"target": str(about["target"]), "relation": str(about["relation"])}
        list(readings(tables, certificate.mechanism, n=about["n"], **public) if tables else ())
        return Release(
            estimates,
            certificate=certificate,
            **{name: about[name] for name in ("source", "relation", "unit", "target", "n", "missing")},
            where=about.get("where"),
            weights=about.get("weights"),
            derived=about.get("derived", {}),
            date=about.get("date"),
            about=dict(about.get("about", {})),
            reasons=about["methods"],
            notes=tuple(about["notes"]),
            backend=backend,
            _joint=joint,
            _distributions=tables,
            answers={str(answer["expression"]): recorded_estimate(answer, None) for answer in record.get("asked", ())},
            _request=dict(record.get("request", {})),
            _noisy=tuple(record.get("noisy", ())),
            _pooled=tuple(map(release_of, record.get("pooled", ()))),
            _joined=tuple(map(release_of, record.get("joined", ()))),
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise VerificationError(
            "HG502",
            rule="A release is read from the JSON record that the release wrote.",
            finding="The given text is another kind of record.",
            remedy="Use an unchanged release.json, or the result in the ledger.",
        ) from None


def _read_again(record: Mapping[str, Any], certificate: Certificate, backend: str | None) -> Release:
    """Return a release whose record lists no estimates: they are read from the noisy numbers."""
    plan, about = plan_of(record, certificate, request_of(record)), record["release"]
    known = {"source": about["source"], "date": about.get("date"), "about": about.get("about")}
    release = Release._of(plan, tables_of(record, plan), certificate, backend=backend, **known)
    answers = {str(answer["expression"]): recorded_estimate(answer, None) for answer in record.get("asked", ())}
    return replace(release, reasons=about["methods"], notes=tuple(about["notes"]), answers=answers)


def recorded_estimate(entry: Mapping[str, Any], computed: Region | None) -> Estimate:
    """Return an estimate as a record states it, with the recorded interval alone; `computed` computes with it."""
    interval = entry["confidence_interval"]
    low = -math.inf if interval["low"] is None else float(interval["low"])
    high = math.inf if interval["high"] is None else float(interval["high"])
    region = RecordedRegion(low, high, float(interval["level"]), str(interval["method"]), computed)
    drawn = entry.get("replicates")
    return Estimate(
        **{name: entry[name] for name in _ESTIMATE},
        labels=dict(entry.get("labels", {})),
        covers=str(interval["covers"]),
        _region=region,
        replicates=None if drawn is None else tuple(float(replicate) for replicate in drawn),
    )
