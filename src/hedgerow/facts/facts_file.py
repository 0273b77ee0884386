"""The facts file, ``hedgerow.toml``: its fields, its JSON Schema, and how it is read. Needs pydantic; imported on use.

The models below say what a file may hold and refuse any field that they do not know: a misspelt fact that was silently
ignored would break a promise without notice. `declared.Facts` checks what a fact means.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from hedgerow.errors import FactsError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget
from hedgerow.facts.expression import REGRESSIONS, kinds
from hedgerow.facts.relation import UnitLimit
from hedgerow.formats import formats, holds_password, is_url, names, suffixes
from hedgerow.inputs import MOST_BYTES, note_input
from hedgerow.toml import MOST_NAMES, LongKeyError, read_toml

SCHEMA_ID = "urn:hedgerow:schema:facts:1"
_MOST_FINDINGS = 5


def _known_format(name: str) -> str:
    if name not in names():
        raise ValueError(f"must be one of {', '.join(names())}")
    return name


Number = int | float
Value = str | int | float | bool
if TYPE_CHECKING:
    Kind = str
    Allowed = str
else:
    Kind = Literal[tuple(kinds())]
    Allowed = Literal[(*kinds(), *REGRESSIONS)]
Policy = Literal["drop", "midpoint", "error-if-declared-complete"]
Text = str
# As a `Literal` of the names of formats, which a type checker cannot know.
_Format = Annotated[Text, AfterValidator(_known_format), WithJsonSchema({"enum": list(names()), "type": "string"})]


class _Part(BaseModel):
    # Strict: neither true nor "1" is a number; TOML has types of its own.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Data(_Part):
    """Where the records are."""

    path: Text = Field(min_length=1, description="Path of the records, from where this file lies, or URL.")
    kind: _Format | None = Field(None, description="By the extension where left out.")
    table: Text | None = Field(None, description="Which table of a database.")


class Unit(_Part):
    """A unit of protection that owns several rows."""

    column: Text = Field(min_length=1, description="Whose rows they are, e.g. person_id.")
    max_rows: int = Field(ge=1, description="How many rows of a unit count at most.")


class Total(_Part):
    """What may be spent in all."""

    epsilon: Number = Field(gt=0, description="ε for all releases together.")
    delta: Number = Field(DEFAULT_DELTA, ge=0, lt=1, description="The δ at which that ε is counted.")


class Column(_Part):
    """What is declared about one column."""

    bounds: list[Number | date | datetime] | None = Field(
        None, min_length=2, max_length=2, description="[low, high]: values are clamped. Two dates: of dates."
    )
    step: Number | None = Field(None, gt=0, description="Grid step; divides high − low exactly.")
    categories: list[Value] | None = Field(None, min_length=1, description="The values that make cells.")
    bands: list[Number] | None = Field(
        None, min_length=2, description="Cut points of bands that make cells, in place of categories."
    )
    labels: list[Text] | None = Field(None, min_length=1, description="What to show beside categories or bands.")
    expression: Text | None = Field(
        None, min_length=1, description="Arithmetic on other columns, for a column that is computed."
    )
    hierarchies: dict[Text, dict[Text, list[Value]]] | None = Field(
        None, description="Groups of categories, by the name of the level: each category in one group."
    )
    other: bool = Field(False, description="Whether the rest makes a cell too.")
    missing: Policy | None = Field(None, description="What a missing value counts as; drop where left out.")
    source: Text | None = Field(None, description='Where this is known from, e.g. "codebook p. 12".')


class _StatisticInFacts(_Part):
    """One statistic of a release."""

    statistic: Kind = Field(description="What to release.")


_NUMBERS = list[Number]
_TYPES: dict[str, Any] = {
    "text": Text, "number": Number, "numbers": _NUMBERS, "value": Value, "values": list[Value], "bounds": _NUMBERS,
}  # fmt: skip


def _with_fields_of_statistics() -> type[_StatisticInFacts]:
    """Return the model of a statistic with the fields that the statistics declare, each optional."""
    declared = [pair for entry in kinds().values() for pair in {**entry.needs, **entry.takes}.items()]
    types: dict[str, Any] = {}
    for name, field in declared:
        types[name] = types.get(name) | _TYPES[field.type]
    fields: dict[str, Any] = {}
    for name, field in declared:
        size = 2 if field.type == "bounds" else None
        limits = Field(None, description=field.about, gt=field.above, lt=field.below, min_length=size, max_length=size)
        fields[name] = (types[name] | None, limits)
    return create_model("Asked", __base__=_StatisticInFacts, __doc__=_StatisticInFacts.__doc__, **fields)


if TYPE_CHECKING:
    Asked = _StatisticInFacts
else:
    Asked = _with_fields_of_statistics()


_Line = Annotated[Text, Field(min_length=1)]
_Date = Annotated[Text, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class About(_Part):
    """What registries, statistical offices and citations ask for. Nothing of it changes what is released."""

    title: _Line | None = Field(None, description="What the data product is called.")
    description: _Line | None = Field(None, description="What it says, in a sentence or two.")
    curators: list[_Line] | None = Field(None, min_length=1, description="Who publishes it.")
    authors: list[_Line] | None = Field(None, min_length=1, description="Who wrote this; the curators where left out.")
    intended_use: _Line | None = Field(None, description="What it is for.")
    region: _Line | None = Field(None, description="Which region it describes, or whose law applies.")
    sector: Literal["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"] | None = Field(
        None, description="Which sector it describes."
    )
    period: _Line | None = Field(None, description="Which time the records describe, e.g. 2025 or 2025-Q3.")
    published: _Date | None = Field(None, description="When it is first published; the day of the release by default.")
    deployment_model: Literal["Central", "Local", "Shuffle", "Federated"] | None = Field(
        None, description="Where noise is added; Central, as hedgerow does it, where left out."
    )
    actors: _Line | None = Field(None, description="Who sees the records, who the results, and who is trusted.")
    releases: Literal["One release", "Many releases"] | None = Field(None, description="How often it is published.")
    refreshed: _Line | None = Field(None, description="When the budget begins anew, and what happens to old records.")
    source_type: Literal["Static", "Dynamic"] | None = Field(None, description="Whether new records come in.")
    access: Literal["Interactive", "Non-interactive"] | None = Field(
        None, description="Whether people may ask; Non-interactive where left out."
    )
    why_epsilon: _Line | None = Field(None, description="Why the budget is what it is.")
    why_bounds: _Line | None = Field(None, description="Where bounds and categories come from.")
    tuning: _Line | None = Field(None, description="What was tried on the records before, and whether it was paid.")
    url: _Line | None = Field(None, description="Where it can be found.")
    doi: _Line | None = Field(None, description="Its DOI, without https://doi.org/.")
    licence: _Line | None = Field(None, description="Its licence, as SPDX writes it, e.g. CC-BY-4.0.")


class RequestedInFacts(_Part):
    """One release that is planned for."""

    name: Text | None = Field(None, description="What to call it.")
    statistics: list[Asked] = Field(min_length=1, description="What to release, in order.")
    by: list[Text] | None = Field(None, min_length=1, description="Columns whose declared categories make the cells.")
    where: Text | None = Field(None, min_length=1, description="Which records count: a condition, as in a call.")
    weights: list[Text | Number] | None = Field(
        None, min_length=2, max_length=2, description="A column of weights, and the largest that counts."
    )
    totals: dict[_Line, dict[_Line, Number]] | None = Field(
        None,
        min_length=1,
        max_length=1,
        description="Columns of `by`, separated by commas, and the public size of each cell: also stratified answers.",
    )
    unit_weight: Literal["rows", "unit"] | None = Field(
        None, description="What counts alike in distributions of units of several rows; rows where left out."
    )
    epsilon: Number | None = Field(None, gt=0, description="ε, the total price of this release; or rho, or mu.")
    rho: Number | None = Field(None, gt=0, description="ρ in place of ε: Gaussian noise whose μ²/2 is ρ.")
    mu: Number | None = Field(None, gt=0, description="μ in place of ε: Gaussian noise of this μ.")
    delta: Number | None = Field(None, ge=0, lt=1, description="δ; that of the budget where left out.")
    estimator: Literal["auto", "moments", "bootstrap", "bounded-bootstrap"] | None = Field(
        None, description="auto where left out."
    )
    noise: Literal["auto", "laplace", "geometric", "gaussian", "averaged-laplace"] | None = Field(
        None, description="The law of the noise, by its name; geometric is the old name of laplace."
    )
    missing: Policy | None = Field(None, description="Overrides the policies of the columns.")
    share: list[Number] | None = Field(None, description="Parts of the noise precision, one per statistic.")
    n_resamples: int | None = Field(None, ge=2, description="Replicates, for a bootstrap.")
    interval: Literal["calibrated", "conservative", "unbiased", "most-conservative"] | None = None
    n_draws: int | None = Field(None, ge=1, le=500, description="Laplace draws to a number, for averaged noise.")

    @model_validator(mode="after")
    def _has_a_budget(self) -> RequestedInFacts:
        if self.epsilon is self.rho is self.mu is None:
            raise PydanticCustomError("no_budget", "needs epsilon, rho or mu")
        return self


class FactsFile(_Part):
    """The public facts of one table: whom a release protects, what its columns hold, and what may be spent."""

    relation: Literal["replace-one", "add-remove"] | None = Field(None, description="Who is protected.")
    target: Literal["population", "file"] = Field("population", description="What intervals are about.")
    unit: Literal["row"] | Unit = Field("row", description="The unit of protection.")
    data: Data | None = Field(None, description="Where the records are.")
    budget: Total | None = Field(None, description="What may be spent in all.")
    ledger: Text | None = Field(None, min_length=1, description="Path of the ledger, from where this file lies.")
    statistics: list[Allowed] | None = Field(None, description="The statistics that are allowed; all where left out.")
    signatures: int | None = Field(None, ge=1, le=10, description="How many people must approve each request.")
    about: About | None = Field(None, description="Who publishes what for which use, for reports and registries.")
    columns: dict[str, Column] = Field({}, description="Facts by column.")
    release: list[RequestedInFacts] = Field([], description="Releases that are planned for.")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a facts file, for editors and for whoever checks it without hedgerow.

    >>> json_schema()["$id"], json_schema()["additionalProperties"]
    ('urn:hedgerow:schema:facts:1', False)
    """
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID}
    return dialect | FactsFile.model_json_schema()


