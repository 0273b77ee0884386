"""`hedgerow testset plan | attack`: what can be had before the first look, and what attacks on made-up labels gain."""

from __future__ import annotations

from typing import Annotated

import typer

from hedgerow.cli import options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.progress import working

Records = Annotated[int, typer.Option("--n", metavar="N", help="How many records the test set has.")]
Looks = Annotated[int, typer.Option("--looks", metavar="K", help="How many looks there may be in all.")]
Epsilon = Annotated[float, typer.Option("--epsilon", metavar="E", help="The most that all looks may cost.")]
Delta = Annotated[float, typer.Option("--delta", metavar="D", help="δ of all looks together.")]


def plan(
    n: Records = 10_000,
    looks: Looks = 200,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    width: Annotated[
        float | None, typer.Option("--width", metavar="W", help="The half-width wanted of the last look, as 0.05.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Say which ε and mechanism give the narrowest interval for a model fitted to all answers; reads nothing."""
    from hedgerow.testset.adaptive.plan import plan_looks

    found = plan_looks(n, looks, epsilon=epsilon, delta=delta, width=width)
    if as_json:
        write_json(found.to_dict())
        return
    write_stdout(f"{n:,} records, {looks:,} looks, accuracy near one half; the narrowest last interval first")
    write_stdout("mechanism       epsilon   first look   last look, fitted to all answers")
    for one in found.choices:
        write_stdout(f"{one.mechanism:<12}  {one.epsilon:>9.4g}   ± {one.first:<8.4f}   ± {one.last:.4f}")
    if found.wanted is None:
        return
    if found.most is None:
        write_stdout(f"No number of looks has ± {found.wanted:g}: take more records.")
    else:
        most = found.most
        write_stdout(
            f"± {found.wanted:g} is had for {most.looks:,} looks: {most.mechanism} at epsilon {most.epsilon:.4g}"
        )


def attack(
    n: Records = 10_000,
    looks: Looks = 200,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    mechanism: Annotated[str, typer.Option("--mechanism", metavar="NAME", help="auto, <looks>.")] = "auto",
    runs: Annotated[int, typer.Option("--runs", metavar="R", min=1, max=1000, help="Runs of each attack.")] = 20,
    as_json: options.AsJson = False,
) -> None:
    """Attack a test set of made-up labels: what the last score overstates, and whether its interval holds the truth."""
    import numpy as np

    from hedgerow.errors import ParameterError
    from hedgerow.facts.budget import Budget
    from hedgerow.facts.relation import Relation
    from hedgerow.noise.secure import SecureNoise
    from hedgerow.testset.adaptive.attacks import ATTACKS
    from hedgerow.testset.adaptive.attacks import attack as attacked
    from hedgerow.testset.mechanisms.choose import choose
    from hedgerow.testset.mechanisms.mechanism import Conditions, Options
    from hedgerow.testset.metric import accuracy

    conditions = Conditions(Relation.REPLACE_ONE, Budget(epsilon, delta), looks, n, accuracy().grid)
    if looks < 2:
        raise ParameterError(
            "HG173",
            rule="An attack takes two looks or more: the last one shows what was fitted to the others.",
            finding=f"Found {looks}.",
            remedy="For example --looks 200.",
        )
    look = choose(mechanism, conditions, Options())
    rng, noise = np.random.default_rng(), SecureNoise()
    found = []
    with working("attacks") as work:
        for place, name in enumerate(ATTACKS):
            work.show(name, place / len(ATTACKS))
            found.append(attacked(name, look, runs=runs, noise=noise, rng=rng))
    most = max(one.most_overstated for one in found)
    if as_json:
        public = {"n": n, "looks": looks, "epsilon": epsilon, "delta": delta, "mechanism": look.name}
        write_json({**public, "attacks": [one.to_dict() for one in found], "empirical": most})
        return
    write_stdout(f"{look.name}: {n:,} made-up records, {looks:,} looks, ε ≤ {epsilon:g}; {runs} runs of each attack")
    write_stdout("attack           overstated   at most   proven interval   held the truth   for a fixed model")
    for one in found:
        write_stdout(
            f"{one.attack:<15}  {one.overstated:>10.4f}   {one.most_overstated:>7.4f}   ± {one.half_width:<13.4f}   "
            f"{one.held:>6} of {one.runs:<5}   {one.fixed_held:>8} of {one.runs}"
        )
    write_stdout(
        f"empirical: these attacks overstated by {most:.4f} at most; others may do more, up to the proven interval"
    )
