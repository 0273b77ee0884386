"""The engines that tests ask of the machine: a test without its engine is skipped by name, and a CI run fails for it.

``python -m tests.engines packages`` prints the Debian packages of the engines that are not here.
``python -m tests.engines judge FILE`` closes a run whose sessions wrote the engines that they lacked into FILE.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

LACKED = "the engine is not installed: "


def chromium() -> Path | None:
    """Return a headless browser."""
    found = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    return next((Path(one) for one in found if one), None)


def java() -> Path | None:
    """Return the virtual machine that Spark starts."""
    home, found = Path(os.environ.get("JAVA_HOME", "/nowhere"), "bin/java"), shutil.which("java")
    return Path(found) if found else home if home.is_file() else None


def unprivileged() -> str | None:
    """Return the user who runs a server of PostgreSQL where we are root, which PostgreSQL refuses to be."""
    import pwd

    return next((name for name in ("postgres", "nobody") if name in {one.pw_name for one in pwd.getpwall()}), None)


def postgresql() -> Path | None:
    """Return the folder of `initdb` and `pg_ctl`; None where PostgreSQL is not installed, or may not be started."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if os.getuid() == 0 and unprivileged() is None:
        return None
    return next((one for one in folders if (one / "initdb").exists() and (one / "pg_ctl").exists()), None)


def pyspark() -> Path | None:
    """Return the package."""
    found = find_spec("pyspark")
    return Path(found.origin) if found and found.origin else None


class Engine(NamedTuple):
    """What an engine is, where it is if it is here, and the Debian package that has it."""

    what: str
    found: Callable[[], Path | None]
    package: str | None


ENGINES = {
    "chromium": Engine("a headless browser", chromium, "chromium"),
    "java": Engine("Java 17 or later, which Spark needs", java, "default-jre-headless"),
    "postgresql": Engine("initdb and pg_ctl of a PostgreSQL server", postgresql, "postgresql"),
    "pyspark": Engine("the Python package, which `make test-spark` installs", pyspark, None),
}


def need(name: str) -> Path:
    """Return where an engine is; skip the test, by the engine's name, where there is none."""
    import pytest

    found = ENGINES[name].found()
    if found is None:
        pytest.skip(LACKED + name)
    return found


def judged(lacked: Iterable[str], environment: Mapping[str, str]) -> tuple[str, bool]:
    """Return the closing line of a run that lacked these engines, one name a skipped test, and whether the run fails.

    A run fails with ``CI=true``, but for the engines that ``HEDGEROW_ALLOW_MISSING`` names, between commas.
    """
    counts = Counter(lacked)
    if not counts:
        return "No engine is missing.", False
    allowed = {name.strip() for name in environment.get("HEDGEROW_ALLOW_MISSING", "").split(",")}
    wrong = [name for name in sorted(counts) if name not in allowed]
    said = "; ".join(f"{name} ({ENGINES[name].what}), {count} skipped" for name, count in sorted(counts.items()))
    fails = environment.get("CI") == "true" and bool(wrong)
    remedy = f" This run fails: install {', '.join(wrong)}, or set HEDGEROW_ALLOW_MISSING={','.join(wrong)}."
    return f"Engines are missing, and their tests were skipped: {said}.{remedy if fails else ''}", fails


if __name__ == "__main__":
    if sys.argv[1] == "packages":
        print(*(one.package for one in ENGINES.values() if one.package and one.found() is None))
    else:
        line, failed = judged(Path(sys.argv[2]).read_text().split(), os.environ)
        print(line)
        sys.exit(failed)
