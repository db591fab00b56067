"""Shapes and ranges of the tensors that losses take; nothing here reads the scores."""

from __future__ import annotations

import torch
from torch import Tensor

from truerank.errors import InvalidArgumentError, InvalidDataError


def check_scores(pos: Tensor, neg: Tensor) -> None:
    """``pos`` is (batch,), ``neg`` is (batch, n) with n at least 1."""
    for name, scores in (("pos", pos), ("neg", neg)):
        if not (isinstance(scores, Tensor) and scores.is_floating_point()):
            kind = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
            raise InvalidArgumentError(
                name, kind, "a torch tensor of floats", "torch.as_tensor makes one of an array"
            )
    if pos.ndim != 1:
        raise InvalidArgumentError("pos", tuple(pos.shape), "of shape (batch,)")
    if neg.ndim != 2 or len(neg) != len(pos) or neg.shape[1] == 0:
        raise InvalidArgumentError(
            "neg", tuple(neg.shape), f"of shape ({len(pos)}, n)",
            "each positive has one row of at least one negative",
        )  # fmt: skip


def log_q_like(neg: Tensor, log_q: Tensor | float) -> Tensor:
    """``log_q`` as a tensor that can be subtracted from ``neg``: (), (n,) or (batch, n)."""
    given = torch.as_tensor(log_q, dtype=neg.dtype, device=neg.device)
    if given.shape not in {(), neg.shape[1:], neg.shape}:
        raise InvalidArgumentError(
            "log_q", tuple(given.shape), f"one number, or of shape {tuple(neg.shape[1:])} or "
            f"{tuple(neg.shape)}", "it belongs to the negatives, in their order",
        )  # fmt: skip
    return given


def rates_like(pos: Tensor, tau_pos: Tensor | float) -> Tensor:
    """``tau_pos`` as a tensor, (batch,) or one number for every row, with values in [0, 1)."""
    tau = torch.as_tensor(tau_pos, dtype=pos.dtype, device=pos.device)
    if tau.shape not in {(), pos.shape}:
        raise InvalidArgumentError("tau_pos", tuple(tau.shape), f"of shape ({len(pos)},) like pos")
    fits = (tau >= 0) & (tau < 1)
    if not bool(fits.all()):
        raise InvalidArgumentError(
            "tau_pos", float(tau[~fits].flatten()[0]), "in [0, 1)",
            "it is the share of items that a user likes: see truerank.losses.positive_rate",
        )  # fmt: skip
    return tau


def positives_like(pos: Tensor, extra_pos: Tensor | None) -> Tensor:
    """``extra_pos`` (batch, m); the positive itself, (batch, 1), where there are none."""
    if extra_pos is None:
        return pos[:, None]
    if not (isinstance(extra_pos, Tensor) and extra_pos.is_floating_point()):
        kind = type(extra_pos).__name__
        raise InvalidArgumentError("extra_pos", kind, "a torch tensor of floats, or None")
    if extra_pos.ndim != 2 or len(extra_pos) != len(pos):
        raise InvalidArgumentError(
            "extra_pos", tuple(extra_pos.shape), f"of shape ({len(pos)}, m)",
            "each positive has one row of further positives of the same user",
        )  # fmt: skip
    return extra_pos if extra_pos.shape[1] else pos[:, None]


def check_unreduced(values: Tensor, pos: Tensor) -> None:
    """A loss of the user's own gave one value per positive, as those of the table do."""
    if not isinstance(values, Tensor) or values.shape != pos.shape:
        got = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise InvalidDataError(
            f"the loss gave {got} where one value per positive, {tuple(pos.shape)}, is needed; "
            "leave the mean or sum over the batch to the trainer"
        )


def check_has_slopes(values: Tensor) -> None:
    """Autograd can follow the values of a loss of the user's own back to the scores."""
    if not values.is_floating_point() or not values.requires_grad:
        raise InvalidDataError(
            f"the loss gave values of {values.dtype} that torch cannot take back to the scores; "
            "compute them from pos and neg by torch's own functions, without detach, no_grad or "
            "another library"
        )
