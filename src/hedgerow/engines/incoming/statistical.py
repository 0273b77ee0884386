"""Files of Stata and SPSS, read by pyreadstat: each cell by itself, so that no cell decides whether a file is read.

pyreadstat refuses a whole file for one date that Python cannot hold, or for one text that is not in the encoding of the
file. So pyreadstat leaves dates as numbers and texts as bytes; both are converted here.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

READERS = {".dta": "read_dta", ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por"}
# In this encoding each byte is the character of the same number.
_BYTES = "ISO-8859-1"
_DAY = 86_400_000_000  # microseconds


class Moments(NamedTuple):
    """How a column counts time: in days or parts of a day since an origin."""

    kind: Literal["date", "moment", "time"]
    units_per_day: int
    origin: str


_STATA_DAYS, _STATA_MILLISECONDS = (1, "1960-01-01"), (86_400_000, "1960-01-01")
_STATA = {
    **dict.fromkeys(("%td", "%d", "%tdD_m_Y", "%tdCCYY-NN-DD"), Moments("date", *_STATA_DAYS)),
    **dict.fromkeys(("%tc", "%tC"), Moments("moment", *_STATA_MILLISECONDS)),
    **dict.fromkeys(("%tcHH:MM:SS", "%tcHH:MM"), Moments("time", *_STATA_MILLISECONDS)),
}
_SPSS_SECONDS = (86_400, "1582-10-14")
_SPSS = {
    **dict.fromkeys(("DATE", "ADATE", "EDATE", "JDATE", "SDATE"), Moments("date", *_SPSS_SECONDS)),
    **dict.fromkeys(("DATETIME", "YMDHMS"), Moments("moment", *_SPSS_SECONDS)),
    **dict.fromkeys(("TIME", "DTIME"), Moments("time", *_SPSS_SECONDS)),
}


def rows(path: str, suffix: str) -> Iterator[Sequence[Any]]:
    """Yield the names of the columns, then the cells of each record: numbers, texts, and None where one is missing.

    Dates, moments and times are texts of ISO 8601. The time units of Stata besides days and milliseconds (``%tw``,
    ``%tm``, …) stay numbers.
    """
    read = partial(
        getattr(import_module("pyreadstat"), READERS[suffix]), output_format="dict", disable_datetime_conversion=True
    )
    _, facts = read(path, metadataonly=True)
    decoder = _decoder(_encoding_of_stata(path) if suffix == ".dta" else facts.file_encoding)
    columns, _ = read(path, encoding=_BYTES) if decoder else read(path)
    yield facts.column_names
    yield from zip(
        *(
            moments_as_texts(column, moments)
            if (moments := moments_of(suffix, facts.original_variable_types[name]))
            # A long text (strL) has no width: pyreadstat takes it for UTF-8, whatever the encoding.
            else _decoded(column, decoder if facts.variable_storage_width[name] else None)
            for name, column in zip(facts.column_names, columns.values(), strict=True)
        ),
        strict=True,
    )


class DeclaredColumn(NamedTuple):
    """What the head of a file declares about a column: its kind, and the label of each labelled code.

    Like the names of columns, both are the same in all files that differ by a record: they are public.
    """

    kind: Literal["number", "text", "date"]
    labels: Mapping[str | float, str]


def declared_columns(path: str, suffix: str) -> dict[str, DeclaredColumn]:
    """Return what the head of a file declares, by column; no cell is read."""
    _, facts = getattr(import_module("pyreadstat"), READERS[suffix])(path, metadataonly=True)
    declared = {}
    for name in facts.column_names:
        moments = moments_of(suffix, facts.original_variable_types[name])
        kind: Literal["number", "text", "date"] = "number"
        if moments is not None:
            kind = "text" if moments.kind == "time" else "date"
        elif facts.readstat_variable_types[name] == "string":
            kind = "text"
        declared[name] = DeclaredColumn(kind, facts.variable_value_labels.get(name, {}))
    return declared


def _decoded(column: Sequence[Any], decoder: _Decoder | None) -> Sequence[Any]:
    if decoder is None:
        return column
    return [decoder.decode(cell.encode(_BYTES)) if isinstance(cell, str) else cell for cell in column]


def moments_of(suffix: str, form: str | None) -> Moments | None:
    """Return how a column of this display format counts time, None for any other column.

    >>> moments_of(".dta", "%td").kind, moments_of(".sav", "DATETIME20").kind, moments_of(".sav", "F8.2")
    ('date', 'moment', None)
    """
    if suffix == ".dta":
        return _STATA.get(form or "")
    name = re.fullmatch(r"([A-Z]+)\d*(?:\.\d+)?", form or "")
    return _SPSS.get(name[1]) if name else None


def moments_as_texts(column: Sequence[float | None], moments: Moments) -> list[str | None]:
    """Return ISO 8601 texts of a column of times, None for a time outside the years 1 to 9999.

    >>> moments_as_texts([21915.0, None, 1e18, -1e18], moments_of(".dta", "%td"))
    ['2020-01-01', None, None, None]
    >>> moments_as_texts([13797253800.5, 0], moments_of(".sav", "DATETIME20"))
    ['2020-01-01T10:30:00.500000', '1582-10-14T00:00:00']
    """
    units = np.array([np.nan if cell is None else cell for cell in column], dtype=float)
    origin = np.datetime64(moments.origin, "D")
    with np.errstate(invalid="ignore"):
        days = np.floor(units / moments.units_per_day)
        parts = np.rint(np.mod(units, moments.units_per_day) * (_DAY / moments.units_per_day))
        if moments.kind == "time":
            days = np.where(np.isfinite(units), 0.0, np.nan)
        first, last = ((np.datetime64(day, "D") - origin).astype(int) for day in ("0001-01-01", "9999-12-31"))
        present = (days >= first) & (days <= last)
    days, parts = np.where(present, days, 0.0), np.where(present, np.minimum(parts, _DAY - 1), 0.0)
    times = (origin + days.astype("timedelta64[D]")).astype("datetime64[us]") + parts.astype("timedelta64[us]")
    texts = np.datetime_as_string(times, unit="D" if moments.kind == "date" else "s").astype(object)
    if moments.kind != "date":
        fine = parts % 1_000_000 != 0
        texts[fine] = np.datetime_as_string(times[fine], unit="us")
    start = len("0001-01-01T") if moments.kind == "time" else 0
    return [text[start:] if there else None for text, there in zip(texts.tolist(), present.tolist(), strict=True)]


class _Decoder:
    """Decodes one text after another; a character that the width of a column has cut off at the end is left out."""

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def decode(self, text: bytes) -> str:
        self._decoder.reset()
        return self._decoder.decode(text)


def _decoder(encoding: str | None) -> _Decoder | None:
    """Return what decodes texts in an encoding; None where Python does not know its name, and the library decodes."""
    try:
        return _Decoder(encoding or "")
    except LookupError:
        return None


def _encoding_of_stata(path: str) -> str:
    """Return the encoding of the texts of a Stata file, which follows from its version."""
    with Path(path).open("rb") as file:
        release = re.match(rb"<stata_dta><header><release>(\d+)", file.read(64))
    return "utf-8" if release and int(release[1]) >= 118 else "cp1252"