def fields_of_file(path: object) -> tuple[dict[str, Any], Path]:
    """Return the fields of a facts file, and its folder, from which relative paths in it start.

    Raises
    ------
    FactsError
        HG701 it is not there, no ordinary file, or no TOML; HG702 a field that does not fit.
    """
    record = record_of_file(path)
    return fields_of(record), Path(str(path)).absolute().parent


def record_of_file(path: object) -> dict[str, Any]:
    """Return the plain data of a facts file, whose fields are not checked yet (HG701)."""
    if not isinstance(path, (str, os.PathLike)) or not isinstance(name := os.fspath(path), str) or not name:
        raise _unread("Found something that is no path.")
    if "\0" in name or not Path(name).is_file():
        raise _unread(f"There is no ordinary file {name!r}.")
    note_input(name)
    try:
        with Path(name).open("rb") as file:
            start = file.read(MOST_BYTES + 1)
    except OSError:
        raise _unread(f"{name!r} may not be read.") from None
    if len(start) > MOST_BYTES:
        raise _unread(f"{name!r} is larger than {MOST_BYTES >> 20} MiB.")
    try:
        # RecursionError: brackets within brackets, thousands deep.
        return read_toml(start.decode("utf-8-sig"))
    except (UnicodeDecodeError, RecursionError):
        raise _unread(f"{name!r} is no TOML in UTF-8.") from None
    except tomllib.TOMLDecodeError as wrong:
        raise _unread(f"{name!r} is no TOML{_place(wrong)}.") from None
    except LongKeyError:
        raise _unread(f"{name!r} holds a key that joins more than {MOST_NAMES} names by dots.") from None
    except ValueError:
        # Python reads no whole number of more than 4,300 digits.
        raise _unread(f"{name!r} holds a number of thousands of digits.") from None


