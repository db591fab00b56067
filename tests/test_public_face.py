"""The names that examples, benchmarks and checks from outside call, exactly as promised."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

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
    assert set(full.n_scored.tolist()) == {200}  # training items are scored too
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


ROOMS = ("data", "ranking", "estimators", "execution", "search", "planning")


def test_rooms_are_reached_by_their_names() -> None:
    """In a fresh process, where nothing else of the library was asked for."""
    code = f"import truerank as tr\nfor room in {ROOMS}: print(getattr(tr, room).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"truerank.{room}" for room in ROOMS]
    for room in ROOMS:
        names = getattr(tr, room).__all__
        assert names
        assert all(hasattr(getattr(tr, room), name) for name in names)


def test_search_is_a_verb_and_a_room() -> None:
    """Whichever was asked for first, a part of the room or the verb."""
    data = tr.load_dataset("demo", n_users=80, n_items=60)
    before = tr.search("popularity", {"dtype": ["float32"]}, data, metric="recall@5")
    code = (
        "import truerank.search.space\n"
        "import truerank as tr\n"
        "from truerank import search\n"
        "assert search is tr.search is truerank.search\n"
        "data = tr.load_dataset('demo', n_users=80, n_items=60)\n"
        "found = tr.search('popularity', {'dtype': ['float32']}, data, metric='recall@5')\n"
        "print(found.best.value, tr.search.Between is tr.Between)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(before.best.value), "True"]


def test_the_search_verb_says_what_it_takes() -> None:
    names = list(inspect.signature(tr.search).parameters)
    assert names[:3] == ["model", "space", "data"]
    assert "metric" in names
    text = pydoc.plain(pydoc.render_doc(tr.search))
    assert "hyper-parameters are best" in text
    assert inspect.getdoc(tr.search.search).splitlines()[0] in text


def test_types_of_a_users_file(tmp_path: Path) -> None:
    """mypy knows the verb, what it gives, and the rooms; and that an argument is missing."""
    pytest.importorskip("mypy")
    (tmp_path / "mine.py").write_text(
        "import truerank as tr\n"
        "data = tr.load_dataset('demo')\n"
        "found: str = tr.search(tr.models.ItemKNN, {'k': [5, 50]}, data)\n"
        "tr.search(5)\n"
        "users: str = tr.planning.users_to_detect(0.01)\n"
        "few: tr.Interactions = tr.data.k_core(data)\n"
    )
    home = Path(tr.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--follow-imports=silent"]
    done = subprocess.run(
        [*command, "--cache-dir", tmp_path / "cache", "mine.py"],
        cwd=tmp_path, env={"MYPYPATH": str(home), "PATH": ""}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = [line.partition(": error: ")[::2] for line in done.stdout.splitlines()]
    assert [place for place, _ in lines] == ["mine.py:3", "mine.py:4", "mine.py:5"], done.stdout
    assert '"SearchResult"' in lines[0][1]
    assert "Too few arguments" in lines[1][1]
    assert '"int"' in lines[2][1]
