"""Sparse vectors broken as published ones were: what each draws, and the loss that enumeration finds in it.

Lyu, Su & Li (2017), figure 2, list variants that were printed as ε-private and are not. Each is described here as the
sparse vector that it really draws, so that the exact law of `hedgerow.mechanisms.sparse_vector` applies; a
mutant is rejected where its loss exceeds the price that was claimed.

=========================  =====================================================================================
`no threshold noise`       the threshold is exact: every "no" leaks (Fishman et al.'s first run, as printed)
`no question noise`        the statistics are exact, the threshold alone is noisy (their algorithm 5)
`positives not paid`       question noise for one positive, several answered (algorithm 4)
`no stop`                  question noise for one positive, and no limit on positives (algorithm 6)
`budget not split`         threshold, questions and answers each take all of ε
=========================  =====================================================================================
"""

from __future__ import annotations

from dataclasses import replace

from hedgerow.audit.mutants.mutant import Rejection
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.sparse_vector import Questions, SparseVector, log_chances, sparse_vector

_NONE = 1e-3  # a scale at which a two-sided geometric draw is 0 but for a chance below e^-1000
_FALLING = 30


def broken_sparse_vectors(claimed: SparseVector) -> dict[str, SparseVector]:
    """Return what each mutant really draws where `claimed` is what it says.

    >>> from hedgerow.facts.relation import Relation
    >>> from hedgerow.mechanisms.sparse_vector import sparse_vector
    >>> list(broken_sparse_vectors(sparse_vector(1.0, Relation.ADD_REMOVE, reach=1, positives=3)))[0]
    'no threshold noise'
    """
    first = claimed.reach / claimed.threshold_scale
    rest = claimed.comparing_loss() - first
    one = (1 if claimed.monotone else 2) * claimed.reach / rest
    whole = claimed.reach / claimed.pure()
    shifts = (1 if claimed.monotone else 2) * claimed.positives
    return {
        "no threshold noise": replace(claimed, threshold_scale=_NONE),
        "no question noise": replace(claimed, question_scale=_NONE),
        "positives not paid": replace(claimed, question_scale=one),
        "no stop": replace(claimed, question_scale=one, positives=claimed.positives + 4),
        "budget not split": replace(claimed, threshold_scale=whole, question_scale=shifts * whole),
    }


def loss_of_broken(name: str, claimed: SparseVector) -> Rejection:
    """Return the exact log-ratio of one run of answers, no to all that fall and yes to all that rise, and the claim.

    One event is enough: a run of answers that is e^ε times likelier on one neighbour proves that ε is needed.
    """
    drawn = broken_sparse_vectors(claimed)[name]
    questions = Questions.worst(drawn, falling=_FALLING)
    text = (0,) * _FALLING + (1,) * drawn.positives
    found = log_chances(drawn, questions, 1, text) - log_chances(drawn, questions, 0, text)
    upper = claimed.comparing_loss()
    said = f"ε ≥ {found:.3g} by enumeration, claimed {upper:.3g}"
    return Rejection(found > upper, said, found, upper)


def exact_threshold(seed: int) -> Rejection:
    """Ask two positives' worth of questions against a threshold without noise, as Fishman et al. print it."""
    return loss_of_broken("no threshold noise", sparse_vector(1.0, Relation.ADD_REMOVE, reach=1, positives=2))
