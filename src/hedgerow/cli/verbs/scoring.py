"""`hedgerow testset create | score | compare | show | serve`: looks at a test set, counted; for CI.

`hedgerow testset plan | attack`: what can be had before the first look, and what attacks on made-up labels gain.

`hedgerow testset serve`: a server that keeps the labels, and answers with noisy scores.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli import shared_options as options
from hedgerow.cli.call import plain_warnings, spend
from hedgerow.cli.terminal import keep_quiet, write_json, write_note, write_stdout
from hedgerow.errors import ParameterError, VerificationError
from hedgerow.formats import listed
from hedgerow.progress import working

if TYPE_CHECKING:
    from hedgerow.testset.label_sources import SubmissionOptions
    from hedgerow.testset.scores import Score
    from hedgerow.testset.server.client import TestSetClient
    from hedgerow.testset.testset import TestSet


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
    metric: Annotated[
        str, typer.Option("--metric", metavar="NAME", help="Of all looks: accuracy, or one by parts, as roc_auc or r2.")
    ] = "accuracy",
    as_json: options.AsJson = False,
) -> None:
    """Say which ε and mechanism give the narrowest interval for a model fitted to all answers; reads nothing."""
    from hedgerow.release.publication.text import aligned
    from hedgerow.testset.looks_forecast import plan_looks
    from hedgerow.testset.parts.measure_forecast import plan_measure

    planner = plan_looks if metric == "accuracy" else partial(plan_measure, metric)
    plan = planner(n, looks, epsilon=epsilon, delta=delta, width=width)
    if as_json:
        write_json(plan.to_dict())
        return
    write_stdout(f"{n:,} records, {looks:,} looks, {metric} of a poor model; the narrowest last interval first")
    rows = [("mechanism", "proven by", "epsilon", "first look", "last look")]
    for choice in plan.choices:
        widths = f"± {choice.first:.4f}", f"± {choice.last:.4f}"
        rows.append((choice.mechanism, str(choice.bound), f"{choice.epsilon:.4g}", *widths))
    write_stdout("\n".join(aligned(rows, 2)))
    write_stdout("± is half of a 95 % interval; that of the last look holds for a model fitted to all answers.")
    if plan.vacuous:
        write_stdout(f"No mechanism known to us says anything of {metric} here: take fewer looks or more records.")
    if plan.wanted is None:
        return
    if plan.most is None:
        write_stdout(f"No number of looks has ± {plan.wanted:g}: take more records.")
    else:
        most = plan.most
        write_stdout(
            f"± {plan.wanted:g} is had for {most.looks:,} looks: {most.mechanism} at epsilon {most.epsilon:.4g}"
        )


def attack(
    n: Records = 10_000,
    looks: Looks = 200,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    mechanism: Annotated[str, typer.Option("--mechanism", metavar="NAME", help="auto, narrowest, <looks>.")] = "auto",
    runs: Annotated[int, typer.Option("--runs", metavar="R", min=1, max=1000, help="Runs of each attack.")] = 20,
    as_json: options.AsJson = False,
) -> None:
    """Attack a test set of made-up labels: what the last score overstates, and whether its interval holds the truth."""
    import numpy as np

    from hedgerow.errors import ParameterError
    from hedgerow.facts.budget import Budget
    from hedgerow.facts.relation import Relation
    from hedgerow.noise.secure import SecureNoise
    from hedgerow.release.publication.text import aligned
    from hedgerow.testset.looks_forecast import ATTACKS
    from hedgerow.testset.looks_forecast import attack as attacked
    from hedgerow.testset.mechanisms.choose import choose
    from hedgerow.testset.mechanisms.look_mechanism import Conditions, Options
    from hedgerow.testset.metric import accuracy

    conditions = Conditions(Relation.REPLACE_ONE, Budget(epsilon, delta), looks, n, accuracy().grid)
    if looks < 2:
        raise ParameterError(
            "HG173",
            rule="An attack on a test set needs at least two looks (queries): the last look shows how far the model "
            "was fitted to the other scores.",
            finding=f"Found {looks}.",
            remedy="Declare two or more looks, for example --looks 200.",
        )
    look = choose(mechanism, conditions, Options())
    rng, noise = np.random.default_rng(), SecureNoise()
    attacks = []
    with working("attacks") as work:
        for place, name in enumerate(ATTACKS):
            work.show(name, place / len(ATTACKS))
            attacks.append(attacked(name, look, runs=runs, noise=noise, rng=rng))
    most = max(attack.most_overstated for attack in attacks)
    if as_json:
        public = {"n": n, "looks": looks, "epsilon": epsilon, "delta": delta, "mechanism": look.name}
        write_json({**public, "attacks": [attack.to_dict() for attack in attacks], "empirical": most})
        return
    write_stdout(f"{look.name}: {n:,} made-up records, {looks:,} looks, ε ≤ {epsilon:g}; {runs} runs of each attack")
    rows = [("attack", "overstated", "at most", "proven interval", "held the truth", "for a fixed model")]
    for attack in attacks:
        numbers = f"{attack.overstated:.4f}", f"{attack.most_overstated:.4f}", f"± {attack.half_width:.4f}"
        held = f"{attack.held} of {attack.runs}", f"{attack.fixed_held} of {attack.runs}"
        rows.append((attack.attack, *numbers, *held))
    write_stdout("\n".join(aligned(rows, 1)))
    write_stdout(
        f"empirical: these attacks overstated by {most:.4f} at most; others may do more, up to the proven interval"
    )


def serve(
    ledger: Annotated[str, typer.Argument(metavar="LEDGER", help="The test set's ledger, made by `create`.")],
    labels: Annotated[str, typer.Option(metavar="FILE", help="Its labels, readable by this user alone.")],
    socket: Annotated[
        str | None, typer.Option(metavar="PATH", help="Listen at this Unix socket. [default: LEDGER.socket]")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Listen at this port of this machine alone; 0 for any free one.")
    ] = None,
    access: Annotated[
        str, typer.Option(metavar="WHO", help="Who may use the socket: user, group or all. A port is for all.")
    ] = "user",
    rate: Annotated[int, typer.Option(metavar="N", help="Requests a minute, of all clients together.")] = 120,
    most_bytes: Annotated[
        int | None, typer.Option(metavar="N", help="Of one request. [default: 128 for each record, at least a MiB]")
    ] = None,
    connections: Annotated[
        int | None, typer.Option(metavar="N", help="Open at a time. [default: 64, fewer for bodies above 16 MiB]")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer predictions with scores until Ctrl-C or SIGTERM; the labels are told to nobody."""
    from pathlib import Path

    from hedgerow.testset.server.over_http import TestSetServer
    from hedgerow.testset.server.service import Service
    from hedgerow.transport.address import Address
    from hedgerow.transport.limits import Limits, usual_connections

    if socket is not None and port is not None:
        raise ParameterError(
            "HG450",
            rule="A server listens at one address.",
            finding="The command has a socket and a port, which are two addresses.",
            remedy="Give --socket or --port.",
        )
    path = Path(f"{ledger}.socket" if socket is None else socket).absolute()
    wanted = Address(path) if port is None else Address(port=port)
    service = Service(ledger, labels, write_note)
    try:
        most = service.usual_bytes if most_bytes is None else most_bytes
        limits = Limits(rate, most, connections=usual_connections(most) if connections is None else connections)
        with TestSetServer(service, wanted, limits, access) as server:  # type: ignore[arg-type]  # it is checked there
            for number in ("SIGTERM", "SIGINT", "SIGHUP"):
                if hasattr(signal, number) and signal.getsignal(getattr(signal, number)) is not signal.SIG_IGN:
                    signal.signal(getattr(signal, number), lambda *_: server.stop())
            facts = service.facts()
            if as_json:
                write_json({"address": str(server.address), "test_set": facts})
            else:
                left = f"{facts['remaining']} of {facts['n_looks']} looks left"
                write_stdout(f"serving {facts['metric']} at {server.address}, {left}")
            server.serve_forever(poll_interval=0.1)
        write_note("stopped; every answer that was sent is on record")
    finally:
        service.close()


