"""Models by name, fitted: ours, and factors of ``implicit`` where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from truerank.checks import did_you_mean
from truerank.data import Interactions
from truerank.errors import InvalidArgumentError, MissingExtraError
from truerank.models import EASE, ItemKNN, Popularity
from truerank.ranking import FactorScorer

LARGEST_DENSE = 12_000
"""Most items for models that invert an items x items matrix: about 2.5 GB while fitting."""


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model in words: its kind and, after a dash, its size.

    Attributes:
        kind: ``popularity``, ``item-knn``, ``ease``, ``als`` or ``bpr``.
        size: Neighbours, penalty or factors; None where there is none to choose.
    """

    kind: str
    size: int | None

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """``"als-45"`` is ALS with 45 factors, ``"als"`` the usual size.

        >>> ModelName.parse("item-knn-1250")
        ModelName(kind='item-knn', size=1250)
        """
        kind, _, size = text.rpartition("-")
        if not size.isdigit():
            kind, size = text, ""
        if kind not in USUAL_SIZES:
            hint = did_you_mean(kind, USUAL_SIZES) or "a size may follow: als-45"
            raise InvalidArgumentError("model", text, f"one of {', '.join(USUAL_SIZES)}", hint)
        usual = USUAL_SIZES[kind]
        if size and (usual is None or int(size) < 1):
            raise InvalidArgumentError("model", text, f"{kind!r}, or with a size it can have")
        return cls(kind, int(size) if size else usual)

    def __str__(self) -> str:
        return self.kind if self.size is None else f"{self.kind}-{self.size}"


USUAL_SIZES: dict[str, int | None] = {
    "popularity": None,
    "item-knn": 200,
    "ease": 1500,
    "als": 32,
    "bpr": 48,
}


def available_models(n_items: int) -> list[str]:
    """Kinds that can be fitted here on a catalogue of this size."""
    return [
        kind
        for kind in USUAL_SIZES
        if not (kind == "ease" and n_items > LARGEST_DENSE)
        and not (kind in ("als", "bpr") and find_spec("implicit") is None)
    ]


def fit_model(name: ModelName, train: Interactions) -> Any:
    """The fitted model: a Scorer over the users and items of ``train``."""
    return _FITS[name.kind](train, name.size or 0)


def _popularity(train: Interactions, size: int) -> Any:  # noqa: ARG001  # all have the same call
    return Popularity().fit(train)


def _item_knn(train: Interactions, size: int) -> Any:
    return ItemKNN(k=size).fit(train)


def _ease(train: Interactions, size: int) -> Any:
    if train.n_items > LARGEST_DENSE:
        raise InvalidArgumentError(
            "model", "ease", f"left out for more than {LARGEST_DENSE:,} items",
            f"this data set has {train.n_items:,}: its matrix would not fit",
        )  # fmt: skip
    return EASE(l2=float(size)).fit(train)


def _factors(module: str, name: str, **settings: Any) -> Callable[[Interactions, int], Any]:
    """Fit a model of implicit, on one thread: only there does its seed hold."""

    def fit(train: Interactions, size: int) -> FactorScorer:
        if find_spec("implicit") is None:
            raise MissingExtraError("implicit", "bench", "the models als and bpr of the comparison")
        with threadpool_limits(1, "blas"):  # what implicit asks for: it brings its own threads
            make = getattr(import_module(module), name)
            model = make(factors=size, random_state=0, num_threads=1, **settings)
            # A copy: implicit refuses arrays that must not be written to.
            model.fit(sparse.csr_matrix(train.matrix(), copy=True), show_progress=False)
        return FactorScorer(np.asarray(model.user_factors), np.asarray(model.item_factors))

    return fit


_FITS: dict[str, Callable[[Interactions, int], Any]] = {
    "popularity": _popularity,
    "item-knn": _item_knn,
    "ease": _ease,
    "als": _factors(
        "implicit.als", "AlternatingLeastSquares", iterations=10, regularization=0.05, alpha=10.0
    ),
    "bpr": _factors("implicit.bpr", "BayesianPersonalizedRanking", iterations=60),
}
