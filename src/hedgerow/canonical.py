"""One text for each value of JSON, and its hash: what is compared, chained or signed must be written in one way.

And one value for each text: no name twice, since readers differ in which of both they take, and no NaN or infinity.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NoReturn


def canonical(record: object) -> str:
    """Return JSON text of which there is one for each value: keys sorted, no blanks, floats as they repeat exactly.

    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def value_of_json(text: str) -> Any:
    """Return the value of JSON text (ValueError: it is none, an object names a field twice, a number is not finite).

    >>> value_of_json('{"a": 1}')
    {'a': 1}
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name stands there twice")
    return record


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def digest(text: str | bytes) -> str:
    """Return SHA-256 of text (as UTF-8) or bytes, in hexadecimal."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()
