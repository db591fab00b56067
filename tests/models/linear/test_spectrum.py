from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import truerank as tr
from truerank.errors import InvalidDataError
from truerank.models.linear import spectrum
from truerank.models.linear.spectrum import decompose
from truerank.numerics import memory
from truerank.numerics.lanczos import largest_eigenpairs


def dense(data: tr.Interactions) -> tuple[np.ndarray, np.ndarray]:
    _, sigma, Vt = np.linalg.svd(data.matrix(dtype=np.float64).toarray(), full_matrices=False)
    return sigma, Vt.T


@pytest.mark.parametrize("by", ["lapack", "lanczos"])
def test_both_ways_give_the_singular_values_of_numpy(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "lanczos":
        monkeypatch.setattr(spectrum, "DENSE_ITEMS", 10)
        monkeypatch.setattr(spectrum, "DENSE_SHARE", 2.0)
    data = tr.load_dataset("demo", n_users=300, n_items=200, seed=3)
    found, (sigma, V) = decompose(data, 12), dense(data)
    np.testing.assert_allclose(found.sigma, sigma[:12], rtol=1e-10)
    signs = np.sign(np.sum(found.V * V[:, :12], axis=0))
    np.testing.assert_allclose(found.V, V[:, :12] * signs, atol=1e-7)
    assert np.all(found.V[np.abs(found.V).argmax(axis=0), np.arange(12)] > 0)


def test_lanczos_in_float32_and_with_threads() -> None:
    X = tr.load_dataset("demo", n_users=300, n_items=200, seed=3).matrix()
    values, V = largest_eigenpairs(X, 5)
    sigma = np.linalg.svd(X.toarray().astype(float), compute_uv=False)
    np.testing.assert_allclose(values, sigma[:5] ** 2, rtol=1e-5)
    again = largest_eigenpairs(X, 5, workers=3)
    assert np.array_equal(V, again[1])


def test_lanczos_finds_every_component_of_the_data() -> None:
    """Three groups that share no user; the space of one is exhausted long before the others'."""
    blocks = [np.ones((30, 2)), np.eye(12) * 3, np.triu(np.ones((20, 20)))]
    X = sparse.csr_array(sparse.block_diag(blocks))
    values, V = largest_eigenpairs(X, 30)
    exact = np.sort(np.linalg.eigvalsh((X.T @ X).toarray()))[::-1]
    np.testing.assert_allclose(values, exact[:30], atol=1e-9 * exact[0])
    np.testing.assert_allclose(V.T @ V, np.eye(30), atol=1e-10)


def test_lanczos_counts_what_has_converged() -> None:
    X = tr.load_dataset("demo", n_users=300, n_items=200, seed=3).matrix(dtype=np.float64)
    told: list[int] = []
    largest_eigenpairs(X, 7, progress=told.append)
    assert sum(told) == 7


def test_zeros_are_left_out_and_a_rank_beyond_is_refused() -> None:
    data = tr.Interactions.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 2, 3])  # rank 2
    known = decompose(data)
    np.testing.assert_allclose(known.sigma, [2.0, np.sqrt(2.0)])
    with pytest.raises(InvalidDataError, match=r"dim 3 was asked of PureSVD, and .* rank 2;"):
        known.first(3, "PureSVD")


def test_more_items_than_lapack_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "LAPACK_ITEMS", 3)
    data = tr.Interactions.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 2, 3])
    monkeypatch.setattr(spectrum, "DENSE_ITEMS", 3)
    with pytest.raises(InvalidDataError, match=r"beyond LAPACK's safe size of 3; ItemKNN would"):
        decompose(data)  # a rank below a quarter of four items is none


@pytest.mark.parametrize(("free", "most"), [(8 * 10**9, 166), (None, 249_999)])
def test_a_rank_that_fits_is_named(
    free: int | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank takes six times a million and one float64: 48 MB."""
    monkeypatch.setattr(memory, "free_bytes", lambda: free)
    data = tr.Interactions.from_arrays([0, 0], [0, 1], item_ids=np.arange(10**6))
    said = rf"takes 24,000\.0 GB of memory and is beyond .*; a dim of at most {most:,} would fit"
    with pytest.raises(InvalidDataError, match=said):
        tr.models.LRR(10.0).fit(data)


def test_what_does_not_fit_names_a_rank_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 20 * 7 * 1000 * 8)
    monkeypatch.setattr(spectrum, "DENSE_ITEMS", 999)
    each = np.arange(1000)
    data = tr.Interactions.from_arrays(np.r_[each, each], np.r_[each, (7 * each + 1) % 1000])
    for rank in (None, 100):
        with pytest.raises(InvalidDataError, match=r"needs .*; a dim of at most 20 would fit"):
            decompose(data, rank)
    assert decompose(data, 20).rank == 20
