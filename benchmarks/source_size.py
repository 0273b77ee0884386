"""Size and structure of the source: files, lines of code, who recognises whom, names used twice, import circles.

    python -m benchmarks.source_size [--functions] [--list]

A line of code is a line that holds a token of code. Docstrings, comments, blank lines and the file that ``make
generate`` writes do not count. Functions of the command line are left out of the figure of functions: their parameters
are its options. ``--functions`` names the others, ``--list`` names what the figures of the structure count.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from pathlib import Path

from tests.architecture import structure

SOURCE = Path(__file__).resolve().parents[1] / "src" / "hedgerow"
MOST_PARAMETERS = 6
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(path: Path) -> int:
    """Return how many lines of a file hold code."""
    with path.open("rb") as stream:
        tokens = [token for token in tokenize.tokenize(stream.readline) if token.type not in LAYOUT]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def long_signatures(path: Path) -> list[str]:
    """Return the functions of a file with more than `MOST_PARAMETERS` parameters, self left out."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            count = len([name for name in names if name not in ("self", "cls")])
            if count > MOST_PARAMETERS:
                found.append(f"{count:3d}  {path.relative_to(SOURCE)}: {node.name}")
    return found


def main(arguments: list[str]) -> None:
    """Print the figures."""
    files = sorted(set(SOURCE.rglob("*.py")) - {structure.SHORTHANDS})
    trees = structure.trees()
    (folder, most), *_ = structure.beside(trees).most_common(1)
    signatures = [line for path in files if path.parts[-2] not in ("cli", "verbs") for line in long_signatures(path)]
    print(f"files                                      {len(files):7,}")
    print(f"lines of code                              {sum(map(code_lines, files)):7,}")
    print(f"most files beside each other               {most:7,}  in {folder}")
    print(f"functions with more than {MOST_PARAMETERS} parameters       {len(signatures):7,}")
    classes, modules = structure.named_twice(trees)
    counted = {
        "designs, mechanisms, products recognised": structure.recognised(trees),
        "classes that compute interval(level)": structure.takes_level(trees),
        "classes named …Plan": structure.plans(trees),
        "files that make a receipt": structure.calling(trees, "Receipt"),
        "import circles, type-only ones included": structure.circles(structure.imports(trees)),
        "class names used twice or more": [f"{name}: {', '.join(paths)}" for name, paths in classes.items()],
        "module names used twice or more": [f"{name}: {', '.join(paths)}" for name, paths in modules.items()],
    }
    for name, listed in counted.items():
        print(f"{name:42s} {len(listed):7,}")
        if "--list" in arguments:
            print(*(f"    {one}" for one in listed), sep="\n")
    if "--functions" in arguments:
        print(*signatures, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
