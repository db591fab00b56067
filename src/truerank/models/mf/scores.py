r"""Scores of a tile of a batch's pairs, and what gradients do to the users; compiled.

With a cosine, vectors of users and of shared negatives are divided by their lengths when they are
gathered; own items when they are scored. All gradients are then those in the unit vectors, and
:mod:`.rows` brings them back to the factors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truerank.arrays import Float32
from truerank.losses.gradients import loss_and_gradient
from truerank.losses.loss import FusedLoss
from truerank.models.mf.dropout import drop
from truerank.numerics.jit import fastmath, strict
from truerank.numerics.prefetch import prefetch_row
from truerank.training.batches import Batch, Swaps
from truerank.training.negative_sampling import Ints

AHEAD = 8
"""Rows asked for before their turn."""

_0, _1, _TINY = np.float32(0), np.float32(1), np.float32(1e-30)


class Tile(NamedTuple):
    """Pairs that share a set of negatives, a few hundred at most."""

    first: int  # of its pairs, by place in the batch
    last: int  # the place after its last
    number: int
    set: int

    @property
    def at(self) -> slice:
        return slice(self.first, self.last)


class Scoring(NamedTuple):
    """How scores are made, and what becomes of them."""

    cosine: bool
    dropped: np.uint64  # share of a user's vector that a pair leaves out, in units
    shift: Float32  # by item, what it loses as a negative; empty for nothing
    level: Float32  # by pair, what its negatives lose besides
    tau: Float32  # by user, the share of positives
    n_extra: int  # further positives among the own items
    scale: np.float32  # of the gradients


class Buffers(NamedTuple):
    """What a batch leaves to the steps of the rows, for batches of B pairs with w own items."""

    users: Float32  # B x d, vectors of the pairs' users as they are scored
    pull: Float32  # B x d, their gradients
    shared: Float32  # sets x n x d, vectors of the shared negatives
    push: Float32  # tiles x n x d, their gradients by each tile
    own: Float32  # B x w, scores of the own items and then their gradients
    lengths: Float32  # B x w, 1/|h| of the own items for a cosine


@fastmath
def gather(factors: Float32, rows: Ints, cosine: bool, out: Float32) -> None:
    """The factors of these rows, of length 1 for a cosine."""
    for b in range(len(rows)):
        prefetch_row(factors, rows[min(b + AHEAD, len(rows) - 1)])
        row, mine = factors[rows[b]], out[b]
        square = _0
        for k in range(len(mine)):
            square += row[k] * row[k]
        factor = _1 / np.sqrt(max(square, _TINY)) if cosine else _1
        for k in range(len(mine)):
            mine[k] = factor * row[k]


@fastmath
def score_own(
    users: Float32, items: Float32, own: Ints, cosine: bool, scores: Float32, lengths: Float32
) -> None:
    """Scores of the own items of each pair; ``lengths`` is filled with 1/|h| for a cosine."""
    width, flat = own.shape[1], own.ravel()
    for b in range(len(own)):
        for j in range(width):
            prefetch_row(items, flat[min(b * width + j + AHEAD, own.size - 1)])
            i, product, square = own[b, j], _0, _0
            if cosine:
                for k in range(users.shape[1]):
                    product += users[b, k] * items[i, k]
                    square += items[i, k] * items[i, k]
                lengths[b, j] = _1 / np.sqrt(max(square, _TINY))
                scores[b, j] = product * lengths[b, j]
            else:
                for k in range(users.shape[1]):
                    product += users[b, k] * items[i, k]
                scores[b, j] = product


@fastmath
def shift_shared(scores: Float32, shift: Float32, shared: Ints, level: Float32) -> None:
    """Take ``shift`` of its item and ``level`` of its pair off every shared negative, tile x n."""
    for b in range(len(scores)):
        row = scores[b]
        for c in range(len(row)):
            row[c] -= shift[shared[c]] + level[b]


@fastmath
def shift_own(scores: Float32, shift: Float32, own: Ints, level: Float32, n_positives: int) -> None:
    """The same for own negatives, which start at column ``n_positives``."""
    for b in range(len(scores)):
        for j in range(n_positives, scores.shape[1]):
            scores[b, j] -= shift[own[b, j]] + level[b]


@strict
def swap(scores: Float32, swaps: Swaps, first: int) -> None:
    """Let stand-ins stand in for swapped columns, in a tile that starts at pair ``first``."""
    starts, columns, others = swaps
    for b in range(len(scores)):
        for s in range(starts[first + b], starts[first + b + 1]):
            scores[b, columns[s]] = scores[b, others[s]]


@strict
def swap_back(gradients: Float32, swaps: Swaps, first: int) -> None:
    """Gradients of swapped columns belong to their stand-ins."""
    starts, columns, others = swaps
    for b in range(len(gradients)):
        for s in range(starts[first + b], starts[first + b + 1]):
            if columns[s] != others[s]:
                gradients[b, others[s]] += gradients[b, columns[s]]
                gradients[b, columns[s]] = _0


@fastmath
def loss_and_gradient_of_tile(
    fused: FusedLoss,
    own: Float32,
    shared: Float32,
    tau: Float32,
    n_extra: int,
    scale: np.float32,
) -> float:
    """Sum of the losses of a tile; the scores become gradients.

    Negatives are the shared ones if there are any, else the own ones.
    """
    total = 0.0
    for b in range(len(own)):
        extra = own[b, 1 : 1 + n_extra]
        neg = shared[b] if shared.shape[1] > 0 else own[b, 1 + n_extra :]
        loss, gradient = loss_and_gradient(fused, own[b, 0], neg, extra, tau[b], scale)
        own[b, 0] = gradient
        total += loss
    return total


@fastmath
def pull_users(
    gradients: Float32, items: Float32, own: Ints, lengths: Float32, cosine: bool, pull: Float32
) -> None:
    """Add what own items do to the (unit) vector of each user."""
    for b in range(len(own)):
        for j in range(own.shape[1]):
            i, gradient = own[b, j], gradients[b, j]
            if cosine:
                gradient *= lengths[b, j]
            for k in range(pull.shape[1]):
                pull[b, k] += gradient * items[i, k]


@fastmath
def shared_tile(
    fused: FusedLoss,
    scoring: Scoring,
    tile: Tile,
    batch: Batch,
    users: Float32,
    items: Float32,
    S: Float32,
    out: Buffers,
    fixed_items: bool,
) -> float:
    """From the factors to the gradients of a tile, in scores and users; the sum of its losses.

    All in one call, the products of BLAS included: Python takes no turn between them.

    Args:
        fused: The loss.
        scoring: What is done with it.
        tile: Which pairs.
        batch: Of the tile.
        users: Factors of all users.
        items: Factors of all items.
        S: Room for the scores of the shared negatives, tile x n.
        out: The tile's part of each is filled; the shared negatives are there already.
        fixed_items: Leave out what the tile does to them.
    """
    first, last, n = tile.first, tile.last, S.shape[1]
    U, pull, N = out.users[first:last], out.pull[first:last], out.shared[tile.set, :n]
    own, lengths, own_items = out.own[first:last], out.lengths[first:last], batch.own[first:last]
    who = batch.users[first:last]
    gather(users, who, scoring.cosine, U)
    drop(U, batch.drops, first, scoring.dropped)
    score_own(U, items, own_items, scoring.cosine, own, lengths)
    np.dot(U, N.T, S)
    if len(scoring.shift) > 0:
        shift_shared(S, scoring.shift, batch.shared[tile.set], scoring.level[first:last])
    swap(S, batch.swaps, first)
    total = loss_and_gradient_of_tile(
        fused, own, S, scoring.tau[who], scoring.n_extra, scoring.scale
    )
    swap_back(S, batch.swaps, first)
    np.dot(S, N, pull)
    if not fixed_items:
        np.dot(S.T, U, out.push[tile.number, :n])
    pull_users(own, items, own_items, lengths, scoring.cosine, pull)
    drop(pull, batch.drops, first, scoring.dropped)
    return total


@fastmath
def own_tile(
    fused: FusedLoss,
    scoring: Scoring,
    tile: Tile,
    batch: Batch,
    users: Float32,
    items: Float32,
    out: Buffers,
) -> float:
    """The same for a tile without shared negatives, while the rows of a pair are near."""
    first, last = tile.first, tile.last
    who, own_items = batch.users[first:last], batch.own[first:last]
    U, pull, own = out.users[first:last], out.pull[first:last], out.own[first:last]
    lengths, level, tau = out.lengths[first:last], scoring.level[first:last], scoring.tau[who]
    cosine, shift, n_extra, scale = scoring.cosine, scoring.shift, scoring.n_extra, scoring.scale
    nothing = own[:, :0]
    gather(users, who, cosine, U)
    drop(U, batch.drops, first, scoring.dropped)
    pull[:] = _0
    total = 0.0
    for b in range(len(U)):
        one = slice(b, b + 1)
        score_own(U[one], items, own_items[one], cosine, own[one], lengths[one])
        if len(shift) > 0:
            shift_own(own[one], shift, own_items[one], level[one], 1 + n_extra)
        total += loss_and_gradient_of_tile(fused, own[one], nothing[one], tau[one], n_extra, scale)
        pull_users(own[one], items, own_items[one], lengths[one], cosine, pull[one])
    drop(pull, batch.drops, first, scoring.dropped)
    return total
