"""A test set with seeded noise, for studies of error and overfitting. NOT PRIVATE: marked, never certified, no ledger.

>>> import numpy as np
>>> y = np.array([0, 1] * 500)
>>> ts = SimulatedTestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=3, mechanism="gaussian", rng=1)
>>> ts.score(y).simulated, ts.score(y).certificate
(True, None)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.testing.simulated import SimulatedNoise
from hedgerow.testset import TestSet


class SimulatedTestSet(TestSet):
    """`TestSet` with the seeded stand-in for noise; everything else is the same."""

    __test__ = False

    def __init__(
        self,
        X_test: object,
        y_test: object,
        *,
        rng: np.random.Generator | int | None = None,
        ledger: str | Path | None = None,
        **options: Any,
    ) -> None:
        if ledger is not None:
            raise ParameterError(
                "HG172",
                rule="A simulated test set has no ledger: what is drawn from a seed is not private.",
                finding="One was given.",
                remedy="Leave it out.",
            )
        super().__init__(X_test, y_test, **options)
        self._noise = SimulatedNoise(rng)
