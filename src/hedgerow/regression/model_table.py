"""`models`: several fits side by side, as papers print them: post-processing, at no price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import Lines, decimals, joined, number, starred
from hedgerow.inference.estimate import said_once
from hedgerow.regression.coefficients import AnyFit, finite
from hedgerow.release.publication.formats.markdown import markdown_text
from hedgerow.release.publication.formats.tex import latex_text
from hedgerow.release.publication.printed_table import IN_BRACKETS, Heading, PrintedTable, in_brackets
from hedgerow.release.publication.shared import build_frame
from hedgerow.release.publication.text import aligned
from hedgerow.release.publication.write_file import optionally_written

STARS = "* p < 0.05, ** p < 0.01, *** p < 0.001; p-values count the noise too."
_UNSURE = "† Not reliable: the noise swamps this fit."


@dataclass(frozen=True, eq=False, repr=False)
class ModelTable:
    """A table of several fits: each column is a fit, each row is a coefficient. Standard errors stand in brackets.

    Attributes
    ----------
    fits : tuple of fits
        The fits: results of `Survey.ols` and `Survey.logit`, or their submodels.
    names : tuple of str
        The heading above the column of each fit.
    p_values, stars : bool
        Whether the table prints p-values, and stars that mark small p-values.
    """

    fits: tuple[AnyFit, ...]
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
        """Return the table with all its cells as text, for the output formats."""
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
        """Notes for readers: how the errors are defined, the price of each release, and the notes of each fit."""
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

    def _column(self, fit: AnyFit) -> dict[str, tuple[str, ...]]:
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

    def to_latex(self, path: str | Path | None = None, *, title: str | None = None) -> str:
        r"""Return the table as LaTeX with booktabs rules, and write the text to `path` if a path is given.

        Parameters
        ----------
        path : path, optional
            The file for the text. The file may have any name.
        title : str, optional
            The caption of the table.

        Returns
        -------
        str
            The text of the table.

        Raises
        ------
        ParameterError
            HG118: the file cannot be written.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> hg.models(fit).to_latex(title="Fits").splitlines()[3]
        '  \\caption{Fits}'
        """
        return optionally_written(latex_text(self.printed(title)), path)

    def to_markdown(self, path: str | Path | None = None, *, title: str | None = None) -> str:
        """Return the table as Markdown, and write the text to `path` if a path is given.

        Parameters
        ----------
        path : path, optional
            The file for the text. The file may have any name.
        title : str, optional
            The caption of the table.

        Returns
        -------
        str
            The text of the table.

        Raises
        ------
        ParameterError
            HG118: the file cannot be written.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 3), "y": (0, 5)}, epsilon=1.0)
        >>> hg.models(fit).to_markdown(title="Fits").splitlines()[0]
        '**Fits**'
        """
        return optionally_written(markdown_text(self.printed(title)), path)

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return one line for each coefficient of each fit, with the name of the fit (HG110: the level is invalid)."""
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

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame of all coefficients, in the library of the data (HG208: no library is installed)."""
        return build_frame(self.to_columns(), backend or self.fits[0].backend)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


def models(*fits: Any, names: Sequence[str] | None = None, p_values: bool = False, stars: bool = False) -> ModelTable:
    """Return one table that shows several fits side by side, as papers do. The table costs no budget.

    Parameters
    ----------
    *fits
        The fits: results of `Survey.ols` and `Survey.logit`, or their submodels. A result by cell adds the fit of
        every cell.
    names : list of str, optional
        The heading above the column of each fit. By default the headings are ``(1)``, ``(2)``, …, or the cell's label
        if a fit comes from a cell of a grouping.
    p_values : bool
        Whether to print the p-value of each coefficient below the standard error.
    stars : bool
        Whether to mark coefficients whose p-value is below 0.05, 0.01 and 0.001.

    Returns
    -------
    ModelTable
        The table, with ``.summary()``, ``.to_latex()``, ``.to_markdown()`` and ``.to_frame()``.

    Raises
    ------
    ParameterError
        HG194: you gave no fit, you gave an argument that is not a fit, or the number of names is not the number of
        fits.

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


def _fits_of(fit: Any) -> Sequence[AnyFit]:
    several = getattr(fit, "fits", None)
    if several is None:
        raise _no_table(f"Found a {type(fit).__name__}.")
    listed: Sequence[AnyFit] = several
    return listed


def _no_table(finding: str) -> ParameterError:
    return ParameterError(
        "HG194",
        rule="A table of models has fits of regressions, and as many names.",
        finding=finding,
        remedy='For example hg.models(fit, fit.submodel("income ~ age"), names=["full", "small"]).',
    )


_MARK = "\0"


def _receipt(fit: AnyFit) -> str:
    """Return what tells one release from another that has the same price; it is not printed."""
    return _MARK + str(id(fit.certificate))


def _spans(texts: Sequence[str]) -> list[Heading]:
    """Return headings, one over all neighbours of the same text."""
    spans: list[Heading] = []
    for text in texts:
        again = bool(spans) and spans[-1].text == text
        spans[-1:] = [Heading(text, spans[-1].span + 1)] if again else [*spans[-1:], Heading(text)]
    return spans
