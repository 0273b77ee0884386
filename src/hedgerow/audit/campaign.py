"""The campaign: every specimen is attacked, every law tested, neighbours are replayed, and every mutant is tried.

False alarms. A correct library fails a campaign with probability at most `FALSE_ALARM` = 1e-4, however much is tested:
the n statistical tests (audits of specimens, tests of laws) share it, so each rejects a true claim with probability at
most α = 1e-4/n, and the union bound does the rest. `Campaign.false_alarm` is α times the tests that were made. Replays,
lattice checks and enumeration compare exact things and raise no false alarm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from hedgerow.audit.faults import FaultResult, mutants
from hedgerow.audit.law import Law, LawTest, equal_laws, has_law, has_poisson_law, off_lattice
from hedgerow.audit.replay import ReplayResult, replay
from hedgerow.audit.verdict import Verdict, audit_mechanism, checked_runs
from hedgerow.mechanisms.interface import Specimen
from hedgerow.mechanisms.mechanism import specimens
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.testing.simulated import SimulatedNoise

FALSE_ALARM = 1e-4
LAW_DRAWS = 100_000
RELEASED_RUNS = 20_000  # the exact samplers take some 7 µs a draw
T = TypeVar("T")
_LAWS: tuple[tuple[Law, float], ...] = (
    ("gaussian", 2.0**20),
    ("gaussian", 4.2),
    ("gaussian", 0.7),
    ("geometric", 2.0**20),
    ("geometric", 6.5),
    ("geometric", 1.0),
)
Progress = Callable[[str, float], None]
"""Called with the current step, and how much of the campaign is done, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Audited:
    """A specimen with its verdict."""

    specimen: Specimen
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Campaign:
    """What a whole run found.

    Attributes
    ----------
    audits, released : tuple of Audited
        By simulated noise at full size, and by the noise that is released at a smaller one.
    laws : tuple of LawTest
        Of both sources, and of one against the other.
    off_lattice : int
        How many released numbers are not a multiple of their public step.
    replay : ReplayResult or None
        Neighbours compared from inside.
    caught : tuple of FaultResult
        The mutants.
    false_alarm : float
        Upper bound on the probability that a correct library fails this campaign.
    left_out : tuple of text
        The steps that the time limit left out; an incomplete campaign does not pass.
    seconds : float
    """

    audits: tuple[Audited, ...]
    released: tuple[Audited, ...]
    laws: tuple[LawTest, ...]
    off_lattice: int
    replay: ReplayResult | None
    caught: tuple[FaultResult, ...]
    false_alarm: float
    left_out: tuple[str, ...]
    seconds: float

    @property
    def passes(self) -> bool:
        """Whether no bound crosses its certificate, every law holds, nothing diverges and every mutant is rejected."""
        return (
            not self.left_out
            and all(audited.verdict.passes for audited in (*self.audits, *self.released))
            and all(test.accepted for test in self.laws)
            and self.off_lattice == 0
            and self.replay is not None
            and self.replay.passes
            and all(fault.rejection.rejected for fault in self.caught)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "passes": self.passes,
            "false_alarm": self.false_alarm,
            "audits": [_record(audited) for audited in self.audits],
            "released": [_record(audited) for audited in self.released],
            "laws": [{"name": test.name, "draws": test.draws, "accepted": test.accepted} for test in self.laws],
            "off_lattice": self.off_lattice,
            "replay": None if self.replay is None else _replayed(self.replay),
            "mutants": [fault.to_dict() for fault in self.caught],
            "left_out": list(self.left_out),
            "seconds": round(self.seconds, 1),
        }


