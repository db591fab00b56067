"""Hold out the future: everything from one moment on, for all users alike."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from truerank.arrays import Int
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.split.held_out_choice import checked_fraction, timestamps
from truerank.split.policies import ColdItems, NewUsers, Policies, ShortUsers, apply_policies
from truerank.split.result import Split


def temporal(
    data: Interactions,
    *,
    at: int | datetime | np.datetime64 | None = None,
    fraction: float | None = None,
    short_users: ShortUsers = "keep_in_train",
    new_users: NewUsers = "keep",
    cold_items: ColdItems = "keep",
) -> Split:
    """Hold out every interaction whose time is ``at`` or later.

    The only split here in which no model can learn from what happened after the moment it is
    judged at. Users and items that appear after that moment are real, and counted: say what to
    do with them.

    Args:
        data: All interactions, with timestamps.
        at: The first held-out moment: a timestamp as in the data, or a date (as seconds since
            1970, UTC where it names no zone).
        fraction: Instead of ``at``: the part of all interactions to hold out, 0.2 where neither
            is given. Interactions at the time of the cut are all held out, so it may be more.
        short_users: What to do with users who have nothing after the cut: leave them in
            training, or drop them.
        new_users: Whether to keep held-out users who have nothing before the cut.
        cold_items: Whether to keep held-out items that nobody in training has seen.

    >>> data = Interactions.from_arrays([1, 1, 2], [5, 6, 5], timestamp=[10, 30, 20])
    >>> temporal(data, at=20).report.users_without_history
    1
    """
    times = timestamps(data, "a temporal split")
    if at is not None and fraction is not None:
        raise InvalidArgumentError("fraction", fraction, "left out where at= is given")
    if at is not None:
        moment = _moment(at)
    else:
        fraction = checked_fraction("fraction", 0.2 if fraction is None else fraction)
        moment = _quantile(times, fraction)
    held = times >= moment
    if held.all() or not held.any():
        raise InvalidDataError(
            f"a cut at time {moment} leaves nothing {'before' if held.all() else 'after'} it: the "
            f"times run from {times.min()} to {times.max()}; choose at= inside this range"
        )
    policies = Policies(short_users=short_users, new_users=new_users, cold_items=cold_items)
    return apply_policies(
        policies,
        {
            "name": "temporal",
            "at": moment,
            "short_users": short_users,
            "new_users": new_users,
            "cold_items": cold_items,
        },
        train=data.select(~held),
        held_out=data.select(held),
    )


def _moment(at: object) -> int:
    if isinstance(at, int | np.integer) and not isinstance(at, bool):
        return int(at)
    if isinstance(at, datetime):
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
    if isinstance(at, np.datetime64) and not np.isnat(at):
        return int(at.astype("datetime64[s]").astype(np.int64))
    raise InvalidArgumentError("at", at, "an integer timestamp, a datetime or a numpy datetime64")


def _quantile(times: Int, fraction: float) -> int:
    """The time of the first held-out interaction in order of time."""
    n_held = min(max(int(np.floor(fraction * len(times) + 0.5)), 1), len(times))
    position = len(times) - n_held
    return int(np.partition(times, position)[position])
