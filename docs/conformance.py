"""Our metrics against ranx and ir_measures on the same lists; writes docs/conformance.md.

Run it with ``python docs/conformance.py``; tests/metrics/test_conformance.py checks every number
and every reason, and that the page is the one this script writes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from truerank.metrics import parse
from truerank.metrics.definitions import ideal_dcg

PAGE = Path(__file__).with_suffix(".md")
Values = NDArray[np.float64]
Judgements = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

AGREE: list[tuple[str, str | None, str]] = [
    ("recall@{k}", "recall@{k}", "R@{k}"),
    ("precision@{k}", "precision@{k}", "P@{k}"),
    ("ndcg@{k}", "ndcg@{k}", "nDCG@{k}"),
    ("hit@{k}", "hit_rate@{k}", "Success@{k}"),
    ("mrr@{k}", "mrr@{k}", "RR@{k}"),
    ("mrr", "mrr", "RR"),
    ("ap@{k}", "map@{k}", "AP@{k}"),
    ("ap", "map", "AP"),
    ("auc", None, "Accuracy"),
]
"""Ours, ranx's and ir_measures' name of the same definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two definitions that differ by a factor known in advance: ours = theirs * factor."""

    ours: str
    ranx: str
    ir_measures: str | None
    reason: str
    factor: Callable[[Values, int], Values]


def _per_place(m: Values, k: int) -> Values:
    return m / np.minimum(m, k)


def _ideal(m: Values, k: int) -> Values:
    counts = m.astype(np.int64)
    return ideal_dcg(np.minimum(counts, k)) / ideal_dcg(counts)


def _one_over(m: Values, k: int) -> Values:  # noqa: ARG001
    return 1.0 / m


DIFFER = [
    Difference(
        ours="recall-capped@{k}",
        ranx="recall@{k}",
        ir_measures="R@{k}",
        reason="ours divides by min(K, T), theirs by T",
        factor=_per_place,
    ),
    Difference(
        ours="ap-capped@{k}",
        ranx="map@{k}",
        ir_measures="AP@{k}",
        reason="ours divides by min(K, T), theirs by T",
        factor=_per_place,
    ),
    Difference(
        ours="ndcg-uncapped@{k}",
        ranx="ndcg@{k}",
        ir_measures="nDCG@{k}",
        reason="our ideal list has T places, theirs min(K, T)",
        factor=_ideal,
    ),
    Difference(
        ours="recall@{k}",
        ranx="hits@{k}",
        ir_measures=None,
        reason="ranx's hits is a count, T times recall; our hit is 0 or 1",
        factor=_one_over,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """The same lists as everybody wants them."""

    user: NDArray[np.int64]
    rank: NDArray[np.int64]
    n_items: int
    n_targets: Values
    judgements: Judgements
    scores: Scores


def some_lists(*, seed: int = 0, n_users: int = 200, n_items: int = 80) -> Lists:
    """Random full lists without ties; a user has from 1 to 25 held-out items."""
    rng = np.random.default_rng(seed)
    n_targets = rng.integers(1, 26, n_users)
    user, rank = [], []
    judgements: Judgements = {}
    scores: Scores = {}
    for u in range(n_users):
        best_first = rng.permutation(n_items)
        # Skewed to the top, as the lists of a model that has learned something.
        weight = 1.0 / np.arange(1, n_items + 1) ** 0.7
        places = rng.choice(n_items, n_targets[u], replace=False, p=weight / weight.sum())
        user += [u] * len(places)
        rank += (places + 1).tolist()
        name = f"user{u:05d}"
        judgements[name] = {f"item{best_first[p]:05d}": 1 for p in places}
        scores[name] = {f"item{i:05d}": float(n_items - p) for p, i in enumerate(best_first)}
    return Lists(
        user=np.array(user),
        rank=np.array(rank),
        n_items=n_items,
        n_targets=n_targets.astype(np.float64),
        judgements=judgements,
        scores=scores,
    )


def ours(metric: str, lists: Lists) -> Values:
    """Our value of each user."""
    return parse(metric).per_user(lists.user, lists.rank, lists.n_items)[1]


def by_ranx(metric: str, judgements: Judgements, scores: Scores) -> Values:
    """The value ranx gives each user, in the order of their names."""
    import numba
    import ranx
    from numba.core.errors import NumbaTypeSafetyWarning

    threads = numba.get_num_threads()
    with warnings.catch_warnings():
        # ranx's own loops mix signed and unsigned indices; numba remarks on it while compiling.
        warnings.filterwarnings("ignore", "unsafe cast from uint64", NumbaTypeSafetyWarning)
        values = ranx.evaluate(ranx.Qrels(judgements), ranx.Run(scores), metric, return_mean=False)
    numba.set_num_threads(threads)  # ranx changes it for the whole process
    return np.asarray(values, dtype=np.float64)


def by_ir_measures(metric: str, judgements: Judgements, scores: Scores) -> Values:
    """The value ir_measures (trec_eval's code for most) gives each user, in order of names."""
    import ir_measures

    measure = ir_measures.parse_measure(metric)
    found = {
        value.query_id: value.value
        for value in ir_measures.iter_calc([measure], judgements, scores)
    }
    return np.array([found[name] for name in sorted(judgements)], dtype=np.float64)


def page(lists: Lists, k: int = 10) -> str:
    """The page, with every number computed anew."""
    agree = [
        "| ours | mean | ranx | difference | ir_measures | difference |",
        "|---|---|---|---|---|---|",
    ]
    for ours_, ranx_, ir_ in AGREE:
        mine = ours(ours_.format(k=k), lists)
        cells = [f"`{ours_.format(k=k)}`", f"{mine.mean():.6f}"]
        for name, theirs in ((ranx_, by_ranx), (ir_, by_ir_measures)):
            if name is None:
                cells += ["none", ""]
                continue
            values = theirs(name.format(k=k), lists.judgements, lists.scores)
            cells += [f"`{name.format(k=k)}`", _size(np.abs(mine - values).max())]
        agree.append("| " + " | ".join(cells) + " |")
    differ = [
        "| ours | mean | theirs | mean | why | after the factor |",
        "|---|---|---|---|---|---|",
    ]
    for row in DIFFER:
        mine = ours(row.ours.format(k=k), lists)
        theirs_ = by_ranx(row.ranx.format(k=k), lists.judgements, lists.scores)
        left = np.abs(mine - theirs_ * row.factor(lists.n_targets, k)).max()
        names = f"ranx `{row.ranx.format(k=k)}`"
        if row.ir_measures is not None:
            names += f", ir_measures `{row.ir_measures.format(k=k)}`"
        differ.append(
            f"| `{row.ours.format(k=k)}` | {mine.mean():.6f} | {names} | {theirs_.mean():.6f} "
            f"| {row.reason} | {_size(left)} |"
        )
    n_users = len(lists.n_targets)
    return _TEXT.format(
        n_users=n_users,
        n_items=lists.n_items,
        most=int(lists.n_targets.max()),
        agree="\n".join(agree),
        differ="\n".join(differ),
    )


def _size(difference: float) -> str:
    # Not the digits: the last bits of a sum are the machine's business.
    return "< 1e-9" if difference < 1e-9 else f"{difference:.4f}"


_TEXT = """\
# Conformance: our metrics beside ranx and ir_measures

Written by `docs/conformance.py` and checked by `tests/metrics/test_conformance.py`: do not edit.

{n_users} seeded lists of {n_items} items without ties, each user with 1 to {most} held-out items
(T below). *Difference* is the largest absolute difference of any user's value, not of the means.

## The same definition

{agree}

`AP`, `R`, `P`, `nDCG`, `Success` and `RR` of ir_measures run trec_eval's code, `RR@K` that of MS
MARCO, `Accuracy` its own.

## Different definitions

{differ}

The last column is the largest difference that remains once theirs is multiplied by the factor
that the reason gives.

## Different conventions

- **Ties.** We never sort scores here: a metric takes ranks, and the tie rule that made them is
  written in the rank table. In ir_measures equal scores are ordered by item name, backwards by
  trec_eval's code and forwards by MS MARCO's, so renaming items changes values and `RR` differs
  from `RR@K` for K as long as the list. ranx's values depend on the order the items came in.
- **Grades.** A held-out item is relevant or it is not. With graded judgements their nDCG weighs
  items by grade; ours is theirs with every grade set to 1.
- **K larger than the list.** They evaluate it; we refuse it where the number of candidates is
  known, because a cutoff beyond the list is usually a mistake in one of the two.
- **Users.** A user without a held-out item has no value here and does not enter a mean.
"""


if __name__ == "__main__":
    PAGE.write_text(page(some_lists()), encoding="utf-8")
