"""The total of a chain, composed once a process: a reservation then costs one more composition, not all of them.

What is kept is keyed by the hashes of the links it covers, so it is never taken for the total of another list.
"""

from __future__ import annotations

from hedgerow.ledger.chain import Chain, ReservedLink
from hedgerow.ledger.guarantee import Total, with_one_more


class CachedTotal:
    """The total of all that a chain reserved, as far as it was composed in this process."""

    def __init__(self) -> None:
        self._covered: list[str] = []
        self._total: Total | None = None
        self._next: tuple[str, Total] | None = None

    @property
    def cold(self) -> bool:
        """Whether nothing was composed yet."""
        return self._total is None

    def of(self, chain: Chain) -> Total:
        """Compose what is not yet covered."""
        reserved = list(chain.reserved.values())
        if self._total is None or not self._covers(reserved):
            self._covered, self._total = [], chain.header.nothing_spent()
        for one in reserved[len(self._covered) :]:
            if self._next is not None and self._next[0] == one.link.hash:
                self._total = self._next[1]
            else:
                self._total = with_one_more(self._total, one.mechanism)
            self._covered.append(one.link.hash)
        return self._total

    def expect(self, hashed: str, total: Total) -> None:
        """Remember the total up to a link that is about to be written."""
        self._next = (hashed, total)

    def _covers(self, reserved: list[ReservedLink]) -> bool:
        # Each hash stands for all links before it, so the last one is enough.
        count = len(self._covered)
        return count <= len(reserved) and (count == 0 or reserved[count - 1].link.hash == self._covered[-1])
