"""Get the raw files of a data set: those put here by hand, else over the network."""

from __future__ import annotations

import sys
from pathlib import Path

from truerank.checks import did_you_mean
from truerank.data.registry.catalogue import DATASETS
from truerank.data.registry.checksum import mismatch
from truerank.data.registry.dataset import Dataset, RawFile
from truerank.data.registry.locations import (
    cache_folder,
    file_exists,
    find_raw,
    folder_to_fill,
    names_in_user_folder,
)
from truerank.errors import DatasetNotFoundError, DownloadError, FileFormatError


def raw_by_hand(dataset: Dataset) -> list[Path] | None:
    """The raw files if they are here already, compared with what was published of them."""
    paths = find_raw(dataset)
    published = {source.file: source for source in dataset.raw_files}
    for path in paths or ():
        if path.name in published:
            _check(published[path.name], path)
    return paths


def _check(source: RawFile, path: Path) -> None:
    wrong = mismatch(path, size=source.size, md5=source.md5, sha256=source.sha256)
    if wrong:
        raise FileFormatError(
            f"{path} is not the {source.file} that was published: {wrong}; remove it, and get it "
            f"again from {source.urls[0]}"
        )


def fetch_raw(dataset: Dataset, *, offline: bool, progress: bool | None) -> list[Path]:
    """Download what is missing into the cache, after a word about the terms."""
    if offline:
        raise DatasetNotFoundError(absent(dataset, "may not be fetched while offline"))
    sys.stderr.write(f"{dataset.title}. {dataset.licence} Cite: {dataset.citation}.\n")
    folder = cache_folder() / dataset.name
    paths = []
    for source in dataset.raw_files:
        path = folder / source.file
        if file_exists(path):  # whole, from a call that failed at a later file
            _check(source, path)
        else:
            _fetch_from_any(dataset, source, path, progress=progress)
        paths.append(path)
    return paths


def _fetch_from_any(
    dataset: Dataset, source: RawFile, path: Path, *, progress: bool | None
) -> None:
    # Imported here: urllib and what it brings take 40 ms that only a download should cost.
    from truerank.data.registry.download import fetch

    failure: DownloadError | None = None
    for url in source.urls:
        try:
            fetch(
                url,
                path,
                md5=source.md5,
                sha256=source.sha256,
                size=source.size,
                progress=progress,
            )
            return
        except DownloadError as error:
            failure = failure or error
    reason = str(failure).partition(";")[0]
    raise DatasetNotFoundError(absent(dataset, f"could not be fetched ({reason})")) from failure


def absent(dataset: Dataset, why: str) -> str:
    """One sentence: what is missing, which file to get, from where, and where to put it."""
    folder = folder_to_fill(dataset.name)
    if not dataset.raw_files:
        return (
            f"the data set {dataset.name!r} is not here and {why}: put {dataset.name}.npz into "
            f"{folder}, or set TRUERANK_DATA to the folder that holds {dataset.name}/"
            f"{dataset.name}.npz (made from {dataset.origin})"
        )
    gets = " and ".join(f"{source.file} from {source.urls[0]}" for source in dataset.raw_files)
    them = "it" if len(dataset.raw_files) == 1 else "them"
    return (
        f"the data set {dataset.name!r} is not here and {why}: get {gets} (see {dataset.origin}) "
        f"and put {them} into {folder}"
    )


def unknown(name: str) -> str:
    """One sentence for a name that nothing goes by, with the nearest that something does."""
    known = ["demo", *(n for dataset in DATASETS.values() for n in dataset.names)]
    hint = did_you_mean(name, [*known, *names_in_user_folder()], cutoff=0.5)
    return f"there is no data set called {name!r}; {hint or 'known: ' + ', '.join(known)}"
