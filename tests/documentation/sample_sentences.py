"""Draws sentences of the documentation for a reader who judges whether they can be understood.

``python -m tests.documentation.sample_sentences --seed 7`` prints 25 sentences, each with its place: a third from the
pages, a third from messages of errors and their pages, and a third from docstrings that the reference shows. With
``--internal`` docstrings are those of the whole package. A reader who does not know the project says of each sentence
whether it is clear without its context. The aim is 23 of 25.
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
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"“])")
_NAMED = re.compile(r"^(?:\S.*\n-+|(?:\S[^\n]*) : [^\n]*|[\w*, ]+)$", re.MULTILINE)
_LEAST_WORDS, _MOST_WORDS = 5, 60


class Sentence(NamedTuple):
    """A sentence: its kind, the file in which it stands, and its text."""

    kind: str
    place: str
    text: str


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text; a heading, a list of names and a formula have no full stop and are left out."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        plain = re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", " ".join(paragraph.split()))
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
        for sentence in _END.split(plain):
            if sentence.endswith((".", "!", "?")) and _LEAST_WORDS <= len(sentence.split()) <= _MOST_WORDS:
                yield sentence


def of_pages() -> Iterator[Sentence]:
    """Yield the sentences of the prose of all pages, without code, tables and headings."""
    for path in [*(ROOT / name for name in PAGES), *sorted((ROOT / "docs").rglob("*.md"))]:
        if "_build" not in path.parts:
            prose = _LINES.sub("", _BLOCKS.sub("", path.read_text(encoding="utf-8")))
            for text in sentences_of(prose):
                yield Sentence("page", str(path.relative_to(ROOT)), text)


def of_messages() -> Iterator[Sentence]:
    """Yield the sentences of the pages of error codes, and of the fixed parts of messages in the source."""
    codes = tomllib.loads((SOURCE / "error_codes.toml").read_text(encoding="utf-8"))
    for code, page in codes.items():
        for part in ("meaning", "why", "mend"):
            for text in sentences_of(page[part]):
                yield Sentence("message", code, text)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.keyword(arg=name, value=ast.Constant(value=str(fixed))) if name in MESSAGE_PARTS:
                    for text in sentences_of(fixed):
                        yield Sentence("message", str(path.relative_to(ROOT)), text)


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
def all_sentences(internal: bool = False) -> dict[str, list[Sentence]]:
    """Return all sentences by their kind, each text once."""
    found = [*of_pages(), *of_messages(), *of_docstrings(internal)]
    kinds: dict[str, list[Sentence]] = {}
    for sentence in {sentence.text: sentence for sentence in found}.values():
        kinds.setdefault(sentence.kind, []).append(sentence)
    return kinds


def sample(count: int, seed: int, *, internal: bool = False) -> list[Sentence]:
    """Return `count` sentences without replacement, kinds in turn; the same seed and files give the same sentences."""
    rng = random.Random(seed)
    drawn = [rng.sample(sentences, len(sentences)) for sentences in all_sentences(internal).values()]
    return [drawn[place % len(drawn)][place // len(drawn)] for place in range(count)]


def main() -> None:
    """Print a sample."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--internal", action="store_true", help="Docstrings of the whole package.")
    asked = parser.parse_args()
    for number, sentence in enumerate(sample(asked.count, asked.seed, internal=asked.internal), start=1):
        print(f"{number:2d}. {sentence.text}\n    ({sentence.kind}: {sentence.place})")


if __name__ == "__main__":
    main()
