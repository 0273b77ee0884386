"""scikit-learn's own checks of an estimator, with a reason for each that does not apply."""

from typing import Any

import pytest

pytest.importorskip("sklearn")

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from hedgerow.multicalibration import Multicalibrator
from hedgerow.multicalibration.calibrated_model import CONSENT
from hedgerow.testing.published import NoPrivacy

NO_WEIGHTS = "a private fit refuses sample weights: no bound on them is certified (HG424)"
WITH_WEIGHTS = (
    "check_all_zero_sample_weights_error",
    "check_classifiers_one_label_sample_weights",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
)


def expected_failures(estimator: Any) -> dict[str, str]:
    return {} if estimator.mechanism == NoPrivacy() else dict.fromkeys(WITH_WEIGHTS, NO_WEIGHTS)


# Most checks fit an estimator and its clones several times, and a private one says so.
@pytest.mark.filterwarnings("ignore::hedgerow.errors.HedgerowWarning")
@parametrize_with_checks(
    [
        Multicalibrator(LogisticRegression(), mechanism=NoPrivacy()),
        # Noise takes no seed. At this price it is 0 but once in 10^12 draws, so that checks may compare two fits.
        Multicalibrator(
            LogisticRegression(), mechanism="table", relation="add-remove", epsilon=100.0, base_fit=CONSENT
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
