"""Models: each file reads like its paper. Fitted models are Scorers."""

from truerank.models.ease import EASE
from truerank.models.item_knn import ItemKNN
from truerank.models.popularity import Popularity
from truerank.models.saving import load

__all__ = ["EASE", "ItemKNN", "Popularity", "load"]
