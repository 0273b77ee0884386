"""Test sets: scores with error bars, looks counted in a ledger.

Models fit a test set that is used too often. `TestSet` answers each look by a mechanism whose price is exact, counts
looks, and refuses more looks than were declared. Every score comes with its error, and with whether it differs from the
best score before by more than both errors explain. See ``docs/methods/testset.md``.
"""

from hedgerow.testset.mechanisms.choose import MECHANISMS, Compared, compare
from hedgerow.testset.mechanisms.look_mechanism import Conditions
from hedgerow.testset.metric import Metric, accuracy, brier, from_function, log_loss, zero_one
from hedgerow.testset.scores import Score
from hedgerow.testset.server.client import TestSetClient
from hedgerow.testset.testset import TestSet

__all__ = [
    "MECHANISMS",
    "Compared",
    "Conditions",
    "Metric",
    "Score",
    "TestSet",
    "TestSetClient",
    "accuracy",
    "brier",
    "compare",
    "from_function",
    "log_loss",
    "zero_one",
]
