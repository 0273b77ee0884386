"""The looks that were taken, counted in a ledger or in this object alone. Each is a `Spending`, paid as a release is.

The first entry of a test set's ledger, ``testset``, costs nothing and holds the settings. Every look is an entry of its
own, under the caller's id or a random one. An entry that was reserved and never recorded is a look that was used up.
Without a ledger, one object of one process counts: threads take turns, and copies, pickles and children of a fork are
refused, since each would count for itself.

A file beside the ledger, readable by its owner alone, holds what must stay as secret as the test set: the key of the
digests, and the noise on the threshold of `thresholdout`. Both are drawn once and never change, so an old copy put back
in its place changes nothing. The ledger itself holds only what is public.

The public settings of a test set, fixed when it is first opened, and how its ledger is made or opened again.

A ledger is opened again only under the settings with which it was made: the terms, the number of records under
replace-one, declared labels and a name. Whether the records are the same is not compared. That answer would cost
nothing, and it would tell whoever knows all records but one what the last one says.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, TypedDict

from hedgerow.errors import HedgerowError, LedgerError, ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import DEFAULT_STEPS
from hedgerow.facts.relation import Relation
from hedgerow.interrupts import held_back
from hedgerow.ledger.guarantee import Price
from hedgerow.ledger.ledger_entry import Mark, fingerprint_of, is_look, is_settings
from hedgerow.ledger.store import Ledger, Reserved
from hedgerow.mechanisms.certificate import Certificate, certify, mechanism_from_record
from hedgerow.mechanisms.interface import AtomicMechanism, Mechanism
from hedgerow.mechanisms.mechanism import Composition, as_record
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.spend import Answered, InOpenLedger, Reservation
from hedgerow.testset.adaptive_bounds import earlier_answers, half_width
from hedgerow.testset.looks_forecast import narrowest
from hedgerow.testset.mechanisms.choose import NARROWEST, choose, mechanism_of
from hedgerow.testset.mechanisms.look_mechanism import Conditions, LookMechanism, Options
from hedgerow.testset.metric import Metric
from hedgerow.testset.scores import Score, minimum_detectable_difference, score_from_record


def secret_path(ledger: Path) -> Path:
    """Return where the secret of a ledger lies.

    >>> secret_path(Path("ts.ledger")).name
    'ts.ledger.secret'
    """
    return ledger.with_name(ledger.name + ".secret")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """The key of the digests, and the noise on the threshold if there is one."""

    key: bytes
    threshold_noise: int | None = None

    @classmethod
    def fresh(cls, threshold_noise: int | None = None) -> Secret:
        """Draw a key of 32 bytes from the operating system."""
        return cls(secrets.token_bytes(32), threshold_noise)

    def write(self, path: Path) -> None:
        """Write a new file that the owner alone can read (HG433)."""
        text = json.dumps({"format": "hedgerow-testset-1", "key": self.key.hex(), "threshold": self.threshold_noise})
        failed = remedy = ""
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(path, flags, 0o600), "w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            failed = "One lies there already, without its ledger."
            remedy = "Put the ledger back; if it is gone for good, choose another path, or remove the secret it left."
        except OSError:
            failed, remedy = "It cannot be written.", "Give a path in a folder that exists and can be written."
        if failed:
            raise _unusable(failed, remedy)

    @classmethod
    def read(cls, path: Path) -> Secret:
        """Read it back (HG433)."""
        try:
            record = json.loads(path.read_text(encoding="ascii"))
            noise = record["threshold"]
            if record["format"] == "hedgerow-testset-1" and (noise is None or isinstance(noise, int)):
                return cls(bytes.fromhex(record["key"]), noise)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise _unusable(
            "It is missing, or is not what was written.",
            "Put it back beside the ledger, from where the test set is kept.",
        )

    def __repr__(self) -> str:
        return "<Secret>"


def _unusable(finding: str, remedy: str) -> LedgerError:
    return LedgerError(
        "HG433",
        rule="Beside the ledger of a test set there must be its secret, a file of the same name that ends in .secret.",
        finding=finding,
        remedy=remedy,
    )


FIRST = "testset"


@dataclass(frozen=True, slots=True)
class EarlierLooks:
    """The earlier looks: their ids in order, and the scores that were recorded under them."""

    ids: tuple[str, ...]
    scores: Mapping[str, Score]

    @property
    def used(self) -> int:
        """How many looks are used up."""
        return len(self.ids)

    @property
    def in_order(self) -> tuple[Score, ...]:
        """The scores that were recorded, in order."""
        return tuple(self.scores[name] for name in self.ids if name in self.scores)

    def answered(self, *, but: str = "") -> int:
        """Return how many looks the test set answered; a look without a record counts as answered."""
        return sum(name != but and (name not in self.scores or self.scores[name].paid) for name in self.ids)


class Looks(Protocol):
    """Where looks are counted and paid."""

    @property
    def secret(self) -> Secret:
        """The key and the threshold's noise."""

    @property
    def head(self) -> str | None:
        """The head of the ledger."""

    @property
    def spent(self) -> float | None:
        """What was spent of ε, as the ledger adds it up."""

    def turn(self) -> AbstractContextManager[None]:
        """Return the context in which one look is taken, from counting to recording."""

    def past(self) -> EarlierLooks:
        """Return what was looked at before."""

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> Reservation | Answered:
        """Make a look's price durable; see `hedgerow.release.spend.Spending`."""

    def close(self) -> None:
        """Close what is open."""


