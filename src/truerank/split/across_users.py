"""Hold out users: strong generalisation, with a part of each history folded in."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from truerank.checks import check_one_of, whole_number
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.rng import Stream, addresses, checked_seed
from truerank.split.held_out_choice import By, checked_fraction, chosen, share
from truerank.split.policies import ColdItems, Policies, ShortUsers, apply_policies
from truerank.split.result import Dropped, Split

Role = Literal["test", "validation"]


def strong_generalization(
    data: Interactions,
    *,
    n_users: int,
    n_validation_users: int = 0,
    role: Role = "test",
    fold_in: float = 0.8,
    seed: int = 0,
    by: By = "random",
    short_users: ShortUsers = "keep_in_train",
    cold_items: ColdItems = "keep",
) -> Split:
    r"""Hold out whole users: a model meets them only after training [liang2018]_.

    A seeded random order of the users gives the test group, then the validation group; everyone
    else is the training part. Of a user :math:`u` in the chosen group with :math:`n_u`
    interactions, :math:`\min(\lfloor (1 - f) n_u + 1/2 \rfloor, n_u - 1)` are held out and the
    rest is folded in. Called twice with the same arguments but the role, it gives two splits with
    the same ``train`` and disjoint evaluated users.

    Args:
        data: All interactions.
        n_users: Size of the test group.
        n_validation_users: Size of the validation group, absent from training as well.
        role: The group whose users are folded in and held out.
        fold_in: The part of each held-out user's interactions a model may see, in (0, 1).
        seed: Decides who is held out, and what of theirs.
        by: Hold out a ``"random"`` part of each user's interactions or the ``"latest"``.
        short_users: What to do with users too short to fold in one interaction and hold out
            another: they are never in a group; leave them in training, or drop them.
        cold_items: ``"drop"`` removes the items that no training user has from the held-out
            users' interactions before these are divided, as the published protocol does.

    >>> data = Interactions.from_arrays([1, 1, 2, 2, 3, 3], [5, 6, 5, 6, 5, 6])
    >>> split = strong_generalization(data, n_users=1, fold_in=0.5)
    >>> split.train.user_counts.tolist() + split.fold_in.user_counts.tolist()
    [0, 2, 2, 1, 0, 0]
    """
    n_test = whole_number("n_users", n_users)
    n_validation = whole_number("n_validation_users", n_validation_users, least=0)
    folded = checked_fraction("fold_in", fold_in)
    check_one_of("role", role, get_args(Role))
    if role == "validation" and n_validation == 0:
        raise InvalidArgumentError("n_validation_users", 0, "at least 1 for role='validation'")
    policies = Policies(overlap="keep", short_users=short_users, cold_items=cold_items)

    long_enough = share(data.user_counts, 1.0 - folded) > 0
    users = np.flatnonzero(long_enough)
    _check_groups(n_test, n_validation, len(users), int((data.user_counts > 0).sum()))
    words = addresses(checked_seed(seed), Stream.SPLIT, users)
    users = users[np.lexsort((users, words))]
    away = np.zeros(data.n_users, dtype=np.bool_)
    away[users[: n_test + n_validation]] = True
    group = np.zeros(data.n_users, dtype=np.bool_)
    start = 0 if role == "test" else n_test
    group[users[start : start + (n_test if role == "test" else n_validation)]] = True

    row = data.users
    short = (data.user_counts > 0) & ~long_enough
    leave_out = away | short if policies.short_users == "drop" else away
    train = data.select(~leave_out[row])
    theirs = data.select(group[row])
    n_cold = 0
    if policies.cold_items == "drop":
        cold = train.item_counts[theirs.indices] == 0
        n_cold = int(cold.sum())
        theirs = theirs.select(~cold)
    held = chosen(
        theirs, share(theirs.user_counts, 1.0 - folded), by=by, seed=seed, purpose=Stream.FOLD_IN
    )
    removed = int(short.sum()) if policies.short_users == "drop" else 0
    return apply_policies(
        # Short users are settled above: here "nothing held out" is what training users are for.
        Policies(overlap="keep", cold_items="keep"),
        {
            "name": "strong_generalization",
            "n_users": n_test,
            "n_validation_users": n_validation,
            "role": role,
            "fold_in": folded,
            "seed": checked_seed(seed),
            "by": by,
            "short_users": short_users,
            "cold_items": cold_items,
        },
        train=train,
        held_out=theirs.select(held),
        fold_in=theirs.select(~held),
        dropped=Dropped(
            short_users=removed,
            short_user_interactions=int(short[row].sum()) if removed else 0,
            cold_pairs=n_cold,
        ),
    )


def _check_groups(n_test: int, n_validation: int, n_long: int, n_present: int) -> None:
    wanted = n_test + n_validation
    if wanted > n_long:
        raise InvalidArgumentError(
            "n_users",
            n_test,
            f"at most {n_long - n_validation:,}: {n_long:,} users are long enough to be held out "
            f"and n_validation_users is {n_validation:,}",
        )
    if wanted >= n_present:
        raise InvalidArgumentError(
            "n_users",
            n_test,
            f"less than the {n_present:,} users in the data, so that some remain to train on",
        )
