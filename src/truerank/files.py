"""Files appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from truerank.errors import StorageError, TruerankError

_LONG = 150  # bytes of a name; systems allow 255, and a temporary one needs some more


@contextmanager
def written_whole(path: str | Path, *, force: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; rename it there if the block succeeds.

    If anything goes wrong, Ctrl-C included, the temporary file is removed and what was at
    ``path`` before is untouched. ``force=False`` refuses to replace an existing file.
    """
    target = Path(path)
    temporary = target.with_name(_temporary(target.name))
    try:
        with readable_errors(target):
            check_folder(target)
            if not force and target.exists():
                raise StorageError(f"{target} exists already; choose another name or pass --force")
            yield temporary
            temporary.replace(target)
    finally:
        with suppress(OSError):  # where we may not remove it, we could not make it either
            temporary.unlink(missing_ok=True)


def _temporary(name: str) -> str:
    """A hidden name that nobody else writes to, allowed wherever ``name`` is."""
    if len(os.fsencode(name)) > _LONG:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}.{os.getpid()}.{threading.get_ident()}.tmp"


def check_folder(path: Path) -> None:
    """There is a folder for this file."""
    if not path.parent.is_dir():
        raise StorageError(f"the folder {path.parent} does not exist; create it first")


@contextmanager
def readable_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system says about ``path`` into one sentence."""
    try:
        yield
    except TruerankError:
        raise
    except FileNotFoundError as error:
        raise StorageError(f"there is no file {path}; check the name") from error
    except IsADirectoryError as error:
        raise StorageError(f"{path} is a folder; name a file") from error
    except NotADirectoryError as error:
        raise StorageError(f"{path} lies inside a file, not a folder; choose another") from error
    except FileExistsError as error:
        raise StorageError(f"{path} is a file, not a folder; choose another") from error
    except PermissionError as error:
        raise StorageError(
            f"no permission for {path}; choose another folder or change its permissions"
        ) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise StorageError(
                f"the name {path.name[:40]}... is too long for a file; choose a shorter one"
            ) from error
        if error.errno == errno.ENOSPC:
            raise StorageError(
                f"no space left on the device of {path}; nothing was written: free some space "
                "or choose another folder"
            ) from error
        raise
