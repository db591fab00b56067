r"""From a base model to its :math:`W`: the matrix it has, or the factors it is made of."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.learned_linear.forms import Dense, Form, LowRank, Sparse
from truerank.models.learned_linear.parameters import Shrinkage
from truerank.models.linear.spectrum import Spectrum
from truerank.models.names import MODELS, OLD_MODELS, model_class, name_of, parameters_of
from truerank.numerics.dtypes import dtype_of
from truerank.numerics.memory import check_room
from truerank.spec import parse, settings_of

CELLS = 2**23
"""Entries of W made at once while it is thinned out."""


def base_of(words: str) -> Any:
    """The model that the words describe, such as ``"edlae dropout=0.33 l2=300"``, not fitted yet.

    >>> base_of("ease l2=20").l2
    20.0
    """
    spec = parse(
        words,
        "base",
        MODELS,
        lambda name: settings_of(model_class(name)),
        example="ease l2=500",
        old_kinds=OLD_MODELS,
    )
    return model_class(spec.kind)(**spec.settings)


def words_of(base: Any) -> str:
    """A fitted base in words: what :func:`base_of` would make again."""
    if isinstance(base, np.ndarray) or sparse.issparse(base):
        return "matrix"
    kind = type(base).__name__
    settings = base.parameters() if hasattr(base, "parameters") else {}
    usual = parameters_of(type(base)) if settings else {}
    said = [
        f"{name}={_value(value)}"
        for name, value in settings.items()
        if value is not None or usual[name] is not None
    ]
    return " ".join([name_of(kind) or kind, *said])


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def form_of(base: Any, n_items: int) -> Form:
    """The W of a matrix or of a fitted linear model: its ``item_item``, or its factors.

    A model with ``encoder`` and ``item_factors`` is their product; one with ``encoder`` and
    ``decoder`` (EDLAE of low rank) is their product without its diagonal.
    """
    bare = isinstance(base, np.ndarray) or sparse.issparse(base)
    W: Any = base if bare else getattr(base, "item_item", None)
    if W is None:
        return _from_factors(base, n_items)
    _check_shape(W.shape, (n_items, n_items))
    if isinstance(W, np.ndarray):
        _check_finite(W)
        return Dense(np.ascontiguousarray(W, dtype=_dtype(W)))
    columns = W.tocsc(copy=True)  # its indices are sorted: not the caller's
    columns.sort_indices()
    _check_finite(columns.data)
    return Sparse(columns, rescaled=False)


def _from_factors(base: Any, n_items: int) -> LowRank:
    A = getattr(base, "encoder", None)
    B = getattr(base, "item_factors", getattr(base, "decoder", None))
    if A is None or B is None:
        raise InvalidArgumentError(
            "base", type(base).__name__, "a fitted linear model, or an items x items matrix",
            "EASE, EDLAE, DLAE, LRR, ClosedFormMF, SLIM and ItemKNN are linear",
        )  # fmt: skip
    for factors in (A, B):
        _check_shape(factors.shape, (n_items, A.shape[1]))
        _check_finite(factors)
    dtype = np.result_type(_dtype(A), _dtype(B))
    return LowRank(
        np.ascontiguousarray(A, dtype),
        np.ascontiguousarray(B, dtype),
        zero_diagonal=not hasattr(base, "item_factors"),
    )


def spectral_form(base: Any, lambda_range: float, spectrum: Spectrum) -> LowRank:
    r"""LRR with a :math:`\lambda_i` of its own for each singular value.

    Args:
        base: An LRR, fitted or not: its l2 and dim are used.
        lambda_range: How far each lambda_i may be from l2.
        spectrum: Of the training data, of the base's rank at least.
    """
    l2 = base.l2
    if not lambda_range <= l2:
        raise InvalidArgumentError(
            "lambda_range",
            lambda_range,
            f"at most l2 = {l2:g} of the base",
            "otherwise some lambda_i could be negative",
        )
    part = spectrum if base.dim is None else spectrum.first(base.dim, "LRR")
    shrinkage = Shrinkage(sigma=part.sigma, l2=float(l2), c=float(lambda_range))
    V = np.ascontiguousarray(part.V, dtype_of(base.dtype))
    return LowRank(V, V, shrinkage=shrinkage)


def check_spectral(base: Any) -> None:
    """Only LRR with one lambda has singular values to weigh anew."""
    if type(base).__name__ != "LRR" or not isinstance(base.l2, int | float | np.number):
        raise InvalidArgumentError(
            "lambda_range", "a range for lambda_i", "0 unless the base is LRR with one l2",
            "HT and sparsification go with any base",
        )  # fmt: skip


def sparsified(form: Form, threshold: float, *, negative: bool) -> Sparse:
    r"""The entries :math:`W_{ij} \ge t` (and, with ``negative``, :math:`W_{ij} \le -t`).

    A low-rank W is multiplied out some rows at a time, never as a whole.
    """
    n = form.n_items
    block, parts = max(1, CELLS // n), []
    for first in range(0, n, block):
        rows = _rows(form, slice(first, first + block))
        size = np.abs(rows) if negative else rows
        parts.append(sparse.csr_array(np.where(size >= threshold, rows, 0)))
    W: Any = sparse.vstack(parts, format="csc")
    if W.nnz == 0:
        raise InvalidArgumentError(
            "threshold", threshold, "below the largest entry of W", "nothing would be left"
        )
    W.sort_indices()
    check_room(
        W.nnz * 40, f"learning {W.nnz:,} entries of W", "a larger threshold would leave fewer"
    )
    return Sparse(sparse.csc_array(W), rescaled=True)


def _rows(form: Form, which: slice) -> NDArray[Any]:
    if isinstance(form, Dense):
        return form.W[which]
    if isinstance(form, Sparse):
        return np.asarray(form.W[which].toarray())
    rows = form.A[which] @ form.B.T
    if form.zero_diagonal:
        here = np.arange(len(rows))
        rows[here, which.start + here] = 0.0
    return np.asarray(rows)


def _dtype(values: NDArray[Any]) -> type[np.floating[Any]]:
    return np.float32 if values.dtype == np.float32 else np.float64


def _check_shape(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if shape != wanted:
        raise InvalidDataError(
            f"the base has an array of shape {shape} where these data need {wanted}; fit the base "
            "on the same data"
        )


def _check_finite(values: NDArray[Any]) -> None:
    if not np.isfinite(values).all():
        raise InvalidDataError("some weights of the base are not finite numbers; fit it again")
