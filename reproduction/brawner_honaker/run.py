"""The exhibits in their order, and the files that they need: ``make reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..run import Reproduction, run
from . import (
    alpha_prime,
    attack,
    coverage,
    equipartition,
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7a,
    figure_7b,
    figure_8,
    figure_9a,
    figure_9b,
    hypotheses,
    naive,
    price,
    regression,
    reidentification,
    section_8,
)

__all__ = ["BRAWNER_HONAKER", "main"]

BRAWNER_HONAKER = Reproduction(
    folder=Path(__file__).parent,
    needed=("PUMS5extract10000.csv", "wang_cheng_awan_intervals.csv"),
    exhibits=(
        reidentification.exhibit,
        figure_1.exhibit,
        equipartition.exhibit,
        figure_2.exhibit,
        figure_3.exhibit,
        figure_4.exhibit,
        naive.exhibit,
        figure_5.exhibit,
        figure_6.exhibit,
        figure_7a.exhibit,
        figure_7b.exhibit,
        figure_8.exhibit,
        figure_9a.exhibit,
        figure_9b.exhibit,
        section_8.exhibit,
        alpha_prime.exhibit,
        hypotheses.exhibit,
        attack.exhibit,
        price.exhibit,
        coverage.exhibit,
        regression.exhibit,
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    run(BRAWNER_HONAKER, arguments)


if __name__ == "__main__":
    main()
