"""What every setting of MF must be, one sentence for each that is not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from truerank.checks import is_whole
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.losses import check_parameters, inputs_of, temperature_of
from truerank.losses.table import DEFINITIONS
from truerank.models.mf.steps import longest_tile, tiles_of
from truerank.numerics.memory import check_room
from truerank.training.batches import WHOLE_BATCH, BatchPlan

Loss = str | Callable[..., Any]

UNBOUNDED = {name: loss.unbounded for name, loss in DEFINITIONS.items() if loss.unbounded}
"""Losses that have no minimum with dot products, and why."""

NO_LOGITS = tuple(name for name, loss in DEFINITIONS.items() if not loss.logits)
"""Losses whose scores have targets of their own: a logarithm taken off them corrects nothing."""


def check_loss(loss: Loss, parameters: dict[str, Any] | None) -> None:
    """A known name with parameters it can use, or any function."""
    if not isinstance(parameters, Mapping | None):
        raise InvalidArgumentError(
            "loss_params", parameters, "parameters by name", 'such as {"temperature": 0.1}'
        )
    if isinstance(loss, str):
        check_parameters(loss, parameters or {})
    elif not callable(loss):
        raise InvalidArgumentError(
            "loss", loss, "a name of truerank.losses or a function of (pos, neg)"
        )
    else:
        _check_call(loss, parameters or {})


def _check_call(loss: Callable[..., Any], parameters: Mapping[str, Any]) -> None:
    """The function can be called as training will, before any training starts."""
    try:
        signature = inspect.signature(loss)
    except ValueError:  # compiled functions may not tell theirs
        return
    handed = dict.fromkeys(inputs_of(loss)) | dict(parameters)
    try:
        signature.bind("pos", "neg", **handed)
    except TypeError as error:
        raise InvalidArgumentError(
            "loss", getattr(loss, "__name__", loss), "a function of (pos, neg) and of loss_params",
            f"called so, it says: {error}",
        ) from None  # fmt: skip


def check_single(**numbers: float) -> None:
    """Numbers that single precision holds, with room for products."""
    for name, number in numbers.items():
        if number and not 1e-30 <= abs(number) <= 1e30:
            raise InvalidArgumentError(
                name, number, "0, or from 1e-30 to 1e30 in size", "training is in single precision"
            )


def check_flags(**flags: object) -> None:
    """True or False, or one sentence with the name of the one that is not."""
    for name, flag in flags.items():
        if not isinstance(flag, bool | np.bool_):
            raise InvalidArgumentError(name, flag, "True or False")


def check_correction(loss: Loss, parameters: dict[str, Any] | None, correct: bool) -> None:
    """Logarithms of q correct losses of logits, at a temperature that is known."""
    if not correct:
        return
    temperature_of(loss, parameters or {})
    if isinstance(loss, str) and loss in NO_LOGITS:
        raise InvalidArgumentError(
            "correct_for_sampling", True, f"False for the loss {loss!r}",
            "it would shift scores that have targets of their own; draw uniform negatives instead",
        )  # fmt: skip


def check_debiased(loss: Loss, negatives: str, power: float, correct: bool) -> None:
    """The share of positives that a debiased loss takes off is that of uniform draws."""
    uniform = negatives == "uniform" or (negatives == "popularity" and power == 0)
    if uniform or not isinstance(loss, str) or "tau_pos" not in inputs_of(loss):
        return
    if loss in NO_LOGITS or not correct:
        hint = "" if loss in NO_LOGITS else ", or use correct_for_sampling=True"
        raise InvalidArgumentError(
            "negatives", negatives, f"'uniform' for the loss {loss!r}",
            f"it takes off the positives that uniform draws contain; draw uniform ones{hint}",
        )  # fmt: skip


def check_in_batch(data: Interactions, batch_size: int) -> None:
    """A batch has somebody else's positives."""
    if min(batch_size, len(data)) < 2:
        raise InvalidArgumentError(
            "batch_size", min(batch_size, len(data)), "at least 2 for in-batch negatives",
            "they are the positives of the other pairs",
        )  # fmt: skip
    if np.count_nonzero(data.item_counts) < 2:
        raise InvalidDataError(
            "all interactions are with one item, so there is no other for in-batch negatives; "
            "draw uniform ones"
        )


def checked_negatives_per(per: Any, negatives: str) -> int | str:
    """Whether all pairs of a batch share their negatives, none do (1 is that), or so many."""
    if negatives == "in-batch" and per != "batch":
        raise InvalidArgumentError("negatives_per", per, "'batch' for in-batch negatives")
    if per in ("batch", "pair"):
        return str(per)
    if not is_whole(per) or per < 1:
        raise InvalidArgumentError(
            "negatives_per", per, "'batch', 'pair' or a number of pairs, at least 1", "try 64"
        )
    return min(int(per), WHOLE_BATCH) if per > 1 else "pair"


def check_fits(
    data: Interactions,
    plan: BatchPlan,
    batch_size: int,
    dim: int,
    *,
    threads: int,
    by_autograd: bool,
) -> None:
    """The catalogue is large enough for the negatives, and the memory for the rest."""
    n = max(plan.n_own, plan.n_shared)
    if n > data.n_items:
        raise InvalidArgumentError(
            "n_negatives", n, f"at most the number of items, {data.n_items:,}",
            "draw fewer negatives",
        )  # fmt: skip
    if plan.exclude and int(data.user_counts.max()) == data.n_items:
        raise InvalidDataError(
            "a user has every item, so there is nothing to draw that the user has not; drop such "
            "users, or use exclude_positives=False"
        )
    width = 1 + plan.n_extra + plan.n_own
    batch_size = min(batch_size, len(data))
    shared = batch_size if plan.in_batch else plan.n_shared
    sets, tiles = plan.n_sets(batch_size), len(tiles_of(batch_size, plan))
    # Scores of the tiles at work; or of all pairs, torch's copy, its gradient and one more between.
    at_work = min(threads, tiles) * longest_tile(batch_size, plan)
    pairs = 4 * batch_size if by_autograd else at_work
    batch = 2 * batch_size * (dim + width) + shared * (dim * (sets + tiles) + pairs)
    entries = batch_size * width + sets * shared
    check_room(
        4 * (4 * (data.n_users + data.n_items) * dim + batch) + 24 * entries,
        f"MF with dim={dim}, batch_size={batch_size} on {data.n_users:,} users and "
        f"{data.n_items:,} items",
        "a smaller dim or batch_size, or fewer negatives, would fit",
    )


def likely_cause(loss: Loss, similarity: str, rate: float, temperature: float | None) -> str:
    """What to say, and to try, when the loss is not a number."""
    if isinstance(loss, str) and similarity == "dot" and loss in UNBOUNDED:
        return (
            f"the loss {loss!r} has no minimum with dot products, because {UNBOUNDED[loss]}; use "
            "similarity='cosine'"
        )
    if not isinstance(loss, str):
        return (
            "either your loss gives it for these scores, or the learning "
            f"rate {rate:g} is too large; try your loss on scores of this size, or a lower rate"
        )
    if temperature is not None and temperature < 0.01:
        return f"the temperature {temperature:g} is probably too small; try 0.05 or more"
    return f"the learning rate {rate:g} is probably too large; try a tenth of it"
