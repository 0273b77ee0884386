"""What the intervals read: the summary's arithmetic and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.inference.bootstrap.replicate_summary import Replicates


def test_it_summarises_as_numpy_does() -> None:
    values = np.array([3.0, 1.0, 4.0, 1.5])
    summary = Replicates.of(values, noise_variance=0.5)
    assert (summary.mean, summary.spread, summary.n_resamples) == (values.mean(), values.var(ddof=1), 4)
    assert summary.privacy_variance == 0.125


def test_the_offset_enters_the_known_variance_of_one_replicate() -> None:
    summary = Replicates(3.0, 1.0, 10, 2.0, rate=0.5, centre=1.0, n=8)
    assert summary.centre_offset == 0.5
    assert summary.known_variance == 3.0
    assert summary.without_centre().known_variance == 2.0


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_resamples": 1},
        {"n_resamples": 2.0},
        {"mean": math.nan},
        {"spread": -1.0},
        {"spread": math.inf},
        {"noise_variance": -1.0},
        {"weights": "bayesian"},
        {"rate": 0.0},
        {"weights": "multinomial", "rate": 0.5},
        {"centre": 1.0},
        {"n": 10},
        {"centre": 1.0, "n": 0},
        {"weights": "multinomial", "centre": 1.0, "n": 10},
        {"variance_cap": -1.0},
        {"variance_cap": math.nan},
    ],
)
def test_it_refuses_what_cannot_be(arguments: dict[str, object]) -> None:
    fields: dict[str, object] = {"mean": 0.0, "spread": 1.0, "n_resamples": 10, "noise_variance": 1.0}
    with pytest.raises(ParameterError, match="HG121"):
        Replicates(**(fields | arguments))


@pytest.mark.parametrize("estimates", [[1.0], [], [[1.0, 2.0]], 3.0])
def test_it_refuses_estimates_without_a_spread(estimates: object) -> None:
    with pytest.raises(ParameterError, match="HG121"):
        Replicates.of(estimates, noise_variance=1.0)
