"""A document as one HTML file that fetches and runs nothing: styles and pictures inside, the record as JSON.

What is escaped where: texts by jinja2's autoescape, after characters that steer a reader (controls, directions) were
replaced; texts in a picture by its XML writer; the record as JSON in ASCII without ``<``, ``>`` and ``&``, so that no
text in it can end the element it stands in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from hedgerow.facts.printed import printable
from hedgerow.reports.document import Document, Figure
from hedgerow.reports.picture import inline_svg

if TYPE_CHECKING:
    from jinja2 import Environment

_INERT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


def render(document: Document) -> str:
    """Return the page as text, to be written as UTF-8.

    >>> page = render(Document("a < b", "", (), ()))
    >>> "<h1>a &lt; b</h1>" in page, "http:" in page
    (True, False)
    """
    pictures = {
        figure.svg: inline_svg(figure.svg, alt=printable(figure.alt), name=f"picture-{place}")
        for place, figure in enumerate(_figures(document))
    }
    page = _environment().get_template("page.html")
    return str(page.render(document=document, pictures=pictures, record=json_for_script(document.record))) + "\n"


def json_for_script(record: Mapping[str, Any]) -> Any:
    r"""Return JSON that can stand in a script element whatever texts it holds; a parser reads the same record.

    >>> print(json_for_script({"cell": "</script>"}))
    {
      "cell": "\u003c/script\u003e"
    }
    """
    from markupsafe import Markup

    text = json.dumps(record, indent=2, ensure_ascii=True, allow_nan=False)
    return Markup(text.translate(_INERT))  # inert as it stands; escaping it would change the record


def _figures(document: Document) -> list[Figure]:
    blocks = [*document.opening, *(block for section in document.sections for block in section.blocks)]
    return [block for block in blocks if isinstance(block, Figure)]


def _printable(value: Any) -> Any:
    # Markup is a str too, and already what it should be.
    return printable(value) if type(value) is str else value


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("hedgerow.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
