"""Objects in a column: what their own code prints or raises is heard by nobody."""

import pytest

from hedgerow.engines.cells import as_texts


class Loud:
    def __str__(self) -> str:
        print("the label is 0")
        raise KeyboardInterrupt


class Text(str):
    def startswith(self, *_: object) -> bool:
        raise SystemExit("the label is 0")


def test_an_object_can_neither_print_nor_leave(capsys: pytest.CaptureFixture[str]) -> None:
    assert as_texts(["a", Loud(), Text("ü")]) == ["a", None, "ü"]
    assert capsys.readouterr() == ("", "")
