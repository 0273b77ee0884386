"""README and docs: every snippet runs, every file named exists, versions agree."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import hedgerow
from hedgerow.cli.main import app
from hedgerow.cli.verbs.learning import load_registry

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"^\$ (hedgerow (?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


TOCTREE = re.compile(r"^```{toctree}\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")


GENERATED = ROOT / "docs" / "reference" / "generated"


def is_there(target: Path) -> bool:
    """Say whether a file exists, or is a page that the site's build writes for a command or a code of the program."""
    if not target.is_relative_to(GENERATED):
        return target.exists()
    pages = {"commands", "errors"}
    pages |= {f"commands/{name}" for name in typer.main.get_command(app).commands}  # type: ignore[attr-defined]  # a group
    pages |= {f"errors/{code}" for code in load_registry()}
    return target.suffix == ".rst" and target.relative_to(GENERATED).with_suffix("").as_posix() in pages


def linked(page: Path) -> dict[Path, set[str]]:
    """Return the files that a page links to, each with the anchors that are named in it."""
    found: dict[Path, set[str]] = {}
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"^(?!:)(\S+)$", "\n".join(TOCTREE.findall(text)), re.MULTILINE):
        found.update({target.resolve(): set() for target in page.parent.glob(f"{name}.md")})
    for file, anchor in LINK.findall(text):
        target = (page.parent / file).resolve() if file else page
        found.setdefault(target, set()).update({anchor[1:]} if anchor else set())
    return found


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    heads = [head.replace("`", "").strip().lower() for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", head).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, named in linked(page).items():
        assert is_there(target), f"{page.name} links to {target}"
        if target.suffix == ".md":
            assert named <= anchors(target), f"{page.name} links into {target.name}"


def test_every_page_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            ahead += [target for target in linked(page) if target.suffix == ".md"]
    assert {page.name for page in PAGES if page not in reached} == set()


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(page.read_text()) if kind == language]


@pytest.fixture
def survey_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder in which the demo has run, as a newcomer has it."""
    from hedgerow.demo import draw_survey

    (tmp_path / "hedgerow-demo").mkdir()
    (tmp_path / "hedgerow-demo" / "survey.csv").write_text(draw_survey().to_csv())
    monkeypatch.chdir(tmp_path)
    return tmp_path


RUN_HERE = [p for p in PAGES if p.parent.name != "extending"]  # test_extending.py runs these in a copy of the package


@pytest.mark.parametrize("page", [p for p in RUN_HERE if blocks(p, "python")], ids=lambda p: p.name)
def test_python_snippets_run(page: Path, survey_folder: Path) -> None:
    namespace: dict[str, object] = {}
    for snippet in blocks(page, "python"):
        exec(compile(snippet, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "console")], ids=lambda p: p.name)
def test_shell_snippets_run(page: Path, survey_folder: Path) -> None:
    """Run each `$ hedgerow …` line and compare the words of its output, numbers aside: the noise is fresh each time."""
    program = Path(sys.executable).with_name("hedgerow")
    for snippet in blocks(page, "console"):
        for command, shown in COMMAND.findall(snippet):
            words = shlex.split(command.replace("\\\n", " "))[1:]
            if page.name == "README.md":
                run = subprocess.run([program, *words], capture_output=True, text=True, check=False)
                ended, said, told = run.returncode, run.stdout, run.stderr
            else:
                result = CliRunner().invoke(app, words)
                ended, said, told = result.exit_code, result.stdout, result.stderr
            assert ended == 0, told
            assert skeleton(said) == skeleton(shown), command


def skeleton(text: str) -> list[str]:
    """Return the words of an output without its numbers and spacing."""
    return re.findall(r"[A-Za-z_]{2,}", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert is_there((page.parent / target).resolve()), target


def test_a_link_to_a_page_that_no_build_writes_is_found() -> None:
    assert is_there(GENERATED / "errors" / "HG101.rst") and is_there(GENERATED / "commands" / "ols.rst")
    assert not is_there(GENERATED / "errors" / "HG999.rst") and not is_there(GENERATED / "ols.rst")


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text and "make test" in text and "pip install ." in text


def test_versions_agree() -> None:
    assert f"## {hedgerow.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_map_names_every_folder_of_the_package() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    folders = {path.name for path in (ROOT / "src" / "hedgerow").iterdir() if (path / "__init__.py").is_file()}
    for folder in folders:
        assert re.search(rf"`{folder}/?`", text), folder
