"""Estimators: global metrics from sampled ranks, with honest uncertainty."""

from truerank.estimators.estimate_metrics import estimate, rank_distribution
from truerank.estimators.methods.table import METHODS
from truerank.estimators.result import Diagnostics, Estimate
from truerank.estimators.samples import Sample, prepare

__all__ = [
    "METHODS",
    "Diagnostics",
    "Estimate",
    "Sample",
    "estimate",
    "prepare",
    "rank_distribution",
]
