"""What is held out, decided by explicit policies and counted.

Every function gives a :class:`Split`. The same seed gives the same split whatever the row order
of the input. The policies for what no split can decide silently (pairs in both parts, users too
short or without history, items unseen in training) are in :mod:`truerank.split.policies`.
"""

from truerank.split.across_time import temporal
from truerank.split.across_users import strong_generalization
from truerank.split.fixed import from_parts, published
from truerank.split.result import Dropped, Split, SplitReport
from truerank.split.within_users import leave_k_out, leave_one_out, ratio

__all__ = [
    "Dropped",
    "Split",
    "SplitReport",
    "from_parts",
    "leave_k_out",
    "leave_one_out",
    "published",
    "ratio",
    "strong_generalization",
    "temporal",
]
