"""What is written from the registry of statistics is there as it would be written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.generate import EXPORTS, REFERENCE, WRITTEN

from hedgerow.statistics.registry import entries


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_a_generated_file_is_as_it_would_be_written(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert WRITTEN[path](text) == text, "run make generate"


@pytest.mark.parametrize("kind", ["ratio", "gini"])
@pytest.mark.parametrize("path", [EXPORTS, REFERENCE], ids=lambda path: path.name)
def test_a_statistic_that_is_left_out_is_written(path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text(encoding="utf-8")
    fewer = {name: entry for name, entry in entries().items() if name != kind}
    with monkeypatch.context() as patched:
        patched.setattr("tests.generate.entries", lambda: fewer)
        shorter = WRITTEN[path](text)
    assert shorter != text and f"hedgerow.{kind}\n" not in shorter
    assert WRITTEN[path](shorter) == text
