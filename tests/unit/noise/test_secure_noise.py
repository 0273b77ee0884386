"""The source of released noise: what it refuses."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.noise.secure import SecureNoise


@pytest.mark.parametrize("draw", [SecureNoise().discrete_gaussian, SecureNoise().two_sided_geometric])
def test_noise_that_64_bits_would_cut_off_is_refused(draw: Callable[[float, int], NDArray[np.int64]]) -> None:
    assert draw(2.0**53, 3).dtype == np.int64
    with pytest.raises(ParameterError, match="HG107"):
        draw(2.0**54, 3)
