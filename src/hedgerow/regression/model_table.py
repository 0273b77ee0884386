"""`models`: several fits side by side, as papers print them: post-processing, at no price."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import Lines, decimals, joined, number, starred
from hedgerow.inference.estimate import said_once
from hedgerow.regression.formula import INTERCEPT
from hedgerow.release.publication.printed_table import IN_BRACKETS, Heading, PrintedTable, in_brackets
from hedgerow.release.publication.shared import REPLAYED, Writable, framed
from hedgerow.release.publication.text import aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.plots.bars import ErrorBar

STARS = "* p < 0.05, ** p < 0.01, *** p < 0.001; p-values count the noise too."
_UNSURE = "† Not reliable: the noise swamps this fit."


class FitOutputs(Writable):
    """The ways to hand on the fits of one release, all of which a table of models has too."""

    __slots__ = ()

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return the record of the fits as plain JSON data."""
        raise NotImplementedError

    def error_bars(self, level: float = 0.95) -> list[ErrorBar]:
        """Return the coefficients as data for a picture of error bars."""
        raise NotImplementedError

    def _publication(self, title: str | None = None, *, level: float = 0.95) -> FitPublication:
        return FitPublication(self, models(self), level, title, self.to_dict)

    def to_frame(
        self,
        backend: str | None = None,
        *,
        across: str | Sequence[str] | None = None,
        values: str | Sequence[str] = "estimate",
        p_values: bool = False,
    ) -> Any:
        """Return a data frame of the coefficients, in the data frame library of the caller.

        Parameters
        ----------
        backend : str, optional
            ``"polars"``, ``"pandas"`` or ``"pyarrow"``.
        across : str or list of str, optional
            Group columns whose categories become columns of the frame, side by side, as in `Release.to_frame`.
        values : str or list of str
            The numbers that the columns for the categories of `across` show.
        p_values : bool
            Whether the frame has the columns ``t`` and ``pvalue``, whose tests include the privacy noise. The tests of
            the coefficients include the privacy noise.

        Returns
        -------
        DataFrame or Table
            A frame with one row for each coefficient.

        Raises
        ------
        ParameterError
            HG208: no data frame library is installed. HG160: a named column does not exist.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> fit.to_frame("pyarrow", p_values=True).column_names[-2:]
        ['t', 'pvalue']
        """
        columns = self.to_columns()
        if p_values:
            tests = [test for fit in models(self).fits for test in fit.t_test(np.eye(len(fit)))]
            columns |= {"t": [test.tvalue for test in tests], "pvalue": [test.pvalue for test in tests]}
        return framed(columns, backend or self.backend, across, values)


@dataclass(frozen=True, slots=True)
class FitPublication:
    """Fits as the formats read them, with intervals at one level."""

    shown: Writable
    table: ModelTable
    level: float
    title: str | None = None
    record: Callable[[float], dict[str, Any]] | None = None

    @property
    def kind(self) -> Literal["release"]:
        """The kind of publication: fits have the formats of a release."""
        return "release"

    def lines(self) -> Iterator[Sequence[Any]]:
        """Yield the names of the columns, then one line per coefficient."""
        columns = self.shown.to_columns(self.level)
        yield list(columns)
        yield from zip(*columns.values(), strict=True)

    def printed(self) -> PrintedTable:
        """Return the table of models for a paper."""
        return self.table.printed(self.title)

    def json_parts(self) -> Iterator[str]:
        """Yield the JSON text (HG118: fits of several releases have no record together)."""
        if self.record is None:
            raise ParameterError(
                "HG118",
                rule="The format JSON stores the record of one release in each file.",
                finding="A table of several fits may contain the results of several releases.",
                remedy="Write each fit to a file of its own.",
            )
        yield json.dumps(self.record(self.level), ensure_ascii=False, allow_nan=False) + "\n"

    def error_bars(self) -> list[ErrorBar]:
        """Return the coefficients as bars to be drawn."""
        return self.table.error_bars(self.level)


