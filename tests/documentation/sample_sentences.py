"""Draws sentences of the documentation for a reader who judges whether they can be understood.

``python -m tests.documentation.sample_sentences --seed 7`` prints 25 sentences: a third from the pages, a third from
messages of errors and their pages, and a third from docstrings that the reference shows. With ``--internal`` docstrings
are those of the whole package. Each sentence has its place: the page with its heading, the code with the part of its
page, the rule that stands before a finding or a remedy, or the function with its parameter. A reader who does not know
the project says of each sentence whether it is clear without its context. The aim is 23 of 25.

A step of a derivation is not drawn, because its symbols are defined where the derivation begins: a sentence of a page
of methods that holds a formula, or a symbol other than ε, δ, ρ, μ, n and D. With ``--formulas`` these sentences are
drawn too. A sentence that is interrupted by a displayed formula has two halves, which are no sentences.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import random
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.documentation.test_docstrings import documented, methods_of, named

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hedgerow"
PAGES = ("README.md", "CONTRIBUTING.md", "llms.txt")
MESSAGE_PARTS = ("rule", "finding", "remedy")
_BLOCKS = re.compile(r"^(`{3,}).*?^\1|\A---\n.*?^---$", re.MULTILINE | re.DOTALL)
_LINES = re.compile(r"^\s*(?:\||#|:::|<).*$|^(?: {4}).*$", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)\s+(?=[A-Z`*\"“]|hedgerow )")  # not after an initial, as in J. Doe
_REFERENCE = re.compile(r"^[A-Z][\w’-]+, (?:[A-Z]\. ?)+.*\(\d{4}\)")  # a work that a page cites is no sentence
_BEGIN = re.compile(r"[A-Z0-9`*\"“(Α-Ωα-ω\[{.]|hedgerow |[a-z_]+[=(<]|(?!a )[a-z] |dp|scikit|statsmodels|pandas|git ")
_HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
_RUN_IN = re.compile(r"^(?:\*\*([^*]+?)[.:]?\*\*[.:]? +)(?=[A-Z`])")
_FORMULA = re.compile(  # an operator between symbols; or a symbol apart from ε, δ, ρ, μ, n and the data set D
    r"[∑Σ∏∫≤≥≈√·×²³⁻∈∝′‖|^←→]|\$[^$]+\$|(?<=[\w)]) [=<>+−] (?=[\w(−√])|\w_\w"
    r"|(?<![\w`'’.-])(?:[b-mo-z]|[BCE-MO-Z]|[βγζ-λνξπσ-ω])(?:[\u0302']|[₀-₉])?(?![\w'’.-])"
)
# A heading; or a line that stands above an indented text; or a parameter without a text.
_NAMED = re.compile(r"^(?:\S.*\n-+|\S.*(?=\n {4}\S)|[\w*, ]+ : .*)$", re.MULTILINE)
_LEAST_WORDS, _MOST_WORDS = 5, 60


class Sentence(NamedTuple):
    """A sentence: its kind, the file in which it stands, and its text."""

    kind: str
    place: str
    text: str


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text; a heading, a list of names and a formula have no full stop and are left out."""
    yield from (sentence for _, sentence in _under_run_in_headings(text))


def _under_run_in_headings(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence with the heading in bold type that begins its paragraph, or with an empty text."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        plain = re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", " ".join(paragraph.split()))
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
        heading = match[1] if (match := _RUN_IN.match(plain)) else ""
        for sentence in _END.split(_RUN_IN.sub("", plain)):
            whole = sentence.endswith((".", "!", "?")) and _BEGIN.match(sentence) and not _REFERENCE.match(sentence)
            if whole and _LEAST_WORDS <= len(sentence.split()) <= _MOST_WORDS:
                yield heading, sentence


def has_formula(text: str) -> bool:
    """Return whether a sentence holds a formula, apart from code."""
    return _FORMULA.search(re.sub(r"``.*?``|`[^`]*`", "", text)) is not None


