"""Keeps pytest out of the files that import what `make mutants` alone installs: they hold no example to run."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = (
    [] if find_spec("coverage") and find_spec("cosmic_ray") else ["covering.py", "mutations.py", "__main__.py"]
)
