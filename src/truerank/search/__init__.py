"""Search: which hyper-parameters are best, and how sure that is.

``truerank.search(model, space, data)`` is the verb, and ``truerank.search`` this room: the module
can be called, because the verb had the name first.
"""

import sys
from types import ModuleType

from truerank.search.result import SearchResult
from truerank.search.search_models import search
from truerank.search.space import Between
from truerank.search.trial import Trial

__all__ = ["Between", "SearchResult", "Trial", "search"]


class _CallableRoom(ModuleType):
    __call__ = staticmethod(search)


sys.modules[__name__].__class__ = _CallableRoom
