"""Whether a file is the one that was published."""

from __future__ import annotations

import hashlib
from pathlib import Path

from truerank.data.registry.partial import storage_error


def mismatch(path: Path, *, size: int | None, md5: str | None, sha256: str | None) -> str:
    """What differs from the expected, in words; empty where nothing does, or nothing is known."""
    got: int | str
    for name, want in (("size", size), ("md5", md5), ("sha256", sha256)):
        if want is None:
            continue
        got = path.stat().st_size if name == "size" else digest(path, name)
        if str(got) != str(want).lower():
            return f"its {name} is {got} instead of {want}"
    return ""


def digest(path: Path, name: str) -> str:
    """The checksum of a file in hex; MD5 where its publisher offers nothing better."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(
                file, lambda: hashlib.new(name, usedforsecurity=False)
            ).hexdigest()
    except OSError as error:
        raise storage_error("read", path, error) from error
