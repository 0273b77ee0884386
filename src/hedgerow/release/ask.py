"""Expressions of estimates, as text: ``mean(age | sex=0) - mean(age | sex=1)``.

::

    expression  sum of products: + - * / and brackets, a sign in front
    operand     a number; log(…), exp(…) or sqrt(…) of an expression; a term
    term        [r1.] statistic [( columns [| column=value, …] )]

A term names an estimate (`hedgerow.inference.terms`); ``r1.`` is the first of several releases. A name or a value with
other characters than letters, digits, points, hyphens and underscores stands in quotation marks. Nothing else parses,
and nothing is evaluated but these operations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add, mul, sub, truediv
from typing import Any, NoReturn, Protocol, TypeVar, runtime_checkable

from hedgerow.errors import ParameterError
from hedgerow.facts.expression import Computation
from hedgerow.facts.given import kind_of
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.inference.terms import QUOTED, unquoted
from hedgerow.release.find import found

_LONGEST, _DEEPEST = 2000, 40
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_RELEASE = re.compile(r"r(\d+)\s*\.\s*")
_NAME = re.compile(rf"{QUOTED}|[^\W\d]\w*")
_WORD = re.compile(rf"{QUOTED}|[^\s,|=()\"'`][^,|=()\"'`]*")
_SIGNS = {"+": "+", "-": "-−", "*": "*×·", "/": "/÷"}
_OPERATIONS: dict[str, Callable[[Any, Any], Value]] = {"+": add, "-": sub, "*": mul, "/": truediv}
_FUNCTIONS: dict[str, Callable[[float], float]] = {"log": math.log, "exp": math.exp, "sqrt": math.sqrt}
Value = Estimate | float
T = TypeVar("T")


def ask(text: str, releases: Sequence[Sequence[Estimate]], *, independent: bool = False) -> Estimate:
    """Return the estimate of an expression of the estimates of one or several releases.

    Parameters
    ----------
    text : str
        For example ``log(mean(pay | sex=1) / mean(pay | sex=0))``.
    releases : sequence of sequences of Estimate
        ``r1``, ``r2``, … in a term; of one release a term needs no number.
    independent : bool
        Whether each release is of people who are in no other one. Numbers of one release are of the same people: those
        that were not drawn together are refused all the same.

    Raises
    ------
    ParameterError
        HG136: the text is no expression, with the place of the fault; HG137: there is no such estimate; HG130: how
        estimates go together is not known, as for those of two releases of the same people.
    """
    if not isinstance(text, str):
        raise _unreadable("", 0, f"Found {kind_of(text)}.")
    value = _Reader(text, tuple(releases), independent).whole()
    if value.is_computed:
        return replace(value, statistic=" ".join(text.split()))
    return value


@runtime_checkable
class Reads(Protocol):
    """A release that reads what was not asked of it, from what it released."""

    def read(self, name: str, about: Sequence[tuple[str, ...]], cell: Mapping[str, str]) -> Estimate | None:
        """Return the estimate of a term; None where nothing that was released tells it."""
        ...


def _held(held: Sequence[Estimate], name: str, about: Sequence[tuple[str, ...]], cell: Mapping[str, str]) -> Estimate:
    """Return the estimate of a term: one that a release holds, or one that it can read (HG137: there is neither)."""
    try:
        return found(held, name, about, cell)
    except ParameterError:
        read = held.read(name, about, cell) if isinstance(held, Reads) else None
        if read is None:
            raise
        return read


@dataclass
class _Reader(Computation[Value]):
    """Reads an expression from left to right and computes on the way."""

    text: str
    releases: tuple[Sequence[Estimate], ...]
    independent: bool = False
    at: int = 0
    nested: int = 0
    drawn: dict[int, tuple[JointTotals, ...]] = field(default_factory=dict)

    most_nested = _DEEPEST - 1  # beside the innermost operand
    too_deep = f"more than {_DEEPEST} brackets and signs within one another"
    expected = "expected '{}'"

    @property
    def place(self) -> int:
        return self.at

    def whole(self) -> Estimate:
        if len(self.text) > _LONGEST:
            raise _unreadable("", 0, f"It has {len(self.text):,} characters, more than {_LONGEST:,}.")
        value = self.sum()
        if self.at < len(self.text):
            self.refuse("expected an operator or the end")
        if not isinstance(value, Estimate):
            raise _unreadable(self.text, 0, "it names no estimate")
        return value

    def negated(self, value: Value) -> Value:
        return -value

    def leaf(self) -> Value:
        start = self.at
        number = self._match(_NUMBER)
        if number is None:
            return self._named()
        if math.isinf(float(number.group())):
            raise _unreadable(self.text, start, "this number is too large")
        return float(number.group())

    def _named(self) -> Value:
        start = self.at
        release = self._match(_RELEASE)
        name = self._match(_NAME)
        if name is None:
            self.refuse("expected a number, a bracket, a function or an estimate")
        if release is None and name.group() in _FUNCTIONS and self.taken("("):
            return self._applied(name.group(), start, self.bracketed(self.sum))
        about, cell = self._brackets() if self.taken("(") else ([], {})
        if release is None and len(self.releases) > 1:
            raise _unreadable(self.text, start, "of several releases a term says which, as `r1.mean(age)` does")
        number = 1 if release is None else int(release.group(1))
        if not 1 <= number <= len(self.releases):
            several = "is one release" if len(self.releases) == 1 else f"are {len(self.releases)} releases"
            raise _unreadable(self.text, start, f"there is no r{number}, since there {several}")
        held = self.releases[number - 1]
        return self._at(start, lambda: self._of(number, _held(held, unquoted(name.group()), about, cell)))

    def _of(self, number: int, estimate: Estimate) -> Estimate:
        """Return an estimate of one of the releases; of different people than the others are, if that was said."""
        if not self.independent or not isinstance(estimate.joint, JointValue):
            return estimate
        drawn = self.drawn.setdefault(number, estimate.joint.releases)
        if [*map(id, drawn)] != [*map(id, estimate.joint.releases)]:
            raise ParameterError(
                "HG130",
                rule="Estimates of the same people are combined where they were drawn together.",
                finding=f"Release r{number} holds two of these apart.",
                remedy='Release both in one call with estimator="moments".',
            )
        return estimate.of_others()

    def _brackets(self) -> tuple[list[tuple[str, ...]], dict[str, str]]:
        about: list[tuple[str, ...]] = []
        cell: dict[str, str] = {}
        while not self.taken(")"):
            if self.taken("|"):
                return about, self._cell(cell)
            if about:
                self.expect(",")
            column = self._word()
            about.append((column, self._word()) if self.taken("=") else (column,))
        return about, cell

    def _cell(self, cell: dict[str, str]) -> dict[str, str]:
        while True:
            place = self.at
            column = self._word()
            self.expect("=")
            if column in cell:
                raise _unreadable(self.text, place, "this column is named twice")
            cell[column] = self._word()
            if self.taken(")"):
                return cell
            self.expect(",")

    def _word(self) -> str:
        word = self._match(_WORD)
        if word is None:
            self.refuse("expected the name of a column or a value")
        return unquoted(word.group().strip())

    def operation(self, operator: str, place: int, left: Value, right: Value) -> Value:
        return self._at(place, lambda: _OPERATIONS[operator](left, right))

    def _applied(self, name: str, place: int, value: Value) -> Value:
        return self._at(place, lambda: value.applied(name) if isinstance(value, Estimate) else _FUNCTIONS[name](value))

    def _at(self, place: int, compute: Callable[[], T]) -> T:
        """Return what is computed; a refusal says at which character of the text."""
        try:
            value = compute()
            if isinstance(value, float) and not math.isfinite(value):
                raise OverflowError
            return value
        except ParameterError as refused:
            finding = f"At character {place + 1} of the expression: {refused.finding}"
            raise ParameterError(
                refused.code, rule=refused.rule, finding=finding, remedy=refused.remedy, shell=refused.shell
            ) from None
        except (ArithmeticError, ValueError):
            raise _unreadable(self.text, place, "this is not defined") from None

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._skip()
        if (match := pattern.match(self.text, self.at)) is not None:
            self.at = match.end()
            self._skip()
        return match

    def taken(self, *signs: str) -> str | None:
        self._skip()
        character = self.text[self.at : self.at + 1]
        sign = next((sign for sign in signs if character and character in _SIGNS.get(sign, sign)), None)
        self.at += sign is not None
        self._skip()
        return sign

    def _skip(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = self.at if space is None else space.end()

    def refuse(self, wanted: str) -> NoReturn:
        here = repr(self.text[self.at : self.at + 12]) if self.at < len(self.text) else "the end"
        raise _unreadable(self.text, self.at, f"{wanted}, found {here}")


def _unreadable(text: str, place: int, fault: str) -> ParameterError:
    return ParameterError(
        "HG136",
        rule="An expression has estimates such as `mean(age | sex=0)`, numbers, + - * /, brackets, log, exp and sqrt.",
        finding=f"At character {place + 1} of {text!r}: {fault}." if text else fault,
        remedy="For example `mean(age | sex=0) - mean(age | sex=1)`. Names with spaces or signs are quoted.",
    )
