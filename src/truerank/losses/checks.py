"""Shapes and ranges of the tensors that losses take; nothing here reads the scores.

torch is imported when a check is called: the files of the losses need none for their gradients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truerank.errors import InvalidArgumentError, InvalidDataError, MissingExtraError

if TYPE_CHECKING:
    from torch import Tensor


def torch_for(what: str) -> Any:
    """The package torch, or a sentence that says what needs it and how to install it."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError("torch", "torch", what) from None
    return torch


def check_scores(pos: Tensor, neg: Tensor) -> None:
    """``pos`` is (batch,), ``neg`` is (batch, n) with n at least 1."""
    Tensor = torch_for("a loss").Tensor
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
    import torch

    given = torch.as_tensor(log_q, dtype=neg.dtype, device=neg.device)
    if given.shape not in {(), neg.shape[1:], neg.shape}:
        raise InvalidArgumentError(
            "log_q", tuple(given.shape), f"one number, or of shape {tuple(neg.shape[1:])} or "
            f"{tuple(neg.shape)}", "it belongs to the negatives, in their order",
        )  # fmt: skip
    return given


def check_unreduced(values: Tensor, pos: Tensor) -> None:
    """A loss of the user's own gave one value per positive, as those of the table do."""
    from torch import Tensor

    if not isinstance(values, Tensor) or values.shape != pos.shape:
        got = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise InvalidDataError(
            f"the loss gave {got} where one value per positive, {tuple(pos.shape)}, is needed; "
            "leave the mean or sum over the batch to the trainer"
        )


def check_has_gradient(values: Tensor) -> None:
    """Autograd can follow the values of a loss of the user's own back to the scores."""
    if not values.is_floating_point() or not values.requires_grad:
        raise InvalidDataError(
            f"the loss gave values of {values.dtype} that torch cannot take back to the scores; "
            "compute them from pos and neg by torch's own functions, without detach, no_grad or "
            "another library"
        )
