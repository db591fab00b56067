"""A file that is still arriving: locked, appended to, and renamed only when it is whole."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
from pathlib import Path
from types import ModuleType, TracebackType
from typing import IO, Self

from truerank.errors import DownloadError, StorageError
from truerank.files import check_target, open_regular, written_whole

# Windows has no advisory locks of this kind: there, two processes must not fetch the same file.
fcntl: ModuleType | None = importlib.import_module("fcntl") if os.name == "posix" else None


class PartialFile:
    """``<target>.part``, and ``<target>.part.tag`` with the server's name for that version.

    The tag (an ETag or a date) is what makes a later resume safe: without one, nobody could say
    whether the rest belongs to the same file, so a part without a tag never outlives the ``with``
    block. Whatever happens, ``target`` itself is either the old file, or the whole new one.

    Attributes:
        validator: The tag of the bytes on disk, or None where they cannot be continued.
    """

    def __init__(self, target: Path, *, url: str) -> None:
        self.target = target
        self.url = url
        self.validator: str | None = None
        self._settle(target)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self._settle(check_target(self.target))
            self._file = self._locked()
        except DownloadError:
            raise
        except OSError as error:
            raise storage_error("write", self.target.parent, error) from error
        with contextlib.suppress(OSError, ValueError):
            url, validator = self._tag.read_text(encoding="utf-8").splitlines()
            self.validator = validator if url == self.url and self.size else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.validator is None:
            self.discard()
        self._close()

    def _settle(self, final: Path) -> None:
        """The part lies beside the file that ``target`` leads to, so that renaming is one step."""
        self._final = final
        self.path = final.with_name(f"{final.name}.part")
        self._tag = final.with_name(f"{final.name}.part.tag")

    def _locked(self) -> IO[bytes]:
        """Open the part for this process alone; two writers would interleave their bytes."""
        while True:
            file: IO[bytes] = open(self.path, "ab", opener=open_regular)  # noqa: SIM115
            if fcntl is None:
                return file
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.close()
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                raise DownloadError(
                    f"another process is already fetching {self.target}; wait until it has finished"
                ) from error
            # Its last owner may have renamed or removed the file between our open and our lock.
            with contextlib.suppress(FileNotFoundError):
                if self.path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                    return file
            file.close()

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return 0 if self._file is None else os.fstat(self._file.fileno()).st_size

    def restart(self, validator: str | None) -> None:
        """Forget the bytes on disk; those that follow belong to the version ``validator``."""
        try:
            self._open().truncate(0)
            self._tag.unlink(missing_ok=True)  # be it a link: it is not followed
            if validator is not None:
                with written_whole(self._tag) as temporary:
                    temporary.write_text(f"{self.url}\n{validator}\n", encoding="utf-8")
        except OSError as error:
            self._refuse(error)
        self.validator = validator

    def append(self, chunk: bytes) -> None:
        """Add bytes at the end; a full disk removes the part, which also frees the space."""
        try:
            self._open().write(chunk)
        except OSError as error:
            self._refuse(error)

    def flush(self) -> None:
        """Hand what was appended to the operating system, so that :attr:`size` counts it."""
        try:
            self._open().flush()
        except OSError as error:
            self._refuse(error)

    def finish(self) -> None:
        """Give the whole file its real name."""
        file = self._open()
        try:
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:  # Windows does not rename an open file
                self._close()
            check_target(self.target)
            self.path.replace(self._final)  # still locked, so nobody can append to the target
            self._tag.unlink(missing_ok=True)
        except OSError as error:
            self._refuse(error)
        self.validator = None

    def discard(self) -> None:
        """Remove the part and its tag."""
        self.validator = None
        if fcntl is None:
            self._close()
        for path in (self._tag, self.path):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _open(self) -> IO[bytes]:
        if self._file is None:
            self._file = self._locked()
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            # Closing flushes: on a full disk it fails once more for bytes we gave up already.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _refuse(self, error: OSError) -> None:
        self.discard()
        raise storage_error("write", self.target, error) from error


def storage_error(verb: str, path: Path, error: OSError) -> StorageError:
    """One sentence for an error of the file system: what, why, what to do."""
    if isinstance(error, StorageError):
        return StorageError(f"{error} (TRUERANK_CACHE names the cache folder)")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            f"cannot {verb} {path}: the disk is full; free some space, or name another folder "
            "with TRUERANK_CACHE"
        )
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return StorageError(
            f"cannot {verb} {path}: permission denied; change its permissions, or name another "
            "folder with TRUERANK_CACHE"
        )
    reason = error.strerror or str(error)
    return StorageError(
        f"cannot {verb} {path}: {reason}; check the path, or name another folder with "
        "TRUERANK_CACHE"
    )
