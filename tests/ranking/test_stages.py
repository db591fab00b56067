"""Who goes on from a stage: the compiled rule is the one of arrays."""

from __future__ import annotations

import numpy as np

from truerank.ranking.stages import Stages, follow_stages, goes_on, most_rivals

STAGES = Stages(np.array([3, 6, 12]), np.array([3, 1, 0]), np.array([0.25, 1.0, 1.0]))


def test_the_compiled_rule_is_that_of_arrays() -> None:
    ranks = np.arange(1, 6)
    for stage in range(3):
        probability = STAGES.probability(stage, ranks)
        for chance in (0.0, 0.2, 0.25, 0.999):
            alone = [
                goes_on(rank, STAGES.max_rank[stage], STAGES.continue_prob[stage], chance)
                for rank in ranks
            ]
            assert alone == (chance < probability).tolist()


def test_stages_are_followed_to_their_end() -> None:
    asked = []

    def meet(active: np.ndarray, drawn: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        asked.append((active.tolist(), drawn.tolist(), wanted.tolist()))
        return np.array([1, 3, 4, 1])[active]

    rank, size = follow_stages(
        STAGES, np.array([50, 50, 50, 5]), False, meet, lambda _, rows: np.full(len(rows), 0.5)
    )
    assert rank.tolist() == [1, 3, 4, 1]
    assert size.tolist() == [12, 3, 3, 5]
    assert asked == [
        ([0, 1, 2, 3], [0, 0, 0, 0], [2, 2, 2, 2]),
        ([0, 3], [2, 2], [5, 4]),
        ([0], [5], [11]),
    ]


def test_repeated_draws_are_never_exact() -> None:
    assert most_rivals(np.array([10, 3]), True).tolist() == [8, 1]
    assert most_rivals(np.array([10, 3]), False).tolist() == [9, 2]
    assert STAGES.capped(5, replacement=False).sizes.tolist() == [3, 5]
    assert STAGES.capped(5, replacement=True).sizes.tolist() == [3, 4]
