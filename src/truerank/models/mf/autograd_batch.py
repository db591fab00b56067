"""Gradients of a batch by autograd: scores by tiles, one call of torch for all of them, and back.

Memory: B x n scores, torch's copy of them, its gradient and what the loss needs between, unlike
:func:`~.scores.shared_tile`, which needs the scores of a tile only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from truerank.arrays import Float32
from truerank.models.mf.dropout import drop
from truerank.models.mf.scores import (
    Buffers,
    Scoring,
    Tile,
    gather,
    pull_users,
    score_own,
    shift_own,
    shift_shared,
    swap,
    swap_back,
)
from truerank.numerics.threads import Each
from truerank.training.batches import Batch
from truerank.training.objective import Objective
from truerank.training.torch_loss import loss_and_gradient_by_autograd


def gradients_by_autograd(
    objective: Objective,
    scoring: Scoring,
    tiles: Sequence[Tile],
    batch: Batch,
    users: Float32,
    items: Float32,
    out: Buffers,
    fixed_items: bool,
    each: Each,  # type: ignore[type-arg]
    beside: Sequence[Callable[[], object]] = (),
) -> float:
    """As :func:`~.scores.shared_tile` and :func:`~.scores.own_tile` do it, for a whole batch.

    Args:
        objective: With a torch function as its loss.
        scoring: What is done with it.
        tiles: Of the batch.
        batch: Pairs and what is drawn for them.
        users: Factors of all users.
        items: Factors of all items.
        out: Filled; the shared negatives are there already.
        fixed_items: Leave out what is done to them.
        each: Runs tiles on all cores.
        beside: What else is to be done, while some core has no tile.
    """
    size, n = len(batch.users), batch.shared.shape[1]
    shared, cosine = np.empty((size, n), np.float32), scoring.cosine

    def score(tile: Tile) -> None:
        at = tile.at
        gather(users, batch.users[at], cosine, out.users[at])
        drop(out.users[at], batch.drops, tile.first, scoring.dropped)
        score_own(out.users[at], items, batch.own[at], cosine, out.own[at], out.lengths[at])
        if n:
            np.dot(out.users[at], out.shared[tile.set, :n].T, out=shared[at])
        if len(scoring.shift) and n:
            shift_shared(shared[at], scoring.shift, batch.shared[tile.set], scoring.level[at])
        elif len(scoring.shift):
            n_positives = 1 + scoring.n_extra
            shift_own(out.own[at], scoring.shift, batch.own[at], scoring.level[at], n_positives)

    def pull(tile: Tile) -> None:
        at = tile.at
        if n:
            np.dot(shared[at], out.shared[tile.set, :n], out=out.pull[at])
        else:
            out.pull[at] = 0.0
        if n and not fixed_items:
            np.dot(shared[at].T, out.users[at], out=out.push[tile.number, :n])
        pull_users(out.own[at], items, batch.own[at], out.lengths[at], cosine, out.pull[at])
        drop(out.pull[at], batch.drops, tile.first, scoring.dropped)

    def quietly(task: Callable[[], object]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # the loss is checked, and says so
            task()

    each(quietly, [*beside, *(partial(score, tile) for tile in tiles)])
    swap(shared, batch.swaps, 0)
    loss: Any = objective.loss
    inputs = objective.further_inputs(batch, scoring.level)
    if n and "log_q" in inputs:
        swap(inputs["log_q"], batch.swaps, 0)
    own, scale = out.own[:size], float(scoring.scale)
    total = loss_and_gradient_by_autograd(loss, own, shared, scoring.n_extra, scale, inputs)
    swap_back(shared, batch.swaps, 0)
    each(quietly, [partial(pull, tile) for tile in tiles])
    return total
