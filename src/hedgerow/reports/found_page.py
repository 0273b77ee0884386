"""What a search found as a page: the answer, how it was read off noisy counts, who was protected, and the record."""

from __future__ import annotations

from hedgerow.facts.printed import number, plural
from hedgerow.find.found import Found
from hedgerow.reports.document import Block, Items, Paragraph, RowGroup, Section, Shown, Table
from hedgerow.reports.release_page import certified_page


def found_html(found: Found) -> str:
    """Return the page.

    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> "<h1>Bounds of age" in found_html(survey.find_bounds("age", epsilon=1.0))
    True
    """
    blocks: list[Block] = [Paragraph(found.how), Items(found.remarks())]
    if found.counted:
        rows = tuple(
            (str(value), Shown.of(number(float(count)), f"found.noisy_counts.{at}"))
            for at, (value, count) in enumerate(found.counted)
        )
        caption = f"{plural(len(rows), 'value')}, with noisy counts."
        blocks.append(Table(caption, (found.column, "noisy count"), (RowGroup(rows),), numeric=True))
    if found.to_toml():
        blocks.append(Items(tuple(found.to_toml().splitlines()), title="For the facts file"))
    return certified_page(
        f"{found.kind.capitalize()} of {found.column}",
        Shown.of(found.summary(), *found.summary_fields) if found.summary_fields else found.summary(),
        Section("answer", "The answer", tuple(blocks)),
        found.certificate,
        found.ledger_head,
        found.to_dict(),
    )
