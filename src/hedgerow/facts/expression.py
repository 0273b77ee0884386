"""The two small languages of a request: which records count (`where`), and columns that are computed (`column`).

::

    condition  = term {"or" term}          term   = factor {"and" factor}
    factor     = "not" factor | "(" condition ")" | comparison
    comparison = column op constant | constant op column | column ["not"] "in" "[" constant {"," constant} "]"
    op         = "<" | "<=" | ">" | ">=" | "==" | "=" | "!=" | "<>"
    constant   = number | 'text' | "text" | true | false

    sum        = product {("+" | "-") product}      product = sign {("*" | "/") sign}
    sign       = "-" sign | "(" sum ")" | column | number | function "(" column ["," date] ")"

A column is a name of letters, digits and ``_``, or any name between backticks. Nothing else parses, and every refusal
names the character. No text of a request becomes code of an engine: engines translate what is parsed here.

The statistics that a facts file can name, found in ``statistics/``.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from operator import add, mul, sub, truediv
from typing import Any, ClassVar, Generic, Literal, NoReturn, TypeVar

from hedgerow.errors import ParameterError
from hedgerow.facts.column_function import FUNCTIONS, ColumnFunction, as_date
from hedgerow.facts.validation import check_text, format_argument, kind_of

MOST_CHARACTERS = 10_000
_MOST_NESTED, _MOST_PARTS, _MOST_CONSTANTS = 30, 200, 10_000
_TOKENS = re.compile(
    r"(?P<blank>\s+)|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))"
    r"|(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|(?P<quoted>`[^`]+`)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|==|!=|<>|[-<>=()\[\],+*/])"
)
_WORDS = frozenset(("and", "or", "not", "in", "true", "false"))

S = TypeVar("S")
T = TypeVar("T")
Constant = str | int | float | bool
Operator = Literal["in", "not in", "<", "<=", ">", ">="]
_NEGATED: dict[Operator, Operator] = {"in": "not in", "not in": "in", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED: dict[Operator, Operator] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_COMPARED: dict[str, Operator] = {"==": "in", "=": "in", "!=": "not in", "<>": "not in"}
_COMPARED |= {"<": "<", "<=": "<=", ">": ">", ">=": ">="}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {"+": add, "-": sub, "*": mul, "/": truediv}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column compared with constants, texts, numbers or booleans alone; of ``in`` and ``not in`` there are several.

    It is true of a record whose value is present and stands in this relation to the constants, otherwise it is not.
    """

    column: str
    operator: Operator
    constants: tuple[Constant, ...]

    def __invert__(self) -> Comparison:
        return replace(self, operator=_NEGATED[self.operator])


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions of which every one is true, or at least one."""

    every: bool
    parts: tuple[Comparison | Junction, ...]

    def __invert__(self) -> Junction:
        return Junction(not self.every, tuple(~part for part in self.parts))


# Without "not": with it moved to the comparisons, "true" needs no third value, for a missing value makes neither a
# comparison nor its opposite true.
Condition = Comparison | Junction


@dataclass(frozen=True, slots=True)
class Operation:
    """An arithmetic operation on columns, given by their names, and numbers."""

    operator: Literal["+", "-", "*", "/"]
    left: Arithmetic
    right: Arithmetic


Arithmetic = Operation | ColumnFunction | str | float


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """Yield the comparisons of a condition, from left to right."""
    if isinstance(condition, Comparison):
        yield condition
    else:
        for part in condition.parts:
            yield from comparisons(part)


def inputs(expression: Arithmetic) -> Iterator[str]:
    """Yield the columns of an arithmetic expression, from left to right."""
    for column, _ in readings(expression):
        yield column


def readings(expression: Arithmetic) -> Iterator[tuple[str, bool]]:
    """Yield the columns of an arithmetic expression, from left to right, and whether each is read as a date."""
    if isinstance(expression, Operation):
        yield from readings(expression.left)
        yield from readings(expression.right)
    elif isinstance(expression, ColumnFunction):
        yield expression.column, not expression.is_curve
    elif isinstance(expression, str):
        yield expression, False


def sources_of(column: str) -> tuple[str, ...]:
    """Return the columns of the source that a column is read from: itself, or those of its expression."""
    return tuple(inputs(column.expression)) if isinstance(column, DerivedColumn) else (column,)


def parse_condition(text: object) -> Condition:
    """Return the condition that a text holds.

    Raises
    ------
    ParameterError
        HG131: it does not parse; the message names the character.

    Examples
    --------
    >>> parse_condition("age >= 25 and not region in ['North', 'East']")
    Junction(every=True, parts=(Comparison(column='age', operator='>=', constants=(25,)), \
Comparison(column='region', operator='not in', constants=('North', 'East'))))
    """
    parser = _Parser(_checked(text, "where", _refuse_condition), _refuse_condition)
    return parser.whole(parser.condition)


def parse_arithmetic(text: object) -> Arithmetic:
    """Return the arithmetic expression that a text holds, of one column at least (HG132 where it does not parse).

    >>> parse_arithmetic("income / (2 * 6) - tax")
    Operation(operator='-', left=Operation(operator='/', left='income', right=12.0), right='tax')
    """
    parser = _Parser(_checked(text, "column", _refuse_arithmetic), _refuse_arithmetic)
    terms = parser.whole(parser.sum)
    if isinstance(terms, Operation) and parser.curves:
        parser.refuse("log, exp and sqrt are of one column, and stand alone")
    return parser.refuse("there is no column") if isinstance(terms, float) else terms


def place_of(column: str, text: str) -> int | None:
    """Return at which character a text of a request first names a column, counted from 1; None where it does not.

    >>> place_of("age", "sex == 'age' and `age` >= 3"), place_of("age", "ages > 3")
    (18, None)
    """
    for token in _Parser(text, _refuse_condition).tokens:
        if (token.kind, token.text) in (("name", column), ("quoted", f"`{column}`")):
            return token.place + 1
    return None


class DerivedColumn(str):
    """A column that is computed record by record from others: its name, with the expression behind it.

    It stands wherever the name of a column does. Bounds and step are those declared with it, None where the facts or
    the call give them.
    """

    __slots__ = ("bounds", "expression", "step", "text")

    expression: Arithmetic
    text: str
    bounds: Any
    step: Any

    @classmethod
    def named(cls, name: str, text: object, *, bounds: Any = None, step: Any = None) -> DerivedColumn:
        """Return the column of this name that a text defines (HG132 where it does not parse)."""
        column = cls(name)
        column.expression = parse_arithmetic(text)
        column.text, column.bounds, column.step = str(text).strip(), bounds, step
        return column

    def image(self, bounds_of: Callable[[str], Any]) -> tuple[float, float] | None:
        """Return the bounds that follow from those of its column, where it is a function of one; else None."""
        applied = self.expression
        return applied.image(bounds_of(applied.column)) if isinstance(applied, ColumnFunction) else None

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (str(self), self.text, self.bounds, self.step)


def _rebuilt(name: str, text: str, bounds: Any, step: Any) -> DerivedColumn:
    return DerivedColumn.named(name, text, bounds=bounds, step=step)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    place: int


class Computation(ABC, Generic[T]):
    """Recursive descent over what is computed from left to right, of whatever operands.

    ::

        sum = product {("+" | "-") product}    product = operand {("*" | "/") operand}
        operand = "-" operand | "(" sum ")" | leaf
    """

    most_nested: ClassVar[int]
    too_deep: ClassVar[str]
    expected: ClassVar[str]
    nested: int

    @property
    @abstractmethod
    def place(self) -> int:
        """At which character of the text the next sign or word begins."""

    @abstractmethod
    def taken(self, *signs: str) -> str | None:
        """Return the next sign, and pass it, where it is one of these."""

    @abstractmethod
    def refuse(self, wanted: str) -> NoReturn:
        """Refuse the text for what stands next."""

    @abstractmethod
    def leaf(self) -> T:
        """Return the next operand that begins with no sign."""

    @abstractmethod
    def negated(self, value: T) -> T:
        """Return −value."""

    @abstractmethod
    def operation(self, operator: str, place: int, left: T, right: T) -> T:
        """Return what the operator, which stands at this place, makes of its two sides."""

    def sum(self) -> T:
        """Return the sum that stands next."""
        return self._chained(("+", "-"), lambda: self._chained(("*", "/"), self.operand))

    def operand(self) -> T:
        """Return the operand that stands next."""
        if self.taken("-"):
            return self.negated(self.within(self.operand))
        if self.taken("("):
            return self.bracketed(self.sum)
        return self.leaf()

    def _chained(self, signs: tuple[str, ...], rule: Callable[[], T]) -> T:
        value, place = rule(), self.place
        while operator := self.taken(*signs):
            value, place = self.operation(operator, place, value, rule()), self.place
        return value

    def expect(self, sign: str) -> None:
        """Pass the next sign; refuse the text where it is another."""
        if not self.taken(sign):
            self.refuse(self.expected.format(sign))

    def within(self, rule: Callable[[], S]) -> S:
        """Return what a rule reads one level deeper: after a "not", a minus, or between brackets."""
        self.nested += 1
        if self.nested > self.most_nested:
            self.refuse(self.too_deep)
        read = rule()
        self.nested -= 1
        return read

    def bracketed(self, rule: Callable[[], S]) -> S:
        """Return what a rule reads up to a closing bracket."""
        read = self.within(rule)
        self.expect(")")
        return read


class _Parser(Computation[Arithmetic]):
    """Recursive descent over the tokens of one text."""

    most_nested = _MOST_NESTED
    too_deep = f"at most {_MOST_NESTED} brackets and signs stand within each other"
    expected = 'expected "{}"'

    def __init__(self, text: str, refusal: Callable[[str, str], ParameterError]) -> None:
        self.text, self.refusal = text, refusal
        self.at, self.nested, self.parts, self.constants, self.curves = 0, 0, 0, 0, 0
        self.tokens = list(self._tokens())

    def _tokens(self) -> Iterator[_Token]:
        place = 0
        while place < len(self.text):
            match = _TOKENS.match(self.text, place)
            if match is None or match.lastgroup is None:
                opened = "begins a text without an end" if self.text[place] in "'\"`" else "can stand nowhere"
                raise self.refusal(self.text, f"character {place + 1}, {format_argument(self.text[place])}, {opened}")
            kind, word = match.lastgroup, match.group()
            if kind == "name" and word.lower() in _WORDS:
                kind, word = "word", word.lower()
            if kind != "blank":
                yield _Token(kind, word, place)
            place = match.end()
        yield _Token("end", "", len(self.text))

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    @property
    def place(self) -> int:
        return self.next.place

    def taken(self, *texts: str) -> str | None:
        """Return the next sign or word, and pass it, where it is one of these."""
        token = self.next
        if token.kind in ("sign", "word") and token.text in texts:
            self.at += 1
            return token.text
        return None

    def refuse(self, wanted: str) -> NoReturn:
        token = self.next
        finding = "the text ends" if token.kind == "end" else f"found {format_argument(token.text)}"
        raise self.refusal(self.text, f"at character {token.place + 1} {finding}: {wanted}")

    def whole(self, rule: Callable[[], S]) -> S:
        tree = rule()
        if self.next.kind != "end":
            self.refuse("nothing can stand here")
        return tree

    def part(self) -> None:
        self.parts += 1
        if self.parts > _MOST_PARTS:
            self.refuse(f"there are more than {_MOST_PARTS} comparisons or operations")

    def named(self) -> str | None:
        """Return the name of a column, None where there is none."""
        token = self.next
        if token.kind not in ("name", "quoted"):
            return None
        self.at += 1
        return token.text.strip("`") if token.kind == "quoted" else token.text

    def number(self) -> int | float | None:
        token = self.next
        if token.kind != "number":
            return None
        whole = token.text.isdigit() and len(token.text) < 20
        number = int(token.text) if whole else float(token.text)
        if math.isinf(number):
            self.refuse("a number is finite")
        self.at += 1
        return number

    # Conditions.

    def condition(self) -> Condition:
        return self.joined("or", lambda: self.joined("and", self.factor))

    def joined(self, word: str, rule: Callable[[], Condition]) -> Condition:
        parts = [rule()]
        while self.taken(word):
            parts.append(rule())
        return parts[0] if len(parts) == 1 else Junction(word == "and", tuple(parts))

    def factor(self) -> Condition:
        if self.taken("not"):
            return ~self.within(self.factor)
        if self.taken("("):
            return self.bracketed(self.condition)
        return self.comparison()

    def comparison(self) -> Comparison:
        self.part()
        column = self.named()
        if column is None:
            constant = self.constant("expected a column")
            operator = self.compared("expected <, <=, >, >=, == or != after the constant")
            if (column := self.named()) is None:
                self.refuse("expected a column: a comparison is of a column with a constant")
            return Comparison(column, _MIRRORED.get(operator, operator), (constant,))
        negated = self.taken("not") is not None
        if self.taken("in"):
            return Comparison(column, "not in" if negated else "in", self.listed())
        operator = self.compared('expected <, <=, >, >=, ==, !=, "in" or "not in" after the column')
        comparison = Comparison(
            column, operator, (self.constant("expected a number, a text in quotes, true or false"),)
        )
        if self.next.text in _COMPARED:
            self.refuse('a comparison has two sides: write two, with "and" between them')
        return comparison

    def compared(self, wanted: str) -> Operator:
        sign = self.taken(*_COMPARED)
        return _COMPARED[sign] if sign else self.refuse(wanted)

    def listed(self) -> tuple[Constant, ...]:
        close = {"[": "]", "(": ")"}.get(self.taken("[", "(") or "")
        if close is None:
            self.refuse(self.expected.format("["))
        constants = [self.constant("expected a number, a text in quotes, true or false")]
        while self.taken(","):
            constants.append(self.constant("expected a number, a text in quotes, true or false"))
            if len({_type_of(constant) for constant in (constants[0], constants[-1])}) > 1:
                self.at -= 1
                self.refuse("a list holds texts, numbers or booleans alone")
        if not self.taken(close):
            self.refuse(f'expected "," or "{close}"')
        return tuple(constants)

    def constant(self, wanted: str) -> Constant:
        token = self.next
        if token.kind == "text":
            self.at += 1
            quote = token.text[0]
            return token.text[1:-1].replace(2 * quote, quote)
        if word := self.taken("true", "false"):
            return word == "true"
        sign = self.taken("-", "+")
        number = self.number()
        if number is None:
            self.refuse(f"{wanted}; a text stands in quotes" if token.kind == "name" else wanted)
        return -number if sign == "-" else number

    # Arithmetic.

    def operation(self, operator: str, place: int, left: Arithmetic, right: Arithmetic) -> Arithmetic:
        self.part()
        if right == 0.0 and operator == "/":
            self.refuse("a division is by something else than zero")
        if not isinstance(left, float) or not isinstance(right, float):
            return Operation(operator, left, right)  # type: ignore[arg-type]  # one of the signs, as just taken
        folded = _ARITHMETIC[operator](left, right)
        return folded if math.isfinite(folded) else self.refuse("a number is finite")

    def negated(self, value: Arithmetic) -> Arithmetic:
        return self.operation("*", self.place, -1.0, value)

    def leaf(self) -> Arithmetic:
        if (column := self.named()) is not None:
            return self.applied(column) if self.taken("(") else column
        number = self.number()
        return float(number) if number is not None else self.refuse('expected a column, a number or "("')

    def applied(self, function: str) -> ColumnFunction:
        if function not in FUNCTIONS:
            self.at -= 2
            self.refuse(f"functions are {', '.join(FUNCTIONS)}")
        column, at = self.named(), None
        if column is None:
            self.refuse(f"{function} is of a column")
        if function == "age":
            if not self.taken(","):
                self.refuse("an age is asked at a date: age(born, '2026-01-01')")
            date = as_date(self.constant("expected a date in quotes, such as '2026-01-01'"))
            if date is None:
                self.at -= 1
                self.refuse("a date is written '2026-01-01'")
            at = date[:3]
        self.expect(")")
        made = ColumnFunction(function, column, at)
        self.curves += made.is_curve
        return made


def _type_of(constant: Constant) -> type:
    return type(constant) if isinstance(constant, (str, bool)) else float


def _checked(text: object, what: str, refusal: Callable[[str, str], ParameterError]) -> str:
    if not isinstance(text, str):
        raise refusal("", f"it is {kind_of(text)}")
    check_text(text, f"The text of `{what}`")
    if not text.strip() or len(text) > MOST_CHARACTERS:
        raise refusal(text, f"it has more than {MOST_CHARACTERS:,} characters" if text.strip() else "it is empty")
    return text


def _refuse_condition(text: str, finding: str) -> ParameterError:
    return ParameterError(
        "HG131",
        rule="The condition `where` compares columns with constants; comparisons are joined by and, or, not.",
        finding=_told(text, finding),
        remedy="Write comparisons of columns with constants, for example where=\"age >= 25 and region in ['North', "
        "'East']\".",
        shell="For example, write --where \"age >= 25 and region in ['North', 'East']\".",
    )


def _refuse_arithmetic(text: str, finding: str) -> ParameterError:
    return ParameterError(
        "HG132",
        rule="The expression of a computed column has columns, numbers, + - * /, brackets and functions of one column.",
        finding=_told(text, finding),
        remedy='Write an arithmetic expression of columns, for example hg.column("income / household", bounds=(0, '
        "100_000)).",
        shell='For example --mean "(income / household):0:100000".',
    )


def _told(text: str, finding: str) -> str:
    return f"In {format_argument(text)}, {finding}." if text.strip() else f"{finding[:1].upper()}{finding[1:]}."


REGRESSIONS = ("ols", "logit")
"""What facts can allow besides: no statistic of a release, but a release of its own."""


def kinds() -> dict[str, Any]:
    """Return the entry of each statistic by its name (`hedgerow.statistics.entry`).

    The files of the statistics import the grids of this folder, so they are found by name, when they are needed.

    >>> "mean" in kinds()
    True
    """
    entries: dict[str, Any] = import_module("hedgerow.statistics.registry").entries()
    return entries
