"""A note is printed once, whether the release, its estimates or several cells carry it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow

import hedgerow as hg
from hedgerow.release.publication.text import once, text_table

DATA = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
SURVEY = hg.open(DATA, relation="replace-one")


def test_a_note_that_another_one_holds_is_left_out() -> None:
    assert once(["a.", "a. b.", "c.", "a.", "b."]) == ["a. b.", "c."]
    assert once([]) == []


def test_the_note_of_a_release_is_not_repeated_by_an_estimate() -> None:
    release = SURVEY.release([hg.mean("x", bounds=(0, 3), step=1), hg.count()], by={"z": [0]}, epsilon=9.0)
    assert len(release.notes) == 1
    (note,) = release.notes
    for own in (None, note, f"{note} And more."):
        noted = replace(release, estimates=[replace(estimate, note=own) for estimate in release])
        text = text_table(noted, notes=noted.notes)
        assert text.count(note) == 1
        assert ("And more." in text) == (own is not None and own != note)


def test_the_price_and_the_notes_of_fits_in_cells_are_printed_once() -> None:
    bounds = {"x": (0, 3), "y": (0, 5)}
    fits = SURVEY.ols("y", ["x"], bounds=bounds, by={"z": [0, 1]}, epsilon=9.0)
    lines = fits.summary().splitlines()
    repeated = [line for line in lines if line and "coef" not in line and lines.count(line) > 1]
    # Facts of a fit stand above its coefficients, as statsmodels prints them: a name, a colon and a value.
    assert [line for line in repeated if not line.split("  ")[0].endswith(":")] == []
    assert sum("ε ≤" in line for line in lines) == 1
    assert sum("coef" in line for line in lines) == 2
