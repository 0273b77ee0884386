"""The options `estimator` and `noise`: how a request with them is written, and what is refused."""

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
from hedgerow.release.request import requested

TABLE = pa.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500})
AGE = hg.mean("age", bounds=(0, 100), step=1)
COUNT = hg.count()
RATE = hg.variance("age", bounds=(0, 100))


def survey(**options: Any) -> hg.Survey:
    return hg.open(TABLE, **({"relation": "replace-one"} | options))


@pytest.mark.parametrize(
    ("asked", "options", "method"),
    [
        (AGE, {}, "auto"),
        (AGE, {"estimator": "moments", "noise": "gaussian"}, "moments"),
        (AGE, {"estimator": "bootstrap"}, "bootstrap"),
        (AGE, {"noise": "laplace"}, "geometric"),
        (COUNT, {"noise": "gaussian"}, "gaussian"),
    ],
)
def test_a_request_is_written_with_one_word_where_one_word_is_enough(
    asked: Any, options: dict[str, str], method: str
) -> None:
    """Else a request that is repeated under its id would count as another one, and be paid for again."""
    record = survey().plan([asked], epsilon=1.0, by={"sex": [0, 1]}, **options).public_record()
    assert record["method"] == method and "noise" not in record


def test_what_only_the_new_names_can_say_is_told_apart() -> None:
    plans = [
        survey().plan([AGE], epsilon=1.0, **options)
        for options in ({"noise": "laplace"}, {"estimator": "moments", "noise": "laplace"}, {"estimator": "moments"})
    ]
    assert len({json.dumps(plan.public_record()) for plan in plans}) == 3
    assert plans[0].mechanism == plans[1].mechanism


def test_the_name_of_earlier_versions_is_refused_with_the_names_of_today() -> None:
    for call in (survey().plan, survey().release):
        with pytest.raises(hg.UnknownKeywordError, match=r"HG126.*`estimator` or `noise`"):
            call([AGE], epsilon=1.0, method="moments")
    with pytest.raises(hg.UnknownKeywordError, match="`estimator` or `noise`"):
        survey().mean("age", bounds=(0, 100), epsilon=1.0, method="geometric")
    with pytest.raises(hg.UnknownKeywordError, match="`noise` or `sensitivity`"):
        survey().contingency_table(by={"sex": [0, 1]}, epsilon=1.0, method="auto")


def test_a_laplace_bootstrap_is_refused() -> None:
    for asked in (AGE, RATE):
        with pytest.raises(hg.ParameterError, match="HG108"):
            survey().release([asked], epsilon=1.0, estimator="bootstrap", noise="laplace")


def test_estimator_moments_at_delta_0_takes_laplace_noise() -> None:
    pure = survey().plan([AGE], epsilon=1.0, delta=0, estimator="moments")
    assert pure.delta == 0.0 and pure.items[0].mechanism.noise_law.name == "laplace"


def test_the_facts_file_and_the_shell_refuse_the_name_of_earlier_versions(tmp_path: Path) -> None:
    statistics = {"statistics": [{"statistic": "count"}], "epsilon": 1}
    with pytest.raises(hg.FactsError, match="method"):
        Facts.from_dict({"release": [statistics | {"method": "geometric"}]})
    (asked,) = requested(Facts.from_dict({"release": [statistics | {"noise": "laplace"}]}))
    assert asked.options == {"epsilon": 1, "noise": "laplace"}
    pyarrow.csv.write_csv(TABLE, tmp_path / "t.csv")
    common = [str(tmp_path / "t.csv"), "--relation", "replace-one", "--by", "sex=0,1", "--epsilon", "1"]
    for command, names in ((["release", "--count"], "--estimator or --noise"), (["table", "--count"], "--sensitivity")):
        refused = CliRunner().invoke(app, [*command, *common, "--method", "auto"])
        assert refused.exit_code == 2 and names in refused.stderr


def test_an_estimator_that_is_not_known_is_refused() -> None:
    with pytest.raises(hg.ParameterError, match="HG108"):
        survey().plan([COUNT], epsilon=1.0, estimator="plain")
