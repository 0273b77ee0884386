"""A smooth function of an additive table as a bootstrap sees it: integer features, and the tangent of the function."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import JointGrid, ValueOnGrid
from hedgerow.errors import ParameterError
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.linearised import linearise
from hedgerow.mechanisms.mechanism import Presence, Shape
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.resampled_statistic import RELIABLE_SDS, ReadCell, undefined
from hedgerow.resampling.smooth_statistic import COUNT, Feature, Smooth
from hedgerow.resampling.user_code import quietly, silence

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# A feature that is a function of columns is rounded to this many steps either side of its midpoint.
FEATURE_STEPS = 1 << 14


@dataclass(frozen=True, slots=True)
class ResampledSmooth:
    """A user's statistic: features and a count with one set of weights, or the histogram of one column."""

    statistic: Smooth

    presence: Presence = "private"
    midpoint: int = 0

    @property
    def value(self) -> ValueOnGrid | JointGrid:
        """The columns on their grids, jointly."""
        parts = tuple(ValueOnGrid(column, grid) for column, grid in self.statistic.grids)
        return parts[0] if len(parts) == 1 else JointGrid(parts)

    @property
    def shape(self) -> Shape:
        """At most one grid value, or a vector in a box."""
        if self.statistic.is_histogram:
            return "one-of"
        return "value-and-count" if len(self.statistic.features) == 1 else "vector"

    @property
    def names(self) -> tuple[str, ...]:
        """Features and the count; grid indices for a histogram."""
        if self.statistic.is_histogram:
            return tuple(str(place) for place in range(self.statistic.grids[0][1].steps + 1))
        return (*(feature.name for feature in self.statistic.features), COUNT)

    @property
    def reaches(self) -> tuple[int, ...]:
        """Largest integer of each coordinate."""
        if self.statistic.is_histogram:
            return (1,) * len(self.names)
        return (*(self._reach(feature) for feature in self.statistic.features), 1)

    @property
    def norm(self) -> float:
        """1 for a histogram, √(features + 1) for a vector in a box."""
        return 1.0 if self.statistic.is_histogram else math.sqrt(len(self.names))

    def replaced_norm(self, cells: int) -> float:
        """Two grid values change in a histogram; a vector may turn about."""
        return math.sqrt(2.0) if self.statistic.is_histogram else 2.0 * self.norm

    def rehearse(self) -> None:
        """Call the statistic on public totals, so that a slip in it costs nothing.

        Raises
        ------
        ParameterError
            HG112: it asks for a total that is not there, or is no function of totals.
        """
        totals = np.full(len(self.names), 10.0)
        totals[-1] = 1000.0
        try:
            with silence():
                self._function(totals)
        except (KeyError, NameError, AttributeError, TypeError) as slip:
            raise ParameterError(
                "HG112",
                rule='A statistic is a function of {feature: total, "count": number} that returns a number.',
                finding=f"Called on made-up totals, this one raised {type(slip).__name__}.",
                remedy="Its totals are: " + ", ".join(self.names[:20]) + ".",
            ) from None
        except (Exception, SystemExit):
            # A logarithm of zero, say, at totals that are only made up: the real ones may well have an answer.
            return

    def features(self, index: Integers) -> Integers:
        """Return the integer features of each histogram row."""
        if self.statistic.is_histogram:
            return np.asarray(index[:, None] == np.arange(len(self.names)), dtype=np.int64)
        value = self.value
        indices = [index] if isinstance(value, ValueOnGrid) else value.indices(index)
        columns = {
            column: np.asarray(float(grid.lower) + float(grid.step) * place, dtype=np.float64)
            for (column, grid), place in zip(self.statistic.grids, indices, strict=True)
        }
        exact = {c: 2 * place - grid.steps for (c, grid), place in zip(self.statistic.grids, indices, strict=True)}
        made = [self._rounded(feature, columns, exact, index) for feature in self.statistic.features]
        return np.stack([*made, np.ones(len(index), dtype=np.int64)], axis=1)

    def read(self, values: Floats, noise_sd: Floats, facts: PublicFacts) -> ReadCell:
        """Return g of the totals by its tangent; undefined where g is not finite or the count drowns in noise."""
        statistic, k = self.statistic, values.shape[1]
        count = values.sum(axis=0) if statistic.is_histogram else values[-1]
        entries = len(values) if statistic.is_histogram else 1
        spread = float(noise_sd[-1]) * math.sqrt(entries / k)
        tangent = linearise(self._function, values, noise_sd)
        if float(count.mean()) < max(RELIABLE_SDS * spread, 1.0) or not tangent.defined:
            return undefined(k, statistic.low, statistic.high)
        replicates = Replicates.of(tangent.replicates, noise_variance=tangent.noise_variance)
        value = min(max(tangent.value, statistic.low), statistic.high)
        return ReadCell(value, replicates, statistic.low, statistic.high, True, True)

    def _function(self, totals: Floats) -> float:
        """G in the columns' own units: c·N + (H/reach)·T for each feature."""
        named: dict[str, float] = dict(zip(self.names, totals.tolist(), strict=True))
        if not self.statistic.is_histogram:
            for feature in self.statistic.features:
                unit = feature.half_range / self._reach(feature)
                named[feature.name] = feature.centre * named[COUNT] + unit * named[feature.name]
        return float(self.statistic.function(named))

    def _reach(self, feature: Feature) -> int:
        return FEATURE_STEPS if feature.function is not None else dict(self.statistic.grids)[feature.name].steps

    def _rounded(
        self, feature: Feature, columns: Mapping[str, Floats], exact: Mapping[str, Integers], index: Integers
    ) -> Integers:
        """Return a feature of each histogram row in whole steps, each from its own record's values alone.

        A function that looked across records (a centred column, a rank) would let one record move all others, beyond
        what was priced. So a function of one column is evaluated on the public grid, and one of several columns on one
        record's values at a time; what fails or is no number counts as the midpoint of the declared bounds.
        """
        if feature.function is None:
            return exact[feature.name]
        if len(self.statistic.grids) == 1:
            return self._on_public_grid(feature)[index]
        names = list(columns)
        rows = np.stack([columns[name] for name in names], axis=1) if len(index) else np.empty((0, len(names)))
        with silence():
            values = [_alone(feature, {n: row[i : i + 1].copy() for i, n in enumerate(names)}) for row in rows]
        return _in_steps(feature, np.array(values, dtype=np.float64))

    def _on_public_grid(self, feature: Feature) -> Integers:
        ((column, grid),) = self.statistic.grids
        places = np.arange(grid.steps + 1)
        values = np.asarray(float(grid.lower) + float(grid.step) * places, dtype=np.float64)
        made = _quietly(feature, {column: values.copy()})
        if made is None or made.shape != values.shape:
            with silence():
                made = np.array([_alone(feature, {column: values[i : i + 1].copy()}) for i in places])
        return _in_steps(feature, made)


def _in_steps(feature: Feature, made: Floats) -> Integers:
    with np.errstate(all="ignore"):
        centred = (np.nan_to_num(made, nan=feature.centre) - feature.centre) / feature.half_range
    return np.rint(np.clip(centred, -1.0, 1.0) * FEATURE_STEPS).astype(np.int64)


def _alone(feature: Feature, values: dict[str, Floats]) -> float:
    """Return the feature of one record; the midpoint of its bounds where it fails."""
    made = _quietly(feature, values)
    return float(made.ravel()[0]) if made is not None and made.size == 1 else feature.centre


def _quietly(feature: Feature, values: dict[str, Floats]) -> Floats | None:
    """Call a user's function on values it may not share, silently: a warning or an error would tell of the data."""
    function = feature.function
    return None if function is None else quietly(lambda: np.asarray(function(values), dtype=np.float64))
