"""Every model in one table: its name in specs and where its class is."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from truerank.checks import check_one_of
from truerank.deprecation import old_name

MODELS: dict[str, str] = {
    "popularity": "truerank.models.popularity:Popularity",
    "item-knn": "truerank.models.neighbours.item_knn:ItemKNN",
    "centred-item-knn": "truerank.models.neighbours.centred_item_knn:CentredItemKNN",
    "user-knn": "truerank.models.neighbours.user_knn:UserKNN",
    "slim": "truerank.models.linear.slim:SLIM",
    "ease": "truerank.models.linear.ease:EASE",
    "dlae": "truerank.models.linear.dlae:DLAE",
    "edlae": "truerank.models.linear.edlae:EDLAE",
    "lrr": "truerank.models.linear.lrr:LRR",
    "learned-linear": "truerank.models.learned_linear:LearnedLinear",
    "closed-form-mf": "truerank.models.linear.closed_form_mf:ClosedFormMF",
    "pure-svd": "truerank.models.linear.pure_svd:PureSVD",
    "debiased-ease": "truerank.models.linear.debiased_ease:DebiasedEASE",
    "wmf": "truerank.models.als.wmf:WMF",
    "ials": "truerank.models.als.ials:IALS",
    "debiased-ials": "truerank.models.als.debiased_ials:DebiasedIALS",
    "svdpp": "truerank.models.als.svdpp:SVDpp",
    "mf": "truerank.models.mf:MF",
}
"""Model files hold the name of a class, and only classes of this table are ever made of one."""

OLD_MODELS = {"nearby": "learned-linear"}
"""Names that models had before, which are taken with a warning."""

OLD_CLASSES = {"Nearby": "LearnedLinear"}
"""Classes of model files of the last release."""


def model_class(name: str, argument: str = "model") -> type[Any]:
    """The class of this name, loaded now; or a sentence with the argument and the nearest name.

    >>> model_class("item-knn").__name__
    'ItemKNN'
    """
    if name in OLD_MODELS:
        old_name(f"the model {name!r}", OLD_MODELS[name])
        name = OLD_MODELS[name]
    check_one_of(argument, name, MODELS)
    module, _, class_name = MODELS[name].partition(":")
    kind: type[Any] = getattr(import_module(module), class_name)
    return kind


def parameters_of(kind: type[Any]) -> dict[str, Any]:
    """Parameters of a model class and their usual values.

    >>> parameters_of(model_class("ease"))["l2"]
    500.0
    """
    return {f.name: f.default for f in fields(kind) if f.init}


def name_of(class_name: str) -> str | None:
    """The name of a class in the table; None if it is not there.

    >>> name_of("EASE"), name_of("Nearby"), name_of("Virus")
    ('ease', 'learned-linear', None)
    """
    known = {place.partition(":")[2]: name for name, place in MODELS.items()}
    return known.get(OLD_CLASSES.get(class_name, class_name))
