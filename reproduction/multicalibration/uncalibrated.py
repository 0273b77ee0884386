"""Figure 2, first row: the base classifier, and why it is what it is.

Expected (our own, of the classifier described in `baseline`): 44.7/.807 in training, 45.1/.800 in the test. The printed
test accuracy of .812 is not reached by any reading tried (other splits, starting points, standardisation over all rows,
rows with "?" kept: .796 to .804); the paper's own split is not told.
"""

from __future__ import annotations

import numpy as np

from ..drawing import BLUE, INK, ORANGE, Drawing
from ..exhibit import Exhibit
from .adult import adult
from .baseline import Baseline, ordinary, papers
from .figure_2 import Row, both, compared

STATED = Row(44.7, 0.807, 45.1, 0.800)
_BINS = 20


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; nothing is random, so `share` has no effect."""
    lines = compared("uncalibrated", [both(papers())], STATED)
    data = adult()
    drawing = Drawing.of("uncalibrated", height=3.0)
    (ax,) = drawing.panels
    ax.plot([0, 1], [0, 1], color=INK, lw=1, ls=":")
    for base, colour, mark, name in ((papers(), ORANGE, "o", "the paper's"), (ordinary(), BLUE, "s", "with intercept")):
        mean, share_positive = _reliability(base, data.test.label)
        ax.plot(mean, share_positive, marker=mark, color=colour, label=name)
    ax.set(xlabel="score", ylabel="share over 50K", xlim=(0, 1), ylim=(0, 1))
    return Exhibit(
        "uncalibrated",
        "Figure 2: the base classifier",
        tuple(lines),
        "Losses and training accuracy come out of a regression without intercept on columns that are all standardised, "
        "one-hot ones too (104 parameters are 98 + 6 and no intercept). Nothing can then hold the base rate: the mean "
        f"score is {papers().train.mean():.2f} and the share over 50K {data.train.label.mean():.2f}. The test accuracy "
        "of .812 is not reached by any reading tried; the paper's split is not told.",
        drawing.finished(),
        "Share over 50K against score in the test: the paper's classifier lies far below the diagonal at every score, "
        "one with an intercept on it.",
    )


def _reliability(base: Baseline, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    place = np.minimum((base.test * _BINS).astype(int), _BINS - 1)
    count = np.bincount(place, minlength=_BINS)
    mean, positive = (np.bincount(place, weights=w, minlength=_BINS) / count for w in (base.test, label))
    return mean, positive
