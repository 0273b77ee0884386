"""A release read back from its own record: an identical request is answered with what was released, at no cost."""

from __future__ import annotations

import math
from typing import Any

from hedgerow.errors import VerificationError
from hedgerow.inference.estimate import Estimate, RecordedBasis
from hedgerow.mechanisms.certificate import Certificate, record_of
from hedgerow.release.result.result import Release

_ESTIMATE = (
    "statistic", "column", "cell", "estimate", "sampling_error", "bootstrap_error", "privacy_error",
    "method", "n_resamples", "reliable", "note",
)  # fmt: skip


def release_from_record(text: str, *, backend: str | None = None) -> Release:
    """Return the release that wrote this JSON; its intervals are those at the recorded level.

    Raises
    ------
    VerificationError
        HG502: it is no record of a release.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> release = survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0)
    >>> release_from_record(release.to_json()).to_json() == release.to_json()
    True
    """
    try:
        record = record_of(text)
        about = record["release"]
        certificate = Certificate.from_dict(record["certificate"])
        estimates = tuple(_estimate(entry) for entry in record["estimates"])
        return Release(
            estimates,
            certificate,
            about["source"],
            about["relation"],
            about["unit"],
            about["target"],
            about["n"],
            about["missing"],
            about["methods"],
            tuple(about["notes"]),
            False,
            backend,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise VerificationError(
            "HG502",
            rule="A release is read back from the JSON that it wrote.",
            finding="This is no such record.",
            remedy="Use release.json as it was written, or the ledger's stored result.",
        ) from None


def _estimate(entry: dict[str, Any]) -> Estimate:
    interval = entry["confidence_interval"]
    low = -math.inf if interval["low"] is None else float(interval["low"])
    high = math.inf if interval["high"] is None else float(interval["high"])
    basis = RecordedBasis(low, high, float(interval["level"]), str(interval["method"]))
    drawn = entry.get("replicates")
    return Estimate(
        **{name: entry[name] for name in _ESTIMATE},
        covers=str(interval["covers"]),
        basis=basis,
        replicates=None if drawn is None else tuple(float(one) for one in drawn),
    )
