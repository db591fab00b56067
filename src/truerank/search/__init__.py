"""Search: which hyper-parameters are best, and how sure that is.

``truerank.search(model, space, data)`` is the verb, and ``truerank.search`` this room: the module
can be called, because the verb had the name first.
"""

import inspect
import sys
from types import ModuleType

from truerank.search.result import SearchResult
from truerank.search.search_models import search
from truerank.search.space import Between
from truerank.search.trial import Trial

__all__ = ["Between", "SearchResult", "Trial", "search"]


class CallableRoom(ModuleType):
    """This module, as something that can be called."""

    __call__ = staticmethod(search)
    __signature__ = inspect.signature(search)  # inspect takes the first parameter for a ``self``


sys.modules[__name__].__class__ = CallableRoom
