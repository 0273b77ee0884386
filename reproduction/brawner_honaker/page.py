"""One self-contained page of all exhibits: no network, light and dark, readable on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .exhibit import Exhibit

__all__ = ["write_page"]


def write_page(exhibits: Sequence[Exhibit], folder: Path, *, share: float = 1.0) -> Path:
    """Write ``index.html`` into `folder` and return its path; the same exhibits make the same bytes."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    import hedgerow

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    # The drawings are our own SVG; every other text is escaped.
    drawings = {exhibit.key: Markup(exhibit.drawing) for exhibit in exhibits}
    environment.filters["kept"] = lambda text: text.replace(" %", "\u00a0%").replace(" = ", "\u00a0=\u00a0")
    page = environment.get_template("page.html.j2").render(
        exhibits=exhibits, drawings=drawings, version=hedgerow.__version__, share=share
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.html"
    path.write_text(page, encoding="utf-8")
    return path
