"""``rank``: from a split to a table with names and origins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slow_ranking import full_ranks

import truerank as tr
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.split import Split, leave_k_out, leave_one_out, strong_generalization

RNG = np.random.default_rng(0)
CELLS = RNG.choice(40 * 30, 400, replace=False)
DATA = Interactions.from_arrays(
    [f"u{cell // 30:02d}" for cell in CELLS], [f"i{cell % 30:02d}" for cell in CELLS]
)
SCORES = RNG.normal(size=(DATA.n_users, DATA.n_items))


class Model(tr.FunctionScorer):
    """A model by name, with scores from nowhere."""

    name = "nowhere"


def make_model() -> Model:
    return Model(lambda users: SCORES[users], n_items=DATA.n_items)


def pairs_of(split: Split) -> tuple[np.ndarray, np.ndarray]:
    return split.held_out.users.astype(int), split.held_out.indices.astype(int)


@pytest.mark.parametrize("split", [leave_one_out(DATA), leave_k_out(DATA, 3)], ids=["one", "three"])
def test_training_items_are_no_candidates(split: Split) -> None:
    table = tr.rank(make_model(), split)
    users, items = pairs_of(split)
    ranks, sizes = full_ranks(SCORES, users, items, split.train)
    assert table.rank.tolist() == ranks
    assert table.n_items.tolist() == sizes
    assert (table.n_items == DATA.n_items - split.train.user_counts[users]).all()
    assert table.header.candidates == "unseen"


def test_all_items_if_wanted() -> None:
    split = leave_one_out(DATA)
    table = tr.rank(make_model(), split, candidates="all")
    assert table.rank.tolist() == full_ranks(SCORES, *pairs_of(split))[0]
    assert set(table.n_items.tolist()) == {30}
    assert table.header.candidates == "all"


def test_external_ids_come_back_out() -> None:
    split = leave_one_out(DATA)
    table = tr.rank(make_model(), split, tr.Sampled(5), seed=3)
    known = set(zip(split.held_out.to_arrow()["user_id"].to_pylist(),
                    split.held_out.to_arrow()["item_id"].to_pylist(), strict=True))  # fmt: skip
    assert set(zip(table.user.tolist(), table.item.tolist(), strict=True)) == known


def test_the_header_tells_the_story() -> None:
    split = leave_one_out(DATA)
    header = tr.rank(make_model(), split, tr.Sampled(5), seed=3, ties="random").header
    assert header.to_dict() == {
        "design": {
            "kind": "sampled",
            "n": 5,
            "replacement": False,
            "levels": {"sizes": [5], "go_on": [0], "keep": [1.0]},
        },
        "replacement": False,
        "seed": 3,
        "ties": "random",
        "candidates": "unseen",
        "n_population": len(np.unique(split.held_out.users)),
        "data": split.train.fingerprint(),
        "split": split.fingerprint(),
        "model": "nowhere",
        "version": tr.__version__,
    }
    assert tr.rank(make_model(), split, seed=3).header.seed == 3  # it would have decided ties
    assert tr.rank(make_model(), split, ties="half").header.seed is None  # nothing was drawn
    assert tr.rank(make_model(), split, ties="random", seed=3).header.seed == 3  # the ties were


def test_a_name_that_is_no_text_is_not_taken() -> None:
    class Odd(tr.FunctionScorer):
        def name(self) -> str:
            return "a method"

    model = Odd(lambda users: SCORES[users], n_items=DATA.n_items)
    assert tr.rank(model, leave_one_out(DATA)).header.model == "Odd"


class FoldingModel:
    """Scores new users by what they have seen: the sum of the rows of a matrix."""

    def __init__(self) -> None:
        self.weights = np.random.default_rng(4).normal(size=(DATA.n_items, DATA.n_items))

    def fold_in(self, history: Interactions) -> tr.FunctionScorer:
        scores = history.matrix(dtype=np.float64) @ self.weights
        return tr.FunctionScorer(lambda users: scores[users], n_items=DATA.n_items)


def test_new_users_are_folded_in() -> None:
    split = strong_generalization(DATA, n_users=10)
    assert split.fold_in is not None
    model = FoldingModel()
    table = tr.rank(model, split)
    users, items = pairs_of(split)
    scores = split.fold_in.matrix(dtype=np.float64) @ model.weights
    ranks, sizes = full_ranks(scores, users, items, split.fold_in)
    assert table.rank.tolist() == ranks
    assert table.n_items.tolist() == sizes
    assert table.n_users == 10
    assert table.header.model == "FoldingModel"


def test_new_users_need_a_model_that_can_fold_in() -> None:
    split = strong_generalization(DATA, n_users=10)
    with pytest.raises(
        InvalidArgumentError,
        match=r"model must be able to fold in new users, got 'Model'; this split holds out whole "
        r"users: give the model a method fold_in\(history\) -> Scorer",
    ):
        tr.rank(make_model(), split)


def test_what_is_no_split() -> None:
    data: Any = DATA
    with pytest.raises(
        InvalidArgumentError, match="split must be a Split, got 'Interactions'; make one with"
    ):
        tr.rank(make_model(), data)


def test_unknown_candidates() -> None:
    with pytest.raises(
        InvalidArgumentError, match="candidates must be 'unseen' or 'all', got 'seen'"
    ):
        tr.rank(make_model(), leave_one_out(DATA), candidates="seen")  # type: ignore[arg-type]


@pytest.mark.parametrize("candidates", ["unseen", "all"])
def test_a_model_of_other_items(candidates: Any) -> None:
    model = Model(lambda users: np.ones((len(users), 29)), n_items=29)
    with pytest.raises(InvalidArgumentError, match=r"must be o.* the scorer's 29 items, got '30 i"):
        tr.rank(model, leave_one_out(DATA), candidates=candidates)


def test_two_models_meet_the_same_rivals_on_a_split() -> None:
    """A model and its mirror image: ranks add up to n + 1 only among the same rivals."""
    split = leave_one_out(DATA)
    mirrored = tr.FunctionScorer(lambda users: -SCORES[users], n_items=DATA.n_items)
    one = tr.rank(make_model(), split, tr.Sampled(8), seed=5)
    two = tr.rank(mirrored, split, tr.Sampled(8), seed=5)
    assert set((one.rank + two.rank).tolist()) == {9}
    other = tr.rank(mirrored, split, tr.Sampled(8), seed=6)
    assert set((one.rank + other.rank).tolist()) != {9}


# ---------------------------------------------------------------- what the model was fitted on


@pytest.mark.parametrize("loaded", [False, True], ids=["fitted", "loaded"])
def test_a_model_of_another_split_is_refused(loaded: bool, tmp_path: Path) -> None:
    """It has seen what is held out here: once .4424 against .3208, with this split's name on it."""
    mine, other = leave_one_out(DATA, seed=0), leave_one_out(DATA, seed=1)
    model = tr.models.EASE(l2=5.0).fit(other.train)
    if loaded:
        model.save(tmp_path / "ease.model")
        model = tr.models.load(tmp_path / "ease.model")
    with pytest.raises(InvalidDataError, match=r"this EASE was fitted on other data .*seen the "
                       r"held-out items.*trained_elsewhere=True"):  # fmt: skip
        tr.rank(model, mine)
    asked_for = tr.rank(model, mine, trained_elsewhere=True)
    assert asked_for.header.data == other.train.fingerprint()
    assert asked_for.header.split == mine.fingerprint()
    honest = tr.rank(tr.models.EASE(l2=5.0).fit(mine.train), mine)
    assert honest.header.data == mine.train.fingerprint()
    with pytest.raises(InvalidDataError, match="do not come from the same training data"):
        tr.compare({"honest": honest, "other": asked_for}, "recall@10")


