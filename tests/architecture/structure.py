"""The structure of the source, read from its text: who recognises whom, which names are used twice, import circles."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "hedgerow"
SHORTHANDS = SOURCE / "shorthands.py"
"""The file that ``make generate`` writes: its size is nobody's."""
RECOGNISED = ("mechanisms", "release/designs", "testset/mechanisms", "multicalibration/mechanisms")
"""The folders of mechanisms and designs: their classes are asked, never recognised. Products have these methods."""
_NONE = {"mechanisms/certificate.py"}
_PRODUCT = {"price", "request", "reading", "draw", "read", "write", "from_record"}

Trees = Mapping[str, ast.Module]


def trees() -> Trees:
    """Return the files of the library by their paths below src/hedgerow."""
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


def beside(trees: Trees) -> Counter[Path]:
    """Return how many files lie beside each other in each folder."""
    return Counter(Path(path).parent for path in trees if Path(path).name != "__init__.py")


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes of a file; `nodes.cache_clear` forgets them."""
    return list(ast.walk(tree))


def classes(tree: ast.Module) -> list[ast.ClassDef]:
    """Return the classes of a file."""
    return [node for node in nodes(tree) if isinstance(node, ast.ClassDef)]


def methods(node: ast.ClassDef) -> set[str]:
    """Return the methods and fields of a class."""
    named = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    return named | {one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and hasattr(one.target, "id")}


def asked_classes(files: Trees) -> dict[str, set[str]]:
    """Return the classes of designs, mechanisms and products, each with the files that define the name."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, tree in files.items():
        for node in classes(tree):
            if (path.startswith(RECOGNISED) and path not in _NONE) or methods(node) >= _PRODUCT:
                found[node.name].add(path)
    return found


def _names(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def recognised(files: Trees) -> list[str]:
    """Return where a file asks an object whether it is a design, mechanism or product that another file defines."""
    asked, found = asked_classes(files), []
    for path, tree in files.items():
        come_from = {
            one.name: node.module or ""
            for node in nodes(tree)
            if isinstance(node, ast.ImportFrom)
            for one in node.names
        }
        for node in nodes(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                named = set(_names(node.args[1]))
            elif isinstance(node, ast.MatchClass):
                named = set(_names(node.cls))
            else:
                continue
            others = {name for name in named & set(come_from) if name in asked and path not in asked[name]}
            # A class of another folder may have the name: where it is imported from tells.
            homes = {
                f"hedgerow.{home.removesuffix('.py').replace('/', '.')}" for name in others for home in asked[name]
            }
            if any(come_from[name] in homes for name in others):
                found.append(f"{path}: {ast.unparse(node)}")
    return found


def named_twice(files: Trees) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the names that several classes have, and those that several modules have, with their files."""
    by_class: dict[str, list[str]] = defaultdict(list)
    by_module: dict[str, list[str]] = defaultdict(list)
    for path, tree in files.items():
        if not path.endswith(("__init__.py", "__main__.py")):
            by_module[Path(path).stem].append(path)
        for node in classes(tree):
            by_class[node.name].append(path)
    both = by_class, by_module
    first, second = ({name: paths for name, paths in sorted(one.items()) if len(paths) > 1} for one in both)
    return first, second


def imports(files: Trees) -> dict[str, set[str]]:
    """Return the files that each file imports from, also within functions and for types alone."""
    path_of = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in files}
    found: dict[str, set[str]] = {}
    for path, tree in files.items():
        named = set()
        for node in nodes(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hedgerow."):
                module = node.module.removeprefix("hedgerow.")
                named |= {f"{module}.{one.name}" if f"{module}.{one.name}" in path_of else module for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module == "hedgerow":
                named |= {one.name for one in node.names}
        found[path] = {path_of[name] for name in named if name in path_of} - {path}
    return found


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of files that import from one another in a circle, sorted."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen, waiting = set[str](), list(graph[start])
        while waiting:
            if (path := waiting.pop()) not in seen:
                seen.add(path)
                waiting += graph.get(path, ())
        reached[start] = seen
    groups = {tuple(sorted({a, *(b for b in reached[a] if a in reached.get(b, ()))})) for a in graph}
    return sorted(list(group) for group in groups if len(group) > 1)


def having(files: Trees, method: str) -> list[str]:
    """Return the classes that define a method, protocols left out."""
    return [
        f"{path}: {node.name}"
        for path, tree in files.items()
        for node in classes(tree)
        if method in methods(node) and not any("Protocol" in ast.unparse(base) for base in node.bases)
    ]


def takes_level(files: Trees) -> list[str]:
    """Return the classes that compute an interval at a level, protocols left out."""
    found = []
    for path, tree in files.items():
        for node in classes(tree):
            if any("Protocol" in ast.unparse(base) for base in node.bases):
                continue
            for one in node.body:
                named = isinstance(one, ast.FunctionDef) and one.name == "interval"
                if named and "level" in [argument.arg for argument in (*one.args.posonlyargs, *one.args.args)]:
                    found.append(f"{path}: {node.name}")
    return found


def calling(files: Trees, name: str) -> list[str]:
    """Return the files that call a function of this name."""
    return [
        path
        for path, tree in files.items()
        if any(isinstance(node, ast.Call) and getattr(node.func, "id", "") == name for node in nodes(tree))
    ]


def plans(files: Trees) -> list[str]:
    """Return the classes whose name ends in Plan."""
    return [
        f"{path}: {node.name}" for path, tree in files.items() for node in classes(tree) if node.name.endswith("Plan")
    ]
