"""Which tests run a line, measured in one run: every test and every shared fixture is a context of coverage.py."""

from __future__ import annotations

import ast
import functools
import json
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coverage
import pytest

__all__ = ["QUICK", "Covering", "measure", "read"]

QUICK = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not long and not databases and not spark")


@dataclass(eq=False)
class Contexts:
    """A plugin of pytest: names the running test or fixture to coverage.py, and notes how long each test took."""

    measured: coverage.Coverage
    current: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        forget()
        self.current = item.nodeid
        self.measured.switch_context(self.current)
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - start
            self.measured.switch_context("")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        # What tests share runs once; every test that uses the fixture is a test of the lines behind it.
        if fixturedef.scope == "function":
            return (yield)
        name, base = fixturedef.argname, fixturedef.baseid
        context = f"{base}::{name}[{getattr(request, 'param_index', 0)}]"
        users = (item for item in request.session.items if name in getattr(item, "fixturenames", ()))
        self.users[context] = [item.nodeid for item in users if item.nodeid.startswith(base)]
        self.measured.switch_context(context)
        try:
            return (yield)
        finally:
            self.measured.switch_context(self.current)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (report.when == "call" and report.outcome != "passed") or report.failed:
            self.failed.add(report.nodeid)


def forget() -> None:
    """Empty the caches of the library: what an earlier test computed would hide the lines from a later test."""
    for name, module in list(sys.modules.items()):
        if name.startswith("hedgerow."):
            for owner in [module, *(value for value in vars(module).values() if isinstance(value, type))]:
                for value in list(vars(owner).values()):
                    if isinstance(value, functools._lru_cache_wrapper):
                        value.cache_clear()


@dataclass
class Covering:
    """The tests of every line: numbers of tests by file and line, and the seconds that each test takes."""

    tests: list[str]
    seconds: list[float]
    lines: dict[str, dict[int, list[int]]]

    def of(self, file: str, line: int, source: str) -> list[str]:
        """Return the tests that run a line, the quickest first; for a line that runs on import, those of the file."""
        lines = self.lines.get(file, {})
        statement = _statement(source, line)
        here = {test for one in ([line] if lines.get(line) else statement) for test in lines.get(one, ())}
        if not here and (set(statement) & set(lines)):
            here = {test for tests in lines.values() for test in tests}
        return [self.tests[test] for test in sorted(here, key=lambda test: self.seconds[test])]

    def cost(self, test: str) -> float:
        """Return the seconds of a test."""
        return self._costs[test]

    @functools.cached_property
    def _costs(self) -> dict[str, float]:
        return dict(zip(self.tests, self.seconds, strict=True))


def _statement(source: str, line: int) -> list[int]:
    """Return the lines of the smallest statement that a line belongs to; of a compound statement, its head."""
    best: range | None = None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            if node.lineno <= line <= last and (best is None or len(best) > last - node.lineno + 1):
                best = range(node.lineno, last + 1)
    return list(best or [line])


def measure(root: Path, files: list[str], paths: list[str]) -> dict[str, Any]:
    """Run tests in this process, and return which of them ran the lines of files of ``src/hedgerow``."""
    # The project's own settings measure other folders, for another command.
    included = [str(root / "src" / "hedgerow" / file) for file in files]
    measured = coverage.Coverage(data_file=None, config_file=False, include=included)
    plugin = Contexts(measured)
    measured.start()
    status = pytest.main([*QUICK, "--no-header", *paths], plugins=[plugin])
    measured.stop()
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"the tests did not run: pytest ended with {status!r}")
    data = measured.get_data()
    tests = sorted(set(plugin.seconds) - plugin.failed)
    number = {test: place for place, test in enumerate(tests)}
    lines: dict[str, dict[int, list[int]]] = {}
    for file in files:
        contexts = data.contexts_by_lineno(str(root / "src" / "hedgerow" / file))
        lines[file] = {
            line: sorted({number[test] for name in names for test in plugin.users.get(name, [name]) if test in number})
            for line, names in contexts.items()
        }
    return {"tests": tests, "seconds": [plugin.seconds[test] for test in tests], "lines": lines}


def read(text: str) -> Covering:
    """Return what :func:`measure` returned, written as JSON."""
    record = json.loads(text)
    lines = {file: {int(line): tests for line, tests in by.items()} for file, by in record["lines"].items()}
    return Covering(record["tests"], record["seconds"], lines)
