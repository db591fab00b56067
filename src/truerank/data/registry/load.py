"""Data sets by name: from your folder, from the cache, or from where they were published.

Looked for in this order, and the first that is there is taken:

1. ``$TRUERANK_DATA/<name>/<name>.npz``, for any name, in the layout of
   :mod:`truerank.data.registry.npz_layout`;
2. the cache, ``$TRUERANK_CACHE/<name>/<name>.npz`` (by default the user's cache folder);
3. the raw files of the publisher, put by hand into ``<name>/`` in either of the two;
4. the network, unless ``offline=True`` or ``TRUERANK_OFFLINE=1``.

What came from 3 or 4 is parsed once and kept in the cache.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truerank.checks import did_you_mean
from truerank.data.input_columns import DuplicateRule
from truerank.data.interactions import Interactions
from truerank.data.registry.archives import Arrays
from truerank.data.registry.catalogue import DATASETS
from truerank.data.registry.checksum import mismatch
from truerank.data.registry.dataset import Dataset, RawFile
from truerank.data.registry.download_progress import busy
from truerank.data.registry.locations import (
    cache_folder,
    file_exists,
    find_npz,
    find_raw,
    folder_to_fill,
    names_in_user_folder,
    offline_requested,
    user_folder,
)
from truerank.data.registry.npz_layout import read_npz, to_interactions, with_sizes, write_npz
from truerank.errors import (
    DatasetNotFoundError,
    DownloadError,
    FileFormatError,
    InvalidArgumentError,
)

__all__ = [
    "DATASETS",
    "Dataset",
    "Listing",
    "available",
    "describe",
    "load_arrays",
    "load_dataset",
]

DEMO = "demo"


def load_dataset(
    name: str = DEMO,
    *,
    part: str | None = None,
    duplicates: DuplicateRule | None = None,
    offline: bool = False,
    progress: bool = True,
    **options: Any,
) -> Interactions:
    """A data set by name, as :class:`Interactions`.

    A published split gives train and test together; for the split itself see
    :func:`truerank.split.published`. Ratings, counts and hours become weights. Ids are those of the
    publisher; where a set says how many users and items there are, all of them are in the
    vocabularies, also those without an interaction.

    Args:
        name: ``"demo"`` for data made on the spot, else a name that :func:`available` lists.
        part: Which part of a set that has several, such as ``"play"`` of ``"steam-caserec"``.
        duplicates: What a repeated (user, item) pair means; by default the rule of the set, which
            is ``DATASETS[name].duplicates``.
        offline: Never touch the network.
        progress: Show what goes on, if stderr is a terminal.
        options: For ``"demo"``: what :func:`truerank.data.synthetic.generate` takes.
    """
    if name == DEMO:
        from truerank.data.synthetic import generate

        return generate(**options)
    if options:
        raise InvalidArgumentError(
            "options", sorted(options), f"left out for {name!r}, only the demo data take any"
        )
    dataset = _registered(name)
    return to_interactions(
        load_arrays(name, offline=offline, progress=progress),
        name=name,
        part=part,
        default_part=dataset.default_part if dataset else None,
        duplicates=duplicates or (dataset.duplicates if dataset else "error"),
    )


def load_arrays(name: str, *, offline: bool = False, progress: bool = True) -> Arrays:
    """The plain arrays of a data set: columns, published negatives, sizes.

    Names and meaning are those of :mod:`truerank.data.registry.npz_layout`. Arguments as in
    :func:`load_dataset`.
    """
    if name == DEMO:
        raise DatasetNotFoundError(
            "the demo data are made on the spot, by load_dataset, and have no arrays or split of "
            "their own; use a split of truerank.split, or another data set"
        )
    dataset = _registered(name)
    found = find_npz(dataset.names if dataset else _one_component(name))
    if found is not None:
        return read_npz(found)
    if dataset is None:
        raise DatasetNotFoundError(_unknown(name))
    if dataset.parser is None:
        raise DatasetNotFoundError(_absent(dataset, "has no download that we know of"))
    shown = None if progress else False
    paths = _raw_by_hand(dataset)
    fetched: list[Path] = []
    if paths is None:
        paths = fetched = _fetch_raw(
            dataset, offline=offline or offline_requested(), progress=shown
        )
    try:
        with busy(f"reading {dataset.name}", shown):
            arrays = with_sizes(dataset.parser(paths))
            write_npz(cache_folder() / dataset.name / f"{dataset.name}.npz", arrays)
    except FileFormatError:
        _remove(fetched)  # or the next call would take them for files put by hand
        raise
    _remove(fetched)  # the npz file holds all of it
    return arrays


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _raw_by_hand(dataset: Dataset) -> list[Path] | None:
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


def _fetch_raw(dataset: Dataset, *, offline: bool, progress: bool | None) -> list[Path]:
    """Download what is missing into the cache, after a word about the terms."""
    if offline:
        raise DatasetNotFoundError(_absent(dataset, "may not be fetched while offline"))
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
    raise DatasetNotFoundError(_absent(dataset, f"could not be fetched ({reason})")) from failure


def _absent(dataset: Dataset, why: str) -> str:
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


def _unknown(name: str) -> str:
    """One sentence for a name that nothing goes by, with the nearest that something does."""
    known = ["demo", *(n for dataset in DATASETS.values() for n in dataset.names)]
    hint = did_you_mean(name, [*known, *names_in_user_folder()], cutoff=0.5)
    return f"there is no data set called {name!r}; {hint or 'known: ' + ', '.join(known)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One line of the table of data sets.

    Attributes:
        name: What to call it.
        title: What it is.
        where: ``"built in"``, ``"folder"`` (``TRUERANK_DATA``), ``"cache"``, ``"raw files"`` (put
            by hand, not read yet) or ``"not here"``.
        licence: One sentence on its terms.
        path: The npz file, or the folder of the raw files, or the folder to put them in.
        n_bytes: Size of the npz file, or of the download, where known.
        shape: Users, items and interactions as published, where known.
    """

    name: str
    title: str
    where: str
    licence: str
    path: Path | None = None
    n_bytes: int | None = None
    shape: tuple[int, int, int] | None = None


