"""Matrix factorisation trained with any loss.

:mod:`.model` is the model. :mod:`.objective` says what is minimised, :mod:`.draws` and
:mod:`.batches` what a step draws, :mod:`truerank.losses.gradients` has the derivatives of the
losses (and :mod:`.autograd_loss` those of any other), :mod:`.scores`, :mod:`.steps` and
:mod:`.rows` make the steps (and :mod:`.momentum` those of dense Adam), :mod:`.training`,
:mod:`.validation` and :mod:`.checkpoint` say when to stop and how to go on, :mod:`.fold_in` finds
vectors of new users.
"""

from truerank.models.mf.model import MF

__all__ = ["MF"]
