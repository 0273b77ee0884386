"""New figures: shown below the cell of a notebook that asks for one, and registered nowhere otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN: ContextVar[bool] = ContextVar("shown", default=False)


def new_figure(width: float, height: float, *, layout: Any = None) -> Figure:
    """Return an empty white figure; inside `shown_in_notebook` a notebook shows it, else nobody but the caller has it.

    Parameters
    ----------
    width, height : float
        In inches.
    layout : str, optional
        Matplotlib's layout engine.

    Examples
    --------
    >>> new_figure(4.0, 3.0).get_size_inches().tolist()
    [4.0, 3.0]
    """
    options: dict[str, Any] = {"figsize": (width, height), "facecolor": "white", "layout": layout}
    if _SHOWN.get() and _in_notebook():
        # A kernel shows the figures of pyplot at the end of a cell and closes them; those of `Figure` it never sees.
        from matplotlib import pyplot

        return pyplot.figure(**options)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(**options)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def shown_in_notebook() -> Iterator[None]:
    """Let a notebook show the figures that are made inside; elsewhere change nothing.

    A ``plot`` method of a result draws inside it. Pages and files do not: their pictures would be shown a second time.
    """
    if _in_notebook():
        # A backend that is loaded first tells the kernel to show figures, by a setting that it must not make inside a
        # style: that is put back afterwards.
        from matplotlib import get_backend, pyplot

        pyplot.switch_backend(get_backend())
    before = _SHOWN.set(True)
    try:
        yield
    finally:
        _SHOWN.reset(before)


def _in_notebook() -> bool:
    """Return whether this code runs in a kernel of IPython, which must have been imported by then."""
    ipython = sys.modules.get("IPython")
    running = ipython.get_ipython() if ipython is not None else None
    return getattr(running, "kernel", None) is not None
