"""What must stay as secret as the test set: the key of its fingerprint, and the noise on thresholdout's threshold.

Both are drawn once and lie in a file beside the ledger, readable by its owner alone. The ledger itself holds nothing
that is not public. Neither changes, so an old copy put back in its place changes nothing.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from hedgerow.errors import LedgerError


def secret_path(ledger: Path) -> Path:
    """Return where the secret of a ledger lies.

    >>> secret_path(Path("ts.ledger")).name
    'ts.ledger.secret'
    """
    return ledger.with_name(ledger.name + ".secret")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """The key, and the noise on the threshold where there is one."""

    key: bytes
    threshold_noise: int | None = None

    @classmethod
    def fresh(cls, threshold_noise: int | None = None) -> Secret:
        """Draw a key of 32 bytes from the operating system."""
        return cls(secrets.token_bytes(32), threshold_noise)

    def write(self, path: Path) -> None:
        """Write it where nothing is, for the owner alone (HG433)."""
        text = json.dumps({"format": "hedgerow-testset-1", "key": self.key.hex(), "threshold": self.threshold_noise})
        failed = remedy = ""
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(path, flags, 0o600), "w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            failed = "One lies there already, without its ledger."
            remedy = "Put the ledger back; if it is gone for good, choose another path, or remove the secret it left."
        except OSError:
            failed, remedy = "It cannot be written.", "Give a path in a folder that exists and can be written."
        if failed:
            raise _unusable(failed, remedy)

    @classmethod
    def read(cls, path: Path) -> Secret:
        """Read it back (HG433)."""
        try:
            record = json.loads(path.read_text(encoding="ascii"))
            noise = record["threshold"]
            if record["format"] == "hedgerow-testset-1" and (noise is None or isinstance(noise, int)):
                return cls(bytes.fromhex(record["key"]), noise)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise _unusable(
            "It is missing, or is not what was written.",
            "Put it back beside the ledger, from where the test set is kept.",
        )

    def __repr__(self) -> str:
        return "<Secret>"


def _unusable(finding: str, remedy: str) -> LedgerError:
    return LedgerError(
        "HG433",
        rule="Beside the ledger of a test set lies its secret, a file of the same name that ends in .secret.",
        finding=finding,
        remedy=remedy,
    )
