"""Estimators: global metrics from sampled ranks, with honest uncertainty."""

from truerank.estimators.estimate_metrics import estimate, rank_distribution
from truerank.estimators.methods.table import METHODS
from truerank.estimators.result import Diagnostics, Estimate

__all__ = ["METHODS", "Diagnostics", "Estimate", "estimate", "rank_distribution"]
