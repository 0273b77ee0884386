"""Expressions of estimates, as text: ``mean(age | sex=0) - mean(age | sex=1)``.

::

    expression  sum of products: + - * / and brackets, a sign in front
    operand     a number; log(…), exp(…) or sqrt(…) of an expression; a term
    term        [r1.] statistic [( columns [| column=value, …] )]

A term names an estimate (`hedgerow.inference.operators`); ``r1.`` is the first of several releases. A name or a value
with other characters than letters, digits, points, hyphens and underscores stands in quotation marks. Nothing else
parses, and nothing is evaluated but these operations.

The covariance of all estimates of a release, where it is known; and numbers of the `uncertainties` package.

One estimate of a release, by its statistic, its columns and its cell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add, mul, sub, truediv
from typing import Any, NoReturn, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.expression import Computation
from hedgerow.facts.validation import kind_of
from hedgerow.inference.estimate import PUBLIC, Estimate
from hedgerow.inference.estimates_of_cells import alike
from hedgerow.inference.joint.arithmetic import JointValue, covariance_of
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.inference.operators import QUOTED, term_text, texts_of_cell, unquoted

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """The covariance matrix of estimates, in its two parts.

    Attributes
    ----------
    labels : tuple of str
        What stands in each row and column, as terms of expressions: ``mean(age | sex=0)``.
    sampling, noise : float array
        The part that comes from sampling, and that of the noise, replicates included: NaN where it is not known, as
        between statistics that were not read from the same joint moments. A diagonal holds squared errors.
    """

    labels: tuple[str, ...]
    sampling: Floats
    noise: Floats

    @property
    def total(self) -> Floats:
        """The covariance of the estimates: sampling and noise."""
        return np.asarray(self.sampling + self.noise)

    @property
    def known(self) -> bool:
        """Whether every covariance is known."""
        return bool(np.isfinite(self.total).all())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; null where a covariance is not known."""
        parts = {"sampling": self.sampling, "noise": self.noise, "total": self.total}
        return {
            "labels": list(self.labels),
            **{name: [[_number(entry) for entry in row] for row in part.tolist()] for name, part in parts.items()},
            "known": self.known,
        }

    def __repr__(self) -> str:
        unknown = int(np.isnan(np.triu(self.total, 1)).sum())
        rest = f", {unknown:,} of its pairs not known" if unknown else ""
        return f"<Covariances of {len(self.labels):,} estimates{rest}>"


def covariances(estimates: Sequence[Estimate]) -> Covariances:
    """Return the covariance matrix of estimates, sampling and noise apart; NaN where it is not known.

    Estimates that were read from the same joint moments have known covariances, those of one public number are 0, and
    between others only the diagonal is known: squared errors, where an estimate has them. So it is between the cells of
    units of several rows, each of which may have rows in several cells.

    Examples
    --------
    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"x": [1.0, 5.0] * 500, "y": [2.0, 8.0] * 500}), relation="replace-one")
    >>> bounds = {"x": (0, 10), "y": (0, 10)}
    >>> release = survey.release([hg.ratio("x", "y", bounds=bounds), hg.covariance("x", "y", bounds=bounds)], epsilon=1)
    >>> found = release.covariance()
    >>> found.labels, found.total.shape, found.known
    (('ratio(x, y)', 'covariance(x, y)'), (2, 2), True)
    """
    size = len(estimates)
    sampling, noise = np.full((2, size, size), math.nan)
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, estimate in enumerate(estimates):
        if estimate.method == PUBLIC:
            for part in (sampling, noise):
                part[place, :] = part[:, place] = 0.0
        elif isinstance(estimate._joint, JointValue) and len(estimate._joint.releases) == 1:
            groups.setdefault(estimate._joint.drawn_with, []).append(place)
    for places in groups.values():
        values = [joint for place in places if isinstance(joint := estimates[place]._joint, JointValue)]
        for whole, part in zip((sampling, noise), covariance_of(values), strict=True):
            whole[np.ix_(places, places)] = part
    for place, estimate in enumerate(estimates):
        # An estimate that is not reliable has no errors, and its covariances mean nothing.
        if estimate.sampling_error is None or estimate.privacy_error is None or estimate.bootstrap_error is None:
            for part in (sampling, noise):
                part[place, :] = part[:, place] = math.nan
            continue
        sampling[place, place] = estimate.sampling_error**2
        noise[place, place] = estimate.privacy_error**2 + estimate.bootstrap_error**2
    return Covariances(tuple(estimate._term() for estimate in estimates), sampling, noise)


def correlated_numbers(estimates: Sequence[Estimate]) -> list[Any]:
    """Return estimates as numbers of the `uncertainties` package, with their standard errors and correlations.

    That package propagates errors by tangents; its results have a standard error and no interval.

    Raises
    ------
    ImportError
        The package `uncertainties` is not installed: ``pip install hedgerow[uncertainties]``.
    ParameterError
        HG130: the covariance of two of the estimates is not known.
    """
    from uncertainties import correlated_values

    known = covariances(estimates)
    if not known.known:
        row, column = np.argwhere(np.isnan(known.total))[0]
        pair = " and ".join(dict.fromkeys((known.labels[row], known.labels[column])))
        raise ParameterError(
            "HG130",
            rule="Random numbers that are correlated like the estimates need all covariances of the estimates.",
            finding=f"That of {pair} is not known.",
            remedy="Name some estimates whose covariances are known, or release all estimates in one call with "
            'estimator="moments".',
        )
    return list(correlated_values([estimate.estimate for estimate in estimates], known.total))


