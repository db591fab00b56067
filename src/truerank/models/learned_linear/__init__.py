"""Nearby models: a linear model with few more parameters, learned by how well it ranks.

:mod:`.model` is the model; :mod:`.bases` finds the W of a base; :mod:`.parameters` says what is
learned; :mod:`.forms`, the kernels and :mod:`.draws` have the gradients; :mod:`.learning` and
:mod:`.validation` the steps and when to stop.
"""

from truerank.models.learned_linear.model import Nearby

__all__ = ["Nearby"]
