"""Ranking: designs, the Scorer protocol, and the RankTable they make."""

from truerank.deprecation import renamed_names
from truerank.ranking.counts import RankCounts
from truerank.ranking.designs import Adaptive, Design, FixedNegatives, Full, Sampled, Users
from truerank.ranking.header import Header
from truerank.ranking.rank_models import rank, rank_pairs
from truerank.ranking.scorer import FactorScorer, FunctionScorer, Scorer
from truerank.ranking.table import RankTable

__all__ = [
    "Adaptive",
    "Design",
    "FactorScorer",
    "FixedNegatives",
    "Full",
    "FunctionScorer",
    "Header",
    "RankCounts",
    "RankTable",
    "Sampled",
    "Scorer",
    "Users",
    "rank",
    "rank_pairs",
]

__getattr__ = renamed_names(__name__, Given="FixedNegatives")
