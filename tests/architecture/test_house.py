"""The house: sizes, names, doors to vendors, public names, codes. (Layers are held by import-linter: `make lint`.)"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.architecture.structure import SHORTHANDS

import hedgerow

SOURCE = Path(hedgerow.__file__).parent
FILES = sorted(set(SOURCE.rglob("*.py")) - {SHORTHANDS})  # that is generated, and read by nobody
ROOT = Path(__file__).parents[2]
TESTS = sorted(path for folder in ("tests", "reproduction") for path in (ROOT / folder).rglob("*.py"))
DOORS = {
    "duckdb": {"engines/files.py"},
    "ibis": {"engines/dialects/ibis_tables.py"},
    "sqlglot": {"engines/dialects/ibis_tables.py"},
    "psycopg": {"engines/databases.py"},
    "pyspark": set(),  # a frame of Spark is asked through its own methods
    "narwhals": {
        f"engines/{name}.py"
        for name in (
            "frames",
            *(f"dialects/{part}" for part in ("checked", "computed", "few_values", "levels", "units")),
        )
    },
    "opendp": {"noise/secure.py"},
    "randomgen": {"noise/secure.py"},
    "dp_accounting": set(),  # an oracle of the tests
    "matplotlib": {
        "plots/curves.py",
        "plots/bars.py",
        "plots/figure.py",
        "plots/heat_map.py",
        "plots/privacy.py",
    },
    "jinja2": {"facts/printed.py"},
    "openpyxl": {"release/publication/formats/xlsx.py"},
    "uncertainties": {"release/ask.py"},
    # The estimator, and what it asks scikit-learn of its two inputs, a base model and labels.
    "sklearn": {f"multicalibration/{name}.py" for name in ("estimator", "base_model")},
    "tqdm": {"progress.py"},
    "typer": {str(path.relative_to(SOURCE)) for path in (SOURCE / "cli").rglob("*.py")},
}


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def typing_only(tree: ast.Module) -> ast.Module:
    """Return the tree without what stands under ``if TYPE_CHECKING``."""

    class Strip(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:  # the name that NodeTransformer calls
            return None if getattr(node.test, "id", "") == "TYPE_CHECKING" else node

    return Strip().visit(tree)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_is_one_idea_of_readable_size(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 600
    assert not re.search(r"(^|_)(utils?|common|helpers?|misc)$", path.stem)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            assert not body or body[-1].end_lineno - body[0].lineno < 60, f"{node.name} is too long"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_each_vendor_has_one_door(path: Path) -> None:
    names = imported(typing_only(ast.parse(path.read_text())))
    here = path.relative_to(SOURCE).as_posix()
    for vendor, doors in DOORS.items():
        assert vendor not in names or here in doors, f"{here} imports {vendor}"


def test_a_second_door_would_be_seen() -> None:
    assert "duckdb" in imported(ast.parse("def f():\n    import duckdb.typing"))


def roads_to_benchmarks(text: str) -> list[str]:
    """Return what imports from benchmarks/, and what adds a folder to the places that are imported from."""
    tree = ast.parse(text)
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sorted(imported(tree) & {"benchmarks"}) + [call for call in calls if call.startswith("sys.path.")]


def test_no_test_imports_a_benchmark() -> None:
    """What both need stands in tests/ or reproduction/, where the tests run it without data."""
    texts = {path: path.read_text(encoding="utf-8") for path in TESTS}
    asked = {path: text for path, text in texts.items() if "benchmarks" in text or "sys.path" in text}
    assert {path: found for path, text in asked.items() if (found := roads_to_benchmarks(text))} == {}


def test_a_test_that_imports_a_benchmark_would_be_seen() -> None:
    assert roads_to_benchmarks("from benchmarks.find import main") == ["benchmarks"]
    assert roads_to_benchmarks("def f():\n    import benchmarks.find") == ["benchmarks"]
    assert roads_to_benchmarks("sys.path.insert(0, str(folder))\nfrom find import main") == ["sys.path.insert"]


def test_importing_hedgerow_loads_no_vendor() -> None:
    heavy = (
        "duckdb narwhals opendp dp_accounting randomgen typer pydantic matplotlib jinja2 scipy pandas polars pyarrow"
    )
    every = "[getattr(hedgerow, name) for name in hedgerow.__all__]"  # a name is imported when it is asked for
    code = f"import sys, hedgerow; {every}; print([v for v in {heavy.split()!r} if v in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


def test_the_library_works_without_any_frame_library(tmp_path: Path) -> None:
    """The core install has none of pandas, polars, pyarrow: block them, and release from a CSV file."""
    (tmp_path / "people.csv").write_text("age,sex\n" + "30,0\n50,1\n" * 200)
    code = f"""
