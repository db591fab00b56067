from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import stats

from truerank.data import load_dataset, synthetic
from truerank.data.interactions import Interactions
from truerank.data.synthetic import DURATION, START, SyntheticItems, generate
from truerank.errors import InvalidArgumentError
from truerank.rng import Stream, addresses, uniforms


@pytest.fixture(scope="module")
def demo() -> Interactions:
    return generate()


# -------------------------------------------------------------------- same bits


def test_same_bits_for_a_seed(demo: Interactions) -> None:
    assert generate().fingerprint() == demo.fingerprint()
    assert generate(seed=1).fingerprint() != demo.fingerprint()


def test_the_bits_of_the_demo_are_these(demo: Interactions) -> None:
    # Changing them changes published numbers: say so under "numbers that change".
    assert demo.fingerprint().startswith("0d88b3f2aab83752")


@pytest.mark.parametrize("block", [1, 100, 1_000_000])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = generate(200, 300, interactions_per_user=12).fingerprint()
    monkeypatch.setattr(synthetic, "_BLOCK", block)
    assert generate(200, 300, interactions_per_user=12).fingerprint() == expected


def test_a_user_does_not_depend_on_the_others() -> None:
    few = generate(20, 300, interactions_per_user=12)
    many = generate(90, 300, interactions_per_user=12)
    end = few.indptr[-1]
    assert few.indptr.tolist() == many.indptr[:21].tolist()
    assert few.indices.tolist() == many.indices[:end].tolist()


# -------------------------------------------------------------------- what is promised


def test_shape_of_the_demo(demo: Interactions) -> None:
    assert (demo.n_users, demo.n_items) == (3000, 2000)
    assert demo.user_counts.min() >= 5
    assert demo.user_counts.max() <= 500
    assert demo.weights is None
    times = demo.timestamps
    assert times is not None
    assert START <= times.min() < times.max() < START + DURATION


def test_it_is_a_valid_object(demo: Interactions) -> None:
    again = Interactions.from_arrays(
        demo.users,
        demo.indices,
        timestamp=demo.timestamps,
        user_ids=demo.user_ids,
        item_ids=demo.item_ids,
    )
    assert again.fingerprint() == demo.fingerprint()  # sorted, and no pair twice


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"n_users": 1}, id="one-user"),
        pytest.param({"n_items": 20, "interactions_per_user": 5}, id="fewest-items"),
        pytest.param({"n_items": 40, "interactions_per_user": 10}, id="busiest"),
        pytest.param({"fewest": 1, "interactions_per_user": 1}, id="one-each"),
        pytest.param({"taste": 1.0, "head": 1e-4}, id="narrow"),
        pytest.param({"taste": 0.0, "head": 10.0}, id="flat"),
    ],
)
def test_extremes(arguments: dict[str, Any]) -> None:
    data = generate(**{"n_users": 50, "n_items": 400, **arguments})
    fewest = arguments.get("fewest", 5)
    assert data.user_counts.min() >= fewest
    assert data.user_counts.max() <= data.n_items // 4


def test_small_catalogues_need_no_number_of_interactions() -> None:
    small = load_dataset("demo", n_users=200, n_items=60)
    asked = generate(200, 60, interactions_per_user=15)
    assert small.fingerprint() == asked.fingerprint()
    assert generate(50, 20).user_counts.tolist() == [5] * 50
    busy = generate(50, 400, fewest=60)
    assert (
        busy.fingerprint() == generate(50, 400, fewest=60, interactions_per_user=60).fingerprint()
    )


@pytest.mark.parametrize(("n_items", "asked"), [(160, 40.0), (159, 39.75), (2000, 40.0)])
def test_the_usual_activity_is_40_where_there_are_items_for_it(n_items: int, asked: float) -> None:
    usual, given = generate(30, n_items), generate(30, n_items, interactions_per_user=asked)
    assert usual.fingerprint() == given.fingerprint()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_users": 0}, "n_users must be at least 1, got 0"),
        ({"fewest": 0}, "fewest must be at least 1, got 0"),
        ({"n_items": 19}, "n_items must be at least 20, four times fewest=5, got 19"),
        (
            {"n_items": 100, "interactions_per_user": 40.0},
            "interactions_per_user must be from 5 to 25, got 40.0",
        ),
        ({"interactions_per_user": 4}, "interactions_per_user must be from 5 to 500, got 4"),
        ({"taste": 1.5}, "taste must be from 0 to 1, got 1.5"),
        ({"head": 0.0}, "head must be positive, got 0.0"),
        ({"seed": -1}, "seed must be an integer from 0 to 2**64 - 1, got -1"),
    ],
)
def test_arguments_that_cannot_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        generate(**arguments)
    assert str(caught.value) == message


# -------------------------------------------------------------------- traits


def test_mean_activity_is_what_was_asked_for() -> None:
    counts = generate(4000, 4000, interactions_per_user=20, seed=3).user_counts
    z = (counts.mean() - 20) / (counts.std(ddof=1) / np.sqrt(len(counts)))
    assert abs(z) < 4  # P(|Z| > 4) = 6e-5


