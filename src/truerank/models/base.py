"""The base of all models: parameters, fitted arrays, and what the model was trained on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray
from scipy import sparse

from truerank.data.interactions import Interactions
from truerank.errors import NotFittedError

State = dict[str, NDArray[Any] | sparse.csr_array]
"""The arrays of a fitted model by name, dense or in compressed sparse rows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingInfo:
    """What must be known of the training data to use a model later.

    Attributes:
        user_ids: External id of each user index.
        item_ids: External id of each item index.
        data: Fingerprint of the training data.
    """

    user_ids: NDArray[Any]
    item_ids: NDArray[Any]
    data: str

    @classmethod
    def of(cls, interactions: Interactions) -> Self:
        """The vocabularies, which are shared, and the fingerprint."""
        return cls(
            user_ids=interactions.user_ids,
            item_ids=interactions.item_ids,
            data=interactions.fingerprint(),
        )


class Model:
    """A model that can be written to a file and read back, without pickle.

    A dataclass that derives from this says what belongs in the file by its fields: those of
    ``__init__`` are parameters (plain values), those with ``init=False`` are arrays that ``fit``
    sets. A model that keeps something else overrides :meth:`state` and :meth:`from_state`.

    Every ``fit`` begins with :func:`~truerank.models.input_checks.check_training_data`, which
    refuses what is not Interactions, and ends with :meth:`record_training_data`; a test asks all
    models of :data:`~truerank.models.names.MODELS` for both.

    ``adapted`` says after ``fit``, a sentence each, which defaults were adapted to the data
    (:mod:`truerank.adaptive_defaults`); it is empty where none was.

    What ``fit`` sets cannot be read before: one sentence says what to do instead.

    What ``fold_in`` makes was not fitted, so it has no ``trained_on``; ``folded_from`` says what
    the model behind it was fitted on, which ranking must know as well.
    """

    __slots__ = ("adapted", "folded_from", "trained_on")
    adapted: tuple[str, ...]
    folded_from: TrainingInfo | None
    trained_on: TrainingInfo

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Asked by Python only for what is not there: slots that ``fit`` has not filled."""
            known = name != "trained_on" and hasattr(type(self), name)
            if known and not hasattr(self, "trained_on"):
                raise NotFittedError(type(self).__name__)
            raise AttributeError(f"{type(self).__name__} has no {name!r}", name=name, obj=self)

    def record_training_data(
        self, interactions: Interactions, *, adapted: Iterable[str] = ()
    ) -> None:
        """Note what the model was fitted on: the last line of every ``fit``.

        Args:
            interactions: The training data.
            adapted: A sentence for each default that was adapted to them.
        """
        self.trained_on = TrainingInfo.of(interactions)
        self.folded_from = None
        self.adapted = tuple(adapted)

    def note_folded_from(self, model: Model) -> None:
        """Note the model that this one was made of by ``fold_in``, and what it was fitted on."""
        self.folded_from = model.training_info()

    def training_info(self) -> TrainingInfo | None:
        """What this model, or the one that it was folded in from, was fitted on."""
        known = getattr(self, "trained_on", None)
        return known or getattr(self, "folded_from", None)

    def parameters(self) -> dict[str, Any]:
        """What the model was made with, as plain values."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]

    def state(self) -> State:
        """What ``fit`` has found, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if not f.init}  # type: ignore[arg-type]

    @classmethod
    def arrays_of(cls, parameters: dict[str, Any], found: set[str]) -> set[str]:  # noqa: ARG003
        """The names of the arrays of a model with these parameters.

        Args:
            parameters: What it was made with.
            found: Names of arrays in a file, where a model has a choice.
        """
        return {f.name for f in fields(cls) if not f.init}  # type: ignore[arg-type]

    @classmethod
    def from_state(cls, parameters: dict[str, Any], state: State) -> Self:
        """The model back from its parameters and arrays."""
        model = cls(**parameters)
        for name, array in state.items():
            setattr(model, name, array)
        return model

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the fitted model to one file; :func:`truerank.models.load` reads it.

        Args:
            path: The file to write.
            force: Replace a file that exists.
        """
        from truerank.models.saving import save

        save(self, path, force=force)
