"""The first line of a CSV file: the names of its columns and its delimiter, both public."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from hedgerow.engines.incoming.arrivals import unpacked
from hedgerow.engines.reading import SourceFile
from hedgerow.engines.schema import BLANKS, check_names, without_row_names
from hedgerow.errors import DataError

DELIMITERS = (",", ";", "\t", "|")
MAX_BYTES = 2**20
MAX_COLUMNS = 10_000


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """What the first line of a CSV file says; a first name is empty where the names of rows stand."""

    names: tuple[str, ...]
    delimiter: str


def read_header(file: SourceFile) -> CsvHeader:
    r"""Read the first line of a CSV file, UTF-8 with or without a byte-order mark: names and delimiter, both public.

    The delimiter is found in this line alone. Had it been sniffed from the rows, one record could change how every
    other is read.

    Raises
    ------
    DataError
        HG202 the line is no UTF-8 text, too long, or spread over several; HG205 an empty or repeated name; HG206 the
        line is blank; HG207 the file may not be read.

    Examples
    --------
    >>> parsed(b'\xef\xbb\xbf"age, years";sex\r\n', "people.csv")
    CsvHeader(names=('age, years', 'sex'), delimiter=';')
    """
    try:
        with unpacked(file.path, file.packing) as opened:
            start = opened.read(MAX_BYTES + 1)
    except DataError:
        raise
    except Exception:  # each library of packed files has errors of its own
        start = None
    if start is None:
        raise DataError(
            "HG207",
            rule="The source could not be read.",
            finding=f"{file.name!r} {'is damaged, or ends too early' if file.packing else 'may not be read'}.",
            remedy="Pack or copy it again." if file.packing else "Ask its owner.",
        )
    return parsed(start, file.name)


def parsed(start: bytes, name: str) -> CsvHeader:
    """Return the header that the first bytes of the file `name` hold."""
    line = start.replace(b"\r", b"\n").split(b"\n", 1)[0]
    if len(line) > MAX_BYTES:
        raise _unfit(name, "is longer than a megabyte")
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise _unfit(name, "is no UTF-8 text")
    if not text.strip(BLANKS):
        raise DataError(
            "HG206",
            rule="A CSV file begins with its header.",
            finding=f"The first line of {name!r} is blank.",
            remedy="Write the names of the columns into the first line of the file.",
        )
    if text.count('"') % 2:
        raise _unfit(name, "has a quotation mark that does not end in it")
    outside = "".join(text.split('"')[::2])
    # The most frequent one; among equals, and where there is none, the first.
    delimiter = max(DELIMITERS, key=outside.count)
    names = tuple(cell.strip(BLANKS) for cell in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True)))
    if len(names) > MAX_COLUMNS:
        raise _unfit(name, f"names more than {MAX_COLUMNS:,} columns")
    check_names(without_row_names(names))
    return CsvHeader(names, delimiter)


def _unfit(name: str, finding: str) -> DataError:
    return DataError(
        "HG202",
        rule="A CSV file begins with its header: one line of UTF-8 text.",
        finding=f"That of {name!r} {finding}.",
        remedy="Save the file again as CSV in UTF-8.",
    )
