"""The names that examples, benchmarks and checks from outside call, exactly as promised."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import truerank as tr


def test_the_example_of_the_design() -> None:
    data = tr.load_dataset("demo", n_users=300, n_items=200)
    split = tr.split.leave_one_out(data, seed=0)
    model = tr.models.ItemKNN().fit(split.train)
    adaptive = tr.rank(model, split, design=tr.Adaptive(n0=25, n_max=3200), seed=0)
    full = tr.rank(model, split, design=tr.Full(), seed=0)
    assert np.all(adaptive.rank <= full.rank)
    assert np.array_equal(full.n_scored, full.n_items)
    u, i = np.array([3, 5]), np.array([1, 2])
    pairs = tr.rank_pairs(
        model, users=u, items=i, design=tr.Sampled(n=100), seed=0, exclude=split.train
    )
    assert pairs.user.tolist() == [3, 5]
    assert pairs.item.tolist() == [1, 2]
    table = tr.RankTable.from_arrays(rank=[1, 2], n_sampled=100, n_items=1_000)
    for name in ("rank", "n_sampled", "n_items", "weight", "user", "item", "n_scored"):
        assert len(getattr(table, name)) == 2
    assert len(tr.rank(model, split, design=tr.Users(m=50))) == 50


def test_ids_are_numbered_in_sorted_order() -> None:
    data = tr.Interactions.from_arrays([30, 10, 20], ["c", "a", "b"])
    assert data.user_ids.tolist() == [10, 20, 30]
    assert data.item_ids.tolist() == ["a", "b", "c"]
    assert data.items_of(0).tolist() == [0]


def test_every_promised_name_is_there() -> None:
    for name in tr.__all__:
        assert getattr(tr, name) is not None
    assert set(tr.__all__) <= set(dir(tr))
    with pytest.raises(AttributeError, match="no attribute 'rnak'"):
        _ = tr.rnak


def test_old_names_say_the_new_ones() -> None:
    for module in (tr, tr.ranking):
        with pytest.deprecated_call(match=r"\.Given is called 'FixedNegatives' now"):
            assert module.Given is tr.FixedNegatives


def test_import_is_light() -> None:
    """Neither torch nor numba nor scipy: what makes imports slow is loaded when it is used."""
    heavy = ("torch", "numba", "scipy", "pyarrow", "pandas")
    code = f"import sys, truerank; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_ranking_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import truerank as tr\n"
        "s = tr.split.leave_one_out(tr.load_dataset('demo', n_users=60, n_items=200))\n"
        "print(len(tr.rank(tr.models.Popularity().fit(s.train), s)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 60
