"""One estimate of a release, by its statistic, its columns and its cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hedgerow.errors import ParameterError
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.terms import term_text

_MOST_LISTED = 12


def found(
    estimates: Sequence[Estimate], name: str, about: Sequence[tuple[str, ...]], cell: Mapping[str, object]
) -> Estimate:
    """Return the one estimate of this name, these columns and this cell.

    Parameters
    ----------
    estimates : sequence of Estimate
        Among which it is looked for.
    name : str
        Of the statistic.
    about : sequence of tuple of str
        Its columns as texts, a column and a value, or a number: what stands in the brackets of a term. None of them:
        whatever they are.
    cell : mapping
        {column: category}, all columns of the cell; categories are compared by what they print as, or by their labels.

    Raises
    ------
    ParameterError
        HG137: there is none, or several.
    """
    where = _texts(cell)
    named = [
        one
        for one in estimates
        if one.asked_as[0] == name and (not about or _text(about) in (_text(one.asked_as[1]), one.column))
    ]
    fitting = [one for one in named if _texts(one.cell) == where]
    fitting = fitting or [one for one in named if _is_called(one, where)]
    if len(fitting) == 1:
        return fitting[0]
    wanted = term_text(name, about, cell)
    kind = "Several are" if fitting else "There is no"
    raise ParameterError(
        "HG137",
        rule="An estimate of a release is named by its statistic, its columns and its whole cell.",
        finding=f"{kind} {wanted}.",
        remedy=f"There {_listed(fitting or named or estimates)}.",
    )


def _is_called(one: Estimate, where: Mapping[str, str]) -> bool:
    """Whether each column of its cell has this category, or a category of this label."""
    values, labels = _texts(one.cell), _texts(one.labels)
    return values.keys() == where.keys() and all(
        text in (values[column], labels.get(column)) for column, text in where.items()
    )


def _texts(cell: Mapping[str, object]) -> dict[str, str]:
    return {column: str(value) for column, value in cell.items()}


def _text(about: Sequence[tuple[str, ...]]) -> str:
    return ", ".join("=".join(one) for one in about)


def _listed(estimates: Sequence[Estimate]) -> str:
    terms = list(dict.fromkeys(one.term() for one in estimates))
    beyond = f", and {len(terms) - _MOST_LISTED:,} more" if len(terms) > _MOST_LISTED else ""
    verb = "is" if len(terms) == 1 else "are"
    return f"{verb} " + ("; ".join(terms[:_MOST_LISTED]) + beyond if terms else "none")
