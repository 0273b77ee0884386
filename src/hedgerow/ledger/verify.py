"""What `Ledger.verify` adds to reading: every total composed again, and the chain held to a head printed earlier."""

from __future__ import annotations

from hedgerow.errors import VerificationError
from hedgerow.ledger.chain import Chain, broken
from hedgerow.ledger.entry import Head
from hedgerow.ledger.guarantee import with_one_more

# In millionths: the same curve, computed by another version of a library, may round to the next one.
_SLACK = 2


def check_totals(chain: Chain) -> None:
    """Compose the mechanisms from the first on; refuse a cached total that is too low, or falls (HG305)."""
    total, before = chain.header.nothing_spent(), 0
    for reserved in chain.reserved.values():
        total = with_one_more(total, reserved.mechanism)
        stated = int(reserved.record["total"])
        if total.micro is None or stated < before or stated + _SLACK < total.micro:
            raise broken(f"The total at link {reserved.link.counter} is less than its mechanisms cost.")
        before = stated


def check_head(chain: Chain, head: Head | None) -> None:
    """Refuse a chain that does not pass through a head that was printed earlier (HG306)."""
    if head is None or (head.counter < len(chain.hashes) and chain.hashes[head.counter] == head.hash):
        return
    short = head.counter >= len(chain.hashes)
    raise VerificationError(
        "HG306",
        rule="A ledger passes through every head that was ever printed of it.",
        finding=f"It has {len(chain.hashes) - 1} links, the head stands for {head.counter}."
        if short
        else f"Its link {head.counter} is another one.",
        remedy="Its end was dropped, an old copy was put back, or this is another ledger: find the copy that fits.",
    )
