"""Ours: the library's mechanisms on the same scores, on both baselines: log loss and accuracy in the test, M and W.

Seeded stand-ins for the noise, 20 seeds, add-remove (replace-one for input perturbation, which has no other); race ×
sex, depth 2, k = 10; the base classifier counts as public. Means of the seeds beside targets; M and W
are taken over 18 groups.

Targets. The paper's baseline: none, as published (kept in [0, 1]) 36.25/.838; table at ε = 1: 34.3/.839, M .0025, W
.012; at ε = .1: 35.6; rounds (ε = 1, δ = 1e-6) 37.6; numeric sparse 37.5; input perturbation: better than nothing,
45.1. With an intercept: table at ε = 1 no more than 32.84, the baseline itself; the others may do harm, without
privacy up to 33.5, with it 34, and 40 for input perturbation, of which little is expected. Input perturbation's
45.1 and these others were set after a first run, the rest before any, but for the table's W: it was .0115 while a cell
was shifted at 2.5 sd, which harmed scores that were right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_mechanism import CalibrationMechanism, Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.declared_groups import family_of
from hedgerow.multicalibration.input_perturbation import InputPerturbation
from hedgerow.multicalibration.rounds import NumericSparse, Rounds
from hedgerow.testing.published import NoPrivacy
from hedgerow.testing.simulated import SimulatedNoise

from ..drawing import BLUE, INK, ORANGE, Drawing
from ..exhibit import Exhibit, Line, Verdict
from .adult import RACES, SEXES, Part, adult
from .baseline import Baseline, ordinary, papers
from .scores import Judged, judge

SEEDS, _ADD = 20, Relation.ADD_REMOVE


@dataclass(frozen=True, slots=True)
class Way:
    """A mechanism, its budget, and targets: the loss × 100 at most on either baseline, and more on the paper's.

    `more` is (accuracy at least, M at most, W at most); None is none.
    """

    make: Callable[[], CalibrationMechanism]
    epsilon: float
    delta: float
    relation: Relation
    loss: float
    loss_with_intercept: float
    more: tuple[float | None, float | None, float | None] = (None, None, None)


WAYS = {
    "none, as published": Way(lambda: NoPrivacy(0.0, 1.0), 1, 0, _ADD, 36.25, 33.5, (0.838, None, None)),
    "none, kept off 0 and 1": Way(NoPrivacy, 1, 0, _ADD, 36.25, 33.5, (0.838, None, None)),
    "table, ε = 1": Way(CountTable, 1, 0, _ADD, 34.3, 32.84, (0.839, 0.0025, 0.012)),
    "table, ε = 0.1": Way(CountTable, 0.1, 0, _ADD, 35.6, 34.0),
    "rounds, ε = 1, δ = 1e-6": Way(Rounds, 1, 1e-6, _ADD, 37.6, 34.0),
    "numeric sparse, ε = 1": Way(NumericSparse, 1, 0, _ADD, 37.5, 34.0),
    "input perturbation, ε = 1": Way(InputPerturbation, 1, 0, Relation.REPLACE_ONE, 45.1, 40.0),
}

# Which limits were set after a first run: (0 on the paper's baseline and 1 with an intercept, mechanism).
SET_AFTER = {(0, "input perturbation, ε = 1"), *((1, name) for name in WAYS if name != "table, ε = 1")}
W_SET_AFTER = (0, "table, ε = 1")


def runs(way: Way, base: Baseline, seeds: int) -> list[Judged]:
    """Return how the test scores are judged after each simulated fit."""
    data = adult()
    family = family_of({"race": list(RACES), "sex": list(SEXES)})
    public_n = len(data.train) if way.relation is Relation.REPLACE_ONE else None
    setting, mechanism = Setting(family, way.relation, public_n), way.make()
    described = mechanism.describe(setting, Budget(float(way.epsilon), float(way.delta)))
    records = Records.of(family, _classes(data.train), base.train, data.train.label)
    found = []
    for seed in range(seeds if described is not None else 1):
        fitted = mechanism.run(setting, described, records, SimulatedNoise(seed))
        found.append(judge(fitted.calibration.apply(family, _classes(data.test), base.test), data.test))
    return found


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of seeds."""
    seeds = max(2, int(SEEDS * share))
    found = {
        (place, name): runs(way, base, seeds)
        for place, base in enumerate((papers(), ordinary()))
        for name, way in WAYS.items()
    }
    lines = []
    for (place, name), judged in found.items():
        where = f"{name}; {'with an intercept' if place else 'the paper’s'}"
        lines.append(Line(where, limits(place, name), _told(judged), _met(judged, _target(place, name))))
    return Exhibit(
        "sound",
        f"Ours: the same table for sound mechanisms, {seeds} seeds",
        tuple(lines),
        "Loss × 100 / accuracy, then M and W, in the test. One noisy count table at ε = 1 is no worse than the "
        "algorithms without privacy, which end in scores of exactly 0 or 1 and chase chance in small cells: it keeps "
        "scores off both ends and moves a cell only beyond noise. With an intercept there is nothing to gain, and it "
        "does no harm. “As published” is the library's own reading of the algorithms, with all records as a further "
        "group. The figure aimed at, 36.25, is that of the algorithms as printed at the same k and α, on the given "
        "groups alone. With that group they make the same 64 updates as the library and come to 35.76; the rest is "
        "the log loss of wrong scores of exactly 0, half of which are up to 5e-7 above it in the library. With scores "
        "kept 1e-6 from 0 and 1 both have 34.66. "
        "Randomising every record at ε = 1 costs far more. All of it takes the base classifier as "
        "public.",
        _drawn(found).finished(),
        "Log loss by mechanism: on the paper's baseline every mechanism but input perturbation brings 45 down to 34 to "
        "36; with an intercept they stay at 33 to 34. "
        f"Input perturbation scatters, up to {_largest(found, 'input'):.0f}.",
        own=True,
    )


