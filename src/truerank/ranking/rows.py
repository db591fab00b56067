"""The rows to rank, and all that decides their ranks but the scores."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from truerank.data.interactions import Interactions
from truerank.ranking.kernels import count_candidates
from truerank.ranking.ties import tie_code
from truerank.rng import Stream, addresses

Int = NDArray[np.int64]
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """(user, target) rows, ascending by user.

    Attributes:
        users: User index of each row.
        targets: Item index of each row's held-out item.
        keys: Starting word of each row's draws.
        tie_keys: Word of each row's user, from which the random tie rule goes on.
        excluded_indptr: ``excluded_items[excluded_indptr[u]:excluded_indptr[u + 1]]`` are no
            candidates for user ``u``, unless one is the target itself.
        excluded_items: Item indices, ascending within a user.
        n_candidates: Candidates of each row, the target included.
        tie_rule: Code of the tie rule.
    """

    users: Int
    targets: Int
    keys: Words
    tie_keys: Words
    excluded_indptr: Int
    excluded_items: NDArray[np.int32]
    n_candidates: Int
    tie_rule: int

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
        """Rows with their addresses and candidates; ``users`` must ascend."""
        if exclude is None:
            indptr, excluded = np.zeros(int(users.max()) + 2, np.int64), np.empty(0, np.int32)
        else:
            indptr, excluded = exclude.indptr, exclude.indices
        no_keys = np.zeros(len(users), np.uint64)
        seen = (read_only(indptr), read_only(excluded))
        return cls(
            users=users,
            targets=targets,
            keys=addresses(seed, Stream.NEGATIVES, users, targets),
            tie_keys=addresses(seed, Stream.TIES, users) if ties == "random" else no_keys,
            excluded_indptr=indptr,
            excluded_items=excluded,
            n_candidates=count_candidates(read_only(users), read_only(targets), *seen, n_items),
            tie_rule=tie_code(ties),
        )

    def __len__(self) -> int:
        return len(self.users)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the tie rule, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "tie_rule"}

    def part(self, start: int, stop: int) -> Rows:
        """Rows ``start`` to ``stop - 1``, over the same excluded items."""
        return replace(
            self,
            users=self.users[start:stop],
            targets=self.targets[start:stop],
            keys=self.keys[start:stop],
            tie_keys=self.tie_keys[start:stop],
            n_candidates=self.n_candidates[start:stop],
        )

    def take(self, chosen: NDArray[np.int64]) -> Rows:
        """Some rows, over the same excluded items."""
        names = ("users", "targets", "keys", "tie_keys", "n_candidates")
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


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A plain view nobody writes to: kernels are then compiled once, not once per kind."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
