"""Noise as it was released against the law that the certificate prices: 10⁵ numbers a mechanism, 3 % of scale shows.

Released noise takes no seed. A law is accepted at p > 1e-10, which is 6.6 standard errors, and the same numbers are
rejected below that as noise of a law 3 % wider. The mean of |z| has a relative error of .76/√n (Gaussian), .88/√n (the
mean of two Laplace draws) or 1/√n (Laplace). With 100,000, 140,000 and 180,000 numbers, more of a narrow law, 3 % is
12.5 or more of them, so either verdict is wrong less than once in 10⁸ runs. A source that draws 3 % too narrow is
rejected likewise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.signal import fftconvolve

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.bounded_totals import CellTotals
from hedgerow.mechanisms.histograms import HistogramRounds
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import AveragedLaplaceCounts, GaussianCounts, GeometricCounts, StableCategories
from hedgerow.mechanisms.noisy_moments import AveragedLaplaceMoments, MomentsGaussian, MomentsGeometric
from hedgerow.mechanisms.randomised_records import NOWHERE, randomised_records
from hedgerow.mechanisms.resampled_sums import ResampledGaussian, ResampledUnits
from hedgerow.mechanisms.sparse_vector import AnswerNoise, SparseVector, SparseVectorRuns, sparse_vector
from hedgerow.multicalibration import family_of
from hedgerow.multicalibration.calibrated_model import STEPS, Records
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.rounds import Rounds
from hedgerow.noise.lattice import LatticeNoise
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.tables.protected import ProtectedTable
from hedgerow.tables.table_options import choose_by_cell
from hedgerow.testset import TestSet

ACCEPT = REJECT = 1e-10
NARROW = 0.97

pytestmark = pytest.mark.entropy
# Lattice noise is compared in thousandths of its width: at a thousand steps or more its law is that of 1,000 steps.
FINE = 1000.0
REACH = {"gaussian": 9.0, "laplace": 45.0}  # in widths; less than 1e-18 lies beyond
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IntegerLaw:
    """P(Z = z), z = −m..m: a sum of `draws` integers, each ∝ exp(−z²/2w²) or ∝ exp(−|z|/w)."""

    chance: Floats

    @classmethod
    def of(cls, kind: str, width: float, draws: int = 1) -> IntegerLaw:
        most = math.ceil(REACH[kind] * width) + 1
        z = np.arange(-most, most + 1)
        one = np.exp(-(z**2) / (2.0 * width**2) if kind == "gaussian" else -np.abs(z) / width)
        one /= one.sum()
        chance = one
        for _ in range(draws - 1):
            chance = np.maximum(fftconvolve(chance, one), 0.0)
        return cls(chance / chance.sum())

    @property
    def size(self) -> tuple[float, float]:
        """Mean and standard deviation of |Z|."""
        half = len(self.chance) // 2
        z = np.arange(-half, half + 1)
        mean = float(self.chance @ np.abs(z))
        return mean, math.sqrt(float(self.chance @ z**2) - mean**2)

    @property
    def enough(self) -> float:
        """So many numbers that 3 % of scale is 12.5 standard errors of the mean of |z|."""
        mean, spread = self.size
        return (12.5 * spread / mean / (1.0 - NARROW)) ** 2

    def p_value(self, drawn: Floats) -> float:
        """Twice the least p of two tests: the mean of |z|, two-sided, and χ² over sixty classes."""
        half, n = len(self.chance) // 2, drawn.size
        z = np.arange(-half, half + 1)
        size, spread = self.size
        off = abs(float(np.abs(drawn).mean()) - size) / spread * math.sqrt(n)
        below = np.cumsum(self.chance)
        places = np.unique(np.searchsorted(below, np.linspace(0.0, 1.0, 61)[1:-1]))
        expected = np.diff(np.concatenate([[0.0], below[places], [1.0]])) * n
        observed = np.bincount(np.searchsorted(z[places] + 0.5, drawn.ravel()), minlength=len(expected))
        fits = stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1)
        return float(min(1.0, 2.0 * min(2.0 * stats.norm.sf(off), fits)))


def law_of(mechanism: AtomicMechanism, stretch: float = 1.0) -> IntegerLaw:
    """The law that a mechanism's description states, in its integers, or in thousandths of a lattice width."""
    fine = FINE * stretch
    match mechanism:
        case GeometricCounts(scale=scale):
            return IntegerLaw.of("laplace", scale * stretch)
        case AveragedLaplaceCounts(scale=scale, draws=draws):
            return IntegerLaw.of("laplace", scale * stretch, draws)
        case GaussianCounts(sd=sd):
            return IntegerLaw.of("gaussian", sd * stretch)
        case MomentsGeometric() | CellTotals(law="geometric"):
            return IntegerLaw.of("laplace", fine)
        case AveragedLaplaceMoments(draws=draws) | JointMoments(law="laplace", draws=draws):
            return IntegerLaw.of("laplace", fine, draws)
        case (
            MomentsGaussian()
            | JointMoments()
            | CellTotals()
            | ResampledGaussian()
            | ResampledUnits()
            | HistogramRounds()
        ):
            return IntegerLaw.of("gaussian", fine)
    raise TypeError(mechanism.type)


