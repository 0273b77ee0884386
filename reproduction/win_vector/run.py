"""The exhibits in their order: ``make reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..run import Reproduction, run
from . import adaptive, mechanisms, price, variance

__all__ = ["WIN_VECTOR", "main"]

WIN_VECTOR = Reproduction(
    folder=Path(__file__).parent,
    needed=(),
    exhibits=(price.exhibit, variance.exhibit, mechanisms.exhibit, adaptive.exhibit),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    run(WIN_VECTOR, arguments)


if __name__ == "__main__":
    main()
