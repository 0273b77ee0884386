"""The exhibits in their order, and the file that they need: ``make reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..run import Reproduction, run
from . import (
    attack,
    attack_numbers,
    figure_1,
    figure_2,
    figure_3,
    figure_3_corrected,
    sensitivity,
    table_1,
    table_2,
    table_3,
    table_4,
    table_4_corrected,
    theorem_4,
)
from .farms import FARMS_FILE

__all__ = ["OKEEFE_CHAREST", "main"]

OKEEFE_CHAREST = Reproduction(
    folder=Path(__file__).parent,
    needed=(FARMS_FILE,),
    exhibits=(
        table_1.exhibit,
        table_2.exhibit,
        figure_1.exhibit,
        figure_2.exhibit,
        table_3.exhibit,
        table_4.exhibit,
        figure_3.exhibit,
        sensitivity.exhibit,
        attack.exhibit,
        attack_numbers.exhibit,
        figure_3_corrected.exhibit,
        table_4_corrected.exhibit,
        theorem_4.exhibit,
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    run(OKEEFE_CHAREST, arguments)


if __name__ == "__main__":
    main()