def in_widths(noise: Floats, one: LatticeNoise) -> Floats:
    return np.asarray(noise).ravel() / one.in_units * FINE


def p_values(noise: Floats, mechanism: AtomicMechanism) -> tuple[float, float]:
    """p under the law that is priced, and under one that is 3 % wider."""
    drawn = np.asarray(noise, dtype=np.float64)
    return law_of(mechanism).p_value(drawn), law_of(mechanism, 1.0 / NARROW).p_value(drawn)


def assert_drawn_as_priced(noise: Floats, mechanism: AtomicMechanism) -> None:
    assert np.size(noise) >= law_of(mechanism).enough, "too few numbers to tell laws 3 % apart in every run"
    true, wider = p_values(noise, mechanism)
    assert true > ACCEPT, true
    assert wider < REJECT, "noise 3 % narrower than its price must be seen"


ROWS = 3_000


def survey(relation: str = "replace-one", **options: Any) -> hg.Survey:
    """3,000 records of x = 3, all of them outside the categories that are asked for."""
    table = pa.table({"a": [-1] * ROWS, "b": [-1] * ROWS, "x": [3.0] * ROWS, "u": list(range(ROWS))})
    return hg.open(table, relation=relation, **options)


def by(*levels: int) -> dict[str, list[int]]:
    return {name: list(range(level)) for name, level in zip("ab", levels, strict=False)}


NOISES: dict[str, dict[str, Any]] = {
    "geometric": {"noise": "geometric", "delta": 0.0},
    "gaussian": {"noise": "gaussian"},
    "averaged-laplace": {"noise": "averaged-laplace", "n_draws": 2, "delta": 0.0},
}
LEVELS = {"geometric": (450, 400), "gaussian": (400, 250), "averaged-laplace": (400, 350)}  # a law asks for its number


@pytest.mark.parametrize("noise", NOISES)
def test_counts(noise: str) -> None:
    """A released table of 100,000 empty cells or more: its numbers are the noise."""
    table = survey().contingency_table(by=by(*LEVELS[noise]), epsilon=0.5, **NOISES[noise])
    assert_drawn_as_priced(table.values, table.certificate.mechanism)


@pytest.mark.parametrize("noise", NOISES)
def test_totals(noise: str) -> None:
    """A released table of 100,000 empty cells or more."""
    table = survey().magnitude_table("x", bounds=(0, 10), step=1, by=by(*LEVELS[noise]), epsilon=0.5, **NOISES[noise])
    assert_drawn_as_priced(numbers_of(table), table.certificate.mechanism)


