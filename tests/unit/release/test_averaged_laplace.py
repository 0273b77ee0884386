"""Releases with averaged Laplace noise: what is asked for, what is certified, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.errors import ParameterError
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.noisy_counts import AveragedLaplaceCounts, AveragedLaplaceNoise
from hedgerow.mechanisms.noisy_moments import AveragedLaplaceMoments
from hedgerow.release.price import price_of
from hedgerow.testing.simulated import Study

TABLE = pa.table({"age": [30.0, 50.0, 70.0, None] * 250, "sex": [0, 1] * 500, "person": list(range(500)) * 2})
AGE = {"bounds": (0, 100), "step": 1}
NOISE: dict[str, Any] = {"noise": "averaged-laplace", "epsilon": 1.0}
BY: dict[str, Any] = {"by": {"sex": [0, 1]}}
RELEASES: dict[str, tuple[hg.Statistic, dict[str, Any], type]] = {
    "count": (hg.count(), BY, AveragedLaplaceCounts),
    "proportion": (hg.proportion("sex", value=1), {}, AveragedLaplaceCounts),
    "mean": (hg.mean("age", **AGE), {}, JointMoments),
    "mean by group": (hg.mean("age", **AGE), BY, JointMoments),
    "sum": (hg.sum("age", **AGE), BY, JointMoments),
}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", RELEASES)
def test_what_is_released_is_certified_and_meets_its_budget(name: str, delta: float, relation: str) -> None:
    statistic, options, kind = RELEASES[name]
    survey = hg.open(TABLE, relation=relation)
    release = survey.release([statistic], delta=delta, n_draws=5, **options, **NOISE)
    certificate = release.certificate
    assert certificate is not None and isinstance(certificate.mechanism, kind) and certificate.mechanism.draws == 5
    assert 0.99 < certificate.epsilon <= 1.0 and certificate.delta == delta
    Certificate.from_json(release.to_json()).verify()
    for estimate in release:
        assert estimate.method == ("moments" if kind is JointMoments else "averaged-laplace")
        interval = estimate.confidence_interval(0.9)
        assert interval.low <= estimate.estimate <= interval.high and interval.method == estimate.method
        wider = estimate.confidence_interval(0.99)
        assert wider.low <= interval.low and interval.high <= wider.high


def test_delta_buys_less_noise_and_more_draws_cost_more_noise_at_a_pure_price() -> None:
    survey = hg.open(TABLE, relation="replace-one")

    def noise(delta: float, draws: int) -> float:
        plan = survey.plan(hg.count(), delta=delta, n_draws=draws, **BY, **NOISE)
        return float(plan.mechanism.noise_sd)

    assert noise(1e-6, 10) < 0.6 * noise(0.0, 10)
    assert noise(0.0, 40) == pytest.approx(2 * noise(0.0, 10), rel=5e-3)
    assert noise(0.0, 1) == pytest.approx(
        survey.plan(hg.count(), noise="laplace", epsilon=1.0, delta=0.0, **BY).mechanism.noise_sd, rel=2e-3
    )


def test_a_plan_forecasts_the_errors_that_come() -> None:
    survey = hg.open(TABLE, relation="replace-one")
    options: dict[str, Any] = {"delta": 0.0, **BY, **NOISE}
    guess = {"age": {"mean": 50, "sd": 16, "missing": 0.25}}
    expected = survey.plan([hg.count()], **options).forecast(guess)[0]
    drawn = Study.of(survey, hg.count(), **options).draw(hg.testing.simulated.SimulatedNoise(1))[0]
    assert drawn.privacy_error == pytest.approx(expected.privacy_error, rel=1e-6)
    mean = survey.plan([hg.mean("age", **AGE)], delta=0.0, **NOISE).forecast(guess)[0]
    assert mean.half_width > 0 and mean.privacy_error > 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"noise": "cauchy"}, "HG185"),
        ({"noise": 3}, "HG185"),
        ({"n_draws": 10}, "HG186"),
        ({"noise": "averaged-laplace", "n_draws": 0}, "HG187"),
        ({"noise": "averaged-laplace", "n_draws": 501}, "HG187"),
        ({"noise": "averaged-laplace", "n_draws": True}, "HG187"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], code: str) -> None:
    survey = hg.open(TABLE, relation="replace-one")
    with pytest.raises(ParameterError, match=code):
        survey.release([hg.count()], epsilon=1.0, **BY, **options)


def test_what_is_resampled_has_another_noise() -> None:
    survey = hg.open(TABLE, relation="replace-one")
    with pytest.raises(ParameterError, match="HG188"):
        survey.release([hg.quantile("age", 0.5, **AGE)], **NOISE)
    people = hg.open(TABLE, relation="add-remove", unit={"column": "person", "max_rows": 2})
    with pytest.raises(ParameterError, match="HG188"):
        people.release([hg.count()], **NOISE)


def test_facts_ask_for_it_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sex\n" + "0\n1\n" * 300, encoding="utf-8")
    (tmp_path / "hedgerow.toml").write_text(
        'relation = "replace-one"\n[data]\npath = "t.csv"\n[columns.sex]\ncategories = [0, 1]\nsource = "codebook"\n'
        '[[release]]\nname = "sexes"\nstatistics = [{statistic = "count"}]\nby = ["sex"]\nepsilon = 0.5\n'
        'noise = "averaged-laplace"\nn_draws = 20\n',
        encoding="utf-8",
    )
    facts = str(tmp_path / "hedgerow.toml")
    ran = CliRunner().invoke(app, ["release", "--facts", facts, "--request", "sexes", "--json"])
    assert ran.exit_code == 0, ran.stderr
    mechanism = json.loads(ran.stdout)["certificate"]["mechanism"]
    assert (mechanism["type"], mechanism["draws"]) == ("averaged-laplace-counts", 20)


def test_the_command_line_asks_for_it_and_prices_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sex\n" + "0\n1\n" * 300, encoding="utf-8")
    options = ["--relation", "replace-one", "--epsilon", "1", "--noise", "averaged-laplace", "--n-draws", "20"]
    for verb in ("release", "plan"):
        ran = CliRunner().invoke(app, [verb, str(tmp_path / "t.csv"), "--count", "--by", "sex=0,1", *options, "--json"])
        assert ran.exit_code == 0, ran.stderr
        assert '"averaged-laplace-counts"' in ran.stdout
    price = ["price", "--mechanism", "averaged-laplace", "--relation", "replace-one", "--json"]
    ran = CliRunner().invoke(app, [*price, "--noise-sd", "4.47213595", "--n-draws", "10", "--delta", "0"])
    assert json.loads(ran.stdout)["epsilon_upper"] == pytest.approx(1.0, rel=1e-6)
    wrong = CliRunner().invoke(app, ["price", "--mechanism", "laplace", "--n-draws", "3", *price[3:], "--epsilon", "1"])
    assert wrong.exit_code == 2 and "HG124" in wrong.stderr


def test_a_price_finds_the_least_noise() -> None:
    priced = price_of("averaged-laplace", relation="add-remove", epsilon=1.0, delta=1e-6, n_draws=10)
    assert isinstance(priced.mechanism, AveragedLaplaceNoise) and 0.999 <= priced.epsilon_upper <= 1.0
    again = price_of("averaged-laplace", relation="add-remove", noise_sd=priced.noise_sd, delta=1e-6, n_draws=10)
    assert again.epsilon_upper == pytest.approx(priced.epsilon_upper, rel=1e-9)
    gaussian = price_of("gaussian", relation="add-remove", epsilon=1.0, delta=1e-6)
    assert priced.noise_sd < 0.8 * gaussian.noise_sd


@pytest.mark.parametrize("margins", [False, True])
def test_tables_take_it_too(margins: bool) -> None:
    survey = hg.open(TABLE, relation="replace-one")
    counts = survey.contingency_table(n_draws=5, margins=margins, **BY, **NOISE)
    totals = survey.magnitude_table("age", n_draws=5, **AGE, **BY, **NOISE)
    kinds = (AveragedLaplaceCounts, AveragedLaplaceMoments)
    for table, kind in zip((counts, totals), kinds, strict=True):
        assert isinstance(table.certificate, Certificate) and isinstance(table.certificate.mechanism, kind)
        table.certificate.verify()
        narrow, wide = (table[0].confidence_interval(level) for level in (0.9, 0.99))
        assert wide.low <= narrow.low < narrow.high <= wide.high
        assert table.accuracy(0.05) > table.accuracy(0.5) > 0.0
    with pytest.raises(ParameterError, match="HG186"):
        survey.contingency_table(n_draws=5, epsilon=1.0, **BY)
