"""Every fault of `mutants.py` can still be made: a renamed text or test is noticed in seconds, before any fault is run.

`test_mutants.py` makes the faults, which takes half an hour.
"""

import pytest
from tests.architecture.mutants import MUTANTS, ROOT, Mutant, main, mutated


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_its_file_and_names_tests_that_exist(mutant: Mutant) -> None:
    text = mutated(mutant)
    assert text is not None, f"mend the mutant: {mutant.old!r} does not stand exactly once in {mutant.file}"
    assert mutant.old != mutant.new and mutant.new in text
    compile(text, mutant.file, "exec")
    assert mutant.tests and all((ROOT / test).exists() for test in mutant.tests.split())


def test_mutants_have_names_of_their_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("text", ["this stands nowhere", "return"])
def test_a_text_that_does_not_stand_exactly_once_is_noticed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Mutant("a renamed text", "noise/lattice.py", text, "", "tests/unit/noise")
    assert mutated(gone) is None
    monkeypatch.setattr("tests.architecture.mutants.MUTANTS", (gone,))
    monkeypatch.setattr("tests.architecture.mutants.copied", lambda folder: ROOT)
    assert main([0]) == 1
