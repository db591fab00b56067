"""What each loss is called, where it is, and what it takes: plain data, without torch."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from truerank.errors import InvalidArgumentError


class Entry(NamedTuple):
    """One loss.

    Attributes:
        home: ``module:function`` inside this room.
        parameters: Numbers fixed for the whole training.
        inputs: Further tensors, different in every batch.
    """

    home: str
    parameters: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


ENTRIES: dict[str, Entry] = {
    "bpr": Entry("pairwise:bpr"),
    "bce": Entry("pointwise:bce", ("weight",)),
    "mse": Entry("pointwise:mse", ("weight",)),
    "ccl": Entry("pointwise:ccl", ("margin", "weight")),
    "softmax": Entry("listwise:softmax"),
    "sampled_softmax": Entry("listwise:sampled_softmax", (), ("log_q",)),
    "infonce": Entry("listwise:infonce", ("temperature",)),
    "mine": Entry("listwise:mine", ("temperature",)),
    "mine_plus": Entry("listwise:mine_plus", ("temperature", "weight")),
    "mse_debiased": Entry("debiased:mse_debiased", ("weight",), ("extra_pos", "tau_pos")),
    "ccl_debiased": Entry("debiased:ccl_debiased", ("margin", "weight"), ("extra_pos", "tau_pos")),
    "infonce_debiased": Entry(
        "debiased:infonce_debiased", ("temperature", "weight"), ("extra_pos", "tau_pos")
    ),
}

INPUTS = ("log_q", "extra_pos", "tau_pos")
"""Every input that changes with the batch, beside the scores; a foreign loss may take them too."""


class UnknownLossError(InvalidArgumentError, KeyError):
    """No loss has this name. Also a KeyError, so that the table is a mapping like any other."""

    def __init__(self, name: object) -> None:
        near = difflib.get_close_matches(str(name).lower().replace("-", "_"), ENTRIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else ""
        super().__init__("loss", name, f"one of {', '.join(ENTRIES)}", hint)

    def __str__(self) -> str:
        return Exception.__str__(self)  # KeyError would put quotes around the sentence


def entry_of(name: str) -> Entry:
    """The entry of this name, or a sentence with the nearest name.

    >>> entry_of("ccl").parameters
    ('margin', 'weight')
    """
    if name not in ENTRIES:
        raise UnknownLossError(name)
    return ENTRIES[name]
