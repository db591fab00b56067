"""Where data sets may lie: the user's own folder, and the cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from truerank.data.registry.dataset import Dataset
from truerank.data.registry.partial import storage_error
from truerank.errors import InvalidArgumentError


def user_folder() -> Path | None:
    """The folder named by ``TRUERANK_DATA``, if any; it is only ever read."""
    named = os.environ.get("TRUERANK_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise InvalidArgumentError("TRUERANK_DATA", named, "a folder that exists, or unset")
    return folder


def cache_folder() -> Path:
    """``TRUERANK_CACHE``, else the place for caches on this system; it need not exist yet."""
    named = os.environ.get("TRUERANK_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "truerank"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "truerank" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "truerank"


def offline_requested() -> bool:
    """Whether ``TRUERANK_OFFLINE`` forbids the network."""
    return os.environ.get("TRUERANK_OFFLINE", "").lower() not in ("", "0", "false", "no")


def folders(names: Sequence[str]) -> list[Path]:
    """Every folder in which a data set with these names may lie, the user's own first."""
    roots = [root for root in (user_folder(), cache_folder()) if root is not None]
    return [root / name for root in roots for name in names]


def folder_to_fill(name: str) -> Path:
    """The folder to put files into by hand."""
    return (user_folder() or cache_folder()) / name


def find_npz(names: Sequence[str]) -> Path | None:
    """The npz file of a data set, if it is somewhere."""
    for folder in folders(names):
        path = folder / f"{folder.name}.npz"
        if file_exists(path):
            return path
    return None


def find_raw(dataset: Dataset) -> list[Path] | None:
    """The raw files, under the publisher's names or others we know; None if they are not here."""
    published = tuple(source.file for source in dataset.raw_files)
    found = (find_files(dataset.names, files) for files in (published, *dataset.by_hand))
    return next((paths for paths in found if paths is not None), None)


def find_files(names: Sequence[str], files: Sequence[str]) -> list[Path] | None:
    """These files, if one folder of the data set holds all of them."""
    for folder in folders(names):
        paths = [folder / file for file in files]
        if files and all(file_exists(path) for path in paths):
            return paths
    return None


def names_in_user_folder() -> list[str]:
    """Names of all data sets that lie ready in the user's folder."""
    root = user_folder()
    if root is None:
        return []
    try:
        names = sorted(entry.name for entry in root.iterdir())
    except OSError as error:
        raise storage_error("read", root, error) from error
    return [name for name in names if file_exists(root / name / f"{name}.npz")]


def file_exists(path: Path) -> bool:
    """Whether a file exists; a folder we may not look into is an error, not an empty one."""
    try:
        return path.is_file()
    except OSError as error:
        raise storage_error("read", path, error) from error
