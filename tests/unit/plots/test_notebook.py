"""What ``plot`` draws is shown by a notebook, once, and is the caller's alone everywhere else."""

from __future__ import annotations

import ast
import base64
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import matplotlib.style
import pyarrow
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import hedgerow as hg
from hedgerow.reports import report_html

SOURCE = Path(hg.__file__).parent
PEOPLE = pyarrow.table({"age": [30.0, 50.0] * 300, "sex": [0, 1] * 300})


def release() -> hg.Release:
    return hg.open(PEOPLE, relation="replace-one").release([hg.mean("age", bounds=(0, 100))], epsilon=1.0)


def table() -> Any:
    return hg.open(PEOPLE, relation="replace-one").contingency_table(by={"sex": [0, 1]}, epsilon=1.0)


def bars() -> Any:
    made = table()
    return SimpleNamespace(plot=lambda *given: made.plot(*given, kind="bar"))


RESULTS = [release, table, bars]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A session that has imported IPython and runs in a kernel of it."""
    pyplot.switch_backend("agg")
    ipython = ModuleType("IPython")
    events = SimpleNamespace(register=lambda *_: None)
    session = SimpleNamespace(kernel=object(), events=events)
    ipython.version_info, ipython.get_ipython = (9, 0), lambda: session
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    yield
    pyplot.close("all")


def shown() -> list[Figure]:
    """Return the figures that a kernel shows at the end of a cell."""
    return [pyplot.figure(number) for number in pyplot.get_fignums()]


@pytest.mark.parametrize("make", RESULTS)
def test_a_notebook_shows_the_figure_of_the_axes(make: Callable[[], Any], kernel: None) -> None:
    axes = make().plot()
    assert shown() == [axes.figure]


@pytest.mark.parametrize("make", RESULTS)
def test_elsewhere_the_axes_are_all_there_is(make: Callable[[], Any]) -> None:
    assert make().plot().figure is not None
    assert shown() == []


def test_a_terminal_of_ipython_is_no_notebook(monkeypatch: pytest.MonkeyPatch, kernel: None) -> None:
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())
    release().plot()
    assert shown() == []


def test_the_kernel_s_settings_are_made_before_a_style_that_is_put_back(tmp_path: Path) -> None:
    """Loading a backend turns a kernel's display on; inside a style it would be turned off again."""
    backend = """
import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas
matplotlib.interactive(True)
"""
    probe = """
import sys, types, matplotlib
from hedgerow.plots.bars import draw_error_bars
from hedgerow.plots.figure import shown_in_notebook
ipython = sys.modules["IPython"] = types.ModuleType("IPython")
session = types.SimpleNamespace(kernel=1, events=types.SimpleNamespace(register=lambda *_: None))
ipython.get_ipython, ipython.version_info = lambda: session, (9, 0)
with shown_in_notebook():
    draw_error_bars([], level=0.95)
assert matplotlib.is_interactive()
"""
    (tmp_path / "of_a_kernel.py").write_text(backend, encoding="utf-8")
    found = {"MPLBACKEND": "module://of_a_kernel", "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    subprocess.run([sys.executable, "-c", probe], check=True, timeout=120, env=os.environ | found)


def test_axes_of_the_reader_s_own_and_pages_open_no_figure(kernel: None) -> None:
    made = release()
    own = Figure().add_subplot()
    assert made.plot(own) is own
    assert "<svg" in report_html(made)
    assert shown() == []


def test_every_plot_method_draws_where_a_notebook_sees_it() -> None:
    methods = [
        (path, node)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == "plot"
    ]
    assert len(methods) >= 3
    for path, method in methods:
        assert "with shown_in_notebook()" in ast.unparse(method), f"{path}: {method.lineno}"


def of_cells(cells: int) -> hg.Release:
    survey = hg.open(PEOPLE, relation="replace-one")
    return survey.release(hg.mean("age", bounds=(0, 100)), by={"sex": list(range(cells))}, epsilon=1.0)


def fitted(verb: str) -> Any:
    bounds = {"age": (0, 100), "sex": (0, 1)}
    formula = "age ~ sex" if verb == "ols" else "sex ~ age"
    return getattr(hg.open(PEOPLE, relation="replace-one"), verb)(formula, bounds=bounds, epsilon=50.0)


def median() -> hg.Release:
    median = hg.quantile("age", 0.5, bounds=(0, 100), step=1)
    return hg.open(PEOPLE, relation="replace-one").release(median, epsilon=5.0)


CARDS: dict[str, Callable[[], Any]] = {
    "release": release,
    "estimate": lambda: release()[0],
    "a difference": lambda: (made := of_cells(2))[0] - made[1],
    "table": table,
    "ols": lambda: fitted("ols"),
    "logit": lambda: fitted("logit"),
    "distribution": lambda: median().distribution("age"),
    "plan": lambda: hg.open(PEOPLE, relation="replace-one").plan(hg.mean("age", bounds=(0, 100)), epsilon=1.0),
    "plan of ols": lambda: hg.open(PEOPLE, relation="replace-one").plan_ols(
        "age ~ sex", bounds={"age": (0, 100), "sex": (0, 1)}, epsilon=1.0
    ),
}


class Parts(HTMLParser):
    """The elements of a piece of HTML, which must all be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("img", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "path":
            assert self.open.pop() == tag


@pytest.mark.parametrize("name", CARDS)
def test_a_result_is_shown_with_a_picture_that_is_said_in_words(name: str, kernel: None) -> None:
    made = CARDS[name]()
    seen = Parts(made._repr_html_()).seen
    (picture,) = [given for tag, given in seen if tag == "img"]
    kind, data = str(picture["src"]).split(",")
    assert kind == "data:image/png;base64" and base64.b64decode(data)[1:4] == b"PNG"
    assert len(str(picture["alt"])) > 20 and "max-width: 100%" in str(picture["style"])
    assert not {"script", "style", "link"} & {tag for tag, _ in seen}, "nothing runs, and nothing reaches other cells"
    assert not any(key.startswith("on") for _, given in seen for key in given)
    assert shown() == [], "the picture is in the page, not a second one below it"


def test_texts_of_the_data_are_escaped() -> None:
    survey = hg.open(pyarrow.table({"<b>x": [1.0] * 50, "g": ["<script>a"] * 50}), relation="replace-one")
    made = survey.release(hg.mean("<b>x", bounds=(0, 2)), by={"g": ["<script>a"]}, epsilon=5.0)
    for text in (made._repr_html_(), made[0]._repr_html_()):
        assert not {"b", "script"} & {tag for tag, _ in Parts(text).seen} and "&lt;script&gt;a" in text


def test_a_long_release_is_cut_and_says_so() -> None:
    text = of_cells(70)._repr_html_()
    assert text.count("<tr>") == 61 and "10 more lines" in text and "<img" not in text


def test_a_style_of_the_reader_s_own_does_not_darken_the_picture() -> None:
    made = release()
    plain = made._repr_html_()
    with matplotlib.style.context("dark_background"):
        assert made._repr_html_() == plain
        assert matplotlib.rcParams["figure.facecolor"] == "black", "their own style is put back"
