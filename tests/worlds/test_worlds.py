"""A fixed few of the random worlds; ``make fuzz-worlds`` runs as many as there is time for."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.worlds.plan import plan_of
from tests.worlds.process import Ran, run_worlds
from tests.worlds.reference import rank_in_list

SEEDS = range(100, 140)


@pytest.fixture(scope="module")
def worlds() -> dict[int, Ran]:
    """All of them, in one process that may die without taking the tests along."""
    until = time.monotonic() + 600
    ran = list(run_worlds(iter(SEEDS), until=until, processes=1))
    return {world.seed: world for world in ran}


@pytest.mark.parametrize("seed", SEEDS)
def test_world(worlds: dict[int, Ran], seed: int) -> None:
    ran = worlds[seed]
    assert not ran.broken, f"{ran.description}\n{ran.broken}"


def test_most_worlds_can_be_made(worlds: dict[int, Ran]) -> None:
    """A generator whose worlds are all refused would check nothing."""
    made = [ran for ran in worlds.values() if len(ran.outcomes) > 10]
    assert len(made) >= 0.7 * len(worlds)


def test_a_world_is_a_function_of_its_number() -> None:
    assert plan_of(7) == plan_of(7)
    assert plan_of(7) != plan_of(8)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("optimistic", [2, 3]), ("half", [4, 5]), ("pessimistic", [5, 6]), ("random", [3, 6])],
)
def test_reference_orders_two_tied_targets_jointly(rule: str, expected: list[int]) -> None:
    # Item 0 is better; items 1 to 5 tie, of which 2 and 5 are targets; item 6 is worse.
    scores = np.array([9.0, 5.0, 5.0, 5.0, 5.0, 5.0, 1.0])
    words = np.array([0, 10, 20, 30, 40, 50, 60], np.uint64)
    everyone, targets = np.ones(7, dtype=bool), np.array([5, 2])
    found = [rank_in_list(scores, t, everyone, targets, rule, words) for t in (2, 5)]
    assert found == expected
