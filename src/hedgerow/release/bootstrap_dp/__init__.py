"""Numbers under bootstrap differential privacy, which is not differential privacy: D's own range sets the noise.

``hedgerow.bootstrap_dp`` holds what can be asked for under this guarantee alone: `minimum`, `maximum` and
`own_function`.

>>> import hedgerow as hg
>>> hg.bootstrap_dp.maximum("income", step=1).kind
'maximum'
"""

from hedgerow.release.bootstrap_dp.bootstrap_numbers import maximum, minimum, own_function

__all__ = ["maximum", "minimum", "own_function"]


def __dir__() -> list[str]:
    """List what can be asked for, without the modules that compute it."""
    return list(__all__)
