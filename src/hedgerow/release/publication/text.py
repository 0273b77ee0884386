"""A table, or the estimates of a release, as aligned plain text for a terminal, with footnotes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from hedgerow.facts.lines import PROSE, column_parts, line_width, paragraph
from hedgerow.facts.printed import decimals, for_terminal, number, percent, printable
from hedgerow.inference.estimate import Estimate
from hedgerow.release.cells.printed_numbers import reliability_letters
from hedgerow.release.publication.publication import Layout, LayoutEntry, Publication, arrange
from hedgerow.release.publication.shared import Result, hidden_cells

_LABEL = 28
_MOST_ACROSS = 40
_MOST_TARGETS = 3  # of a clause; one more is shown, but not two


def text_of(publication: Publication, *, width: int | None = None, most_rows: int = 200) -> str:
    r"""Return the table as text: headings once over what they span, a rule above totals, footnotes below.

    Where the columns that go across do not fit the width, the table is cut into parts that repeat the row headings;
    more than 40 go down instead.

    Parameters
    ----------
    publication : Publication
    width : int, optional
        In characters; by default that of the terminal, or 100 where none is known.
    most_rows : int
        Rows printed; the text says how many there are beyond.

    Examples
    --------
    >>> from hedgerow.release.cells.table_cells import TableCells
    >>> from hedgerow.release.cells.margins import consistent_table
    >>> from hedgerow.release.cells.shape import TableDimension, TableShape
    >>> shape = TableShape((TableDimension("sex", ("f", "m")), TableDimension("region", ("north", "south"))))
    >>> cells = TableCells.counts(shape, [140.0, 2500.0, 130.0, 4400.0], privacy_variance=2.0)
    >>> print(text_of(Publication("People", consistent_table(cells), "")).split("Reliability")[0].rstrip())
    People
    <BLANKLINE>
           region
    sex    north    south    Total
    ------------------------------
    f      140 B  2,500 A  2,640 A
    m      130 B  4,400 A  4,530 A
    ------------------------------
    Total  270 B  6,900 A  7,170 A
    """
    width = width or line_width() or PROSE
    notes = (paragraph(printable(note), most=min(width, PROSE)) for note in publication.footnotes())
    return "\n".join([*table_lines(publication, width=width, most_rows=most_rows), *notes])


def table_lines(publication: Publication, *, width: int | None = None, most_rows: int = 200) -> list[str]:
    """Return the lines of `text_of` without the footnotes; the last is empty."""
    width = width or line_width() or PROSE
    layout = arrange(publication)
    if layout.columns > _MOST_ACROSS:
        layout = arrange(replace(publication, across=()))
    numbers = _numbers(publication, layout, most_rows)
    beside = _beside(layout, len(numbers))
    title = printable(publication.title) + (f" ({printable(publication.unit)})" if publication.unit else "")
    lines = [title, ""]
    for start, stop in _parts(beside, numbers, layout, width):
        lines += [*_part(publication, layout, beside, numbers, start, stop), ""]
    if len(numbers) < layout.rows:
        lines += [f"{layout.rows - len(numbers):,} more rows.", ""]
    return lines


def _numbers(publication: Publication, layout: Layout, most_rows: int) -> list[list[str]]:
    values = layout.spread(lambda cells: cells.published)[:most_rows]
    errors = publication.printed_errors(layout, most_rows=most_rows)
    letters: NDArray[Any] | None = None
    if publication.has_letters:
        letters = layout.spread(lambda cells: reliability_letters(cells, publication.bands))[:most_rows]
    printed, rows = publication.formatter(), []
    for row in range(len(values)):
        cells = []
        for column in range(layout.columns):
            text = printed(float(values[row, column]))
            text += f" ±{errors[row][column]}" if errors is not None else ""
            if letters is not None:
                letter = str(letters[row, column])
                hidden = publication.hide_unreliable and letter == publication.bands.last[0]
                text = letter if hidden else f"{text} {letter}"
            cells.append(text)
        rows.append(cells)
    return rows


def _beside(layout: Layout, rows: int) -> list[list[str]]:
    """Return the row headings, the columns' names first; a heading is written once where it spans rows."""
    listed = [[_cut(column) for column in layout.down] or [""]]
    before: tuple[Any, ...] = ()
    for row, head in zip(range(rows), layout.heads(layout.down), strict=False):
        first = next((depth for depth in range(len(head)) if head[: depth + 1] != before[: depth + 1]), 0)
        listed.append(
            [_cut(_indented(entry)) if depth >= first or row == 0 else "" for depth, entry in enumerate(head)] or [""]
        )
        before = head
    return listed


