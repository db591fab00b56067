from __future__ import annotations

import numpy as np
import pytest

from truerank.numerics.blas import add_product


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "columns", "depth"), [(3, 5, 4), (1, 1, 1), (4, 2, 7), (0, 3, 2)])
def test_adds_the_product_to_a_rectangle_and_nothing_else(
    rows: int, columns: int, depth: int, dtype: type
) -> None:
    draw = np.random.default_rng(rows)
    whole = draw.normal(size=(12, 9)).astype(dtype)
    A, B = (draw.normal(size=(10, 8)).astype(dtype)[1 : 1 + n, :depth] for n in (rows, columns))
    wanted = whole.copy()
    wanted[2 : 2 + rows, 3 : 3 + columns] += -0.5 * (A @ B.T)
    add_product(whole[2 : 2 + rows, 3 : 3 + columns], -0.5, A, B)
    np.testing.assert_allclose(whole, wanted, rtol=0, atol=50 * np.finfo(dtype).eps)
