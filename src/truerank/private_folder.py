"""A folder that nobody else can enter, locked by its owner, for what is not finished yet.

It is made by ``mkdtemp``: its name cannot be foreseen and nobody else may enter it, so that no
link planted beside or inside it is followed. Its owner holds a lock on it as long as it lives.
What a killed owner leaves behind is known by its name, which says on which start of which machine
it was made, and by the lock that nobody holds: the next one who wants a folder beside it removes
it, whatever it was for. The lock of a process on another machine may not be visible on a network
file system; what such a one left is removed by the next one for the same name, when it is a day
old.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

# Windows has no advisory locks of this kind: there, only age tells what was left behind.
fcntl: ModuleType | None = importlib.import_module("fcntl") if os.name == "posix" else None

DAY = 86_400.0
"""Seconds after which a folder of another machine counts as left behind."""

_NAME = re.compile(r"\.(.+)\.([0-9a-f]{12})\.\w{8}\.tmp", re.DOTALL)
"""What such a folder is called: what for, on which start of a machine, and eight random letters."""

_LONG = 150  # bytes of a name; systems allow 255, and a temporary one needs some more


@contextmanager
def private_folder(parent: Path, name: str) -> Iterator[Path]:
    """A new folder in ``parent`` for this process alone, removed in the end.

    Before it is made, such folders in ``parent`` whose owner is known to be dead are removed.
    """
    label = name
    if len(os.fsencode(name)) > _LONG:
        label = hashlib.sha256(os.fsencode(name)).hexdigest()
    _remove_leftovers(parent, label)
    folder, lock = _locked_folder(parent, f".{label}.{_machine()}.")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked_folder(parent: Path, prefix: str) -> tuple[Path, int | None]:
    """A folder that exists and is locked; without a lock where the file system has none."""
    while True:
        folder = Path(tempfile.mkdtemp(suffix=".tmp", prefix=prefix, dir=parent))
        if fcntl is None:
            return folder, None
        # Another writer may take it for a leftover before it is locked: then make another.
        with suppress(FileNotFoundError, BlockingIOError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                held = _lock(lock)
                if os.path.samestat(folder.lstat(), os.fstat(lock)):
                    if held:
                        return folder, lock
                    os.close(lock)
                    return folder, None
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)


def _lock(folder: int) -> bool:
    """Lock an open folder; false where its file system has no locks.

    Raises:
        BlockingIOError: If somebody else holds the lock.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _remove_leftovers(parent: Path, label: str) -> None:
    """Private folders here whose owner is dead; what cannot be removed stays."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found and entry.is_dir(follow_symlinks=False):
                same, here = found[1] == label, found[2] == _machine()
                with suppress(OSError):
                    _remove_if_dead(Path(entry.path), by_age=same, by_lock=here)


def _remove_if_dead(folder: Path, *, by_age: bool, by_lock: bool) -> None:
    """Remove it if nothing happened in it for a day, or nobody holds its lock."""
    if folder.lstat().st_uid != this_user():
        return
    last = max(path.lstat().st_mtime for path in (folder, *folder.iterdir()))
    old = by_age and time.time() - last > DAY
    if fcntl is None:
        if old:
            shutil.rmtree(folder)
        return
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        free = _lock(lock)
        if old or (free and by_lock):
            shutil.rmtree(folder)
    finally:
        os.close(lock)


def this_user() -> int:
    """The number of the user whom this process acts for."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


@functools.cache
def _machine() -> str:
    """Twelve digits for this start of this machine: the locks of its processes can be seen."""
    try:
        name = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        name = str(uuid.getnode()).encode()
    return hashlib.sha256(name).hexdigest()[:12]