def _parts(beside: list[list[str]], numbers: list[list[str]], layout: Layout, width: int) -> list[tuple[int, int]]:
    """Return the columns (start, stop) of each part of a table that is cut to fit."""
    left = sum(_widths(beside)) + 2 * (len(beside[0]) - 1)
    return column_parts(left, [max(wide, 3) for wide in _column_widths(layout, numbers)], width)


def _part(
    publication: Publication, layout: Layout, beside: list[list[str]], numbers: list[list[str]], start: int, stop: int
) -> list[str]:
    widths = _column_widths(layout, numbers)[start:stop]
    lefts = _widths(beside)
    margin = " " * (sum(lefts) + 2 * (len(lefts) - 1))
    heads = list(layout.heads(layout.across))[start:stop]
    lines = []
    for depth, column in enumerate(layout.across):
        lines.append(f"{margin}  {_cut(column)}".rstrip())
        cells, before = [], None
        for head, wide in zip(heads, widths, strict=True):
            again = head[: depth + 1] == before and depth < len(layout.across) - 1
            cells.append("".rjust(wide) if again else _cut(head[depth].label).rjust(wide))
            before = head[: depth + 1]
        lines.append("  ".join([margin, *cells]).rstrip())
    if not layout.across:
        lines = [f"{margin}  {publication.heading.rjust(widths[0])}"]
    if lines:
        names = "  ".join(cell.ljust(wide) for cell, wide in zip(beside[0], lefts, strict=True))
        lines[-1] = (names + lines[-1][len(margin) :]).rstrip()
    rule = "-" * (len(margin) + sum(widths) + 2 * len(widths))
    lines.append(rule)
    totals = _first_total(layout)
    for row, (labels, cells) in enumerate(zip(beside[1:], numbers, strict=True)):
        if row and row == totals:
            lines.append(rule)
        left = [label.ljust(wide) for label, wide in zip(labels, lefts, strict=True)]
        right = [cell.rjust(wide) for cell, wide in zip(cells[start:stop], widths, strict=True)]
        lines.append("  ".join([*left, *right]).rstrip())
    return lines


def _first_total(layout: Layout) -> int | None:
    """Return the row where the totals over the outermost column begin: a category may be called Total as well."""
    heads = enumerate(layout.heads(layout.down))
    return next((row for row, head in heads if head and head[0].kind == "total"), None)


def _column_widths(layout: Layout, numbers: list[list[str]]) -> list[int]:
    heads = [max((len(_cut(entry.label)) for entry in head), default=0) for head in layout.heads(layout.across)]
    return [max([wide, *(len(row[place]) for row in numbers)]) for place, wide in enumerate(heads)]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _indented(entry: LayoutEntry) -> str:
    return f"  {entry.label}" if entry.kind == "member" else entry.label


