"""What a caller gave, in the words of a message. For arguments only: nothing read from data is ever shown."""

from __future__ import annotations


def shown(given: object) -> str:
    """Return what was given, cut short: a number of 5,000 digits has no use in a message, nor in Python's own words."""
    try:
        text = repr(given)
    except ValueError:
        return "a number too long to print"
    return text if len(text) <= 80 else f"{text[:77]}…"


def kind_of(given: object) -> str:
    """Return the type of what was given, with its article; its content stays out, since an array may hold data.

    >>> kind_of("age"), kind_of(3)
    ('a str', 'an int')
    """
    name = type(given).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"
