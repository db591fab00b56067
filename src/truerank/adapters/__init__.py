"""Adapters: fitted models of other libraries as Scorers."""

from truerank.adapters.choice import scorer_for
from truerank.adapters.implicit import from_implicit
from truerank.adapters.irspack import from_irspack
from truerank.adapters.lenskit import from_lenskit
from truerank.adapters.recbole import from_recbole
from truerank.adapters.rectools import from_rectools

__all__ = [
    "from_implicit",
    "from_irspack",
    "from_lenskit",
    "from_recbole",
    "from_rectools",
    "scorer_for",
]
