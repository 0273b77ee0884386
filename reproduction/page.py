"""One self-contained page of all exhibits, and each drawing as a PNG: no network, light and dark, fit for a phone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .exhibit import Exhibit

__all__ = ["write_page"]


def write_page(exhibits: Sequence[Exhibit], folder: Path, *, template: Path, share: float = 1.0) -> Path:
    """Write ``index.html`` and one PNG an exhibit into `folder`; return the page's path.

    The same exhibits make the same page, byte by byte.

    Parameters
    ----------
    template : Path
        The paper's folder: its ``page.html.j2`` extends ``exhibits.html.j2`` by a title and an introduction.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    import hedgerow

    environment = Environment(
        loader=FileSystemLoader([template, Path(__file__).parent]), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    # The drawings are our own SVG; every other text is escaped.
    drawings = {exhibit.key: Markup(exhibit.drawing.svg) for exhibit in exhibits if exhibit.drawing is not None}
    environment.filters["kept"] = lambda text: text.replace(" %", "\u00a0%").replace(" = ", "\u00a0=\u00a0")
    page = environment.get_template("page.html.j2").render(
        exhibits=exhibits, drawings=drawings, version=hedgerow.__version__, share=share
    )
    folder.mkdir(parents=True, exist_ok=True)
    for exhibit in exhibits:
        if exhibit.drawing is not None:
            (folder / f"{exhibit.key}.png").write_bytes(exhibit.drawing.png)
    path = folder / "index.html"
    path.write_text(page, encoding="utf-8")
    return path
