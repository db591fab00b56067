"""Every array that a fitted model may keep in one table: what its axes are and what it holds.

``users`` and ``items`` are those of the vocabularies. Any other axis has one length in all arrays
of a model: user and item factors have the same dimensions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.array_files import check_array
from truerank.data.id_order import distinct_ids


class ArraySpec(NamedTuple):
    """What an array must be.

    Attributes:
        axes: Their names.
        kind: ``"f"`` for floats, ``"i"`` for counts, which are not negative.
        finite: Whether every number must be finite.
        sparse: Whether it is sparse; None for either.
    """

    axes: tuple[str, ...]
    kind: str = "f"
    finite: bool = True
    sparse: bool | None = False


ARRAYS: dict[str, ArraySpec] = {
    "history": ArraySpec(("users", "items"), sparse=True),
    "seen": ArraySpec(("users", "items"), sparse=True),
    "known": ArraySpec(("users", "items"), sparse=True),
    "neighbours": ArraySpec(("users", "users"), sparse=True),
    "shares": ArraySpec(("items", "items"), sparse=True),
    "item_item": ArraySpec(("items", "items"), sparse=None),
    "user_factors": ArraySpec(("users", "dimensions")),
    "item_factors": ArraySpec(("items", "dimensions")),
    "implicit_factors": ArraySpec(("items", "dimensions")),
    "encoder": ArraySpec(("items", "dimensions")),
    "decoder": ArraySpec(("items", "dimensions")),
    "offset": ArraySpec(("items",)),
    "item_counts": ArraySpec(("items",), kind="i"),
    "head": ArraySpec(("items",)),
    "tail": ArraySpec(("items",)),
    "sigma": ArraySpec(("singular values",)),
    "lambdas": ArraySpec(("singular values",)),
    "objectives": ArraySpec(("objectives",)),
    "objective": ArraySpec(("rounds",)),
    "gap": ArraySpec(("rounds",)),
    "losses": ArraySpec(("epochs",)),
    "validations": ArraySpec(("epochs",), finite=False),
    "values": ArraySpec(("values",)),
}
"""A model with an array of another name gets a line here."""


def check_arrays(
    arrays: dict[str, NDArray[Any] | sparse.csr_array], *, n_users: int, n_items: int
) -> None:
    """Every array is what the table says, for these vocabularies.

    Raises:
        ValueError: If one is not.
    """
    lengths = {"users": n_users, "items": n_items}
    for name, array in arrays.items():
        spec = ARRAYS[name]
        is_sparse = bool(sparse.issparse(array))
        if array.ndim != len(spec.axes) or (spec.sparse is not None and spec.sparse != is_sparse):
            raise ValueError(f"{name} of another kind")
        shape = tuple(
            lengths.setdefault(axis, n) for axis, n in zip(spec.axes, array.shape, strict=True)
        )
        if array.shape != shape:
            raise ValueError(f"{name} of shape {array.shape} in the place of {shape}")
        content: Any = array.data if is_sparse else array
        check_array(content, shape=content.shape, kind=spec.kind, finite=spec.finite)
        if spec.kind == "i" and np.any(content < 0):
            raise ValueError(f"{name} below 0")


def check_ids(ids: NDArray[Any]) -> None:
    """External ids: signed integers or strings, in the order of ids, without repeats.

    Text may also stand by letters, as it once did where it is all numbers.
    """
    if ids.ndim != 1 or ids.dtype.kind not in "iU" or not ids.dtype.isnative:
        raise ValueError("ids that are neither integers nor strings")
    ascending = not np.any(ids[1:] <= ids[:-1])
    if not ascending and not np.array_equal(distinct_ids(ids)[0], ids):
        raise ValueError("ids that do not ascend")
