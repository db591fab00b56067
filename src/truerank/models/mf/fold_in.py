r"""Vectors of new users, the items fixed.

A user's vector w starts as the mean of the vectors of the history's items, brought to the usual
length of user vectors (the median; 1 for a cosine), and takes :data:`STEPS` steps of Adam down

.. math::  F_u(w) = \sum_{i \in I_u} \ell\bigl(s_{ui}, (s_{uj})_{j \in J}\bigr)

with the loss of the model and negatives J drawn anew for each step, the same for every user. The
rate falls linearly to zero. There is no penalty. A user's result depends on the user's own history
and the seed; on who else is folded in only by rounding. No history: the zero vector.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.arrays import Float32
from truerank.models.mf.learner import unit
from truerank.models.mf.steps import Steps
from truerank.numerics.threads import available_cores, on_all_cores
from truerank.rng import Stream, Training, addresses
from truerank.training.objective import Objective
from truerank.training.optimisers import Step, Table

STEPS = 50
REACH = 0.1
"""First step of a coordinate, in parts of the usual length divided by the root of d."""

PAIRS = 4096
"""Pairs that go together, about; users are never divided."""


def fold_in(
    objective: Objective, items: Float32, *, length: float, seed: int, epsilon: float
) -> Float32:
    """Vectors of the users of the objective's pairs, by its loss and these items.

    Args:
        objective: Over the histories, with shared negatives.
        items: The factors of items, of length 1 for a cosine.
        length: The usual length of user vectors.
        seed: Of the draws.
        epsilon: Of Adam.
    """
    indptr, history = objective.pairs.indptr, objective.pairs.items
    ones = np.ones(len(history), np.float32)
    has = sparse.csr_array((ones, history, indptr), shape=(len(indptr) - 1, len(items)))
    vectors: Float32 = np.asarray(has @ items)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors *= length / np.maximum(norms, 1e-12)
    blocks = _blocks(indptr)
    if not blocks:
        return vectors
    users, fixed = Table.of(vectors, "adam"), Table.of(items, "sgd")
    rate = REACH * length / np.sqrt(items.shape[1])
    with on_all_cores() as each:
        largest = max(len(block) for block in blocks)
        steps = Steps(
            objective, users, fixed, batch_size=largest, each=each, parts=available_cores(),
            fixed_items=True,
        )  # fmt: skip
        for number in range(1, STEPS + 1):
            left = rate * (1.0 - (number - 1) / STEPS)
            step = Step.number(
                number, optimiser="adam", rate=left, l2=0.0, cosine=objective.cosine,
                epsilon=epsilon,
            )  # fmt: skip
            key = np.uint64(addresses(seed, Stream.TRAINING, Training.FOLD_IN, number)[0])
            for block in blocks:
                batch = steps.batch(block, key, 0)
                steps.gradients(batch)
                steps.move(batch, step)
    return unit(vectors, objective.cosine)


def _blocks(indptr: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Positions of the pairs of whole users, about :data:`PAIRS` together."""
    blocks, first = [], 0
    for user in range(len(indptr) - 1):
        if indptr[user + 1] - first >= PAIRS or user == len(indptr) - 2:
            if indptr[user + 1] > first:
                blocks.append(np.arange(first, indptr[user + 1]))
            first = int(indptr[user + 1])
    return blocks
