"""The validation part: held out of the training part, never of the test part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.rng import checked_seed
from truerank.split import Split, leave_k_out, leave_one_out, ratio, strong_generalization, temporal
from truerank.split.held_out_choice import share
from truerank.split.pair_sets import contained

Validation = Split | Callable[[Interactions], Split] | None
"""A ready split of the training part, a function that makes one, or None for the usual."""

SHARE = 0.1
"""Part of each user's training items that is held out where the test split has no rule of ours."""

USERS_SHARE = 0.2
"""Most of the training users that may be held out under strong generalisation."""


def validation_split(data: Interactions | Split, how: Validation, seed: int) -> Split:
    """A split of the training part that asks what the test split asks.

    ==============================  ======================================================
    the test split                  the validation split of its training part
    ==============================  ======================================================
    ``leave_one_out``               ``leave_one_out``, by the same rule; also for plain data
    ``leave_k_out``, ``ratio``      the same, with the same size
    ``temporal``                    ``temporal``: the part of the test, of what came before
    ``strong_generalization``       other whole users, as many, at most a fifth of them
    published, given parts          ``ratio`` of 0.1, or ``leave_one_out`` where most users are
                                    too short for that; ``strong_generalization`` with fold-in
    ==============================  ======================================================

    Args:
        data: All training data, or a split of which only ``train`` is used.
        how: Instead of the table, a split of the training part or a function that makes one.
        seed: Of the random choice.
    """
    if not isinstance(data, Interactions | Split):
        raise InvalidArgumentError(
            "data", type(data).__name__, "Interactions or a Split",
            "make them with tr.Interactions.from_frame(...) and tr.split.leave_one_out(...)",
        )  # fmt: skip
    train = data.train if isinstance(data, Split) else data
    made = _usual(data, checked_seed(seed)) if how is None else how
    found = made if isinstance(made, Split) else made(train)
    if not isinstance(found, Split):
        raise InvalidArgumentError("validation", type(found).__name__, "a Split")
    if isinstance(data, Split) and how is not None:
        _refuse_test_part(found, data)
    return found


def _usual(data: Interactions | Split, seed: int) -> Split:
    if isinstance(data, Interactions):
        return leave_one_out(data, seed=seed)
    rule: dict[str, Any] = dict(data.description)
    train = data.train
    by = rule.get("by", "random")
    if rule["name"] == "leave_one_out":
        return leave_one_out(train, seed=seed, by=by)
    if rule["name"] == "leave_k_out":
        return leave_k_out(train, rule["k"], seed=seed, by=by)
    if rule["name"] == "ratio":
        return ratio(train, rule["fraction"], seed=seed, by=by)
    if rule["name"] == "temporal":
        part = len(data.held_out) / (len(data.held_out) + len(train))
        return temporal(train, fraction=part)
    if data.fold_in is not None:
        there_are = int((train.user_counts > 1).sum())
        n_users = min(data.report.users_evaluated, max(1, int(USERS_SHARE * there_are)))
        known = len(data.fold_in) / (len(data.fold_in) + len(data.held_out))
        return strong_generalization(
            train, n_users=n_users, fold_in=rule.get("fold_in", known), seed=seed, by=by
        )
    counts = train.user_counts[train.user_counts > 0]
    if np.median(share(counts, SHARE)) < 1:
        return leave_one_out(train, seed=seed)
    return ratio(train, SHARE, seed=seed)


def _refuse_test_part(validation: Split, test: Split) -> None:
    for name in ("train", "held_out", "fold_in"):
        part = getattr(validation, name)
        if part is None:
            continue
        if part.n_users != test.train.n_users or part.n_items != test.train.n_items:
            raise InvalidDataError(
                "the validation split is over other users or items than the training part; make "
                "it from data.train"
            )
        # A pair that training has as well (overlap="keep") is no secret.
        secret = contained(part, test.held_out) & ~contained(part, test.train)
        leak = int(secret.sum())
        if leak:
            raise InvalidDataError(
                f"{leak:,} pairs of the validation split are in the test part: the search would "
                "choose by what it is evaluated on; make the validation split from data.train"
            )
