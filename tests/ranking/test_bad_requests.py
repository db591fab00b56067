"""What can be wrong with a request to rank: each gets its own sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from slow_ranking import ItemItem

from truerank.data.interactions import Interactions
from truerank.errors import (
    InvalidArgumentError,
    InvalidDataError,
    NotFittedError,
    StorageError,
)
from truerank.execution import Processes
from truerank.models.names import MODELS, model_class
from truerank.ranking import (
    Adaptive,
    FactorScorer,
    FixedNegatives,
    Full,
    FunctionScorer,
    Sampled,
    Users,
    rank,
    rank_pairs,
)
from truerank.split import leave_one_out

REQUIRED: dict[str, dict[str, Any]] = {"pure-svd": {"dim": 2}}
"""Parameters of models that cannot be made without."""

SCORER = FactorScorer(np.ones((4, 2)), np.arange(20.0).reshape(10, 2))
SEEN = Interactions.from_arrays(
    [0, 0, 2, 2, 2], [1, 2, 0, 1, 5], user_ids=range(4), item_ids=range(10)
)
NAMES = np.array(["ann", "bob", "cid", "dee"])


def refused(error: type[Exception], sentence: str) -> Any:
    return pytest.raises(error, match=sentence)


# ---------------------------------------------------------------- designs


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Sampled(1), "n must be a whole number, at least 2, got 1"),
        (lambda: Sampled(2.5), "n must be a whole number, at least 2, got 2.5"),
        (lambda: Sampled(True), "n must be a whole number, at least 2, got True"),
        (lambda: Adaptive(1), "n0 must be a whole number, at least 2, got 1"),
        (lambda: Adaptive(25, 24), "n_max must be a whole number, at least n0 = 25, got 24"),
        (lambda: Adaptive(growth=1), "growth must be a number, more than 1, got 1"),
        (lambda: Adaptive(growth=0.5), "growth must be a number, more than 1, got 0.5"),
        (lambda: Adaptive(growth=float("nan")), "growth must be a number, more than 1, got nan"),
        (lambda: Adaptive(growth=float("inf")), "growth must be a number, more than 1, got inf"),
        (lambda: Adaptive(growth="2"), "growth must be a number, more than 1, got '2'"),
        (
            lambda: Adaptive(n_max=None, replacement=True),
            "n_max must be a number when drawing with replacement, got None; only without",
        ),
        (lambda: Users(0), "m must be a whole number, at least 1, got 0"),
        (
            lambda: Users(3, FixedNegatives([[1]])),
            "inner must be Full, Sampled, Adaptive or Screened, got FixedNegatives",
        ),
        (
            lambda: Users(3, Users(2)),
            "inner must be Full, Sampled, Adaptive or Screened, got Users",
        ),
    ],
)
def test_designs_that_make_no_sense(make: Any, sentence: str) -> None:
    with refused(InvalidArgumentError, sentence):
        make()


@pytest.mark.parametrize(
    ("design", "sentence"),
    [
        (Sampled(11), "n must be at most 10, the candidates of user 0, got 11; take a smaller"),
        (Sampled(10, True), "n must be less than 10, the candidates of user 0, got 10"),
        (Adaptive(11), "n0 must be at most 10, the candidates of user 0, got 11"),
        (Adaptive(10, 10, replacement=True), "n0 must be less than 10, the candidates of user 0"),
        (Users(5), "m must be at most the 4 users held out, got 5"),
        (
            "full",
            r"must be Full\(\), Sampled\(n\), Adaptive\(...\), Screened\(...\), FixedNegatives\(",
        ),
        (Full, "design must be Full"),
    ],
)
def test_designs_that_do_not_fit(design: Any, sentence: str) -> None:
    with refused(InvalidArgumentError, sentence):
        rank_pairs(SCORER, range(4), range(4), design)


def test_the_largest_sample_that_fits() -> None:
    assert set(rank_pairs(SCORER, range(4), range(4), Sampled(10)).n_sampled) == {10}
    table = rank_pairs(SCORER, range(4), range(4), Sampled(9, replacement=True))
    assert set(table.n_sampled) == {9}


def test_a_sample_larger_than_what_one_user_has_not_seen() -> None:
    with refused(
        InvalidArgumentError, "n must be at most 7, the candidates of user cid, got 8; take a"
    ):
        rank_pairs(SCORER, range(4), range(6, 10), Sampled(8), exclude=SEEN, user_ids=NAMES)
    # The held-out item stays a candidate although seen, so there is one more.
    with refused(InvalidArgumentError, "n0 must be at most 8, the candidates of user 2, got 9"):
        rank_pairs(SCORER, [2], [5], Adaptive(9), exclude=SEEN)


def test_repeated_draws_from_next_to_nothing() -> None:
    tiny = FactorScorer(np.ones((1, 1)), np.ones((2, 1)))
    with refused(
        InvalidArgumentError, "replacement must be False where .* fewer than 3 candidates"
    ):
        rank_pairs(tiny, [0], [1], Sampled(replacement=True))


# ---------------------------------------------------------------- pairs


@pytest.mark.parametrize(
    ("users", "items", "sentence"),
    [
        ([-1], [0], "users must be indices from 0 to 3, got -1; indices, not external ids"),
        ([4], [0], "users must be indices from 0 to 3, got 4"),
        ([0], [-2], "items must be indices from 0 to 9, got -2"),
        ([0], [10], "items must be indices from 0 to 9, got 10"),
        ([0, 1], [2], "items must be as many as users: 2, got '1 items'"),
        ([0.5], [1], r"users must be a one-dimensional array of indices, got 'shape \(1,\) of fl"),
        (["a"], [1], "users must be a one-dimensional array of indices"),
        ([[0]], [1], r"users must be a one-dimensional array of indices, got 'shape \(1, 1\)"),
        ([0], 1, "items must be a one-dimensional array of indices"),
    ],
)
def test_indices_that_index_nothing(users: Any, items: Any, sentence: str) -> None:
    with refused(InvalidArgumentError, sentence):
        rank_pairs(SCORER, users, items)


def test_nothing_held_out() -> None:
    with refused(InvalidDataError, "there is nothing to rank: no .user, item. pairs were held out"):
        rank_pairs(SCORER, [], [])


def test_users_unknown_to_a_history() -> None:
    scorer = ItemItem(sparse.csr_array(np.eye(3)), np.eye(3))
    with refused(InvalidArgumentError, "users must be indices from 0 to 2, got 3"):
        rank_pairs(scorer, [3], [0])


def test_users_unknown_to_the_excluded() -> None:
    calls = FunctionScorer(lambda users: np.ones((len(users), 10)), n_items=10)
    with refused(InvalidArgumentError, "users must be indices from 0 to 3, got 4"):
        rank_pairs(calls, [4], [0], exclude=SEEN)
    with refused(InvalidArgumentError, "users must be indices from 0, got -4"):
        rank_pairs(calls, [-4], [0])


def test_excluded_items_of_another_catalogue() -> None:
    other = Interactions.from_arrays([0], [0], user_ids=range(4), item_ids=range(11))
    with refused(
        InvalidArgumentError, "exclude must be over the scorer's 10 items, got '11 items'"
    ):
        rank_pairs(SCORER, [0], [0], exclude=other)


def test_names_for_others() -> None:
    with refused(InvalidArgumentError, "users must be indices from 0 to 1, got 3"):
        rank_pairs(SCORER, [3], [0], user_ids=["a", "b"])
    with refused(InvalidArgumentError, "item_ids must be of the scorer's 10 items, got '3 ids'"):
        rank_pairs(SCORER, [3], [0], item_ids=[1, 2, 3])


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "a", None])
def test_seeds(seed: Any) -> None:
    with refused(InvalidArgumentError, r"seed must be an integer from 0 to 2\*\*64 - 1, got"):
        rank_pairs(SCORER, [0], [0], seed=seed)


def test_tie_rules() -> None:
    with refused(
        InvalidArgumentError,
        "ties must be one of half, optimistic, pessimistic, random, got 'average'",
    ):
        rank_pairs(SCORER, [0], [0], ties="average")  # type: ignore[arg-type]


# ---------------------------------------------------------------- scorers


def with_nan(where: tuple[int, int]) -> np.ndarray:
    scores = np.ones((4, 10))
    scores[where] = np.nan
    return scores


@pytest.mark.parametrize(
    ("design", "method"),
    [
        (Full(), "score_all"),
        (Sampled(10), "score_pairs"),
        (FixedNegatives([[3]] * 4), "score_pairs"),
    ],
)
def test_nan_scores_name_the_user(design: Any, method: str) -> None:
    scores = with_nan((2, 3))
    scorer = FunctionScorer(lambda users: scores[users], n_items=10)
    sentence = (
        f"{method} of the scorer returned NaN for user %s, and NaN has no rank; check the model's "
        "training, or replace NaN by -inf to rank such items last"
    )
    with refused(InvalidDataError, sentence % "cid"):
        rank_pairs(scorer, range(4), [0] * 4, design, user_ids=NAMES)
    with refused(InvalidDataError, sentence % "2"):
        rank_pairs(scorer, range(4), [0] * 4, design)


def test_nan_factors_name_the_user() -> None:
    X = np.ones((4, 2))
    X[1, 0] = np.nan
    with refused(InvalidDataError, "returned NaN for user bob, and NaN has no rank"):
        rank_pairs(FactorScorer(X, SCORER.item_factors), range(4), range(4), user_ids=NAMES)


def test_nan_weights_name_the_user() -> None:
    W = np.eye(10)
    W[5, 1] = np.nan
    scorer = ItemItem(SEEN.matrix(), W)
    with refused(InvalidDataError, "returned NaN for user cid"):  # the one who has seen item 5
        rank_pairs(scorer, range(4), range(4), user_ids=NAMES)


@pytest.mark.parametrize("shape", [(10,), (1, 9), (2, 10), (10, 1), ()])
def test_wrong_shape_of_score_all(shape: tuple[int, ...]) -> None:
    scorer = FunctionScorer(lambda users: np.ones(shape), n_items=10)
    with refused(
        InvalidDataError,
        r"score_all of the scorer returned an array of shape .* for 1 users; it must be \(1, 10\)",
    ):
        rank_pairs(scorer, [0], [0])


def test_wrong_shape_of_score_pairs() -> None:
    scorer = FunctionScorer(pairs=lambda users, items: np.ones(len(users)), n_items=10)
    with refused(
        InvalidDataError,
        r"score_pairs of the scorer returned an array of shape \(2,\) for 2 users; it must be "
        r"\(2, 5\)",
    ):
        rank_pairs(scorer, [0, 1], [0, 1], Sampled(5))


@pytest.mark.parametrize("values", ["strings", "complex"])
def test_scores_that_are_no_numbers(values: str) -> None:
    row = np.full((1, 10), "1.0") if values == "strings" else np.ones((1, 10), complex)
    with refused(InvalidDataError, "score_all of the scorer returned values of type .*; scores mu"):
        rank_pairs(FunctionScorer(lambda users: row, n_items=10), [0], [0])


class Contradicting(FactorScorer):
    """Factors without the item biases that its scores have."""

    def score_pairs(self, users: Any, items: Any) -> Any:
        return super().score_pairs(users, items) + 5.0 * items


def test_factors_that_contradict_the_scores() -> None:
    scorer = Contradicting(SCORER.user_factors, SCORER.item_factors)
    with refused(
        InvalidDataError,
        r"the factors \(or the item-item matrix\) of Contradicting do not give the scores of its "
        "score_pairs; remove these attributes, or fold biases and scaling into them",
    ):
        rank_pairs(scorer, range(4), range(4))


def test_an_item_item_matrix_that_contradicts_the_scores() -> None:
    scorer = ItemItem(SEEN.matrix(), sparse.csr_array(np.eye(10)))
    scorer.score_pairs = lambda users, items: np.zeros(items.shape)  # type: ignore[method-assign]
    with refused(InvalidDataError, "of ItemItem do not give the scores of its score_pairs"):
        rank_pairs(scorer, [0, 2], [1, 5])


def test_rounding_is_no_contradiction() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 200)), rng.normal(size=(50, 200))

    class Rounded(FactorScorer):
        def score_pairs(self, users: Any, items: Any) -> Any:
            return super().score_pairs(users, items).astype(np.float16)

    rank_pairs(Rounded(X, Y), range(40), range(40))


def test_factors_that_do_not_multiply() -> None:
    class Odd:
        user_factors, item_factors = np.ones((3, 2)), np.ones((5, 4))

    with refused(InvalidDataError, r"user_factors of shape \(3, 2\) and item_factors of shape"):
        rank_pairs(Odd(), [0], [0])
    with refused(InvalidArgumentError, r"item_factors must be as wide as user_factors \(2\)"):
        FactorScorer(np.ones((3, 2)), np.ones((5, 4)))
    with refused(InvalidArgumentError, "factors must be two matrices"):
        FactorScorer(np.ones(3), np.ones((5, 4)))


def test_matrices_that_do_not_multiply() -> None:
    for history, weights in (((2, 3), (4, 4)), ((2, 3), (3, 4))):
        with refused(InvalidDataError, r"history of shape \(2, 3\) and item_item of shape \("):
            rank_pairs(ItemItem(sparse.csr_array(np.ones(history)), np.ones(weights)), [0], [0])


def test_factors_of_other_items() -> None:
    class Odd:
        user_factors, item_factors, n_items = np.ones((3, 2)), np.ones((5, 2)), 6

    with refused(
        InvalidDataError, r"Odd has n_items 6 but factors \(or an item-item matrix\) of 5"
    ):
        rank_pairs(Odd(), [0], [0])


@pytest.mark.parametrize("scorer", [None, "ease", lambda users: users], ids=["none", "name", "fn"])
def test_what_is_no_scorer(scorer: Any) -> None:
    with refused(
        InvalidArgumentError,
        r"scorer must be a Scorer with n_items, score_all\(users\) and score_pairs\(users, items\)"
        r", got '.*'; wrap a function with tr\.FunctionScorer",
    ):
        rank_pairs(scorer, [0], [0])


def test_function_scorers_of_nothing() -> None:
    with refused(InvalidArgumentError, "all_items must be a function, or pairs must be one"):
        FunctionScorer(n_items=3)
    with refused(InvalidArgumentError, "n_items must be a whole number, at least 1, got 0"):
        FunctionScorer(lambda users: users)
    for n_items in (2.5, "10", np.nan, True, None):
        with refused(InvalidArgumentError, "n_items must be a whole number, at least 1, got"):
            FunctionScorer(lambda users: users, n_items=n_items)  # type: ignore[arg-type]
    with refused(InvalidArgumentError, "all_items must be a function, got 'ndarray'"):
        FunctionScorer(np.ones((4, 10)), n_items=10)  # type: ignore[arg-type]


DESIGNS = [
    Full(),
    Sampled(5),
    Adaptive(3),
    FixedNegatives([[3]] * 4),
    Users(2),
    Users(3, Sampled(5)),
]


@pytest.mark.parametrize("by", ["all_items", "pairs"])
@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda right: right[:1], r"an array of shape \(1, \d+\) for .* it must be \("),
        (lambda right: np.pad(right, ((0, 0), (0, 1))), r"an array of shape .* it must be \("),
        (lambda right: right[..., None], r"an array of shape \(.*, 1\) .* it must be \("),
        (lambda right: right[:, :-1], r"an array of shape .* it must be \("),
        (lambda right: None, r"an array of shape \(\) .* it must be \("),
        (lambda right: right + 0j, "values of type complex128; scores must be real numbers"),
        (lambda right: right.astype(object), "values of type object; scores must be real"),
        (lambda right: right.astype(str), "values of type <U32; scores must be real numbers"),
        (
            lambda right: [[1.0], [1.0, 2.0]],
            r"a list that is not an array .* it must be an array of",
        ),
    ],
    ids=["rows", "wider", "deeper", "narrower", "none", "complex", "object", "text", "ragged"],
)
def test_what_a_function_returns_is_checked_in_every_design(
    spoil: Any, sentence: str, design: Any, by: str
) -> None:
    functions: dict[str, Any] = {
        "all_items": lambda users: spoil(np.ones((len(users), 10))),
        "pairs": lambda users, items: spoil(np.ones(items.shape)),
    }
    scorer = FunctionScorer(**{by: functions[by]}, n_items=10)
    with refused(InvalidDataError, rf"^score_(all|pairs) of the scorer returned {sentence}"):
        rank_pairs(scorer, range(4), range(4), design)


@pytest.mark.parametrize("kind", [complex, object, str])
def test_factors_and_matrices_are_real(kind: Any) -> None:
    class Odd:
        user_factors, item_factors = np.ones((4, 2)), np.ones((10, 2)).astype(kind)

    with refused(InvalidDataError, "item_factors has values of type .*; factors must be real"):
        FactorScorer(np.ones((4, 2)), np.ones((10, 2)).astype(kind))
    sentence = r"the factors \(or the item-item matrix\) have values of type .* must be real num"
    with refused(InvalidDataError, sentence):
        rank_pairs(Odd(), [0], [0])
    with refused(InvalidDataError, sentence):
        rank_pairs(ItemItem(SEEN.matrix(), np.eye(10).astype(kind)), [0], [1])


def test_scores_beside_factors_are_checked_too() -> None:
    class Text(FactorScorer):
        def score_pairs(self, users: Any, items: Any) -> Any:
            return super().score_pairs(users, items).astype(str)

    with refused(InvalidDataError, "score_pairs of the scorer returned values of type <U32"):
        rank_pairs(Text(SCORER.user_factors, SCORER.item_factors), [0], [0])


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_that_is_not_fitted_says_so(name: str) -> None:
    kind = model_class(name)
    model = kind(**REQUIRED.get(name, {}))
    split = leave_one_out(SEEN)
    for ask in (lambda: rank(model, split), lambda: rank_pairs(model, [0], [1])):
        with refused(
            NotFittedError, rf"got 'an unfitted {kind.__name__}'; call fit\(train\) first"
        ):
            ask()
    with refused(InvalidArgumentError, rf"got 'the class {kind.__name__}'; make one and fit it"):
        rank(kind, split)


# ---------------------------------------------------------------- elsewhere


def test_no_room_for_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from truerank.ranking import jobs

    def full(*args: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(jobs.np, "save", full)
    with refused(StorageError, "no space left on the device of .*truerank-"):
        rank_pairs(SCORER, [0], [0], executor=Processes(1))
