"""What is written from the registry of statistics: ``python -m tests.generate`` (``make generate``) writes it anew.

These are the exports in ``hedgerow/__init__.py`` and the methods of a survey, which a type checker reads without
running anything, two pages of the reference, and the JSON Schemas of the site. A test compares them
with what is there, so a statistic costs its own file.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from textwrap import indent

from tests.architecture.structure import SHORTHANDS

import hedgerow.errors
from hedgerow.approval.schemas import schemas
from hedgerow.statistics.registry import classes, entries
from hedgerow.statistics.statistic import Statistic

ROOT = Path(__file__).parents[1]
EXPORTS = ROOT / "src" / "hedgerow" / "__init__.py"
REFERENCE = ROOT / "docs" / "reference" / "statistics.md"
PUBLISHED = ROOT / "docs" / "_static" / "schemas"
INTERFACE = ROOT / "docs" / "reference" / "interface.md"
_IMPORT = re.compile(r"^    from hedgerow\.statistics\.\S+ import ([\w, ]+)\n", re.MULTILINE)
_LISTED = re.compile(r"^__all__ = \[\n(.*?)^\]\n", re.MULTILINE | re.DOTALL)
_ELSEWHERE = re.compile(r"(    # Statistics that share a file, or stand in a folder\.\n).*?(?=\})", re.DOTALL)
_SECTION = "(## {}\n\n```{{eval-rst}}\n).*?(```\n)"


def homes() -> dict[str, str]:
    """Return the module of each statistic by its name, in alphabetical order."""
    return {name: entry.ask.__module__ for name, entry in sorted(entries().items())}


def exports(text: str) -> str:
    """Return the text of ``hedgerow/__init__.py`` with all statistics, and no others."""
    before, modules = {name for names in _IMPORT.findall(text) for name in names.split(", ")}, homes()
    together: dict[str, list[str]] = {}
    for name, module in sorted(modules.items(), key=lambda one: one[1]):
        together.setdefault(module, []).append(name)
    lines = [f"    from {module} import {', '.join(names)}\n" for module, names in together.items()]
    first = _IMPORT.search(text)
    assert first is not None  # there are some
    text = text[: first.start()] + "".join(lines) + _IMPORT.sub("", text[first.start() :])
    others = [name for name in re.findall(r'"(\w+)"', _LISTED.findall(text)[0]) if name not in before]
    listed = sorted([*others, *modules], key=lambda name: (not name[0].isupper(), name))
    text = _LISTED.sub("__all__ = [\n" + "".join(f'    "{name}",\n' for name in listed) + "]\n", text)
    shared: dict[str, list[str]] = {}
    for name, module in modules.items():
        if module != f"hedgerow.statistics.{name}":
            shared.setdefault(module, []).append(name)
    apart = "".join(f'    "{" ".join(names)}": "{module}",\n' for module, names in shared.items())
    return _ELSEWHERE.sub(lambda found: found[1] + apart, text)


def section_of(kind: str) -> str:
    """Return the heading under which the reference describes a statistic."""
    made = classes()[kind]
    if made.family in ("counts", "moments"):
        return "Counts, shares, sums and means"
    if made.of_table:
        return "The distribution of a column"
    if made.family == "survival":
        return "Survival"
    return "By bootstrap" if made.powers is Statistic.powers else "Functions of means"


def reference(text: str) -> str:
    """Return the page of the reference with all statistics, each under its heading."""
    kinds: dict[str, list[str]] = {}
    for kind in entries():
        kinds.setdefault(section_of(kind), []).append(f".. autofunction:: hedgerow.{kind}\n")
    for heading, listed in kinds.items():
        body = "\n".join(listed)
        text = re.sub(_SECTION.format(heading), lambda found, b=body: found[1] + b + found[2], text, flags=re.DOTALL)
    return text


_HEAD = '''"""A method of a survey for each statistic. Written by ``make generate`` from the registry; do not edit."""

from __future__ import annotations

import math
{always}

if TYPE_CHECKING:
{imports}


class AsksStatistics:
    """The shorthands of an opened survey: each releases one statistic."""

    def _released(self, asked: AskedFor, options: ReleaseOptions) -> Any:
        raise NotImplementedError
'''
_METHOD = '''
    @overload
    def {name}({plain}**options: Unpack[UngroupedOptions]) -> {alone}: ...
    @overload
    def {name}({plain}{star}by: By, **options: Unpack[UngroupedOptions]) -> Release: ...
    @takes(ReleaseOptions, estimator="auto", noise="auto")
    def {name}({plain}**options: Unpack[ReleaseOptions]) -> Any:
        """Release {about}.

        Shorthand for ``release(hg.{name}(…), …)``.

        Guarantee: everything in the result together is (ε, δ)-differentially private, at the price of its certificate.

        Parameters
        ----------
{parameters}        **options
            The options of `release`: ``by``, ``epsilon``, ``delta``, ``where`` and others.

        Returns
        -------
        ReleasedEstimate or Release
            If one number is released without `by`, the result is a `ReleasedEstimate`. If several numbers are released,
            the result is a `Release`.

        Raises
        ------
        HedgerowError
            The same errors as those of `hedgerow.{name}` and of the method `release`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
{example}
        """
        from {module} import {name}

        return self._released({call}, options)
'''
_ALWAYS = """from typing import TYPE_CHECKING, Any, Unpack, overload

