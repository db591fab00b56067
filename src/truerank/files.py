"""Files appear whole or not at all: written in a private folder beside their place, then renamed.

==============================  ==================================================================
what is at the path             what happens
==============================  ==================================================================
nothing, or a regular file      the new file takes its place in one step, with the permissions of
                                the old one (a new one has those that the umask leaves)
a symbolic link to either       the link stays, and the file that it names is replaced, as
                                ``open(path, "w")`` would; a link that somebody else put into a
                                folder open to everybody is refused
a folder, device, FIFO, socket  refused before anything is written
==============================  ==================================================================

What a killed writer leaves behind is removed by the next one in the same folder
(:mod:`truerank.private_folder`).
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from truerank.errors import StorageError, TruerankError, option
from truerank.private_folder import private_folder, this_user

HEADER_LIMIT = 2**24
"""Bytes of the longest header that is read: 16 MB. Ours have some thousand."""

_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a FIFO (named pipe)",
    stat.S_IFSOCK: "a socket",
}


@contextmanager
def written_whole(path: str | Path, *, force: bool = True) -> Iterator[Path]:
    """Yield a temporary path near ``path``; rename it there if the block succeeds.

    If anything goes wrong, Ctrl-C included, the temporary file is removed and what was at
    ``path`` before is untouched. ``force=False`` refuses to replace an existing file.
    """
    given = Path(path)
    with readable_errors(given):
        target = check_target(given, force=force)
        check_folder(target)
        with private_folder(target.parent, target.name) as folder:
            temporary = folder / target.name
            yield temporary
            target = check_target(given, force=force)  # the block may have taken hours
            with suppress(FileNotFoundError):
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)


def check_target(path: str | Path, *, force: bool = True) -> Path:
    """The regular file that may be written for ``path``, links followed; it need not exist.

    Raises:
        StorageError: If something is there that is not a regular file, or if a file is and
            ``force`` is false, or if somebody else's link is.
    """
    given = Path(path)
    with readable_errors(given):
        target = _followed(given)
        try:
            mode = target.lstat().st_mode
        except FileNotFoundError:
            return target
        if stat.S_ISDIR(mode):
            raise IsADirectoryError
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not stat.S_ISREG(mode):
            kind = _KINDS.get(stat.S_IFMT(mode), "something else")
            raise StorageError(f"{given} is {kind}, not a regular file; name another file")
        if not force:
            raise StorageError(
                f"{given} exists already; choose another name or pass " + option("force", True)
            )
    return target


def _followed(path: Path) -> Path:
    """Where a path leads; the rule of Linux (protected_symlinks) for links of other people."""
    try:
        link = path.lstat()
    except FileNotFoundError:
        return path
    if not stat.S_ISLNK(link.st_mode):
        return path
    folder = path.parent.stat()
    open_to_all = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    if open_to_all and link.st_uid not in (this_user(), folder.st_uid):
        raise StorageError(
            f"{path} is a link that another user put into a folder open to everybody; name "
            "another file, or remove the link"
        )
    return Path(os.path.realpath(path))


def open_regular(path: str | Path, flags: int) -> int:
    """The ``opener`` for a file whose name can be foreseen: no link is followed, no FIFO waited at.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/a.part", "ab", opener=open_regular) as file:
    ...         file.write(b"more")
    4
    """
    more = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        opened = os.open(path, flags | more, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):  # a link; a FIFO nobody reads
            raise
        opened = None
    if opened is not None and stat.S_ISREG(os.fstat(opened).st_mode):
        return opened
    if opened is not None:
        os.close(opened)
    raise StorageError(f"{path} is not a regular file, though it should be; remove it")


def check_folder(path: Path) -> None:
    """There is a folder for this file."""
    if not path.parent.is_dir():
        raise StorageError(f"the folder {path.parent} does not exist; create it first")


def parse_header(text: bytes) -> dict[str, Any]:
    """The JSON header of a file that may be anybody's.

    Raises:
        ValueError: If it is longer than :data:`HEADER_LIMIT`, is not JSON, is nested too deeply to
            be read, or is not an object: Python itself has a RecursionError or a MemoryError for
            some.

    >>> parse_header(b'{"format": 1}')
    {'format': 1}
    """
    if len(text) > HEADER_LIMIT:
        raise ValueError("a header of more than 16 MB")
    try:
        header = json.loads(text)
    except (RecursionError, MemoryError) as error:
        raise ValueError("a header that is nested too deeply") from error
    if not isinstance(header, dict):
        raise ValueError("a header that is none")
    return header


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
        if error.errno == errno.ELOOP:
            raise StorageError(f"{path} is a link that leads to itself; remove it") from error
        if error.errno == errno.EROFS:
            raise StorageError(
                f"the file system of {path} can only be read; choose another folder"
            ) from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(
                f"no space left on the device of {path}; nothing was written: free some space "
                "or choose another folder"
            ) from error
        raise
