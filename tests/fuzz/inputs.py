"""How many inputs are tried: a seeded slice in the suite, more in the long run.

The long run tries 1,040,000 inputs, most where they are cheapest: a CPU minute takes about 4,000 records, 20,000 facts
files, 1,200 CSV files and 700 to 1,600 names.

Hypothesis remembers all inputs of a run, so a long run is one of many short ones, each with a seed of its own. With
HEDGEROW_FUZZ_SEED=1 or another number all inputs are others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from hedgerow.errors import HedgerowError

_AT_ONCE, _FIRST_SEED = 5_000, int(os.environ.get("HEDGEROW_FUZZ_SEED", "0"))
# An input has few parts, and a simpler one takes minutes to find.
_AS_DRAWN: dict[str, Any] = {
    "phases": [Phase.generate], "database": None, "deadline": None, "suppress_health_check": list(HealthCheck)
}  # fmt: skip


def counts(usual: int, long: int) -> pytest.MarkDecorator:
    """Return the parameter `count` of a test: so many inputs in the suite, and so many in the long run."""
    return pytest.mark.parametrize("count", [usual, pytest.param(long, marks=pytest.mark.long)])


def tried(count: int, drawn: SearchStrategy[Any], check: Callable[[Any], None]) -> None:
    """Check so many inputs."""
    for start in range(0, count, _AT_ONCE):

        @seed(start + _FIRST_SEED)
        @settings(max_examples=min(_AT_ONCE, count - start), **_AS_DRAWN)
        @given(drawn)
        def each(given: Any) -> None:
            check(given)

        each()


def refusal(ask: Callable[[], Any]) -> tuple[Any, str | None]:
    """Return (what was answered, None) or (None, the code of the refusal). Any other error is a fault."""
    try:
        return ask(), None
    except HedgerowError as refused:
        assert refused.code and refused.rule, refused
        str(refused).encode()
        return None, refused.code
