r"""Dropout: each pair leaves out some dimensions of its user's vector; compiled.

.. math:: u \to \frac{z \circ u}{1 - p}, \qquad P(z_k = 0) = p

with u the user's vector, of length 1 for a cosine, and z drawn anew for every pair, addressed like
all draws (:mod:`truerank.numerics.streams`). Scores keep their mean and cannot rest on few
dimensions [srivastava2014]_. As in the published code of CCL the length is that before
dropping, so a cosine can exceed 1. Only training drops; ranking has whole vectors.

The share is kept in units of 1/65536. z is drawn again where gradients go back through it: nothing
is stored.
"""

from __future__ import annotations

import numpy as np

from truerank.arrays import Float32
from truerank.numerics.jit import fastmath
from truerank.numerics.streams import word

_0, _NONE, _S16, _LOW16 = np.float32(0), np.uint64(0), np.uint64(16), np.uint64(0xFFFF)


def units(share: float) -> np.uint64:
    """The share of dimensions that are left out, in units of 1/65536."""
    return np.uint64(min(round(share * 65536), 65535))


@fastmath
def drop(vectors: Float32, key: np.uint64, first: int, dropped: np.uint64) -> None:
    """Leave out dimensions of the users' vectors, or of their gradients, of a tile in place.

    Args:
        vectors: One for each pair of the tile.
        key: Of the batch.
        first: Place of the tile's first pair in the batch.
        dropped: Share of what is left out, in :func:`units`.
    """
    if dropped == _NONE:
        return
    dim = vectors.shape[1]
    whole = np.float32(65536) / np.float32(65536 - dropped)
    for b in range(len(vectors)):
        mine, bits = vectors[b], key
        for k in range(dim):
            bits = word(key, (first + b) * dim + k) if k % 4 == 0 else bits >> _S16
            mine[k] *= whole if bits & _LOW16 >= dropped else _0
