"""What a test needs of the machine: public data files, which the marker `data` names, and engines.

A test that lacks a file or an engine is skipped by name. `tests/engines.py` says when a run without an engine fails.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from reproduction.source import FILES, data_folder
from tests.engines import LACKED, judged


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose public files are not here, before its fixtures read them."""
    needed = [FILES[name].name for marker in item.iter_markers("data") for name in marker.args]
    missing = [name for name in needed if not (data_folder() / name).is_file()]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: set HEDGEROW_DATA to their folder (`make reproduce` says where)")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Close a session that lacked engines with one line, or hand their names to the run that it is a part of."""
    closed = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter and not hasattr(session.config, "workerinput") else []
    reasons = [report.longrepr[2] for report in skipped if isinstance(report.longrepr, (tuple, list))]
    lacked = [reason.partition(LACKED)[2] for reason in reasons if LACKED in reason]
    if lacked and "HEDGEROW_LACKED" in os.environ:
        with Path(os.environ["HEDGEROW_LACKED"]).open("a", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in lacked)
    elif lacked:
        line, fails = judged(lacked, os.environ)
        reporter.write_line(line)
        if fails and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    return closed
