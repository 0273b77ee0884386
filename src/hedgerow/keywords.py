"""Unknown keywords are refused with a code and the nearest known name, by one decorator for every public call.

Options that several calls share are declared once, as a `TypedDict`: a type checker sees each keyword through
``**options: Unpack[…]``, ``help`` and notebooks through the signature that `takes` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from hedgerow.errors import UnknownKeywordError

P = ParamSpec("P")
R = TypeVar("R")


class StatisticCall(NamedTuple):
    """A public call: its name, and what it was given."""

    name: str
    args: tuple[Any, ...]
    given: dict[str, Any]


_NOTED: ContextVar[list[StatisticCall] | None] = ContextVar("noted", default=None)


@contextmanager
def noting_calls() -> Iterator[list[StatisticCall]]:
    """Yield a list to which the public calls made inside are added, so that they can be shown as Python.

    >>> @takes()
    ... def half(x: float) -> float:
    ...     return x / 2
    >>> with noting_calls() as calls:
    ...     half(3.0)
    1.5
    >>> calls
    [StatisticCall(name='half', args=(3.0,), given={})]
    """
    calls: list[StatisticCall] = []
    before = _NOTED.set(calls)
    try:
        yield calls
    finally:
        _NOTED.reset(before)


def takes(options: type | None = None, **defaults: object) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: the function refuses unknown keywords (HG126), and its signature lists the known ones.

    Parameters
    ----------
    options : TypedDict, optional
        The keywords that ``**options`` of the function accepts; leave it out if the function has no ``**options``.
    **defaults
        Defaults that the signature shows for single options; for the others it shows None.

    Examples
    --------
    >>> @takes()
    ... def half(x: float, *, digits: int = 2) -> float:
    ...     return round(x / 2, digits)
    >>> half(1.0, digit=1)
    Traceback (most recent call last):
        ...
    hedgerow.errors.UnknownKeywordError: HG126: `half` has no keyword `digit`. Did you mean `digits`?
    """

    def decorate(call: Callable[P, R]) -> Callable[P, R]:
        shown = _shown(call, options, defaults)
        known = frozenset(
            parameter.name
            for parameter in shown.parameters.values()
            if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ) - {"self"}
        name = call.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @wraps(call)
        def checked(*args: P.args, **given: P.kwargs) -> R:
            for word in given:
                if word not in known:
                    raise _unknown(name, word, sorted(known))
            if (noted := _NOTED.get()) is None:
                return call(*args, **given)
            # Only the outermost call is somebody's; what it calls itself is not.
            noted.append(StatisticCall(name, args, dict(given)))
            inner = _NOTED.set(None)
            try:
                return call(*args, **given)
            finally:
                _NOTED.reset(inner)

        checked.__signature__ = shown  # type: ignore[attr-defined]  # what `help` shows
        return cast("Callable[P, R]", checked)

    return decorate


def _shown(call: Callable[..., object], options: type | None, defaults: dict[str, object]) -> Signature:
    own = signature(call)
    if options is None:
        return own
    listed = [parameter for parameter in own.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD]
    for name, hint in options.__annotations__.items():
        kind = getattr(hint, "__forward_arg__", hint)
        listed.append(Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=kind))
    return own.replace(parameters=listed)


def nearest_name(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that a word is likely to be a slip of, or begins; None where none is near.

    >>> nearest_name("epsilom", ["epsilon", "by"]), nearest_name("eps", ["epsilon", "by"]), nearest_name("avg", ["by"])
    ('epsilon', 'epsilon', None)
    """
    from difflib import get_close_matches

    names = list(known)
    begun = [name for name in names if len(word) > 2 and name.startswith(word)]
    if len(begun) == 1:
        return begun[0]
    return next(iter(get_close_matches(word, names, n=1, cutoff=0.7)), None)


# Names that this library once had, with the names of today.
RENAMED = {"method": ("estimator", "noise", "sensitivity")}
_ENDS = ("lower", "upper", "low", "high", "lo", "hi", "min", "max")  # of bounds, as other libraries call them


def _unknown(name: str, word: str, known: list[str]) -> UnknownKeywordError:
    bounded = word in _ENDS and "bounds" in known
    renamed = [today for today in RENAMED.get(word, ()) if today in known]
    nearest = "bounds=(LO, HI)" if bounded else "` or `".join(renamed) or nearest_name(word, known)
    listed = ", ".join(f"`{word}`" for word in known)
    return UnknownKeywordError(
        "HG126",
        rule=f"`{name}` has no keyword `{word}`.",
        remedy=f"Did you mean `{nearest}`?" if nearest else f"They are {listed}.",
    )
