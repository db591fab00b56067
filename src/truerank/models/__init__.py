"""Models: each file reads like its paper. Fitted models are Scorers."""

from truerank.models.centred_item_knn import CentredItemKNN
from truerank.models.ease import EASE
from truerank.models.item_knn import ItemKNN
from truerank.models.popularity import Popularity
from truerank.models.saving import load
from truerank.models.slim import SLIM
from truerank.models.user_knn import UserKNN

__all__ = ["EASE", "SLIM", "CentredItemKNN", "ItemKNN", "Popularity", "UserKNN", "load"]
