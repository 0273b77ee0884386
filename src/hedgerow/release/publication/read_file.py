"""Reading the text of a record's file, plain or packed with gzip."""

from __future__ import annotations

from gzip import GzipFile
from io import BytesIO, TextIOWrapper
from pathlib import Path
from zlib import error as ZlibError

_SIGNATURE = b"\x1f\x8b"


class FileTooLarge(ValueError):
    """The text has more bytes than are read."""


def read_text(path: Path, *, most_bytes: int = -1) -> str:
    """Return the text of a file in UTF-8; a file that gzip packed is unpacked, whatever its name.

    Parameters
    ----------
    path : path
    most_bytes : int
        The largest text that is read, in bytes when unpacked. No more than this is unpacked. -1 for no limit.

    Raises
    ------
    OSError, ValueError
        The file cannot be read, or is no such text. FileTooLarge: the text is larger.

    Examples
    --------
    >>> import gzip, tempfile
    >>> place = Path(tempfile.mkdtemp()) / "release.json.gz"
    >>> _ = place.write_bytes(gzip.compress(b"{}"))
    >>> read_text(place)
    '{}'
    """
    with path.open("rb") as file:
        packed = file.read(len(_SIGNATURE)) == _SIGNATURE
        file.seek(0)
        content = GzipFile(fileobj=file) if packed else file
        try:
            text = content.read(most_bytes if most_bytes < 0 else most_bytes + 1)
        except (EOFError, ZlibError):
            raise ValueError("the packed file is damaged") from None
    if 0 <= most_bytes < len(text):
        raise FileTooLarge
    return TextIOWrapper(BytesIO(text), encoding="utf-8-sig").read()
