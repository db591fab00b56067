"""Work that reaches every compiled kernel, at sizes that end inside bins, blocks, tiles and lanes.

Through the public face only: kernels change, what they are for does not. Each job is a few
seconds when compiled; under ``NUMBA_BOUNDSCHECK=1`` an index outside its array is an IndexError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

import truerank as tr
from truerank.losses import LOSSES
from truerank.losses.gradients import loss_and_gradient
from truerank.losses.loss import FusedLoss

TIES = ("half", "optimistic", "pessimistic", "random")
SHAPES = ((1, 2, 1), (15, 95, 3), (17, 97, 8), (33, 193, 5), (65, 1025, 7), (513, 1543, 2))
"""Users, items, columns: one less and one more than lanes, panels, strips, tiles and blocks."""

LARGE_SHAPES = ((31, 8191, 16), (129, 4099, 33), (1025, 2049, 4), (7, 30_011, 65), (3, 513, 257))


def _data(seed: int, users: int, items: int, *, mean: float = 6.0) -> tr.Interactions:
    """Everybody has an item, somebody only one, and the last item of the catalogue is taken."""
    rng = np.random.default_rng(seed)
    X = rng.random((users, items)) < min(0.5, mean / items)
    X[np.arange(users), rng.integers(0, items, users)] = True
    X[0, -1] = X[-1, 0] = True
    user, item = np.nonzero(X)
    return tr.Interactions.from_arrays(
        user, item, user_ids=np.arange(users), item_ids=np.arange(items)
    )


def _designs(room: int, rows: int, n_items: int, rng: np.random.Generator) -> Iterator[Any]:
    yield tr.Full()
    if room >= 2:
        yield tr.Sampled(room)
        yield tr.Sampled(max(2, room // 2))
        yield tr.Adaptive(n0=2, growth=1.7)
    if room >= 4:
        yield tr.Sampled(room - 1, replacement=True)
        yield tr.Adaptive(n0=3, n_max=room - 1, replacement=True)
        yield tr.FixedNegatives(rng.integers(0, n_items, (rows, min(room - 1, 7))))


def _rank_all(scorer: Any, users: int, items: int, rng: np.random.Generator) -> None:
    """One target a user and several, with and without excluded items, under every tie rule."""
    seen = _data(int(rng.integers(100)), users, items, mean=3.0)
    several = rng.random((users, items)) < 2 / items
    several[:, -1] = True
    pairs = {
        "one": (np.arange(users), rng.integers(0, items, users)),
        "several": np.nonzero(several),
    }
    for (who, what), exclude in zip(pairs.values(), (seen, None), strict=True):
        room = items if exclude is None else items - int(exclude.user_counts.max())
        for k, design in enumerate(_designs(room, len(who), items, rng)):
            tr.rank_pairs(scorer, who, what, design, exclude=exclude, ties=TIES[k % 4])
        for n in {min(2, items), items // 3, items - 1} - {0, 1}:  # a block begins anywhere
            shared = tr.Sampled(n, shared=max(1, users // 9))
            tr.rank_pairs(scorer, who, what, shared, seed=n, exclude=exclude, ties=TIES[n % 4])
        certified = tr.Screened(k=1 + users % 5, miss=0.2)
        tr.rank_pairs(scorer, who, what, certified, exclude=exclude, ties=TIES[1 + users % 3])
        tr.rank_pairs(scorer, who, what, exclude=exclude, ties=TIES[users % 4])


def factor_ranks(shapes: Any = SHAPES) -> None:
    """Tiles, panels and lanes of :mod:`truerank.ranking`."""
    for users, items, d in shapes:
        rng = np.random.default_rng(items)
        kind = np.float32 if items % 2 else np.float64
        x, y = rng.normal(size=(users, d)).astype(kind), rng.normal(size=(items, d)).astype(kind)
        _rank_all(tr.FactorScorer(x, y), users, items, rng)
        _rank_all(tr.FactorScorer(np.rint(x), np.rint(y)), users, items, rng)  # many near ties


class _ItemItem:
    def __init__(self, history: Any, item_item: Any) -> None:
        self.history, self.item_item = history, item_item


def item_item_ranks(shapes: Any = SHAPES[:4]) -> None:
    """Dense and sparse rows of scores."""
    for users, items, _ in shapes:
        rng = np.random.default_rng(items)
        W = rng.integers(-1, 3, (items, items)).astype(np.float32)
        history = _data(1, users, items).matrix()
        thin = sparse.csr_array(np.where(rng.random(W.shape) < 0.2, W, 0.0))
        for weights in (W, thin):
            _rank_all(_ItemItem(history, weights), users, items, rng)


def called_ranks(shapes: Any = SHAPES[:3]) -> None:
    """Scorers that are called: the draws and the counting of one row."""
    for users, items, _ in shapes:
        rng = np.random.default_rng(items)
        S = rng.integers(0, 5, (users, items)).astype(np.float64)
        _rank_all(tr.FunctionScorer(lambda u, S=S: S[u], items), users, items, rng)


LIKELIHOODS = (
    (12_800, 15_783, False), (100, 12_929, False), (100, 12_929, True), (6_400, 17_383, False),
    (25, 26, False), (2, 3, False), (2, 200_003, True), (99, 100, True), (7, 999, False),
)  # fmt: skip
"""n, N, replacement; the first has its last node above N."""


def likelihoods(triples: Any = LIKELIHOODS, random: int = 60) -> None:
    """P(rank in the sample | bin of ranks) where the candidates end inside a bin."""
    rng = np.random.default_rng(5)
    drawn = [
        (int(rng.integers(2, N)), N, bool(rng.random() < 0.3))
        for N in np.exp(rng.uniform(np.log(4), np.log(30_000), random)).astype(int).tolist()
    ]
    for n, N, replacement in (*triples, *drawn):
        ranks = np.unique(np.minimum([1, 2, 3, n // 3 + 1, n - 1 or 1, n], n))
        # A larger catalogue beside it: the grid goes on beyond N, which ends inside a bin.
        for other in (N, N + int(rng.integers(1, 200)), 2 * N):
            table = tr.RankTable.from_arrays(
                rank=[*ranks, 1],
                n_sampled=[n] * len(ranks) + [2],
                n_items=[N] * len(ranks) + [other],
                replacement=replacement,
            )
            tr.rank_distribution(table, "mle", iterations=2)


def estimates() -> None:
    """Grouping of rows, every method, bounds and a verdict on a table of mixed sizes."""
    rng = np.random.default_rng(6)
    N = rng.integers(900, 1100, 400)
    n = rng.choice([1, 2, 50, 99], 400)
    rank = 1 + (rng.random(400) ** 2 * n).astype(np.int64)
    table = tr.RankTable.from_arrays(rank=rank, n_sampled=n, n_items=N)
    table.counts()
    tr.estimate(table, ["ndcg@10", "recall@1", "auc"], n_boot=5)
    one = tr.RankTable.from_arrays(rank=1 + rank // 2, n_sampled=99, n_items=1001)
    for method in ("bv", "mle", "mapping-beta", "cls", "rank-unbiased", "mes", "mn-mle"):
        tr.estimate(one, "ndcg@10", method, n_boot=2)
    tr.compare({"a": table, "b": table}, "ndcg@10", n_boot=100, bounds=False)


def neighbours(shapes: Any = ((33, 17), (40, 129))) -> None:
    """The k largest of a row, for every similarity, more and fewer than k of them."""
    from truerank.models.neighbours.similarities import SIMILARITIES

    for users, items in shapes:
        train = _data(2, users, items)
        for similarity in SIMILARITIES:
            for k in (1, 5, items + 3):
                settings = {"similarity": similarity, "k": k}
                for kind in (tr.models.ItemKNN, tr.models.UserKNN, tr.models.CentredItemKNN):
                    kind(**settings).fit(train).score_all(np.arange(min(3, users)))
    tr.models.UserKNN(k=3).fit(train).fold_in(_data(4, 9, items)).score_all(np.arange(9))


def linear(shapes: Any = ((40, 31), (70, 129))) -> None:
    """SLIM by every rule, the Gram matrix with and without weights, closed forms."""
    for users, items in shapes:
        train = _data(3, users, items)
        for settings in ({}, {"k": 3}, {"nonnegative": False}, {"l1": 0.1, "l2": 1.0, "k": 40}):
            tr.models.SLIM(**({"l1": 0.5, "l2": 2.0} | settings)).fit(train)
        weighted = tr.Interactions.from_csr(train.matrix() * 2.5)
        for data in (train, weighted):
            tr.models.EASE(l2=10.0).fit(data).score_all(np.arange(2))
        tr.models.SLIM(l1=0.5, l2=2.0, dtype="float64").fit(weighted)
        tr.models.EDLAE(dim=5).fit(train)
        tr.models.LRR(l2=10.0, dim=4).fit(train).score_all(np.arange(2))
    wide = _data(9, 60, 700, mean=40.0)  # long rows: SLIM's room grows
    tr.models.SLIM(l1=0.01, l2=0.5).fit(wide)


def alternating(dims: Any = (1, 7, 33)) -> None:
    """Every solver of ALS, dimensions that end inside a block, users of one item."""
    train = _data(4, 75, 41)
    for dim in dims:
        for solver in ("cholesky", "cg", "block"):
            settings = {"dim": dim, "epochs": 2, "solver": solver, "block_size": 4}
            for kind in (tr.models.IALS, tr.models.WMF):
                kind(**settings, track_objective=True).fit(train).fold_in(train)
        tr.models.SVDpp(dim=dim, epochs=2, track_objective=True).fit(train)
    dense = _data(4, 30, 50, mean=30.0)
    tr.models.IALS(dim=5, epochs=2, solver="cg").fit(dense)
    tr.models.IALS(dim=5, epochs=2, solver="block", block_size=3).fit(dense)


def learned_linear() -> None:
    """Dense, sparse and low-rank bases of LearnedLinear."""
    train = _data(5, 60, 25)
    quick = {"epochs": 2, "batch_size": 33, "learning_rate": 0.05, "scale": 10.0}
    bases = (
        tr.models.EASE(l2=20.0), tr.models.SLIM(l1=0.5, l2=2.0),
        tr.models.LRR(l2=20.0, dim=5), tr.models.EDLAE(dropout=0.3, l2=5.0, dim=5),
    )  # fmt: skip
    for base in bases:
        tr.models.LearnedLinear(**quick).fit(train, base=base.fit(train))
    tr.models.LearnedLinear(threshold=0.001, negative=True, **quick).fit(train, base=bases[0])
    tr.models.LearnedLinear(lambda_range=5.0, remove_positive=False, **quick).fit(
        train, base=bases[2]
    )


MF_SETTINGS: tuple[dict[str, Any], ...] = (
    {"loss": "bpr", "negatives_per": "pair", "exclude_positives": True},
    {"loss": "mine", "negatives_per": 16, "optimiser": "dense-adam", "similarity": "cosine"},
    {
        "loss": "infonce",
        "negatives": "popularity",
        "correct_for_sampling": True,
        "optimiser": "adagrad",
    },
    {
        "loss": "softmax",
        "negatives": "popularity",
        "correct_for_sampling": True,
        "negatives_per": "pair",
        "exclude_positives": True,
    },
    {"loss": "softmax", "negatives": "in-batch", "optimiser": "sgd", "exclude_positives": True},
    {"loss": "ccl", "similarity": "cosine", "dropout": 0.3, "l2": 0.01, "negatives_per": 5},
    {"loss": "bce", "negatives": "popularity", "negatives_per": "pair", "dropout": 0.5, "dim": 17},
    {"loss": "bpr", "validation_negatives": 5, "exclude_positives": True, "negatives_per": "batch"},
)


def factorisation(settings: Any = MF_SETTINGS) -> None:
    """MF: draws, batches, losses, optimisers, validation; sizes that end inside a batch."""
    train = _data(6, 61, 37)
    quick = {"dim": 9, "epochs": 2, "batch_size": 50, "n_negatives": 7}
    quick |= {"validation_metric": "ndcg@3", "similarity": "dot"}
    for given in settings:
        tr.models.MF(**(quick | given)).fit(train).fold_in(_data(7, 5, 37))
    for loss in LOSSES:
        tr.models.MF(loss, **(quick | {"similarity": "cosine"})).fit(train)
    scores, none = np.zeros(3, np.float32), np.zeros(0, np.float32)
    unknown = FusedLoss(0, *(np.float32(1) for _ in range(3)))
    loss_and_gradient(unknown, scores[0], scores, none, np.float32(0), np.float32(1))


def plain_counting() -> None:
    """What counts where our own machine code cannot be written: not taken on this machine."""
    from truerank.numerics.simd_counting import PANEL, STEP, count_plainly, panels_of

    for users, items, d in ((1, STEP, 1), (PANEL + 1, 3 * STEP, 5)):
        panels = panels_of(np.ones((users, d), np.float32), np.arange(users))
        bounds = np.zeros((len(panels), 2, PANEL), np.float32)
        counts = np.zeros((2, 2, PANEL), np.int32)
        last = len(panels) - 1
        count_plainly(np.ones((items, d), np.float32), 0, items, panels, last, bounds, counts, 1)


QUICK: dict[str, Callable[[], None]] = {
    work.__name__: work
    for work in (
        likelihoods, estimates, factor_ranks, item_item_ranks, called_ranks, plain_counting,
        neighbours, linear, alternating, learned_linear, factorisation,
    )
}  # fmt: skip


def more_worlds(first: int = 0, n: int = 60) -> None:
    """Whole worlds of :mod:`tests.worlds`; what else they break is not asked here."""
    from tests.worlds.checking import check_world

    for seed in range(first, first + n):
        for name, outcome in check_world(seed).broken.items():
            if "IndexError" in outcome.message or "out of bounds" in outcome.message:
                raise IndexError(f"world {seed}, {name}: {outcome.message}\n{outcome.trace}")


WHOLE: dict[str, Callable[[], None]] = {
    **QUICK,
    "larger shapes": lambda: factor_ranks(LARGE_SHAPES),
    "larger item-item": lambda: item_item_ranks(((513, 200, 0), (64, 1025, 0))),
    "thousands of likelihoods": lambda: likelihoods((), 2_000),
    "more dimensions": lambda: alternating((2, 3, 4, 5, 8, 16, 31, 32, 64, 65)),
    "more neighbours": lambda: neighbours(((1, 2), (300, 257), (129, 513))),
    "more_worlds": more_worlds,
}