def _largest(found: dict[tuple[int, str], list[Judged]], way: str) -> float:
    return max(float(_figures(judged)[:, 0].max()) for (_, name), judged in found.items() if way in name)


def _classes(part: Part) -> np.ndarray:
    # As `Family.classes` would give them: the place of each declared value, race first.
    return np.column_stack([part.race, part.sex])


def _figures(judged: list[Judged]) -> np.ndarray:
    return np.array([(100 * one.loss, one.accuracy, one.worst, one.weighted) for one in judged])


def _told(judged: list[Judged]) -> str:
    loss, accuracy, worst, weighted = _figures(judged).mean(axis=0)
    spread = f" ± {_figures(judged)[:, 0].std(ddof=1):.2f}" if len(judged) > 1 else ""
    return f"{loss:.2f}{spread} / {accuracy:.4f}; {worst:.4f}, {weighted:.4f}"


def _target(place: int, name: str) -> tuple[float | None, ...]:
    way = WAYS[name]
    return (way.loss_with_intercept, None, None, None) if place else (way.loss, *way.more)


def limits(place: int, name: str) -> str:
    """Return the limits of a mechanism on a baseline in words, and which were set after a first run."""
    words = ("loss ≤ {:g}", "accuracy ≥ {:g}", "M ≤ {:g}", "W ≤ {:g}")
    target = _target(place, name)
    asked = [word.format(number) for word, number in zip(words, target, strict=True) if number is not None]
    which = {W_SET_AFTER: "W "} | dict.fromkeys(SET_AFTER, "")
    after = f", {which[place, name]}set after a first run" if (place, name) in which else ""
    return f"{', '.join(asked)} (ours{after})"


def _met(judged: list[Judged], target: tuple[float | None, ...]) -> Verdict:
    signs = (1, -1, 1, 1)
    means = _figures(judged).mean(axis=0)
    met = all(sign * mean <= sign * number for sign, mean, number in zip(signs, means, target, strict=True)
              if number is not None)  # fmt: skip
    return "as expected" if met else "not as expected"


def _drawn(found: dict[tuple[int, str], list[Judged]]) -> Drawing:
    drawing = Drawing.of("sound", height=3.4)
    (ax,) = drawing.panels
    test = adult().test
    for place, (base, colour, mark) in enumerate(((papers(), ORANGE, "o"), (ordinary(), BLUE, "s"))):
        name = "with an intercept" if place else "the paper's baseline"
        ax.axvline(100 * judge(base.test, test).loss, color=colour, lw=1, ls=":")
        for row, way in enumerate(WAYS):
            losses = _figures(found[place, way])[:, 0]
            ax.plot(losses, np.full(len(losses), row + 0.3 * place - 0.15), mark, color=colour, mfc="none",
                    label=name if row == 0 else None)  # fmt: skip
    ax.set_yticks(range(len(WAYS)), [way.replace(", ", ",\n", 1) for way in WAYS], color=INK, fontsize=8)
    ax.invert_yaxis()
    ax.set(xlabel="log loss × 100 in the test (dotted: baselines)")
    return drawing