testset = typer.Typer(add_completion=False, rich_markup_mode=None, help="Score models on a test set; count the looks.")

Place = Annotated[str, typer.Option("--ledger", metavar="FILE", help="The test set's ledger.")]


@testset.command()
def create(
    source: Annotated[str, typer.Argument(metavar="LABELS", help=f"The test set's labels: a {listed()} file.")],
    ledger: Place,
    label: Annotated[str, typer.Option(metavar="COL", help="The column of labels.")],
    labels: Annotated[str | None, typer.Option(metavar="V,V", help="All labels; for accuracy and zero-one.")] = None,
    key: Annotated[
        str | None, typer.Option(metavar="COL", help="The column by which predictions are joined; else by position.")
    ] = None,
    positive: Annotated[str | None, typer.Option(metavar="V", help="The label whose chance is predicted.")] = None,
    prediction: Annotated[
        str, typer.Option(metavar="COL", help="Their column in files of predictions.")
    ] = "prediction",
    metric: Annotated[str, typer.Option(metavar="NAME", help="accuracy, zero-one, brier or log-loss.")] = "accuracy",
    relation: Annotated[str | None, typer.Option(metavar="R", help="replace-one or add-remove.")] = None,
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="ε of all looks together.")] = None,
    delta: Annotated[float, typer.Option(metavar="D", help="δ of all looks together.")] = 1e-6,
    looks: Annotated[int | None, typer.Option(metavar="N", help="How many looks there may be in all.")] = None,
    mechanism: Annotated[str, typer.Option(metavar="NAME", help="auto, narrowest, <looks>.")] = "auto",
    thinning: Annotated[float, typer.Option(metavar="Z", help="For resamples: n/Z records are drawn.")] = 10.0,
    threshold: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="For thresholdout: greatest difference of training and test score that counts as agreement.",
        ),
    ] = 0.02,
    answers: Annotated[int, typer.Option(metavar="N", help="For thresholdout: number of paid answers.")] = 20,
    as_json: options.AsJson = False,
) -> None:
    """Count a test set's records, choose the noise, make its ledger; say what differences it will detect."""
    from hedgerow.cli.grammar import parse_by
    from hedgerow.statistics.entry import parse_value
    from hedgerow.testset.file_columns import FileColumns
    from hedgerow.testset.mechanisms.look_mechanism import checked_options
    from hedgerow.testset.testset import TestSet

    if epsilon is None or looks is None:
        raise ParameterError(
            "HG173",
            rule="A test set needs a budget and a number of looks, among which the budget is divided.",
            finding="`--epsilon` or `--looks` was not given.",
            remedy="Give both the budget and the number of looks, for example --epsilon 1 --looks 200.",
        )
    declared = (parse_by([f"labels={labels}"]) or {}).get("labels") if labels is not None else None
    columns = FileColumns.declared(
        metric,
        label=label,
        prediction=prediction,
        labels=tuple(declared or ()),
        positive=None if positive is None else parse_value(positive),
        key=key,
    )
    with plain_warnings():
        made = TestSet.create(
            source,
            columns,
            ledger=ledger,
            relation=relation,
            epsilon=epsilon,
            delta=delta,
            n_looks=looks,
            mechanism=mechanism,
            options=checked_options(thinning, threshold, answers),
        )
    if as_json:
        write_json(made.to_dict() | {"mechanisms": [row.to_dict() for row in made.comparison]})
    else:
        _say_settings(made)
        _say_comparison(made)
    made.close()


