"""Where our users and items are in the other library's numbering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from truerank.arrays import Int
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """Their number of each of our users and items, -1 for those they do not know.

    Attributes:
        data: Our vocabularies, and the history of our users.
        users: Their number of each of our users.
        items: Their number of each of our items.
        n_users: How many users they have.
        n_items: How many items they have.
    """

    data: Interactions
    users: Int
    items: Int
    n_users: int
    n_items: int

    @classmethod
    def by_ids(
        cls,
        data: Interactions,
        user_ids: ArrayLike,
        item_ids: ArrayLike,
        *,
        as_text: bool = False,
    ) -> Self:
        """From the external ids that their users and items have, in their order.

        ``as_text`` compares ours as strings, for a library that has made strings of them.
        """
        users, items = _plain(user_ids), _plain(item_ids)
        ours = [ids.astype(str) if as_text else ids for ids in (data.user_ids, data.item_ids)]
        return cls(
            data,
            _look_up("user", ours[0], users),
            _look_up("item", ours[1], items),
            len(users),
            len(items),
        )

    @classmethod
    def of_matrix(
        cls,
        data: Interactions,
        shape: tuple[int, int],
        user_ids: ArrayLike | None,
        item_ids: ArrayLike | None,
    ) -> Self:
        """For libraries that know rows and columns only: ``data.matrix()``'s, unless told."""
        ids = []
        for name, ours, theirs, size in (
            ("user", data.user_ids, user_ids, shape[0]),
            ("item", data.item_ids, item_ids, shape[1]),
        ):
            named = ours if theirs is None else _plain(theirs)
            if len(named) != size:
                raise InvalidArgumentError(
                    "data" if theirs is None else f"{name}_ids",
                    f"{len(named):,} {name}s",
                    f"over the {size:,} {name}s of the model",
                    f"fit the model on data.matrix() (users x items), or name its {name}s in "
                    f"their order with {name}_ids=",
                )
            ids.append(named)
        return cls.by_ids(data, *ids)

    @property
    def is_complete(self) -> bool:
        """Whether they know all our users and items."""
        return bool((self.users >= 0).all() and (self.items >= 0).all())

    def history(self) -> sparse.csr_matrix:
        """What our users have seen, in their numbers; what they do not know is left out."""
        seen = self.data.matrix().tocoo()
        users, items = self.users[seen.row], self.items[seen.col]
        known = (users >= 0) & (items >= 0)
        return sparse.csr_matrix(
            (seen.data[known], (users[known], items[known])), shape=(self.n_users, self.n_items)
        )


def _plain(ids: ArrayLike) -> NDArray[Any]:
    array = np.asarray(ids)
    return np.asarray(array.tolist()) if array.dtype.kind == "O" else array


def _look_up(name: str, ours: NDArray[Any], theirs: NDArray[Any]) -> Int:
    kinds = [{"u": "i", "T": "U"}.get(ids.dtype.kind, ids.dtype.kind) for ids in (ours, theirs)]
    if kinds[0] != kinds[1]:
        raise InvalidDataError(
            f"{name} ids such as {ours[:1].tolist()[0]!r} in data are of another type than the "
            f"model's, such as {theirs[:1].tolist()[0]!r}; convert one to the type of the other"
        )
    order = np.argsort(theirs)
    ordered = theirs[order]
    place = np.minimum(np.searchsorted(ordered, ours), len(ordered) - 1)
    known = ordered[place] == ours
    if not known.any():
        raise InvalidDataError(
            f"the model knows none of the {len(ours):,} {name}s of data, the first is "
            f"{ours[0]}; fit it on the same data, under the same ids"
        )
    return np.where(known, order[place], -1).astype(np.int64)
