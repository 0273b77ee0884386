"""The survival curves of a release on its page: a picture of all cells, medians, the log-rank test, and incidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hedgerow.facts.printed import percent, plural
from hedgerow.inference.survival.log_rank import log_rank
from hedgerow.release.readings.survival_curve import SurvivalCurve, curves_of, plot_curves
from hedgerow.release.result import Release
from hedgerow.reports.document import Block, Figure, Items, Section

_DRAWN = 6  # cells of a curve that are drawn


def survival_sections(release: Release, level: float) -> tuple[Section, ...]:
    """Return a section for each table of a survival curve that a release holds.

    >>> import pyarrow, hedgerow as hg
    >>> table = pyarrow.table({"months": [5.0, 14.0, 30.0, 40.0] * 500, "died": [1, 0, 1, 0] * 500})
    >>> survey = hg.open(table, relation="replace-one")
    >>> release = survey.survival("months", "died", at=[12, 36], epsilon=1)
    >>> [section.title for section in survival_sections(release, 0.95)]
    ['Survival of months, died']
    """
    tables: dict[int, list[SurvivalCurve]] = {}
    for curve in curves_of(release):
        tables.setdefault(id(curve.table), []).append(curve)
    return tuple(
        Section(f"survival-{place}", f"Survival of {curves[0].curve.column}", tuple(_blocks(curves, level)))
        for place, curves in enumerate(tables.values())
    )


def _blocks(curves: Sequence[SurvivalCurve], level: float) -> Iterator[Block]:
    """Yield the picture of the curves, what is read from them in sentences, and a picture of competing causes."""
    from hedgerow.plots.figure import as_svg

    first, drawn = curves[0], curves[:_DRAWN]
    without = f"Share without {first.curve.event_in_words}, with {percent(level)} intervals, each by itself"
    many = f" The first {_DRAWN} of {plural(len(curves), 'cell')} are drawn." if len(curves) > _DRAWN else ""
    yield _figure(as_svg(plot_curves(drawn, level=level)), f"{without}; below, the numbers at risk.{many}")
    test = log_rank(first.life)
    yield Items(
        (*(str(curve.median()) for curve in drawn), *(() if test is None else (str(test),))),
        title="Read from the same counts as the estimates above, at no further price",
    )
    for curve in drawn if first.curve.competing else ():
        said = f"Cumulative incidence of each cause{curve.cell_in_words}, with {percent(level)} intervals."
        yield _figure(as_svg(curve.plot_incidence(level=level)), said)


def _figure(svg: str, said: str) -> Figure:
    return Figure(svg=svg, alt=said, caption=said)
