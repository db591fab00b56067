"""From a class, a name or a function to fitted models, sharing between them what can be shared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from typing import Any

from truerank.checks import did_you_mean
from truerank.data.interactions import Interactions
from truerank.deprecation import current_names
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.linear.ease_by_spectrum import EaseGrid, pays
from truerank.models.linear.grid_of_spectrum import SHRINKAGES, SpectrumGrid
from truerank.models.names import model_class, parameters_of
from truerank.search.space import Parameters, Space

Anything = inspect.Parameter.VAR_KEYWORD
ByName = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes unfitted models from parameters.

    Attributes:
        name: What the log and tables call it.
        make: Parameters to a model with ``fit``.
        usual: Parameters it knows with their usual values; None where it takes any.
    """

    name: str
    make: Callable[..., Any]
    usual: dict[str, Any] | None

    @classmethod
    def of(cls, model: Any) -> Maker:
        """From a class, the name of one of ours, or any function of parameters.

        >>> Maker.of("ease").usual["l2"]
        500.0
        """
        if isinstance(model, str):
            model = model_class(model)
        if not callable(model):
            raise InvalidArgumentError(
                "model", type(model).__name__, "a class or a function that makes a model",
                "give tr.models.EASE, not tr.models.EASE()",
            )  # fmt: skip
        home = getattr(model, "__module__", "")
        name = f"{home}:{getattr(model, '__qualname__', type(model).__name__)}"
        if isinstance(model, type) and is_dataclass(model):
            return cls(name, model, parameters_of(model))
        try:
            given = inspect.signature(model).parameters.values()
        except ValueError:  # some things written in C do not say what they take
            return cls(name, model, None)
        if any(parameter.kind is Anything for parameter in given):
            return cls(name, model, None)
        return cls(name, model, {p.name: p.default for p in given if p.kind in ByName})

    def space(self, space: Any) -> Space:
        """What is searched, old names of parameters under their new ones."""
        named = current_names(self.make, space, warn=True) if isinstance(space, Mapping) else space
        return Space.of(named)

    @property
    def short_name(self) -> str:
        """Without the module."""
        return self.name.rpartition(":")[2].rpartition(".")[2]

    def check(self, space: Space) -> None:
        """Every searched name must be a parameter."""
        for name in space.parts:
            if self.usual is not None and name not in self.usual:
                raise InvalidArgumentError(
                    "space", name, f"made of the parameters of {self.short_name}, "
                    f"{', '.join(self.usual) or 'of which there are none'}",
                    did_you_mean(name, self.usual),
                )  # fmt: skip

    def new(self, parameters: Parameters) -> Any:
        """A model that is not fitted yet."""
        model = self.make(**parameters)
        if not hasattr(model, "fit"):
            raise InvalidArgumentError(
                "model", type(model).__name__, "something with fit(interactions)"
            )
        return model

    def fit(self, parameters: Parameters, train: Interactions) -> Any:
        """A fitted model."""
        model = self.new(parameters)
        fitted = model.fit(train)
        return model if fitted is None else fitted


class SharedFits:
    """Fitted models of one search, sharing a decomposition where that is possible and pays.

    LRR, ClosedFormMF and PureSVD always share one. EASE does by the rule of
    :func:`truerank.models.linear.ease_by_spectrum.pays` (few users, or many penalties), and is
    refitted where the decomposition has no room.

    Attributes:
        maker: Of the model.
        space: What is searched.
        train: What the models are fitted on.
        every: Whether each listed value will be tried, as in a grid. Elsewhere the decomposition
            must pay for one value: how many trials there are may change, and their bits must not.
    """

    def __init__(
        self, maker: Maker, space: Space, train: Interactions, *, every: bool = False
    ) -> None:
        self.maker, self.space, self.train, self.every = maker, space, train, every

    def fit(self, parameters: Parameters) -> Any:
        """The model of these parameters, fitted on the training part."""
        if self.shares:
            self.maker.new(parameters)  # what the class itself would refuse
            values = {**(self.maker.usual or {}), **parameters}
            return self._grid.model(l2=values.get("l2", 0.0), dim=values["dim"])
        if self._ease is not None:
            try:
                return self._ease.model(self.maker.new(parameters).l2)
            except InvalidDataError:  # no room for it: the inverse needs less
                return self.maker.fit(parameters, self.train)
        return self.maker.fit(parameters, self.train)

    @property
    def shares(self) -> bool:
        """Whether one decomposition serves all trials: only penalty and dim may differ."""
        return self.maker.short_name in SHRINKAGES and self._only("l2", "dim")

    def _only(self, *names: str) -> bool:
        """Whether it is a model of ours of which nothing but these is searched."""
        return (
            self.maker.name.startswith("truerank.models.")
            and set(self.space.parts) <= {*names, "dtype"}
            and set(self.space.searched) <= set(names)
        )

    @cached_property
    def _grid(self) -> SpectrumGrid:
        dim = self.space.largest("dim") if "dim" in self.space.parts else self._usual("dim")
        return SpectrumGrid.of(self.train, self.maker.short_name, dim, dtype=self._dtype)

    @cached_property
    def _ease(self) -> EaseGrid | None:
        """A decomposition for EASE, where it pays and there is room."""
        if self.maker.short_name != "EASE" or not self._only("l2"):
            return None
        n_values = len(self.space.grid()) if self.every else 1
        if not pays(self.train.n_users, self.train.n_items, n_values, self._dtype):
            return None
        try:
            return EaseGrid(self.train, dtype=self._dtype)
        except InvalidDataError:  # too large for a decomposition
            return None

    @property
    def _dtype(self) -> Any:
        return self.space.largest("dtype") if "dtype" in self.space.parts else self._usual("dtype")

    def _usual(self, name: str) -> Any:
        return (self.maker.usual or {})[name]
