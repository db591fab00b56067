"""Exact ranks of (data set, model) pairs: computed once, then read from a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from truerank.data import Interactions, load_dataset
from truerank.data.filters import without_weights
from truerank.data.registry.load import DATASETS, available
from truerank.data.registry.locations import cache_folder
from truerank.errors import FileFormatError
from truerank.files import readable_errors
from truerank.ranking import Full, RankTable, rank
from truerank.reproduce.fitted import ModelName, fit_model
from truerank.rng import Stream, addresses
from truerank.split import Split, from_parts, leave_one_out, published

Candidates = Literal["all", "unseen"]

SPLIT_SEED = 0
"""Of every random choice of a held-out item: part of what defines these ranks."""

MEASURED = ("pinterest-37501", "ml-1m", "gowalla", "yelp2018", "lastfm-hetrec")
"""The data sets of docs/accuracy.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactRanks:
    """The exact ranks of one model on one data set.

    Attributes:
        data: Name of the data set.
        model: Name of the model.
        table: One exact rank per user.
        path: The file they are kept in.
    """

    data: str
    model: str
    table: RankTable
    path: Path


def found_data_sets() -> list[str]:
    """Those of :data:`MEASURED` that are on this machine, or the demonstration data."""
    here = {row.name for row in available() if row.where in ("folder", "cache", "raw files")}
    return [name for name in MEASURED if name in here] or ["demo"]


def one_item_split(data: str) -> Split:
    """A split with one held-out item per user.

    The published split where there is one, a random one of several test items of a user kept;
    otherwise a random leave-one-out. The demonstration data hold out the latest item. Counts
    and ratings are left out: the models see who touched what.
    """
    if data == "demo":
        return leave_one_out(load_dataset("demo"), by="latest", seed=SPLIT_SEED)
    if data not in DATASETS or not DATASETS[data].fixed_split:
        return leave_one_out(without_weights(load_dataset(data)), seed=SPLIT_SEED)
    split = published(data, overlap="drop", new_users="drop")
    if split.held_out.user_counts.max() <= 1:
        return split
    return from_parts(split.train, one_of_each_user(split.held_out), overlap="drop")


def one_of_each_user(held_out: Interactions) -> Interactions:
    """One interaction of each user, all equally likely."""
    words = addresses(SPLIT_SEED, Stream.SPLIT, held_out.users, held_out.indices)
    order = np.lexsort((words, held_out.users))
    first = held_out.indptr[:-1][held_out.user_counts > 0]
    keep = np.zeros(len(held_out), dtype=np.bool_)
    keep[order[first]] = True
    return held_out.select(keep)


def exact_ranks(
    data: str,
    models: list[str],
    *,
    candidates: Candidates = "all",
    cache: Path | None = None,
    done: Callable[[], None] = lambda: None,
) -> list[ExactRanks]:
    """Exact ranks of each model on a data set, one held-out item per user.

    Files are named by data, model and candidates and by a hash of the split's fingerprint, so
    other data or another split rule never meet old ranks; a damaged file is made again. Equal
    scores are put in random order: only then are sampled ranks exactly hypergeometric.

    Args:
        data: Name of a data set.
        models: Names of models, such as ``"als-45"``.
        candidates: ``"all"`` items, as in the dissertation, or those ``"unseen"`` in training.
        cache: Folder for the files; a folder among the caches of this system if not given.
        done: Called after each model.
    """
    names = [ModelName.parse(model) for model in models]
    folder = cache_folder() / "exact-ranks" if cache is None else cache
    with readable_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    split = one_item_split(data)
    fingerprint = split.fingerprint()
    results = []
    for name in names:
        key = hashlib.sha256(f"{fingerprint};{name};{candidates};1".encode()).hexdigest()[:16]
        path = folder / f"{data}-{name}-{candidates}-{key}.parquet"
        table = _kept(path)
        if table is None:
            model = fit_model(name, split.train)
            table = rank(model, split, Full(), candidates=candidates, ties="random", seed=0)
            table = replace(table, header=replace(table.header, model=str(name)))
            table.to_parquet(path)
        results.append(ExactRanks(data=data, model=str(name), table=table, path=path))
        done()
    return results


def _kept(path: Path) -> RankTable | None:
    if not path.is_file():
        return None
    try:
        return RankTable.from_parquet(path)
    except FileFormatError:
        return None
