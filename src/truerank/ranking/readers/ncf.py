"""Published negatives with their scores, as NCF and its followers have them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.arrays import Int
from truerank.errors import DataWarning, InvalidArgumentError, InvalidDataError
from truerank.numerics.ties import DEFAULT_TIES, TieRule, tie_code
from truerank.ranking.columns import as_whole
from truerank.ranking.designs import FixedNegatives, Foreign
from truerank.ranking.header import Header
from truerank.ranking.rank_models import rank_pairs
from truerank.ranking.readers.placing import share_of
from truerank.ranking.readers.spaced import NCF, field_count, read_spaced
from truerank.ranking.table import RankTable
from truerank.rng import Stream, addresses, checked_seed
from truerank.version import __version__

LINES_AT_A_TIME = 2**14
"""Lines that are sorted at a time, so that looking for repeats takes little memory."""

Negatives = tuple[ArrayLike, ArrayLike, ArrayLike]
"""Users, held-out items, and a matrix of negatives with a row for each."""


def read_ncf_negatives(
    negatives: str | Path | Negatives,
    scores: Any,
    *,
    n_items: ArrayLike | None = None,
    ties: TieRule = DEFAULT_TIES,
    seed: int = 0,
    replacement: bool = False,
    model: str | None = None,
) -> RankTable:
    """Ranks of held-out items among the negatives they were published with.

    A negative that is the target itself ties with it, so the tie rule decides;
    ``ties="pessimistic"`` counts it against the target, as NCF's evaluation does, and
    ``"random"`` does not: an item is not above itself. Such a line has one rival less than
    ``n_sampled`` says. NCF's own files have some (156 of the 6,040 lines of ml-1m), so they are
    read, with a :class:`DataWarning` that counts them. A negative that is twice in a line is
    refused unless ``replacement``: estimators take the negatives for different items.

    Memory: 8 bytes per negative, and as much for scores; a million lines of 99 take seconds.

    Args:
        negatives: A file of lines ``(user,item)<tab>negative<tab>negative...``, or the arrays
            (users, items, negatives) themselves.
        scores: The model's scores, a row per line, the target's first, then those of the
            negatives in their order; or a Scorer, to which users and items are indices.
        n_items: Size of the catalogue, or the candidates of each line, target included: where
            training items were never drawn, they do not count. The scorer's, if it is one.
        ties: The rank among equal scores, see :mod:`truerank.numerics.ties`.
        seed: Of the order that the rule ``"random"`` gives to equal scores.
        replacement: The negatives were drawn with replacement, so they may repeat.
        model: What to call the model in tables.

    >>> table = read_ncf_negatives(
    ...     ([0, 1], [4, 2], [[1, 3], [0, 4]]), [[0.5, 0.9, 0.1], [0.7, 0.2, 0.3]], n_items=900
    ... )
    >>> table.rank.tolist(), table.n_sampled.tolist()
    ([2, 1], [3, 3])
    """
    tie_code(ties)
    checked_seed(seed)
    users, items, drawn = _read(negatives)
    _check_lines(users, items, drawn, replacement=replacement)
    if callable(getattr(scores, "score_pairs", None)):
        table = rank_pairs(
            scores, users, items, FixedNegatives(drawn), ties=ties, seed=seed, progress=False
        )
        counted = table.n_items if n_items is None else as_whole("n_items", n_items)
        header = replace(
            table.header, replacement=replacement, model=model or table.header.model
        )  # fmt: skip
    else:
        if n_items is None:
            raise InvalidArgumentError(
                "n_items", None, "given: scores of a few items do not tell how many there are"
            )
        table = _from_scores((users, items, drawn), np.asarray(scores), n_items, ties, seed)
        counted = table.n_items
        header = replace(table.header, replacement=replacement, model=model)
    return RankTable.from_arrays(
        rank=table.rank,
        n_sampled=table.n_sampled,
        n_items=counted,
        user=table.user,
        item=table.item,
        header=header,
    )


def _from_scores(
    lines: tuple[Int, Int, Int], scores: NDArray[Any], n_items: ArrayLike, ties: TieRule, seed: int
) -> RankTable:
    users, items, n = lines[0], lines[1], lines[2].shape[1]
    if scores.shape != (len(users), 1 + n):
        raise InvalidArgumentError(
            "scores", f"shape {scores.shape}", f"of shape ({len(users)}, {1 + n})",
            f"a row per line: the target's score first, then those of its {n} negatives",
        )  # fmt: skip
    if scores.dtype.kind not in "fiub":
        raise InvalidArgumentError("scores", f"values of type {scores.dtype}", "real numbers")
    bad = np.isnan(scores).any(axis=1)
    if bad.any():
        raise InvalidDataError(
            f"{int(bad.sum()):,} of {len(bad):,} rows of scores hold NaN, the first is row "
            f"{int(np.argmax(bad))} (user {users[np.argmax(bad)]}), and NaN has no rank; check the "
            "model, or replace NaN by -inf to rank such items last"
        )
    own, rivals = scores[:, :1], scores[:, 1:]
    rank = 1 + (rivals > own).sum(axis=1) + _tied_above(lines, rivals == own, ties, seed)
    return RankTable.from_arrays(
        rank=rank,
        n_sampled=1 + n,
        n_items=n_items,
        user=users,
        item=items,
        header=Header(
            design=Foreign({"source": "ncf-negatives"}),
            seed=seed if ties == "random" else None,
            ties=ties,
            candidates="given",
            version=__version__,
        ),
    )


def _tied_above(
    lines: tuple[Int, Int, Int], tied: NDArray[np.bool_], ties: TieRule, seed: int
) -> Int:
    """How many of the tied negatives of each line stand above its target."""
    users, items, drawn = lines
    line, column = np.nonzero(tied)
    user, target, rival = users[line], items[line], drawn[line, column]

    def count(which: NDArray[np.bool_]) -> Int:
        return np.bincount(line[which], minlength=len(users))

    if ties == "random":
        words = (addresses(seed, Stream.TIES, user, item) for item in (rival, target))
        return count(next(words) < next(words))
    span = 1 + max(int(items.max(initial=0)), int(drawn.max(initial=0)))
    other = np.isin(user * span + rival, users * span + items) & (rival != target)
    return count(other & (rival < target)) + share_of(count(~other), ties)


def _check_lines(users: Int, items: Int, drawn: Int, *, replacement: bool) -> None:
    """Refuse repeated negatives of draws without replacement; warn of targets among them."""
    own = (drawn == items[:, None]).any(axis=1)
    if own.any():
        warnings.warn(
            f"{int(own.sum()):,} of {len(own):,} lines have their target among the negatives, the "
            f"first is {_line(own, users, items)}: it ties with itself, and the line has one rival "
            "less than n_sampled says; ties='pessimistic' counts it against the target as NCF does",
            DataWarning,
            stacklevel=3,
        )
    if replacement:
        return
    for first in range(0, len(drawn), LINES_AT_A_TIME):
        some = slice(first, first + LINES_AT_A_TIME)
        ordered = np.sort(drawn[some], axis=1)
        same = ordered[:, 1:] == ordered[:, :-1]
        repeats = same.any(axis=1)
        if repeats.any():
            item = ordered[:, 1:][same][0]
            where = np.zeros(len(drawn), np.bool_)
            where[some] = repeats
            raise InvalidDataError(
                f"{_line(where, users, items)} has the negative {item} twice, and negatives drawn "
                "without replacement are different; say replacement=True if they were drawn with "
                "replacement, or draw them again"
            )


def _line(which: NDArray[np.bool_], users: Int, items: Int) -> str:
    """The first of these lines, counted from 1 as editors do."""
    at = int(np.argmax(which))
    return f"line {at + 1} (user {users[at]}, item {items[at]})"


def _read(negatives: str | Path | Negatives) -> tuple[Int, Int, Int]:
    if isinstance(negatives, str | Path):
        return _read_file(Path(negatives))
    if len(negatives) != 3:
        raise InvalidArgumentError(
            "negatives", f"{len(negatives)} parts", "a path, or users, items and negatives"
        )
    users, items, drawn = (as_whole("negatives", part) for part in negatives)
    fits = drawn.ndim == 2 and users.shape == items.shape == drawn.shape[:1]
    if not fits:
        raise InvalidArgumentError(
            "negatives", f"shapes {users.shape}, {items.shape} and {drawn.shape}",
            "users, items and a matrix of negatives with a row for each",
        )  # fmt: skip
    return users, items, drawn


def _read_file(path: Path) -> tuple[Int, Int, Int]:
    import pyarrow as pa

    what = "NCF negatives"
    n = field_count(path, NCF, what)
    if n < 3:
        raise InvalidDataError(
            f"{path} has {n} numbers in its first line; lines are '(user,item)', then negatives"
        )
    names = [str(k) for k in range(n)]
    table = read_spaced(path, names, dict.fromkeys(names, pa.int64()), blanks=NCF, what=what)
    columns = [cast(Int, column.to_numpy()) for column in table.columns]
    return columns[0], columns[1], np.stack(columns[2:], axis=1)
