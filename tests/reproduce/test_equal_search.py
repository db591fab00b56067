from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError
from truerank.reproduce.equal_search import expected_best


@pytest.mark.parametrize("k", range(1, 8))
def test_it_is_the_mean_over_all_choices(k: int) -> None:
    values = [*np.random.default_rng(k).normal(size=6), 0.0]
    assert expected_best(values, k) == pytest.approx(
        np.mean([max(chosen) for chosen in combinations(values, k)])
    )


@pytest.mark.parametrize("k", [0, 4])
def test_more_than_was_tried_is_refused(k: int) -> None:
    with pytest.raises(InvalidArgumentError, match="from 1 to 3, the number of values"):
        expected_best([1.0, 2.0, 3.0], k)