@dataclass(frozen=True, eq=False, repr=False)
class ModelTable(Writable):
    """A table of several fits, with a column for each fit and a row for each coefficient.

    Standard errors are printed in brackets.

    Attributes
    ----------
    fits : tuple of fits
        The fits: results of `Survey.ols` and `Survey.logit`, or their submodels.
    names : tuple of str
        The heading above the column of each fit.
    p_values : bool
        Whether the table prints p-values.
    stars : bool
        Whether the table prints stars beside coefficients with small p-values.
    """

    fits: tuple[Any, ...]
    names: tuple[str, ...]
    p_values: bool = False
    stars: bool = False

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of all coefficients in the order in which they first occur. The intercept comes last."""
        terms = dict.fromkeys(name for fit in self.fits for name in fit.names)
        return tuple(sorted(terms, key=lambda name: name == "Intercept"))

    def __len__(self) -> int:
        return len(self.fits)

    def __repr__(self) -> str:
        return f"<ModelTable of {len(self)} fits, {len(self.terms)} coefficients>"

    def __str__(self) -> str:
        return self.summary()

    def printed(self, title: str | None = None) -> PrintedTable:
        """Return the table with all its entries as text, for the output formats."""
        columns = [self._column(fit) for fit in self.fits]
        rows: list[tuple[str, ...]] = []
        for term in self.terms:
            lines = [column.get(term, ()) for column in columns]
            for place in range(max(map(len, lines))):
                cells = (line[place] if place < len(line) else "" for line in lines)
                rows.append((term if place == 0 else "", *cells))
        facts = [fit.facts_of_fit() for fit in self.fits]
        rule = len(rows)
        named = dict.fromkeys(name for known in facts for name in known)
        rows += [(name, *(known.get(name, "") for known in facts)) for name in named]
        responses = [fit.about.model.response for fit in self.fits]
        heads = ((Heading(""), *_spans(responses)), (Heading(""), *map(Heading, self.names)))
        caption = f"Regressions of {joined(list(dict.fromkeys(responses)))}" if title is None else title
        return PrintedTable(caption, 1, heads, tuple(rows), frozenset([rule]), self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers on the definition of the errors, the price of each release, and each fit."""
        priced: dict[str, list[str]] = {}
        for name, fit in zip(self.names, self.fits, strict=True):
            priced.setdefault(fit.price() + _receipt(fit), []).append(name)
        prices = [f"Guarantee of {joined(names)}: {price.partition(_MARK)[0]}." for price, names in priced.items()]
        several = any(len(names) > 1 for names in priced.values())
        together = ["Fits of one release are paid for once."] if several else []
        unsure = [] if all(fit.reliable for fit in self.fits) else [_UNSURE]
        p_values = ["p-values, in square brackets, count the noise too."] if self.p_values and not self.stars else []
        said = said_once([note for fit in self.fits for note in (*fit.missing_in_words(), *fit.notes)])
        return (IN_BRACKETS, *([STARS] if self.stars else p_values), *unsure, *prices, *together, *said)

    def _column(self, fit: Any) -> dict[str, tuple[str, ...]]:
        errors, tests = fit.bse, fit.pvalues if self.p_values or self.stars else {}
        lines = {}
        for name, value in fit.params.items():
            error = finite(errors[name])
            mark = ("" if fit.reliable else "†") + (starred(tests[name]) if self.stars else "")
            shown = [number(value, decimals(error)) + mark, in_brackets(error)]
            lines[name] = (*shown, *([f"[{tests[name]:.3f}]"] if self.p_values else []))
        return lines

    def summary(self) -> str:
        """Return the table as text, with the notes below the table."""
        printed = self.printed()
        lines = aligned([*printed.head_texts, *printed.rows], 1)
        rule, size = "-" * max(map(len, lines)), len(printed.heads)
        body = lines[size:]
        (foot,) = printed.rules
        table = [*lines[:size], rule, *body[:foot], rule, *body[foot:]]
        return Lines("\n".join([*table, "", *printed.notes]))

    def _publication(self, title: str | None = None, *, level: float = 0.95) -> FitPublication:
        return FitPublication(self, self, level, title)

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return one line for each coefficient of each fit, with the name of the fit.

        Error HG110: the confidence level is invalid.
        """
        lines = []
        for name, fit in zip(self.names, self.fits, strict=True):
            ends, parts = fit.conf_int(level), (fit.sampling_error, fit.privacy_error)
            for term, value in fit.params.items():
                errors = (finite(part[term]) for part in (fit.bse, *parts))
                low, high = map(finite, ends[term])
                lines.append((name, term, value, *errors, low, high, fit.reliable))
        errors_named = ("standard_error", "sampling_error", "privacy_error")
        heads = ("model", "term", "estimate", *errors_named, "low", "high", "reliable")
        return {head: [line[place] for line in lines] for place, head in enumerate(heads)}

    @property
    def backend(self) -> str | None:  # type: ignore[override]  # read from the first fit, not a field
        """The caller's own frame library."""
        backend: str | None = self.fits[0].backend
        return backend

    def error_bars(self, level: float = 0.95) -> list[ErrorBar]:
        """Return the coefficients of all fits as error bars; coefficients of the same name stand side by side."""
        bars: dict[tuple[str, str], list[ErrorBar]] = {}
        for name, fit in zip(self.names, self.fits, strict=True):
            for bar in fit.error_bars(level):
                label = f"{bar.label}, {name}" if bar.about_zero else name
                bars.setdefault((bar.panel, bar.label), []).append(replace(bar, label=label))
        # The panel of intercepts comes last.
        return [bar for _, beside in sorted(bars.items(), key=lambda item: item[0][0] == INTERCEPT) for bar in beside]

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


