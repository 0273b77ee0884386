"""What both commands of regressions do: open the survey, plan or fit, write the files, print the fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.spending import as_replayed, deliver, no_source, spending, told_again, warnings_told
from hedgerow.cli.terminal import say, say_json

if TYPE_CHECKING:
    from hedgerow.regression.coefficients import AnyFit
    from hedgerow.regression.design import ExpectedCoefficient
    from hedgerow.regression.regression import RegressionByCell
    from hedgerow.release.publication.folder import ReleaseFolder
    from hedgerow.survey import Survey

FILES = ("regression.json", "certificate.json", "report.html")

Formula = Annotated[
    str, typer.Argument(metavar="FORMULA", help="A response, ~ and terms, as R writes them; see the how-to.")
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(metavar="COL:LO:HI[:STEP]", help="Bounds of a numeric column, to which its values are clamped."),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(metavar="COL=v1,v2", help="Values of a column that stands in C(…); the first is the reference."),
]
PlanOnly = Annotated[
    bool, typer.Option("--plan", help="Only print the price and the errors to expect; reads and spends nothing.")
]
Out = Annotated[str | None, typer.Option(metavar="DIR", help="Write a report, the record and its certificate there.")]


@dataclass(frozen=True)
class Asked:
    """A call of either command.

    Attributes
    ----------
    verb : str
        The method of a survey that fits: ols or logit.
    formula : str
    options : mapping
        Its options, None where one is not given.
    source, relation, target, table, facts, ledger, request_id, out, force, level, as_json
        As on the command line.
    """

    verb: str
    formula: str
    options: dict[str, Any]
    source: str | None
    relation: str | None
    target: str | None
    table: str | None
    facts: str | None
    ledger: str | None
    request_id: str | None
    out: str | None
    force: bool
    level: float
    as_json: bool

    def run(self, plan: Callable[[Survey, dict[str, Any]], None] | None) -> None:
        """Tell the plan, where a function that does is given; else fit, write and print."""
        from hedgerow.facts.declared import Facts
        from hedgerow.inference.interval import parse_level
        from hedgerow.release.publication.folder import prepared_folder
        from hedgerow.survey import open as open_survey

        if self.source is None and self.facts is None:
            raise no_source(self.verb)
        level = parse_level(self.level)
        chosen = {name: one for name, one in self.options.items() if one is not None}
        declared = None if self.facts is None else Facts.read(self.facts)
        given: dict[str, Any] = {
            "relation": self.relation,
            "target": self.target,
            "table": self.table,
            "ledger": self.ledger,
        }
        with ExitStack() as stack:
            stack.enter_context(warnings_told())
            survey = open_survey(self.source, declared, **given)
            if plan is not None:
                plan(survey, chosen)
                return
            data = self.source if self.source is not None or declared is None else declared.data_path
            folder: ReleaseFolder | None = None
            if self.out is not None:
                folder = stack.enter_context(prepared_folder(self.out, force=self.force, source=data, names=FILES))

            def spend() -> None:
                fit = getattr(survey, self.verb)(self.formula, request_id=self.request_id, **chosen)
                write = None if folder is None else partial(_write, fit, folder, level)
                show = partial(_show, fit, folder, level, self.as_json)
                deliver(write, show, unrecorded=_first(fit).unrecorded)

            spending(spend)


def bounds_given(texts: Sequence[str]) -> dict[str, Any] | None:
    """Return {column: (low, high[, step])} of each ``COL:LO:HI[:STEP]`` (HG116)."""
    from hedgerow.statistics.entry import parse_on_grid, unwritten

    found: dict[str, Any] = {}
    for text in texts:
        column, ends, step = parse_on_grid("--bounds", text)
        if ends is None or column in found:
            raise unwritten("--bounds", "COL:LO:HI or COL:LO:HI:STEP, once a column", text, "--bounds age:0:100")
        found[column] = ends if step is None else (*ends, step)
    return found or None


def _first(fit: AnyFit | RegressionByCell) -> AnyFit:
    from hedgerow.regression.regression import RegressionByCell

    return fit.fits[0] if isinstance(fit, RegressionByCell) else fit


def _write(fit: AnyFit | RegressionByCell, folder: ReleaseFolder, level: float) -> tuple[str, ...]:
    """Write the report, the record and its certificate, and return their names."""
    from hedgerow.regression.record import written
    from hedgerow.reports.regression_page import regression_html

    first = _first(fit)
    price = {} if first.certificate is None else first.certificate.to_dict()
    texts = (
        written(fit.to_dict(level)),
        json.dumps(price, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        regression_html(fit, level=level),
    )
    for name, text in zip(FILES, texts, strict=True):
        (folder.staging / name).write_text(text, encoding="utf-8")
        folder.move([name])
    return FILES


def _show(
    fit: AnyFit | RegressionByCell, folder: ReleaseFolder | None, level: float, as_json: bool, written: Sequence[str]
) -> None:
    """Print the fit."""
    replayed = _first(fit).replayed
    if as_json:
        say_json(fit.to_dict(level) | as_replayed(replayed))
        return
    told_again(replayed)
    say(fit.summary(level))
    if folder is not None and written:
        say(f"Written to {folder.path}: {', '.join(written)}")


def tell_plan(
    about: dict[str, Any], expected: Sequence[ExpectedCoefficient], *, opening: str, closing: str, as_json: bool
) -> None:
    """Print a plan: what is asked and its price, and the errors to expect."""
    from hedgerow.release.publication.text import aligned

    reliable = expected[0].reliable
    if as_json:
        listed = [
            {"term": one.term, "standard_error": one.standard_error}
            | {"sampling_error": one.sampling_error, "privacy_error": one.privacy_error}
            for one in expected
        ]
        mechanism = about.pop("mechanism")
        say_json({"plan": about | {"reliable": reliable, "mechanism": mechanism}, "expected": listed})
        return
    rows = [("", "s.e.", "sampling", "privacy")]
    rows += [
        (one.term, f"{one.standard_error:.3g}", f"{one.sampling_error:.3g}", f"{one.privacy_error:.3g}")
        for one in expected
    ]
    waste = "WASTE: the noise would swamp the moments of the regressors, and nothing could be relied on."
    say("\n".join([opening, "", *aligned(rows, 1), *(() if reliable else (waste,)), "", closing]))
