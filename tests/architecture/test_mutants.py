"""The faults of `mutants.py` are made one by one, and each is caught; `test_mutant_texts.py` says that each can be."""

import pytest
from tests.architecture.mutants import MUTANTS, main


@pytest.mark.long
@pytest.mark.parametrize("place", range(len(MUTANTS)), ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_is_caught(place: int) -> None:
    assert main([place]) == 0