def test_activity_is_lognormal_above_the_fewest(demo: Interactions) -> None:
    more = demo.user_counts[demo.user_counts > 15] - 5.0  # above, rounding to whole is no matter
    centre = np.log(35) - 0.5
    cut = stats.norm.cdf(np.log(10.5) - centre)
    u = (stats.norm.cdf(np.log(more) - centre) - cut) / (1 - cut)
    assert stats.kstest(u, "uniform").pvalue > 1e-4


def test_popularity_and_activity_are_as_the_docstring_says(demo: Interactions) -> None:
    summary = demo.summary()
    assert summary.gini == pytest.approx(0.65, abs=0.005)
    assert summary.top_1_share == pytest.approx(0.12, abs=0.005)
    assert summary.top_10_share == pytest.approx(0.53, abs=0.005)
    quantiles = np.quantile(demo.user_counts, [0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    assert [round(q) for q in quantiles] == [9, 15, 25, 46, 111, 205]


def test_places_are_drawn_by_popularity() -> None:
    items = SyntheticItems.make(30, seed=2, head=0.1)
    u = uniforms(addresses(5, Stream.DEMO, np.arange(20_000)))
    start, stop = np.full(len(u), 4), np.full(len(u), 16)
    found = np.bincount(items.position(start, stop, u), minlength=30)
    expected = np.diff(items.mass)[4:16]
    assert found[:4].sum() == found[16:].sum() == 0
    assert stats.chisquare(found[4:16], expected / expected.sum() * len(u)).pvalue > 1e-4


def test_windows_of_taste_narrow_down_to_a_few_items() -> None:
    for n_items, widths in (
        (1_000_000, [31250, 976, 30, 1000000]),
        (2000, [62, 2000]),
        (20, [20, 20]),
    ):
        assert SyntheticItems.make(n_items, seed=0, head=0.02).widths().tolist() == widths


def hits_at_20(data: Interactions, *, neighbours: bool) -> np.ndarray[Any, Any]:
    """Whether one random held-out item per user is among the best 20 by the model."""
    held = data.indptr[:-1] + (
        uniforms(addresses(0, Stream.SPLIT, np.arange(data.n_users))) * data.user_counts
    ).astype(np.int64)
    keep = np.ones(len(data), dtype=bool)
    keep[held] = False
    train = data.select(keep).matrix().toarray()
    counts = train.sum(0)
    scores = np.tile(counts, (len(train), 1))
    if neighbours:
        cosine = (train.T @ train) / np.sqrt(np.outer(counts, counts) + 1e-9)
        np.fill_diagonal(cosine, 0)
        scores = train @ cosine
    scores[train > 0] = -np.inf
    target = scores[np.arange(len(train)), data.indices[held]]
    return (scores > target[:, None]).sum(1) < 20


def gain_of_neighbours(taste: float) -> tuple[float, float]:
    """What item-kNN finds more than popularity does, and the standard error of that."""
    data = generate(1500, 1000, interactions_per_user=30, taste=taste)
    gain = hits_at_20(data, neighbours=True) - 1.0 * hits_at_20(data, neighbours=False)
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))


def test_taste_is_there_to_be_found() -> None:
    gain, error = gain_of_neighbours(0.9)
    # Without taste, users of the same time still share what is new then.
    drift_only, its_error = gain_of_neighbours(0.0)
    assert gain - drift_only > 4 * np.hypot(error, its_error)  # P(Z > 4) = 3e-5
    assert gain > 0.05


def test_popularity_drifts(demo: Interactions) -> None:
    """Item counts of the two halves in time differ by more than those of random halves."""

    def distance(order: np.ndarray[Any, Any]) -> float:
        halves = [np.bincount(demo.indices[p], minlength=2000) for p in np.array_split(order, 2)]
        return float(np.abs(halves[0] - halves[1]).sum())

    rng = np.random.default_rng(0)
    chance = [distance(rng.permutation(len(demo))) for _ in range(20)]
    moved = distance(np.argsort(demo.timestamps))
    assert moved > np.mean(chance) + 10 * np.std(chance)


def test_nobody_takes_what_is_not_there_yet() -> None:
    data = generate(500, 2000, interactions_per_user=10)
    birth = SyntheticItems.make(2000, seed=0, head=0.02).birth
    times = data.timestamps
    assert times is not None
    early = (times - START) / DURATION < birth[data.indices] - 1e-6
    assert early.mean() < 0.001  # but for users who have seen all there is in reach


# -------------------------------------------------------------------- cost


def test_cost_of_the_default_size() -> None:
    start = time.process_time()
    generate(seed=9)
    assert time.process_time() - start < 2.0


def test_memory_does_not_grow_with_users_times_items() -> None:
    tracemalloc.start()
    data = generate(3000, 300_000, interactions_per_user=10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert data.n_items == 300_000
    assert peak < 100e6  # dense would be 900e6 bytes even at one byte a pair
