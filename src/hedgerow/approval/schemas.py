"""The JSON Schemas of a request and of an approval, for other programs that read or write these files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from hedgerow.approval.approval import FORMAT as APPROVAL_FORMAT
from hedgerow.approval.approval import Signature
from hedgerow.approval.written_request import FORMAT as REQUEST_FORMAT
from hedgerow.approval.written_request import WrittenRequest

_TEXT: dict[str, Any] = {"type": "string"}
_LINE: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 1000}
_TIME: dict[str, Any] = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_OBJECT: dict[str, Any] = {"type": "object"}
_HASH: dict[str, Any] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}

_REQUEST: dict[str, Any] = {
    "verb": _TEXT | {"description": "The command of hedgerow that is asked for."},
    "words": _TEXTS | {"description": "Its options, as they are typed."},
    "facts": {"type": ["object", "null"], "description": "The public facts, in the structure of a facts file."},
    "n": {"type": ["integer", "null"], "minimum": 1, "description": "The number of records; a guess under add-remove."},
    "asked_by": _LINE | {"description": "Who asks."},
    "purpose": _LINE | {"description": "What the result is for."},
    "at": _TIME | {"description": "When the request was made, in UTC."},
    "until": {"type": "string", "format": "date", "description": "The last day, in UTC, on which it may run."},
    "in_words": _TEXTS | {"description": "What is asked, in sentences."},
    "asked": _OBJECT | {"description": "What is asked as data, complete: what runs must be exactly this."},
    "price": {
        "type": "object",
        "required": ["epsilon"],
        "properties": {"epsilon": {"type": "number"}, "delta": {"type": "number"}},
        "description": "The certificate: what it may cost at most.",
    },
    "expected": {"type": "array", "items": _OBJECT, "description": "The errors to expect."},
    "signatures": {"type": "integer", "minimum": 1, "maximum": 10, "description": "How many people must approve."},
    "amends": {"anyOf": [_HASH, {"type": "null"}], "description": "The request that an approver made smaller."},
}
_SIGNATURE: dict[str, Any] = {
    "by": _TEXT | {"description": "The name of the approver."},
    "decision": {"enum": ["approve", "deny"]},
    "note": {"type": "string", "maxLength": 2000, "description": "What the approver adds."},
    "at": _TIME | {"description": "When it was signed, in UTC."},
    "ledger": _HASH | {"description": "The identity of the ledger for which it holds."},
    "signature": _TEXT | {"description": "Ed25519 over the canonical JSON of all of this but itself, as Base64."},
}


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of each kind of file, by its name.

    >>> list(schemas()), schemas()["request"]["additionalProperties"]
    (['request', 'approval'], False)
    """
    request = _closed({"format": {"const": REQUEST_FORMAT}, **_of(WrittenRequest, _REQUEST)})
    signatures = {"type": "array", "minItems": 1, "items": _closed(_of(Signature, _SIGNATURE))}
    approval = _closed({"format": {"const": APPROVAL_FORMAT}, "request": request, "signatures": signatures})
    return {"request": _named("request", request), "approval": _named("approval", approval)}


def _of(document: type, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas of the fields of a document, in their order; one that is not described is an error."""
    return {part.name: described[part.name] for part in fields(document)}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _named(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:hedgerow:schema:{kind}:1"}
    return {**about, **schema}
