"""The full audit: every mechanism at 10⁷ outputs a neighbour, 500 pairs of neighbours replayed, every mutant.

    python benchmarks/audit_campaign.py --runs 10000000 --replays 500 --report audit.html

Figures of 20 November 2026 (seed 20261120) are in docs/promise.md; the run takes some fifteen minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hedgerow.audit.campaign import run_campaign
from hedgerow.reports.audit_page import campaign_page


def main() -> int:
    """Run the campaign and print what each mechanism and each mutant came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000_000)
    parser.add_argument("--replays", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--report", type=Path)
    asked = parser.parse_args()
    found = run_campaign(
        runs=asked.runs,
        replays=asked.replays,
        seconds=asked.seconds,
        progress=lambda what, done: print(f"{100 * done:3.0f} % {what}", file=sys.stderr, flush=True),
    )
    for one in (*found.audits, *found.released):
        v = one.verdict
        print(
            f"{one.specimen.name:<30} {v.relation!s:<12} {v.source:<9} {v.runs:>11,} δ={v.delta:<6.3g} "
            f"{v.epsilon_lower:.4f} ≤ ε ≤ {v.epsilon_upper:.4f}  {'passes' if v.passes else 'CROSSED'}  "
            + "; ".join(f"{attack.name} {attack.epsilon_lower:.4f}" for attack in v.attacks)
        )
    for test in found.laws:
        print(f"{test.name:<45} {'accepted' if test.accepted else 'REJECTED'}")
    for caught in found.caught:
        verb = "rejected" if caught.found.rejected else "ACCEPTED"
        print(f"{caught.mutant.name:<34} {verb} by {caught.mutant.layer:<12} {caught.found.evidence}")
    print(found.replay)
    print(f"off the lattice {found.off_lattice}, false alarm ≤ {found.false_alarm:.2g}, {found.seconds:.0f} s")
    print("PASSES" if found.passes else "FAILS")
    if asked.json is not None:
        asked.json.write_text(json.dumps(found.to_dict(), indent=2, ensure_ascii=False), encoding="utf-8")
    if asked.report is not None:
        asked.report.write_text(campaign_page(found), encoding="utf-8")
    return 0 if found.passes else 5


if __name__ == "__main__":
    sys.exit(main())
