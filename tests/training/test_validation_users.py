"""Who is set aside to stop learning is drawn apart from everybody else who draws users."""

from __future__ import annotations

import numpy as np

import truerank as tr
from truerank.training.validation import set_users_aside


def test_users_of_a_design_are_not_the_ones_set_aside_with_the_same_seed() -> None:
    data = tr.load_dataset("demo", n_users=600, n_items=200)
    split = tr.split.leave_one_out(data, seed=0)
    aside, _, _ = set_users_aside(split.train, share=0.1, seed=0)
    model = tr.models.Popularity().fit(split.train)
    table = tr.rank(model, split, tr.Users(m=int(aside.sum())), seed=0)
    ranked = np.isin(split.train.user_ids, table.user)
    both, drawn = int((ranked & aside).sum()), int(aside.sum())
    expected = drawn**2 / len(aside)  # hypergeometric: about 6 of 60, standard deviation 2.2
    assert abs(both - expected) < 4 * np.sqrt(expected)
