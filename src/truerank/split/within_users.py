"""Hold out a part of every user's interactions: one, k, or a fraction."""

from __future__ import annotations

import numpy as np

from truerank.arrays import Int
from truerank.checks import whole_number
from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.rng import checked_seed
from truerank.split.held_out_choice import By, checked_fraction, chosen, share
from truerank.split.policies import ColdItems, Policies, ShortUsers, apply_policies
from truerank.split.result import Split, SplitDescription


def leave_one_out(
    data: Interactions,
    *,
    seed: int = 0,
    by: By = "random",
    short_users: ShortUsers = "keep_in_train",
    cold_items: ColdItems = "keep",
) -> Split:
    """Hold out one interaction of every user who has at least two.

    Args:
        data: All interactions.
        seed: Decides the random choice, and between equal times.
        by: ``"random"``, every interaction equally likely, or ``"latest"``.
        short_users: What to do with users of one interaction: leave it in training, or drop them.
        cold_items: Whether to keep held-out items that nobody in training has seen.

    >>> data = Interactions.from_arrays([1, 1, 2, 2], [5, 6, 5, 6], timestamp=[10, 20, 40, 30])
    >>> split = leave_one_out(data, by="latest")
    >>> split.held_out.item_ids[split.held_out.indices].tolist()
    [6, 5]
    """
    description: SplitDescription = {"name": "leave_one_out", "seed": checked_seed(seed), "by": by}
    n_held = np.where(data.user_counts > 1, 1, 0)
    return _hold_out(data, n_held, description, seed, by, short_users, cold_items)


def leave_k_out(
    data: Interactions,
    k: int,
    *,
    seed: int = 0,
    by: By = "random",
    short_users: ShortUsers = "keep_in_train",
    cold_items: ColdItems = "keep",
) -> Split:
    """Hold out ``k`` interactions of every user who has more than ``k``.

    Args:
        data: All interactions.
        k: How many, at least 1.
        seed: Decides the random choice, and between equal times.
        by: ``"random"``, every subset equally likely, or ``"latest"``.
        short_users: What to do with users of ``k`` interactions or fewer: leave them in
            training, or drop them.
        cold_items: Whether to keep held-out items that nobody in training has seen.
    """
    description: SplitDescription = {
        "name": "leave_k_out",
        "k": whole_number("k", k),
        "seed": checked_seed(seed),
        "by": by,
    }
    n_held = np.where(data.user_counts > k, k, 0)
    return _hold_out(data, n_held, description, seed, by, short_users, cold_items)


def ratio(
    data: Interactions,
    fraction: float = 0.2,
    *,
    seed: int = 0,
    by: By = "random",
    short_users: ShortUsers = "keep_in_train",
    cold_items: ColdItems = "keep",
) -> Split:
    r"""Hold out a fraction of every user's interactions.

    .. math::  h_u = \min\left(\lfloor f\,n_u + 1/2 \rfloor,\; n_u - 1\right)

    of the :math:`n_u` interactions of user :math:`u`: halves round up, one always stays.

    Args:
        data: All interactions.
        fraction: The part to hold out, in (0, 1).
        seed: Decides the random choice, and between equal times.
        by: ``"random"``, every subset equally likely, or ``"latest"``.
        short_users: What to do with users for whom :math:`h_u = 0`: leave them in training, or
            drop them.
        cold_items: Whether to keep held-out items that nobody in training has seen.
    """
    fraction = checked_fraction("fraction", fraction)
    description: SplitDescription = {
        "name": "ratio",
        "fraction": fraction,
        "seed": checked_seed(seed),
        "by": by,
    }
    n_held = share(data.user_counts, fraction)
    return _hold_out(data, n_held, description, seed, by, short_users, cold_items)


def _hold_out(
    data: Interactions,
    n_held: Int,
    description: SplitDescription,
    seed: int,
    by: By,
    short_users: ShortUsers,
    cold_items: ColdItems,
) -> Split:
    policies = Policies(short_users=short_users, cold_items=cold_items)
    held = chosen(data, n_held, by=by, seed=seed)
    if not held.any():
        longest = int(data.user_counts.max())
        raise InvalidDataError(
            f"nothing can be held out: the most active of {data.n_users:,} users has "
            f"{longest:,} interaction{'s' * (longest != 1)} and something must stay in training; "
            "hold out fewer, or bring users with longer histories"
        )
    return apply_policies(
        policies,
        {**description, "short_users": short_users, "cold_items": cold_items},
        train=data.select(~held),
        held_out=data.select(held),
    )
