"""Comparison: which model is better, and how sure we are."""

from truerank.comparison.compare_models import compare
from truerank.comparison.corrections import CORRECTIONS
from truerank.comparison.named_tests import TESTS
from truerank.comparison.verdict import Comparison, Verdict
from truerank.deprecation import renamed_names

__all__ = ["CORRECTIONS", "TESTS", "Comparison", "Verdict", "compare"]

__getattr__ = renamed_names(
    __name__, Plan="truerank.planning.Plan", plan="truerank.planning.plan"
)  # planning stands above this room, so it is imported only where the old name is used
