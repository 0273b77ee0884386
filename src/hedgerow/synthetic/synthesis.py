"""Files by re-release: each is drawn from a fit to a simulated release of the fitted law. Post-processing, at no price.

P̂ is fitted to the released margins. For each file, n records are drawn from P̂, noise of the released law is added to
their margins, and P̂_j is fitted to the result; the rows of file j are drawn from P̂_j. If intervals are about the file
itself, no records are drawn, and the margins of P̂ get the noise. So the files vary as the release does, and the rule of
`hedgerow.synthetic.pooling` has its variance. Further files are drawn from P̂ itself, to measure the bias of the fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import as_int, format_argument
from hedgerow.mechanisms.residual_margins import contrasts
from hedgerow.synthetic.joint_law import MOST_DENSE, Agree, JointLaw, expected_distance, fitted_law, residuals_of
from hedgerow.synthetic.sampled_cells import sampled_law

if TYPE_CHECKING:
    from hedgerow.margins.residuals import TableResiduals

MOST_ROWS = 50_000_000
_FARTHER = 2.0  # than the data are on average: then the sampled cells cannot hold a law of these tables


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRows:
    """The laws and the rows of synthetic files.

    Attributes
    ----------
    law : JointLaw
        P̂.
    refits : tuple of JointLaw
        P̂_j of each file.
    files, centre_files : tuple of int arrays, (rows, columns)
        The category of each row and column: of files by re-release, and of files from P̂ itself.
    """

    law: JointLaw
    refits: tuple[JointLaw, ...]
    files: tuple[NDArray[np.int16], ...]
    centre_files: tuple[NDArray[np.int16], ...]


def synthetic_rows(
    released: TableResiduals,
    agree: Agree,
    *,
    census: bool,
    n_files: object = 50,
    n_rows: object = None,
    rng: np.random.Generator | int | None = None,
) -> SyntheticRows:
    """Return the rows of `n_files` files by re-release, and of as many from the fitted law itself.

    Raises
    ------
    ParameterError
        HG251: `n_files` or `n_rows` is invalid, the release holds no record, or no law near the release was found.
    """
    total = float(released.table(()))
    if not total >= 1.0:
        raise _unfit("Synthetic files are drawn from a release of records.", "The released total is below 1.")
    files = _whole("n_files", n_files, 2)
    rows = round(total) if n_rows is None else _whole("n_rows", n_rows, 1)
    if files * rows > MOST_ROWS:
        finding = f"{files} files of {rows:,} rows are more."
        raise _unfit(f"All files together have at most {MOST_ROWS:,} rows.", finding)
    generator = np.random.default_rng(rng)
    dense = math.prod(released.workload.sizes) <= MOST_DENSE
    law = fitted_law(released, agree) if dense else sampled_law(released, agree, generator)
    if not dense and law.fit.distance > _FARTHER * expected_distance(released):
        finding = "No law near the released tables was found. Release fewer columns, or a lower order."
        raise _unfit("The law of synthetic files is as near to the released tables as data are.", finding)
    refits = tuple(
        fitted_law(re_released(law, released, census=census, rng=generator), agree, start=law) for _ in range(files)
    )
    return SyntheticRows(
        law,
        refits,
        tuple(drawn_rows(refit, rows, generator) for refit in refits),
        tuple(drawn_rows(law, rows, generator) for _ in range(files)),
    )


def re_released(law: JointLaw, released: TableResiduals, *, census: bool, rng: np.random.Generator) -> TableResiduals:
    """Return what a release of records of a law might have been: their residuals with noise of the same law.

    Parameters
    ----------
    law : JointLaw
    released : TableResiduals
        What was released of the data: its tables and the variances of its noise.
    census : bool
        Whether intervals are about the file, so that no records are drawn.
    rng : Generator
    """
    total = float(law.weights.sum())
    weights = law.weights if census else law.drawn(max(round(total), 1), rng).astype(np.float64)
    exact = residuals_of(law.cells, weights, released)
    values = {part: value + _noise(value.shape, released.variances[part], rng) for part, value in exact.values.items()}
    # What is known is known of every re-release.
    known = {part: released.values[part] for part in released.workload.known}
    return replace(exact, values={**values, **known}, variances=released.variances)


def _noise(shape: tuple[int, ...], variance: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return noise projected as that of a release; its lattice is far finer than its width."""
    drawn = rng.normal(0.0, math.sqrt(variance), shape)
    return np.asarray(contrasts(drawn) / drawn.size)


def drawn_rows(law: JointLaw, rows: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """Return independent rows of a law in random order."""
    places = np.repeat(np.arange(len(law.weights)), law.drawn(rows, rng))
    return np.asarray(law.cells.levels[rng.permutation(places)])


def _whole(name: str, given: object, least: int) -> int:
    number = as_int(given)
    if number is None or number < least:
        raise _unfit(f"`{name}` is a whole number from {least} on.", f"Found {format_argument(given)}.")
    return number


def _unfit(rule: str, finding: str) -> ParameterError:
    return ParameterError(
        "HG251",
        rule=rule,
        finding=finding,
        remedy="For example margins.synthesize(n_files=20, n_rows=10_000).",
        shell="For example hedgerow synthesize margins.json --files 20 --rows 10000 --out DIR.",
    )
