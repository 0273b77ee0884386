"""Test sets: scores with error bars, looks counted in a ledger.

A test set that is looked at too often is learnt. `TestSet` answers each look through a mechanism whose price is exact,
counts looks, and refuses the one too many; every score comes with its error and says whether it can be told from the
best before. See ``docs/methods/testset.md``.
"""

from hedgerow.testset.mechanisms.choose import MECHANISMS, Compared, compare
from hedgerow.testset.mechanisms.mechanism import Conditions
from hedgerow.testset.metric import Metric, accuracy, brier, from_function, log_loss, zero_one
from hedgerow.testset.score import Score
from hedgerow.testset.testset import TestSet

__all__ = [
    "MECHANISMS",
    "Compared",
    "Conditions",
    "Metric",
    "Score",
    "TestSet",
    "accuracy",
    "brier",
    "compare",
    "from_function",
    "log_loss",
    "zero_one",
]
