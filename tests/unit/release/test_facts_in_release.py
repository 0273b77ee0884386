"""What a call leaves unsaid comes from the facts, what it says overrides them, and the certificate tells which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.release.designs.joint.joint_statistic import JointStatistic
from hedgerow.release.request import requested
from hedgerow.release.spend import price_together
from hedgerow.statistics.distribution.quantile import Quantile

RNG = np.random.default_rng(4)
PEOPLE = pyarrow.table(
    {
        "age": RNG.integers(18, 95, 600).astype(float),
        "income": RNG.integers(0, 100, 600).astype(float),
        "sex": RNG.integers(0, 2, 600),
    }
)
FACTS = hg.Facts(
    relation="replace-one",
    columns={
        "age": hg.ColumnFacts(bounds=(18, 95), step=1, source="codebook p. 12"),
        "income": hg.ColumnFacts(bounds=(0, 100), missing="error-if-declared-complete"),
        "sex": hg.ColumnFacts(categories=(0, 1), source="codebook p. 3"),
    },
    budget=Budget(2.0, 1e-7),
)


def opened(facts: Any = FACTS, **options: Any) -> hg.Survey:
    return hg.open(PEOPLE, facts, **options)


def test_bounds_step_and_categories_come_from_the_facts() -> None:
    plan = opened().plan([hg.mean("age")], by=["sex"], epsilon=1.0)
    (item,) = plan.items
    assert isinstance(item.design, JointStatistic)
    assert item.design.statistic.grid.as_bounds() == (18, 95) and item.design.statistic.grid.steps == 77
    assert plan.request.by[0].values == (0, 1) and plan.cells == 2
    assert plan.assumptions() == ()


def test_a_certificate_says_which_facts_have_no_source() -> None:
    release = opened().mean("income", epsilon=1.0)
    assert release.certificate is not None
    assert list(release.certificate.assumptions) == [
        "column income holds no missing value, as declared",
        "bounds of column income: no source given",
        "missing policy of column income: no source given",
    ]
    release.certificate.verify()


def test_a_call_overrides_the_facts_and_the_certificate_says_so() -> None:
    survey = opened(relation="add-remove", target="file")
    release = survey.release(
        [hg.mean("income", bounds=(0, 50)), hg.mean("age", bounds=(18, 95), step=1)],
        by={"sex": [0, 1, 2]},
        missing="drop",
        epsilon=1.0,
    )
    assert (release.relation, release.target, len(release)) == ("add-remove", "file", 6)
    assert release.certificate is not None
    assert list(release.certificate.assumptions) == [
        "relation: add-remove in this call, not replace-one as in the facts",
        "target: file in this call, not population as in the facts",
        "bounds of column income: [0, 50] in this call, not [0, 100] as in the facts",
        "categories of column sex: those of this call, not those of the facts",
        "missing policy of column income: drop in this call, not error-if-declared-complete as in the facts",
    ]


def test_without_facts_nothing_is_flagged_and_nothing_is_guessed() -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    release = survey.mean("age", bounds=(0, 100), epsilon=1.0)
    assert release.certificate is not None and release.certificate.assumptions == ()
    assert survey.budget is None
    for asked in (
        hg.mean("age"),
        hg.sum("age"),
        hg.variance("age"),
        hg.quantile("age", 0.5),
        hg.ratio("age", "income"),
    ):
        with pytest.raises(hg.ParameterError, match="HG104"):
            survey.plan([asked], epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="HG111"):
        survey.plan([hg.count()], by=["sex"], epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="HG103"):
        hg.open(PEOPLE, hg.Facts()).count(epsilon=1.0)


@pytest.mark.parametrize("by", [["sex"], "sex", {"sex": None}])
def test_groups_are_named_in_three_ways(by: Any) -> None:
    assert opened().plan([hg.count()], by=by, epsilon=1.0).request.by[0].values == (0, 1)


@pytest.mark.parametrize("by", [[], ["sex", "sex"], ["age"], {}, 3, [None]])
def test_groups_without_categories_are_refused(by: Any) -> None:
    with pytest.raises(hg.ParameterError, match=r"HG111|HG203"):
        opened().plan([hg.count()], by=by, epsilon=1.0)


def test_the_rest_makes_a_cell_where_the_facts_say_so() -> None:
    facts = hg.Facts(
        relation="replace-one", columns={"sex": hg.ColumnFacts(categories=(0,), other=True, source="p. 3")}
    )
    assert opened(facts).plan([hg.count()], by=["sex"], epsilon=1.0).cells == 2
    assert opened(facts).plan([hg.count()], by=["sex"], other=False, epsilon=1.0).cells == 1
    own = opened(facts).plan([hg.count()], by={"sex": [0]}, epsilon=1.0)
    assert own.cells == 1 and "categories of column sex" in own.assumptions()[0]


def test_each_statistic_has_the_policy_of_its_column() -> None:
    plan = opened().plan([hg.mean("age"), hg.mean("income"), hg.count()], epsilon=1.0)
    first, second, _ = (item.design for item in plan.items)
    assert isinstance(first, JointStatistic) and isinstance(second, JointStatistic)
    assert [one.release.design.layout.presence for one in (first, second)] == ["private", "public"]
    assert plan.request.missing == "drop for age, error-if-declared-complete for income"
    assert opened().plan([hg.mean("age"), hg.mean("income")], missing="drop", epsilon=1.0).request.missing == "drop"


def test_two_policies_for_one_statistic_are_refused() -> None:
    with pytest.raises(hg.FactsError, match="HG705"):
        opened().plan([hg.ratio("income", "age")], epsilon=1.0)
    assert opened().plan([hg.ratio("income", "age")], missing="drop", epsilon=1.0).request.missing == "drop"


def test_a_quantile_takes_the_step_of_the_facts_only_where_it_is_coarse() -> None:
    (age,) = opened().plan([hg.quantile("age", 0.5)], epsilon=1.0).request.statistics
    (income,) = opened().plan([hg.quantile("income", 0.5)], epsilon=1.0, missing="drop").request.statistics
    assert isinstance(age, Quantile)
    assert [one.grids[0][1].steps for one in (age, income)] == [77, 64]


def test_a_statistic_under_another_name_is_still_what_it_is() -> None:
    facts = hg.Facts(relation="replace-one", statistics=("mean",), columns=FACTS.columns)
    disguised = hg.bootstrap(lambda t: t["age"], columns={"age": (18, 95)}, name="mean")
    for asked in (disguised, hg.sum("age"), hg.count(), hg.quantile("age", 0.5)):
        with pytest.raises(hg.ForbiddenError, match="HG704"):
            opened(facts).plan([asked], epsilon=1.0)
    assert len(opened(facts).plan([hg.mean("age")], epsilon=1.0).items) == 1


def test_the_budget_bounds_a_single_release_and_its_delta_is_the_default() -> None:
    survey = opened()
    assert survey.budget is not None and (survey.budget.total, survey.budget.spent) == (Budget(2.0, 1e-7), None)
    assert survey.plan([hg.mean("age")], epsilon=1.0).delta == 1e-7
    assert len(survey.mean("age", epsilon=2.0)) == 1
    for options in ({"epsilon": 2.1}, {"epsilon": 2.0, "delta": 1e-5, "noise": "gaussian"}):
        with pytest.raises(hg.BudgetExceeded, match="HG706") as caught:
            survey.mean("age", **options)
        assert caught.value.requested > caught.value.remaining == 2.0


def test_prices_together_are_composed_and_not_added() -> None:
    plans = [opened().plan([hg.mean("age")], epsilon=0.5, noise="gaussian") for _ in range(4)]
    together = price_together(plans, 1e-7)
    assert plans[0].epsilon < together < 4 * plans[0].epsilon
    assert price_together([], 1e-7) == 0.0


def test_the_source_may_come_from_the_facts(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n30\n50\n", encoding="utf-8")
    (tmp_path / "hedgerow.toml").write_text('relation = "replace-one"\n[data]\npath = "people.csv"\n', encoding="utf-8")
    assert hg.open(facts=tmp_path / "hedgerow.toml").n == 2
    with pytest.raises(hg.FactsError, match="HG703"):
        hg.open(facts=hg.Facts(relation="replace-one"))
    with pytest.raises(hg.FactsError, match="HG703"):
        hg.open(relation="replace-one")
    with pytest.raises(hg.DataError, match="HG202"):
        hg.open(facts=hg.Facts.from_dict({"relation": "replace-one", "data": {"path": "s3://bucket/people.csv"}}))


def test_requests_of_the_facts_say_what_a_call_says() -> None:
    asked = [
        {"statistic": "mean", "column": "age"},
        {"statistic": "sum", "column": "age", "bounds": [0, 10], "step": 1},
        {"statistic": "proportion", "column": "sex", "value": 1},
        {"statistic": "quantile", "column": "age", "probability": 0.5},
        {"statistic": "ratio", "column": "age", "denominator": "income"},
        {"statistic": "variance", "column": "age"},
        {"statistic": "count"},
    ]
    (one,) = requested(hg.Facts.from_dict({"release": [{"statistics": asked, "by": ["sex"], "epsilon": 1}]}))
    assert one.name == "release 1" and one.options == {"by": ["sex"], "epsilon": 1}
    assert [each.kind for each in one.statistics] == [given["statistic"] for given in asked]
    assert len(opened().plan(one.statistics, missing="drop", **one.options).items) == 7


@pytest.mark.parametrize(
    "asked",
    [
        {"statistic": "mean"},
        {"statistic": "count", "column": "age"},
        {"statistic": "proportion", "column": "sex"},
        {"statistic": "quantile", "column": "age"},
        {"statistic": "ratio", "column": "age"},
        {"statistic": "mean", "column": "age", "probability": 0.5},
        {"statistic": "bootstrap", "column": "age"},
    ],
)
def test_a_request_that_lacks_something_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(hg.FactsError, match=r"HG702.*release\[1\]\.statistics\[1\]"):
        requested(hg.Facts.from_dict({"release": [{"statistics": [asked], "epsilon": 1}]}))


def test_a_budget_that_no_ledger_keeps_is_said_to_be_uncounted(tmp_path: Path) -> None:
    said = "No ledger counts this price against the budget of the facts"
    release = opened().mean("age", epsilon=0.5)
    assert [note for note in release.notes if note.startswith(said)] and said in str(release)
    assert not opened(hg.Facts(relation="replace-one", columns=FACTS.columns)).mean("age", epsilon=0.5).notes
    path = tmp_path / "a.ledger"
    Ledger.create(path, dataset="d", budget=Budget(2.0, 1e-7), relation="replace-one", unit="row").close()
    assert not opened(ledger=path).mean("age", epsilon=0.5).notes
