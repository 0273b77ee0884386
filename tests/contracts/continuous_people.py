"""People with three continuous values, which do not collapse, and a statistic of all three."""

from __future__ import annotations

import numpy as np
import pandas as pd

import hedgerow as hg

BOUNDS = {name: (0.0, 100.0, 0.001) for name in "xyz"}
RATE = hg.bootstrap(lambda t: t["x"] / (t["y"] + t["z"]), columns=BOUNDS, name="rate", limits=(0, 10))


def continuous_people(rows: int, *, seed: int) -> pd.DataFrame:
    """Return so many people; one value of fifty is missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.normal(50, 20, rows) for name in "xyz"})
    frame.loc[::50, "y"] = np.nan
    frame["group"] = rng.integers(0, 4, rows)
    return frame
