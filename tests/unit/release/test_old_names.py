"""`method` is the old name of `estimator`, `noise` and `sensitivity`: it works, warns, and never stands beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.declared import Facts
from hedgerow.release.options import METHODS, PlanOptions, with_estimator
from hedgerow.release.request import requested

TABLE = pa.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500})
AGE = hg.mean("age", bounds=(0, 100), step=1)
COUNT = hg.count()
RATE = hg.variance("age", bounds=(0, 100))
CASES: list[tuple[hg.Survey | Any, str, dict[str, str]]] = [
    (AGE, "auto", {}),
    (AGE, "moments", {"estimator": "moments", "noise": "gaussian"}),
    (AGE, "moments", {"noise": "gaussian"}),
    (AGE, "geometric", {"noise": "laplace"}),
    (AGE, "bootstrap", {"estimator": "bootstrap"}),
    (COUNT, "gaussian", {"noise": "gaussian"}),
    (COUNT, "geometric", {"noise": "geometric"}),
    (COUNT, "bootstrap", {"estimator": "bootstrap", "noise": "gaussian"}),
    (RATE, "bootstrap", {"estimator": "bootstrap", "noise": "gaussian"}),
    (RATE, "moments", {"noise": "gaussian"}),
]


def survey(**options: Any) -> hg.Survey:
    return hg.open(TABLE, **({"relation": "replace-one"} | options))


@pytest.mark.parametrize(("asked", "method", "today"), CASES)
def test_an_old_method_plans_what_the_new_names_do(asked: Any, method: str, today: dict[str, str]) -> None:
    options = {"epsilon": 1.0, "by": {"sex": [0, 1]}}
    with pytest.warns(DeprecationWarning, match="estimator= and noise=") as warned:
        old = survey().plan([asked], method=method, **options)
    assert [one.filename for one in warned] == [__file__]
    new = survey().plan([asked], **options, **today)
    assert old.mechanism == new.mechanism and old.items[0].design.method == new.items[0].design.method


@pytest.mark.parametrize("method", METHODS)
def test_requests_that_the_old_names_could_express_are_written_as_they_were(method: str) -> None:
    """Else a request that is repeated under its id would count as another one, and be paid for again."""
    asked = {"gaussian": COUNT}.get(method, AGE)
    with pytest.warns(DeprecationWarning):
        plan = survey().plan([asked], method=method, epsilon=1.0, by={"sex": [0, 1]})
    assert plan.public_record()["method"] == method and "noise" not in plan.public_record()


def test_what_only_the_new_names_can_say_is_told_apart() -> None:
    plans = [
        survey().plan([AGE], epsilon=1.0, **options)
        for options in ({"noise": "laplace"}, {"estimator": "moments", "noise": "laplace"}, {"estimator": "moments"})
    ]
    assert len({json.dumps(plan.public_record()) for plan in plans}) == 3
    assert plans[0].mechanism == plans[1].mechanism


@pytest.mark.parametrize("name", ["estimator", "noise"])
def test_an_old_name_beside_a_new_one_is_refused(name: str) -> None:
    with pytest.raises(hg.ParameterError, match="HG186"):
        survey().mean("age", bounds=(0, 100), epsilon=1.0, method="geometric", **{name: "auto"})
    with pytest.raises(hg.ParameterError, match="HG186"):
        survey().contingency_table(by={"sex": [0, 1]}, epsilon=1.0, method="auto", sensitivity="auto")


def test_a_table_takes_the_old_name_too() -> None:
    options: dict[str, Any] = {"by": {"sex": [0, 1]}, "epsilon": 1.0, "noise": "geometric"}
    with pytest.warns(DeprecationWarning, match="sensitivity="):
        table = survey().contingency_table(**options, method="whole-table")
    assert table.option == "whole-table" and table.method == "geometric"
    assert "method" not in PlanOptions.__annotations__


def test_a_laplace_bootstrap_is_refused() -> None:
    for asked in (AGE, RATE):
        with pytest.raises(hg.ParameterError, match="HG108"):
            survey().release([asked], epsilon=1.0, estimator="bootstrap", noise="laplace")


def test_estimator_moments_at_delta_0_takes_laplace_noise() -> None:
    pure = survey().plan([AGE], epsilon=1.0, delta=0, estimator="moments")
    assert pure.delta == 0.0 and pure.items[0].mechanism.noise_law.name == "laplace"


def test_the_facts_file_reads_both_names() -> None:
    one = {"statistics": [{"statistic": "count"}], "epsilon": 1}
    listed = requested(Facts.from_dict({"release": [one | {"method": "geometric"}, one | {"noise": "laplace"}]}))
    assert listed[0].options == listed[1].options == {"epsilon": 1, "noise": "laplace"}
    with pytest.raises(hg.ParameterError, match="HG186"):
        requested(Facts.from_dict({"release": [one | {"method": "moments", "estimator": "moments"}]}))


def test_the_shell_says_the_new_name_on_standard_error_alone(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(TABLE, tmp_path / "t.csv")
    start = [
        "release",
        str(tmp_path / "t.csv"),
        "--relation",
        "replace-one",
        "--count",
        "--by",
        "sex=0,1",
        "--epsilon",
        "1",
    ]
    told = CliRunner().invoke(app, [*start, "--method", "geometric", "--json"])
    assert told.exit_code == 0 and "--estimator and --noise" in told.stderr
    assert json.loads(told.stdout)["estimates"][0]["method"] == "geometric" and "old name" not in told.stdout
    table = ["table", *start[1:4], "--total", "age:0:100:1", "--by", "sex=0,1", "--epsilon", "1"]
    assert "--sensitivity" in CliRunner().invoke(app, [*table, "--method", "whole-table"]).stderr
    assert CliRunner().invoke(app, [*start, "--method", "moments", "--noise", "laplace"]).exit_code == 2


def test_an_unknown_method_is_left_to_the_refusal() -> None:
    assert with_estimator({"method": ["auto"]}) == {"estimator": ["auto"]}


def test_the_old_gaussian_is_refused_in_the_words_that_were_used() -> None:
    for asked, options in ((AGE, {}), (RATE, {}), (COUNT, {"unit": ("sex", 2)})):
        with pytest.raises(hg.ParameterError) as refused, pytest.warns(DeprecationWarning):
            survey(**options).plan([asked], epsilon=1.0, method="gaussian")
        assert refused.value.code == "HG108" and 'method="gaussian" does not serve' in refused.value.finding
    with pytest.raises(hg.ParameterError, match="HG108"):
        survey().plan([COUNT], epsilon=1.0, estimator="plain")
