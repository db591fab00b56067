r"""Scores of a tile of a batch's pairs, and what their slopes do to the users; compiled.

With a cosine, vectors of users and of shared negatives are divided by their lengths when they are
gathered; own items when they are scored. All slopes are then in the unit vectors, and
:mod:`.rows` brings them back to the factors.
"""

from __future__ import annotations

import numpy as np

from truerank.execution.prefetch import prefetch_row
from truerank.models.mf.batches import Swaps
from truerank.models.mf.compiled import exact, fast
from truerank.models.mf.draws import Ints
from truerank.models.mf.rows import Floats
from truerank.models.mf.slopes import Rule, slopes_of_row

AHEAD = 8
"""Rows asked for before their turn."""

_0, _1, _TINY = np.float32(0), np.float32(1), np.float32(1e-30)


@fast
def gather(factors: Floats, rows: Ints, cosine: bool, out: Floats) -> None:
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


@fast
def score_own(
    users: Floats, items: Floats, own: Ints, cosine: bool, scores: Floats, lengths: Floats
) -> None:
    """Scores of the own items of each pair; ``lengths`` is filled with 1/|h| for a cosine."""
    for b in range(len(own)):
        vector = users[b]
        for j in range(own.shape[1]):
            prefetch_row(items, own[b, min(j + AHEAD, own.shape[1] - 1)])
            row = items[own[b, j]]
            product, square = _0, _0
            if cosine:
                for k in range(len(vector)):
                    product += vector[k] * row[k]
                    square += row[k] * row[k]
                lengths[b, j] = _1 / np.sqrt(max(square, _TINY))
                scores[b, j] = product * lengths[b, j]
            else:
                for k in range(len(vector)):
                    product += vector[k] * row[k]
                scores[b, j] = product


@fast
def shift_shared(scores: Floats, shift: Floats, shared: Ints, level: Floats) -> None:
    """Take ``shift`` of its item and ``level`` of its pair off every shared negative, tile x n."""
    for b in range(len(scores)):
        row = scores[b]
        for c in range(len(row)):
            row[c] -= shift[shared[c]] + level[b]


@fast
def shift_own(scores: Floats, shift: Floats, own: Ints, level: Floats, n_positives: int) -> None:
    """The same for own negatives, which start at column ``n_positives``."""
    for b in range(len(scores)):
        for j in range(n_positives, scores.shape[1]):
            scores[b, j] -= shift[own[b, j]] + level[b]


@exact
def swap(scores: Floats, swaps: Swaps, first: int) -> None:
    """Let stand-ins stand in for swapped columns, in a tile that starts at pair ``first``."""
    for b in range(len(scores)):
        row = scores[b]
        for s in range(swaps.starts[first + b], swaps.starts[first + b + 1]):
            row[swaps.column[s]] = row[swaps.instead[s]]


@exact
def swap_back(slopes: Floats, swaps: Swaps, first: int) -> None:
    """Slopes of swapped columns belong to their stand-ins."""
    for b in range(len(slopes)):
        row = slopes[b]
        for s in range(swaps.starts[first + b], swaps.starts[first + b + 1]):
            column, instead = swaps.column[s], swaps.instead[s]
            if column != instead:
                row[instead] += row[column]
                row[column] = _0


@fast
def slopes_of_tile(
    rule: Rule,
    own: Floats,
    shared: Floats,
    tau: Floats,
    n_extra: int,
    scale: np.float32,
) -> float:
    """Sum of the losses of a tile; the scores become slopes.

    Negatives are the shared ones if there are any, else the own ones.
    """
    total = 0.0
    for b in range(len(own)):
        extra = own[b, 1 : 1 + n_extra]
        neg = shared[b] if shared.shape[1] > 0 else own[b, 1 + n_extra :]
        loss, slope = slopes_of_row(rule, own[b, 0], neg, extra, tau[b], scale)
        own[b, 0] = slope
        total += loss
    return total


@fast
def pull_users(
    slopes: Floats, items: Floats, own: Ints, lengths: Floats, cosine: bool, gradient: Floats
) -> None:
    """Add what own items do to the (unit) vector of each user."""
    for b in range(len(own)):
        mine = gradient[b]
        for j in range(own.shape[1]):
            row, slope = items[own[b, j]], slopes[b, j]
            if cosine:
                slope *= lengths[b, j]
            for k in range(len(mine)):
                mine[k] += slope * row[k]


@fast
def shared_tile(
    rule: Rule,
    users: Floats,
    negatives: Floats,
    items: Floats,
    own_items: Ints,
    cosine: bool,
    shift: Floats,
    shared_items: Ints,
    level: Floats,
    tau: Floats,
    n_extra: int,
    scale: np.float32,
    swaps: Swaps,
    first: int,
    own: Floats,
    lengths: Floats,
    shared: Floats,
    gradient: Floats,
    push: Floats,
) -> float:
    """From the vectors of a tile to slopes and gradients, in one call; the sum of its losses.

    The products are BLAS's, called from compiled code: Python takes no turn between them.
    ``push`` of no rows is left alone: nobody wants the gradients of the shared negatives.
    """
    score_own(users, items, own_items, cosine, own, lengths)
    np.dot(users, negatives.T, shared)
    if len(shift) > 0:
        shift_shared(shared, shift, shared_items, level)
    swap(shared, swaps, first)
    total = slopes_of_tile(rule, own, shared, tau, n_extra, scale)
    swap_back(shared, swaps, first)
    np.dot(shared, negatives, gradient)
    if len(push) > 0:
        np.dot(shared.T, users, push)
    pull_users(own, items, own_items, lengths, cosine, gradient)
    return total


@fast
def own_tile(
    rule: Rule,
    users: Floats,
    items: Floats,
    own: Ints,
    cosine: bool,
    shift: Floats,
    level: Floats,
    tau: Floats,
    n_extra: int,
    scale: np.float32,
    scores: Floats,
    lengths: Floats,
    gradient: Floats,
) -> float:
    """All of the above for a tile without shared negatives, while the rows of a pair are near."""
    total, nothing = 0.0, scores[:, :0]
    for b in range(len(own)):
        one = slice(b, b + 1)
        score_own(users[one], items, own[one], cosine, scores[one], lengths[one])
        if len(shift) > 0:
            shift_own(scores[one], shift, own[one], level[one], 1 + n_extra)
        total += slopes_of_tile(rule, scores[one], nothing[one], tau[one], n_extra, scale)
        gradient[b] = _0
        pull_users(scores[one], items, own[one], lengths[one], cosine, gradient[one])
    return total
