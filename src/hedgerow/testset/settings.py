"""The public settings of a test set, fixed when it is first opened, and how its ledger is made or opened again.

A ledger is opened again only under the settings with which it was made: the terms, the number of records under
replace-one, declared labels and a name. Whether the records are the same is not compared. That answer would cost
nothing, and it would tell whoever knows all records but one what the last one says.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict

from hedgerow.errors import LedgerError
from hedgerow.facts.columns import DEFAULT_STEPS
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import Certificate, certify, mechanism_from_record
from hedgerow.mechanisms.mechanism import Composition, Mechanism, Single, as_record
from hedgerow.noise.secure import SecureNoise
from hedgerow.testset.adaptive.bounds import half_width
from hedgerow.testset.distinct import minimum_detectable_difference
from hedgerow.testset.looks import LedgerLooks, Secret, secret_path
from hedgerow.testset.mechanisms.choose import choose, mechanism_of
from hedgerow.testset.mechanisms.mechanism import Conditions, LookMechanism, Options
from hedgerow.testset.metric import Metric

_RECORDS = "a record's prediction and loss depend on no other record of the test set"
_PLACES = "which prediction belongs to which record does not change where another record comes or goes"
_PARTS = "labels keep their order and the ledger its secret, so that no record is read by two looks"
_KEYS = "which records the test set has, by their keys, is public"


class LookOptions(TypedDict, total=False):
    """Keywords of a test set of arrays or of files, apart from its records, ε and the number of looks."""

    relation: str | None
    delta: float
    mechanism: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is declared of one test set: all of it is public.

    Attributes
    ----------
    conditions : Conditions
    metric : Metric
    options : Options
        Of single mechanisms.
    labels : tuple
        The declared labels, empty if none are declared.
    name : str or None
        What the custodian calls it.
    keyed : bool
        Whether predictions are joined to records by a key.
    """

    conditions: Conditions
    metric: Metric
    options: Options = field(default_factory=Options)
    labels: tuple[Any, ...] = ()
    name: str | None = None
    keyed: bool = False

    def record(self) -> dict[str, Any]:
        """Return plain JSON data that tells these terms from others."""
        facts = self.conditions
        return {
            "metric": self.metric.record(),
            "relation": str(facts.relation),
            "epsilon": facts.budget.epsilon,
            "delta": facts.budget.delta,
            "n_looks": facts.n_looks,
            "n": facts.n,
            "options": asdict(self.options),
            **({"labels": list(self.labels)} if self.labels else {}),
            **({} if self.name is None else {"name": self.name}),
        }

    def settled(self, mechanism: LookMechanism) -> Settings:
        """Return the settings of these terms and a mechanism."""
        return Settings(mechanism=mechanism, **{name: getattr(self, name) for name in Terms.__slots__})

    def chosen(self, mechanism: str) -> tuple[Settings, Secret]:
        """Return the settings with the mechanism of a name, or of least expected error, and a fresh secret for it."""
        look = choose(mechanism, self.conditions, self.options)
        return self.settled(look), Secret.fresh(look.secret_noise(SecureNoise()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Terms):
    """The terms of one test set, and the mechanism that answers its looks."""

    mechanism: LookMechanism

    @property
    def minimum_detectable_difference(self) -> float | None:
        """Which difference of two expected scores is found distinguishable with probability .8; None without n."""
        error, name = self.mechanism.expected_error(), self.mechanism.name
        return None if error is None else minimum_detectable_difference(self.conditions, error, name)

    @property
    def last_half_width(self) -> float | None:
        """The half-width of the last look for a model fitted to all others, mid-range; None without n."""
        mechanism, low_high = self.mechanism, self.conditions.grid.as_bounds()
        n, information = mechanism.records_a_look, mechanism.information(self.conditions.n_looks - 1)
        if n is None:
            return None
        return min(1.0, half_width(information, n, mechanism.spread)) * (low_high[1] - low_high[0])

    def certificate(self, *, paid: bool = True, described: Single | None = None) -> Certificate:
        """Return the price of one look alone, of a plain one or as described; nothing where the first paid for all."""
        mechanism = described or (self.mechanism.described if paid else Composition(()))
        return _price(mechanism, self.conditions.relation, self.conditions.budget.delta, self.assumptions)

    def on_record(self, *, paid: bool = True) -> dict[str, Any]:
        """Return plain JSON data from which a look is read, plain or of two models, with what its certificate says."""
        facts, metric = self.conditions, self.metric
        written = metric.record()
        of_metric = {name: written[name] for name in ("name", "lower", "upper", "steps", "greater_is_better")}
        if metric.grid.steps == DEFAULT_STEPS:
            # A grid of so many steps may be declared, or not: losses are then rounded to it.
            of_metric["declared"] = metric.grid.declared
        # What the first look pays for all is on the certificate of that look alone.
        once = {"epsilon": facts.budget.epsilon} if self.mechanism.once else {}
        if self.mechanism.needs_training:
            # A paid answer does not depend on the threshold.
            once |= {"n_answers": self.options.n_answers} | ({} if paid else {"threshold": self.options.threshold})
        return {"n": facts.n, "keyed": self.keyed, "metric": of_metric, **once}

    def record(self) -> dict[str, Any]:
        """Return plain JSON data that tells these settings from others."""
        mechanism = {"mechanism": self.mechanism.name, "described": as_record(self.mechanism.described)}
        return {**Terms.record(self), **mechanism}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the price to hold."""
        apart = (_PARTS,) if self.mechanism.records_a_look != self.conditions.n else ()
        return (*assumptions_of(self.conditions.n, self.keyed), *apart, *self.mechanism.assumes)


def assumptions_of(n: int | None, keyed: bool) -> tuple[str, ...]:
    """Return what the price of a look assumes of the records and of how predictions were joined to them.

    >>> assumptions_of(100, False)
    ("a record's prediction and loss depend on no other record of the test set",)
    """
    if n is None:
        return (_RECORDS,) if keyed else (_RECORDS, _PLACES)
    return (_RECORDS, _KEYS) if keyed else (_RECORDS,)


def settings_from_record(record: Mapping[str, Any], terms: Terms) -> Settings:
    """Return the settings that a ledger remembers, with conditions and metric as they are now given."""
    options = Options(**record["options"])
    described: Any = mechanism_from_record(record["described"])
    mechanism = mechanism_of(record["mechanism"], terms.conditions, described, options)
    labels, name = tuple(record.get("labels") or ()), record.get("name")
    return replace(terms, options=options, labels=labels, name=name).settled(mechanism)


def opened_looks(path: Path, terms: Terms, mechanism: str) -> tuple[Settings, LedgerLooks]:
    """Return the settings and looks of the ledger at a path, which is made where nothing is.

    Raises
    ------
    LedgerError
        HG433: it was made under other settings, or under another name.
    """
    if not path.exists():
        settings, secret = terms.chosen(mechanism)
        try:
            return settings, LedgerLooks.create(path, settings.record(), secret)
        except LedgerError:
            # Two processes may begin at once: the second one opens what the first one makes.
            if not _was_just_made(path):
                raise
    looks = _opened(path)
    wanted = terms.record() | ({} if mechanism == "auto" else {"mechanism": mechanism})
    differing = [name for name, value in wanted.items() if looks.settings.get(name) != value]
    if differing:
        looks.close()
        raise LedgerError(
            "HG433",
            rule="A test set is opened again with the settings under which its ledger was made.",
            finding="Other than there: " + ", ".join(sorted(differing)) + ".",
            remedy="Give the same settings; other looks at other terms need another test set.",
        )
    return settings_from_record(looks.settings, terms), looks


def _opened(path: Path) -> LedgerLooks:
    try:
        return LedgerLooks.open(path)
    except LedgerError:
        if not _was_just_made(path):
            raise
    return LedgerLooks.open(path)


def _was_just_made(path: Path, *, patience: float = 3.0) -> bool:
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


@lru_cache(maxsize=64)
def _price(mechanism: Mechanism, relation: Relation, delta: float, assumptions: tuple[str, ...]) -> Certificate:
    """Return the certificate of a look; all looks of a test set have the same."""
    return certify(mechanism, relation, unit="row", delta=delta, assumptions=assumptions)
