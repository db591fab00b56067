"""Slow and plain: the objectives as they are printed, with loops, and small data to try them on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import truerank as tr

Matrix = NDArray[np.float64]


def interactions(*, weighted: bool = False, seed: int = 0) -> tr.Interactions:
    """Users with few and with many items (more than 6 dimensions, and fewer); all used."""
    rng = np.random.default_rng(seed)
    X = rng.random((25, 18)) < np.linspace(0.08, 0.8, 25)[:, None]
    X[np.arange(25), rng.integers(0, 18, 25)] = True
    X[rng.integers(0, 25, 18), np.arange(18)] = True
    user, item = np.nonzero(X)
    weight = rng.integers(1, 5, len(user)) if weighted else None
    return tr.Interactions.from_arrays(user, item, weight=weight)


def weights_of(data: tr.Interactions) -> Matrix:
    return data.matrix(dtype=np.float64).toarray()


def penalties(
    X: Matrix, reg: float, unobserved_weight: float, nu: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """reg (count + alpha_0 others)^nu, of users and items."""
    seen = X != 0
    n_users, n_items = X.shape
    return (
        reg * (seen.sum(1) + unobserved_weight * n_items) ** nu,
        reg * (seen.sum(0) + unobserved_weight * n_users) ** nu,
    )


def ials_objective(
    X: Matrix, W: Matrix, H: Matrix, reg: float, unobserved_weight: float, nu: float
) -> float:
    by_user, by_item = penalties(X, reg, unobserved_weight, nu)
    total = 0.0
    for u in range(len(W)):
        for i in range(len(H)):
            score = float(W[u] @ H[i])
            total += X[u, i] * (score - 1) ** 2 + unobserved_weight * score**2
        total += by_user[u] * float(W[u] @ W[u])
    return total + sum(by_item[i] * float(H[i] @ H[i]) for i in range(len(H)))


def wmf_objective(X: Matrix, W: Matrix, H: Matrix, reg: float, alpha: float) -> float:
    total = reg * float((W**2).sum() + (H**2).sum())
    for u in range(len(W)):
        for i in range(len(H)):
            confidence, preference = 1 + alpha * X[u, i], float(X[u, i] > 0)
            total += confidence * (float(W[u] @ H[i]) - preference) ** 2
    return total


def debiased_objective(
    X: Matrix,
    W: Matrix,
    H: Matrix,
    reg: float,
    unobserved_weight: float,
    nu: float,
    c: NDArray[np.float64],
) -> float:
    by_user, by_item = penalties(X, reg, unobserved_weight, nu)
    total = 0.0
    for u in range(len(W)):
        for i in range(len(H)):
            score = float(W[u] @ H[i])
            total += unobserved_weight * score**2
            if X[u, i]:
                total += c[u] * ((score - 1) ** 2 - unobserved_weight * score**2)
        total += by_user[u] * float(W[u] @ W[u])
    return total + sum(by_item[i] * float(H[i] @ H[i]) for i in range(len(H)))


def dense_als(
    X: Matrix, W: Matrix, epochs: int, reg: float, unobserved_weight: float, nu: float
) -> tuple[Matrix, Matrix]:
    """Items, then users, each row by numpy's solver, as the paper's formula says."""
    by_user, by_item = penalties(X, reg, unobserved_weight, nu)

    def half(weights: Matrix, fixed: Matrix, ridge: NDArray[np.float64]) -> Matrix:
        shared = unobserved_weight * fixed.T @ fixed
        rows = []
        for c, penalty in zip(weights, ridge, strict=True):
            A = shared + fixed.T @ (c[:, None] * fixed) + penalty * np.eye(fixed.shape[1])
            rows.append(np.linalg.solve(A, fixed.T @ c))
        return np.array(rows)

    H = np.zeros((X.shape[1], W.shape[1]))
    for _ in range(epochs):
        H = half(X.T, W, by_item)
        W = half(X, H, by_user)
    return W, H
