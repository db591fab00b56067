r"""Dropout: each pair leaves out some dimensions of its user's vector; compiled.

.. math::
    w \to \frac{z \circ w}{1 - p} \;\text{ or, for a cosine, }\; \frac{z \circ w}{|z \circ w|},
    \qquad P(z_k = 0) = p

with z drawn anew for every pair, addressed like all draws (:mod:`.draws`). Scores then cannot rest
on few dimensions [srivastava2014]_. Only training drops; ranking has whole vectors.

The share is kept in units of 1/65536, and z is drawn again where gradients go back through it:
nothing is stored.
"""

from __future__ import annotations

import numpy as np

from truerank.execution.prefetch import prefetch_row
from truerank.models.mf.compiled import fast
from truerank.models.mf.draws import Ints, word
from truerank.models.mf.rows import Floats
from truerank.models.mf.scores import AHEAD

_0, _1, _TINY = np.float32(0), np.float32(1), np.float32(1e-30)
_S16, _LOW16 = np.uint64(16), np.uint64(0xFFFF)


def units(share: float) -> np.uint64:
    """The share of dimensions that are left out, in units of 1/65536."""
    return np.uint64(min(round(share * 65536), 65535))


@fast
def gather_some(
    factors: Floats, rows: Ints, cosine: bool, key: np.uint64, first: int, dropped: np.uint64,
    out: Floats,
) -> None:  # fmt: skip
    """What is left of the factors of these rows, the pairs from ``first`` on of their batch."""
    dim = out.shape[1]
    whole = np.float32(65536) / np.float32(65536 - dropped)
    for b in range(len(rows)):
        prefetch_row(factors, rows[min(b + AHEAD, len(rows) - 1)])
        row, mine = factors[rows[b]], out[b]
        square, bits = _0, key
        for k in range(dim):
            bits = word(key, (first + b) * dim + k) if k % 4 == 0 else bits >> _S16
            mine[k] = row[k] if bits & _LOW16 >= dropped else _0
            square += mine[k] * mine[k]
        factor = _1 / np.sqrt(max(square, _TINY)) if cosine else whole
        for k in range(dim):
            mine[k] *= factor


@fast
def back_to_factors(
    factors: Floats, rows: Ints, cosine: bool, key: np.uint64, first: int, dropped: np.uint64,
    users: Floats, gradient: Floats,
) -> None:  # fmt: skip
    """From gradients in the vectors of :func:`gather_some`, ``users``, to those in the factors."""
    dim = gradient.shape[1]
    whole = np.float32(65536) / np.float32(65536 - dropped)
    for b in range(len(rows)):
        row, vector, mine = factors[rows[b]], users[b], gradient[b]
        square, along, bits = _0, _0, key
        for k in range(dim):
            bits = word(key, (first + b) * dim + k) if k % 4 == 0 else bits >> _S16
            if bits & _LOW16 >= dropped:
                square += row[k] * row[k]
                along += vector[k] * mine[k]
            else:
                mine[k] = _0
        if cosine:  # what is along the vector is lost, and the rest shrinks by its length
            inverse = _1 / np.sqrt(max(square, _TINY))
            for k in range(dim):
                mine[k] = (mine[k] - along * vector[k]) * inverse
        else:
            for k in range(dim):
                mine[k] *= whole
