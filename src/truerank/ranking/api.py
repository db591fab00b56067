"""``rank`` and ``rank_pairs``: from a scorer to a :class:`RankTable`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.execution import Executor, Progress, Serial, Threads
from truerank.ranking.backends import CallBackend, Int, Rows, read_only
from truerank.ranking.designs import Adaptive, Design, Full, Given, Sampled, Users
from truerank.ranking.header import CandidateRule, Header
from truerank.ranking.kernels import count_candidates
from truerank.ranking.jobs import BlockTask, RankJob, backend_for, rank_block, save_job
from truerank.ranking.table import RankTable
from truerank.ranking.ties import TieRule, tie_code
from truerank.rng import Stream, addresses, checked_seed
from truerank.split import Split
from truerank.version import __version__


def rank(
    model: Any,
    split: Split,
    design: Design | None = None,
    *,
    seed: int = 0,
    candidates: Literal["unseen", "all"] = "unseen",
    ties: TieRule = "half",
    executor: Executor | None = None,
    progress: bool | None = None,
) -> RankTable:
    """Rank every held-out item of a split.

    Sampled rivals are addressed by (seed, user, held-out item), so every model ranked with
    the same seed meets the same rivals, and neither blocks, threads, order nor executor can
    change a result.

    Args:
        model: A :class:`Scorer` over the users and items of the split. For a split with
            fold-in it must have ``fold_in(history) -> Scorer``.
        split: What was held out, and what was seen.
        design: Whom to rank against; ``Full()`` if not given.
        seed: Seed of the draws.
        candidates: ``"unseen"`` leaves out the user's training (or fold-in) items, except a
            held-out one; ``"all"`` keeps them, as the dissertation does.
        ties: See :mod:`truerank.ranking.ties`.
        executor: Where to run; threads on all cores if not given.
        progress: Show a bar; only on a terminal if not given.
    """
    if not isinstance(split, Split):
        raise InvalidArgumentError(
            "split", type(split).__name__, "a Split",
            "make one with tr.split.leave_one_out(data), or use tr.rank_pairs",
        )  # fmt: skip
    seen = split.train if split.fold_in is None else split.fold_in
    scorer = model
    if split.fold_in is not None:
        if not hasattr(model, "fold_in"):
            raise InvalidArgumentError(
                "model", type(model).__name__, "able to fold in new users",
                "this split holds out whole users: give the model a method "
                "fold_in(history) -> Scorer",
            )  # fmt: skip
        scorer = model.fold_in(split.fold_in)
    if candidates not in ("unseen", "all"):
        raise InvalidArgumentError("candidates", candidates, "'unseen' or 'all'")
    return _rank(
        scorer,
        split.held_out.users.astype(np.int64),
        split.held_out.indices.astype(np.int64),
        design or Full(),
        seed=seed,
        exclude=seen if candidates == "unseen" else None,
        ties=ties,
        executor=executor,
        progress=progress,
        user_ids=split.train.user_ids,
        item_ids=split.train.item_ids,
        origin={
            "data": split.train.fingerprint(),
            "split": split.fingerprint(),
            "model": getattr(model, "name", type(model).__name__),
        },
    )


def rank_pairs(
    scorer: Any,
    users: ArrayLike,
    items: ArrayLike,
    design: Design | None = None,
    *,
    seed: int = 0,
    exclude: Interactions | None = None,
    ties: TieRule = "half",
    user_ids: ArrayLike | None = None,
    item_ids: ArrayLike | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> RankTable:
    """Rank given (user, item) pairs; rows come back in their order.

    Args:
        scorer: A :class:`Scorer`.
        users: User index of each pair.
        items: Item index of each pair.
        design: Whom to rank against; ``Full()`` if not given.
        seed: Seed of the draws.
        exclude: Items seen by each user, which are no candidates; None for all items.
        ties: See :mod:`truerank.ranking.ties`.
        user_ids: Names of the users for the table; their indices if not given.
        item_ids: Names of the items for the table; their indices if not given.
        executor: Where to run; threads on all cores if not given.
        progress: Show a bar; only on a terminal if not given.
    """
    return _rank(
        scorer,
        _indices("users", users),
        _indices("items", items),
        design or Full(),
        seed=seed,
        exclude=exclude,
        ties=ties,
        executor=executor,
        progress=progress,
        user_ids=None if user_ids is None else np.asarray(user_ids),
        item_ids=None if item_ids is None else np.asarray(item_ids),
        origin={"model": getattr(scorer, "name", type(scorer).__name__)},
    )


def _rank(
    scorer: Any,
    users: Int,
    items: Int,
    design: Design,
    *,
    seed: int,
    exclude: Interactions | None,
    ties: TieRule,
    executor: Executor | None,
    progress: bool | None,
    user_ids: NDArray[Any] | None,
    item_ids: NDArray[Any] | None,
    origin: dict[str, str],
) -> RankTable:
    checked_seed(seed)
    if not isinstance(design, Full | Sampled | Adaptive | Given | Users):
        raise InvalidArgumentError(
            "design", design, "Full(), Sampled(n), Adaptive(...), Given(...) or Users(m)"
        )
    backend = backend_for(scorer, user_ids)
    _check_pairs(users, items, backend.n_items, scorer, exclude)
    ascending = bool((users[1:] >= users[:-1]).all())
    known = users if ascending else np.sort(users)
    population = 1 + int((known[1:] != known[:-1]).sum())
    chosen = np.arange(len(users))
    inner = design
    if isinstance(design, Users):
        chosen, inner = _sample_users(users, design.m, seed), design.inner
    order = chosen if ascending else chosen[np.argsort(users[chosen], kind="stable")]
    if isinstance(inner, Given):
        inner = _in_order(inner, order, len(users), backend.n_items)
    rows = _rows(users[order], items[order], backend.n_items, seed, exclude, ties)
    _check_sizes(inner, rows, user_ids)
    if not isinstance(backend, CallBackend):
        _check_promise(scorer, backend, rows)
    ranked, sizes = _run(RankJob(rows, backend, inner), executor, progress)
    back = np.argsort(order, kind="stable")  # rows return in the order they came in
    users, items = users[order][back], items[order][back]
    return RankTable(
        user=users if user_ids is None else user_ids[users],
        item=items if item_ids is None else item_ids[items],
        rank=ranked[back],
        n_sampled=sizes[back],
        n_items=rows.n_candidates[back],
        weight=np.ones(len(back)),
        n_scored=sizes[back],
        header=Header(
            design=design.describe(),
            replacement=bool(getattr(inner, "replacement", False)),
            seed=None if isinstance(design, Full | Given) else int(seed),
            ties=ties,
            candidates=_candidate_rule(inner, exclude),
            n_population=population,
            version=__version__,
            **origin,
        ),
    )


def _run(job: RankJob, executor: Executor | None, progress: bool | None) -> tuple[Int, Int]:
    if executor is None:
        executor = Threads() if job.backend.releases_lock else Serial()
    blocks = job.blocks()
    ranked, sizes = np.empty(len(job.rows), np.int64), np.empty(len(job.rows), np.int64)
    with tempfile.TemporaryDirectory(prefix="truerank-") as folder:
        place: RankJob | str = job
        if not executor.in_process:
            save_job(job, Path(folder))
            place = folder
        tasks = (BlockTask(place, start, stop) for start, stop in blocks)
        with Progress("ranking", total=len(job.rows), enabled=progress) as bar:
            for _, (start, block_ranks, block_sizes) in executor.imap(rank_block, tasks):
                ranked[start : start + len(block_ranks)] = block_ranks
                sizes[start : start + len(block_ranks)] = block_sizes
                bar.advance(len(block_ranks))
    return ranked, sizes


def _rows(
    users: Int, items: Int, n_items: int, seed: int, exclude: Interactions | None, ties: TieRule
) -> Rows:
    if exclude is None:
        indptr, excluded = np.zeros(int(users.max()) + 2, np.int64), np.empty(0, np.int32)
    else:
        indptr, excluded = exclude.indptr, exclude.indices
    seen = (read_only(indptr), read_only(excluded))
    return Rows(
        users=users,
        targets=items,
        keys=addresses(seed, Stream.NEGATIVES, users, items),
        tie_keys=addresses(seed, Stream.TIES, users) if ties == "random" else np.zeros(
            len(users), np.uint64
        ),
        excluded_indptr=indptr,
        excluded_items=excluded,
        n_candidates=count_candidates(read_only(users), read_only(items), *seen, n_items),
        tie_rule=tie_code(ties),
    )  # fmt: skip


def _indices(name: str, values: ArrayLike) -> Int:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidArgumentError(
            name, f"shape {array.shape} of {array.dtype}", "a one-dimensional array of indices"
        )
    return array.astype(np.int64)


def _check_pairs(
    users: Int, items: Int, n_items: int, scorer: Any, exclude: Interactions | None
) -> None:
    if len(users) == 0:
        raise InvalidDataError("there is nothing to rank: no (user, item) pairs were held out")
    if len(users) != len(items):
        raise InvalidArgumentError("items", f"{len(items)} items", f"as many as users: {len(users)}")
    n_users = len(scorer.user_factors) if hasattr(scorer, "user_factors") else None
    if exclude is not None:
        if exclude.n_items != n_items:
            raise InvalidArgumentError(
                "exclude", f"{exclude.n_items:,} items", f"over the scorer's {n_items:,} items"
            )
        n_users = exclude.n_users if n_users is None else min(n_users, exclude.n_users)
    for name, index, size in (("users", users, n_users), ("items", items, n_items)):
        if index.min() < 0 or (size is not None and index.max() >= size):
            wrong = index.min() if index.min() < 0 else index.max()
            raise InvalidArgumentError(
                name, int(wrong), "indices from 0" + (f" to {size - 1:,}" if size else ""),
                "indices, not external ids, are wanted here",
            )  # fmt: skip


def _check_sizes(design: Design, rows: Rows, names: NDArray[Any] | None) -> None:
    """A fixed sample must fit the candidates of every user."""
    wanted = {Sampled: "n", Adaptive: "n0"}.get(type(design))
    if wanted is None:
        return
    n = getattr(design, wanted)
    room = rows.n_candidates - int(getattr(design, "replacement", False))
    if (n > room).any():
        row = int(np.argmin(room))
        user = rows.users[row] if names is None else names[rows.users[row]]
        raise InvalidArgumentError(
            wanted, n, f"at most {int(room[row]):,}, the candidates of user {user}",
            "take a smaller sample, or Full()",
        )  # fmt: skip


def _check_promise(scorer: Any, backend: Any, rows: Rows) -> None:
    """Fast paths must score as the scorer itself does; a few pairs tell."""
    if not hasattr(scorer, "score_pairs"):
        return
    few = np.unique(np.linspace(0, len(rows) - 1, 4).astype(np.int64))
    users, items = rows.users[few], rows.targets[few]
    own = np.asarray(scorer.score_pairs(users, np.stack([items, items[::-1]], axis=1)))
    fast = backend.score_pairs(users, np.stack([items, items[::-1]], axis=1))
    if own.shape != fast.shape or not np.allclose(own, fast, rtol=1e-3, atol=1e-4 * _scale(fast)):
        raise InvalidDataError(
            f"the factors (or the item-item matrix) of {type(scorer).__name__} do not give the "
            "scores of its score_pairs; remove these attributes, or fold biases and scaling "
            "into them"
        )


def _scale(values: NDArray[Any]) -> float:
    return float(np.abs(values).max(initial=0.0)) + 1e-12


def _sample_users(users: Int, m: int, seed: int) -> NDArray[np.int64]:
    """Rows of the m users whose addressed words are smallest: a simple random sample."""
    known = np.unique(users)
    if m > len(known):
        raise InvalidArgumentError("m", m, f"at most the {len(known):,} users held out")
    words = addresses(seed, Stream.USER_SAMPLE, known)
    return np.flatnonzero(np.isin(users, known[np.argsort(words, kind="stable")[:m]]))


def _in_order(design: Given, order: Int, n_rows: int, n_items: int) -> Given:
    if len(design.indptr) - 1 != n_rows:
        raise InvalidArgumentError(
            "negatives", f"{len(design.indptr) - 1} rows", f"{n_rows} rows, one per pair"
        )
    if design.items.max() >= n_items:
        raise InvalidArgumentError(
            "negatives", int(design.items.max()), f"item indices below {n_items:,}"
        )
    lists = [design.items[design.indptr[row] : design.indptr[row + 1]] for row in order]
    return Given(lists)


def _candidate_rule(design: Design, exclude: Interactions | None) -> CandidateRule:
    if isinstance(design, Given):
        return "given"
    return "all" if exclude is None else "unseen"