@testset.command()
def score(
    source: Annotated[
        str, typer.Argument(metavar="PREDICTIONS", help="Predictions, a row each record; other columns are not read.")
    ],
    ledger: Annotated[str | None, typer.Option("--ledger", metavar="FILE", help="The test set's ledger.")] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A server, for a ledger: http://localhost:8080 or unix:///ts.socket."),
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where the labels lie now, if not where create found them.")
    ] = None,
    least: Annotated[
        float | None, typer.Option("--min", metavar="X", help="Exit 5 unless the whole interval is at least X.")
    ] = None,
    most: Annotated[
        float | None,
        typer.Option("--max", metavar="X", help="Exit 5 unless it is at most X; many tries weaken a gate."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME,…", help="precision, recall, f1, roc_auc, …, all from one look; else its own."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COL", help="A column of groups, beside the predictions; a score for each.")
    ] = None,
    positive: Annotated[str | None, typer.Option(metavar="V", help="The label that counts as positive.")] = None,
    training: Annotated[float | None, typer.Option(metavar="X", help="The training score, for thresholdout.")] = None,
    request_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="The same predictions under one id take no second look."),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Of the model, in the summary.")] = None,
    summary: Annotated[
        str | None, typer.Option(metavar="FILE", help='Add a summary in markdown here: "$GITHUB_STEP_SUMMARY".')
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Take one look. With --min or --max, exit 5 unless the whole 95 % interval lies on the wanted side."""
    from hedgerow.statistics.entry import parse_value
    from hedgerow.testset.server.client import TestSetClient

    opened = _opened(ledger, server, labels)
    names = None if metric is None else [text.strip() for text in metric.split(",")]
    _check_gate(opened, names, least, most)
    asked: SubmissionOptions = {
        "metric": names,
        "groups": groups,
        "positive": None if positive is None else parse_value(positive),
        "training_score": training,
        "request_id": request_id,
    }

    def take() -> Score:
        if isinstance(opened, TestSetClient):
            return opened.score_file(source, **asked)
        return opened.score(source, labels=labels, **asked)

    _look(opened, take, (least, most), (name or source, summary), quiet=quiet, as_json=as_json)


@testset.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="Predictions of one model, as of `score`.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Predictions of another model.")],
    ledger: Annotated[str | None, typer.Option("--ledger", metavar="FILE", help="The test set's ledger.")] = None,
    server: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A server, for a ledger.")] = None,
    labels: Annotated[str | None, typer.Option(metavar="FILE", help="Where the labels lie now.")] = None,
    least: Annotated[
        float | None, typer.Option("--min", metavar="X", help="Exit 5 unless FIRST − SECOND is at least X.")
    ] = None,
    most: Annotated[float | None, typer.Option("--max", metavar="X", help="Exit 5 unless it is at most X.")] = None,
    request_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The same predictions under one id take no second look.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Of the pair, in the summary.")] = None,
    summary: Annotated[str | None, typer.Option(metavar="FILE", help="Add a summary in markdown here.")] = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Take one look at the difference of two models' scores, FIRST minus SECOND, on the same records."""
    from hedgerow.testset.server.client import TestSetClient

    opened = _opened(ledger, server, labels)
    _check_bars(opened, "a difference", (-1.0, 1.0), (least, most))

    def take() -> Score:
        if isinstance(opened, TestSetClient):
            return opened.compare_files(first, second, request_id=request_id)
        return opened.compare(first, second, request_id=request_id, labels=labels)

    _look(opened, take, (least, most), (name or f"{first} minus {second}", summary), quiet=quiet, as_json=as_json)


@testset.command()
def show(ledger: Place, as_json: options.AsJson = False) -> None:
    """Show the settings, what is left, and every score so far."""
    from hedgerow.testset.testset import TestSet

    opened = TestSet.open(ledger)
    if as_json:
        write_json(opened.to_dict() | {"scores": [score.to_dict()["score"] for score in opened.history]})
    else:
        _say_settings(opened)
        for score in opened.history:
            write_stdout(f"  {score}{_distinct(score)}")
        lost = opened.settings.conditions.n_looks - opened.remaining - len(opened.history)
        if lost:
            write_stdout(
                f"  {lost} more used up without a score: they failed after their reservation, or are under way"
            )
    opened.close()


testset.command()(serve)
testset.command()(plan)
testset.command()(attack)


def _opened(ledger: str | None, server: str | None, labels: str | None) -> TestSet | TestSetClient:
    from hedgerow.testset.server.client import TestSetClient
    from hedgerow.testset.testset import TestSet

    if (ledger is None) is (server is None) or (server is not None and labels is not None):
        raise ParameterError(
            "HG116",
            rule="A score comes either from a ledger, or from a server that keeps the labels.",
            finding="The command has both options --ledger and --server, or neither.",
            remedy="Give --ledger FILE or --server ADDRESS.",
        )
    return TestSet.open(ledger) if ledger is not None else TestSetClient(str(server))


Bars = tuple[float | None, float | None]


def _look(
    opened: TestSet | TestSetClient,
    take: Callable[[], Score],
    bars: Bars,
    page: tuple[str, str | None],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Take a look, deliver it, and fail where the gate is not met; `page` is a name, and where a summary is added."""
    name, summary = page
    keep_quiet(quiet)

    def look() -> Score:
        with closing(opened):
            return take()

    taken = spend(
        look,
        lambda score, _: _say_score(score, *bars, _verdict(score, *bars), quiet=quiet, as_json=as_json),
        None if summary is None else lambda score: _add_summary(summary, score, name, bars, _verdict(score, *bars)),
    )
    verdict = _verdict(taken, *bars)
    if verdict not in (None, "met"):
        raise _missed(str(verdict))


def _check_gate(
    opened: TestSet | TestSetClient, names: list[str] | None, least: float | None, most: float | None
) -> None:
    """Refuse a gate that would let the worst pass: --min is for scores of which more is better, --max for losses."""
    from hedgerow.testset.parts.measures import parse_measures

    if least is None and most is None:
        return
    facts = opened.to_dict()
    name, greater_is_better, ends = facts["metric"], facts["greater_is_better"], tuple(facts["bounds"])
    if names is not None:
        first = parse_measures(names)[0]
        name, greater_is_better, ends = first.name, first.greater_is_better, (0.0, 1.0)
    wrong = most if greater_is_better else least
    if wrong is not None:
        opened.close()
        better, option = ("more", "--min") if greater_is_better else ("less", "--max")
        raise ParameterError(
            "HG175",
            rule="The limit for a score excludes bad scores: use --min for accuracy, and --max for losses.",
            finding=f"Of {name}, {better} is better.",
            remedy=f"Use {option}. No look was taken.",
        )
    _check_bars(opened, name, ends, (least, most))


def _check_bars(opened: TestSet | TestSetClient, name: str, ends: tuple[float, float], bars: Bars) -> None:
    if any(bar is not None and not ends[0] <= bar <= ends[1] for bar in bars):
        opened.close()
        raise ParameterError(
            "HG175",
            rule=f"A gate lies among the scores that there can be: of {name}, {ends[0]:g} to {ends[1]:.4g}.",
            finding="The given value does not follow the rule.",
            remedy="Write a share as 0.8, not as 80. No look was taken.",
        )


def _met(score: Score, least: float | None, most: float | None) -> bool | None:
    interval = score.confidence_interval()
    if least is None and most is None:
        return None
    return (least is None or interval.low >= least) and (most is None or interval.high <= most)


def _verdict(score: Score, least: float | None, most: float | None) -> str | None:
    """Return "met", "missed" where the whole interval lies on the other side, "undecided" where it holds the bar."""
    met, interval = _met(score, least, most), score.confidence_interval()
    if met is None or met:
        return None if met is None else "met"
    beyond = (least is not None and interval.high < least) or (most is not None and interval.low > most)
    return "missed" if beyond else "undecided"


def _missed(verdict: str) -> VerificationError:
    record = {
        "missed": "The whole interval lies on the other side.",
        "undecided": "The bar lies inside the interval: this test set cannot say on which side the model is.",
    }
    remedy = {
        "missed": "A better model is needed.",
        "undecided": "More test records, fewer looks or a larger epsilon, in a new ledger, narrow the interval.",
    }
    return VerificationError(
        "HG432",
        rule="A model passes a gate if the whole 95 % interval of its score lies on the required side of the limit.",
        finding=f"{record[verdict]} The score is recorded.",
        remedy=remedy[verdict],
    )


def _add_summary(
    place: str, score: Score, name: str, bars: tuple[float | None, float | None], verdict: str | None
) -> list[str]:
    from pathlib import Path

    from hedgerow.inputs import why_kept
    from hedgerow.testset.scores import summary

    if why_kept(place) is not None:
        raise OSError("not to be changed")
    given = [f"at {word} {bar:g}" for word, bar in zip(("least", "most"), bars, strict=True) if bar is not None]
    with Path(place).open("a", encoding="utf-8") as page:
        page.write(summary(score, name, threshold=" and ".join(given) or "none", verdict=verdict))
    return [place]


def _say_score(
    score: Score, least: float | None, most: float | None, verdict: str | None, *, quiet: bool, as_json: bool
) -> None:
    if as_json:
        met = None if verdict is None else verdict == "met"
        gate = {"min": least, "max": most, "met": met, "verdict": verdict}
        write_json(
            score.to_dict()
            | gate
            | {"replayed": score.replayed, "ledger": {"head": score.ledger_head, "unrecorded": score.unrecorded}}
        )
        return
    interval = score.confidence_interval().outward()
    write_stdout(
        f"{score.metric} {score.value:.4g}, 95 % interval {interval.low:.6g} to {interval.high:.6g}{_distinct(score)}"
    )
    if score.fixed_model is not None:
        fixed = score.fixed_model.outward()
        write_stdout(
            f"  it holds for a model fitted to earlier answers; made before any: {fixed.low:.6g} to {fixed.high:.6g}"
        )
    for part in score.parts[1:]:
        write_stdout(f"  {part}")
    if quiet:
        return
    again = "answered from its record, no look taken; " if score.replayed else ""
    write_stdout(f"  {again}look {score.look} of {score.n_looks}, {score.remaining} left")
    if verdict is not None:
        where = {"met": "lies on the wanted side", "missed": "lies on the other side", "undecided": "holds the bar"}
        write_stdout(f"  the gate is {verdict if verdict == 'met' else 'NOT met'}: the whole interval {where[verdict]}")
    if score.ledger_head is not None:
        write_stdout(f"  head {score.ledger_head}")


def _distinct(score: Score) -> str:
    if score.best is None:
        return ""
    known = {True: "told from", False: "not told from", None: "not compared with"}[score.distinguishable]
    return f"; {known} the best before, {score.best:.4g} at look {score.best_look}"


def _say_settings(opened: TestSet) -> None:
    from hedgerow.testset.scores import describe_difference

    facts = opened.to_dict()
    size = "" if facts["n"] is None else f"{facts['n']:,} records, "
    write_stdout(f"{facts['metric']} by {facts['mechanism']}: {size}{facts['relation']}, unit row")
    write_stdout(f"  all looks ε ≤ {facts['epsilon']:.6g} at δ = {facts['delta']:.3g}; spent {facts['spent']:.6g}")
    if facts["labels_file"] is not None:
        joined = "by position" if facts["key"] is None else f"by the key {facts['key']}"
        write_stdout(
            f"  labels in {facts['labels_file']}, told from the ledger's folder; predictions are joined {joined}"
        )
    write_stdout(f"  {facts['remaining']} of {facts['n_looks']} looks left")
    if facts["minimum_detectable_difference"] is not None:
        write_stdout(f"  noise of a look: sd {facts['expected_error']:.3g}")
        least = describe_difference(facts["minimum_detectable_difference"], opened.settings.conditions)
        write_stdout(f"  {least} (power .8, all pairs at once)")
    if facts["last_half_width"] is not None:
        write_stdout(
            f"  a model fitted to all other answers: ± {facts['last_half_width']:.3g} at the last look, proven"
        )
    write_stdout(f"  head {facts['head']}")


def _say_comparison(opened: TestSet) -> None:
    write_stdout("mechanism           sd of a look   times the best")
    for row in opened.comparison:
        if row.standard_error is None or row.times_best is None:
            write_stdout(f"{row.name:<18}  {'-':>12}   {'-':>14}   {row.note}")
        else:
            write_stdout(f"{row.name:<18}  {row.standard_error:>12.4g}   {row.times_best:>14.2f}   {row.note}".rstrip())