def test_folding_in_asks_about_the_training_users() -> None:
    split = strong_generalization(DATA, n_users=5)
    assert len(tr.rank(tr.models.EASE(l2=5.0).fit(split.train), split)) > 0
    with pytest.raises(InvalidDataError, match="fitted on other data"):
        tr.rank(tr.models.EASE(l2=5.0).fit(DATA), split)


def test_a_model_that_does_not_say_what_it_was_fitted_on_is_believed() -> None:
    assert tr.rank(make_model(), leave_one_out(DATA)).header.data is not None


# ---------------------------------------------------------------- small catalogues


DEFAULTS = [tr.Adaptive(), tr.Sampled(), tr.Adaptive(n_max=3200), tr.Users(9, tr.Adaptive())]


@pytest.mark.parametrize("design", DEFAULTS, ids=str)
@pytest.mark.parametrize("n_items", range(2, 31))
def test_defaults_adapt_to_a_small_catalogue(n_items: int, design: Any) -> None:
    """Fewer candidates than the first sample: exact ranks, and a sentence that says so."""
    rng = np.random.default_rng(n_items)
    scores, targets = rng.normal(size=(60, n_items)), rng.integers(0, n_items, 60)
    scorer = tr.FunctionScorer(lambda users: scores[users], n_items=n_items)
    table = tr.rank_pairs(scorer, range(60), targets, design)
    full = tr.rank_pairs(scorer, range(60), targets)
    full = full[np.isin(full.user, table.user)]
    first = 100 if isinstance(design, tr.Sampled) else 25
    if n_items <= first:
        assert table.is_exact.all()
    assert np.array_equal(table.rank[table.is_exact], full.rank[table.is_exact])
    few = f"{len(table)} of {len(table)} rows have less than {first} candidates, so their ranks"
    assert table.adapted.startswith(few) == (n_items < first)
    assert (table.n_sampled >= min(first, n_items)).all()
    assert table.header.stages is not None
    assert table.header.stages.sizes[0] == min(first, n_items)
    found = tr.estimate(table, "recall@1", n_boot=20)[0]
    truth = float(full.per_user("recall@1")[1].mean())
    if n_items <= first:
        assert found.value == pytest.approx(truth)
        assert "every rank is exact" in " ".join(found.diagnostics.notes)
    else:
        low, high = found.diagnostics.bounds or (1.0, 0.0)
        assert low <= truth <= high


