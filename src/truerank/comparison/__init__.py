"""Comparison: which model is better, how sure we are, and how much to rank to find out."""

from truerank.comparison.api import compare
from truerank.comparison.corrections import CORRECTIONS
from truerank.comparison.named_tests import TESTS
from truerank.comparison.planning import plan
from truerank.comparison.planning_result import Plan
from truerank.comparison.verdict import Comparison, Verdict

__all__ = ["CORRECTIONS", "TESTS", "Comparison", "Plan", "Verdict", "compare", "plan"]
