"""Gradients of the rows that a batch touches, and their steps; compiled.

A row's gradient is summed, projected where the similarity is a cosine, and used at once by the
optimiser (:mod:`truerank.training.optimisers`): gradients are never stored for all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truerank.arrays import Float32
from truerank.numerics.jit import fastmath
from truerank.training.batches import Groups
from truerank.training.negative_sampling import Ints
from truerank.training.optimisers import Step, Table, ask_for, move_rows

_TINY = np.float32(1e-30)

BLOCK = 16
"""Rows that are moved together: asked for, then their gradients summed, then moved."""


class Sets(NamedTuple):
    """Where the gradients of shared negatives lie: tile by tile, those of a set after another."""

    n: int  # columns of a set
    tiles_of_one: int  # tiles of a set; the last may have fewer
    tiles: int  # of all


@fastmath
def _project(factors: Float32, rows: Ints, grads: Float32) -> None:
    """From gradients in h/|h| to those in h: what is along h is lost, the rest shrinks by |h|."""
    for g in range(len(rows)):
        row, grad = factors[rows[g]], grads[g]
        square, along = np.float32(0), np.float32(0)
        for k in range(len(row)):
            square += row[k] * row[k]
            along += row[k] * grad[k]
        inverse = np.float32(1) / np.sqrt(max(square, _TINY))
        along *= inverse * inverse
        for k in range(len(row)):
            grad[k] = (grad[k] - along * row[k]) * inverse


@fastmath
def _sum_entries(
    groups: Groups,
    users: Float32,
    gradients: Float32,
    shared: Float32,
    sets: Sets,
    first: int,
    grads: Float32,
) -> None:
    """The gradients of rows from ``first`` on, as told for :func:`move_touched`."""
    width, n_own = gradients.shape[1], gradients.size
    flat = gradients.ravel()
    for g in range(len(grads)):
        grad = grads[g]
        grad[:] = np.float32(0)
        for at in range(groups.starts[first + g], groups.starts[first + g + 1]):
            e = groups.entries[at]
            if e < n_own:
                gradient, vector = flat[e], users[e // width]
                for k in range(len(grad)):
                    grad[k] += gradient * vector[k]
            else:
                tile = (e - n_own) // sets.n * sets.tiles_of_one
                for t in range(tile, min(tile + sets.tiles_of_one, sets.tiles)):
                    vector = shared[t, (e - n_own) % sets.n]
                    for k in range(len(grad)):
                        grad[k] += vector[k]


@fastmath
def move_touched(
    table: Table,
    groups: Groups,
    users: Float32,
    gradients: Float32,
    shared: Float32,
    sets: Sets,
    step: Step,
    part: int,
    parts: int,
) -> None:
    """Move the items, or the users, of one part of the groups.

    Users have no own items, and their pairs are the columns: one tile of gradients.

    Args:
        table: Of the items or users.
        groups: Entries of each touched row.
        users: The vectors of the pairs' users as they were scored, B x d.
        gradients: In the scores of the own items, B x w: item j of pair b pulls by
            ``gradients[b, j] users[b]``.
        shared: Gradients of the shared columns, tiles x n x d.
        sets: Which of them belong to a column.
        step: How far.
        part: Which part.
        parts: How many there are.
    """
    n = len(groups.rows)
    end = (part + 1) * n // parts
    room = np.empty((BLOCK, users.shape[1]), np.float32)
    for first in range(part * n // parts, end, BLOCK):
        rows = groups.rows[first : min(first + BLOCK, end)]
        grads = room[: len(rows)]
        for i in rows:
            ask_for(table, i)
        _sum_entries(groups, users, gradients, shared, sets, first, grads)
        if step.cosine:
            _project(table.factors, rows, grads)
        move_rows(table, rows, grads, step)
