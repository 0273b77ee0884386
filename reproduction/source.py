"""Where the public data files are: in the folder that ``HEDGEROW_DATA`` names."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["data_file"]


def data_file(name: str) -> Path:
    """Return a file of the folder that ``HEDGEROW_DATA`` names."""
    return Path(os.environ.get("HEDGEROW_DATA", ".")) / name
