"""How often a model may be fitted in one ledger: as often as was declared, whoever asks.

Cross-validation, a grid search and a pipeline clone an estimator and fit the clones, each time on the same people. With
a ledger every fit is an entry of its own whose id starts with `PREFIX`, so the ledger itself knows how many there were:
clones and other processes share it. The fit after the declared number is refused before anything is reserved or read.

The request of a numbered fit holds a random word, so that of two fits at the same moment, which would take the same
number, one is refused by the ledger (HG311) and none is answered with the other's model.
"""

from __future__ import annotations

from pathlib import Path

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.given import whole
from hedgerow.ledger.store import Ledger

PREFIX = "multicalibrate:"


def next_fit(ledger: str | Path, n_fits: int, request_id: str | None = None) -> str:
    """Return the id of the next fit in this ledger: its number, or the caller's own word for it.

    A word that is in the ledger already is returned as it is: the ledger answers the same request from its record.

    Raises
    ------
    ParameterError
        HG165: `n_fits` is no whole number from 1.
    UncertifiedError
        HG423: as many fits as were declared are in the ledger; nothing was spent.
    """
    most = whole(n_fits)
    if most is None or most < 1:
        raise ParameterError(
            "HG165", rule="`n_fits` is the number of fits to pay for, from 1.", finding=f"Found {n_fits!r}."
        )
    with Ledger.open(ledger) as kept:
        fits = {entry.request_id for entry in kept.entries() if entry.request_id.startswith(PREFIX)}
    if request_id is not None and PREFIX + request_id in fits:
        return PREFIX + request_id
    done = len(fits)
    if done >= most:
        raise UncertifiedError(
            "HG423",
            rule="In a ledger a model is fitted as often as was declared: each fit on the same records is paid for.",
            finding=f"{done} of {n_fits} declared fits are in it. Cross-validation and grid searches refit clones.",
            remedy="Choose parameters from public facts or on public data; or declare n_fits, each at its full price.",
        )
    return f"{PREFIX}{done + 1 if request_id is None else request_id}"