def _cut(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LABEL else shown[: _LABEL - 1] + "…"


def once(notes: Iterable[str]) -> list[str]:
    """Return notes in order, each of them once; a note that another one contains is left out.

    >>> once(["It was pooled.", "It was pooled. Its count is public.", "Its count is public.", "It was pooled."])
    ['It was pooled. Its count is public.']
    """
    different = list(dict.fromkeys(notes))
    return [note for note in different if not any(note in other for other in different if other != note)]


def text_table(
    release: Result, *, level: float = 0.95, truths: Sequence[float] | None = None, notes: Sequence[str] = ()
) -> str:
    """Return the estimates as rows: statistic, cell, estimate, errors, interval, and true values where they are known.

    Each row is rounded to two digits of its own standard error, ``s.e.``: the root of the sum of the squares of the
    parts beside it. A column ``reliable`` is there where one estimate is not. A true value outside its interval has a
    star.

    Parameters
    ----------
    release : Result
    level : float
        The confidence level of the intervals.
    truths : list of float, optional
        The true value of each estimate, for a simulation or a demonstration.
    notes : list of str
        Of the release as a whole: they stand behind the price, except where a note of an estimate says the same.

    Examples
    --------
    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> print(text_table(survey.count(epsilon=1.0)).splitlines()[0])
    statistic  cell  estimate  s.e.  sampling  privacy   95 % interval
    """
    lines = number_lines(release, level=level, truths=truths)
    answers: Mapping[str, Estimate] = getattr(release, "answers", {})
    attack = "" if release.certificate is None else release.certificate.attack()
    price = [f"Price: {release.price()}.", *([paragraph(attack)] if attack else [])]
    estimates = [*release._printed, *answers.values()]
    own = [estimate.note for estimate in estimates if estimate.note]
    different = once([*own, *notes])
    last = [paragraph(for_terminal(note)) for note in different if note not in own]
    return "\n".join([*lines, "", *_remarks(estimates, level, set(different)), *price, *last])


def number_lines(release: Result, *, level: float = 0.95, truths: Sequence[float] | None = None) -> list[str]:
    """Return the rows of `text_table` alone, those of what was asked with the release below them."""
    printed = release._printed
    lines = _rows([(_named(estimate), estimate) for estimate in printed], level, truths)
    lines += [f"{left:,} more rows."] if (left := len(release) - len(printed)) else []
    answers: Mapping[str, Estimate] = getattr(release, "answers", {})
    asked = _rows([(for_terminal(text), answer) for text, answer in answers.items()], level, asked=True)
    return [*lines, "", *asked] if asked else lines


def answer_text(expression: str, answer: Estimate, *, level: float = 0.95) -> str:
    """Return the answer to an expression as a row, with what its interval is about."""
    row = _rows([(for_terminal(expression), answer)], level, asked=True)
    return "\n".join([*row, "", *_remarks([answer], level)])


def _rows(
    named: Sequence[tuple[str, Estimate]], level: float, truths: Sequence[float] | None = None, *, asked: bool = False
) -> list[str]:
    """Return aligned lines, the head first; of answers the expression stands in place of statistic and cell."""
    bootstrapped = any(estimate.n_resamples for _, estimate in named)
    all_reliable = all(estimate.reliable for _, estimate in named)
    rows = []
    for place, (name, estimate) in enumerate(named):
        head = {"asked": name} if asked else {"statistic": name, "cell": _cell(estimate)}
        numbers = _numbers_of(
            estimate,
            level,
            None if truths is None else truths[place],
            bootstrapped=bootstrapped,
            all_reliable=all_reliable,
        )
        rows.append(head | numbers)
    left = 1 if asked else 2
    return aligned([list(rows[0]), *(list(row.values()) for row in rows)], left) if rows else []


def _named(estimate: Estimate) -> str:
    return for_terminal(estimate._subject(" "))


def _cell(estimate: Estimate) -> str:
    return for_terminal(estimate._cell_in_words()) or "all"


def _numbers_of(
    estimate: Estimate, level: float, truth: float | None, *, bootstrapped: bool, all_reliable: bool
) -> dict[str, str]:
    error = estimate.standard_error
    places = decimals(error)
    interval = estimate.confidence_interval(level)
    shown = interval if places is None else interval.outward(places)
    row = {
        "estimate": _figure(estimate.estimate, places),
        "s.e.": _figure(error, places),
        "sampling": _figure(estimate.sampling_error, places),
    }
    if bootstrapped:
        row["bootstrap"] = _figure(estimate.bootstrap_error, places)
    row |= {
        "privacy": _figure(estimate.privacy_error, places),
        f"{percent(level, space=' ')} interval": f"{_figure(shown.low, places)} to {_figure(shown.high, places)}",
    }
    if truth is not None:
        row["true value"] = _figure(truth, places) + (" " if interval.low <= truth <= interval.high else "*")
    return row if all_reliable else row | {"reliable": "yes" if estimate.reliable else "NO"}


def aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return rows as lines of equal columns, the first `left` of them aligned at the left, the others at the right.

    On a terminal that is too narrow the rows are cut into parts that repeat the columns at the left.
    """
    widths = _widths(rows)
    heads = ["  ".join(map(str.ljust, row[:left], widths)) for row in rows]
    lines: list[str] = []
    for start, stop in column_parts(len(heads[0]), widths[left:], line_width()):
        shown = slice(left + start, left + stop)
        lines += [""] if lines else []
        lines += [
            "  ".join([head, *map(str.rjust, row[shown], widths[shown])]).rstrip()
            for head, row in zip(heads, rows, strict=True)
        ]
    return lines


def _remarks(estimates: Sequence[Estimate], level: float, shown: Set[str] | None = None) -> list[str]:
    # The clause after the last semicolon says which errors are counted; it is said once where it is the same for all.
    targets: dict[str, list[str]] = {}
    for covers in dict.fromkeys(estimate.covers for estimate in estimates):
        target, _, counted = covers.rpartition("; ")
        targets.setdefault(counted if target else "", []).append(target or counted)
    said = "; ".join(_listed(listed) + (f" ({counted})" if counted else "") for counted, listed in targets.items())
    notes = once(estimate.note for estimate in estimates if estimate.note)
    notes = [note for note in notes if shown is None or note in shown]
    return [
        paragraph(
            for_terminal(f"In {percent(level, space=' ')} of such releases an interval covers its target: {said}.")
        ),
        *(paragraph(for_terminal(note)) for note in (*notes, *hidden_cells(estimates))),
    ]


def _listed(targets: Sequence[str]) -> str:
    """Return all of a few targets, or the first of many: a record words each of them."""
    shown = targets if len(targets) <= _MOST_TARGETS + 1 else targets[:_MOST_TARGETS]
    more = [f"and likewise of the other {len(targets) - len(shown)}"] if len(shown) < len(targets) else []
    return ", ".join([*shown, *more])


def _figure(value: float | None, places: int | None) -> str:
    return number(value, places, minus="-")
