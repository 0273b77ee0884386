"""What a search found as a page: the answer, how it was read off noisy counts, who was protected, and the record."""

from __future__ import annotations

from hedgerow.facts.printed import number, plural
from hedgerow.find.found import Bounds, Categories, Found
from hedgerow.reports.document import Answers, Block, Document, Items, Paragraph, RowGroup, Section, Shown, Table
from hedgerow.reports.html import render
from hedgerow.reports.protection import protection_of
from hedgerow.reports.release_page import price_line, protected_section, record_section

_HOW = {
    Bounds.kind: "How many values lie in each cell of a public grid was counted, noise was added to every count, and "
    "the bounds were read off the noisy counts.",
    Categories.kind: "How often each value occurs was counted, noise was added to every count, and the values whose "
    "noisy counts reach a public threshold were kept.",
}


def found_html(found: Found) -> str:
    """Return the page.

    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> "<h1>Bounds of age" in found_html(survey.find_bounds("age", epsilon=1.0))
    True
    """
    certificate = found.certificate
    curve = certificate.reprice()
    told = protection_of(certificate, curve)
    return render(
        Document(
            title=f"{found.kind.capitalize()} of {found.column}",
            lead=_summary(found),
            opening=(Answers((("What was protected?", (told.who, told.attack, price_line(told))),)),),
            sections=(
                Section("answer", "The answer", _answer(found)),
                protected_section(certificate, curve, told),
                record_section({}, certificate, found.ledger_head),
            ),
            record=found.to_dict(),
        )
    )


def _summary(found: Found) -> str:
    summary = found.summary()
    known = isinstance(found, Bounds) and found.bounds is not None
    return Shown.of(summary, "found.bounds.0", "found.bounds.1") if known else summary


def _answer(found: Found) -> tuple[Block, ...]:
    blocks: list[Block] = [Paragraph(_HOW[found.kind]), Items(found.remarks())]
    if isinstance(found, Categories) and found.values:
        rows = tuple(
            (str(value), Shown.of(number(float(count)), f"found.noisy_counts.{at}"))
            for at, (value, count) in enumerate(zip(found.values, found.counts, strict=True))
        )
        caption = f"{plural(len(rows), 'value')}, with noisy counts."
        blocks.append(Table(caption, (found.column, "noisy count"), (RowGroup(rows),), numeric=True))
    if found.to_toml():
        lines = tuple(found.to_toml().splitlines())
        blocks.append(Items(lines, title="For the facts file"))
    return tuple(blocks)
