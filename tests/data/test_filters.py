from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.data.filters import (
    active_users,
    at_least,
    between,
    compact,
    k_core,
    without_weights,
)
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError

DAY = 86_400


@pytest.fixture
def data() -> Interactions:
    return Interactions.from_arrays(
        ["a", "a", "a", "b", "b", "c"],
        ["x", "y", "z", "x", "y", "x"],
        weight=[1, 2, 3, 4, 5, 5],
        timestamp=[0, DAY, 2 * DAY, 0, DAY, 5 * DAY],
    )


def pairs(data: Interactions) -> set[tuple[Any, Any]]:
    table = data.to_arrow().to_pydict()
    return set(zip(table["user_id"], table["item_id"], strict=True))


def refused(message: str, action: Callable[[], object]) -> None:
    with pytest.raises((InvalidDataError, InvalidArgumentError)) as caught:
        action()
    assert str(caught.value) == message


def same_vocabularies(one: Interactions, other: Interactions) -> bool:
    return (
        one.user_ids.tolist() == other.user_ids.tolist()
        and one.item_ids.tolist() == other.item_ids.tolist()
    )


def test_at_least(data: Interactions) -> None:
    kept = at_least(data, 4)
    assert pairs(kept) == {("b", "x"), ("b", "y"), ("c", "x")}
    assert kept.weights is not None
    assert kept.weights.tolist() == [4, 5, 5]
    assert same_vocabularies(kept, data)


def test_at_least_refuses(data: Interactions) -> None:
    refused(
        "these interactions have no weights to compare with a threshold; name their column with "
        "weight= when you read them",
        lambda: at_least(without_weights(data), 1),
    )
    refused(
        "nothing is left: no weight reaches 6, the highest is 5; ask for less",
        lambda: at_least(data, 6),
    )
    refused("threshold must be a finite number, got nan", lambda: at_least(data, float("nan")))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        pytest.param(None, None, 6, id="open"),
        pytest.param(DAY, None, 4, id="from-inclusive"),
        pytest.param(None, DAY, 2, id="to-exclusive"),
        pytest.param(DAY, 2 * DAY, 2, id="both"),
        pytest.param("1970-01-02", np.datetime64("1970-01-03"), 2, id="dates"),
    ],
)
def test_between(data: Interactions, start: Any, end: Any, expected: int) -> None:
    kept = between(data, start, end)
    assert len(kept) == expected
    assert same_vocabularies(kept, data)


def test_between_refuses(data: Interactions) -> None:
    refused(
        "these interactions have no timestamps to select by; name their column with timestamp= "
        "when you read them",
        lambda: between(Interactions.from_arrays([1], [1]), 0, 1),
    )
    refused(
        "nothing is left: no timestamp lies from 432001 to None, they run from 0 to 432000; ask "
        "for less",
        lambda: between(data, 5 * DAY + 1, None),
    )
    for bad in ("yesterday-ish", "NaT"):
        refused(
            f"start must be an integer or a date like '2015-06-30', got {bad!r}",
            lambda bad=bad: between(data, bad, None),  # type: ignore[misc]
        )


def test_active_users(data: Interactions) -> None:
    kept = active_users(data, 2)
    assert {user for user, _ in pairs(kept)} == {"a", "b"}
    assert len(kept) == 5
    assert same_vocabularies(kept, data)
    refused(
        "nothing is left: no user has 4 interactions, the most active has 3; ask for less",
        lambda: active_users(data, 4),
    )
    refused("n must be a whole number, at least 1, got 0", lambda: active_users(data, 0))


def test_without_weights(data: Interactions) -> None:
    plain = without_weights(data)
    assert plain.weights is None
    assert plain.timestamps is not None
    assert pairs(plain) == pairs(data)
    assert plain.fingerprint() != data.fingerprint()
    assert data.weights is not None  # the original is as it was


def test_compact_renumbers_and_keeps_names(data: Interactions) -> None:
    loose = at_least(data, 4)
    tight = compact(loose)
    assert tight.user_ids.tolist() == ["b", "c"]
    assert tight.item_ids.tolist() == ["x", "y"]
    assert pairs(tight) == pairs(loose)
    assert tight.indices.dtype == np.int32
    assert compact(tight) is tight


def test_compact_gives_what_reading_it_afresh_gives(data: Interactions) -> None:
    tight = compact(active_users(data, 2))
    fresh = Interactions.from_arrow(tight.to_arrow(), weight="weight", timestamp="timestamp")
    assert tight.fingerprint() == fresh.fingerprint()


def peeled(edges: set[tuple[int, int]], user: int, item: int) -> set[tuple[int, int]]:
    """The core by its definition: take away one sparse user or item at a time."""
    while True:
        for side, least in ((0, user), (1, item)):
            names = [edge[side] for edge in edges]
            sparse = [name for name in names if names.count(name) < least]
            if sparse:
                edges = {edge for edge in edges if edge[side] != sparse[0]}
                break
        else:
            return edges


@given(
    edges=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1),
    user=st.integers(1, 4),
    item=st.integers(1, 4),
)
def test_k_core_by_brute_force(edges: set[tuple[int, int]], user: int, item: int) -> None:
    users, items = zip(*edges, strict=True)
    data = Interactions.from_arrays(users, items)
    expected = peeled(edges, user, item)
    if not expected:
        with pytest.raises(InvalidDataError, match="nothing is left: there is no"):
            k_core(data, user=user, item=item)
        return
    core = k_core(data, user=user, item=item)
    assert pairs(core) == expected
    assert core.user_counts.min() >= user
    assert core.item_counts.min() >= item


def test_k_core_needs_many_rounds_on_a_chain() -> None:
    # user k has items k and k + 1: each round peels one end of the chain, until all is gone
    chain = [(k, k + d) for k in range(50) for d in (0, 1)]
    users, items = zip(*chain, strict=True)
    refused(
        "nothing is left: there is no (2, 2)-core in these data; ask for less",
        lambda: k_core(Interactions.from_arrays(users, items), user=2, item=2),
    )


def test_k_core_refuses(data: Interactions) -> None:
    refused("user must be a whole number, at least 1, got 0", lambda: k_core(data, user=0))
    refused("item must be a whole number, at least 1, got -1", lambda: k_core(data, item=-1))
