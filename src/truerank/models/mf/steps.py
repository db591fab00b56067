r"""One epoch: for every batch scores, slopes, gradients and the steps of the rows touched.

For a tile of at most :data:`TILE` pairs with the users' vectors U and the shared negatives N,

.. math::  S = U N^\top, \quad G = \partial\ell/\partial S, \quad
           \nabla U = G N, \quad \nabla N = \sum_{\text{tiles}} G^\top U

three matrix products with the slopes between them, while the tile is in the cache; own items go
pair by pair. Threads take tiles, then rows; the next batch is drawn meanwhile. Sums run in a fixed
order, so the number of threads changes no bit.

Memory beside the factors and the states of their optimiser: B (2 d + 2 w + n) numbers for batches
of B pairs with w own and n shared items, n d for each set of shared ones and n d for each tile,
and two batches (:mod:`.batches`). Never users x items, and B x n x d only where every pair has a
set to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truerank.models.mf.batches import Batch, Plan, make_batch
from truerank.models.mf.dropout import drop, units
from truerank.models.mf.momentum import bring_up, tails
from truerank.models.mf.objective import Objective
from truerank.models.mf.rows import (
    DENSE_ADAM,
    Floats,
    Sets,
    Step,
    Table,
    move_items,
    move_users,
    start_correction,
)
from truerank.models.mf.scores import (
    gather,
    own_tile,
    pull_users,
    score_own,
    shared_tile,
    shift_own,
    shift_shared,
    swap,
    swap_back,
)
from truerank.models.mf.slopes import Rule
from truerank.models.parallel import Each

TILE = 256
"""Pairs whose scores are held in the cache of a core; part of the result's bits."""

_PIECES = 3
"""Pieces of rows for each thread: small enough to make up for who draws the next batch."""

Task = Callable[[], object]
Rows = NDArray[Any]


class Tile(NamedTuple):
    """Pairs that share a set of negatives, a few hundred at most."""

    at: slice
    number: int
    set: int


def tiles_of(size: int, plan: Plan) -> list[Tile]:
    """The tiles of a batch of so many pairs, those of a set after another.

    >>> tiles = tiles_of(1000, Plan(0, 0, 800, False, False, sharing=300))
    >>> [(tile.at.start, tile.at.stop, tile.set) for tile in tiles][:3]
    [(0, 256, 0), (256, 300, 0), (300, 556, 1)]
    """
    cuts = [
        (first, min(first + TILE, size, start + plan.sharing), s)
        for s, start in enumerate(range(0, size, plan.sharing))
        for first in range(start, min(start + plan.sharing, size), TILE)
    ]
    return [Tile(slice(first, end), i, s) for i, (first, end, s) in enumerate(cuts)]