@pytest.mark.parametrize("noise", NOISES)
def test_totals_of_public_cells(noise: str) -> None:
    """A released table of 100,000 empty cells or more whose number of records is public."""
    options = {"sensitivity": "public-membership", "missing": "error-if-declared-complete", **NOISES[noise]}
    table = survey().magnitude_table("x", bounds=(0, 10), step=1, by=by(*LEVELS[noise]), epsilon=0.5, **options)
    mechanism = table.certificate.mechanism
    assert_drawn_as_priced(in_widths(table.values / table.unit_value, mechanism.noise.total), mechanism)


def numbers_of(table: ProtectedTable) -> Floats:
    """Each number of the joint moments of a table, in widths of its noise, as the record holds them."""
    (drawn,) = table.noisy
    columns = np.reshape(drawn["values"], drawn["shape"]).T
    numbers = table.certificate.mechanism.numbers.listed()
    return np.concatenate([in_widths(part, one.noise) for part, one in zip(columns, numbers, strict=True)])


@pytest.mark.parametrize("options", [{"delta": 0.0}, {}, {"noise": "averaged-laplace", "n_draws": 2}], ids=str)
def test_moments(options: dict[str, Any]) -> None:
    """Each number of a mean's joint moments of 60,000 empty cells, as drawn for release."""
    opened = survey()
    plan = opened.plan([hg.mean("x", bounds=(0, 10), step=1)], by=by(200, 300), epsilon=0.5, **options)
    (table,) = draw_tables(plan, read_histograms(plan, opened.source), SecureNoise())
    numbers = plan.items[0].mechanism.numbers.listed()
    assert table is not None and len(numbers) == 3 and all(number.coarse == 0 for number in numbers)
    assert_drawn_as_priced(
        np.concatenate([in_widths(table.column(number.name), number.noise) for number in numbers]), plan.mechanism
    )


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
def test_totals_with_bounds_by_cell(noise: str) -> None:
    """A released table of 10,000 empty cells, half of them with bounds half as wide, and nine more draws of its plan.

    What is released are totals; the further draws show second moments too.
    """
    opened, asked = survey(), hg.sum("x", bounds=(0, 10), step=1)
    options: dict[str, Any] = {"by": by(100, 100), "epsilon": 0.5, "sensitivity": "per-cell", **NOISES[noise]}
    options["cell_bounds"] = {"a": {place: (0, 5 if place < 50 else 10) for place in range(100)}}
    table = opened.magnitude_table("x", bounds=(0, 10), step=1, **options)
    mechanism = table.certificate.mechanism
    cells = mechanism.cells()
    assert len(mechanism.kinds) == 2 and cells.square is not None
    plan = choose_by_cell(asked, Protection(opened.relation, "row", opened.target, ()), None, n=ROWS, **options).plan
    assert plan.mechanism == mechanism
    histograms = read_histograms(plan, opened.source)
    found = [table.values.ravel() / table.unit_value / cells.total]
    for _ in range(9):
        (drawn,) = draw_tables(plan, histograms, SecureNoise())
        found += [drawn.column("total") / cells.total, drawn.column("square") / cells.square]
    assert_drawn_as_priced(FINE * np.concatenate(found), mechanism)


@pytest.mark.parametrize("unit", ["row", {"column": "u", "max_rows": 2}], ids=str)
def test_replicates(unit: object) -> None:
    """Every sum of 1,000 replicates of 50 empty cells, as drawn for release: totals and counts."""
    opened = survey(unit=unit)
    asked = [hg.mean("x", bounds=(0, 10), step=1)]
    plan = opened.plan(asked, by=by(50), epsilon=0.5, estimator="bootstrap", n_resamples=1000)
    (table,) = draw_tables(plan, read_histograms(plan, opened.source), SecureNoise())
    mechanism = plan.items[0].mechanism
    assert table is not None and isinstance(mechanism, (ResampledGaussian, ResampledUnits))
    drawn = [in_widths(table.values[:, place], one.noise) for place, one in enumerate(mechanism.coordinates)]
    assert_drawn_as_priced(np.concatenate(drawn), mechanism)