class LooksInMemory:
    """Looks that this object counts; the count is lost with the object."""

    head = spent = None

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._process, self._lock = os.getpid(), RLock()
        self._texts: dict[str, str | None] = {}
        self._requests: dict[str, str] = {}
        self._read: dict[str, Score] = {}

    @property
    def secret(self) -> Secret:
        """The key and the threshold's noise, of this process alone (HG179)."""
        self._require_home()
        return self._secret

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let one thread at a time count, draw and record (HG179 in the child of a fork)."""
        self._require_home()
        with self._lock:
            yield

    def _require_home(self) -> None:
        if os.getpid() != self._process:
            raise refuse_copy("This process is a child of the one that counts.")

    def past(self) -> EarlierLooks:
        """Return what was looked at before."""
        self._require_home()
        for name, text in self._texts.items():
            if text is not None and name not in self._read:
                self._read[name] = score_from_record(text)
        return EarlierLooks(tuple(self._texts), dict(self._read))

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> Reservation | Answered:
        """Use up a look, or answer from the record of the same request under the same id."""
        from hedgerow.ledger.ledger_entry import never_recorded, other_request

        name, asked = str(request_id), fingerprint_of(request)
        if name in self._texts:
            if self._requests[name] != asked:
                raise other_request()
            text = self._texts[name]
            if text is None:
                raise never_recorded()
            return Answered(text, "")
        self._texts[name], self._requests[name] = None, asked
        return _InMemory(self._texts, name)

    def close(self) -> None:
        """Do nothing: there is no file."""


@dataclass(frozen=True, slots=True)
class _InMemory:
    texts: dict[str, str | None]
    name: str

    def record(self, result: str) -> None:
        self.texts[self.name] = result


class LedgerLooks:
    """Looks in a ledger. It is kept open, so that each look composes one more entry instead of all entries again.

    Attributes
    ----------
    secret : Secret
    settings : mapping
        What the ledger begins with.
    resumes : bool
        Whether a look that was reserved and not recorded is taken to its end when the same request comes again. That is
        for a server: it holds the ledger's looks alone (`hedgerow.testset.server.service`) and sends no score before it
        is recorded. So a look without a record was answered to nobody, and what is drawn now is its first answer. Such
        looks are marked in the ledger, and no look that somebody else reserved is ever resumed.
    """

    def __init__(self, ledger: Ledger, secret: Secret, settings: Mapping[str, Any]) -> None:
        self.secret = secret
        self.settings = settings
        self.resumes = False
        self._ledger = ledger
        self._mark: Mark | None = None
        self._ids: dict[str, None] = {}  # in the order in which they were reserved
        self._read: dict[str, Score] = {}

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, Any], secret: Secret) -> LedgerLooks:
        """Make a ledger with the budget of the settings, and its secret; nothing is spent.

        Raises
        ------
        LedgerError
            HG302, HG433: something is there already, or the folder cannot be written.
        """
        relation = Relation(settings["relation"])
        budget = Budget(settings["epsilon"], settings["delta"])
        with held_back():
            secret.write(secret_path(path))
            try:
                ledger = Ledger.create(path, dataset="test set", budget=budget, relation=relation, unit="row")
            except HedgerowError:
                with suppress(OSError):
                    secret_path(path).unlink()
                raise
            nothing = certify(Composition(()), relation, unit="row", delta=0.0)
            InOpenLedger(ledger).reserve(nothing, {"testset": "settings", **settings}, FIRST)
            ledger.record(FIRST, "settings")
            return cls(ledger, secret, settings)

    @classmethod
    def open(cls, path: Path) -> LedgerLooks:
        """Open the ledger of a test set (HG301 to HG308 if it is not a ledger, HG433 if it is not of a test set)."""
        if not path.exists():
            raise LedgerError(
                "HG301",
                rule="A ledger must exist before it is used, because a mistyped path must not start a new budget.",
                finding="There is no file at this path.",
                remedy="Check the path, or make the test set with `hedgerow testset create`.",
            )
        ledger = Ledger.open(path)
        first = next((entry.fingerprint for entry in ledger.entries()), "")
        if not is_settings(first):
            ledger.close()
            raise LedgerError(
                "HG433",
                rule="The ledger of a test set begins with its settings.",
                finding="The ledger begins with other data than those of a test set, or has no entry.",
                remedy="Give another path. Every test set needs its own ledger.",
            )
        settings = json.loads(first)
        del settings["testset"]
        return cls(ledger, Secret.read(secret_path(path)), settings)

    def turn(self) -> AbstractContextManager[None]:
        """Return an empty context: the ledger itself locks out other threads and processes."""
        return nullcontext()

    def past(self) -> EarlierLooks:
        """Return what was looked at before, by whatever process."""
        entries, mark = self._ledger.news(self._mark)
        for entry in entries:
            # A look and its score never change, so those that were read stay read.
            if is_look(entry.fingerprint):
                self._ids.setdefault(entry.request_id)
                if entry.result is not None and entry.request_id not in self._read:
                    self._read[entry.request_id] = score_from_record(entry.result)
        # Last: another thread that asks meanwhile reads the same entries again, in the same order.
        self._mark = mark
        return EarlierLooks(tuple(self._ids), dict(self._read))

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> Reservation | Answered:
        """Reserve in the ledger, which is kept open; where it `resumes`, also go on with a look without a record."""
        marked = {**request, "served": True} if self.resumes else request
        try:
            return InOpenLedger(self._ledger).reserve(certificate, marked, request_id)
        except LedgerError as refused:
            # HG312 comes after the requests were compared: this very one was reserved, with the mark.
            if not self.resumes or refused.code != "HG312":
                raise
        return Reserved(self._ledger, str(request_id), self._ledger.head)

    @property
    def head(self) -> str:
        """The head of the ledger."""
        return str(self._ledger.head)

    @property
    def spent(self) -> float:
        """What was spent of ε."""
        return self._ledger.spent()

    def close(self) -> None:
        """Close the file. The next use of a closed ledger opens its file again."""
        self._ledger.close()


def refuse_copy(finding: str) -> ParameterError:
    """Return the refusal of a second counter for one test set (HG179)."""
    return ParameterError(
        "HG179",
        rule="Without a ledger, one object in one process counts the looks at a test set. Each copy of the test set "
        "would count its looks separately.",
        finding=finding,
        remedy="Give the test set a ledger, ledger='ts.ledger'. With a ledger the test set may be copied, pickled "
        "and forked. No look was taken.",
    )


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
class TestSetTerms:
    """What is declared of one test set: all of it is public.

    Attributes
    ----------
    conditions : Conditions
    metric : Metric
    options : Options
        Options that apply to single mechanisms only.
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
        return Settings(mechanism=mechanism, **{name: getattr(self, name) for name in TestSetTerms.__slots__})

    def chosen(self, mechanism: str) -> tuple[Settings, Secret]:
        """Return the settings with a mechanism, named or as `auto` or `narrowest` choose, and a fresh secret."""
        chooser = narrowest if mechanism == NARROWEST else partial(choose, mechanism)
        look = chooser(self.conditions, self.options)
        return self.settled(look), Secret.fresh(look.secret_noise(SecureNoise()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(TestSetTerms):
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
        n, before = mechanism.records_a_look, self.conditions.n_looks - 1
        if n is None:
            return None
        numbers = None if mechanism.numbers is None else before * mechanism.numbers
        earlier = earlier_answers(mechanism, before, numbers)
        return min(1.0, half_width(earlier, n, mechanism.spread)) * (low_high[1] - low_high[0])

    def certificate(self, *, paid: bool = True, described: AtomicMechanism | None = None) -> Certificate:
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
        return {**TestSetTerms.record(self), **mechanism}

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


def settings_from_record(record: Mapping[str, Any], terms: TestSetTerms) -> Settings:
    """Return the settings that a ledger remembers, with conditions and metric as they are now given."""
    options = Options(**record["options"])
    described: Any = mechanism_from_record(record["described"])
    mechanism = mechanism_of(record["mechanism"], terms.conditions, described, options)
    labels, name = tuple(record.get("labels") or ()), record.get("name")
    return replace(terms, options=options, labels=labels, name=name).settled(mechanism)


def opened_looks(path: Path, terms: TestSetTerms, mechanism: str) -> tuple[Settings, LedgerLooks]:
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
    wanted = terms.record() | ({} if mechanism in ("auto", NARROWEST) else {"mechanism": mechanism})
    differing = [name for name, value in wanted.items() if looks.settings.get(name) != value]
    if differing:
        looks.close()
        raise LedgerError(
            "HG433",
            rule="A test set can be opened only with the settings under which its ledger was made.",
            finding="Other than there: " + ", ".join(sorted(differing)) + ".",
            remedy="Give the same settings. For other settings, make another test set.",
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
