"""``rank`` and ``rank_pairs``: from a scorer to a :class:`RankTable`."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.arrays import Int
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.execution import Executor, Progress, Serial, Threads, closed_after
from truerank.numerics.ties import DEFAULT_TIES, TieRule
from truerank.private_folder import private_folder
from truerank.ranking.adaptive_budget import PILOT_ROWS, Budget
from truerank.ranking.backends.base import Backend
from truerank.ranking.backends.select import backend_for, check_promise
from truerank.ranking.columns import as_ids
from truerank.ranking.designs import (
    Adaptive,
    Design,
    FixedNegatives,
    Full,
    Sampled,
    Screened,
    Users,
    recorded,
)
from truerank.ranking.header import CandidateRule, Header
from truerank.ranking.jobs import (
    BlockTask,
    Ranked,
    RankJob,
    RowDesign,
    rank_block,
    save_job,
    shared_cost,
)
from truerank.ranking.request_checks import (
    as_indices,
    check_design,
    check_fixed_negatives,
    check_pairs,
    check_shared,
    check_sizes,
    check_training,
    fitted_on,
    name_of,
)
from truerank.ranking.rival_draws import continue_chances
from truerank.ranking.rows import TargetRows
from truerank.ranking.screening.budget import PILOT_ROWS as SCREEN_PILOT
from truerank.ranking.screening.budget import ScreenBudget, affordable
from truerank.ranking.screening.certificate import affordable_ladder
from truerank.ranking.screening.screened_ranks import Screen, rank_screened
from truerank.ranking.stages import SampleState, Stages, follow_stages
from truerank.ranking.table import RankTable
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
    ties: TieRule = DEFAULT_TIES,
    trained_elsewhere: bool = False,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> RankTable:
    """The rank of every held-out item of a split, by any design, as a :class:`RankTable`.

    Sampled rivals are addressed by (seed, user, held-out item), so every model ranked with
    the same seed meets the same rivals, and neither blocks, threads, order nor executor can
    change a result.

    Args:
        model: A :class:`Scorer` over the users and items of the split. For a split with
            fold-in it must have ``fold_in(history) -> Scorer``.
        split: What was held out, and what was seen.
        design: Whom to rank against; ``Full()`` if not given.
        seed: Seed of the draws.
        candidates: ``"unseen"`` leaves out the user's training (or fold-in) items, except those
            that are held out as well; ``"all"`` keeps them, as the dissertation does.
        ties: See :mod:`truerank.numerics.ties`.
        trained_elsewhere: Rank a model that says (by its ``trained_on``, or ``folded_from`` where
            users were folded in) that it was fitted on
            other data than ``split.train``, which is refused otherwise: it may have seen the
            held-out items. The header then names the data that the model was fitted on.
        executor: Where to run; threads on all cores if not given.
        progress: Show a bar; only on a terminal if not given.
    """
    if not isinstance(split, Split):
        raise InvalidArgumentError(
            "split", type(split).__name__, "a Split",
            "make one with tr.split.leave_one_out(data), or use tr.rank_pairs",
        )  # fmt: skip
    if candidates not in ("unseen", "all"):
        raise InvalidArgumentError("candidates", candidates, "'unseen' or 'all'")
    if not trained_elsewhere:
        check_training(model, split)
    seen = split.train if split.fold_in is None else split.fold_in
    scorer = model
    if split.fold_in is not None:
        if not hasattr(model, "fold_in"):
            raise InvalidArgumentError(
                "model", type(model).__name__, "able to fold in new users",
                "this split holds out whole users: "
                + (
                    "give the fitted model itself, it is folded in here"
                    if fitted_on(model)
                    else "give the model a method fold_in(history) -> Scorer"
                ),
            )  # fmt: skip
        scorer = model.fold_in(split.fold_in)
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
            "data": fitted_on(model) or split.train.fingerprint(),
            "split": split.fingerprint(),
            "model": name_of(model),
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
    ties: TieRule = DEFAULT_TIES,
    user_ids: ArrayLike | None = None,
    item_ids: ArrayLike | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> RankTable:
    """The rank of each given (user, item) pair, as a :class:`RankTable` in their order.

    Args:
        scorer: A :class:`Scorer`.
        users: User index of each pair.
        items: Item index of each pair.
        design: Whom to rank against; ``Full()`` if not given.
        seed: Seed of the draws.
        exclude: Items seen by each user, which are not candidates; None for all items.
        ties: See :mod:`truerank.numerics.ties`.
        user_ids: Names of the users for the table; their indices if not given.
        item_ids: Names of the items for the table; their indices if not given.
        executor: Where to run; threads on all cores if not given.
        progress: Show a bar; only on a terminal if not given.
    """
    return _rank(
        scorer,
        as_indices("users", users),
        as_indices("items", items),
        design or Full(),
        seed=seed,
        exclude=exclude,
        ties=ties,
        executor=executor,
        progress=progress,
        user_ids=None if user_ids is None else as_ids("user", user_ids),
        item_ids=None if item_ids is None else as_ids("item", item_ids),
        origin={"model": name_of(scorer)},
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
    check_design(design)
    backend = backend_for(scorer, user_ids)
    check_pairs(users, items, backend, exclude, user_ids, item_ids)
    ascending = bool((users[1:] >= users[:-1]).all())
    known = users if ascending else np.sort(users)
    population = 1 + int((known[1:] != known[:-1]).sum())
    inner: RowDesign
    if isinstance(design, Users):
        chosen, inner = _sample_users(users, design.m, seed), design.inner
    else:
        chosen, inner = np.arange(len(users)), design
    order = chosen if ascending else chosen[np.argsort(users[chosen], kind="stable")]
    if isinstance(inner, FixedNegatives):
        check_fixed_negatives(inner, len(users), backend.n_items)
        inner = inner if ascending else inner.take(order)
    rows = TargetRows.of(
        users[order],
        items[order],
        n_items=backend.n_items,
        seed=seed,
        exclude=exclude,
        ties=ties,
    )
    check_sizes(inner, rows, user_ids)
    check_shared(inner, ties)
    check_promise(scorer, backend, rows)
    stages: Stages | None
    if isinstance(inner, Screened) or (isinstance(inner, Sampled) and inner.shared):
        stages, ranked = _screened(inner, rows, backend, user_ids, seed, executor, progress)
    else:
        stages, ranked = _ranked(inner, rows, backend, seed, executor, progress)
    back = np.argsort(order, kind="stable")  # rows return in the order they came in
    users, items = users[order][back], items[order][back]
    drawn = ties == "random" or not isinstance(design, Full | FixedNegatives)
    return RankTable(
        user=users if user_ids is None else user_ids[users],
        item=items if item_ids is None else item_ids[items],
        rank=ranked.rank[back],
        n_sampled=ranked.size[back],
        n_items=rows.n_candidates[back],
        weight=np.ones(len(back)),
        n_scored=ranked.scored[back],
        header=Header(
            design=recorded(design),
            stages=stages,
            replacement=bool(getattr(inner, "replacement", False)),
            seed=int(seed) if drawn else None,
            ties=ties,
            candidates=_candidate_rule(inner, exclude),
            n_population=population,
            version=__version__,
            **origin,
        ),
    )


def _ranked(
    design: RowDesign,
    rows: TargetRows,
    backend: Backend,
    seed: int,
    executor: Executor | None,
    progress: bool | None,
) -> tuple[Stages | None, Ranked]:
    """The stages of a sampled design, and what became of the rows."""
    if not isinstance(design, Sampled | Adaptive):
        return None, _run(RankJob(rows, backend, design), executor, progress)
    if isinstance(design, Sampled) or not design.limited:
        stages = design.stages(backend.n_items)
        return stages, _run(RankJob(rows, backend, design, stages), executor, progress)
    # The pilot's samples are these rows' own, so what was scored for the plan is not scored again.
    words = addresses(seed, Stream.PILOT, rows.users, rows.targets)
    pilot = np.sort(np.argsort(words, kind="stable")[:PILOT_ROWS])
    rest = np.delete(np.arange(len(rows)), pilot)
    here = executor if executor is not None and executor.in_process else None
    stages, first = _with_plan(design, rows.take(pilot), backend, len(rows), here)
    found = Ranked.empty(len(rows))
    found.put(pilot, first)
    if len(rest):
        job = RankJob(rows.take(rest), backend, design, stages)
        found.put(rest, _run(job, executor, progress))
    return stages, found


def _screened(
    design: Screened | Sampled,
    rows: TargetRows,
    backend: Backend,
    user_ids: NDArray[Any] | None,
    seed: int,
    executor: Executor | None,
    progress: bool | None,
) -> tuple[Stages, Ranked]:
    """The stages of a design whose users share their rivals, and what became of the rows."""
    n_users = 1 + int((rows.users[1:] != rows.users[:-1]).sum())
    n_items = backend.n_items
    stages, plan = design.stages(n_items, n_users), None
    known, ranks = rows.part(0, 0), np.empty(0, np.int64)
    if isinstance(design, Screened) and design.certified is None:
        budget = design.budget
        if design.seconds is not None:
            budget, known, ranks = affordable(backend, rows, design.seconds, n_users)
        ladder = affordable_ladder(design.k, budget or 1.0, n_items)
        plan = ScreenBudget(ladder, stages.n_blocks or 1, budget or 1.0)
        stages = plan.stages
    found, done = Ranked.empty(len(rows)), len(known)
    found.put(slice(0, done), Ranked(ranks, known.n_candidates, shared_cost(known, n_items)))
    rest = rows.part(done, len(rows))
    if len(rest) == 0:
        return stages, found
    screen = Screen.of(stages, rest.users, user_ids, seed)
    order = screen.by_block(rest.users, rest.targets)
    pilot = 0
    if plan is not None:
        block = screen.block[rest.users[order]]
        last = block[min(SCREEN_PILOT, len(order)) - 1]
        pilot = int(np.searchsorted(block, last, side="right"))
        first = order[:pilot]
        rank, met = rank_screened(backend, rest.take(first), screen, plan.settle)
        found.put(done + first, Ranked(rank, met.drawn + 1, met.scored))
    if pilot < len(order):
        job = RankJob(rest.take(order[pilot:]), backend, design, stages, screen=screen)
        found.put(done + order[pilot:], _run(job, executor, progress))
    return stages, found


def _with_plan(
    design: Adaptive, pilot: TargetRows, backend: Backend, n_rows: int, executor: Executor | None
) -> tuple[Stages, Ranked]:
    """The plan of a budget, made while the pilot's samples grow, and the pilot's ranks."""
    budget = Budget(design, backend.n_items, n_pilot=len(pilot), n_rows=n_rows)
    state = SampleState.new(len(pilot))

    def meet(active: NDArray[Any], _: Int, wanted: Int) -> Int:
        one = Stages(np.array([wanted.max() + 1]), np.array([0]), np.array([1.0]))
        now = state.take(active)
        job = RankJob(pilot.take(active), backend, design, one, now)
        ranked = _run(job, executor, progress=False)
        state.put(active, now)
        return ranked.rank

    rank, size = follow_stages(
        budget.stages, pilot.n_candidates, design.replacement, meet,
        lambda stage, active: continue_chances(pilot.keys[active], stage), settle=budget.settle,
    )  # fmt: skip
    return budget.stages, Ranked(rank, size, state.scored)


def _run(job: RankJob, executor: Executor | None, progress: bool | None) -> Ranked:
    if executor is None:
        executor = Threads() if job.backend.releases_lock else Serial()
    found = Ranked.empty(len(job.rows))
    with ExitStack() as stack:
        place: RankJob | str = job
        if not executor.in_process:
            # Large, so what a killed process leaves of it is removed by the next one that comes.
            folder = private_folder(Path(tempfile.gettempdir()), "truerank-job")
            place = str(stack.enter_context(folder))
            save_job(job, Path(place))
        tasks = (BlockTask(place, start, stop) for start, stop in job.blocks())
        bar = stack.enter_context(Progress("ranking", total=len(job.rows), enabled=progress))
        results = stack.enter_context(closed_after(executor.imap(rank_block, tasks)))
        for _, (start, ranked) in results:
            found.put(slice(start, start + len(ranked.rank)), ranked)
            bar.advance(len(ranked.rank))
    return found


def _sample_users(users: Int, m: int, seed: int) -> NDArray[np.int64]:
    """Rows of the m users whose addressed words are smallest: a simple random sample."""
    known = np.unique(users)
    if m > len(known):
        raise InvalidArgumentError("m", m, f"at most the {len(known):,} users held out")
    words = addresses(seed, Stream.USER_SAMPLE, known)
    return np.flatnonzero(np.isin(users, known[np.argsort(words, kind="stable")[:m]]))


def _candidate_rule(design: Design, exclude: Interactions | None) -> CandidateRule:
    if isinstance(design, FixedNegatives):
        return "given"
    return "all" if exclude is None else "unseen"