def finite(value: float) -> float | None:
    """Return the value; None where it is infinite or NaN."""
    return value if math.isfinite(value) else None


def paired(facts: Mapping[str, str]) -> list[str]:
    """Return facts in two columns, as statsmodels prints them above the coefficients.

    >>> paired({"Model": "OLS", "No. Observations": "40", "Relation": "add-remove"})
    ['Model:            OLS   No. Observations:  40', 'Relation:  add-remove']
    """
    listed = [(f"{name}:", value) for name, value in facts.items()]
    columns = [listed[side::2] for side in (0, 1)]
    widths = [[max((len(fact[part]) for fact in column), default=0) for part in (0, 1)] for column in columns]
    lines = zip_longest(*columns, fillvalue=("", ""))
    shown = [
        [f"{name:<{w}}  {value:>{v}}" for (name, value), (w, v) in zip(line, widths, strict=True)] for line in lines
    ]
    return ["   ".join(parts).rstrip() for parts in shown]


def counted_in_words(what: str) -> str:
    """Return what heads the number of records, rows or units: statsmodels calls records observations."""
    return "No. Observations" if what.lower() == "records" else what.capitalize()


def card_of_fits(fits: Sequence[Any], picture: Callable[[], Axes]) -> str:
    """Return what a notebook shows of the fits of one release."""
    from hedgerow.plots.notebook import card_of_lines

    first = fits[0]
    notes = dict.fromkeys(note for fit in fits for note in fit.notes)
    again = (REPLAYED,) if first.replayed else ()
    lines = [line for fit in fits for line in fit.card_lines()]
    head = ("cell", "coefficient") if first.cell else ("coefficient",)
    title = first.title.partition(" | ")[0]
    return card_of_lines(title, first.price(), head, lines, notes=(*notes, *again), picture=picture)


def models(*fits: Any, names: Sequence[str] | None = None, p_values: bool = False, stars: bool = False) -> ModelTable:
    """Return one table that shows several fits side by side, as in papers.

    The table is computed from released numbers, so it costs no budget.

    Parameters
    ----------
    *fits
        The fits: results of `Survey.ols` and `Survey.logit`, or their submodels. A result with several cells adds one
        fit for each cell.
    names : list of str, optional
        The heading above the column of each fit. By default the headings are ``(1)``, ``(2)``, …; the heading of a fit
        for one cell is the label of the cell.
    p_values : bool
        Whether to print the p-value of each coefficient below the standard error.
    stars : bool
        Whether to mark coefficients whose p-value is below 0.05, 0.01 and 0.001.

    Returns
    -------
    ModelTable
        The table of fits, with ``.summary()``, ``.to_latex()``, ``.to_markdown()`` and ``.to_frame()``.

    Raises
    ------
    ParameterError
        HG194: no fit was given, an argument is not a fit, or the number of names is not the number of fits.

    Examples
    --------
    >>> import hedgerow as hg, pyarrow
    >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
    >>> survey = hg.open(data, relation="replace-one")
    >>> fit = survey.ols("y", ["x", "z"], bounds={"x": (0, 3), "y": (0, 5), "z": (0, 1)}, epsilon=1.0)
    >>> table = models(fit.submodel("y", ["x"]), fit)
    >>> table.terms, len(table)
    (('x', 'z', 'Intercept'), 2)
    """
    listed = [each for fit in fits for each in _fits_of(fit)]
    cells = [", ".join(f"{column}={value}" for column, value in fit.cell.items()) for fit in listed]
    numbered = [cell or f"({place})" for place, cell in enumerate(cells, start=1)]
    heads = numbered if names is None else [str(name) for name in names]
    if not listed or len(heads) != len(listed):
        raise _no_table(f"Found {len(listed)} fits and {len(heads)} names.")
    return ModelTable(tuple(listed), tuple(heads), p_values, stars)


def _fits_of(fit: Any) -> Sequence[Any]:
    several = getattr(fit, "fits", None)
    if several is None:
        raise _no_table(f"Found a {type(fit).__name__}.")
    listed: Sequence[Any] = several
    return listed


def _no_table(finding: str) -> ParameterError:
    return ParameterError(
        "HG194",
        rule="A table of models needs one or more fitted regressions, and one name for each fit.",
        finding=finding,
        remedy='Give the fits and one name for each fit, for example hg.models(fit, fit.submodel("income ~ age"), '
        'names=["full", "small"]).',
    )


_MARK = "\0"


def _receipt(fit: Any) -> str:
    """Return what tells one release from another that has the same price; it is not printed."""
    return _MARK + str(id(fit.certificate))


def _spans(texts: Sequence[str]) -> list[Heading]:
    """Return headings, one over all neighbours of the same text."""
    spans: list[Heading] = []
    for text in texts:
        again = bool(spans) and spans[-1].text == text
        spans[-1:] = [Heading(text, spans[-1].span + 1)] if again else [*spans[-1:], Heading(text)]
    return spans
