"""Functions of `scipy.special` that are one loop of C, without the import of the rest of that package.

``import scipy.special`` takes .15 s of CPU, most of it for NumPy's test and Fortran tools and for texts of help. The
loops are in an extension module that needs none of it: loaded alone, it takes .02 s. If that is not possible, and while
other threads run, which might see the package half made, the whole package is imported.

>>> from hedgerow.special import ndtri
>>> round(float(ndtri(0.975)), 6)
1.959964
"""

from __future__ import annotations

import sys
import threading
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

_PACKAGE = "scipy.special"


def __getattr__(name: str) -> Any:
    """Return a function of `scipy.special` by its name there; it is kept, and Python finds it without asking here."""
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        found = getattr(_loops(), name)
    except AttributeError:
        found = getattr(import_module(_PACKAGE), name)
    globals()[name] = found
    return found


@cache
def _loops() -> ModuleType:
    if _PACKAGE in sys.modules or threading.active_count() > 1:
        return import_module(_PACKAGE)
    around = ModuleType(_PACKAGE)
    around.__path__ = [f"{folder}/special" for folder in import_module("scipy").__path__]
    sys.modules[_PACKAGE] = around
    try:
        return import_module(f"{_PACKAGE}._ufuncs")
    except ImportError:
        del sys.modules[_PACKAGE]  # SciPy is arranged in another way: the package itself serves
        return import_module(_PACKAGE)
    finally:
        if sys.modules.get(_PACKAGE) is around:
            del sys.modules[_PACKAGE]
