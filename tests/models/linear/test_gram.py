from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from truerank.errors import InvalidDataError
from truerank.models.linear.gram import gram


def matrix(n_users: int, n_items: int, *, weighted: bool, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_users, n_items), density=0.1, rng=rng, format="csr")
    X.data = rng.normal(size=X.nnz) if weighted else np.ones(X.nnz)
    return X


@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weights"])
@pytest.mark.parametrize("n_items", [1, 31, 33, 700])
def test_it_is_the_product(n_items: int, weighted: bool) -> None:
    X = matrix(60, n_items, weighted=weighted)
    expected = X.toarray().T @ X.toarray()
    np.testing.assert_allclose(gram(X, dtype=np.float64), expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(
        gram(X, dtype=np.float64, lower=True), np.tril(expected), rtol=1e-13, atol=1e-13
    )


def test_counts_are_exact_in_float32() -> None:
    X = matrix(300, 50, weighted=False)
    assert np.array_equal(gram(X), (X.T @ X).toarray())


def test_weights_are_summed_in_float64_and_rounded_once() -> None:
    """A large value first: in float32 the thousand small ones behind it would be lost."""
    X = sparse.csr_array(np.append(4096.0, np.full(1000, 0.5))[:, None])
    assert gram(X)[0, 0] == np.float32(4096.0**2 + 250)


def test_the_order_of_indices_does_not_matter() -> None:
    X = sparse.csr_array((np.array([2.0, 3.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert gram(X).tolist() == [[9, 6], [6, 4]]


def test_same_bits_for_any_number_of_threads() -> None:
    X = matrix(200, 150, weighted=True)
    assert np.array_equal(gram(X, workers=1), gram(X, workers=3))


def test_items_and_users_with_nothing_are_zero() -> None:
    X = sparse.csr_array(([1.0], ([2], [1])), shape=(4, 3))
    assert gram(X).tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_weights_that_are_no_numbers() -> None:
    with pytest.raises(InvalidDataError, match="some weights are not finite"):
        gram(sparse.csr_array([[1.0, np.nan]]))
