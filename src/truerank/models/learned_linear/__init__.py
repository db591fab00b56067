"""Learned linear models: a linear model with few more parameters, learned by how well it ranks.

:mod:`.model` is the model; :mod:`.bases` finds the W of a base; :mod:`.parameters` says what is
learned; :mod:`.forms`, :mod:`.kernels` and :mod:`.draws` have the gradients; :mod:`.learner` makes
the epochs of the loop of :mod:`truerank.training`.
"""

from truerank.models.learned_linear.model import LearnedLinear

__all__ = ["LearnedLinear"]