import sys
for name in ("pandas", "polars", "pyarrow"):
    sys.modules[name] = None
import hedgerow as hg
survey = hg.open({str(tmp_path / "people.csv")!r}, relation="replace-one")
release = survey.mean("age", bounds=(0, 100), by={{"sex": [0, 1]}}, epsilon=1.0)
assert len(release) == 2 and release.to_dict()["certificate"]["epsilon"] <= 1
try:
    release.to_frame()
except hg.ParameterError as refused:
    print(refused.code)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "HG208", run.stderr


PUBLIC = {
    "__init__.py",
    "errors.py",
    "mechanisms/mechanism.py",
    "multicalibration/__init__.py",
    "release/bootstrap_dp/__init__.py",
    "reports/__init__.py",
    "testing/published.py",
    "testset/__init__.py",
}


def test_public_names_are_listed_and_exist() -> None:
    """A list of names stands where users import from, and nowhere else: an import says the same inside."""
    for path in FILES:
        text = path.read_text()
        for node in ast.parse(text).body if "__all__" in text else ():
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                break
        else:
            continue
        assert path.relative_to(SOURCE).as_posix() in PUBLIC
        dotted = ".".join(["hedgerow", *path.relative_to(SOURCE).with_suffix("").parts])
        module = __import__(dotted.removesuffix(".__init__"), fromlist=["__all__"])
        assert all(hasattr(module, name) for name in module.__all__), path
    assert set(hedgerow.__all__) <= set(dir(hedgerow))


PRODUCTS = ("survey.py", "tables", "multicalibration", "testset", "find")


def steps_of_spending(text: str) -> list[str]:
    """Return what a product does itself that `release.spend` does: reserve in a ledger, check the facts' budget."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            reserves = called.endswith(".reserve") and not called.startswith("InOpenLedger(")
            if reserves or called.endswith(("check_total", "within_total", "price_is_spent", "InLedger")):
                found.append(called)
        # The budget of the facts is handed on whole: who compares with it prices it himself.
        if isinstance(node, ast.Compare) and re.search(r"facts\.budget\.|total\.(epsilon|delta)", ast.unparse(node)):
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.relative_to(SOURCE).parts[0] in PRODUCTS], ids=lambda p: p.name
)
def test_a_product_spends_through_release_spend_alone(path: Path) -> None:
    assert steps_of_spending(path.read_text()) == []


def test_a_product_that_reserves_by_itself_would_be_seen() -> None:
    assert steps_of_spending("ledger.reserve(price, request_id='a', fingerprint='b')") == ["ledger.reserve"]
    assert steps_of_spending("spend.InLedger(path)") and steps_of_spending("price > facts.budget.epsilon")


def test_no_word_promises_what_cannot_be_promised() -> None:
    banned = re.compile(r"\b(anonymous|anonymised|anonymized|perfectly private|completely safe)\b", re.IGNORECASE)
    for path in [*FILES, *Path(__file__).parents[2].glob("docs/**/*.md"), Path(__file__).parents[2] / "README.md"]:
        if path.name != "language.md":
            assert not banned.search(path.read_text()), path


def test_no_floating_sum_is_asked_of_an_engine() -> None:
    """A float SUM depends on the order of rows; engines count, and only integers are added up."""
    for path in (SOURCE / "engines").rglob("*.py"):
        assert not re.search(r"\.mean\(|\bavg\(|\bstddev\(", path.read_text()), path
