"""Gradients of any loss by torch's autograd: the only part of training that needs torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from truerank.arrays import Float32
from truerank.losses import resolve
from truerank.losses.checks import check_has_gradient, check_unreduced, torch_for

_WHAT = "a loss of one's own"


def torch_loss(loss: str | Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    """The loss as a torch function with its parameters fixed."""
    torch_for(_WHAT)
    return resolve(loss, **parameters)


def loss_and_gradient_by_autograd(
    loss: Callable[..., Any],
    own: Float32,
    shared: Float32,
    n_extra: int,
    scale: float,
    inputs: dict[str, Float32],
) -> float:
    """Sum of the losses of a batch; the scores become ``scale`` times their gradients.

    Args:
        loss: A torch function of (pos, neg) and of ``inputs`` and, if n_extra is not 0 and it
            takes them, ``extra_pos``.
        own: Scores of the positive, the further positives and the own negatives, B x w.
        shared: Scores of shared negatives, B x n; n = 0 where there are none.
        n_extra: How many further positives.
        scale: Of the gradients, not of the losses.
        inputs: Further arrays by name.
    """
    torch = torch_for(_WHAT)

    def leaf(scores: Float32) -> Any:
        return torch.from_numpy(np.ascontiguousarray(scores)).clone().requires_grad_()

    pos, own_neg = leaf(own[:, 0]), own[:, 1 + n_extra :]
    neg = leaf(shared if shared.shape[1] else own_neg)
    leaves = [(pos, own[:, 0]), (neg, shared if shared.shape[1] else own_neg)]
    tensors = {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in inputs.items()}
    if n_extra:
        tensors["extra_pos"] = leaf(own[:, 1 : 1 + n_extra])
        leaves.append((tensors["extra_pos"], own[:, 1 : 1 + n_extra]))
    with _one_thread(torch):
        values = loss(pos, neg, **tensors)
        check_unreduced(values, pos)
        check_has_gradient(values)
        (values.sum() * scale).backward()
    for tensor, place in leaves:
        place[...] = 0.0 if tensor.grad is None else tensor.grad.numpy()
    return float(values.detach().double().sum())


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Sums in one order, whatever the machine: the same bits for any number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
