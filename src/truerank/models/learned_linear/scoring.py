"""What a nearby model is once it is learned: factors where they can be, else a matrix."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.arrays import Indices
from truerank.data.interactions import Interactions
from truerank.models.base import Model, State
from truerank.models.factor_model import FactorScores
from truerank.models.input_checks import check_history
from truerank.models.item_item import ItemItemScorer
from truerank.models.learned_linear.forms import Dense, Form, LowRank
from truerank.models.learned_linear.parameters import Parameters
from truerank.models.linear.low_rank_scorer import LowRankScorer
from truerank.numerics.memory import check_room

AnyScorer = ItemItemScorer | FactorScores | LowRankScorer


class LinearModel(Model):
    """A fitted linear model in one of three forms; a Scorer for its users, and others.

    =====================  ==========================================================
    it has                 scores of a row x
    =====================  ==========================================================
    encoder, item_factors  (x encoder) item_factors'; and user_factors for its users
    encoder, decoder       the same without the diagonal of the product
    item_item              x item_item, dense or sparse
    =====================  ==========================================================
    """

    __slots__ = ("decoder", "encoder", "history", "item_factors", "item_item", "user_factors")
    history: sparse.csr_array
    item_item: NDArray[Any] | sparse.csr_array
    user_factors: NDArray[Any]
    item_factors: NDArray[Any]
    encoder: NDArray[Any]
    decoder: NDArray[Any]

    def keep(
        self, form: Form, theta: Parameters, interactions: Interactions, *, zero_diagonal: bool
    ) -> None:
        """Take what was learned, in the form of the base."""
        if isinstance(form, LowRank):
            self.encoder, decoder = form.factors(theta)
            if not (zero_diagonal or form.zero_diagonal):
                self.item_factors = decoder
                self.user_factors = self._encoded(interactions)
                return
            self.decoder = decoder
        elif isinstance(form, Dense):
            check_room(
                form.W.nbytes, f"a second matrix of {form.n_items:,} items",
                "a low-rank base would fit",
            )  # fmt: skip
            self.item_item = form.matrix(theta, zero_diagonal=zero_diagonal)
        else:
            self.item_item = form.matrix(theta)
        self.history = interactions.matrix()

    @property
    def n_items(self) -> int:
        return self._scorer().n_items

    def score_all(self, users: Indices) -> NDArray[Any]:
        """Scores of all items, shape ``(len(users), n_items)``."""
        return self._scorer().score_all(users)

    def score_pairs(self, users: Indices, items: Indices) -> NDArray[Any]:
        """Scores of given items, in the shape of ``items``."""
        return self._scorer().score_pairs(users, items)

    def fold_in(self, history: Interactions) -> AnyScorer:
        """The same model for users known only by their history."""
        check_history(history, self.n_items)
        if hasattr(self, "item_factors"):
            users, name = self._encoded(history), type(self).__name__
            return FactorScores(users, self.item_factors, name, self.training_info())
        return replace(self._of_history(history.matrix()), folded_from=self.training_info())

    def state(self) -> State:
        """What ``fit`` has found: factors or a matrix, and what was learned."""
        names = [f.name for f in fields(self) if not f.init]  # type: ignore[arg-type]
        found = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return found or super().state()  # which refuses, in the words of every model

    @classmethod
    def arrays_of(cls, parameters: dict[str, Any], found: set[str]) -> set[str]:
        """Those of the form that was found, and of what was learned."""
        if "item_item" in found:
            form = {"item_item", "history"}
        elif "decoder" in found:
            form = {"encoder", "decoder", "history"}
        else:
            form = {"encoder", "item_factors", "user_factors"}
        ends = {"head", "tail"} if parameters["head_tail"] else set()
        penalties = {"sigma", "lambdas"} if parameters["c"] > 0 else set()
        return form | ends | penalties | {"losses", "values"}

    def forget(self) -> None:
        """Drop what an earlier ``fit`` has found: another base may have another form."""
        for f in fields(self):  # type: ignore[arg-type]
            if not f.init and hasattr(self, f.name):
                delattr(self, f.name)

    def _scorer(self) -> AnyScorer:
        if hasattr(self, "item_factors"):
            return FactorScores(self.user_factors, self.item_factors, type(self).__name__)
        return self._of_history(self.history)

    def _of_history(self, history: sparse.csr_array) -> ItemItemScorer | LowRankScorer:
        if hasattr(self, "item_item"):
            return ItemItemScorer(history, self.item_item, type(self).__name__)
        rows = history.astype(self.encoder.dtype)
        return LowRankScorer(rows, self.encoder, self.decoder, type(self).__name__)

    def _encoded(self, history: Interactions) -> NDArray[Any]:
        return np.asarray(history.matrix(dtype=self.encoder.dtype.type) @ self.encoder)
