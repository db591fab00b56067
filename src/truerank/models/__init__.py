"""Models: each file reads like its paper. Fitted models are Scorers."""

from truerank.models.centred_item_knn import CentredItemKNN
from truerank.models.closed_form_mf import ClosedFormMF
from truerank.models.debiased_ease import DebiasedEASE
from truerank.models.debiased_ials import DebiasedIALS
from truerank.models.dlae import DLAE
from truerank.models.ease import EASE
from truerank.models.edlae import EDLAE
from truerank.models.ials import IALS
from truerank.models.item_knn import ItemKNN
from truerank.models.lrr import LRR
from truerank.models.mf import MF
from truerank.models.nearby import Nearby
from truerank.models.popularity import Popularity
from truerank.models.pure_svd import PureSVD
from truerank.models.saving import load
from truerank.models.slim import SLIM
from truerank.models.svdpp import SVDpp
from truerank.models.user_knn import UserKNN
from truerank.models.wmf import WMF

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
    "Nearby",
    "Popularity",
    "PureSVD",
    "SVDpp",
    "UserKNN",
    "load",
]
