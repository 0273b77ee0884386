"""`python -m hedgerow` and the console script run the command line.

This module imports almost nothing, so that a signal that arrives during the other imports ends the process quietly.
"""

import atexit
import gc
import sys

from hedgerow.interrupts import end_on_signals, speak_json


def main() -> None:
    """Run the command line; a signal ends it quietly, also while its modules are imported."""
    end_on_signals()
    _collect_rarely()
    speak_json("--json" in sys.argv)
    from hedgerow.cli.main import main as run

    run()


def _collect_rarely() -> None:
    """Search for cycles of garbage rarely, and not at the end: each search goes through all imported modules.

    What is counted is freed as before. The search at the end takes a quarter of the time of a short command, and frees
    memory that the end of the process frees too.
    """
    # More objects than the imports of a command make: a search through those finds nothing.
    gc.set_threshold(400_000, 50, 100)
    atexit.register(gc.freeze)


if __name__ == "__main__":
    main()