from hedgerow.keywords import takes
from hedgerow.release.options import ReleaseOptions"""


_FOR_TYPES = (
    "from hedgerow.release.options import By, UngroupedOptions",
    "from hedgerow.release.released_estimate import ReleasedEstimate",
    "from hedgerow.release.result import Release",
    "from hedgerow.statistics.statistic import AskedFor",
)


def shorthands(_: str) -> str:
    """Return the file with a method of a survey for each statistic."""
    lines, methods = set(_FOR_TYPES), []
    for name, entry in entries().items():
        source = inspect.getsource(sys.modules[entry.ask.__module__])
        tree = ast.parse(source)
        ask = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name][-1]
        lines |= set(_imports_of(tree, ask, entry.ask.__module__))
        arguments = ast.unparse(ask.args)
        plain = f"self, {arguments}{', ' if arguments else ''}"
        given = [node.arg for node in ask.args.args] + [f"{node.arg}={node.arg}" for node in ask.args.kwonlyargs]
        methods.append(
            _METHOD.format(
                name=name,
                plain=plain,
                star="" if ask.args.kwonlyargs else "*, ",
                alone="Any" if "list[" in ast.unparse(ask.returns or ast.Constant(None)) else "ReleasedEstimate",
                parameters=_parameters(entry.ask.__doc__ or ""),
                example=_example(entry.ask),
                about=entry.about.rstrip(".")[:1].lower() + entry.about.rstrip(".")[1:],
                module=entry.ask.__module__,
                call=f"{name}({', '.join(given)})",
            )
        )
    imports = "\n".join(f"    {line}" for line in sorted(lines - {"import math"}))
    return formatted(_HEAD.format(always=_ALWAYS, imports=imports) + "".join(methods))


_LONG, _NEXT = 70, "\n...     "


def _parameters(docstring: str) -> str:
    """Return the parameters that a docstring describes, indented as in a method."""
    described = re.search(r"Parameters\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", inspect.cleandoc(docstring), re.DOTALL)
    return "" if described is None else indent(described[1], " " * 8) + "\n"


def _example(ask: Callable[..., object]) -> str:
    """Return the example of a statistic's docstring as one of a survey that has its columns."""
    lines, known = [], dict[str, object](vars(sys.modules[ask.__module__]))
    for example in doctest.DocTestParser().get_examples(ask.__doc__ or ""):
        tree = ast.parse(example.source)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        calls = [node for node in calls if ast.unparse(node.func) == ask.__name__]
        if not calls:
            lines.append(f">>> {example.source.strip()}")
            exec(example.source, known)
            continue
        statistics = eval(ast.unparse(calls[0]), known)
        listed = statistics if isinstance(statistics, list) else [statistics]
        table = {str(column): "[20.0, 40.0] * 500" for statistic in listed for column in statistic.columns}
        columns = ", ".join(f'"{column}": {values}' for column, values in table.items()) or '"age": [20.0, 40.0] * 500'
        call = ast.unparse(calls[0]).removesuffix(")").replace("'", '"')
        end = "epsilon=2.0)" if call.endswith("(") else f",{_NEXT if len(call) > _LONG else ' '}epsilon=2.0)"
        opened = [f">>> table = pyarrow.table({{{columns}}})", '>>> survey = hg.open(table, relation="replace-one")']
        return indent("\n".join([*opened, *lines, f">>> len(survey.{call}{end})", str(len(listed))]), " " * 8)
    raise ValueError(f"the docstring of {ask.__name__} has no example")


def _imports_of(tree: ast.Module, ask: ast.FunctionDef, module: str) -> Iterator[str]:
    """Yield the imports that the signature of a function needs."""
    named = {node.id for node in ast.walk(ask.args) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name in named:
                    yield f"from {node.module} import {alias.name}"
        elif isinstance(node, ast.Import):
            yield from (f"import {alias.name}" for alias in node.names if alias.name in named)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in named:
            yield f"from {module} import {node.targets[0].id}"


def formatted(text: str) -> str:
    """Return Python as ruff sorts its imports and formats it."""
    for how in (("check", "--select", "I", "--fix", "--quiet", "--exit-zero"), ("format", "--quiet")):
        command = [sys.executable, "-m", "ruff", *how, "--stdin-filename", str(SHORTHANDS), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def interface(text: str) -> str:
    """Return the page of the interface with all statistics and errors, each name with the summary of its docstring."""
    for heading, names in (("Statistics", list(entries())), ("Errors", hedgerow.errors.__all__)):
        listed = "".join(f"- `hg.{name}`\n" for name in names)
        text = re.sub(rf"(## {heading}\n\n).*?(?=\n## )", rf"\g<1>{listed}", text, flags=re.DOTALL)
    return re.sub(r"^- `hg\.(?!__)([\w.]+)`.*$", _with_summary, text, flags=re.MULTILINE)


def _with_summary(found: re.Match[str]) -> str:
    summary = (inspect.getdoc(resolve_name(f"hedgerow.{found[1]}")) or "").split("\n")[0].removesuffix(".")
    return f"- `hg.{found[1]}`: {summary}"


def schema_of(kind: str) -> Callable[[str], str]:
    """Return what writes the published JSON Schema of a kind of file."""
    return lambda _: json.dumps(schemas()[kind], indent=1) + "\n"


WRITTEN = {INTERFACE: interface, EXPORTS: exports, REFERENCE: reference, SHORTHANDS: shorthands}
WRITTEN |= {PUBLISHED / f"{kind}.json": schema_of(kind) for kind in schemas()}

if __name__ == "__main__":
    for path, write in WRITTEN.items():
        path.parent.mkdir(exist_ok=True)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(write(before), encoding="utf-8")
