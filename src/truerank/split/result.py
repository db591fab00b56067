"""What a split is: its parts, how they were made, and what is worth knowing about them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields

from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters

SplitDescription = dict[str, str | int | float]
"""The name of the splitting function and the value of each of its parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What the policies took out; all zero where every one says keep.

    Attributes:
        overlapping_pairs: Held-out pairs that were in the history as well.
        short_users: Users too short to hold anything out, removed altogether.
        short_user_interactions: The interactions they had.
        new_users: Held-out users without any history.
        new_user_pairs: The held-out pairs they had.
        cold_pairs: Pairs whose item nobody in training has seen.
        repeated_rows: Repeats of a (user, item) pair in the files of a published split.
    """

    overlapping_pairs: int = 0
    short_users: int = 0
    short_user_interactions: int = 0
    new_users: int = 0
    new_user_pairs: int = 0
    cold_pairs: int = 0
    repeated_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitReport:
    """Counts of the parts as they are, and of what the policies dropped on the way.

    A user's *history* is what a model may know of them: their interactions in ``train``, and in
    ``fold_in`` where there is one.

    Attributes:
        train: Interactions to fit on.
        held_out: Interactions to rank.
        fold_in: Interactions that describe the held-out users; 0 without strong generalisation.
        users_evaluated: Users with at least one held-out interaction.
        users_not_evaluated: Users with interactions of which none is held out.
        users_without_history: Evaluated users of whom a model knows nothing.
        overlapping_pairs: Held-out pairs that are in the history as well: a leak.
        cold_pairs: Held-out pairs whose item never occurs in ``train``.
        dropped: What the policies took out before these counts were made.
    """

    train: int
    held_out: int
    fold_in: int
    users_evaluated: int
    users_not_evaluated: int
    users_without_history: int
    overlapping_pairs: int
    cold_pairs: int
    dropped: Dropped

    def __str__(self) -> str:
        rows = [
            ("interactions in training", self.train),
            ("interactions held out", self.held_out),
            ("users evaluated", self.users_evaluated),
            ("users with nothing held out", self.users_not_evaluated),
            ("evaluated users without history", self.users_without_history),
            ("held-out pairs also in the history", self.overlapping_pairs),
            ("held-out pairs with an item unseen in training", self.cold_pairs),
        ]
        if self.fold_in:
            rows.insert(1, ("interactions folded in", self.fold_in))
        for part in fields(self.dropped):
            count: int = getattr(self.dropped, part.name)
            if count:
                rows.append((f"dropped: {part.name.replace('_', ' ')}", count))
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {count:>13,}" for label, count in rows)


@renamed_parameters(rule="description")
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Training and held-out interactions over the same vocabularies.

    Attributes:
        train: What a model is fitted on.
        held_out: What it must rank: one or several items of each evaluated user.
        fold_in: Under strong generalisation, what is known of the held-out users, who are
            absent from ``train``; None otherwise.
        description: How it was made: the function's name and its parameters.
        report: What is worth knowing about it.
    """

    train: Interactions
    held_out: Interactions
    fold_in: Interactions | None = None
    description: SplitDescription
    report: SplitReport

    def fingerprint(self) -> str:
        """SHA-256 of the parts: equal parts make equal splits, however they were made."""
        digest = hashlib.sha256()
        for label, part in (
            ("train", self.train),
            ("held_out", self.held_out),
            ("fold_in", self.fold_in),
        ):
            digest.update(f"{label}:{'' if part is None else part.fingerprint()};".encode())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"Split({self.description['name']}: {self.report.train:,} in training, "
            f"{self.report.held_out:,} held out of {self.report.users_evaluated:,} users)"
        )
