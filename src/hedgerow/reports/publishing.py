"""A release's record as what is published of it: who, what for, which numbers, and at which price.

How a release is cited: CITATION.cff, BibTeX, or a sentence.

An entry of the registry of deployments of differential privacy (opendp/deployments-registry-data, schema of 2026).

What a record knows (variant, price, unit, mechanisms) is filled in; what it cannot know comes from `[about]`.

SDMX-CSV 2.0: one line a number; its standard error, the parts of it and its interval are attributes.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hedgerow.errors import FactsError, ParameterError, VerificationError
from hedgerow.facts.declared import Facts
from hedgerow.facts.printed import neutralise_formula
from hedgerow.facts.relation import Relation
from hedgerow.margins.release_margins import read_margins
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.reports.protection import EXACT_NOISE
from hedgerow.reports.verify.verification import read_record, verify_record

RECORDS = ("release.json", "table.json", "margins.json", "regression.json")


@dataclass(frozen=True, slots=True)
class PublishedRecord:
    """What is published.

    Attributes
    ----------
    record : mapping
        The record of a release, a table or a regression.
    certificate : Certificate
    about : mapping
        The fields of `[about]`: those of the record, and over them those of the facts that were given.
    """

    record: Mapping[str, Any]
    certificate: Certificate
    about: Mapping[str, Any]

    @classmethod
    def read(cls, path: str | Path, facts: Facts | None = None) -> PublishedRecord:
        """Read the record of a folder that a release was written into, or a record by its own path.

        Raises
        ------
        ParameterError
            HG503: there is none.
        VerificationError
            HG502: it is no record with a certificate; a simulated release is not published. HG501: it does not hold.
        """
        place = Path(path)
        if place.is_dir():
            place = next((place / name for name in RECORDS if (place / name).is_file()), place / RECORDS[0])
        record = read_record(place)
        try:
            if not isinstance(record, dict) or not isinstance(release := record["release"], dict):
                raise TypeError
            certificate = Certificate.from_dict(record["certificate"])
            about = {**dict(release.get("about", {})), **({} if facts is None else facts.about)}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise VerificationError(
                "HG502",
                rule="A file can be published only if it is the record of a release and contains the certificate of "
                "this release.",
                finding=f"{str(place)!r} is none.",
                remedy="Name the folder of a release, or its release.json.",
            ) from None
        if not verify_record(record).holds:
            raise VerificationError(
                "HG501",
                rule="The stated price must be the price of the mechanism.",
                finding="The recomputed price of this record differs from the stated price.",
                remedy="Publish the unchanged record of the release. The command `hedgerow verify` says which part "
                "of the record is wrong.",
            )
        return cls(record, certificate, about)

    @property
    def release(self) -> Mapping[str, Any]:
        """The record's part about the whole."""
        release: Mapping[str, Any] = self.record["release"]
        return release

    @property
    def date(self) -> str | None:
        """When it was published first: as declared, else when the noise was drawn."""
        return self.about.get("published") or self.release.get("date")

    @property
    def mechanisms(self) -> str:
        """The types of what ran, each once."""
        return ", ".join(dict.fromkeys(part.type for part in parts_of(self.certificate.mechanism)))

    def needed(self, *names: str) -> list[Any]:
        """Return fields of `[about]` (HG709 where one is not declared)."""
        missing = [name for name in names if not self.about.get(name)]
        if missing:
            raise FactsError(
                "HG709",
                rule="A registry or a citation must say who publishes the data and for which use.",
                finding=f"The facts do not say it: {', '.join(missing)}.",
                remedy="Write the publisher and the use under [about] in the facts, and name the facts file.",
                shell="Write them under [about] in the facts, and name that file by --facts.",
            )
        return [self.about[name] for name in names]

    def numbers(self) -> Iterator[Mapping[str, Any]]:
        """Yield every released number with its cell: estimates, totals of a table, coefficients of a regression."""
        for estimate in self.record.get("estimates", ()):
            yield self._named(estimate)
        for margin in self.record.get("table", {}).get("margins", ()):
            yield from (self._named(estimate) for estimate in margin["estimates"])
        if "margins" in self.record:
            made, level = read_margins(self.record, self.certificate), float(self.record["margins"]["level"])
            for _, cells in made.every_level():
                yield from cells.entries(level)
        for fit in self.record.get("coefficients", ()):
            yield {"statistic": "coefficient", "column": fit.get("term"), "cell": fit.get("cell", {}), **fit}

    def _named(self, estimate: Mapping[str, Any]) -> Mapping[str, Any]:
        table = self.record.get("table", {})
        return {"statistic": table.get("statistic"), "column": table.get("column"), **estimate}


def in_one_line(text: object) -> str:
    r"""Return a text without ends of lines and characters that cannot be seen.

    >>> in_one_line("a\n b")
    'a b'
    """
    return " ".join("".join(sign if sign.isprintable() else " " for sign in str(text)).split())


