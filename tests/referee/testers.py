"""Testers of other projects look at our public calls, where an environment variable names a folder with their source.

=========================  =====================================================================================
`HEDGEROW_DP_RECORDER`     the folder `src` of dp-recorder (arXiv 2602.17454): all vectors of the cases go through it
`HEDGEROW_DP_AUDITORIUM`   the folder `python/dp_auditorium` of google/differential-privacy: its histogram tester and
                           its Rényi tester (which needs TensorFlow) read the exact vectors plus released noise
=========================  =====================================================================================

A tester that is not there is skipped by name. Nothing of these projects is a part of hedgerow.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.referee.recorder import SLACK, Added, Recorder, both_recorded, pure, run
from tests.referee.walk import Line

from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.laws import Law
from hedgerow.noise.secure import SecureNoise

RECORDER, AUDITORIUM = "HEDGEROW_DP_RECORDER", "HEDGEROW_DP_AUDITORIUM"
BARE = {RECORDER: ("dp_recorder",), AUDITORIUM: ("dp_auditorium", "dp_auditorium.testers")}
FAILURE = 1e-4  # the chance that a tester rejects a true price
OUTPUTS, MOST_NUMBERS, BINS, ORDER, BOUND = 100_000, 6, 8, 2.0, 1.0
Say = Callable[[str], None]
Judged = Iterator[tuple[str, bool]]


def foreign(variable: str, *modules: str) -> tuple[Any, ...] | str:
    """Return modules of a tester, or the sentence that says why the tester is skipped."""
    folder = os.environ.get(variable)
    if not folder:
        return f"{variable} names no folder with its source"
    for package in BARE[variable]:
        # Such a package would import all of its project, with libraries that these files do without.
        bare = sys.modules.setdefault(package, ModuleType(package))
        bare.__path__ = [str(Path(folder, *package.split(".")))]
    try:
        return tuple(importlib.import_module(module) for module in modules)
    except ImportError as missing:
        return str(missing)


def look_of_others(lines: Sequence[Line], say: Say) -> int:
    """Run every tester of another project, say what it says, and return the number of findings."""
    findings = 0
    configs = "dp_auditorium.configs.privacy_property", "dp_auditorium.configs.property_tester_config"
    for name, look, modules in (
        ("dp-recorder", replayed, (RECORDER, "dp_recorder.auditing.audit_primitives")),
        ("histogram tester", histograms, (AUDITORIUM, *configs, "dp_auditorium.testers.histogram_tester")),
        ("Rényi tester", divergences, (AUDITORIUM, *configs, "dp_auditorium.testers.renyi_tester")),
    ):
        there = foreign(*modules)
        if isinstance(there, str):
            say(f"SKIPPED {name}: {there}")
            continue
        for line, rejected in look(lines, *there):
            findings += rejected
            say(f"{'FINDING ' if rejected else ''}{name}: {line}")
    return findings


class Handing(Recorder):
    """A recorder that hands each exact vector to dp-recorder, in widths of the noise, and repeats its answer."""

    hand: Callable[..., NDArray[Any]]

    def add(self, law: Law, width: float, exact: NDArray[Any], output: NDArray[Any]) -> NDArray[Any]:
        """Note the vector, and answer what dp-recorder answers."""
        answer = self.hand(exact.astype(np.float64) / width, law, f"{law.name} {width!r} {exact.shape}", output)
        return super().add(law, width, exact, answer)


def replayed(lines: Sequence[Line], primitives: Any) -> Judged:
    """Record each call on one data set and replay it on a neighbour; what moves in all is compared with the price."""
    for line in lines:
        if line.worst.compared and not line.worst.resampled:
            said, rejected = _replay(primitives, line)
            yield f"{line.case.name}, {line.relation}: {said}", rejected


def _replay(primitives: Any, line: Line) -> tuple[str, bool]:
    auditor, pending, prices = primitives.Auditor(), list[Any](), list[Any]()

    @primitives.audit_spec(kind="noise", input_arg="data", sensitivity_arg="", metric_fn=None)
    def primitive(data: Any, power: int, shape: str) -> Any:
        return pending[-1]

    def hand(data: Any, law: Law, shape: str, output: NDArray[Any]) -> NDArray[Any]:
        pending.append(output)
        answer: NDArray[Any] = primitive(data=data, power=law.power, shape=shape)
        return answer

    for place, data in enumerate(line.pair):
        recorder = Handing(1)
        recorder.hand = hand
        if place and not auditor.log:
            return "no vector met noise", False
        if place:
            auditor.set_replay()
        with auditor:
            ending = run(lambda data: line.case.call(data, line.relation), data, recorder)
            primitives.ensure_equality(ending=ending)
        prices = prices or [price for _, price in recorder.products]
    vectors = [entry for entry in auditor.log if entry.kind == "noise"]
    moved = {1: 0.0, 2: 0.0}
    for entry in vectors:
        power = entry.params["power"]
        moved[power] += float((np.abs(entry.inputs_d["data"] - entry.inputs_dp["data"]) ** power).sum())
    gaussian = math.sqrt(moved[2]) / math.hypot(*(price.mu for price in prices)) if moved[2] else 0.0
    laplace = moved[1] / sum(pure(price, line.relation) for price in prices) if moved[1] else 0.0
    share = max(gaussian, laplace)
    return f"{len(vectors)} vectors, moves {share:.4f} of the price", share > SLACK


@dataclass(frozen=True)
class Attacked:
    """What a public call adds its noise to on two neighbours, and one number of each of many outputs.

    The number is Σ d·x/w², d the movement of x and w the width of its noise: the likelihood ratio of Gaussian noise. It
    is centred between the neighbours, in quartiles of their outputs.
    """

    name: str
    price: Certificate
    relation: Relation
    outputs: tuple[NDArray[np.float64], NDArray[np.float64]]


def attacked(lines: Sequence[Line]) -> Iterator[Attacked]:
    """Yield the call that moves most of each product and mechanism, with the noise that is released."""
    largest: dict[tuple[str, str], Line] = {}
    for line in lines:
        for key in product(line.worst.products, line.kinds):
            if line.worst.compared and not line.worst.resampled and line.worst.moved > 0.0:
                largest[key] = max(largest.get(key, line), line, key=lambda other: other.worst.moved)
    for line in dict.fromkeys(largest.values()):
        # Each call is recorded again: a line holds no exact vectors.
        here, there, _ = both_recorded(_called(line), *line.pair, 1)
        pairs = [pair for pair in zip(here.added, there.added, strict=True) if pair[0].product == 0]
        drawn = _numbers(pairs)
        if drawn is not None:
            yield Attacked(f"{line.case.name}, {line.relation}", here.products[0][1], line.relation, drawn)


def _called(line: Line) -> Callable[[Any], object]:
    return lambda data: line.case.call(data, line.relation)


def _numbers(pairs: Sequence[tuple[Added, Added]]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    moving = []
    for here, there in pairs:
        moved = (here.exact - there.exact).astype(np.float64).ravel()
        moving += [(here.law, here.width, float(distance)) for distance in moved[moved != 0.0]]
    moving.sort(key=lambda number: -abs(number[2]) / number[1])
    if not moving:
        return None
    noise, sides = SecureNoise(), []
    for side in (0.5, -0.5):
        total = np.zeros(OUTPUTS)
        for law, width, distance in moving[:MOST_NUMBERS]:
            total += distance / width**2 * (side * distance + law.draw(noise, width, OUTPUTS))
        sides.append(total)
    spread = float(np.subtract(*np.quantile(np.concatenate(sides), [0.75, 0.25])))
    return sides[0] / spread, sides[1] / spread


def histograms(lines: Sequence[Line], properties: Any, configs: Any, tester: Any) -> Judged:
    """Let the histogram tester judge the certified (ε, δ), and say the largest part of ε that it rejects."""
    for call in attacked(lines):

        def rejects(part: float, call: Attacked = call) -> bool:
            claimed = properties.ApproximateDp(part * call.price.epsilon, call.price.delta)
            judge = tester.HistogramTester(configs.HistogramPropertyTesterConfig(False, BINS, -2.0, 2.0, claimed))
            return any(
                bool(judge.reject_property(judge.estimate_lower_bound(*outputs, FAILURE / 2)))
                for outputs in (call.outputs, call.outputs[::-1])
            )

        rejected = [part for part in (1.0, 0.5, 0.25, 0.1, 0.01) if rejects(part)]
        said = f"rejects {rejected[0]:g} of the certified ε" if rejected else "rejects no part of the certified ε"
        yield f"{call.name}: {said}", 1.0 in rejected


def divergences(lines: Sequence[Line], properties: Any, configs: Any, tester: Any) -> Judged:
    """Let the Rényi tester judge pure ε, or the divergence of Gaussian noise of the certified μ."""
    for call in attacked(lines):
        mu, certified = call.price.mu, pure(call.price, call.relation)
        if math.isfinite(certified):
            claimed = properties.PrivacyProperty(pure_dp=properties.PureDp(certified))
        elif mu is not None:
            certified = ORDER * mu**2 / 2.0
            claimed = properties.PrivacyProperty(renyi_dp=properties.RenyiDp(ORDER, certified))
        else:
            continue
        config = configs.RenyiPropertyTesterConfig(ORDER, configs.TrainingConfig(5, 500, 1e-3, BOUND), claimed)
        judge = tester.RenyiPropertyTester(config, tester.make_default_renyi_base_model())
        samples = [np.clip(numbers, -4.0, 4.0)[:, None].astype(np.float32) for numbers in call.outputs]
        lower = float(judge.estimate_lower_bound(*samples, FAILURE))
        yield f"{call.name}: a divergence of {lower:.4f} of {certified:.4f}", bool(judge.reject_property(lower))
