"""`hedgerow price`: what a mechanism costs, without data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from hedgerow.release.forecast.price import Price, PriceOfErrors


@options.sized
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
    as_json: options.AsJson = False,
) -> None:
    """Price a mechanism, in units where the range U − L is 1. Reads no data.

    One of --rho, --mu, --noise-sd gives the noise and asks for ε; --epsilon asks for the least noise that meets it.
    """
    from hedgerow.mechanisms.certificate import bounds_in_words, round_up
    from hedgerow.mechanisms.mechanism import priced
    from hedgerow.release.forecast.price import price_of

    if mechanism is None:
        raise ParameterError(
            "HG124",
            rule="`--mechanism` must be one of " + ", ".join(priced()) + ".",
            finding="It was not given.",
            remedy="For example --mechanism gaussian.",
        )
    found = price_of(mechanism, **size)
    rows = _table(found, size["rho"], size["mu"], size["rate"]) if table else None
    if as_json:
        write_json(found.to_dict() | ({"table": [row.to_dict() for row in rows]} if rows is not None else {}))
        return
    write_stdout(f"{found.mechanism.type}, {found.relation}")
    write_stdout(f"  ε ≤ {round_up(found.epsilon_upper):.10g} at δ = {found.delta:.3g}")
    for line in bounds_in_words(found.further_bounds()):
        write_stdout(f"  {line}")
    write_stdout(f"  noise sd {found.noise_sd:.6g}, in units of {priced()[mechanism].price_unit}")
    if rows is not None:
        write_stdout("")
        write_stdout(_shown(rows))


def _table(found: Price, rho: float | None, mu: float | None, rate: float | None) -> list[PriceOfErrors]:
    """Return the rows of ``--table``; it needs the total noise as ρ or μ, which one plain release has too."""
    from hedgerow.release.forecast.price import price_of_errors

    if found.mechanism.type != "resampled-gaussian" or (rho is None and mu is None):
        raise ParameterError(
            "HG124",
            rule="`--table` compares a bootstrap with one plain release of the same ρ or μ.",
            finding="There is none to compare.",
            remedy="For example --mechanism bootstrap --rho 0.5 --table.",
        )
    total = mu if mu is not None else math.sqrt(2.0 * (rho or 0.0))
    return price_of_errors(relation=found.relation, mu=total, delta=found.delta, rate=rate)


def _shown(rows: Sequence[PriceOfErrors]) -> str:
    lines = [f"the price of standard errors; one plain release of the same noise costs ε ≤ {rows[0].plain_epsilon:.4g}"]
    lines.append(f"{'k':>6}  {'ε ≤':>8}  noise needed for the plain price, times the plain noise")
    for row in rows:
        ratio = "no certified amount" if row.noise_ratio is None else f"{row.noise_ratio:.4f}"
        lines.append(f"{row.n_resamples:>6}  {row.epsilon_upper:>8.4g}  {ratio}")
    return "\n".join(lines)
