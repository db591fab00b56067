"""The rows to rank, and all that decides their ranks but the scores."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.arrays import Int, Words
from truerank.data.interactions import Interactions
from truerank.numerics.sorted_rows import place_of
from truerank.numerics.ties import Ties, tie_code
from truerank.rng import Stream, addresses


@dataclass(frozen=True, slots=True, eq=False)
class TargetRows:
    """(user, target) rows, ascending by user.

    Attributes:
        users: User index of each row.
        targets: Item index of each row's held-out item.
        keys: Starting word of each row's draws.
        excluded_indptr: ``excluded_items[excluded_indptr[u]:excluded_indptr[u + 1]]`` are no
            candidates for user ``u``; never one of the user's targets.
        excluded_items: Item indices, ascending within a user.
        target_indptr: ``target_items[target_indptr[u]:target_indptr[u + 1]]`` are all targets of
            user ``u``, those of rows that are not here included.
        target_items: Item indices, ascending within a user, each once.
        n_candidates: Candidates of each row, the target included.
        tie_rule: Code of the tie rule.
        tie_word: Word from which the order of tied items goes on.
    """

    users: Int
    targets: Int
    keys: Words
    excluded_indptr: Int
    excluded_items: NDArray[np.int32]
    target_indptr: Int
    target_items: Int
    n_candidates: Int
    tie_rule: int
    tie_word: np.uint64

    def __post_init__(self) -> None:
        for name, array in self.arrays().items():
            object.__setattr__(self, name, read_only(array))

    @classmethod
    def of(
        cls,
        users: Int,
        targets: Int,
        *,
        n_items: int,
        seed: int,
        exclude: Interactions | None,
        ties: str,
    ) -> Self:
        """Rows with their addresses and candidates; ``users`` must ascend.

        A target is a candidate in all rows of its user, even if it is among the excluded items:
        all targets of a user then stand in one list.
        """
        target_indptr, target_items = _targets_by_user(users, targets)
        indptr, excluded = np.zeros(len(target_indptr), np.int64), np.empty(0, np.int32)
        if exclude is not None:
            indptr, excluded = _without(exclude, users, targets)
        return cls(
            users=users,
            targets=targets,
            keys=addresses(seed, Stream.NEGATIVES, users, targets),
            excluded_indptr=indptr,
            excluded_items=excluded,
            target_indptr=target_indptr,
            target_items=target_items,
            n_candidates=n_items - (indptr[users + 1] - indptr[users]),
            tie_rule=tie_code(ties),
            tie_word=addresses(seed, Stream.TIES)[0],
        )

    @property
    def ties(self) -> Ties:
        """The order of tied items, for compiled code."""
        return Ties(self.tie_rule, self.tie_word, self.target_indptr, self.target_items)

    def __len__(self) -> int:
        return len(self.users)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the tie rule and its word, by name."""
        return {
            f.name: getattr(self, f.name) for f in fields(self) if not f.name.startswith("tie_")
        }

    def part(self, start: int, stop: int) -> TargetRows:
        """Rows ``start`` to ``stop - 1``, over the same excluded items."""
        return replace(
            self,
            users=self.users[start:stop],
            targets=self.targets[start:stop],
            keys=self.keys[start:stop],
            n_candidates=self.n_candidates[start:stop],
        )

    def take(self, chosen: NDArray[np.int64]) -> TargetRows:
        """Some rows, over the same excluded items."""
        names = ("users", "targets", "keys", "n_candidates")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def excluded(self, row: int) -> NDArray[np.int32]:
        """Items left out for one row's user."""
        user = self.users[row]
        return self.excluded_items[self.excluded_indptr[user] : self.excluded_indptr[user + 1]]

    def grouped(self) -> tuple[Int, Int]:
        """Distinct users, and where the rows of each begin; then where the last ones end."""
        new = np.concatenate([[True], self.users[1:] != self.users[:-1]])
        starts = np.flatnonzero(new)
        return self.users[starts], np.append(starts, len(self.users))


def _targets_by_user(users: Int, targets: Int) -> tuple[Int, Int]:
    """The distinct targets of each user, ascending, and where those of each begin."""
    order = np.lexsort((targets, users))
    users, targets = users[order], targets[order]
    new = np.ones(len(users), np.bool_)
    new[1:] = (users[1:] != users[:-1]) | (targets[1:] != targets[:-1])
    counts = np.bincount(users[new], minlength=int(users.max()) + 1)
    return np.concatenate([[0], np.cumsum(counts)]), targets[new]


def _without(seen: Interactions, users: Int, targets: Int) -> tuple[Int, NDArray[np.int32]]:
    """What the users have seen, without their targets; the same arrays where none is among it."""
    indptr, items = seen.indptr, seen.indices
    among = find_in_rows(read_only(indptr), read_only(items), read_only(users), read_only(targets))
    gone = np.unique(among[among >= 0])
    if len(gone) == 0:
        return indptr, items
    return indptr - np.searchsorted(gone, indptr), np.delete(items, gone)


@njit(nogil=True, cache=True)
def find_in_rows(
    indptr: Int, items: NDArray[np.int32], rows: Int, wanted: Int
) -> NDArray[np.int64]:
    """Where each wanted item lies in its compressed sparse row, whose items ascend; -1 if not."""
    found = np.empty(len(wanted), np.int64)
    for k in range(len(wanted)):
        found[k] = place_of(items, indptr[rows[k]], indptr[rows[k] + 1], wanted[k])
    return found


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A plain view nobody writes to: kernels are then compiled once, not once per kind."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
