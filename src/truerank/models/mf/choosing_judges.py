"""Who judges, by which metric, and what is then left to learn from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from truerank.adaptive_defaults import adaptation_note, is_adaptive
from truerank.data.interactions import Interactions
from truerank.metrics import parse
from truerank.models.mf.validation import Judges, check_validation, held_out_part


def choose_judges(
    data: Interactions,
    given: Interactions | None,
    *,
    share: float,
    metric: str,
    n_sampled: int | None,
    seed: int,
) -> tuple[Interactions, Judges | None, list[str]]:
    """What is trained on, who judges, and a sentence for each default that gave way.

    A share that nobody asked for gives way to none where nobody can judge, and a metric that nobody
    asked for to a cutoff that everybody who judges has candidates for.

    Args:
        data: The training data.
        given: Held-out items of the same users, to judge by; otherwise some of the data are.
        share: The part of the users who judge; 0 for none.
        metric: What they judge by.
        n_sampled: Items that each is ranked among; None for all.
        seed: Decides who and what is held out.
    """
    if given is not None:
        check_validation(data, given)
        learned, held_out = data, given
    elif share == 0:
        return data, None, []
    elif is_adaptive(share) and not np.any(data.user_counts >= 2):
        why = "no user has two items, one to learn from and one to be judged by"
        return data, None, [adaptation_note("validation_share", 0, share, why)]
    else:
        learned, held_out = held_out_part(data, share=share, seed=seed)
    chosen, adapted, room = parse(metric), [], _candidates(learned, held_out)
    if given is None and is_adaptive(share) and not len(room):
        why = "who would judge has learned, or has held out, every item"
        return data, None, [adaptation_note("validation_share", 0, share, why)]
    if is_adaptive(metric) and len(room) and room.max() < (chosen.k or 1):
        chosen = replace(chosen, k=int(room.min()))
        why = f"some who judge have {room.min()} candidates, and nobody more than {room.max()}"
        adapted.append(adaptation_note("validation_metric", str(chosen), metric, why))
    judges = Judges.of(learned, held_out, metric=chosen, n_sampled=n_sampled, seed=seed)
    return learned, judges, adapted


def _candidates(train: Interactions, held_out: Interactions) -> NDArray[np.int64]:
    """How many items are ranked, for each user who can judge: who has one that is not held out."""
    n = train.n_items - train.user_counts
    can = (held_out.user_counts > 0) & (train.user_counts > 0) & (n > held_out.user_counts)
    return np.asarray(n[can])
