"""Which adapter a model needs, by the library its class comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from truerank.adapters.implicit import from_implicit
from truerank.adapters.irspack import from_irspack
from truerank.adapters.lenskit import from_lenskit
from truerank.adapters.recbole import from_recbole
from truerank.adapters.rectools import from_rectools
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.ranking.scorer import Scorer

ADAPTERS: dict[str, Callable[..., Scorer]] = {
    "implicit": from_implicit,
    "irspack": from_irspack,
    "lenskit": from_lenskit,
    "recbole": from_recbole,
    "rectools": from_rectools,
}
"""By the name of the package."""

WITH_DATASET = ("recbole", "rectools")
"""Libraries whose models do not know their own ids: their data set must come along."""


def scorer_for(model: Any, data: Interactions, *, dataset: Any = None) -> Scorer:
    """A Scorer of a fitted model of any library we know; a Scorer is returned as it is.

    The library is known by the module of the model's class or of a class it derives from;
    nothing is imported to find out.

    Args:
        model: The fitted model.
        data: The training data, under the external ids the model was fitted with.
        dataset: The library's own data set, for RecBole and RecTools.
    """
    if isinstance(model, Scorer):
        return model
    library = library_of(model)
    if library is None:
        raise InvalidArgumentError(
            "model", type(model).__name__, f"a model of {', '.join(sorted(ADAPTERS))}, or a Scorer",
            "wrap a function with tr.FunctionScorer, factors with tr.FactorScorer",
        )  # fmt: skip
    if library not in WITH_DATASET:
        return ADAPTERS[library](model, data)
    if dataset is None:
        raise InvalidArgumentError(
            "dataset", None, f"the data set of {library} that the model was fitted on",
            "the model alone does not know its external ids",
        )  # fmt: skip
    return ADAPTERS[library](model, dataset, data)


def library_of(model: Any) -> str | None:
    """The package that a model's class, or the nearest class it derives from, belongs to.

    >>> library_of([1, 2]) is None
    True
    """
    packages = (kind.__module__.split(".")[0] for kind in type(model).__mro__)
    return next((package for package in packages if package in ADAPTERS), None)
