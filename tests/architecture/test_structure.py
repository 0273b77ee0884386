"""The structure of the source: nothing is recognised, one plan, one receipt, no circle, no name for two things."""

import ast
from collections.abc import Iterator

import pytest
from tests.architecture import structure

REGISTRY = "mechanisms/mechanism.py: issubclass(kind, AtomicMechanism)"
"""How the registry of mechanisms finds them."""
NAMED_TWICE = {
    "csv": "a format that is read, and one that is written",
}


@pytest.fixture(scope="module")
def trees() -> Iterator[structure.Trees]:
    """Yield the source; it is forgotten after this file, for it is large."""
    yield structure.trees()
    structure.nodes.cache_clear()


def files(**texts: str) -> dict[str, ast.Module]:
    return {path.replace("__", "/") + ".py": ast.parse(text) for path, text in texts.items()}


def test_nobody_asks_a_design_a_mechanism_or_a_product_what_it_is(trees: structure.Trees) -> None:
    assert structure.recognised(trees) == [REGISTRY]


FROM = "from hedgerow.mechanisms.counts import Counts\n"


@pytest.mark.parametrize(
    "text",
    [
        FROM + "isinstance(part, Counts)",
        FROM + "def f(part):\n    assert isinstance(part, (int, Counts))",
        FROM + "issubclass(kind, Counts)",
        FROM + "match part:\n    case Counts():\n        pass",
    ],
)
def test_a_file_that_asks_would_be_seen(text: str) -> None:
    counts = "class Counts:\n    pass"
    assert len(structure.recognised(files(mechanisms__counts=counts, audit__exact=text))) == 1
    assert structure.recognised(files(mechanisms__counts=counts + "\nisinstance(part, Counts)")) == []


def test_files_import_from_one_another_in_no_circle_for_types_neither(trees: structure.Trees) -> None:
    assert structure.circles(structure.imports(trees)) == []


def test_a_circle_would_be_seen() -> None:
    found = files(
        a="from hedgerow.b import x",
        b="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hedgerow.c import y",
        c="def f():\n    from hedgerow import a",
        d="from hedgerow.a import x",
    )
    assert structure.circles(structure.imports(found)) == [["a.py", "b.py", "c.py"]]


def test_one_place_makes_a_receipt(trees: structure.Trees) -> None:
    assert structure.calling(trees, "Receipt") == ["release/spend.py"]


def test_one_class_computes_intervals_and_three_results_hand_them_on(trees: structure.Trees) -> None:
    assert structure.takes_level(trees) == [
        "inference/estimates_of_cells.py: Cells",
        "inference/region.py: Region",
        "release/bootstrap_dp/bootstrap_product.py: CustodianFigures",
        "tables/protected.py: ProtectedTable",
    ]


def test_there_is_one_plan(trees: structure.Trees) -> None:
    assert [path for path in structure.plans(trees) if "testset" not in path] == ["release/plan.py: Plan"]


def test_a_folder_shows_its_plan_at_one_look(trees: structure.Trees) -> None:
    assert max(structure.beside(trees).values()) <= 17


def test_few_names_mean_two_things(trees: structure.Trees) -> None:
    classes, modules = structure.named_twice(trees)
    assert set(classes) == set() and set(modules) == set(NAMED_TWICE)
    seen, also = structure.named_twice(files(a__plan="class Plan: ...", b__plan="class Plan: ..."))
    assert (list(seen), list(also)) == (["Plan"], ["plan"])
