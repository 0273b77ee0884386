"""The record of a regression, written again from what was asked and from the noisy numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.regression.coefficients import AnyFit, record_of_fits
from hedgerow.regression.features import model_of_request
from hedgerow.regression.formula import FormulaTerms
from hedgerow.regression.logit.logit_regression import logit_from_record
from hedgerow.regression.logit.release_logit import narrowed_by
from hedgerow.regression.regression import Regression, regressions_from_record
from hedgerow.release.record import NOISE_OF_NUMBERS, Record, RecordKind, Rewritten

_ASKED = (
    *("formula", "response", "terms", "intercept", "bounds", "categories"),
    *("missing", "where", "weights", "by", "narrowed", "value", "submodel"),
)
_COPIED = ("source", "date", "methods", "notes")
_FACTS = ("relation", "unit", "target", "n", "missing", "where", "weights", "method")
_OTHERS = "Its release has a field that no regression has."
_NO_N = "The number of records, which is public under replace-one, is not stated."
_PRESENCE = "Its mechanism takes the presence of every record as public, and the record says otherwise."
_RESPONSE = "A submodel has another response than the model that was released."
_NARROWED = "Its certificate names another reason why no lower bound on ε is known."


def rewrite(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record of a regression as its fits are read anew from the noisy numbers."""
    logit = record["regression"].get("family") == "logit"
    fits: tuple[AnyFit, ...] = (logit_from_record(record),) if logit else regressions_from_record(record)
    level = float(record["fits"][0]["coefficients"][0]["confidence_interval"]["level"])
    again = record_of_fits(fits, level)
    del again["certificate"]
    uses_n = any(isinstance(fit, Regression) and fit.public for fit in fits)
    contradictions = [_NO_N] if uses_n and record["release"]["n"] is None else []
    # Whether the noise of a number shows in a stated error depends on the fit: a submodel does not use all numbers, for
    # example, and robust errors need no square of the response.
    unchecked = ["release.source", "release.date", *([] if logit else ["release.methods.*", *NOISE_OF_NUMBERS])]
    if not uses_n and certificate.relation is Relation.REPLACE_ONE:
        unchecked.append("release.n")
    if "reading" not in record:
        unchecked += ["release.target", "release.missing", "release.where", "release.weights.column", "release.methods"]
        unchecked += ["regression.formula", "regression.response", "regression.value", "regression.released.*.name"]
        unchecked += ["regression.columns.**", "regression.categories.**", "regression.regressors.**", "fits.*.cell.*"]
        return Rewritten(again, tuple(unchecked), (*contradictions, *_others(record, _FACTS)))
    asked = {name: value for name, value in record["request"].items() if name in _ASKED}
    if "submodel" in asked:
        # It is read from some of the numbers, has a formula of its own, and is about the same response.
        unchecked += ["fits.*.released.*", "request.formula"]
        contradictions += [] if asked["submodel"]["response"] == asked["response"] else [_RESPONSE]
        last = asked["submodel"]
        asked["submodel"] = {"formula": last["formula"], **FormulaTerms.from_record(last).record()}
    again["request"] = asked
    again["regression"] |= model_of_request(asked)
    facts = _facts(record, certificate, logit=logit)
    again["release"] |= facts
    contradictions += _others(record, facts)
    certified = {} if fits[0].about.mechanism.row_limit is not None else {"unit": "row"}
    if logit:
        again["regression"]["value"] = asked["value"]
        narrowed = narrowed_by(fits[0].about.mechanism)
        return Rewritten(again, tuple(unchecked), tuple(contradictions), certified, narrowed)
    for fit, cell in zip(again["fits"], _cells(asked["by"]), strict=True):
        fit["cell"] = cell
    alone = certificate.relation is Relation.REPLACE_ONE and not asked["by"] and "weights" not in asked
    if uses_n and not (alone and asked["missing"] != Missing.DROP):
        contradictions.append(_PRESENCE)
    if asked["narrowed"] and certificate.epsilon_lower_why != asked["narrowed"]:
        contradictions.append(_NARROWED)
    return Rewritten(again, tuple(unchecked), tuple(contradictions), certified, asked["narrowed"])


RECORD = RecordKind(
    "a regression", "regression", rewrite, lambda record: f"regression of {record['regression']['formula']}"
)


def _others(record: Record, facts: Iterable[str]) -> list[str]:
    """Return that the release has a field that no regression has: such a field is copied with the facts."""
    return [_OTHERS] if set(record["release"]) - {*facts, *_COPIED} else []


def _facts(record: Record, certificate: Certificate, *, logit: bool) -> dict[str, Any]:
    about, asked = record["release"], record["request"]
    return {
        "relation": str(certificate.relation),
        "unit": certificate.unit,
        "target": str(Target(about["target"])),
        "n": about["n"] if certificate.relation is Relation.REPLACE_ONE else None,
        "missing": str(Missing.DROP) if logit else asked["missing"],
        **{name: asked[name] for name in ("where", "weights") if name in asked},
        **({"method": "newton-steps"} if logit else {"methods": {"moments": about["methods"]["moments"]}}),
    }


def _cells(by: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the cells of columns with these labels, in order."""
    return [dict(zip(by, labels, strict=True)) for labels in product(*by.values())]