class Steps:
    """Buffers of training, and the steps of an epoch.

    Args:
        objective: What is minimised.
        users: Factors and states, changed in place.
        items: The same; left alone if ``fixed_items``.
        batch_size: Pairs per step.
        each: Runs tasks on all cores.
        parts: Into how many parts the rows are divided.
        dropout: Part of a user's vector that a pair leaves out.
        fixed_items: Learn the users only.
    """

    def __init__(
        self,
        objective: Objective,
        users: Table,
        items: Table,
        *,
        batch_size: int,
        each: Each,  # type: ignore[type-arg]
        parts: int,
        dropout: float = 0.0,
        fixed_items: bool = False,
    ) -> None:
        self.objective, self.users, self.items = objective, users, items
        self.batch_size, self.each, self.parts = batch_size, each, parts
        self.dropped, self.fixed_items = units(dropout), fixed_items
        plan, dim = objective.plan, users.factors.shape[1]
        width = 1 + plan.n_extra + plan.n_own
        n_shared = batch_size if plan.in_batch else plan.n_shared
        n_sets, n_tiles = plan.n_sets(batch_size), len(tiles_of(batch_size, plan))
        self.U = np.empty((batch_size, dim), np.float32)
        self.grad_U = np.empty((batch_size, dim), np.float32)
        self.N = np.empty((n_sets, n_shared, dim), np.float32)
        self.grad_N = np.empty((n_tiles, n_shared, dim), np.float32)
        self.own = np.empty((batch_size, width), np.float32)
        self.lengths = np.empty((batch_size, width), np.float32)
        self.flat_shared = np.empty(batch_size * n_shared, np.float32)
        self._place_of_user = np.full(len(users.factors), -1, np.int32)
        self._place_of_item = np.full(len(items.factors), -1, np.int32)

    def epoch(
        self,
        order: NDArray[Any],
        key: np.uint64,
        step_of: Callable[[int], Step],
        check: Callable[[int, float], None],
    ) -> float:
        """Visit the pairs in this order; the mean loss.

        Args:
            order: Positions of the pairs.
            key: Of the draws of this epoch.
            step_of: How far rows move in step s, from 1; with one rate for the whole epoch.
            check: Called with the number of every step, from 1, and its mean loss.
        """
        first = range(0, len(order), self.batch_size)
        ready: list[Batch] = []
        catch_up = self._bring_up(step_of(1), len(first))

        def prepare(number: int) -> None:
            chosen = order[first[number] : first[number] + self.batch_size]
            ready.append(self.batch(chosen, key, number))

        total = 0.0
        prepare(0)
        for number in range(len(first)):
            batch, step = ready.pop(), step_of(number + 1)
            following = number + 1 < len(first)
            catch_up(batch.by_user.rows, batch.by_item.rows, step.s - 1)
            loss = self.gradients(batch)
            check(number + 1, loss / len(batch.users))
            beside = [partial(prepare, number + 1)] if following else []
            self.move(batch, step, beside)
            total += loss
        everyone, everything = (np.arange(len(t.factors)) for t in (self.users, self.items))
        catch_up(everyone, everything, step.s)
        return total / len(order)

    def _bring_up(self, step: Step, n_steps: int) -> Callable[[Rows, Rows, int], None]:
        """What brings users and items up to a step of this epoch: nothing but for dense Adam."""
        if step.optimiser != DENSE_ADAM:
            return lambda *_: None
        before, parts = step.s - 1, self.parts * _PIECES
        left = tails(before, n_steps, float(step.rate) / start_correction(step.s))

        def both(users: Rows, items: Rows, to: int) -> None:
            def part(i: int) -> None:
                bring_up(self.items, items, to, before, left, step.epsilon, i, parts)
                bring_up(self.users, users, to, before, left, step.epsilon, i, parts)

            self.each(part, range(parts))

        return both

    def batch(self, chosen: NDArray[np.int64], key: np.uint64, number: int) -> Batch:
        """These pairs and what is drawn for them.

        With fixed items users have nothing to do with each other: a pair draws by its place among
        those of its user, whoever else is there.
        """
        o = self.objective
        address = chosen
        if self.fixed_items:
            address = chosen - o.pairs.indptr[o.user_of_pair[chosen]]
        return make_batch(
            o.pairs, o.law, o.plan, o.user_of_pair, chosen, address, key, number,
            self._place_of_user, self._place_of_item,
        )  # fmt: skip

    def gradients(self, batch: Batch) -> float:
        """Sum of the losses; afterwards the buffers hold the gradients of the mean loss.

        Of the sum itself where items are fixed, so that a user's do not depend on the others.
        """
        o, size, n = self.objective, len(batch.users), batch.shared.shape[1]
        shared = self.flat_shared[: size * n].reshape(size, n)
        n_negatives = n or o.plan.n_own
        level = o.levels(batch, n_negatives)
        tau = o.tau[batch.users]
        tiles = tiles_of(size, o.plan)
        losses = np.zeros(len(tiles))
        scale = np.float32(1.0 if self.fixed_items else 1.0 / size)

        def fetch(s: int) -> None:
            gather(self.items.factors, batch.shared[s], o.cosine, self.N[s, :n])

        def begin(tile: Tile) -> None:
            at = tile.at
            gather(self.users.factors, batch.users[at], o.cosine, self.U[at])
            self._drop(self.U, batch, at)
            score_own(
                self.U[at], self.items.factors, batch.own[at], o.cosine, self.own[at],
                self.lengths[at],
            )  # fmt: skip
            if n:
                np.dot(self.U[at], self.N[tile.set, :n].T, out=shared[at])

        def end(tile: Tile) -> None:
            at = tile.at
            if n:
                np.dot(shared[at], self.N[tile.set, :n], out=self.grad_U[at])
                if not self.fixed_items:
                    np.dot(shared[at].T, self.U[at], out=self.grad_N[tile.number, :n])
            else:
                self.grad_U[at] = 0.0
            pull_users(
                self.own[at], self.items.factors, batch.own[at], self.lengths[at], o.cosine,
                self.grad_U[at],
            )  # fmt: skip
            self._drop(self.grad_U, batch, at)

        def whole(rule: Rule, tile: Tile) -> None:
            at, n_extra = tile.at, o.plan.n_extra
            gather(self.users.factors, batch.users[at], o.cosine, self.U[at])
            self._drop(self.U, batch, at)
            if n:
                push = self.grad_N[tile.number, : 0 if self.fixed_items else n]
                losses[tile.number] = shared_tile(
                    rule, self.U[at], self.N[tile.set, :n], self.items.factors, batch.own[at],
                    o.cosine, o.shift, batch.shared[tile.set], level[at], tau[at], n_extra, scale,
                    batch.swaps, at.start, self.own[at], self.lengths[at], shared[at],
                    self.grad_U[at], push,
                )  # fmt: skip
            else:
                losses[tile.number] = own_tile(
                    rule, self.U[at], self.items.factors, batch.own[at], o.cosine, o.shift,
                    level[at], tau[at], n_extra, scale, self.own[at], self.lengths[at],
                    self.grad_U[at],
                )  # fmt: skip
            self._drop(self.grad_U, batch, at)

        def run(task: Task) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # the loss is checked, and says so
                task()

        if n:
            self.each(fetch, range(len(batch.shared)))
        if o.rule is not None:
            self.each(run, [partial(whole, o.rule, tile) for tile in tiles])
            return float(losses.sum())
        self.each(run, [partial(begin, tile) for tile in tiles])
        loss = self._by_autograd(batch, shared, level, tau, float(scale))
        self.each(run, [partial(end, tile) for tile in tiles])
        return loss

    def _drop(self, vectors: Floats, batch: Batch, at: slice) -> None:
        """Scores see dropped vectors of users; their gradients go back the same way."""
        if self.dropped:
            drop(vectors[at], np.uint64(batch.drops), at.start, self.dropped)

    def _by_autograd(
        self, batch: Batch, shared: Floats, level: Floats, tau: Floats, scale: float
    ) -> float:
        from truerank.models.mf.autograd import slopes_by_autograd

        o = self.objective
        loss: Any = o.loss
        own, n = self.own[: len(batch.users)], shared.shape[1]
        if len(o.shift) and n:
            for tile in tiles_of(len(own), o.plan):
                at = tile.at
                shift_shared(shared[at], o.shift, batch.shared[tile.set], level[at])
        elif len(o.shift):
            shift_own(own, o.shift, batch.own, level, 1 + o.plan.n_extra)
        swap(shared, batch.swaps, 0)
        inputs = {}
        if "tau_pos" in o.inputs:
            inputs["tau_pos"] = tau
        if o.takes_log_q:
            lift = o.log_lift()
            own_set = np.arange(len(own)) // o.plan.sharing
            met = batch.shared[own_set] if n else batch.own[:, 1 + o.plan.n_extra :]
            log_q = lift[met] + level[:, None]
            if n:
                swap(log_q, batch.swaps, 0)
            inputs["log_q"] = log_q
        total = slopes_by_autograd(loss, own, shared, o.plan.n_extra, scale, inputs)
        swap_back(shared, batch.swaps, 0)
        return total

    def move(self, batch: Batch, step: Step, beside: Sequence[Task] = ()) -> None:
        """The rows touched, by the gradients in the buffers; and what is to be done meanwhile."""
        size, plan = len(batch.users), self.objective.plan
        sets = Sets(
            n=batch.shared.shape[1],
            tiles_of_one=-(-min(plan.sharing, size) // TILE),
            tiles=len(tiles_of(size, plan)),
        )
        parts = self.parts * _PIECES

        def part(i: int) -> None:
            if not self.fixed_items:
                move_items(
                    self.items, batch.by_item, self.U[:size], self.own[:size], self.grad_N,
                    sets, step, i, parts,
                )  # fmt: skip
            move_users(self.users, batch.by_user, self.grad_U[:size], step, i, parts)

        self.each(lambda task: task(), [*beside, *(partial(part, i) for i in range(parts))])
