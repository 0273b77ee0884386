"""How near a noisy table is to the true one, all cells together: γ-accuracy, and what a smaller sensitivity gains.

With k numbers, each plus independent noise of one law, the half-width h at γ is such that

    P(all k errors are at most h) ≥ 1 − γ.

For Laplace noise of scale b = Δ/ε it is h = ln(k/γ)·b, and O'Keefe & Charest call 1/h the γ-accuracy (their eq. 3).
Their Theorem 4 prints "≥ γ"; the theorem that they quote (Dwork & Roth, 2014, 3.8) and the truth is ≥ 1 − γ. As printed
it says too little for a small γ and is false for a large one: the probability itself is (1 − γ/k)^k.

Noise that a release draws is on a grid, where h = ln(k/γ)·b can fall a little short; `hedgerow.mechanisms.laws` has the
exact half-widths.
"""

from __future__ import annotations

import math

from hedgerow.mechanisms.laws import require_accuracy


def laplace_half_width(sensitivity: float, epsilon: float, *, cells: int = 1, gamma: float = 0.05) -> float:
    """Return h = ln(k/γ)·Δ/ε: with probability at least 1 − γ all k numbers plus Laplace noise are this near.

    Parameters
    ----------
    sensitivity, epsilon : float
        Δ and ε; the noise has scale Δ/ε.
    cells : int
        k.
    gamma : float
        γ, below 1.

    Raises
    ------
    ParameterError
        HG157: a number that is not positive, or a γ that is no probability below 1.

    Notes
    -----
    Union bound over P(|Y| > h) = e^(−h/b) = γ/k. Dwork & Roth (2014), Theorem 3.8; O'Keefe & Charest, Theorem 4, with
    its probability put right.

    Examples
    --------
    >>> round(laplace_half_width(1.0, 1.0, cells=1, gamma=0.05), 4)
    2.9957
    """
    require_accuracy(sensitivity=sensitivity, epsilon=epsilon, cells=cells, gamma=gamma)
    return math.log(cells / gamma) * sensitivity / epsilon


def laplace_accuracy(sensitivity: float, epsilon: float, *, cells: int = 1, gamma: float = 0.05) -> float:
    """Return the γ-accuracy 1/h of O'Keefe & Charest's eq. 3: the larger, the nearer.

    >>> laplace_accuracy(2.0, 1.0, gamma=0.05) / laplace_accuracy(1.0, 1.0, gamma=0.05)
    0.5
    """
    return 1.0 / laplace_half_width(sensitivity, epsilon, cells=cells, gamma=gamma)


def laplace_probability(*, cells: int = 1, gamma: float = 0.05) -> float:
    """Return P(all k errors ≤ ln(k/γ)·b) for Laplace noise of scale b: (1 − γ/k)^k, which is at least 1 − γ.

    >>> laplace_probability(cells=1, gamma=0.05), round(laplace_probability(cells=9, gamma=0.05), 5)
    (0.95, 0.9511)
    """
    require_accuracy(cells=cells, gamma=gamma)
    return math.exp(cells * math.log1p(-gamma / cells))


def accuracy_gain_ratio(sensitivity: float, bootstrap_sensitivity: float) -> float:
    """Return Δf/Δ_D f, the ratio of the γ-accuracies at one ε: how much narrower bootstrap privacy's noise is.

    Never below 1 for the correct Δ_D f where D lies within the declared bounds, since then Dⁿ ⊆ Uⁿ; infinite where
    Δ_D f = 0.

    Notes
    -----
    O'Keefe & Charest, Result 12, second form. Its proof takes Δ_D f > 0.

    Examples
    --------
    >>> round(accuracy_gain_ratio(17_610, 8_766), 3)  # Table 4, Mixed-High
    2.009
    """
    require_accuracy(sensitivity=sensitivity)
    return math.inf if bootstrap_sensitivity == 0.0 else sensitivity / bootstrap_sensitivity


def accuracy_gain_difference(
    sensitivity: float, bootstrap_sensitivity: float, epsilon: float, *, cells: int = 1, gamma: float = 0.05
) -> float:
    """Return the difference of the two γ-accuracies, Result 12's first form.

    >>> round(accuracy_gain_difference(2.0, 1.0, 1.0, gamma=0.05), 4)
    0.1669
    """
    gained = laplace_accuracy(bootstrap_sensitivity, epsilon, cells=cells, gamma=gamma)
    return gained - laplace_accuracy(sensitivity, epsilon, cells=cells, gamma=gamma)
