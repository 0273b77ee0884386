r"""LaTeX with booktabs: a table with its caption, standard errors in brackets, and its notes with ε below it.

Every text is escaped, so that no category can run as a command. A document needs ``\usepackage{booktabs}``, and
``longtable`` too where a table has more than 40 rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hedgerow.facts.printed import printable
from hedgerow.release.publication.formats import Published
from hedgerow.release.publication.printed_table import Heading, PrintedTable
from hedgerow.release.publication.publication import too_large
from hedgerow.release.publication.write_file import write_lines

SUFFIXES = (".tex",)
KINDS = ("release", "table")
_MOST_ON_A_PAGE = 40
_COMMANDS = {
    # A bracket or a star at the start of a row would be an argument of the \\ before it.
    **{"\\": r"\textbackslash{}", "[": "{[}", "]": "{]}", "*": "{*}", "~": r"\textasciitilde{}"},
    **{"^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$", '"': "''", "`": r"\textasciigrave{}"},
    **{"−": "$-$", "±": r"$\pm$", "×": r"$\times$", "≤": r"$\le$", "≥": r"$\ge$", "∞": r"$\infty$"},
    **{"ε": r"$\varepsilon$", "δ": r"$\delta$", "μ": r"$\mu$", "ρ": r"$\rho$", "σ": r"$\sigma$", "χ": r"$\chi$"},
    **{"²": "$^2$", "√": r"$\surd$", "†": r"$\dagger$", "–": "--", "—": "---", "…": r"\dots{}"},
    **{"\N{NO-BREAK SPACE}": "~", "\N{NARROW NO-BREAK SPACE}": r"\,"},
    **{sign: f"\\{sign}" for sign in "{}$&%#_"},
}
_ESCAPED = str.maketrans(_COMMANDS)


def escaped(text: str) -> str:
    r"""Return a text as LaTeX prints it, whatever signs it has.

    >>> print(escaped(r"R&D_1 \input{x} [0, 25) ε ≤ 1"))
    R\&D\_1 \textbackslash{}input\{x\} {[}0, 25) $\varepsilon$ $\le$ 1
    """
    return printable(text).translate(_ESCAPED)


def latex_text(printed: PrintedTable) -> str:
    r"""Return a table as LaTeX.

    Examples
    --------
    >>> print(latex_text(PrintedTable("Ages", 1, ((Heading("sex"), Heading("mean")),), (("f", "46.8"),))))
    % Needs \usepackage{booktabs}.
    \begin{table}[htbp]
      \centering
      \caption{Ages}
      \begin{tabular}{lr}
        \toprule
        sex & mean \\
        \midrule
        f & 46.8 \\
        \bottomrule
      \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    long = len(printed.rows) > _MOST_ON_A_PAGE
    layout = "l" * printed.left + "r" * (printed.width - printed.left)
    heads = [line for head in printed.heads for line in _head(head, printed)]
    rows = [
        line
        for place, row in enumerate(printed.rows)
        for line in ([r"\midrule"] if place in printed.rules else []) + [_row([escaped(cell) for cell in row])]
    ]
    caption, notes = rf"\caption{{{escaped(printed.caption)}}}", _notes(printed)
    if long:
        lines = [
            rf"\begin{{longtable}}{{{layout}}}",
            *(f"  {line}" for line in (rf"{caption} \\", r"\toprule", *heads, r"\midrule", r"\endhead")),
            *(f"  {line}" for line in (*rows, r"\bottomrule")),
            r"\end{longtable}",
            *notes,
        ]
    else:
        inner = (r"\toprule", *heads, r"\midrule", *rows, r"\bottomrule")
        lines = [
            r"\begin{table}[htbp]",
            *(f"  {line}" for line in (r"\centering", caption, rf"\begin{{tabular}}{{{layout}}}")),
            *(f"    {line}" for line in inner),
            *(f"  {line}" for line in (r"\end{tabular}", *notes)),
            r"\end{table}",
        ]
    needs = r"% Needs \usepackage{booktabs,longtable}." if long else r"% Needs \usepackage{booktabs}."
    return "\n".join([needs, *lines, ""])


def write(publication: Published, path: str | Path) -> None:
    """Write `latex_text` (HG118 where it cannot be written)."""
    write_lines(path, [latex_text(publication.printed())])


def why_not(publication: Any) -> str | None:
    """Return why there is no LaTeX, in a few words; None where there is some."""
    return too_large(publication) if publication.kind == "table" else None


def _head(head: tuple[Heading, ...], printed: PrintedTable) -> list[str]:
    cells, rules, start = [], [], 1
    for heading in head:
        text, stop = escaped(heading.text), start + heading.span - 1
        if heading.span > 1:
            cells.append(rf"\multicolumn{{{heading.span}}}{{{'l' if start <= printed.left else 'c'}}}{{{text}}}")
            rules += [rf"\cmidrule(lr){{{start}-{stop}}}"] if start > printed.left else []
        else:
            cells.append(text)
        start = stop + 1
    return [_row(cells), *([" ".join(rules)] if rules else [])]


def _row(cells: list[str]) -> str:
    return " & ".join(cells).rstrip() + r" \\"


def _notes(printed: PrintedTable) -> list[str]:
    if not printed.notes:
        return []
    start = (r"\par\medskip", r"\begin{minipage}{\linewidth}\footnotesize")
    return [*start, *(rf"  {escaped(note)}\par" for note in printed.notes), r"\end{minipage}"]
