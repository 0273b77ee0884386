"""Whether the tests notice random small faults: ``python -m tests.mutation --count 60``, or ``make mutants N=60``.

The command copies the tree, runs the tests of the folders once to see which test runs which line, and draws a sample of
faults. Each fault is put into the copy and meets the tests that run its line, the quickest first, until a test fails. A
process is forked for each fault from a process that has imported the libraries of others already. A fault that no test
notices is printed with its file, line and texts. `equivalent.toml` lists faults that change no result, with reasons.

The score is the share of faults that were noticed, among those that are not equivalent. A fault counts as noticed if a
test fails, if the files cannot be imported any more, or if the tests take ten times their usual time.

Cosmic Ray's own command would run one command of tests for every fault, and mutmut 3 knows only which function a test
calls and skips what has a decorator, such as every property: therefore this driver has Cosmic Ray's operators alone.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.architecture.mutants import copied
from tests.mirror import concerned_by_all
from tests.mutation.covering import QUICK, Covering, measure, read
from tests.mutation.mutations import FOLDERS, ROOT, SOURCE, Mutation, changed, files_of, sampled

EQUIVALENT = Path(__file__).with_name("equivalent.toml")
KEPT = ROOT / "build" / "mutants"


def tests_of(folders: tuple[str, ...]) -> list[str]:
    """Return the paths of the tests that a change of folders needs."""
    paths = concerned_by_all(folder.partition("/")[0] for folder in folders)
    return [path.relative_to(ROOT).as_posix() for path in paths]


def covering(root: Path, folders: tuple[str, ...], paths: list[str], *, stale: bool) -> Covering:
    """Return which test runs which line; what an earlier run found is used while no file has changed."""
    files = [path.relative_to(SOURCE).as_posix() for folder in folders for path in files_of(folder)]
    digest = hashlib.sha256("\0".join(paths + files).encode())
    for path in [] if stale else sorted([*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        digest.update(path.read_bytes())
    kept = KEPT / f"{'stale' if stale else digest.hexdigest()[:16]}.json"
    if not kept.exists():
        print(f"running {len(paths)} paths of tests once, to see which test runs which line", flush=True)
        start = time.monotonic()
        status, text = forked(lambda: print(json.dumps(measure(root, files, paths))), 7200.0, 7200.0)
        if status != 0:
            raise RuntimeError(text[-2000:])
        KEPT.mkdir(parents=True, exist_ok=True)
        record = text.strip().splitlines()[-1]
        kept.write_text(record, encoding="utf-8")
        (KEPT / "stale.json").write_text(record, encoding="utf-8")
        print(f"{len(json.loads(record)['tests'])} tests in {time.monotonic() - start:.0f} s", flush=True)
    return read(kept.read_text(encoding="utf-8"))


def forked(run: Callable[[], object], seconds: float, wall: float) -> tuple[int | None, str]:
    """Run a function in a process of its own; return its exit status, None where time ran out, and what it printed."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # open until the process ends
            status = 70
            try:
                status = int(run() or 0)  # type: ignore[call-overload]  # what a run returns is a status or nothing
            finally:
                sys.stdout.flush()
                os._exit(status)
        watched = os.pidfd_open(process)
        try:
            if not select.select([watched], [], [], wall)[0]:
                os.killpg(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
        finally:
            os.close(watched)
        printed.seek(0)
        return (os.WEXITSTATUS(status) if os.WIFEXITED(status) else None), printed.read()


def warm(root: Path, paths: list[str]) -> None:
    """Import what the tests import, so that no process has to; the library itself is imported anew by each process."""
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*QUICK, "--collect-only", *paths])
    cold()
    sys.path[:0] = [str(root / "src")]


def cold() -> None:
    """Forget the library and its tests."""
    for name in [
        name for name in sys.modules if name.split(".")[0] in ("hedgerow", "tests", "conftest", "reproduction")
    ]:
        del sys.modules[name]


