"""SciPy's loops are loaded alone, and are those of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

_ALONE = "import sys; from hedgerow.special import ndtri, stdtrit; "
_SAME = (
    "import scipy.special as whole; assert whole.ndtri is ndtri and whole.stdtrit is stdtrit; whole.logsumexp([0.0])"
)


@pytest.mark.parametrize(
    ("before", "alone"),
    [
        ("", True),
        # Another thread might see the package half made.
        ("import threading as t; e = t.Event(); r = t.Thread(target=e.wait, daemon=True); r.start(); ", False),
        # A SciPy whose loops are elsewhere: the package itself serves.
        (
            "import importlib as i; o = i.import_module; m = __import__('hedgerow.special').special; "
            "m.import_module = lambda n: o('nowhere') if n.endswith('_ufuncs') else o(n); ",
            False,
        ),
    ],
    ids=["alone", "threads", "elsewhere"],
)
def test_the_loops_are_those_of_the_package(before: str, alone: bool) -> None:
    found = f"assert ('scipy.special' not in sys.modules) is {alone}; "
    subprocess.run([sys.executable, "-c", before + _ALONE + found + _SAME], check=True)
    # Sabotage: had the package been imported before, this would say so.
    late = [sys.executable, "-c", "import scipy.special; " + _ALONE + "assert 'scipy.special' not in sys.modules"]
    assert not alone or subprocess.run(late, capture_output=True, check=False).returncode == 1


def test_what_is_no_loop_comes_from_the_package() -> None:
    import scipy.special

    from hedgerow.special import logsumexp, ndtr

    assert logsumexp is scipy.special.logsumexp
    assert ndtr is scipy.special.ndtr
