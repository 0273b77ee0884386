"""The exhibits in their order, and the files that they need: ``make reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..run import Reproduction, run
from . import audit, claims, input_perturbed, intercept, no_privacy, numeric_sparsed, sound, uncalibrated
from .adult import ADULT_FILES

__all__ = ["MULTICALIBRATION", "main"]

MULTICALIBRATION = Reproduction(
    folder=Path(__file__).parent,
    needed=(*ADULT_FILES, "PUMS5extract10000.csv"),
    exhibits=(
        uncalibrated.exhibit,
        no_privacy.exhibit,
        input_perturbed.exhibit,
        numeric_sparsed.exhibit,
        intercept.exhibit,
        claims.exhibit,
        audit.exhibit,
        sound.exhibit,
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    run(MULTICALIBRATION, arguments)


if __name__ == "__main__":
    main()
