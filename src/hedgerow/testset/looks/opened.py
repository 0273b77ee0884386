"""Opening a test set's ledger, or making it: the settings must be those under which it was made.

Only what is public is compared: the terms, the number of records under replace-one, declared labels and a name. Whether
the records are the same is not looked at: an answer to that, given for nothing, would tell whoever knows all records
but one what the last one says.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hedgerow.errors import LedgerError
from hedgerow.noise.secure import SecureNoise
from hedgerow.noise.source import NoiseSource
from hedgerow.testset.looks.looks import LedgerLooks
from hedgerow.testset.looks.secret import Secret, secret_path
from hedgerow.testset.looks.settings import Settings, other_settings, settings_from_record
from hedgerow.testset.mechanisms.choose import choose
from hedgerow.testset.mechanisms.conditions import Conditions
from hedgerow.testset.mechanisms.mechanism import LookMechanism, Options
from hedgerow.testset.mechanisms.thresholdout import ThresholdoutLook
from hedgerow.testset.records.metric import Metric


def opened_looks(
    path: Path,
    conditions: Conditions,
    metric: Metric,
    mechanism: str,
    options: Options,
    labels: Sequence[Any] = (),
    name: str | None = None,
) -> tuple[Settings, LedgerLooks]:
    """Return the settings and looks of the ledger at a path, which is made where nothing is.

    Raises
    ------
    LedgerError
        HG433: it was made under other settings, or under another name.
    """
    if not path.exists():
        chosen = choose(mechanism, conditions, options)
        settings = Settings(conditions, metric, chosen, options, tuple(labels), name)
        secret = Secret.fresh(threshold_noise(chosen, SecureNoise()))
        try:
            return settings, LedgerLooks.create(path, settings.record(), secret, dataset="test set")
        except LedgerError:
            # Two processes may begin at once: the one that comes second opens what the first one makes.
            if not _appears(path):
                raise
    looks = _opened(path)
    facts = conditions
    wanted = {
        "metric": metric.record(),
        "relation": str(facts.relation),
        "epsilon": facts.budget.epsilon,
        "delta": facts.budget.delta,
        "n_looks": facts.n_looks,
        "n": facts.n,
        "options": asdict(options),
        **({} if mechanism == "auto" else {"mechanism": mechanism}),
        **({"labels": list(labels)} if labels else {}),
        **({} if name is None else {"name": name}),
    }
    refused = other_settings(looks.settings, wanted)
    if refused is not None:
        looks.close()
        raise refused
    return settings_from_record(looks.settings, conditions, metric), looks


def _opened(path: Path) -> LedgerLooks:
    try:
        return LedgerLooks.open(path)
    except LedgerError:
        if not _appears(path):
            raise
    return LedgerLooks.open(path)


def _appears(path: Path, *, patience: float = 3.0) -> bool:
    """Return whether another process has just begun this ledger and ends it in time; an old secret: no."""
    try:
        begun = secret_path(path).stat().st_mtime
    except OSError:
        return False
    if time.time() - begun > 10.0:
        return False
    until = time.monotonic() + patience
    while time.monotonic() < until:
        with suppress(LedgerError):
            LedgerLooks.open(path).close()
            return True
        time.sleep(0.05)
    return False


def threshold_noise(mechanism: LookMechanism, noise: NoiseSource) -> int | None:
    """Draw the noise on a threshold, once; None where there is none."""
    if not isinstance(mechanism, ThresholdoutLook):
        return None
    return int(noise.two_sided_geometric(mechanism.described.threshold_scale, 1)[0])
