"""The two base classifiers: the paper's logistic regression, which has no intercept, and an ordinary one.

The paper's, as far as it is told: every column standardised, one-hot ones too, rate .1, 1,500 steps of gradient descent
from 0, 104 parameters. So all columns have mean 0, nothing can hold the base rate of a quarter, and the mean score is
.42: that is what multicalibration then repairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .adult import adult

__all__ = ["Baseline", "descended", "moved", "ordinary", "papers"]

RATE, STEPS = 0.1, 1500


@dataclass(frozen=True, eq=False)
class Baseline:
    """A fitted classifier by its scores on the training and the test rows.

    Attributes
    ----------
    slope : float
        Euclidean norm of the weights on standardised features: noise of sd σ in each moves the logit by sd σ·slope.
    """

    name: str
    slope: float
    train: NDArray[np.float64]
    test: NDArray[np.float64]


def descended(*, intercept: bool, one_hot: bool) -> Baseline:
    """Return the regression after 1,500 steps of gradient descent on the mean cross-entropy, from 0.

    Parameters
    ----------
    intercept : bool
        Whether there is one; the paper's has none.
    one_hot : bool
        Whether one-hot columns are standardised too; the paper's are.
    """
    from scipy import sparse

    data = adult()
    mean, sd = data.standardisation(one_hot=one_hot)
    train, label = sparse.csr_array(data.train.features), data.train.label
    turned = sparse.csr_array(train.T)
    weights, constant = np.zeros(len(sd)), 0.0
    for _ in range(STEPS):
        # (X − mean)/sd is not written out: most of X is 0.
        away = _logistic(train @ (weights / sd) - mean @ (weights / sd) + constant) - label
        weights -= RATE * (turned @ away - mean * away.sum()) / sd / len(label)
        constant -= RATE * away.mean() if intercept else 0.0
    scores = [_logistic((part.features - mean) @ (weights / sd) + constant) for part in (data.train, data.test)]
    name = (
        f"{'with' if intercept else 'without'} intercept, {'every column' if one_hot else 'numbers only'} standardised"
    )
    return Baseline(name, float(np.linalg.norm(weights)), *scores)


@lru_cache(maxsize=1)
def papers() -> Baseline:
    """Return the paper's baseline."""
    return descended(intercept=False, one_hot=True)


@lru_cache(maxsize=1)
def ordinary() -> Baseline:
    """Return scikit-learn's logistic regression, default settings but for the steps: it has an intercept."""
    from sklearn.linear_model import LogisticRegression

    data = adult()
    mean, sd = data.standardisation()
    train, test = ((part.features - mean) / sd for part in (data.train, data.test))
    fitted = LogisticRegression(max_iter=1000).fit(train, data.train.label)
    scores = [fitted.predict_proba(part)[:, 1] for part in (train, test)]
    return Baseline("with intercept, to the optimum", float(np.linalg.norm(fitted.coef_)), *scores)


def moved(scores: NDArray[np.float64], logit: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return scores whose logit is moved."""
    from scipy.special import expit
    from scipy.special import logit as logit_of

    # Some scores are 1 in double precision; there they stay.
    return np.asarray(expit(logit_of(scores) + logit))


def _logistic(logit: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))