def fields_of(record: object) -> dict[str, Any]:
    """Return the fields that plain data hold, by the names of `declared.Facts` (HG702 where one does not fit)."""
    try:
        file = FactsFile.model_validate(record)
    except ValidationError as wrong:
        # A field of several types is refused once for each; the last word is the most general.
        said = {_where(error["loc"]): _plain(error["msg"]) for error in wrong.errors(include_input=False)}
        raise _unfit([f"{place}: {what}" for place, what in said.items()]) from None
    return {
        "relation": file.relation,
        "target": file.target,
        "unit": UnitLimit(file.unit.column, file.unit.max_rows) if isinstance(file.unit, Unit) else file.unit,
        "data": None if file.data is None else _data(file.data),
        "columns": {name: _column(column) for name, column in file.columns.items()},
        "budget": None if file.budget is None else Budget(file.budget.epsilon, file.budget.delta),
        "ledger": file.ledger,
        "statistics": None if file.statistics is None else tuple(file.statistics),
        "signatures": file.signatures,
        "about": {} if file.about is None else file.about.model_dump(exclude_none=True),
        "releases": tuple(request.model_dump(exclude_none=True) for request in file.release),
    }


def _data(data: Data) -> dict[str, Any]:
    if is_url(data.path):
        if holds_password(data.path):
            raise _unfit(["data.path: a URL in a facts file holds neither a password nor a query string"])
        if data.kind is not None:
            raise _unfit(["data.kind: a URL says what it is"])
        return {"path": data.path, "kind": None, "table": data.table}
    ending = Path(data.path).suffix.lower()
    suffix = suffixes().get(ending)
    if data.kind is not None and suffix is not None and ending not in formats()[data.kind].SUFFIXES:
        raise _unfit([f"data.kind: the extension of data.path says {suffix}"])
    named = data.kind or suffix
    if data.table is not None and (named is None or not formats()[named].TABLES):
        raise _unfit(["data.table: only a database has tables"])
    return {"path": data.path, "kind": data.kind, "table": data.table}


