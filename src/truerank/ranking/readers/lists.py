"""Lists of scored items with the targets to find in them."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.numerics.ties import DEFAULT_TIES, TieRule, tie_code
from truerank.ranking.columns import as_whole
from truerank.ranking.designs import Foreign
from truerank.ranking.header import Header
from truerank.ranking.readers.placing import Lists, place, ranks_of
from truerank.ranking.readers.repeats import refuse_repeats
from truerank.ranking.readers.sources import TableSource, as_numbers
from truerank.ranking.table import RankTable
from truerank.rng import checked_seed
from truerank.version import __version__

ListKind = Literal["sampled", "top"]
MissingRule = Literal["last", "drop", "refuse"]


def read_lists(
    scores: Any,
    targets: Any,
    *,
    n_items: int | str,
    lists: ListKind = "sampled",
    missing: MissingRule | None = None,
    user: str = "user_id",
    item: str = "item_id",
    score: str = "score",
    ties: TieRule = DEFAULT_TIES,
    seed: int = 0,
    replacement: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    model: str | None = None,
) -> RankTable:
    """Rank targets in lists of (user, item, score), from frames, Parquet or CSV.

    Ids of text files are text; where only one of the two tables has numbers, 7 is "7".

    What a list is must be said, because the rows cannot tell:

    * ``"sampled"``: the target and its negatives. ``n_sampled`` is the length of the list; one as
      long as ``n_items`` is complete and gives an exact rank. Where a user has several targets
      in a sampled list, each is ranked among the negatives without the others, of ``n_items``
      less the others: they are no random draws.
    * ``"top"``: the head of a ranking of all ``n_items``. Ranks are exact down to its length;
      about a target that is not in it, only that it stands below is known, see ``missing``.

    Memory: about 100 bytes per list row while it runs; ten million rows take seconds.

    Args:
        scores: The lists, one row per scored item; rows in any order, larger scores are better.
        targets: The held-out (user, item) pairs, with the same column names.
        n_items: Size of the catalogue, or of the candidates of each user: a number, or the name
            of a column of ``targets``.
        lists: What the lists are, see above.
        missing: What to do with targets that are not in their user's list: ``"last"`` (of "top"
            lists, and their default) puts them at rank ``n_items``, which is right for every
            metric@K with K up to the length of the list and pessimistic for others; ``"drop"``
            leaves them out, so that metrics are those of the found ones; ``"refuse"`` (the
            default of sampled lists) is an error.
        user: Column of users.
        item: Column of items.
        score: Column of scores.
        ties: The rank among equal scores, see :mod:`truerank.numerics.ties`.
        seed: Of the order that the rule ``"random"`` gives to equal scores.
        replacement: The negatives were drawn with replacement.
        delimiter: What divides the columns of text files; found if not given.
        encoding: What text files are written in; found if not given.
        model: What to call the model in tables.

    >>> import pyarrow as pa
    >>> lists = pa.table({"user_id": [7, 7, 7], "item_id": [1, 2, 3], "score": [0.1, 0.9, 0.5]})
    >>> targets = pa.table({"user_id": [7], "item_id": [3]})
    >>> table = read_lists(lists, targets, n_items=1_000)
    >>> table.rank.tolist(), table.n_sampled.tolist()
    ([2], [3])
    """
    held, offered = (
        TableSource.of(t, delimiter=delimiter, encoding=encoding) for t in (targets, scores)
    )
    if score in held.columns and score not in offered.columns:
        raise InvalidDataError(
            f"scores has no column {score!r} but targets has; swap the two arguments"
        )
    columns = offered.arrays({"user": user, "item": item, "score": score})
    pairs = {"user": user, "item": item}
    if isinstance(n_items, str):
        pairs["n_items"] = n_items
    rows: dict[str, Any] = {"n_items": n_items} | held.arrays(pairs)
    return rank_in_lists(
        Lists(columns["user"], columns["item"], as_numbers("score", columns["score"])),
        rows["user"],
        rows["item"],
        as_whole("n_items", rows["n_items"]),
        lists=lists,
        missing=missing,
        ties=ties,
        seed=seed,
        replacement=replacement,
        model=model,
        source="lists",
    )


def rank_in_lists(
    offered: Lists,
    user: NDArray[Any],
    item: NDArray[Any],
    n_items: Int,
    *,
    lists: ListKind,
    missing: MissingRule | None,
    ties: TieRule,
    seed: int,
    replacement: bool = False,
    depth: int | None = None,
    model: str | None = None,
    source: str,
) -> RankTable:
    """The table of the targets in their lists; arguments as in :func:`read_lists`."""
    tie_code(ties)
    checked_seed(seed)
    if lists not in get_args(ListKind):
        raise InvalidArgumentError("lists", lists, "'sampled' or 'top'")
    rule = missing or ("last" if lists == "top" else "refuse")
    rules = get_args(MissingRule)[0 if lists == "top" else 1 :]
    if rule not in rules:
        raise InvalidArgumentError("missing", rule, f"one of {', '.join(rules)} for {lists} lists")
    refuse_repeats(user, item, "targets")
    placed = place(offered, user, item, ties=ties, seed=seed)
    sizes = np.broadcast_to(n_items, placed.length.shape)
    _check_lengths(placed.length, sizes, user)
    # The user's other targets are no random draws, so they do not count in sampled lists.
    without = (placed.length < sizes) & (lists == "sampled")
    rank = ranks_of(placed, ties, without=without)
    sizes = sizes - np.where(without, placed.others, 0)
    n_sampled = sizes if lists == "top" else placed.length - np.where(without, placed.others, 0)
    absent = ~placed.found if depth is None else ~placed.found | (rank > depth)
    ends = placed.length if depth is None else np.minimum(placed.length, depth)
    details: dict[str, Any] = {"source": source, "lists": lists}
    if absent.any():
        if rule == "refuse":
            raise InvalidDataError(_missing_sentence(absent, placed.length, user, item, lists))
        if rule == "last":
            rank[absent] = _last_places(sizes[absent], user[absent], item[absent])
            _check_places(absent & (rank <= ends), placed.length, sizes, user)
        details |= {"missing": rule, "n_missing": int(absent.sum())}
        if lists == "top":
            # Ranks are known to this depth; it is where the shortest of these lists ends.
            details["depth"] = int((ends[absent] if depth is None else ends).min())
    keep = ~absent if rule == "drop" else np.ones(len(rank), dtype=bool)
    if not keep.any():
        raise InvalidDataError("no target is in its user's list, so none is left; check the ids")
    return RankTable.from_arrays(
        rank=rank[keep],
        n_sampled=n_sampled[keep],
        n_items=sizes[keep],
        user=user[keep],
        item=item[keep],
        header=Header(
            design=Foreign(details),
            replacement=replacement,
            seed=seed if ties == "random" else None,
            ties=ties,
            candidates="given" if lists == "sampled" else "unknown",
            model=model,
            version=__version__,
        ),
    )


def _last_places(n_items: Int, user: NDArray[Any], item: NDArray[Any]) -> Int:
    """The last rank for a user's last target, the one before for the one before, and so on.

    >>> _last_places(np.array([9, 9, 5]), np.array([1, 1, 2]), np.array([30, 40, 30])).tolist()
    [8, 9, 5]
    """
    who, what = distinct_ids(user)[1], distinct_ids(item)[1]
    order = np.lexsort((-what, who))
    first = np.searchsorted(who[order], who[order])
    place = np.empty_like(who)
    place[order] = np.arange(len(order)) - first
    return np.asarray(n_items - place)


def _check_places(taken: NDArray[np.bool_], length: Int, n_items: Int, user: NDArray[Any]) -> None:
    if taken.any():
        row = int(np.argmax(taken))
        raise InvalidDataError(
            f"the list of user {user[row]} has {length[row]:,} items, and with the targets that "
            f"are not in it there are more than n_items {n_items[row]:,}; n_items is the size of "
            "the catalogue the lists were made from"
        )


def _check_lengths(length: Int, n_items: Int, user: NDArray[Any]) -> None:
    if (length > n_items).any():
        row = int(np.argmax(length > n_items))
        raise InvalidDataError(
            f"the list of user {user[row]} has {length[row]:,} items, more than n_items "
            f"{n_items[row]:,}; n_items is the size of the catalogue the lists were made from"
        )


def _missing_sentence(
    absent: NDArray[np.bool_], length: Int, user: NDArray[Any], item: NDArray[Any], lists: ListKind
) -> str:
    row = int(np.argmax(absent))
    n = f"{int(absent.sum()):,} of {len(absent):,}"
    first = f"the first is user {user[row]}, item {item[row]}"
    if length[row] == 0:
        first += ", whose user has no list at all"
    if lists == "top":
        return f"{n} targets are not in their lists, {first}; say missing='last' or 'drop'"
    return (
        f"{n} targets are not in their lists, {first}; a sampled list holds its target: if these "
        "are the tops of full rankings, say lists='top', else drop such targets with "
        "missing='drop'"
    )