@pytest.mark.parametrize("design", [tr.Adaptive(25), tr.Sampled(25), tr.Adaptive(25, 3200)])
def test_what_was_asked_for_is_refused_where_it_cannot_be_had(design: Any) -> None:
    scorer = tr.FunctionScorer(lambda users: np.zeros((len(users), 24)), n_items=24)
    with pytest.raises(InvalidArgumentError, match="must be at most 24, the candidates of user 0"):
        tr.rank_pairs(scorer, [0], [1], design)


def test_a_sample_that_only_some_users_have_candidates_for() -> None:
    seen = [(u, i) for u in range(400) for i in range(u % 40)]
    exclude = tr.Interactions.from_arrays(
        *np.array(seen).T, user_ids=range(400), item_ids=range(120)
    )
    scores = np.random.default_rng(2).normal(size=(400, 120))
    scorer = tr.FunctionScorer(lambda users: scores[users], n_items=120)
    items = np.full(400, 110)
    full = tr.rank_pairs(scorer, range(400), items, exclude=exclude)
    table = tr.rank_pairs(scorer, range(400), items, tr.Sampled(), exclude=exclude)
    small = table.n_items <= 100
    assert 0.2 < small.mean() < 0.8
    assert np.array_equal(table.is_exact, small)
    assert np.array_equal(table.rank[small], full.rank[small])
    found = tr.estimate(table, "recall@10", n_boot=100)[0]
    low, high = found.diagnostics.bounds or (1.0, 0.0)
    assert low <= float(full.per_user("recall@10")[1].mean()) <= high
    fewer = int((table.n_items < 100).sum())
    said = f"{fewer} of 400 rows have less than 100 candidates, so their ranks are exact"
    assert said in found.diagnostics.notes
    drawn = tr.rank_pairs(scorer, range(400), items, tr.Sampled(replacement=True), exclude=exclude)
    assert np.array_equal(drawn.n_sampled, np.minimum(100, drawn.n_items - 1))
    assert drawn.adapted.endswith("so their samples are smaller")
    assert not drawn.is_exact.any()


@pytest.mark.parametrize("kind", [tr.models.EASE, tr.models.Popularity, tr.models.CentredItemKNN])
def test_a_folded_in_model_of_another_split_is_refused(kind: Any) -> None:
    """What fold_in makes has no ``trained_on``, and ranked the users that it was fitted on."""
    other, mine = (strong_generalization(DATA, n_users=10, seed=seed) for seed in (0, 1))
    assert mine.fold_in is not None
    right, wrong = (kind().fit(split.train) for split in (mine, other))
    for folded in (wrong.fold_in(mine.fold_in), wrong.fold_in(DATA).fold_in(mine.fold_in)):
        with pytest.raises(
            InvalidDataError, match=rf"^this {kind.__name__} was fitted on other data"
        ):
            tr.rank(folded, mine)
        asked_for = tr.rank(folded, mine, trained_elsewhere=True)
        assert asked_for.header.data == other.train.fingerprint()
    honest = tr.rank(right.fold_in(mine.fold_in), mine)
    assert honest.rank.tolist() == tr.rank(right, mine).rank.tolist()
    assert honest.header.data == mine.train.fingerprint()


def test_a_folded_in_model_of_another_split_is_refused_without_new_users_too() -> None:
    mine, other = leave_one_out(DATA, seed=0), leave_one_out(DATA, seed=1)
    wrong, right = (
        tr.models.IALS(dim=4, epochs=2).fit(split.train).fold_in(mine.train)
        for split in (other, mine)
    )
    with pytest.raises(InvalidDataError, match="this IALS was fitted on other data"):
        tr.rank(wrong, mine)
    assert len(tr.rank(right, mine)) == len(mine.held_out)


def test_folded_in_factors_cannot_be_folded_in_again() -> None:
    split = strong_generalization(DATA, n_users=10)
    assert split.fold_in is not None
    folded = tr.models.IALS(dim=4, epochs=2).fit(split.train).fold_in(split.fold_in)
    with pytest.raises(InvalidArgumentError, match="give the fitted model itself, it is folded in"):
        tr.rank(folded, split)
