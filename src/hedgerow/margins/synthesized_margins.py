"""The synthetic files of margins: what they are fitted to, and for which margins there are none."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.keywords import takes
from hedgerow.margins.agreeing_fit import agreeing_fit
from hedgerow.release.designs.design import PublicFacts
from hedgerow.statistics.statistic import Statistic
from hedgerow.synthetic.fit_report import ReleasedMargins
from hedgerow.synthetic.synthesis import synthetic_rows
from hedgerow.synthetic.synthetic_files import SyntheticFiles


class MarginsOfStatistic(ReleasedMargins, Protocol):
    """Margins that know what is counted or added up."""

    @property
    def facts(self) -> PublicFacts:
        """What is public."""
        ...

    @property
    def statistic(self) -> Statistic:
        """Counts, or sums of a column."""
        ...


class Synthesizable:
    """Margins from which synthetic files can be drawn."""

    __slots__ = ()

    @takes()
    def synthesize(
        self: MarginsOfStatistic,
        n_files: int = 50,
        n_rows: int | None = None,
        *,
        rng: np.random.Generator | int | None = None,
    ) -> SyntheticFiles:
        """Return synthetic files that are computed from these margins alone, with valid pooled standard errors.

        They cost no budget.

        The distribution of the files is fitted to the noisy numbers. Each file is drawn from a fit to a simulated
        repetition of the release, so the files vary as the release does; `hedgerow.pool` computes standard errors from
        their differences. The files preserve interactions of up to `order` columns; other interactions are lost.

        Parameters
        ----------
        n_files : int
            The number of files, 2 or more. The same number of further files is drawn from the fitted distribution
            itself. With fewer files, pooled intervals are wider: with 20 files about 1.2 times as wide as with 50.
        n_rows : int, optional
            The number of rows of each file. By default, each file has the released number of records.
        rng : Generator or int, optional
            The random generator or its seed; a seed makes it possible to draw the same files again. The argument `rng`
            does not affect the privacy budget.

        Returns
        -------
        SyntheticFiles
            The synthetic files: ``.files`` and ``.centre_files`` are data frames, ``.pool(analysis)`` pools estimates,
            and ``.write(folder)`` writes the files.

        Raises
        ------
        ParameterError
            HG251: `n_files` or `n_rows` is invalid, or the margins are totals of a column rather than counts.

        Source
            Räisä, Jälkö, Kaski & Honkela, *Noise-Aware Statistical Inference with Differentially Private Synthetic
            Data*, AISTATS 2023, for the pooling rule; the page on the mathematics derives the simulated repetitions.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> people = pyarrow.table({"sex": [0, 1] * 500, "old": [0, 0, 1, 1] * 250})
        >>> survey = hg.open(people, relation="replace-one")
        >>> margins = survey.margins(by={"sex": [0, 1], "old": [0, 1]}, order=2, epsilon=5.0)
        >>> files = margins.synthesize(n_files=5, n_rows=800, rng=1)
        >>> len(files.files), len(files.centre_files), files.files[0].num_rows
        (5, 5, 800)
        """
        if not self.statistic.is_count:
            raise ParameterError(
                "HG251",
                rule="Synthetic files are drawn from counts of records.",
                finding=f"These margins are totals of {self.statistic.column}.",
                remedy="Release margins of counts, with bands of this column among their columns.",
            )
        rows = synthetic_rows(
            self.residuals, agreeing_fit, census=self.facts.census, n_files=n_files, n_rows=n_rows, rng=rng
        )
        seeds = np.random.default_rng(rng).integers(2**32, size=2 * len(rows.files))
        return SyntheticFiles(self, rows, tuple(map(int, seeds)))
