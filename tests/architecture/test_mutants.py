"""The faults of `mutants.py`: each can still be made; the long test makes them and wants each caught."""

import pytest
from tests.architecture.mutants import MUTANTS, ROOT, Mutant, main, mutated


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_its_file_and_names_tests_that_exist(mutant: Mutant) -> None:
    text = mutated(mutant)
    assert text is not None and mutant.new in text
    compile(text, mutant.file, "exec")
    assert all((ROOT / test).exists() for test in mutant.tests.split())


def test_a_text_that_is_gone_is_noticed() -> None:
    assert mutated(Mutant("", "noise/lattice.py", "this stands nowhere", "", "")) is None


@pytest.mark.long
@pytest.mark.parametrize("place", range(len(MUTANTS)), ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_is_caught(place: int) -> None:
    assert main([place]) == 0
