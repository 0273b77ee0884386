"""Tests of weighted sums of coefficients, in statsmodels' manner: `Regression.t_test("10 * age - educ = 5")`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.frame_source import rows_of
from hedgerow.errors import ParameterError
from hedgerow.facts.printed import Lines
from hedgerow.facts.validation import format_argument
from hedgerow.release.publication.text import aligned

Floats = NDArray[np.float64]
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """That a weighted sum of coefficients is a value."""

    name: str
    weights: Floats
    value: float


@dataclass(frozen=True, slots=True)
class Contrast:
    """A weighted sum of coefficients with its errors: ends are infinite where the noise hides them."""

    estimate: float
    sampling_error: float
    privacy_error: float
    low: float
    high: float
    level: float
    reliable: bool

    @property
    def standard_error(self) -> float:
        """The root of the sum of the two squares."""
        return math.hypot(self.sampling_error, self.privacy_error)


@dataclass(frozen=True, slots=True)
class ContrastTest:
    """A two-sided test that a weighted sum of coefficients is a value; sampling and noise are counted.

    Attributes
    ----------
    name : str
    effect : float
        The weighted sum.
    sd : float
        Its standard error.
    value : float
        What was tested.
    tvalue : float
        (effect − value)/sd.
    pvalue : float
        The least α at which the interval at 1 − α excludes the value, rounded up by less than 1e-4 of it.
    low, high, level : float
        The interval of the weighted sum.
    """

    name: str
    effect: float
    sd: float
    value: float
    tvalue: float
    pvalue: float
    low: float
    high: float
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; null where a number is infinite."""
        return {key: None if value in (math.inf, -math.inf) else value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class ContrastTests(Sequence[ContrastTest]):
    """Tests of several weighted sums, in order."""

    tests: tuple[ContrastTest, ...]

    def __getitem__(self, index: Any) -> Any:
        return self.tests[index]

    def __len__(self) -> int:
        return len(self.tests)

    @property
    def effect(self) -> Floats:
        """The weighted sums."""
        return np.array([test.effect for test in self.tests])

    @property
    def sd(self) -> Floats:
        """Their standard errors."""
        return np.array([test.sd for test in self.tests])

    @property
    def tvalue(self) -> Floats:
        """Their distances from what was tested, in standard errors."""
        return np.array([test.tvalue for test in self.tests])

    @property
    def pvalue(self) -> Floats:
        """Their p-values."""
        return np.array([test.pvalue for test in self.tests])

    def conf_int(self) -> Floats:
        """Return the ends of their intervals: (tests, 2)."""
        return np.array([(test.low, test.high) for test in self.tests])

    def summary(self) -> str:
        """Return the tests as a table."""
        tail = (1.0 - self.tests[0].level) / 2.0
        rows = [["", "coef", "std err", "t", "P>|t|", f"[{tail:.3g}", f"{1.0 - tail:.3g}]"]]
        for test in self.tests:
            numbers = (test.effect, test.sd, test.tvalue, test.pvalue, test.low, test.high)
            rows.append([test.name, *(f"{number:.5g}" for number in numbers)])
        return Lines("\n".join(aligned(rows, 1)))

    def __str__(self) -> str:
        return self.summary()


def hypotheses(given: object, names: Sequence[str]) -> list[Hypothesis]:
    """Return what a text, weights by name, an array, or rows of one say (HG194).

    >>> [one] = hypotheses("10 * age - I(age ** 2) / 2 = 5", ["age", "I(age ** 2)"])
    >>> one.weights.tolist(), one.value
    ([10.0, -0.5], 5.0)
    >>> [one.weights.tolist() for one in hypotheses("a = b, a", ["a", "b"])]
    [[1.0, -1.0], [1.0, 0.0]]
    """
    if isinstance(given, str):
        return [_parsed(text, names) for text in _parts(given)]
    if isinstance(given, Mapping):
        if not given or not set(given) <= set(names):
            raise unfit(f"the coefficients are {', '.join(names)}")
        return _rows([[given.get(name, 0.0) for name in names]], names)
    listed = given if isinstance(given, np.ndarray) else list(given) if isinstance(given, Sequence) else []
    if len(listed) and all(isinstance(item, str) for item in listed):
        return [_parsed(str(text), names) for text in listed]
    return _rows(np.atleast_2d(np.asarray(listed)) if len(listed) else [], names)


def _rows(rows: Any, names: Sequence[str]) -> list[Hypothesis]:
    try:
        table = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.zeros((0, 0))
    fits = table.ndim == 2 and table.shape[0] and table.shape[1] == len(names)
    if not fits or not np.isfinite(table).all() or not table.any(axis=1).all():
        raise unfit(f"there are {len(names)} coefficients, and each weight is a finite number, not all of them 0")
    return [Hypothesis(_named(row, names), row, 0.0) for row in table]


def _named(row: Floats, names: Sequence[str]) -> str:
    terms = [f"{weight:g}*{name}" if weight != 1.0 else name for weight, name in zip(row, names, strict=True) if weight]
    return " + ".join(terms).replace("+ -", "- ")


def _parts(text: str) -> list[str]:
    """Return the parts of a text between commas that stand in no bracket."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _parsed(text: str, names: Sequence[str]) -> Hypothesis:
    """Return the hypothesis of a text: sums of coefficients times numbers, and what they equal, 0 where nothing is."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    tokens = re.findall(rf"\s*({known}|{_NUMBER}|[-+*/=])", text)
    if "".join(tokens).replace(" ", "") != re.sub(r"\s", "", text):
        raise unfit(f"found {format_argument(text.strip())}, where the coefficients are {', '.join(names)}")
    sides = " ".join(tokens).count(" = ")
    if sides > 1 or not tokens:
        raise unfit("a hypothesis has one sign of equality")
    place = tokens.index("=") if "=" in tokens else len(tokens)
    left, right = _side(tokens[:place], names, text), _side(tokens[place + 1 :], names, text)
    weights, constant = left[0] - right[0], right[1] - left[1]
    if not weights.any():
        raise unfit(f"{format_argument(text.strip())} has no coefficient")
    return Hypothesis(text.strip(), weights, constant)


def _side(tokens: list[str], names: Sequence[str], text: str) -> tuple[Floats, float]:
    """Return the weights and the constant of one side: terms of a sign, and of factors, one of which may be a name."""
    weights, constant, rest = np.zeros(len(names)), 0.0, list(tokens)
    while rest:
        factor, name = 1.0, ""
        while rest and rest[0] in "+-":
            factor *= -1.0 if rest.pop(0) == "-" else 1.0
        inverse = False
        while True:
            token = rest.pop(0) if rest else "="
            if token in names and not name and not inverse:
                name = token
            elif re.fullmatch(_NUMBER, token) and not (inverse and float(token) == 0.0):
                factor *= 1.0 / float(token) if inverse else float(token)
            else:
                raise unfit(f"{format_argument(text.strip())} is no sum of coefficients times numbers")
            if not rest or rest[0] not in "*/":
                break
            inverse = rest.pop(0) == "/"
        if name:
            weights[list(names).index(name)] += factor
        else:
            constant += factor
        if rest and rest[0] not in "+-":
            raise unfit(f"{format_argument(text.strip())} is no sum of coefficients times numbers")
    return weights, constant


def records_of(given: object) -> Sequence[Mapping[str, Any]]:
    """Return the records of one, of columns, of a list, or of a data frame of any library (HG194).

    >>> records_of({"age": [30, 40], "sex": np.array([0, 1])})
    [{'age': 30, 'sex': 0}, {'age': 40, 'sex': 1}]
    """
    if not isinstance(given, Mapping):
        rows = given if isinstance(given, (list, tuple)) else rows_of(given)
        if rows is None or not all(isinstance(row, Mapping) for row in rows):
            raise unfit("the argument is neither a record, nor a list of records, nor a data frame")
        return rows
    columns = {
        name: np.asarray(value).tolist() if hasattr(value, "__array__") else value for name, value in given.items()
    }
    lists = [value for value in columns.values() if isinstance(value, (list, tuple))]
    if not lists:
        return [columns]
    if len(lists) < len(columns) or len(set(map(len, lists))) > 1:
        raise unfit("some columns have more values than others")
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def unfit(finding: str) -> ParameterError:
    """Return the refusal of a contrast or a prediction (HG194)."""
    return ParameterError(
        "HG194",
        rule="A contrast names coefficients and their weights. A prediction names every column of the model.",
        finding=f"Of these, {finding}.",
        remedy='Use the names of the coefficients or columns of the fit, for example .contrast({"age": 10.0}), '
        '.t_test("10 * age = 5") or .predict({"age": 40, "sex": 1}).',
        shell="A contrast is asked for in Python.",
    )