def _number(entry: float) -> float | None:
    return entry if math.isfinite(entry) else None


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
        Of the statistic; or alone, the whole term as it is printed, such as ``mean(age | sex=0)``.
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
    where = texts_of_cell(cell)
    alone = not about and not where and name.endswith(")")
    printed = [estimate for estimate in estimates if estimate._term() == name] if alone else []
    if len(printed) == 1:
        return printed[0]
    # A release may have millions of estimates: one of each statistic is made, and then those of the cell.
    named = [
        (first, cells)
        for first, cells in alike(estimates)
        if (asked := estimates[first]._asked_as)[0] == name
        and (not about or _text(about) in (_text(asked[1]), estimates[first].column))
    ]
    fitting = [
        estimates[place]
        for first, cells in named
        for place, its in enumerate(cells, first)
        if its.keys() == where.keys() and texts_of_cell(its) == where
    ]
    every = () if fitting else [estimates[first + place] for first, cells in named for place in range(len(cells))]
    fitting = fitting or [estimate for estimate in every if _is_called(estimate, where)]
    if len(fitting) == 1:
        return fitting[0]
    fitting = fitting or printed
    # The whole term was given as the name: it is quoted as it was given.
    wanted = name if alone else term_text(name, about, cell)
    kind = "Several are" if fitting else "There is no"
    rule = "An estimate of a release is named by its statistic, its columns and its whole cell."
    raise _unnamed(rule, f"{kind} {wanted}.", fitting or every or estimates)


def of_cell(estimates: Sequence[Estimate], categories: Sequence[object]) -> Estimate:
    """Return the one estimate whose cell has these categories, by value or label, in the order of its columns.

    Raises
    ------
    ParameterError
        HG137: there is none, or several, as of two statistics.
    """
    texts = [str(category) for category in categories]
    fitting = [estimate for estimate in estimates if _has_categories(estimate, texts)]
    if len(fitting) == 1:
        return fitting[0]
    rule = "release[…] takes a position, or a value or label for each column of `by`, and returns one estimate."
    finding = f"{'Several have' if fitting else 'No estimate has'} the cell {', '.join(texts)[:80]}."
    raise _unnamed(rule, finding, fitting or estimates)


def _has_categories(estimate: Estimate, texts: Sequence[str]) -> bool:
    return len(estimate.cell) == len(texts) and all(
        text in (str(value), estimate.labels.get(column))
        for text, (column, value) in zip(texts, estimate.cell.items(), strict=True)
    )


def _is_called(estimate: Estimate, where: Mapping[str, str]) -> bool:
    """Whether each column of its cell has this category, or a category of this label."""
    values, labels = texts_of_cell(estimate.cell), texts_of_cell(estimate.labels)
    return values.keys() == where.keys() and all(
        text in (values[column], labels.get(column)) for column, text in where.items()
    )


def _text(about: Sequence[tuple[str, ...]]) -> str:
    return ", ".join("=".join(pair) for pair in about)


def _unnamed(rule: str, finding: str, estimates: Sequence[Estimate]) -> ParameterError:
    """Return the refusal that lists the estimates that there are, with a call that names the first (HG137)."""
    terms = list(dict.fromkeys(estimate._term() for estimate in estimates))
    if not terms:
        return ParameterError("HG137", rule=rule, finding=finding, remedy="There are none.")
    beyond = f", and {len(terms) - _MOST_LISTED:,} more" if len(terms) > _MOST_LISTED else ""
    listed = f"There {'is' if len(terms) == 1 else 'are'} {'; '.join(terms[:_MOST_LISTED])}{beyond}."
    calls = f"Write release.estimate({terms[0]!r}), or in an expression release.ask({terms[0]!r})."
    in_python, in_shell = f"{listed} {calls}", f"{listed} Write a name as it stands here."
    return ParameterError("HG137", rule=rule, finding=finding, remedy=in_python, shell=in_shell)


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
    value = _ExpressionReader(text, tuple(releases), independent).whole()
    if value._is_computed:
        return replace(value, statistic=" ".join(text.split()))
    return value


@runtime_checkable
class Reads(Protocol):
    """A release that reads what was not asked of it, from what it released."""

    @property
    def _own(self) -> Sequence[Estimate]:
        """Return its estimates, which may be made when they are read."""
        ...

    def _read(self, name: str, about: Sequence[tuple[str, ...]], cell: Mapping[str, str]) -> Estimate | None:
        """Return the estimate of a term; None where nothing that was released tells it."""
        ...


def _held(held: Sequence[Estimate], name: str, about: Sequence[tuple[str, ...]], cell: Mapping[str, str]) -> Estimate:
    """Return the estimate of a term: one that a release holds, or one that it can read (HG137: there is neither)."""
    try:
        return found(held._own if isinstance(held, Reads) else held, name, about, cell)
    except ParameterError:
        read = held._read(name, about, cell) if isinstance(held, Reads) else None
        if read is None:
            raise
        return read


@dataclass
class _ExpressionReader(Computation[Value]):
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
        if not self.independent or not isinstance(estimate._joint, JointValue):
            return estimate
        drawn = self.drawn.setdefault(number, estimate._joint.releases)
        if [*map(id, drawn)] != [*map(id, estimate._joint.releases)]:
            raise ParameterError(
                "HG130",
                rule="Estimates of the same people can be combined only if they were drawn together.",
                finding=f"Release r{number} holds two of these apart.",
                remedy='Release both statistics in one call with estimator="moments".',
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
        return self._at(place, lambda: value._applied(name) if isinstance(value, Estimate) else _FUNCTIONS[name](value))

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
        rule="An expression contains estimates such as `mean(age | sex=0)`, numbers, + - * /, brackets, log, exp and "
        "sqrt.",
        finding=f"At character {place + 1} of {text!r}: {fault}." if text else fault,
        remedy="Write an expression of estimates such as `mean(age | sex=0) - mean(age | sex=1)`. Names with spaces "
        "or signs need quotation marks.",
    )
