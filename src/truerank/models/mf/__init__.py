"""Matrix factorisation trained with any loss.

:mod:`.model` is the model, :mod:`.settings` what its settings must be. :mod:`.scores`, :mod:`.rows`
and :mod:`.steps` make the steps of an epoch (:mod:`.autograd_batch` those of a loss without a fused
gradient), :mod:`.dropout` leaves dimensions out, and :mod:`.learner` makes the epochs of the loop
of :mod:`truerank.training`; :mod:`.fold_in` finds vectors of new users.
"""

from truerank.models.mf.model import MF

__all__ = ["MF"]
