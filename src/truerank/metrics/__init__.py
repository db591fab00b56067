"""Metrics as functions of ranks: a value per row or per user, never a mean.

``parse("ndcg@10")`` gives a :class:`Metric`; the table of all names and of their variants for
several held-out items is in :mod:`truerank.metrics.definitions`.
"""

from truerank.metrics.functions import ap, auc, mrr, ndcg, precision, recall
from truerank.metrics.notation import Metric, MetricLike, as_metric, parse

__all__ = [
    "Metric",
    "MetricLike",
    "ap",
    "as_metric",
    "auc",
    "mrr",
    "ndcg",
    "parse",
    "precision",
    "recall",
]
