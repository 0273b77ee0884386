"""Public data files, which the marker `data` names: a test that lacks one is skipped by name."""

from __future__ import annotations

import pytest
from reproduction.source import FILES, data_folder


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose public files are not here, before its fixtures read them."""
    needed = [FILES[name].name for marker in item.iter_markers("data") for name in marker.args]
    missing = [name for name in needed if not (data_folder() / name).is_file()]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: set HEDGEROW_DATA to their folder (`make reproduce` says where)")