def _column(column: Column) -> dict[str, Any]:
    return {
        "bounds": column.bounds,
        "step": column.step,
        "categories": column.categories,
        "bands": column.bands,
        "labels": column.labels,
        "expression": column.expression,
        "hierarchies": column.hierarchies,
        "other": column.other,
        "missing": column.missing,
        "source": column.source or None,
    }


def _where(location: Sequence[int | str]) -> str:
    # Pydantic adds the names of a union's types, which are no fields of the file.
    types = ("int", "float", "str", "bool", "Unit", "literal['row']")
    parts = [f"[{part + 1}]" if isinstance(part, int) else str(part) for part in location if part not in types]
    return ".".join(parts).replace(".[", "[") or "the file"


def _plain(message: str) -> str:
    message = re.sub(r"a valid dictionary or (instance|object) .*", "a table", message)
    return message[:1].lower() + message[1:]


def _place(wrong: tomllib.TOMLDecodeError) -> str:
    """Return where a file is no TOML; the parser's message may quote a piece of it, so only the place is kept."""
    _, at, place = str(wrong).rpartition("(at ")
    return f", at {place.rstrip(')')}" if at else ""


def _unread(finding: str) -> FactsError:
    return FactsError(
        "HG701",
        rule="A facts file must be a readable TOML file.",
        finding=finding,
        remedy="The command `hedgerow init FILE` writes a facts file with blanks to fill in.",
    )


def _unfit(findings: list[str]) -> FactsError:
    rest = len(findings) - _MOST_FINDINGS
    said = findings[:_MOST_FINDINGS] + ([f"and {rest} more"] if rest > 0 else [])
    return FactsError(
        "HG702",
        rule="Every field of the facts file has a known name and a valid value.",
        finding="; ".join(said) + ".",
        remedy="The command `hedgerow schema` prints the allowed values of each field.",
    )