def available() -> list[Listing]:
    """Every data set that has a name here, whether it is present or not."""
    known = {alias for dataset in DATASETS.values() for alias in dataset.names}
    others = [name for name in names_in_user_folder() if name not in known]
    return [describe(name) for name in (DEMO, *DATASETS, *others)]


def describe(name: str) -> Listing:
    """Where one data set is, how large, and on which terms it may be used."""
    if name == DEMO:
        return Listing(
            name=DEMO,
            title="Made on the spot by a generator, no download",
            where="built in",
            licence="Part of truerank: Apache-2.0.",
        )
    dataset = _registered(name)
    found = find_npz(dataset.names if dataset else _one_component(name))
    if dataset is None and found is None:
        raise DatasetNotFoundError(_unknown(name))
    where, path, n_bytes = "not here", found, None
    if found is not None:
        own = user_folder()
        where = "folder" if own is not None and found.is_relative_to(own) else "cache"
        n_bytes = found.stat().st_size
    elif dataset is not None:
        raw = find_raw(dataset)
        where, path = ("raw files", raw[0].parent) if raw else (where, folder_to_fill(dataset.name))
        sizes = [source.size for source in dataset.raw_files if source.size is not None]
        n_bytes = sum(sizes) if sizes and len(sizes) == len(dataset.raw_files) else None
    return Listing(
        name=dataset.name if dataset else name,
        title=dataset.title if dataset else "Your own",
        where=where,
        path=path,
        n_bytes=n_bytes,
        shape=dataset.shape if dataset else None,
        licence=dataset.licence
        if dataset
        else "Your own data: truerank does not know its licence.",
    )


def _registered(name: str) -> Dataset | None:
    """The entry with this name or alias."""
    return next((dataset for dataset in DATASETS.values() if name in dataset.names), None)


def _one_component(name: str) -> tuple[str, ...]:
    """A name that may be a folder; one with separators could point anywhere, so it is none."""
    return (name,) if name not in ("", ".", "..") and Path(name).name == name else ()