@pytest.mark.parametrize("unit", ["row", {"column": "u", "max_rows": 2}], ids=str)
def test_released_bootstrap_sums_have_the_noise_of_their_replicates(unit: object) -> None:
    """2,000 released sums of empty cells; noise 20 % narrower than that would be rejected."""
    opened = survey(unit=unit)
    asked = [hg.sum("x", bounds=(-10, 10), step=1)]
    release = opened.release(asked, by=by(2000), epsilon=0.5, estimator="bootstrap", n_resamples=2)
    total = release.certificate.mechanism.coordinates[0]
    # About 0 a sum is h·T, T the mean of two replicates; h is the worth of one of its integers.
    worth = 10.0 * (1 if unit == "row" else 2) / total.reach
    noise = in_widths(np.array([one.estimate for one in release]) / worth * math.sqrt(2.0), total.noise)
    law = IntegerLaw.of("gaussian", FINE)
    assert law.p_value(noise) > ACCEPT
    assert law.p_value(0.8 * noise) < REJECT


def empty_records(family: Any) -> Records:
    nothing = np.zeros(0, dtype=np.int64)
    return Records.of(family, np.zeros((0, len(family.attributes)), dtype=np.int64), nothing.astype(float), nothing)


def test_rounds_of_a_calibration() -> None:
    """The released tables of two rounds over 2,601 groups and ten buckets, without records."""
    family = family_of({"a": range(50), "b": range(50)}, depth=2)
    setting = Setting(family, Relation.ADD_REMOVE, None)
    described = Rounds().describe(setting, Budget(0.5, 1e-6))
    assert isinstance(described, HistogramRounds)
    released = Rounds().run(setting, described, empty_records(family), SecureNoise()).released
    lattices = {"residual": described.residual, "count": described.count}
    worth = {"residual": STEPS, "count": 1}
    drawn = [in_widths(one.column(name) * worth[name], lattices[name]) for one in released for name in worth]
    assert_drawn_as_priced(np.concatenate(drawn), described)


def test_the_count_table_of_a_calibration() -> None:
    """The released table of 2,500 atoms, ten or more score bins and two labels, four times, without records."""
    family = family_of({"a": range(50), "b": range(50)})
    setting = Setting(family, Relation.ADD_REMOVE, None)
    described = CountTable().describe(setting, Budget(0.5, 0.0))
    assert isinstance(described, Composition)
    drawn = [CountTable().release(setting, described, empty_records(family), SecureNoise())[0].values for _ in range(4)]
    assert_drawn_as_priced(np.concatenate(drawn), described.parts[0])


def test_counts_of_categories_that_occur() -> None:
    mechanism, often = StableCategories.of_scale(2.0, 1e-6), 10_000  # far above the threshold: every count is shown
    shown = mechanism.select(np.full(200_000, often), SecureNoise())
    assert_drawn_as_priced((shown - often).astype(np.float64), GeometricCounts(mechanism.scale, 100_000))


def test_answers_of_a_sparse_vector() -> None:
    """200,000 answers, each after a yes."""
    described = sparse_vector(1.0, Relation.REPLACE_ONE, reach=1, positives=1, answers=AnswerNoise(((1,),), (1.0,)))
    runs = SparseVectorRuns(described, SecureNoise(), 200_000)
    assert runs.ask(10**9).all()
    answers = runs.answer(np.zeros((200_000, 1), dtype=np.int64))
    assert_drawn_as_priced(answers, GeometricCounts(described.answer_scales[0], 1))


def test_counts_under_bootstrap_dp() -> None:
    """A released table of 180,000 empty cells; its scale is told to nobody but the custodian."""
    table = survey().contingency_table(by=by(450, 400), epsilon=0.5, guarantee="bootstrap-dp")
    assert table.certificate.mechanism.epsilon == 0.5
    assert_drawn_as_priced(table.values, GeometricCounts(2.0 / 0.5, 1))


