"""EDLAE: the denoising autoencoder that may not copy, of full or of low rank."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from numpy.typing import NDArray
from scipy import sparse

from truerank.arrays import Indices, Scores
from truerank.checks import check_one_of, whole_number
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.models.base import State
from truerank.models.input_checks import check_history, check_training_data
from truerank.models.item_item import ItemItemModel, ItemItemScorer
from truerank.models.linear.dlae import check_denoising, dropout_penalty
from truerank.models.linear.gram import divide_by_diagonal, inverse_gram
from truerank.models.linear.low_rank import LowRankScorer
from truerank.models.linear.low_rank_edlae import Convergence, LowRankSolver, solve_low_rank
from truerank.numerics.dtypes import Precision, dtype_of


@renamed_parameters(p="dropout", rank="dim", iterations="epochs")
@dataclass(slots=True, eq=False)
class EDLAE(ItemItemModel):
    r"""Emphasised denoising linear autoencoder [steck2020]_.

    .. math::
        \min_W \|X - XW\|_F^2 + \|\Lambda^{1/2} W\|_F^2
        \;\text{ subject to }\; \mathrm{diag}(W) = 0, \qquad
        \Lambda = \tfrac{p}{1-p}\,\mathrm{diag}(X^\top X) + \lambda I

    With :math:`P = (X^\top X + \Lambda)^{-1}` the solution is
    :math:`W_{ij} = -P_{ij} / P_{jj}` off the diagonal. With a ``dim`` :math:`k`,
    :math:`W = UV^\top - \mathrm{diag}(UV^\top)` with n_items x k matrices :math:`U, V`, found in
    rounds (:mod:`.low_rank_edlae`); ``convergence`` shows how they went.

    Memory and time: as :class:`~truerank.models.linear.ease.EASE`; with a ``dim``, two n_items x
    n_items matrices while fitting and only :math:`U, V` after.

    Attributes:
        dropout: The probability p of an entry to be dropped, from 0 and below 1.
        l2: The penalty lambda, at least 0; not 0 where ``dropout`` is.
        dim: The rank k; None for the full rank.
        epochs: Most rounds; for low rank only.
        solver: For low rank only: ``"descent"``, by which the objective never rises, or
            ``"admm"``, the published way, which may diverge.
        dtype: ``"float32"`` or ``"float64"``, of the work and of the result.
    """

    dropout: float = 0.33
    l2: float = 0.0
    dim: int | None = None
    epochs: int = 50
    solver: LowRankSolver = "descent"
    dtype: Precision = "float32"
    history: sparse.csr_array = field(init=False, repr=False)
    item_item: NDArray[Any] = field(init=False, repr=False)
    encoder: NDArray[Any] = field(init=False, repr=False)
    decoder: NDArray[Any] = field(init=False, repr=False)
    convergence: Convergence = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_denoising(self.dropout, self.l2)
        if self.dim is not None:
            whole_number("dim", self.dim)
        whole_number("epochs", self.epochs)
        check_one_of("solver", self.solver, ("descent", "admm"))
        dtype_of(self.dtype)

    def fit(self, interactions: Interactions) -> Self:
        """Solve for W by an inverse in place, or for its factors in rounds."""
        check_training_data(interactions)
        penalty = dropout_penalty(interactions, self.dropout, self.l2)
        if self.dim is None:
            P = inverse_gram(interactions, penalty, self.dtype, "EDLAE")
            divide_by_diagonal(P)
            self.item_item = P
        else:
            self.encoder, self.decoder, self.convergence = solve_low_rank(
                interactions, penalty, self.dim, self.dtype,
                epochs=self.epochs, solver=self.solver,
            )  # fmt: skip
        self.history = interactions.matrix()
        self.record_training_data(interactions)
        return self

    @property
    def n_items(self) -> int:
        return int(self.history.shape[1])

    def score_all(self, users: Indices) -> Scores:
        """Scores of all items, shape ``(len(users), n_items)``."""
        return self._any_scorer(self.history).score_all(users)

    def score_pairs(self, users: Indices, items: Indices) -> Scores:
        """Scores of given items, in the shape of ``items``."""
        return self._any_scorer(self.history).score_pairs(users, items)

    def fold_in(self, history: Interactions) -> ItemItemScorer | LowRankScorer:  # type: ignore[override]
        """The same W for users known only by their history."""
        check_history(history, self.n_items)
        return replace(self._any_scorer(history.matrix()), folded_from=self.training_info())

    def state(self) -> State:
        """The dense W, or its factors; and what shows the convergence."""
        if not hasattr(self, "history"):
            return ItemItemModel.state(self)  # which says what to do
        if self.dim is None:
            return {"history": self.history, "item_item": self.item_item}
        shown = {"objective": self.convergence.objective, "gap": self.convergence.gap}
        return {
            "history": self.history, "encoder": self.encoder, "decoder": self.decoder, **shown
        }  # fmt: skip

    @classmethod
    def arrays_of(cls, parameters: dict[str, Any], found: set[str]) -> set[str]:  # noqa: ARG003
        """Those of the full rank, or of a low one."""
        if parameters.get("dim") is None:
            return {"history", "item_item"}
        return {"history", "encoder", "decoder", "objective", "gap"}

    @classmethod
    def from_state(cls, parameters: dict[str, Any], state: State) -> Self:
        """The model back from its parameters and arrays."""
        model = cls(**parameters)
        arrays: dict[str, Any] = dict(state)
        if "encoder" in arrays:
            model.convergence = Convergence(arrays.pop("objective"), arrays.pop("gap"))
        for name, array in arrays.items():
            setattr(model, name, array)
        return model

    def _any_scorer(self, history: sparse.csr_array) -> ItemItemScorer | LowRankScorer:
        if self.dim is None:
            return ItemItemScorer(history, self.item_item, "EDLAE")
        return LowRankScorer(history.astype(dtype_of(self.dtype)), self.encoder, self.decoder)
