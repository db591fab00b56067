"""Which rivals a row meets: the words, the draws, and that every candidate is as likely."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from slow_ranking import WORD, banned_for, held_by, make_world, p_value, rivals_of

from truerank.data.interactions import Interactions
from truerank.execution import Serial
from truerank.numerics.streams import word
from truerank.ranking import Adaptive, FunctionScorer, Sampled, rank_pairs
from truerank.ranking import rival_draws as draws
from truerank.rng import Stream, addresses

ALARM = 1e-4
"""False-alarm rate of each statistical test below, were its seed not fixed."""


class Spy:
    """A scorer that writes down what it is asked for."""

    def __init__(self, n_items: int, best: bool = True) -> None:
        self.n_items, self.best = n_items, best
        self.asked: dict[tuple[int, int], list[int]] = {}

    def score_all(self, users: np.ndarray) -> np.ndarray:
        raise AssertionError("a sampled design has no need of all scores")

    def score_pairs(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        for user, (target, *rivals) in zip(users.tolist(), items.tolist(), strict=True):
            self.asked.setdefault((user, target), []).extend(i for i in rivals if i != target)
        scores = np.zeros(items.shape)
        scores[:, 0] = 1.0 if self.best else -1.0
        return scores


def rivals_asked(
    design: Any, seed: int = 0, *, n_items: int = 40, **options: Any
) -> dict[Any, Any]:
    spy = Spy(n_items, options.pop("best", True))
    users, items = options.pop("users", np.arange(5)), options.pop("items", np.arange(5) * 3)
    rank_pairs(spy, users, items, design, seed=seed, **options)
    return spy.asked


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("excluding", [False, True], ids=["all", "unseen"])
def test_rivals_are_those_of_the_slow_draws(replacement: bool, excluding: bool) -> None:
    world = make_world()
    seen = world.seen if excluding else None
    asked = rivals_asked(
        Sampled(30, replacement=replacement), 7,
        n_items=90, users=world.users, items=world.items, exclude=seen,
    )  # fmt: skip
    assert len(asked) == len(world.users)
    held = held_by(world.users, world.items)
    for (user, target), rivals in asked.items():
        banned = banned_for(user, held[user], seen)
        assert rivals == rivals_of(7, user, target, 90, banned, 29, replacement)
        assert target not in rivals
        assert not banned & set(rivals)
        if not replacement:
            assert len(set(rivals)) == 29


@pytest.mark.parametrize("replacement", [False, True])
def test_larger_samples_extend_smaller_ones(replacement: bool) -> None:
    small = rivals_asked(Sampled(8, replacement=replacement), 3)
    large = rivals_asked(Sampled(31, replacement=replacement), 3)
    grown = rivals_asked(Adaptive(8, 31, replacement=replacement), 3)
    for row, rivals in large.items():
        assert rivals[:7] == small[row]
        assert grown[row] == rivals


def test_other_seeds_users_and_targets_meet_others() -> None:
    at_home = rivals_asked(Sampled(20), 3)[0, 0]
    assert rivals_asked(Sampled(20), 4)[0, 0] != at_home
    assert rivals_asked(Sampled(20), 3)[1, 3] != at_home
    assert rivals_asked(Sampled(20), 3, items=np.full(5, 9))[0, 9] != at_home


def test_models_with_one_seed_meet_the_same_rivals() -> None:
    assert rivals_asked(Sampled(20), 3, best=False) == rivals_asked(Sampled(20), 3, best=True)


@pytest.mark.parametrize("replacement", [False, True])
def test_every_candidate_is_drawn_equally_often(replacement: bool) -> None:
    """Chi-square over many users and seeds, seen items and target left out."""
    n_items, n_users, n = 23, 400, 6
    seen = Interactions.from_arrays(
        np.repeat(np.arange(n_users), 4), np.tile([0, 5, 9, 22], n_users),
        user_ids=range(n_users), item_ids=range(n_items),
    )  # fmt: skip
    count, places = np.zeros(n_items), np.zeros((n - 1, n_items))
    for seed in range(10):
        asked = rivals_asked(
            Sampled(n, replacement=replacement), seed, n_items=n_items, exclude=seen,
            users=np.arange(n_users), items=np.full(n_users, 7),
        )  # fmt: skip
        for rivals in asked.values():
            places[np.arange(n - 1), rivals] += 1
    count = places.sum(axis=0)
    allowed = np.setdiff1d(np.arange(n_items), [0, 5, 7, 9, 22])
    assert count[[0, 5, 7, 9, 22]].sum() == 0
    rows, m = 10 * n_users, len(allowed)
    for place in places[:, allowed]:  # each draw on its own is uniform
        assert p_value(place, np.full(m, rows / m)) > ALARM / n
    # How often an item is in a sample: without replacement a little less spread than chi-square.
    spread = 1.0 if replacement else (m - n + 1) / (m - 1)
    statistic = ((count[allowed] - count.sum() / m) ** 2).sum() / (count.sum() / m) / spread
    assert stats.chi2.ppf(ALARM / 2, m - 1) < statistic < stats.chi2.ppf(1 - ALARM / 2, m - 1)


def test_pairs_of_items_meet_as_often_as_they_should() -> None:
    """Uniform places alone would allow samples of neighbours; pairs would not."""
    n_items, users = 9, np.arange(3000)
    asked = rivals_asked(Sampled(3), 11, n_items=n_items, users=users, items=np.full(3000, 4))
    met = np.zeros((n_items, n_items))
    for first, second in asked.values():
        met[first, second] += 1
    allowed = np.setdiff1d(np.arange(n_items), 4)
    off_diagonal = met[np.ix_(allowed, allowed)][~np.eye(8, dtype=bool)]
    assert off_diagonal.sum() == 3000
    assert p_value(off_diagonal, np.full(56, 3000 / 56)) > ALARM


def test_all_the_candidates_there_are() -> None:
    for design in (Sampled(40), Adaptive(7, None, top=40, budget=np.inf)):
        for (_, target), rivals in rivals_asked(design, 2).items():
            assert sorted(rivals) == [item for item in range(40) if item != target]


def test_marks_are_as_they_were() -> None:
    out, marks = np.empty(50, np.int64), np.zeros(7, np.uint8)
    excluded = np.array([3, 9, 48], np.int32)
    draws.mark(marks, 30, excluded)
    used = draws.draw_rivals(out, 0, 20, np.uint64(12), 0, 50, 46, False, marks)
    assert used >= 20
    marked = {item for item in range(50) if draws.is_marked(marks, item)}
    assert marked == {3, 9, 30, 48, *out[:20].tolist()}
    assert len(marked) == 24
    assert int(np.unpackbits(marks).sum()) == 24
    again = draws.draw_rivals(out, 20, 46, np.uint64(12), used, 50, 46, False, marks)
    assert again == used  # the rest is taken, not drawn
    assert sorted({3, 9, 30, 48, *out[:46].tolist()}) == list(range(50))
    draws.unmark(marks, 30, excluded, out, 46)
    assert not marks.any()


def test_continue_chances_are_uniform_and_their_own() -> None:
    keys = addresses(1, Stream.NEGATIVES, np.arange(4000))
    chances = np.array([draws.continue_chance(key, 2) for key in keys])
    first = np.array([int(word(key, 0)) / WORD for key in keys])
    assert stats.kstest(chances, "uniform").pvalue > ALARM
    assert abs(stats.spearmanr(chances, first).statistic) < 4 / np.sqrt(4000)  # P = 6e-5
    other = np.array([draws.continue_chance(key, 3) for key in keys])
    assert abs(stats.spearmanr(chances, other).statistic) < 4 / np.sqrt(4000)


def test_a_function_scorer_is_enough() -> None:
    scorer = FunctionScorer(pairs=lambda users, items: -items.astype(float), n_items=40)
    table = rank_pairs(scorer, [0, 1], [0, 39], Sampled(10), executor=Serial())
    assert table.rank.tolist() == [1, 10]
