"""Formulas as statisticians write them, ``income ~ age + C(sex)``, read by formulaic: its only door.

Only the structure of a formula is taken from formulaic, never a value: it sees no data.
"""

from __future__ import annotations

from hedgerow.errors import ParameterError
from hedgerow.facts.given import check_text, format_argument

_MOST_CHARACTERS = 2_000


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
            finding="It is not installed.",
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
        rule="A formula is a numeric column, ~ and terms: columns, categories, powers, and products of these.",
        finding=f"In {format_argument(text)}, {finding}.",
        remedy='For example "income ~ age + educ + C(sex)" or "y ~ a * b + I(a ** 2) - 1".',
        shell="See: hedgerow ols --help.",
    )
