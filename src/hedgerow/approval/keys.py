"""Keys of approvers: Ed25519 pairs in two text files. The one door to the package `cryptography`.

``NAME.pub`` is one line, which a ledger is created with. ``NAME.key`` holds the private key, encrypted by a passphrase:
scrypt makes a long password of the passphrase and of random digits, and PKCS #8 encrypts the key by this password.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_PUBLIC, _PRIVATE = "hedgerow-ed25519", "hedgerow-private-key-1"
_NAME = re.compile(r"[\w.-]{1,64}")
_SHORTEST = 8
_MOST_BYTES = 2**16
_MOST_APPROVERS = 100
_SCRYPT: dict[str, Any] = {"n": 2**15, "r": 8, "p": 1, "maxmem": 2**26, "dklen": 32}


@dataclass(frozen=True, slots=True)
class Approver:
    """A person who may approve: a name and a public key.

    Attributes
    ----------
    name : str
        1 to 64 letters, digits, dots, hyphens and underscores.
    key : str
        The public key, 32 bytes as Base64.
    """

    name: str
    key: str

    @property
    def line(self) -> str:
        """The line of the public file."""
        return f"{_PUBLIC} {self.key} {self.name}"

    @classmethod
    def of_line(cls, line: str) -> Approver:
        """Return the approver of a line (HG331).

        >>> Approver.of_line("hedgerow-ed25519 " + 43 * "A" + "= ada").name
        'ada'
        """
        mark, _, rest = line.strip().partition(" ")
        key, _, name = rest.partition(" ")
        if mark != _PUBLIC:
            raise unfit_approvers("A line is not the line of a public key.")
        return cls.of(name, key)

    @classmethod
    def of(cls, name: object, key: object) -> Approver:
        """Return the approver of a name and a key, both checked (HG331)."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise unfit_approvers("A name is not 1 to 64 letters, digits, dots, hyphens and underscores.")
        try:
            raw = base64.b64decode(key.encode("ascii"), validate=True) if isinstance(key, str) else b""
        except ValueError:
            raw = b""
        if len(raw) != 32 or base64.b64encode(raw).decode() != key:
            raise unfit_approvers(f"The key of {name} is not a public key of Ed25519.")
        return cls(name, str(key))

    def has_signed(self, message: bytes, signature: str) -> bool:
        """Return whether a signature of a message was made by the private key of this approver."""
        _require()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            made = base64.b64decode(signature.encode("ascii"), validate=True)
            Ed25519PublicKey.from_public_bytes(base64.b64decode(self.key)).verify(made, message)
        except (ValueError, InvalidSignature):
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key that was unlocked, and whose it is."""

    approver: Approver
    _private: Ed25519PrivateKey = field(repr=False)

    def sign(self, message: bytes) -> str:
        """Return the signature of a message as Base64."""
        return base64.b64encode(self._private.sign(message)).decode()


def create_keys(name: str, folder: str | Path, passphrase: str) -> tuple[Path, Path]:
    """Make a pair of keys, and return the paths of the private and of the public file.

    The private file can be read by its owner alone. No existing file is replaced.

    Raises
    ------
    ParameterError
        HG319: `cryptography` is not installed. HG323: the name or the passphrase is unfit, a file is there already, or
        the folder cannot be written.
    """
    _require()
    from cryptography.hazmat.primitives import serialization as kinds
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if not _NAME.fullmatch(name) or name.startswith("."):
        raise _unfit_key("The name is not 1 to 64 letters, digits, dots, hyphens and underscores.")
    if len(passphrase) < _SHORTEST:
        raise _unfit_key(f"The passphrase has fewer than {_SHORTEST} characters.")
    made, salt = Ed25519PrivateKey.generate(), secrets.token_hex(16)
    locked = kinds.BestAvailableEncryption(_password(passphrase, salt))
    pem = made.private_bytes(kinds.Encoding.PEM, kinds.PrivateFormat.PKCS8, locked).decode()
    raw = made.public_key().public_bytes(kinds.Encoding.Raw, kinds.PublicFormat.Raw)
    public = Approver.of(name, base64.b64encode(raw).decode()).line
    private_path, public_path = (Path(folder) / f"{name}{ending}" for ending in (".key", ".pub"))
    _write_new(private_path, f"{_PRIVATE} {name} {salt}\n{pem}", 0o600)
    try:
        _write_new(public_path, f"{public}\n", 0o644)
    except ParameterError:
        with suppress(OSError):
            private_path.unlink()
        raise
    return private_path, public_path


def unlock(path: str | Path, passphrase: str) -> SigningKey:
    """Return the private key of a file.

    Raises
    ------
    ParameterError
        HG319: `cryptography` is not installed. HG323: the file cannot be read, is not a private key, may be read by
        others, or has another passphrase.
    """
    _require()
    from cryptography.hazmat.primitives import serialization as kinds
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    text = _private_text(Path(path))
    head, _, pem = text.partition("\n")
    mark, _, rest = head.partition(" ")
    name, _, salt = rest.partition(" ")
    if mark != _PRIVATE:
        raise _unfit_key("The file is not a private key of `hedgerow keys create`.")
    try:
        private = kinds.load_pem_private_key(pem.encode(), _password(passphrase, salt))
    except (ValueError, TypeError):
        private = None
    if not isinstance(private, Ed25519PrivateKey):
        raise _unfit_key("The passphrase is not that of the key, or the file was changed.")
    raw = private.public_key().public_bytes(kinds.Encoding.Raw, kinds.PublicFormat.Raw)
    return SigningKey(Approver.of(name, base64.b64encode(raw).decode()), private)


def read_approvers(path: str | Path) -> tuple[Approver, ...]:
    """Return the approvers of a file: lines of public files, one below the other; ``#`` begins a comment.

    Raises
    ------
    ParameterError
        HG331: the file cannot be read, names nobody, or names a person or a key twice.
    """
    try:
        with Path(path).open("rb") as file:
            lines = file.read(_MOST_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError):
        raise unfit_approvers(f"{str(path)!r} cannot be read.") from None
    return checked_approvers([Approver.of_line(line) for line in lines if line.strip() and line[0] != "#"])


def checked_approvers(approvers: Sequence[Approver]) -> tuple[Approver, ...]:
    """Return the approvers if there are any, and each name and key is there once (HG331)."""
    if not 1 <= len(approvers) <= _MOST_APPROVERS:
        raise unfit_approvers(f"Found {len(approvers)}.")
    for names in ([approver.name for approver in approvers], [approver.key for approver in approvers]):
        if len(set(names)) < len(names):
            raise unfit_approvers("A name or a key is there twice.")
    return tuple(approvers)


def unfit_approvers(finding: str) -> ParameterError:
    """Return the refusal of a list of approvers (HG331)."""
    return ParameterError(
        "HG331",
        rule=f"A file of approvers holds 1 to {_MOST_APPROVERS} lines of public keys, each name and key once.",
        finding=finding,
        remedy="Join the files that `hedgerow keys create` wrote.",
    )


def _unfit_key(finding: str) -> ParameterError:
    return ParameterError(
        "HG323",
        rule="A private key is stored in a file that only its owner may read, and is encrypted with a passphrase of "
        "8 characters or more.",
        finding=finding,
        remedy="Make a new pair of keys with the command `hedgerow keys create NAME`.",
    )


def _password(passphrase: str, salt: str) -> bytes:
    return hashlib.scrypt(passphrase.encode(), salt=salt.encode(), **_SCRYPT).hex().encode()


def _private_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode, content = os.fstat(file.fileno()).st_mode, file.read(_MOST_BYTES)
        text = content.decode("ascii")
    except (OSError, ValueError):
        raise _unfit_key(f"{str(path)!r} cannot be read, or is not a private key.") from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise _unfit_key(f"Others may read {str(path)!r}: run chmod 600 on it.")
    return text


def _write_new(path: Path, text: str, mode: int) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(path, flags, mode), "w", encoding="ascii") as file:
            file.write(text)
    except (OSError, ValueError):
        raise _unfit_key(f"{str(path)!r} is there already, or its folder cannot be written.") from None


def _require() -> None:
    try:
        import cryptography  # noqa: F401  # whether it is there
    except ImportError:
        raise ParameterError(
            "HG319",
            rule="Keys and signatures need the Python package cryptography.",
            finding="The Python package cryptography is not installed.",
            remedy="Run: pip install 'hedgerow[approval]'.",
        ) from None