def test_random_bits_of_records() -> None:
    """10⁶ records in no cell and 10⁶ in one: q and ½ of their bits are set; a chance 3 % lower is rejected."""
    described, many = randomised_records(1.0, (2,), (1.0,)), 10**6
    cells = np.repeat([NOWHERE, 0], many)
    ones = described.count_ones(0, cells, SecureNoise())
    assert described.pure() == pytest.approx(1.0, abs=1e-6)
    q = 1.0 / (1.0 + math.e)
    for chance, accepted in ((1.0, True), (NARROW, False)):
        own, other = chance * (q + 0.5), 2 * chance * q
        spread = math.sqrt(many * (q * (1 - q) + 0.25)), math.sqrt(2 * many * q * (1 - q))
        found = 2 * stats.norm.sf(np.abs(ones - many * np.array([own, other])) / spread)
        assert ((found > ACCEPT) if accepted else (found < REJECT)).all(), found


def test_a_source_that_draws_too_narrow_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: every sampler draws at .97 of its scale; released counts and totals are rejected as what was priced."""
    gaussian, geometric = SecureNoise.discrete_gaussian, SecureNoise.two_sided_geometric
    monkeypatch.setattr(SecureNoise, "discrete_gaussian", lambda self, w, size: gaussian(self, NARROW * w, size))
    monkeypatch.setattr(SecureNoise, "two_sided_geometric", lambda self, w, size: geometric(self, NARROW * w, size))
    counts = survey().contingency_table(by=by(450, 400), epsilon=0.5, noise="geometric")
    assert p_values(counts.values, counts.certificate.mechanism)[0] < REJECT
    totals = survey().magnitude_table("x", bounds=(0, 10), step=1, by=by(400, 250), epsilon=0.5, noise="gaussian")
    assert p_values(numbers_of(totals), totals.certificate.mechanism)[0] < REJECT


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """The law and the scale of every draw that is asked of the source of released noise."""
    noted: list[tuple[str, float]] = []
    gaussian, geometric = SecureNoise.discrete_gaussian, SecureNoise.two_sided_geometric

    def noted_gaussian(self: SecureNoise, width: float, size: int) -> NDArray[np.int64]:
        noted.append(("gaussian", width))
        return gaussian(self, width, size)

    def noted_geometric(self: SecureNoise, scale: float, size: int) -> NDArray[np.int64]:
        noted.append(("geometric", scale))
        return geometric(self, scale, size)

    monkeypatch.setattr(SecureNoise, "discrete_gaussian", noted_gaussian)
    monkeypatch.setattr(SecureNoise, "two_sided_geometric", noted_geometric)
    return noted


REPLACED, ADDED = Relation.REPLACE_ONE, Relation.ADD_REMOVE
LOOKS = [(name, REPLACED) for name in ("gaussian", "laplace", "resample_gaussian", "thresholdout")]


@pytest.mark.parametrize(("name", "relation"), [*LOOKS, ("gaussian", ADDED), ("laplace", ADDED)])
def test_a_look_draws_the_scale_that_its_certificate_prices(
    name: str, relation: Relation, asked: list[tuple[str, float]]
) -> None:
    """A look gives one number, so its law is not seen: what it asks of the source, to the last digit, is."""
    labels = np.repeat([0, 1], 500)
    ts = TestSet(None, labels, relation=str(relation), epsilon=1.0, n_looks=1, mechanism=name, metric="accuracy")
    told = {"training_score": 0.999} if name == "thresholdout" else {}
    score = ts.score(1 - labels, **told)
    assert score.certificate is not None and score.paid
    described = score.certificate.mechanism
    match described:
        case GeometricCounts(scale=scale):
            wanted = [("geometric", scale)]
        case MomentsGaussian(noise=noise):
            wanted = [("gaussian", float(one.width)) for one in noise.coordinates().values()]
        case ResampledGaussian(coordinates=(one,)):
            wanted = [("gaussian", float(one.noise.width))]
        case SparseVector(threshold_scale=first, question_scale=each, answer_scales=(answer,)):
            wanted = [("geometric", scale) for scale in (first, each, answer)]
        case _:
            raise TypeError(described.type)
    assert asked == wanted
