"""The numbers of all cells of one statistic, which are read together."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.operators import term_text


def numbers_of(estimates: Sequence[Estimate], of: object, *, least: int = 1) -> list[Estimate]:
    """Return the estimates of a statistic, by its term without a cell, such as ``"mean(income)"``.

    None stands for the only statistic.

    Raises
    ------
    ParameterError
        HG146: there are several statistics and none is named, no such one, or fewer than `least` cells.
    """
    by_term: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        by_term.setdefault(statistic_term(estimate), []).append(estimate)
    if of is None and len(by_term) == 1:
        (numbers,) = by_term.values()
    else:
        numbers = by_term.get(" ".join(of.split()), []) if isinstance(of, str) else []
    if len(numbers) < least:
        rule = "Cells are read together if they hold the same statistic, which `of` names."
        found = (
            f"There are {len(numbers)} cells, and {least} are needed." if numbers else f"Found {format_argument(of)}."
        )
        raise unfit_reading(rule, found, f"There is {'; '.join(by_term) or 'nothing'}.")
    return numbers


def statistic_term(estimate: Estimate) -> str:
    """Return what an estimate is of in an expression, without its cell.

    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500}), relation="replace-one")
    >>> statistic_term(survey.mean("age", bounds=(0, 100), by={"sex": [0, 1]}, epsilon=1.0)[1])
    'mean(age)'
    """
    name, about = estimate._asked_as
    return term_text(name, about, {})


def unfit_reading(rule: str, finding: str, remedy: str) -> ParameterError:
    """Return the refusal of a reading that a release cannot give (HG146)."""
    return ParameterError("HG146", rule=rule, finding=finding, remedy=remedy)
