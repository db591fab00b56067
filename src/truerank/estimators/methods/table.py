"""Every method in one table: its name, how to make it, and what it is good for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

from truerank.checks import check_one_of
from truerank.errors import InvalidArgumentError
from truerank.estimators.methods.em import MaximumLikelihood, WeightedMaximumLikelihood
from truerank.estimators.methods.krichene import BiasVariance, ConstrainedLeastSquares, RankUnbiased
from truerank.estimators.methods.mapping import Mapping
from truerank.estimators.methods.mes import MaximumEntropy
from truerank.estimators.methods.minimum_error import MinimumError
from truerank.estimators.methods.simple import Exact, Naive
from truerank.estimators.methods.smooth import Smooth
from truerank.estimators.problem import Estimator

METHODS: dict[str, Callable[..., Estimator]] = {
    "auto": Smooth,
    "naive": Naive,
    "exact": Exact,
    "mapping-linear": partial(Mapping, kind="linear"),
    "mapping-bound": partial(Mapping, kind="bound"),
    "mapping-beta": partial(Mapping, kind="beta"),
    "rank-unbiased": RankUnbiased,
    "cls": ConstrainedLeastSquares,
    "bv": BiasVariance,
    "mle": MaximumLikelihood,
    "wmle-ap": partial(WeightedMaximumLikelihood, kind="ap"),
    "wmle-ndcg": partial(WeightedMaximumLikelihood, kind="ndcg"),
    "mes": MaximumEntropy,
    "bv-mle": partial(BiasVariance, prior="mle"),
    "bv-mes": partial(BiasVariance, prior="mes"),
    "mn-mle": partial(MinimumError, prior="mle"),
    "mn-mes": partial(MinimumError, prior="mes"),
}

SLOW_TO_REFIT = frozenset({"mes", "bv-mes", "mn-mes"})
"""Methods that solve a convex problem per resample; they get fewer resamples by default."""

WITHOUT_DISTRIBUTION = frozenset({"cls"})
"""Methods that correct each metric by itself and tell no distribution of ranks."""


def make_method(name: str, parameters: dict[str, Any]) -> Estimator:
    """The method of this name with these parameters, or a sentence with the nearest name."""
    check_one_of("method", name, METHODS)
    factory = METHODS[name]
    fixed = factory.keywords if isinstance(factory, partial) else {}
    kind: Any = factory.func if isinstance(factory, partial) else factory
    known = [f.name for f in fields(kind) if f.name not in fixed]
    for given in parameters:
        if given not in known:
            raise InvalidArgumentError(
                given, parameters[given], f"a parameter of method {name!r}",
                f"it has {', '.join(known)}" if known else "it has none",
            )  # fmt: skip
    return factory(**parameters)
