"""Ids of text, the kind that files have: the same verdict as with numbers, bit by bit."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

import truerank as tr


def test_text_and_numbers_give_the_same_bits() -> None:
    """Three targets a user, rows in no order; letters sort these ids as numbers do."""
    rng = np.random.default_rng(3)
    user, item = np.repeat(rng.permutation(200), 3), np.tile([4, 5, 6], 200)
    ranks = rng.integers(1, 31, 600), rng.integers(1, 31, 600)
    words = np.char.add("user", np.char.zfill(user.astype(str), 4))
    verdicts = [
        tr.compare(
            {
                name: tr.RankTable.from_arrays(R, 30, 500, user=ids, item=item)
                for name, R in zip("ab", ranks, strict=True)
            },
            ["recall@50", "ndcg@100"],
            n_boot=100,
        )
        for ids in (user, words)
    ]
    first, second = ([asdict(row) for row in verdict.comparisons] for verdict in verdicts)
    assert first == second
