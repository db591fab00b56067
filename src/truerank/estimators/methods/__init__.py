"""The methods: each turns shares of cells into a distribution of ranks, or into values."""

from truerank.estimators.methods.table import METHODS

__all__ = ["METHODS"]
