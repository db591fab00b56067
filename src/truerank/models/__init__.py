"""Models: each file reads like its paper. Fitted models are Scorers."""

from truerank.deprecation import old_name
from truerank.models.als.debiased_ials import DebiasedIALS
from truerank.models.als.ials import IALS
from truerank.models.als.svdpp import SVDpp
from truerank.models.als.wmf import WMF
from truerank.models.learned_linear import LearnedLinear
from truerank.models.linear.closed_form_mf import ClosedFormMF
from truerank.models.linear.debiased_ease import DebiasedEASE
from truerank.models.linear.dlae import DLAE
from truerank.models.linear.ease import EASE
from truerank.models.linear.edlae import EDLAE
from truerank.models.linear.lrr import LRR
from truerank.models.linear.pure_svd import PureSVD
from truerank.models.linear.slim import SLIM
from truerank.models.mf import MF
from truerank.models.neighbours.centred_item_knn import CentredItemKNN
from truerank.models.neighbours.item_knn import ItemKNN
from truerank.models.neighbours.user_knn import UserKNN
from truerank.models.popularity import Popularity
from truerank.models.saving import load

__all__ = [
    "DLAE",
    "EASE",
    "EDLAE",
    "IALS",
    "LRR",
    "MF",
    "SLIM",
    "WMF",
    "CentredItemKNN",
    "ClosedFormMF",
    "DebiasedEASE",
    "DebiasedIALS",
    "ItemKNN",
    "LearnedLinear",
    "Popularity",
    "PureSVD",
    "SVDpp",
    "UserKNN",
    "load",
]


def __getattr__(name: str) -> object:
    if name == "Nearby":
        old_name("the model 'Nearby'", "LearnedLinear")
        return LearnedLinear
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
