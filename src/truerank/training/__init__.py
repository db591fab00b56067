"""The trainer: what every model that learns by gradient steps shares.

:mod:`.objective` says what is minimised, :mod:`.negative_sampling` and :mod:`.batches` what a step
draws, :mod:`.optimisers` how far it
goes, :mod:`.schedule` at which learning rate and for how long, :mod:`.validation` by whom the
epochs are evaluated, :mod:`.checkpoints` how training goes on after a stop, :mod:`.loop` puts them
together, and :mod:`.torch_front` trains any torch module on them. None of them knows a model.
"""
