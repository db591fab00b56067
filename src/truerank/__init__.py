"""truerank: what a recommender's top-K metrics really are, without ranking everything.

Names are loaded when they are first used, so that ``import truerank`` is quick and needs no
optional dependency.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truerank import adapters, comparison, losses, metrics, models, split
    from truerank.comparison import Plan, Verdict, compare, plan
    from truerank.data import Interactions, load_dataset
    from truerank.errors import TruerankError
    from truerank.estimators import Diagnostics, Estimate, estimate, rank_distribution
    from truerank.execution import Processes, Serial, Threads
    from truerank.experiments.search import Between, search
    from truerank.ranking import (
        Adaptive,
        FactorScorer,
        Full,
        FunctionScorer,
        Given,
        RankTable,
        Sampled,
        Scorer,
        Users,
        rank,
        rank_pairs,
    )
    from truerank.ranking.foreign import read_lists, read_ncf_negatives, read_ranks, read_trec
    from truerank.version import __version__

_HOMES: dict[str, str] = {
    "Plan": "truerank.comparison",
    "Verdict": "truerank.comparison",
    "compare": "truerank.comparison",
    "plan": "truerank.comparison",
    "Interactions": "truerank.data",
    "load_dataset": "truerank.data",
    "TruerankError": "truerank.errors",
    "Diagnostics": "truerank.estimators",
    "Estimate": "truerank.estimators",
    "estimate": "truerank.estimators",
    "rank_distribution": "truerank.estimators",
    "Processes": "truerank.execution",
    "Serial": "truerank.execution",
    "Threads": "truerank.execution",
    "Between": "truerank.experiments.search",
    "search": "truerank.experiments.search",
    "Adaptive": "truerank.ranking",
    "FactorScorer": "truerank.ranking",
    "Full": "truerank.ranking",
    "FunctionScorer": "truerank.ranking",
    "Given": "truerank.ranking",
    "RankTable": "truerank.ranking",
    "Sampled": "truerank.ranking",
    "Scorer": "truerank.ranking",
    "Users": "truerank.ranking",
    "rank": "truerank.ranking",
    "rank_pairs": "truerank.ranking",
    "read_lists": "truerank.ranking.foreign",
    "read_ncf_negatives": "truerank.ranking.foreign",
    "read_ranks": "truerank.ranking.foreign",
    "read_trec": "truerank.ranking.foreign",
    "__version__": "truerank.version",
}
_ROOMS = ("adapters", "comparison", "losses", "metrics", "models", "split")

__all__ = [
    "Adaptive",
    "Between",
    "Diagnostics",
    "Estimate",
    "FactorScorer",
    "Full",
    "FunctionScorer",
    "Given",
    "Interactions",
    "Plan",
    "Processes",
    "RankTable",
    "Sampled",
    "Scorer",
    "Serial",
    "Threads",
    "TruerankError",
    "Users",
    "Verdict",
    "__version__",
    "adapters",
    "compare",
    "comparison",
    "estimate",
    "load_dataset",
    "losses",
    "metrics",
    "models",
    "plan",
    "rank",
    "rank_distribution",
    "rank_pairs",
    "read_lists",
    "read_ncf_negatives",
    "read_ranks",
    "read_trec",
    "search",
    "split",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"truerank.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'truerank' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