def run_campaign(
    *,
    runs: int = 100_000,
    replays: int = 4,
    seed: int = 20261120,
    seconds: float = 900.0,
    progress: Progress | None = None,
) -> Campaign:
    """Attack everything; a correct library passes with probability at least 1 − `Campaign.false_alarm`.

    Parameters
    ----------
    runs : int
        Outputs on each neighbour of each specimen, drawn as simulated noise in chunks of at most a million.
    replays : int
        Pairs of neighbours replayed through every public function; 500 in a full campaign.
    seed : int
        Of simulated noise, the data and the mutants. The released noise takes none.
    seconds : float
        Nothing new is begun after this time.
    progress : callable, optional

    Raises
    ------
    ParameterError
        HG521: `runs` out of range.
    """
    runs = checked_runs(runs)
    clock = _Clock(seconds, progress or (lambda what, done: None))
    alpha, few = alpha_of_each(), max(1_000, min(runs // 20, RELEASED_RUNS))
    audits = tuple(clock.each(_audits(specimens(), runs, SimulatedNoise(seed), alpha), 0.0, 0.6))
    released = tuple(clock.each(_audits(_released(), few, SecureNoise(), alpha), 0.6, 0.7))
    laws = tuple(clock.each(_law_tests(seed, alpha), 0.7, 0.8))
    replayed = _replayed_within(clock, replays, seed)
    caught = run_mutants(seed) if clock.begin("mutants", 0.95) else ()
    tests = len(audits) + len(released) + len(laws)
    clock.begin("done", 1.0)
    return Campaign(
        audits,
        released,
        laws,
        sum(_off_lattice(audited.specimen) for audited in released),
        replayed,
        caught,
        tests * alpha,
        tuple(clock.left_out),
        clock.elapsed(),
    )


def alpha_of_each() -> float:
    """Return the chance of a false alarm of one test of a campaign: an equal share of `FALSE_ALARM`.

    >>> alpha_of_each() < 1e-5
    True
    """
    return FALSE_ALARM / (len(specimens()) + len(_released()) + len(_law_tests(0, FALSE_ALARM)))


def run_mutants(seed: int) -> tuple[FaultResult, ...]:
    """Try every mutant on its layer; some seconds in all."""
    return tuple(FaultResult(mutant, mutant.run(seed)) for mutant in mutants())


def _replayed_within(clock: _Clock, pairs: int, seed: int) -> ReplayResult | None:
    """Replay as many pairs as there is time for; those that are left out are named."""
    what = "replay of neighbours"
    if not clock.begin(what, 0.8):
        return None
    return replay(pairs, seed=seed, csv_every=99, go_on=lambda done: clock.begin(what, 0.8 + 0.15 * done / pairs))


class _Clock:
    """Begins steps while there is time, and lists those it did not begin."""

    def __init__(self, seconds: float, progress: Progress) -> None:
        self._start, self._seconds, self._progress = time.monotonic(), seconds, progress
        self.left_out: list[str] = []

    def elapsed(self) -> float:
        return time.monotonic() - self._start

    def begin(self, what: str, done: float) -> bool:
        if self.elapsed() > self._seconds and done < 1.0:
            self.left_out.append(what)
            return False
        self._progress(what, done)
        return True

    def each(self, steps: Sequence[tuple[str, Callable[[], T]]], start: float, end: float) -> Iterator[T]:
        for place, (what, run) in enumerate(steps):
            if self.begin(what, start + (end - start) * place / len(steps)):
                yield run()


def _released() -> list[Specimen]:
    return [specimen for specimen in specimens() if specimen.released]


def _audits(
    chosen: Sequence[Specimen], runs: int, noise: NoiseSource, alpha: float
) -> list[tuple[str, Callable[[], Audited]]]:
    def audit(specimen: Specimen) -> Audited:
        verdict = audit_mechanism(
            specimen.mechanism,
            specimen.relation,
            delta=specimen.delta,
            runs=runs,
            confidence=1.0 - alpha,
            noise=noise,
        )
        return Audited(specimen, verdict)

    source = "released" if noise.secure else "stand-in"
    return [(f"{specimen.name}, {specimen.relation}, {source}", partial(audit, specimen)) for specimen in chosen]


def _off_lattice(specimen: Specimen) -> int:
    data = specimen.mechanism.worst_pairs(specimen.relation)[0].histograms()[0]
    return off_lattice(specimen.mechanism.outputs(data, 1000, SecureNoise()), specimen.mechanism)


def _law_tests(seed: int, alpha: float) -> list[tuple[str, Callable[[], LawTest]]]:
    """Return tests of each source against the law that was priced, and of one source against the other."""
    sources: dict[str, NoiseSource] = {"released": SecureNoise(), "stand-in": SimulatedNoise(seed)}
    drawn: dict[tuple[str, Law, float], Any] = {}

    def against_law(name: str, law: Law, width: float) -> LawTest:
        source = sources[name]
        draw = source.discrete_gaussian if law == "gaussian" else source.two_sided_geometric
        drawn[name, law, width] = draw(width, LAW_DRAWS)
        return has_law(drawn[name, law, width], law, width, alpha=alpha, name=f"{name}, {law} {width:g}")

    def against_each_other(law: Law, width: float) -> LawTest:
        first, second = (drawn[name, law, width] for name in sources)
        return equal_laws(first, second, law, width, alpha=alpha, name=f"released = stand-in, {law} {width:g}")

    def weights(name: str, rate: float) -> LawTest:
        counted = sources[name].generator().poisson(rate, LAW_DRAWS)
        return has_poisson_law(counted, rate, alpha=alpha, name=f"{name}, Poisson weights {rate:g}")

    # In this order: what is compared with the other source was drawn for the first test.
    steps: list[tuple[str, Callable[[], LawTest]]] = []
    for law, width in _LAWS:
        steps += [(f"law of {name} noise", partial(against_law, name, law, width)) for name in sources]
        steps.append(("released against stand-in", partial(against_each_other, law, width)))
    steps += [(f"law of {name} weights", partial(weights, name, rate)) for name in sources for rate in (1.0, 0.3)]
    return steps


def _record(audited: Audited) -> dict[str, Any]:
    return {"name": audited.specimen.name, **audited.verdict.to_dict()}


def _replayed(replayed: ReplayResult) -> dict[str, Any]:
    return {
        "pairs": replayed.pairs,
        "functions": replayed.functions,
        "replays": replayed.replays,
        "divergences": list(replayed.divergences[:20]),
        "largest_excess": replayed.largest_excess,
        "passes": replayed.passes,
    }
