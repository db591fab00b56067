from __future__ import annotations

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.numerics import blocked_inverse
from truerank.numerics.blocked_inverse import invert_in_place, steps


def positive_definite(n: int, *, condition: float = 100.0, seed: int = 0) -> np.ndarray:
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    A = (Q * np.geomspace(1.0, condition, n)) @ Q.T
    return (A + A.T) / 2


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tiles of few rows, so that small matrices go through all of the code."""
    monkeypatch.setattr(blocked_inverse, "TILE", 8)
    monkeypatch.setattr(blocked_inverse, "STRIP", 12)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("n", [1, 7, 8, 9, 24, 77])
def test_lower_triangle_of_the_inverse(n: int) -> None:
    A = positive_definite(n)
    given = np.tril(A) + np.triu(np.full((n, n), 7.0), 1)  # the upper triangle is not read
    invert_in_place(given)
    np.testing.assert_allclose(np.tril(given), np.tril(np.linalg.inv(A)), rtol=1e-10, atol=1e-13)


def test_tiles_of_the_real_size() -> None:
    A = positive_definite(1300).astype(np.float32)
    exact = np.linalg.inv(A.astype(np.float64))
    invert_in_place(A)
    error = np.linalg.norm(np.tril(A - exact)) / np.linalg.norm(np.tril(exact))
    assert error < 100 * np.finfo(np.float32).eps  # the condition number times the rounding


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("condition", [1e1, 1e3, 1e5])
def test_error_in_float32_stays_near_that_of_lapack(condition: float) -> None:
    from scipy.linalg import lapack

    A = positive_definite(96, condition=condition, seed=4).astype(np.float32)
    exact = np.linalg.inv(A.astype(np.float64))
    theirs = lapack.spotri(lapack.spotrf(A, lower=1)[0], lower=1)[0]
    invert_in_place(A)

    def error(inverse: np.ndarray) -> float:
        return float(np.linalg.norm(np.tril(inverse - exact)) / np.linalg.norm(exact))

    assert error(A) < 5 * error(theirs) + 1e-6


@pytest.mark.usefixtures("small_tiles")
def test_same_bits_for_any_number_of_threads_and_even_progress() -> None:
    A = positive_definite(50).astype(np.float32)
    one, many, calls = A.copy(), A.copy(), []
    invert_in_place(one, workers=1, progress=lambda: calls.append(1))
    invert_in_place(many, workers=3)
    assert np.array_equal(one, many)
    assert len(calls) == steps(50) == 7


@pytest.mark.usefixtures("small_tiles")
def test_a_matrix_that_is_not_positive_definite() -> None:
    A = positive_definite(30)
    A[20, 20] = -1.0
    with pytest.raises(InvalidDataError, match=r"not positive definite at row .*raise l2"):
        invert_in_place(A)


@pytest.mark.parametrize("A", [np.ones((2, 3)), np.ones((2, 2), np.int64)])
def test_what_is_no_matrix_of_numbers(A: np.ndarray) -> None:
    with pytest.raises(InvalidArgumentError, match="A must be a square matrix of float32"):
        invert_in_place(A)
