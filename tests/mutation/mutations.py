"""Small faults of a file, made by the operators of Cosmic Ray, and which of them are not worth a run.

An operator replaces one token: `+` by `-`, `<` by `<=`, `and` by `or`, a number by its neighbours, a condition by its
opposite. Three operators are our own: a number of the mathematics 10 % larger or smaller, `max` for `min`, and a call
left out whose value nobody uses. Cosmic Ray would replace each arithmetic sign by the eleven others; we keep the
nearest replacement, because most of the others raise a TypeError, which every test notices.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cosmic_ray.plugins
import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.number_replacer import NumberReplacer
from cosmic_ray.operators.operator import Operator
from parso.python import tree

__all__ = ["FOLDERS", "Mutation", "changed", "files_of", "mutations_of", "sampled"]

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "hedgerow"
# What every promise of the library rests on.
FOLDERS = ("accounting", "mechanisms", "noise", "release/spend", "inference", "ledger")
ARITHMETIC = (
    "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul LShift_RShift RShift_LShift BitOr_BitAnd BitAnd_BitOr"
)
COMPARISONS = "Eq_NotEq NotEq_Eq Lt_LtE LtE_Lt Gt_GtE GtE_Gt Is_IsNot IsNot_Is"
OTHERS = (
    "ReplaceUnaryOperator_Delete_USub ReplaceUnaryOperator_Delete_Not ReplaceUnaryOperator_Delete_Invert AddNot"
    " ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd ReplaceBreakWithContinue"
    " ReplaceContinueWithBreak ExceptionReplacer ZeroIterationForLoop"
)
NEIGHBOURS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
NEIGHBOURS |= {"floor": "ceil", "ceil": "floor"}


def _scaled(node: Any) -> bool:
    """Whether a node is a number with a fraction or an exponent, other than 0."""
    value = ast.literal_eval(node.value) if isinstance(node, tree.Number) else 0
    return isinstance(value, float) and value != 0.0


class WholeNumber(NumberReplacer):
    """Add or subtract 1, where the number counts something, or is 0."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        return iter(()) if _scaled(node) else super().mutation_positions(node)


class ScaledNumber(Operator):
    """Make a number of the mathematics 10 % larger or smaller; adding 1 to it would be noticed by every test."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if _scaled(node):
            yield from [(node.start_pos, node.end_pos)] * 2

    def mutate(self, node: Any, index: int) -> Any:
        node.value = repr(ast.literal_eval(node.value) * (0.9, 1.1)[index])
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class OtherExtreme(Operator):
    """Call `max` where `min` is called, `ceil` where `floor` is called, and so on."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        following = node.get_next_leaf() if isinstance(node, tree.Name) and node.value in NEIGHBOURS else None
        if following is not None and following.value == "(":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.value = NEIGHBOURS[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class NoCall(Operator):
    """Leave out a call whose value nobody uses."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        statement = node.type == "atom_expr" and node.parent.type == "simple_stmt"
        if statement and node.children[-1].type == "trailer" and node.children[-1].children[0].value == "(":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        left_out = parso.parse("pass").children[0]
        left_out.prefix = node.get_first_leaf().prefix
        return left_out

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


@cache
def operators() -> dict[str, Operator]:
    """Return every operator by its name."""
    names = [f"ReplaceBinaryOperator_{pair}" for pair in ARITHMETIC.split()]
    names += [f"ReplaceComparisonOperator_{pair}" for pair in COMPARISONS.split()] + OTHERS.split()
    theirs = {name: cosmic_ray.plugins.get_operator(f"core/{name}")() for name in names}
    return {
        **theirs,
        "WholeNumber": WholeNumber(),
        "ScaledNumber": ScaledNumber(),
        "OtherExtreme": OtherExtreme(),
        "NoCall": NoCall(),
    }


@dataclass(frozen=True)
class Mutation:
    """One fault: the n-th place of an operator in a file, which stands on a line with a text."""

    file: str
    operator: str
    occurrence: int
    line: int
    text: str
    repeated: int

    @property
    def key(self) -> str:
        """What names the fault as long as its line stays as it is, wherever the line moves."""
        return f"{self.file}|{self.operator}|{self.text}|{self.repeated}"

    @property
    def place(self) -> str:
        """Where the fault is: file, line, text."""
        return f"{self.file}:{self.line}: {self.text}"

    def source(self, original: str) -> str:
        """Return the file with the fault in it."""
        return mutate_code(original, operators()[self.operator], self.occurrence)


def changed(before: str, after: str) -> tuple[str, str]:
    """Return the lines that differ, without their indentation: what was there, and what is there now."""
    old, new = before.splitlines(), after.splitlines()
    start = next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    end = next((i for i, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b), 0)
    end = min(end, len(old) - start - 1, len(new) - start - 1)
    sides = (lines[start : len(lines) - end] for lines in (old, new))
    joined = [" ".join(line.strip() for line in side) for side in sides]
    return joined[0], joined[1]


def mutations_of(path: Path) -> list[Mutation]:
    """Return every fault of a file that can change what the file does."""
    source = path.read_text(encoding="utf-8")
    idle, lines, count = _idle(ast.parse(source)), source.splitlines(), Counter[str]()
    parsed = list(ast_nodes(get_ast(source)))
    file, seen, every = path.relative_to(SOURCE).as_posix(), Counter[tuple[str, str]](), []
    for node in parsed:
        # The sign between arguments by place and by name multiplies nothing, but its place counts.
        between = node.type == "operator" and node.parent.type == "parameters"
        for name, operator in operators().items():
            for start, _ in operator.mutation_positions(node):
                text = lines[start[0] - 1].strip()
                if not between and not any(first <= start < last for first, last in idle):
                    every.append(Mutation(file, name, count[name], start[0], text, seen[name, text]))
                    seen[name, text] += 1
                count[name] += 1
    return every


def sampled(folders: tuple[str, ...], count: int, seed: int, only: str = "") -> list[Mutation]:
    """Return faults of folders drawn by a hash, so that a change of one line changes the fate of that line alone."""
    paths = [path for folder in folders for path in files_of(folder)]
    every = [mutation for path in paths for mutation in mutations_of(path) if only in mutation.place]
    return sorted(every, key=lambda one: hashlib.sha256(f"{seed}|{one.key}".encode()).digest())[:count]


def files_of(folder: str) -> list[Path]:
    """Return the files of a folder; the name of a file without its suffix stands for the file."""
    one = (SOURCE / folder).with_suffix(".py")
    return [one] if one.is_file() else sorted((SOURCE / folder).rglob("*.py"))


def _idle(module: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the spans whose faults say nothing: types, decorators, messages of errors, `strict` of zip, and examples.

    The specimens of a mechanism are examples for the tests: other numbers in them are another example.
    """
    spans: list[ast.AST] = []
    for node in ast.walk(module):
        for name in ("annotation", "returns"):
            spans += [part for part in [getattr(node, name, None)] if part is not None]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            spans += [node] if node.name == "specimens" else node.decorator_list
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
            spans.append(node)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            spans.append(node)
        if isinstance(node, ast.keyword) and node.arg == "strict":
            spans.append(node)
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("__all__", "__slots__"):
            spans.append(node)
    return [((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)) for part in spans]  # type: ignore[attr-defined]  # all are read from a text
