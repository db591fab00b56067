"""The explicit policies every split obeys, applied in one place and counted.

========================  ==========================  =============================================
argument                  values, the default first   decides about
========================  ==========================  =============================================
``overlap``               ``error, drop, keep``       held-out pairs the history has as well
``short_users``           ``keep_in_train, drop``     users too short to hold anything out
``new_users``             ``keep, drop``              held-out users without any history
``cold_items``            ``keep, drop``              held-out items nobody in training has seen
========================  ==========================  =============================================

They are applied in this order: dropping a short user can make an item cold, never the reverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from truerank.arrays import Mask
from truerank.checks import check_one_of
from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError, Message
from truerank.split.pair_sets import contained
from truerank.split.result import Dropped, Split, SplitDescription, SplitReport

Overlap = Literal["error", "drop", "keep"]
ShortUsers = Literal["keep_in_train", "drop"]
NewUsers = Literal["keep", "drop"]
ColdItems = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """One choice per policy; a wrong name is refused here."""

    overlap: Overlap = "error"
    short_users: ShortUsers = "keep_in_train"
    new_users: NewUsers = "keep"
    cold_items: ColdItems = "keep"

    def __post_init__(self) -> None:
        check_one_of("overlap", self.overlap, get_args(Overlap))
        check_one_of("short_users", self.short_users, get_args(ShortUsers))
        check_one_of("new_users", self.new_users, get_args(NewUsers))
        check_one_of("cold_items", self.cold_items, get_args(ColdItems))


def apply_policies(
    policies: Policies,
    description: SplitDescription,
    *,
    train: Interactions,
    held_out: Interactions,
    fold_in: Interactions | None = None,
    dropped: Dropped | None = None,
) -> Split:
    """Drop what the policies say, refuse what cannot be evaluated, count the rest.

    Args:
        policies: The choices.
        description: Name and parameters of the split, kept in the result.
        train: Over the same vocabularies as ``held_out`` and ``fold_in``.
        held_out: Before any policy.
        fold_in: Before any policy.
        dropped: What the caller has dropped already.
    """
    before = Dropped() if dropped is None else dropped
    leak = _in_history(held_out, train, fold_in)
    n_leaks = int(leak.sum())
    if n_leaks and policies.overlap == "error":
        raise InvalidDataError(_leak_sentence(held_out, leak))
    if n_leaks and policies.overlap == "drop":
        held_out = held_out.select(~leak)

    n_short = n_short_rows = 0
    if policies.short_users == "drop":
        short = (train.user_counts > 0) & (held_out.user_counts == 0)
        rows = short[train.users]
        n_short, n_short_rows = int(short.sum()), int(rows.sum())
        train = train.select(~rows)

    n_new = n_new_pairs = 0
    if policies.new_users == "drop":
        new = _without_history(train, held_out, fold_in)
        pairs = new[held_out.users]
        n_new, n_new_pairs = int(new.sum()), int(pairs.sum())
        held_out = held_out.select(~pairs)

    cold = train.item_counts[held_out.indices] == 0
    n_cold = int(cold.sum())
    if policies.cold_items == "drop":
        held_out = held_out.select(~cold)
    if len(held_out) == 0:
        raise InvalidDataError(_nothing_sentence(n_leaks, n_new_pairs, n_cold))
    if len(train) == 0:
        raise InvalidDataError(
            "nothing is left to train on: every interaction was held out or dropped; hold out less"
        )

    evaluated = held_out.user_counts > 0
    known = (train.user_counts > 0) | (False if fold_in is None else fold_in.user_counts > 0)
    report = SplitReport(
        train=len(train),
        held_out=len(held_out),
        fold_in=0 if fold_in is None else len(fold_in),
        users_evaluated=int(evaluated.sum()),
        users_not_evaluated=int((known & ~evaluated).sum()),
        users_without_history=int((evaluated & ~known).sum()),
        overlapping_pairs=n_leaks if policies.overlap == "keep" else 0,
        cold_pairs=n_cold if policies.cold_items == "keep" else 0,
        dropped=Dropped(
            overlapping_pairs=n_leaks if policies.overlap == "drop" else 0,
            short_users=before.short_users + n_short,
            short_user_interactions=before.short_user_interactions + n_short_rows,
            new_users=n_new,
            new_user_pairs=n_new_pairs,
            cold_pairs=before.cold_pairs + (n_cold if policies.cold_items == "drop" else 0),
            repeated_rows=before.repeated_rows,
        ),
    )
    return Split(
        train=train, held_out=held_out, fold_in=fold_in, description=description, report=report
    )


def _in_history(held_out: Interactions, train: Interactions, fold_in: Interactions | None) -> Mask:
    leak = contained(held_out, train)
    return leak if fold_in is None else leak | contained(held_out, fold_in)


def _without_history(
    train: Interactions, held_out: Interactions, fold_in: Interactions | None
) -> Mask:
    new = (held_out.user_counts > 0) & (train.user_counts == 0)
    return np.asarray(new if fold_in is None else new & (fold_in.user_counts == 0), dtype=np.bool_)


def _leak_sentence(held_out: Interactions, leak: Mask) -> str:
    first = int(np.argmax(leak))
    user, item = held_out.users[first], held_out.indices[first]
    return (
        f"{int(leak.sum()):,} of {len(held_out):,} held-out pairs are in the training part as "
        f"well, the first is user {held_out.user_ids[user]}, item {held_out.item_ids[item]}: "
        "a leak; take them out of the held-out part with "
        + Message("overlap='drop', or say overlap='keep'", "overlap=drop, or say overlap=keep")
    )


def _nothing_sentence(n_leaks: int, n_new: int, n_cold: int) -> str:
    reasons = []
    if n_leaks:
        reasons.append(f"{n_leaks:,} pairs overlap with training")
    if n_new:
        reasons.append(f"{n_new:,} belong to users without history")
    if n_cold:
        reasons.append(f"{n_cold:,} have an item unseen in training")
    why = f" ({', '.join(reasons)})" if reasons else ""
    return f"nothing is held out{why}; hold out more, or keep what the rules drop"