def slug(text: str) -> str:
    """Return a text as a part of an address.

    >>> slug("Incomes in Île-de-France, 2025")
    'incomes_in_ile_de_france_2025'
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_") or "release"


def yaml(value: Any, depth: int = 0) -> str:
    r"""Return plain data as YAML: texts in double quotes, as JSON writes them, which YAML reads alike.

    >>> print(yaml({"a": {"b": ["x: y"]}, "c": 1.5}))
    a:
      b:
        - "x: y"
    c: 1.5
    """
    pad = "  " * depth
    if isinstance(value, Mapping):
        lines = []
        for key, item in value.items():
            nested = isinstance(item, (Mapping, list))
            lines.append(f"{pad}{key}:" + (f"\n{yaml(item, depth + 1)}" if nested else f" {_scalar(item)}"))
        return "\n".join(lines)
    if isinstance(value, list):
        return "\n".join(
            f"{pad}- {yaml(item, depth + 1).lstrip() if isinstance(item, Mapping) else _scalar(item)}" for item in value
        )
    return f"{pad}{_scalar(value)}"


def _scalar(value: Any) -> str:
    text = json.dumps(in_one_line(value) if isinstance(value, str) else value, ensure_ascii=False, allow_nan=False)
    # Readers of YAML 1.1 take 1e-06 for a text: a number has a point.
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text


def unknown_format(path: Path, known: tuple[str, ...]) -> ParameterError:
    """Return the refusal of another suffix (HG118)."""
    return ParameterError(
        "HG118",
        rule="The format is that of the suffix: " + ", ".join(known) + ".",
        finding=f"Found {path.suffix or 'none'!r}.",
        remedy="Give the output file a name with one of these endings.",
    )


def price_said(published: PublishedRecord) -> str:
    """Return the price as a citation says it."""
    cost = published.certificate
    return (
        f"Estimates are ({cost.epsilon:.6g}, {cost.delta:.3g})-differentially private, {cost.relation}, unit "
        f"{cost.unit}; standard errors and intervals cover sampling and privacy noise."
    )


def cff(published: PublishedRecord) -> str:
    """Return the citation in the Citation File Format 1.2.0 (HG709)."""
    title, curators = published.needed("title", "curators")
    about = published.about
    fields: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use these statistics, please cite them as below.",
        "type": "dataset",
        "title": title,
        "abstract": price_said(published),
        "authors": [{"name": name} for name in curators],
        "date-released": published.date,
        "doi": about.get("doi"),
        "url": about.get("url"),
        "license": about.get("licence"),
    }
    return yaml({name: text for name, text in fields.items() if text is not None}) + "\n"


def bibtex(published: PublishedRecord) -> str:
    """Return the citation as an entry of BibTeX (HG709)."""
    title, curators = published.needed("title", "curators")
    date, about = published.date or "", published.about
    fields = {
        "author": " and ".join(f"{{{_tex(name)}}}" for name in curators),
        "title": f"{{{_tex(title)}}}",
        "year": date[:4],
        "doi": _address(about.get("doi", "")),
        "url": _address(about.get("url", "")),
        "note": _tex(price_said(published)),
    }
    lines = [f"  {name} = {{{text}}}," for name, text in fields.items() if text]
    return "\n".join([f"@misc{{{slug(title)},", *lines, "}"]) + "\n"


def sentence(published: PublishedRecord) -> str:
    """Return the citation as a sentence (HG709)."""
    title, curators = published.needed("title", "curators")
    where = (published.about.get("doi") and f"https://doi.org/{published.about['doi']}") or published.about.get(
        "url", ""
    )
    parts = [", ".join(map(in_one_line, curators)), *([f"({published.date})"] if published.date else [])]
    head = f"{' '.join(parts)}: {in_one_line(title)}."
    return " ".join([head, *([f"{where}."] if where else []), price_said(published)]) + "\n"


def _tex(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "&%$#_{}" else sign for sign in in_one_line(text) if sign != "\\")


CITATIONS = {".cff": cff, ".bib": bibtex, ".txt": sentence}


def _address(text: str) -> str:
    """Return an address without the characters that would end or begin a field."""
    return quote(text, safe=":/?#[]@!$&'()*+,;=%~-._")


_ADJACENT = {
    Relation.REPLACE_ONE: "Two data sets are adjacent if one {unit} of one is replaced by another, of any values.",
    Relation.ADD_REMOVE: "Two data sets are adjacent if one of them has one {unit} more than the other.",
}


def registry_entry(published: PublishedRecord) -> dict[str, Any]:
    """Return the entry as plain data, in the order of the schema; fields that nobody declared are left out.

    Raises
    ------
    FactsError
        HG709: a field that the registry requires is declared nowhere.
    """
    about, certificate = published.about, published.certificate
    title, curators, use, region = published.needed("title", "curators", "intended_use", "region")
    basic = {
        "name": title,
        "data_curators": list(curators),
        "intended_use": use,
        "data_product_type": "Summary statistics",
        "data_product_region": region,
        "description": about.get("description") or f"{title}, with standard errors and confidence intervals.",
        "publication_date": published.date or published.needed("published")[0],
        "data_product_sector": about.get("sector"),
    }
    deployment = {
        "basic": basic,
        "dp_variant": _variant(published),
        "privacy_loss": {
            "privacy_unit": certificate.unit,
            "privacy_unit_details": _ADJACENT[Relation(certificate.relation)].format(unit=certificate.unit),
            "privacy_parameters": {"epsilon": certificate.epsilon, "delta": certificate.delta},
            "privacy_parameters_details": "An upper bound, which `hedgerow verify` recomputes from the record.",
        },
        "deployment_model": {
            "model_name": about.get("deployment_model", "Central"),
            "actors": about.get("actors"),
            "release_type": about.get("releases"),
            "release_type_details": about.get("refreshed"),
            "data_source_type": about.get("source_type"),
            "access_type": about.get("access", "Non-interactive"),
        },
        "accounting": {
            "post_processing": " ".join(published.release.get("notes", ())) or None,
            "composition": "All numbers of the release are priced together, by the convolution of privacy losses.",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": about.get("tuning"),
            "mechanisms": f"{published.mechanisms}, by hedgerow {certificate.versions['hedgerow']}. {EXACT_NOISE}",
            "justification": " ".join(about[name] for name in ("why_epsilon", "why_bounds") if name in about) or None,
        },
        "administrative": {
            "sources": about.get("url"),
            "registry_authors": list(about.get("authors", curators)),
        },
    }
    said = {name: _known(part) for name, part in deployment.items()}
    return {"url_slug": slug(title), "status": "Draft", "tier": _tier(about), "deployment": said}


def _variant(published: PublishedRecord) -> dict[str, Any]:
    n = published.release.get("n")
    return {
        "variant_name": "Pure DP" if published.certificate.delta == 0.0 else "Approximate DP",
        "data_domain": f"All data sets with the columns that are named; relation {published.release['relation']}.",
        "unprotected_quantities": None if n is None else f"The number of records, {n:,}, is public.",
    }


def _known(part: dict[str, Any]) -> dict[str, Any]:
    return {
        name: in_one_line(item) if isinstance(item, str) else item
        for name, item in part.items()
        if item not in (None, "")
    }


def _tier(about: Any) -> int:
    """Return how complete the entry is: 3 where actors, tuning and reasons are told, 2 where the rest is known."""
    if not {"releases", "source_type"} <= set(about):
        return 1
    return 3 if {"actors", "tuning", "why_epsilon", "why_bounds"} <= set(about) else 2


STRUCTURE_ID = "HEDGEROW:RELEASE(1.0)"
_ATTRIBUTES = {
    "STD_ERR": "standard_error",
    "STD_ERR_SAMPLING": "sampling_error",
    "STD_ERR_PRIVACY": "privacy_error",
}
TOTAL, NONE = "_T", "_Z"


def sdmx_csv(published: PublishedRecord, *, structure_id: str = STRUCTURE_ID) -> str:
    r"""Return the numbers as SDMX-CSV.

    Dimensions are the statistic, the column it is of (``_Z`` where of none), each column of groups (``_T`` for a total)
    and the time; ``OBS_STATUS`` is A (normal) or U (of low reliability), ``CONF_STATUS`` is F (free), since noise
    protects every number.
    """
    numbers = list(published.numbers())
    groups = list(dict.fromkeys(column for number in numbers for column in number.get("cell", {})))
    codes = _codes(groups)
    head = ["STRUCTURE", "STRUCTURE_ID", "ACTION", "STATISTIC", "VARIABLE", *codes, "TIME_PERIOD", "OBS_VALUE"]
    head += [*_ATTRIBUTES, "CI_LOW", "CI_HIGH", "CI_LEVEL", "OBS_STATUS", "CONF_STATUS"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(head)
    time = published.about.get("period") or published.date or ""
    for number in numbers:
        writer.writerow(neutralise_formula(cell) for cell in _line(number, groups, str(time), structure_id))
    return text.getvalue()


def _codes(groups: list[str]) -> list[str]:
    """Return the names of dimensions: as SDMX writes them, and each once."""
    codes: list[str] = []
    for place, group in enumerate(groups, start=1):
        code = re.sub(r"[^A-Z0-9_]", "_", group.upper()) or "GROUP"
        codes.append(code if code not in (*codes, "STATISTIC", "VARIABLE", "TIME_PERIOD") else f"{code}_{place}")
    return codes


def _line(number: Mapping[str, Any], groups: list[str], time: str, structure_id: str) -> list[Any]:
    interval, cell = number.get("confidence_interval") or {}, number.get("cell", {})
    return [
        "dataflow",
        structure_id,
        "I",
        number["statistic"],
        NONE if number.get("column") is None else number["column"],
        *(TOTAL if cell.get(group) is None else cell[group] for group in groups),
        time,
        number["estimate"],
        *("" if number.get(name) is None else number[name] for name in _ATTRIBUTES.values()),
        *("" if interval.get(name) is None else interval[name] for name in ("low", "high", "level")),
        "A" if number.get("reliable", True) else "U",
        "F",
    ]
