"""Seeded noise for studies of coverage, width and power. NOT PRIVATE: marked, never certified, in no ledger.

The same plan, histogram and inference as a release; only the source of chance differs. A test ties the laws of the two
sources together.

>>> import numpy as np, pyarrow, hedgerow as hg
>>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
>>> study = release(survey, [hg.mean("age", bounds=(0, 100), step=1)], epsilon=1.0, rng=7)
>>> study.simulated, study.certificate
(True, None)

So has a test set:

>>> y = np.array([0, 1] * 500)
>>> ts = SimulatedTestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=3, mechanism="gaussian", rng=1)
>>> ts.score(y).simulated, ts.score(y).certificate
(True, None)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query, SumsQuery
from hedgerow.errors import ParameterError
from hedgerow.inference.estimates_of_cells import Estimates
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.noise.lattice import NoiseSource
from hedgerow.release.execute import Answer, draw_tables, read_estimates, read_histograms
from hedgerow.release.plan import Plan
from hedgerow.release.result import Release
from hedgerow.resampling.counted_values import GridSums, Histogram
from hedgerow.statistics.statistic import Statistic
from hedgerow.survey import Survey
from hedgerow.testset import TestSet

_WIDE = 1000.0


class SimulatedNoise:
    """Seeded noise of the same laws as the secure source; never certified.

    Above a width of 1000 the discrete Gaussian is a rounded continuous one: no test at any feasible size sees the
    difference. Below, its probabilities are tabulated.

    >>> SimulatedNoise(1).two_sided_geometric(1.0, 3).dtype
    dtype('int64')
    """

    secure: bool = False

    def __init__(self, rng: np.random.Generator | int | None = None) -> None:
        self._rng = np.random.default_rng(rng)

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        """Return `size` integers, P(Z = z) ∝ exp(−z²/2 width²)."""
        if width >= _WIDE:
            return np.rint(self._rng.normal(0.0, width, size)).astype(np.int64)
        reach = int(np.ceil(12 * width)) + 2
        z = np.arange(-reach, reach + 1)
        cumulative = np.cumsum(np.exp(-(z**2) / (2 * width**2)))
        drawn = np.searchsorted(cumulative, self._rng.random(size) * cumulative[-1], side="right")
        return np.asarray(z[drawn], dtype=np.int64)

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        """Return `size` integers, P(Z = z) ∝ exp(−|z|/scale): the difference of two geometric counts."""
        chance = -np.expm1(-1.0 / scale)
        return (self._rng.geometric(chance, size) - self._rng.geometric(chance, size)).astype(np.int64)

    def generator(self) -> np.random.Generator:
        """Return the seeded generator."""
        return self._rng


@dataclass(frozen=True, slots=True)
class Study:
    """A plan of a release, together with the exact histograms of the data.

    A study draws noise many times, and serves simulations only.
    """

    plan: Plan
    histograms: dict[Query | SumsQuery, Answer]
    source: str

    @classmethod
    def of(cls, survey: Survey, statistics: Statistic | Sequence[Statistic], **options: Any) -> Study:
        """Make a plan as `Survey.release` does, and read the exact histograms of the data.

        Parameters
        ----------
        survey : Survey
            The opened source.
        statistics : Statistic or sequence of Statistic
            The statistics to release.
        **options
            The options of `Survey.plan`, for example ``epsilon``, ``by`` and ``where``.

        Returns
        -------
        Study
            The plan, together with the exact histograms of the data. They are not private.

        Raises
        ------
        HedgerowError
            The errors of `Survey.plan`. HG201 to HG209: the data cannot be read.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> study = Study.of(survey, hg.mean("age", bounds=(0, 100), step=1), epsilon=1.0)
        >>> len({float(study.draw(SimulatedNoise(seed))[0]) for seed in range(50)}) > 10
        True
        """
        plan = survey.plan(statistics, **options)
        return cls(plan, read_histograms(plan, survey.source), survey.source.name)

    def draw(self, noise: SimulatedNoise) -> Release:
        """Return one simulated release, with new noise."""
        tables = draw_tables(self.plan, self.histograms, noise)
        return Release._of(self.plan, tables, None, source=self.source, backend=None)


def draw_estimates(plan: Plan, answers: Mapping[Any, Answer], noise: NoiseSource) -> Estimates:
    """Draw noise for every statistic of a plan, and read the tables."""
    return read_estimates(plan, draw_tables(plan, answers, noise))


def release(
    survey: Survey,
    statistics: Statistic | Sequence[Statistic],
    *,
    rng: np.random.Generator | int | None = None,
    **options: Any,
) -> Release:
    """Return a release as `Survey.release` does, but with seeded noise.

    The release is simulated: it is not private and has no certificate.

    Parameters
    ----------
    survey : Survey
        The opened source.
    statistics : Statistic or sequence of Statistic
        The statistics to release.
    rng : Generator or int, optional
        The random generator that draws the noise, or the seed of a generator. The same seed gives the same release.
    **options
        The options of `Survey.plan`, for example ``epsilon``, ``by`` and ``where``.

    Returns
    -------
    Release
        The simulated release, which is not private. The attribute ``simulated`` is true, and ``certificate`` is None.

    Raises
    ------
    HedgerowError
        The errors of `Survey.plan`. HG201 to HG209: the data cannot be read.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> age = hg.mean("age", bounds=(0, 100), step=1)
    >>> float(release(survey, age, epsilon=1.0, rng=7)[0]) == float(release(survey, age, epsilon=1.0, rng=7)[0])
    True
    """
    return Study.of(survey, statistics, **options).draw(SimulatedNoise(rng))


def grid_sums(query: SumsQuery, histogram: Histogram) -> GridSums:
    """Return what an engine answers a query of one value on records of which the histogram is known.

    >>> from hedgerow.engines.query import ValueOnGrid
    >>> from hedgerow.facts.columns import Grid
    >>> age = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))
    >>> counted = Histogram.from_triplets(np.array([0, 0]), np.array([30, -1]), np.array([5, 2]), cells=1)
    >>> found = grid_sums(SumsQuery((age,), (((0, 1),),), needed=frozenset({0})), counted)
    >>> found.sums[((0, 1),)].tolist(), found.missing.tolist()
    ([150], [2])
    """
    sums = {
        monomial: histogram.cell_sums(histogram.index ** sum(power for _, power in monomial)).astype(object)
        for monomial in {(), *query.monomials}
    }
    if not query.needed:
        sums[()] = sums[()] + histogram.missing  # a record without the value is counted, where it need not have it
    return GridSums(sums, histogram.missing, histogram.outside)


def sample(
    mechanism: Mechanism, data: Histogram, n: int, *, rng: np.random.Generator | int | None = None
) -> NDArray[np.float64]:
    """Return `n` independent outputs of a mechanism for the same data.

    Parameters
    ----------
    mechanism : Mechanism
        A mechanism for counts reads the number of records in each cell. A mechanism for moments reads the grid index of
        each record.
    data : Histogram
        The records as a histogram, with as many cells as the mechanism has.
    n : int
        The number of outputs.
    rng : Generator or int, optional
        The random generator that draws the noise, or the seed of a generator.

    Returns
    -------
    float array, (n, cells, features), for a resampled release (n, cells, features, replicates)

    Raises
    ------
    TypeError
        The mechanism is a composition of several mechanisms. Simulate its parts separately.

    Examples
    --------
    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> one = Histogram.from_triplets(np.array([0]), np.array([0]), np.array([5]), cells=1)
    >>> sample(GeometricCounts(1.0, 1), one, 3, rng=1).shape
    (3, 1, 1)
    """
    return mechanism.studied().outputs(data, n, SimulatedNoise(rng))


class SimulatedTestSet(TestSet):
    """A `TestSet` whose noise comes from a seed. Apart from its noise, the test set works like a `TestSet`."""

    __test__ = False

    def __init__(
        self,
        X_test: object,
        y_test: object,
        *,
        rng: np.random.Generator | int | None = None,
        ledger: str | Path | None = None,
        **options: Any,
    ) -> None:
        if ledger is not None:
            raise ParameterError(
                "HG172",
                rule="A simulated test set has no ledger, because seeded noise is not private.",
                finding="A ledger was given.",
                remedy="Leave it out.",
            )
        super().__init__(X_test, y_test, **options)
        self._noise = SimulatedNoise(rng)
