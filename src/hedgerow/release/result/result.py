"""`Release`: the estimates of one call with the certificate that prices them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from hedgerow.facts.printed import neutralise_formula
from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.release.plan import Plan
from hedgerow.release.result.frame import build_frame
from hedgerow.release.result.write_file import write_lines
from hedgerow.statistics.statistic import Statistic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.plots.error_bars import ErrorBar

REPLAYED = "Answered from the ledger's record of this request: nothing was spent, and no new noise was drawn."
_NUMBERS = ("estimate", "standard_error", "sampling_error", "bootstrap_error", "privacy_error")
_TAIL = ("method", "n_resamples", "reliable", "note")


@dataclass(frozen=True, slots=True, repr=False)
class Release(Sequence[Estimate]):
    """What left the data: a sequence of `Estimate`, and the one certificate of the whole call.

    Attributes
    ----------
    estimates : tuple of Estimate
    certificate : Certificate or None
        None for a simulated release, which is never certified.
    source, relation, unit, target, missing : str
        What was asked of what; public.
    n : int or None
        The number of records, under replace-one.
    reasons : dict
        Why each method was chosen, from public facts.
    notes : tuple of str
        What a reader must know about the release as a whole.
    asked, identity : tuple of statistic, str
        What was asked of which opened source; not written to any record, it tells releases of one thing from others.
    ledger_head : str or None
        The head of the ledger after this release, where there is one: printed on a report, it dates the ledger.
    unrecorded : bool
        Whether the ledger holds the price alone, since this result could not be written there (HG606).
    replayed : bool
        Whether the ledger's record of the same request answered, at no further price; said here, and in no record.
    """

    estimates: tuple[Estimate, ...]
    certificate: Certificate | None
    source: str
    relation: str
    unit: str
    target: str
    n: int | None
    missing: str
    reasons: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    simulated: bool = False
    backend: str | None = None
    asked: tuple[Statistic, ...] = ()
    identity: str = ""
    ledger_head: str | None = None
    unrecorded: bool = False
    replayed: bool = False

    @classmethod
    def of(
        cls,
        plan: Plan,
        estimates: Sequence[Estimate],
        certificate: Certificate | None,
        *,
        source: str,
        backend: str | None,
        identity: str = "",
    ) -> Release:
        """Put a plan's estimates together; without a certificate the release is marked simulated."""
        facts, request = plan.facts, plan.request
        return cls(
            tuple(estimates),
            certificate,
            source,
            str(facts.relation),
            str(facts.unit),
            str(facts.target),
            facts.n,
            str(request.missing),
            plan.reasons(),
            plan.notes(),
            certificate is None,
            backend,
            plan.request.statistics,
            identity,
        )

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, index: int | slice) -> Estimate | Sequence[Estimate]:
        return self.estimates[index]

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __repr__(self) -> str:
        again = ", replayed" if self.replayed else ""
        return f"<Release of {len(self)} estimate{'s' * (len(self) != 1)}, {self.price()}{again}>"

    def __str__(self) -> str:
        again = (REPLAYED,) if self.replayed else ()
        # What is said of single estimates, once each: that noise hides the sampling error, say.
        own = dict.fromkeys(estimate.note for estimate in self if estimate.note)
        return "\n".join([*(str(estimate) for estimate in self), self.price(), *self.notes, *own, *again])

    def __reduce__(self) -> tuple[Any, ...]:
        # Functions of the user's own are not sent along: no estimate, interval or certificate needs them.
        asked = tuple(one.without_code() for one in self.asked)
        return type(self), tuple(asked if one.name == "asked" else getattr(self, one.name) for one in fields(self))

    def price(self) -> str:
        """Return the price in a line: ε, δ, relation and unit; or that the release is simulated."""
        if self.certificate is None:
            return "SIMULATED: seeded noise, not private, no certificate"
        cost = self.certificate
        return f"ε ≤ {cost.epsilon:.6g} at δ = {cost.delta:.3g}, {cost.relation}, unit {cost.unit}"

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data: what was asked, the estimates with intervals at `level`, the certificate."""
        about = {
            "source": self.source,
            "relation": self.relation,
            "unit": self.unit,
            "target": self.target,
            "n": self.n,
            "missing": self.missing,
            "methods": self.reasons,
            "notes": list(self.notes),
        }
        return {
            "release": {**about, "simulated": True} if self.simulated else about,
            "estimates": [estimate.to_dict(level) for estimate in self],
            "certificate": self.certificate.to_dict() if self.certificate else None,
        }

    def to_json(self, path: str | Path | None = None, *, level: float = 0.95) -> str:
        """Return the JSON text, and write it to `path` where one is given (HG118 where it cannot be written)."""
        text = json.dumps(self.to_dict(level), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if path is not None:
            write_lines(path, [text])
        return text

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the estimates as columns of equal length: statistic, groups, numbers, interval, notes."""
        groups = list(dict.fromkeys(column for estimate in self for column in estimate.cell))
        rows = [estimate.to_dict(level) for estimate in self]
        columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in ("statistic", "column")}
        columns |= {f"by_{group}": [row["cell"].get(group) for row in rows] for group in groups}
        columns |= {name: [row[name] for row in rows] for name in _NUMBERS}
        columns |= {name: [row["confidence_interval"][name] for row in rows] for name in ("low", "high", "level")}
        return columns | {name: [row[name] for row in rows] for name in _TAIL}

    def to_csv(self, path: str | Path, *, level: float = 0.95) -> None:
        """Write one row an estimate (HG118 where it cannot be written).

        Texts that a spreadsheet would run as a formula are made inert with a quote.
        """
        columns = self.to_columns(level)
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([neutralise_formula(name) for name in columns])
        writer.writerows([neutralise_formula(cell) for cell in row] for row in zip(*columns.values(), strict=True))
        write_lines(path, [text.getvalue()])

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame in the caller's own library, else the first installed of polars, pandas, pyarrow.

        Raises
        ------
        ParameterError
            HG208: none is installed; `to_dict` needs none.
        """
        return build_frame(self.to_columns(), backend or self.backend)

    def error_bars(self, level: float = 0.95) -> list[ErrorBar]:
        """Return the estimates as bars to be drawn; those of one statistic and column belong to one panel."""
        from hedgerow.plots.error_bars import ErrorBar

        bars = []
        for estimate in self:
            interval = estimate.confidence_interval(level)
            panel = estimate.statistic if estimate.column is None else f"{estimate.statistic} of {estimate.column}"
            cell = ", ".join(f"{column}={value}" for column, value in estimate.cell.items()) or "all"
            ends, privacy = (interval.low, interval.high), estimate.privacy_error
            bars.append(ErrorBar(cell, estimate.estimate, *ends, privacy, estimate.reliable, panel))
        return bars

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw each estimate with its interval and the privacy part of it; return the axes.

        Without `ax` every statistic has a panel of its own in a new figure: that of the axes returned. With `ax` all
        are drawn there, on one scale. A notebook shows the new figure; elsewhere it is yours to show or to save.
        """
        from hedgerow.plots.error_bars import draw_error_bars
        from hedgerow.plots.figure import shown_in_notebook

        with shown_in_notebook():
            return draw_error_bars(self.error_bars(level), level=level, ax=ax)

    def _repr_html_(self) -> str:
        columns = self.to_columns()
        printed = [estimate.confidence_interval().outward().to_dict() for estimate in self]
        columns |= {end: [one[end] for one in printed] for end in ("low", "high")}
        shown = [name for name in columns if name not in ("note", "n_resamples", "bootstrap_error", "level")]
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in shown)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_short(columns[name][row]))}</td>" for name in shown) + "</tr>"
            for row in range(len(self))
        )
        told = f"{self.price()}. {REPLAYED}" if self.replayed else self.price()
        caption = f"<caption>{escape(told)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _short(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
