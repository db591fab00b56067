r"""One epoch: for every batch scores, gradients and the steps of the rows touched.

For a tile of at most :data:`TILE` pairs with the users' vectors U and the shared negatives N,

.. math::  S = U N^\top, \quad G = \partial\ell/\partial S, \quad
           \nabla U = G N, \quad \nabla N = \sum_{\text{tiles}} G^\top U

three matrix products with G computed between them, while the tile is in the cache; own items go
pair by pair. Threads take tiles, then rows; the next batch is drawn meanwhile. Sums run in a fixed
order, so the number of threads changes no bit.

Memory beside the factors and the states of their optimiser: 2 B (d + w) numbers for batches of B
pairs with w own and n shared items, n d for each set of shared ones and for each tile, n times
:data:`TILE` for each thread (4 B n or more for a loss without a fused gradient:
:mod:`.autograd_batch`), and two batches (:mod:`truerank.training.batches`). Never users x items,
and B x n x d only where every pair has a set to itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float32
from truerank.models.mf.dropout import units
from truerank.models.mf.rows import Sets, move_touched
from truerank.models.mf.scores import Buffers, Scoring, Tile, gather, own_tile, shared_tile
from truerank.numerics.threads import Each
from truerank.training.batches import Batch, BatchPlan, make_batch
from truerank.training.objective import Objective
from truerank.training.optimisers import DENSE_ADAM, Step, Table, bring_up, start_correction, tails

TILE = 256
"""Pairs whose scores are held in the cache of a core; part of the result's bits."""

_PIECES = 2
"""Pieces of rows for each thread: who is held up leaves one to the others."""

_NO_GRADIENTS = np.empty((0, 0), np.float32)

Task = Callable[[], object]
Rows = NDArray[Any]


def tiles_of(size: int, plan: BatchPlan) -> list[Tile]:
    """The tiles of a batch of so many pairs, those of a set after another.

    >>> tiles = tiles_of(1000, BatchPlan(0, 0, 800, False, False, sharing=300))
    >>> [(tile.first, tile.last, tile.set) for tile in tiles][:3]
    [(0, 256, 0), (256, 300, 0), (300, 556, 1)]
    """
    cuts = [
        (first, min(first + TILE, size, start + plan.sharing), s)
        for s, start in enumerate(range(0, size, plan.sharing))
        for first in range(start, min(start + plan.sharing, size), TILE)
    ]
    return [Tile(first, end, i, s) for i, (first, end, s) in enumerate(cuts)]


def longest_tile(batch_size: int, plan: BatchPlan) -> int:
    """Pairs of the longest tile of a batch of so many."""
    return min(TILE, batch_size, plan.sharing)


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
        self.buffers = Buffers(
            users=np.empty((batch_size, dim), np.float32),
            pull=np.empty((batch_size, dim), np.float32),
            shared=np.empty((n_sets, n_shared, dim), np.float32),
            push=np.empty((n_tiles, n_shared, dim), np.float32),
            own=np.empty((batch_size, width), np.float32),
            lengths=np.empty((batch_size, width), np.float32),
        )
        self._tiles: dict[int, list[Tile]] = {}
        self._of_thread = threading.local()
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
            beside = [partial(prepare, number + 1)] if following else []
            loss = self.gradients(batch, beside)
            check(number + 1, loss / len(batch.users))
            self.move(batch, step)
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
        batch = make_batch(
            o.pairs, o.sampler, o.plan, o.user_of_pair, chosen, address, key, number,
            self._place_of_user, self._place_of_item,
        )  # fmt: skip
        # Compiled code hands over an int, for which it would be compiled again, twice.
        return batch._replace(drops=np.uint64(batch.drops))

    def gradients(self, batch: Batch, beside: Sequence[Task] = ()) -> float:
        """Sum of the losses; afterwards the buffers hold the gradients of the mean loss.

        Of the sum itself where items are fixed, so that a user's do not depend on the others.
        What is to be done beside fills the time of who has no tile left.
        """
        o, size, n = self.objective, len(batch.users), batch.shared.shape[1]
        scoring = Scoring(
            o.cosine, self.dropped, o.shift, o.levels(batch, n or o.plan.n_own), o.tau,
            o.plan.n_extra, np.float32(1.0 if self.fixed_items else 1.0 / size),
        )  # fmt: skip
        tiles = self.tiles(size)
        users, items, out = self.users.factors, self.items.factors, self.buffers

        def fetch(s: int) -> None:
            gather(items, batch.shared[s], o.cosine, out.shared[s, :n])

        if n:
            self.each(fetch, range(len(batch.shared)))
        if o.fused is None:
            from truerank.models.mf.autograd_batch import gradients_by_autograd

            return gradients_by_autograd(
                o, scoring, tiles, batch, users, items, out, self.fixed_items, self.each, beside
            )
        fused, losses = o.fused, np.zeros(len(tiles))

        def whole(tile: Tile) -> None:
            if n:
                S = self._room(tile.last - tile.first, n)
                loss = shared_tile(
                    fused, scoring, tile, batch, users, items, S, out, self.fixed_items
                )
            else:
                loss = own_tile(fused, scoring, tile, batch, users, items, out)
            losses[tile.number] = loss

        work = [partial(whole, tile) for tile in tiles]
        # The longer first: to draw negatives for each pair takes more than a tile of them.
        self.each(lambda task: task(), [*work, *beside] if n else [*beside, *work])
        return float(losses.sum())

    def tiles(self, size: int) -> list[Tile]:
        """Those of a batch of so many pairs, kept: most batches have as many."""
        if size not in self._tiles:
            self._tiles[size] = tiles_of(size, self.objective.plan)
        return self._tiles[size]

    def _room(self, size: int, n: int) -> Float32:
        """For scores of a tile: the same for all tiles of a thread, so that it stays near."""
        if not hasattr(self._of_thread, "room"):
            pairs = longest_tile(self.batch_size, self.objective.plan)
            self._of_thread.room = np.empty(pairs * self.buffers.shared.shape[1], np.float32)
        room: Float32 = self._of_thread.room[: size * n].reshape(size, n)
        return room

    def move(self, batch: Batch, step: Step) -> None:
        """The rows touched, by the gradients in the buffers."""
        size, plan, out = len(batch.users), self.objective.plan, self.buffers
        sets = Sets(
            n=batch.shared.shape[1],
            tiles_of_one=-(-min(plan.sharing, size) // TILE),
            tiles=len(self.tiles(size)),
        )
        vectors, gradients, pull = out.users[:size], out.own[:size], out.pull[None, :size]
        pairs = Sets(n=size, tiles_of_one=1, tiles=1)
        parts = self.parts * _PIECES

        def part(i: int) -> None:
            if not self.fixed_items:
                move_touched(
                    self.items, batch.by_item, vectors, gradients, out.push, sets, step, i, parts
                )
            move_touched(
                self.users, batch.by_user, vectors, _NO_GRADIENTS, pull, pairs, step, i, parts
            )

        self.each(part, range(parts))
