"""Who comes first how often, and who cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from truerank.arrays import Float


def chance_of_being_best(replicates: Float) -> Float:
    """Part of the resamples in which each model has the largest value.

    ``replicates`` is (models, resamples), from resamples common to all; a tie is shared.
    Resamples stand for what users there might have been: with few users, or with a bias that
    all resamples share, this is more confident than it should be.
    """
    top = replicates == replicates.max(axis=0)
    return np.asarray((top / top.sum(axis=0)).mean(axis=1))


def indistinguishable_groups(
    models: Sequence[str], told_apart: Iterable[tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """Largest sets of models of which no two were told apart, in the order of ``models``.

    They are the maximal cliques of the graph of pairs not told apart (Bron and Kerbosch). Sets
    may overlap: a may be level with b, and b with c, while a is ahead of c.

    >>> indistinguishable_groups(["a", "b", "c"], [("a", "c")])
    (('a', 'b'), ('b', 'c'))
    """
    apart = {frozenset(pair) for pair in told_apart}
    level = {
        model: {
            other for other in models if other != model and frozenset((model, other)) not in apart
        }
        for model in models
    }
    found: list[set[str]] = []

    def grow(clique: set[str], candidates: set[str], passed: set[str]) -> None:
        if not candidates and not passed:
            found.append(clique)
            return
        pivot = max(candidates | passed, key=lambda model: len(level[model] & candidates))
        for model in sorted(candidates - level[pivot]):
            grow(clique | {model}, candidates & level[model], passed & level[model])
            candidates = candidates - {model}
            passed = passed | {model}

    grow(set(), set(models), set())
    place = {model: i for i, model in enumerate(models)}
    groups = [tuple(sorted(clique, key=place.__getitem__)) for clique in found]
    return tuple(sorted(groups, key=lambda group: [place[model] for model in group]))
