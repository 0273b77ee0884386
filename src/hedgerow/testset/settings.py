"""The public settings of a test set, fixed when it is first opened, and how its ledger is made or opened again.

A ledger is opened again only under the settings with which it was made: the terms, the number of records under
replace-one, declared labels and a name. Whether the records are the same is not compared. That answer would cost
nothing, and it would tell whoever knows all records but one what the last one says.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hedgerow.errors import LedgerError
from hedgerow.mechanisms.certificate import Certificate, certify, mechanism_from_record
from hedgerow.mechanisms.mechanism import Composition, ResampledGaussian, as_record
from hedgerow.noise.secure import SecureNoise
from hedgerow.noise.source import NoiseSource
from hedgerow.release.designs.design import END_PAIR
from hedgerow.testset.distinct import minimum_detectable_difference
from hedgerow.testset.looks import LedgerLooks, Secret, secret_path
from hedgerow.testset.mechanisms.choose import choose, mechanism_of
from hedgerow.testset.mechanisms.mechanism import Conditions, LookMechanism, Options
from hedgerow.testset.mechanisms.thresholdout import ThresholdoutLook
from hedgerow.testset.metric import Metric

_RECORDS = "a record's prediction and loss depend on no other record of the test set"
_PLACES = "which prediction belongs to which record does not change where another record comes or goes"
_KEYS = "which records the test set has, by their keys, is public"


@dataclass(frozen=True, slots=True)
class Settings:
    """Conditions, metric, mechanism and options of one test set; declared labels and a name, where there are any.

    `keyed` says that predictions are joined to records by a key.
    """

    conditions: Conditions
    metric: Metric
    mechanism: LookMechanism
    options: Options
    labels: tuple[Any, ...] = ()
    name: str | None = None
    keyed: bool = False

    @property
    def minimum_detectable_difference(self) -> float | None:
        """Which difference of two expected scores is found distinguishable with probability .8; None without n."""
        error, name = self.mechanism.expected_error(), self.mechanism.name
        return None if error is None else minimum_detectable_difference(self.conditions, error, name)

    def looks_left(self, used: int) -> int:
        """Return how many looks are left after `used`."""
        return max(0, self.conditions.n_looks - used)

    def certificate(self, *, paid: bool = True) -> Certificate:
        """Return the price of one look alone; nothing where the first look paid for all (`paid` False)."""
        mechanism = self.mechanism.described if paid else Composition(())
        return certify(
            mechanism,
            self.conditions.relation,
            unit="row",
            delta=self.conditions.budget.delta,
            assumptions=tuple(self._assumptions()),
        )

    def record(self) -> dict[str, Any]:
        """Return plain JSON data that tells these settings from others."""
        facts = self.conditions
        return {
            "metric": self.metric.record(),
            "relation": str(facts.relation),
            "epsilon": facts.budget.epsilon,
            "delta": facts.budget.delta,
            "n_looks": facts.n_looks,
            "n": facts.n,
            "mechanism": self.mechanism.name,
            "described": as_record(self.mechanism.described),
            "options": asdict(self.options),
            **({"labels": list(self.labels)} if self.labels else {}),
            **({"name": self.name} if self.name is not None else {}),
        }

    def _assumptions(self) -> Iterator[str]:
        yield _RECORDS
        if self.conditions.n is None and not self.keyed:
            yield _PLACES
        if self.conditions.n is not None and self.keyed:
            yield _KEYS
        if isinstance(self.mechanism.described, ResampledGaussian):
            yield END_PAIR


def settings_from_record(
    record: Mapping[str, Any], conditions: Conditions, metric: Metric, *, keyed: bool = False
) -> Settings:
    """Return the settings that a ledger remembers, with conditions and metric as they are now given."""
    options = Options(**record["options"])
    described: Any = mechanism_from_record(record["described"])
    mechanism = mechanism_of(record["mechanism"], conditions, described, options)
    labels, name = tuple(record.get("labels") or ()), record.get("name")
    return Settings(conditions, metric, mechanism, options, labels, name, keyed)


def other_settings(record: Mapping[str, Any], wanted: Mapping[str, Any]) -> LedgerError | None:
    """Return the refusal of settings that differ from those of the ledger; None where they agree.

    `wanted` names what is asked for now; what it leaves out is taken from the ledger.
    """
    differing = [name for name, value in wanted.items() if record.get(name) != value]
    if not differing:
        return None
    return LedgerError(
        "HG433",
        rule="A test set is opened again with the settings under which its ledger was made.",
        finding="Other than there: " + ", ".join(sorted(differing)) + ".",
        remedy="Give the same settings; other looks at other terms need another test set.",
    )


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
