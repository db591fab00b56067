from __future__ import annotations

import numpy as np

import truerank as tr


def test_scores_are_counts_for_known_and_new_users() -> None:
    data = tr.Interactions.from_arrays([0, 1, 1, 2], [0, 0, 1, 0], item_ids=[0, 1, 2])
    model = tr.models.Popularity().fit(data)
    assert model.score_all(np.array([2, 0])).tolist() == [[3, 1, 0], [3, 1, 0]]
    assert model.score_pairs(np.array([1]), np.array([[2, 0]])).tolist() == [[0, 3]]
    assert model.fold_in(data).score_all(np.array([0])).tolist() == [[3, 1, 0]]


def test_weights_do_not_count() -> None:
    data = tr.Interactions.from_arrays([0, 1, 1], [0, 1, 2], weight=[5.0, 1.0, 0.0], min_rating=0.0)
    assert tr.models.Popularity().fit(data).score_all(np.array([0])).tolist() == [[1, 1, 1]]


def test_ranks_through_the_fast_path() -> None:
    data = tr.load_dataset("demo", n_users=200, n_items=200, seed=3)
    split = tr.split.leave_one_out(data, seed=1)
    model = tr.models.Popularity().fit(split.train)
    plain = tr.FunctionScorer(model.score_all, n_items=model.n_items)
    fast = tr.rank(model, split, ties="random", seed=5)
    slow = tr.rank(plain, split, ties="random", seed=5)
    assert fast.rank.tolist() == slow.rank.tolist()
