"""The numbers of all cells of one statistic, which are read together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import quantiles_of
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.operators import term_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class NumbersOfCells(Sequence[T]):
    """What was read of the cells of one statistic, in their order.

    Attributes
    ----------
    numbers : tuple
    """

    numbers: tuple[T, ...]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self.numbers[index]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[T]:
        return iter(self.numbers)


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


def noise_law_of(numbers: Sequence[Estimate]) -> str:
    """Return the law of the noise of numbers; that with the longest tails where it is not known, or not the same."""
    joints = [number._joint for number in numbers]
    laws = {release.law for joint in joints if isinstance(joint, JointValue) for release in joint.releases}
    return laws.pop() if len(laws) == 1 and None not in joints else "laplace"


def reach(law: str, level: float, sampling: float, noise: float) -> float:
    """Return half the width of the interval of a normal number with noise of this law.

    >>> round(reach("gaussian", 0.95, 3.0, 4.0), 2)
    9.8
    """
    return float(quantiles_of(law, level, np.array([sampling]), np.array([noise]))[0])


def rows_of_columns(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return columns of equal length as records.

    >>> rows_of_columns({"cell": ["a", "b"], "estimate": [1.0, 2.0]})[1]
    {'cell': 'b', 'estimate': 2.0}
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def unfit_reading(rule: str, finding: str, remedy: str) -> ParameterError:
    """Return the refusal of a reading that a release cannot give (HG146)."""
    return ParameterError("HG146", rule=rule, finding=finding, remedy=remedy)
