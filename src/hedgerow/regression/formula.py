"""Formulas as statisticians write them, ``income ~ age + C(sex)``, read by formulaic: its only door.

Only the structure of a formula is taken from formulaic, never a value: it sees no data.

Terms of a linear model: what is asked for, as products of powers of columns and of levels of categories.

A category has treatment coding, its first declared value being the reference, where the term without it is in the model
too (for a category alone: where there is an intercept); else a regressor for every level, as patsy and formulaic code.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.facts.column_function import CURVES, ColumnFunction
from hedgerow.facts.columns import Scalar
from hedgerow.facts.validation import check_text, format_argument

_MOST_CHARACTERS = 2_000
_FUNCTION = re.compile(rf"(?:np\.|numpy\.)?({'|'.join(CURVES)})\(\s*(`[^`]+`|[^\W\d]\w*)\s*\)")


def parts_of_formula(text: str) -> tuple[str, list[list[str]], bool]:
    """Return the response, the factors of each term, and whether there is an intercept.

    Raises
    ------
    ParameterError
        HG190: it does not parse; HG191: formulaic is not installed.

    Examples
    --------
    >>> parts_of_formula("income ~ age * C(sex) - 1")
    ('income', [['age'], ['C(sex)'], ['age', 'C(sex)']], False)
    """
    try:
        from formulaic import Formula
    except ImportError:
        raise ParameterError(
            "HG191",
            rule="Formulas are read by the package formulaic.",
            finding="The package formulaic is not installed.",
            remedy='Install "hedgerow[formulas]", or name the columns in a list: '
            'survey.ols("income", ["age", "C(sex)"]).',
            shell='Install "hedgerow[formulas]".',
        ) from None
    check_text(text, "The text of a formula")
    try:
        if len(text) > _MOST_CHARACTERS:
            raise ValueError
        parsed = Formula(text)
        (response,) = parsed.lhs
        terms = [[factor.expr for factor in term.factors] for term in parsed.rhs]
        (name,) = (factor.expr for factor in response.factors)
    except Exception:
        # Whatever formulaic raises: its words may be of any length.
        raise unfit_formula(text, "it does not parse as one response and its terms") from None
    return name, [term for term in terms if term != ["1"]], ["1"] in terms


def unfit_formula(text: object, finding: str) -> ParameterError:
    """Return the refusal of a formula (HG190)."""
    return ParameterError(
        "HG190",
        rule="A formula has a numeric column, the sign ~ and terms: columns, categories, log, exp or sqrt of one "
        "column, powers, and products of these.",
        finding=f"In {format_argument(text)}, {finding}.",
        remedy='Write a formula such as "income ~ age + educ + C(sex)" or "y ~ a * b + I(a ** 2) - 1".',
        shell="See: hedgerow ols --help.",
    )


INTERCEPT = "Intercept"
MOST_REGRESSORS = 60
MOST_POWER = 4
Levels = tuple[tuple[str, Scalar], ...]
Powers = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Monomial:
    """A product of columns to whole powers, for records with certain categories: 0 for all others.

    >>> Monomial((("sex", 1),), (("age", 1),)) * Monomial((), (("age", 1),))
    Monomial(levels=(('sex', 1),), powers=(('age', 2),))
    >>> Monomial((("sex", 1),), ()) * Monomial((("sex", 0),), ()) is None
    True
    """

    levels: Levels = ()
    powers: Powers = ()

    def __mul__(self, other: Monomial) -> Monomial | None:
        """Return the product; None where no record has both categories, so that it is 0."""
        levels = dict(self.levels)
        for column, value in other.levels:
            if levels.setdefault(column, value) != value:
                return None
        powers = dict(self.powers)
        for column, power in other.powers:
            powers[column] = powers.get(column, 0) + power
        return Monomial(tuple(sorted(levels.items(), key=lambda level: level[0])), tuple(sorted(powers.items())))

    @property
    def degree(self) -> int:
        """The sum of the powers of numeric columns."""
        return sum(power for _, power in self.powers)


@dataclass(frozen=True, slots=True)
class Regressor:
    """A column of the design matrix, by its name."""

    name: str
    monomial: Monomial


@dataclass(frozen=True, slots=True)
class FormulaTerms:
    """The terms of a formula, categories not yet declared.

    A factor is (column, power), power 0 for a category; the factors of a term stand in the order of the formula.
    """

    response: str
    terms: tuple[tuple[tuple[str, int], ...], ...]
    intercept: bool

    @classmethod
    def parsed(cls, formula: object, regressors: object = None, *, intercept: object = True) -> FormulaTerms:
        """Return the terms of a formula; or of a response and a list of terms, for which formulaic is not needed.

        Raises
        ------
        ParameterError
            HG190, HG191: no such formula.

        Examples
        --------
        >>> FormulaTerms.parsed("y", ["a", "I(a ** 2)", "a:C(s)"]).terms
        ((('a', 1),), (('a', 2),), (('a', 1), ('s', 0)))
        """
        if not isinstance(formula, str) or not formula.strip():
            raise unfit_formula(formula, "there is no text")
        if regressors is None:
            response, named, constant = parts_of_formula(formula)
            response = _function(response) or _column(response, formula)
            if intercept is False:
                raise unfit_formula(formula, '"- 1" says that there is no intercept, and not `intercept`')
        else:
            if not isinstance(regressors, Sequence) or isinstance(regressors, str) or "~" in formula:
                raise unfit_formula(formula, "a list of regressors stands beside the name of a column alone")
            if not all(isinstance(term, str) for term in regressors):
                raise unfit_formula(formula, "a regressor of the list is no text")
            response, constant = formula.strip(), bool(intercept)
            response = _function(response) or response
            named = [term.split(":") for term in regressors]
        each = [_term(factors, formula) for factors in named]
        terms = tuple({frozenset(term): term for term in reversed(each)}.values())[::-1]
        if not terms and not constant:
            raise unfit_formula(formula, "there is no term")
        if any((response, power) in term for term in terms for power in range(MOST_POWER + 1)):
            raise unfit_formula(formula, "the response is a regressor too")
        return cls(response, terms, constant)

    def record(self) -> dict[str, Any]:
        """Return plain JSON data."""
        terms = [[list(factor) for factor in term] for term in self.terms]
        return {"response": self.response, "terms": terms, "intercept": self.intercept}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> FormulaTerms:
        """Return the terms of their record; what is none raises LookupError, TypeError or ValueError."""
        terms = tuple(tuple((str(column), power) for column, power in term) for term in record["terms"])
        if type(record["intercept"]) is not bool or any(type(power) is not int for term in terms for _, power in term):
            raise TypeError("a truth value and whole numbers")
        return cls(str(record["response"]), terms, record["intercept"])

    @property
    def categories(self) -> tuple[str, ...]:
        """The columns that are categories, each once."""
        return tuple(dict.fromkeys(column for term in self.terms for column, power in term if not power))

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of one column, such as ``log(pay)``, each once."""
        return tuple(column for column in self.numeric if _function(column))

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns that are numbers, each once, the response last."""
        columns = dict.fromkeys(column for term in self.terms for column, power in term if power)
        return (*(column for column in columns if column != self.response), self.response)

    def regressors(self, categories: Mapping[str, Sequence[Scalar]]) -> tuple[Regressor, ...]:
        """Return the regressors, given the declared values of categories (HG192 where they are too many).

        >>> named = FormulaTerms.parsed("y", ["a", "C(s)", "a:C(s)"]).regressors({"s": [0, 1, 2]})
        >>> [one.name for one in named]
        ['Intercept', 'a', 'C(s)[T.1]', 'C(s)[T.2]', 'a:C(s)[T.1]', 'a:C(s)[T.2]']
        """
        spanned = {frozenset[tuple[str, int]]()} if self.intercept else set()
        regressors = [Regressor(INTERCEPT, Monomial())] if self.intercept else []
        for term in self.terms:
            whole, choices = frozenset(term), []
            for column, power in term:
                if power:
                    choices.append([(_named(column, power), Monomial((), ((column, power),)))])
                    continue
                rest = whole - {(column, power)}
                values, mark = (categories[column][1:], "T.") if rest in spanned else (categories[column], "")
                spanned.add(rest)
                choices.append([(f"C({column})[{mark}{value}]", Monomial(((column, value),), ())) for value in values])
            spanned.add(whole)
            for chosen in product(*choices):
                whole_product = Monomial()
                for _, factor in chosen:
                    whole_product = whole_product * factor or Monomial()
                regressors.append(Regressor(":".join(name for name, _ in chosen), whole_product))
        if len(regressors) > MOST_REGRESSORS:
            raise ParameterError(
                "HG192",
                rule=f"A regression has at most {MOST_REGRESSORS} regressors.",
                finding=f"This one has {len(regressors)}.",
                remedy="Use fewer terms, or categories with fewer values.",
            )
        return tuple(regressors)


def _named(column: str, power: int) -> str:
    return column if power == 1 else f"I({column} ** {power})"


def _term(factors: Sequence[str], formula: str) -> tuple[tuple[str, int], ...]:
    powers: dict[str, int] = {}
    for text in factors:
        for column, power in _factor(text.strip(), formula).items():
            if column in powers and not (power and powers[column]):
                raise unfit_formula(formula, f"{format_argument(column)} is a number and a category in one term")
            powers[column] = powers.get(column, 0) + power
    if sum(powers.values()) > MOST_POWER:
        raise unfit_formula(formula, f"a product has more than {MOST_POWER} numeric factors")
    return tuple(powers.items())


def _factor(text: str, formula: str) -> dict[str, int]:
    """Return {column: power} of a factor, power 0 for a category."""
    inner = text[2:-1].strip() if text.endswith(")") and text[:2] in ("C(", "I(") else text
    if text.startswith("C(") and inner != text:
        return {_column(inner, formula): 0}
    if function := _function(text):
        return {function: 1}
    if text.startswith("I(") and inner != text:
        try:
            return _powers(ast.parse(inner, mode="eval").body, formula)
        except SyntaxError:
            raise unfit_formula(formula, f"{format_argument(text)} is no product of powers of columns") from None
    return {_column(text, formula): 1}


def _column(text: str, formula: str) -> str:
    name = text.strip("`")
    if not name or (name == text and any(sign in name for sign in "()[]{}+*/^|~,;")):
        raise unfit_formula(formula, f"{format_argument(text)} is no column")
    return name


def _function(text: str) -> str | None:
    """Return ``log(pay)`` of ``log(pay)`` and of ``np.log(pay)``; None of what is no function of one column."""
    match = _FUNCTION.fullmatch(text.strip())
    return None if match is None else f"{match[1]}({match[2]})"


def computed_from(record: Mapping[str, Any], column: str) -> float | None:
    """Return ``log(pay)`` of a record that has a number for pay; None where it has none, or where that has no log.

    >>> computed_from({"pay": 9.0}, "sqrt(pay)"), computed_from({"pay": 0.0}, "log(pay)")
    (3.0, None)
    """
    match = _FUNCTION.fullmatch(column)
    number = None if match is None else record.get(match[2].strip("`"))
    if match is None or isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    image = ColumnFunction(match[1], match[2]).image((number, math.inf))
    return None if image is None else image[0]


def _powers(node: ast.expr, formula: str) -> dict[str, int]:
    if isinstance(node, ast.Name):
        return {node.id: 1}
    if function := _function(ast.unparse(node)):
        return {function: 1}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        powers = _powers(node.left, formula)
        for column, power in _powers(node.right, formula).items():
            powers[column] = powers.get(column, 0) + power
        return powers
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant):
        exponent = node.right.value
        if isinstance(exponent, int) and not isinstance(exponent, bool) and 1 <= exponent <= MOST_POWER:
            return {column: power * exponent for column, power in _powers(node.left, formula).items()}
    raise unfit_formula(formula, f"I(…) holds something else than products and powers up to {MOST_POWER} of columns")


def expanded(monomial: Monomial, axes: Mapping[str, tuple[float, float]]) -> dict[Monomial, float]:
    """Return a product of columns x = c + h·u as a polynomial in the scaled columns u; ``axes``: (c, h) by column.

    >>> expanded(Monomial((), (("x", 2),)), {"x": (1.0, 3.0)})[Monomial((), (("x", 1),))]
    6.0
    """
    polynomial = {Monomial(monomial.levels, ()): 1.0}
    for column, power in monomial.powers:
        centre, half = axes[column]
        terms: dict[Monomial, float] = {}
        for before, factor in polynomial.items():
            for k in range(power + 1):
                part = before if not k else Monomial(before.levels, (*before.powers, (column, k)))
                size = math.comb(power, k) * centre ** (power - k) * half**k
                terms[part] = terms.get(part, 0.0) + factor * size
        polynomial = terms
    return {Monomial(part.levels, tuple(sorted(part.powers))): factor for part, factor in polynomial.items() if factor}
