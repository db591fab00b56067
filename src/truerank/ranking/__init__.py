"""Ranking: designs, the Scorer protocol, and the RankTable they make."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truerank.deprecation import renamed_names
from truerank.ranking.counts import RankCounts
from truerank.ranking.designs import (
    Adaptive,
    Design,
    FixedNegatives,
    Full,
    Sampled,
    Screened,
    Users,
)
from truerank.ranking.header import Header
from truerank.ranking.rank_models import rank, rank_pairs
from truerank.ranking.scorer import FactorScorer, FunctionScorer, Scorer
from truerank.ranking.table import RankTable

if TYPE_CHECKING:
    from truerank.ranking import readers

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
    "Screened",
    "Users",
    "rank",
    "rank_pairs",
    "readers",
]

_old_names = renamed_names(__name__, Counts="RankCounts", Given="FixedNegatives")


def __getattr__(name: str) -> Any:
    if name == "readers":  # loaded when it is first used: reading files needs more than ranking
        return import_module("truerank.ranking.readers")
    return _old_names(name)
