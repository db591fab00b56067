"""Comparison: which model is better, and how sure we are."""

from truerank.comparison.compare_models import compare
from truerank.comparison.corrections import CORRECTIONS
from truerank.comparison.named_tests import TESTS
from truerank.comparison.verdict import Comparison, Verdict

__all__ = ["CORRECTIONS", "TESTS", "Comparison", "Verdict", "compare"]
