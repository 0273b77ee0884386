"""Whether bounds or categories that were found fit the mechanism of their certificate, and their own noisy counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.counts import GeometricCounts
from hedgerow.mechanisms.mechanism import Single, parts_of
from hedgerow.mechanisms.stable_categories import StableCategories

_KINDS: Mapping[str, type[Single]] = {"bounds": GeometricCounts, "categories": StableCategories}
_OTHER = "Its numbers are not those that the mechanism of its certificate gives."


def contradictions_of_what_was_found(found: Mapping[str, Any], certificate: Certificate) -> Iterator[str]:
    """Yield where an answer is not one that its mechanism gives.

    >>> from hedgerow.facts.relation import Relation
    >>> from hedgerow.mechanisms.certificate import certify
    >>> made = certify(StableCategories(4.0, 54), Relation.REPLACE_ONE, unit="row", delta=1e-6)
    >>> jobs = {"kind": "categories", "values": ["nurse"], "noisy_counts": [54], "threshold": 54}
    >>> list(contradictions_of_what_was_found(jobs, made))
    []
    >>> list(contradictions_of_what_was_found({**jobs, "noisy_counts": [53]}, made))
    ['Its numbers are not those that the mechanism of its certificate gives.']
    """
    parts, counts = parts_of(certificate.mechanism), found["noisy_counts"]
    if (
        len(parts) != 1
        or not isinstance(parts[0], _KINDS[found["kind"]])
        or not all(type(one) is int for one in counts)
    ):
        yield _OTHER
    elif isinstance(parts[0], StableCategories):
        values = found["values"]
        listed = len(values) == len(counts) and len({(type(one), one) for one in values}) == len(values)
        if not listed or found["threshold"] != parts[0].threshold or min(counts, default=1e9) < parts[0].threshold:
            yield _OTHER
    elif isinstance(parts[0], GeometricCounts):
        ends, bounds = found["ends"], found["bounds"]
        if not len(counts) == parts[0].cells == len(ends) + 1 or any(low >= high for low, high in pairwise(ends)):
            yield _OTHER
        if bounds is not None and not (bounds[0] < bounds[1] and {*bounds} <= {*ends, found["around"]}):
            yield "Its bounds are not ends of the cells whose noisy counts it holds."