def of_pages(formulas: bool) -> Iterator[Sentence]:
    """Yield the sentences of the prose of all pages, without code and tables, each under its heading."""
    for path in [*(ROOT / name for name in PAGES), *sorted((ROOT / "docs").rglob("*.md"))]:
        if "_build" in path.parts:
            continue
        derives = path.parent.name == "methods" and not formulas
        before, *sections = _HEADING.split(_BLOCKS.sub("", path.read_text(encoding="utf-8")))
        for heading, section in zip(["", *sections[::2]], [before, *sections[1::2]], strict=True):
            for run_in, text in _under_run_in_headings(_LINES.sub("", section)):
                place = [str(path.relative_to(ROOT)), *filter(None, (heading, run_in))]
                if not (derives and has_formula(text)):
                    yield Sentence("page", ", ".join(place), text)


def of_messages() -> Iterator[Sentence]:
    """Yield the sentences of the pages of error codes, and of the fixed parts of messages in the source."""
    codes = tomllib.loads((SOURCE / "error_codes.toml").read_text(encoding="utf-8"))
    for code, page in codes.items():
        for part in ("meaning", "why", "mend"):
            for text in sentences_of(page[part]):
                yield Sentence("message", f"{code}, {part}", text)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                parts = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg in MESSAGE_PARTS}
                for name, part in parts.items():
                    after = f" after: {_as_shown(parts['rule'])}" if name != "rule" and "rule" in parts else ""
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        for text in sentences_of(part.value):
                            yield Sentence("message", f"{path.relative_to(ROOT)}, {name}{after}", text)


def _as_shown(part: ast.expr) -> str:
    """Return a part of a message, with … for what is filled in when it is raised."""
    if isinstance(part, ast.JoinedStr):
        return "".join(piece.value if isinstance(piece, ast.Constant) else "…" for piece in part.values)
    return str(part.value) if isinstance(part, ast.Constant) else "…"


def docstrings(internal: bool) -> Iterator[tuple[str, str]]:
    """Yield (place, docstring): of what the pages of the reference show, or of the whole package."""
    if not internal:
        for path in documented():
            yield path, getattr(named(path), "__doc__", None) or ""
            yield from ((name, function.__doc__ or "") for name, function in methods_of(path) if name != path)
        return
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                yield str(path.relative_to(ROOT)), ast.get_docstring(node) or ""


def of_docstrings(internal: bool) -> Iterator[Sentence]:
    """Yield the sentences of docstrings, without their examples."""
    for place, text in docstrings(internal):
        prose = re.split(r"^(?:>>> |Examples\n-+)", inspect.cleandoc(text), maxsplit=1, flags=re.MULTILINE)[0]
        # The name of a parameter, or of an error, is no part of a sentence: its text is a paragraph of its own, and the
        # name belongs to the place, as the reference shows both together.
        names = ["", *_NAMED.findall(prose)]
        for name, text in zip(names, _NAMED.split(prose), strict=True):
            where = f"{place}, {name}" if name and "\n" not in name else place
            yield from (Sentence("docstring", where, sentence) for sentence in sentences_of(text))


@cache
def all_sentences(internal: bool = False, formulas: bool = False) -> dict[str, list[Sentence]]:
    """Return all sentences by their kind, each text once."""
    found = [*of_pages(formulas), *of_messages(), *of_docstrings(internal)]
    kinds: dict[str, list[Sentence]] = {}
    for sentence in {sentence.text: sentence for sentence in found}.values():
        kinds.setdefault(sentence.kind, []).append(sentence)
    return kinds


def sample(count: int, seed: int, *, internal: bool = False, formulas: bool = False) -> list[Sentence]:
    """Return `count` sentences without replacement, kinds in turn; the same seed and files give the same sentences."""
    rng = random.Random(seed)
    drawn = [rng.sample(sentences, len(sentences)) for sentences in all_sentences(internal, formulas).values()]
    return [drawn[place % len(drawn)][place // len(drawn)] for place in range(count)]


def main() -> None:
    """Print a sample."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--internal", action="store_true", help="Docstrings of the whole package.")
    parser.add_argument("--formulas", action="store_true", help="Draw steps of derivations too.")
    asked = parser.parse_args()
    drawn = sample(asked.count, asked.seed, internal=asked.internal, formulas=asked.formulas)
    for number, sentence in enumerate(drawn, start=1):
        print(f"{number:2d}. {sentence.text}\n    ({sentence.kind}: {sentence.place})")


if __name__ == "__main__":
    main()
