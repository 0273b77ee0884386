"""What can go wrong, and what each refusal says: rule, finding, remedy, with a code.

::

    HedgerowError                      code, rule, finding, remedy, exit_code
    ├── ParameterError (ValueError)    an argument breaks a rule                        exit 2
    │   └── UnknownKeywordError        no such keyword; a TypeError too                 exit 2
    ├── FactsError                     the declared public facts do not fit             exit 2
    │   └── ForbiddenError             the facts forbid this release                    exit 4
    ├── DataError                      the source cannot be read as declared            exit 2
    ├── BudgetExceeded                 .requested and .remaining say by how much        exit 3
    ├── UncertifiedError               no proven or computed price exists               exit 4
    ├── VerificationError              a record does not hold what it states            exit 5
    ├── LedgerError                    the record of spending cannot be used            exit 2
    │   └── ApprovalError              no approval covers what would run                exit 4
    └── SpentError                     failed after the budget was reserved: it stays   exit 6
                                       spent

Every code has a page in ``error_codes.toml``, which ``hedgerow explain CODE`` prints. Once the data are open a message
is fixed text: it never holds a cell, a count or another program's own words.
"""

from __future__ import annotations

from copyreg import __newobj__  # type: ignore[attr-defined]  # what pickle itself names
from typing import Any, ClassVar

__all__ = [
    "ApprovalError",
    "BudgetExceeded",
    "DataError",
    "FactsError",
    "ForbiddenError",
    "HedgerowError",
    "HedgerowWarning",
    "LedgerError",
    "ParameterError",
    "SpentError",
    "UncertifiedError",
    "UnknownKeywordError",
    "VerificationError",
]


class HedgerowError(Exception):
    """Base of every refusal.

    Parameters
    ----------
    code : str
        ``HGnnn``, a key of ``error_codes.toml``.
    rule : str
        What must hold, as a whole sentence.
    finding : str
        What was found instead; public words only.
    remedy : str
        What to do next, with the names of parameters as in Python; the command line prints them as its options.
    shell : str, optional
        The remedy for the command line, where names alone do not carry over.
    facts_help : bool
        Whether a public fact is missing, so that a facts file would help.

    Examples
    --------
    >>> str(ParameterError("HG101", rule="`epsilon` must be positive and finite.", finding="Found 0.0.",
    ...                    remedy="Try epsilon=1.0."))
    'HG101: `epsilon` must be positive and finite. Found 0.0. Try epsilon=1.0.'
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self,
        code: str,
        *,
        rule: str,
        finding: str = "",
        remedy: str = "",
        shell: str | None = None,
        facts_help: bool = False,
    ) -> None:
        self.code, self.rule, self.finding, self.remedy = code, rule, finding, remedy
        self.shell, self.facts_help = shell, facts_help
        super().__init__(self._text())

    def advise(self, sentence: str, *, shell: str) -> None:
        """Add a sentence to the remedy, and its form for the command line to that for the command line.

        The sentence stands before the lines of a facts file that a remedy may end in.
        """
        self.shell = _with_sentence(self.remedy if self.shell is None else self.shell, shell)
        self.remedy = _with_sentence(self.remedy, sentence)
        self.args = (self._text(),)

    def _text(self) -> str:
        return f"{self.code}: " + " ".join(part for part in (self.rule, self.finding, self.remedy) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are pickled by their positional arguments, and this one has keywords.
        return __newobj__, (type(self), *self.args), self.__dict__


def _with_sentence(remedy: str, sentence: str) -> str:
    text, lines, facts = remedy.partition("\n")
    if not lines:
        return f"{text} {sentence}".strip()
    return f"{sentence} {text}{lines}{facts}"


class HedgerowWarning(UserWarning):
    """Something allowed that a careful custodian would want to know."""


class ParameterError(HedgerowError, ValueError):
    """An argument breaks a rule; nothing was read, spent or written."""


class UnknownKeywordError(ParameterError, TypeError):
    """A keyword that the call does not have; a `TypeError` too, as Python has it. Nothing was read or spent."""


class FactsError(HedgerowError):
    """The declared public facts are absent, contradictory or do not fit the request."""


class ForbiddenError(FactsError):
    """The custodian's facts forbid this release."""

    exit_code = 4


class DataError(HedgerowError):
    """The source cannot be read as declared. The message holds declared names only, never a value."""


class BudgetExceeded(HedgerowError):
    """The request costs more than what is left; nothing was spent."""

    exit_code = 3

    def __init__(
        self, code: str, *, requested: float, remaining: float, rule: str, finding: str = "", remedy: str = ""
    ) -> None:
        self.requested, self.remaining = requested, remaining
        super().__init__(code, rule=rule, finding=finding, remedy=remedy)


class UncertifiedError(HedgerowError):
    """No proven or computed price exists for this request, so it is refused."""

    exit_code = 4


class VerificationError(HedgerowError):
    """A record does not hold what it states."""

    exit_code = 5


class LedgerError(HedgerowError):
    """The record of spending cannot be used."""


class ApprovalError(LedgerError):
    """No valid approval covers what would run; nothing was read or spent."""

    exit_code = 4


class SpentError(HedgerowError):
    """The release failed after its budget was reserved. The budget stays spent; the message is fixed text."""

    exit_code = 6
