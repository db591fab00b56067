"""Data sets by name: from your folder, from the cache, or from where they were published.

Looked for in this order, and the first that is there is taken:

1. ``$TRUERANK_DATA/<name>/<name>.npz``, for any name, in the layout of
   :mod:`truerank.data.registry.layout`;
2. the cache, ``$TRUERANK_CACHE/<name>/<name>.npz`` (by default the user's cache folder);
3. the raw files of the publisher, put by hand into ``<name>/`` in either of the two;
4. the network, unless ``offline=True`` or ``TRUERANK_OFFLINE=1``.

What came from 3 or 4 is parsed once and kept in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truerank.data.input_columns import DuplicateRule
from truerank.data.interactions import Interactions
from truerank.data.registry.acquire import absent, fetch_raw, raw_by_hand, unknown
from truerank.data.registry.archives import Arrays
from truerank.data.registry.catalogue import DATASETS
from truerank.data.registry.dataset import Dataset
from truerank.data.registry.layout import read_npz, to_interactions, with_sizes, write_npz
from truerank.data.registry.locations import (
    cache_folder,
    find_npz,
    find_raw,
    folder_to_fill,
    names_in_user_folder,
    offline_requested,
    user_folder,
)
from truerank.data.registry.progress import busy
from truerank.errors import DatasetNotFoundError, FileFormatError, InvalidArgumentError

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

    Names and meaning are those of :mod:`truerank.data.registry.layout`. Arguments as in
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
        raise DatasetNotFoundError(unknown(name))
    if dataset.parser is None:
        raise DatasetNotFoundError(absent(dataset, "has no download that we know of"))
    shown = None if progress else False
    paths = raw_by_hand(dataset)
    fetched: list[Path] = []
    if paths is None:
        paths = fetched = fetch_raw(dataset, offline=offline or offline_requested(), progress=shown)
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
        raise DatasetNotFoundError(unknown(name))
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
        licence=dataset.licence if dataset else "Your own: its terms are not known here.",
    )


def _registered(name: str) -> Dataset | None:
    """The entry with this name or alias."""
    return next((dataset for dataset in DATASETS.values() if name in dataset.names), None)


def _one_component(name: str) -> tuple[str, ...]:
    """A name that may be a folder; one with separators could point anywhere, so it is none."""
    return (name,) if name not in ("", ".", "..") and Path(name).name == name else ()
