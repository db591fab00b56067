"""Strong generalisation: held-out users are strangers to the model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.split import Split, strong_generalization


def a_log(n_users: int = 60, seed: int = 4) -> Interactions:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 14, n_users)
    user = np.repeat(np.arange(n_users), counts)
    item = np.concatenate([rng.choice(25, c, replace=False) for c in counts])
    return Interactions.from_arrays(user, item, timestamp=rng.integers(0, 9, len(user)))


def groups(**arguments: object) -> tuple[Split, Split]:
    return tuple(  # type: ignore[return-value]
        strong_generalization(
            a_log(),
            n_users=12,
            n_validation_users=7,
            role=role,
            **arguments,  # type: ignore[arg-type]
        )
        for role in ("test", "validation")
    )


def present(data: Interactions | None) -> set[int]:
    assert data is not None
    return set(np.flatnonzero(data.user_counts).tolist())


def test_groups_are_disjoint_and_share_the_training_part() -> None:
    test, validation = groups()
    assert test.train.fingerprint() == validation.train.fingerprint()
    assert len(present(test.held_out)) == 12
    assert len(present(validation.held_out)) == 7
    parts = [present(test.train), present(test.held_out), present(validation.held_out)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == a_log().n_users
    assert present(test.fold_in) == present(test.held_out)


def test_fold_in_and_held_out_are_the_whole_history() -> None:
    data = a_log()
    test, _ = groups()
    assert test.fold_in is not None
    for user in present(test.held_out):
        n = len(data.items_of(user))
        held, known = test.held_out.items_of(user), test.fold_in.items_of(user)
        assert sorted([*held, *known]) == data.items_of(user).tolist()
        assert len(held) == min(int(0.2 * n + 0.5), n - 1)
    assert test.report.users_without_history == 0
    assert test.report.fold_in == len(test.fold_in)


def test_the_test_group_does_not_depend_on_the_validation_group() -> None:
    alone = strong_generalization(a_log(), n_users=12)
    assert alone.held_out.fingerprint() == groups()[0].held_out.fingerprint()


def test_row_order_of_the_input_does_not_matter() -> None:
    data = a_log()
    shuffle = np.random.default_rng(0).permutation(len(data))
    user, item = data.user_ids[data.users][shuffle], data.item_ids[data.indices][shuffle]
    assert data.timestamps is not None
    again = Interactions.from_arrays(user, item, timestamp=data.timestamps[shuffle])
    a, b = (strong_generalization(d, n_users=9, seed=3) for d in (data, again))
    assert a.fingerprint() == b.fingerprint()


def test_latest_interactions_can_be_the_held_out_ones() -> None:
    test, _ = groups(by="latest")
    assert test.fold_in is not None
    assert test.fold_in.timestamps is not None
    assert test.held_out.timestamps is not None
    for user in present(test.held_out):
        known = test.fold_in.timestamps[slice(*test.fold_in.indptr[user : user + 2])]
        held = test.held_out.timestamps[slice(*test.held_out.indptr[user : user + 2])]
        assert known.max() <= held.min()


def test_every_user_is_equally_likely() -> None:
    n, chosen = 40, 10
    user = np.repeat(np.arange(n), 2)
    data = Interactions.from_arrays(user, np.tile([0, 1], n))
    counts = np.zeros(n)
    runs = 400
    for seed in range(runs):
        split = strong_generalization(data, n_users=chosen, fold_in=0.5, seed=seed)
        counts += split.held_out.user_counts > 0
    # Drawn without replacement: the variance of a count is p(1-p) n/(n-1) per run.
    p = chosen / n
    statistic = ((counts - runs * p) ** 2).sum() / (runs * p * (1 - p) * n / (n - 1))
    assert stats.chi2.sf(statistic, n - 1) > 1e-4  # false alarm once in 10,000 sets of seeds


def test_short_users_are_never_held_out() -> None:
    data = Interactions.from_arrays([0, 1, 1, 1, 2, 2, 2], [5, 5, 6, 7, 5, 6, 7])
    for seed in range(20):
        split = strong_generalization(data, n_users=1, fold_in=0.5, seed=seed)
        assert split.train.user_counts[0] == 1
    dropped = strong_generalization(data, n_users=1, fold_in=0.5, short_users="drop")
    assert dropped.train.user_counts[0] == 0
    assert dropped.report.dropped.short_users == 1
    assert dropped.report.dropped.short_user_interactions == 1


def test_cold_items_go_before_the_history_is_divided() -> None:
    user = np.repeat([0, 1, 2], [4, 8, 4])
    data = Interactions.from_arrays(user, [0, 1, 2, 3, *range(8), 0, 1, 2, 3])
    seed = next(  # a seed whose held-out user is the one with four items of their own
        s
        for s in range(100)
        if strong_generalization(data, n_users=1, seed=s).held_out.user_counts[1]
    )
    kept = strong_generalization(data, n_users=1, fold_in=0.5, seed=seed)
    assert kept.fold_in is not None
    assert len(kept.fold_in) == len(kept.held_out) == 4
    warm = strong_generalization(data, n_users=1, fold_in=0.5, seed=seed, cold_items="drop")
    assert warm.fold_in is not None
    assert len(warm.fold_in) == len(warm.held_out) == 2
    assert warm.report.dropped.cold_pairs == 4
    assert warm.report.cold_pairs == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param({"n_users": 0}, "n_users must be a whole number, at least 1", id="none"),
        pytest.param({"n_users": 1000}, "users are long enough to be held out", id="too-many"),
        pytest.param({"n_users": 2, "fold_in": 0.0}, "fold_in must be between", id="fold_in=0"),
        pytest.param({"n_users": 2, "fold_in": 1.0}, "fold_in must be between", id="fold_in=1"),
        pytest.param({"n_users": 2, "fold_in": 80}, "for 80 percent write 0.8", id="percent"),
        pytest.param({"n_users": 2, "role": "train"}, "role must be one of", id="role"),
        pytest.param(
            {"n_users": 2, "role": "validation"},
            "n_validation_users must be at least 1 for role='validation'",
            id="no-validation",
        ),
        pytest.param(
            {"n_users": 2, "n_validation_users": -1},
            "n_validation_users must be a whole number, at least 0",
            id="negative",
        ),
        pytest.param({"n_users": 2, "by": "first"}, "by must be one of", id="by"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        strong_generalization(a_log(), **arguments)  # type: ignore[arg-type]
    assert sentence in str(error.value)


def test_one_user_leaves_nobody_to_train_on() -> None:
    data = Interactions.from_arrays([1, 1, 1], [5, 6, 7])
    with pytest.raises(InvalidArgumentError, match="less than the 1 users in the data"):
        strong_generalization(data, n_users=1, fold_in=0.5)
