"""One text for each value of JSON, and its hash: what is compared, chained or signed must be written in one way."""

from __future__ import annotations

import hashlib
import json


def canonical(record: object) -> str:
    """Return JSON text of which there is one for each value: keys sorted, no blanks, floats as they repeat exactly.

    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(text: str | bytes) -> str:
    """Return SHA-256 of text (as UTF-8) or bytes, in hexadecimal."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()
