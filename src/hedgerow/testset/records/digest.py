"""What a submitter sent, as a keyed digest: it tells one request from another under the same id, and nothing of labels.

A replay under an id is free, so what it compares must not depend on a record: the predictions as they were sent, place
by place (and by which key, where keys were sent), never labels or features. It is keyed, so that the ledger alone does
not confirm a guess at somebody's predictions.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from hedgerow.testset.records.entries import Entries


def digest_of(key: bytes, *columns: Entries) -> str:
    """Return 32 hexadecimal digits for columns, entry by entry in their order.

    >>> from hedgerow.testset.records.entries import entries_of
    >>> one = digest_of(b"key", entries_of([1, 0]))
    >>> one == digest_of(b"key", entries_of([1.0, False])), one == digest_of(b"key", entries_of([0, 1]))
    (True, False)
    """
    hashed = hashlib.blake2b(key=key, digest_size=16)
    for column in columns:
        for told in column.told():
            text = told.encode("utf-8", "surrogatepass")
            hashed.update(len(text).to_bytes(8, "little") + text)
        hashed.update(b"\xff" * 8)
    return hashed.hexdigest()


def digest_of_file(key: bytes, path: str | Path) -> str:
    """Return 32 hexadecimal digits for the bytes of the custodian's own file; no predictions have the same ones."""
    hashed = hashlib.blake2b(key=key, digest_size=16, person=b"labels")
    with Path(path).open("rb") as file:
        while part := file.read(1 << 20):
            hashed.update(part)
    return hashed.hexdigest()