def meet(root: Path, mutation: Mutation, text: str, tests: list[str], seconds: float) -> tuple[str, str]:
    """Let tests meet a fault; return `noticed`, `survived` or `unjudged`, and which test noticed."""
    path = root / "src" / "hedgerow" / mutation.file
    before, times = path.read_bytes(), path.stat()
    path.write_text(text, encoding="utf-8")
    # Compiled files are recognised by second and size: a fault of the same size must not be taken for the original.
    os.utime(path, (times.st_atime, times.st_mtime + 3600))

    def run() -> int:
        sys.dont_write_bytecode = True
        cold()
        return int(pytest.main([*QUICK, "-x", "--no-header", "--tb=no", "-W", "ignore::pytest.PytestWarning", *tests]))

    try:
        status, printed = forked(run, 10.0 * seconds + 20.0, 60.0 * seconds + 120.0)
    finally:
        path.write_bytes(before)
        os.utime(path, (times.st_atime, times.st_mtime))
    failed = [line.split(" ")[1] for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if status == 0:
        return "survived", ""
    if status in (1, 2):
        return "noticed", failed[0] if failed else "an import"
    if status is None:
        return "noticed", "no end"
    if failed:
        return "noticed", failed[0]
    return "unjudged", printed[-300:]


def chosen(tests: list[str], costs: Covering, seconds: float) -> list[str]:
    """Return the quickest tests within some seconds; two of the cases of one test first, then the others."""
    count: Counter[str] = Counter()
    first, later = [], []
    for test in tests:
        name = test.split("[")[0]
        count[name] += 1
        (first if count[name] <= 2 else later).append(test)
    kept: list[str] = []
    for test in first + later:
        if kept and costs.cost(test) > seconds:
            continue
        seconds -= costs.cost(test)
        kept.append(test)
    return kept


def equivalents() -> set[tuple[str, str, str]]:
    """Return the faults that change no result: file, the line before and after."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("equivalent", [])
    return {(entry["file"], entry["before"], after) for entry in entries for after in afters(entry)}


def afters(entry: dict[str, Any]) -> list[str]:
    """Return the lines that an entry says change no result: one, or several for one reason."""
    after = entry["after"]
    return after if isinstance(after, list) else [after]


def main(arguments: argparse.Namespace) -> int:
    """Print each fault and its fate, and the score; the exit status is 1 below the least score."""
    folders = tuple(arguments.folders)
    known = equivalents()
    sample = sampled(folders, arguments.count, arguments.seed, arguments.only)[arguments.start :]
    tally: dict[str, Counter[str]] = {folder: Counter() for folder in folders}
    survivors, start = [], time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        root = copied(Path(name))
        os.chdir(root)
        sys.path[:0] = [str(root / "src"), str(root)]
        os.environ["PYTHONPATH"] = str(root / "src")
        paths = arguments.paths or tests_of(folders)
        lines = None if arguments.tests else covering(root, folders, paths, stale=arguments.stale)
        warm(root, arguments.tests or paths)
        for place, mutation in enumerate(sample, arguments.start):
            original = (SOURCE / mutation.file).read_text(encoding="utf-8")
            text = mutation.source(original)
            old, new = changed(original, text)
            began = time.monotonic()
            if lines is None:
                tests, cost = arguments.tests, 60.0
            else:
                every = lines.of(mutation.file, mutation.line, original)
                tests = chosen(every, lines, arguments.seconds)
                cost = sum(lines.cost(test) for test in tests)
            if (mutation.file, old, new) in known:
                fate, by = "equivalent", ""
            elif not tests:
                fate, by = "survived", "no test runs the line"
            else:
                fate, by = meet(root, mutation, text, tests, cost)
            tally[next(one for one in folders if mutation.file.startswith(one))][fate] += 1
            shown = f"{mutation.file}:{mutation.line}\n    - {old}\n    + {new}"
            of = "" if lines is None else f" of {len(every)}"
            print(
                f"{place:3} {fate} {shown}\n    {len(tests)}{of} tests, {time.monotonic() - began:.0f} s {by}",
                flush=True,
            )
            if fate == "survived":
                survivors.append(f"{shown}  {by}")
    print("\nnot noticed:", *survivors, sep="\n")
    total: Counter[str] = Counter()
    for folder, fates in tally.items():
        print(_line(folder, fates))
        total += fates
    print(_line(f"all, seed {arguments.seed}, {time.monotonic() - start:.0f} s", total))
    return int(_score(total) < arguments.least or total["unjudged"] > 0)


def _score(fates: Counter[str]) -> float:
    return fates["noticed"] / max(fates["noticed"] + fates["survived"], 1)


def _line(name: str, fates: Counter[str]) -> str:
    judged = fates["noticed"] + fates["survived"]
    rest = f"{fates['equivalent']} equivalent, {fates['unjudged']} not judged"
    return f"{name}: {fates['noticed']} of {judged} noticed ({100 * _score(fates):.0f} %), {rest}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="how many faults")
    parser.add_argument("--start", type=int, default=0, help="the place of the first fault, to go on with a run")
    parser.add_argument("--seed", type=int, default=1, help="which faults")
    parser.add_argument("--folders", nargs="+", default=list(FOLDERS), metavar="FOLDER", help="of src/hedgerow")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="the tests of a fault that survives take about so long"
    )
    parser.add_argument("--least", type=float, default=0.0, help="the exit status is 1 below this score")
    parser.add_argument("--only", default="", metavar="TEXT", help="faults whose file:line or line contains the text")
    parser.add_argument("--paths", nargs="+", default=[], help="look for tests here, and not where tests.mirror says")
    parser.add_argument("--tests", nargs="+", default=[], help="run these tests, and look for no others")
    parser.add_argument("--stale", action="store_true", help="trust an earlier run about which test runs which line")
    sys.exit(main(parser.parse_args()))
