"""The referee: ``python -m tests.referee`` holds every public call that spends against its certificate.

0 findings are expected. A finding is a fault of privacy. Then testers of other projects look at the same calls, where
an environment variable names a folder with their source: `tests.referee.testers` says which.
"""

from __future__ import annotations

import argparse
import sys

from tests.referee.cases import cases
from tests.referee.testers import look_of_others
from tests.referee.walk import shares, walk


def say(line: object) -> None:
    """Print a line at once."""
    print(line, flush=True)


def main() -> int:
    """Run all, and return 1 where there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.referee")
    parser.add_argument("--pairs", type=int, default=12, help="random neighbours of each call")
    parser.add_argument("--searched", type=int, default=40, help="changes of the pair that moved most")
    parser.add_argument("--case", default="", help="only cases whose name contains this text")
    asked = parser.parse_args()
    lines, findings = [], 0
    chosen = [case for case in cases() if asked.case in case.name]
    for line in walk(chosen, pairs=asked.pairs, searched=asked.searched):
        say(line)
        lines.append(line)
        findings += len(line.findings)
    say("\nThe largest share of the certified ε that exact vectors prove, by what spends and by mechanism:")
    for (spender, mechanism), share in shares(lines).items():
        say(f"  {spender}, {mechanism}: {'the law is not known' if share is None else format(share, '.3f')}")
    say("\nTesters of other projects:")
    findings += look_of_others(lines, say)
    say(f"\n{len(chosen)} public calls, {sum(line.pairs for line in lines):,} pairs of neighbours, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
