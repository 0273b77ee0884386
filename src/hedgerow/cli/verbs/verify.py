"""`hedgerow verify`: a record priced anew from itself alone, off-line."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.terminal import write_json, write_stdout

if TYPE_CHECKING:
    from hedgerow.reports.verify.verification import CheckedPoint, Verification

_WIDTH, _INDENT, _MOST_NUMBERS = 100, "  ", 20


def verify(
    record: Annotated[
        str,
        typer.Argument(metavar="RECORD", help="certificate.json, release.json, table.json, a model or report.html."),
    ],
    as_json: options.AsJson = False,
) -> None:
    """Recompute the price of a record. Exit 5 if a price does not hold, or if the record contradicts itself.

    Needs the record alone: no data, no network. Says who is protected against what, and what is assumed.
    """
    from hedgerow.facts.printed import for_terminal
    from hedgerow.reports.verify.verification import verify_file

    stated, found = verify_file(record)
    if as_json:
        write_json(found.to_dict())
    else:
        # Whoever altered a record may have put codes into it that steer a terminal.
        page = _page(found, stated).replace("\N{NO-BREAK SPACE}", " ")
        write_stdout(for_terminal(page))
    found.require()


def _page(found: Verification, stated: object) -> str:
    from hedgerow.reports.verify.consistency import NOT_CHECKED

    told, certificate = found.protection, found.certificate
    holding = sum(point.holds for point in found.profile)
    versions = ", ".join(f"{name} {version}" for name, version in certificate.versions.items())
    return "\n".join(
        [
            f"{_verdict(found)}: {told.price}",
            "",
            *_titled("What this record says is NOT PROTECTED", found.not_protected),
            f"{'stated':<8}  {_point(found.stated)}",
            *(f"{'curve':<8}  {_point(point)}" for point in found.profile),
            *(f"{'also':<8}  {line}" for line in told.bounds),
            f"{1 * found.stated.holds + holding} of {1 + len(found.profile)} stated prices hold for the recorded "
            f"mechanism: {certificate.mechanism.type}.",
            "",
            *_titled("The record contradicts itself", found.contradictions),
            *_titled("The numbers of the record", _numbers(stated)),
            *_titled("Who is protected" + (", by the calibration alone" if found.not_protected else ""), [told.who]),
            *_titled("Against whom", [told.against, told.attack]),
            *_titled("What this rests on", told.assumptions),
            *_titled("What it does not cover", told.not_covered),
            *_titled("What a record cannot show about itself", NOT_CHECKED),
            *_titled("Fields of this record that nothing else in it determines", [", ".join(found.unchecked)]),
            f"Made by: {versions}.",
            "The price follows from the record alone.",
        ]
    )


def _numbers(record: object) -> list[str]:
    """Return a line for each of the first estimates of a record: whoever reads a page compares these with it."""
    entries = record.get("estimates", []) if isinstance(record, dict) else []
    try:
        lines = [_estimate(one) for one in entries[:_MOST_NUMBERS]]
    except (LookupError, TypeError, ValueError, AttributeError):
        return []  # what such a record lacks stands among its contradictions
    return lines + ([f"… and {len(entries) - _MOST_NUMBERS:,} more"] if len(entries) > _MOST_NUMBERS else [])


def _estimate(entry: Mapping[str, Any]) -> str:
    from hedgerow.facts.printed import number

    cell = ", ".join(f"{column}={value}" for column, value in entry["cell"].items())
    name = entry["statistic"] if entry["column"] is None else f"{entry['statistic']} of {entry['column']}"
    error, ends = entry["standard_error"], entry["confidence_interval"]
    span = f"{100 * ends['level']:.4g} % interval {number(ends['low'])} to {number(ends['high'])}"
    said = f"s.e. {error:.3g}, " if error is not None else ""
    return f"{name}{f' ({cell})' if cell else ''}: {number(entry['estimate'])} ({said}{span})"


def _verdict(found: Verification) -> str:
    if not found.holds:
        return "DOES NOT HOLD"
    return "HOLDS FOR THE CALIBRATION ALONE, THE BASE MODEL IS NOT PROTECTED" if found.not_protected else "HOLDS"


def _point(point: CheckedPoint) -> str:
    verdict = "holds" if point.holds else "DOES NOT HOLD"
    return f"ε ≤ {point.epsilon:.6g} at δ = {point.delta:.3g}: {verdict} (re-priced: δ ≤ {point.delta_upper:.4g})"


def _titled(title: str, texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    filled = [textwrap.fill(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT) for text in texts]
    return [title, *filled, ""]
