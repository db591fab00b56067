"""Errors: their parts can be asked for, and their advice is there in both forms."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from truerank.errors import (
    InvalidArgumentError,
    InvalidDataError,
    Message,
    NotFittedError,
    StorageError,
    for_cli,
    joined,
    option,
)

PICKLED = [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]


def test_messages_keep_both_forms_when_they_are_put_together() -> None:
    said = "say " + option("n_sampled", 100) + ", or " + option("bounds") + " none"
    assert said == "say n_sampled=100, or bounds= none"
    assert for_cli(said) == "say --n-sampled 100, or --bounds none"
    both = joined("; ", ["first", said])
    assert both == f"first; {said}"
    assert for_cli(both) == f"first; {for_cli(said)}"
    assert for_cli("plain") == "plain"
    assert Message(Message("a", "b")).cli == "b"


@pytest.mark.parametrize("again", PICKLED)
@pytest.mark.parametrize(
    "error",
    [
        InvalidArgumentError("k", 0, "at least 1", "see " + option("metric")),
        NotFittedError("EASE"),
        InvalidDataError("repeated; say " + option("duplicates", "last")),
        StorageError("a exists already; pass " + option("force", True)),
    ],
)
def test_errors_cross_processes_with_all_their_parts(again: Any, error: Any) -> None:
    other = again(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert for_cli(other.message) == for_cli(error.message)
    for part in ("argument", "got", "want", "hint"):
        assert getattr(other, part, None) == getattr(error, part, None)


def test_parts_of_an_argument_that_is_wrong() -> None:
    error = InvalidArgumentError("k", 0, "at least 1", "see " + option("metric"))
    assert (error.argument, error.got, error.want, error.hint) == (
        "k", "0", "at least 1", "see metric=",
    )  # fmt: skip
    assert str(error) == "k must be at least 1, got 0; see metric="
    assert for_cli(error.message) == "k must be at least 1, got 0; see --metric"
