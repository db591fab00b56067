"""truerank: what a recommender's top-K metrics really are, without ranking everything.

Names are loaded when they are first used, so that ``import truerank`` is quick and needs no
optional dependency.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truerank.deprecation import renamed_names

if TYPE_CHECKING:
    from truerank import (
        adapters,
        comparison,
        data,
        estimators,
        execution,
        losses,
        metrics,
        models,
        planning,
        ranking,
        split,
    )
    from truerank.comparison import Verdict, compare
    from truerank.data import Interactions, load_dataset
    from truerank.errors import TruerankError
    from truerank.estimators import Diagnostics, Estimate, estimate, rank_distribution
    from truerank.execution import Processes, Serial, Threads
    from truerank.planning import Plan, plan
    from truerank.ranking import (
        Adaptive,
        FactorScorer,
        FixedNegatives,
        Full,
        FunctionScorer,
        RankCounts,
        RankTable,
        Sampled,
        Scorer,
        Users,
        rank,
        rank_pairs,
    )
    from truerank.ranking.readers import read_lists, read_ncf_negatives, read_ranks, read_trec
    from truerank.search import Between, CallableRoom
    from truerank.version import __version__

    search: CallableRoom  # a module that is the verb as well

_HOMES: dict[str, str] = {
    "Plan": "truerank.planning",
    "Verdict": "truerank.comparison",
    "compare": "truerank.comparison",
    "plan": "truerank.planning",
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
    "Between": "truerank.search",
    "Adaptive": "truerank.ranking",
    "FactorScorer": "truerank.ranking",
    "Full": "truerank.ranking",
    "FunctionScorer": "truerank.ranking",
    "FixedNegatives": "truerank.ranking",
    "RankCounts": "truerank.ranking",
    "RankTable": "truerank.ranking",
    "Sampled": "truerank.ranking",
    "Scorer": "truerank.ranking",
    "Screened": "truerank.ranking",
    "Users": "truerank.ranking",
    "rank": "truerank.ranking",
    "rank_pairs": "truerank.ranking",
    "read_lists": "truerank.ranking.readers",
    "read_ncf_negatives": "truerank.ranking.readers",
    "read_ranks": "truerank.ranking.readers",
    "read_trec": "truerank.ranking.readers",
    "__version__": "truerank.version",
}
_ROOMS = (
    "adapters",
    "comparison",
    "data",
    "estimators",
    "execution",
    "losses",
    "metrics",
    "models",
    "planning",
    "ranking",
    "search",
    "split",
)

__all__ = [
    "Adaptive",
    "Between",
    "Diagnostics",
    "Estimate",
    "FactorScorer",
    "FixedNegatives",
    "Full",
    "FunctionScorer",
    "Interactions",
    "Plan",
    "Processes",
    "RankCounts",
    "RankTable",
    "Sampled",
    "Scorer",
    "Screened",
    "Serial",
    "Threads",
    "TruerankError",
    "Users",
    "Verdict",
    "__version__",
    "adapters",
    "compare",
    "comparison",
    "data",
    "estimate",
    "estimators",
    "execution",
    "load_dataset",
    "losses",
    "metrics",
    "models",
    "plan",
    "planning",
    "rank",
    "rank_distribution",
    "rank_pairs",
    "ranking",
    "read_lists",
    "read_ncf_negatives",
    "read_ranks",
    "read_trec",
    "search",
    "split",
]


_old_names = renamed_names("truerank", Given="FixedNegatives")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"truerank.{name}")
    if name not in _HOMES:
        return _old_names(name)
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
