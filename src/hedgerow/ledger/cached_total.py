"""The total of a ledger, composed once: a reservation then costs one more composition, not all of them."""

from __future__ import annotations

from hedgerow.ledger.chain import Chain, Checkpoint, composed
from hedgerow.ledger.guarantee import Total, with_one_more
from hedgerow.ledger.total import RunningTotal


class CachedTotal:
    """The total of all that a chain reserved, as far as it was composed in this process.

    A reservation then costs one more composition, not all of them. What is kept is keyed by the hashes of the links
    that it covers, so it is never taken for the total of another list.
    """

    def __init__(self) -> None:
        self._count, self._last = 0, ""
        self._total: Total | None = None
        self._next: tuple[str, Total] | None = None

    def resume(self, known: Checkpoint, nothing: Total) -> None:
        """Begin with the total of a checkpoint."""
        if isinstance(nothing, RunningTotal):
            self._count, self._last, self._total = len(known.places), known.last, composed(known.total, nothing)

    @property
    def cold(self) -> bool:
        """Whether no total was computed yet."""
        return self._total is None

    def of(self, chain: Chain) -> Total:
        """Compose what is not yet covered."""
        if self._total is None or not self._covers(chain):
            self._count, self._last, self._total = 0, "", chain.header.nothing_spent()
        for entry in chain.order[self._count - len(chain.earlier) :]:
            if self._next is not None and self._next[0] == entry.link.hash:
                self._total = self._next[1]
            else:
                self._total = with_one_more(self._total, entry.mechanism)
            self._count, self._last = self._count + 1, entry.link.hash
        return self._total

    def expect(self, hashed: str, total: Total) -> None:
        """Remember the total up to a link that is about to be written."""
        self._next = (hashed, total)

    def _covers(self, chain: Chain) -> bool:
        # Each hash stands for all links before it, so the last one is enough.
        place = self._count - len(chain.earlier)
        return 0 <= place <= len(chain.order) and self._last == chain.last_reserved(place)
