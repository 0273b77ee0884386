"""`python -m hedgerow` and the console script run the command line.

This module imports almost nothing, so that a signal that arrives during the other imports ends the process quietly.
"""

import sys

from hedgerow.interrupts import end_on_signals, speak_json


def main() -> None:
    """Run the command line; a signal ends it quietly, also while its modules are imported."""
    end_on_signals()
    speak_json("--json" in sys.argv)
    from hedgerow.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
