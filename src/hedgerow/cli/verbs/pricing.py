"""`hedgerow price`: what a mechanism costs, without data.

`hedgerow audit`: attack a mechanism, or everything, and compare with what is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import shared_options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError, VerificationError
from hedgerow.progress import working

if TYPE_CHECKING:
    from hedgerow.audit.campaign import Campaign
    from hedgerow.audit.verdict import Verdict
    from hedgerow.release.price import Price, PriceOfErrors


@shared_options.sized
def price(
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="<mechanisms>.",
        ),
    ] = None,
    *,
    size: dict[str, Any],
    table: Annotated[bool, typer.Option("--table", help="The price of standard errors against k.")] = False,
    as_json: shared_options.AsJson = False,
) -> None:
    """Price a mechanism, in units where the range U − L is 1. Reads no data.

    One of --rho, --mu, --noise-sd gives the noise and asks for ε; --epsilon asks for the least noise that meets it.
    """
    from hedgerow.mechanisms.certificate import bounds_in_words, round_up
    from hedgerow.mechanisms.mechanism import priced
    from hedgerow.release.price import price_of

    if mechanism is None:
        raise ParameterError(
            "HG124",
            rule="`--mechanism` must be one of " + ", ".join(priced()) + ".",
            finding="An option that the command needs is missing.",
            remedy="Name a mechanism, for example --mechanism gaussian.",
        )
    price = price_of(mechanism, **size)
    rows = _table(price, size["rho"], size["mu"], size["rate"]) if table else None
    if as_json:
        write_json(price.to_dict() | ({"table": [row.to_dict() for row in rows]} if rows is not None else {}))
        return
    write_stdout(f"{price.mechanism.type}, {price.relation}")
    write_stdout(f"  ε ≤ {round_up(price.epsilon_upper):.10g} at δ = {price.delta:.3g}")
    for line in bounds_in_words(price.bounds):
        write_stdout(f"  {line}")
    write_stdout(f"  noise sd {price.noise_sd:.6g}, in units of {priced()[mechanism].price_unit}")
    if rows is not None:
        write_stdout("")
        write_stdout(_shown(rows))


def _table(price: Price, rho: float | None, mu: float | None, rate: float | None) -> list[PriceOfErrors]:
    """Return the rows of ``--table``; it needs the total noise as ρ or μ, which one plain release has too."""
    from hedgerow.release.price import price_of_errors

    if price.mechanism.type != "resampled-gaussian" or (rho is None and mu is None):
        raise ParameterError(
            "HG124",
            rule="`--table` compares a bootstrap with one plain release of the same ρ or μ.",
            finding="The number of bootstrap replicates is missing.",
            remedy="Request the table for a bootstrap, for example with --mechanism bootstrap --rho 0.5 --table.",
        )
    total = mu if mu is not None else math.sqrt(2.0 * (rho or 0.0))
    return price_of_errors(relation=price.relation, mu=total, delta=price.delta, rate=rate)


def _shown(rows: Sequence[PriceOfErrors]) -> str:
    lines = [f"the price of standard errors; one plain release of the same noise costs ε ≤ {rows[0].plain_epsilon:.4g}"]
    lines.append(f"{'k':>6}  {'ε ≤':>8}  noise needed for the plain price, times the plain noise")
    for row in rows:
        ratio = "no certified amount" if row.noise_ratio is None else f"{row.noise_ratio:.4f}"
        lines.append(f"{row.n_resamples:>6}  {row.epsilon_upper:>8.4g}  {ratio}")
    return "\n".join(lines)


_RUNS, _CAMPAIGN_RUNS = 1_000_000, 50_000


@shared_options.sized
def audit(
    mechanism: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="<mechanisms>. [default: everything]"),
    ] = None,
    *,
    size: dict[str, Any],
    runs: Annotated[
        int | None, typer.Option(metavar="N", help="Outputs on each neighbour. [default: 1000000; 50000 for all]")
    ] = None,
    as_json: shared_options.AsJson = False,
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Write a page with a picture there.")] = None,
) -> None:
    """Attack a mechanism on its worst neighbours. Exit 5 if a lower bound on ε is above the price.

    Without --mechanism everything is attacked: each mechanism, the laws of noise, replays on neighbours, and releases
    broken on purpose, which must be rejected. Simulated noise has the distribution of the released noise.
    Reads no data.
    """
    if report is not None:
        _check_report(report)
    if mechanism is None:
        _everything(size, runs, as_json=as_json, report=report)
    else:
        _one(mechanism, size, runs, as_json=as_json, report=report)


def _one(name: str, size: dict[str, Any], runs: int | None, *, as_json: bool, report: str | None) -> None:
    from hedgerow.audit.verdict import audit_mechanism, checked_runs
    from hedgerow.release.price import price_of

    wanted = checked_runs(_RUNS if runs is None else runs)
    priced = price_of(name, **size)
    with working("audit") as work:
        drawn = 0

        def advance(outputs: int) -> None:
            nonlocal drawn
            drawn += outputs
            work.show(f"{drawn:,} outputs", drawn / (2.0 * wanted))

        verdict = audit_mechanism(priced.mechanism, priced.relation, delta=priced.delta, runs=wanted, advance=advance)
    if report is not None:
        from hedgerow.audit.campaign import run_mutants
        from hedgerow.reports.audit_page import verdict_page

        _write(report, verdict_page(verdict, run_mutants(seed=20261120)))
    if as_json:
        write_json(verdict.to_dict())
    else:
        _say_verdict(verdict)
    _settle(verdict.passes)


def _everything(size: dict[str, Any], runs: int | None, *, as_json: bool, report: str | None) -> None:
    from hedgerow.audit.campaign import run_campaign

    given = [name for name, value in size.items() if value is not None]
    if given:
        raise ParameterError(
            "HG124",
            rule="The options for the size of the noise and for the relation apply to one mechanism.",
            finding="Found --" + given[0].replace("_", "-") + " without --mechanism.",
            remedy="Name a mechanism, for example --mechanism gaussian. Without any option, all mechanisms are "
            "audited.",
        )
    with working("audit") as work:
        campaign = run_campaign(runs=_CAMPAIGN_RUNS if runs is None else runs, progress=work.show)
    if report is not None:
        from hedgerow.reports.audit_page import campaign_page

        _write(report, campaign_page(campaign))
    if as_json:
        write_json(campaign.to_dict())
    else:
        _say_campaign(campaign)
    _settle(campaign.passes)


def _say_verdict(verdict: Verdict) -> None:
    write_stdout(f"{verdict.mechanism.type}, {verdict.relation}, δ = {verdict.delta:.3g}")
    write_stdout(f"  ε ≤ {verdict.epsilon_upper:.6g} claimed")
    said = "by enumeration" if verdict.exact == verdict.epsilon_lower else f"by {verdict.runs:,} runs on each neighbour"
    write_stdout(f"  ε ≥ {verdict.epsilon_lower:.6g} certified {said}, confidence {100 * verdict.confidence:.6g} %")
    if verdict.proven > 0.0:
        write_stdout(f"  ε ≥ {verdict.proven:.6g} proven from the exact laws of the worst neighbours")
    write_stdout("  passes: the bounds do not cross" if verdict.passes else "  FAILS: the bounds cross")


def _say_campaign(campaign: Campaign) -> None:
    write_stdout("mechanism                          relation     noise        ε at least   ε at most")
    for audit in (*campaign.audits, *campaign.released):
        verdict = audit.verdict
        crossed = "" if verdict.passes else "  CROSSED"
        write_stdout(
            f"{audit.specimen.name:<34} {verdict.relation!s:<12} {verdict.source:<9} {verdict.epsilon_lower:>13.4f} "
            f"{verdict.epsilon_upper:>11.4f}{crossed}"
        )
    write_stdout(f"laws: {sum(test.accepted for test in campaign.laws)} of {len(campaign.laws)} tests accept")
    write_stdout(f"lattice: {campaign.off_lattice} released numbers off it")
    if campaign.replay is not None:
        replayed = campaign.replay
        write_stdout(f"replay: {replayed.replays:,} on neighbours, {len(replayed.divergences)} divergences")
        write_stdout(f"sensitivity: at most {replayed.largest_excess:.6g} of what is declared")
    for caught in campaign.caught:
        verb = "rejected" if caught.rejection.rejected else "ACCEPTED"
        write_stdout(f"mutant {caught.mutant.name}: {verb} by {caught.mutant.layer}")
    for what in campaign.left_out:
        write_stdout(f"not done in time: {what}")
    write_stdout(f"A correct library fails this with probability at most {campaign.false_alarm:.2g}.")


def _settle(passes: bool) -> None:
    if not passes:
        raise VerificationError(
            "HG522",
            rule="No attack may prove a larger ε than a certificate states, and the audit must detect every mechanism "
            "that was made faulty on purpose.",
            finding="In this audit an attack proved a larger ε than a certificate states, or the audit did not detect "
            "a mechanism that was made faulty on purpose.",
            remedy="Do not rely on this mechanism; please report the output of the audit with the version of hedgerow.",
        )


def _check_report(path: str) -> None:
    target = Path(path)
    if target.suffix != ".html" or not target.parent.is_dir() or target.exists():
        raise ParameterError(
            "HG523",
            rule="A report is written to a new .html file in a folder that exists.",
            finding=f"Found {path!r}.",
            remedy="Name a new file for the report, for example --report audit.html.",
        )


def _write(path: str, page: str) -> None:
    try:
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(page)
    except OSError:
        raise ParameterError(
            "HG523",
            rule="A report is written to a new .html file in a folder that exists.",
            finding="The report could not be written.",
            remedy="Check that the folder can be written, and that the disk is not full.",
        ) from None
